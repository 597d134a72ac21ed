/* Products of a matrix of few rows, for rows of conv_f32 that read the weights once for all of them:
 * where those rows, the pixels, begin. */
#ifndef HN_KERNELS_CONV_F32_PIXELS_H
#define HN_KERNELS_CONV_F32_PIXELS_H

#include "base/divide.h"
#include "kernels/conv_f32/conv_f32.h"

/* Some pixels that are computed together. */
typedef struct hn_conv_pixels {
    const float *x[HN_CONV_FEW_PIXELS], *r[HN_CONV_FEW_PIXELS]; /* r: where there is one */
    float *y[HN_CONV_FEW_PIXELS];
    int n;
} hn_conv_pixels;

/* Pixels [first, end). */
static inline hn_conv_pixels hn_conv_pixels_at(const hn_conv_f32 *p, void *const *ptr,
                                               int64_t first, int64_t end) {
    hn_conv_pixels g = {.n = (int)(end - first)};
    const float *x = ptr[HN_CONV_X], *r = ptr[HN_CONV_R];
    for (int i = 0; i < g.n; i++) {
        int64_t b = first + i;
        const int64_t ox = hn_digit(&b, p->ow), oy = hn_digit(&b, p->oh);
        g.x[i] = x + (b * p->x_image + oy * p->sh * p->x_row + ox * p->sw * p->x_pixel);
        g.y[i] = (float *)ptr[HN_CONV_Y] + b * p->y_image + oy * p->y_row + ox * p->y_pixel;
        if (r != NULL) g.r[i] = r + (b * p->r_image + oy * p->r_row + ox * p->r_pixel);
    }
    return g;
}

/* Whether it is such a product; else *why says what is in the way. */
static inline bool hn_conv_few_pixels(const hn_conv_f32 *p, const char **why) {
    if (p->batch * p->oh * p->ow > HN_CONV_FEW_PIXELS) return *why = "many pixels", false;
    if (p->kh * p->kw != 1 || p->groups != 1) return *why = "not a product of matrices", false;
    if (p->pt != 0 || p->pl != 0 || (p->oh - 1) * p->sh >= p->h || (p->ow - 1) * p->sw >= p->w)
        return *why = "there is padding", false;
    if (p->x_channel != 1) return *why = "the channels of x are not adjacent", false;
    return true;
}

#endif

/* Tables of taps for the cases of resize_f32 and resize_f64. */
#ifndef CHECK_RESIZE_H
#define CHECK_RESIZE_H

#include <string.h>

#include "check.h"
#include "kernels/resize_f32/resize_f32.h"

/* The first letter of a case's name tells its kind. */
typedef enum resize_kind {
    NEAREST, /* one tap, mostly of weight 1 */
    LINEAR,  /* two */
    CUBIC,   /* four */
    MANY,    /* seven */
    UNEVEN,  /* none to three */
} resize_kind;
static const char resize_letters[] = "nlcmu";

enum { GAPS = 1, BENCH = 2 };

static inline int64_t resize_taps(resize_kind k, int64_t o) {
    static const int64_t taps[] = {1, 2, 4, 7};
    return k == UNEVEN ? o % 4 : taps[k];
}

static inline int64_t resize_total(resize_kind k, int64_t out) {
    int64_t n = 0;
    for (int64_t o = 0; o < out; o++) n += resize_taps(k, o);
    return n;
}

/* Adds a case; elements and weights are of these types. */
static inline check_case *resize_add(check_list *list, const char *name, resize_kind k,
                                     hn_resize_type type, const int64_t *images, int64_t h,
                                     int64_t w, int64_t c, int64_t oh, int64_t ow, int flags) {
    static const check_type elements[] = {
        [HN_RESIZE_F32] = CHECK_F32, [HN_RESIZE_F64] = CHECK_F64, [HN_RESIZE_U8] = CHECK_U8,
        [HN_RESIZE_S8] = CHECK_U8,   [HN_RESIZE_U16] = CHECK_U16, [HN_RESIZE_S16] = CHECK_U16,
        [HN_RESIZE_S32] = CHECK_I32};
    check_type weights = type == HN_RESIZE_F32 ? CHECK_F32 : CHECK_F64;
    int64_t gap = flags & GAPS ? 3 : 0;
    hn_resize_f32 p = {.images = {images[0], images[1], images[2], images[3]},
                       .h = h,
                       .w = w,
                       .c = c,
                       .oh = oh,
                       .ow = ow,
                       .x_pixel = c + gap,
                       .y_pixel = c + 2 * gap,
                       .outside = 2.5,
                       .x_type = type,
                       .y_type = type};
    p.x_row = w * p.x_pixel + gap, p.y_row = ow * p.y_pixel + gap;
    int64_t x = h * p.x_row, y = oh * p.y_row;
    for (int i = HN_RESIZE_AXES - 1; i >= 0; i--) {
        p.x_image[i] = x, p.y_image[i] = y;
        x *= images[i], y *= images[i];
    }
    check_case *q =
        check_add(list, "%c_%s_%lldx%lldx%lld_%lldx%lld", resize_letters[k], name, (long long)h,
                  (long long)w, (long long)c, (long long)oh, (long long)ow);
    memcpy(q->problem, &p, sizeof p);
    check_operand_add(q, CHECK_IN, elements[type], x);
    check_operand_add(q, CHECK_IN, CHECK_I32, oh + 1 + resize_total(k, oh));
    check_operand_add(q, CHECK_IN, weights, resize_total(k, oh));
    check_operand_add(q, CHECK_IN, CHECK_I32, ow + 1 + resize_total(k, ow));
    check_operand_add(q, CHECK_IN, weights, resize_total(k, ow));
    check_operand_add(q, CHECK_OUT, elements[type], y);
    q->bench = (flags & BENCH) != 0;
    q->bytes = 4.0 * (double)(hn_resize_count(&p) * c * (h * w + oh * ow));
    return q;
}

/* Fills tables and weights; false: the operand is something else. */
static inline bool resize_fill(const check_case *c, int operand, hn_rng *rng, void *to) {
    hn_resize_f32 p;
    memcpy(&p, c->problem, sizeof p);
    resize_kind k = (resize_kind)(strchr(resize_letters, c->name[0]) - resize_letters);
    bool row = operand <= HN_RESIZE_ROW_WEIGHT;
    int64_t in = row ? p.h : p.w, out = row ? p.oh : p.ow, n = 0;
    if (operand == HN_RESIZE_ROW_WEIGHT || operand == HN_RESIZE_COLUMN_WEIGHT) {
        for (int64_t i = 0; i < resize_total(k, out); i++) {
            double weight = hn_rng_f64(rng) + 0.01;
            if (k == NEAREST && weight < 0.8) weight = 1;
            if (c->operand[operand].type == CHECK_F32)
                ((float *)to)[i] = (float)weight;
            else /* few sums saturate */
                ((double *)to)[i] = k == MANY ? weight / 4 : weight;
        }
        return true;
    }
    if (operand != HN_RESIZE_ROWS && operand != HN_RESIZE_COLUMNS) return false;
    int32_t *first = to, *index = first + out + 1;
    int64_t shift = (int64_t)hn_rng_below(rng, (uint64_t)in);
    for (int64_t o = 0; o < out; o++) {
        first[o] = (int32_t)n;
        for (int64_t t = 0; t < resize_taps(k, o); t++)
            index[n++] = (int32_t)((o * in / out + shift + t) % in);
    }
    first[out] = (int32_t)n;
    return true;
}

#endif

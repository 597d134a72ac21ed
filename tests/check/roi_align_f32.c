/* Cases of roi_align_f32: channels around every vector length, both kinds of regions, fixed and
 * adaptive numbers of points, averages and largest values, results with channels apart and
 * adjacent; the box head of a detector for timing. */
#include "kernels/roi_align_f32/roi_align_f32.h"

#include <string.h>

#include "check.h"

enum { LAST = 1, APART = 2, ALIGNED = 4, BENCH = 8, MAX = 16 };

static void add(check_list *list, const char *name, int64_t images, int64_t c, int64_t h, int64_t w,
                int64_t regions, int64_t bins, int64_t samples, int flags) {
    hn_roi_align_f32 p = {.images = images,
                          .h = h,
                          .w = w,
                          .x_pixel = c + (flags & APART ? 3 : 0),
                          .regions = regions,
                          .c = c,
                          .oh = bins,
                          .ow = bins + 1,
                          .samples = samples,
                          .scale = 0.25,
                          .aligned = (flags & ALIGNED) != 0,
                          .max = (flags & MAX) != 0};
    p.x_row = w * p.x_pixel + (flags & APART ? 5 : 0);
    p.x_image = h * p.x_row;
    p.y_channel = flags & LAST ? 1 : p.oh * p.ow;
    p.y_pixel = flags & LAST ? c : 1;
    p.y_row = p.ow * p.y_pixel + (flags & APART ? 2 : 0);
    if (flags & APART && !(flags & LAST)) p.y_channel = p.oh * p.y_row;
    p.y_region = flags & LAST ? p.oh * p.y_row : c * p.y_channel;
    check_case *q = check_add(list, "%s_%lldx%lldx%lldx%lld_r%lldb%llds%lldf%d", name,
                              (long long)images, (long long)c, (long long)h, (long long)w,
                              (long long)regions, (long long)bins, (long long)samples, flags);
    memcpy(q->problem, &p, sizeof p);
    check_operand_add(q, CHECK_IN, CHECK_F32, images * p.x_image);
    check_operand_add(q, CHECK_IN, CHECK_F32, 4 * regions);
    check_operand_add(q, CHECK_IN, CHECK_I64, regions);
    check_operand_add(q, CHECK_OUT, CHECK_F32, regions * p.y_region);
    check_operand_add(q, CHECK_INOUT, CHECK_I32, 1);
    q->rel = 40;
    q->bench = (flags & BENCH) != 0;
    q->bytes = 4.0 * (double)(images * c * h * w + regions * c * p.oh * p.ow);
}

static void cases(check_list *list) {
    static const int64_t c[] = {1, 3, 4, 5, 8, 15, 16, 17, 33, 64, 80};
    static const int flags[] = {0,       LAST, APART,      LAST | APART,
                                ALIGNED, MAX,  MAX | LAST, MAX | ALIGNED | APART};
    for (size_t i = 0; i < sizeof c / sizeof *c; i++)
        for (size_t k = 0; k < sizeof flags / sizeof *flags; k++)
            add(list, "small", 2 + (int64_t)(i % 2), c[i], 9, 11, 7, 3 + (int64_t)(k % 3),
                (int64_t)((i + k) % 4), flags[k]);
    add(list, "one", 3, 5, 1, 1, 20, 2, 2, ALIGNED);
    add(list, "one_bin", 2, 6, 20, 13, 9, 1, 0, ALIGNED);
    add(list, "box_head", 1, 256, 20, 20, 1000, 7, 2, BENCH);
    add(list, "mask_head", 1, 256, 80, 80, 100, 14, 2, BENCH | LAST);
}

/* Regions of all sizes inside, across the edges and beyond them; some upside down, and one in no
 * image. */
static bool fill(const check_case *c, int operand, check_data data, hn_rng *rng, void *to) {
    hn_roi_align_f32 p;
    memcpy(&p, c->problem, sizeof p);
    (void)data;
    if (operand == HN_ROI_ALIGN_OUTSIDE) *(int32_t *)to = 0;
    for (int64_t r = 0; r < p.regions && operand == HN_ROI_ALIGN_BATCH; r++)
        ((int64_t *)to)[r] = r % 7 == 6 ? -1 : (int64_t)hn_rng_below(rng, (uint64_t)p.images);
    for (int64_t r = 0; r < p.regions && operand == HN_ROI_ALIGN_ROIS; r++)
        for (int k = 0; k < 2; k++) {
            double size = (double)(k == 0 ? p.w : p.h) / p.scale;
            double from = (hn_rng_f64(rng) * 1.5 - 0.25) * size, long_side = hn_rng_f64(rng) * size;
            float *roi = (float *)to + 4 * r;
            roi[k] = (float)from;
            roi[k + 2] = (float)(r % 5 == 4 ? from - 0.2 * long_side : from + long_side);
        }
    return operand != HN_ROI_ALIGN_X;
}

/* The reference over absolute values is the magnitude already: regions are filled the same. */
static void magnitude(void *problem) { (void)problem; }

const check_family check_roi_align_f32 = {
    .family = &hn_roi_align_f32_family, .cases = cases, .fill = fill, .magnitude = magnitude};

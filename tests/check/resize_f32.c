/* Cases of resize_f32: values of a pixel around every vector length, one to many taps, pixels that
 * lie apart, outputs without taps; layers of real models for timing. */
#include "resize.h"

static void add(check_list *list, const char *name, resize_kind k, const int64_t *images, int64_t h,
                int64_t w, int64_t c, int64_t oh, int64_t ow, int flags) {
    resize_add(list, name, k, HN_RESIZE_F32, images, h, w, c, oh, ow, flags)->rel = 12;
}

static void cases(check_list *list) {
    static const int64_t c[] = {1, 3, 4, 7, 8, 16, 19, 40};
    static const int64_t one[] = {1, 1, 1, 1}, many[] = {2, 1, 3, 2};
    for (int k = NEAREST; k <= UNEVEN; k++)
        for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
            add(list, "up", (resize_kind)k, i % 2 == 0 ? one : many, 5, 6, c[i], 11, 12, 0);
            add(list, "apart", (resize_kind)k, i % 2 == 0 ? many : one, 7, 3, c[i], 4, 9, GAPS);
        }
    add(list, "flat", LINEAR, many, 1, 500, 1, 1, 1001, 0);
    for (int k = NEAREST; k <= LINEAR; k++)
        for (int64_t ow = 33; ow <= 45; ow += 12) /* taps further apart than vectors */
            add(list, "far", (resize_kind)k, many, 3, 400, 1, 2, ow, 0);
    add(list, "tasks", NEAREST, one, 40, 40, 30, 80, 80, 0);
    add(list, "tasks", LINEAR, many, 40, 40, 30, 80, 80, 0);
    add(list, "yunet", NEAREST, one, 20, 20, 64, 40, 40, BENCH);
    add(list, "nanodet", LINEAR, one, 26, 26, 96, 52, 52, BENCH);
    add(list, "photo", LINEAR, (int64_t[]){1, 1, 1, 3}, 480, 640, 1, 224, 224, BENCH);
    add(list, "photo", CUBIC, (int64_t[]){1, 1, 1, 3}, 480, 640, 1, 224, 224, BENCH);
}

static bool fill(const check_case *c, int operand, check_data data, hn_rng *rng, void *to) {
    (void)data;
    return resize_fill(c, operand, rng, to);
}

/* The reference over absolute values is the magnitude already. */
static void magnitude(void *problem) { (void)problem; }

const check_family check_resize_f32 = {
    .family = &hn_resize_f32_family, .cases = cases, .fill = fill, .magnitude = magnitude};

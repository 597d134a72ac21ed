/* Cases of grid_sample_f32: every mode and padding, channels adjacent and apart around every vector
 * length, positions around the block; a warp of features and a lookup in a plane for timing. */
#include "kernels/grid_sample_f32/grid_sample_f32.h"

#include <string.h>

#include "check.h"

enum { LAST = 1, ALIGN = 2, FLAT = 4, DEEP = 8, BENCH = 16 };

static void add(check_list *list, const char *name, int mode, int padding, int64_t images,
                int64_t c, int64_t h, int64_t w, int64_t positions, int flags) {
    int64_t gap = flags & BENCH ? 0 : 3;
    if (flags & FLAT) h = 1;
    hn_grid_sample_f32 p = {.axes = flags & DEEP   ? 3
                                    : flags & FLAT ? 1
                                                   : 2,
                            .images = images,
                            .c = c,
                            .d = flags & DEEP ? 5 : 1,
                            .h = h,
                            .w = w,
                            .positions = positions,
                            .mode = (hn_sample_mode)mode,
                            .padding = (hn_sample_padding)padding,
                            .align_corners = (flags & ALIGN) != 0};
    p.x_pixel = flags & LAST ? c + gap : 1;
    p.x_row = w * p.x_pixel + gap;
    p.x_slice = h * p.x_row + gap;
    p.x_channel = flags & LAST ? 1 : p.d * p.x_slice;
    p.x_image = flags & LAST ? p.d * p.x_slice : c * p.x_channel;
    p.y_position = flags & LAST ? c + gap : 1;
    p.y_channel = flags & LAST ? 1 : positions + gap;
    p.y_image = flags & LAST ? positions * p.y_position : c * p.y_channel;
    check_case *q = check_add(list, "%s_m%dp%d_%lldx%lldx%lldx%lld_%lldf%d", name, mode, padding,
                              (long long)images, (long long)c, (long long)h, (long long)w,
                              (long long)positions, flags);
    memcpy(q->problem, &p, sizeof p);
    check_operand_add(q, CHECK_IN, CHECK_F32, images * p.x_image);
    check_operand_add(q, CHECK_IN, CHECK_F32, p.axes * images * positions);
    check_operand_add(q, CHECK_OUT, CHECK_F32, images * p.y_image);
    q->rel = 24;
    q->bench = (flags & BENCH) != 0;
    q->bytes = 4.0 * (double)(images * (c * p.d * h * w + (c + p.axes) * positions));
}

static void cases(check_list *list) {
    static const int64_t c[] = {1, 3, 4, 8, 15, 16, 17, 33};
    static const int64_t positions[] = {5, 63, 64, 65, 130};
    for (int mode = HN_SAMPLE_NEAREST; mode <= HN_SAMPLE_CUBIC; mode++)
        for (int padding = HN_SAMPLE_ZEROS; padding <= HN_SAMPLE_REFLECTION; padding++)
            for (size_t i = 0; i < sizeof c / sizeof *c; i++)
                for (int flags = 0; flags < DEEP + FLAT; flags++)
                    add(list, "small", mode, padding, 1 + (int64_t)(i % 2), c[i], 7, 9,
                        positions[(i + (size_t)flags) % 5], flags);
    add(list, "groups", HN_SAMPLE_LINEAR, HN_SAMPLE_ZEROS, 2, 13, 150, 170, 70, 0);
    for (int64_t k = 0; k < 12; k++)
        add(list, "turned", HN_SAMPLE_LINEAR, (int)(k % 3), 1 + k % 2, 7 + 2 * k, 5, 6 + k, 70 + k,
            k % 4 == 3   ? DEEP
            : k % 4 == 2 ? ALIGN
                         : 0);
    add(list, "dot", HN_SAMPLE_LINEAR, HN_SAMPLE_ZEROS, 2, 6, 1, 1, 9, 0);
    add(list, "warp", HN_SAMPLE_LINEAR, HN_SAMPLE_ZEROS, 1, 64, 64, 64, 4096, BENCH);
    add(list, "warp", HN_SAMPLE_LINEAR, HN_SAMPLE_ZEROS, 1, 64, 64, 64, 4096, BENCH | LAST);
    add(list, "warp", HN_SAMPLE_LINEAR, HN_SAMPLE_ZEROS, 1, 64, 112, 112, 12544, BENCH);
    add(list, "volume", HN_SAMPLE_LINEAR, HN_SAMPLE_ZEROS, 1, 8, 20, 20, 8000, BENCH | DEEP);
    add(list, "look_up", HN_SAMPLE_LINEAR, HN_SAMPLE_ZEROS, 256, 1, 16, 16, 81, BENCH | ALIGN);
}

/* Positions inside, on the edges and far outside, some of them not finite. */
static bool fill(const check_case *c, int operand, check_data data, hn_rng *rng, void *to) {
    static const float odd[] = {-1, 1, 0, 0.5F, -1e30F, 1e30F, (float)(1e300 * 1e300)};
    if (operand != HN_GRID_SAMPLE_GRID) return false;
    bool reflects = strstr(c->name, "p2") != NULL; /* far outside nothing is left of a position */
    for (size_t i = 0; i < c->operand[operand].count; i++) {
        double v = hn_rng_f64(rng) * 3 - 1.5;
        size_t which = (size_t)hn_rng_below(rng, 20);
        if (which < sizeof odd / sizeof *odd && !c->bench && !reflects) v = (double)odd[which];
        ((float *)to)[i] = (float)v;
    }
    (void)data;
    return true;
}

/* Of the largest element: where sums cancel, that of absolute values would say what an element may
 * be off by, but their grid would have other positions. */
static double whole(const hn_kernel *k) {
    (void)k;
    return 2e-6;
}

const check_family check_grid_sample_f32 = {
    .family = &hn_grid_sample_f32_family, .cases = cases, .fill = fill, .whole = whole};

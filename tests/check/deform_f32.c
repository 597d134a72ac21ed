/* Cases of deform_f32: windows of every kind, several offset groups, offsets that leave the image.
 */
#include "kernels/deform_f32/deform_f32.h"

#include <string.h>

#include "check.h"

static void add(check_list *list, const char *name, hn_deform_f32 p, bool mask) {
    check_case *c = check_add(list, "%s", name);
    int64_t taps = p.kh * p.kw, maps = p.offset_groups * taps, pixels = p.oh * p.ow;
    p.x_pixel = p.c + 3, p.x_row = p.w * p.x_pixel, p.x_image = p.h * p.x_row;
    p.offset_pixel = 1, p.offset_row = p.ow, p.offset_map = pixels;
    p.offset_image = 2 * maps * pixels;
    p.mask_map = 1, p.mask_pixel = maps, p.mask_row = p.ow * maps, p.mask_image = maps * pixels;
    memcpy(c->problem, &p, sizeof p);
    check_operand_add(c, CHECK_IN, CHECK_F32, p.batch * p.x_image - 3);
    check_operand_add(c, CHECK_IN, CHECK_F32, p.batch * p.offset_image);
    check_operand_add(c, mask ? CHECK_IN : CHECK_ABSENT, CHECK_F32, p.batch * p.mask_image);
    check_operand_add(c, CHECK_OUT, CHECK_F32, p.batch * pixels * taps * p.c);
    c->rel = 24;
    c->abs = 1e-22;
    c->flops = 8 * (double)(p.batch * pixels * taps * p.c);
}

/* Offsets of a few pixels, some whole: between pixels, on them, outside. */
static bool fill(const check_case *c, int operand, check_data kind, hn_rng *rng, void *data) {
    if (operand != HN_DEFORM_OFFSET) return false;
    float *to = data;
    for (size_t i = 0; i < c->operand[operand].count; i++) {
        double u = 6 * hn_rng_f64(rng) - 3;
        to[i] = (float)(i % 3 == 0 ? (double)(int)u : u);
        if (kind == CHECK_SPECIAL && i % 41 == 0) to[i] = i % 2 == 0 ? __builtin_nanf("") : 1e30F;
    }
    return true;
}

static void cases(check_list *list) {
    hn_deform_f32 p = {.batch = 1,
                       .h = 7,
                       .w = 9,
                       .c = 16,
                       .oh = 7,
                       .ow = 9,
                       .kh = 3,
                       .kw = 3,
                       .sh = 1,
                       .sw = 1,
                       .dh = 1,
                       .dw = 1,
                       .pt = 1,
                       .pl = 1,
                       .offset_groups = 1};
    add(list, "3x3", p, false);
    add(list, "3x3_mask", p, true);
    p.batch = 2, p.c = 35;
    add(list, "3x3_batch", p, true);
    p.c = 36, p.offset_groups = 4;
    add(list, "3x3_groups", p, true);
    p.sh = 2, p.sw = 3, p.dh = 2, p.pt = 2, p.oh = 4, p.ow = 3, p.kh = 2, p.kw = 5;
    add(list, "2x5_stride_dilation", p, false);
    p = (hn_deform_f32){.batch = 1,
                        .h = 28,
                        .w = 28,
                        .c = 64,
                        .oh = 28,
                        .ow = 28,
                        .kh = 3,
                        .kw = 3,
                        .sh = 1,
                        .sw = 1,
                        .dh = 1,
                        .dw = 1,
                        .pt = 1,
                        .pl = 1,
                        .offset_groups = 1};
    add(list, "3x3_64_28", p, true);
    list->cases[list->n - 1].bench = true;
}

/* Sums may cancel, and absolute values of the offsets would be other places. */
static double whole(const hn_kernel *k) {
    (void)k;
    return 1e-6;
}

const check_family check_deform_f32 = {
    .family = &hn_deform_f32_family, .cases = cases, .fill = fill, .whole = whole};

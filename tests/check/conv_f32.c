/* Cases of conv_f32: matrix products around every tile, images with every kind of window, slices of
 * wider tensors, and the layers of real models for timing. */
#include "kernels/conv_f32/conv_f32.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/dtype.h"
#include "check.h"

enum {
    BIAS = 1,
    RESIDUAL = 2,
    IN_PLACE = 4,
    PLANAR = 8,
    SLICE = 16,
    BENCH = 32,
    DEPTHWISE = 64,
    /* stored as bf16 */
    X_BF16 = 128,
    R_BF16 = 256,
    Y_BF16 = 512,
    ALL_BF16 = X_BF16 | R_BF16 | Y_BF16,
    /* weights that 16 bits hold */
    F16_WEIGHTS = 1024,
    BF16_WEIGHTS = 2048,
};

static void add(check_list *list, const char *name, hn_conv_f32 p, int flags) {
    int64_t group_in = p.c / p.groups, terms = group_in * p.kh * p.kw;
    check_case *c = check_add(list, "%s", name);
    int64_t gap = flags & SLICE ? 5 : 0;
    p.x_channel = flags & PLANAR ? p.h * p.w : 1;
    p.x_pixel = flags & PLANAR ? 1 : p.c + gap;
    p.x_row = p.w * p.x_pixel + gap;
    p.x_image = flags & PLANAR ? p.c * p.x_channel : p.h * p.x_row + gap;
    if (flags & PLANAR) p.x_row = p.w;
    p.y_pixel = p.n + 2 * gap, p.y_row = p.ow * p.y_pixel + gap, p.y_image = p.oh * p.y_row;
    p.r_pixel = p.n + (flags & IN_PLACE ? 2 * gap : gap);
    p.r_row = flags & IN_PLACE ? p.y_row : p.ow * p.r_pixel;
    p.r_image = p.oh * p.r_row;
    p.w_x = 1, p.w_y = p.kw, p.w_i = p.kh * p.kw, p.w_o = terms;
    p.x_type = flags & X_BF16 ? HN_FLOAT_BF16 : HN_FLOAT_F32;
    p.r_type = flags & R_BF16 ? HN_FLOAT_BF16 : HN_FLOAT_F32;
    p.y_type = flags & Y_BF16 ? HN_FLOAT_BF16 : HN_FLOAT_F32;
    p.w_fits = flags & F16_WEIGHTS    ? HN_FLOAT_F16
               : flags & BF16_WEIGHTS ? HN_FLOAT_BF16
                                      : HN_FLOAT_F32;
    memcpy(c->problem, &p, sizeof p);
    int64_t y_count =
        (p.batch - 1) * p.y_image + (p.oh - 1) * p.y_row + (p.ow - 1) * p.y_pixel + p.n;
    int64_t x_count = (p.batch - 1) * p.x_image + (p.h - 1) * p.x_row + (p.w - 1) * p.x_pixel +
                      (p.c - 1) * p.x_channel + 1;
    int64_t r_count =
        (p.batch - 1) * p.r_image + (p.oh - 1) * p.r_row + (p.ow - 1) * p.r_pixel + p.n;
    check_operand_add(c, CHECK_IN, flags & X_BF16 ? CHECK_BF16 : CHECK_F32, x_count);
    check_operand_add(c, CHECK_WEIGHTS, CHECK_F32, p.n * terms);
    check_operand_add(c, flags & BIAS ? CHECK_IN : CHECK_ABSENT, CHECK_F32, p.n);
    check_operand_add(c,
                      flags & IN_PLACE   ? CHECK_SAME
                      : flags & RESIDUAL ? CHECK_IN
                                         : CHECK_ABSENT,
                      flags & R_BF16 ? CHECK_BF16 : CHECK_F32, r_count);
    check_operand_add(c, flags & IN_PLACE ? CHECK_INOUT : CHECK_OUT,
                      flags & Y_BF16 ? CHECK_BF16 : CHECK_F32, y_count);
    c->operand[HN_CONV_R].same = HN_CONV_Y;
    /* Rounding errors of a sum walk at random; then an activation, none steeper than 2. */
    c->rel = 8 + 2 * sqrt((double)terms);
    /* A row may take what is below 2^-126 for zero, which may be beside 1e15. */
    c->abs = 1e-22 * (double)terms;
    if (p.act.kind > HN_ACT_LEAKY) c->rel *= 2, c->abs = 2e-6;
    c->exact = p.act.kind <= HN_ACT_CLIP;
    c->bench = flags & BENCH;
    double pixels = (double)(p.batch * p.oh * p.ow);
    c->flops = 2 * pixels * (double)(p.n * terms);
    c->bytes = 4 * ((double)(x_count + y_count) + (double)(p.n * terms));
}

static void gemm(check_list *list, int64_t m, int64_t k, int64_t n, int flags) {
    char name[64];
    snprintf(name, sizeof name, "%sgemm_%lldx%lldx%lld",
             flags & ALL_BF16       ? "bf16_"
             : flags & F16_WEIGHTS  ? "f16_weights_"
             : flags & BF16_WEIGHTS ? "bf16_weights_"
                                    : "",
             (long long)m, (long long)k, (long long)n);
    hn_conv_f32 p = hn_conv_of_gemm(m, n, k);
    if (flags & BIAS) p.act = (hn_act){HN_ACT_CLIP, 0, INFINITY};
    add(list, name, p, flags);
}

/* A square window with `pad` on each side. */
static hn_conv_f32 window(int64_t batch, int64_t size, int64_t c, int64_t n, int64_t k, int64_t s,
                          int64_t pad) {
    return (hn_conv_f32){.batch = batch,
                         .h = size,
                         .w = size,
                         .c = c,
                         .oh = (size + 2 * pad - k) / s + 1,
                         .ow = (size + 2 * pad - k) / s + 1,
                         .n = n,
                         .kh = k,
                         .kw = k,
                         .sh = s,
                         .sw = s,
                         .dh = 1,
                         .dw = 1,
                         .pt = pad,
                         .pl = pad,
                         .groups = 1};
}

/* A layer as real models have it; the name says kernel, stride, channels and output size. */
static void layer(check_list *list, int64_t k, int64_t s, int64_t c, int64_t n, int64_t size,
                  int flags) {
    hn_conv_f32 p = window(1, size, c, n, k, s, k / 2);
    p.act = (hn_act){HN_ACT_CLIP, 0, INFINITY};
    if (flags & DEPTHWISE) p.groups = c;
    char name[64];
    snprintf(name, sizeof name, "%s%lldx%llds%lld_%lld_%lld_%lld",
             flags & DEPTHWISE && flags & ALL_BF16 ? "bf16_depthwise"
             : flags & DEPTHWISE                   ? "depthwise"
             : flags & ALL_BF16                    ? "bf16_"
                                                   : "conv",
             (long long)k, (long long)k, (long long)s, (long long)c, (long long)n, (long long)p.oh);
    add(list, name, p, flags | BENCH);
}

static void cases(check_list *list) {
    /* Around every tile a row may have: 6, 8, 12, 14 rows by 8, 12, 16, 32 columns. */
    static const int64_t sizes[][3] = {
        {1, 1, 1},    {1, 7, 33},    {2, 5, 8},    {3, 64, 31},   {4, 17, 32},   {5, 1, 16},
        {6, 3, 15},   {7, 130, 17},  {8, 31, 48},  {11, 2, 12},   {12, 16, 24},  {13, 9, 64},
        {14, 33, 32}, {15, 4, 63},   {16, 61, 96}, {27, 8, 1},    {28, 19, 100}, {29, 37, 65},
        {43, 23, 47}, {49, 128, 40}, {85, 53, 13}, {1, 1031, 77}, {3, 1300, 37}, {15, 1100, 34}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        gemm(list, sizes[i][0], sizes[i][1], sizes[i][2], i % 3 == 0 ? BIAS : 0);
    /* Few rows, many panels. */
    for (int64_t rows = 1; rows <= 7; rows++)
        for (int64_t n = 60; n <= 300; n += 80) gemm(list, rows, 3 + rows, n + rows, BIAS);
    gemm(list, 7, 3000, 33, BIAS); /* several passes over k */
    /* Around tiles of 16 by 16 by 32, and large enough for rows that only take what fills them. */
    gemm(list, 45, 100, 75, BIAS);
    gemm(list, 130, 61, 177, 0);
    gemm(list, 77, 9000, 40, BIAS);
    gemm(list, 5, 0, 33, BIAS);
    /* Large enough for rows that copy the left operand first: tiles that are not full, several passes
     * over k, several blocks of rows. */
    for (int64_t m = 15; m <= 29; m++) gemm(list, m, 64 + m, 128 + 3 * m, m % 2 ? BIAS : 0);
    gemm(list, 60, 1601, 131, BIAS);
    gemm(list, 1100, 250, 160, BIAS);

    /* Weights of 16 bits: every number of pixels, panels that are not full. */
    for (int64_t m = 1; m <= 9; m++)
        for (int64_t n = 170; n <= 650; n += 120 + m) {
            int type = (m + n) % 2 ? F16_WEIGHTS : BF16_WEIGHTS;
            gemm(list, m, 100 + 7 * m, n, type | (n % 3 == 0 ? BIAS : 0));
            gemm(list, m, 101 + m, n, (type ^ F16_WEIGHTS ^ BF16_WEIGHTS) | RESIDUAL);
        }
    gemm(list, 3, 5, 4000, F16_WEIGHTS);
    add(list, "f16_weights_1x1s2", window(2, 3, 210, 85, 1, 2, 0), BIAS | SLICE | F16_WEIGHTS);
    add(list, "bf16_weights_1x1", window(2, 2, 70, 250, 1, 1, 0), IN_PLACE | SLICE | BF16_WEIGHTS);
    hn_conv_f32 p = window(1, 2, 150, 120, 1, 1, 0);
    p.act.kind = HN_ACT_GELU;
    add(list, "f16_weights_1x1_gelu", p, BIAS | RESIDUAL | F16_WEIGHTS);
    p = window(2, 9, 70, 150, 1, 1, 0);
    add(list, "wide_1x1", p, BIAS | RESIDUAL);
    add(list, "wide_1x1_in_place", p, BIAS | IN_PLACE);
    add(list, "wide_1x1_slices", p, RESIDUAL | SLICE);
    p.act.kind = HN_ACT_GELU;
    add(list, "wide_1x1_gelu", p, BIAS | RESIDUAL);
    add(list, "conv3x3", window(1, 9, 16, 32, 3, 1, 1), BIAS);
    add(list, "conv3x3_odd", window(2, 7, 13, 29, 3, 1, 1), BIAS | RESIDUAL);
    add(list, "conv3x3_in_place", window(2, 7, 20, 33, 3, 1, 1), BIAS | IN_PLACE);
    add(list, "conv3x3_slices", window(2, 6, 17, 35, 3, 1, 1), BIAS | RESIDUAL | SLICE);
    add(list, "conv3x3_slices_in_place", window(1, 6, 17, 21, 3, 1, 1), IN_PLACE | SLICE);
    add(list, "conv3x3s2", window(1, 15, 24, 40, 3, 2, 1), BIAS);
    add(list, "conv1x1s2", window(1, 14, 31, 50, 1, 2, 0), RESIDUAL);
    add(list, "conv5x5", window(1, 11, 8, 24, 5, 1, 2), 0);
    add(list, "conv7x7s2_stem", window(1, 21, 3, 40, 7, 2, 3), BIAS);
    add(list, "conv7x7s2_stem_planar", window(2, 21, 3, 40, 7, 2, 3), BIAS | PLANAR);
    add(list, "conv3x3s2_stem_planar", window(1, 25, 3, 32, 3, 2, 1), PLANAR);
    add(list, "conv3x3_planar_wide", window(1, 6, 40, 10, 3, 1, 1), PLANAR | RESIDUAL);
    add(list, "conv4x4s2_short_rows", window(2, 10, 1, 40, 4, 2, 1), BIAS | RESIDUAL);
    add(list, "conv4x4s4_patches_planar", window(2, 24, 3, 40, 4, 4, 0), BIAS | PLANAR);
    p = window(1, 9, 6, 21, 3, 1, 1), p.groups = 3;
    add(list, "conv3x3_planar_groups", p, BIAS | RESIDUAL | PLANAR);
    add(list, "conv1x1_batch", window(3, 7, 33, 41, 1, 1, 0), BIAS | IN_PLACE);
    add(list, "conv1x1_few", window(2, 10, 18, 9, 1, 1, 0), BIAS | RESIDUAL);
    add(list, "conv5x5_to_five", window(2, 9, 16, 5, 5, 1, 4), BIAS | RESIDUAL);
    add(list, "conv5x5_to_six", window(1, 12, 20, 6, 5, 1, 2), BIAS | SLICE);
    add(list, "conv4x4_to_seven", window(2, 11, 48, 7, 4, 2, 1), IN_PLACE);
    add(list, "conv5x5_to_eight", window(1, 7, 33, 8, 5, 1, 2), 0);
    add(list, "conv5x5_to_six_images", window(64, 10, 16, 6, 5, 1, 4), BENCH);
    add(list, "conv5x5_to_eight_images", window(32, 16, 32, 8, 5, 1, 2), BENCH);
    add(list, "conv3x3_one_channel", window(1, 28, 1, 16, 3, 1, 0), BIAS);
    add(list, "conv3x3_all_padding", window(1, 2, 4, 5, 3, 1, 3), BIAS);
    add(list, "conv3x3_14_pixels", window(1, 14, 20, 40, 3, 1, 1), BIAS);
    add(list, "conv3x3_7_pixels", window(1, 7, 48, 40, 3, 1, 1), BIAS);
    p = window(1, 12, 19, 34, 3, 1, 2), p.dh = p.dw = 2;
    add(list, "conv3x3_dilated", p, BIAS);
    p = window(2, 20, 60, 47, 3, 1, 2), p.dh = p.dw = 2;
    add(list, "conv3x3_dilated_wide", p, BIAS | RESIDUAL | SLICE);
    p = window(2, 16, 20, 39, 3, 1, 12), p.dh = p.dw = 12, p.oh = p.ow = 16;
    add(list, "conv3x3_dilated_12", p, BIAS | RESIDUAL);
    p = window(1, 16, 20, 39, 3, 1, 24), p.dh = p.dw = 24, p.oh = p.ow = 16;
    add(list, "conv3x3_dilated_24", p, BIAS | SLICE);
    p = window(1, 9, 700, 20, 3, 1, 6), p.dh = 2, p.dw = 6, p.pt = 2, p.oh = p.ow = 9;
    p.act = (hn_act){HN_ACT_SILU, 1, 0};
    add(list, "conv3x3_dilated_passes", p, BIAS | IN_PLACE);
    p = window(2, 10, 12, 40, 5, 2, 9), p.dh = 4, p.dw = 5, p.oh = 6, p.ow = 5, p.groups = 2;
    add(list, "conv5x5s2_dilated_groups", p, BIAS);
    p = window(1, 3, 9, 20, 3, 1, 20), p.dh = p.dw = 2, p.oh = p.ow = 30;
    add(list, "conv3x3_dilated_most_padding", p, BIAS);
    add(list, "conv3x3_wide", window(2, 19, 62, 45, 3, 1, 1), BIAS | IN_PLACE);
    add(list, "conv3x3_slices_wide", window(2, 13, 63, 42, 3, 1, 1), BIAS | RESIDUAL | SLICE);
    p = window(1, 15, 60, 83, 3, 1, 0), p.act = (hn_act){HN_ACT_SILU, 1, 0};
    add(list, "conv3x3_valid_wide", p, BIAS);
    add(list, "conv3x3_7_pixels_batch", window(3, 7, 96, 80, 3, 1, 1), BIAS | RESIDUAL);
    /* Many weights for few pixels. */
    add(list, "conv3x3_many_weights", window(1, 13, 130, 140, 3, 1, 1), BIAS | RESIDUAL | SLICE);
    add(list, "conv3x3_many_weights_batch", window(3, 7, 150, 129, 3, 1, 1), BIAS | IN_PLACE);
    add(list, "conv3x3_many_channels", window(1, 14, 1024, 17, 3, 1, 1), BIAS);
    add(list, "conv5x5s2_wide", window(1, 31, 61, 33, 5, 2, 2), BIAS | RESIDUAL);
    add(list, "conv1x1s2_wide", window(2, 21, 90, 77, 1, 2, 0), BIAS | SLICE);
    p = window(1, 10, 24, 36, 3, 1, 1), p.groups = 3;
    add(list, "conv3x3_groups", p, BIAS);
    p = window(1, 9, 32, 80, 3, 2, 1), p.groups = 2;
    add(list, "conv3x3s2_groups", p, BIAS | RESIDUAL);
    p = window(1, 2, 12, 330, 3, 2, 1), p.groups = 3;
    add(list, "conv3x3s2_groups_one_pixel", p, BIAS | RESIDUAL | SLICE);
    for (int64_t n = 1; n <= 5; n++) {
        char name[64];
        int more = n % 2 == 0 ? RESIDUAL : IN_PLACE;
        p = window(2, 13, 16 + 5 * n, n, 3, 1, 1), p.act = (hn_act){HN_ACT_SIGMOID, 0, 0};
        snprintf(name, sizeof name, "conv3x3_to_%lld", (long long)n);
        add(list, name, p, BIAS | more);
        p = window(1, 12, 40, n, 5, 2, 2);
        snprintf(name, sizeof name, "conv5x5s2_slices_to_%lld", (long long)n);
        add(list, name, p, SLICE | more);
        p = window(1, 20, 21, n, 3, 1, 6), p.dh = p.dw = 6, p.oh = p.ow = 20;
        snprintf(name, sizeof name, "conv3x3_dilated_to_%lld", (long long)n);
        add(list, name, p, BIAS);
        gemm(list, 300, 33, n, BIAS);
    }
    for (int64_t group = 2; group <= 16; group *= 2) { /* outputs of a group */
        char name[64];
        p = window(2, 21, 5 * group, 5 * group, 3, 1, 1), p.groups = 5;
        snprintf(name, sizeof name, "conv3x3_groups_of_%lld", (long long)group);
        add(list, name, p, BIAS | RESIDUAL);
        p = window(1, 19, 12 * group, 24 * group, 3, 2, 1), p.groups = 24;
        p.act = (hn_act){HN_ACT_SILU, 1, 0};
        snprintf(name, sizeof name, "conv3x3s2_half_groups_of_%lld", (long long)group);
        add(list, name, p, BIAS | SLICE | IN_PLACE);
        p = window(1, 14, 3 * group, 3 * group, 4, 3, 2), p.groups = 3, p.dw = 2, p.ow = 4;
        snprintf(name, sizeof name, "conv4x4s3_groups_of_%lld", (long long)group);
        add(list, name, p, 0);
    }
    p = window(1, 33, 24, 24, 5, 1, 2), p.groups = 6;
    add(list, "conv5x5_groups", p, BIAS);
    p = window(1, 2, 24, 3, 3, 1, 5), p.act = (hn_act){HN_ACT_CLIP, 0, 1};
    add(list, "conv3x3_all_padding_to_3", p, BIAS);
    static const int64_t depthwise[][5] = {/* channels, size, kernel, stride, padding */
                                           {12, 6, 3, 1, 1},  {1, 9, 3, 1, 1},   {4, 11, 3, 2, 1},
                                           {8, 12, 3, 1, 0},  {15, 28, 3, 1, 1}, {16, 17, 3, 2, 0},
                                           {33, 10, 3, 1, 3}, {7, 7, 5, 1, 2},   {20, 18, 5, 1, 2},
                                           {17, 21, 5, 2, 2}, {40, 8, 7, 1, 3},  {19, 20, 7, 1, 3},
                                           {9, 15, 7, 2, 3},  {5, 9, 1, 1, 0},   {18, 13, 2, 2, 0},
                                           {35, 9, 4, 3, 1},  {3, 2, 3, 1, 2},   {600, 7, 3, 1, 1}};
    for (size_t i = 0; i < sizeof depthwise / sizeof *depthwise; i++) {
        const int64_t *d = depthwise[i];
        char name[64];
        snprintf(name, sizeof name, "depthwise%lldx%llds%lld_%lld_%lld", (long long)d[2],
                 (long long)d[2], (long long)d[3], (long long)d[0], (long long)d[1]);
        p = window(i % 3 == 0 ? 2 : 1, d[1], d[0], d[0], d[2], d[3], d[4]), p.groups = d[0];
        add(list, name, p,
            (i % 2 == 0 ? BIAS : 0) | (i % 3 == 1 ? RESIDUAL : 0) | (i % 5 == 2 ? IN_PLACE : 0) |
                (i % 4 == 3 ? SLICE : 0));
    }
    p = window(1, 16, 21, 21, 3, 1, 2), p.groups = 21, p.dh = p.dw = 2;
    add(list, "depthwise3x3_dilated", p, BIAS);
    p = window(1, 16, 21, 21, 3, 1, 1), p.groups = 21, p.dh = 3, p.oh = 12;
    add(list, "depthwise3x3_dilated_down", p, BIAS | RESIDUAL);
    p = window(1, 12, 18, 18, 7, 1, 3), p.groups = 18, p.kh = 1, p.pt = 0;
    add(list, "depthwise1x7", p, BIAS);
    p = window(1, 12, 18, 18, 7, 1, 3), p.groups = 18, p.kw = 1, p.pl = 0, p.sh = 3, p.oh = 4;
    add(list, "depthwise7x1s3x1", p, BIAS | SLICE);
    p = window(1, 8, 10, 10, 3, 1, 1), p.groups = 10, p.pt = p.pl = -1, p.oh = p.ow = 6;
    add(list, "depthwise3x3_cropped", p, 0);
    p = window(1, 14, 10, 10, 3, 1, 1), p.groups = 10;
    add(list, "depthwise3x3_planar", p, BIAS | PLANAR);
    p = window(1, 8, 10, 20, 3, 1, 1), p.groups = 10;
    add(list, "conv3x3_depthwise_twice", p, BIAS);
    p = window(1, 9, 9, 12, 3, 1, 1), p.kw = 1, p.ow = p.w, p.pl = 0, p.sh = 2, p.oh = 5;
    add(list, "conv3x1s2x1", p, BIAS);
    p = window(1, 8, 7, 12, 2, 1, 0), p.oh = 9, p.ow = 10, p.pt = 1;
    add(list, "conv2x2_uneven_padding", p, BIAS);
    for (int kind = 0; kind < HN_ACT_COUNT_; kind++) {
        char name[64];
        snprintf(name, sizeof name, "activation_%d", kind);
        p = window(1, 7, 20, 37, 1, 1, 0);
        p.act = (hn_act){(hn_act_kind)kind, kind == HN_ACT_CLIP ? -1.0F : 0.3F,
                         kind == HN_ACT_CLIP ? 1.5F : 0.5F};
        add(list, name, p, BIAS | RESIDUAL);
        hn_conv_f32 large = window(1, 13, 40, 70, 1, 1, 0);
        large.act = p.act;
        snprintf(name, sizeof name, "bf16_activation_%d", kind);
        add(list, name, large, BIAS | RESIDUAL | ALL_BF16);
        snprintf(name, sizeof name, "depthwise_activation_%d", kind);
        p.groups = p.n = p.c, p.kh = p.kw = 3, p.pt = p.pl = 1;
        add(list, name, p, BIAS | RESIDUAL);
    }

    /* Operands stored as bf16: in place, copied, compact, with a last tile that is not full. */
    add(list, "bf16_1x1", window(1, 9, 64, 70, 1, 1, 0), BIAS | RESIDUAL | ALL_BF16);
    add(list, "bf16_1x1_in_place", window(3, 5, 96, 64, 1, 1, 0), BIAS | IN_PLACE | ALL_BF16);
    add(list, "bf16_1x1_x", window(1, 8, 64, 48, 1, 1, 0), BIAS | RESIDUAL | X_BF16);
    add(list, "bf16_1x1_y", window(1, 8, 61, 49, 1, 1, 0), BIAS | RESIDUAL | Y_BF16);
    add(list, "bf16_1x1_r", window(1, 8, 61, 49, 1, 1, 0), BIAS | RESIDUAL | R_BF16);
    add(list, "bf16_1x1_slices", window(2, 9, 64, 37, 1, 1, 0), RESIDUAL | SLICE | ALL_BF16);
    add(list, "bf16_1x1s2", window(2, 13, 75, 40, 1, 2, 0), BIAS | ALL_BF16);
    add(list, "bf16_3x3", window(2, 15, 62, 75, 3, 1, 1), BIAS | RESIDUAL | ALL_BF16);
    add(list, "bf16_3x3s2", window(1, 23, 64, 33, 3, 2, 1), BIAS | ALL_BF16);
    add(list, "bf16_7x7s2_stem", window(2, 41, 3, 40, 7, 2, 3), BIAS | ALL_BF16);
    add(list, "bf16_7x7s2_stem_planar", window(1, 41, 3, 64, 7, 2, 3), PLANAR | Y_BF16);
    static const int64_t narrow[][5] = {/* channels, size, kernel, stride, padding */
                                        {12, 6, 3, 1, 1},  {16, 19, 3, 1, 1}, {33, 21, 3, 2, 1},
                                        {20, 18, 5, 1, 2}, {17, 21, 5, 2, 2}, {40, 17, 7, 1, 3},
                                        {9, 15, 7, 2, 3},  {18, 13, 2, 2, 0}, {300, 9, 3, 1, 3}};
    for (size_t i = 0; i < sizeof narrow / sizeof *narrow; i++) {
        const int64_t *d = narrow[i];
        char name[64];
        snprintf(name, sizeof name, "bf16_depthwise_%zu", i);
        p = window(2, d[1], d[0], d[0], d[2], d[3], d[4]), p.groups = p.c;
        if (i % 3 == 1) p.act = (hn_act){HN_ACT_SILU, 1, 0};
        if (i % 3 == 2) p.act = (hn_act){HN_ACT_CLIP, 0, 6};
        static const int ways[] = {X_BF16 | BIAS, ALL_BF16 | BIAS | RESIDUAL | SLICE,
                                   X_BF16 | Y_BF16 | RESIDUAL, X_BF16 | R_BF16 | RESIDUAL | BIAS,
                                   ALL_BF16 | IN_PLACE | BIAS};
        add(list, name, p, ways[i % (sizeof ways / sizeof *ways)]);
    }
    p = window(1, 12, 24, 24, 3, 1, 2), p.dh = p.dw = 2, p.groups = p.c;
    add(list, "bf16_depthwise_dilated", p, BIAS | ALL_BF16);
    add(list, "bf16_few_pixels", window(1, 3, 20, 24, 3, 1, 1), BIAS | ALL_BF16);

    gemm(list, 1024, 1024, 1024, BENCH);
    gemm(list, 128, 768, 768, BIAS | BENCH);
    gemm(list, 128, 768, 3072, BIAS | BENCH);
    gemm(list, 128, 3072, 768, BIAS | BENCH);
    gemm(list, 128, 384, 384, BIAS | BENCH);
    gemm(list, 128, 384, 1536, BIAS | BENCH);
    gemm(list, 128, 1536, 384, BIAS | BENCH);
    gemm(list, 64, 768, 768, BIAS | BENCH);
    gemm(list, 64, 4096, 1024, BIAS | BENCH);
    gemm(list, 197, 768, 3072, BIAS | BENCH);
    gemm(list, 512, 1024, 4096, BIAS | BENCH);
    gemm(list, 512, 4096, 1024, BIAS | BENCH);
    gemm(list, 3, 900, 310, BIAS); /* more weights than anything */
    gemm(list, 1, 2048, 1000, BIAS | BENCH);
    gemm(list, 1, 4096, 4096, BIAS | BENCH);
    gemm(list, 4, 2048, 1000, BIAS | BENCH);
    gemm(list, 8, 2048, 1000, BIAS | BENCH);
    for (int64_t m = 1; m <= 8; m *= 2) {
        gemm(list, m, 768, 32000, BENCH);
        gemm(list, m, 768, 32000, BENCH | F16_WEIGHTS);
        gemm(list, m, 768, 32000, BENCH | BF16_WEIGHTS);
        gemm(list, m, 384, 1536, BENCH | F16_WEIGHTS);
        gemm(list, m, 128, 128, BENCH | F16_WEIGHTS);
    }
    gemm(list, 128, 768, 768, BIAS | BENCH | ALL_BF16);
    gemm(list, 128, 768, 3072, BIAS | BENCH | ALL_BF16);
    gemm(list, 128, 3072, 768, BIAS | BENCH | ALL_BF16);
    layer(list, 3, 1, 64, 64, 56, BIAS | ALL_BF16);
    layer(list, 3, 1, 256, 256, 14, BIAS | ALL_BF16);
    layer(list, 1, 1, 256, 64, 56, BIAS | ALL_BF16);
    layer(list, 1, 1, 64, 256, 56, BIAS | RESIDUAL | ALL_BF16);
    layer(list, 1, 1, 1024, 256, 14, BIAS | ALL_BF16);
    layer(list, 7, 2, 3, 64, 224, BIAS | PLANAR | Y_BF16);
    layer(list, 3, 1, 144, 144, 56, BIAS | DEPTHWISE | ALL_BF16);
    layer(list, 3, 2, 96, 96, 112, BIAS | DEPTHWISE | ALL_BF16);
    layer(list, 3, 1, 576, 576, 14, BIAS | DEPTHWISE | ALL_BF16);
    layer(list, 5, 1, 240, 240, 28, BIAS | DEPTHWISE | ALL_BF16);
    layer(list, 3, 1, 64, 64, 56, BIAS);
    layer(list, 3, 1, 128, 128, 28, BIAS);
    layer(list, 3, 1, 256, 256, 14, BIAS);
    layer(list, 3, 1, 512, 512, 7, BIAS);
    layer(list, 3, 2, 128, 128, 56, BIAS);
    layer(list, 3, 2, 512, 512, 14, BIAS);
    layer(list, 1, 1, 256, 64, 56, BIAS);
    layer(list, 1, 1, 96, 24, 56, BIAS);
    layer(list, 1, 1, 240, 80, 14, BIAS);
    layer(list, 1, 1, 40, 240, 14, BIAS);
    layer(list, 1, 1, 64, 256, 56, BIAS | RESIDUAL);
    layer(list, 1, 1, 1024, 256, 14, BIAS);
    layer(list, 1, 1, 2048, 512, 7, BIAS);
    layer(list, 1, 1, 160, 960, 7, BIAS);
    layer(list, 1, 1, 960, 160, 7, BIAS);
    layer(list, 1, 2, 256, 512, 56, BIAS);
    layer(list, 1, 1, 16, 96, 112, BIAS);
    layer(list, 1, 1, 16, 16, 160, BIAS);
    layer(list, 1, 1, 32, 16, 112, BIAS);
    layer(list, 1, 1, 64, 1, 40, BIAS);
    p = window(1, 56, 128, 128, 3, 1, 1), p.groups = 32;
    add(list, "conv3x3s1_128_in_32_groups", p, BIAS | BENCH);
    p = window(1, 28, 64, 64, 3, 1, 1), p.groups = 4;
    add(list, "conv3x3s1_64_in_4_groups", p, BIAS | BENCH);
    p = window(1, 28, 128, 128, 3, 1, 1), p.groups = 16;
    add(list, "conv3x3s1_128_in_16_groups", p, BIAS | BENCH);
    layer(list, 3, 1, 64, 1, 128, BIAS);
    layer(list, 3, 1, 64, 3, 128, BIAS);
    layer(list, 1, 1, 256, 2, 64, BIAS);
    layer(list, 1, 1, 144, 24, 56, BIAS);
    layer(list, 1, 1, 96, 576, 14, BIAS);
    layer(list, 7, 2, 3, 64, 224, BIAS);
    layer(list, 3, 2, 3, 32, 224, BIAS | PLANAR);
    layer(list, 3, 2, 3, 16, 224, BIAS | PLANAR);
    layer(list, 3, 2, 3, 8, 96, BIAS);
    layer(list, 3, 1, 32, 32, 112, BIAS | DEPTHWISE);
    layer(list, 3, 2, 96, 96, 112, BIAS | DEPTHWISE);
    layer(list, 3, 1, 144, 144, 56, BIAS | DEPTHWISE);
    layer(list, 3, 1, 192, 192, 28, BIAS | DEPTHWISE);
    layer(list, 3, 1, 576, 576, 14, BIAS | DEPTHWISE);
    layer(list, 3, 1, 960, 960, 7, BIAS | DEPTHWISE);
    layer(list, 5, 1, 240, 240, 28, BIAS | DEPTHWISE);
    layer(list, 5, 2, 672, 672, 14, BIAS | DEPTHWISE);
    layer(list, 7, 1, 96, 96, 56, BIAS | DEPTHWISE);
}

/* ---- sparse weights ------------------------------------------------------------------------- */

/* A problem of whose weights so many of a hundred are not 0. */
static void sparse(check_list *list, const char *name, hn_conv_f32 p, int percent, int flags) {
    char text[96];
    int64_t weights = p.n * p.kh * p.kw * p.c;
    p.w_zeros = weights - weights * percent / 100;
    snprintf(text, sizeof text, "sparse%d_%s", percent, name);
    add(list, text, p, flags);
}

static void sparse_gemm(check_list *list, int64_t m, int64_t k, int64_t n, int percent, int flags) {
    char name[64];
    hn_conv_f32 p = hn_conv_of_gemm(m, n, k);
    if (flags & BIAS) p.act = (hn_act){HN_ACT_CLIP, 0, INFINITY};
    snprintf(name, sizeof name, "gemm_%lldx%lldx%lld", (long long)m, (long long)k, (long long)n);
    sparse(list, name, p, percent, flags);
}

static void sparse_layer(check_list *list, int64_t k, int64_t s, int64_t c, int64_t n, int64_t size,
                         int percent, int flags) {
    char name[64];
    hn_conv_f32 p = window(1, size, c, n, k, s, k / 2);
    p.act = (hn_act){HN_ACT_CLIP, 0, INFINITY};
    snprintf(name, sizeof name, "conv%lldx%llds%lld_%lld_%lld_%lld", (long long)k, (long long)k,
             (long long)s, (long long)c, (long long)n, (long long)p.oh);
    sparse(list, name, p, percent, flags | BENCH);
}

static void sparse_cases(check_list *list) {
    /* Around every tile (16 to 64 pixels), pass (128 to 256 k) and shard (256 outputs). */
    static const int64_t sizes[][3] = {{1, 300, 300}, {2, 129, 19},  {7, 64, 33},   {15, 40, 16},
                                       {16, 128, 17}, {17, 257, 64}, {31, 255, 5},  {33, 256, 100},
                                       {48, 31, 257}, {63, 515, 29}, {64, 128, 48}, {65, 127, 512},
                                       {97, 600, 40}, {130, 17, 530}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int percent = i % 3 == 0 ? 5 : i % 3 == 1 ? 10 : 20;
        sparse_gemm(list, sizes[i][0], sizes[i][1], sizes[i][2], percent, i % 2 ? BIAS : RESIDUAL);
    }
    for (int percent = 1; percent <= 51; percent += 10)
        sparse_gemm(list, 70, 300, 70, percent, BIAS | RESIDUAL);
    sparse(list, "conv3x3", window(2, 9, 40, 50, 3, 1, 1), 10, BIAS);
    sparse(list, "conv3x3_in_place", window(2, 7, 37, 65, 3, 1, 1), 10, BIAS | IN_PLACE);
    sparse(list, "conv3x3_slices", window(1, 11, 50, 35, 3, 1, 1), 10, BIAS | RESIDUAL | SLICE);
    sparse(list, "conv3x3s2", window(1, 15, 33, 40, 3, 2, 1), 10, BIAS);
    sparse(list, "conv1x1s2", window(2, 14, 131, 50, 1, 2, 0), 10, RESIDUAL);
    sparse(list, "conv1x1_in_place", window(3, 7, 80, 270, 1, 1, 0), 20, IN_PLACE | SLICE);
    sparse(list, "conv5x5", window(1, 11, 20, 24, 5, 1, 2), 5, 0);
    sparse(list, "conv3x3_all_padding", window(1, 2, 40, 35, 3, 1, 3), 10, BIAS);
    hn_conv_f32 p = window(1, 12, 30, 34, 3, 1, 2);
    p.dh = p.dw = 2;
    sparse(list, "conv3x3_dilated", p, 10, BIAS);
    for (int kind = 0; kind < HN_ACT_COUNT_; kind++) {
        char name[64];
        p = window(1, 7, 140, 37, 1, 1, 0);
        p.act = (hn_act){(hn_act_kind)kind, kind == HN_ACT_CLIP ? -1.0F : 0.3F,
                         kind == HN_ACT_CLIP ? 1.5F : 0.5F};
        snprintf(name, sizeof name, "activation_%d", kind);
        sparse(list, name, p, 10, BIAS | RESIDUAL);
    }

    for (int percent = 5; percent <= 50; percent *= 2) {
        sparse_gemm(list, 128, 768, 768, percent, BIAS | BENCH);
        sparse_gemm(list, 128, 768, 3072, percent, BIAS | BENCH);
        sparse_gemm(list, 128, 3072, 768, percent, BIAS | BENCH);
        sparse_gemm(list, 1, 2048, 1000, percent, BIAS | BENCH);
        sparse_layer(list, 1, 1, 256, 64, 56, percent, BIAS);
        sparse_layer(list, 1, 1, 64, 256, 56, percent, BIAS | RESIDUAL);
        sparse_layer(list, 1, 1, 512, 128, 28, percent, BIAS);
        sparse_layer(list, 1, 1, 128, 512, 28, percent, BIAS | RESIDUAL);
        sparse_layer(list, 1, 1, 1024, 256, 14, percent, BIAS);
        sparse_layer(list, 1, 1, 256, 1024, 14, percent, BIAS | RESIDUAL);
        sparse_layer(list, 1, 1, 2048, 512, 7, percent, BIAS);
        sparse_layer(list, 1, 1, 512, 2048, 7, percent, BIAS | RESIDUAL);
        sparse_layer(list, 1, 2, 256, 512, 56, percent, BIAS);
        sparse_layer(list, 3, 1, 64, 64, 56, percent, BIAS);
        sparse_layer(list, 3, 1, 128, 128, 28, percent, BIAS);
        sparse_layer(list, 3, 1, 256, 256, 14, percent, BIAS);
        sparse_layer(list, 3, 1, 512, 512, 7, percent, BIAS);
        sparse_layer(list, 3, 2, 128, 128, 56, percent, BIAS);
    }
}

/* ---- weights that are few numbers ----------------------------------------------------------- */

static void few_values(check_list *list, const char *name, hn_conv_f32 p, int values, int flags) {
    char text[96];
    p.w_values = values;
    snprintf(text, sizeof text, "values%d_%s", values, name);
    add(list, text, p, flags);
}

static void few_values_gemm(check_list *list, int64_t m, int64_t k, int64_t n, int values,
                            int flags) {
    char name[64];
    hn_conv_f32 p = hn_conv_of_gemm(m, n, k);
    if (flags & BIAS) p.act = (hn_act){HN_ACT_CLIP, 0, INFINITY};
    snprintf(name, sizeof name, "gemm_%lldx%lldx%lld", (long long)m, (long long)k, (long long)n);
    few_values(list, name, p, values, flags);
}

static void few_values_cases(check_list *list) {
    /* Every number of rows, tables of every size, panels and words that are not full. */
    static const int values[] = {1, 16, 17, 64, 100, 128, 9, 33};
    for (int i = 0; i < 8; i++) {
        few_values_gemm(list, i + 1, 40 + i, 129 + 9 * i, values[i], BIAS);
        few_values_gemm(list, i + 1, 3 * i, 70 + i, 16, RESIDUAL);
        few_values_gemm(list, i + 1, 37, 64, values[7 - i], i % 2 ? BIAS | RESIDUAL : 0);
    }
    hn_conv_f32 p = window(1, 2, 45, 70, 1, 1, 0);
    p.act.kind = HN_ACT_GELU;
    few_values(list, "1x1_gelu", p, 14, BIAS | RESIDUAL);
    few_values(list, "1x1s2", window(2, 3, 50, 85, 1, 2, 0), 90, BIAS | SLICE);
    few_values(list, "1x1", window(2, 2, 43, 100, 1, 1, 0), 16, IN_PLACE | SLICE);

    static const int64_t sizes[][2] = {{512, 512}, {1024, 1024}, {4096, 4096}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int n = 16; n <= 128; n *= 2)
            for (int64_t m = 1; m <= (n == 16 ? 8 : 1); m *= 2)
                few_values_gemm(list, m, sizes[i][0], sizes[i][1], n, BIAS | BENCH);
}

static void all_cases(check_list *list) {
    cases(list);
    sparse_cases(list);
    few_values_cases(list);
}

static void magnitude(void *problem) { ((hn_conv_f32 *)problem)->act = (hn_act){0}; }

/* A number of 16 bits near x. */
static float narrowed(float x, hn_float type) {
    return type == HN_FLOAT_F16 ? hn_f16_to_f32(hn_f16_from_f64((double)x))
                                : hn_bf16_to_f32(hn_bf16_from_f64((double)x));
}

/* Weights of which w_zeros are 0, of either sign, anywhere; with other data than random ones perhaps
 * more. */
static void fill_sparse(int64_t zeros, int64_t n, check_data kind, hn_rng *rng, float *w) {
    for (int64_t i = 0; i < n; i++) {
        double x = 2 * hn_rng_f64(rng) - 1;
        if (kind == CHECK_EXACT) x = floor(8 * x);
        if (kind == CHECK_EXTREME) x *= i % 3 == 0 ? 1e15 : i % 3 == 1 ? 1e-15 : 1e-40;
        if ((int64_t)hn_rng_below(rng, (uint64_t)(n - i)) < zeros) x = i % 2 ? -0.0 : 0, zeros--;
        w[i] = (float)x;
    }
}

/* Weights that are so many different numbers, or with other data than random ones perhaps fewer. */
static void fill_few_values(int values, int64_t n, check_data kind, hn_rng *rng, float *w) {
    float table[128];
    for (int i = 0; i < values; i++) {
        double x = 2 * hn_rng_f64(rng) - 1;
        if (kind == CHECK_EXACT) x = floor(8 * x);
        if (kind == CHECK_EXTREME) x *= i % 3 == 0 ? 1e15 : i % 3 == 1 ? 1e-15 : 1e-40;
        table[i] = (float)x;
    }
    for (int64_t i = 0; i < n; i++) w[i] = table[hn_rng_below(rng, (uint64_t)values)];
}

/* Weights that 16 bits hold; what is beyond the largest f16 becomes small. Or sparse ones, or few
 * numbers. */
static bool fill(const check_case *c, int operand, check_data kind, hn_rng *rng, void *data) {
    const hn_conv_f32 *p = (const hn_conv_f32 *)c->problem;
    if (operand == HN_CONV_W && p->w_zeros > 0) {
        fill_sparse(p->w_zeros, (int64_t)c->operand[operand].count, kind, rng, data);
        return true;
    }
    if (operand == HN_CONV_W && p->w_values > 0) {
        fill_few_values(p->w_values, (int64_t)c->operand[operand].count, kind, rng, data);
        return true;
    }
    if (operand != HN_CONV_W || p->w_fits == HN_FLOAT_F32) return false;
    float *w = data;
    for (size_t i = 0; i < c->operand[operand].count; i++) {
        double x = 2 * hn_rng_f64(rng) - 1;
        if (kind == CHECK_EXACT) x = floor(8 * x);
        if (kind == CHECK_EXTREME) x *= i % 3 == 0 ? 6e4 : i % 3 == 1 ? 0x1p-20 : 0;
        w[i] = narrowed((float)x, p->w_fits);
    }
    return true;
}

static double whole(const hn_kernel *k) { return strstr(k->name, "winograd") != NULL ? 1e-5 : 0; }

const check_family check_conv_f32 = {.family = &hn_conv_f32_family,
                                     .cases = all_cases,
                                     .magnitude = magnitude,
                                     .fill = fill,
                                     .whole = whole};

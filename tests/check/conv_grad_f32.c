/* Cases of conv_grad_f32: channels around every vector length, windows of all kinds, groups, many
 * images and long rows, so that bands and chunks of every kind occur; layers for timing. */
#include "kernels/conv_grad_f32/conv_grad_f32.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check.h"

enum { GAPS = 1, BENCH = 2, TURNED = 4 };

static void add(check_list *list, const char *name, hn_conv_grad_f32 p, int flags) {
    check_case *c = check_add(list, "%s", name);
    int64_t gap = flags & GAPS ? 3 : 0, per = p.c / p.groups, taps = p.kh * p.kw;
    p.x_channel = 1;
    p.x_pixel = p.c + gap, p.x_row = p.w * p.x_pixel + gap, p.x_image = p.h * p.x_row + gap;
    p.y_pixel = p.n + 2 * gap, p.y_row = p.ow * p.y_pixel + gap, p.y_image = p.oh * p.y_row;
    p.w_x = 1, p.w_y = p.kw, p.w_i = taps, p.w_o = per * taps;
    if (flags & TURNED) p.w_o = taps, p.w_i = p.n * taps;
    memcpy(c->problem, &p, sizeof p);
    check_operand_add(
        c, CHECK_IN, CHECK_F32,
        (p.batch - 1) * p.x_image + (p.h - 1) * p.x_row + (p.w - 1) * p.x_pixel + p.c);
    check_operand_add(
        c, CHECK_IN, CHECK_F32,
        (p.batch - 1) * p.y_image + (p.oh - 1) * p.y_row + (p.ow - 1) * p.y_pixel + p.n);
    check_operand_add(c, CHECK_OUT, CHECK_F32, p.n * per * taps);
    double sums = (double)(p.batch * p.oh * p.ow);
    c->rel = 4 + 2 * sqrt(sums);
    c->exact = true;
    c->bench = (flags & BENCH) != 0;
    c->flops = 2 * sums * (double)(p.n * per * taps);
}

static hn_conv_grad_f32 square(int64_t batch, int64_t size, int64_t c, int64_t n, int64_t k,
                               int64_t s, int64_t pad, int64_t groups) {
    int64_t out = (size + 2 * pad - k) / s + 1;
    return (hn_conv_grad_f32){.batch = batch,
                              .h = size,
                              .w = size,
                              .c = c,
                              .oh = out,
                              .ow = out,
                              .n = n,
                              .kh = k,
                              .kw = k,
                              .sh = s,
                              .sw = s,
                              .dh = 1,
                              .dw = 1,
                              .pt = pad,
                              .pl = pad,
                              .groups = groups};
}

static hn_conv_grad_f32 product(int64_t m, int64_t k, int64_t n) {
    return (hn_conv_grad_f32){.batch = 1,
                              .h = 1,
                              .w = m,
                              .c = k,
                              .oh = 1,
                              .ow = m,
                              .n = n,
                              .kh = 1,
                              .kw = 1,
                              .sh = 1,
                              .sw = 1,
                              .dh = 1,
                              .dw = 1,
                              .groups = 1};
}

static void cases(check_list *list) {
    static const int64_t shapes[][8] = {
        /* batch, size, channels of x and dy, kernel, stride, padding, groups */
        {1, 5, 1, 1, 3, 1, 1, 1},     {2, 7, 3, 16, 3, 1, 1, 1},   {3, 8, 16, 16, 3, 1, 1, 1},
        {2, 9, 17, 9, 3, 2, 1, 1},    {1, 6, 40, 70, 1, 1, 0, 1},  {5, 4, 33, 12, 3, 1, 1, 1},
        {40, 4, 8, 5, 3, 1, 1, 1},    {1, 30, 4, 8, 5, 1, 2, 1},   {2, 24, 5, 130, 3, 1, 0, 1},
        {2, 6, 12, 8, 3, 1, 1, 4},    {1, 7, 6, 12, 3, 2, 1, 6},   {3, 9, 20, 20, 3, 1, 1, 20},
        {2, 8, 33, 33, 3, 2, 1, 33},  {9, 5, 16, 16, 2, 1, 0, 16}, {1, 9, 7, 7, 5, 1, 2, 7},
        {2, 5, 150, 9, 1, 2, 0, 1},   {1, 11, 3, 64, 7, 2, 3, 1},  {5, 7, 50, 50, 3, 1, 1, 50},
        {3, 10, 48, 48, 3, 2, 1, 48}, {2, 1, 17, 17, 3, 1, 1, 17}, {2, 2, 16, 16, 3, 2, 2, 16}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const int64_t *s = shapes[i];
        char name[64];
        snprintf(name, sizeof name, "%lldx%llds%lldp%lld_%lldto%lldat%lldx%lldg%lld",
                 (long long)s[4], (long long)s[4], (long long)s[5], (long long)s[6],
                 (long long)s[2], (long long)s[3], (long long)s[0], (long long)s[1],
                 (long long)s[7]);
        add(list, name, square(s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7]),
            (i % 3 == 1 ? GAPS : 0) | (i % 4 == 2 && s[7] == 1 ? TURNED : 0));
    }
    hn_conv_grad_f32 p = square(2, 9, 5, 6, 3, 1, 2, 1);
    p.dh = 2, p.dw = 2;
    p.oh = p.ow = 9;
    add(list, "dilated", p, GAPS);
    p = square(1, 4, 3, 3, 3, 1, 3, 1); /* windows that miss the image */
    add(list, "padding", p, 0);
    add(list, "product", product(37, 50, 23), TURNED);
    add(list, "product_long", product(1300, 9, 4), 0);
    add(list, "product_one", product(1, 16, 16), 0);
    add(list, "bench_16x32x32", square(64, 32, 16, 16, 3, 1, 1, 1), BENCH);
    add(list, "bench_32x16x16", square(64, 16, 32, 32, 3, 1, 1, 1), BENCH);
    add(list, "bench_64x8x8", square(64, 8, 64, 64, 3, 1, 1, 1), BENCH);
    add(list, "bench_3to16", square(64, 32, 3, 16, 3, 1, 1, 1), BENCH);
    add(list, "bench_depth_96x16", square(32, 16, 96, 96, 3, 1, 1, 96), BENCH);
    add(list, "bench_depth_96x32", square(64, 32, 96, 96, 3, 1, 1, 96), BENCH);
    add(list, "bench_depth_96x32s2", square(64, 32, 96, 96, 3, 2, 1, 96), BENCH);
    add(list, "bench_depth_144x8", square(64, 8, 144, 144, 3, 1, 1, 144), BENCH);
    add(list, "bench_1x1_16to96", square(64, 32, 16, 96, 1, 1, 0, 1), BENCH);
    add(list, "bench_1x1_96to16", square(64, 32, 96, 16, 1, 1, 0, 1), BENCH);
    add(list, "bench_1024x384x1536", product(1024, 384, 1536), TURNED | BENCH);
    add(list, "bench_1024x384x384", product(1024, 384, 384), TURNED | BENCH);
}

static void magnitude(void *problem) { (void)problem; }

const check_family check_conv_grad_f32 = {
    .family = &hn_conv_grad_f32_family, .cases = cases, .magnitude = magnitude};

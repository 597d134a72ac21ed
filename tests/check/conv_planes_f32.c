/* Cases of conv_planes_f32: rows around every vector length, blocks of every number of outputs,
 * windows with strides, dilations and borders, groups, planes with gaps, and the layers of real
 * models for timing. */
#include "kernels/conv_planes_f32/conv_planes_f32.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check.h"

enum { BIAS = 1, GAPS = 2, APART = 4, BENCH = 8 };

typedef struct window {
    int64_t kh, kw, s, d, pad;
} window;

static void add_to(check_list *list, hn_conv_planes_f32 p, hn_act act, int flags) {
    check_case *c = check_add(
        list, "%lldto%lld_g%lld_%lldx%lldx%lld_%lldx%llds%lldx%lldd%lldp%lldx%lld_a%d_%d",
        (long long)p.c, (long long)p.n, (long long)p.groups, (long long)p.batch, (long long)p.h,
        (long long)p.w, (long long)p.kh, (long long)p.kw, (long long)p.sh, (long long)p.sw,
        (long long)p.dw, (long long)p.pt, (long long)p.pl, (int)act.kind, flags);
    int64_t gap = flags & GAPS ? 3 : 0, terms = p.c / p.groups * p.kh * p.kw;
    p.act = act;
    p.x_row = p.w + gap, p.x_channel = p.h * p.x_row + gap, p.x_image = p.c * p.x_channel + gap;
    p.y_pixel = flags & APART ? 2 : 1;
    p.y_row = p.ow * p.y_pixel + gap, p.y_channel = p.oh * p.y_row + gap;
    p.y_image = p.n * p.y_channel;
    p.w_x = 1, p.w_y = p.kw, p.w_i = p.kh * p.kw, p.w_o = terms;
    memcpy(c->problem, &p, sizeof p);
    int64_t x_count =
        (p.batch - 1) * p.x_image + (p.c - 1) * p.x_channel + (p.h - 1) * p.x_row + p.w;
    int64_t y_count = (p.batch - 1) * p.y_image + (p.n - 1) * p.y_channel + (p.oh - 1) * p.y_row +
                      (p.ow - 1) * p.y_pixel + 1;
    check_operand_add(c, CHECK_IN, CHECK_F32, x_count);
    check_operand_add(c, CHECK_WEIGHTS, CHECK_F32, p.n * terms);
    check_operand_add(c, flags & BIAS ? CHECK_IN : CHECK_ABSENT, CHECK_F32, p.n);
    check_operand_add(c, CHECK_ABSENT, CHECK_F32, 0);
    check_operand_add(c, CHECK_OUT, CHECK_F32, y_count);
    /* Rounding errors of a sum walk at random; then an activation, none steeper than 2. */
    c->rel = 8 + 2 * sqrt((double)terms);
    c->abs = 1e-22 * (double)terms;
    if (act.kind > HN_ACT_LEAKY) c->rel *= 2, c->abs = 2e-6;
    c->exact = act.kind <= HN_ACT_CLIP;
    c->bench = (flags & BENCH) != 0;
    c->flops = 2 * (double)(p.batch * p.n * p.oh * p.ow) * (double)terms;
    c->bytes = 4 * ((double)(x_count + y_count) + (double)(p.n * terms));
}

static hn_conv_planes_f32 image(int64_t batch, int64_t h, int64_t w, int64_t c, int64_t n,
                                int64_t groups, window k) {
    return (hn_conv_planes_f32){.batch = batch,
                                .c = c,
                                .h = h,
                                .w = w,
                                .n = n,
                                .oh = (h + 2 * k.pad - (k.kh - 1) * k.d - 1) / k.s + 1,
                                .ow = (w + 2 * k.pad - (k.kw - 1) * k.d - 1) / k.s + 1,
                                .kh = k.kh,
                                .kw = k.kw,
                                .sh = k.s,
                                .sw = k.s,
                                .dh = k.d,
                                .dw = k.d,
                                .pt = k.pad,
                                .pl = k.pad,
                                .groups = groups};
}

static void add(check_list *list, int64_t h, int64_t w, int64_t c, int64_t n, int64_t groups,
                window k, int flags) {
    hn_act none = {HN_ACT_NONE, 0, 0}, relu = {HN_ACT_CLIP, 0, INFINITY};
    add_to(list, image(flags & BENCH ? 1 : 2, h, w, c, n, groups, k), flags & BIAS ? relu : none,
           flags);
}

static void cases(check_list *list) {
    const window one = {1, 1, 1, 1, 0}, three = {3, 3, 1, 1, 1}, valid = {3, 3, 1, 1, 0};
    for (int64_t w = 1; w <= 70; w += w < 20 ? 1 : 7) {
        int flags = (int)(w % 8);
        add(list, 5, w, 2, 3, 1, three, flags);
        add(list, 6, w, 3, 3, 3, (window){3, 3, 2, 1, 1}, flags ^ BIAS);
        add(list, 3, w, 3, 5, 1, one, flags ^ GAPS);
        add(list, 5, w + 2, 2, 9, 1, valid, flags);
        add(list, 7, w + 3, 1, 2, 1, (window){2, 4, 3, 1, 2}, flags);
    }
    for (int64_t n = 1; n <= 20; n++) {
        add(list, 5, 21, 2, n, 1, three, BIAS);
        add(list, 4, 50, 3, 3 * n, 3, one, n % 2 == 0 ? GAPS | BIAS : APART);
    }
    for (int64_t s = 1; s <= 6; s++)
        for (int64_t d = 1; d <= 4; d++) {
            add(list, 23, 41, 2, 2, 2, (window){3, 4, s, d, 3}, s % 2 == 0 ? BIAS : GAPS);
            hn_conv_planes_f32 p = image(2, 1, 300, 1, 11, 1, (window){1, 10, s, d, d % 2});
            p.pt = 0, p.oh = 1;
            add_to(list, p, (hn_act){HN_ACT_NONE, 0, 0}, 0);
        }
    add(list, 9, 9, 4, 4, 4, (window){7, 7, 1, 1, 3}, BIAS);
    add(list, 9, 33, 16, 16, 4, (window){5, 5, 1, 1, 2}, BIAS);
    add(list, 4, 4, 3, 3, 1, (window){3, 3, 1, 1, 6}, BIAS); /* windows of padding alone */
    add(list, 4, 5, 2, 2, 1, (window){2, 2, 1, 9, 9}, BIAS);
    add(list, 40, 70, 24, 3, 1, three, BIAS); /* several patches */
    add(list, 1, 4000, 9, 2, 1, (window){1, 3, 1, 1, 0}, BIAS);
    add(list, 60, 60, 9, 10, 1, one, 0);
    hn_conv_planes_f32 p = image(1, 9, 30, 3, 5, 1, (window){3, 3, 1, 1, 1});
    p.sh = 2, p.oh = 5, p.dh = 2, p.pt = 2;
    add_to(list, p, (hn_act){HN_ACT_LEAKY, 0.1f, 0}, BIAS);
    add_to(list, p, (hn_act){HN_ACT_SIGMOID, 0, 0}, BIAS | APART);
    p.sh = 1, p.sw = 3, p.ow = 9, p.oh = 8; /* what is below and to the right is not reached */
    add_to(list, p, (hn_act){HN_ACT_GELU, 0, 0}, 0);
    p = image(1, 20, 20, 2, 4, 2, one);
    p.oh = 18, p.ow = 19; /* a part of the plane */
    add_to(list, p, (hn_act){HN_ACT_NONE, 0, 0}, BIAS);

    for (int64_t k = 3; k <= 7; k += 2)
        add(list, 56, 56, 128, 128, 128, (window){k, k, 1, 1, k / 2}, BENCH);
    add(list, 56, 56, 128, 128, 128, (window){3, 3, 2, 1, 1}, BENCH);
    add(list, 28, 28, 64, 64, 64, three, BENCH);
    add(list, 56, 56, 128, 128, 8, three, BENCH);
    add(list, 56, 56, 128, 128, 32, three, BENCH);
    add(list, 224, 224, 3, 64, 1, (window){7, 7, 2, 1, 3}, BENCH);
    add(list, 1, 16000, 1, 128, 1, (window){1, 10, 5, 1, 0}, BENCH);
    add(list, 56, 56, 128, 1, 1, one, BENCH);
    add(list, 56, 56, 128, 3, 1, (window){2, 2, 1, 1, 1}, BENCH);
    add(list, 160, 160, 64, 3, 1, three, BENCH);
    add(list, 784, 28, 32, 32, 1, one, BENCH);
    add(list, 56, 56, 128, 128, 1, three, BENCH);
    add(list, 56, 56, 128, 128, 1, one, BENCH);
}

static void magnitude(void *problem) {
    ((hn_conv_planes_f32 *)problem)->act = (hn_act){HN_ACT_NONE, 0, 0};
}

const check_family check_conv_planes_f32 = {
    .family = &hn_conv_planes_f32_family, .cases = cases, .magnitude = magnitude};

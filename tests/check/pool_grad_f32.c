/* Cases of pool_grad_f32: channels around every vector length, windows that overlap and that do
 * not, borders that count and that do not, ties. */
#include "kernels/pool_grad_f32/pool_grad_f32.h"

#include <math.h>
#include <string.h>

#include "check.h"

enum { GAPS = 1, COUNT_PADS = 2, BENCH = 4 };

static void add(check_list *list, hn_pool_grad_kind kind, const int64_t *s, int flags) {
    int64_t gap = flags & GAPS ? 3 : 0, out = (s[1] + 2 * s[4] - s[2]) / s[3] + 1;
    hn_pool_grad_f32 p = {.kind = kind,
                          .batch = s[5],
                          .h = s[1],
                          .w = s[1],
                          .c = s[0],
                          .n = s[0],
                          .oh = out,
                          .ow = out,
                          .groups = s[0],
                          .kh = s[2],
                          .kw = s[2],
                          .sh = s[3],
                          .sw = s[3],
                          .dh = 1,
                          .dw = 1,
                          .pt = s[4],
                          .pl = s[4],
                          .pb = s[4],
                          .pr = s[4],
                          .x_channel = 1,
                          .count_pads = (flags & COUNT_PADS) != 0};
    p.x_pixel = p.c + gap, p.x_row = p.w * p.x_pixel + gap, p.x_image = p.h * p.x_row + gap;
    p.y_pixel = p.c + 2 * gap, p.y_row = p.ow * p.y_pixel + gap, p.y_image = p.oh * p.y_row;
    p.dx_pixel = p.c + gap, p.dx_row = p.w * p.dx_pixel, p.dx_image = p.h * p.dx_row + 2 * gap;
    check_case *c = check_add(list, "%s_%lldx%llds%lldp%lld_%lldx%lld", kind ? "mean" : "max",
                              (long long)s[2], (long long)s[2], (long long)s[3], (long long)s[4],
                              (long long)s[0], (long long)s[1]);
    memcpy(c->problem, &p, sizeof p);
    check_operand_add(
        c, CHECK_IN, CHECK_F32,
        (p.batch - 1) * p.y_image + (p.oh - 1) * p.y_row + (p.ow - 1) * p.y_pixel + p.c);
    check_operand_add(
        c, kind == HN_POOL_GRAD_MAX ? CHECK_IN : CHECK_ABSENT, CHECK_F32,
        (p.batch - 1) * p.x_image + (p.h - 1) * p.x_row + (p.w - 1) * p.x_pixel + p.c);
    check_operand_add(
        c, CHECK_OUT, CHECK_F32,
        (p.batch - 1) * p.dx_image + (p.h - 1) * p.dx_row + (p.w - 1) * p.dx_pixel + p.c);
    c->rel = 4 + 2 * (double)s[2];
    c->abs = 1e-6;
    c->only_random = kind == HN_POOL_GRAD_MEAN;
    c->bench = (flags & BENCH) != 0;
    c->bytes = 4.0 * (double)(p.batch * p.c * (2 * p.h * p.w + p.oh * p.ow));
}

static void cases(check_list *list) {
    static const int64_t windows[][6] = {
        /* channels, size, kernel, stride, padding, images */
        {1, 6, 2, 2, 0, 2},  {3, 7, 3, 2, 1, 1},   {4, 9, 3, 1, 1, 3},  {7, 8, 3, 2, 0, 1},
        {8, 5, 5, 1, 2, 1},  {15, 11, 3, 3, 1, 2}, {16, 6, 2, 1, 1, 1}, {17, 9, 4, 2, 1, 1},
        {33, 7, 2, 2, 0, 2}, {64, 4, 3, 2, 1, 2},  {40, 5, 3, 1, 1, 1}, {20, 8, 2, 2, 0, 2}};
    for (int kind = 0; kind < 2; kind++)
        for (size_t i = 0; i < sizeof windows / sizeof *windows; i++)
            add(list, (hn_pool_grad_kind)kind, windows[i],
                (i % 2 == 0 ? COUNT_PADS : 0) | (i % 3 == 1 ? GAPS : 0));
    add(list, HN_POOL_GRAD_MAX, (const int64_t[]){6, 28, 2, 2, 0, 64}, BENCH);
    add(list, HN_POOL_GRAD_MAX, (const int64_t[]){64, 56, 3, 2, 1, 8}, BENCH);
}

const check_family check_pool_grad_f32 = {.family = &hn_pool_grad_f32_family, .cases = cases};

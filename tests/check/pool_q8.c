/* Cases of pool_q8: both types, channels around every vector length, windows of all kinds, borders
 * that count and that do not, whole images; layers of real models for timing. */
#include "kernels/pool_q8/pool_q8.h"

#include <stdio.h>
#include <string.h>

#include "space.h"

enum { GAPS = 1, COUNT_PADS = 2, BENCH = 4 };

static void add(check_list *list, const char *name, hn_pool_q8 p, int flags) {
    static const char *const kinds[] = {"max", "mean"};
    check_case *c = check_add(list, "%s_%s", kinds[p.kind], name);
    int64_t gap = flags & GAPS ? 3 : 0;
    p.count_pads = (flags & COUNT_PADS) != 0;
    p.x_pixel = p.c + gap, p.x_row = p.w * p.x_pixel + gap, p.x_image = p.h * p.x_row + gap;
    int variant = (int)list->n;
    p.x = variant % 2 ? HN_Q8_S8 : HN_Q8_U8;
    p.y = p.kind == HN_POOL_Q8_MAX || variant % 3 ? p.x : HN_Q8_S8;
    p.xz = hn_q8_lowest(p.x) + 64 + variant * 31 % 128;
    p.yz = hn_q8_lowest(p.y) + 64 + variant * 57 % 128;
    p.lo = variant % 4 == 3 ? p.yz : hn_q8_lowest(p.y);
    p.hi = variant % 5 == 4 ? p.yz + (hn_q8_highest(p.y) - p.yz) / 2 : hn_q8_highest(p.y);
    p.sx = variant % 7 == 0 ? 1 : 0.037F, p.sy = variant % 7 == 0 ? 0.5F : 0.031F;
    p.y_pixel = p.c + 2 * gap, p.y_row = p.ow * p.y_pixel + gap, p.y_image = p.oh * p.y_row;
    memcpy(c->problem, &p, sizeof p);
    check_operand_add(
        c, CHECK_IN, CHECK_U8,
        (p.batch - 1) * p.x_image + (p.h - 1) * p.x_row + (p.w - 1) * p.x_pixel + p.c);
    check_operand_add(
        c, CHECK_OUT, CHECK_U8,
        (p.batch - 1) * p.y_image + (p.oh - 1) * p.y_row + (p.ow - 1) * p.y_pixel + p.c);
    double taps = (double)(p.kh * p.kw);
    c->bench = (flags & BENCH) != 0;
    c->flops = (double)(p.batch * p.oh * p.ow * p.c) * taps;
    c->bytes = (double)(p.batch * p.c * (p.h * p.w + p.oh * p.ow));
}

/* A square window with `pad` on each side. */
static hn_pool_q8 window(hn_pool_q8_kind kind, int64_t size, int64_t c, int64_t k, int64_t s,
                         int64_t pad) {
    int64_t out = (size + 2 * pad - k) / s + 1;
    return (hn_pool_q8){.kind = kind,
                        .batch = 1,
                        .h = size,
                        .w = size,
                        .c = c,
                        .oh = out,
                        .ow = out,
                        .n = c,
                        .groups = c,
                        .x_channel = 1,
                        .kh = k,
                        .kw = k,
                        .sh = s,
                        .sw = s,
                        .dh = 1,
                        .dw = 1,
                        .pt = pad,
                        .pl = pad,
                        .pb = pad,
                        .pr = pad};
}

static void cases(check_list *list) {
    static const int64_t windows[][5] = {
        /* channels, size, kernel, stride, padding */
        {1, 6, 2, 2, 0},   {3, 7, 3, 2, 1},   {4, 9, 3, 1, 1},  {7, 8, 3, 2, 0},  {8, 5, 5, 1, 2},
        {15, 11, 3, 3, 1}, {16, 6, 2, 1, 1},  {17, 9, 4, 2, 1}, {31, 6, 3, 1, 1}, {64, 5, 3, 2, 1},
        {70, 4, 2, 2, 0},  {300, 5, 3, 1, 1}, {9, 13, 1, 2, 0}, {33, 4, 3, 1, 3}};
    for (int kind = HN_POOL_Q8_MAX; kind <= HN_POOL_Q8_MEAN; kind++) {
        hn_pool_q8 p;
        for (size_t i = 0; i < sizeof windows / sizeof *windows; i++) {
            const int64_t *s = windows[i];
            char name[64];
            snprintf(name, sizeof name, "%lldx%llds%lldp%lld_%lld_%lld", (long long)s[2],
                     (long long)s[2], (long long)s[3], (long long)s[4], (long long)s[0],
                     (long long)s[1]);
            p = window((hn_pool_q8_kind)kind, s[1], s[0], s[2], s[3], s[4]);
            p.batch = i % 3 == 0 ? 2 : 1;
            add(list, name, p, (i % 2 == 0 ? COUNT_PADS : 0) | (i % 4 == 1 ? GAPS : 0));
        }
        p = window((hn_pool_q8_kind)kind, 10, 20, 3, 1, 2), p.dh = p.dw = 2, p.oh = p.ow = 10;
        add(list, "dilated", p, COUNT_PADS | GAPS);
        /* The last window of ceil_mode reaches beyond the padding. */
        p = window((hn_pool_q8_kind)kind, 6, 18, 3, 2, 1), p.oh = p.ow = 4;
        add(list, "beyond", p, COUNT_PADS);
        p = window((hn_pool_q8_kind)kind, 9, 18, 3, 2, 0), p.kh = 1, p.sh = 1, p.oh = 9, p.pt = 1;
        add(list, "uneven", p, 0);
        p = window((hn_pool_q8_kind)kind, 7, 130, 7, 1, 0), p.batch = 2;
        add(list, "global_7x7_130", p, GAPS);
        p = window((hn_pool_q8_kind)kind, 40, 12, 40, 1, 0);
        add(list, "global_40x40_12", p, 0);
        p = window((hn_pool_q8_kind)kind, 112, 64, 3, 2, 1);
        add(list, "3x3s2_64_56", p, BENCH);
        p = window((hn_pool_q8_kind)kind, 7, 2048, 7, 1, 0);
        add(list, "global_7x7_2048", p, BENCH);
        p = window((hn_pool_q8_kind)kind, 112, 32, 112, 1, 0);
        add(list, "global_112x112_32", p, BENCH);
    }
}

static bool fill(const check_case *c, int operand, check_data kind, hn_rng *rng, void *data) {
    const check_operand *o = &c->operand[operand];
    hn_pool_q8 p;
    memcpy(&p, c->problem, sizeof p);
    space_fill_bytes(o, kind, rng, data);
    /* Few large ones, or the largest of many would always be the same. */
    uint8_t *x = data, flip = p.x == HN_Q8_S8 ? 0x80 : 0;
    for (size_t i = 0; p.kind == HN_POOL_Q8_MAX && kind == CHECK_RANDOM && i < o->count; i++)
        x[i] = (uint8_t)(x[i] * hn_rng_below(rng, 256) / 256) ^ flip;
    return true;
}

const check_family check_pool_q8 = {.family = &hn_pool_q8_family, .cases = cases, .fill = fill};

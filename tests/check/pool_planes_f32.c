/* Cases of pool_planes_f32: rows around every vector length, windows of all kinds, borders that
 * count and that do not, places. */
#include "kernels/pool_planes_f32/pool_planes_f32.h"

#include <math.h>
#include <string.h>

#include "check.h"

enum { COUNT_PADS = 1, PLACES = 2, GAPS = 4, BENCH = 8 };

/* A window of kh by kw that moves by s, with `pad` on each side. */
static void add(check_list *list, hn_pool_f32_kind kind, int64_t h, int64_t w, int64_t kh,
                int64_t kw, int64_t s, int64_t d, int64_t pad, int flags) {
    static const char *const kinds[] = {"max", "mean", "sum"};
    check_case *c = check_add(list, "%s_%lldx%lld_%lldx%llds%lldd%lldp%lld_%d", kinds[kind],
                              (long long)h, (long long)w, (long long)kh, (long long)kw,
                              (long long)s, (long long)d, (long long)pad, flags);
    int64_t gap = flags & GAPS ? 3 : 0;
    hn_pool_planes_f32 p = {.kind = kind,
                            .count_pads = (flags & COUNT_PADS) != 0,
                            .planes = flags & BENCH ? 64 : 3,
                            .h = h,
                            .w = w,
                            .oh = (h + 2 * pad - (kh - 1) * d - 1) / s + 1,
                            .ow = (w + 2 * pad - (kw - 1) * d - 1) / s + 1,
                            .kh = kh,
                            .kw = kw,
                            .sh = s,
                            .sw = s,
                            .dh = d,
                            .dw = d,
                            .pt = pad,
                            .pl = pad,
                            .pb = pad,
                            .pr = pad};
    p.x_row = w + gap, p.x_plane = h * p.x_row + gap;
    p.y_row = p.ow + gap, p.y_plane = p.oh * p.y_row;
    memcpy(c->problem, &p, sizeof p);
    check_operand_add(c, CHECK_IN, CHECK_F32, (p.planes - 1) * p.x_plane + (h - 1) * p.x_row + w);
    check_operand_add(c, CHECK_OUT, CHECK_F32,
                      (p.planes - 1) * p.y_plane + (p.oh - 1) * p.y_row + p.ow);
    check_operand_add(c, flags & PLACES ? CHECK_OUT : CHECK_ABSENT, CHECK_I64,
                      p.planes * p.oh * p.ow);
    double taps = (double)(kh * kw);
    c->rel = kind == HN_POOL_F32_MAX ? 0 : 4 + 2 * sqrt(taps);
    c->exact = true;
    c->bench = (flags & BENCH) != 0;
    c->flops = (double)(p.planes * p.oh * p.ow) * taps;
    c->bytes = 4.0 * (double)(p.planes * (h * w + p.oh * p.ow));
}

static void cases(check_list *list) {
    for (int k = HN_POOL_F32_MAX; k <= HN_POOL_F32_SUM; k++) {
        hn_pool_f32_kind kind = (hn_pool_f32_kind)k;
        for (int64_t w = 4; w <= 36; w += 5) {
            add(list, kind, 7, w, 3, 3, 2, 1, 1, w % 2 == 0 ? COUNT_PADS : GAPS);
            add(list, kind, 6, w, 3, 3, 1, 1, 1, w % 2 == 0 ? GAPS : COUNT_PADS);
            add(list, kind, 8, w, 2, 2, 2, 1, 0, 0);
        }
        for (int64_t w = 62; w <= 75; w++) { /* long enough to be read at once */
            add(list, kind, 5, w, 2, 2, 2, 1, 0, w % 2 == 0 ? COUNT_PADS : GAPS);
            add(list, kind, 4, w, 1, 3, 1 + w % 2, 2, 0, 0);
        }
        add(list, kind, 12, 17, 5, 5, 1, 1, 2, 0);
        add(list, kind, 12, 17, 3, 2, 3, 2, 2, COUNT_PADS);
        add(list, kind, 1, 100, 1, 4, 4, 1, 0, 0);
        add(list, kind, 3, 3, 3, 3, 1, 1, 4, COUNT_PADS); /* windows of padding alone */
        add(list, kind, 13, 13, 13, 13, 1, 1, 6, 0);
        add(list, kind, 112, 112, 2, 2, 2, 1, 0, BENCH);
        add(list, kind, 112, 112, 3, 3, 2, 1, 1, BENCH);
        add(list, kind, 40, 40, 5, 5, 1, 1, 2, BENCH);
    }
    for (int64_t w = 15; w <= 40; w += 5)
        for (int64_t s = 1; s <= 3; s++) add(list, HN_POOL_F32_MAX, 6, w, 3, 2, s, 1, 1, PLACES);
    add(list, HN_POOL_F32_MAX, 9, 21, 3, 3, 2, 1, 1, PLACES | GAPS);
    add(list, HN_POOL_F32_MAX, 9, 21, 2, 3, 1, 2, 2, PLACES);
    add(list, HN_POOL_F32_MAX, 3, 3, 3, 3, 1, 1, 4, PLACES);
}

/* The reference over absolute values is the magnitude already. */
static void magnitude(void *problem) { (void)problem; }

const check_family check_pool_planes_f32 = {
    .family = &hn_pool_planes_f32_family, .cases = cases, .magnitude = magnitude};

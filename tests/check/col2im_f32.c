/* Cases of col2im_f32: windows that overlap, that touch, that leave pixels out, padding, and what a
 * transposed convolution ends with. */
#include "kernels/col2im_f32/col2im_f32.h"

#include <math.h>
#include <string.h>

#include "check.h"

static void add_to(check_list *list, int64_t h, int64_t w, int64_t kh, int64_t kw, int64_t s,
                   int64_t d, int64_t pad, bool bias, hn_act act) {
    check_case *c = check_add(list, "%lldx%lld_%lldx%llds%lldd%lldp%lld_b%d_a%d", (long long)h,
                              (long long)w, (long long)kh, (long long)kw, (long long)s,
                              (long long)d, (long long)pad, bias, (int)act.kind);
    hn_col2im_f32 p = {.planes = 6,
                       .channels = 3,
                       .act = act,
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
                       .pl = pad};
    memcpy(c->problem, &p, sizeof p);
    check_operand_add(c, CHECK_IN, CHECK_F32, p.planes * kh * kw * p.oh * p.ow);
    check_operand_add(c, CHECK_OUT, CHECK_F32, p.planes * h * w);
    check_operand_add(c, bias ? CHECK_IN : CHECK_ABSENT, CHECK_F32, p.channels);
    c->rel = 4 + (double)(kh * kw);
    if (act.kind > HN_ACT_LEAKY) c->rel *= 2, c->abs = 2e-6;
    c->exact = act.kind <= HN_ACT_CLIP;
    c->flops = (double)(p.planes * kh * kw * p.oh * p.ow);
}

static void add(check_list *list, int64_t h, int64_t w, int64_t kh, int64_t kw, int64_t s,
                int64_t d, int64_t pad) {
    add_to(list, h, w, kh, kw, s, d, pad, false, (hn_act){HN_ACT_NONE, 0, 0});
}

static void cases(check_list *list) {
    add(list, 7, 9, 3, 3, 1, 1, 1);
    add(list, 7, 40, 3, 2, 1, 1, 0);
    add(list, 8, 37, 2, 3, 2, 1, 0);
    add(list, 9, 20, 3, 3, 2, 2, 2);
    add(list, 8, 8, 2, 2, 4, 1, 0);
    add(list, 1, 33, 1, 5, 3, 1, 0);
    add(list, 3, 3, 3, 3, 1, 1, 3);   /* windows of padding alone */
    add(list, 60, 61, 3, 3, 1, 1, 1); /* too many for the nearest cache */
    for (int64_t w = 4; w <= 80; w += 4 + w % 3) {
        add_to(list, 9, w, 4, 4, 2, 1, 1, true, (hn_act){HN_ACT_CLIP, 0, INFINITY});
        add_to(list, 7, w, 3, 3, 1, 1, 1, true, (hn_act){HN_ACT_SIGMOID, 0, 0});
        add(list, 6, w, 2, 3, 2, 1, 0);
    }
}

static void magnitude(void *problem) {
    ((hn_col2im_f32 *)problem)->act = (hn_act){HN_ACT_NONE, 0, 0};
}

const check_family check_col2im_f32 = {
    .family = &hn_col2im_f32_family, .cases = cases, .magnitude = magnitude};

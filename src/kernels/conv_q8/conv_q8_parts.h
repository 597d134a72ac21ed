/* What the rows of conv_q8 have in common, in plain C: each file compiles it for its own
 * instruction set (include a vector vocabulary of src/simd first).
 *
 * Rows multiply x' = x + x_off by w' = w - w_off, both as their instructions like them: w' is
 * always signed, so w_off = 128 for u8 weights, and x_off moves x to the other sign where the
 * instruction wants that. With zero points moved likewise, xz' = xz + x_off and wz' = wz - w_off,
 *
 *   acc = bias - xz' * sum(w')  +  sum(w' * x')  -  wz' * sum(x - xz)
 *         `----- start -----'                             `- window sum -'
 *
 * where x' = xz' outside the image. Sums of w' come with the packed weights. Window sums, needed
 * only where weights have zero points, are taken from sums over the channels of every input pixel,
 * which a phase of its own computes first.
 */
#ifndef HN_KERNELS_CONV_Q8_PARTS_H
#define HN_KERNELS_CONV_Q8_PARTS_H

#include <string.h>

#include "base/divide.h"
#include "kernels/act_simd.h"
#include "kernels/conv_q8/conv_q8.h"
#include "kernels/q8_simd.h"

static inline int64_t hn_q8_ceil(int64_t a, int64_t b) { return hn_ceil_over(a, b); }
static inline int64_t hn_q8_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t hn_q8_max(int64_t a, int64_t b) { return a > b ? a : b; }
static inline size_t hn_q8_round64(int64_t bytes) { return ((size_t)bytes + 63) & ~(size_t)63; }

/* The operands of a call. */
typedef struct hn_q8_args {
    const hn_conv_q8 *p;
    const uint8_t *x;
    const int32_t *wz, *bias;
    const float *m, *fbias, *ys;
    const void *r;
    void *y;
    const int32_t *sums; /* [batch][h][w][groups] of x - xz */
    float xs;
    int32_t xz;
} hn_q8_args;

static inline hn_q8_args hn_q8_args_of(const hn_call *call) {
    hn_q8_args a = {.p = call->problem,
                    .x = call->ptr[HN_CONV_Q8_X],
                    .wz = call->ptr[HN_CONV_Q8_WZ],
                    .bias = call->ptr[HN_CONV_Q8_BIAS],
                    .m = call->ptr[HN_CONV_Q8_M],
                    .fbias = call->ptr[HN_CONV_Q8_FBIAS],
                    .r = call->ptr[HN_CONV_Q8_R],
                    .y = call->ptr[HN_CONV_Q8_Y],
                    .ys = call->ptr[HN_CONV_Q8_YS],
                    .sums = call->scratch,
                    .xs = 1.0F};
    const float *xs = call->ptr[HN_CONV_Q8_XS];
    const uint8_t *xz = call->ptr[HN_CONV_Q8_XZ];
    a.xz = xz == NULL ? a.p->xz : a.p->x == HN_Q8_U8 ? *xz : (int8_t)*xz;
    if (xs != NULL) a.xs = *xs;
    return a;
}

/* The windows of pixels that follow each other, as rows by panels multiply them: element k of line l
 * of pixel r is at a[r * pitch + l * line + k], in the row's own type, and as s16 at `wide`, where
 * the row has use for that. A line is so many groups of products that an instruction sums. */
typedef struct hn_q8_windows {
    const void *a;
    const int16_t *wide;
    int64_t pitch, lines, line, groups;
    const char *next;  /* what to fetch to L2 meanwhile, for later tiles: */
    int64_t next_step; /* so many bytes for every group; 0: only those at `next` */
} hn_q8_windows;

/* ---- weights ---- */

static inline int32_t hn_q8_w_off(const hn_conv_q8 *p) { return p->w_type == HN_Q8_U8 ? 128 : 0; }

/* w' at a place in the plain weights: u8 and s8 differ from it in the sign bit alone. */
static inline int8_t hn_q8_weight(const hn_conv_q8 *p, const void *plain, int64_t at) {
    uint8_t w = ((const uint8_t *)plain)[at];
    return (int8_t)(p->w_type == HN_Q8_U8 ? w ^ 0x80 : w);
}

/* ---- what sums start with, and what becomes of them ---- */

/* Outputs [n0, n0 + n), whose weights have these sums: their starts, and what they are multiplied
 * by. */
static inline void hn_q8_begin(const hn_q8_args *a, const int32_t *w_sums, int32_t x_off,
                               int64_t n0, int64_t n, int32_t *start, float *scale) {
    const uint32_t xz = (uint32_t)(a->xz + x_off); /* unsigned: it wraps */
    for (int64_t i = 0; i < n; i++) start[i] = (int32_t)(0 - xz * (uint32_t)w_sums[i]);
    if (a->bias != NULL)
        for (int64_t i = 0; i < n; i++)
            start[i] = (int32_t)((uint32_t)start[i] + (uint32_t)a->bias[n0 + i]);
    for (int64_t i = 0; i < n; i++) scale[i] = (a->m != NULL ? a->m[n0 + i] : 1.0F) * a->xs;
}

/* The sum of x - xz in the window of an output pixel. */
static inline int32_t hn_q8_window_sum(const hn_q8_args *a, int64_t group, int64_t image,
                                       int64_t oy, int64_t ox) {
    const hn_conv_q8 *p = a->p;
    uint32_t sum = 0;
    for (int64_t ky = 0; ky < p->kh; ky++) {
        int64_t iy = oy * p->sh + ky * p->dh - p->pt;
        if (iy < 0 || iy >= p->h) continue;
        for (int64_t kx = 0; kx < p->kw; kx++) {
            int64_t ix = ox * p->sw + kx * p->dw - p->pl;
            if (ix < 0 || ix >= p->w) continue;
            sum += (uint32_t)a->sums[((image * p->h + iy) * p->w + ix) * p->groups + group];
        }
    }
    return (int32_t)sum;
}

HN_INLINE void hn_q8_activate_as(const hn_act *act, hn_act_kind kind, float *y, int64_t n) {
    hn_vf a = hn_v_set1(act->a), b = hn_v_set1(act->b);
    int64_t i = 0;
    for (; i + HN_VL <= n; i += HN_VL) hn_v_store(y + i, hn_v_act(hn_v_load(y + i), kind, a, b));
    if (i < n) hn_v_store_n(y + i, hn_v_act(hn_v_load_n(y + i, n - i), kind, a, b), n - i);
}

static inline void hn_q8_activate(const hn_act *act, float *y, int64_t n) {
    switch (act->kind) {
#define HN_X(name, formula) \
    case HN_ACT_##name: hn_q8_activate_as(act, HN_ACT_##name, y, n); break;
        HN_ACT_LIST(HN_X)
#undef HN_X
        case HN_ACT_COUNT_: break;
    }
}

/* Vector j of outputs of which there are n; those behind are 0. */
HN_INLINE hn_vf hn_q8_scaled(const int32_t *acc, const float *scale, int64_t j, int64_t n) {
    int64_t i = j * HN_VL, left = n - i;
    if (left >= HN_VL) return hn_v_mul(hn_v_from_int(hn_vi_load(acc + i)), hn_v_load(scale + i));
    if (left <= 0) return hn_v_set1(0.0f);
    return hn_v_mul(hn_v_from_int(hn_vi_load_n(acc + i, left)), hn_v_load_n(scale + i, left));
}

/* What outputs of bytes are made with, found once for many of them. Limits are integers, so they
 * may be applied before rounding. u8 are made as s8, 128 less, unless they have no zero point and no
 * limits but their own. */
typedef struct hn_q8_ends {
    hn_q8_end y;
    hn_vb lo, hi;
    bool as_u8, limited; /* they are not made as s8; limits are not those of the type */
    hn_q8_type r_type;
    bool r_zero; /* rz is not 0 */
    hn_vi rz;
    hn_vf mr, lo1, hi1, m1;
} hn_q8_ends;

HN_INLINE hn_q8_ends hn_q8_ends_of(const hn_conv_q8 *p) {
    const bool limited = p->hi - p->lo < 255;
    return (hn_q8_ends){.y = hn_q8_end_of(p->y, p->yz, p->lo, p->hi),
                        .lo = hn_vb_set1(p->lo - hn_q8_bias(p->y)),
                        .hi = hn_vb_set1(p->hi - hn_q8_bias(p->y)),
                        .as_u8 = p->y == HN_Q8_U8 && p->yz == 0 && !limited,
                        .limited = limited,
                        .r_type = p->r_type,
                        .r_zero = p->rz != 0,
                        .rz = hn_vi_set1(p->rz),
                        .mr = hn_v_set1(p->mr),
                        .lo1 = hn_v_set1((float)p->lo1),
                        .hi1 = hn_v_set1((float)p->hi1),
                        .m1 = hn_v_set1(p->m1)};
}

/* (r - rz) * mr of the first n of HN_VB elements at r. */
HN_INLINE void hn_q8_scale_r(const hn_q8_ends *e, const uint8_t *r, int64_t n, hn_vf *out) {
    uint8_t part[HN_VB];
    if (n < HN_VB) {
        hn_vb_store(part, hn_vb_load_n(r, n));
        r = part;
    }
#ifdef HN_VB_SCALED
    if (e->r_type == HN_Q8_U8 && !e->r_zero) {
        hn_vb_scaled_u8(r, e->mr, out);
        return;
    }
#endif
    hn_q8_floats(e->r_type, r, e->rz, out);
    for (int j = 0; j < 4; j++) out[j] = hn_v_mul(out[j], e->mr);
}

/* Adds to the first n of HN_VB scaled sums what is at r. */
HN_INLINE void hn_q8_add_r(const hn_q8_ends *e, const uint8_t *r, int64_t n, const bool twice,
                           hn_vf *v) {
    hn_vf add[4];
    hn_q8_scale_r(e, r, n, add);
    if (twice)
        for (int j = 0; j < 4; j++)
            v[j] = hn_v_mul(hn_v_from_int(hn_v_to_int(hn_v_min(e->hi1, hn_v_max(e->lo1, v[j])))),
                            e->m1);
    for (int j = 0; j < 4; j++) v[j] = hn_v_add(v[j], add[j]);
}

/* The first n of HN_VB outputs, from numbers below 2^22 alone. Limits are applied to bytes, which
 * saturate at those of their type. */
HN_INLINE void hn_q8_put_small(const hn_q8_ends *e, const hn_vf *v, int64_t n, uint8_t *y) {
    hn_vi out[4];
    for (int j = 0; j < 4; j++) out[j] = hn_v_to_int(v[j]);
#ifdef HN_VB_NARROWS_U8
    if (e->as_u8) {
        hn_vb_store_part(y, hn_vb_narrow_u8(out), n);
        return;
    }
#endif
    for (int j = 0; j < 4; j++) out[j] = hn_vi_add(out[j], e->y.zero);
    hn_vb bytes = hn_vb_narrow(out);
    if (e->limited) bytes = hn_vb_max(e->lo, hn_vb_min(e->hi, bytes));
    hn_vb_store_part(y, hn_vb_xor(bytes, e->y.flip), n);
}

/* The same from any numbers. */
HN_INLINE void hn_q8_put_any(const hn_q8_ends *e, const hn_vf *v, int64_t n, uint8_t *y) {
    hn_vi out[4];
    for (int j = 0; j < 4; j++) out[j] = hn_v_to_int(hn_v_min(e->y.hi, hn_v_max(e->y.lo, v[j])));
    hn_vb bytes = hn_q8_to_bytes(&e->y, out);
    hn_vb_store_part(y, bytes, n);
}

HN_INLINE void hn_q8_finish_bytes(const hn_q8_args *a, const int32_t *acc, const float *scale,
                                  int64_t n, int64_t y_at, int64_t r_at) {
    const hn_q8_ends ends = hn_q8_ends_of(a->p);
    const uint8_t *r = a->r != NULL ? (const uint8_t *)a->r + r_at : NULL;
    hn_vf v[4];
    for (int j = 0; j < 4; j++) v[j] = hn_q8_scaled(acc, scale, j, n);
    if (r != NULL) hn_q8_add_r(&ends, r, n, a->p->twice, v);
    hn_q8_put_any(&ends, v, n, (uint8_t *)a->y + y_at);
}

/* Bytes that went through floats: outputs [n0, n0 + n) of a pixel. */
HN_INLINE void hn_q8_quantize(const hn_q8_args *a, const float *v, int64_t n0, int64_t n,
                              uint8_t *y) {
    const hn_conv_q8 *p = a->p;
    const hn_q8_end end = hn_q8_end_of(p->y, p->yz, p->lo, p->hi);
    const hn_q8_scale scale = hn_q8_scale_of(p->ys);
    for (int64_t i = 0; i < n; i += HN_VB) {
        int64_t part = hn_q8_min(HN_VB, n - i);
        hn_vf x[4];
        hn_vi q[4];
        hn_q8_fetch_f32(v, 1, i, part, x);
        if (a->ys != NULL) {
            hn_vf each[4], inverse[4];
            hn_q8_fetch_f32(a->ys + n0, 1, i, part, each);
            for (int k = 0; k < 4; k++) inverse[k] = hn_v_div(hn_v_set1(1.0F), each[k]);
            hn_q8_divide_each(each, inverse, &end, x, q);
        } else {
            hn_q8_divide(&scale, &end, x, q);
        }
        hn_vb_store_part(y + i, hn_q8_to_bytes(&end, q), part);
    }
}

enum {
    HN_Q8_CHUNK = 64,                       /* outputs of a pixel finished at a time, at most */
    HN_Q8_USUAL = HN_VL > 4 ? 2 * HN_VL : 8 /* and usually */
};

HN_INLINE void hn_q8_finish_n(const hn_q8_args *a, const int32_t *acc, const float *scale,
                              int64_t n0, int64_t n, int32_t window_sum, int64_t y_at,
                              int64_t r_at) {
    const hn_conv_q8 *p = a->p;
    int32_t fixed[HN_Q8_CHUNK];
    if (p->w_zero_points) {
        int32_t w_off = hn_q8_w_off(p);
        for (int64_t i = 0; i < n; i++)
            fixed[i] = (int32_t)((uint32_t)acc[i] -
                                 (uint32_t)(a->wz[n0 + i] - w_off) * (uint32_t)window_sum);
        acc = fixed;
    }
    if (p->y == HN_Q8_S32) {
        memcpy((int32_t *)a->y + y_at, acc, (size_t)n * sizeof *acc);
        return;
    }
    if (hn_conv_q8_has_floats(p)) {
        float v[HN_Q8_CHUNK];
        for (int64_t i = 0; i < n; i++) v[i] = (float)acc[i] * scale[i];
        if (a->fbias != NULL)
            for (int64_t i = 0; i < n; i++) v[i] += a->fbias[n0 + i];
        if (a->r != NULL)
            for (int64_t i = 0; i < n; i++) v[i] += ((const float *)a->r)[r_at + i];
        if (p->act.kind != HN_ACT_NONE) hn_q8_activate(&p->act, v, n);
        if (p->y == HN_Q8_F32)
            memcpy((float *)a->y + y_at, v, (size_t)n * sizeof *v);
        else
            hn_q8_quantize(a, v, n0, n, (uint8_t *)a->y + y_at);
        return;
    }
    for (int64_t i = 0; i < n; i += HN_VB)
        hn_q8_finish_bytes(a, acc + i, scale + i, n - i < HN_VB ? n - i : HN_VB, y_at + i,
                           r_at + i);
}

/* n <= HN_Q8_CHUNK sums of the output pixel at y_at and r_at (elements, n0 included) are outputs
 * [n0, n0 + n) of it. */
static inline void hn_q8_finish(const hn_q8_args *a, const int32_t *acc, const float *scale,
                                int64_t n0, int64_t n, int32_t window_sum, int64_t y_at,
                                int64_t r_at) {
    if (n == HN_Q8_USUAL) /* known to the compiler */
        hn_q8_finish_n(a, acc, scale, n0, HN_Q8_USUAL, window_sum, y_at, r_at);
    else
        hn_q8_finish_n(a, acc, scale, n0, n, window_sum, y_at, r_at);
}

/* ---- sums of input pixels: the phase before, where weights have zero points ---- */

static inline size_t hn_q8_sums_bytes(const hn_conv_q8 *p) {
    return p->w_zero_points ? (size_t)(p->batch * p->h * p->w * p->groups) * sizeof(int32_t) : 0;
}

/* Work with that phase put before the `tasks` of the row's own. */
static inline hn_work hn_q8_work(const hn_conv_q8 *p, int64_t tasks, size_t lane_scratch) {
    if (!p->w_zero_points)
        return (hn_work){.n_phases = 1, .tasks = {tasks}, .lane_scratch = lane_scratch};
    return (hn_work){.n_phases = 2,
                     .tasks = {p->batch * p->h, tasks, tasks, tasks},
                     .scratch = hn_q8_sums_bytes(p),
                     .lane_scratch = lane_scratch};
}

/* Whether this phase was that one, and has been done. A task is a row of an image. */
static inline bool hn_q8_sum_pixels(const hn_call *call, int phase, int64_t begin, int64_t end) {
    const hn_conv_q8 *p = call->problem;
    if (!p->w_zero_points || phase > 0) return false;
    hn_q8_args a = hn_q8_args_of(call);
    int64_t group_in = hn_over(p->c, p->groups);
    int32_t flip = p->x == HN_Q8_S8 ? 0x80 : 0; /* s8 as u8, 128 more */
    uint32_t less = (uint32_t)group_in * (uint32_t)(a.xz + flip);
    for (int64_t t = begin; t < end; t++) {
        int64_t image = t;
        const int64_t y = hn_digit(&image, p->h);
        const uint8_t *row = a.x + image * p->x_image + y * p->x_row;
        int32_t *sums = (int32_t *)call->scratch + t * p->w * p->groups;
        for (int64_t i = 0; i < p->w * p->groups; i++) {
            int64_t pixel = i;
            const int64_t group = hn_digit(&pixel, p->groups);
            const uint8_t *x = row + pixel * p->x_pixel + group * group_in;
            uint32_t sum = 0;
            for (int64_t k = 0; k < group_in; k++) sum += (uint8_t)(x[k] ^ flip);
            sums[i] = (int32_t)(sum - less);
        }
    }
    return true;
}

#endif

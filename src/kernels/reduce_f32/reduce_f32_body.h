/* reduce_f32 over the vector vocabulary.
 *
 * With inner = 1 a row is summed by four vectors along it, which are then joined, then their lanes;
 * a task is a group of rows. Otherwise vectors lie along inner and go down r, four side by side; a
 * task is such a strip.
 */
#include <math.h>

#include "kernels/reduce_f32/reduce_f32.h"
#include "simd/math.h"
#include "simd/part.h"

enum { TASK = 4096, WIDE = 4 * HN_VL }; /* elements of a group of rows; of a strip's width */

static int64_t group_of(const hn_reduce_f32 *p) { return p->r < TASK ? TASK / (p->r + 1) + 1 : 1; }

static int64_t strips_of(const hn_reduce_f32 *p) { return (p->inner + WIDE - 1) / WIDE; }

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_reduce_f32 *p = problem;
    (void)lanes;
    int64_t group = group_of(p);
    *w = (hn_work){
        .n_phases = 1,
        .tasks = {p->inner == 1 ? (p->outer + group - 1) / group : p->outer * strips_of(p)}};
}

/* ---- one vector -------------------------------------------------------------------------- */

/* What leaves every reduction as it is, and the lanes there are not. */
HN_INLINE hn_vf neutral(hn_reduce_op op) {
    return hn_v_set1(op == HN_REDUCE_MAX    ? -INFINITY
                     : op == HN_REDUCE_MIN  ? INFINITY
                     : op == HN_REDUCE_PROD ? 1.0f
                                            : 0.0f);
}

/* Joins what two vectors have gathered. */
HN_INLINE hn_vf join(hn_reduce_op op, hn_vf a, hn_vf b) {
#ifdef HN_V_KEEPS_NAN
    if (op == HN_REDUCE_MAX) return hn_v_max(a, b);
    if (op == HN_REDUCE_MIN) return hn_v_min(a, b);
#endif
    if (op == HN_REDUCE_MAX) return hn_v_select(hn_v_isnan(a), a, hn_v_max(a, b));
    if (op == HN_REDUCE_MIN) return hn_v_select(hn_v_isnan(a), a, hn_v_min(a, b));
    return op == HN_REDUCE_PROD ? hn_v_mul(a, b) : hn_v_add(a, b);
}

/* Takes n elements x into s. LOGSUMEXP is the sum of e^(x - most), MAX having been taken before. */
HN_INLINE hn_vf take(hn_reduce_op op, hn_vf s, hn_vf x, hn_vf most, int64_t n) {
    if (op == HN_REDUCE_SUMSQ || op == HN_REDUCE_L2) return hn_v_fma(x, x, s);
    if (op == HN_REDUCE_L1) x = hn_v_abs(x);
    if (op == HN_REDUCE_LOGSUMEXP) x = hn_v_exp_neg(hn_v_sub(x, most));
    if (op == HN_REDUCE_MAX || op == HN_REDUCE_MIN || op == HN_REDUCE_PROD ||
        op == HN_REDUCE_LOGSUMEXP)
        x = hn_v_keep_part(x, neutral(op), n); /* what is not loaded is 0 */
    return join(op, s, x);
}

HN_INLINE hn_vf done(hn_reduce_op op, hn_vf s, hn_vf most, int64_t r) {
    if (op == HN_REDUCE_MEAN) return hn_v_div(s, hn_v_set1((float)r));
    if (op == HN_REDUCE_L2) return hn_v_sqrt(s);
    if (op == HN_REDUCE_LOGSUM) return hn_v_log(s);
    if (op != HN_REDUCE_LOGSUMEXP) return s;
    hn_vm finite = hn_v_lt(hn_v_abs(most), hn_v_set1(INFINITY));
    return hn_v_select(finite, hn_v_add(most, hn_v_log(s)), most);
}

/* ---- rows -------------------------------------------------------------------------------- */

/* n <= HN_VL elements of a row. */
HN_INLINE hn_vf elements(const float *x, int64_t stride, int64_t n) {
    if (stride == 1) return hn_v_load_part(x, n);
    float t[HN_VL] = {0};
    for (int64_t i = 0; i < n; i++) t[i] = x[i * stride];
    return hn_v_load(t);
}

HN_INLINE hn_vf gather_row(hn_reduce_op op, const float *x, int64_t r, int64_t stride, hn_vf most) {
    hn_vf s[4];
    for (int k = 0; k < 4; k++) s[k] = neutral(op);
    for (; r >= 4 * HN_VL; r -= 4 * HN_VL, x += 4 * HN_VL * stride)
        for (int k = 0; k < 4; k++)
            s[k] = take(op, s[k], elements(x + k * HN_VL * stride, stride, HN_VL), most, HN_VL);
    for (; r >= HN_VL; r -= HN_VL, x += HN_VL * stride)
        s[0] = take(op, s[0], elements(x, stride, HN_VL), most, HN_VL);
    if (r > 0) s[1] = take(op, s[1], elements(x, stride, r), most, r);
    return join(op, join(op, s[0], s[1]), join(op, s[2], s[3]));
}

HN_INLINE float across(hn_reduce_op op, hn_vf s) {
    if (op == HN_REDUCE_MAX) return hn_v_hmax(s);
    if (op == HN_REDUCE_MIN) return hn_v_hmin(s);
    if (op != HN_REDUCE_PROD) return hn_v_sum(s);
    float t[HN_VL];
    hn_v_store(t, s);
    for (int half = HN_VL / 2; half > 0; half /= 2)
        for (int i = 0; i < half; i++) t[i] *= t[i + half];
    return t[0];
}

HN_INLINE void rows(const hn_reduce_f32 *p, const float *x, float *y, int64_t n, hn_reduce_op op,
                    int64_t stride) {
    for (int64_t i = 0; i < n; i++, x += p->x_outer, y += p->y_outer) {
        hn_vf most = hn_v_set1(0.0f);
        if (op == HN_REDUCE_LOGSUMEXP)
            most =
                hn_v_set1(across(HN_REDUCE_MAX, gather_row(HN_REDUCE_MAX, x, p->r, stride, most)));
        float s = across(op, gather_row(op, x, p->r, stride, most));
        hn_v_store_n(y, done(op, hn_v_set1(s), most, p->r), 1);
    }
}

/* ---- strips ------------------------------------------------------------------------------ */

/* `vectors` vectors of n lanes side by side, down r. */
HN_INLINE void strip(const hn_reduce_f32 *p, const float *x, float *y, hn_reduce_op op, int vectors,
                     int64_t n) {
    hn_vf s[4], most[4];
    for (int k = 0; k < vectors; k++) s[k] = neutral(op), most[k] = neutral(HN_REDUCE_MAX);
    if (op == HN_REDUCE_LOGSUMEXP)
        for (int64_t i = 0; i < p->r; i++)
            for (int k = 0; k < vectors; k++)
                most[k] = take(HN_REDUCE_MAX, most[k],
                               hn_v_load_part(x + i * p->x_r + k * HN_VL, n), s[k], HN_VL);
    for (int64_t i = 0; i < p->r; i++)
        for (int k = 0; k < vectors; k++)
            s[k] = take(op, s[k], hn_v_load_part(x + i * p->x_r + k * HN_VL, n), most[k], HN_VL);
    for (int k = 0; k < vectors; k++)
        hn_v_store_part(y + k * HN_VL, done(op, s[k], most[k], p->r), n);
}

HN_INLINE void columns(const hn_reduce_f32 *p, const float *x, float *y, int64_t n,
                       hn_reduce_op op) {
    if (n == WIDE) {
        strip(p, x, y, op, 4, HN_VL);
        return;
    }
    for (; n >= HN_VL; n -= HN_VL, x += HN_VL, y += HN_VL) strip(p, x, y, op, 1, HN_VL);
    if (n > 0) strip(p, x, y, op, 1, n);
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_reduce_f32 *p = call->problem;
    const float *x = call->ptr[HN_REDUCE_X];
    float *y = call->ptr[HN_REDUCE_Y];
    int64_t group = group_of(p), strips = strips_of(p);
    for (int64_t t = begin; t < end; t++) {
        bool row = p->inner == 1;
        int64_t o = row ? t * group : t / strips, c = row ? 0 : t % strips * WIDE;
        int64_t n = row ? p->outer - o : p->inner - c, most = row ? group : WIDE;
        const float *from = x + o * p->x_outer + c;
        float *to = y + o * p->y_outer + c;
        if (n > most) n = most;
        switch (p->op) {
#define HN_X(name, formula)                                 \
    case HN_REDUCE_##name:                                  \
        if (!row)                                           \
            columns(p, from, to, n, HN_REDUCE_##name);      \
        else if (p->x_r == 1)                               \
            rows(p, from, to, n, HN_REDUCE_##name, 1);      \
        else                                                \
            rows(p, from, to, n, HN_REDUCE_##name, p->x_r); \
        break;
            HN_REDUCE_LIST(HN_X)
#undef HN_X
            case HN_REDUCE_OPS_: break;
        }
    }
}

const hn_kernel HN_V_ROW(reduce_f32) = {
    .name = HN_V_NAME, .isa = HN_V_ISA, .order = HN_V_NAME, .work = work, .run = run};

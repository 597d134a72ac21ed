/* norm_f32 over the vector vocabulary: the sum and its mean, then the deviations, then the result;
 * a row stays in the L1 cache. Sums run in four vectors, joined pairwise. A task is a group of
 * rows.
 *
 * The mean of equal elements may differ from them by a rounding. Where hardly anything is added to
 * the deviation (`outside`), that difference would be taken for one: there the mean of what is left
 * is added to the mean, which then is exact for equal elements.
 */
#include <math.h>

#include "kernels/act_simd.h"
#include "kernels/norm_f32/norm_f32.h"

enum { TASK = 4096 }; /* elements */

static int64_t group_of(const hn_norm_f32 *p) { return p->n < TASK ? TASK / (p->n + 1) + 1 : 1; }

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_norm_f32 *p = problem;
    (void)lanes;
    int64_t group = group_of(p);
    *w = (hn_work){.n_phases = 1,
                   .tasks = {p->n == 0 ? 0 : (p->rows + group - 1) / group},
                   .lane_scratch = (size_t)p->n * sizeof(float)};
}

/* n elements of v = x + r + offset, the last two if they are there. */
HN_INLINE void add_part(const float *x, const float *r, const float *offset, float *v, int64_t n) {
    hn_vf s = hn_v_load_part(x, n);
    if (r != NULL) s = hn_v_add(s, hn_v_load_part(r, n));
    if (offset != NULL) s = hn_v_add(s, hn_v_load_part(offset, n));
    hn_v_store_part(v, s, n);
}

static void add_up(const float *x, const float *r, const float *offset, float *v, int64_t n) {
    for (; n > 0; n -= HN_VL) {
        if (n >= HN_VL)
            add_part(x, r, offset, v, HN_VL);
        else
            add_part(x, r, offset, v, n);
        x += HN_VL, v += HN_VL;
        if (r != NULL) r += HN_VL;
        if (offset != NULL) offset += HN_VL;
    }
}

typedef enum addend { PLAIN, DEVIATION, SQUARE } addend;

/* s + v, s + (v - mean) or s + (v - mean)^2. */
HN_INLINE hn_vf term(hn_vf s, const float *v, int64_t n, hn_vf mean, addend what) {
    hn_vf x = hn_v_load_part(v, n);
    if (what == PLAIN) return hn_v_add(s, x);
    hn_vf d = hn_v_keep_part(hn_v_sub(x, mean), hn_v_set1(0.0f), n);
    return what == SQUARE ? hn_v_fma(d, d, s) : hn_v_add(s, d);
}

HN_INLINE float total(const float *v, int64_t n, hn_vf mean, addend what) {
    hn_vf s[4];
    for (int k = 0; k < 4; k++) s[k] = hn_v_set1(0.0f);
    for (; n >= 4 * HN_VL; n -= 4 * HN_VL, v += 4 * HN_VL)
        for (int k = 0; k < 4; k++) s[k] = term(s[k], v + k * HN_VL, HN_VL, mean, what);
    for (; n >= HN_VL; n -= HN_VL, v += HN_VL) s[0] = term(s[0], v, HN_VL, mean, what);
    if (n > 0) s[1] = term(s[1], v, n, mean, what);
    return hn_v_sum(hn_v_add(hn_v_add(s[0], s[1]), hn_v_add(s[2], s[3])));
}

static float mean_of(const float *v, int64_t n) {
    return total(v, n, hn_v_set1(0.0f), PLAIN) / (float)n;
}

static float refined(float mean, const float *v, int64_t n) {
    return mean + total(v, n, hn_v_set1(mean), DEVIATION) / (float)n;
}

/* What is done to a row at last. */
typedef struct ending {
    const float *scale, *bias;
    hn_vf mean, factor, a, b;
    bool shifts; /* shift is added: the bias of the row */
    hn_vf shift;
} ending;

HN_INLINE void finish_part(const ending *e, const float *v, float *y, int64_t i, int64_t n,
                           hn_act_kind kind) {
    hn_vf z = hn_v_mul(hn_v_sub(hn_v_load_part(v + i, n), e->mean), e->factor);
    if (e->scale != NULL) z = hn_v_mul(z, hn_v_load_part(e->scale + i, n));
    if (e->bias != NULL) z = hn_v_add(z, hn_v_load_part(e->bias + i, n));
    if (e->shifts) z = hn_v_add(z, e->shift);
    hn_v_store_part(y + i, hn_v_act(z, kind, e->a, e->b), n);
}

HN_INLINE void finish(const ending *e, const float *v, float *y, int64_t n, hn_act_kind kind) {
    int64_t i = 0;
    for (; i + HN_VL <= n; i += HN_VL) finish_part(e, v, y, i, HN_VL, kind);
    if (i < n) finish_part(e, v, y, i, n - i, kind);
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase;
    const hn_norm_f32 *p = call->problem;
    const float *r = call->ptr[HN_NORM_R], *offset = call->ptr[HN_NORM_OFFSET];
    const float *scale = call->ptr[HN_NORM_SCALE], *bias = call->ptr[HN_NORM_BIAS];
    float *sum = call->ptr[HN_NORM_SUM];
    int64_t group = group_of(p), rows = end * group < p->rows ? end * group : p->rows, n = p->n;
    for (int64_t t = begin * group; t < rows; t++) {
        const float *v = (const float *)call->ptr[HN_NORM_X] + t * p->x_row;
        float *y = (float *)call->ptr[HN_NORM_Y] + t * p->y_row;
        if (r != NULL || offset != NULL || sum != NULL) {
            float *to = sum != NULL ? sum + t * p->sum_row : lane;
            int64_t row = p->r_rows > 0 ? t % p->r_rows : t;
            add_up(v, r != NULL ? r + row * p->r_row : NULL, offset, to, n);
            v = to;
        }
        float middle = p->rms ? 0 : mean_of(v, n);
        if (p->outside > 0) middle = refined(middle, v, n);
        hn_vf mean = hn_v_set1(middle);
        float square = total(v, n, mean, SQUARE) / (float)n;
        float factor = 1.0f / (sqrtf(square + p->epsilon) + p->outside);
        bool by_row = p->row_scales > 0;
        int64_t number = by_row ? t % p->row_scales : 0;
        ending e = {.scale = by_row ? NULL : scale,
                    .bias = by_row ? NULL : bias,
                    .mean = mean,
                    .factor = hn_v_set1(by_row && scale != NULL ? factor * scale[number] : factor),
                    .a = hn_v_set1(p->act.a),
                    .b = hn_v_set1(p->act.b),
                    .shifts = by_row && bias != NULL,
                    .shift = hn_v_set1(by_row && bias != NULL ? bias[number] : 0.0f)};
        switch (p->act.kind) {
#define HN_X(name, formula) \
    case HN_ACT_##name: finish(&e, v, y, n, HN_ACT_##name); break;
            HN_ACT_LIST(HN_X)
#undef HN_X
            case HN_ACT_COUNT_: break;
        }
    }
}

const hn_kernel HN_V_ROW(norm_f32) = {
    .name = HN_V_NAME, .isa = HN_V_ISA, .order = HN_V_NAME, .work = work, .run = run};

/* softmax_f32 over the vector vocabulary: three passes over a row, which stays in the L1 cache: the
 * largest term, the exponentials with their sum, the division as a multiplication. Sums run in two
 * vectors, one after the other. A task is a group of rows. */
#include <math.h>

#include "kernels/softmax_f32/softmax_f32.h"
#include "simd/math.h"
#include "simd/part.h"

enum { TASK = 4096 }; /* elements */

static int64_t group_of(const hn_softmax_f32 *p) { return p->n < TASK ? TASK / (p->n + 1) + 1 : 1; }

static int64_t rows_of(const hn_softmax_f32 *p) {
    int64_t rows = 1;
    for (int i = 0; i < HN_SOFTMAX_AXES; i++) rows *= p->rows[i];
    return p->n == 0 ? 0 : rows;
}

static void work(const void *problem, int lanes, hn_work *w) {
    (void)lanes;
    int64_t group = group_of(problem);
    *w = (hn_work){.n_phases = 1, .tasks = {(rows_of(problem) + group - 1) / group}};
}

HN_INLINE hn_vf term(const float *x, const float *mask, int64_t i, int64_t n, hn_vf scale,
                     bool masked) {
    hn_vf v = hn_v_load_part(x + i, n);
    return masked ? hn_v_fma(v, scale, hn_v_load_part(mask + i, n)) : hn_v_mul(v, scale);
}

/* A NaN may be lost again on the way; the exponentials meet it once more. */
HN_INLINE float largest(const float *x, const float *mask, int64_t n, hn_vf scale, bool masked) {
    hn_vf low = hn_v_set1(-INFINITY), m0 = low, m1 = low;
    int64_t i = 0;
    for (; i + 2 * HN_VL <= n; i += 2 * HN_VL) {
        m0 = hn_v_max(m0, term(x, mask, i, HN_VL, scale, masked));
        m1 = hn_v_max(m1, term(x, mask, i + HN_VL, HN_VL, scale, masked));
    }
    if (i + HN_VL <= n) m0 = hn_v_max(m0, term(x, mask, i, HN_VL, scale, masked)), i += HN_VL;
    if (i < n)
        m1 = hn_v_max(m1, hn_v_keep_part(term(x, mask, i, n - i, scale, masked), low, n - i));
    return hn_v_hmax(hn_v_max(m0, m1));
}

/* What the sum of exponentials takes a piece of a row through; they go to y, if it is not NULL. */
HN_INLINE hn_vf exponential(const float *x, const float *mask, float *y, int64_t i, int64_t n,
                            hn_vf scale, hn_vf most, bool masked) {
    hn_vf e = hn_v_exp_neg(hn_v_sub(term(x, mask, i, n, scale, masked), most));
    if (y != NULL) hn_v_store_part(y + i, e, n);
    return hn_v_keep_part(e, hn_v_set1(0.0f), n);
}

HN_INLINE float exponentials(const float *x, const float *mask, float *y, int64_t n, hn_vf scale,
                             hn_vf most, bool masked) {
    hn_vf s0 = hn_v_set1(0.0f), s1 = s0;
    int64_t i = 0;
    for (; i + 2 * HN_VL <= n; i += 2 * HN_VL) {
        s0 = hn_v_add(s0, exponential(x, mask, y, i, HN_VL, scale, most, masked));
        s1 = hn_v_add(s1, exponential(x, mask, y, i + HN_VL, HN_VL, scale, most, masked));
    }
    if (i + HN_VL <= n)
        s0 = hn_v_add(s0, exponential(x, mask, y, i, HN_VL, scale, most, masked)), i += HN_VL;
    if (i < n) s1 = hn_v_add(s1, exponential(x, mask, y, i, n - i, scale, most, masked));
    return hn_v_sum(hn_v_add(s0, s1));
}

HN_INLINE void row(const hn_softmax_f32 *p, const float *x, const float *mask, float *y,
                   bool masked) {
    hn_vf scale = hn_v_set1(p->scale), top = hn_v_set1(largest(x, mask, p->n, scale, masked));
    int64_t n = p->n, i = 0;
    if (p->log) {
        hn_vf minus = hn_v_log(hn_v_set1(exponentials(x, mask, NULL, n, scale, top, masked)));
        for (; i + HN_VL <= n; i += HN_VL) {
            hn_vf v = hn_v_sub(term(x, mask, i, HN_VL, scale, masked), top);
            hn_v_store(y + i, hn_v_sub(v, minus));
        }
        if (i == n) return;
        hn_vf v = hn_v_sub(term(x, mask, i, n - i, scale, masked), top);
        hn_v_store_n(y + i, hn_v_sub(v, minus), n - i);
        return;
    }
    hn_vf share = hn_v_set1(1.0f / exponentials(x, mask, y, n, scale, top, masked));
    for (; i + HN_VL <= n; i += HN_VL) hn_v_store(y + i, hn_v_mul(hn_v_load(y + i), share));
    if (i < n) hn_v_store_n(y + i, hn_v_mul(hn_v_load_n(y + i, n - i), share), n - i);
}

static void row_plain(const hn_softmax_f32 *p, const float *x, float *y) {
    row(p, x, NULL, y, false);
}
static void row_masked(const hn_softmax_f32 *p, const float *x, const float *mask, float *y) {
    row(p, x, mask, y, true);
}

/* Where a row is; stepped along, since a division takes as long as a short row. */
typedef struct spot {
    int64_t at[HN_SOFTMAX_AXES], x, y, mask;
} spot;

static spot spot_of(const hn_softmax_f32 *p, int64_t row) {
    spot s = {.x = 0};
    for (int axis = HN_SOFTMAX_AXES - 1; axis >= 0; axis--) {
        int64_t at = s.at[axis] = row % p->rows[axis];
        row /= p->rows[axis];
        s.x += at * p->x_stride[axis], s.y += at * p->y_stride[axis];
        s.mask += at * p->mask_stride[axis];
    }
    return s;
}

static void step(const hn_softmax_f32 *p, spot *s) {
    for (int axis = HN_SOFTMAX_AXES - 1; axis >= 0; axis--) {
        int64_t by = ++s->at[axis] < p->rows[axis] ? 1 : 1 - p->rows[axis];
        s->x += by * p->x_stride[axis], s->y += by * p->y_stride[axis];
        s->mask += by * p->mask_stride[axis];
        if (by == 1) return;
        s->at[axis] = 0;
    }
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_softmax_f32 *p = call->problem;
    const float *x = call->ptr[HN_SOFTMAX_X], *mask = call->ptr[HN_SOFTMAX_MASK];
    float *y = call->ptr[HN_SOFTMAX_Y];
    int64_t group = group_of(p), rows = rows_of(p);
    if (begin == end) return;
    if (end * group < rows) rows = end * group;
    spot s = spot_of(p, begin * group);
    for (int64_t r = begin * group; r < rows; r++, step(p, &s)) {
        if (mask == NULL)
            row_plain(p, x + s.x, y + s.y);
        else
            row_masked(p, x + s.x, mask + s.mask, y + s.y);
    }
}

const hn_kernel HN_V_ROW(softmax_f32) = {
    .name = HN_V_NAME, .isa = HN_V_ISA, .order = HN_V_NAME, .work = work, .run = run};

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

/* What is done to the elements of a row first. */
typedef enum form { PLAIN, SCALED, MASKED } form;

/* A row: its operands, and how far on the next one is in x and y. */
typedef struct line {
    const float *x, *mask;
    float *y;
    int64_t n, x_next, y_next;
    hn_vf scale;
} line;

HN_INLINE hn_vf term(const line *l, int64_t i, int64_t n, form f) {
    hn_vf v = hn_v_load_part(l->x + i, n);
    if (f == PLAIN) return v;
    if (f == SCALED) return hn_v_mul(v, l->scale);
    return hn_v_fma(v, l->scale, hn_v_load_part(l->mask + i, n));
}

/* A NaN may be lost again on the way; the exponentials meet it once more. */
HN_INLINE float largest(const line *l, form f) {
    hn_vf low = hn_v_set1(-INFINITY), m0 = low, m1 = low;
    int64_t i = 0, n = l->n;
    for (; i + 2 * HN_VL <= n; i += 2 * HN_VL) {
        m0 = hn_v_max(m0, term(l, i, HN_VL, f));
        m1 = hn_v_max(m1, term(l, i + HN_VL, HN_VL, f));
    }
    if (i + HN_VL <= n) m0 = hn_v_max(m0, term(l, i, HN_VL, f)), i += HN_VL;
    if (i < n) m1 = hn_v_max(m1, hn_v_keep_part(term(l, i, n - i, f), low, n - i));
    return hn_v_hmax(hn_v_max(m0, m1));
}

/* What the sum of exponentials takes a piece of a row through; they are stored, or not. Meanwhile
 * the next row is fetched: nothing else leaves memory as much time. */
HN_INLINE hn_vf exponential(const line *l, int64_t i, int64_t n, hn_vf most, form f, bool store) {
    hn_vf e = hn_v_exp_neg(hn_v_sub(term(l, i, n, f), most));
    __builtin_prefetch(l->x + i + l->x_next);
    __builtin_prefetch(l->y + i + l->y_next, 1);
    if (store) hn_v_store_part(l->y + i, e, n);
    return hn_v_keep_part(e, hn_v_set1(0.0f), n);
}

HN_INLINE float exponentials(const line *l, hn_vf most, form f, bool store) {
    hn_vf s0 = hn_v_set1(0.0f), s1 = s0;
    int64_t i = 0, n = l->n;
    for (; i + 2 * HN_VL <= n; i += 2 * HN_VL) {
        s0 = hn_v_add(s0, exponential(l, i, HN_VL, most, f, store));
        s1 = hn_v_add(s1, exponential(l, i + HN_VL, HN_VL, most, f, store));
    }
    if (i + HN_VL <= n) s0 = hn_v_add(s0, exponential(l, i, HN_VL, most, f, store)), i += HN_VL;
    if (i < n) s1 = hn_v_add(s1, exponential(l, i, n - i, most, f, store));
    return hn_v_sum(hn_v_add(s0, s1));
}

HN_INLINE void row(const line *l, bool log, form f) {
    hn_vf top = hn_v_set1(largest(l, f));
    int64_t n = l->n, i = 0;
    float *y = l->y;
    if (log) {
        hn_vf minus = hn_v_log(hn_v_set1(exponentials(l, top, f, false)));
        for (; i + HN_VL <= n; i += HN_VL)
            hn_v_store(y + i, hn_v_sub(hn_v_sub(term(l, i, HN_VL, f), top), minus));
        if (i < n) hn_v_store_n(y + i, hn_v_sub(hn_v_sub(term(l, i, n - i, f), top), minus), n - i);
        return;
    }
    hn_vf share = hn_v_set1(1.0f / exponentials(l, top, f, true));
    for (; i + HN_VL <= n; i += HN_VL) hn_v_store(y + i, hn_v_mul(hn_v_load(y + i), share));
    if (i < n) hn_v_store_n(y + i, hn_v_mul(hn_v_load_n(y + i, n - i), share), n - i);
}

static void row_plain(const line *l, bool log) { row(l, log, PLAIN); }
static void row_scaled(const line *l, bool log) { row(l, log, SCALED); }
static void row_masked(const line *l, bool log) { row(l, log, MASKED); }

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
    spot s = spot_of(p, begin * group), next = s;
    line l = {.n = p->n, .scale = hn_v_set1(p->scale)};
    for (int64_t r = begin * group; r < rows; r++, s = next) {
        step(p, &next);
        l.x = x + s.x, l.y = y + s.y;
        l.x_next = next.x - s.x, l.y_next = next.y - s.y;
        if (mask != NULL) {
            l.mask = mask + s.mask;
            row_masked(&l, p->log);
        } else if (p->scale != 1) {
            row_scaled(&l, p->log);
        } else {
            row_plain(&l, p->log);
        }
    }
}

const hn_kernel HN_V_ROW(softmax_f32) = {
    .name = HN_V_NAME, .isa = HN_V_ISA, .order = HN_V_NAME, .work = work, .run = run};

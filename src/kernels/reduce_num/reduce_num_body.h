/* reduce_num by plain loops, for the compiler to vectorize.
 *
 * With inner = 1 a result is that of LANES numbers, each of every LANES-th element; a task is some
 * rows. Otherwise the results of a strip of neighbours are computed together; a task is a strip.
 */
#include <math.h>
#include <string.h>

#include "kernels/reduce_num/reduce_num.h"
#include "simd/doubles.h"
#include "simd/part.h"

enum { LANES = 64, STRIP = 256, TASK = 32768 };

__extension__ typedef __int128 wide;

static int64_t group_of(const hn_reduce_num *p) { return p->r < TASK ? TASK / p->r : 1; }
static int64_t strips_of(const hn_reduce_num *p) { return (p->inner + STRIP - 1) / STRIP; }

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_reduce_num *p = problem;
    (void)lanes;
    int64_t group = group_of(p);
    int64_t tasks = p->inner == 1 ? (p->outer + group - 1) / group : p->outer * strips_of(p);
    *w = (hn_work){.n_phases = 1, .tasks = {tasks}};
}

/* name_row: of r adjacent elements. name_strip: of n neighbours, acc[i] of x[0][i], x[1][i] ...
 * T: of elements, A: of what is kept, which `start` changes nothing of; a: what is kept, v: an
 * element, and a lane at the end. */
#define FOLD(name, T, A, start, formula, join)                                         \
    static A name##_row(const T *x, int64_t r) {                                       \
        A acc[LANES];                                                                  \
        int64_t j = 0;                                                                 \
        for (int k = 0; k < LANES; k++) acc[k] = start;                                \
        for (; j + LANES <= r; j += LANES)                                             \
            for (int k = 0; k < LANES; k++) {                                          \
                A a = acc[k];                                                          \
                T v = x[j + k];                                                        \
                acc[k] = (A)(formula);                                                 \
            }                                                                          \
        for (int k = 0; j < r; j++, k++) {                                             \
            A a = acc[k];                                                              \
            T v = x[j];                                                                \
            acc[k] = (A)(formula);                                                     \
        }                                                                              \
        for (int half = LANES / 2; half > 0; half /= 2)                                \
            for (int k = 0; k < half; k++) {                                           \
                A a = acc[k], v = acc[k + half];                                       \
                acc[k] = (A)(join);                                                    \
            }                                                                          \
        return acc[0];                                                                 \
    }                                                                                  \
    HN_INLINE void name##_lines(const T *x, int64_t r, int64_t inner, int n, A *acc) { \
        for (int k = 0; k < n; k++) acc[k] = start;                                    \
        for (int64_t j = 0; j < r; j++, x += inner)                                    \
            for (int k = 0; k < n; k++) {                                              \
                A a = acc[k];                                                          \
                T v = x[k];                                                            \
                acc[k] = (A)(formula);                                                 \
            }                                                                          \
    }                                                                                  \
    static void name##_strip(const T *x, int64_t r, int64_t inner, int n, A *acc) {    \
        if (n == STRIP)                                                                \
            name##_lines(x, r, inner, STRIP, acc);                                     \
        else                                                                           \
            name##_lines(x, r, inner, n, acc);                                         \
    }
#define FOLD_SAME(name, T, A, start, formula) FOLD(name, T, A, start, formula, formula)

/* A fold, and what its result is: `finish` of sum and r. */
#define REDUCTION(name, T, A, finish)                                                              \
    static void name(const hn_reduce_num *p, const void *from, void *to, int64_t at, int64_t y_at, \
                     int n) {                                                                      \
        const T *x = (const T *)from + at;                                                         \
        T *y = (T *)to + y_at;                                                                     \
        int64_t r = p->r;                                                                          \
        A acc[STRIP];                                                                              \
        if (p->inner == 1)                                                                         \
            acc[0] = name##_row(x, r);                                                             \
        else                                                                                       \
            name##_strip(x, r, p->inner, n, acc);                                                  \
        for (int i = 0; i < n; i++) {                                                              \
            A sum = acc[i];                                                                        \
            y[i] = (T)(finish);                                                                    \
        }                                                                                          \
        (void)r;                                                                                   \
    }
#define REDUCE(name, T, A, start, formula, finish) \
    FOLD_SAME(name, T, A, start, formula)          \
    REDUCTION(name, T, A, finish)
/* A sum of something of each element. */
#define SUM_OF(name, term, finish)                   \
    FOLD(name, double, double, 0, a + (term), a + v) \
    REDUCTION(name, double, double, finish)

REDUCE(sum_f64, double, double, 0, a + v, sum)
REDUCE(mean_f64, double, double, 0, a + v, sum / (double)r)
REDUCE(prod_f64, double, double, 1, a *v, sum)
REDUCE(max_f64, double, double, -(double)INFINITY, ((v > a) | (v != v)) ? v : a, sum)
REDUCE(min_f64, double, double, (double)INFINITY, ((v < a) | (v != v)) ? v : a, sum)
SUM_OF(l1_f64, fabs(v), sum)
SUM_OF(l2_f64, v *v, sqrt(sum))
SUM_OF(sumsq_f64, v *v, sum)
SUM_OF(logsum_f64, v, log(sum))
REDUCE(sum_s64, int64_t, uint64_t, 0, a + (uint64_t)v, sum)
REDUCE(prod_s64, int64_t, uint64_t, 1, a *(uint64_t)v, sum)
REDUCE(max_s64, int64_t, int64_t, INT64_MIN, v > a ? v : a, sum)
REDUCE(min_s64, int64_t, int64_t, INT64_MAX, v < a ? v : a, sum)
REDUCE(sum_s32, int32_t, uint32_t, 0, a + (uint32_t)v, sum)
REDUCE(mean_s32, int32_t, int64_t, 0, a + v, sum / r)
REDUCE(prod_s32, int32_t, uint32_t, 1, a *(uint32_t)v, sum)
REDUCE(max_s32, int32_t, int32_t, INT32_MIN, v > a ? v : a, sum)
REDUCE(min_s32, int32_t, int32_t, INT32_MAX, v < a ? v : a, sum)
REDUCE(max_s8, int8_t, int8_t, INT8_MIN, v > a ? v : a, sum)
REDUCE(min_s8, int8_t, int8_t, INT8_MAX, v < a ? v : a, sum)
REDUCE(max_u8, uint8_t, uint8_t, 0, v > a ? v : a, sum)
REDUCE(min_u8, uint8_t, uint8_t, UINT8_MAX, v < a ? v : a, sum)
REDUCE(max_bool, uint8_t, uint8_t, 0, a | v, sum != 0)
REDUCE(min_bool, uint8_t, uint8_t, UINT8_MAX, (a != 0) & (v != 0), sum != 0)

/* Exponentials are those of what the largest element leaves, so that none overflows; where that is
 * infinite, it is the result, or NaN. */
static double exponent_base(double most) { return fabs(most) < (double)INFINITY ? most : 0; }

HN_INLINE void add_exponentials(const double *x, const double *from, int64_t step, int n,
                                double *acc) {
    for (int k = 0; k < n; k++) acc[k] += hn_d_exp(x[k] - from[k * step]);
}

static double logsumexp_row(const double *x, int64_t r) {
    double from = exponent_base(max_f64_row(x, r)), acc[LANES] = {0}, rest[LANES];
    int64_t j = 0;
    for (; j + LANES <= r; j += LANES) add_exponentials(x + j, &from, 0, LANES, acc);
    for (int k = 0; k < LANES; k++) rest[k] = -(double)INFINITY;
    memcpy(rest, x + j, (size_t)(r - j) * sizeof *rest);
    if (j < r) add_exponentials(rest, &from, 0, LANES, acc);
    return log(sum_f64_row(acc, LANES)) + from;
}

static void logsumexp_f64(const hn_reduce_num *p, const void *from, void *to, int64_t at,
                          int64_t y_at, int n) {
    const double *x = (const double *)from + at;
    double *y = (double *)to + y_at, most[STRIP], acc[STRIP] = {0};
    if (p->inner == 1) {
        y[0] = logsumexp_row(x, p->r);
        return;
    }
    max_f64_strip(x, p->r, p->inner, n, most);
    for (int i = 0; i < n; i++) most[i] = exponent_base(most[i]);
    for (int64_t j = 0; j < p->r; j++, x += p->inner) {
        if (n == STRIP)
            add_exponentials(x, most, 1, STRIP, acc);
        else
            add_exponentials(x, most, 1, n, acc);
    }
    for (int i = 0; i < n; i++) y[i] = log(acc[i]) + most[i];
}

/* The mean of s64: the sum of their upper halves and that of their lower ones fit 64 bits each. */
FOLD(upper, int64_t, int64_t, 0, a + (v >> 32), a + v)
FOLD(lower, int64_t, int64_t, 0, a + (v & 0xffffffff), a + v)
static void mean_s64(const hn_reduce_num *p, const void *from, void *to, int64_t at, int64_t y_at,
                     int n) {
    const int64_t *x = (const int64_t *)from + at;
    int64_t high[STRIP], low[STRIP];
    if (p->inner == 1) {
        high[0] = upper_row(x, p->r);
        low[0] = lower_row(x, p->r);
    } else {
        upper_strip(x, p->r, p->inner, n, high);
        lower_strip(x, p->r, p->inner, n, low);
    }
    for (int i = 0; i < n; i++)
        ((int64_t *)to)[y_at + i] = (int64_t)(((wide)high[i] * ((wide)1 << 32) + low[i]) / p->r);
}

typedef void reduction(const hn_reduce_num *p, const void *x, void *y, int64_t at, int64_t y_at,
                       int n);

static reduction *reduction_of(const hn_reduce_num *p) {
    static reduction *const table[][HN_REDUCE_NUM_OPS_] = {
        {sum_f64, mean_f64, prod_f64, max_f64, min_f64, l1_f64, l2_f64, sumsq_f64, logsum_f64,
         logsumexp_f64},
        {sum_s64, mean_s64, prod_s64, max_s64, min_s64},
        {sum_s32, mean_s32, prod_s32, max_s32, min_s32},
        {NULL, NULL, NULL, max_s8, min_s8},
        {NULL, NULL, NULL, max_u8, min_u8},
        {NULL, NULL, NULL, max_bool, min_bool},
    };
    switch (p->dtype) {
        case HONE_DTYPE_F64: return table[0][p->op];
        case HONE_DTYPE_S64: return table[1][p->op];
        case HONE_DTYPE_S32: return table[2][p->op];
        case HONE_DTYPE_S8: return table[3][p->op];
        case HONE_DTYPE_U8: return table[4][p->op];
        default: return table[5][p->op];
    }
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_reduce_num *p = call->problem;
    const void *x = call->ptr[HN_REDUCE_NUM_X];
    void *y = call->ptr[HN_REDUCE_NUM_Y];
    reduction *reduce = reduction_of(p);
    if (p->inner == 1) {
        int64_t group = group_of(p), last = end * group < p->outer ? end * group : p->outer;
        for (int64_t o = begin * group; o < last; o++) reduce(p, x, y, o * p->r, o, 1);
        return;
    }
    int64_t strips = strips_of(p);
    for (int64_t t = begin; t < end; t++) {
        int64_t o = t / strips, i = t % strips * STRIP;
        int n = p->inner - i < STRIP ? (int)(p->inner - i) : STRIP;
        reduce(p, x, y, o * p->r * p->inner + i, o * p->inner + i, n);
    }
}

const hn_kernel HN_V_ROW(reduce_num) = {
    .name = HN_V_NAME, .isa = HN_V_ISA, .order = "lanes", .work = work, .run = run};

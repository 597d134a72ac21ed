/* The definition of reduce_num: one result at a time, integers in 128 bits. A task is a result. */
#include <math.h>

#include "kernels/reduce_num/reduce_num.h"

__extension__ typedef __int128 wide;

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_reduce_num *p = problem;
    (void)lanes;
    *w = (hn_work){.n_phases = 1, .tasks = {p->outer * p->inner}};
}

/* What an element of f64 counts for. */
static double term_f64(hn_reduce_num_op op, double v) {
    if (op == HN_REDUCE_NUM_L1) return fabs(v);
    return op == HN_REDUCE_NUM_L2 || op == HN_REDUCE_NUM_SUMSQ ? v * v : v;
}

static double fold_f64(hn_reduce_num_op op, double a, double v) {
    switch (op) {
        case HN_REDUCE_NUM_PROD: return a * v;
        case HN_REDUCE_NUM_MAX: return v > a || v != v ? v : a;
        case HN_REDUCE_NUM_MIN: return v < a || v != v ? v : a;
        default: return a + v;
    }
}

static double finish_f64(const hn_reduce_num *p, double a) {
    switch (p->op) {
        case HN_REDUCE_NUM_MEAN: return a / (double)p->r;
        case HN_REDUCE_NUM_L2: return sqrt(a);
        case HN_REDUCE_NUM_LOGSUM: return log(a);
        default: return a;
    }
}

/* Of r elements, `inner` apart. An infinite one is the result, if none is NaN. */
static double log_sum_exp(const hn_reduce_num *p, const double *v) {
    double most = v[0], sum = 0;
    for (int64_t j = 1; j < p->r; j++) most = fold_f64(HN_REDUCE_NUM_MAX, most, v[j * p->inner]);
    double from = isfinite(most) ? most : 0;
    for (int64_t j = 0; j < p->r; j++) sum += exp(v[j * p->inner] - from);
    return log(sum) + from;
}

static wide fold_int(hn_reduce_num_op op, wide a, int64_t v) {
    switch (op) {
        case HN_REDUCE_NUM_PROD: return (int64_t)((uint64_t)a * (uint64_t)v);
        case HN_REDUCE_NUM_MAX: return v > a ? v : a;
        case HN_REDUCE_NUM_MIN: return v < a ? v : a;
        default: return a + v;
    }
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_reduce_num *p = call->problem;
    const void *x = call->ptr[HN_REDUCE_NUM_X];
    void *y = call->ptr[HN_REDUCE_NUM_Y];
    bool mean = p->op == HN_REDUCE_NUM_MEAN;
    for (int64_t t = begin; t < end; t++) {
        int64_t at = t / p->inner * p->r * p->inner + t % p->inner;
        if (p->op == HN_REDUCE_NUM_LOGSUMEXP) {
            hn_store_f64(p->dtype, y, t, log_sum_exp(p, (const double *)x + at));
        } else if (p->dtype == HONE_DTYPE_F64) {
            const double *v = (const double *)x + at;
            double a = term_f64(p->op, v[0]);
            for (int64_t j = 1; j < p->r; j++)
                a = fold_f64(p->op, a, term_f64(p->op, v[j * p->inner]));
            hn_store_f64(p->dtype, y, t, finish_f64(p, a));
        } else {
            wide a = hn_load_s64(p->dtype, x, at);
            for (int64_t j = 1; j < p->r; j++)
                a = fold_int(p->op, a, hn_load_s64(p->dtype, x, at + j * p->inner));
            hn_store_s64(p->dtype, y, t, (int64_t)(mean ? a / p->r : a));
        }
    }
}

const hn_kernel hn_reduce_num_ref = {.name = "ref", .order = "sequence", .work = work, .run = run};

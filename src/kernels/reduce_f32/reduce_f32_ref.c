/* The definition of reduce_f32, in double. A task is an output element. */
#include <math.h>

#include "kernels/reduce_f32/reduce_f32.h"

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_reduce_f32 *p = problem;
    (void)lanes;
    *w = (hn_work){.n_phases = 1, .tasks = {p->outer * p->inner}};
}

static double reduce(const hn_reduce_f32 *p, const float *x) {
    double sum = 0, product = 1, square = 0, size = 0, most = -INFINITY, least = INFINITY, e = 0;
    for (int64_t i = 0; i < p->r; i++) {
        double v = (double)x[i * p->x_r];
        sum += v, product *= v, square += v * v, size += fabs(v);
        if (isnan(v) || v > most) most = isnan(most) ? most : v;
        if (isnan(v) || v < least) least = isnan(least) ? least : v;
    }
    for (int64_t i = 0; i < p->r; i++) e += exp((double)x[i * p->x_r] - most);
    switch (p->op) {
        case HN_REDUCE_SUM: return sum;
        case HN_REDUCE_MEAN: return sum / (double)p->r;
        case HN_REDUCE_MAX: return most;
        case HN_REDUCE_MIN: return least;
        case HN_REDUCE_PROD: return product;
        case HN_REDUCE_SUMSQ: return square;
        case HN_REDUCE_L1: return size;
        case HN_REDUCE_L2: return sqrt(square);
        case HN_REDUCE_LOGSUM: return log(sum);
        case HN_REDUCE_LOGSUMEXP: return isfinite(most) ? most + log(e) : most;
        case HN_REDUCE_OPS_: break;
    }
    return 0;
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_reduce_f32 *p = call->problem;
    const float *x = call->ptr[HN_REDUCE_X];
    float *y = call->ptr[HN_REDUCE_Y];
    for (int64_t t = begin; t < end; t++) {
        int64_t i = t % p->inner, o = t / p->inner;
        y[o * p->y_outer + i] = (float)reduce(p, x + o * p->x_outer + i);
    }
}

const hn_kernel hn_reduce_f32_ref = {.name = "ref", .order = "double", .work = work, .run = run};

/* The definition of rows_f64: one row after the other, sums from left to right. A task is a row. */
#include <math.h>

#include "kernels/rows_f64/rows_f64.h"

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_rows_f64 *p = problem;
    (void)lanes;
    *w = (hn_work){.n_phases = 1, .tasks = {p->rows}};
}

static void softmax(const hn_rows_f64 *p, const double *x, double *y) {
    double most = -(double)INFINITY, sum = 0;
    for (int64_t i = 0; i < p->n; i++) most = isnan(x[i]) || x[i] > most ? x[i] : most;
    for (int64_t i = 0; i < p->n; i++) sum += exp(x[i] - most);
    for (int64_t i = 0; i < p->n; i++) {
        double v = x[i] - most;
        y[i] = p->op == HN_ROWS_F64_LOG_SOFTMAX ? v - log(sum) : exp(v) / sum;
    }
}

/* What a row is divided by, its mean taken away. */
static double size_of(const hn_rows_f64 *p, const double *x, double mean) {
    double sum = 0;
    for (int64_t i = 0; i < p->n; i++)
        sum += p->op == HN_ROWS_F64_LP1 ? fabs(x[i]) : (x[i] - mean) * (x[i] - mean);
    if (p->op == HN_ROWS_F64_LP2) sum = sqrt(sum);
    if (p->op == HN_ROWS_F64_LP1 || p->op == HN_ROWS_F64_LP2) return sum == 0 ? 1 : sum;
    return sqrt(sum / (double)p->n + p->epsilon);
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_rows_f64 *p = call->problem;
    const double *scale = call->ptr[HN_ROWS_F64_SCALE], *bias = call->ptr[HN_ROWS_F64_BIAS];
    for (int64_t t = begin; t < end; t++) {
        const double *x = (const double *)call->ptr[HN_ROWS_F64_X] + t * p->n;
        double *y = (double *)call->ptr[HN_ROWS_F64_Y] + t * p->n, mean = 0;
        if (p->op == HN_ROWS_F64_SOFTMAX || p->op == HN_ROWS_F64_LOG_SOFTMAX) {
            softmax(p, x, y);
            continue;
        }
        for (int64_t i = 0; i < p->n && p->op == HN_ROWS_F64_LAYER; i++) mean += x[i];
        mean /= (double)p->n;
        double size = size_of(p, x, mean);
        for (int64_t i = 0; i < p->n; i++) {
            y[i] = (x[i] - mean) / size;
            if (scale != NULL) y[i] *= scale[i];
            if (bias != NULL) y[i] += bias[i];
        }
    }
}

const hn_kernel hn_rows_f64_ref = {.name = "ref", .order = "sequence", .work = work, .run = run};

/* The definition of softmax_f32, in double. A task is a row. */
#include <math.h>

#include "kernels/softmax_f32/softmax_f32.h"

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_softmax_f32 *p = problem;
    (void)lanes;
    *w = (hn_work){.n_phases = 1, .tasks = {1}};
    for (int i = 0; i < HN_SOFTMAX_AXES; i++) w->tasks[0] *= p->rows[i];
}

static double term(const hn_softmax_f32 *p, const float *x, const float *mask, int64_t i) {
    double m = mask != NULL ? (double)mask[i] : 0;
    return (double)p->scale * (double)x[i] + m;
}

static void row(const hn_softmax_f32 *p, const float *x, const float *mask, float *y) {
    double most = -INFINITY, sum = 0;
    for (int64_t i = 0; i < p->n; i++) {
        double v = term(p, x, mask, i);
        most = isnan(v) || v > most ? v : most;
    }
    for (int64_t i = 0; i < p->n; i++) sum += exp(term(p, x, mask, i) - most);
    for (int64_t i = 0; i < p->n; i++) {
        double v = term(p, x, mask, i) - most;
        y[i] = (float)(p->log ? v - log(sum) : exp(v) / sum);
    }
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_softmax_f32 *p = call->problem;
    for (int64_t t = begin; t < end; t++) {
        int64_t rest = t, x = 0, y = 0, m = 0;
        for (int axis = HN_SOFTMAX_AXES - 1; axis >= 0; axis--) {
            int64_t at = rest % p->rows[axis];
            rest /= p->rows[axis];
            x += at * p->x_stride[axis], y += at * p->y_stride[axis];
            m += at * p->mask_stride[axis];
        }
        const float *mask = call->ptr[HN_SOFTMAX_MASK];
        row(p, (const float *)call->ptr[HN_SOFTMAX_X] + x, mask != NULL ? mask + m : NULL,
            (float *)call->ptr[HN_SOFTMAX_Y] + y);
    }
}

const hn_kernel hn_softmax_f32_ref = {.name = "ref", .order = "double", .work = work, .run = run};

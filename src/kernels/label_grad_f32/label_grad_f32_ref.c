/* The definition, in double. A task is a row. */
#include <math.h>

#include "kernels/label_grad_f32/label_grad_f32.h"

static void work(const void *problem, int lanes, hn_work *w) {
    (void)lanes;
    const hn_label_grad_f32 *p = problem;
    *w = (hn_work){.n_phases = 1, .tasks = {p->rows}};
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_label_grad_f32 *p = call->problem;
    const void *labels = call->ptr[HN_LABEL_GRAD_LABEL];
    const float *dy = call->ptr[HN_LABEL_GRAD_DY], *weight = call->ptr[HN_LABEL_GRAD_WEIGHT];
    double divisor = hn_label_grad_divisor(p, labels, weight);
    for (int64_t k = begin; k < end; k++) {
        const float *x = (const float *)call->ptr[HN_LABEL_GRAD_X] + k * p->classes;
        float *dx = (float *)call->ptr[HN_LABEL_GRAD_DX] + k * p->classes;
        int64_t label = hn_label_grad_at(p, labels, k);
        double w = hn_label_grad_weight(p, weight, label);
        double by = w == 0 ? 0 : w * (double)dy[p->each ? k : 0] / divisor;
        for (int64_t c = 0; c < p->classes; c++) {
            double v = p->softmax && by != 0 ? by * exp((double)x[c]) : 0;
            dx[c] = (float)(v - (c == label ? by : 0));
        }
    }
}

const hn_kernel hn_label_grad_f32_ref = {
    .name = "ref", .order = "double", .work = work, .run = run};

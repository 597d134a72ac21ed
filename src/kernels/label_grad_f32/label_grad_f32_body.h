/* label_grad_f32 over the vector vocabulary. A task is a group of rows. */
#include "kernels/label_grad_f32/label_grad_f32.h"
#include "simd/math.h"
#include "simd/part.h"

enum { TASK = 8192 }; /* elements */

static int64_t group_of(const hn_label_grad_f32 *p) {
    return p->classes < TASK ? TASK / (p->classes + 1) + 1 : 1;
}

static void work(const void *problem, int lanes, hn_work *w) {
    (void)lanes;
    const hn_label_grad_f32 *p = problem;
    *w = (hn_work){.n_phases = 1, .tasks = {(p->rows + group_of(p) - 1) / group_of(p)}};
}

HN_INLINE void part(const float *x, float *dx, hn_vf by, int64_t n, bool softmax) {
    hn_vf zero = hn_v_set1(0.0f);
    hn_v_store_part(dx, softmax ? hn_v_mul(by, hn_v_exp(hn_v_load_part(x, n))) : zero, n);
}

static void run_row(const hn_label_grad_f32 *p, const float *x, float *dx, int64_t label,
                    float by) {
    hn_vf v = hn_v_set1(by);
    bool softmax = p->softmax && by != 0;
    int64_t i = 0;
    for (; i + HN_VL <= p->classes; i += HN_VL) part(x + i, dx + i, v, HN_VL, softmax);
    if (i < p->classes) part(x + i, dx + i, v, p->classes - i, softmax);
    if (by != 0) dx[label] -= by;
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_label_grad_f32 *p = call->problem;
    const void *labels = call->ptr[HN_LABEL_GRAD_LABEL];
    const float *dy = call->ptr[HN_LABEL_GRAD_DY], *weight = call->ptr[HN_LABEL_GRAD_WEIGHT];
    int64_t group = group_of(p), last = end * group < p->rows ? end * group : p->rows;
    if (begin == end) return;
    double divisor = hn_label_grad_divisor(p, labels, weight);
    for (int64_t k = begin * group; k < last; k++) {
        int64_t label = hn_label_grad_at(p, labels, k);
        double w = hn_label_grad_weight(p, weight, label);
        double by = w == 0 ? 0 : w * (double)dy[p->each ? k : 0] / divisor;
        run_row(p, (const float *)call->ptr[HN_LABEL_GRAD_X] + k * p->classes,
                (float *)call->ptr[HN_LABEL_GRAD_DX] + k * p->classes, label, (float)by);
    }
}

const hn_kernel HN_V_ROW(label_grad_f32) = {
    .name = HN_V_NAME, .isa = HN_V_ISA, .order = HN_V_NAME, .work = work, .run = run};

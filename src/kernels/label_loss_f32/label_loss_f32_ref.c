/* The definition of label_loss_f32, in double. All of it is one task. */
#include "kernels/label_loss_f32/label_loss_f32.h"

static void work(const void *problem, int lanes, hn_work *w) {
    (void)problem, (void)lanes;
    *w = (hn_work){.n_phases = 1, .tasks = {1}};
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_label_loss_f32 *p = call->problem;
    const float *x = call->ptr[HN_LABEL_LOSS_X], *weight = call->ptr[HN_LABEL_LOSS_WEIGHT];
    const void *labels = call->ptr[HN_LABEL_LOSS_LABEL];
    float *y = call->ptr[HN_LABEL_LOSS_Y];
    int32_t *outside = call->ptr[HN_LABEL_LOSS_OUTSIDE];
    double sum = 0, weights = 0;
    if (begin == end) return;
    for (int64_t b = 0; b < p->batch; b++)
        for (int64_t i = 0; i < p->inner; i++) {
            int64_t at = b * p->inner + i;
            int64_t c = p->wide ? ((const int64_t *)labels)[at] : ((const int32_t *)labels)[at];
            bool ignored = p->ignores && c == p->ignore, known = c >= 0 && c < p->classes;
            double loss = 0, w = 0;
            if (!ignored && !known && outside != NULL) *outside = 1;
            if (!ignored && known) {
                w = weight != NULL ? (double)weight[c] : 1;
                loss = -w * (double)x[b * p->x_batch + c * p->x_class + i * p->x_inner];
            }
            if (p->reduction == HN_LOSS_NONE) y[at] = (float)loss;
            sum += loss;
            weights += w;
        }
    if (p->reduction == HN_LOSS_SUM) *y = (float)sum;
    if (p->reduction == HN_LOSS_MEAN) *y = (float)(sum / weights);
}

const hn_kernel hn_label_loss_f32_ref = {
    .name = "ref", .order = "double", .work = work, .run = run};

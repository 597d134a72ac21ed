/* label_loss_f32 by groups of positions. A task is a group; where losses are summed, it leaves its
 * sums in the scratch, and a last task adds them in their order. */
#include "kernels/label_loss_f32/label_loss_f32.h"

enum { GROUP = 1024 }; /* positions */

typedef struct sums {
    double loss, weight;
} sums;

static int64_t groups_of(const hn_label_loss_f32 *p) {
    return (p->batch * p->inner + GROUP - 1) / GROUP;
}

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_label_loss_f32 *p = problem;
    (void)lanes;
    bool each = p->reduction == HN_LOSS_NONE;
    int64_t groups = groups_of(p);
    *w = (hn_work){.n_phases = each ? 1 : 2,
                   .tasks = {groups, 1, 1, 1},
                   .scratch = each ? 0 : (size_t)groups * sizeof(sums)};
}

static sums group(const hn_call *call, int64_t from, int64_t n, bool *bad) {
    const hn_label_loss_f32 *p = call->problem;
    const float *x = call->ptr[HN_LABEL_LOSS_X], *weight = call->ptr[HN_LABEL_LOSS_WEIGHT];
    const void *labels = call->ptr[HN_LABEL_LOSS_LABEL];
    float *y = p->reduction == HN_LOSS_NONE ? call->ptr[HN_LABEL_LOSS_Y] : NULL;
    int64_t i = from % p->inner, b = from / p->inner;
    sums s = {0, 0};
    for (int64_t at = from; at < from + n; at++) {
        int64_t c = p->wide ? ((const int64_t *)labels)[at] : ((const int32_t *)labels)[at];
        double loss = 0, w = 0;
        if (c < 0 || c >= p->classes || (p->ignores && c == p->ignore)) {
            *bad |= !p->ignores || c != p->ignore;
        } else {
            w = weight != NULL ? (double)weight[c] : 1;
            loss = -w * (double)x[b * p->x_batch + c * p->x_class + i * p->x_inner];
        }
        if (y != NULL) y[at] = (float)loss;
        s.loss += loss;
        s.weight += w;
        if (++i == p->inner) i = 0, b++;
    }
    return s;
}

static void join(const hn_call *call) {
    const hn_label_loss_f32 *p = call->problem;
    const sums *part = call->scratch;
    sums s = {0, 0};
    for (int64_t g = 0; g < groups_of(p); g++) s.loss += part[g].loss, s.weight += part[g].weight;
    *(float *)call->ptr[HN_LABEL_LOSS_Y] =
        (float)(p->reduction == HN_LOSS_MEAN ? s.loss / s.weight : s.loss);
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    const hn_label_loss_f32 *p = call->problem;
    int32_t *outside = call->ptr[HN_LABEL_LOSS_OUTSIDE];
    int64_t all = p->batch * p->inner;
    bool bad = false;
    (void)lane;
    if (phase == 1 && begin < end) join(call);
    for (int64_t g = begin; phase == 0 && g < end; g++) {
        int64_t from = g * GROUP, n = all - from < GROUP ? all - from : GROUP;
        sums s = group(call, from, n, &bad);
        if (p->reduction != HN_LOSS_NONE) ((sums *)call->scratch)[g] = s;
    }
    if (bad && outside != NULL) __atomic_store_n(outside, 1, __ATOMIC_RELAXED);
}

const hn_kernel hn_label_loss_f32_portable = {
    .name = "portable", .order = "groups", .work = work, .run = run};

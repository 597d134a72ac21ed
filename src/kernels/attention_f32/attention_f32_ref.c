/* The definition of attention_f32, in double. A task is a batch. */
#include <math.h>

#include "kernels/attention_f32/attention_f32.h"

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_attention_f32 *p = problem;
    (void)lanes;
    *w = (hn_work){.n_phases = 1,
                   .tasks = {hn_attention_batches(p)},
                   .lane_scratch = (size_t)p->keys * sizeof(double)};
}

static double score(const hn_attention_f32 *p, const float *q, const float *k, const void *mask,
                    int64_t at, int64_t i, int64_t j) {
    double sum = 0;
    if (p->causal && j > i + p->offset) return -INFINITY;
    for (int64_t d = 0; d < p->size; d++)
        sum += (double)q[i * p->q_row + d * p->q_col] * (double)k[j * p->k_row + d * p->k_col];
    sum *= (double)p->scale;
    at += i * p->mask_row + j;
    if (mask == NULL) return sum;
    if (!p->chooses) return sum + (double)((const float *)mask)[at];
    return (((const uint8_t *)mask)[at] != 0) == p->hides ? (double)p->fill : sum;
}

/* The weights of query i, in w. */
static void weigh(const hn_attention_f32 *p, const float *q, const float *k, const void *mask,
                  int64_t at, int64_t i, double *w) {
    double most = -INFINITY, sum = 0;
    for (int64_t j = 0; j < p->keys; j++) {
        w[j] = score(p, q, k, mask, at, i, j);
        most = isnan(w[j]) || w[j] > most ? w[j] : most;
    }
    bool none = isinf(most) && most < 0;
    for (int64_t j = 0; j < p->keys; j++) sum += exp(w[j] - most);
    bool zero = (none && p->blind != HN_BLIND_NAN) || (isnan(sum) && p->blind == HN_BLIND_ANY);
    for (int64_t j = 0; j < p->keys; j++) w[j] = zero ? 0 : exp(w[j] - most) / sum;
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase;
    const hn_attention_f32 *p = call->problem;
    double *w = lane;
    for (int64_t b = begin; b < end; b++) {
        const float *q =
            (const float *)call->ptr[HN_ATTENTION_Q] + hn_attention_at(p, p->q_batch, b);
        const float *k =
            (const float *)call->ptr[HN_ATTENTION_K] + hn_attention_at(p, p->k_batch, b);
        const float *v =
            (const float *)call->ptr[HN_ATTENTION_V] + hn_attention_at(p, p->v_batch, b);
        float *y = (float *)call->ptr[HN_ATTENTION_Y] + hn_attention_at(p, p->y_batch, b);
        int64_t at = hn_attention_at(p, p->mask_batch, b);
        for (int64_t i = 0; i < p->queries; i++) {
            weigh(p, q, k, call->ptr[HN_ATTENTION_MASK], at, i, w);
            for (int64_t d = 0; d < p->v_size; d++) {
                double sum = 0;
                for (int64_t j = 0; j < p->keys; j++)
                    sum += w[j] * (double)v[j * p->v_row + d * p->v_col];
                y[i * p->y_row + d] = (float)sum;
            }
        }
    }
}

const hn_kernel hn_attention_f32_ref = {.name = "ref", .order = "double", .work = work, .run = run};

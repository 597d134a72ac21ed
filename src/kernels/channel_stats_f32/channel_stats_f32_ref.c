/* The definition, in double. A task is a channel. */
#include "kernels/channel_stats_f32/channel_stats_f32.h"

static void work(const void *problem, int lanes, hn_work *w) {
    (void)lanes;
    const hn_channel_stats_f32 *p = problem;
    *w = (hn_work){.n_phases = 1, .tasks = {p->c}};
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_channel_stats_f32 *p = call->problem;
    float *mean_out = call->ptr[HN_STATS_MEAN], *var_out = call->ptr[HN_STATS_VAR];
    for (int64_t i = begin; i < end; i++) {
        const float *x = (const float *)call->ptr[HN_STATS_X] + i;
        double mean = 0, var = 0;
        for (int64_t k = 0; k < p->n; k++) mean += (double)x[k * p->x_pixel];
        mean /= (double)p->n;
        for (int64_t k = 0; k < p->n; k++) {
            double d = (double)x[k * p->x_pixel] - mean;
            var += d * d;
        }
        if (mean_out != NULL) mean_out[i] = (float)mean;
        if (var_out != NULL) var_out[i] = (float)(var / (double)p->n);
    }
}

const hn_kernel hn_channel_stats_f32_ref = {
    .name = "ref", .order = "double", .work = work, .run = run};

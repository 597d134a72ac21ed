/* The definition of grid_sample_f32: in double, one output element at a time. A task is a position.
 */
#include "kernels/grid_sample_f32/grid_sample_f32.h"
#include "kernels/grid_sample_f32/grid_sample_f32_taps.h"

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_grid_sample_f32 *p = problem;
    (void)lanes;
    *w = (hn_work){.n_phases = 1, .tasks = {p->images * p->positions}};
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_grid_sample_f32 *p = call->problem;
    for (int64_t task = begin; task < end; task++) {
        int64_t image = task / p->positions, position = task % p->positions;
        const float *at = (const float *)call->ptr[HN_GRID_SAMPLE_GRID] + p->axes * task;
        const float *x = (const float *)call->ptr[HN_GRID_SAMPLE_X] + image * p->x_image;
        float *y = (float *)call->ptr[HN_GRID_SAMPLE_Y] + image * p->y_image;
        sample_taps t[3];
        sample_all_taps(p, at, t);
        for (int64_t c = 0; c < p->c; c++) {
            double sum = 0;
            for (int e = 0; e < t[2].n; e++)
                for (int r = 0; r < t[1].n; r++)
                    for (int k = 0; k < t[0].n; k++)
                        sum += t[2].weight[e] * t[1].weight[r] * t[0].weight[k] *
                               (double)x[c * p->x_channel + t[2].at[e] * p->x_slice +
                                         t[1].at[r] * p->x_row + t[0].at[k] * p->x_pixel];
            y[c * p->y_channel + position * p->y_position] = (float)sum;
        }
    }
}

const hn_kernel hn_grid_sample_f32_ref = {
    .name = "ref", .order = "double", .work = work, .run = run};

/* The definition of group_norm_f32, in double. A task is a group of an image. */
#include <math.h>

#include "kernels/act_ref.h"
#include "kernels/group_norm_f32/group_norm_f32.h"

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_group_norm_f32 *p = problem;
    (void)lanes;
    *w = (hn_work){.n_phases = 1, .tasks = {p->batch * p->groups}};
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_group_norm_f32 *p = call->problem;
    const float *scale = call->ptr[HN_GROUP_NORM_SCALE], *bias = call->ptr[HN_GROUP_NORM_BIAS];
    for (int64_t t = begin; t < end; t++) {
        int64_t size = p->channels / p->groups, c0 = t % p->groups * size, b = t / p->groups;
        const float *x = (const float *)call->ptr[HN_GROUP_NORM_X] + b * p->x_image;
        float *y = (float *)call->ptr[HN_GROUP_NORM_Y] + b * p->y_image;
        double mean = 0, square = 0, count = (double)(p->pixels * size);
        for (int64_t i = 0; i < p->pixels; i++)
            for (int64_t c = c0; c < c0 + size; c++) mean += (double)x[i * p->x_pixel + c] / count;
        for (int64_t i = 0; i < p->pixels; i++)
            for (int64_t c = c0; c < c0 + size; c++) {
                double d = (double)x[i * p->x_pixel + c] - mean;
                square += d * d / count;
            }
        for (int64_t i = 0; i < p->pixels; i++)
            for (int64_t c = c0; c < c0 + size; c++) {
                double z =
                    ((double)x[i * p->x_pixel + c] - mean) / sqrt(square + (double)p->epsilon);
                if (scale != NULL) z *= (double)scale[c];
                if (bias != NULL) z += (double)bias[c];
                y[i * p->y_pixel + c] = (float)hn_act_ref(&p->act, z);
            }
    }
}

const hn_kernel hn_group_norm_f32_ref = {
    .name = "ref", .order = "double", .work = work, .run = run};

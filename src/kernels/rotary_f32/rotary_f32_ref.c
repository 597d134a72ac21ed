/* The definition of rotary_f32, in double. A task is a sample. */
#include "kernels/rotary_f32/rotary_f32.h"

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_rotary_f32 *p = problem;
    (void)lanes;
    *w = (hn_work){.n_phases = 1, .tasks = {p->samples}};
}

static void turn(const hn_rotary_f32 *p, const float *x, const float *cos, const float *sin,
                 float *y) {
    for (int64_t i = 0; i < p->pairs; i++) {
        int64_t first = p->interleaved ? 2 * i : i,
                second = p->interleaved ? first + 1 : i + p->pairs;
        double c = (double)cos[i], s = (double)sin[i];
        y[first] = (float)(c * (double)x[first] - s * (double)x[second]);
        y[second] = (float)(s * (double)x[first] + c * (double)x[second]);
    }
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_rotary_f32 *p = call->problem;
    const int64_t *ids = call->ptr[HN_ROTARY_IDS];
    int32_t *outside = call->ptr[HN_ROTARY_OUTSIDE];
    for (int64_t n = begin; n < end; n++)
        for (int64_t h = 0; h < p->heads; h++)
            for (int64_t k = 0; k < p->positions; k++) {
                int64_t place = n * p->positions + k, id = ids != NULL ? ids[place] : place;
                const float *x = (const float *)call->ptr[HN_ROTARY_X] + n * p->x_sample +
                                 h * p->x_head + k * p->x_position;
                float *y = (float *)call->ptr[HN_ROTARY_Y] + n * p->y_sample + h * p->y_head +
                           k * p->y_position;
                bool known = id >= 0 && id < p->angles;
                for (int64_t i = known ? 2 * p->pairs : 0; i < p->size; i++) y[i] = x[i];
                if (known)
                    turn(p, x, (const float *)call->ptr[HN_ROTARY_COS] + id * p->pairs,
                         (const float *)call->ptr[HN_ROTARY_SIN] + id * p->pairs, y);
                else if (outside != NULL)
                    __atomic_store_n(outside, 1, __ATOMIC_RELAXED);
            }
}

const hn_kernel hn_rotary_f32_ref = {.name = "ref", .order = "double", .work = work, .run = run};

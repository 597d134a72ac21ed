/* The definition of resize_f32: in double, one output element at a time. A task is an output row.
 */
#include "kernels/resize_f32/resize_f32.h"

typedef struct taps {
    const int32_t *index;
    const float *weight;
    int64_t n;
} taps;

/* Of output o of `out`, from a table and its weights. */
static taps taps_of(const int32_t *table, const float *weight, int64_t out, int64_t o) {
    return (taps){table + out + 1 + table[o], weight + table[o], table[o + 1] - table[o]};
}

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_resize_f32 *p = problem;
    (void)lanes;
    *w = (hn_work){.n_phases = 1, .tasks = {hn_resize_count(p) * p->oh}};
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_resize_f32 *p = call->problem;
    for (int64_t t = begin; t < end; t++) {
        const float *x = call->ptr[HN_RESIZE_X];
        float *y = (float *)call->ptr[HN_RESIZE_Y] + t % p->oh * p->y_row;
        int64_t image = t / p->oh;
        for (int i = HN_RESIZE_AXES - 1; i >= 0; i--) {
            x += image % p->images[i] * p->x_image[i];
            y += image % p->images[i] * p->y_image[i];
            image /= p->images[i];
        }
        taps v =
            taps_of(call->ptr[HN_RESIZE_ROWS], call->ptr[HN_RESIZE_ROW_WEIGHT], p->oh, t % p->oh);
        for (int64_t i = 0; i < p->ow * p->c; i++) {
            taps h = taps_of(call->ptr[HN_RESIZE_COLUMNS], call->ptr[HN_RESIZE_COLUMN_WEIGHT],
                             p->ow, i / p->c);
            double sum = v.n > 0 && h.n > 0 ? 0 : p->outside;
            for (int64_t r = 0; r < v.n; r++)
                for (int64_t k = 0; k < h.n; k++)
                    sum += (double)v.weight[r] * (double)h.weight[k] *
                           (double)x[v.index[r] * p->x_row + h.index[k] * p->x_pixel + i % p->c];
            y[i / p->c * p->y_pixel + i % p->c] = (float)sum;
        }
    }
}

const hn_kernel hn_resize_f32_ref = {.name = "ref", .order = "double", .work = work, .run = run};

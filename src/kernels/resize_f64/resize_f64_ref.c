/* The definition of resize_f64: one output element at a time. A task is an output row. */
#include <math.h>

#include "kernels/resize_f64/resize_f64.h"

typedef struct taps {
    const int32_t *index;
    const double *weight;
    int64_t n;
} taps;

static taps taps_of(const int32_t *table, const double *weight, int64_t out, int64_t o) {
    return (taps){table + out + 1 + table[o], weight + table[o], table[o + 1] - table[o]};
}

static double value_at(const void *x, hn_resize_type t, int64_t i) {
    switch (t) {
#define HN_X(name, type) \
    case HN_RESIZE_##name: return (double)((const type *)x)[i];
        HN_RESIZE_TYPE_LIST(HN_X)
#undef HN_X
    }
    return 0;
}

static double bounded(double v, double lo, double hi) { return fmin(fmax(rint(v), lo), hi); }

static void set_value(void *y, hn_resize_type t, int64_t i, double v) {
    switch (t) {
        case HN_RESIZE_F32: ((float *)y)[i] = (float)v; break;
        case HN_RESIZE_F64: ((double *)y)[i] = v; break;
        case HN_RESIZE_U8: ((uint8_t *)y)[i] = (uint8_t)bounded(v, 0, UINT8_MAX); break;
        case HN_RESIZE_S8: ((int8_t *)y)[i] = (int8_t)bounded(v, INT8_MIN, INT8_MAX); break;
        case HN_RESIZE_U16: ((uint16_t *)y)[i] = (uint16_t)bounded(v, 0, UINT16_MAX); break;
        case HN_RESIZE_S16: ((int16_t *)y)[i] = (int16_t)bounded(v, INT16_MIN, INT16_MAX); break;
        case HN_RESIZE_S32: ((int32_t *)y)[i] = (int32_t)bounded(v, INT32_MIN, INT32_MAX); break;
    }
}

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_resize_f32 *p = problem;
    (void)lanes;
    *w = (hn_work){.n_phases = 1, .tasks = {hn_resize_count(p) * p->oh}};
}

/* A value of the row that the taps v make. */
static double row_value(const hn_resize_f32 *p, const void *x, int64_t at, const taps *v) {
    double sum = p->outside;
    for (int64_t r = 0; r < v->n; r++) {
        double product = v->weight[r] * value_at(x, p->x_type, at + v->index[r] * p->x_row);
        sum = r == 0 ? product : sum + product;
    }
    return sum;
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_resize_f32 *p = call->problem;
    for (int64_t t = begin; t < end; t++) {
        int64_t image = t / p->oh, from = 0, to = t % p->oh * p->y_row;
        for (int i = HN_RESIZE_AXES - 1; i >= 0; i--) {
            from += image % p->images[i] * p->x_image[i];
            to += image % p->images[i] * p->y_image[i];
            image /= p->images[i];
        }
        taps v =
            taps_of(call->ptr[HN_RESIZE_ROWS], call->ptr[HN_RESIZE_ROW_WEIGHT], p->oh, t % p->oh);
        for (int64_t i = 0; i < p->ow * p->c; i++) {
            int64_t o = i / p->c, c = i % p->c;
            taps h =
                taps_of(call->ptr[HN_RESIZE_COLUMNS], call->ptr[HN_RESIZE_COLUMN_WEIGHT], p->ow, o);
            double sum = h.n > 0 ? 0 : p->outside;
            for (int64_t k = 0; k < h.n; k++)
                sum += h.weight[k] *
                       row_value(p, call->ptr[HN_RESIZE_X], from + h.index[k] * p->x_pixel + c, &v);
            set_value(call->ptr[HN_RESIZE_Y], p->y_type, to + o * p->y_pixel + c, sum);
        }
    }
}

const hn_kernel hn_resize_f64_ref = {.name = "ref", .order = "taps", .work = work, .run = run};

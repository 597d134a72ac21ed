/* How far numbers are from those wanted: mean squared and mean absolute error over all elements,
 * and the peak signal-to-noise ratio that follows from the former:
 *
 *     PSNR = 10 log10(range^2 / MSE)        range: 255 for targets of u8, else largest - smallest
 *
 * What is wanted is a target with as many elements as the output, or the label where a sample has
 * one number.
 */
#include <math.h>

#include "base/dtype.h"
#include "measure/interval.h"
#include "measure/metric.h"

enum { MSE, MAE, PSNR };
#define CHUNK 512

typedef struct state {
    hn_ratio squared, absolute;
    double least, most; /* of what is wanted */
    bool bytes;         /* the target is of u8 */
} state;

/* The target that an output is compared with; NULL: its labels. */
static const hone_value *wanted_of(const hone_eval_batch *b, const hone_value *output) {
    for (size_t i = 0; i < b->n_targets; i++)
        if (hn_metric_same_size(output, &b->targets[i])) return &b->targets[i];
    return NULL;
}

static uint32_t suits(const hn_metric_task *t, const hone_eval_batch *b) {
    const hone_value *output = hn_metric_output(t, b, 0);
    int64_t elements;
    if (!hn_dtype_is_float(output->dtype) ||
        hn_metric_sample(b, output, &elements, NULL) != HONE_OK)
        return 0;
    if (wanted_of(b, output) != NULL) return output->rank >= 3 ? 7 : 3;
    return b->labels != NULL && elements == 1 ? 3 : 0;
}

static hone_status begin(void *state_, const hn_metric_task *t, const hone_eval_batch *b,
                         hn_error *err) {
    state *s = state_;
    const hone_value *output = hn_metric_output(t, b, 0), *wanted = wanted_of(b, output);
    char text[400], other[400] = "the dataset has none";
    int64_t elements;
    HN_TRY(hn_metric_sample(b, output, &elements, err));
    if (b->n_targets > 0) hn_metric_text("target", &b->targets[0], other, sizeof other);
    HN_CHECK(err, wanted != NULL || (b->labels != NULL && elements == 1), HONE_E_SHAPE,
             "%s, and no target has as many elements: %s",
             hn_metric_text("output", output, text, sizeof text), other);
    s->bytes = wanted != NULL && wanted->dtype == HONE_DTYPE_U8;
    s->least = INFINITY;
    s->most = -INFINITY;
    return HONE_OK;
}

static void add_sample(state *s, const hone_eval_batch *b, const hone_value *output,
                       const hone_value *wanted, int64_t i, int64_t elements) {
    double squared = 0, absolute = 0, x[CHUNK], y[CHUNK];
    for (int64_t at = 0; at < elements; at += CHUNK) {
        int64_t n = elements - at < CHUNK ? elements - at : CHUNK;
        hn_load_f64_n(output->dtype, output->data, i * elements + at, n, x);
        if (wanted != NULL)
            hn_load_f64_n(wanted->dtype, wanted->data, i * elements + at, n, y);
        else
            y[0] = (double)b->labels[i];
        for (int64_t k = 0; k < n; k++) {
            squared += (x[k] - y[k]) * (x[k] - y[k]);
            absolute += fabs(x[k] - y[k]);
            s->least = fmin(s->least, y[k]);
            s->most = fmax(s->most, y[k]);
        }
    }
    hn_ratio_add(&s->squared, squared, (double)elements);
    hn_ratio_add(&s->absolute, absolute, (double)elements);
}

static hone_status add(void *state_, const hn_metric_task *t, const hone_eval_batch *b,
                       hn_error *err) {
    const hone_value *output = hn_metric_output(t, b, 0), *wanted = wanted_of(b, output);
    char text[400];
    int64_t elements;
    HN_TRY(hn_metric_sample(b, output, &elements, err));
    HN_CHECK(err, wanted != NULL || (b->labels != NULL && elements == 1), HONE_E_SHAPE,
             "%s for sample %lld, and no target has as many elements",
             hn_metric_text("output", output, text, sizeof text), (long long)b->index[0]);
    for (int64_t i = 0; i < b->n; i++) add_sample(state_, b, output, wanted, i, elements);
    return HONE_OK;
}

static void set(hone_metric_value *v, const hn_ratio *r) {
    hn_interval i = hn_ratio_interval(r);
    v->value = hn_ratio_value(r);
    v->low = isnan(i.low) ? NAN : fmax(i.low, 0);
    v->high = i.high;
    v->interval = "normal";
}

static double decibels(double range, double mse) {
    return 10 * log10(range * range / mse); /* infinite where nothing differs */
}

static hone_status end(void *state_, const hn_metric_task *t, hone_metric_value *v,
                       hone_evaluation *e, hn_error *err) {
    (void)t;
    (void)e;
    (void)err;
    const state *s = state_;
    double range = s->bytes ? 255 : s->most - s->least;
    set(&v[MSE], &s->squared);
    set(&v[MAE], &s->absolute);
    if (!(range > 0)) return HONE_OK;
    v[PSNR].value = decibels(range, v[MSE].value);
    v[PSNR].low = decibels(range, v[MSE].high);
    v[PSNR].high = decibels(range, v[MSE].low);
    v[PSNR].interval = "normal";
    return HONE_OK;
}

const hn_metric hn_metric_error = {
    .values = {{"mse", "mean squared error", .lower_better = true},
               {"mae", "mean absolute error", .lower_better = true},
               {"psnr", "peak signal-to-noise ratio in dB", .lower_better = false}},
    .state_bytes = sizeof(state),
    .suits = suits,
    .begin = begin,
    .add = add,
    .end = end,
};

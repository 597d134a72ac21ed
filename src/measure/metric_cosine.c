/* The cosine between an embedding and the one wanted, a target of the same size, or between two
 * outputs of the model that are asked for. Mean over the samples; of a vector without length it is
 * 0.
 */
#include <math.h>

#include "base/dtype.h"
#include "measure/interval.h"
#include "measure/metric.h"

#define CHUNK 512

typedef struct state {
    hn_ratio cosine;
} state;

/* What the first output is compared with; NULL: nothing of its size. */
static const hone_value *other_of(const hn_metric_task *t, const hone_eval_batch *b) {
    const hone_value *output = hn_metric_output(t, b, 0);
    if (t->n_asked >= 2) {
        const hone_value *second = hn_metric_output(t, b, 1);
        return hn_metric_same_size(output, second) ? second : NULL;
    }
    for (size_t i = 0; i < b->n_targets; i++)
        if (hn_metric_same_size(output, &b->targets[i])) return &b->targets[i];
    return NULL;
}

static uint32_t suits(const hn_metric_task *t, const hone_eval_batch *b) {
    return t->n_asked >= 2 && other_of(t, b) != NULL ? 1 : 0; /* else errors tell more */
}

static double cosine(const hone_value *a, const hone_value *b, int64_t from, int64_t elements) {
    double ab = 0, aa = 0, bb = 0, x[CHUNK], y[CHUNK];
    for (int64_t at = 0; at < elements; at += CHUNK) {
        int64_t n = elements - at < CHUNK ? elements - at : CHUNK;
        hn_load_f64_n(a->dtype, a->data, from + at, n, x);
        hn_load_f64_n(b->dtype, b->data, from + at, n, y);
        for (int64_t k = 0; k < n; k++) {
            ab += x[k] * y[k];
            aa += x[k] * x[k];
            bb += y[k] * y[k];
        }
    }
    return aa > 0 && bb > 0 ? ab / (sqrt(aa) * sqrt(bb)) : 0;
}

static hone_status add(void *state_, const hn_metric_task *t, const hone_eval_batch *b,
                       hn_error *err) {
    state *s = state_;
    const hone_value *output = hn_metric_output(t, b, 0), *other = other_of(t, b);
    char text[400];
    int64_t elements;
    HN_TRY(hn_metric_sample(b, output, &elements, err));
    HN_CHECK(err, other != NULL, HONE_E_SHAPE,
             "%s, and there is neither a target nor a second output asked for of that size",
             hn_metric_text("output", output, text, sizeof text));
    for (int64_t i = 0; i < b->n; i++)
        hn_ratio_add(&s->cosine, cosine(output, other, i * elements, elements), 1);
    return HONE_OK;
}

static hone_status end(void *state_, const hn_metric_task *t, hone_metric_value *v,
                       hone_evaluation *e, hn_error *err) {
    (void)t;
    (void)e;
    (void)err;
    const state *s = state_;
    hn_interval i = hn_ratio_interval(&s->cosine);
    v->value = hn_ratio_value(&s->cosine);
    v->low = isnan(i.low) ? NAN : fmax(i.low, -1);
    v->high = isnan(i.high) ? NAN : fmin(i.high, 1);
    v->interval = "normal";
    return HONE_OK;
}

const hn_metric hn_metric_cosine = {
    .values = {{.name = "cosine", .help = "mean cosine between embeddings and those wanted"}},
    .state_bytes = sizeof(state),
    .suits = suits,
    .add = add,
    .end = end,
};

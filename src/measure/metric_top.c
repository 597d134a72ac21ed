/* The share of samples whose label has the highest score, or one of the five highest. */
#include <math.h>

#include "base/dtype.h"
#include "measure/interval.h"
#include "measure/metric.h"

/* Fewer classes than this make a top-5 that says nothing. */
#define LEAST_TOP5 6

typedef struct state {
    int64_t classes, samples;
    int64_t top1, top5;
    double *scores; /* of one sample */
} state;

/* How many classes come before the label's. */
static int64_t place_of(const double *score, int64_t classes, int64_t label) {
    int64_t before = 0;
    for (int64_t c = 0; c < classes; c++) {
        if (c == label || (isnan(score[c]) && !isnan(score[label]))) continue;
        bool tie = score[c] == score[label] || (isnan(score[c]) && isnan(score[label]));
        before += tie ? c < label : score[c] > score[label] || isnan(score[label]);
    }
    return before;
}

static uint32_t suits(const hn_metric_task *t, const hone_eval_batch *b) {
    int64_t classes;
    const hone_value *output = hn_metric_output(t, b, 0);
    if (b->labels == NULL || hn_metric_sample(b, output, &classes, NULL) != HONE_OK) return 0;
    return classes < LEAST_TOP5 ? 1 : 3;
}

static hone_status begin(void *state_, const hn_metric_task *t, const hone_eval_batch *b,
                         hn_error *err) {
    state *s = state_;
    HN_CHECK(err, b->labels != NULL, HONE_E_ARG, "the dataset has no labels to score by");
    HN_TRY(hn_metric_sample(b, hn_metric_output(t, b, 0), &s->classes, err));
    s->scores = hn_arena_array(t->arena, (size_t)s->classes, sizeof *s->scores);
    return s->scores != NULL ? HONE_OK : HN_NOMEM(err);
}

static hone_status add(void *state_, const hn_metric_task *t, const hone_eval_batch *b,
                       hn_error *err) {
    state *s = state_;
    const hone_value *output = hn_metric_output(t, b, 0);
    int64_t classes;
    HN_TRY(hn_metric_sample(b, output, &classes, err));
    HN_CHECK(err, classes == s->classes, HONE_E_SHAPE,
             "output '%s' has %lld classes for sample %lld, and %lld before", output->name,
             (long long)classes, (long long)b->index[0], (long long)s->classes);
    s->samples += b->n;
    for (int64_t i = 0; i < b->n; i++) {
        if (hn_metric_is_class(output, classes)) {
            s->top1 += hn_load_s64(output->dtype, output->data, i) == b->labels[i];
            continue;
        }
        HN_TRY(hn_metric_label(b, i, output, classes, err));
        hn_load_f64_n(output->dtype, output->data, i * classes, classes, s->scores);
        int64_t place = place_of(s->scores, classes, b->labels[i]);
        s->top1 += place < 1;
        s->top5 += place < 5;
    }
    return HONE_OK;
}

static void set(hone_metric_value *v, int64_t part, int64_t whole) {
    hn_interval i = hn_interval_share(part, whole);
    v->value = (double)part / (double)whole;
    v->part = part;
    v->low = i.low;
    v->high = i.high;
    v->interval = "wilson";
}

static hone_status end(void *state_, const hn_metric_task *t, hone_metric_value *v,
                       hone_evaluation *e, hn_error *err) {
    (void)t;
    (void)err;
    const state *s = state_;
    e->classes = s->classes;
    set(&v[0], s->top1, s->samples);
    if (s->classes >= LEAST_TOP5) set(&v[1], s->top5, s->samples);
    return HONE_OK;
}

const hn_metric hn_metric_top = {
    .values = {{"top1", "share of samples whose label has the highest score", .is_share = true},
               {"top5", "share of samples whose label is among the five highest",
                .is_share = true}},
    .state_bytes = sizeof(state),
    .by_labels = true,
    .suits = suits,
    .begin = begin,
    .add = add,
    .end = end,
};

#include "advise/quality.h"

#include <math.h>

#include "measure/accuracy.h"
#include "measure/feed.h"
#include "measure/interval.h"
#include "measure/metric.h"

/* ---- by labels or targets ---- */

static hone_status run_program(void *ctx, const hn_tensor *const *in, hn_tensor **out,
                               hn_error *err) {
    return hn_program_run(ctx, in, out, err);
}

static const char *known_name(const char *name) {
    int metric, value;
    if (hn_metric_find(name, &metric, &value, NULL) != HONE_OK) return NULL;
    return hn_metrics[metric]->values[value].name;
}

static hone_status by_labels(const hn_judge *j, hn_program *of, hn_dataset *data, hn_quality *q,
                             hn_error *err) {
    hone_eval_options o = {.size = sizeof o,
                           .batch = j->batch,
                           .progress = j->progress,
                           .progress_ctx = j->progress_ctx,
                           .metrics = j->metric,
                           .seed = j->seed};
    hone_evaluation *e;
    HN_TRY(hn_accuracy_measure(j->model->graph, run_program, of, data, &o, j->alloc, j->alloc, &e,
                               err));
    const hone_metric_value *v = &e->metrics[0];
    *q = (hn_quality){.metric = known_name(v->name),
                      .is_share = v->is_share,
                      .lower_better = v->lower_better,
                      .value = v->value,
                      .low = v->low,
                      .high = v->high,
                      .samples = e->samples,
                      .guessed = hn_evaluation_guessed(e),
                      .values = hn_evaluation_input_values(e)};
    hn_evaluation_destroy(e);
    HN_CHECK(err, !isnan(q->value), HONE_E_ARG, "%s is not defined for this model and data",
             q->metric);
    return HONE_OK;
}

/* ---- by the original ---- */

static hone_status compare_batch(const hn_judge *j, hn_program *of, const hn_feed *feed,
                                 const hn_samples *s, hn_likeness *l, hn_tensor **out,
                                 hn_error *err) {
    int n = j->model->graph->n_outputs;
    const hn_tensor *const *in = (const hn_tensor *const *)s->in;
    const hn_tensor *const *a = (const hn_tensor *const *)out;
    HN_TRY(hn_program_run(j->original, in, out, err));
    hone_status status = hn_program_run(of, in, out + n, err);
    if (status == HONE_OK) {
        status = hn_likeness_add(l, in, a, a + n, hn_feed_rows(feed, s->n), s->n, err);
        for (int i = 0; i < n; i++) hn_tensor_unref(out[n + i]);
    }
    for (int i = 0; i < n; i++) hn_tensor_unref(out[i]);
    return status;
}

/* *samples: those that could be decoded. */
static hone_status compare_all(const hn_judge *j, hn_program *of, const hn_feed *feed,
                               hn_likeness *l, hn_tensor **out, int64_t *samples, hn_error *err) {
    int64_t total = hn_dataset_count(hn_feed_dataset(feed)), step = hn_feed_batch(feed);
    for (int64_t first = 0; first < total; first += step) {
        hn_samples s;
        int64_t n = total - first < step ? total - first : step;
        HN_TRY(hn_feed_read(feed, NULL, first, n, &s, err));
        hone_status status = s.n > 0 ? compare_batch(j, of, feed, &s, l, out, err) : HONE_OK;
        *samples += s.n;
        hn_samples_deinit(&s);
        HN_TRY(status);
        HN_CHECK(err, j->progress == NULL || j->progress(j->progress_ctx, first + n, total),
                 HONE_E_LIMIT, "stopped after %lld of %lld samples", (long long)(first + n),
                 (long long)total);
    }
    HN_CHECK(err, *samples > 0, HONE_E_FORMAT, "none of the samples can be decoded");
    return HONE_OK;
}

static hone_status by_original(const hn_judge *j, hn_program *of, hn_dataset *data, hn_quality *q,
                               hn_error *err) {
    hn_feed *feed = NULL;
    hn_likeness *l = NULL;
    int64_t samples = 0;
    size_t n = (size_t)j->model->graph->n_outputs;
    HN_CHECK(err, n > 0, HONE_E_MODEL, "the model has no output to judge it by");
    hn_tensor **out = hn_alloc_array(j->alloc, 2 * n, sizeof *out, HN_MEM_OTHER);
    hone_status status = out == NULL ? HN_NOMEM(err) : HONE_OK;
    if (status == HONE_OK) status = hn_likeness_create(&l, j->forms, j->alloc, err);
    if (status == HONE_OK)
        status = hn_feed_create(&feed, j->model->graph, data, j->batch, j->alloc, err);
    if (status == HONE_OK) status = compare_all(j, of, feed, l, out, &samples, err);
    hn_likeness_result f = {.value = NAN};
    if (status == HONE_OK) f = hn_likeness_figure(l);
    hn_likeness_destroy(l);
    hn_feed_destroy(feed);
    hn_free(j->alloc, out);
    HN_TRY(status);
    HN_CHECK(err, !isnan(f.value), HONE_E_MODEL, "no output of the model can be compared");
    *q = (hn_quality){.metric = f.measure,
                      .is_share = true,
                      .value = f.value,
                      .low = f.low,
                      .high = f.high,
                      .samples = samples,
                      .weight = f.counted};
    if (f.value < 1) hn_likeness_result_text(&f, j->forms, q->worst, sizeof q->worst);
    return HONE_OK;
}

hone_status hn_quality_measure(const hn_judge *j, hn_program *of, hn_dataset *data, hn_quality *q,
                               hn_error *err) {
    bool judged = hn_dataset_has_labels(data) || hn_dataset_n_targets(data) > 0;
    return judged || j->metric != NULL ? by_labels(j, of, data, q, err)
                                       : by_original(j, of, data, q, err);
}

double hn_quality_drop(const hn_quality *a, const hn_quality *b) {
    return a->lower_better ? b->value - a->value : a->value - b->value;
}

bool hn_quality_passes(const hn_quality *a, const hn_quality *b, double max_drop, bool chance) {
    double best = a->lower_better ? b->low : b->high;
    double margin =
        hn_gate_margin(chance ? best : b->value, a->value, max_drop, false, a->lower_better);
    return chance ? !(margin < 0) : margin >= 0; /* an interval that is not known says nothing */
}

hn_quality hn_quality_of_both(const hn_quality *a, const hn_quality *b) {
    hn_quality q = *a;
    bool counted = a->weight > 0 && b->weight > 0;
    double n = counted ? a->weight : (double)a->samples,
           m = counted ? b->weight : (double)b->samples;
    q.weight = counted ? n + m : 0;
    q.samples = a->samples + b->samples;
    q.value = (a->value * n + b->value * m) / (n + m);
    q.low = q.high = NAN;
    return q;
}

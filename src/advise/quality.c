#include "advise/quality.h"

#include <math.h>

#include "base/dtype.h"
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

typedef struct agreement {
    int64_t same, rows; /* samples whose highest score is at the same place, of those with scores */
    hn_ratio cosine;    /* of the first output, by sample */
} agreement;

static int64_t highest(const hn_tensor *t, int64_t from, int64_t n) {
    int64_t best = 0;
    double most = -INFINITY;
    for (int64_t i = 0; i < n; i++) {
        double x = hn_load_f64(t->dtype, t->data, from + i);
        if (!(x > most)) continue;
        best = i;
        most = x;
    }
    return best;
}

static double cosine(const hn_tensor *a, const hn_tensor *b, int64_t from, int64_t n) {
    double aa = 0, bb = 0, ab = 0;
    for (int64_t i = from; i < from + n; i++) {
        double x = hn_load_f64(a->dtype, a->data, i), y = hn_load_f64(b->dtype, b->data, i);
        aa += x * x;
        bb += y * y;
        ab += x * y;
    }
    double length = sqrt(aa) * sqrt(bb);
    if (aa == 0 && bb == 0) return 1;
    return length > 0 && isfinite(length) ? ab / length : 0;
}

static hone_status compare(agreement *g, const hn_tensor *a, const hn_tensor *b, int64_t rows,
                           int64_t samples, hn_error *err) {
    HN_CHECK(err, a->n == b->n && a->dtype != HONE_DTYPE_STRING, HONE_E_SHAPE,
             "the first output cannot be compared with the original's: %lld and %lld elements",
             (long long)b->n, (long long)a->n);
    bool by_row = a->rank > 0 && a->dims[0] == rows;
    int64_t n = by_row ? a->n / rows : a->n;
    for (int64_t i = 0; n > 0 && i < (by_row ? samples : 1); i++) {
        hn_ratio_add(&g->cosine, cosine(a, b, i * n, n), 1);
        if (!by_row || a->rank != 2 || n < 2 || !hn_dtype_is_float(a->dtype)) continue;
        g->same += highest(a, i * n, n) == highest(b, i * n, n);
        g->rows++;
    }
    return HONE_OK;
}

static hone_status compare_batch(const hn_judge *j, hn_program *of, const hn_feed *feed,
                                 const hn_samples *s, agreement *g, hn_tensor **out,
                                 hn_error *err) {
    int n = j->model->graph->n_outputs;
    const hn_tensor *const *in = (const hn_tensor *const *)s->in;
    HN_TRY(hn_program_run(j->original, in, out, err));
    hone_status status = hn_program_run(of, in, out + n, err);
    if (status == HONE_OK) {
        status = compare(g, out[0], out[n], hn_feed_rows(feed, s->n), s->n, err);
        for (int i = 0; i < n; i++) hn_tensor_unref(out[n + i]);
    }
    for (int i = 0; i < n; i++) hn_tensor_unref(out[i]);
    return status;
}

static hone_status compare_all(const hn_judge *j, hn_program *of, const hn_feed *feed, agreement *g,
                               hn_tensor **out, hn_error *err) {
    int64_t total = hn_dataset_count(hn_feed_dataset(feed)), step = hn_feed_batch(feed);
    for (int64_t first = 0; first < total; first += step) {
        hn_samples s;
        int64_t n = total - first < step ? total - first : step;
        HN_TRY(hn_feed_read(feed, NULL, first, n, &s, err));
        hone_status status = s.n > 0 ? compare_batch(j, of, feed, &s, g, out, err) : HONE_OK;
        hn_samples_deinit(&s);
        HN_TRY(status);
        HN_CHECK(err, j->progress == NULL || j->progress(j->progress_ctx, first + n, total),
                 HONE_E_LIMIT, "stopped after %lld of %lld samples", (long long)(first + n),
                 (long long)total);
    }
    return HONE_OK;
}

static hone_status by_original(const hn_judge *j, hn_program *of, hn_dataset *data, hn_quality *q,
                               hn_error *err) {
    hn_feed *feed = NULL;
    agreement g = {0};
    size_t n = (size_t)j->model->graph->n_outputs;
    HN_CHECK(err, n > 0, HONE_E_MODEL, "the model has no output to judge it by");
    hn_tensor **out = hn_alloc_array(j->alloc, 2 * n, sizeof *out, HN_MEM_OTHER);
    hone_status status = out == NULL ? HN_NOMEM(err) : HONE_OK;
    if (status == HONE_OK)
        status = hn_feed_create(&feed, j->model->graph, data, j->batch, j->alloc, err);
    if (status == HONE_OK) status = compare_all(j, of, feed, &g, out, err);
    hn_feed_destroy(feed);
    hn_free(j->alloc, out);
    HN_TRY(status);
    HN_CHECK(err, g.cosine.n > 0, HONE_E_FORMAT, "none of the samples can be decoded");
    bool scores = g.rows > 0 && !j->made_up;
    hn_interval range = scores ? hn_interval_share(g.same, g.rows) : hn_ratio_interval(&g.cosine);
    *q = (hn_quality){.metric = scores ? "agreement" : "cosine",
                      .is_share = true,
                      .value = scores ? (double)g.same / (double)g.rows : hn_ratio_value(&g.cosine),
                      .low = range.low,
                      .high = range.high,
                      .samples = g.cosine.n};
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

hn_quality hn_quality_of_both(const hn_quality *a, const hn_quality *b) {
    hn_quality q = *a;
    double n = (double)a->samples, m = (double)b->samples;
    q.samples = a->samples + b->samples;
    q.value = (a->value * n + b->value * m) / (n + m);
    q.low = q.high = NAN;
    return q;
}

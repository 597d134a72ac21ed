#include "measure/accuracy.h"

#include <math.h>

#include "base/clock.h"
#include "measure/feed.h"

/* Fewer classes than this make a top-5 that says nothing. */
#define LEAST_TOP5 6

typedef struct task {
    const hn_graph *graph;
    hn_dataset *ds;
    hn_allocator *alloc;
    hn_accuracy_run *run;
    void *ctx;
    hn_feed *feed;
    hn_tensor **in, **out; /* one array: inputs, then outputs */
} task;

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

static hone_status score_rows(const task *k, const hn_tensor *t, int64_t classes, int64_t first,
                              int64_t n, double *scores, int64_t *labels, hone_eval_result *r,
                              hn_error *err) {
    HN_TRY(hn_dataset_labels(k->ds, first, n, labels, err));
    for (int64_t i = 0; i < n; i++) {
        HN_CHECK(err, labels[i] >= 0 && labels[i] < classes, HONE_E_ARG,
                 "sample %lld has label %lld, but output '%s' has %lld classes",
                 (long long)(first + i), (long long)labels[i], k->graph->outputs[0].value->name,
                 (long long)classes);
        hn_load_f64_n(t->dtype, t->data, i * classes, classes, scores);
        int64_t place = place_of(scores, classes, labels[i]);
        r->top1 += place < 1;
        r->top5 += place < 5;
    }
    r->samples += n;
    r->classes = classes;
    return HONE_OK;
}

static hone_status score(const task *k, int64_t first, int64_t n, hone_eval_result *r,
                         hn_error *err) {
    const hn_tensor *t = k->out[0];
    const char *name = k->graph->outputs[0].value->name;
    char text[300];
    HN_CHECK(err, hone_dtype_bits(t->dtype) > 0 && !hn_dtype_in(t->dtype, HN_DTYPES_COMPLEX),
             HONE_E_TYPE, "output '%s' is of type %s, which has no order", name,
             hone_dtype_name(t->dtype));
    int64_t rows = hn_feed_rows(k->feed, n);
    HN_CHECK(err, rows == 1 || (t->rank > 0 && t->dims[0] == rows), HONE_E_SHAPE,
             "output '%s' is %s, expected %lld along its first axis", name,
             hn_tensor_text(t, text, sizeof text), (long long)rows);
    int64_t classes = t->n / rows;
    double *scores = hn_alloc_array(k->alloc, (size_t)classes, sizeof *scores, HN_MEM_SCRATCH);
    int64_t *labels = hn_alloc_array(k->alloc, (size_t)n, sizeof *labels, HN_MEM_SCRATCH);
    hone_status status = scores == NULL || labels == NULL
                             ? HN_NOMEM(err)
                             : score_rows(k, t, classes, first, n, scores, labels, r, err);
    hn_free(k->alloc, scores);
    hn_free(k->alloc, labels);
    return status;
}

static hone_status do_batch(const task *k, int64_t first, int64_t n, hone_eval_result *r,
                            hn_error *err) {
    const hn_graph *g = k->graph;
    HN_TRY(hn_feed_load(k->feed, first, n, k->in, err));
    hone_status status = k->run(k->ctx, (const hn_tensor *const *)k->in, k->out, err);
    for (int i = 0; i < g->n_inputs; i++) hn_tensor_unref(k->in[i]);
    if (status != HONE_OK) return status;
    status = score(k, first, n, r, err);
    for (int i = 0; i < g->n_outputs; i++) hn_tensor_unref(k->out[i]);
    return status;
}

static hone_status do_all(const task *k, const hone_eval_options *o, hone_eval_result *r,
                          hn_error *err) {
    int64_t total = hn_dataset_count(k->ds), batch = hn_feed_batch(k->feed);
    while (r->samples < total) {
        int64_t n = total - r->samples < batch ? total - r->samples : batch;
        HN_TRY(do_batch(k, r->samples, n, r, err));
        HN_CHECK(err, o->progress == NULL || o->progress(o->progress_ctx, r->samples, total),
                 HONE_E_LIMIT, "stopped after %lld of %lld samples", (long long)r->samples,
                 (long long)total);
    }
    return HONE_OK;
}

hone_status hn_accuracy_top(const hn_graph *g, hn_accuracy_run *run, void *ctx, hn_dataset *ds,
                            const hone_eval_options *o, hn_allocator *alloc,
                            hone_eval_result *result, hn_error *err) {
    HN_CHECK(err, g->n_outputs >= 1, HONE_E_MODEL, "the model has no output to score");
    HN_CHECK(err, hn_dataset_has_labels(ds), HONE_E_ARG, "the dataset has no labels to score by");
    task k = {.graph = g, .ds = ds, .alloc = alloc, .run = run, .ctx = ctx};
    int64_t begun = hn_clock_ns();
    HN_TRY(hn_feed_create(&k.feed, g, ds, o->batch, alloc, err));
    hone_eval_result r = {.size = sizeof r};
    size_t slots = (size_t)g->n_inputs + (size_t)g->n_outputs;
    k.in = hn_alloc_array(alloc, slots, sizeof *k.in, HN_MEM_OTHER);
    hone_status status = HONE_OK;
    if (k.in == NULL) {
        status = HN_NOMEM(err);
    } else {
        k.out = k.in + g->n_inputs;
        status = do_all(&k, o, &r, err);
    }
    hn_free(alloc, k.in);
    hn_feed_destroy(k.feed);
    if (status != HONE_OK) return status;
    if (r.classes < LEAST_TOP5) r.top5 = -1;
    r.seconds = (double)(hn_clock_ns() - begun) * 1e-9;
    *result = r;
    return HONE_OK;
}

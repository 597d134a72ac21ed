#include "measure/accuracy.h"

#include <math.h>
#include <stdio.h>

#include "base/clock.h"

#define MOST_INPUTS 64
#define DEFAULT_BATCH 16

/* How one input of the model is fed. */
typedef struct feed {
    int field; /* of the dataset; -1: the input has an initializer and none is given */
    int rank;  /* of one sample */
    int64_t dims[HONE_MAX_RANK];
    bool batched; /* the model's first axis is the batch; else the input is one sample */
    int sequence; /* a one-axis sample of symbolic length: cut at the batch's longest */
} feed;

typedef struct task {
    const hn_graph *graph;
    hn_dataset *ds;
    hn_allocator *alloc;
    feed feeds[MOST_INPUTS];
    int64_t batch; /* samples a run takes at most */
    int mask;      /* field whose trailing zeros say how long a sequence is; -1: none */
} task;

/* Fits the samples of a field to an input: [batch, sample...], or the sample itself. */
static hone_status fit(task *k, int i, hn_error *err) {
    const hn_value *v = k->graph->inputs[i];
    const hn_shape *s = &v->type.shape;
    feed *f = &k->feeds[i];
    const hn_dataset_field *field = hn_dataset_field_at(k->ds, f->field);
    HN_CHECK(err, s->rank >= 0, HONE_E_SHAPE, "input '%s': its rank is not known", v->name);
    HN_CHECK(err, s->rank >= 1, HONE_E_SHAPE, "input '%s' is a scalar and takes no sample",
             v->name);
    int64_t first, known = 1, sample = 1;
    int open = 0;
    bool fixed_batch = hn_dim_is_const(s->dim[0], &first);
    f->batched = true;
    f->rank = s->rank - 1;
    for (int d = 0; d < f->rank; d++) {
        if (!hn_dim_is_const(s->dim[d + 1], &f->dims[d])) {
            f->dims[d] = -1;
            open++;
        } else {
            known *= f->dims[d];
        }
    }
    for (int d = 0; d < field->rank; d++) sample *= field->dims[d];
    if (fixed_batch && first != 1 && field->rank >= 0 && open == 0 && known != sample &&
        known * first == sample) { /* no batch axis at all: [28, 28] for a sample of 28 x 28 */
        f->batched = false;
        f->rank = s->rank;
        for (int d = 0; d < f->rank; d++)
            HN_CHECK(err, hn_dim_is_const(s->dim[d], &f->dims[d]), HONE_E_SHAPE,
                     "input '%s': axis %d is symbolic", v->name, d);
        k->batch = 1;
        return HONE_OK;
    }
    if (fixed_batch && (k->batch == 0 || first < k->batch)) k->batch = first;
    if (open == 0) return HONE_OK; /* hn_dataset_fill says when the count does not fit */
    /* Symbolic axes take the sample's own sizes. */
    HN_CHECK(err, field->rank == f->rank, HONE_E_SHAPE,
             "input '%s' wants %d axes a sample, of which %d are symbolic; the samples have %d",
             v->name, f->rank, open, field->rank);
    f->sequence = f->rank == 1;
    for (int d = 0; d < f->rank; d++)
        if (f->dims[d] < 0) f->dims[d] = field->dims[d];
    return HONE_OK;
}

static hone_status prepare(task *k, const hone_eval_options *o, hn_error *err) {
    const hn_graph *g = k->graph;
    HN_CHECK(err, g->n_inputs <= MOST_INPUTS, HONE_E_LIMIT,
             "the model has %d inputs, at most %d are fed", g->n_inputs, MOST_INPUTS);
    HN_CHECK(err, g->n_outputs >= 1, HONE_E_MODEL, "the model has no output");
    HN_CHECK(err, hn_dataset_has_labels(k->ds), HONE_E_ARG,
             "the dataset has no labels to score against");
    k->batch = o->batch;
    k->mask = -1;
    int n_fed = 0;
    for (int i = 0; i < g->n_inputs; i++) n_fed += g->inputs[i]->constant == NULL;
    for (int i = 0, at = 0; i < g->n_inputs; i++) {
        feed *f = &k->feeds[i];
        f->field = -1;
        if (g->inputs[i]->constant != NULL) continue;
        HN_TRY(hn_dataset_find(k->ds, g->inputs[i]->name, at++, n_fed, &f->field, err));
        HN_TRY(fit(k, i, err));
        if (f->sequence && strstr(g->inputs[i]->name, "mask") != NULL) k->mask = f->field;
    }
    for (int i = 0; i < g->n_inputs && k->mask < 0; i++)
        if (k->feeds[i].sequence) k->mask = k->feeds[i].field;
    if (k->batch == 0) k->batch = DEFAULT_BATCH;
    HN_CHECK(err, k->batch > 0, HONE_E_ARG, "the batch is %lld", (long long)k->batch);
    return HONE_OK;
}

/* Samples [first, first + n) as the model's inputs. A fixed batch larger than n is filled up with
 * zeros, whose answers nobody reads. */
static hone_status load(task *k, int64_t first, int64_t n, hn_tensor **in, hn_error *err) {
    int64_t cut = 0;
    if (k->mask >= 0) HN_TRY(hn_dataset_longest(k->ds, k->mask, first, n, &cut, err));
    for (int i = 0; i < k->graph->n_inputs; i++) {
        const feed *f = &k->feeds[i];
        if (f->field < 0) continue;
        const hn_value *v = k->graph->inputs[i];
        int64_t dims[HONE_MAX_RANK], fixed;
        int rank = 0;
        if (f->batched) dims[rank++] = hn_dim_is_const(v->type.shape.dim[0], &fixed) ? fixed : n;
        for (int d = 0; d < f->rank; d++) dims[rank++] = f->sequence && cut > 0 ? cut : f->dims[d];
        HN_TRY(hn_tensor_create(&in[i], k->alloc, HN_MEM_DATA, v->type.dtype, rank, dims, err));
        memset(in[i]->data, 0, in[i]->bytes);
        hn_dataset_want want = {.dtype = v->type.dtype,
                                .rank = f->rank,
                                .dims = dims + (f->batched ? 1 : 0),
                                .cut = f->sequence ? cut : 0};
        HN_TRY(hn_dataset_fill(k->ds, f->field, first, n, &want, in[i]->data, err));
    }
    return HONE_OK;
}

/* Classes with a better score than the label's, counted; NaN is worse than anything. */
static int64_t rank_of_label(const double *score, int64_t classes, int64_t label) {
    int64_t better = 0;
    for (int64_t c = 0; c < classes; c++) {
        if (c == label || isnan(score[c])) continue;
        if (isnan(score[label]) || score[c] > score[label] ||
            (score[c] == score[label] && c < label))
            better++;
    }
    return better;
}

static hone_status score(task *k, const hn_tensor *out, int64_t first, int64_t n,
                         hone_eval_result *r, hn_error *err) {
    const char *name = k->graph->outputs[0].value->name;
    int64_t rows = out->rank > 0 ? out->dims[0] : 1;
    if (rows < n || rows == 0 || out->n % rows != 0) rows = 1;
    int64_t classes = out->n / rows;
    HN_CHECK(err, rows >= n && classes >= 1, HONE_E_SHAPE,
             "output '%s' has %lld elements for %lld samples", name, (long long)out->n,
             (long long)n);
    double *scores = hn_alloc_array(k->alloc, (size_t)classes, sizeof *scores, HN_MEM_SCRATCH);
    int64_t *labels = hn_alloc_array(k->alloc, (size_t)n, sizeof *labels, HN_MEM_SCRATCH);
    hone_status status = HONE_OK;
    if (scores == NULL || labels == NULL) {
        status = HN_NOMEM(err);
        goto fail;
    }
    HN_TRY_GOTO(hn_dataset_labels(k->ds, first, n, labels, err));
    for (int64_t i = 0; i < n; i++) {
        HN_CHECK_GOTO(err, labels[i] >= 0 && labels[i] < classes, HONE_E_ARG,
                      "sample %lld has label %lld, but output '%s' has %lld classes",
                      (long long)(first + i), (long long)labels[i], name, (long long)classes);
        hn_load_f64_n(out->dtype, out->data, i * classes, classes, scores);
        int64_t better = rank_of_label(scores, classes, labels[i]);
        r->top1 += better == 0;
        r->top5 += better < 5;
    }
    r->classes = classes;
fail:
    hn_free(k->alloc, scores);
    hn_free(k->alloc, labels);
    return status;
}

hone_status hn_accuracy_top(const hn_model *m, hn_accuracy_run *run, void *ctx, hn_dataset *ds,
                            const hone_eval_options *o, hn_allocator *alloc,
                            hone_eval_result *result, hn_error *err) {
    task k = {.graph = m->graph, .ds = ds, .alloc = alloc};
    hone_eval_result r = {.size = sizeof r};
    HN_TRY(prepare(&k, o, err));
    int64_t total = hn_dataset_count(ds), begun = hn_clock_ns();
    hn_tensor *in[MOST_INPUTS] = {0};
    hn_tensor **out = hn_alloc_array(alloc, (size_t)m->graph->n_outputs, sizeof *out, HN_MEM_OTHER);
    if (out == NULL) return HN_NOMEM(err);
    memset(out, 0, (size_t)m->graph->n_outputs * sizeof *out);
    hone_status status = HONE_OK;
    for (int64_t first = 0; first < total && status == HONE_OK; first += k.batch) {
        int64_t n = total - first < k.batch ? total - first : k.batch;
        status = load(&k, first, n, in, err);
        if (status == HONE_OK) status = run(ctx, (const hn_tensor *const *)in, out, err);
        if (status == HONE_OK) status = score(&k, out[0], first, n, &r, err);
        r.samples += n;
        for (int i = 0; i < m->graph->n_inputs; i++) {
            hn_tensor_unref(in[i]);
            in[i] = NULL;
        }
        for (int i = 0; i < m->graph->n_outputs; i++) {
            hn_tensor_unref(out[i]);
            out[i] = NULL;
        }
        if (status == HONE_OK && o->progress != NULL &&
            !o->progress(o->progress_ctx, r.samples, total))
            status = HN_FAIL(err, HONE_E_LIMIT, "stopped after %lld of %lld samples",
                             (long long)r.samples, (long long)total);
    }
    hn_free(alloc, out);
    if (status != HONE_OK) return status;
    if (r.classes < 6) r.top5 = -1;
    r.seconds = (double)(hn_clock_ns() - begun) * 1e-9;
    *result = r;
    return HONE_OK;
}

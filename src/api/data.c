/* Datasets. */
#include <string.h>

#include "api/api.h"
#include "base/cpu.h"
#include "base/log.h"
#include "base/size.h"
#include "base/span.h"
#include "measure/feed.h"
#include "measure/loader.h"
#include "measure/look.h"

hone_status hone_dataset_open(hone_dataset **out, const char *spec, hone_error *err) {
    hone_dataset *d = hn_alloc_zero(hn_allocator_default(), sizeof *d, HN_MEM_DATA);
    if (d == NULL) return HN_NOMEM(err);
    hn_allocator_init(&d->alloc);
    d->alloc.limit = hn_cpu_memory();
    hone_status status = hn_dataset_open(&d->data, spec, &d->alloc, err);
    if (status != HONE_OK)
        hn_free(hn_allocator_default(), d);
    else
        *out = d;
    return status;
}

hone_status hone_dataset_moved(char **text, const char *spec,
                               const char *(*place)(void *ctx, const char *path), void *ctx,
                               hone_error *err) {
    return hn_dataset_moved(text, spec, place, ctx, hn_allocator_default(), err);
}

void hone_dataset_destroy(hone_dataset *d) {
    if (d == NULL) return;
    hn_dataset_close(d->data);
    hn_free(hn_allocator_default(), d);
}

int64_t hone_dataset_count(const hone_dataset *d) { return hn_dataset_count(d->data); }
bool hone_dataset_has_labels(const hone_dataset *d) { return hn_dataset_has_labels(d->data); }

static hone_status check_range(const hone_dataset *d, int64_t first, int64_t n, hn_error *err) {
    int64_t count = hn_dataset_count(d->data);
    HN_CHECK(err, first >= 0 && n > 0 && first <= count && n <= count - first, HONE_E_ARG,
             "%lld samples from %lld on were asked for, the dataset has %lld", (long long)n,
             (long long)first, (long long)count);
    return HONE_OK;
}

static hone_status hand_over(const hn_tensor *t, const char *name, hone_value *v, hn_error *err) {
    int64_t begun = hn_span_begin();
    HN_TRY(hn_api_own(v, t->bytes, name, err));
    if (t->bytes > 0) memcpy(v->data, t->data, t->bytes);
    hn_span_end("data", "copy", begun, -1);
    v->dtype = t->dtype;
    v->rank = t->rank;
    memcpy(v->dims, t->dims, sizeof v->dims);
    return HONE_OK;
}

/* Once for a dataset: what a model does with such a sample is seldom what is to be measured. */
static void warn_not_finite(hone_dataset *d, const hone_value *v, int64_t first, int64_t n,
                            int64_t rows) {
    for (int64_t k = 0; k < n && !d->warned; k++) {
        d->warned = !hn_look_finite(v, k, rows);
        if (d->warned)
            hn_log(HONE_LOG_WARN, "dataset: sample %lld holds a value that is not finite",
                   (long long)(first + k));
    }
}

/* in[] has room for every input of the graph, got[] for those that have no initializer. */
static hone_status read(hone_dataset *d, const hn_graph *g, int64_t first, int64_t n,
                        hn_tensor **in, hone_value *got, hn_error *err) {
    hn_feed *feed;
    HN_TRY(hn_feed_create(&feed, g, d->data, n, &d->alloc, err));
    int64_t batch = hn_feed_batch(feed);
    hone_status status =
        n <= batch ? hn_feed_load(feed, first, n, in, err)
                   : HN_FAIL(err, HONE_E_ARG, "the model takes %lld samples at once, not %lld",
                             (long long)batch, (long long)n);
    int64_t rows = hn_feed_rows(feed, n);
    hn_feed_destroy(feed);
    HN_TRY(status);
    for (int i = 0; i < g->n_inputs; i++) {
        if (in[i] == NULL) continue;
        if (status == HONE_OK) status = hand_over(in[i], g->inputs[i]->name, got, err);
        if (status == HONE_OK) warn_not_finite(d, got++, first, n, rows);
        hn_tensor_unref(in[i]);
    }
    return status;
}

hone_status hone_dataset_read_sized(hone_dataset *d, const hone_model *model, int64_t first,
                                    int64_t n, hone_value *out, const hone_layout *caller,
                                    hone_error *err) {
    const hn_graph *g = model->ir->graph;
    hn_allocator *alloc = hn_allocator_default();
    HN_TRY(check_range(d, first, n, err));
    size_t bytes = model->n_inputs * sizeof(hone_value);
    hn_tensor **in = hn_alloc_array(alloc, (size_t)g->n_inputs, sizeof *in, HN_MEM_OTHER);
    hone_value *got = hn_alloc_zero(alloc, bytes, HN_MEM_OTHER);
    hone_status status =
        in == NULL || got == NULL ? HN_NOMEM(err) : read(d, g, first, n, in, got, err);
    if (status == HONE_OK)
        HN_GIVE_ARRAY(out, got, model->n_inputs, caller, value);
    else if (got != NULL)
        hone_value_release(got, model->n_inputs);
    hn_free(alloc, in);
    hn_free(alloc, got);
    return status;
}

hone_status hone_dataset_labels(hone_dataset *d, int64_t first, int64_t n, int64_t *labels,
                                hone_error *err) {
    HN_CHECK(err, hn_dataset_has_labels(d->data), HONE_E_NOT_FOUND, "the dataset has no labels");
    HN_TRY(check_range(d, first, n, err));
    return hn_dataset_labels(d->data, first, n, labels, err);
}

size_t hone_dataset_n_targets(const hone_dataset *d) {
    return (size_t)hn_dataset_n_targets(d->data);
}

hone_status hone_dataset_targets_sized(hone_dataset *d, size_t i, int64_t first, int64_t n,
                                       hone_value *out, const hone_layout *caller,
                                       hone_error *err) {
    HN_CHECK(err, i < hone_dataset_n_targets(d), HONE_E_NOT_FOUND,
             "target %zu was asked for, the dataset has %zu", i, hone_dataset_n_targets(d));
    HN_TRY(check_range(d, first, n, err));
    const hn_dataset_field *field = hn_dataset_target_at(d->data, (int)i);
    HN_CHECK(err, field->rank < HONE_MAX_RANK, HONE_E_SHAPE, "target '%s' has %d axes; at most %d",
             field->name, field->rank, HONE_MAX_RANK - 1);
    hone_value v = {.dtype = field->dtype, .rank = field->rank + 1};
    v.dims[0] = n;
    memcpy(v.dims + 1, field->dims, (size_t)field->rank * sizeof *v.dims);
    int64_t count;
    size_t bytes;
    HN_CHECK(err,
             hn_dims_count(v.dims, v.rank, &count) &&
                 hn_packed_bytes(count, hone_dtype_bits(field->dtype), &bytes),
             HONE_E_LIMIT, "%lld samples of target '%s' are more than memory could hold",
             (long long)n, field->name);
    HN_TRY(hn_api_own(&v, bytes, field->name, err));
    hone_status status = hn_dataset_targets(d->data, (int)i, first, n, v.data, err);
    if (status != HONE_OK)
        hone_value_release(&v, 1);
    else
        HN_GIVE(out, &v, caller, value);
    return status;
}

int64_t hone_dataset_skipped(const hone_dataset *d, size_t n_names, const char **names) {
    return hn_dataset_skipped(d->data, n_names, names);
}

/* ---- loader ---- */

struct hone_loader {
    hn_allocator *alloc;
    hone_model *model;
    const hone_dataset *dataset;
    hn_feed *feed;
    hn_loader *loader;
    hn_samples samples; /* what `batch` points to */
    hone_value *values; /* of inputs, then targets */
    hone_batch batch;
    hone_batch *shown; /* the same as its user's hone.h has it; NULL: none yet */
    hone_layout caller;
};

HN_DEFINE_OPTIONS(loader, .threads = 1)

static hone_status open_loader(hone_loader *l, hone_dataset *d, const hone_loader_options *o,
                               hn_error *err) {
    hn_loader_options own = {.threads = o->threads == -1 ? hn_cpu_threads() : o->threads,
                             .ahead = o->ahead,
                             .shuffle = o->shuffle,
                             .seed = o->seed};
    size_t values = l->model->n_inputs + hone_dataset_n_targets(d);
    l->values = hn_alloc_array(l->alloc, values, sizeof *l->values, HN_MEM_DATA);
    if (l->values == NULL) return HN_NOMEM(err);
    HN_TRY(hn_feed_create(&l->feed, l->model->ir->graph, d->data, o->batch, l->alloc, err));
    return hn_loader_create(&l->loader, l->feed, &own, l->alloc, err);
}

hone_status hone_loader_create_sized(hone_loader **out, hone_dataset *d, hone_model *model,
                                     const hone_loader_options *options, const hone_layout *caller,
                                     hone_error *err) {
    hone_loader_options o;
    HN_TRY(HN_TAKE_OPTIONS(loader, &o, options, err));
    hone_loader *l = hn_alloc_zero(&d->alloc, sizeof *l, HN_MEM_DATA);
    if (l == NULL) return HN_NOMEM(err);
    l->alloc = &d->alloc;
    l->dataset = d;
    l->model = model;
    if (caller != NULL) hn_give(&l->caller, sizeof l->caller, caller, caller->size);
    atomic_fetch_add(&model->refs, 1);
    hone_status status = open_loader(l, d, &o, err);
    if (status != HONE_OK)
        hone_loader_destroy(l);
    else
        *out = l;
    return status;
}

/* Ends the life of the batch that was given last. */
static void hide_batch(hone_loader *l) {
    if (l->shown != NULL) hn_shown_free(l->shown, &l->batch);
    l->shown = NULL;
    hn_samples_deinit(&l->samples);
}

void hone_loader_destroy(hone_loader *l) {
    if (l == NULL) return;
    hn_loader_destroy(l->loader);
    hide_batch(l);
    hn_feed_destroy(l->feed);
    hn_api_model_unref(l->model);
    hn_free(l->alloc, l->values);
    hn_free(l->alloc, l);
}

static hone_value show(const hn_tensor *t, const char *name) {
    hone_value v = {
        .name = name, .dtype = t->dtype, .rank = t->rank, .data = t->data, .bytes = t->bytes};
    memcpy(v.dims, t->dims, sizeof v.dims);
    return v;
}

hone_status hone_loader_next(hone_loader *l, const hone_batch **out, hone_error *err) {
    static const hn_list lists[] = {HN_LIST(batch, in, n_in, value),
                                    HN_LIST(batch, targets, n_targets, value)};
    hide_batch(l);
    HN_TRY(hn_loader_next(l->loader, &l->samples, err));
    const hn_samples *s = &l->samples;
    hone_value *v = l->values;
    for (int i = 0; i < s->n_in; i++)
        if (s->in[i] != NULL) *v++ = show(s->in[i], l->model->ir->graph->inputs[i]->name);
    for (int i = 0; i < s->n_targets; i++)
        *v++ = show(s->targets[i], hn_dataset_target_at(l->dataset->data, i)->name);
    l->batch = (hone_batch){.size = sizeof l->batch,
                            .n = s->n,
                            .index = s->index,
                            .labels = s->labels,
                            .n_in = l->model->n_inputs,
                            .n_targets = (size_t)s->n_targets,
                            .in = l->values,
                            .targets = l->values + l->model->n_inputs};
    l->shown = HN_SHOW(&l->batch, lists, &l->caller, batch);
    if (l->shown == NULL) return HN_NOMEM(err);
    *out = l->shown;
    return HONE_OK;
}

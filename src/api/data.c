/* Datasets. */
#include <string.h>

#include "api/api.h"
#include "base/cpu.h"
#include "base/size.h"
#include "measure/feed.h"

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
    HN_TRY(hn_api_own(v, t->bytes, name, err));
    if (t->bytes > 0) memcpy(v->data, t->data, t->bytes);
    v->dtype = t->dtype;
    v->rank = t->rank;
    memcpy(v->dims, t->dims, sizeof v->dims);
    return HONE_OK;
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
    hn_feed_destroy(feed);
    HN_TRY(status);
    for (int i = 0; i < g->n_inputs; i++) {
        if (in[i] == NULL) continue;
        if (status == HONE_OK) status = hand_over(in[i], g->inputs[i]->name, got++, err);
        hn_tensor_unref(in[i]);
    }
    return status;
}

hone_status hone_dataset_read(hone_dataset *d, const hone_model *model, int64_t first, int64_t n,
                              hone_value *out, hone_error *err) {
    const hn_graph *g = model->ir->graph;
    hn_allocator *alloc = hn_allocator_default();
    HN_TRY(check_range(d, first, n, err));
    size_t bytes = model->n_inputs * sizeof(hone_value);
    hn_tensor **in = hn_alloc_array(alloc, (size_t)g->n_inputs, sizeof *in, HN_MEM_OTHER);
    hone_value *got = hn_alloc_zero(alloc, bytes, HN_MEM_OTHER);
    hone_status status =
        in == NULL || got == NULL ? HN_NOMEM(err) : read(d, g, first, n, in, got, err);
    if (status == HONE_OK)
        memcpy(out, got, bytes);
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

hone_status hone_dataset_targets(hone_dataset *d, size_t i, int64_t first, int64_t n,
                                 hone_value *out, hone_error *err) {
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
        *out = v;
    return status;
}

int64_t hone_dataset_skipped(const hone_dataset *d, size_t n_names, const char **names) {
    return hn_dataset_skipped(d->data, n_names, names);
}

#include "measure/feed.h"

#include "base/size.h"

#define DEFAULT_BATCH 16

typedef struct slot {
    int field;     /* of the dataset; -1: the input has an initializer */
    int64_t fixed; /* size of the batch axis; -1: symbolic, -2: there is no such axis */
    bool once;     /* all samples have the same, which is the whole input */
    int rank;      /* of one sample */
    int64_t dims[HONE_MAX_RANK];
    hn_dim length; /* the symbolic axis of a sequence, else NULL */
    bool cut;
} slot;

#define NO_BATCH_AXIS (-2)

struct hn_feed {
    const hn_graph *graph;
    hn_dataset *ds;
    hn_allocator *alloc;
    int64_t batch;
    int mask; /* field whose trailing zeros say how long a sequence is; -1: none */
    slot slots[];
};

/* Symbolic axes take the sample's own sizes. */
static hone_status adopt_dims(slot *s, const hn_value *v, const hn_dataset_field *field,
                              hn_error *err) {
    int free_axis = 0;
    while (free_axis + 1 < s->rank && s->dims[free_axis] >= 0) free_axis++;
    HN_CHECK(err, field->rank >= 0, HONE_E_SHAPE,
             "axis %d of input '%s' is symbolic, and the samples have no size of their own: take "
             "others, or fix it with hone simplify --set-dim %s:%d=N",
             free_axis + 1, v->name, v->name, free_axis + 1);
    HN_CHECK(err, field->rank == s->rank, HONE_E_SHAPE,
             "input '%s' wants samples of %d axes, some symbolic; the dataset's have %d", v->name,
             s->rank, field->rank);
    if (s->rank == 1) s->length = v->type.shape.dim[1];
    for (int d = 0; d < s->rank; d++)
        if (s->dims[d] < 0) s->dims[d] = field->dims[d];
    return HONE_OK;
}

/* An array that all samples have in common is the input as it stands. */
static hone_status fit_once(const hn_value *v, const hn_dataset_field *field, slot *s,
                            hn_error *err) {
    const hn_shape *shape = &v->type.shape;
    int64_t dims[HONE_MAX_RANK], all, given;
    char text[256];
    bool same = shape->rank >= 0 && hn_shape_is_const(shape, dims) &&
                hn_dims_count(dims, shape->rank, &all) &&
                hn_dims_count(field->dims, field->rank, &given) && all == given;
    HN_CHECK(err, same, HONE_E_SHAPE,
             "the array of input '%s' has another number of samples than the dataset, and is not "
             "one value for all of them: the input is %s",
             v->name, hn_shape_text(shape, text, sizeof text));
    s->once = true;
    s->fixed = NO_BATCH_AXIS;
    s->rank = shape->rank;
    memcpy(s->dims, dims, (size_t)s->rank * sizeof *dims);
    return HONE_OK;
}

static hone_status fit(hn_feed *f, const hn_value *v, slot *s, hn_error *err) {
    const hn_shape *shape = &v->type.shape;
    const hn_dataset_field *field = hn_dataset_field_at(f->ds, s->field);
    HN_CHECK(err, v->type.kind == HN_TYPE_TENSOR && hone_dtype_bits(v->type.dtype) > 0, HONE_E_TYPE,
             "input '%s' has no type that samples can be turned into", v->name);
    if (field->once) return fit_once(v, field, s, err);
    HN_CHECK(err, shape->rank >= 1, HONE_E_SHAPE, "input '%s' %s", v->name,
             shape->rank < 0 ? "has an unknown rank" : "is a scalar and takes no sample");
    int64_t dims[HONE_MAX_RANK], one, all, sample;
    bool open = false;
    for (int d = 0; d < shape->rank; d++) {
        if (!hn_dim_is_const(shape->dim[d], &dims[d])) dims[d] = -1;
        open |= d > 0 && dims[d] < 0;
    }
    /* No batch axis at all: [28, 28] for a sample of 28 x 28. */
    bool whole = field->rank >= 0 && !open && hn_dims_count(dims + 1, shape->rank - 1, &one) &&
                 hn_dims_count(dims, shape->rank, &all) &&
                 hn_dims_count(field->dims, field->rank, &sample) && all == sample && one != sample;
    s->fixed = whole ? NO_BATCH_AXIS : dims[0];
    s->rank = shape->rank - !whole;
    memcpy(s->dims, dims + !whole, (size_t)s->rank * sizeof *dims);
    HN_CHECK(err, s->fixed != 0, HONE_E_SHAPE, "input '%s' has a batch of 0", v->name);
    int64_t most = whole ? 1 : s->fixed;
    if (most > 0 && (f->batch == 0 || most < f->batch)) f->batch = most;
    return open ? adopt_dims(s, v, field, err) : HONE_OK;
}

/* Finds the sequence that tells how long the others are. */
static void choose_mask(hn_feed *f) {
    const slot *by = NULL;
    bool named = false;
    for (int i = 0; i < f->graph->n_inputs && !named; i++) {
        const slot *s = &f->slots[i];
        if (s->length == NULL) continue;
        named = strstr(f->graph->inputs[i]->name, "mask") != NULL;
        if (by == NULL || named) by = s;
    }
    f->mask = by != NULL ? by->field : -1;
    for (int i = 0; i < f->graph->n_inputs && by != NULL; i++) {
        slot *s = &f->slots[i];
        s->cut = s->length == by->length && s->dims[0] == by->dims[0];
    }
}

static hone_status fit_all(hn_feed *f, hn_error *err) {
    const hn_graph *g = f->graph;
    int n_fed = 0, at = 0;
    for (int i = 0; i < g->n_inputs; i++) n_fed += g->inputs[i]->constant == NULL;
    for (int i = 0; i < g->n_inputs; i++) {
        slot *s = &f->slots[i];
        s->field = -1;
        if (g->inputs[i]->constant != NULL) continue;
        HN_TRY(hn_dataset_find(f->ds, g->inputs[i]->name, at++, n_fed, &s->field, err));
        HN_TRY(fit(f, g->inputs[i], s, err));
    }
    choose_mask(f);
    if (f->batch == 0) f->batch = DEFAULT_BATCH;
    return HONE_OK;
}

hone_status hn_feed_create(hn_feed **out, const hn_graph *g, hn_dataset *ds, int64_t batch,
                           hn_allocator *alloc, hn_error *err) {
    HN_CHECK(err, batch >= 0, HONE_E_ARG, "a batch of %lld", (long long)batch);
    size_t bytes = sizeof(hn_feed) + (size_t)g->n_inputs * sizeof(slot);
    hn_feed *f = hn_alloc_zero(alloc, bytes, HN_MEM_DATA);
    if (f == NULL) return HN_NOMEM(err);
    f->graph = g;
    f->ds = ds;
    f->alloc = alloc;
    f->batch = batch;
    hone_status status = fit_all(f, err);
    if (status != HONE_OK)
        hn_feed_destroy(f);
    else
        *out = f;
    return status;
}

void hn_feed_destroy(hn_feed *f) {
    if (f != NULL) hn_free(f->alloc, f);
}

hn_dataset *hn_feed_dataset(const hn_feed *f) { return f->ds; }

int64_t hn_feed_batch(const hn_feed *f) { return f->batch; }

int64_t hn_feed_rows(const hn_feed *f, int64_t n) {
    for (int i = 0; i < f->graph->n_inputs; i++)
        if (f->slots[i].field >= 0 && f->slots[i].fixed > 0) return f->slots[i].fixed;
    return n;
}

/* The tensor of input i for n samples. */
static hone_status make_input(const hn_feed *f, int i, int64_t n, int64_t cut, hn_tensor **out,
                              hn_error *err) {
    const slot *s = &f->slots[i];
    int64_t dims[HONE_MAX_RANK];
    int batch_axis = s->fixed != NO_BATCH_AXIS;
    dims[0] = s->fixed >= 0 ? s->fixed : n;
    memcpy(dims + batch_axis, s->dims, (size_t)s->rank * sizeof *dims);
    if (s->cut) dims[batch_axis] = cut;
    const hn_value *v = f->graph->inputs[i];
    size_t bytes = hone_value_bytes(v->type.dtype, s->rank + batch_axis, dims);
    HN_CHECK(err, bytes == SIZE_MAX || hn_alloc_fits(f->alloc, bytes), HONE_E_NOMEM,
             "samples for input '%s' take %zu bytes, the limit is %zu", v->name, bytes,
             f->alloc->limit);
    hn_tensor *t;
    HN_TRY(hn_tensor_create(&t, f->alloc, HN_MEM_DATA, v->type.dtype, s->rank + batch_axis, dims,
                            err));
    memset(t->data, 0, t->bytes);
    *out = t;
    return HONE_OK;
}

static hone_status make_target(const hn_feed *f, int i, int64_t n, hn_tensor **out, hn_error *err) {
    const hn_dataset_field *field = hn_dataset_target_at(f->ds, i);
    int64_t dims[HONE_MAX_RANK] = {n};
    HN_CHECK(err, field->rank < HONE_MAX_RANK, HONE_E_SHAPE, "target '%s' has %d axes; at most %d",
             field->name, field->rank, HONE_MAX_RANK - 1);
    memcpy(dims + 1, field->dims, (size_t)field->rank * sizeof *dims);
    return hn_tensor_create(out, f->alloc, HN_MEM_DATA, field->dtype, field->rank + 1, dims, err);
}

static unsigned char *row_of(const hn_tensor *t, int64_t rows, int64_t row) {
    return (unsigned char *)t->data + t->bytes / (size_t)rows * (size_t)row;
}

/* Sample `at` of the dataset becomes row s->n of the `rows` there is room for. */
static hone_status read_sample(const hn_feed *f, int64_t at, int64_t rows, hn_samples *s,
                               hn_error *err) {
    for (int i = 0; i < s->n_in; i++) {
        const slot *p = &f->slots[i];
        hn_tensor *t = s->in[i];
        if (t == NULL) continue;
        int batch_axis = p->fixed != NO_BATCH_AXIS;
        hn_dataset_want want = {.dtype = t->dtype,
                                .rank = p->rank,
                                .dims = t->dims + batch_axis,
                                .cut = p->cut ? t->dims[batch_axis] : 0};
        void *dst = p->once ? t->data : row_of(t, batch_axis ? t->dims[0] : 1, s->n);
        HN_TRY(hn_dataset_fill(f->ds, p->field, at, 1, &want, dst, err));
    }
    for (int i = 0; i < s->n_targets; i++)
        HN_TRY(hn_dataset_targets(f->ds, i, at, 1, row_of(s->targets[i], rows, s->n), err));
    if (s->labels != NULL) HN_TRY(hn_dataset_labels(f->ds, at, 1, &s->labels[s->n], err));
    s->index[s->n++] = at;
    return HONE_OK;
}

static hone_status make_room(const hn_feed *f, int64_t n, int64_t cut, hn_samples *s,
                             hn_error *err) {
    size_t tensors = (size_t)f->graph->n_inputs + (size_t)hn_dataset_n_targets(f->ds);
    s->index = hn_alloc_array(f->alloc, (size_t)n, sizeof *s->index, HN_MEM_DATA);
    s->in = hn_alloc_zero(f->alloc, tensors * sizeof(hn_tensor *), HN_MEM_DATA);
    if (s->index == NULL || s->in == NULL) return HN_NOMEM(err);
    s->n_in = f->graph->n_inputs;
    s->targets = s->in + s->n_in;
    s->n_targets = hn_dataset_n_targets(f->ds);
    if (hn_dataset_has_labels(f->ds)) {
        s->labels = hn_alloc_array(f->alloc, (size_t)n, sizeof *s->labels, HN_MEM_DATA);
        if (s->labels == NULL) return HN_NOMEM(err);
    }
    for (int i = 0; i < s->n_in; i++)
        if (f->slots[i].field >= 0) HN_TRY(make_input(f, i, n, cut, &s->in[i], err));
    for (int i = 0; i < s->n_targets; i++) HN_TRY(make_target(f, i, n, &s->targets[i], err));
    return HONE_OK;
}

/* Samples were left out: what has an axis for them gets that much shorter, a fixed batch has zeros
 * in their place. */
static void shorten(const hn_feed *f, int64_t rows, hn_samples *s) {
    for (int i = 0; i < s->n_in + s->n_targets; i++) {
        hn_tensor *t = s->in[i];
        if (t == NULL || (i < s->n_in && f->slots[i].once)) continue;
        if (i < s->n_in && f->slots[i].fixed != -1) {
            size_t used = f->slots[i].fixed > 0 ? t->bytes / (size_t)t->dims[0] * (size_t)s->n : 0;
            memset((unsigned char *)t->data + used, 0, t->bytes - used);
            continue;
        }
        t->dims[0] = s->n;
        t->n = t->n / rows * s->n;
        t->bytes = t->bytes / (size_t)rows * (size_t)s->n;
    }
}

static hone_status read_samples(const hn_feed *f, const int64_t *order, int64_t first, int64_t n,
                                hn_samples *s, hn_error *err) {
    int64_t cut = 0;
    for (int64_t i = 0; i < n && f->mask >= 0; i++) {
        int64_t at = order != NULL ? order[first + i] : first + i, length = 0;
        HN_TRY(hn_dataset_longest(f->ds, f->mask, at, 1, &length, err));
        cut = length > cut ? length : cut;
    }
    HN_TRY(make_room(f, n, cut, s, err));
    for (int64_t i = 0; i < n; i++) {
        int64_t at = order != NULL ? order[first + i] : first + i;
        if (hn_dataset_damaged(f->ds, at)) continue;
        hone_status status = read_sample(f, at, n, s, err);
        if (status != HONE_OK && !hn_dataset_damaged(f->ds, at)) return status;
    }
    if (s->n < n) shorten(f, n, s);
    return HONE_OK;
}

hone_status hn_feed_read(const hn_feed *f, const int64_t *order, int64_t first, int64_t n,
                         hn_samples *out, hn_error *err) {
    assert(n > 0 && n <= f->batch && first >= 0 && n <= hn_dataset_count(f->ds) - first);
    hn_samples s = {.alloc = f->alloc};
    hone_status status = read_samples(f, order, first, n, &s, err);
    if (status != HONE_OK)
        hn_samples_deinit(&s);
    else
        *out = s;
    return status;
}

void hn_samples_deinit(hn_samples *s) {
    for (int i = 0; i < s->n_in + s->n_targets; i++) hn_tensor_unref(s->in[i]);
    hn_tensor_unref(s->view);
    if (s->alloc != NULL) {
        hn_free(s->alloc, s->index);
        hn_free(s->alloc, s->labels);
        hn_free(s->alloc, s->in);
    }
    *s = (hn_samples){0};
}

hone_status hn_feed_load(const hn_feed *f, int64_t first, int64_t n, hn_tensor **in,
                         hn_error *err) {
    hn_samples s;
    HN_TRY(hn_feed_read(f, NULL, first, n, &s, err));
    hone_status status = HONE_OK;
    if (s.n < n)
        status =
            HN_FAIL(err, HONE_E_FORMAT, "%lld of the %lld samples from %lld on cannot be decoded",
                    (long long)(n - s.n), (long long)n, (long long)first);
    for (int i = 0; i < s.n_in && status == HONE_OK; i++) in[i] = hn_tensor_ref(s.in[i]);
    hn_samples_deinit(&s);
    return status;
}

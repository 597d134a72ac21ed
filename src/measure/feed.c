#include "measure/feed.h"

#include "base/size.h"

#define DEFAULT_BATCH 16

typedef struct slot {
    int field;     /* of the dataset; -1: the input has an initializer */
    int64_t fixed; /* size of the batch axis; -1: symbolic, -2: there is no such axis */
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
    HN_CHECK(err, field->rank >= 0, HONE_E_SHAPE,
             "input '%s' has a symbolic axis, and the samples have no size of their own", v->name);
    HN_CHECK(err, field->rank == s->rank, HONE_E_SHAPE,
             "input '%s' wants samples of %d axes, some symbolic; the dataset's have %d", v->name,
             s->rank, field->rank);
    if (s->rank == 1) s->length = v->type.shape.dim[1];
    for (int d = 0; d < s->rank; d++)
        if (s->dims[d] < 0) s->dims[d] = field->dims[d];
    return HONE_OK;
}

static hone_status fit(hn_feed *f, const hn_value *v, slot *s, hn_error *err) {
    const hn_shape *shape = &v->type.shape;
    const hn_dataset_field *field = hn_dataset_field_at(f->ds, s->field);
    HN_CHECK(err, v->type.kind == HN_TYPE_TENSOR && hone_dtype_bits(v->type.dtype) > 0, HONE_E_TYPE,
             "input '%s' has no type that samples can be turned into", v->name);
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

int64_t hn_feed_batch(const hn_feed *f) { return f->batch; }

int64_t hn_feed_rows(const hn_feed *f, int64_t n) {
    for (int i = 0; i < f->graph->n_inputs; i++)
        if (f->slots[i].field >= 0 && f->slots[i].fixed > 0) return f->slots[i].fixed;
    return n;
}

static hone_status load_input(const hn_feed *f, int i, int64_t first, int64_t n, int64_t cut,
                              hn_tensor **out, hn_error *err) {
    const slot *s = &f->slots[i];
    hone_dtype dtype = f->graph->inputs[i]->type.dtype;
    int64_t dims[HONE_MAX_RANK];
    int batch_axis = s->fixed != NO_BATCH_AXIS;
    dims[0] = s->fixed >= 0 ? s->fixed : n;
    memcpy(dims + batch_axis, s->dims, (size_t)s->rank * sizeof *dims);
    if (s->cut) dims[batch_axis] = cut;
    hn_tensor *t;
    HN_TRY(hn_tensor_create(&t, f->alloc, HN_MEM_DATA, dtype, s->rank + batch_axis, dims, err));
    memset(t->data, 0, t->bytes);
    hn_dataset_want want = {
        .dtype = dtype, .rank = s->rank, .dims = dims + batch_axis, .cut = s->cut ? cut : 0};
    hone_status status = hn_dataset_fill(f->ds, s->field, first, n, &want, t->data, err);
    if (status != HONE_OK)
        hn_tensor_unref(t);
    else
        *out = t;
    return status;
}

hone_status hn_feed_load(const hn_feed *f, int64_t first, int64_t n, hn_tensor **in,
                         hn_error *err) {
    assert(n > 0 && n <= f->batch);
    int64_t cut = 0;
    hone_status status = HONE_OK;
    for (int i = 0; i < f->graph->n_inputs; i++) in[i] = NULL;
    if (f->mask >= 0) HN_TRY(hn_dataset_longest(f->ds, f->mask, first, n, &cut, err));
    for (int i = 0; i < f->graph->n_inputs && status == HONE_OK; i++)
        if (f->slots[i].field >= 0) status = load_input(f, i, first, n, cut, &in[i], err);
    for (int i = 0; i < f->graph->n_inputs && status != HONE_OK; i++) {
        hn_tensor_unref(in[i]);
        in[i] = NULL;
    }
    return status;
}

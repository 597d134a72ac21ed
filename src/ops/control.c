#include "ops/control.h"

hn_shape hn_shape_cover(hn_dims *dims, const hn_shape *a, const hn_shape *b) {
    if (a->rank != b->rank || a->rank < 0) return hn_shape_unknown();
    hn_shape s = *a;
    for (int i = 0; i < s.rank; i++)
        if (a->dim[i] != b->dim[i]) s.dim[i] = hn_dim_fresh(dims, -1);
    return s;
}

hn_infer_in hn_infer_type(hone_dtype dtype, const hn_shape *shape) {
    return (hn_infer_in){.present = true, .is_tensor = true, .dtype = dtype, .shape = *shape};
}

hone_status hn_want_carried(hone_dtype before, hone_dtype after, int index, hn_error *err) {
    HN_CHECK(err, before == after || before == HONE_DTYPE_NONE || after == HONE_DTYPE_NONE,
             HONE_E_TYPE, "carried value %d is %s before an iteration and %s after it", index,
             hone_dtype_name(before), hone_dtype_name(after));
    return HONE_OK;
}

/* 1 for a symbol that is a size of an input. */
static int64_t is_told(void *ctx, hn_dim symbol) {
    const hn_infer *c = ctx;
    for (int i = 0; i < c->n_in; i++)
        for (int k = 0; k < hn_in_rank(c, i); k++)
            if (c->in[i].shape.dim[k] == symbol) return 1;
    return -1;
}

hn_dim hn_untouched_dim(hn_infer *c, hn_dim d) {
    int64_t v;
    return hn_dim_eval(d, is_told, c, &v) ? d : hn_dim_fresh(c->dims, -1);
}

static int64_t told_size(void *ctx, hn_dim symbol) {
    const hn_eval *e = ctx;
    for (int i = 0; i < e->n_in; i++) {
        if (e->in[i] == NULL) continue;
        const hn_shape *s = &hn_node_input(e->node, i)->type.shape;
        for (int k = 0; k < s->rank && s->rank == e->in[i]->rank; k++)
            if (s->dim[k] == symbol) return e->in[i]->dims[k];
    }
    return -1;
}

int64_t hn_untouched_size(const hn_eval *e, hn_dim d) {
    int64_t v;
    return hn_dim_eval(d, told_size, (void *)(uintptr_t)e, &v) && v > 0 ? v : 0;
}

/* An axis splits a tensor into outer x size x inner elements. */
static int64_t span(const hn_tensor *t, int from, int to) {
    int64_t n = 1;
    for (int i = from; i < to; i++) n *= t->dims[i];
    return n;
}

static void copy_range(hone_dtype t, void *dst, int64_t to, const void *src, int64_t from,
                       int64_t n) {
    int bits = hone_dtype_bits(t);
    if (bits >= 8) {
        size_t width = (size_t)bits / 8;
        memcpy((char *)dst + (size_t)to * width, (const char *)src + (size_t)from * width,
               (size_t)n * width);
        return;
    }
    for (int64_t i = 0; i < n; i++) hn_copy_element(t, dst, to + i, src, from + i);
}

hone_status hn_axis_take(hn_tensor **out, hn_allocator *alloc, const hn_tensor *src, int axis,
                         int64_t at, hn_error *err) {
    int64_t dims[HONE_MAX_RANK];
    HN_CHECK(err, src->dtype != HONE_DTYPE_STRING, HONE_E_UNSUPPORTED, "strings cannot be scanned");
    for (int i = 0, k = 0; i < src->rank; i++)
        if (i != axis) dims[k++] = src->dims[i];
    HN_TRY(hn_tensor_create(out, alloc, HN_MEM_TENSOR, src->dtype, src->rank - 1, dims, err));
    if ((*out)->n == 0) return HONE_OK; /* spans of an empty tensor may overflow */
    int64_t outer = span(src, 0, axis), inner = span(src, axis + 1, src->rank);
    for (int64_t i = 0; i < outer; i++)
        copy_range(src->dtype, (*out)->data, i * inner, src->data,
                   (i * src->dims[axis] + at) * inner, inner);
    return HONE_OK;
}

void hn_axis_put(hn_tensor *dst, int axis, int64_t at, const hn_tensor *part) {
    if (part->n == 0) return;
    int64_t outer = span(dst, 0, axis), inner = span(dst, axis + 1, dst->rank);
    for (int64_t i = 0; i < outer; i++)
        copy_range(dst->dtype, dst->data, (i * dst->dims[axis] + at) * inner, part->data, i * inner,
                   inner);
}

hone_status hn_want_flag(const hn_tensor *t, const char *what, bool *flag, hn_error *err) {
    HN_CHECK(err, t->dtype == HONE_DTYPE_BOOL, HONE_E_TYPE, "%s is %s, expected bool", what,
             hone_dtype_name(t->dtype));
    HN_CHECK(err, t->n == 1, HONE_E_SHAPE, "%s has %lld elements, expected 1", what,
             (long long)t->n);
    *flag = hn_tensor_s64(t, 0) != 0;
    return HONE_OK;
}

hone_status hn_want_alike(const hn_tensor *first, const hn_tensor *part, const char *what,
                          int index, hn_error *err) {
    if (first->dtype == part->dtype && hn_tensor_same_dims(first, part->rank, part->dims))
        return HONE_OK;
    char a[200], b[200];
    return HN_FAIL(err, HONE_E_SHAPE, "%s %d is %s in one iteration and %s in a later one", what,
                   index, hn_tensor_text(first, a, sizeof a), hn_tensor_text(part, b, sizeof b));
}

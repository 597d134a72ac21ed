/* ScatterElements and ScatterND: a copy of `data` in which the elements or slices that the indices
 * name are replaced by `updates`, or combined with them. With duplicates and no reduction the last
 * one stays. Sums and products of floats are kept in double until all updates are in. */
#include <math.h>
#include <string.h>

#include "ops/grad.h"
#include "ops/indices.h"
#include "ops/strided.h"

enum { DATA, INDICES, UPDATES };

typedef enum reduction { NONE, ADD, MUL, MAX, MIN } reduction;

static reduction reduction_of(const hn_node *n) {
    static const char *const names[] = {"none", "add", "mul", "max", "min"};
    const char *name = hn_attr_s(n, "reduction");
    for (int i = 0; i < 5; i++)
        if (strcmp(name, names[i]) == 0) return (reduction)i;
    return NONE;
}

static double combine_f64(reduction r, double a, double b) {
    switch (r) {
        case ADD: return a + b;
        case MUL: return a * b;
        /* NaN stays, whichever side it is on. */
        case MAX: return isnan(a) || a > b ? a : b;
        case MIN: return isnan(a) || a < b ? a : b;
        case NONE: break;
    }
    return b;
}

static int64_t combine_s64(reduction r, hone_dtype t, int64_t a, int64_t b) {
    bool logical = t == HONE_DTYPE_BOOL;
    bool less = t == HONE_DTYPE_U64 ? (uint64_t)a < (uint64_t)b : a < b;
    switch (r) {
        case ADD: return logical ? a | b : (int64_t)((uint64_t)a + (uint64_t)b);
        case MUL: return (int64_t)((uint64_t)a * (uint64_t)b);
        case MAX: return less ? b : a;
        case MIN: return less ? a : b;
        case NONE: break;
    }
    return b;
}

/* Update k covers elements [at[k] * run, (at[k] + 1) * run) of the output. */
static hone_status scatter(hn_eval *e, const int64_t *at, int64_t n, int64_t run, hn_error *err) {
    const hn_tensor *u = e->in[UPDATES];
    hn_tensor *y = e->out[0];
    hone_dtype t = y->dtype;
    reduction r = reduction_of(e->node);
    if (y->data != e->in[DATA]->data) hn_copy_run(t, y->data, 0, e->in[DATA]->data, 0, y->n);
    if (r == NONE) {
        for (int64_t k = 0; k < n; k++) hn_copy_run(t, y->data, at[k] * run, u->data, k * run, run);
        return HONE_OK;
    }
    HN_CHECK(err, !hn_dtype_in(t, HN_DTYPES_COMPLEX), HONE_E_UNSUPPORTED,
             "reduction '%s' of complex numbers", hn_attr_s(e->node, "reduction"));
    if (!hn_dtype_is_float(t)) {
        for (int64_t k = 0; k < n; k++)
            for (int64_t j = 0; j < run; j++) {
                int64_t a = hn_load_s64(t, y->data, at[k] * run + j);
                int64_t b = hn_load_s64(t, u->data, k * run + j);
                hn_store_s64(t, y->data, at[k] * run + j, combine_s64(r, t, a, b));
            }
        return HONE_OK;
    }
    double *sum = hn_scratch_f64(e, y);
    if (sum == NULL) return HN_NOMEM(err);
    for (int64_t k = 0; k < n; k++)
        for (int64_t j = 0; j < run; j++) {
            double *a = &sum[at[k] * run + j];
            *a = combine_f64(r, *a, hn_load_f64(t, u->data, k * run + j));
        }
    hn_store_f64_n(t, y->data, 0, y->n, sum);
    return HONE_OK;
}

/* ---- ScatterElements ---- */

static hone_status infer_elements(hn_infer *c, hn_error *err) {
    const hn_shape *x = hn_in_shape(c, DATA), *i = hn_in_shape(c, INDICES);
    const hn_shape *u = hn_in_shape(c, UPDATES);
    int64_t axis = hn_attr_i(c->node, "axis");
    HN_TRY(hn_want_rank(c, DATA, 1, HONE_MAX_RANK, err));
    if (x->rank >= 0) {
        HN_TRY(hn_want_rank(c, INDICES, x->rank, x->rank, err));
        HN_TRY(hn_want_rank(c, UPDATES, x->rank, x->rank, err));
        HN_TRY(hn_want_axis(&axis, x->rank, err));
        HN_TRY(hn_want_inside(x, i, (int)axis, err));
        for (int k = 0; i->rank >= 0 && k < u->rank; k++)
            HN_TRY(hn_want_equal(i->dim[k], u->dim[k], "sizes of indices and updates", err));
    }
    hn_set_shape(c, 0, x);
    return HONE_OK;
}

static hone_status ref_elements(hn_eval *e, hn_error *err) {
    const hn_tensor *x = e->in[DATA];
    int64_t axis = hn_attr_i(e->node, "axis"), *at;
    HN_TRY(hn_movable(x, err));
    HN_TRY(hn_want_axis(&axis, x->rank, err));
    HN_TRY(hn_read_positions(e, INDICES, x, (int)axis, &at, err));
    return scatter(e, at, e->in[INDICES]->n, 1, err);
}

/* ---- ScatterND ---- */

static hone_status infer_nd(hn_infer *c, hn_error *err) {
    const hn_shape *x = hn_in_shape(c, DATA), *i = hn_in_shape(c, INDICES);
    const hn_shape *u = hn_in_shape(c, UPDATES);
    int64_t k;
    HN_TRY(hn_want_rank(c, DATA, 1, HONE_MAX_RANK, err));
    HN_TRY(hn_want_rank(c, INDICES, 1, HONE_MAX_RANK, err));
    hn_set_shape(c, 0, x);
    if (x->rank < 0 || i->rank < 0 || !hn_dim_is_const(i->dim[i->rank - 1], &k)) return HONE_OK;
    HN_CHECK(err, k >= 1 && k <= x->rank, HONE_E_SHAPE,
             "the last axis of the indices has size %lld, expected 1 to %d", (long long)k, x->rank);
    int rank = i->rank - 1 + x->rank - (int)k;
    HN_TRY(hn_want_rank(c, UPDATES, rank, rank, err));
    for (int a = 0; a < u->rank; a++)
        HN_TRY(hn_want_equal(u->dim[a],
                             a < i->rank - 1 ? i->dim[a] : x->dim[(int)k + a - (i->rank - 1)],
                             "sizes of updates and of the slices the indices name", err));
    return HONE_OK;
}

static hone_status ref_nd(hn_eval *e, hn_error *err) {
    const hn_tensor *x = e->in[DATA], *i = e->in[INDICES];
    int k = (int)i->dims[i->rank - 1];
    int64_t run = 1, *at;
    HN_TRY(hn_movable(x, err));
    if (x->n == 0) return HONE_OK;
    HN_TRY(hn_read_tuples(e, INDICES, k, x->dims, INT64_MAX, &at, err));
    for (int a = k; a < x->rank; a++) run *= x->dims[a];
    return scatter(e, at, i->n / k, run, err);
}

/* ---- gradients ---- */

static bool is_nd(const hn_grad *g) { return strcmp(g->node->op_type, "ScatterND") == 0; }

/* The same places of another tensor. */
static hn_value *gathered(hn_grad *g, hn_value *v) {
    hn_value *in[] = {v, hn_grad_in(g, INDICES)};
    if (v == NULL) return NULL;
    hn_node *n = hn_emit_node(g, "", is_nd(g) ? "GatherND" : "GatherElements", 1, 2, in);
    if (!is_nd(g)) hn_emit_copied(g, n, "axis");
    return hn_emitted(n, 0);
}

static hn_value *scattered(hn_grad *g, hn_value *to, hn_value *updates, const char *how) {
    hn_value *in[] = {to, hn_grad_in(g, INDICES), updates};
    if (to == NULL || updates == NULL) return NULL;
    hn_node *n = hn_emit_node(g, "", g->node->op_type, 1, 3, in);
    if (!is_nd(g)) hn_emit_copied(g, n, "axis");
    hn_emit_s(g, n, "reduction", how);
    return hn_emitted(n, 0);
}

static hn_value *filled_like(hn_grad *g, double v, hn_value *like) {
    int64_t dims[HONE_MAX_RANK];
    int rank = hn_grad_dims(g, like, dims);
    return hn_emit_filled(g, v, rank, dims);
}

/* An update that a later one to the same place replaced has no gradient: each leaves its number
 * there, and looks whose it finds. */
static hn_value *by_replacing(hn_grad *g, hn_value *dy) {
    int64_t data[HONE_MAX_RANK], update[HONE_MAX_RANK], *number, *nobody;
    int rank = hn_grad_dims(g, hn_grad_in(g, DATA), data);
    int n = hn_grad_dims(g, hn_grad_in(g, UPDATES), update);
    hn_value *own = hn_emit_indices(g, n, update, &number);
    hn_value *none = hn_emit_indices(g, rank, data, &nobody);
    if (own == NULL || none == NULL) return NULL;
    for (int64_t i = 0; i < own->constant->n; i++) number[i] = i;
    memset(nobody, 0, none->constant->bytes);
    hn_value *last = gathered(g, scattered(g, none, own, "none"));
    return HN_EMIT2(g, "Mul", gathered(g, dy), hn_emit_cast(g, HN_EMIT2(g, "Equal", last, own)));
}

/* The product of all others at an update's place: that of all over itself, or where it is 0, that
 * of all but zeros if there is no other. */
static hn_value *by_product(hn_grad *g, hn_value *dy) {
    hn_value *x = hn_grad_in(g, DATA), *u = hn_grad_in(g, UPDATES);
    hn_value *zero = HN_TEXT(g, "Where(a == 0, 1, 0)", u), *safe = HN_TEXT(g, "a + b", u, zero);
    hn_value *rest = gathered(g, scattered(g, x, safe, "mul"));
    hn_value *zeros = gathered(g, scattered(g, filled_like(g, 0, x), zero, "add"));
    hn_value *others = HN_TEXT(g, "Where(a > 1, 0, Where(a == b, c, 0))", zeros, zero, rest);
    return HN_TEXT(g, "a * b / c", gathered(g, dy), others, safe);
}

static hone_status grad(hn_grad *g, hn_error *err) {
    (void)err;
    hn_value *x = hn_grad_in(g, DATA), *u = hn_grad_in(g, UPDATES), *y = hn_grad_out(g, 0);
    hn_value *dy = g->dy[0];
    reduction r = reduction_of(g->node);
    if (r == MAX || r == MIN) { /* equal ones share */
        hn_value *hit_x = hn_emit_cast(g, HN_EMIT2(g, "Equal", x, y));
        hn_value *hit_u = hn_emit_cast(g, HN_EMIT2(g, "Equal", u, gathered(g, y)));
        hn_value *share = HN_EMIT2(g, "Div", dy, scattered(g, hit_x, hit_u, "add"));
        hn_grad_give(g, DATA, HN_EMIT2(g, "Mul", share, hit_x));
        hn_grad_give(g, UPDATES, HN_EMIT2(g, "Mul", gathered(g, share), hit_u));
        return HONE_OK;
    }
    if (hn_grad_wants(g, DATA))
        g->dx[DATA] = r == ADD ? dy
                      : r == NONE
                          ? scattered(g, dy, filled_like(g, 0, u), "none")
                          : HN_EMIT2(g, "Mul", dy, scattered(g, filled_like(g, 1, x), u, "mul"));
    if (hn_grad_wants(g, UPDATES))
        g->dx[UPDATES] = r == ADD    ? gathered(g, dy)
                         : r == NONE ? by_replacing(g, dy)
                                     : by_product(g, dy);
    return HONE_OK;
}

#define REDUCTION HN_ATTR_S("reduction", "none", "none add mul max min")

static const hn_attr_def elements_attrs[] = {HN_ATTR_I("axis", 0), REDUCTION, {0}};

const hn_op_def hn_op_scatter_elements = {
    .name = "ScatterElements",
    .versions = "11 13 16 18",
    .sig = "(data:T, indices:Tind, updates:T) -> (output:T); T: tensor; Tind: s32 s64",
    .attrs = elements_attrs,
    .infer = infer_elements,
    .ref = ref_elements,
    .grad = grad,
};

static const hn_attr_def nd_attrs[] = {REDUCTION, {0}};

const hn_op_def hn_op_scatter_nd = {
    .name = "ScatterND",
    .versions = "11 13 16 18",
    .sig = "(data:T, indices:s64, updates:T) -> (output:T); T: tensor",
    .attrs = nd_attrs,
    .infer = infer_nd,
    .ref = ref_nd,
    .grad = grad,
};

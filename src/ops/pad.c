/* Pad: each axis gets `begin` elements before and `end` after it; negative numbers take elements
 * away instead. What is taken away goes first: reflection and wrapping see only what is left.
 * CenterCropPad is the same with zeros and with the numbers that keep the centre. */
#include "ops/pad.h"

#include <string.h>

#include "ops/axes.h"
#include "ops/grad.h"
#include "ops/nodes.h"
#include "ops/strided.h"

/* Copies x into the middle of y and fills the rest with element 0 of `value`, or zero bits. */
static void surround(hn_eval *e, const int64_t *begin, const hn_tensor *value) {
    const hn_tensor *x = e->in[0];
    hn_tensor *y = e->out[0];
    if (value != NULL)
        hn_fill(e->pool, y->dtype, y->data, y->n, value->data, 0);
    else
        memset(y->data, 0, y->bytes);
    hn_strided s = hn_strided_place(x->rank, x->dims, y->dims, begin);
    hn_strided_copy(e->pool, x->dtype, x->data, y->data, &s);
}

/* ---- Pad ---- */

enum { DATA, PADS, VALUE, AXES };

/* More than any axis has, and safe to add up. */
#define FAR ((int64_t)1 << 60)

static hone_status infer_pad(hn_infer *c, hn_error *err) {
    const hn_shape *x = hn_in_shape(c, DATA);
    const hn_dim *pads;
    int64_t axes[HONE_MAX_RANK], value_n = 1;
    int n = x->rank, n_pads;
    if (x->rank < 0) return HONE_OK;
    for (int i = 0; i < HONE_MAX_RANK; i++) axes[i] = i;
    if (hn_has_in(c, AXES)) HN_TRY(hn_list_ints(c, AXES, x->rank, axes, &n, err));
    HN_TRY(hn_list_dims(c, PADS, 2 * x->rank, &pads, &n_pads, err));
    HN_CHECK(err, n < 0 || n_pads < 0 || n_pads == 2 * n, HONE_E_SHAPE,
             "%d pads are listed for %d axes, expected two per axis", n_pads, n);
    if (hn_has_in(c, VALUE) && hn_in_rank(c, VALUE) >= 0)
        HN_CHECK(err,
                 !hn_dim_is_const(
                     hn_shape_product(c->dims, hn_in_shape(c, VALUE), 0, hn_in_rank(c, VALUE)),
                     &value_n) ||
                     value_n == 1,
                 HONE_E_SHAPE, "the value to pad with has %lld elements, expected 1",
                 (long long)value_n);
    hn_shape y = n >= 0 ? *x : hn_shape_fresh(c->dims, x->rank);
    if (n >= 0) HN_TRY(hn_want_axes(axes, n, x->rank, err));
    for (int i = 0; i < n; i++) {
        hn_dim *d = &y.dim[axes[i]];
        *d = pads != NULL ? hn_dim_add(c->dims, *d, hn_dim_add(c->dims, pads[i], pads[n + i]))
                          : hn_dim_fresh(c->dims, -1);
    }
    hn_set_shape(c, 0, &y);
    return HONE_OK;
}

int64_t hn_pad_source(int64_t o, int64_t m, char mode) {
    if (mode == 'e') return o < 0 ? 0 : o >= m ? m - 1 : o;
    if (m == 1) return 0;
    int64_t period = mode == 'w' ? m : 2 * (m - 1);
    int64_t r = o % period;
    if (r < 0) r += period;
    return r < m ? r : period - r;
}

/* reflect, edge and wrap: each axis has a table of where its elements come from. */
static hone_status extend(hn_eval *e, const int64_t *begin, const int64_t *end, char mode,
                          hn_error *err) {
    const hn_tensor *x = e->in[DATA];
    hn_tensor *y = e->out[0];
    int64_t strides[HONE_MAX_RANK], *from[HONE_MAX_RANK], index[HONE_MAX_RANK] = {0};
    if (y->n == 0) return HONE_OK;
    hn_strides(x->rank, x->dims, strides);
    for (int a = 0; a < x->rank; a++) {
        int64_t lo = begin[a] < 0 ? -begin[a] : 0, before = begin[a] > 0 ? begin[a] : 0;
        int64_t m = x->dims[a] - lo - (end[a] < 0 ? -end[a] : 0);
        HN_CHECK(err, m > 0, HONE_E_SHAPE, "axis %d has no elements left to pad with", a);
        from[a] = hn_scratch(e, y->dims[a], sizeof *from[a]);
        if (from[a] == NULL) return HN_NOMEM(err);
        for (int64_t o = 0; o < y->dims[a]; o++)
            from[a][o] = (lo + hn_pad_source(o - before, m, mode)) * strides[a];
    }
    int inner = x->rank - 1;
    int64_t line = x->rank > 0 ? y->dims[inner] : 1;
    for (int64_t at = 0; at < y->n; at += line) {
        int64_t base = 0;
        for (int a = 0; a < inner; a++) base += from[a][index[a]];
        for (int64_t k = 0; k < line; k++)
            hn_copy_element(y->dtype, y->data, at + k, x->data,
                            base + (inner >= 0 ? from[inner][k] : 0));
        for (int a = inner - 1; a >= 0; a--) {
            if (++index[a] < y->dims[a]) break;
            index[a] = 0;
        }
    }
    return HONE_OK;
}

hone_status hn_pad_read(const hn_tensor *pads, const hn_tensor *axes, int rank, int64_t *begin,
                        int64_t *end, hn_error *err) {
    int64_t listed[HONE_MAX_RANK];
    int n = axes != NULL ? (int)axes->n : rank;
    for (int i = 0; i < n; i++) listed[i] = axes != NULL ? hn_tensor_s64(axes, i) : i;
    HN_TRY(hn_want_axes(listed, n, rank, err));
    for (int i = 0; i < rank; i++) begin[i] = end[i] = 0;
    for (int i = 0; i < n; i++) {
        int64_t before = hn_tensor_s64(pads, i), after = hn_tensor_s64(pads, n + i);
        HN_CHECK(err, before >= -FAR && after >= -FAR, HONE_E_ARG,
                 "axis %lld has pads %lld and %lld", (long long)listed[i], (long long)before,
                 (long long)after);
        begin[listed[i]] = before;
        end[listed[i]] = after;
    }
    return HONE_OK;
}

static hone_status ref_pad(hn_eval *e, hn_error *err) {
    const hn_tensor *x = e->in[DATA];
    int64_t begin[HONE_MAX_RANK], end[HONE_MAX_RANK];
    HN_TRY(hn_movable(x, err));
    HN_TRY(hn_pad_read(e->in[PADS], hn_eval_in(e, AXES), x->rank, begin, end, err));
    char mode = hn_attr_s(e->node, "mode")[0];
    if (mode != 'c') return extend(e, begin, end, mode, err);
    surround(e, begin, hn_eval_in(e, VALUE));
    return HONE_OK;
}

/* ---- CenterCropPad ---- */

/* The axes that the input `shape` is about: the attribute's, or all. */
static hone_status crop_axes(const hn_node *node, int rank, int64_t *axes, int *n, hn_error *err) {
    const int64_t *listed = hn_attr_ints(node, "axes", n);
    if (listed == NULL) *n = rank;
    HN_CHECK(err, *n <= rank, HONE_E_ARG, "%d axes are listed, but the input has rank %d", *n,
             rank);
    for (int i = 0; i < *n; i++) axes[i] = listed != NULL ? listed[i] : i;
    return hn_want_axes(axes, *n, rank, err);
}

static hone_status infer_center_crop_pad(hn_infer *c, hn_error *err) {
    const hn_shape *x = hn_in_shape(c, 0);
    const hn_dim *want;
    int64_t axes[HONE_MAX_RANK];
    int n, count;
    if (x->rank < 0) return HONE_OK;
    HN_TRY(crop_axes(c->node, x->rank, axes, &n, err));
    HN_TRY(hn_list_dims(c, 1, n, &want, &count, err));
    HN_CHECK(err, count < 0 || count == n, HONE_E_SHAPE, "%d sizes are listed for %d axes", count,
             n);
    hn_shape y = *x;
    for (int i = 0; i < n; i++) y.dim[axes[i]] = want != NULL ? want[i] : hn_dim_fresh(c->dims, -1);
    hn_set_shape(c, 0, &y);
    return HONE_OK;
}

static hone_status ref_center_crop_pad(hn_eval *e, hn_error *err) {
    const hn_tensor *x = e->in[0], *y = e->out[0];
    int64_t begin[HONE_MAX_RANK];
    HN_TRY(hn_movable(x, err));
    /* An odd element more is cut from or added to the end. */
    for (int i = 0; i < x->rank; i++) begin[i] = (y->dims[i] - x->dims[i]) / 2;
    surround(e, begin, NULL);
    return HONE_OK;
}

/* An axis that was extended by what it holds is a Gather along it. */
static hn_value *gathered_back(hn_grad *g, hn_value *dy, int rank, const int64_t *x,
                               const int64_t *begin, const int64_t *end, char mode) {
    int64_t dims[HONE_MAX_RANK];
    hn_grad_dims(g, hn_grad_out(g, 0), dims);
    for (int a = 0; a < rank && g->status == HONE_OK; a++) {
        int64_t lo = begin[a] < 0 ? -begin[a] : 0, before = begin[a] > 0 ? begin[a] : 0, *index;
        int64_t m = x[a] - lo - (end[a] < 0 ? -end[a] : 0), n = dims[a];
        if (begin[a] == 0 && end[a] == 0) continue;
        hn_value *from = hn_emit_indices(g, 1, &n, &index);
        for (int64_t o = 0; from != NULL && o < n; o++)
            index[o] = lo + hn_pad_source(o - before, m, mode);
        dims[a] = x[a];
        dy = hn_emit_gather_grad(g, dy, from, a, rank, dims);
    }
    return dy;
}

static hn_value *sum_of(hn_grad *g, hn_value *v) {
    if (v == NULL) return NULL;
    hn_node *n = hn_emit_node(g, "", "ReduceSum", 1, 1, &v);
    hn_emit_i(g, n, "keepdims", 0);
    return hn_emitted(n, 0);
}

/* What was padded is cut off again. */
static hone_status grad_pad(hn_grad *g, hn_error *err) {
    int64_t begin[HONE_MAX_RANK], end[HONE_MAX_RANK], dims[HONE_MAX_RANK], back[2 * HONE_MAX_RANK];
    int rank = hn_grad_dims(g, hn_grad_in(g, 0), dims);
    const hn_tensor *pads = hn_grad_known(g, 1), *axes = hn_grad_known(g, 3);
    if (pads == NULL || (axes == NULL && hn_grad_in(g, 3) != NULL))
        return hn_grad_refuse(g, "its pads are computed", err);
    HN_TRY(hn_pad_read(pads, axes, rank, begin, end, err));
    char mode = hn_attr_s(g->node, "mode")[0];
    if (mode != 'c') {
        hn_grad_give(g, 0, gathered_back(g, g->dy[0], rank, dims, begin, end, mode));
        return HONE_OK;
    }
    for (int i = 0; i < rank; i++) {
        back[i] = -begin[i];
        back[rank + i] = -end[i];
    }
    hn_value *inside = HN_EMIT2(g, "Pad", g->dy[0], hn_emit_ints(g, back, 2 * rank));
    hn_grad_give(g, 0, inside);
    if (hn_grad_wants(g, VALUE)) {
        hn_value *all = sum_of(g, g->dy[0]), *rest = HN_EMIT2(g, "Sub", all, sum_of(g, inside));
        hn_grad_give(g, VALUE, hn_emit_shaped(g, rest, hn_grad_in(g, VALUE)));
    }
    return HONE_OK;
}

static const hn_attr_def pad_attrs[] = {HN_ATTR_S("mode", "constant", "constant reflect edge wrap"),
                                        {0}};

/* The scale that input and output share holds 0, but need not reach another number. */
static const char *refuse_pad(const hn_node *n) {
    double v;
    bool zeros = !hn_attr_is(n, "mode", "constant") || hn_node_input(n, 2) == NULL ||
                 (hn_const_scalar(n, 2, &v) && v == 0);
    return zeros ? NULL : "it adds other numbers than 0";
}

const hn_op_def hn_op_pad = {
    .name = "Pad",
    .versions = "1 2 11 13 18 19 21 23 24 25",
    .sig =
        "(data:T, pads:s64, constant_value:T?, axes:Tind?) -> (output:T);"
        "T: all; Tind: s32 s64",
    .attrs = pad_attrs,
    .role = HN_ROLE_MOVE,
    .sizes = {HN_SIZES_PADS, 1},
    .refuse = refuse_pad,
    .infer = infer_pad,
    .ref = ref_pad,
    .grad = grad_pad,
};

/* What was added is cut off, and where it was cut there are zeros. */
static hone_status grad_center_crop_pad(hn_grad *g, hn_error *err) {
    (void)err;
    int64_t x[HONE_MAX_RANK], y[HONE_MAX_RANK], back[2 * HONE_MAX_RANK];
    int rank = hn_grad_dims(g, hn_grad_in(g, 0), x);
    hn_grad_dims(g, hn_grad_out(g, 0), y);
    if (g->status != HONE_OK) return HONE_OK;
    for (int i = 0; i < rank; i++) {
        back[i] = -((y[i] - x[i]) / 2);
        back[rank + i] = x[i] - y[i] - back[i];
    }
    hn_grad_give(g, 0, HN_EMIT2(g, "Pad", g->dy[0], hn_emit_ints(g, back, 2 * rank)));
    return HONE_OK;
}

static const hn_attr_def crop_attrs[] = {HN_ATTR_OPT("axes", INTS), {0}};

const hn_op_def hn_op_center_crop_pad = {
    .name = "CenterCropPad",
    .versions = "18",
    .sig = "(input_data:T, shape:Tind) -> (output_data:T); T: tensor; Tind: s32 s64",
    .attrs = crop_attrs,
    .infer = infer_center_crop_pad,
    .ref = ref_center_crop_pad,
    .grad = grad_center_crop_pad,
};

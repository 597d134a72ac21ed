/* Shape and Size: the sizes of a tensor, all or axes [start, end), and their product. Inference
 * knows their contents even where it knows no numbers: this is where shape arithmetic begins. */
#include "ops/axes.h"
#include "ops/op.h"

static int clamp_axis(int64_t axis, int rank) {
    if (axis < 0) axis = axis < -rank ? 0 : axis + rank;
    return axis > rank ? rank : (int)axis;
}

static void range(const hn_node *n, int rank, int *from, int *to) {
    *from = clamp_axis(hn_attr_i(n, "start"), rank);
    *to = hn_node_attr(n, "end") != NULL ? clamp_axis(hn_attr_i(n, "end"), rank) : rank;
    if (*to < *from) *to = *from;
}

static hone_status infer_shape(hn_infer *c, hn_error *err) {
    (void)err;
    const hn_shape *x = hn_in_shape(c, 0);
    hn_shape y = {.rank = 1, .dim = {hn_dim_fresh(c->dims, HONE_MAX_RANK)}};
    if (x->rank >= 0) {
        int from, to;
        range(c->node, x->rank, &from, &to);
        y.dim[0] = hn_dim_const(c->dims, to - from);
        hn_dim *v = hn_set_values(c, 0, to - from);
        for (int i = from; v != NULL && i < to; i++) v[i - from] = x->dim[i];
    }
    hn_set_shape(c, 0, &y);
    return HONE_OK;
}

static hone_status ref_shape(hn_eval *e, hn_error *err) {
    (void)err;
    int from, to;
    range(e->node, e->in[0]->rank, &from, &to);
    hn_store_s64_n(HONE_DTYPE_S64, e->out[0]->data, 0, to - from, e->in[0]->dims + from);
    return HONE_OK;
}

static hone_status infer_size(hn_infer *c, hn_error *err) {
    (void)err;
    const hn_shape *x = hn_in_shape(c, 0), scalar = {.rank = 0};
    hn_set_shape(c, 0, &scalar);
    hn_dim *v = x->rank >= 0 ? hn_set_values(c, 0, 1) : NULL;
    if (v != NULL) v[0] = hn_shape_product(c->dims, x, 0, x->rank);
    return HONE_OK;
}

static hone_status ref_size(hn_eval *e, hn_error *err) {
    (void)err;
    hn_store_s64(HONE_DTYPE_S64, e->out[0]->data, 0, e->in[0]->n);
    return HONE_OK;
}

static const hn_attr_def attrs[] = {HN_ATTR_I("start", 0), HN_ATTR_OPT("end", INT), {0}};

const hn_op_def hn_op_shape = {
    .name = "Shape",
    .versions = "1 13 15 19 21 23 24 25",
    .sig = "(data:T) -> (shape:s64); T: all",
    .attrs = attrs,
    .mixing = HN_MIXES_SIZES,
    .infer = infer_shape,
    .ref = ref_shape,
};

const hn_op_def hn_op_size = {
    .name = "Size",
    .versions = "1 13 19 21 23 24 25",
    .sig = "(data:T) -> (size:s64); T: all",
    .mixing = HN_MIXES_SIZES,
    .infer = infer_size,
    .ref = ref_size,
};

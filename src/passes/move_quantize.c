/* Moving eight bits is cheaper than moving thirty-two, and QuantizeLinear then stands right behind
 * what it quantizes, where runtimes look for it.
 *
 *     f = DequantizeLinear (q, s, z)                m = Transpose (q)
 *     y = Transpose (f)                   becomes   y = DequantizeLinear (m, s, z)
 *
 *     m = Transpose (x)                             q = QuantizeLinear (x, s, z)
 *     y = QuantizeLinear (m, s, z)        becomes   y = Transpose (q)
 *
 * Fires for the operators of the table below, which only move elements, and for MaxPool, since
 * neither changes which of two elements is larger; when the scale is one positive constant for the
 * whole tensor and the integers have whole bytes. Of a Concat, all that is joined has been
 * dequantized by the same scale. What Pad adds becomes the integer that stands for it, before
 * dequantizing only where that is 0. The second fires when what is moved is computed by a node that
 * hands it to nothing else, or dequantized, and nothing but the QuantizeLinear uses the result; not
 * for Slice, Split and Gather, which leave less to quantize.
 */
#include "ops/quantize.h"
#include "passes/quantized.h"

#define MOST_PARTS 32

static const struct {
    const char *op;
    int opset; /* from which on it takes 8 bits */
    bool less; /* its output may be but a part of its input */
} movers[] = {
    {"Concat", 4, false},    {"DepthToSpace", 1, false}, {"Expand", 8, false},
    {"Flatten", 9, false},   {"Gather", 1, true},        {"MaxPool", 12, false},
    {"Pad", 11, false},      {"Reshape", 5, false},      {"Resize", 11, false},
    {"Slice", 1, true},      {"SpaceToDepth", 1, false}, {"Split", 2, true},
    {"Squeeze", 1, false},   {"Tile", 6, false},         {"Transpose", 1, false},
    {"Unsqueeze", 1, false},
};

/* The row of n, if it moves elements as it is; else -1. */
static int mover(const hn_pass_ctx *c, const hn_node *n) {
    int i = 0, rows = (int)(sizeof movers / sizeof *movers);
    while (i < rows && !hn_is(n, movers[i].op)) i++;
    if (i == rows || c->opset < movers[i].opset) return -1;
    bool pads = hn_is(n, "Pad"); /* whatever it adds: see below */
    return pads || hn_refuse_role(n) == NULL ? i : -1;
}

/* Inputs that are moved: the first ones. */
static int n_moved(const hn_node *n) { return hn_is(n, "Concat") ? n->n_inputs : 1; }

/* One number that no axis has to do with: moving axes around leaves it right. */
static bool has_plain_scale(const hn_node *n) {
    return hn_has_one_scale(n) && hn_const_in(n, 1)->rank == 0 &&
           hn_tensor_f64(hn_const_in(n, 1), 0) > 0;
}

static bool moves_type(const hn_node *n, hone_dtype t) {
    if (!hn_dtype_is_int(t) || hone_dtype_bits(t) < 8) return false;
    return !hn_is(n, "MaxPool") || hone_dtype_bits(t) == 8;
}

/* ---- Pad ---- */

/* What n adds, if it is a Pad by numbers: *has; false: that is not known. */
static bool padding(const hn_node *n, double *v, bool *has) {
    *v = 0;
    *has = hn_is(n, "Pad") && hn_attr_is(n, "mode", "constant");
    return !*has || hn_node_input(n, 2) == NULL || hn_const_scalar(n, 2, v);
}

/* The number v among the integers of type t that q, a QuantizeLinear or DequantizeLinear, makes or
 * takes. */
static hone_status make_padding(hn_value **out, hn_node *n, const hn_node *q, hone_dtype t,
                                double v, hn_error *err) {
    const hn_tensor *z = hn_const_in(q, 2);
    double zero = z != NULL ? hn_tensor_f64(z, 0) : 0;
    int64_t at = hn_quantize(t, v / hn_tensor_f64(hn_const_in(q, 1), 0), zero);
    hn_tensor *tensor;
    HN_TRY(hn_tensor_from_s64(&tensor, n->graph->model->alloc, t, 0, NULL, &at, err));
    if (n->n_inputs < 3) HN_TRY(hn_node_resize_inputs(n, 3, err));
    return hn_make_constant(out, n, "padding", tensor, err);
}

/* ---- moving ---- */

/* Another node like n, and the value m of one value's shape and another's element type. */
static hone_status prepare(const hn_value *shape, hone_dtype type, hn_node *n, hn_node **made,
                           hn_value **m, hn_error *err) {
    HN_TRY(hn_make_node(made, n, n->op_type, n->n_inputs, err));
    for (const hn_attr *a = n->attrs; a != NULL; a = a->next)
        if (a->type == HN_ATTR_INT) HN_TRY(hn_node_set_i(*made, a->name, a->u.i, err));
    HN_TRY(hn_value_create(m, shape->graph, NULL, shape->name, err));
    (*m)->type = (hn_type){.kind = HN_TYPE_TENSOR, .dtype = type, .shape = shape->type.shape};
    return HONE_OK;
}

/* Makes n, like q, compute its output from x. */
static void link(hn_node *n, const hn_node *q, hn_value *x, hn_value *y) {
    hn_node_set_input(n, 0, x);
    for (int i = 1; i < q->n_inputs; i++) hn_node_set_input(n, i, q->inputs[i].value);
    hn_node_set_output(n, 0, y);
}

/* All that n moves has been dequantized by the same scale: by which node; else NULL. */
static hn_node *dequantized(const hn_node *n) {
    hn_node *first = hn_feeds(n, 0, "DequantizeLinear");
    if (first == NULL || !has_plain_scale(first)) return NULL;
    for (int i = 1; i < n_moved(n); i++) {
        const hn_node *p = hn_feeds(n, i, "DequantizeLinear");
        if (p == NULL || !has_plain_scale(p) || !hn_same_scale(first, p) ||
            p->inputs[0].value->type.dtype != first->inputs[0].value->type.dtype)
            return NULL;
    }
    return first;
}

static hone_status dequantize_later(hn_pass_ctx *c, hn_node *n, hn_error *err) {
    hn_node *p = dequantized(n), *made[MOST_PARTS];
    hn_value *m[MOST_PARTS], *pad = NULL;
    bool pads;
    double added;
    if (p == NULL || n->n_outputs > MOST_PARTS || !padding(n, &added, &pads)) return HONE_OK;
    hone_dtype type = p->inputs[0].value->type.dtype;
    if (!moves_type(n, type) || (pads && added != 0)) return HONE_OK;
    if (pads) HN_TRY(make_padding(&pad, n, p, type, 0, err));
    for (int k = 0; k < n->n_outputs; k++)
        if (n->outputs[k] != NULL) HN_TRY(prepare(n->outputs[k], type, p, &made[k], &m[k], err));
    if (pads) hn_node_set_input(n, 2, pad);
    for (int k = 0; k < n->n_outputs; k++) {
        hn_value *v = n->outputs[k];
        if (v == NULL) continue;
        hn_node_insert(made[k], n->next);
        hn_node_set_output(n, k, m[k]);
        link(made[k], p, m[k], v);
    }
    for (int i = 0; i < n_moved(n); i++) {
        hn_node *from = n->inputs[i].value->producer;
        hn_node_set_input(n, i, from->inputs[0].value);
        hn_prune(from);
    }
    c->fired++;
    return HONE_OK;
}

/* Whether x, which p moves, can be quantized before. */
static bool quantizes(const hn_node *p, const hn_value *x) {
    if (x == NULL || x->producer == NULL || x->graph != p->graph) return false;
    return hn_used_once(x) || hn_is(x->producer, "DequantizeLinear");
}

static hone_status quantize_earlier(hn_pass_ctx *c, hn_node *n, hn_error *err) {
    const hn_value *mid = hn_node_input(n, 0);
    int row = mid->producer != NULL ? mover(c, mid->producer) : -1;
    hn_node *p = row >= 0 && !movers[row].less ? hn_feeds_only(n, 0, movers[row].op) : NULL;
    hn_node *made[MOST_PARTS];
    hn_value *m[MOST_PARTS], *pad = NULL;
    bool pads;
    double added;
    if (p == NULL || !has_plain_scale(n) || n_moved(p) > MOST_PARTS || !padding(p, &added, &pads))
        return HONE_OK;
    hone_dtype type = n->outputs[0]->type.dtype;
    for (int i = 0; i < n_moved(p); i++)
        if (!quantizes(p, p->inputs[i].value)) return HONE_OK;
    if (!moves_type(p, type)) return HONE_OK;
    if (pads) HN_TRY(make_padding(&pad, p, n, type, added, err));
    for (int i = 0; i < n_moved(p); i++)
        HN_TRY(prepare(p->inputs[i].value, type, n, &made[i], &m[i], err));
    if (pads) hn_node_set_input(p, 2, pad);
    for (int i = 0; i < n_moved(p); i++) {
        link(made[i], n, p->inputs[i].value, m[i]);
        hn_node_insert(made[i], p);
        hn_node_set_input(p, i, m[i]);
    }
    hn_absorb(c, p, n);
    return HONE_OK;
}

static hone_status move(hn_pass_ctx *c, hn_node *n, hn_error *err) {
    if (hn_is(n, "QuantizeLinear")) return quantize_earlier(c, n, err);
    bool moves = hn_feeds(n, 0, "DequantizeLinear") != NULL && mover(c, n) >= 0;
    return moves ? dequantize_later(c, n, err) : HONE_OK;
}

hone_status hn_pass_move_quantize(hn_graph *g, hn_pass_ctx *c, hn_error *err) {
    return hn_pass_each(g, c, move, err);
}

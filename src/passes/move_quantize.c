/* Moving eight bits is cheaper than moving thirty-two, and QuantizeLinear then stands right behind
 * what it quantizes, where runtimes look for it.
 *
 *     f = DequantizeLinear (q, s, z)                m = Transpose (q)
 *     y = Transpose (f)                   becomes   y = DequantizeLinear (m, s, z)
 *
 *     m = Transpose (x)                             q = QuantizeLinear (x, s, z)
 *     y = QuantizeLinear (m, s, z)        becomes   y = Transpose (q)
 *
 * Fires for Transpose, Reshape, Flatten, Squeeze and Unsqueeze when the scale is one constant for
 * the whole tensor and nothing else uses the value between the two; the second only when x is
 * computed, by a node that hands it to nothing else.
 */
#include "passes/quantized.h"

/* One number that no axis has to do with: moving axes around leaves it right. */
static bool has_plain_scale(const hn_node *n) {
    return hn_has_one_scale(n) && hn_const_in(n, 1)->rank == 0;
}

/* Another node like n, and the value m of one value's shape and another's element type. */
static hone_status prepare(const hn_value *shape, const hn_value *type, hn_node *n, hn_node **made,
                           hn_value **m, hn_error *err) {
    HN_TRY(hn_make_node(made, n, n->op_type, n->n_inputs, err));
    for (const hn_attr *a = n->attrs; a != NULL; a = a->next)
        if (a->type == HN_ATTR_INT) HN_TRY(hn_node_set_i(*made, a->name, a->u.i, err));
    HN_TRY(hn_value_create(m, shape->graph, NULL, shape->name, err));
    (*m)->type =
        (hn_type){.kind = HN_TYPE_TENSOR, .dtype = type->type.dtype, .shape = shape->type.shape};
    return HONE_OK;
}

static hone_status dequantize_later(hn_pass_ctx *c, hn_node *n, hn_error *err) {
    hn_node *p = hn_feeds_only(n, 0, "DequantizeLinear"), *made;
    hn_value *v = n->outputs[0], *m;
    if (p == NULL || !has_plain_scale(p)) return HONE_OK;
    hn_value *q = p->inputs[0].value;
    HN_TRY(prepare(v, q, p, &made, &m, err));
    hn_node_set_input(made, 0, m);
    for (int i = 1; i < p->n_inputs; i++) hn_node_set_input(made, i, p->inputs[i].value);
    hn_node_insert(made, n->next);
    hn_node_set_input(n, 0, q);
    hn_node_set_output(n, 0, m);
    hn_node_set_output(made, 0, v);
    hn_prune(p);
    c->fired++;
    return HONE_OK;
}

static hone_status quantize_earlier(hn_pass_ctx *c, hn_node *n, hn_error *err) {
    hn_value *mid = hn_node_input(n, 0), *m;
    hn_node *p = hn_only_moves(mid->producer) ? hn_feeds_only(n, 0, mid->producer->op_type) : NULL;
    if (p == NULL || !has_plain_scale(n)) return HONE_OK;
    hn_value *x = p->inputs[0].value;
    hn_node *made;
    if (x->producer == NULL || x->graph != n->graph || !hn_used_once(x)) return HONE_OK;
    HN_TRY(prepare(x, n->outputs[0], n, &made, &m, err));
    hn_node_set_input(made, 0, x);
    for (int i = 1; i < n->n_inputs; i++) hn_node_set_input(made, i, n->inputs[i].value);
    hn_node_insert(made, p);
    hn_node_set_output(made, 0, m);
    hn_node_set_input(p, 0, m);
    hn_absorb(c, p, n);
    return HONE_OK;
}

static hone_status move(hn_pass_ctx *c, hn_node *n, hn_error *err) {
    if (hn_only_moves(n)) return dequantize_later(c, n, err);
    return hn_is(n, "QuantizeLinear") ? quantize_earlier(c, n, err) : HONE_OK;
}

hone_status hn_pass_move_quantize(hn_graph *g, hn_pass_ctx *c, hn_error *err) {
    return hn_pass_each(g, c, move, err);
}

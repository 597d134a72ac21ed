/* LayerNormalization, spelled out by exporters for opsets before 17.
 *
 *     m = ReduceMean (x, [-1])
 *     d = Sub (x, m)
 *     q = Pow (d, 2)                      or Mul (d, d)
 *     v = ReduceMean (q, [-1])
 *     e = Add (v, epsilon)
 *     s = Sqrt (e)
 *     n = Div (d, s)                      or Mul (d, Reciprocal (s)), Mul (d, Pow (e, -0.5))
 *   becomes
 *     n = LayerNormalization <axis = -1> (x, ones)
 *
 * and then
 *
 *     Mul (LayerNormalization (x, ones), scale)     becomes    LayerNormalization (x, scale)
 *     Add (LayerNormalization (x, scale), bias)     becomes    LayerNormalization (x, scale, bias)
 *
 * Fires when both means go over the same last axes, whose sizes are numbers, scale and bias have
 * exactly those sizes, nothing else uses what lies between, and the type is f32 or shorter.
 */
#include "passes/rms.h"

static const char *const OP = "LayerNormalization";

static hone_status form_node(hn_pass_ctx *c, hn_node *n, hn_error *err) {
    hn_rms r;
    if (!hn_rms_match(n, &r)) return HONE_OK;
    const hn_node *sub = r.x->producer;
    if (!hn_is(sub, "Sub") || sub->graph != n->graph) return HONE_OK;
    const hn_node *mean = hn_feeds(sub, 1, "ReduceMean");
    hn_value *x = sub->inputs[0].value;
    if (mean == NULL || mean->inputs[0].value != x || !hn_mean_over(mean, r.n_axes)) return HONE_OK;
    return hn_norm_form(c, n, OP, x, &r, err);
}

static hone_status add_bias(hn_pass_ctx *c, hn_node *n, hn_error *err) {
    for (int i = 0; hn_is(n, "Add") && i < 2; i++) {
        hn_node *norm = hn_feeds_only(n, i, OP);
        hn_value *bias = n->inputs[1 - i].value;
        if (norm == NULL || hn_node_input(norm, 2) != NULL ||
            !hn_norm_parameter(bias, norm->inputs[0].value, hn_attr_i(norm, "axis")))
            continue;
        if (norm->n_inputs < 3) HN_TRY(hn_node_resize_inputs(norm, 3, err));
        hn_node_set_input(norm, 2, bias);
        hn_bypass(c, n, norm->outputs[0]);
        break;
    }
    return HONE_OK;
}

static hone_status form(hn_pass_ctx *c, hn_node *n, hn_error *err) {
    if (hn_is(n, "Add")) return add_bias(c, n, err);
    int64_t fired = c->fired;
    HN_TRY(hn_norm_scale(c, n, OP));
    return c->fired == fired ? form_node(c, n, err) : HONE_OK;
}

hone_status hn_pass_form_layer_norm(hn_graph *g, hn_pass_ctx *c, hn_error *err) {
    return hn_may_form(c, OP) ? hn_pass_each(g, c, form, err) : HONE_OK;
}

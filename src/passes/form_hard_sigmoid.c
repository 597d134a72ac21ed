/* HardSigmoid, spelled out.
 *
 *     a = Add (x, 3)
 *     b = Clip (a, 0, 6)
 *     y = Div (b, 6)                      or Mul (b, 1/6)
 *   becomes
 *     y = HardSigmoid <alpha = 1/6, beta = 1/2> (x)
 *
 * Fires for floats when the result has the type of x and nothing else uses a and b.
 */
#include "passes/hard.h"

bool hn_hard_ramp(const hn_value *v, const hn_graph *g, hn_value **x) {
    const hn_node *clip = v->producer;
    double lo, hi, three;
    if (!hn_is(clip, "Clip") || clip->graph != g || !hn_used_once(v) ||
        !hn_const_scalar(clip, 1, &lo) || !hn_const_scalar(clip, 2, &hi) || lo != 0 || hi != 6)
        return false;
    const hn_node *add = hn_feeds_only(clip, 0, "Add");
    int at = add != NULL ? hn_plus_scalar(add, &three) : -1;
    if (at < 0 || three != 3) return false;
    *x = add->inputs[at].value;
    return hn_dtype_in((*x)->type.dtype, HN_DTYPES_FLOAT); /* Div of integers truncates */
}

static hone_status form(hn_pass_ctx *c, hn_node *n, hn_error *err) {
    hn_product p;
    hn_value *x;
    hn_node *made;
    if (!hn_factors(n, &p) || p.n != 1 || !hn_hard_ramp(p.factor[0], n->graph, &x) ||
        !hn_near(p.scale, 1.0 / 6, x->type.dtype) || !hn_same_type(x, n->outputs[0]))
        return HONE_OK;
    HN_TRY(hn_make_node(&made, n, "HardSigmoid", 1, err));
    HN_TRY(hn_node_set_f(made, "alpha", 1.0f / 6, err));
    HN_TRY(hn_node_set_f(made, "beta", 0.5f, err));
    hn_node_set_input(made, 0, x);
    hn_take_place(c, made, n);
    return HONE_OK;
}

hone_status hn_pass_form_hard_sigmoid(hn_graph *g, hn_pass_ctx *c, hn_error *err) {
    return hn_pass_each(g, c, form, err);
}

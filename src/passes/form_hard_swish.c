/* HardSwish, spelled out.
 *
 *     x * Clip (x + 3, 0, 6) / 6                             becomes    HardSwish (x)
 *     x * HardSigmoid <alpha = 1/6, beta = 1/2> (x)          becomes    HardSwish (x)
 *
 * Fires for products in any order and grouping when the result has the type of x and nothing else
 * uses what lies between.
 */
#include "passes/hard.h"

/* v times scale is the hard sigmoid of x. */
static bool is_gate(const hn_value *v, double scale, const hn_graph *g, const hn_value *x) {
    hone_dtype t = x->type.dtype;
    const hn_node *n = v->producer;
    hn_value *of;
    if (hn_hard_ramp(v, g, &of)) return of == x && hn_near(scale, 1.0 / 6, t);
    return hn_is(n, "HardSigmoid") && n->graph == g && hn_used_once(v) && n->inputs[0].value == x &&
           scale == 1 && hn_near(hn_attr_f(n, "alpha"), 1.0 / 6, t) &&
           hn_near(hn_attr_f(n, "beta"), 0.5, t);
}

static hone_status form(hn_pass_ctx *c, hn_node *n, hn_error *err) {
    hn_product p;
    if (!hn_factors(n, &p) || p.n != 2) return HONE_OK;
    for (int i = 0; i < 2; i++) {
        hn_value *x = p.factor[i];
        hn_node *made;
        if (!is_gate(p.factor[1 - i], p.scale, n->graph, x) || !hn_same_type(x, n->outputs[0]))
            continue;
        HN_TRY(hn_make_node(&made, n, "HardSwish", 1, err));
        hn_node_set_input(made, 0, x);
        hn_take_place(c, made, n);
        break;
    }
    return HONE_OK;
}

hone_status hn_pass_form_hard_swish(hn_graph *g, hn_pass_ctx *c, hn_error *err) {
    return hn_may_form(c, "HardSwish") ? hn_pass_each(g, c, form, err) : HONE_OK;
}

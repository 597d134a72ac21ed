/* Gelu, spelled out for opsets before 20.
 *
 *     0.5 * x * (1 + Erf (x / sqrt(2)))                                      becomes  Gelu (x)
 *     0.5 * x * (1 + Tanh (sqrt(2/pi) * (x + 0.044715 * x^3)))               becomes
 *     0.5 * x * (1 + Tanh (sqrt(2/pi) * x * (1 + 0.044715 * x^2)))                Gelu <tanh> (x)
 *
 * Fires for products in any order and grouping, by Mul, Div and Pow, also where 0.5 is multiplied
 * into the sum (x * (0.5 + 0.5 * Erf (...))), when the constants are these
 * up to their rounding, the result has the type of x, and nothing else uses what lies between.
 */
#include <math.h>

#include "passes/pass.h"

static const double HALF_ROOT = 0.70710678118654752, TANH_SCALE = 0.79788456080286536,
                    CUBE = 0.044715;

/* p is scale * x^power. */
static bool is_power(const hn_product *p, const hn_value *x, double scale, int power) {
    if (p->n != power || !hn_near(p->scale, scale, x->type.dtype)) return false;
    for (int i = 0; i < p->n; i++)
        if (p->factor[i] != x) return false;
    return true;
}

/* v, an input of a node of g, is 1 + cube * x^2 or x + cube * x^3. */
static bool is_poly(const hn_value *v, const hn_graph *g, const hn_value *x, bool one) {
    const hn_node *add = v->producer;
    if (!hn_is(add, "Add") || add->graph != g || !hn_used_once(v)) return false;
    for (int i = 0; i < 2; i++) {
        double c;
        hn_product p;
        bool first = one ? hn_const_scalar(add, i, &c) && c == 1 : add->inputs[i].value == x;
        if (first && hn_input_factors(add, 1 - i, &p) && is_power(&p, x, CUBE, one ? 2 : 3))
            return true;
    }
    return false;
}

static bool is_tanh_inner(const hn_node *tanh_node, const hn_value *x) {
    hn_product p;
    const hn_graph *g = tanh_node->graph;
    if (!hn_input_factors(tanh_node, 0, &p) || !hn_near(p.scale, TANH_SCALE, x->type.dtype))
        return false;
    if (p.n == 1) return is_poly(p.factor[0], g, x, false);
    if (p.n != 2) return false;
    int other = p.factor[0] == x ? 1 : 0;
    return p.factor[1 - other] == x && is_poly(p.factor[other], g, x, true);
}

/* v is a + a * Erf or Tanh of what makes the product with x a Gelu. */
static bool is_gate(const hn_value *v, const hn_graph *g, const hn_value *x, double *a,
                    bool *by_tanh) {
    const hn_node *add = v->producer;
    hn_product p;
    int at = hn_plus_scalar(add, a);
    if (at < 0 || add->graph != g || !hn_used_once(v)) return false;
    if (!hn_input_factors(add, at, &p) || p.n != 1 || !hn_used_once(p.factor[0]) ||
        !hn_near(p.scale, *a, x->type.dtype))
        return false;
    const hn_node *f = p.factor[0]->producer;
    if (f == NULL || f->graph != g) return false;
    *by_tanh = hn_is(f, "Tanh");
    if (*by_tanh) return is_tanh_inner(f, x);
    return hn_is(f, "Erf") && hn_input_factors(f, 0, &p) && is_power(&p, x, HALF_ROOT, 1);
}

static hone_status form(hn_pass_ctx *c, hn_node *n, hn_error *err) {
    hn_product p;
    if (!hn_factors(n, &p) || p.n != 2) return HONE_OK;
    for (int i = 0; i < 2; i++) {
        hn_value *x = p.factor[i];
        double a;
        bool by_tanh;
        if (!hn_same_type(x, n->outputs[0]) ||
            !is_gate(p.factor[1 - i], n->graph, x, &a, &by_tanh) ||
            !hn_near(p.scale * a, 0.5, x->type.dtype))
            continue;
        hn_node *made;
        HN_TRY(hn_make_node(&made, n, "Gelu", 1, err));
        if (by_tanh) HN_TRY(hn_node_set_s(made, "approximate", "tanh", err));
        hn_node_set_input(made, 0, x);
        hn_take_place(c, made, n);
        break;
    }
    return HONE_OK;
}

hone_status hn_pass_form_gelu(hn_graph *g, hn_pass_ctx *c, hn_error *err) {
    return hn_may_form(c, "Gelu") ? hn_pass_each(g, c, form, err) : HONE_OK;
}

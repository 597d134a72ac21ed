/* A matrix product and an addition are Gemm.
 *
 *     m = MatMul (a, b)
 *     y = Add (m, c)                      becomes    y = Gemm (a, b, c)
 *
 * Fires when a and b are matrices of float type, c broadcasts to the product and does not enlarge
 * it, and nothing else uses m. Products of more axes stay: Gemm knows matrices only.
 */
#include "passes/pass.h"

static bool is_matrix(const hn_value *v) {
    return v->type.shape.rank == 2 && hn_dtype_in(v->type.dtype, HN_DTYPES_FLOAT);
}

/* c broadcasts to y as Gemm wants it. */
static bool broadcasts(const hn_value *c, const hn_value *y) {
    const hn_shape *s = &c->type.shape, *t = &y->type.shape;
    if (s->rank < 0 || s->rank > 2) return false;
    for (int i = 0; i < s->rank; i++)
        if (!hn_dim_is(s->dim[i], 1) && s->dim[i] != t->dim[i + 2 - s->rank]) return false;
    return true;
}

static hone_status form(hn_pass_ctx *c, hn_node *n, hn_error *err) {
    for (int i = 0; hn_is(n, "Add") && i < 2; i++) {
        const hn_node *m = hn_feeds_only(n, i, "MatMul");
        hn_value *bias = n->inputs[1 - i].value;
        hn_node *made;
        if (m == NULL || !is_matrix(m->inputs[0].value) || !is_matrix(m->inputs[1].value) ||
            !hn_same_type(m->outputs[0], n->outputs[0]) || !broadcasts(bias, n->outputs[0]))
            continue;
        HN_TRY(hn_make_node(&made, n, "Gemm", 3, err));
        made->written = m->written; /* the product decides, as it does for steps */
        hn_node_set_input(made, 0, m->inputs[0].value);
        hn_node_set_input(made, 1, m->inputs[1].value);
        hn_node_set_input(made, 2, bias);
        hn_take_place(c, made, n);
        break;
    }
    return HONE_OK;
}

hone_status hn_pass_form_gemm(hn_graph *g, hn_pass_ctx *c, hn_error *err) {
    return hn_pass_each(g, c, form, err);
}

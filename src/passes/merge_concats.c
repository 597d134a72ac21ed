/* Concats in a row along one axis are one.
 *
 *     a = Concat <axis = 1> (p, q)
 *     y = Concat <axis = 1> (a, r)        becomes    y = Concat <axis = 1> (p, q, r)
 *
 * Fires when nothing else uses a.
 */
#include "passes/pass.h"

/* The Concat along the same axis that feeds only input i of n; else NULL. */
static hn_node *inner(const hn_node *n, int i) {
    hn_node *p = hn_feeds_only(n, i, "Concat");
    int rank = n->outputs[0]->type.shape.rank;
    if (p == NULL || rank < 0) return NULL;
    int64_t a = hn_attr_i(n, "axis"), b = hn_attr_i(p, "axis");
    return (a < 0 ? a + rank : a) == (b < 0 ? b + rank : b) ? p : NULL;
}

static hone_status merge(hn_pass_ctx *c, hn_node *n, hn_error *err) {
    if (!hn_is(n, "Concat")) return HONE_OK;
    int total = 0, found = 0;
    for (int i = 0; i < n->n_inputs; i++) {
        const hn_node *p = inner(n, i);
        total += p != NULL ? p->n_inputs : 1;
        found += p != NULL;
    }
    if (found == 0) return HONE_OK;
    hn_node *made;
    HN_TRY(hn_make_node(&made, n, "Concat", total, err));
    HN_TRY(hn_node_set_i(made, "axis", hn_attr_i(n, "axis"), err));
    for (int i = 0, k = 0; i < n->n_inputs; i++) {
        const hn_node *p = inner(n, i);
        for (int j = 0; p != NULL && j < p->n_inputs; j++)
            hn_node_set_input(made, k++, p->inputs[j].value);
        if (p == NULL) hn_node_set_input(made, k++, n->inputs[i].value);
    }
    hn_take_place(c, made, n);
    return HONE_OK;
}

hone_status hn_pass_merge_concats(hn_graph *g, hn_pass_ctx *c, hn_error *err) {
    return hn_pass_each(g, c, merge, err);
}

/* Targets that are computed although inference knows what they come to.
 *
 *     s = Concat (Gather (Shape (x), 0), [12], [64])
 *     y = Reshape (x, s)                                 x [b, 768], y [b, 12, 64]
 *   becomes
 *     y = Reshape (x, [0, 12, 64])                       0 copies the size of x
 *
 *     y = Expand (x, s)                                  x [b, 1], y [b, 7]
 *   becomes
 *     y = Expand (x, [1, 7])                             1 keeps the size of x
 *
 * Fires when every size of the output is a number or that of the same axis of the input. For
 * Reshape one more size may be anything, and becomes -1, if no size beside it can be 0: with a 0
 * beside it, -1 could not be told. (Targets that are numbers altogether are constants already:
 * fold_constants.)
 */
#include "passes/pass.h"

static bool expand_target(const hn_shape *x, const hn_shape *y, int64_t *target) {
    if (y->rank < x->rank) return false;
    for (int k = 0; k < y->rank; k++) {
        int i = k - (y->rank - x->rank);
        if (i >= 0 && y->dim[k] == x->dim[i])
            target[k] = 1;
        else if (!hn_dim_is_const(y->dim[k], &target[k]))
            return false;
    }
    return true;
}

static hone_status simplify(hn_pass_ctx *c, hn_node *n, hn_error *err) {
    bool reshape = hn_is(n, "Reshape");
    if (!reshape && !hn_is(n, "Expand")) return HONE_OK;
    hn_value *old = hn_node_input(n, 1);
    if (old == NULL || old->producer == NULL || n->outputs[0] == NULL) return HONE_OK;
    const hn_shape *x = &n->inputs[0].value->type.shape, *y = &n->outputs[0]->type.shape;
    int64_t target[HONE_MAX_RANK];
    if (x->rank < 0 || y->rank < 0 ||
        !(reshape ? hn_reshape_target(x, y, target) : expand_target(x, y, target)))
        return HONE_OK;
    hn_value *v;
    HN_TRY(hn_make_ints(&v, n, old->name, target, y->rank, err));
    if (reshape) hn_node_remove_attr(n, "allowzero");
    hn_node_set_input(n, 1, v);
    if (old->n_uses == 0 && old->graph == n->graph) hn_prune(old->producer);
    c->fired++;
    return HONE_OK;
}

hone_status hn_pass_simplify_shapes(hn_graph *g, hn_pass_ctx *c, hn_error *err) {
    return hn_pass_each(g, c, simplify, err);
}

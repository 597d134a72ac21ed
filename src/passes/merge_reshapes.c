/* Two nodes in a row that give elements another shape are one.
 *
 *     a = Unsqueeze (x, [1])
 *     y = Unsqueeze (a, [2])              becomes    y = Unsqueeze (x, [1, 2])      likewise
 * Squeeze
 *
 *     a = Flatten (x)                                (any two of Reshape, Flatten, Squeeze,
 *     y = Reshape (a, [0, 3, 4])          becomes    y = Reshape (x, [0, 3, 4])     Unsqueeze)
 *
 * Fires for two of a kind with constant axes, and else when a constant target can say the shape of
 * y from that of x (hn_reshape_target). The first stays while others use it.
 */
#include "passes/pass.h"

static bool is_view(const hn_node *n) { return hn_only_moves(n) && !hn_is(n, "Transpose"); }

/* Spreads the bits of `inner` over the places that `outer` leaves free. */
static uint32_t spread(uint32_t inner, uint32_t outer, int rank) {
    uint32_t all = outer;
    int from = 0;
    for (int k = 0; k < rank; k++) {
        if ((outer >> k & 1) != 0) continue;
        if ((inner >> from++ & 1) != 0) all |= 1u << k;
    }
    return all;
}

/* Both insert, or both remove, axes: *all are those of the two together, out of y's or x's. */
static bool same_kind(const hn_node *p, const hn_node *n, uint32_t *all) {
    int x = p->inputs[0].value->type.shape.rank, a = p->outputs[0]->type.shape.rank,
        y = n->outputs[0]->type.shape.rank;
    uint32_t first, second;
    if (hn_is(p, "Unsqueeze") && hn_is(n, "Unsqueeze")) {
        if (!hn_const_axes(p, 1, a, &first) || !hn_const_axes(n, 1, y, &second)) return false;
        *all = spread(first, second, y);
        return true;
    }
    if (!hn_is(p, "Squeeze") || !hn_is(n, "Squeeze")) return false;
    if (!hn_const_axes(p, 1, x, &first) || !hn_const_axes(n, 1, a, &second)) return false;
    *all = spread(second, first, x);
    return true;
}

static hone_status merge_axes(hn_node *n, uint32_t all, hn_error *err) {
    int64_t axes[HONE_MAX_RANK];
    int count = 0;
    for (int k = 0; k < HONE_MAX_RANK; k++)
        if ((all >> k & 1) != 0) axes[count++] = k;
    hn_value *v;
    HN_TRY(hn_make_ints(&v, n, "axes", axes, count, err));
    hn_node_set_input(n, 1, v);
    return HONE_OK;
}

static hone_status merge(hn_pass_ctx *c, hn_node *n, hn_error *err) {
    hn_value *a = is_view(n) ? n->inputs[0].value : NULL;
    hn_node *p = a != NULL && a->graph == n->graph ? a->producer : NULL;
    if (!is_view(p)) return HONE_OK;
    hn_value *x = p->inputs[0].value;
    uint32_t all;
    int64_t target[HONE_MAX_RANK];
    const hn_shape *y = &n->outputs[0]->type.shape;
    if (same_kind(p, n, &all)) {
        HN_TRY(merge_axes(n, all, err));
        hn_node_set_input(n, 0, x);
        hn_prune(p);
        c->fired++;
        return HONE_OK;
    }
    if (x->type.shape.rank < 0 || y->rank < 0 || !hn_reshape_target(&x->type.shape, y, target))
        return HONE_OK;
    hn_node *made;
    hn_value *v;
    HN_TRY(hn_make_ints(&v, n, "shape", target, y->rank, err));
    HN_TRY(hn_make_node(&made, n, "Reshape", 2, err));
    hn_node_set_input(made, 0, x);
    hn_node_set_input(made, 1, v);
    hn_take_place(c, made, n);
    return HONE_OK;
}

hone_status hn_pass_merge_reshapes(hn_graph *g, hn_pass_ctx *c, hn_error *err) {
    return hn_pass_each(g, c, merge, err);
}

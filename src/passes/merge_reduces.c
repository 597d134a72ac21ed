/* A reduction keeps its axes, or it does not; no other node is needed for that.
 *
 *     a = ReduceMean <keepdims = 1> (x, [2, 3])
 *     y = Squeeze (a, [2, 3])             becomes    y = ReduceMean <keepdims = 0> (x, [2, 3])
 *
 *     a = ReduceMean <keepdims = 0> (x, [1])
 *     y = Unsqueeze (a, [1])              becomes    y = ReduceMean <keepdims = 1> (x, [1])
 *
 * Fires for every Reduce operator when both have the same constant axes and nothing else uses a.
 */
#include "passes/pass.h"

static hn_node *reduction(const hn_node *n) {
    const hn_value *a = hn_node_input(n, 0);
    const hn_node *p = a != NULL ? a->producer : NULL;
    if (p == NULL || strncmp(p->op_type, "Reduce", 6) != 0) return NULL;
    return hn_feeds_only(n, 0, p->op_type);
}

static hone_status merge(hn_pass_ctx *c, hn_node *n, hn_error *err) {
    bool squeeze = hn_is(n, "Squeeze");
    hn_node *p = squeeze || hn_is(n, "Unsqueeze") ? reduction(n) : NULL;
    uint32_t reduced, moved;
    if (p == NULL || (hn_attr_i(p, "keepdims") != 0) != squeeze) return HONE_OK;
    int rank = p->inputs[0].value->type.shape.rank;
    if (!hn_const_axes(p, 1, rank, &reduced) || !hn_const_axes(n, 1, rank, &moved) ||
        reduced == 0 || reduced != moved)
        return HONE_OK;
    HN_TRY(hn_node_set_i(p, "keepdims", !squeeze, err));
    hn_absorb(c, p, n);
    return HONE_OK;
}

hone_status hn_pass_merge_reduces(hn_graph *g, hn_pass_ctx *c, hn_error *err) {
    return hn_pass_each(g, c, merge, err);
}

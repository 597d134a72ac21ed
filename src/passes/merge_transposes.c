/* Two Transposes in a row are one.
 *
 *     a = Transpose <perm = p> (x)
 *     y = Transpose <perm = q> (a)        becomes    y = Transpose <perm = p[q]> (x)
 *
 * Fires whenever the rank is known; the first stays while others use it.
 */
#include "passes/pass.h"

/* The order of n's axes; false: the rank is not known. */
static bool order_of(const hn_node *n, int64_t *perm, int *rank) {
    int count;
    const int64_t *p = hn_attr_ints(n, "perm", &count);
    *rank = n->inputs[0].value->type.shape.rank;
    if (*rank < 0 || (p != NULL && count != *rank)) return false;
    for (int i = 0; i < *rank; i++) {
        perm[i] = p != NULL ? p[i] : *rank - 1 - i;
        if (perm[i] < 0 || perm[i] >= *rank) return false;
    }
    return true;
}

static hone_status merge(hn_pass_ctx *c, hn_node *n, hn_error *err) {
    int64_t first[HONE_MAX_RANK], second[HONE_MAX_RANK], both[HONE_MAX_RANK];
    int rank, same;
    hn_node *p = hn_is(n, "Transpose") ? hn_feeds(n, 0, "Transpose") : NULL;
    if (p == NULL || !order_of(p, first, &rank) || !order_of(n, second, &same) || rank != same)
        return HONE_OK;
    for (int i = 0; i < rank; i++) both[i] = first[second[i]];
    HN_TRY(hn_node_set_ints(n, "perm", both, rank, err));
    hn_node_set_input(n, 0, p->inputs[0].value);
    hn_prune(p);
    c->fired++;
    return HONE_OK;
}

hone_status hn_pass_merge_transposes(hn_graph *g, hn_pass_ctx *c, hn_error *err) {
    return hn_pass_each(g, c, merge, err);
}

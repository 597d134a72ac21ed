/* Padding before a node that pads itself.
 *
 *     p = Pad (x, [0,0,1,1, 0,0,1,1])
 *     y = Conv <pads = [0,0,0,0]> (p, W)     becomes    y = Conv <pads = [1,1,1,1]> (x, W)
 *
 * Fires when Pad adds constants, to spatial axes only, and those are what the node pads with: zeros
 * for Conv, and for AveragePool when padding counts (its own pads are 0, or count_include_pad);
 * minus infinity for MaxPool. Pads must not be negative, those of pools stay below the kernel
 * (which ONNX Runtime wants), auto_pad is not SAME, and pools do not round up.
 */
#include <math.h>

#include "passes/pass.h"

/* What the node would have to be padded with; false: it does not pad, or not so. */
static bool padding_value(const hn_node *n, double *v) {
    *v = hn_is(n, "MaxPool") ? -INFINITY : 0;
    if (hn_is(n, "Conv")) return true;
    return (hn_is(n, "MaxPool") || hn_is(n, "AveragePool")) && hn_attr_i(n, "ceil_mode") == 0;
}

/* What p adds at each end of each spatial axis, as the attribute pads has it; false: something else
 * as well. */
static bool spatial_pads(const hn_node *p, int rank, int64_t *pads) {
    int64_t given[2 * HONE_MAX_RANK], axes[HONE_MAX_RANK];
    int n = hn_const_ints(p, 1, given, 2 * HONE_MAX_RANK), n_axes = rank;
    for (int i = 0; i < rank; i++) axes[i] = i;
    if (hn_node_input(p, 3) != NULL) n_axes = hn_const_ints(p, 3, axes, HONE_MAX_RANK);
    if (n_axes < 0 || n != 2 * n_axes) return false;
    int spatial = rank - 2;
    for (int i = 0; i < 2 * spatial; i++) pads[i] = 0;
    for (int i = 0; i < n_axes; i++) {
        int64_t k = axes[i] < 0 ? axes[i] + rank : axes[i];
        if (k < 0 || k >= rank || given[i] < 0 || given[n_axes + i] < 0) return false;
        if (k < 2 && (given[i] != 0 || given[n_axes + i] != 0)) return false;
        if (k < 2) continue;
        pads[k - 2] = given[i];
        pads[k - 2 + spatial] = given[n_axes + i];
    }
    return true;
}

static bool pads_with(const hn_node *p, double wanted) {
    double v = 0;
    if (!hn_attr_is(p, "mode", "constant")) return false;
    if (hn_node_input(p, 2) != NULL && !hn_const_scalar(p, 2, &v)) return false;
    return v == wanted;
}

static hone_status fold(hn_pass_ctx *c, hn_node *n, hn_error *err) {
    double value;
    int64_t pads[2 * HONE_MAX_RANK];
    hn_node *p = hn_feeds(n, 0, "Pad");
    if (p == NULL || !padding_value(n, &value) || !pads_with(p, value)) return HONE_OK;
    int rank = n->inputs[0].value->type.shape.rank, n_own, n_kernel;
    bool none = hn_attr_is(n, "auto_pad", "NOTSET"), pool = !hn_is(n, "Conv");
    if (rank < 3 || !spatial_pads(p, rank, pads)) return HONE_OK;
    if (!none && !hn_attr_is(n, "auto_pad", "VALID")) return HONE_OK;
    const int64_t *own = hn_attr_ints(n, "pads", &n_own);
    const int64_t *kernel = hn_attr_ints(n, "kernel_shape", &n_kernel);
    int spatial = rank - 2;
    if (pool && n_kernel != spatial) return HONE_OK;
    if (!none || n_own != 2 * spatial) own = NULL;
    bool padded = false;
    for (int i = 0; i < 2 * spatial; i++) {
        if (own != NULL) padded = padded || own[i] != 0;
        if (pads[i] > INT32_MAX || (own != NULL && (own[i] < 0 || own[i] > INT32_MAX)))
            return HONE_OK;
        pads[i] += own != NULL ? own[i] : 0;
        if (pool && pads[i] >= kernel[i % spatial]) return HONE_OK;
    }
    bool average = hn_is(n, "AveragePool");
    if (average && padded && hn_attr_i(n, "count_include_pad") == 0) return HONE_OK;
    if (average) HN_TRY(hn_node_set_i(n, "count_include_pad", 1, err));
    HN_TRY(hn_node_set_ints(n, "pads", pads, 2 * spatial, err));
    hn_node_remove_attr(n, "auto_pad");
    hn_node_set_input(n, 0, p->inputs[0].value);
    hn_prune(p);
    c->fired++;
    return HONE_OK;
}

hone_status hn_pass_fold_pad(hn_graph *g, hn_pass_ctx *c, hn_error *err) {
    return hn_pass_each(g, c, fold, err);
}

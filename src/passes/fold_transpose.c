/* A matrix product can take its matrices transposed.
 *
 *     t = Transpose (b)
 *     y = Gemm (a, t, c)                  becomes    y = Gemm <transB = 1> (a, b, c)
 *     y = MatMul (a, t)                   becomes    y = Gemm <transB = 1> (a, b)
 *
 * Fires when t is a matrix that nothing else uses; likewise for a. MatMul must be of two matrices,
 * of float type, and the opset know Gemm without c (11).
 */
#include "passes/pass.h"

/* The transposed matrix that feeds only input i of n; else NULL. */
static hn_value *transposed(const hn_node *n, int i) {
    const hn_node *p = hn_feeds_only(n, i, "Transpose");
    if (p == NULL || p->outputs[0]->type.shape.rank != 2) return NULL;
    int count;
    const int64_t *perm = hn_attr_ints(p, "perm", &count);
    bool swaps = perm == NULL || (count == 2 && perm[0] == 1 && perm[1] == 0);
    return swaps ? p->inputs[0].value : NULL;
}

static bool is_matrix(const hn_value *v) {
    return v->type.shape.rank == 2 && hn_dtype_in(v->type.dtype, HN_DTYPES_FLOAT);
}

static hone_status fold(hn_pass_ctx *c, hn_node *n, hn_error *err) {
    static const char *const names[] = {"transA", "transB"};
    bool gemm = hn_is(n, "Gemm");
    if (!gemm && (!hn_is(n, "MatMul") || c->opset < 11 || !is_matrix(n->inputs[0].value) ||
                  !is_matrix(n->inputs[1].value)))
        return HONE_OK;
    hn_value *from[2] = {transposed(n, 0), transposed(n, 1)};
    if (from[0] == NULL && from[1] == NULL) return HONE_OK;
    hn_node *made;
    HN_TRY(hn_make_node(&made, n, "Gemm", gemm ? n->n_inputs : 2, err));
    for (int i = 0; i < 2; i++) {
        bool was = gemm && hn_attr_i(n, names[i]) != 0;
        if (was != (from[i] != NULL)) HN_TRY(hn_node_set_i(made, names[i], 1, err));
    }
    float alpha = gemm ? hn_attr_f(n, "alpha") : 1, beta = gemm ? hn_attr_f(n, "beta") : 1;
    if (alpha != 1) HN_TRY(hn_node_set_f(made, "alpha", alpha, err));
    if (beta != 1) HN_TRY(hn_node_set_f(made, "beta", beta, err));
    for (int i = 0; i < made->n_inputs; i++)
        hn_node_set_input(made, i, i < 2 && from[i] != NULL ? from[i] : n->inputs[i].value);
    hn_take_place(c, made, n);
    return HONE_OK;
}

hone_status hn_pass_fold_transpose(hn_graph *g, hn_pass_ctx *c, hn_error *err) {
    return hn_pass_each(g, c, fold, err);
}

/* A number that multiplies what came out of weights a few moves earlier: exporters scale the
 * queries and keys of attention so.
 *
 *     m = MatMul (x, W)
 *     a = Add (m, b)
 *     r = Reshape (a, [0, 0, 12, 64])
 *     t = Transpose <perm = [0, 2, 1, 3]> (r)
 *     y = Mul (t, s)                      becomes    y without the Mul, of W * s and b * s
 *
 * Fires for Mul and Div by a finite constant of one element that is not 0, when upward from it
 * there are only nodes that move elements (none, or up to MOST_MOVES) and then MatMul with constant
 * weights, MatMul and Add of a constant, or Gemm, Conv, ConvTranspose with constant weights and
 * bias; and nothing else uses what lies between, but for its shape. Weights may be dequantized from
 * a constant: then their scale is multiplied, by a number that is positive.
 */
#include <math.h>

#include "passes/affine.h"

#define MOST_MOVES 6

typedef struct weights {
    hn_node *node[HN_MOST_SCALED];
    int input[HN_MOST_SCALED], n;
    bool positive; /* what they are multiplied by */
} weights;

static bool add_constant(weights *w, hn_node *n, int i) {
    hn_node *d = w->positive ? hn_feeds_only(n, i, "DequantizeLinear") : NULL;
    if (d != NULL && hn_const_in(d, 0) != NULL) {
        n = d;
        i = 1;
    }
    const hn_tensor *t = hn_const_in(n, i);
    if (t == NULL || !hn_dtype_in(t->dtype, HN_DTYPES_FLOAT)) return false;
    w->node[w->n] = n;
    w->input[w->n++] = i;
    return true;
}

/* The constants that make all of n's output. */
static bool find_weights(hn_node *n, weights *w) {
    int64_t channels;
    if (hn_is(n, "MatMul")) return add_constant(w, n, 1) || add_constant(w, n, 0);
    for (int i = 0; hn_is(n, "Add") && i < 2; i++) {
        hn_node *m = hn_feeds_only(n, i, "MatMul");
        if (m != NULL && find_weights(m, w) && add_constant(w, n, 1 - i)) return true;
        w->n = 0;
    }
    if (!hn_affine_fits(n, &channels)) return false;
    return add_constant(w, n, 1) && (hn_node_input(n, 2) == NULL || add_constant(w, n, 2));
}

/* Whether one node reads the elements of v; others may ask for its shape, which stays. */
static bool is_read_once(const hn_value *v) {
    int readers = 0;
    for (const hn_use *u = v->uses; u != NULL; u = u->next) {
        if (u->node == NULL) return false;
        readers += !hn_is(u->node, "Shape");
    }
    return readers == 1;
}

static hone_status fold_input(hn_pass_ctx *c, hn_node *n, int at, double scale, hn_error *err) {
    hn_value *x = n->inputs[at].value, *v = x;
    hn_node *p = NULL;
    for (int moves = 0; moves <= MOST_MOVES; moves++) {
        if (!is_read_once(v) || v->producer == NULL || v->graph != n->graph) return HONE_OK;
        p = v->producer;
        if (!hn_only_moves(p)) break;
        v = p->inputs[0].value;
    }
    weights w = {.positive = scale > 0};
    bool done;
    if (!hn_same_type(x, n->outputs[0]) || !find_weights(p, &w)) return HONE_OK;
    HN_TRY(hn_affine_scale(c, w.node, w.input, w.n, scale, &done, err));
    if (done) hn_bypass(c, n, x);
    return HONE_OK;
}

static hone_status fold(hn_pass_ctx *c, hn_node *n, hn_error *err) {
    double s;
    bool mul = hn_is(n, "Mul");
    if (!mul && !hn_is(n, "Div")) return HONE_OK;
    for (int at = 0; at < (mul ? 2 : 1); at++) {
        if (!hn_const_scalar(n, 1 - at, &s) || !isfinite(s) || s == 0 || !isfinite(1 / s)) continue;
        return fold_input(c, n, at, mul ? s : 1 / s, err);
    }
    return HONE_OK;
}

hone_status hn_pass_fold_scalar(hn_graph *g, hn_pass_ctx *c, hn_error *err) {
    return hn_pass_each(g, c, fold, err);
}

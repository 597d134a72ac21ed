/* What can be asked of the nodes of a graph and of the constants they read, and the editing that
 * rewrites and compression share.
 *
 * To learn a fact about an operator, ask its descriptor (op.h). hn_is is for code that looks for
 * one operator as such: the shape of a pattern, or a node that the same code has written.
 */
#ifndef HN_OPS_NODES_H
#define HN_OPS_NODES_H

#include "ops/op.h"

/* ---- recognising ---- */

/* Whether n can be looked at as the operator it names: hone knows that, in the newest semantics,
 * and its inputs, outputs and attributes are of its form. Inference has checked the nodes of the
 * model's graph, but not those of branches that may never run. */
bool hn_is_formed(const hn_node *n);
/* The descriptor of n; one that says nothing, and is of no name, where n is NULL or not formed. */
const hn_op_def *hn_def_of(const hn_node *n);
/* How n multiplies by a weight. */
static inline hn_weight_kind hn_weight_kind_of(const hn_node *n) {
    const hn_weights_def *of = hn_def_of(n)->weights;
    return of != NULL ? of->kind : HN_WEIGHT_NONE;
}
/* How n multiplies by t, as its weight; false: it does not. */
static inline bool hn_weight_use_of(const hn_node *n, const hn_tensor *t, hn_weight_use *u) {
    const hn_weights_def *of = hn_def_of(n)->weights;
    return of != NULL && of->use(n, t->rank, t->dims, u);
}
/* The input that n adds to a product; NULL: none. */
static inline hn_value *hn_bias_of(const hn_node *n) {
    const hn_weights_def *of = hn_def_of(n)->weights;
    return of != NULL && of->bias > 0 ? hn_node_input(n, of->bias) : NULL;
}
/* Why n has no form of its operator's role; NULL: it has. */
static inline const char *hn_refuse_role(const hn_node *n) {
    return n->op->refuse != NULL ? n->op->refuse(n) : NULL;
}
/* n is that operator of ai.onnx, in the newest semantics and of the form it must have; n may be
 * NULL. */
bool hn_is(const hn_node *n, const char *op);
/* The node that computes input i of n, when it is that operator of the same graph; else NULL. */
hn_node *hn_feeds(const hn_node *n, int i, const char *op);
/* Likewise, and nothing but this input of n uses its only output. */
hn_node *hn_feeds_only(const hn_node *n, int i, const char *op);
/* v has this one use, which is an input of a node. */
bool hn_used_once(const hn_value *v);
/* Both are tensors of one element type and one shape, which are known. */
static inline bool hn_same_type(const hn_value *a, const hn_value *b) {
    return a->type.kind == HN_TYPE_TENSOR && b->type.kind == HN_TYPE_TENSOR &&
           a->type.dtype == b->type.dtype && a->type.dtype != HONE_DTYPE_NONE &&
           a->type.shape.rank >= 0 && hn_shape_equal(&a->type.shape, &b->type.shape);
}

/* Weights of a codebook: n gathers numbers of a constant vector by constant integers of at most 16
 * bits, none of which can be outside:
 *
 *     w = Gather (table, Cast (codes))        codes of b bits, unsigned; table of 2^b f32, or more */
typedef struct hn_codebook {
    const hn_tensor *table, *codes;
} hn_codebook;
bool hn_codebook_of(const hn_node *n, hn_codebook *out); /* n and out may be NULL */
/* n is a Cast of such codes that nothing else reads. */
bool hn_casts_codes(const hn_node *n);

/* ---- constants ---- */

/* The contents of input i when it is a dense constant that nothing can override; else NULL. */
const hn_tensor *hn_const_in(const hn_node *n, int i);
/* Input i is a constant of one element, whatever its rank. */
bool hn_const_scalar(const hn_node *n, int i, double *v);
/* Contents of a constant input as integers: their count, at most `max`; -1: not so. */
int hn_const_ints(const hn_node *n, int i, int64_t *v, int max);
/* Axes given by a constant input, out of `rank`, as bits; false: not known, or not within rank. */
bool hn_const_axes(const hn_node *n, int i, int rank, uint32_t *bits);

/* ---- editing ---- */

/* A node before `root`, not yet linked to anything, with root's name. */
hone_status hn_make_node(hn_node **out, hn_node *root, const char *op, int n_inputs, hn_error *err);
/* A constant in the graph of `root`. Takes over the reference to t, on failure too. */
hone_status hn_make_constant(hn_value **out, hn_node *root, const char *hint, hn_tensor *t,
                             hn_error *err);
hone_status hn_make_ints(hn_value **out, hn_node *root, const char *hint, const int64_t *v, int n,
                         hn_error *err);
/* Removes n when nothing uses its outputs, then likewise the nodes that fed it. */
void hn_prune(hn_node *n);

#endif

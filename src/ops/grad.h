/* Gradients: how an operator is differentiated, as nodes that compute it.
 *
 * A descriptor says it in one of two ways. An elementwise operator has `.derivative`, a text: how
 * much output 0 changes with each input, one expression for each, separated by `;`.
 *
 *     Mul      "b; a"                  the gradient by a is dy * b, summed over broadcast axes
 *     Sigmoid  "y * (1 - y)"
 *     Elu      "Where(a < 0, y + $alpha, 1)"
 *
 * a, b, c are inputs 0, 1, 2; y is output 0; $name is a number among the attributes. There are
 * + - * /, comparisons (1 where they hold, 0 elsewhere), and calls of operators of ai.onnx by their
 * names. An expression of "0" or "" says that the gradient by that input is 0.
 *
 * Another has `.grad`, a function that emits nodes. Emitters return NULL once one of them has
 * failed, and take NULL, so that a rule is written without a check after each; the failure is told
 * in the end (hn_grad.status).
 *
 * One that stands for several simpler operators (Attention, LSTM, GroupNormalization) has `.spell`
 * instead, a function that emits these: y[i] becomes output i. Where such a node is differentiated,
 * they take its place, also forward, so that what backward needs is computed once. An output that
 * is left NULL stays with the node; no gradient flows through it.
 *
 * The sizes of the node's own inputs and outputs are numbers. Those of emitted values are found
 * later, when the whole graph is inferred: a rule does not ask for them.
 */
#ifndef HN_OPS_GRAD_H
#define HN_OPS_GRAD_H

#include "ops/op.h"

/* The domain of operators that exist for training alone (ConvGradW ...). */
#define HN_TRAIN_DOMAIN "hone"

struct hn_grad {
    hn_graph *graph;
    const hn_node *node; /* that is differentiated */
    hn_value *const *dy; /* by output: the gradient by it; NULL: it is 0 */
    const bool *wanted;  /* by input: its gradient is asked for */
    hn_value **dx;       /* by input: what the rule finds; NULL: it is 0 */
    hone_dtype dtype;    /* of the gradients: that of the first output */
    hone_status status;  /* of the first emitter that failed */
    hn_error *err;
};

/* Whether the operator can be differentiated. One that is a view hands on what comes. */
static inline bool hn_op_has_grad(const hn_op_def *op) {
    return op->grad != NULL || op->derivative != NULL || op->spell != NULL ||
           (op->no_grad == NULL && (op->traits & HN_VIEW) != 0);
}
/* Why it cannot be: what its descriptor says, or that its results are no floats; NULL: it can. */
const char *hn_op_no_grad(const hn_op_def *op);
/* Finds g->dx from g->dy by what the descriptor says. HONE_E_UNSUPPORTED: it says nothing, or not
 * for such a node. */
hone_status hn_grad_node(hn_grad *g, hn_error *err);

/* Puts simpler nodes in the place of g->node by its `.spell`. The graph is neither sorted nor
 * inferred then. left: the node is still there, for outputs that they do not give. */
hone_status hn_grad_spell(hn_grad *g, bool *left, hn_error *err);

/* ---- the node ---- */

static inline hn_value *hn_grad_in(const hn_grad *g, int i) { return hn_node_input(g->node, i); }
static inline hn_value *hn_grad_out(const hn_grad *g, int i) { return hn_node_output(g->node, i); }
static inline bool hn_grad_wants(const hn_grad *g, int i) {
    return i < g->node->n_inputs && g->wanted[i];
}
/* The sizes of an input or output of the node; returns the rank. */
int hn_grad_dims(hn_grad *g, const hn_value *v, int64_t *dims);
/* The contents of input i if they are known; else NULL. */
static inline const hn_tensor *hn_grad_known(const hn_grad *g, int i) {
    const hn_value *v = hn_grad_in(g, i);
    return v == NULL || v->is_input ? NULL : v->constant != NULL ? v->constant : v->folded;
}
/* The same as integers: how many there are, at most `most`; -1: not known, or more. */
int hn_grad_ints(const hn_grad *g, int i, int64_t *v, int most);

/* ---- emitters ---- */

/* A node of n_out new values; absent inputs are NULL beforehand, and a caller sets them. */
hn_node *hn_emit_node(hn_grad *g, const char *domain, const char *op, int n_out, int n_in,
                      hn_value *const *in);
/* The value of a node of ai.onnx with one output. */
hn_value *hn_emit(hn_grad *g, const char *op, int n_in, hn_value *const *in);
#define HN_EMIT1(g, op, a) hn_emit(g, op, 1, (hn_value *const[]){a})
#define HN_EMIT2(g, op, a, b) hn_emit(g, op, 2, (hn_value *const[]){a, b})
#define HN_EMIT3(g, op, a, b, c) hn_emit(g, op, 3, (hn_value *const[]){a, b, c})
/* Attributes of a node that was emitted; n may be NULL. */
void hn_emit_i(hn_grad *g, hn_node *n, const char *name, int64_t v);
void hn_emit_f(hn_grad *g, hn_node *n, const char *name, float v);
void hn_emit_s(hn_grad *g, hn_node *n, const char *name, const char *v);
void hn_emit_ints_attr(hn_grad *g, hn_node *n, const char *name, const int64_t *v, int count);
/* Attribute `name` as the differentiated node has it, if it does. */
void hn_emit_copied(hn_grad *g, hn_node *n, const char *name);
static inline hn_value *hn_emitted(const hn_node *n, int i) {
    return n != NULL ? hn_node_output(n, i) : NULL;
}

/* The value of an expression as of derivatives, where a is v[0], b is v[1] and so on. */
hn_value *hn_emit_text(hn_grad *g, const char *text, int n, hn_value *const *v);
#define HN_TEXT(g, text, ...)                                                       \
    hn_emit_text(g, text, sizeof((hn_value *[]){__VA_ARGS__}) / sizeof(hn_value *), \
                 (hn_value *const[]){__VA_ARGS__})
hn_value *hn_emit_cast(hn_grad *g, hn_value *v); /* to the gradients' type */
hn_value *hn_emit_number(hn_grad *g, double v);  /* of it */
hn_value *hn_emit_filled(hn_grad *g, double v, int rank, const int64_t *dims);
hn_value *hn_emit_ints(hn_grad *g, const int64_t *v, int n);
/* A tensor of the gradients' type / of s64, whose contents the caller writes. */
hn_value *hn_emit_table(hn_grad *g, int rank, const int64_t *dims, hn_tensor **t);
hn_value *hn_emit_indices(hn_grad *g, int rank, const int64_t *dims, int64_t **v);
hn_value *hn_emit_reshape(hn_grad *g, hn_value *v, int rank, const int64_t *dims);
/* v, of as many elements, in the shape that an input or output of the node has. */
hn_value *hn_emit_shaped(hn_grad *g, hn_value *v, const hn_value *like);
hn_value *hn_emit_transposed(hn_grad *g, hn_value *v, int rank, const int64_t *perm);
/* v with its last two axes, of `rank`, swapped. */
hn_value *hn_emit_swapped(hn_grad *g, hn_value *v, int rank);
/* Elements [from, to) of an axis. */
hn_value *hn_emit_slice(hn_grad *g, hn_value *v, int axis, int64_t from, int64_t to);
/* v along an axis: the elements that v is made of, one after the other. */
hn_value *hn_emit_concat(hn_grad *g, int axis, int n, hn_value *const *v);
/* The gradient of Gather, of indices along an axis, by its data of these dims. */
hn_value *hn_emit_gather_grad(hn_grad *g, hn_value *dy, hn_value *indices, int axis, int rank,
                              const int64_t *dims);
hn_value *hn_emit_expanded(hn_grad *g, hn_value *v, int rank, const int64_t *dims);
/* Sums over the axes whose bits are set, which stay with size 1 if kept. */
hn_value *hn_emit_sum(hn_grad *g, hn_value *v, uint32_t axes, bool kept);
/* v [dims], summed to the shape of `like`, which broadcasts to it. */
hn_value *hn_emit_sum_to(hn_grad *g, hn_value *v, int rank, const int64_t *dims,
                         const hn_value *like);
/* The gradient of a convolution by its weights, of images x to dy with these windows. */
struct hn_spatial;
hn_value *hn_emit_conv_grad_w(hn_grad *g, hn_value *x, hn_value *dy, const struct hn_spatial *s);
/* strides, dilations and pads of windows, as attributes. */
void hn_emit_windows(hn_grad *g, hn_node *n, const struct hn_spatial *s);
/* Of a norm y = (sum of |x|^p)^(1/p): dy * y^(1-p), 0 where y is, and that, brought to the shape of
 * x, times |x|^(p-1) * sign(x). */
hn_value *hn_lp_slope(hn_grad *g, int64_t p, hn_value *dy);
hn_value *hn_lp_chain(hn_grad *g, int64_t p, hn_value *slope);
/* One of the functions that attributes name, of v. */
struct hn_activation;
hn_value *hn_emit_activation(hn_grad *g, const struct hn_activation *f, hn_value *v);
/* The gradient by input i, which is `v` if it is asked for. */
static inline void hn_grad_give(hn_grad *g, int i, hn_value *v) {
    if (hn_grad_wants(g, i)) g->dx[i] = v;
}
/* A rule of expressions, for operators whose attributes choose among several. */
hone_status hn_grad_by(hn_grad *g, const char *derivative);
/* The rule cannot take such a node. */
hone_status hn_grad_refuse(const hn_grad *g, const char *why, hn_error *err);

#endif

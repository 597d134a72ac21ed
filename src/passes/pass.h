/* What the passes share: their interface, and the vocabulary of rewrites.
 *
 * A pass goes over the nodes of one graph and rewrites what it recognises. The runner
 * (pipelines.c) calls it for every graph of the model, subgraphs before the graph around them, with
 * the types of all values known as far as inference finds them. Its file opens with a picture of
 * what it does and the condition under which it does it.
 *
 * A rewrite is rooted at the last node of what it recognises: it may remove that node and nodes of
 * the same graph before it, and insert nodes before it. So a walk that has taken the root's
 * successor beforehand goes on safely.
 *
 * A rewrite makes its constants and nodes first, which may fail, and then links them, which cannot:
 * running out of memory leaves a model that computes the same.
 */
#ifndef HN_PASSES_PASS_H
#define HN_PASSES_PASS_H

#include "ops/nodes.h"

typedef struct hn_pass_ctx {
    hn_model *model;
    int64_t opset;      /* operators of newer opsets are not formed */
    int64_t max_growth; /* bytes constant folding may still add; negative: no limit */
    int64_t fired;      /* rewrites made */
    hn_arena scratch;   /* dies when the pass is done with the graph */
} hn_pass_ctx;

typedef hone_status hn_pass_fn(hn_graph *g, hn_pass_ctx *c, hn_error *err);
#define HN_PASS(name, level, operators, help) hn_pass_fn hn_pass_##name;
#include "passes/passes.def"
#undef HN_PASS

/* Calls rewrite for every node of the graph that was there before, in order. */
typedef hone_status hn_rewrite(hn_pass_ctx *c, hn_node *n, hn_error *err);
hone_status hn_pass_each(hn_graph *g, hn_pass_ctx *c, hn_rewrite *rewrite, hn_error *err);

/* ---- recognising ---- */

/* n gives its input another shape or order and changes no element: Transpose, Reshape, Flatten,
 * Squeeze, Unsqueeze. n may be NULL. */
bool hn_only_moves(const hn_node *n);
/* The operator exists in an opset that may be used. */
bool hn_may_form(const hn_pass_ctx *c, const char *op);

/* n adds a constant of one element to another input: which input that is; else -1. */
int hn_plus_scalar(const hn_node *n, double *v);
/* The constant target with which Reshape makes y of x: numbers, 0 to copy a size of x, at most one
 * -1, and that only where no size beside it can be 0. False: there is none. */
bool hn_reshape_target(const hn_shape *x, const hn_shape *y, int64_t *target);
/* A constant, given up to rounding in the type it is stored in. */
bool hn_near(double found, double wanted, hone_dtype t);

/* A value as the product of a number and other values, seen through Mul, Div and Pow by constants
 * of one element. Only nodes of n's graph that nothing else uses are seen through. */
#define HN_MOST_FACTORS 6
typedef struct hn_product {
    double scale;
    int n;
    hn_value *factor[HN_MOST_FACTORS];
} hn_product;
/* The output of n as a product; false: n is none of these, or has too many factors. */
bool hn_factors(const hn_node *n, hn_product *p);
/* v, an input of n, as a product; of one factor, v itself, if it is nothing else. */
bool hn_input_factors(const hn_node *n, int i, hn_product *p);

/* ---- rewriting ---- */

/* Puts the node made for root, whose inputs are set, in its place: it computes the value that was
 * root's first output. Removes root and what only it needed. */
void hn_take_place(hn_pass_ctx *c, hn_node *made, hn_node *root);
/* Whether uses of `old` can become uses of `by`: an output of a graph keeps its name, so it must
 * be possible to give that to what computes `by`. */
bool hn_can_replace(const hn_value *old, const hn_value *by);
/* Makes them so. What computed `old` is left to the caller (hn_prune). */
void hn_replace(hn_value *old, hn_value *by);
/* Replaces n's first output, its only one in use, by `by`; n goes, and what only it needed. */
void hn_bypass(hn_pass_ctx *c, hn_node *n, hn_value *by);
/* n, whose only output only root uses, computes root's first output instead; root goes. */
void hn_absorb(hn_pass_ctx *c, hn_node *n, hn_node *root);
/* Takes `bytes` from what the model may still grow by; false: that is too much. */
bool hn_charge(hn_pass_ctx *c, size_t bytes);

#endif

/* Two models of one graph, value by value.
 *
 * B is A after something was done to it: quantized, pruned, simplified, damaged. A pair is a float
 * value that nodes of A compute and what stands for it in B, found by name:
 *
 *     x                           as it is
 *     x_quantized                 integers, with the constants x_scale and x_zero_point beside them
 *     x_DequantizeLinear_Output   of ONNX Runtime, where x itself is gone, or is now what a Relu
 *                                 was applied to, which the range of the integers made superfluous
 *     dq_output_x_1               of NNCF, likewise
 *     a node of the same name     and of the same operator, or the one quantizers make of it
 *
 * Pairs cut both graphs into steps: the step of a pair is what computes its value from the pairs
 * and inputs before it, a Conv here, a DequantizeLinear and a Conv there. Everything else is said
 * in steps: a step of B is judged alone by giving it the values of A, a step is returned by
 * putting A's in the place of B's, and a model is made smaller by leaving steps out.
 *
 * Where B has no BatchNormalization and A has, those of A are folded into its weights first, so
 * that weights can be compared.
 */
#ifndef HN_MEASURE_PAIRS_H
#define HN_MEASURE_PAIRS_H

#include "ir/ir.h"

typedef enum hn_side { HN_SIDE_A, HN_SIDE_B } hn_side;

typedef struct hn_pair {
    const hn_value *a, *b;
    const hn_value *scale, *zero; /* of B's integers; NULL: b holds floats */
} hn_pair;

/* The graph of one side. */
typedef struct hn_pairs_graph {
    const hn_graph *graph;
    const hn_node **nodes; /* in order */
    int *place;            /* by id of a value: that of the node that computes it; -1: none does */
    int *pair;             /* by id of a value: the pair it belongs to; -1: none */
} hn_pairs_graph;

typedef struct hn_pairs {
    hn_allocator *alloc;
    hn_arena arena;
    hn_model *folded; /* A with BatchNormalization in its weights, or NULL */
    hn_pairs_graph side[2];
    int n; /* in the order of A's nodes */
    hn_pair *v;
    int n_lost; /* float values that nodes of A compute and that have no partner */
    const hn_value **lost;
} hn_pairs;

/* The models' types must have been inferred; they outlive the pairs, unchanged. HONE_E_SHAPE,
 * HONE_E_TYPE: they do not take the same inputs. */
hone_status hn_pairs_create(hn_pairs **out, const hn_model *a, const hn_model *b,
                            hn_allocator *alloc, hn_error *err);
void hn_pairs_destroy(hn_pairs *p); /* NULL accepted */

/* The step of pair i: marks its nodes in take (by place; those marked already are passed over) and
 * the pairs it reads in reads; either may be NULL. */
hone_status hn_pairs_step(const hn_pairs *p, hn_side side, int i, bool *take, bool *reads,
                          hn_error *err);

/* Part of a model: what computes the values of some pairs. Its outputs are those, in order. */
typedef struct hn_part {
    hn_model *model;
    int *in; /* what each input takes: a pair, or ~k: input k of A's graph. Lives with the model. */
} hn_part;
/* cut: pairs whose values come from outside instead of being computed, with the type and dims of
 * like[]; NULL: none. Quantized values are given and returned as the floats they stand for. */
hone_status hn_pairs_part(const hn_pairs *p, hn_side side, const bool *cut,
                          const hn_tensor *const *like, int n_out, const int *out,
                          hn_allocator *alloc, hn_part *part, hn_error *err);

/* B with the steps of some pairs put back to what they are in A. */
hone_status hn_pairs_hybrid(const hn_pairs *p, const bool *back, hn_allocator *alloc,
                            hn_model **out, hn_error *err);

/* The node of B that stands for a node of A within a step of B, whose nodes are marked in take;
 * NULL where there is none, or more than one. */
const hn_node *hn_pairs_node(const hn_pairs *p, const bool *take, const hn_node *of_a);
/* Whether the operator of b is that of a, or what quantizers make of it. */
bool hn_op_stands_for(const hn_node *b, const hn_node *a);

#endif

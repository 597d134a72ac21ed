/* Activations that are computed twice, so that a step takes less memory.
 *
 * Backward reads what forward has made, so that all of it is alive when the loss is known. Here the
 * forward part of a step falls into segments; of all but the last, only what crosses a border stays,
 * and the inside is computed once more just before the backward part of the segment begins:
 *
 *     forward    ─ segment 1 ─┬─ segment 2 ─┬─ segment 3 ─▶ loss
 *                             │             │                 │
 *     kept                    a             b                 │
 *                             │             │                 ▼
 *     backward   ◀─ 1 ─ segment 1 again ◀─ 2 ─ segment 2 again ◀─ 3
 *
 * This is a rewrite of the finished graph. The nodes of a segment that backward needs are copied,
 * and nodes of the backward part read the copies' values. Copies stand in the list of nodes right
 * before the first node that reads one of them; plans keep that order. Each copy has an attribute
 * `again`, which no operator knows: without it common_subexpressions would take a copy for the node
 * that it was made of.
 *
 * Values that are small next to the mean one are kept: statistics of normalizations, scores. So
 * nothing of the running statistics is computed twice. A copy computes the same bits as its
 * original, Dropout too, whose mask is a function of the step. An original that backward no longer
 * reads may be computed in one step with what reads it; where that would give other bits it is kept
 * (the weights of attention), or has another form from the beginning (Swish, step.c).
 *
 * Borders lie where the saved bytes of the segments are even and few bytes cross, which in residual
 * networks is behind a block.
 */
#ifndef HN_TRAIN_RECOMPUTE_H
#define HN_TRAIN_RECOMPUTE_H

#include "ir/ir.h"

/* The most segments that are worth trying: memory falls with the root of the number of layers. */
#define HN_MOST_SEGMENTS 32

typedef struct hn_recomputed {
    int segments; /* that are computed twice; fewer than asked for where the graph has no more */
    double share; /* of the multiply-accumulates of the graph as it was: those that came to it */
} hn_recomputed;

/* Cuts what `end`, the node that ends the forward part, depends on into segments + 1 segments. The
 * graph is sorted and inferred, its backward part lies behind `end`. Infer it again afterwards. */
hone_status hn_recompute(hn_graph *g, const hn_node *end, int segments, hn_recomputed *out,
                         hn_error *err);

#endif

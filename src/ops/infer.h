/* Type and shape inference over a model, and over one node with actual tensors. */
#ifndef HN_OPS_INFER_H
#define HN_OPS_INFER_H

#include "ops/op.h"

/* Fills in the types of all values of the model, subgraphs included, from its inputs and constants.
 * Contents of small integer values are followed, and nodes whose inputs are all known and small are
 * evaluated, so that shape arithmetic of exported models resolves.
 * A declared type fills in what cannot be inferred. Where a declared shape contradicts the inferred
 * one, the inferred one stands and a warning is logged; contradicting element types are an error.
 * A declared size of 0 says nothing where inference finds another or a symbol: some exporters write
 * unknown sizes so.
 * Nodes whose operator is unknown leave their outputs as declared. Nodes still in an old opset's
 * semantics are lifted on the way (lift.h); one that cannot be stays old, with a warning, and is
 * taken like an unknown operator.
 *
 * With `finding`, errors at nodes and contradictions go there instead, the node's outputs stay as
 * declared, and inference goes on: that is how all errors of a model are found. */
typedef struct hn_infer_options {
    /* An input with a default is taken to have those contents. */
    bool defaults;
    /* If the model does not infer and inputs have sizes of 0, these are made unknown and it is
     * inferred again. */
    bool free_zeros;
    void (*finding)(void *ctx, const hn_node *n, const hn_error *e);
    /* Called around each node whose operator is known: before, when its inputs have their types, to
     * edit its inputs; and after, when its outputs have theirs. Bodies of loops may be walked more
     * than once. */
    hone_status (*before)(void *ctx, hn_node *n, hn_error *err);
    hone_status (*after)(void *ctx, hn_node *n, hn_error *err);
    void *ctx;
} hn_infer_options;

hone_status hn_model_infer(hn_model *m, const hn_infer_options *o,
                           hn_error *err); /* o may be NULL */

/* Shapes, types and known contents of one node's outputs are put into c->out. c->in and node are
 * set by the caller; checks arity and types, runs the op's infer. */
hone_status hn_node_infer(hn_infer *c, hn_error *err);

/* Cost of a node whose values have types. Unknown shapes give 0. */
hone_status hn_node_cost(const hn_node *n, hn_cost *cost, hn_error *err);

#endif

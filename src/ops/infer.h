/* Type and shape inference over a model, and over one node with actual tensors. */
#ifndef HN_OPS_INFER_H
#define HN_OPS_INFER_H

#include "ops/op.h"

/* Fills in the types of all values of the model, subgraphs included, from its inputs and constants.
 * Contents of small integer values are followed, and nodes whose inputs are all known and small are
 * evaluated, so that shape arithmetic of exported models resolves.
 * A shape that contradicts a declared one is an error; a declared one fills in what cannot be
 * inferred. Nodes whose operator is unknown leave their outputs as declared. */
hone_status hn_model_infer(hn_model *m, hn_error *err);

/* Shapes, types and known contents of one node's outputs are put into c->out. c->in and node are
 * set by the caller; checks arity and types, runs the op's infer. */
hone_status hn_node_infer(hn_infer *c, hn_error *err);

/* Cost of a node whose values have types. Unknown shapes give 0. */
hone_status hn_node_cost(const hn_node *n, hn_cost *cost, hn_error *err);

#endif

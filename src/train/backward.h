/* Reverse-mode differentiation of a graph: adds the nodes that compute gradients.
 *
 *     x ──▶ Conv ──▶ Relu ──▶ ... ──▶ loss           the graph as it was
 *            │         │                 │
 *     dW ◀── dConv ◀── dRelu ◀── ... ◀── 1           what is added, from the end to the beginning
 *
 * A node takes part where its output depends on what is differentiated by, and the loss depends on
 * its output, both through floats: nothing flows through integers. What a node adds, its operator's
 * descriptor says (ops/grad.h). One that stands for simpler nodes is replaced by these first, and the
 * model is inferred again. Gradients of a value that several nodes read are added up in the
 * order of those nodes from the last to the first.
 */
#ifndef HN_TRAIN_BACKWARD_H
#define HN_TRAIN_BACKWARD_H

#include "ir/ir.h"

/* grads[i]: the gradient of loss, a float of one element, by `by`[i]; NULL: it does not depend on
 * it. The model has been inferred, with sizes that are all numbers; what is added has not.
 * HONE_E_UNSUPPORTED names a node on the way that cannot be differentiated, and what it lies
 * between. */
hone_status hn_backward(hn_graph *g, hn_value *loss, int n, hn_value *const *by, hn_value **grads,
                        hn_error *err);

#endif

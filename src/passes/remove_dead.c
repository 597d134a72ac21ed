/* What nothing uses goes.
 *
 *     u = Relu (x)                      (u unused)      becomes   nothing
 *     y, indices = MaxPool (x)          (indices unused) becomes  y = MaxPool (x)
 *     the initializer w                 (unused)        becomes   nothing
 *
 * Fires for nodes none of whose outputs is used, for unused outputs the operator declares optional,
 * and for unused initializers that are no inputs. Inputs and outputs of graphs stay.
 */
#include <limits.h>

#include "passes/pass.h"

static bool is_used(const hn_node *n) {
    for (int i = 0; i < n->n_outputs; i++)
        if (n->outputs[i] != NULL && n->outputs[i]->n_uses > 0) return true;
    return n->n_outputs == 0;
}

/* Where an operator may have any number of outputs, their count means something. */
static void drop_optional_outputs(hn_pass_ctx *c, hn_node *n) {
    if (n->op == NULL || n->old) return;
    const hn_sig *sig = hn_op_sig(n->op);
    if (sig->out_max == INT_MAX) return;
    for (int i = 0; i < n->n_outputs && i < sig->n_out; i++) {
        hn_value *v = n->outputs[i];
        if (v == NULL || v->n_uses > 0 || !sig->out[i].optional) continue;
        hn_node_set_output(n, i, NULL);
        hn_value_remove(v);
        c->fired++;
    }
    while (n->n_outputs > 1 && n->outputs[n->n_outputs - 1] == NULL) {
        hn_node_touch(n);
        n->n_outputs--;
        c->fired++;
    }
}

hone_status hn_pass_remove_dead(hn_graph *g, hn_pass_ctx *c, hn_error *err) {
    (void)err;
    for (hn_node *n = g->last, *prev; n != NULL; n = prev) {
        prev = n->prev;
        if (is_used(n)) {
            drop_optional_outputs(c, n);
        } else {
            hn_node_remove(n);
            c->fired++;
        }
    }
    for (int i = 0; i < g->n_values; i++) {
        hn_value *v = g->values[i];
        if (v->dead || v->constant == NULL || v->is_input || v->n_uses > 0) continue;
        hn_value_remove(v);
        c->fired++;
    }
    return HONE_OK;
}

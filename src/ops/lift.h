/* Old definitions and new ones.
 *
 * ONNX operators change: what was an attribute becomes an input, defaults move, operators are
 * renamed. hone knows one definition of each, the newest. Reading lifts a node to it; saving at an
 * older opset brings it back. Both directions stand in one table, lift.def: (operator, opset that
 * changed it, lift, lower). What merely was added (an attribute, an input, a type) needs no
 * function: history.def says since when it exists, and a node that does not use it is fine before.
 *
 * Lifting keeps the node as it stood in its `source`; as long as nothing edits what became of it,
 * it is saved exactly as it came.
 */
#ifndef HN_OPS_LIFT_H
#define HN_OPS_LIFT_H

#include "ops/op.h"

/* Brings a node whose `old` is set to the newest semantics. May insert nodes around it and add
 * constants. On failure (but for lack of memory) the node is as it was: HONE_E_UNSUPPORTED when a
 * rule misses something about the types of its inputs or does not cover the old form, HONE_E_MODEL
 * when the old form itself is wrong. */
hone_status hn_lift_node(hn_node *n, hn_error *err);

/* Before saving: settles which sources can be written as they came. */
void hn_lift_settle(hn_model *m);

/* How n is written at the opset of its domain. op_type NULL: another node of the same source stands
 * for it, write nothing. Arrays and attributes live in the arena; tensors are borrowed. On failure
 * *need is an opset at which this obstacle is gone (0: there is none). */
hone_status hn_node_form(const hn_node *n, int64_t opset, hn_arena *arena, hn_form *out,
                         int64_t *need, hn_error *err);

/* The opset that gave the operator the attribute; 0: it is as old as the operator, or unknown. */
int hn_attr_since(const char *op, const char *attr);

/* The opset to save at: wanted (0: the model's own), raised as far as nodes need. With `exact` a
 * node that needs more is an error that names it. */
hone_status hn_model_save_opset(const hn_model *m, int64_t wanted, bool exact, int64_t *opset,
                                hn_error *err);

/* ---- for the rules ---- */

typedef struct hn_lift_rule {
    const char *op; /* "*": every operator */
    int to;         /* nodes of an older opset than this are in the old form */
    hone_status (*lift)(hn_node *n, hn_error *err); /* NULL: the form is the same */
    /* Turns the form back; fails with HONE_E_UNSUPPORTED when the old form cannot say it. NULL: the
     * form is the same, or `to` is 7 or older: there only what is as it came is saved. */
    hone_status (*lower)(const hn_node *n, hn_form *f, hn_arena *arena, hn_error *err);
} hn_lift_rule;

extern const hn_lift_rule hn_lift_rules[];
extern const int hn_n_lift_rules;

/* Brings a form of that opset in line with history.def: drops what says nothing, and fails with
 * HONE_E_UNSUPPORTED and *need on what did not exist yet. */
hone_status hn_form_fit(const hn_node *n, hn_form *f, int64_t opset, hn_arena *arena, int64_t *need,
                        hn_error *err);

#endif

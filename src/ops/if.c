/* If(cond) -> (outputs...): the outputs of one of two subgraphs. */
#include "ops/control.h"

static hone_status infer(hn_infer *c, hn_error *err) {
    static const char *const names[2] = {"else_branch", "then_branch"};
    hn_graph *branch[2];
    for (int k = 0; k < 2; k++) {
        branch[k] = hn_attr_graph(c->node, names[k]);
        HN_CHECK(err, branch[k]->n_outputs == c->n_out && branch[k]->n_inputs == 0, HONE_E_MODEL,
                 "%s has %d outputs and %d inputs, expected %d and 0", names[k],
                 branch[k]->n_outputs, branch[k]->n_inputs, c->n_out);
    }
    if (c->body == NULL) return HONE_OK;
    int64_t cond = 0;
    bool known = hn_in_ints(c, 0, &cond, 1) == 1;
    /* The branch that is not taken is looked at too, so that it is lifted and can be saved. */
    for (int k = 0; k < 2; k++)
        HN_TRY(c->body(c, branch[k], known && (cond != 0) == (k == 1), 0, NULL, err));
    for (int i = 0; i < c->n_out; i++) {
        const hn_type *no = &branch[0]->outputs[i].value->type,
                      *yes = &branch[1]->outputs[i].value->type;
        if (known) {
            const hn_type *t = cond != 0 ? yes : no;
            hn_set_dtype(c, i, t->dtype);
            hn_set_shape(c, i, &t->shape);
            continue;
        }
        bool both = no->dtype != HONE_DTYPE_NONE && yes->dtype != HONE_DTYPE_NONE;
        HN_CHECK(err, !both || no->dtype == yes->dtype, HONE_E_TYPE,
                 "output %d is %s in then_branch and %s in else_branch", i,
                 hone_dtype_name(yes->dtype), hone_dtype_name(no->dtype));
        hn_set_dtype(c, i, yes->dtype != HONE_DTYPE_NONE ? yes->dtype : no->dtype);
        hn_shape s = hn_shape_cover(c->dims, &no->shape, &yes->shape);
        hn_set_shape(c, i, &s);
    }
    return HONE_OK;
}

static hone_status ref(hn_eval *e, hn_error *err) {
    bool yes;
    HN_TRY(hn_want_flag(e->in[0], "the condition", &yes, err));
    hn_graph *g = hn_attr_graph(e->node, yes ? "then_branch" : "else_branch");
    HN_CHECK(err, g->n_outputs == e->n_out, HONE_E_MODEL, "the branch has %d outputs, expected %d",
             g->n_outputs, e->n_out);
    return hn_eval_branch(e, g, err);
}

static const hn_attr_def attrs[] = {
    HN_ATTR_REQ("else_branch", GRAPH),
    HN_ATTR_REQ("then_branch", GRAPH),
    {0},
};

const hn_op_def hn_op_if = {
    .name = "If",
    .versions = "1 11 13 16 19 21 23 24 25",
    .sig = "(cond:bool) -> (outputs:all...)",
    .attrs = attrs,
    .traits = HN_CONTROL | HN_DYNAMIC,
    .no_grad = "what it computes lies in a subgraph",
    .infer = infer,
    .ref = ref,
};

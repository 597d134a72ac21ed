/* Scan(states..., sequences...) -> (states..., stacks...)
 *
 *     for (t = 0; t < length; t++) {
 *         states..., parts... = body(states..., sequence[t]...)
 *         stack[t] = part
 *     }
 * each sequence and stack along its own axis and in its own direction. A state keeps its type and
 * shape, and so does a part.
 */
#include "ops/control.h"

typedef struct plan {
    hn_graph *body;
    int states, sequences, stacks;
} plan;

static hone_status form(const hn_node *n, plan *p, hn_error *err) {
    int64_t sequences = hn_attr_i(n, "num_scan_inputs");
    p->body = hn_attr_graph(n, "body");
    HN_CHECK(err, sequences >= 1 && sequences <= n->n_inputs, HONE_E_MODEL,
             "num_scan_inputs is %lld, expected 1 to %d", (long long)sequences, n->n_inputs);
    p->sequences = (int)sequences;
    p->states = n->n_inputs - p->sequences;
    p->stacks = n->n_outputs - p->states;
    HN_CHECK(err, p->body->n_inputs == n->n_inputs, HONE_E_MODEL,
             "the body takes %d inputs, expected %d", p->body->n_inputs, n->n_inputs);
    HN_CHECK(err, p->stacks >= 0 && p->body->n_outputs == n->n_outputs, HONE_E_MODEL,
             "the body gives %d outputs, expected %d", p->body->n_outputs, n->n_outputs);
    return HONE_OK;
}

/* Entry i of a list attribute that may be absent (then 0). */
static hone_status entry(const hn_node *n, const char *name, int i, int want, int64_t *v,
                         hn_error *err) {
    int count;
    const int64_t *list = hn_attr_ints(n, name, &count);
    *v = 0;
    if (list == NULL || count == 0) return HONE_OK;
    HN_CHECK(err, count == want, HONE_E_MODEL, "attribute '%s' has %d entries, expected %d", name,
             count, want);
    *v = list[i];
    return HONE_OK;
}

static hone_status axis_of(const hn_node *n, const char *name, int i, int want, int rank, int *axis,
                           hn_error *err) {
    int64_t a;
    HN_TRY(entry(n, name, i, want, &a, err));
    HN_TRY(hn_want_axis(&a, rank, err));
    *axis = (int)a;
    return HONE_OK;
}

/* What is known of a state from how it goes into the body and, if that runs, how it comes out. */
static hone_status one_shape(const hn_shape *in, const hn_shape *out, bool runs, int state,
                             hn_shape *both, hn_error *err) {
    *both = in->rank >= 0 || !runs ? *in : *out;
    if (in->rank < 0 || out->rank < 0) return HONE_OK;
    bool agree = in->rank == out->rank;
    for (int k = 0; agree && k < in->rank; k++) {
        int64_t a, b;
        bool number = hn_dim_is_const(in->dim[k], &a);
        agree = !number || !hn_dim_is_const(out->dim[k], &b) || a == b;
        if (runs && !number && hn_dim_is_const(out->dim[k], &b)) both->dim[k] = out->dim[k];
    }
    char a[256], b[256];
    HN_CHECK(err, agree, HONE_E_SHAPE, "state %d goes into the body as %s and comes out as %s",
             state, hn_shape_text(in, a, sizeof a), hn_shape_text(out, b, sizeof b));
    return HONE_OK;
}

static hone_status infer(hn_infer *c, hn_error *err) {
    plan p;
    HN_TRY(form(c->node, &p, err));
    if (c->body == NULL) return HONE_OK;
    hn_infer_in *in = hn_arena_array(c->scratch, (size_t)c->n_in + 1, sizeof *in);
    if (in == NULL) return HN_NOMEM(err);
    hn_dim length = NULL; /* a number when one sequence tells it */
    int64_t known;
    for (int i = 0; i < c->n_in; i++) {
        in[i] = c->in[i];
        in[i].tensor = NULL;
        in[i].values = NULL;
        int rank = hn_in_rank(c, i), axis;
        if (i < p.states || rank < 0) continue;
        HN_TRY(axis_of(c->node, "scan_input_axes", i - p.states, p.sequences, rank, &axis, err));
        hn_dim size = c->in[i].shape.dim[axis];
        if (length != NULL)
            HN_TRY(hn_want_equal(length, size, "the lengths of the sequences", err));
        if (length == NULL || !hn_dim_is_const(length, &known)) length = size;
        in[i].shape.rank = rank - 1;
        for (int k = axis; k + 1 < rank; k++) in[i].shape.dim[k] = c->in[i].shape.dim[k + 1];
    }
    int64_t least = 0, most;
    if (length != NULL) hn_dim_range(length, &least, &most);
    HN_TRY(c->body(c, p.body, least > 0, c->n_in, in, err));
    for (int i = 0; i < c->n_out; i++) {
        const hn_type *t = &p.body->outputs[i].value->type;
        hn_set_dtype(c, i, t->dtype);
        if (i < p.states) {
            hn_shape s;
            HN_TRY(hn_want_carried(in[i].dtype, t->dtype, i, err));
            HN_TRY(one_shape(&in[i].shape, &t->shape, least > 0, i, &s, err));
            hn_set_shape(c, i, &s);
        } else if (t->shape.rank >= 0 && t->shape.rank < HONE_MAX_RANK) {
            int axis;
            HN_TRY(axis_of(c->node, "scan_output_axes", i - p.states, p.stacks, t->shape.rank + 1,
                           &axis, err));
            hn_shape s = {.rank = t->shape.rank + 1};
            s.dim[axis] = length != NULL ? length : hn_dim_fresh(c->dims, -1);
            for (int k = 0; k < t->shape.rank; k++) {
                hn_dim d = t->shape.dim[k];
                s.dim[k < axis ? k : k + 1] = least > 0 ? d : hn_untouched_dim(c, d);
            }
            hn_set_shape(c, i, &s);
        }
    }
    return HONE_OK;
}

/* Allocates stack `out` after the first part (or, of a sequence of length 0, after what the body
 * says about it) is known. */
static hone_status open_stack(hn_eval *e, const plan *p, int out, const hn_tensor *part,
                              int64_t length, int *axis, hn_error *err) {
    const hn_type *t = &p->body->outputs[out].value->type;
    int rank = part != NULL ? part->rank : t->shape.rank < 0 ? 0 : t->shape.rank;
    int64_t inner[HONE_MAX_RANK], dims[HONE_MAX_RANK];
    HN_CHECK(err, rank < HONE_MAX_RANK, HONE_E_SHAPE, "output %d has rank %d", out, rank + 1);
    HN_TRY(axis_of(e->node, "scan_output_axes", out - p->states, p->stacks, rank + 1, axis, err));
    for (int k = 0; k < rank; k++)
        inner[k] = part != NULL ? part->dims[k] : hn_untouched_size(e, t->shape.dim[k]);
    for (int k = 0; k <= rank; k++)
        dims[k] = k < *axis ? inner[k] : k > *axis ? inner[k - 1] : length;
    hone_dtype dtype = part != NULL ? part->dtype : t->dtype;
    HN_CHECK(err, dtype != HONE_DTYPE_STRING, HONE_E_UNSUPPORTED, "strings cannot be scanned");
    return hn_eval_alloc(e, out, dtype, rank + 1, dims, err);
}

static hone_status ref(hn_eval *e, hn_error *err) {
    plan p;
    HN_TRY(form(e->node, &p, err));
    size_t n_in = (size_t)e->n_in, n_out = (size_t)e->n_out;
    hn_tensor **args = hn_arena_array(e->scratch, n_in + 1, sizeof *args);
    hn_tensor **results = hn_arena_array(e->scratch, n_out + 1, sizeof *results);
    hn_tensor **first = hn_arena_array(e->scratch, n_out + 1, sizeof *first);
    int *in_axis = hn_arena_array(e->scratch, n_in + 1, sizeof *in_axis);
    int *out_axis = hn_arena_array(e->scratch, n_out + 1, sizeof *out_axis);
    if (args == NULL || results == NULL || first == NULL || in_axis == NULL || out_axis == NULL)
        return HN_NOMEM(err);
    int64_t length = -1;
    for (int i = p.states; i < e->n_in; i++) {
        const hn_tensor *t = e->in[i];
        HN_TRY(axis_of(e->node, "scan_input_axes", i - p.states, p.sequences, t->rank, &in_axis[i],
                       err));
        int64_t size = t->dims[in_axis[i]];
        HN_CHECK(err, length < 0 || length == size, HONE_E_SHAPE,
                 "sequence %d has length %lld, an earlier one %lld", i - p.states, (long long)size,
                 (long long)length);
        length = size;
    }

    hone_status status = HONE_OK;
    for (int i = 0; i < p.states; i++) args[i] = hn_tensor_ref(e->in[i]);
    for (int64_t t = 0; t < length; t++) {
        for (int i = p.states; i < e->n_in; i++) {
            int64_t back;
            HN_TRY_GOTO(
                entry(e->node, "scan_input_directions", i - p.states, p.sequences, &back, err));
            hn_tensor_unref(args[i]);
            args[i] = NULL;
            HN_TRY_GOTO(hn_axis_take(&args[i], e->alloc, e->in[i], in_axis[i],
                                     back != 0 ? length - 1 - t : t, err));
        }
        HN_TRY_GOTO(hn_eval_body(e, p.body, e->n_in, (const hn_tensor *const *)args, results, err));
        for (int i = 0; i < e->n_out; i++) {
            if (i < p.states) {
                HN_TRY_GOTO(hn_want_alike(args[i], results[i], "state", i, err));
                hn_tensor_unref(args[i]);
                args[i] = results[i];
                results[i] = NULL;
                continue;
            }
            int64_t back;
            HN_TRY_GOTO(
                entry(e->node, "scan_output_directions", i - p.states, p.stacks, &back, err));
            if (t == 0) {
                HN_TRY_GOTO(open_stack(e, &p, i, results[i], length, &out_axis[i], err));
                first[i] = hn_tensor_ref(results[i]);
            }
            HN_TRY_GOTO(hn_want_alike(first[i], results[i], "output", i, err));
            if (e->out[i] != NULL)
                hn_axis_put(e->out[i], out_axis[i], back != 0 ? length - 1 - t : t, results[i]);
            hn_tensor_unref(results[i]);
            results[i] = NULL;
        }
    }
    for (int i = 0; i < p.states; i++) {
        hn_eval_give(e, i, args[i]);
        args[i] = NULL;
    }
    for (int i = p.states; length == 0 && i < e->n_out; i++)
        HN_TRY_GOTO(open_stack(e, &p, i, NULL, 0, &out_axis[i], err));
fail:
    for (size_t i = 0; i < n_in; i++) hn_tensor_unref(args[i]);
    for (size_t i = 0; i < n_out; i++) {
        hn_tensor_unref(results[i]);
        hn_tensor_unref(first[i]);
    }
    return status;
}

static const hn_attr_def attrs[] = {
    HN_ATTR_REQ("body", GRAPH),
    HN_ATTR_REQ("num_scan_inputs", INT),
    HN_ATTR_OPT("scan_input_axes", INTS),
    HN_ATTR_OPT("scan_input_directions", INTS),
    HN_ATTR_OPT("scan_output_axes", INTS),
    HN_ATTR_OPT("scan_output_directions", INTS),
    {0},
};

const hn_op_def hn_op_scan = {
    .name = "Scan",
    .versions = "8 9 11 16 19 21 23 24 25",
    .sig = "(initial_state_and_scan_inputs:all...) -> (final_state_and_scan_outputs:all...)",
    .attrs = attrs,
    .traits = HN_CONTROL | HN_DYNAMIC,
    .no_grad = "what it computes lies in a subgraph",
    .infer = infer,
    .ref = ref,
};

/* Loop(M, cond, carried...) -> (carried..., scans...)
 *
 *     for (i = 0; i < M && cond; i++) {
 *         cond, carried..., parts... = body(i, cond, carried...)
 *         append each part to its scan output
 *     }
 */
#include "base/size.h"
#include "ops/control.h"

/* Inference goes round a body until the carried shapes settle: at most this often, and only in
 * loops at most so many subgraphs deep, because nested loops multiply. Then they are taken to be
 * unknown. */
#define MOST_ROUNDS 4
#define DEEPEST_ROUNDS 3

static hone_status form(const hn_node *n, const hn_graph *body, int *carried, int *scans,
                        hn_error *err) {
    *carried = n->n_inputs > 2 ? n->n_inputs - 2 : 0;
    *scans = n->n_outputs - *carried;
    HN_CHECK(err, body->n_inputs == *carried + 2, HONE_E_MODEL,
             "the body takes %d inputs, expected %d (iteration, condition, %d carried)",
             body->n_inputs, *carried + 2, *carried);
    HN_CHECK(err, *scans >= 0 && body->n_outputs == n->n_outputs + 1, HONE_E_MODEL,
             "the body gives %d outputs, expected %d", body->n_outputs, n->n_outputs + 1);
    return HONE_OK;
}

/* A value that goes round. */
typedef struct carried_shape {
    hn_shape shape;
    uint32_t wide; /* axes that change on the way round: each has a symbol of this loop */
} carried_shape;

/* Compares what went into the body with what came out. An axis that changed gets a symbol of its
 * own, a changed rank makes the shape unknown; true when something had to be changed. */
static bool widen(hn_dims *dims, const hn_graph *body, carried_shape *carried, int n) {
    bool changed = false;
    for (int i = 0; i < n; i++) {
        hn_shape *in = &carried[i].shape;
        const hn_shape *out = &body->outputs[i + 1].value->type.shape;
        if (in->rank >= 0 && in->rank != out->rank) {
            *in = hn_shape_unknown();
            changed = true;
        }
        for (int k = 0; k < in->rank; k++) {
            if (in->dim[k] == out->dim[k] || (carried[i].wide >> k & 1) != 0) continue;
            in->dim[k] = hn_dim_fresh(dims, -1);
            carried[i].wide |= 1u << k;
            changed = true;
        }
    }
    return changed;
}

/* Infers the body with the shapes it has in every iteration, not just the first. */
static hone_status settle(hn_infer *c, hn_graph *body, bool runs, carried_shape *carried, int n,
                          hn_error *err) {
    hn_infer_in *in = hn_arena_array(c->scratch, (size_t)n + 2, sizeof *in);
    if (in == NULL) return HN_NOMEM(err);
    hn_shape scalar = {.rank = 0};
    in[0] = hn_infer_type(HONE_DTYPE_S64, &scalar);
    in[1] = hn_infer_type(HONE_DTYPE_BOOL, &scalar);
    for (int i = 0; i < n; i++) {
        in[i + 2] = c->in[i + 2];
        in[i + 2].tensor = NULL; /* the contents change from one iteration to the next */
        in[i + 2].values = NULL;
        carried[i] = (carried_shape){.shape = c->in[i + 2].shape};
    }
    for (int round = 0;; round++) {
        if (round == MOST_ROUNDS || body->depth > DEEPEST_ROUNDS)
            for (int i = 0; i < n; i++) carried[i].shape = hn_shape_unknown();
        for (int i = 0; i < n; i++) in[i + 2].shape = carried[i].shape;
        HN_TRY(c->body(c, body, runs, n + 2, in, err));
        for (int i = 0; i < n; i++)
            HN_TRY(
                hn_want_carried(in[i + 2].dtype, body->outputs[i + 1].value->type.dtype, i, err));
        if (!widen(c->dims, body, carried, n)) return HONE_OK;
    }
}

typedef struct mention {
    const carried_shape *carried;
    int n;
    bool found;
} mention;

static int64_t note_mention(void *ctx, hn_dim symbol) {
    mention *m = ctx;
    for (int i = 0; i < m->n; i++)
        for (int k = 0; k < m->carried[i].shape.rank; k++)
            if ((m->carried[i].wide >> k & 1) != 0 && m->carried[i].shape.dim[k] == symbol)
                m->found = true;
    return 1;
}

/* d as seen after the loop: what depends on the iteration is some size. */
static hn_dim after_loop(hn_dims *dims, hn_dim d, const carried_shape *carried, int n) {
    mention m = {carried, n, false};
    int64_t unused;
    bool valid = hn_dim_eval(d, note_mention, &m, &unused);
    return valid && !m.found ? d : hn_dim_fresh(dims, -1);
}

static hone_status infer(hn_infer *c, hn_error *err) {
    hn_graph *body = hn_attr_graph(c->node, "body");
    int n, scans;
    HN_TRY(form(c->node, body, &n, &scans, err));
    if (c->body == NULL) return HONE_OK;
    carried_shape *carried = hn_arena_array(c->scratch, (size_t)n + 1, sizeof *carried);
    if (carried == NULL) return HN_NOMEM(err);
    int64_t most = -1, go; /* iterations; the condition */
    if (hn_in_ints(c, 0, &most, 1) != 1)
        most = -1;
    else if (most < 0)
        most = 0;
    bool runs = (!hn_has_in(c, 0) || most > 0) &&
                (!hn_has_in(c, 1) || (hn_in_ints(c, 1, &go, 1) == 1 && go != 0));
    HN_TRY(settle(c, body, runs, carried, n, err));
    for (int i = 0; i < c->n_out; i++) {
        const hn_type *t = &body->outputs[i + 1].value->type;
        const hn_shape *part = i < n ? &carried[i].shape : &t->shape;
        int lead = i < n ? 0 : 1; /* scan outputs get an axis in front */
        hn_set_dtype(c, i, t->dtype);
        if (part->rank < 0 || part->rank + lead > HONE_MAX_RANK) continue;
        hn_shape s = {.rank = part->rank + lead};
        if (lead) s.dim[0] = hn_dim_fresh(c->dims, most);
        for (int k = 0; k < part->rank; k++)
            s.dim[k + lead] = i < n || runs ? after_loop(c->dims, part->dim[k], carried, n)
                                            : hn_untouched_dim(c, part->dim[k]);
        hn_set_shape(c, i, &s);
    }
    return HONE_OK;
}

/* The parts of one scan output, in order. */
typedef struct parts {
    hn_tensor **v;
    int64_t n, cap;
} parts;

static bool append(hn_allocator *alloc, parts *p, hn_tensor *t) {
    if (p->n == p->cap) {
        int64_t cap = p->cap == 0 ? 16 : p->cap * 2;
        hn_tensor **grown = hn_realloc(alloc, p->v, (size_t)cap * sizeof *grown, HN_MEM_SCRATCH);
        if (grown == NULL) return false;
        p->v = grown;
        p->cap = cap;
    }
    p->v[p->n++] = t;
    return true;
}

/* Joins the parts along a new first axis. */
static hone_status stack(hn_eval *e, int out, const parts *p, const hn_value *like, hn_error *err) {
    int64_t dims[HONE_MAX_RANK] = {p->n};
    int rank = 1;
    hone_dtype dtype = like->type.dtype;
    if (p->n > 0) {
        const hn_tensor *first = p->v[0];
        HN_CHECK(err, first->rank < HONE_MAX_RANK, HONE_E_SHAPE, "scan output %d has rank %d", out,
                 first->rank + 1);
        rank = first->rank + 1;
        dtype = first->dtype;
        for (int i = 0; i < first->rank; i++) dims[i + 1] = first->dims[i];
    } else if (like->type.shape.rank > 0 && like->type.shape.rank < HONE_MAX_RANK) {
        rank = like->type.shape.rank + 1;
        for (int i = 0; i < rank - 1; i++)
            dims[i + 1] = hn_untouched_size(e, like->type.shape.dim[i]);
    }
    HN_CHECK(err, dtype != HONE_DTYPE_STRING, HONE_E_UNSUPPORTED, "strings cannot be scanned");
    HN_TRY(hn_eval_alloc(e, out, dtype, rank, dims, err));
    if (hn_eval_out(e, out) == NULL) return HONE_OK;
    for (int64_t i = 0; i < p->n; i++) hn_axis_put(e->out[out], 0, i, p->v[i]);
    return HONE_OK;
}

/* Only the trip count ends the loop: what the body says of going on is what it was told. */
static bool goes_on(const hn_graph *body) {
    const hn_value *v = body->outputs[0].value;
    while (v->producer != NULL && strcmp(v->producer->op_type, "Identity") == 0)
        v = v->producer->inputs[0].value;
    return v == body->inputs[1];
}

/* All parts of a scan output, of which the first is known, must fit into memory. */
static hone_status check_room(const hn_eval *e, const hn_tensor *part, int64_t trips, int out,
                              hn_error *err) {
    size_t bytes;
    bool fits = hn_size_mul(part->bytes, (size_t)trips, &bytes) && hn_alloc_fits(e->alloc, bytes);
    HN_CHECK(err, fits, HONE_E_NOMEM,
             "out of memory (%lld iterations give scan output %d %zu bytes each)", (long long)trips,
             out, part->bytes);
    return HONE_OK;
}

static hone_status ref(hn_eval *e, hn_error *err) {
    hn_graph *body = hn_attr_graph(e->node, "body");
    int carried, n_scans;
    HN_TRY(form(e->node, body, &carried, &n_scans, err));
    int64_t trips = INT64_MAX;
    bool go = true;
    const hn_tensor *count = hn_eval_in(e, 0), *cond = hn_eval_in(e, 1);
    if (count != NULL) {
        HN_CHECK(err, count->n == 1, HONE_E_SHAPE, "the trip count has %lld elements, expected 1",
                 (long long)count->n);
        trips = hn_tensor_s64(count, 0);
    }
    if (cond != NULL) HN_TRY(hn_want_flag(cond, "the condition", &go, err));

    /* state: iteration, condition, carried; results: condition, carried, parts */
    size_t n_state = (size_t)carried + 2, n_results = (size_t)body->n_outputs;
    hn_tensor **state = hn_arena_array(e->scratch, n_state, sizeof *state);
    hn_tensor **results = hn_arena_array(e->scratch, n_results + 1, sizeof *results);
    parts *scans = hn_arena_array(e->scratch, (size_t)n_scans + 1, sizeof *scans);
    if (state == NULL || results == NULL || scans == NULL) return HN_NOMEM(err);
    hone_status status = HONE_OK;
    for (int i = 0; i < carried; i++) state[i + 2] = hn_tensor_ref(e->in[i + 2]);
    for (int64_t it = 0; it < trips && go; it++) {
        for (int i = 0; i < 2; i++) {
            hn_tensor_unref(state[i]);
            state[i] = NULL;
        }
        HN_TRY_GOTO(hn_tensor_from_s64(&state[0], e->alloc, HONE_DTYPE_S64, 0, NULL, &it, err));
        HN_TRY_GOTO(
            hn_tensor_from_s64(&state[1], e->alloc, HONE_DTYPE_BOOL, 0, NULL, &(int64_t){1}, err));
        HN_TRY_GOTO(
            hn_eval_body(e, body, (int)n_state, (const hn_tensor *const *)state, results, err));
        for (int i = 0; i < carried; i++) {
            HN_TRY_GOTO(hn_want_carried(state[i + 2]->dtype, results[i + 1]->dtype, i, err));
            hn_tensor_unref(state[i + 2]);
            state[i + 2] = results[i + 1];
            results[i + 1] = NULL;
        }
        for (int i = 0; i < n_scans; i++) {
            hn_tensor **part = &results[1 + carried + i];
            if (it == 0 && count != NULL && goes_on(body))
                HN_TRY_GOTO(check_room(e, *part, trips, carried + i, err));
            if (scans[i].n > 0)
                HN_TRY_GOTO(hn_want_alike(scans[i].v[0], *part, "scan output", carried + i, err));
            if (!append(e->alloc, &scans[i], *part)) {
                status = HN_NOMEM(err);
                goto fail;
            }
            *part = NULL;
        }
        HN_TRY_GOTO(hn_want_flag(results[0], "the condition the body gives", &go, err));
        hn_tensor_unref(results[0]);
        results[0] = NULL;
    }
    for (int i = 0; i < carried; i++) {
        hn_eval_give(e, i, state[i + 2]);
        state[i + 2] = NULL;
    }
    for (int i = 0; i < n_scans; i++)
        HN_TRY_GOTO(stack(e, carried + i, &scans[i], body->outputs[1 + carried + i].value, err));
fail:
    for (size_t i = 0; i < n_state; i++) hn_tensor_unref(state[i]);
    for (size_t i = 0; i < n_results; i++) hn_tensor_unref(results[i]);
    for (int i = 0; i < n_scans; i++) {
        for (int64_t k = 0; k < scans[i].n; k++) hn_tensor_unref(scans[i].v[k]);
        hn_free(e->alloc, scans[i].v);
    }
    return status;
}

static const hn_attr_def attrs[] = {
    HN_ATTR_REQ("body", GRAPH),
    {0},
};

const hn_op_def hn_op_loop = {
    .name = "Loop",
    .versions = "1 11 13 16 19 21 23 24 25",
    .sig = "(M:s64?, cond:bool?, v_initial:all*) -> (v_final_and_scan_outputs:all*)",
    .attrs = attrs,
    .traits = HN_CONTROL | HN_DYNAMIC,
    .no_grad = "what it computes lies in a subgraph",
    .infer = infer,
    .ref = ref,
};

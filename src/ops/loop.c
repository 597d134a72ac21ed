/* Loop(M, cond, carried...) -> (carried..., scans...)
 *
 *     for (i = 0; i < M && cond; i++) {
 *         cond, carried..., parts... = body(i, cond, carried...)
 *         append each part to its scan output
 *     }
 */
#include "ops/control.h"

/* A loop without a trip count that passes this many iterations is taken to be endless. */
#define MOST_ITERATIONS 10000000

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

static hone_status infer(hn_infer *c, hn_error *err) {
    hn_graph *body = hn_attr_graph(c->node, "body");
    int carried, scans;
    HN_TRY(form(c->node, body, &carried, &scans, err));
    if (c->body == NULL) return HONE_OK;

    hn_infer_in *in = hn_arena_array(c->scratch, (size_t)carried + 2, sizeof *in);
    if (in == NULL) return HN_NOMEM(err);
    hn_shape scalar = {.rank = 0};
    in[0] = hn_infer_type(HONE_DTYPE_S64, &scalar);
    in[1] = hn_infer_type(HONE_DTYPE_BOOL, &scalar);
    for (int i = 0; i < carried; i++) {
        in[i + 2] = c->in[i + 2];
        in[i + 2].tensor = NULL; /* the contents change from one iteration to the next */
        in[i + 2].values = NULL;
    }
    /* A carried shape may change on the way round. Widen it until a further round changes nothing:
     * first the dims that move, then the rank. */
    for (int round = 0;; round++) {
        HN_TRY(c->body(c, body, carried + 2, in, err));
        bool stable = true;
        for (int i = 0; i < carried; i++) {
            const hn_type *t = &body->outputs[i + 1].value->type;
            hn_shape *s = &in[i + 2].shape;
            if (s->rank < 0 || !in[i + 2].is_tensor) continue;
            if (hn_shape_equal(s, &t->shape)) continue;
            bool moved = t->shape.rank != s->rank;
            for (int k = 0; !moved && k < s->rank; k++)
                moved = s->dim[k] != t->shape.dim[k] && !hn_dim_is_fresh(s->dim[k]);
            if (!moved) continue;
            *s = round < 2 ? hn_shape_cover(c->dims, s, &t->shape) : hn_shape_unknown();
            body->inputs[i + 2]->type.shape = *s;
            stable = false;
        }
        if (stable || round > 3) break;
    }
    int64_t trips = -1;
    if (hn_in_ints(c, 0, &trips, 1) == 1 && trips < 0) trips = 0;
    for (int i = 0; i < c->n_out; i++) {
        const hn_type *t = &body->outputs[i + 1].value->type;
        hn_set_dtype(c, i, t->dtype);
        if (i < carried) {
            hn_set_shape(c, i, &in[i + 2].shape);
        } else if (t->shape.rank >= 0 && t->shape.rank < HONE_MAX_RANK) {
            hn_shape s = {.rank = t->shape.rank + 1};
            s.dim[0] = hn_dim_fresh(c->dims, trips);
            for (int k = 0; k < t->shape.rank; k++) s.dim[k + 1] = t->shape.dim[k];
            hn_set_shape(c, i, &s);
        }
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
            if (!hn_dim_is_const(like->type.shape.dim[i], &dims[i + 1])) dims[i + 1] = 0;
    }
    HN_CHECK(err, dtype != HONE_DTYPE_STRING, HONE_E_UNSUPPORTED, "strings cannot be scanned");
    HN_TRY(hn_eval_alloc(e, out, dtype, rank, dims, err));
    if (hn_eval_out(e, out) == NULL) return HONE_OK;
    for (int64_t i = 0; i < p->n; i++) hn_axis_put(e->out[out], 0, i, p->v[i]);
    return HONE_OK;
}

static hone_status scalar_of(const hn_tensor *t, const char *what, int64_t *v, hn_error *err) {
    if (t == NULL) return HONE_OK;
    HN_CHECK(err, t->n == 1, HONE_E_SHAPE, "the %s has %lld elements, expected 1", what,
             (long long)t->n);
    *v = hn_tensor_s64(t, 0);
    return HONE_OK;
}

static hone_status ref(hn_eval *e, hn_error *err) {
    hn_graph *body = hn_attr_graph(e->node, "body");
    int carried, n_scans;
    HN_TRY(form(e->node, body, &carried, &n_scans, err));
    int64_t trips = INT64_MAX, go = 1;
    bool counted = hn_eval_in(e, 0) != NULL;
    HN_TRY(scalar_of(hn_eval_in(e, 0), "trip count", &trips, err));
    HN_TRY(scalar_of(hn_eval_in(e, 1), "condition", &go, err));

    /* state: iteration, condition, carried; results: condition, carried, parts */
    size_t n_state = (size_t)carried + 2, n_results = (size_t)body->n_outputs;
    hn_tensor **state = hn_arena_array(e->scratch, n_state, sizeof *state);
    hn_tensor **results = hn_arena_array(e->scratch, n_results + 1, sizeof *results);
    parts *scans = hn_arena_array(e->scratch, (size_t)n_scans + 1, sizeof *scans);
    if (state == NULL || results == NULL || scans == NULL) return HN_NOMEM(err);
    hone_status status = HONE_OK;
    for (int i = 0; i < carried; i++) state[i + 2] = hn_tensor_ref(e->in[i + 2]);
    for (int64_t it = 0; it < trips && go != 0; it++) {
        HN_CHECK_GOTO(err, counted || it < MOST_ITERATIONS, HONE_E_LIMIT,
                      "the loop has run %d iterations and has no trip count", MOST_ITERATIONS);
        for (int i = 0; i < 2; i++) {
            hn_tensor_unref(state[i]);
            state[i] = NULL;
        }
        HN_TRY_GOTO(hn_tensor_from_s64(&state[0], e->alloc, HONE_DTYPE_S64, 0, NULL, &it, err));
        HN_TRY_GOTO(hn_tensor_from_s64(&state[1], e->alloc, HONE_DTYPE_BOOL, 0, NULL, &go, err));
        HN_TRY_GOTO(
            hn_eval_body(e, body, (int)n_state, (const hn_tensor *const *)state, results, err));
        for (int i = 0; i < carried; i++) {
            hn_tensor_unref(state[i + 2]);
            state[i + 2] = results[i + 1];
            results[i + 1] = NULL;
        }
        for (int i = 0; i < n_scans; i++) {
            hn_tensor **part = &results[1 + carried + i];
            if (scans[i].n > 0)
                HN_TRY_GOTO(hn_want_alike(scans[i].v[0], *part, "scan output", carried + i, err));
            if (!append(e->alloc, &scans[i], *part)) {
                status = HN_NOMEM(err);
                goto fail;
            }
            *part = NULL;
        }
        HN_TRY_GOTO(scalar_of(results[0], "condition", &go, err));
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
    .infer = infer,
    .ref = ref,
};

#include "ops/eval.h"

#include "base/size.h"
#include "ops/infer.h"

/* When each value of a graph may be released: release[k] lists those last used by node k. Made once
 * per graph and run, because a loop runs its body many times. */
typedef struct schedule schedule;
struct schedule {
    const hn_graph *graph;
    /* Values, grouped by node, from the last node to the first: node k releases release[last[k + 1]
     * .. last[k]). last has n_nodes + 1 entries. */
    const hn_value **release;
    int *last;
    schedule *next;
};

typedef struct run {
    const hn_exec_options *o;
    hn_dims dims; /* for inference with actual sizes; holds numbers only */
    hn_arena plans;
    schedule *schedules;
    hn_exec_state *state, own;
    bool dims_live;
} run;

/* The values of one graph while it runs. */
typedef struct hn_frame frame;
struct hn_frame {
    const hn_graph *graph;
    hn_tensor **slots; /* by value id; NULL: not computed, released, or a constant */
    frame *parent;
    hn_output_place *place; /* of the outputs; NULL: they have memory of their own */
    void *place_ctx;
    void **placed; /* by output: what place gave; NULL: nothing yet */
};

typedef struct site {
    run *r;
    frame *f;
} site;

/* Distinct numbers kept before the dims table is emptied. */
#define MOST_DIMS 4096
/* A run that has run this many subgraphs is taken to be an endless loop. */
#define MOST_BODIES 1000000

static void run_init(run *r, const hn_exec_options *o) {
    memset(r, 0, sizeof *r);
    r->o = o;
    hn_arena_init(&r->plans, o->alloc, HN_MEM_OTHER);
    r->state = o->state != NULL ? o->state : &r->own;
    if (o->state == NULL) hn_rng_init(&r->own.rng, o->seed);
}

static void run_deinit(run *r) {
    if (r->dims_live) hn_dims_deinit(&r->dims);
    hn_arena_deinit(&r->plans);
}

/* ---- what operators call ---- */

void *hn_scratch(hn_eval *e, int64_t n, size_t size) {
    size_t bytes;
    if (n < 0 || !hn_size_mul((size_t)n, size, &bytes)) return NULL;
    return hn_arena_alloc(e->scratch, bytes);
}

double *hn_scratch_f64(hn_eval *e, const hn_tensor *t) {
    double *v = hn_scratch(e, t->n, sizeof *v);
    if (v != NULL) hn_load_f64_n(t->dtype, t->data, 0, t->n, v);
    return v;
}

int64_t *hn_scratch_s64(hn_eval *e, const hn_tensor *t) {
    int64_t *v = hn_scratch(e, t->n, sizeof *v);
    if (v != NULL) hn_load_s64_n(t->dtype, t->data, 0, t->n, v);
    return v;
}

/* Which output of the frame's graph v is; -1: none. */
static int output_index(const frame *f, const hn_value *v) {
    for (int i = 0; i < f->graph->n_outputs; i++)
        if (f->graph->outputs[i].value == v) return i;
    return -1;
}

/* Output i of a node as a tensor in the place that the graph's output has; stays NULL where it is
 * none, or has no place. Elements under 8 bits share bytes, so nobody else's memory will do. */
static hone_status create_placed(hn_eval *e, int i, hone_dtype dtype, int rank, const int64_t *dims,
                                 hn_error *err) {
    const site *s = e->driver;
    frame *f = s != NULL ? s->f : NULL;
    if (f == NULL || f->place == NULL || hone_dtype_bits(dtype) < 8) return HONE_OK;
    int k = output_index(f, e->node->outputs[i]);
    if (k < 0) return HONE_OK;
    HN_TRY(f->place(f->place_ctx, k, dtype, rank, dims, &f->placed[k], err));
    if (f->placed[k] == NULL) return HONE_OK;
    return hn_tensor_create_borrowed(&e->out[i], e->alloc, dtype, rank, dims, f->placed[k], err);
}

static hone_status create_output(hn_eval *e, int i, hone_dtype dtype, int rank, const int64_t *dims,
                                 hn_error *err) {
    HN_TRY(create_placed(e, i, dtype, rank, dims, err));
    if (e->out[i] != NULL) return HONE_OK;
    return hn_tensor_create(&e->out[i], e->alloc, HN_MEM_TENSOR, dtype, rank, dims, err);
}

hone_status hn_eval_alloc(hn_eval *e, int i, hone_dtype dtype, int rank, const int64_t *dims,
                          hn_error *err) {
    if (i >= e->n_out || !e->wanted[i]) return HONE_OK;
    assert(e->out[i] == NULL);
    return create_output(e, i, dtype, rank, dims, err);
}

void hn_eval_give(hn_eval *e, int i, hn_tensor *t) {
    if (i >= e->n_out || !e->wanted[i]) {
        hn_tensor_unref(t);
        return;
    }
    assert(e->out[i] == NULL);
    e->out[i] = t;
}

/* ---- one node ---- */

/* Runs the operator's inference on the actual tensors and allocates the outputs. */
static hone_status allocate_outputs(run *r, hn_eval *e, hn_error *err) {
    if (r->dims_live && r->dims.used > MOST_DIMS) {
        hn_dims_deinit(&r->dims);
        r->dims_live = false;
    }
    if (!r->dims_live) {
        hn_dims_init(&r->dims, r->o->alloc);
        r->dims_live = true;
    }
    hn_infer c = {.node = e->node,
                  .dims = &r->dims,
                  .scratch = e->scratch,
                  .n_in = e->n_in,
                  .n_out = e->n_out,
                  .exact = true};
    c.in = hn_arena_array(e->scratch, (size_t)e->n_in + 1, sizeof *c.in);
    c.out = hn_arena_array(e->scratch, (size_t)e->n_out + 1, sizeof *c.out);
    if (c.in == NULL || c.out == NULL) return HN_NOMEM(err);
    for (int i = 0; i < e->n_in; i++) {
        const hn_tensor *t = e->in[i];
        c.in[i] = (hn_infer_in){.present = t != NULL, .is_tensor = true, .tensor = t};
        c.in[i].shape.rank = -1;
        if (t == NULL) continue;
        c.in[i].dtype = t->dtype;
        c.in[i].shape = hn_shape_of(&r->dims, t->rank, t->dims);
    }
    for (int i = 0; i < e->n_out; i++) c.out[i].wanted = e->wanted[i];
    HN_TRY(hn_node_infer(&c, err));
    if ((e->node->op->traits & HN_DYNAMIC) != 0) return HONE_OK;
    for (int i = 0; i < e->n_out; i++) {
        int64_t dims[HONE_MAX_RANK];
        if (!e->wanted[i]) continue;
        if (!hn_shape_is_const(&c.out[i].shape, dims) || c.out[i].dtype == HONE_DTYPE_NONE) {
            char label[320];
            return hn_fail(err, HONE_E_UNSUPPORTED,
                           "%s: the size of output %d cannot be told from these inputs",
                           hn_node_label(e->node, label, sizeof label), i);
        }
        /* The view shares the bytes and only reads them; those of a borrowed tensor, which has no
         * allocator, may go before it does. */
        hn_tensor *base = e->n_in > 0 ? (hn_tensor *)(uintptr_t)e->in[0] : NULL;
        bool view = i == 0 && (e->node->op->traits & HN_VIEW) != 0 &&
                    base->dtype == c.out[0].dtype && base->alloc != NULL;
        hone_status status =
            view ? hn_tensor_create_view(&e->out[0], base, c.out[0].shape.rank, dims, err)
                 : create_output(e, i, c.out[i].dtype, c.out[i].shape.rank, dims, err);
        if (status != HONE_OK) {
            char label[320];
            hn_error_context(err, "%s", hn_node_label(e->node, label, sizeof label));
            return status;
        }
    }
    return HONE_OK;
}

/* Constants from a file may be sparse or lie at odd addresses; operators see neither, unless they
 * take any address. */
static hone_status usable(const hn_tensor *t, bool any_address, hn_allocator *alloc,
                          hn_tensor **out, hn_error *err) {
    if (t->data == NULL) return hn_tensor_dense(out, t, alloc, err);
    if (any_address || hn_tensor_aligned(t)) {
        *out = hn_tensor_ref(t);
        return HONE_OK;
    }
    HN_TRY(hn_tensor_create(out, alloc, HN_MEM_TENSOR, t->dtype, t->rank, t->dims, err));
    if (t->bytes > 0) memcpy((*out)->data, t->data, t->bytes);
    return HONE_OK;
}

static hone_status check_runnable(const hn_node *n, hn_error *err) {
    if (!n->old && n->op != NULL && n->op->ref != NULL) return HONE_OK;
    char label[320];
    hn_node_label(n, label, sizeof label);
    return n->old ? hn_fail(err, HONE_E_UNSUPPORTED,
                            "%s: its definition of opset %lld was not brought to the newest one",
                            label, (long long)n->opset)
                  : hn_fail(err, HONE_E_UNSUPPORTED, "%s: operator %s of domain '%s' cannot be run",
                            label, n->op_type, n->domain[0] != '\0' ? n->domain : "ai.onnx");
}

/* Control flow takes its output types from its subgraphs, and so has no inference with actual
 * sizes: only its form and the types of its inputs are checked. */
static hone_status check_control(const hn_eval *e, hn_error *err) {
    HN_TRY(hn_node_check_form(e->node, err));
    size_t n = (size_t)e->n_in + (size_t)e->n_out + 1;
    hone_dtype *types = hn_arena_array(e->scratch, n, sizeof *types);
    if (types == NULL) return HN_NOMEM(err);
    for (int i = 0; i < e->n_in; i++)
        types[i] = e->in[i] != NULL ? e->in[i]->dtype : HONE_DTYPE_NONE;
    return hn_op_bind(e->node, e->n_in, types, e->n_out, types + e->n_in, err);
}

/* in[]: borrowed, NULL: absent. out[]: receives a reference for each output the node has. */
static hone_status run_node(run *r, frame *f, const hn_node *n, const hn_tensor *const *in,
                            hn_tensor **out, hn_error *err) {
    for (int i = 0; i < n->n_outputs; i++) out[i] = NULL;
    HN_TRY(check_runnable(n, err));
    hn_arena scratch;
    hn_arena_init(&scratch, r->o->alloc, HN_MEM_SCRATCH);
    site s = {r, f};
    hone_status status = HONE_OK;
    hn_tensor **ready = hn_arena_array(&scratch, (size_t)n->n_inputs + 1, sizeof *ready);
    bool *wanted = hn_arena_array(&scratch, (size_t)n->n_outputs + 1, sizeof *wanted);
    if (ready == NULL || wanted == NULL) {
        status = HN_NOMEM(err);
        goto done;
    }
    for (int i = 0; i < n->n_outputs; i++) wanted[i] = n->outputs[i] != NULL;
    bool any_address = n->op != NULL && (n->op->traits & HN_ANY_ADDRESS) != 0;
    for (int i = 0; i < n->n_inputs && status == HONE_OK; i++)
        if (in[i] != NULL)
            status = usable(in[i], any_address && i == 0, r->o->alloc, &ready[i], err);
    if (status != HONE_OK) goto done;
    hn_eval e = {.node = n,
                 .n_in = n->n_inputs,
                 .n_out = n->n_outputs,
                 .in = (const hn_tensor *const *)ready,
                 .out = out,
                 .wanted = wanted,
                 .alloc = r->o->alloc,
                 .pool = r->o->pool,
                 .rng = &r->state->rng,
                 .scratch = &scratch,
                 .driver = &s,
                 .stop = r->o->stop};
    bool control = (n->op->traits & HN_CONTROL) != 0;
    status = control ? check_control(&e, err) : allocate_outputs(r, &e, err);
    if (status != HONE_OK) goto done;
    bool viewed = n->n_outputs > 0 && out[0] != NULL && out[0]->base != NULL;
    if (!viewed) {
        status = n->op->ref(&e, err);
        if (status == HONE_OK && hn_stopped(e.stop)) status = hn_fail(err, HONE_E_LIMIT, "stopped");
        if (status != HONE_OK) {
            char label[320];
            hn_error_context(err, "%s", hn_node_label(n, label, sizeof label));
        }
    }
    for (int i = 0; status == HONE_OK && i < n->n_outputs; i++) {
        if (!wanted[i] || out[i] != NULL) continue;
        char label[320];
        status = hn_fail(err, HONE_E_UNSUPPORTED, "%s: output %d is not computed",
                         hn_node_label(n, label, sizeof label), i);
    }
done:
    if (status != HONE_OK) {
        for (int i = 0; i < n->n_outputs; i++) {
            hn_tensor_unref(out[i]);
            out[i] = NULL;
        }
    }
    for (int i = 0; ready != NULL && i < n->n_inputs; i++) hn_tensor_unref(ready[i]);
    hn_arena_deinit(&scratch);
    return status;
}

/* ---- graphs ---- */

/* Appends v if it is a value of g that was not seen yet. */
static int add_last_use(const hn_graph *g, const hn_value *v, bool *seen, const hn_value **list,
                        int count) {
    if (v == NULL || v->graph != g || seen[v->id]) return count;
    seen[v->id] = true;
    list[count] = v;
    return count + 1;
}

/* Appends those node n or its subgraphs use. */
static int add_last_uses(const hn_graph *g, const hn_node *n, bool *seen, const hn_value **list,
                         int count) {
    for (int i = 0; i < n->n_inputs; i++)
        count = add_last_use(g, n->inputs[i].value, seen, list, count);
    int at = 0;
    for (const hn_graph *sub; (sub = hn_node_subgraph(n, &at)) != NULL;) {
        for (const hn_node *m = sub->first; m != NULL; m = m->next)
            count = add_last_uses(g, m, seen, list, count);
        for (int i = 0; i < sub->n_outputs; i++)
            count = add_last_use(g, sub->outputs[i].value, seen, list, count);
    }
    return count;
}

static schedule *schedule_of(run *r, const hn_graph *g) {
    for (schedule *s = r->schedules; s != NULL; s = s->next)
        if (s->graph == g) return s;
    size_t n = (size_t)g->n_values + 1, nodes = (size_t)g->n_nodes;
    schedule *s = hn_arena_zero(&r->plans, sizeof *s);
    const hn_value **list = hn_arena_array(&r->plans, n, sizeof *list);
    int *last = hn_arena_array(&r->plans, nodes + 1, sizeof *last);
    bool *seen = hn_arena_array(&r->plans, n, sizeof *seen);
    if (s == NULL || list == NULL || last == NULL || seen == NULL) return NULL;
    for (int i = 0; i < g->n_outputs; i++)
        if (g->outputs[i].value != NULL && g->outputs[i].value->graph == g)
            seen[g->outputs[i].value->id] = true;
    /* Backwards: the first time a value is met is its last use. */
    int k = g->n_nodes, end = 0;
    for (const hn_node *node = g->last; node != NULL; node = node->prev) {
        end = add_last_uses(g, node, seen, list, end);
        for (int i = 0; i < node->n_outputs; i++) /* and what nobody uses */
            end = add_last_use(g, node->outputs[i], seen, list, end);
        last[--k] = end;
    }
    *s = (schedule){.graph = g, .release = list, .last = last, .next = r->schedules};
    return r->schedules = s;
}

static void release_after(const schedule *s, frame *f, int k) {
    for (int i = s->last[k + 1]; i < s->last[k]; i++) {
        hn_tensor **slot = &f->slots[s->release[i]->id];
        hn_tensor_unref(*slot);
        *slot = NULL;
    }
}

const hn_tensor *hn_frame_value(const hn_frame *f, const hn_value *v) {
    while (f != NULL && f->graph != v->graph) f = f->parent;
    if (f != NULL && f->slots[v->id] != NULL) return f->slots[v->id];
    return v->constant;
}

static bool keep_going(const hn_exec_options *o) {
    return !hn_stopped(o->stop) && (o->keep_going == NULL || o->keep_going(o->keep_going_ctx));
}

static hone_status copy_out(const hn_tensor *t, void *to, hn_allocator *alloc, hn_error *err) {
    hn_tensor *dense = NULL;
    if (t->data == NULL) {
        HN_TRY(hn_tensor_dense(&dense, t, alloc, err));
        t = dense;
    }
    if (t->bytes > 0) memcpy(to, t->data, t->bytes);
    hn_tensor_unref(dense);
    return HONE_OK;
}

/* Output i once all is computed: copied to its place unless it was computed there, or a reference
 * where it has none. */
static hone_status deliver(const run *r, const frame *f, int i, hn_tensor **out, hn_error *err) {
    const hn_value *v = f->graph->outputs[i].value;
    const hn_tensor *t = v != NULL ? hn_frame_value(f, v) : NULL;
    HN_CHECK(err, t != NULL, HONE_E_MODEL, "output %d of graph '%s' is never computed", i,
             f->graph->name);
    void *to = NULL;
    if (f->place != NULL && f->placed[i] != NULL) return HONE_OK;
    if (f->place != NULL) HN_TRY(f->place(f->place_ctx, i, t->dtype, t->rank, t->dims, &to, err));
    return to != NULL ? copy_out(t, to, r->o->alloc, err) : usable(t, false, r->o->alloc, out, err);
}

static hone_status run_graph(run *r, frame *parent, const hn_graph *g, const hn_tensor *const *in,
                             hn_output_place *place, void *place_ctx, hn_tensor **out,
                             hn_error *err) {
    const hn_exec_options *o = r->o;
    hone_status status = HONE_OK;
    for (int i = 0; i < g->n_outputs; i++) out[i] = NULL;
    const schedule *plan = schedule_of(r, g);
    if (plan == NULL) return HN_NOMEM(err);
    size_t n = (size_t)g->n_values + 1;
    int most = 1;
    for (const hn_node *node = g->first; node != NULL; node = node->next) {
        if (node->n_inputs > most) most = node->n_inputs;
        if (node->n_outputs > most) most = node->n_outputs;
    }
    frame f = {.graph = g, .parent = parent, .place = place, .place_ctx = place_ctx};
    f.slots = hn_alloc_array(o->alloc, n + 2 * (size_t)most, sizeof *f.slots, HN_MEM_OTHER);
    if (f.slots == NULL) return HN_NOMEM(err);
    if (place != NULL) {
        f.placed =
            hn_alloc_zero(o->alloc, ((size_t)g->n_outputs + 1) * sizeof *f.placed, HN_MEM_OTHER);
        if (f.placed == NULL) {
            hn_free(o->alloc, f.slots);
            return HN_NOMEM(err);
        }
    }
    memset(f.slots, 0, (n + 2 * (size_t)most) * sizeof *f.slots);
    const hn_tensor **args = (const hn_tensor **)(f.slots + n);
    hn_tensor **results = f.slots + n + most;

    for (int i = 0; i < g->n_inputs; i++) {
        HN_CHECK_GOTO(err, in[i] != NULL || g->inputs[i]->constant != NULL, HONE_E_ARG,
                      "input '%s' is not given", g->inputs[i]->name);
        f.slots[g->inputs[i]->id] = hn_tensor_ref(in[i]);
    }
    int k = 0;
    for (const hn_node *node = g->first; node != NULL; node = node->next, k++) {
        HN_CHECK_GOTO(err, keep_going(o), HONE_E_LIMIT, "stopped");
        for (int i = 0; i < node->n_inputs; i++) {
            const hn_value *v = node->inputs[i].value;
            args[i] = v != NULL ? hn_frame_value(&f, v) : NULL;
            char label[320];
            HN_CHECK_GOTO(err, v == NULL || args[i] != NULL, HONE_E_UNSUPPORTED,
                          "%s: input %d ('%s') has no value that can be computed",
                          hn_node_label(node, label, sizeof label), i, v->name);
        }
        HN_TRY_GOTO(run_node(r, &f, node, args, results, err));
        for (int i = 0; i < node->n_outputs; i++) {
            if (node->outputs[i] == NULL) continue;
            f.slots[node->outputs[i]->id] = results[i];
            if (o->observe != NULL) o->observe(o->observe_ctx, node->outputs[i], results[i]);
        }
        release_after(plan, &f, k);
    }
    for (int i = 0; i < g->n_outputs; i++) HN_TRY_GOTO(deliver(r, &f, i, &out[i], err));
fail:
    for (size_t i = 0; i < n; i++) hn_tensor_unref(f.slots[i]);
    hn_free(o->alloc, f.slots);
    hn_free(o->alloc, f.placed);
    if (status != HONE_OK) {
        for (int i = 0; i < g->n_outputs; i++) {
            hn_tensor_unref(out[i]);
            out[i] = NULL;
        }
    }
    return status;
}

static hone_status run_body(hn_eval *e, const hn_graph *g, int n_in, const hn_tensor *const *in,
                            hn_output_place *place, hn_tensor **out, hn_error *err) {
    site *s = e->driver;
    HN_CHECK(err, n_in == g->n_inputs, HONE_E_MODEL,
             "subgraph '%s' takes %d inputs but is given %d", g->name, g->n_inputs, n_in);
    const hn_exec_options *o = s->r->o;
    HN_CHECK(err, ++s->r->state->bodies <= MOST_BODIES, HONE_E_LIMIT,
             "subgraphs have run %d times: the loop seems to be endless", MOST_BODIES);
    HN_CHECK(err, keep_going(o), HONE_E_LIMIT, "stopped");
    bool done = false;
    if (o->body != NULL) HN_TRY(o->body(o->body_ctx, s->f, g, in, place, e, out, &done, err));
    if (done) return HONE_OK;
    return run_graph(s->r, s->f, g, in, place, e, out, err);
}

hone_status hn_eval_body(hn_eval *e, const hn_graph *g, int n_in, const hn_tensor *const *in,
                         hn_tensor **out, hn_error *err) {
    return run_body(e, g, n_in, in, NULL, out, err);
}

/* What output i of a branch is: output i of the node. */
static hone_status place_branch(void *ctx, int i, hone_dtype dtype, int rank, const int64_t *dims,
                                void **to, hn_error *err) {
    hn_eval *e = ctx;
    *to = NULL;
    if (!e->wanted[i]) return HONE_OK;
    HN_TRY(create_placed(e, i, dtype, rank, dims, err));
    if (e->out[i] != NULL) *to = e->out[i]->data;
    return HONE_OK;
}

hone_status hn_eval_branch(hn_eval *e, const hn_graph *g, hn_error *err) {
    const site *s = e->driver;
    hn_tensor **out = hn_scratch(e, e->n_out, sizeof *out);
    if (out == NULL) return HN_NOMEM(err);
    HN_TRY(run_body(e, g, 0, NULL, s->f->place != NULL ? place_branch : NULL, out, err));
    for (int i = 0; i < e->n_out; i++)
        if (out[i] != NULL) hn_eval_give(e, i, out[i]);
    return HONE_OK;
}

hone_status hn_graph_run(const hn_graph *g, const hn_exec_options *o, const hn_tensor *const *in,
                         hn_tensor **out, hn_error *err) {
    run r;
    run_init(&r, o);
    hone_status status = run_graph(&r, NULL, g, in, o->place, o->place_ctx, out, err);
    run_deinit(&r);
    return status;
}

hone_status hn_node_run(const hn_node *n, const hn_exec_options *o, const hn_tensor *const *in,
                        hn_tensor **out, hn_error *err) {
    run r;
    run_init(&r, o);
    hone_status status = run_node(&r, NULL, n, in, out, err);
    run_deinit(&r);
    return status;
}

hone_status hn_graph_runnable(const hn_graph *g, hn_error *err) {
    for (const hn_node *n = g->first; n != NULL; n = n->next) {
        HN_TRY(check_runnable(n, err));
        int at = 0;
        for (const hn_graph *sub; (sub = hn_node_subgraph(n, &at)) != NULL;)
            HN_TRY(hn_graph_runnable(sub, err));
    }
    return HONE_OK;
}

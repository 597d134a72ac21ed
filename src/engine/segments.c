/* Runs: a plan, the parts of a graph that is cut, and subgraphs of nodes that run through the
 * references.
 *
 *   run_engine ──▶ plan                                    one part
 *        ▲    ──▶ head: plan ──▶ mid: references ──▶ tail  a graph that is cut
 *        │                            │                │
 *        ├─────── subgraph ◀──────────┘                │
 *        └─────────────────────────────────────────────┘
 *
 * The tail of a graph and a subgraph are engines inside the engine; HN_ENGINE_DEPTH bounds the
 * depth of calls.
 */
#include <assert.h>
#include <string.h>

#include "base/clock.h"
#include "engine/entry.h"
#include "ops/eval.h"

/* Such an engine makes no plan where no node of it multiplies matrices and its inputs have no more
 * elements than this: the references are done (15 ns an element and node) before a plan is made
 * (50 us a node). Only where no other sizes can come does a plan pay all the same. */
#define FEW_ELEMENTS 4096

/* What all parts of one run share. */
typedef struct trip {
    hn_engine_show *show;
    void *show_ctx;
    void (*times)(void *ctx, const hn_step_time *t);
    void *times_ctx;
    hn_exec_state state;
    int64_t told; /* when the last step was */
} trip;

static hone_status run_engine(hn_engine *e, trip *t, const hn_tensor *const *in,
                              hn_output_place *place, void *place_ctx, hn_error *err);

/* ---- subgraphs ---- */

/* A graph, or a part of it, that runs through the references. */
typedef struct plain {
    hn_engine *e;
    hn_body **bodies;
    trip *t;
} plain;

/* Whether the body sees the same sizes in every run of the graph around it. */
static bool is_steady(const hn_body *b) {
    int64_t dims[HONE_MAX_RANK];
    bool steady = b->graph->n_inputs == 0;
    for (int i = 0; i < b->engine->model->graph->n_inputs && steady; i++)
        steady = hn_shape_is_const(&b->sources[i]->type.shape, dims);
    return steady;
}

static hone_status create_body(hn_engine *e, const hn_graph *g, hn_body **out, hn_error *err) {
    hone_status status;
    hn_model *m;
    size_t n_out = (size_t)g->n_outputs + 1;
    hn_body *b = hn_alloc_zero(e->o.alloc, sizeof *b, HN_MEM_OTHER);
    const hn_value **values = hn_alloc_array(e->o.alloc, n_out, sizeof *values, HN_MEM_OTHER);
    int n = 0;
    if (b != NULL) b->outputs = hn_alloc_array(e->o.alloc, n_out, sizeof *b->outputs, HN_MEM_OTHER);
    HN_CHECK_GOTO(err, b != NULL && values != NULL && b->outputs != NULL, HONE_E_NOMEM,
                  "out of memory");
    b->graph = g;
    for (int i = 0; i < g->n_outputs; i++) {
        const hn_value *v = g->outputs[i].value;
        if (v->graph != g || (v->producer == NULL && (v->constant == NULL || v->is_input)))
            continue;
        b->outputs[n] = i;
        values[n++] = v;
    }
    HN_TRY_GOTO(hn_model_extract(&m, &b->sources, g, NULL, n, values, e->o.alloc, err));
    /* What the file says of them nobody has checked. */
    for (int i = 0; i < m->graph->n_inputs; i++)
        m->graph->inputs[i]->type.shape = hn_shape_unknown();
    HN_TRY_GOTO(hn_engine_create_inside(&b->engine, e, m, err));
    b->engine->steady = is_steady(b);
    hn_free(e->o.alloc, values);
    *out = b;
    return HONE_OK;
fail:
    hn_free(e->o.alloc, values);
    hn_bodies_destroy(e, b);
    return status;
}

static hn_body *made_body(const plain *p, const hn_graph *g) {
    pthread_mutex_lock(&p->e->all->lock);
    hn_body *b = *p->bodies;
    while (b != NULL && b->graph != g) b = b->next;
    pthread_mutex_unlock(&p->e->all->lock);
    return b;
}

static hone_status find_body(const plain *p, const hn_graph *g, const hn_body **out,
                             hn_error *err) {
    hn_common *all = p->e->all;
    hone_status status = HONE_OK;
    hn_body *b = made_body(p, g);
    if (b == NULL) {
        hn_prepared_lock(all->ready, p->e->o.alloc);
        b = made_body(p, g); /* another run may have made it */
        if (b == NULL && (status = create_body(p->e, g, &b, err)) == HONE_OK) {
            pthread_mutex_lock(&all->lock);
            b->next = *p->bodies;
            *p->bodies = b;
            pthread_mutex_unlock(&all->lock);
        }
        hn_prepared_unlock(all->ready);
    }
    *out = b;
    return status;
}

/* Whether the references are the quicker way. */
static bool is_light(const hn_engine *e, const hn_tensor *const *in) {
    int64_t n = 0;
    if (e->depth == 0 || e->heavy || e->steady) return false;
    for (int i = 0; i < e->model->graph->n_inputs; i++)
        if (in[i]->n > FEW_ELEMENTS || (n += in[i]->n) > FEW_ELEMENTS) return false;
    return true;
}

typedef struct body_outputs {
    hn_allocator *alloc;
    const hn_body *b;
    hn_output_place *place; /* of the graph's outputs; may be NULL */
    void *place_ctx;
    hn_tensor **out;
} body_outputs;

static hone_status place_body(void *ctx, int i, hone_dtype dtype, int rank, const int64_t *dims,
                              void **to, hn_error *err) {
    const body_outputs *o = ctx;
    hn_tensor **t = &o->out[o->b->outputs[i]];
    *to = NULL;
    if (o->place != NULL)
        HN_TRY(o->place(o->place_ctx, o->b->outputs[i], dtype, rank, dims, to, err));
    if (*to != NULL) return HONE_OK;
    HN_TRY(hn_tensor_create(t, o->alloc, HN_MEM_TENSOR, dtype, rank, dims, err));
    *to = (*t)->data;
    return HONE_OK;
}

/* What v is in this run where it is an input of g or a value from outside; else NULL. */
static const hn_tensor *outside(const hn_graph *g, const hn_tensor *const *in,
                                const hn_frame *around, const hn_value *v) {
    if (v->graph != g) return hn_frame_value(around, v);
    for (int i = 0; i < g->n_inputs; i++)
        if (g->inputs[i] == v) return in[i];
    return NULL;
}

static hone_status run_body(void *ctx, const hn_frame *around, const hn_graph *g,
                            const hn_tensor *const *in, hn_output_place *place, void *place_ctx,
                            hn_tensor **out, bool *done, hn_error *err) {
    const plain *p = ctx;
    const hn_body *b;
    hn_allocator *alloc = p->e->o.alloc;
    HN_TRY(find_body(p, g, &b, err));
    int n_in = b->engine->model->graph->n_inputs;
    const hn_tensor **args = hn_alloc_array(alloc, (size_t)n_in + 1, sizeof *args, HN_MEM_OTHER);
    if (args == NULL) return HN_NOMEM(err);
    bool ready = true;
    for (int i = 0; i < n_in; i++) {
        args[i] = i < g->n_inputs ? in[i] : hn_frame_value(around, b->sources[i]);
        ready = ready && args[i] != NULL;
    }
    hone_status status = HONE_OK;
    if (ready && !is_light(b->engine, args)) {
        body_outputs o = {alloc, b, place, place_ctx, out};
        *done = true;
        for (int i = 0; i < g->n_outputs; i++)
            out[i] = hn_tensor_ref(outside(g, in, around, g->outputs[i].value));
        status = run_engine(b->engine, p->t, args, place_body, &o, err);
        for (int i = 0; i < g->n_outputs && status != HONE_OK; i++) {
            hn_tensor_unref(out[i]);
            out[i] = NULL;
        }
        p->t->told = hn_clock_ns();
    }
    hn_free(alloc, args);
    return status;
}

/* ---- references ---- */

/* A node as a step, told when its first output comes. */
static void tell_node(void *ctx, const hn_value *v, const hn_tensor *t) {
    trip *all = ((const plain *)ctx)->t;
    const hn_node *n = v->producer;
    (void)t;
    for (int i = 0; n->outputs[i] != v; i++)
        if (n->outputs[i] != NULL) return;
    hn_step_facts facts = {.maker = n, .label = n->op_type};
    hn_step step = {.node = n, .facts = &facts};
    hn_step_time time = {.step = &step, .begin_ns = all->told, .end_ns = hn_clock_ns()};
    all->times(all->times_ctx, &time);
    all->told = hn_clock_ns();
}

static hone_status run_plain(plain *p, const hn_graph *g, const hn_tensor *const *in,
                             hn_output_place *place, void *place_ctx, hn_tensor **out,
                             hn_error *err) {
    const hn_engine_options *e = &p->e->o;
    hn_exec_options o = {.alloc = e->alloc,
                         .pool = e->pool,
                         .seed = e->seed,
                         .observe = p->t->times != NULL ? tell_node : NULL,
                         .observe_ctx = p,
                         .keep_going = e->keep_going,
                         .keep_going_ctx = e->keep_going_ctx,
                         .stop = e->stop,
                         .state = &p->t->state,
                         .body = p->e->depth < HN_ENGINE_DEPTH ? run_body : NULL,
                         .body_ctx = p,
                         .place = place,
                         .place_ctx = place_ctx};
    p->t->told = hn_clock_ns();
    return hn_graph_run(g, &o, in, out, err);
}

static void release(hn_engine *e, hn_tensor **list, int n) {
    for (int i = 0; i < n && list != NULL; i++) hn_tensor_unref(list[i]);
    hn_free(e->o.alloc, list);
}

static hone_status run_whole(hn_engine *e, trip *t, const hn_tensor *const *in,
                             hn_output_place *place, void *ctx, hn_error *err) {
    const hn_graph *g = e->model->graph;
    plain p = {e, &e->bodies, t};
    hn_tensor **out = hn_alloc_zero(e->o.alloc, (size_t)g->n_outputs * sizeof *out, HN_MEM_OTHER);
    if (out == NULL) return HN_NOMEM(err);
    hone_status status = run_plain(&p, g, in, place, ctx, out, err);
    release(e, out, g->n_outputs);
    return status;
}

/* ---- parts ---- */

/* Where outputs of a part go. */
typedef struct part_outputs {
    const hn_part *part;
    hn_tensor **slots;
    hn_allocator *alloc;
    hn_output_place *place;
    void *place_ctx;
} part_outputs;

static hone_status place_part(void *ctx, int i, hone_dtype dtype, int rank, const int64_t *dims,
                              void **to, hn_error *err) {
    const part_outputs *o = ctx;
    const hn_part *part = o->part;
    if (i < part->n_final)
        return o->place(o->place_ctx, part->final[i], dtype, rank, dims, to, err);
    hn_tensor **slot = &o->slots[part->made[i - part->n_final]];
    HN_TRY(hn_tensor_create(slot, o->alloc, HN_MEM_TENSOR, dtype, rank, dims, err));
    *to = (*slot)->data;
    return HONE_OK;
}

/* Other parts take what mid makes as it comes. */
static hone_status place_mid(void *ctx, int i, hone_dtype dtype, int rank, const int64_t *dims,
                             void **to, hn_error *err) {
    const part_outputs *o = ctx;
    *to = NULL;
    if (i >= o->part->n_final) return HONE_OK;
    return place_part(ctx, i, dtype, rank, dims, to, err);
}

/* References to the part's inputs; NULL: out of memory. */
static hn_tensor **gather(hn_engine *e, const hn_part *part, hn_tensor *const *slots) {
    hn_tensor **in = hn_alloc_array(e->o.alloc, (size_t)part->n_in + 1, sizeof *in, HN_MEM_OTHER);
    for (int i = 0; i < part->n_in && in != NULL; i++) in[i] = hn_tensor_ref(slots[part->in[i]]);
    return in;
}

static hone_status run_plan(hn_engine *e, trip *t, hn_context *c, const hn_tensor *const *in,
                            hn_output_place *place, void *place_ctx, hn_error *err) {
    hn_run r = {.pool = e->o.pool,
                .rng = &t->state.rng,
                .in = in,
                .place = place,
                .place_ctx = place_ctx,
                .show = t->show,
                .show_ctx = t->show_ctx,
                .times = t->times,
                .times_ctx = t->times_ctx,
                .keep_going = e->o.keep_going,
                .keep_going_ctx = e->o.keep_going_ctx,
                .stop = e->o.stop};
    return hn_context_run(c, &r, err);
}

static hone_status run_head(hn_engine *e, trip *t, hn_context *c, part_outputs *o, hn_error *err) {
    hn_tensor **in = gather(e, o->part, o->slots);
    if (in == NULL) return HN_NOMEM(err);
    hone_status status = run_plan(e, t, c, (const hn_tensor *const *)in, place_part, o, err);
    release(e, in, o->part->n_in);
    return status;
}

static hone_status run_mid(hn_engine *e, hn_entry *n, trip *t, part_outputs *o, hn_error *err) {
    const hn_part *part = o->part;
    const hn_graph *g = part->model->graph;
    plain p = {e, &n->bodies, t};
    hn_tensor **in = gather(e, part, o->slots);
    hn_tensor **out = hn_alloc_zero(e->o.alloc, (size_t)g->n_outputs * sizeof *out, HN_MEM_OTHER);
    hone_status status = HONE_OK;
    if (in == NULL || out == NULL) status = HN_NOMEM(err);
    if (status == HONE_OK)
        status = run_plain(&p, g, (const hn_tensor *const *)in, place_mid, o, out, err);
    for (int i = part->n_final; i < g->n_outputs && status == HONE_OK; i++) {
        o->slots[part->made[i - part->n_final]] = out[i];
        out[i] = NULL;
    }
    release(e, in, part->n_in);
    release(e, out, g->n_outputs);
    return status;
}

/* Head and mid, from slots to slots. */
static hone_status run_first(hn_engine *e, hn_entry *n, trip *t, hn_context *c, hn_room *room,
                             part_outputs *o, hn_error *err) {
    hone_status status = HONE_OK;
    if (n->plan != NULL) {
        o->part = &n->cut->part[HN_PART_HEAD];
        status = run_head(e, t, c, o, err);
        hn_engine_give(e, n, c, room, false);
    }
    o->part = &n->cut->part[HN_PART_MID];
    if (status == HONE_OK && o->part->model != NULL) status = run_mid(e, n, t, o, err);
    return status;
}

static hone_status run_parts(hn_engine *e, hn_entry *n, trip *t, hn_context *c, hn_room *room,
                             const hn_tensor *const *in, hn_output_place *place, void *place_ctx,
                             hn_error *err) {
    const hn_part *tail = &n->cut->part[HN_PART_TAIL];
    int n_slots = n->cut->n_slots;
    hn_tensor **slots = hn_alloc_zero(e->o.alloc, (size_t)n_slots * sizeof *slots, HN_MEM_OTHER);
    hn_tensor **rest = NULL;
    hone_status status = HONE_OK;
    if (slots == NULL) {
        if (c != NULL) hn_engine_give(e, n, c, room, false);
        return HN_NOMEM(err);
    }
    for (int i = 0; i < e->model->graph->n_inputs; i++) slots[i] = hn_tensor_ref(in[i]);
    part_outputs o = {.slots = slots, .alloc = e->o.alloc, .place = place, .place_ctx = place_ctx};
    status = run_first(e, n, t, c, room, &o, err);
    if (status == HONE_OK && n->tail != NULL) {
        rest = gather(e, tail, slots);
        if (rest == NULL) status = HN_NOMEM(err);
    }
    release(e, slots, n_slots);
    if (status == HONE_OK && n->tail != NULL) {
        o.part = tail;
        o.slots = NULL;
        status = run_engine(n->tail, t, (const hn_tensor *const *)rest, place_part, &o, err);
    }
    release(e, rest, tail->n_in);
    return status;
}

static hone_status run_engine(hn_engine *e, trip *t, const hn_tensor *const *in,
                              hn_output_place *place, void *place_ctx, hn_error *err) {
    hn_entry *n;
    hn_context *c = NULL;
    hn_room *room = NULL;
    hone_status status;
    if (is_light(e, in)) return run_whole(e, t, in, place, place_ctx, err);
    HN_TRY(hn_engine_take(e, in, &n, &c, &room, err));
    if (n->cut != NULL) {
        status = run_parts(e, n, t, c, room, in, place, place_ctx, err);
        c = NULL;
    } else if (n->plan != NULL) {
        status = run_plan(e, t, c, in, place, place_ctx, err);
    } else {
        status = run_whole(e, t, in, place, place_ctx, err);
    }
    hn_engine_give(e, n, c, room, true);
    return status;
}

hone_status hn_engine_run(hn_engine *e, const hn_tensor *const *in, hn_output_place *place,
                          void *place_ctx, void (*times)(void *ctx, const hn_step_time *t),
                          void *times_ctx, hn_error *err) {
    trip t = {.times = times, .times_ctx = times_ctx};
    assert(!e->o.shows);
    hn_rng_init(&t.state.rng, e->o.seed);
    return run_engine(e, &t, in, place, place_ctx, err);
}

/* ---- outputs that are shown ---- */

hone_status hn_place_new(void *ctx, int i, hone_dtype dtype, int rank, const int64_t *dims,
                         void **to, hn_error *err) {
    const hn_new_outputs *k = ctx;
    HN_TRY(hn_tensor_create(&k->out[i], k->alloc, HN_MEM_TENSOR, dtype, rank, dims, err));
    *to = k->out[i]->data;
    return HONE_OK;
}

hone_status hn_engine_run_shown(hn_engine *e, const hn_tensor *const *in, hn_engine_show *show,
                                void *show_ctx, hn_error *err) {
    int n = e->model->graph->n_outputs;
    trip t = {.show = show, .show_ctx = show_ctx};
    hn_new_outputs k = {e->o.alloc, NULL}; /* those that no plan has shown */
    assert(e->o.shows);
    k.out = hn_alloc_zero(k.alloc, (size_t)n * sizeof *k.out, HN_MEM_OTHER);
    if (k.out == NULL) return HN_NOMEM(err);
    hn_rng_init(&t.state.rng, e->o.seed);
    hone_status status = run_engine(e, &t, in, hn_place_new, &k, err);
    for (int i = 0; i < n && status == HONE_OK; i++)
        if (k.out[i] != NULL) status = show(show_ctx, i, k.out[i], err);
    release(e, k.out, n);
    return status;
}

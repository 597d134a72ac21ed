#include "engine/engine.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/span.h"
#include "engine/entry.h"
#include "engine/weights.h"
#include "engine/widen.h"
#include "ops/infer.h"
#include "passes/simplify.h"

/* After so many plans of an engine inside another, all for different sizes of an input, nodes that
 * do without the input get a plan that serves every size of it. */
#define LOOSE_AFTER 3

/* What decides which plan serves a run. */
struct hn_shape_key {
    bool given;
    bool loose; /* any sizes will do: nodes that read it are of the tail */
    hone_dtype dtype;
    int rank;
    int64_t dims[HONE_MAX_RANK];
};

/* ---- constants made by passes ---- */

static const hn_tensor *root_of(const hn_tensor *t) {
    while (t->base != NULL) t = t->base;
    return t;
}

/* Whether t, or a view of it, is a constant of the model. */
static bool holds(const hn_model *m, const hn_tensor *t) {
    for (int k = 0; m != NULL && k < m->n_graphs; k++)
        for (int i = 0; i < m->graphs[k]->n_values; i++) {
            const hn_tensor *c = m->graphs[k]->values[i]->constant;
            while (c != NULL && c->base != NULL) c = c->base;
            if (c == t) return true;
        }
    return false;
}

/* Whether other parts than the plan may need t in plain form. */
static bool needs_plain(const hn_entry *n, const hn_tensor *t) {
    if (n->plan == NULL && n->cut == NULL) return true;
    return (n->cut != NULL && holds(n->cut->part[HN_PART_MID].model, t)) ||
           (n->tail != NULL && holds(n->tail->model, t));
}

/* Those of the constants made that steps of the plan read, as they are or views of them. */
static void find_plan_reads(const hn_prepared *p, const hn_plan *plan, bool *reads) {
    for (int i = 0; plan != NULL && i < plan->n_buffers; i++) {
        const hn_buffer *b = &plan->buffers[i];
        if (b->kind != HN_BUFFER_CONSTANT || b->first > b->last) continue;
        const hn_tensor *t = root_of(b->tensor);
        for (int k = 0; k < p->n_made; k++)
            if (p->model->graph->values[p->made[k]]->constant == t) reads[k] = true;
    }
}

/* Notes which constants the entry reads in plain form. Once it is there for others to see they
 * stay; what is still to be made restores what it needs. */
static hone_status find_reads(const hn_engine *e, hn_entry *n, hn_error *err) {
    const hn_prepared *p = e->all->ready;
    if (n->reads != NULL || e->depth > 0) return HONE_OK;
    n->reads = hn_alloc_zero(e->o.alloc, (size_t)p->n_made * sizeof *n->reads, HN_MEM_OTHER);
    if (n->reads == NULL) return HN_NOMEM(err);
    for (int i = 0; i < p->n_made; i++)
        n->reads[i] = needs_plain(n, p->model->graph->values[p->made[i]]->constant);
    find_plan_reads(p, n->plan, n->reads);
    return HONE_OK;
}

/* The entry has become, or is no longer, one that reads them. */
static void count_reads(const hn_engine *e, const hn_entry *n, int by) {
    const hn_prepared *p = e->all->ready;
    for (int i = 0; n->reads != NULL && i < p->n_made; i++)
        if (n->reads[i]) atomic_fetch_add(&p->readers[i], by);
}

/* What plans may take: a small part of what there is, since the shapes may not come again. */
static size_t plan_budget(const hn_engine *e) {
    size_t most = e->o.plan_bytes > 0 ? e->o.plan_bytes : HN_ENGINE_PLAN_BYTES;
    size_t share = e->o.alloc->limit / 16;
    return share > 0 && share < most ? share : most;
}

/* ---- engines ---- */

static void destroy_engine(hn_engine *e);

void hn_bodies_destroy(hn_engine *e, hn_body *b) {
    while (b != NULL) {
        hn_body *next = b->next;
        destroy_engine(b->engine);
        hn_free(e->o.alloc, b->outputs);
        hn_free(e->o.alloc, b);
        b = next;
    }
}

static bool stays(const hn_engine *e, const hn_tensor *t) {
    return e->depth == 0 ? hn_prepared_holds(e->all->ready, t) : holds(e->model, t);
}

/* What goes with the plan: constants that passes made for its sizes, not those of the model. */
static size_t plan_bytes(const hn_engine *e, const hn_plan *p) {
    const hn_model *m = p->model;
    size_t bytes = hn_arena_bytes(&p->arena) + hn_arena_bytes(&m->arena) +
                   hn_arena_bytes(&m->dims.arena) + hn_context_bytes(p);
    for (int i = 0; i < m->graph->n_values; i++) {
        const hn_tensor *t = m->graph->values[i]->constant;
        if (t != NULL && t->own != NULL && !stays(e, t)) bytes += t->bytes;
    }
    for (int i = 0; i < p->n_packed; i++)
        if (!stays(e, root_of(p->packed[i]->source.data))) bytes += p->packed[i]->bytes;
    return bytes;
}

static void destroy_entry(hn_engine *e, hn_entry *n) {
    if (n == NULL) return;
    e->all->plan_bytes -= n->bytes;
    if (!n->making) count_reads(e, n, -1);
    hn_free(e->o.alloc, n->reads);
    for (int i = 0; i < n->n_free; i++) hn_context_destroy(n->free[i]);
    hn_plan_destroy(n->plan);
    hn_bodies_destroy(e, n->bodies);
    destroy_engine(n->tail);
    hn_cut_destroy(n->cut);
    hn_free(e->o.alloc, n->key);
    hn_free(e->o.alloc, n);
}

/* Leaves what it shares. */
static void destroy_engine(hn_engine *e) {
    if (e == NULL) return;
    while (e->entries != NULL) {
        hn_entry *n = e->entries;
        e->entries = n->next;
        destroy_entry(e, n);
    }
    hn_bodies_destroy(e, e->bodies);
    if (e->depth > 0) hn_model_destroy(e->model);
    hn_free(e->o.alloc, e);
}

static void destroy_common(hn_common *all, hn_allocator *alloc) {
    if (all == NULL) return;
    while (all->rooms != NULL) {
        hn_room *r = all->rooms;
        all->rooms = r->next;
        hn_room_destroy(r, alloc);
    }
    hn_weights_destroy(all->weights);
    hn_choices_destroy(all->choices, alloc);
    hn_prepared_give(all->ready, &all->owner);
    pthread_cond_destroy(&all->made);
    pthread_mutex_destroy(&all->lock);
    hn_free(alloc, all);
}

static hone_status create_common(hn_common **out, const hn_model *m, const hn_engine_options *o,
                                 hn_error *err) {
    hn_common *all = hn_alloc_zero(o->alloc, sizeof *all, HN_MEM_OTHER);
    if (all == NULL) return HN_NOMEM(err);
    all->owner.alloc = o->alloc;
    pthread_mutex_init(&all->lock, NULL);
    pthread_cond_init(&all->made, NULL);
    hone_status status = hn_weights_create(&all->weights, o->device, o->alloc, err);
    if (status == HONE_OK) status = hn_prepared_take(&all->ready, m, o, &all->owner, err);
    if (status != HONE_OK) {
        destroy_common(all, o->alloc);
        return status;
    }
    if (all->ready->weights != NULL)
        hn_weights_share(all->weights, all->ready->weights, &all->ready->constants);
    *out = all;
    return HONE_OK;
}

hone_status hn_engine_create(hn_engine **out, const hn_model *m, const hn_engine_options *o,
                             hn_error *err) {
    hone_status status;
    hn_engine *e = hn_alloc_zero(o->alloc, sizeof *e, HN_MEM_OTHER);
    if (e == NULL) return HN_NOMEM(err);
    e->o = *o;
    HN_TRY_GOTO(create_common(&e->all, m, o, err));
    e->model = e->all->ready->model;
    HN_TRY_GOTO(hn_layers_check(&o->layers, e->model, err));
    *out = e;
    return HONE_OK;
fail:
    hn_engine_destroy(e);
    return status;
}

void hn_engine_destroy(hn_engine *e) {
    if (e == NULL) return;
    hn_common *all = e->all;
    hn_allocator *alloc = e->o.alloc;
    destroy_engine(e);
    destroy_common(all, alloc);
}

hone_status hn_engine_create_inside(hn_engine **out, const hn_engine *around, hn_model *m,
                                    hn_error *err) {
    hn_engine *e = hn_alloc_zero(around->o.alloc, sizeof *e, HN_MEM_OTHER);
    hn_error unread;
    if (e == NULL) {
        hn_model_destroy(m);
        return HN_NOMEM(err);
    }
    e->o = around->o;
    e->model = m;
    e->all = around->all;
    e->depth = around->depth + 1;
    if (hn_prepare_model(&e->o, m, &unread) == HONE_E_NOMEM) {
        destroy_engine(e);
        return HN_NOMEM(err);
    }
    for (const hn_node *n = m->graph->first; n != NULL; n = n->next)
        e->heavy = e->heavy || (n->op != NULL && n->op->cost != NULL);
    *out = e;
    return HONE_OK;
}

/* ---- rooms ---- */

/* Where in the list the room is that a run of the plan gets: the one its context is bound to, else
 * the first that is large enough, else the first. At the end: there is none. */
static hn_room **pick_room(hn_common *all, const hn_plan *p, const hn_context *c) {
    for (hn_room **at = &all->rooms; c != NULL && *at != NULL; at = &(*at)->next)
        if (hn_context_is_bound(c, *at)) return at;
    for (hn_room **at = &all->rooms; *at != NULL; at = &(*at)->next)
        if (hn_room_fits(*at, p)) return at;
    return &all->rooms;
}

static hone_status take_room(hn_engine *e, const hn_plan *p, hn_context *c, hn_room **out,
                             hn_error *err) {
    hn_common *all = e->all;
    hn_room **at = pick_room(all, p, c), *r = *at;
    if (r != NULL) {
        *at = r->next;
        all->n_rooms--;
    } else {
        r = hn_alloc_zero(e->o.alloc, sizeof *r, HN_MEM_OTHER);
        if (r == NULL) return HN_NOMEM(err);
    }
    hone_status status = hn_room_fit(r, p, e->o.alloc, err);
    if (status != HONE_OK) {
        hn_room_destroy(r, e->o.alloc);
        return status;
    }
    hn_context_bind(c, r);
    *out = r;
    return HONE_OK;
}

static void give_room(hn_engine *e, hn_room *r) {
    hn_common *all = e->all;
    if (all->n_rooms == HN_ENGINE_CONTEXTS) {
        hn_room_destroy(r, e->o.alloc);
        return;
    }
    r->next = all->rooms;
    all->rooms = r;
    all->n_rooms++;
}

/* ---- plans ---- */

static bool serves(const hn_engine *e, const hn_entry *n, const hn_tensor *const *in) {
    for (int i = 0; i < e->model->graph->n_inputs; i++) {
        const hn_shape_key *k = &n->key[i];
        if (k->given != (in[i] != NULL)) return false;
        if (!k->given) continue;
        if (in[i]->dtype != k->dtype) return false;
        if (!k->loose && !hn_tensor_same_dims(in[i], k->rank, k->dims)) return false;
    }
    return true;
}

/* Of what `serves` looks at. */
static uint64_t hash_of(const hn_engine *e, const hn_tensor *const *in) {
    uint64_t h = 0;
    for (int i = 0; i < e->model->graph->n_inputs; i++) {
        if (in[i] == NULL) continue;
        h = (h ^ (uint64_t)(i + 1) ^ (uint64_t)in[i]->dtype << 16) * 0x9e3779b97f4a7c15u;
        for (int k = 0; k < in[i]->rank; k++)
            h = (h ^ (uint64_t)in[i]->dims[k]) * 0x9e3779b97f4a7c15u;
        h ^= h >> 29;
    }
    return h ^ h >> 32;
}

/* The entry that serves these inputs, made or being made, or NULL. */
static hn_entry *look_up(const hn_engine *e, const hn_tensor *const *in) {
    hn_entry *n = e->entries;
    if (n == NULL || serves(e, n, in)) return n;
    uint64_t hash = hash_of(e, in);
    for (n = e->chains[hash % HN_ENTRY_CHAINS]; n != NULL; n = n->chained)
        if (n->hash == hash && serves(e, n, in)) return n;
    for (n = e->n_loose > 0 ? e->entries : NULL; n != NULL && !serves(e, n, in); n = n->next) {
    }
    return n;
}

/* Whether input i has had other sizes in every plan that is kept. */
static bool keeps_changing(const hn_engine *e, const hn_entry *n, int i) {
    const hn_shape_key *k = &n->key[i];
    for (const hn_entry *a = e->entries; a != NULL; a = a->next) {
        const hn_shape_key *other = &a->key[i];
        bool same = k->rank == other->rank &&
                    memcmp(k->dims, other->dims, (size_t)k->rank * sizeof *k->dims) == 0;
        if (!other->given || (same && !other->loose)) return false;
    }
    return k->given;
}

/* Which inputs of a new entry are loose. A loop that grows a list would otherwise need a plan for
 * each of its lengths, although most of its nodes never see the list. */
static hone_status find_loose(const hn_engine *e, hn_entry *n, hn_error *err) {
    int n_in = e->model->graph->n_inputs;
    if (e->depth == 0 || e->depth == HN_ENGINE_DEPTH || e->n_entries < LOOSE_AFTER) return HONE_OK;
    bool *loose = hn_alloc_zero(e->o.alloc, (size_t)n_in * sizeof *loose + 1, HN_MEM_OTHER);
    if (loose == NULL) return HN_NOMEM(err);
    bool any = false, spares = false;
    for (int i = 0; i < n_in; i++) any = (loose[i] = keeps_changing(e, n, i)) || any;
    hone_status status = HONE_OK;
    if (any) status = hn_cut_spares(e->model->graph, loose, e->o.alloc, &spares, err);
    for (int i = 0; i < n_in && spares; i++) n->key[i].loose = loose[i];
    hn_free(e->o.alloc, loose);
    return status;
}

/* An input that is not given: a constant takes its place in the graph. */
static hone_status take_default(hn_value *v, hn_error *err) {
    hn_value *constant;
    HN_TRY(hn_value_create_constant(&constant, v->graph, NULL, v->name, hn_tensor_ref(v->constant),
                                    err));
    hn_value_replace(v, constant);
    return HONE_OK;
}

static void set_type(hn_value *v, const hn_tensor *t) {
    v->type.kind = HN_TYPE_TENSOR;
    v->type.dtype = t->dtype;
    v->type.shape = hn_shape_of(&v->graph->model->dims, t->rank, t->dims);
    hn_tensor_unref(v->constant);
    v->constant = NULL;
}

/* The graph with the sizes of inputs that are not loose as numbers, and the defaults of those that
 * are not given. */
static hone_status specialise(hn_engine *e, const hn_tensor *const *in, const hn_shape_key *key,
                              hn_model **out, hn_error *err) {
    hn_model *m;
    HN_TRY(hn_model_derive(&m, e->model, e->o.alloc, err));
    hone_status status = HONE_OK;
    for (int i = 0; i < m->graph->n_inputs && status == HONE_OK; i++) {
        if (in[i] == NULL)
            status = take_default(m->graph->inputs[i], err);
        else
            set_type(m->graph->inputs[i], in[i]);
        if (key[i].loose) m->graph->inputs[i]->type.shape = hn_shape_unknown();
    }
    if (status == HONE_OK) status = hn_prepare_model(&e->o, m, err);
    if (status != HONE_OK) {
        hn_model_destroy(m);
        return status;
    }
    *out = m;
    return HONE_OK;
}

/* Works out the high-water mark that making and running the plan will reach, and refuses one beyond
 * what is allowed. */
static hone_status expect_memory(const hn_engine *e, hn_entry *n, hn_error *err) {
    HN_TRY(find_reads(e, n, err));
    const hn_plan *p = n->plan;
    hn_allocator *alloc = e->o.alloc;
    hn_weights *store = e->all->weights;
    hn_weights_need weights = hn_weights_needed(store, e->o.pool);
    size_t live = atomic_load(&alloc->live), making = live + weights.at_once;
    size_t dropped = e->depth == 0 ? hn_prepared_drop(e->all->ready, n->reads, true) : 0;
    pthread_mutex_lock(&e->all->lock);
    size_t context = hn_context_bytes(p) + hn_room_growth(*pick_room(e->all, p, NULL), p);
    pthread_mutex_unlock(&e->all->lock);
    size_t running = live - dropped + weights.kept + context;
    n->peak = making > running ? making : running;
    HN_CHECK(err, alloc->limit == 0 || n->peak <= alloc->limit, HONE_E_NOMEM,
             "the plan takes %zu bytes: %zu of packed weights, %zu of activations, %zu of "
             "workspace and %zu of everything else",
             n->peak, hn_weights_bytes(store) + weights.kept, p->slab_bytes, p->scratch_bytes,
             n->peak - hn_weights_bytes(store) - weights.kept - p->slab_bytes - p->scratch_bytes);
    size_t before = atomic_load(&alloc->peak);
    if (n->peak < before) n->peak = before;
    return HONE_OK;
}

/* As hn_plan_create, some of it in float where that is measured faster. */
static hone_status create_chosen(hn_engine *e, hn_entry *n, hn_model *m, hn_compile *how,
                                 hn_error *err) {
    hn_choice *chosen = NULL, **end = &e->all->choices;
    hn_layer *rules = NULL;
    hone_status status = hn_choose_precision(m, how, &chosen, err);
    pthread_mutex_lock(&e->all->lock);
    while (*end != NULL) end = &(*end)->next;
    *end = chosen;
    pthread_mutex_unlock(&e->all->lock);
    if (status == HONE_OK) status = hn_choices_add(chosen, &how->layers, how->alloc, &rules, err);
    if (status != HONE_OK) {
        hn_model_destroy(m);
        return status;
    }
    status = hn_plan_create(&n->plan, m, how, err);
    hn_free(how->alloc, rules);
    return status;
}

static hone_status make_plan(hn_engine *e, hn_model *m, hn_entry *n, hn_error *err) {
    int64_t begun = hn_clock_ns(), span = hn_span_begin();
    hn_weights *weights = e->all->weights;
    hn_compile how = {.alloc = e->o.alloc,
                      .scratch = &e->all->ready->scratch,
                      .pool = e->o.pool,
                      .device = e->o.device,
                      .weights = weights,
                      .tuner = e->o.tuner,
                      .n_forced = e->o.n_forced,
                      .forced = e->o.forced,
                      .isa = e->o.isa,
                      .layers = e->o.layers,
                      .parallel = e->o.parallel && !e->o.shows,
                      .shows = e->o.shows && e->depth == 0 && n->cut == NULL,
                      .no_sharing = e->o.no_sharing,
                      .no_fuse = e->o.no_fuse,
                      .no_sparse = e->o.no_sparse,
                      .no_lookup = e->o.no_lookup,
                      .n_pairs = e->depth == 0 && n->cut == NULL ? e->o.n_pairs : 0,
                      .pairs = e->o.pairs};
    if (e->o.advises) hn_choice_warn(m, &how);
    e->o.advises = false; /* once is enough */
    HN_TRY(e->o.auto_precision && !e->o.shows ? create_chosen(e, n, m, &how, err)
                                              : hn_plan_create(&n->plan, m, &how, err));
    hn_span_end("compile", "plan", span, (int64_t)atomic_load(&e->o.alloc->live));
    hone_status status = expect_memory(e, n, err);
    span = hn_span_begin();
    if (status == HONE_OK) status = hn_weights_fill(weights, e->o.pool, err);
    hn_span_end("compile", "pack", span, (int64_t)atomic_load(&e->o.alloc->live));
    if (status != HONE_OK) {
        hn_weights_forget(weights);
        return status;
    }
    hn_tuner_save(e->o.tuner);
    hn_log(
        HONE_LOG_INFO,
        "plan: %d step%s, %zu bytes of activations, %zu of workspace, %zu of packed weights, made "
        "in %.1f ms",
        n->plan->n_steps, n->plan->n_steps == 1 ? "" : "s", n->plan->slab_bytes,
        n->plan->scratch_bytes, hn_weights_bytes(weights), (double)(hn_clock_ns() - begun) * 1e-6);
    return HONE_OK;
}

/* Takes a part's model. */
static hn_model *part_model(hn_cut *c, hn_part_kind kind) {
    hn_model *m = c->part[kind].model;
    c->part[kind].model = NULL;
    return m;
}

/* Cuts m, which it takes over, if it must be, and makes the plan of the whole or of the head. */
static hone_status make_parts(hn_engine *e, hn_model *m, hn_entry *n, hn_error *err) {
    bool *loose = hn_alloc_zero(e->o.alloc, (size_t)m->graph->n_inputs + 1, HN_MEM_OTHER);
    hone_status status = loose == NULL ? HN_NOMEM(err) : HONE_OK;
    for (int i = 0; i < m->graph->n_inputs && loose != NULL; i++) loose[i] = n->key[i].loose;
    if (status == HONE_OK) status = hn_cut_create(&n->cut, m->graph, loose, e->o.alloc, err);
    hn_free(e->o.alloc, loose);
    if (status == HONE_OK && n->cut == NULL) return make_plan(e, m, n, err);
    hn_model_destroy(m);
    if (status != HONE_OK) return status;
    if (e->depth == HN_ENGINE_DEPTH) {
        hn_cut_destroy(n->cut);
        n->cut = NULL;
        return HONE_OK;
    }
    hn_model *tail = part_model(n->cut, HN_PART_TAIL), *head;
    if (tail != NULL) HN_TRY(hn_engine_create_inside(&n->tail, e, tail, err));
    head = part_model(n->cut, HN_PART_HEAD);
    if (head == NULL) return HONE_OK;
    status = hn_model_infer(head, NULL, err);
    if (status == HONE_OK) return make_plan(e, head, n, err);
    hn_model_destroy(head);
    return status;
}

static hone_status compile(hn_engine *e, const hn_tensor *const *in, hn_entry *n, hn_error *err) {
    hn_model *m = NULL;
    hone_status status = specialise(e, in, n->key, &m, err);
    /* As in hn_engine_create_inside. */
    if (e->depth > 0 && status != HONE_OK && status != HONE_E_NOMEM) return HONE_OK;
    if (status == HONE_OK) status = make_parts(e, m, n, err);
    if (status == HONE_OK) status = find_reads(e, n, err);
    if (status == HONE_OK && e->depth == 0) hn_prepared_drop(e->all->ready, n->reads, false);
    return status;
}

/* An entry for these inputs, to be made. */
static hone_status create_entry(hn_engine *e, const hn_tensor *const *in, hn_entry **out,
                                hn_error *err) {
    int n_in = e->model->graph->n_inputs;
    hn_entry *n = hn_alloc_zero(e->o.alloc, sizeof *n, HN_MEM_OTHER);
    if (n == NULL) return HN_NOMEM(err);
    n->key = hn_alloc_zero(e->o.alloc, (size_t)n_in * sizeof *n->key, HN_MEM_OTHER);
    if (n->key == NULL) {
        destroy_entry(e, n);
        return HN_NOMEM(err);
    }
    for (int i = 0; i < n_in; i++) {
        if (in[i] == NULL) continue;
        n->key[i].given = true;
        n->key[i].dtype = in[i]->dtype;
        n->key[i].rank = in[i]->rank;
        memcpy(n->key[i].dims, in[i]->dims, sizeof n->key[i].dims);
    }
    n->hash = hash_of(e, in);
    n->making = true;
    *out = n;
    return HONE_OK;
}

/* Makes it the one used last. */
static void put_first(hn_engine *e, hn_entry *n) {
    n->prev = NULL;
    n->next = e->entries;
    if (n->next != NULL)
        n->next->prev = n;
    else
        e->oldest = n;
    e->entries = n;
}

static void unlink_entry(hn_engine *e, hn_entry *n) {
    if (n->prev != NULL)
        n->prev->next = n->next;
    else
        e->entries = n->next;
    if (n->next != NULL)
        n->next->prev = n->prev;
    else
        e->oldest = n->prev;
}

static bool is_loose(const hn_engine *e, const hn_entry *n) {
    for (int i = 0; i < e->model->graph->n_inputs; i++)
        if (n->key[i].loose) return true;
    return false;
}

static void insert(hn_engine *e, hn_entry *n) {
    hn_entry **chain = &e->chains[n->hash % HN_ENTRY_CHAINS];
    n->chained = *chain;
    *chain = n;
    put_first(e, n);
    e->n_entries++;
    e->n_loose += is_loose(e, n);
}

static void take_out(hn_engine *e, hn_entry *n) {
    hn_entry **at = &e->chains[n->hash % HN_ENTRY_CHAINS];
    while (*at != n) at = &(*at)->chained;
    *at = n->chained;
    unlink_entry(e, n);
    e->n_entries--;
    e->n_loose -= is_loose(e, n);
}

/* Lets go of the lock while the entry is made: others run meanwhile. One that fails is gone, and
 * who waits for it tries for itself. */
static hone_status add_entry(hn_engine *e, const hn_tensor *const *in, hn_entry **out,
                             hn_error *err) {
    hn_common *all = e->all;
    hn_entry *n = NULL;
    HN_TRY(create_entry(e, in, &n, err));
    hone_status status = find_loose(e, n, err);
    if (status != HONE_OK) {
        destroy_entry(e, n);
        return status;
    }
    n->users++; /* so that it stays */
    insert(e, n);
    pthread_mutex_unlock(&all->lock);
    hn_prepared_lock(all->ready, e->o.alloc);
    hn_weights_trim(all->weights);
    if (e->depth == 0) status = hn_prepared_restore(all->ready, &e->o, plan_budget(e), err);
    if (status == HONE_OK) status = compile(e, in, n, err);
    if (status == HONE_OK && n->plan != NULL) n->bytes = plan_bytes(e, n->plan);
    if (status == HONE_OK) count_reads(e, n, 1);
    hn_prepared_unlock(all->ready);
    pthread_mutex_lock(&all->lock);
    if (status == HONE_OK) {
        n->making = false;
        n->users--;
        all->plan_bytes += n->bytes;
        unlink_entry(e, n);
        put_first(e, n);
        *out = n;
    } else {
        take_out(e, n);
        destroy_entry(e, n);
    }
    pthread_cond_broadcast(&all->made);
    return status;
}

/* Drops all that is not in use; false: there was nothing. */
static bool drop_unused(hn_engine *e) {
    int before = e->n_entries;
    for (hn_entry *n = e->entries, *next; n != NULL; n = next) {
        next = n->next;
        if (n->users > 0) continue;
        take_out(e, n);
        destroy_entry(e, n);
    }
    return e->n_entries < before;
}

/* The entry that serves these inputs, in front of the list; makes one if there is none, where memory
 * is short in the place of others. */
static hone_status find_entry(hn_engine *e, const hn_tensor *const *in, hn_entry **out,
                              hn_error *err) {
    for (;;) {
        hn_entry *n = look_up(e, in);
        if (n == NULL) {
            hone_status status = add_entry(e, in, out, err);
            if (status != HONE_E_NOMEM || !drop_unused(e)) return status;
            continue;
        }
        if (!n->making) {
            unlink_entry(e, n);
            put_first(e, n);
            *out = n;
            return HONE_OK;
        }
        pthread_cond_wait(&e->all->made, &e->all->lock);
    }
}

static bool has_too_many(const hn_engine *e) {
    return e->n_entries > HN_ENGINE_PLANS && e->all->plan_bytes > plan_budget(e);
}

/* Drops what was used longest ago and is not in use. */
static void drop_old(hn_engine *e) {
    while (has_too_many(e)) {
        hn_entry *oldest = e->oldest;
        while (oldest != NULL && oldest->users > 0) oldest = oldest->prev;
        if (oldest == NULL) return;
        take_out(e, oldest);
        destroy_entry(e, oldest);
    }
}

static hone_status take_context(hn_engine *e, hn_entry *n, hn_context **c, hn_room **room,
                                hn_error *err) {
    if (n->n_free > 0)
        *c = n->free[--n->n_free];
    else
        HN_TRY(hn_context_create(c, n->plan, e->o.alloc, err));
    hone_status status = take_room(e, n->plan, *c, room, err);
    if (status != HONE_OK) hn_context_destroy(*c);
    return status;
}

hone_status hn_engine_take(hn_engine *e, const hn_tensor *const *in, hn_entry **out,
                           hn_context **context, hn_room **room, hn_error *err) {
    hn_entry *n = NULL;
    pthread_mutex_lock(&e->all->lock);
    hone_status status = find_entry(e, in, &n, err);
    if (status == HONE_OK && n->plan != NULL) status = take_context(e, n, context, room, err);
    if (status == HONE_OK) {
        n->users++;
        *out = n;
        drop_old(e);
    }
    pthread_mutex_unlock(&e->all->lock);
    return status;
}

static void give_context(hn_engine *e, hn_entry *n, hn_context *c, hn_room *room) {
    if (n->n_free < HN_ENGINE_CONTEXTS)
        n->free[n->n_free++] = c;
    else
        hn_context_destroy(c);
    give_room(e, room);
}

void hn_engine_give(hn_engine *e, hn_entry *n, hn_context *c, hn_room *room, bool entry_too) {
    pthread_mutex_lock(&e->all->lock);
    if (c != NULL) give_context(e, n, c, room);
    n->users -= entry_too;
    pthread_mutex_unlock(&e->all->lock);
}

static size_t state_bytes(const hn_engine *e, const hn_plan *p) {
    size_t bytes = 0;
    for (int i = 0; i < e->o.n_pairs; i++) {
        int output = e->o.pairs[i].output;
        if (p->replaces == NULL || p->replaces[output] < 0)
            bytes += p->buffers[p->outputs[output].buffer].bytes;
    }
    return bytes;
}

hn_engine_memory hn_engine_memory_use(hn_engine *e) {
    hn_engine_memory m = {0};
    hn_prepared_lock(e->all->ready, e->o.alloc);
    m.weights = hn_weights_bytes(e->all->weights);
    m.device_weights = hn_weights_device_bytes(e->all->weights);
    hn_prepared_unlock(e->all->ready);
    pthread_mutex_lock(&e->all->lock);
    const hn_entry *n = e->entries;
    while (n != NULL && n->making) n = n->next;
    if (n != NULL && n->plan != NULL) {
        m.slab = n->plan->slab_bytes;
        m.scratch = n->plan->scratch_bytes;
        m.device_slab = n->plan->device_bytes;
        m.states = state_bytes(e, n->plan);
    }
    if (n != NULL && n->cut == NULL) {
        m.planned = true;
        m.peak = n->peak;
    } else if (n != NULL) {
        m.bound = n->cut->bound < SIZE_MAX - m.slab ? n->cut->bound + m.slab : SIZE_MAX;
    }
    pthread_mutex_unlock(&e->all->lock);
    return m;
}

static void add_precision(const hn_engine *e, hn_engine_precision *p);

static void add_step_precision(const hn_step_facts *f, hn_engine_precision *p) {
    p->n_steps++;
    if (f->exactness > HN_PRECISION_F32 || f->why_precision != NULL) p->used |= 1u << f->exactness;
    if (f->why_precision == NULL || (p->why[0] != '\0' && f->flops <= p->flops)) return;
    snprintf(p->why, sizeof p->why, "%s", f->why_precision);
    p->flops = f->flops;
}

static void add_body_precisions(const hn_body *b, hn_engine_precision *p) {
    for (; b != NULL; b = b->next) add_precision(b->engine, p);
}

/* Engines inside engines are at most HN_ENGINE_DEPTH deep. */
static void add_precision(const hn_engine *e, hn_engine_precision *p) {
    for (const hn_entry *a = e->entries; a != NULL; a = a->next) {
        if (a->making) continue;
        for (int i = 0; a->plan != NULL && i < a->plan->n_steps; i++)
            add_step_precision(a->plan->steps[i]->facts, p);
        if (a->tail != NULL) add_precision(a->tail, p);
        add_body_precisions(a->bodies, p);
    }
    add_body_precisions(e->bodies, p);
}

hn_engine_precision hn_engine_precision_used(hn_engine *e) {
    hn_engine_precision p = {0};
    pthread_mutex_lock(&e->all->lock);
    add_precision(e, &p);
    pthread_mutex_unlock(&e->all->lock);
    return p;
}

const hn_choice *hn_engine_choice(hn_engine *e, size_t i) {
    pthread_mutex_lock(&e->all->lock);
    const hn_choice *c = e->all->choices;
    while (c != NULL && i-- > 0) c = c->next;
    pthread_mutex_unlock(&e->all->lock);
    return c;
}

hn_tuning hn_engine_tuning(hn_engine *e) {
    hn_prepared_lock(e->all->ready, e->o.alloc);
    hn_tuning t = hn_tuner_total(e->o.tuner);
    hn_prepared_unlock(e->all->ready);
    return t;
}

hone_status hn_engine_prepare(hn_engine *e, const hn_tensor *const *in, hn_error *err) {
    hn_entry *n;
    hn_context *c = NULL;
    hn_room *room = NULL;
    HN_TRY(hn_engine_take(e, in, &n, &c, &room, err));
    hn_engine_give(e, n, c, room, true);
    return HONE_OK;
}

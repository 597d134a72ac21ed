#include "engine/engine.h"

#include <pthread.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "engine/weights.h"
#include "ops/eval.h"
#include "ops/infer.h"
#include "passes/simplify.h"

/* What decides which plan serves a run. */
typedef struct shape_key {
    bool given;
    int rank;
    int64_t dims[HONE_MAX_RANK];
} shape_key;

/* One set of shapes: a plan with its free contexts, or the graph to be run as it is. */
typedef struct entry entry;
struct entry {
    shape_key *key; /* by input */
    hn_plan *plan;
    hn_model *model; /* when there is no plan */
    size_t peak;     /* of the allocator, as planned */
    int users;       /* runs going on */
    hn_context *free[HN_ENGINE_CONTEXTS];
    int n_free;
    entry *next; /* used longer ago */
};

/* Constants that the passes made of the source's are needed in plain form while plans are made, and
 * afterwards where a step reads them so; for the rest there are packed copies. So a plan once made
 * drops their contents, and before another is made the passes make them anew. */
struct hn_engine {
    hn_engine_options o;
    const hn_model *source;
    hn_model *model; /* the source, simplified */
    int n_made;
    int *made; /* values of `model`, by id, that only it holds, with contents that can be dropped */
    bool dropped; /* some are */
    hn_weights *weights;
    pthread_mutex_t lock; /* of all below */
    entry *entries;       /* used last first */
    int n_entries;
};

static hone_status simplify(const hn_engine *e, hn_model *m, hn_error *err) {
    HN_TRY(hn_model_infer(m, NULL, err));
    if (e->o.no_simplify) return HONE_OK;
    hn_simplify_options s = hn_simplify_defaults();
    s.keep_opset = false;
    s.disable = e->o.disable;
    return hn_simplify(m, &s, NULL, err);
}

static hone_status simplified(const hn_engine *e, hn_model **out, hn_error *err) {
    hn_model *m;
    HN_TRY(hn_model_clone(&m, e->source, e->o.alloc, err));
    hone_status status = simplify(e, m, err);
    if (status == HONE_OK)
        *out = m;
    else
        hn_model_destroy(m);
    return status;
}

/* ---- constants made by passes ---- */

static hn_tensor *constant(const hn_model *m, int id) { return m->graph->values[id]->constant; }

/* What the source does not hold, one value of the model does. */
static hone_status list_made(hn_engine *e, hn_error *err) {
    int n = e->model->graph->n_values;
    e->made = hn_alloc_array(e->o.alloc, (size_t)n, sizeof *e->made, HN_MEM_OTHER);
    if (e->made == NULL) return HN_NOMEM(err);
    for (int i = 0; i < n; i++) {
        const hn_tensor *t = constant(e->model, i);
        if (t != NULL && t->own != NULL && atomic_load(&t->refs) == 1) e->made[e->n_made++] = i;
    }
    return HONE_OK;
}

/* Whether a step of the plan reads t, or a view of it, in plain form. */
static bool reads_plain(const hn_plan *p, const hn_tensor *t) {
    for (int i = 0; i < p->n_buffers; i++) {
        const hn_buffer *b = &p->buffers[i];
        if (b->kind != HN_BUFFER_CONSTANT || b->first > b->last) continue;
        const hn_tensor *c = b->tensor;
        while (c->base != NULL) c = c->base;
        if (c == t) return true;
    }
    return false;
}

static void let_files_go(const hn_model *m) {
    const hn_file *last = NULL;
    for (int i = 0; i < m->graph->n_values; i++) {
        const hn_tensor *t = constant(m, i);
        if (t == NULL || t->file == NULL || t->file == last) continue;
        last = t->file;
        hn_file_let_go(last, last->data, last->bytes);
    }
}

/* Whether the contents of t can be given up once `newest` is made beside the other plans. */
static bool can_drop(const hn_engine *e, const entry *newest, const hn_tensor *t) {
    if (t->own == NULL || newest->plan == NULL || reads_plain(newest->plan, t)) return false;
    for (const entry *n = e->entries; n != NULL; n = n->next)
        if (n->plan == NULL || reads_plain(n->plan, t)) return false;
    return true;
}

/* Gives up what only making plans needs. */
static void drop_plain(hn_engine *e, const entry *newest) {
    let_files_go(e->source);
    let_files_go(e->model);
    for (int i = 0; i < e->n_made; i++) {
        hn_tensor *t = constant(e->model, e->made[i]);
        if (!can_drop(e, newest, t)) continue;
        hn_tensor_drop(t);
        e->dropped = true;
    }
}

/* Makes what was dropped anew: the passes are a function of the source. */
static hone_status restore_plain(hn_engine *e, hn_error *err) {
    hn_model *again;
    if (!e->dropped) return HONE_OK;
    HN_TRY(simplified(e, &again, err));
    for (int i = 0; i < e->n_made; i++) {
        hn_tensor *t = constant(e->model, e->made[i]);
        if (t->own == NULL) hn_tensor_refill(t, constant(again, e->made[i]));
    }
    e->dropped = false;
    hn_model_destroy(again);
    return HONE_OK;
}

/* ---- engines ---- */

hone_status hn_engine_create(hn_engine **out, const hn_model *m, const hn_engine_options *o,
                             hn_error *err) {
    hone_status status;
    hn_engine *e = hn_alloc_zero(o->alloc, sizeof *e, HN_MEM_OTHER);
    if (e == NULL) return HN_NOMEM(err);
    e->o = *o;
    pthread_mutex_init(&e->lock, NULL);
    e->source = m;
    HN_TRY_GOTO(hn_weights_create(&e->weights, o->alloc, err));
    HN_TRY_GOTO(simplified(e, &e->model, err));
    HN_TRY_GOTO(list_made(e, err));
    let_files_go(e->source);
    *out = e;
    return HONE_OK;
fail:
    hn_engine_destroy(e);
    return status;
}

static void destroy_entry(hn_engine *e, entry *n) {
    if (n == NULL) return;
    for (int i = 0; i < n->n_free; i++) hn_context_destroy(n->free[i]);
    hn_plan_destroy(n->plan);
    hn_model_destroy(n->model);
    hn_free(e->o.alloc, n->key);
    hn_free(e->o.alloc, n);
}

void hn_engine_destroy(hn_engine *e) {
    if (e == NULL) return;
    while (e->entries != NULL) {
        entry *n = e->entries;
        e->entries = n->next;
        destroy_entry(e, n);
    }
    hn_model_destroy(e->model);
    hn_free(e->o.alloc, e->made);
    hn_weights_destroy(e->weights);
    pthread_mutex_destroy(&e->lock);
    hn_free(e->o.alloc, e);
}

/* ---- plans ---- */

static bool serves(const hn_engine *e, const entry *n, const hn_tensor *const *in) {
    for (int i = 0; i < e->model->graph->n_inputs; i++) {
        const shape_key *k = &n->key[i];
        if (k->given != (in[i] != NULL)) return false;
        if (k->given && !hn_tensor_same_dims(in[i], k->rank, k->dims)) return false;
    }
    return true;
}

/* The graph with its inputs' sizes as numbers; an input that is not given becomes a constant. */
static hone_status specialise(hn_engine *e, const hn_tensor *const *in, hn_model **out,
                              hn_error *err) {
    hn_model *m;
    HN_TRY(hn_model_clone(&m, e->model, e->o.alloc, err));
    hn_graph *g = m->graph;
    for (int i = 0; i < g->n_inputs; i++) {
        hn_value *v = g->inputs[i];
        if (in[i] == NULL) {
            v->is_input = false;
            continue;
        }
        v->type.kind = HN_TYPE_TENSOR;
        v->type.dtype = in[i]->dtype;
        v->type.shape = hn_shape_of(&m->dims, in[i]->rank, in[i]->dims);
        if (v->constant != NULL) {
            hn_tensor_unref(v->constant);
            v->constant = NULL;
        }
    }
    hone_status status = simplify(e, m, err);
    if (status != HONE_OK) {
        hn_model_destroy(m);
        return status;
    }
    *out = m;
    return HONE_OK;
}

/* Works out the high-water mark that making and running the plan will reach, and refuses one beyond
 * what is allowed. */
static hone_status expect_memory(const hn_engine *e, entry *n, hn_error *err) {
    const hn_plan *p = n->plan;
    hn_allocator *alloc = e->o.alloc;
    hn_weights_need weights = hn_weights_needed(e->weights, e->o.pool);
    size_t live = atomic_load(&alloc->live), making = live + weights.at_once;
    size_t dropped = 0;
    for (int i = 0; i < e->n_made; i++) {
        const hn_tensor *t = constant(e->model, e->made[i]);
        if (can_drop(e, n, t)) dropped += hn_alloc_bytes(t->bytes);
    }
    size_t context =
        hn_context_bytes(p) + hn_alloc_bytes(p->slab_bytes) + hn_alloc_bytes(p->scratch_bytes);
    size_t running = live - dropped + weights.kept + context;
    n->peak = making > running ? making : running;
    HN_CHECK(
        err, alloc->limit == 0 || n->peak <= alloc->limit, HONE_E_NOMEM,
        "the plan takes %zu bytes: %zu of packed weights, %zu of activations, %zu of "
        "workspace and %zu of everything else",
        n->peak, hn_weights_bytes(e->weights) + weights.kept, p->slab_bytes, p->scratch_bytes,
        n->peak - hn_weights_bytes(e->weights) - weights.kept - p->slab_bytes - p->scratch_bytes);
    size_t before = atomic_load(&alloc->peak);
    if (n->peak < before) n->peak = before;
    return HONE_OK;
}

static hone_status compile(hn_engine *e, const hn_tensor *const *in, entry *n, hn_error *err) {
    int64_t begun = hn_clock_ns();
    hn_model *m;
    HN_TRY(specialise(e, in, &m, err));
    const char *why = hn_plan_refuses(m->graph);
    if (why != NULL) {
        hn_log(HONE_LOG_INFO, "runs through the references: %s", why);
        n->model = m;
        return HONE_OK;
    }
    hn_compile how = {.alloc = e->o.alloc,
                      .pool = e->o.pool,
                      .weights = e->weights,
                      .tuner = e->o.tuner,
                      .n_forced = e->o.n_forced,
                      .forced = e->o.forced,
                      .isa = e->o.isa,
                      .precision = e->o.precision,
                      .parallel = e->o.parallel,
                      .no_sharing = e->o.no_sharing,
                      .no_fuse = e->o.no_fuse};
    HN_TRY(hn_plan_create(&n->plan, m, &how, err));
    hone_status status = expect_memory(e, n, err);
    if (status == HONE_OK) status = hn_weights_fill(e->weights, e->o.pool, err);
    if (status != HONE_OK) {
        hn_weights_forget(e->weights);
        return status;
    }
    drop_plain(e, n);
    hn_tuner_save(e->o.tuner);
    hn_log(
        HONE_LOG_INFO,
        "plan: %d steps, %zu bytes of activations, %zu of workspace, %zu of packed weights, made "
        "in %.1f ms",
        n->plan->n_steps, n->plan->slab_bytes, n->plan->scratch_bytes, hn_weights_bytes(e->weights),
        (double)(hn_clock_ns() - begun) * 1e-6);
    return HONE_OK;
}

static hone_status add_entry(hn_engine *e, const hn_tensor *const *in, hn_error *err) {
    int n_in = e->model->graph->n_inputs;
    hone_status status = HONE_OK;
    entry *n = hn_alloc_zero(e->o.alloc, sizeof *n, HN_MEM_OTHER);
    if (n == NULL) return HN_NOMEM(err);
    n->key = hn_alloc_zero(e->o.alloc, (size_t)n_in * sizeof *n->key, HN_MEM_OTHER);
    if (n->key == NULL) status = HN_NOMEM(err);
    for (int i = 0; i < n_in && status == HONE_OK; i++) {
        if (in[i] == NULL) continue;
        n->key[i].given = true;
        n->key[i].rank = in[i]->rank;
        memcpy(n->key[i].dims, in[i]->dims, sizeof n->key[i].dims);
    }
    if (status == HONE_OK) status = restore_plain(e, err);
    if (status == HONE_OK) status = compile(e, in, n, err);
    if (status != HONE_OK) {
        destroy_entry(e, n);
        return status;
    }
    n->next = e->entries;
    e->entries = n;
    e->n_entries++;
    return HONE_OK;
}

/* Drops what was used longest ago and is not in use. */
static void drop_old(hn_engine *e) {
    entry **oldest = NULL;
    if (e->n_entries <= HN_ENGINE_PLANS) return;
    for (entry **at = &e->entries; *at != NULL; at = &(*at)->next)
        if ((*at)->users == 0) oldest = at;
    if (oldest == NULL) return;
    entry *n = *oldest;
    *oldest = n->next;
    e->n_entries--;
    destroy_entry(e, n);
}

/* The entry that serves these inputs, moved to the front, with one user more and, if it has a plan,
 * a context. */
static hone_status take(hn_engine *e, const hn_tensor *const *in, entry **out, hn_context **context,
                        hn_error *err) {
    hone_status status = HONE_OK;
    pthread_mutex_lock(&e->lock);
    entry **at = &e->entries;
    while (*at != NULL && !serves(e, *at, in)) at = &(*at)->next;
    if (*at == NULL) {
        status = add_entry(e, in, err);
    } else if (at != &e->entries) {
        entry *n = *at;
        *at = n->next;
        n->next = e->entries;
        e->entries = n;
    }
    entry *n = e->entries;
    *context = NULL;
    if (status == HONE_OK && n->plan != NULL) {
        if (n->n_free > 0)
            *context = n->free[--n->n_free];
        else
            status = hn_context_create(context, n->plan, e->o.alloc, err);
    }
    if (status == HONE_OK) {
        n->users++;
        *out = n;
        drop_old(e);
    }
    pthread_mutex_unlock(&e->lock);
    return status;
}

static void give(hn_engine *e, entry *n, hn_context *c) {
    pthread_mutex_lock(&e->lock);
    n->users--;
    if (c != NULL && n->n_free < HN_ENGINE_CONTEXTS) {
        n->free[n->n_free++] = c;
        c = NULL;
    }
    pthread_mutex_unlock(&e->lock);
    hn_context_destroy(c);
}

hn_engine_memory hn_engine_memory_use(hn_engine *e) {
    hn_engine_memory m = {0};
    pthread_mutex_lock(&e->lock);
    m.weights = hn_weights_bytes(e->weights);
    if (e->entries != NULL && e->entries->plan != NULL) {
        m.planned = true;
        m.peak = e->entries->peak;
        m.slab = e->entries->plan->slab_bytes;
        m.scratch = e->entries->plan->scratch_bytes;
    }
    pthread_mutex_unlock(&e->lock);
    return m;
}

hn_tuning hn_engine_tuning(hn_engine *e) {
    pthread_mutex_lock(&e->lock); /* under which plans are made */
    hn_tuning t = hn_tuner_total(e->o.tuner);
    pthread_mutex_unlock(&e->lock);
    return t;
}

/* ---- runs ---- */

static hone_status run_graph(hn_engine *e, const hn_model *m, const hn_tensor *const *in,
                             hn_engine_place *place, void *place_ctx, hn_error *err) {
    int n = m->graph->n_outputs;
    hone_status status = HONE_OK;
    hn_exec_options o = {.alloc = e->o.alloc,
                         .pool = e->o.pool,
                         .seed = e->o.seed,
                         .keep_going = e->o.keep_going,
                         .keep_going_ctx = e->o.keep_going_ctx};
    hn_tensor **out = hn_alloc_zero(e->o.alloc, (size_t)n * sizeof *out, HN_MEM_OTHER);
    void **to = hn_alloc_zero(e->o.alloc, (size_t)n * sizeof *to, HN_MEM_OTHER);
    if (out == NULL || to == NULL) status = HN_NOMEM(err);
    if (status == HONE_OK) status = hn_graph_run(m->graph, &o, in, out, err);
    for (int i = 0; i < n && status == HONE_OK; i++)
        status = place(place_ctx, i, out[i]->dtype, out[i]->rank, out[i]->dims, &to[i], err);
    for (int i = 0; i < n && status == HONE_OK; i++)
        if (to[i] != NULL && out[i]->bytes > 0) memcpy(to[i], out[i]->data, out[i]->bytes);
    for (int i = 0; i < n && out != NULL; i++) hn_tensor_unref(out[i]);
    hn_free(e->o.alloc, to);
    hn_free(e->o.alloc, out);
    return status;
}

hone_status hn_engine_prepare(hn_engine *e, const hn_tensor *const *in, hn_error *err) {
    entry *n;
    hn_context *c;
    HN_TRY(take(e, in, &n, &c, err));
    give(e, n, c);
    return HONE_OK;
}

hone_status hn_engine_run(hn_engine *e, const hn_tensor *const *in, hn_engine_place *place,
                          void *place_ctx, void (*times)(void *ctx, const hn_step_time *t),
                          void *times_ctx, hn_error *err) {
    entry *n;
    hn_context *c;
    HN_TRY(take(e, in, &n, &c, err));
    hn_run r = {.pool = e->o.pool,
                .seed = e->o.seed,
                .in = in,
                .place = place,
                .place_ctx = place_ctx,
                .times = times,
                .times_ctx = times_ctx,
                .keep_going = e->o.keep_going,
                .keep_going_ctx = e->o.keep_going_ctx};
    hone_status status = n->plan != NULL ? hn_context_run(c, &r, err)
                                         : run_graph(e, n->model, in, place, place_ctx, err);
    give(e, n, c);
    return status;
}

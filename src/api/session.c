#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "api/api.h"
#include "base/clock.h"
#include "base/isa.h"
#include "base/log.h"
#include "base/pool.h"
#include "base/size.h"
#include "base/span.h"
#include "base/stop.h"
#include "engine/backend.h"
#include "engine/choice.h"
#include "engine/pools.h"
#include "measure/accuracy.h"
#include "passes/simplify.h"

/* Where one wanted output comes from and goes to. */
typedef struct target {
    int output; /* of the graph */
    const char *name;
    void *block; /* memory for a value that came without; the caller's once the run has succeeded */
    const void *made; /* where the run computes it */
    hone_value got;
} target;

/* What a run needs of its own, kept from run to run. Its arrays follow it in the same block. */
typedef struct call call;
struct call {
    call *next;
    hn_tensor *inputs;    /* those that were given */
    const hn_tensor **in; /* by index of the graph's inputs */
    size_t n_targets;
    target *to;
};

struct hone_session {
    atomic_int refs; /* of the caller and of states */
    hone_model *model;
    hn_allocator alloc;
    hn_pool *pool;
    char precision[16];      /* asked for, or the model's own */
    bool integers;           /* what is quantized computes in integers */
    hn_precision asked;      /* the least exact sums that the caller allows */
    char why_precision[240]; /* under the lock */
    hn_layer *rules;         /* for layers; NULL: none */
    hn_isa isa;
    int cores;                /* this process may use */
    hn_tuner *tuner;          /* NULL: nothing is tuned */
    char *disabled;           /* passes; NULL: none */
    hn_forced_kernel *forced; /* kernels; NULL: none */
    hn_api_pairs pairs;       /* inputs that states keep */
    hn_runner runner;
    hn_run_options how;
    hone_session_options o;
    hn_stop runs;
    pthread_mutex_t lock;
    call *calls; /* not in use; under the lock */
};

static hone_status take_pool(hn_pool **out, const hone_session_options *o, hn_error *err) {
    return hn_pools_take(out, hn_pools_threads(o->threads, o->reserve_cores), o->pin_threads, err);
}

static hone_status read_options(hone_session_options *o, const hone_session_options *given,
                                hn_error *err) {
    HN_TRY(HN_TAKE_OPTIONS(session, o, given, err));
    HN_CHECK(err, o->threads >= 0 && o->threads <= HN_THREADS_MAX, HONE_E_ARG,
             "%d threads were asked for, expected 0 to %d", o->threads, HN_THREADS_MAX);
    HN_CHECK(err, o->reserve_cores >= 0, HONE_E_ARG, "%d cores were to be left to others",
             o->reserve_cores);
    return HONE_OK;
}

hone_status hn_api_pool_take(hn_pool **out, const hone_session_options *options, hn_error *err) {
    hone_session_options o;
    HN_TRY(read_options(&o, options, err));
    return take_pool(out, &o, err);
}

/* ---- sessions ---- */

HN_DEFINE_OPTIONS(session, .backend = hn_backend_or_default(NULL)->name, .seed = 1)

static bool is_pass(const char *name, size_t n) {
    for (int i = 0; i < HN_PASS_COUNT_; i++)
        if (strlen(hn_pass_name(i)) == n && memcmp(hn_pass_name(i), name, n) == 0) return true;
    return false;
}

/* Switches off what `without` names; those that are passes stay in s->disabled. */
static hone_status leave_out(hone_session *s, const char *without, hn_engine_options *e,
                             hn_error *err) {
    if (without == NULL) return HONE_OK;
    s->disabled = hn_alloc_zero(&s->alloc, strlen(without) + 2, HN_MEM_OTHER);
    if (s->disabled == NULL) return HN_NOMEM(err);
    for (const char *at = without; *at != '\0'; at += *at == ',') {
        size_t n = strcspn(at, ",");
        if (n == 4 && memcmp(at, "fuse", n) == 0)
            e->no_fuse = true;
        else if (n == 6 && memcmp(at, "sparse", n) == 0)
            e->no_sparse = true;
        else if (n == 6 && memcmp(at, "lookup", n) == 0)
            e->no_lookup = true;
        else if (is_pass(at, n))
            strcat(strncat(s->disabled, at, n), ",");
        else
            return HN_FAIL(
                err, HONE_E_ARG,
                "there is no '%.*s' to do without; there are fuse, sparse, lookup and the passes",
                (int)(n < 200 ? n : 200), at);
        at += n;
    }
    e->disable = s->disabled;
    return HONE_OK;
}

static hone_status make_tuner(hone_session *s, hn_isa isa, hn_error *err) {
    static const char *const efforts[] = {"off", "fast", "full"};
    const char *tune = s->o.tune != NULL ? s->o.tune : "off";
    int effort = 0;
    while (effort < 3 && strcmp(tune, efforts[effort]) != 0) effort++;
    HN_CHECK(err, effort < 3, HONE_E_ARG, "tune is '%s', expected off, fast or full", tune);
    if (effort == HN_TUNE_OFF && s->o.tune_cache == NULL) return HONE_OK;
    return hn_tuner_create(&s->tuner, (hn_tune_effort)effort, isa, s->o.tune_cache, &s->alloc, err);
}

/* Takes apart "FAMILY=ROW,...". */
static hone_status force_kernels(hone_session *s, const char *list, hn_engine_options *e,
                                 hn_error *err) {
    if (list == NULL) return HONE_OK;
    size_t most = 1;
    for (const char *c = list; *c != '\0'; c++) most += *c == ',';
    s->forced = hn_alloc_array(&s->alloc, most, sizeof *s->forced, HN_MEM_OTHER);
    if (s->forced == NULL) return HN_NOMEM(err);
    for (const char *at = list; *at != '\0'; at += *at == ',') {
        size_t n = strcspn(at, ","), head = strcspn(at, "=,");
        HN_CHECK(err, head < n && n < 200, HONE_E_ARG,
                 "'%.*s' is no kernel, expected FAMILY=ROW as hone kernels lists them",
                 (int)(n < 200 ? n : 200), at);
        hn_forced_kernel *f = &s->forced[e->n_forced++];
        f->family = hn_family_named(at, head);
        HN_CHECK(err, f->family != NULL, HONE_E_ARG,
                 "there is no kernel family '%.*s'; hone kernels lists them", (int)head, at);
        f->kernel = hn_kernel_named(f->family, at + head + 1, n - head - 1);
        HN_CHECK(err, f->kernel != NULL, HONE_E_ARG,
                 "the family %s has no kernel '%.*s'; hone kernels %s lists them", f->family->name,
                 (int)(n - head - 1), at + head + 1, f->family->name);
        at += n;
    }
    e->forced = s->forced;
    return HONE_OK;
}

static hone_status read_exec(const char *name, bool *parallel, hn_error *err) {
    *parallel = name != NULL && strcmp(name, "parallel") == 0;
    HN_CHECK(err, *parallel || name == NULL || strcmp(name, "sequential") == 0, HONE_E_ARG,
             "exec is '%s', expected sequential or parallel", name);
    return HONE_OK;
}

/* NULL: what the model holds. */
static hone_status read_precision(hone_session *s, const char *name, hn_engine_options *e,
                                  hn_error *err) {
    const hn_graph *g = s->model->ir->graph;
    hn_layer_precision own = hn_graph_stored_precision(g), asked = own;
    e->auto_precision = name != NULL && strcmp(name, "auto") == 0;
    e->advises = name == NULL;
    if (name != NULL && !e->auto_precision) {
        HN_CHECK(err, strcmp(name, "f16") != 0, HONE_E_UNSUPPORTED,
                 "precision is f16, which is not available on this machine");
        HN_CHECK(err, hn_layer_precision_named(name, strlen(name), &asked), HONE_E_ARG,
                 "precision is '%s', expected f32, f32-relaxed, bf16, f16, int8 or auto", name);
        HN_CHECK(err, !own.no_integers || asked.no_integers, HONE_E_ARG,
                 "precision is int8, but this is a float model; quantize it first");
    }
    s->asked = asked.precision;
    s->integers = !own.no_integers && (e->auto_precision || !asked.no_integers);
    /* Beside integers, floats are as exact as the model writes them. */
    e->layers.way = asked.no_integers ? asked : own;
    bool named = name != NULL && (s->integers || !e->auto_precision);
    snprintf(s->precision, sizeof s->precision, "%s",
             !named                                              ? hn_graph_precision(g, s->isa)
             : s->asked == 0 || hn_has_kernels(s->isa, s->asked) ? name
                                                                 : "f32");
    if (s->o.layer_precision == NULL) return HONE_OK;
    HN_TRY(hn_layers_read(s->o.layer_precision, &s->alloc, &s->rules, &e->layers.n, err));
    e->layers.rules = s->rules;
    return HONE_OK;
}

const char *hone_session_precision(const hone_session *s) {
    hn_engine_precision p;
    if (s->integers) return s->precision;
    if (hn_runner_precision(&s->runner, &p) && p.n_steps == 0) return s->precision;
    return hn_precisions_name(p.used, s->rules != NULL || strcmp(s->precision, "mixed") == 0);
}

const char *hone_session_why_precision(hone_session *s) {
    hn_engine_precision p;
    if (s->integers || s->asked == HN_PRECISION_F32) return NULL;
    bool plans = hn_runner_precision(&s->runner, &p);
    if ((plans && p.n_steps == 0) || p.used >> s->asked != 0) return NULL;
    const char *why = !plans          ? "this backend computes in f32"
                      : p.why[0] != 0 ? p.why
                                      : "the model has no products";
    pthread_mutex_lock(&s->lock);
    snprintf(s->why_precision, sizeof s->why_precision, "%s", why);
    pthread_mutex_unlock(&s->lock);
    return s->why_precision;
}

const char *hone_session_choice(const hone_session *s, size_t i) {
    const hn_choice *c = hn_runner_choice(&s->runner, i);
    return c != NULL ? c->text : NULL;
}

hone_status hone_session_create(hone_session **out, hone_model *model,
                                const hone_session_options *options, hone_error *err) {
    hone_session_options o;
    HN_TRY(read_options(&o, options, err));
    const hn_backend *backend;
    HN_TRY(hn_backend_find(o.backend != NULL ? o.backend : "", &backend, err));
    hn_isa isa = hn_isa_available();
    if (o.isa != NULL) HN_TRY(hn_isa_limit(isa, o.isa, &isa, err));
    HN_TRY(hn_graph_runnable(model->ir->graph, err));
    hone_session *s = hn_alloc_zero(hn_allocator_default(), sizeof *s, HN_MEM_OTHER);
    if (s == NULL) return HN_NOMEM(err);
    hn_allocator_init(&s->alloc);
    s->alloc.limit = o.max_memory != 0 ? o.max_memory : hn_cpu_memory();
    s->o = o;
    atomic_init(&s->refs, 1);
    pthread_mutex_init(&s->lock, NULL);
    s->isa = isa;
    s->cores = hn_cpu_available();
    hone_status status = hn_api_with_parameters(model, o.state, &s->model, err);
    if (status == HONE_OK) status = take_pool(&s->pool, &o, err);
    if (s->model != NULL) model = s->model;
    if (status == HONE_OK && backend->executor->tuning != NULL) status = make_tuner(s, isa, err);
    hn_engine_options e = {.alloc = &s->alloc,
                           .tuner = s->tuner,
                           .pool = s->pool,
                           .isa = isa,
                           .inferred = true,
                           .seed = o.seed,
                           .no_sharing = o.no_sharing,
                           .keep_going = o.keep_going,
                           .keep_going_ctx = o.keep_going_ctx,
                           .stop = &s->runs};
    if (status == HONE_OK) status = leave_out(s, o.without, &e, err);
    if (status == HONE_OK) status = force_kernels(s, o.kernels, &e, err);
    if (status == HONE_OK) status = read_exec(o.exec, &e.parallel, err);
    if (status == HONE_OK) status = read_precision(s, o.precision, &e, err);
    s->how = (hn_run_options){.engine = e, .backend = backend}; /* for other models */
    e.prepared = &model->prepared;
    if (status == HONE_OK)
        status = hn_api_pairs_read(&s->pairs, model->ir->graph, o.state, &s->alloc, err);
    e.n_pairs = (int)s->pairs.n;
    e.pairs = s->pairs.at;
    if (status == HONE_OK) status = hn_runner_create(&s->runner, backend, model->ir, &e, err);
    if (status != HONE_OK) {
        hone_session_destroy(s);
        return status;
    }
    *out = s;
    return HONE_OK;
}

void hone_session_destroy(hone_session *s) {
    if (s == NULL || atomic_fetch_sub(&s->refs, 1) > 1) return;
    hn_runner_destroy(&s->runner);
    while (s->calls != NULL) {
        call *c = s->calls;
        s->calls = c->next;
        hn_free(&s->alloc, c);
    }
    pthread_mutex_destroy(&s->lock);
    hn_tuner_destroy(s->tuner);
    hn_free(&s->alloc, s->disabled);
    hn_free(&s->alloc, s->forced);
    hn_free(&s->alloc, s->rules);
    hn_free(&s->alloc, s->pairs.at);
    hn_pools_give(s->pool);
    hn_api_model_unref(s->model);
    hn_free(hn_allocator_default(), s);
}

hone_model *hn_api_session_model(const hone_session *s) { return s->model; }

const hn_api_pairs *hn_api_session_ref(hone_session *s, hn_allocator **alloc) {
    atomic_fetch_add(&s->refs, 1);
    *alloc = &s->alloc;
    return &s->pairs;
}

const char *hone_session_state(const hone_session *s, size_t i, const char **output) {
    const hn_graph *g = s->model->ir->graph;
    if (i >= s->pairs.n) return NULL;
    if (output != NULL) *output = g->outputs[s->pairs.at[i].output].value->name;
    return g->inputs[s->pairs.at[i].input]->name;
}

hn_run_options hn_api_session_run_options(const hone_session *s) { return s->how; }

hn_run_options hn_api_session_take_run_options(hone_session *s) {
    hn_runner_destroy(&s->runner);
    return s->how;
}

int hone_session_threads(const hone_session *s) { return hn_pool_threads(s->pool); }

const char *hone_session_isa(const hone_session *s) { return hn_isa_name(s->isa); }

void hone_session_tuning_sized(const hone_session *s, hone_tuning *out, const hone_layout *caller) {
    hn_tuning t = hn_runner_tuning(&s->runner);
    hone_tuning own = {.problems = t.problems,
                       .known = t.known,
                       .measured = t.measured,
                       .changed = t.changed,
                       .ms = (double)t.ns * 1e-6};
    HN_GIVE(out, &own, caller, tuning);
}

void hone_session_memory_sized(const hone_session *s, hone_memory_use *out,
                               const hone_layout *caller) {
    hone_memory_use use = {.peak_bytes = atomic_load(&s->alloc.peak),
                           .live_bytes = atomic_load(&s->alloc.live),
                           .allocations = atomic_load(&s->alloc.taken)};
    hn_engine_memory m;
    hn_runner_memory(&s->runner, &m);
    use.weights_bytes = m.weights;
    use.arena_bytes = m.slab;
    use.scratch_bytes = m.scratch;
    use.planned_bytes = m.peak;
    use.bound_bytes = m.bound;
    HN_GIVE(out, &use, caller, memory_use);
}

/* ---- running ---- */

static hone_status within_memory(const hone_session *s, hone_status status, hn_error *err) {
    if (status == HONE_E_NOMEM && s->o.max_memory != 0)
        hn_error_context(err, "within %zu bytes", s->o.max_memory);
    return status;
}

/* One tensor per input of the graph, one reference per output; ctx is the session. */
static hone_status run(void *ctx, const hn_tensor *const *in, hn_tensor **out, hn_error *err) {
    const hone_session *s = ctx;
    return within_memory(s, hn_runner_run_tensors(&s->runner, in, out, err), err);
}

/* Symbols met so far in the inputs, with the sizes they were given. Those beyond the last slot go
 * unchecked here; the operators still compare what must agree. */
#define MOST_BINDINGS 64
typedef struct bindings {
    int n;
    hn_dim symbol[MOST_BINDINGS];
    int64_t size[MOST_BINDINGS];
} bindings;

static int64_t bound_size(void *ctx, hn_dim symbol) {
    const bindings *b = ctx;
    for (int i = 0; i < b->n; i++)
        if (b->symbol[i] == symbol) return b->size[i];
    return -1;
}

/* The size a dim must have, or -1: the first one to come settles it. */
static int64_t wanted_size(bindings *b, hn_dim d, int64_t found) {
    int64_t want = -1;
    const char *name;
    if (hn_dim_is_const(d, &want) || !hn_dim_is_symbol(d, &name)) return want;
    want = bound_size(b, d);
    if (want < 0 && b->n < MOST_BINDINGS) {
        b->symbol[b->n] = d;
        b->size[b->n++] = found;
    }
    return want;
}

static hone_status check_input(const hn_value *v, const hone_value *x, bool with_data, bindings *b,
                               hn_error *err) {
    const hn_type *t = &v->type;
    HN_CHECK(err, t->kind != HN_TYPE_OTHER && hone_dtype_bits(x->dtype) > 0, HONE_E_TYPE,
             "input '%s' is %s, which cannot be given", v->name,
             t->kind == HN_TYPE_OTHER ? "not a tensor" : hone_dtype_name(x->dtype));
    HN_CHECK(err, t->dtype == HONE_DTYPE_NONE || t->dtype == x->dtype, HONE_E_TYPE,
             "input '%s' is %s, expected %s", v->name, hone_dtype_name(x->dtype),
             hone_dtype_name(t->dtype));
    HN_CHECK(err, t->shape.rank < 0 || t->shape.rank == x->rank, HONE_E_SHAPE,
             "input '%s' has rank %d, expected %d", v->name, x->rank, t->shape.rank);
    size_t bytes = hone_value_bytes(x->dtype, x->rank, x->dims);
    HN_CHECK(err, bytes != SIZE_MAX, HONE_E_SHAPE,
             "input '%s' has a negative dim, or more bytes or axes than there can be", v->name);
    HN_CHECK(err, !with_data || (x->bytes == bytes && (bytes == 0 || x->data != NULL)), HONE_E_ARG,
             "input '%s' has %zu bytes, its dims say %zu", v->name, x->data != NULL ? x->bytes : 0,
             bytes);
    for (int i = 0; i < t->shape.rank; i++) {
        char text[200];
        hn_dim d = t->shape.dim[i];
        int64_t want = wanted_size(b, d, x->dims[i]);
        HN_CHECK(err, want < 0 || want == x->dims[i], HONE_E_SHAPE,
                 "input '%s': axis %d%s%s has size %lld, expected %lld", v->name, i,
                 hn_dim_is(d, want) ? "" : " = ",
                 hn_dim_is(d, want) ? "" : hn_dim_text(d, text, sizeof text), (long long)x->dims[i],
                 (long long)want);
    }
    return HONE_OK;
}

hone_status hn_api_check_input(const hn_value *v, const hone_value *x, hn_error *err) {
    bindings b = {0};
    return check_input(v, x, true, &b, err);
}

static hone_status bind_input(const hn_graph *g, int k, const hone_value *x, bool with_data,
                              bindings *b, call *c, hn_error *err) {
    HN_TRY(check_input(g->inputs[k], x, with_data, b, err));
    HN_TRY(hn_tensor_borrow(&c->inputs[k], x->dtype, x->rank, x->dims, x->data, err));
    c->in[k] = &c->inputs[k];
    return HONE_OK;
}

/* The inputs that a state keeps and nobody gave: first those that have a value, since the others
 * get theirs at the sizes that are known then. */
static hone_status bind_kept(const hone_session *s, hone_state *state, bindings *b, call *c,
                             hn_error *err) {
    const hn_graph *g = s->model->ir->graph;
    for (int fresh = 0; fresh < 2; fresh++)
        for (size_t i = 0; i < s->pairs.n; i++) {
            int k = s->pairs.at[i].input;
            const hone_value *v = NULL;
            if (c->in[k] != NULL) continue;
            HN_TRY(hn_api_state_input(state, i, fresh ? bound_size : NULL, b, &v, err));
            if (v != NULL) HN_TRY(bind_input(g, k, v, true, b, c, err));
        }
    return HONE_OK;
}

static const char *value_name(const hn_graph *g, bool input, int k) {
    return input ? g->inputs[k]->name : g->outputs[k].value->name;
}

/* The input or output of that name, or, where value number i of the caller has none, the one of its
 * place. */
static hone_status find_value(const hn_graph *g, bool input, size_t i, const char *name, int *out,
                              hn_error *err) {
    int n = input ? g->n_inputs : g->n_outputs;
    const char *kind = input ? "input" : "output";
    *out = (int)i;
    bool there = i < (size_t)n;
    HN_CHECK(err, name != NULL || there, HONE_E_ARG, "%s %zu has no name, and the model has %d %ss",
             kind, i, n, kind);
    if (name == NULL || (there && strcmp(value_name(g, input, *out), name) == 0)) return HONE_OK;
    for (*out = 0; *out < n; ++*out)
        if (strcmp(value_name(g, input, *out), name) == 0) return HONE_OK;
    return HN_FAIL(err, HONE_E_NOT_FOUND, "the model has no %s '%s'", kind, name);
}

/* with_data false: shapes are all that is wanted of them. */
static hone_status bind_inputs(hone_session *s, size_t n, const hone_value *in, bool with_data,
                               hone_state *state, call *c, hn_error *err) {
    const hn_graph *g = s->model->ir->graph;
    bindings b = {0};
    for (size_t i = 0; i < n; i++) {
        int k;
        HN_TRY(find_value(g, true, i, in[i].name, &k, err));
        HN_CHECK(err, c->in[k] == NULL, HONE_E_ARG, "input '%s' is given twice",
                 g->inputs[k]->name);
        HN_TRY(bind_input(g, k, &in[i], with_data, &b, c, err));
    }
    if (state != NULL) HN_TRY(bind_kept(s, state, &b, c, err));
    for (int k = 0; k < g->n_inputs; k++)
        HN_CHECK(err, c->in[k] != NULL || g->inputs[k]->constant != NULL, HONE_E_ARG,
                 "input '%s' is not given", g->inputs[k]->name);
    return HONE_OK;
}

typedef struct targets {
    hn_allocator *alloc; /* whose limit also holds for memory handed out */
    size_t n;
    const hone_value *values;
    target *to;
    hone_state *state; /* NULL: none */
} targets;

static hone_status make_room(hn_allocator *alloc, const hone_value *v, target *to, hone_dtype dtype,
                             int rank, const int64_t *dims, hn_error *err) {
    HN_CHECK(err, dtype != HONE_DTYPE_STRING, HONE_E_UNSUPPORTED,
             "output '%s' holds strings, which cannot be handed over", to->name);
    size_t bytes = hone_value_bytes(dtype, rank, dims);
    HN_CHECK(err, v->data == NULL || v->bytes >= bytes, HONE_E_ARG,
             "output '%s' takes %zu bytes, its buffer has %zu", to->name, bytes, v->bytes);
    to->got = (hone_value){.dtype = dtype, .rank = rank, .data = v->data, .bytes = bytes};
    memcpy(to->got.dims, dims, (size_t)rank * sizeof *dims);
    if (v->data != NULL) return HONE_OK;
    if (hn_alloc_fits(alloc, bytes))
        to->got.data = to->block = hn_alloc(hn_allocator_default(), bytes, HN_MEM_DATA);
    HN_CHECK(err, to->block != NULL, HONE_E_NOMEM, "out of memory (%zu bytes for output '%s')",
             bytes, to->name);
    return HONE_OK;
}

/* Memory for output i of the graph: that of the state that keeps it, or of the first value that
 * wants it. */
static hone_status place(void *ctx, int i, hone_dtype dtype, int rank, const int64_t *dims,
                         void **to, hn_error *err) {
    targets *t = ctx;
    if (t->state != NULL)
        HN_TRY(hn_api_state_place(t->state, i, dtype, rank, dims, to, err));
    else
        *to = NULL;
    for (size_t k = 0; k < t->n; k++) {
        if (t->to[k].output != i) continue;
        HN_TRY(make_room(t->alloc, &t->values[k], &t->to[k], dtype, rank, dims, err));
        if (*to == NULL) *to = t->to[k].got.data;
        t->to[k].made = *to;
    }
    return HONE_OK;
}

/* Who is told of the steps of a run. */
typedef struct watcher {
    void (*step)(void *ctx, const hone_step_info *info); /* NULL: only who listens to spans */
    void *ctx;
    size_t info_size; /* of the step's info, as its hone.h has it */
    int threads;
    bool spans; /* somebody listens to them */
} watcher;

static void tell_span(const char *node, const hn_step_time *t) {
    const hn_step *s = t->step;
    char detail[200];
    snprintf(detail, sizeof detail, "%.150s %s", s->facts->label,
             s->kernel != NULL ? s->kernel->name : "reference");
    hn_span_tell(&(hone_span){.category = "step",
                              .name = node,
                              .detail = detail,
                              .begin_ns = t->begin_ns,
                              .end_ns = t->end_ns,
                              .live_bytes = (int64_t)s->facts->live_bytes});
}

/* The name of the node the step was made for, or that of its first output: a Conv has the same one
 * in a model and in what quantizing makes of it, what is fused behind it has not. */
static const char *step_name(const hn_step *s) {
    const hn_node *n = s->facts->maker != NULL ? s->facts->maker : s->node;
    if (n == NULL || n->name[0] != '\0') return n == NULL ? "" : n->name;
    for (int i = 0; i < n->n_outputs; i++)
        if (n->outputs[i] != NULL) return n->outputs[i]->name;
    return "";
}

static void tell_step(void *ctx, const hn_step_time *t) {
    const watcher *w = ctx;
    const hn_step *s = t->step;
    char type[200];
    if (w->spans) tell_span(step_name(s), t);
    if (w->step == NULL) return;
    hone_step_info info = {.op = s->facts->label,
                           .node = step_name(s),
                           .family = s->family != NULL ? s->family->name : NULL,
                           .kernel = s->kernel != NULL ? s->kernel->name : "reference",
                           .output = "",
                           .flops = s->facts->flops,
                           .bytes = s->facts->bytes,
                           .macs = hn_step_macs(s),
                           .why_float = s->facts->why_float,
                           .why = s->facts->why != NULL ? s->facts->why : "no kernel serves it",
                           .isa = hn_isa_name(s->facts->isa),
                           .precision = hn_step_precision(s),
                           .why_precision = s->facts->why_precision,
                           .threads = s->alone || s->lane > 0 ? 1 : w->threads,
                           .weights_bytes = s->facts->constant_bytes,
                           .live_bytes = s->facts->live_bytes,
                           .begin_ns = t->begin_ns,
                           .end_ns = t->end_ns};
    if (s->node != NULL && hn_node_output(s->node, 0) != NULL) {
        const hn_type *y = &s->node->outputs[0]->type;
        int n = snprintf(type, sizeof type, "%s", hone_dtype_name(y->dtype));
        hn_shape_text(&y->shape, type + n, sizeof type - (size_t)n);
        info.output = type;
    }
    hn_callback_struct shown;
    w->step(w->ctx, hn_show_one(&shown, &info, sizeof info, w->info_size));
}

/* Threads that the runs going on in this process want. */
static atomic_int wanted_threads;

static void begin_run(const hone_session *s) {
    static atomic_bool warned;
    int own = hn_pool_threads(s->pool), all = atomic_fetch_add(&wanted_threads, own) + own;
    if (all <= s->cores || all == own || atomic_exchange(&warned, true)) return;
    hn_log(HONE_LOG_WARN,
           "runs at the same time want %d threads on %d available cores: fewer threads per session "
           "would be faster",
           all, s->cores);
}

static void end_run(const hone_session *s) {
    atomic_fetch_sub(&wanted_threads, hn_pool_threads(s->pool));
}

static hone_status run_values(hone_session *s, hone_state *state, size_t n_in, const hone_value *in,
                              size_t n_out, hone_value *out, call *c, watcher *watch,
                              hn_error *err) {
    const hn_graph *g = s->model->ir->graph;
    target *to = c->to;
    targets t = {&s->alloc, n_out, out, to, state};
    for (size_t i = 0; i < n_out; i++) {
        HN_TRY(find_value(g, false, i, out[i].name, &to[i].output, err));
        to[i].name = value_name(g, false, to[i].output);
    }
    int64_t begun = watch != NULL && watch->spans ? hn_clock_ns() : 0;
    HN_TRY(bind_inputs(s, n_in, in, true, state, c, err));
    hn_span_end("run", "inputs", begun, -1);
    hone_status status =
        hn_runner_run(&s->runner, c->in, place, &t, watch != NULL ? tell_step : NULL, watch, err);
    begun = begun != 0 ? hn_clock_ns() : 0;
    for (size_t i = 0; i < n_out; i++) {
        if (status != HONE_OK) {
            hn_free(hn_allocator_default(), to[i].block);
            continue;
        }
        /* An output asked for twice was computed into the first place, one that a state keeps into
         * the state's. */
        if (to[i].got.bytes > 0 && to[i].made != to[i].got.data)
            memcpy(to[i].got.data, to[i].made, to[i].got.bytes);
    }
    for (size_t i = 0; i < n_out && status == HONE_OK; i++) {
        to[i].got.name = out[i].name;
        to[i].got.owner = to[i].block != NULL ? to[i].block : out[i].owner;
        out[i] = to[i].got;
    }
    hn_span_end("run", "outputs", begun, -1);
    return within_memory(s, status, err);
}

static call *create_call(hone_session *s, size_t n_targets) {
    const hn_graph *g = s->model->ir->graph;
    size_t n_in = (size_t)g->n_inputs, targets_bytes, bytes;
    if (!hn_size_mul(n_targets, sizeof(target), &targets_bytes) ||
        !hn_size_add(targets_bytes, sizeof(call) + n_in * (sizeof(hn_tensor) + sizeof(void *)),
                     &bytes))
        return NULL;
    call *c = hn_alloc_zero(&s->alloc, bytes, HN_MEM_OTHER);
    if (c == NULL) return NULL;
    c->inputs = (hn_tensor *)(c + 1);
    c->to = (target *)(c->inputs + n_in);
    c->in = (const hn_tensor **)(c->to + n_targets);
    c->n_targets = n_targets;
    return c;
}

/* One that was used before, if it has room for that many targets. */
static call *take_call(hone_session *s, size_t n_targets) {
    pthread_mutex_lock(&s->lock);
    call **at = &s->calls;
    while (*at != NULL && (*at)->n_targets < n_targets) at = &(*at)->next;
    call *c = *at;
    if (c != NULL) *at = c->next;
    pthread_mutex_unlock(&s->lock);
    return c != NULL ? c : create_call(s, n_targets);
}

static void give_call(hone_session *s, call *c) {
    const hn_graph *g = s->model->ir->graph;
    for (int i = 0; i < g->n_inputs; i++) c->in[i] = NULL;
    for (size_t i = 0; i < c->n_targets; i++) c->to[i] = (target){0};
    pthread_mutex_lock(&s->lock);
    c->next = s->calls;
    s->calls = c;
    pthread_mutex_unlock(&s->lock);
}

static hone_status run_once(hone_session *s, hone_state *state, size_t n_in, const hone_value *in,
                            size_t n_out, hone_value *out, watcher *watch, hn_error *err) {
    int64_t begun = hn_clock_ns();
    int64_t span = hn_span_begin();
    watcher listening = {.threads = hn_pool_threads(s->pool)};
    if (span != 0 && watch == NULL && s->how.backend->executor->has_steps) watch = &listening;
    if (watch != NULL) watch->spans = span != 0;
    call *c = take_call(s, n_out);
    if (c == NULL) return HN_NOMEM(err);
    begin_run(s);
    hn_stop_enter(&s->runs);
    hone_status status = run_values(s, state, n_in, in, n_out, out, c, watch, err);
    hn_stop_leave(&s->runs);
    end_run(s);
    give_call(s, c);
    hn_span_end("run", "run", span, (int64_t)atomic_load(&s->alloc.live));
    if (status == HONE_OK)
        hn_log(HONE_LOG_INFO, "run in %.1f ms, %zu bytes at most",
               (double)(hn_clock_ns() - begun) * 1e-6, atomic_load(&s->alloc.peak));
    return status;
}

static hone_status prepare(hone_session *s, size_t n_in, const hone_value *in, hn_error *err) {
    call *c = take_call(s, (size_t)s->model->ir->graph->n_outputs);
    if (c == NULL) return HN_NOMEM(err);
    hone_status status = bind_inputs(s, n_in, in, false, NULL, c, err);
    if (status == HONE_OK) status = hn_runner_prepare(&s->runner, c->in, err);
    give_call(s, c);
    return within_memory(s, status, err);
}

hone_status hone_session_prepare_sized(hone_session *s, size_t n_in, const hone_value *in,
                                       const hone_layout *caller, hone_error *err) {
    hn_caller_array own;
    HN_TRY(HN_TAKE_ARRAY(&own, in, n_in, caller, value, err));
    hone_status status = prepare(s, n_in, own.own, err);
    hn_caller_array_deinit(&own);
    return status;
}

static hone_status run_caller(hone_session *s, hone_state *state, size_t n_in, const hone_value *in,
                              size_t n_out, hone_value *out, watcher *watch,
                              const hone_layout *caller, hn_error *err) {
    hn_api_values v;
    HN_TRY(hn_api_take_values(&v, n_in, in, n_out, out, caller, err));
    hone_status status = run_once(s, state, n_in, v.in.own, n_out, v.out.own, watch, err);
    hn_api_give_values(&v, out);
    return status;
}

hone_status hone_session_run_sized(hone_session *s, size_t n_in, const hone_value *in, size_t n_out,
                                   hone_value *out, const hone_layout *caller, hone_error *err) {
    return run_caller(s, NULL, n_in, in, n_out, out, NULL, caller, err);
}

hone_status hn_api_session_run(hone_session *s, hone_state *state, size_t n_in,
                               const hone_value *in, size_t n_out, hone_value *out,
                               const hone_layout *caller, hn_error *err) {
    return run_caller(s, state, n_in, in, n_out, out, NULL, caller, err);
}

hone_status hone_session_profile_sized(hone_session *s, size_t n_in, const hone_value *in,
                                       size_t n_out, hone_value *out,
                                       void (*step)(void *ctx, const hone_step_info *info),
                                       void *ctx, const hone_layout *caller, hone_error *err) {
    watcher watch = {step, ctx, HN_CALLER(caller, step_info), hn_pool_threads(s->pool), false};
    return run_caller(s, NULL, n_in, in, n_out, out, &watch, caller, err);
}

void hone_session_cancel(hone_session *s) { hn_stop_ask(&s->runs); }

/* ---- accuracy ---- */

HN_DEFINE_OPTIONS(eval, .seed = 1)

hone_status hone_session_eval_sized(hone_session *s, hone_dataset *dataset,
                                    const hone_eval_options *options, hone_eval_result *result,
                                    const hone_layout *caller, hone_error *err) {
    hn_api_eval e;
    hone_eval_result own;
    HN_TRY(hn_api_take_eval(&e, options, caller, err));
    hn_stop_enter(&s->runs);
    hone_status status =
        hn_accuracy_top(s->model->ir->graph, run, s, dataset->data, &e.own, &s->alloc, &own, err);
    hn_stop_leave(&s->runs);
    if (status == HONE_OK) HN_GIVE_SIZED(result, &own, caller, eval_result);
    return status;
}

hone_status hone_session_measure_sized(hone_session *s, hone_dataset *dataset,
                                       const hone_eval_options *options, hone_evaluation **out,
                                       const hone_layout *caller, hone_error *err) {
    static const hn_list lists[] = {HN_LIST(evaluation, metrics, n_metrics, metric_value),
                                    HN_LIST(evaluation, class_rows, n_class_rows, class_value)};
    hn_api_eval e;
    hone_evaluation *found;
    HN_TRY(hn_api_take_eval(&e, options, caller, err));
    hn_stop_enter(&s->runs);
    hone_status status = hn_accuracy_measure(s->model->ir->graph, run, s, dataset->data, &e.own,
                                             &s->alloc, hn_allocator_default(), &found, err);
    hn_stop_leave(&s->runs);
    HN_TRY(status);
    int64_t guessed = hn_evaluation_guessed(found);
    hn_input_values values = hn_evaluation_input_values(found);
    if (guessed > 0) hn_warn_of_guessing(found->metrics[0].value, guessed, &values);
    HN_HAND_OUT(out, found, lists, caller, evaluation, err);
}

void hone_evaluation_destroy(hone_evaluation *evaluation) { hn_evaluation_destroy(evaluation); }

#include <pthread.h>
#include <string.h>

#include "api/api.h"
#include "base/size.h"
#include "measure/accuracy.h"
#include "ops/eval.h"

struct hone_session {
    hone_model *model;
    hn_allocator alloc;
    hn_pool *pool;
    hone_session_options o;
};

/* ---- one pool per process, shared by sessions that want as many threads ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static hn_pool *shared_pool;
static int shared_users;

static hone_status take_pool(hn_pool **out, int threads, hn_error *err) {
    if (threads == 0) threads = hn_cpu_threads();
    hone_status status = HONE_OK;
    pthread_mutex_lock(&lock);
    if (shared_pool == NULL)
        status = hn_pool_create(&shared_pool, threads, hn_allocator_default(), err);
    if (status == HONE_OK && hn_pool_threads(shared_pool) == threads) {
        shared_users++;
        *out = shared_pool;
    } else if (status == HONE_OK) {
        status = hn_pool_create(out, threads, hn_allocator_default(), err);
    }
    pthread_mutex_unlock(&lock);
    return status;
}

static void give_pool(hn_pool *pool) {
    if (pool == NULL) return;
    pthread_mutex_lock(&lock);
    bool last = pool != shared_pool;
    if (pool == shared_pool && --shared_users == 0) {
        shared_pool = NULL;
        last = true;
    }
    pthread_mutex_unlock(&lock);
    if (last) hn_pool_destroy(pool);
}

/* ---- sessions ---- */

void hone_session_options_init(hone_session_options *o) {
    *o = (hone_session_options){.size = sizeof *o, .backend = "reference", .seed = 1};
}

hone_status hone_session_create(hone_session **out, hone_model *model,
                                const hone_session_options *options, hone_error *err) {
    hone_session_options o;
    hone_session_options_init(&o);
    if (options != NULL) memcpy(&o, options, options->size < sizeof o ? options->size : sizeof o);
    HN_CHECK(err, o.backend == NULL || strcmp(o.backend, "reference") == 0, HONE_E_UNSUPPORTED,
             "there is no backend '%s'; there is: reference", o.backend);
    HN_CHECK(err, o.threads >= 0 && o.threads <= HN_THREADS_MAX, HONE_E_ARG,
             "%d threads were asked for, expected 0 to %d", o.threads, HN_THREADS_MAX);
    HN_TRY(hn_graph_runnable(model->ir->graph, err));
    hone_session *s = hn_alloc_zero(hn_allocator_default(), sizeof *s, HN_MEM_OTHER);
    if (s == NULL) return HN_NOMEM(err);
    hn_allocator_init(&s->alloc);
    s->alloc.limit = o.max_memory != 0 ? o.max_memory : hn_cpu_memory();
    s->o = o;
    hone_status status = take_pool(&s->pool, o.threads, err);
    if (status != HONE_OK) {
        hn_free(hn_allocator_default(), s);
        return status;
    }
    s->model = model;
    atomic_fetch_add(&model->refs, 1);
    *out = s;
    return HONE_OK;
}

void hone_session_destroy(hone_session *s) {
    if (s == NULL) return;
    give_pool(s->pool);
    hn_api_model_unref(s->model);
    hn_free(hn_allocator_default(), s);
}

hone_memory_use hone_session_memory(const hone_session *s) {
    hn_allocator *a = &((hone_session *)(uintptr_t)s)->alloc;
    return (hone_memory_use){.peak_bytes = atomic_load(&a->peak),
                             .live_bytes = atomic_load(&a->live)};
}

hn_allocator *hn_api_session_alloc(hone_session *s) { return &s->alloc; }

hone_status hn_api_run(void *ctx, const hn_tensor *const *in, hn_tensor **out, hn_error *err) {
    hone_session *s = ctx;
    hn_exec_options o = {.alloc = &s->alloc,
                         .pool = s->pool,
                         .seed = s->o.seed,
                         .keep_going = s->o.keep_going,
                         .keep_going_ctx = s->o.keep_going_ctx};
    return hn_graph_run(s->model->ir->graph, &o, in, out, err);
}

/* ---- checking what the caller gives ---- */

/* Symbols met so far in the inputs, with the sizes they were given. */
typedef struct bindings {
    int n;
    hn_dim symbol[64];
    int64_t size[64];
} bindings;

static hone_status check_input(const hn_value *v, const hone_value *x, bindings *b, hn_error *err) {
    const hn_type *t = &v->type;
    HN_CHECK(err, t->dtype == HONE_DTYPE_NONE || t->dtype == x->dtype, HONE_E_TYPE,
             "input '%s' is %s, expected %s", v->name, hone_dtype_name(x->dtype),
             hone_dtype_name(t->dtype));
    HN_CHECK(err, hone_dtype_bits(x->dtype) > 0, HONE_E_TYPE, "input '%s' has no numeric type",
             v->name);
    HN_CHECK(err, x->rank >= 0 && x->rank <= HONE_MAX_RANK, HONE_E_SHAPE, "input '%s' has rank %d",
             v->name, x->rank);
    HN_CHECK(err, t->shape.rank < 0 || t->shape.rank == x->rank, HONE_E_SHAPE,
             "input '%s' has rank %d, expected %d", v->name, x->rank, t->shape.rank);
    size_t bytes = hone_value_bytes(x->dtype, x->rank, x->dims);
    HN_CHECK(err, x->bytes == bytes && (bytes == 0 || x->data != NULL), HONE_E_ARG,
             "input '%s' has %zu bytes, its dims say %zu", v->name, x->bytes, bytes);
    for (int i = 0; i < t->shape.rank; i++) {
        int64_t want = -1;
        hn_dim d = t->shape.dim[i];
        const char *name = "";
        if (hn_dim_is_symbol(d, &name) && !hn_dim_is_fresh(d)) {
            int k = 0;
            while (k < b->n && b->symbol[k] != d) k++;
            if (k < b->n)
                want = b->size[k];
            else if (k < 64) {
                b->symbol[k] = d;
                b->size[k] = x->dims[i];
                b->n++;
            }
        } else {
            hn_dim_is_const(d, &want);
        }
        HN_CHECK(err, want < 0 || want == x->dims[i], HONE_E_SHAPE,
                 "input '%s': axis %d%s%s has size %lld, expected %lld", v->name, i,
                 name[0] != '\0' ? " = " : "", name, (long long)x->dims[i], (long long)want);
    }
    return HONE_OK;
}

static hone_status bind_inputs(hone_session *s, size_t n, const hone_value *in, hn_tensor **tensors,
                               hn_error *err) {
    const hn_graph *g = s->model->ir->graph;
    bindings b = {0};
    for (size_t i = 0; i < n; i++) {
        int k = 0;
        HN_CHECK(err, in[i].name != NULL, HONE_E_ARG, "input %zu has no name", i);
        while (k < g->n_inputs && strcmp(g->inputs[k]->name, in[i].name) != 0) k++;
        HN_CHECK(err, k < g->n_inputs, HONE_E_NOT_FOUND, "the model has no input '%s'", in[i].name);
        HN_CHECK(err, tensors[k] == NULL, HONE_E_ARG, "input '%s' is given twice", in[i].name);
        HN_TRY(check_input(g->inputs[k], &in[i], &b, err));
        HN_TRY(hn_tensor_create_borrowed(&tensors[k], &s->alloc, in[i].dtype, in[i].rank,
                                         in[i].dims, in[i].data, err));
    }
    for (int k = 0; k < g->n_inputs; k++)
        HN_CHECK(err, tensors[k] != NULL || g->inputs[k]->constant != NULL, HONE_E_ARG,
                 "input '%s' is not given", g->inputs[k]->name);
    return HONE_OK;
}

static hone_status find_output(const hn_graph *g, const hone_value *v, int *k, hn_error *err) {
    HN_CHECK(err, v->name != NULL, HONE_E_ARG, "an output has no name");
    for (*k = 0; *k < g->n_outputs; ++*k)
        if (strcmp(g->outputs[*k].value->name, v->name) == 0) return HONE_OK;
    return HN_FAIL(err, HONE_E_NOT_FOUND, "the model has no output '%s'", v->name);
}

static hone_status hand_over(const hn_tensor *t, hone_value *v, hn_error *err) {
    HN_CHECK(err, t->dtype != HONE_DTYPE_STRING, HONE_E_UNSUPPORTED,
             "output '%s' holds strings, which cannot be handed over", v->name);
    void *block = v->data;
    if (v->data == NULL) {
        block = hn_alloc(hn_allocator_default(), t->bytes, HN_MEM_DATA);
        if (block == NULL)
            return HN_FAIL(err, HONE_E_NOMEM, "out of memory (%zu bytes for output '%s')", t->bytes,
                           v->name);
        v->owner = block;
    } else {
        HN_CHECK(err, v->bytes >= t->bytes, HONE_E_ARG,
                 "output '%s' takes %zu bytes, its buffer has %zu", v->name, t->bytes, v->bytes);
    }
    if (t->bytes > 0) memcpy(block, t->data, t->bytes);
    v->data = block;
    v->bytes = t->bytes;
    v->dtype = t->dtype;
    v->rank = t->rank;
    memcpy(v->dims, t->dims, sizeof v->dims);
    return HONE_OK;
}

hone_status hone_session_run(hone_session *s, size_t n_in, const hone_value *in, size_t n_out,
                             hone_value *out, hone_error *err) {
    const hn_graph *g = s->model->ir->graph;
    int k;
    for (size_t i = 0; i < n_out; i++) HN_TRY(find_output(g, &out[i], &k, err));
    size_t slots = (size_t)g->n_inputs + (size_t)g->n_outputs + 1;
    hn_tensor **tensors = hn_alloc_array(&s->alloc, slots, sizeof *tensors, HN_MEM_OTHER);
    if (tensors == NULL) return HN_NOMEM(err);
    memset(tensors, 0, slots * sizeof *tensors);
    hn_tensor **results = tensors + g->n_inputs;
    hone_status status = bind_inputs(s, n_in, in, tensors, err);
    if (status == HONE_OK) status = hn_api_run(s, (const hn_tensor *const *)tensors, results, err);
    for (size_t i = 0; status == HONE_OK && i < n_out; i++) {
        hone_value got = out[i];
        status = find_output(g, &out[i], &k, err);
        if (status == HONE_OK) status = hand_over(results[k], &got, err);
        if (status == HONE_OK) out[i] = got;
    }
    for (size_t i = 0; i < slots; i++) hn_tensor_unref(tensors[i]);
    hn_free(&s->alloc, tensors);
    return status;
}

/* ---- accuracy ---- */

void hone_eval_options_init(hone_eval_options *o) { *o = (hone_eval_options){.size = sizeof *o}; }

hone_status hone_eval(hone_model *model, hone_session *session, hone_dataset *dataset,
                      const hone_eval_options *options, hone_eval_result *result, hone_error *err) {
    hone_eval_options o;
    hone_eval_options_init(&o);
    if (options != NULL) memcpy(&o, options, options->size < sizeof o ? options->size : sizeof o);
    return hn_accuracy_top(model->ir, hn_api_run, session, dataset->data, &o, &session->alloc,
                           result, err);
}

hone_status hone_dataset_open(hone_dataset **out, const char *spec, hone_error *err) {
    hone_dataset *d = hn_alloc_zero(hn_allocator_default(), sizeof *d, HN_MEM_DATA);
    if (d == NULL) return HN_NOMEM(err);
    hn_allocator_init(&d->alloc);
    d->alloc.limit = hn_cpu_memory();
    hone_status status = hn_dataset_open(&d->data, spec, &d->alloc, err);
    if (status != HONE_OK) {
        hn_free(hn_allocator_default(), d);
        return status;
    }
    *out = d;
    return HONE_OK;
}

void hone_dataset_destroy(hone_dataset *d) {
    if (d == NULL) return;
    hn_dataset_close(d->data);
    hn_free(hn_allocator_default(), d);
}

int64_t hone_dataset_count(const hone_dataset *d) { return hn_dataset_count(d->data); }
bool hone_dataset_has_labels(const hone_dataset *d) { return hn_dataset_has_labels(d->data); }

#include "compress/watch.h"

#include "base/size.h"
#include "engine/cut.h"
#include "measure/loader.h"
#include "ops/infer.h"

#define MOST_BYTES ((size_t)128 << 20)
#define READING_THREADS 1 /* beside those that run the model */

typedef struct watching {
    const hn_model *model;
    int n;
    const hn_feed *feed;
    const hn_run_options *how;
    const hn_watch_options *o;
    hn_watch_fn *fn;
    void *ctx;
    hn_allocator *alloc;
    hn_arena arena;
    const hn_value **values; /* by name */
    size_t *bytes;           /* of each in a run; 0: an input, which is there anyway */
    int64_t batch;           /* samples of a run */
    int64_t samples;         /* in all */
    bool whole;              /* values are shown as they are made, however many there are */
    hone_value *inputs;      /* as the look wants them */
} watching;

/* Values [lo, hi), watched together. */
typedef struct group {
    int lo, hi;
    int n_out;
    const hn_value **outputs;
    int *at;            /* by id of a value: its place among the outputs, or -1 */
    int *first, *again; /* by output: a value it is; by value: another that is the same, or -1 */
    hn_model *model;
    hn_program *program;
} group;

/* ---- how much fits ---- */

static hone_status find_values(watching *w, const char *const *names, hn_error *err) {
    const hn_graph *g = w->model->graph;
    size_t n = (size_t)w->n;
    w->values = hn_arena_array(&w->arena, n, sizeof *w->values);
    w->bytes = hn_arena_array(&w->arena, n, sizeof *w->bytes);
    w->inputs = hn_arena_array(&w->arena, (size_t)g->n_inputs, sizeof *w->inputs);
    if (w->values == NULL || w->bytes == NULL || w->inputs == NULL) return HN_NOMEM(err);
    for (int i = 0; i < w->n; i++) {
        const hn_value *v = w->values[i] = hn_graph_value(g, names[i]);
        HN_CHECK(err, v != NULL, HONE_E_NOT_FOUND, "the model has no value '%s' to watch",
                 names[i]);
        HN_CHECK(err, v->constant == NULL, HONE_E_ARG, "value '%s' is a constant", names[i]);
    }
    return HONE_OK;
}

static bool value_bytes(const hn_type *t, size_t *bytes) {
    int64_t dims[HONE_MAX_RANK], n;
    return t->shape.rank >= 0 && hn_shape_is_const(&t->shape, dims) &&
           hn_dims_count(dims, t->shape.rank, &n) &&
           hn_packed_bytes(n, hone_dtype_bits(t->dtype), bytes);
}

/* Bytes of the values for these inputs. One whose size only running tells counts as the largest. */
static hone_status infer_bytes(watching *w, hn_model *copy, hn_tensor *const *in, hn_error *err) {
    hn_graph *g = copy->graph;
    size_t most = 0;
    for (int i = 0; i < g->n_inputs; i++)
        if (in[i] != NULL)
            g->inputs[i]->type.shape = hn_shape_of(&copy->dims, in[i]->rank, in[i]->dims);
    HN_TRY(hn_model_infer(copy, NULL, err));
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < w->n; i++) {
            const hn_value *v = w->values[i];
            if (v->is_input) continue;
            if (!value_bytes(&hn_graph_value(g, v->name)->type, &w->bytes[i])) w->bytes[i] = most;
            if (w->bytes[i] > most) most = w->bytes[i];
        }
    return HONE_OK;
}

/* Whether one plan of the engine runs all: outputs of parts of a graph are kept. */
static hone_status find_whole(watching *w, const hn_graph *g, hn_error *err) {
    hn_cut *cut;
    HN_TRY(hn_cut_create(&cut, g, NULL, w->alloc, err));
    w->whole = cut == NULL && hn_backend_or_default(w->how->backend)->executor->run_shown != NULL;
    hn_cut_destroy(cut);
    return HONE_OK;
}

static hone_status find_bytes(watching *w, hn_tensor *const *in, hn_error *err) {
    hn_model *copy;
    HN_TRY(hn_model_clone(&copy, w->model, w->alloc, err));
    hone_status status = infer_bytes(w, copy, in, err);
    if (status == HONE_OK) status = find_whole(w, copy->graph, err);
    hn_model_destroy(copy);
    return status;
}

/* So many samples a run that all values fit, but one at least. */
static void choose_batch(watching *w, size_t most, int64_t n) {
    double all = 0;
    for (int i = 0; i < w->n; i++) all += (double)w->bytes[i];
    if (all <= (double)most || hn_feed_rows(w->feed, 1) != 1) return;
    int64_t fits = (int64_t)((double)n * ((double)most / all));
    w->batch = fits > 1 ? fits : 1;
    for (int i = 0; i < w->n; i++)
        w->bytes[i] = (size_t)((double)w->bytes[i] * (double)w->batch / (double)n);
}

static hone_status measure(watching *w, size_t most, hn_error *err) {
    hn_loader *loader;
    hn_samples s = {0};
    hn_loader_options o = {.samples = w->o->samples, .batch = w->batch};
    HN_TRY(hn_loader_create(&loader, w->feed, &o, w->alloc, err));
    hone_status status = hn_loader_next(loader, &s, err);
    hn_loader_destroy(loader);
    HN_TRY(status);
    if (s.n == 0)
        status = HN_FAIL(err, HONE_E_FORMAT, "none of the samples of the dataset can be decoded");
    else
        status = find_bytes(w, s.in, err);
    if (status == HONE_OK && w->o->batch == 0) choose_batch(w, most, s.n);
    hn_samples_deinit(&s);
    return status;
}

/* ---- running ---- */

/* Rows that fill up the batch are hidden. */
static hone_status show(const watching *w, int i, const hn_tensor *t, int64_t n, hn_error *err) {
    int64_t rows = hn_feed_rows(w->feed, n);
    if (rows == n || t->rank == 0 || t->dims[0] % rows != 0) return w->fn(w->ctx, i, t, n, err);
    hn_tensor part;
    int64_t dims[HONE_MAX_RANK];
    memcpy(dims, t->dims, sizeof dims);
    dims[0] = dims[0] / rows * n;
    HN_TRY(hn_tensor_borrow(&part, t->dtype, t->rank, dims, t->data, err));
    return w->fn(w->ctx, i, &part, n, err);
}

typedef struct visit {
    const watching *w;
    const group *g;
    int64_t n; /* samples of the run */
} visit;

static hone_status show_output(void *ctx, int output, const hn_tensor *t, hn_error *err) {
    const visit *v = ctx;
    for (int i = v->g->first[output]; i >= 0; i = v->g->again[i - v->g->lo])
        HN_TRY(show(v->w, i, t, v->n, err));
    return HONE_OK;
}

static hone_status show_inputs(const watching *w, const group *g, const hn_samples *s,
                               hn_error *err) {
    const hn_graph *from = w->model->graph;
    for (int i = g->lo; i < g->hi; i++) {
        const hn_value *v = w->values[i];
        int in = 0;
        if (!v->is_input) continue;
        while (from->inputs[in] != v) in++;
        HN_TRY(show(w, i, s->in[in], s->n, err));
    }
    return HONE_OK;
}

static hone_status look(const watching *w, const hn_samples *s, hn_error *err) {
    size_t n = 0;
    int64_t rows = hn_feed_rows(w->feed, s->n);
    for (int i = 0; i < s->n_in; i++) {
        const hn_tensor *t = s->in[i];
        hone_value *v = &w->inputs[n];
        if (t == NULL) continue;
        *v = (hone_value){.name = w->model->graph->inputs[i]->name,
                          .dtype = t->dtype,
                          .rank = t->rank,
                          .data = t->data};
        memcpy(v->dims, t->dims, sizeof v->dims);
        if (v->rank > 0 && v->dims[0] == rows) v->dims[0] = s->n;
        v->bytes = hone_value_bytes(v->dtype, v->rank, v->dims);
        n++;
    }
    return hn_look_add(w->o->look, w->inputs, n, s->n, s->index, err);
}

static hone_status run(const watching *w, group *g, const hn_samples *s, hn_error *err) {
    if (w->o->look != NULL && g->lo == 0) HN_TRY(look(w, s, err));
    HN_TRY(show_inputs(w, g, s, err));
    if (g->n_out == 0) return HONE_OK;
    visit v = {w, g, s->n};
    return hn_program_run_shown(g->program, (const hn_tensor *const *)s->in, show_output, &v, err);
}

static hone_status run_batches(const watching *w, group *g, hn_loader *loader, hn_error *err) {
    int64_t done = 0, total = w->samples * w->n;
    while (done < w->samples) {
        hn_samples s;
        HN_TRY(hn_loader_next(loader, &s, err));
        done = s.n > 0 ? s.index[s.n - 1] + 1 : w->samples;
        hone_status status = s.n > 0 ? run(w, g, &s, err) : HONE_OK;
        hn_samples_deinit(&s);
        HN_TRY(status);
        int64_t at = g->lo * w->samples + (g->hi - g->lo) * done;
        HN_CHECK(err, w->o->progress == NULL || w->o->progress(w->o->progress_ctx, at, total),
                 HONE_E_LIMIT, "stopped after %lld of %lld samples", (long long)(at / w->n),
                 (long long)w->samples);
    }
    return HONE_OK;
}

/* ---- groups ---- */

static hone_status make_group(watching *w, group *g, hn_error *err) {
    const hn_value *const *inputs;
    size_t n = (size_t)(g->hi - g->lo), n_values = (size_t)w->model->graph->n_values;
    g->outputs = hn_arena_array(&w->arena, n, sizeof *g->outputs);
    g->at = hn_arena_array(&w->arena, n_values, sizeof *g->at);
    g->first = hn_arena_array(&w->arena, n, sizeof *g->first);
    g->again = hn_arena_array(&w->arena, n, sizeof *g->again);
    if (g->outputs == NULL || g->at == NULL || g->first == NULL || g->again == NULL)
        return HN_NOMEM(err);
    for (size_t i = 0; i < n_values; i++) g->at[i] = -1;
    for (int i = g->lo; i < g->hi; i++) {
        const hn_value *v = w->values[i];
        if (v->is_input) continue;
        int *at = &g->at[v->id];
        g->again[i - g->lo] = *at >= 0 ? g->first[*at] : -1;
        if (*at < 0) *at = g->n_out++;
        g->first[*at] = i;
        g->outputs[*at] = v;
    }
    if (g->n_out == 0) return HONE_OK;
    hn_run_options how = *w->how;
    how.engine.shows = true;
    HN_TRY(hn_model_extract(&g->model, &inputs, w->model->graph, NULL, g->n_out, g->outputs,
                            w->alloc, err));
    return hn_program_create(&g->program, g->model, &how, err);
}

static hone_status watch_group(watching *w, int lo, int hi, hn_error *err) {
    group g = {.lo = lo, .hi = hi};
    hn_loader *loader = NULL;
    hn_loader_options o = {.threads = READING_THREADS, .samples = w->o->samples, .batch = w->batch};
    hn_arena_mark mark = hn_arena_here(&w->arena);
    hone_status status = make_group(w, &g, err);
    if (status == HONE_OK) status = hn_loader_create(&loader, w->feed, &o, w->alloc, err);
    if (status == HONE_OK) status = run_batches(w, &g, loader, err);
    hn_loader_destroy(loader);
    hn_program_destroy(g.program);
    hn_model_destroy(g.model);
    hn_arena_back(&w->arena, mark);
    return status;
}

static hone_status watch(watching *w, const char *const *names, hn_error *err) {
    size_t most = w->o->most_bytes > 0 ? w->o->most_bytes : MOST_BYTES;
    HN_TRY(find_values(w, names, err));
    HN_TRY(measure(w, most, err));
    for (int lo = 0, hi; lo < w->n; lo = hi) {
        size_t sum = 0;
        for (hi = lo; hi < w->n && (hi == lo || w->whole || sum + w->bytes[hi] <= most); hi++)
            sum += w->bytes[hi];
        HN_TRY(watch_group(w, lo, hi, err));
    }
    return HONE_OK;
}

hone_status hn_watch(const hn_model *m, const char *const *names, int n, const hn_feed *feed,
                     const hn_run_options *how, const hn_watch_options *o, hn_watch_fn *fn,
                     void *ctx, hn_allocator *alloc, hn_error *err) {
    int64_t samples = hn_dataset_count(hn_feed_dataset(feed));
    int64_t batch = hn_feed_batch(feed);
    if (o->samples > 0 && o->samples < samples) samples = o->samples;
    if (o->batch > 0 && o->batch < batch && hn_feed_rows(feed, 1) == 1) batch = o->batch;
    watching w = {.model = m,
                  .n = n,
                  .feed = feed,
                  .how = how,
                  .o = o,
                  .fn = fn,
                  .ctx = ctx,
                  .alloc = alloc,
                  .batch = batch,
                  .samples = samples};
    hn_arena_init(&w.arena, alloc, HN_MEM_OTHER);
    hone_status status = watch(&w, names, err);
    hn_arena_deinit(&w.arena);
    return status;
}

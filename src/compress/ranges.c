#include "compress/ranges.h"

#include <math.h>
#include <string.h>

#include "compress/quantize.h"
#include "measure/distance.h"
#include "ops/infer.h"
#include "ops/nodes.h"

#define SAMPLES 64   /* that models are judged on, at most; and at most a quarter of all */
#define PARTS 4      /* of these samples; a change must leave less noise in each of them */
#define CLEARLY 0.85 /* share of the noise that a change may leave */
#define GROUPS 8     /* of neighbouring values that change their method, at most */
#define RUNS 2       /* times all samples: what the models that are tried may run */
#define MOST_BYTES ((size_t)128 << 20) /* of the outputs that are kept */

/* The first is what values have unless another is clearly better. Entropy and average are left out:
 * of the five methods they were never the best on three trained networks, by the noise at the
 * outputs. */
static const hn_range_method tried[] = {HN_RANGE_PERCENTILE, HN_RANGE_MINMAX, HN_RANGE_MSE};
enum { TRIED = sizeof tried / sizeof *tried };

/* The samples of one run, and what the float model gives for them. */
typedef struct run {
    hn_tensor **in, **out;
} run;

/* Noise by signal at the outputs, added up over outputs: of all samples, and of each part. */
typedef struct noise {
    double all, part[PARTS];
} noise;

typedef struct search {
    hn_calibration *c;
    hn_model *m; /* a copy that gives logits */
    const hn_range_search *o;
    hn_scheme scheme; /* what is static, with weights of 8 bits; all else stays in floats */
    hn_arena arena;
    hn_allocator *alloc;
    int n_in, n_out, n_runs;
    run *runs;
    int groups;
    int64_t done, total; /* models tried */
} search;

/* ---- the scheme ---- */

static hn_layer_scheme activations_of(const hn_layer_scheme *l) {
    if (l->kind != HN_LAYER_STATIC) return (hn_layer_scheme){.kind = HN_LAYER_F32};
    hn_layer_scheme made = *l;
    made.weights = (hn_qtype){HONE_DTYPE_S8, 8, true, true, 0, false};
    return made;
}

static hone_status make_scheme(search *s, hn_error *err) {
    s->scheme = *s->o->scheme;
    s->scheme.layer = activations_of(&s->o->scheme->layer);
    s->scheme.integer_io = s->scheme.embeddings = false;
    hn_scheme_rule *rules = hn_arena_array(&s->arena, (size_t)s->scheme.n_rules + 1, sizeof *rules);
    if (rules == NULL) return HN_NOMEM(err);
    for (int i = 0; i < s->scheme.n_rules; i++)
        rules[i] = (hn_scheme_rule){s->o->scheme->rules[i].name,
                                    activations_of(&s->o->scheme->rules[i].layer)};
    s->scheme.rules = rules;
    return HONE_OK;
}

/* ---- the model ---- */

/* Outputs of a Softmax give way to what it reads. Of samples that a model is sure of, as it is of
 * those it was trained on, probabilities hardly show any noise: a few others would decide. */
static hone_status copy_model(search *s, const hn_model *m, hn_error *err) {
    HN_TRY(hn_model_clone(&s->m, m, s->alloc, err));
    hn_graph *g = s->m->graph;
    for (int i = 0; i < g->n_outputs; i++) {
        hn_node *n = g->outputs[i].value->producer;
        if (!hn_is(n, "Softmax")) continue;
        hn_graph_set_output(g, i, n->inputs[0].value);
        hn_prune(n);
    }
    return hn_model_infer(s->m, NULL, err);
}

/* ---- running ---- */

static void unref_all(hn_tensor **t, int n) {
    for (int i = 0; t != NULL && i < n; i++) hn_tensor_unref(t[i]);
}

static hone_status start(const search *s, const hn_model *m, hn_program **p, hn_error *err) {
    hn_run_options how = hn_run_options_for(s->o->how, m);
    return hn_program_create(p, m, &how, err);
}

/* Reads samples, spread over the dataset, and keeps what the float model gives for them. */
static hone_status take_samples(search *s, hn_error *err) {
    int64_t count = hn_dataset_count(hn_feed_dataset(s->o->feed)),
            batch = hn_feed_batch(s->o->feed);
    int64_t most = count / 4 < SAMPLES ? count / 4 : SAMPLES;
    int64_t n = (most + batch - 1) / batch, runs = (count + batch - 1) / batch;
    size_t kept = 0;
    hn_program *p;
    if (n < PARTS) n = PARTS;
    if (n > runs) n = runs;
    int64_t models = RUNS * runs / n - TRIED, groups = models / (TRIED - 1);
    s->groups = (int)(groups < GROUPS ? groups : GROUPS);
    s->runs = hn_arena_array(&s->arena, (size_t)n + 1, sizeof *s->runs);
    if (s->runs == NULL) return HN_NOMEM(err);
    HN_TRY(start(s, s->m, &p, err));
    hone_status status = HONE_OK;
    for (int64_t i = 0; i < n && status == HONE_OK && kept * (size_t)(i + 1) <= MOST_BYTES; i++) {
        run *r = &s->runs[i];
        int64_t first = i * runs / n * batch, here = count - first < batch ? count - first : batch;
        r->in = hn_arena_array(&s->arena, (size_t)s->n_in + 1, sizeof *r->in);
        r->out = hn_arena_array(&s->arena, (size_t)s->n_out + 1, sizeof *r->out);
        status = r->in == NULL || r->out == NULL ? HN_NOMEM(err) : HONE_OK;
        s->n_runs++;
        if (status == HONE_OK) status = hn_feed_load(s->o->feed, first, here, r->in, err);
        if (status == HONE_OK)
            status = hn_program_run(p, (const hn_tensor *const *)r->in, r->out, err);
        for (int k = 0; status == HONE_OK && i == 0 && k < s->n_out; k++) kept += r->out[k]->bytes;
    }
    hn_program_destroy(p);
    return status;
}

static bool is_number(const hn_tensor *t) {
    return hn_dtype_is_float(t->dtype) || hn_dtype_is_int(t->dtype);
}

static double share_of(const hn_distance *d) {
    if (d->broken) return INFINITY;
    return d->wanted > 0 ? d->noise / d->wanted : 0;
}

static hone_status measure(search *s, hn_program *p, noise *found, hn_error *err) {
    size_t n_out = (size_t)s->n_out;
    hn_distance *d = hn_arena_array(&s->arena, (PARTS + 1) * n_out + 1, sizeof *d);
    hn_tensor **out = hn_arena_array(&s->arena, n_out + 1, sizeof *out);
    if (d == NULL || out == NULL) return HN_NOMEM(err);
    *found = (noise){0};
    for (int i = 0; i < s->n_runs; i++) {
        hn_distance *part = d + (size_t)(1 + i * PARTS / s->n_runs) * n_out;
        HN_TRY(hn_program_run(p, (const hn_tensor *const *)s->runs[i].in, out, err));
        for (int k = 0; k < s->n_out; k++) {
            const hn_tensor *want = s->runs[i].out[k];
            if (want->n == out[k]->n && is_number(want) && is_number(out[k])) {
                hn_distance_add(&d[k], want, out[k]);
                hn_distance_add(&part[k], want, out[k]);
            }
            hn_tensor_unref(out[k]);
        }
    }
    for (int k = 0; k < s->n_out; k++) {
        found->all += share_of(&d[k]);
        for (int i = 0; i < PARTS; i++)
            found->part[i] += share_of(&d[(size_t)(1 + i) * n_out + (size_t)k]);
    }
    return HONE_OK;
}

/* a leaves clearly less noise than b; a part without samples has none in either. */
static bool is_better(const noise *a, const noise *b) {
    for (int i = 0; i < PARTS; i++)
        if (a->part[i] > b->part[i]) return false;
    return a->all < CLEARLY * b->all;
}

/* The noise of the model that has the ranges of c as they are. */
static hone_status try(search *s, noise *found, hn_error *err) {
    hn_model *m = NULL;
    hn_program *p = NULL;
    hn_arena_mark mark = hn_arena_here(&s->arena);
    hone_status status = hn_model_clone(&m, s->m, s->alloc, err);
    if (status == HONE_OK) status = hn_model_infer(m, NULL, err);
    if (status == HONE_OK)
        status = hn_quantize_model(m, &s->scheme, s->c, NULL, s->o->how->engine.pool, NULL, err);
    if (status == HONE_OK) status = start(s, m, &p, err);
    if (status == HONE_OK) status = measure(s, p, found, err);
    hn_program_destroy(p);
    hn_model_destroy(m);
    hn_arena_back(&s->arena, mark);
    HN_TRY(status);
    s->done++;
    HN_CHECK(err, s->o->progress == NULL || s->o->progress(s->o->progress_ctx, s->done, s->total),
             HONE_E_LIMIT, "stopped");
    return HONE_OK;
}

/* ---- choosing ---- */

static void give(search *s, int from, int to, hn_range_method method) {
    for (int i = from; i < to; i++) s->c->v[i].method = method;
}

/* Values [from, to) get each method but the one they have; the best stays if it is clearly better
 * than *least, which it then becomes. */
static hone_status improve(search *s, int from, int to, noise *least, hn_error *err) {
    hn_range_method best = s->c->v[from].method, was = best;
    for (int k = 0; k < TRIED; k++) {
        noise found;
        if (tried[k] == was) continue;
        give(s, from, to, tried[k]);
        HN_TRY(try(s, &found, err));
        if (!is_better(&found, least) && (best == was || found.all >= least->all)) continue;
        *least = found;
        best = tried[k];
    }
    give(s, from, to, best);
    return HONE_OK;
}

static hone_status choose(search *s, const hn_model *m, hn_error *err) {
    int n = s->c->n;
    noise least;
    HN_TRY(copy_model(s, m, err));
    HN_TRY(make_scheme(s, err));
    HN_TRY(take_samples(s, err));
    if (s->groups > n) s->groups = n;
    if (s->groups < 2) s->groups = 0;
    s->total = TRIED + (TRIED - 1) * (int64_t)s->groups;
    give(s, 0, n, tried[0]);
    HN_TRY(try(s, &least, err));
    HN_TRY(improve(s, 0, n, &least, err));
    for (int g = 0; g < s->groups; g++)
        HN_TRY(improve(s, g * n / s->groups, (g + 1) * n / s->groups, &least, err));
    return HONE_OK;
}

hone_status hn_ranges_choose(hn_calibration *c, const hn_model *m, const hn_range_search *o,
                             hn_allocator *alloc, hn_error *err) {
    search s = {
        .c = c, .o = o, .alloc = alloc, .n_in = m->graph->n_inputs, .n_out = m->graph->n_outputs};
    if (c->n == 0 || c->samples == 0) return HONE_OK;
    hn_arena_init(&s.arena, alloc, HN_MEM_SCRATCH);
    hone_status status = choose(&s, m, err);
    for (int i = 0; i < s.n_runs; i++) {
        unref_all(s.runs[i].in, s.n_in);
        unref_all(s.runs[i].out, s.n_out);
    }
    hn_model_destroy(s.m);
    hn_arena_deinit(&s.arena);
    return status;
}

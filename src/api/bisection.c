#include <math.h>
#include <string.h>

#include "api/api.h"
#include "compress/sensitivity.h"
#include "measure/accuracy.h"

/* Runs that steps are ranked and outputs judged on. */
#define MOST_RUNS 16

HN_DEFINE_OPTIONS(bisect, .min_sqnr_db = 30, .max_error = INFINITY)

typedef struct own {
    hone_bisection result;
    hone_bisect_options o;
    hn_allocator alloc;
    hn_arena arena;
    hn_pairs *pairs;
    hone_model *models[2];
    hn_how how[2];
    hn_sample_source samples;
    hn_api_source source;
    int n_out;        /* of the first model */
    int *at;          /* where the second model has each */
    hn_tensor **want; /* what the first computes, run by run */
    hn_tensor **in;   /* of a run */
    hn_tensor **out;  /* of a model */
    double max_error; /* of the last model that was judged by its outputs */
    double sqnr;
} own;

void hone_bisection_destroy(hone_bisection *b) {
    if (b == NULL) return;
    own *w = b->owner;
    for (int64_t i = 0; w->want != NULL && i < w->samples.n * w->n_out; i++)
        hn_tensor_unref(w->want[i]);
    hn_pairs_destroy(w->pairs);
    hn_arena_deinit(&w->arena);
    for (int i = 0; i < 2; i++) hn_api_model_unref(w->models[i]);
    hn_shown_free(b, &w->result);
    hn_free(hn_allocator_default(), w);
}

/* ---- judging a model ---- */

/* One run of a program whose inputs are in the order of `g`, by name from those of the first. */
static hone_status run_once(own *w, hn_program *program, const hn_graph *g, int64_t run,
                            hn_tensor **out, hn_error *err) {
    const hn_graph *a = w->models[0]->ir->graph;
    const hn_tensor **in =
        hn_alloc_zero(&w->alloc, ((size_t)g->n_inputs + 1) * sizeof *in, HN_MEM_SCRATCH);
    if (in == NULL) return HN_NOMEM(err);
    hone_status status = w->samples.load(w->samples.ctx, run, w->in, err);
    if (status == HONE_OK) {
        for (int i = 0; i < g->n_inputs; i++)
            for (int k = 0; k < a->n_inputs; k++)
                if (strcmp(a->inputs[k]->name, g->inputs[i]->name) == 0) in[i] = w->in[k];
        status = hn_program_run(program, in, out, err);
        for (int k = 0; k < a->n_inputs; k++) hn_tensor_unref(w->in[k]);
    }
    hn_free(&w->alloc, in);
    return status;
}

static hone_status add_run(own *w, hn_program *program, const hn_graph *g, int64_t run,
                           hn_distance *d, hn_error *err) {
    HN_TRY(run_once(w, program, g, run, w->out, err));
    for (int i = 0; i < w->n_out; i++) {
        const hn_tensor *a = w->want[run * w->n_out + i], *b = w->out[w->at[i]];
        if (!hn_dtype_is_float(a->dtype)) continue;
        if (a->n == b->n)
            hn_distance_add(&d[i], a, b);
        else
            d[i].broken = true;
    }
    for (int i = 0; i < g->n_outputs; i++) hn_tensor_unref(w->out[i]);
    return HONE_OK;
}

/* The worst output: fits hn_sensitivity_score. */
static hone_status rank(void *ctx, const hn_model *m, double *score, hn_error *err) {
    own *w = ctx;
    hn_program *program;
    hn_distance *d = hn_alloc_zero(&w->alloc, (size_t)w->n_out * sizeof *d, HN_MEM_SCRATCH);
    if (d == NULL) return HN_NOMEM(err);
    hone_status status = hn_program_create(&program, m, &w->how[1], err);
    if (status == HONE_OK) {
        for (int64_t run = 0; run < w->samples.n && status == HONE_OK; run++)
            status = add_run(w, program, m->graph, run, d, err);
        hn_program_destroy(program);
    }
    w->sqnr = INFINITY;
    w->max_error = 0;
    for (int i = 0; i < w->n_out; i++) {
        w->sqnr = fmin(w->sqnr, hn_distance_sqnr(&d[i]));
        w->max_error = fmax(w->max_error, hn_distance_max(&d[i]));
    }
    *score = w->sqnr;
    hn_free(&w->alloc, d);
    return status;
}

static hone_status decide_by_outputs(void *ctx, const hn_model *m, double *score, hn_error *err) {
    own *w = ctx;
    double sqnr;
    HN_TRY(rank(ctx, m, &sqnr, err));
    *score = sqnr >= w->o.min_sqnr_db && w->max_error <= w->o.max_error;
    return HONE_OK;
}

static hone_status run_program(void *ctx, const hn_tensor *const *in, hn_tensor **out,
                               hn_error *err) {
    return hn_program_run(ctx, in, out, err);
}

static hone_status accuracy_of(own *w, const hn_model *m, const hn_how *how, double *accuracy,
                               hn_error *err) {
    hn_program *program;
    hone_eval_options o;
    hone_eval_result r;
    hone_eval_options_init(&o);
    HN_TRY(hn_program_create(&program, m, how, err));
    hone_status status =
        hn_accuracy_top(m->graph, run_program, program, w->o.data->data, &o, &w->alloc, &r, err);
    hn_program_destroy(program);
    if (status == HONE_OK) *accuracy = (double)r.top1 / (double)r.samples;
    return status;
}

static hone_status decide_by_accuracy(void *ctx, const hn_model *m, double *score, hn_error *err) {
    own *w = ctx;
    return accuracy_of(w, m, &w->how[1], score, err);
}

/* ---- the search ---- */

static hone_status find_outputs(own *w, hn_error *err) {
    const hn_graph *a = w->models[0]->ir->graph, *b = w->models[1]->ir->graph;
    w->n_out = a->n_outputs;
    w->at = hn_arena_array(&w->arena, (size_t)w->n_out, sizeof *w->at);
    w->in = hn_arena_array(&w->arena, (size_t)a->n_inputs + 1, sizeof *w->in);
    w->out = hn_arena_array(&w->arena, (size_t)b->n_outputs + 1, sizeof *w->out);
    w->want = hn_arena_array(&w->arena, (size_t)w->n_out * (size_t)w->samples.n, sizeof *w->want);
    if (w->at == NULL || w->in == NULL || w->out == NULL || w->want == NULL) return HN_NOMEM(err);
    for (int i = 0; i < w->n_out; i++) {
        const char *name = a->outputs[i].value->name;
        int at = 0;
        while (at < b->n_outputs && strcmp(name, b->outputs[at].value->name) != 0) at++;
        HN_CHECK(err, at < b->n_outputs, HONE_E_SHAPE,
                 "the models cannot be compared: the second has no output '%s'", name);
        w->at[i] = at;
    }
    return HONE_OK;
}

static hone_status run_first(own *w, hn_error *err) {
    const hn_model *a = w->models[0]->ir;
    hn_program *program;
    HN_TRY(hn_program_create(&program, a, &w->how[0], err));
    hone_status status = HONE_OK;
    for (int64_t run = 0; run < w->samples.n && status == HONE_OK; run++)
        status = run_once(w, program, a->graph, run, w->want + run * w->n_out, err);
    hn_program_destroy(program);
    return status;
}

static hone_status report(own *w, const hn_step_harm *harms, int n, const bool *back,
                          hn_error *err) {
    hone_bisect_step *steps = hn_arena_array(&w->arena, (size_t)n + 1, sizeof *steps);
    if (steps == NULL) return HN_NOMEM(err);
    for (int i = 0; i < n; i++) {
        if (!back[harms[i].pair]) continue;
        const hn_value *v = w->pairs->v[harms[i].pair].a;
        const hn_node *node = v->producer;
        steps[w->result.n_steps++] =
            (hone_bisect_step){.node = node->name[0] != '\0' ? node->name : v->name,
                               .op = node->op_type,
                               .name = v->name,
                               .sqnr_db = harms[i].score};
    }
    w->result.steps = steps;
    w->result.n_differ = (size_t)n;
    return HONE_OK;
}

/* What the second model gives by itself, or with some steps put back. */
static hone_status measure(own *w, const bool *back, double *figure, double *max_error,
                           hn_error *err) {
    hn_model *m;
    HN_TRY(hn_pairs_hybrid(w->pairs, back, &w->alloc, &m, err));
    hone_status status = rank(w, m, figure, err);
    *max_error = w->max_error;
    if (status == HONE_OK && w->o.data != NULL) status = accuracy_of(w, m, &w->how[1], figure, err);
    hn_model_destroy(m);
    return status;
}

static hone_status search(own *w, hn_sensitivity *s, hn_error *err) {
    size_t n = (size_t)w->pairs->n;
    hone_bisection *r = &w->result;
    hn_pair_error *errors = hn_arena_array(&w->arena, n, sizeof *errors);
    hn_step_harm *harms = hn_arena_array(&w->arena, n, sizeof *harms);
    bool *back = hn_arena_array(&w->arena, n, sizeof *back);
    int n_harms;
    double score;
    if (errors == NULL || harms == NULL || back == NULL) return HN_NOMEM(err);
    s->errors = errors;
    HN_TRY(hn_pair_errors(w->pairs, w->how, &w->samples, HN_PAIR_ERRORS_BYTES, NULL, NULL, errors,
                          err));
    HN_TRY(measure(w, back, &r->before, &r->max_error_before, err));
    HN_TRY(hn_sensitivity_rank(s, harms, &n_harms, &r->tried, err));
    HN_TRY(hn_sensitivity_bisect(s, harms, n_harms, back, &score, &r->tried, err));
    HN_TRY(measure(w, back, &r->after, &r->max_error_after, err));
    return report(w, harms, n_harms, back, err);
}

static hone_status bisect(own *w, hn_error *err) {
    HN_TRY(hn_pairs_create(&w->pairs, w->models[0]->ir, w->models[1]->ir, &w->alloc, err));
    HN_CHECK(
        err, w->pairs->n > 0, HONE_E_SHAPE,
        "no step of one model could be found in the other: their names have nothing in common");
    HN_TRY(find_outputs(w, err));
    HN_TRY(run_first(w, err));
    hn_sensitivity s = {.pairs = w->pairs,
                        .rank = rank,
                        .decide = decide_by_outputs,
                        .ctx = w,
                        .enough = 1,
                        .progress = w->o.progress,
                        .progress_ctx = w->o.progress_ctx};
    if (w->o.data != NULL) {
        s.decide = decide_by_accuracy;
        HN_TRY(accuracy_of(w, w->models[0]->ir, &w->how[0], &s.enough, err));
        s.enough -= w->o.max_drop;
    }
    return search(w, &s, err);
}

hone_status hone_session_bisect_sized(hone_session *a, hone_session *b, const hone_samples *given,
                                      const hone_bisect_options *options, hone_bisection **out,
                                      const hone_layout *caller, hone_error *err) {
    static const hn_list lists[] = {HN_LIST(bisection, steps, n_steps, bisect_step)};
    hn_api_samples taken;
    hone_bisect_options o;
    HN_TRY(HN_TAKE_OPTIONS(bisect, &o, options, err));
    HN_TRY(hn_api_take_samples(&taken, given, hn_api_session_model(a), caller, err));
    const hone_samples *samples = &taken.own;
    own *w = hn_alloc_zero(hn_allocator_default(), sizeof *w, HN_MEM_OTHER);
    if (w == NULL) return HN_NOMEM(err);
    w->result = (hone_bisection){.size = sizeof w->result, .owner = w};
    w->o = o;
    hn_allocator_init(&w->alloc);
    hn_arena_init(&w->arena, &w->alloc, HN_MEM_OTHER);
    w->models[0] = hn_api_session_model(a);
    w->models[1] = hn_api_session_model(b);
    for (int i = 0; i < 2; i++) atomic_fetch_add(&w->models[i]->refs, 1);
    w->how[0] = hn_api_session_how(a);
    w->how[1] = hn_api_session_how(b);
    w->source = (hn_api_source){samples, w->models[0], &w->alloc};
    int64_t runs = (samples->count + samples->batch - 1) / samples->batch;
    w->samples =
        (hn_sample_source){runs < MOST_RUNS ? runs : MOST_RUNS, hn_api_load_sample, &w->source};
    hone_status status = bisect(w, err);
    if (status == HONE_OK) HN_HAND_OUT(out, &w->result, lists, caller, bisection, err);
    hone_bisection_destroy(&w->result);
    return status;
}

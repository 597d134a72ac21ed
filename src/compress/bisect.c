#include "compress/bisect.h"

#include <math.h>
#include <string.h>

#include "measure/accuracy.h"

/* ---- judging a model ---- */

/* One run of a program whose inputs are in the order of `g`, by name from those of the first. */
static hone_status run_once(hn_bisection *w, hn_program *program, const hn_graph *g, int64_t run,
                            hn_tensor **out, hn_error *err) {
    const hn_graph *a = w->models[0]->graph;
    const hn_tensor **in =
        hn_alloc_zero(w->alloc, ((size_t)g->n_inputs + 1) * sizeof *in, HN_MEM_SCRATCH);
    if (in == NULL) return HN_NOMEM(err);
    hone_status status = w->samples.load(w->samples.ctx, run, w->in, err);
    if (status == HONE_OK) {
        for (int i = 0; i < g->n_inputs; i++)
            for (int k = 0; k < a->n_inputs; k++)
                if (strcmp(a->inputs[k]->name, g->inputs[i]->name) == 0) in[i] = w->in[k];
        status = hn_program_run(program, in, out, err);
        for (int k = 0; k < a->n_inputs; k++) hn_tensor_unref(w->in[k]);
    }
    hn_free(w->alloc, in);
    return status;
}

static hone_status add_run(hn_bisection *w, hn_program *program, const hn_graph *g, int64_t run,
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
    hn_bisection *w = ctx;
    hn_program *program;
    hn_distance *d = hn_alloc_zero(w->alloc, (size_t)w->n_out * sizeof *d, HN_MEM_SCRATCH);
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
    hn_free(w->alloc, d);
    return status;
}

static hone_status decide_by_outputs(void *ctx, const hn_model *m, double *score, hn_error *err) {
    hn_bisection *w = ctx;
    double sqnr;
    HN_TRY(rank(ctx, m, &sqnr, err));
    *score = sqnr >= w->limits.min_sqnr_db && w->max_error <= w->limits.max_error;
    return HONE_OK;
}

static hone_status run_program(void *ctx, const hn_tensor *const *in, hn_tensor **out,
                               hn_error *err) {
    return hn_program_run(ctx, in, out, err);
}

static hone_status accuracy_of(hn_bisection *w, const hn_model *m, const hn_run_options *how,
                               double *accuracy, hn_error *err) {
    hn_program *program;
    hone_eval_result r;
    HN_TRY(hn_program_create(&program, m, how, err));
    hone_status status =
        hn_accuracy_top(m->graph, run_program, program, w->data, &w->eval, w->alloc, &r, err);
    hn_program_destroy(program);
    if (status == HONE_OK) *accuracy = (double)r.top1 / (double)r.samples;
    return status;
}

static hone_status decide_by_accuracy(void *ctx, const hn_model *m, double *score, hn_error *err) {
    hn_bisection *w = ctx;
    return accuracy_of(w, m, &w->how[1], score, err);
}

/* ---- the search ---- */

static hone_status find_outputs(hn_bisection *w, hn_error *err) {
    const hn_graph *a = w->models[0]->graph, *b = w->models[1]->graph;
    w->n_out = a->n_outputs;
    w->at = hn_arena_array(w->arena, (size_t)w->n_out, sizeof *w->at);
    w->in = hn_arena_array(w->arena, (size_t)a->n_inputs + 1, sizeof *w->in);
    w->out = hn_arena_array(w->arena, (size_t)b->n_outputs + 1, sizeof *w->out);
    w->want = hn_arena_array(w->arena, (size_t)w->n_out * (size_t)w->samples.n, sizeof *w->want);
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

static hone_status run_first(hn_bisection *w, hn_error *err) {
    const hn_model *a = w->models[0];
    hn_program *program;
    HN_TRY(hn_program_create(&program, a, &w->how[0], err));
    hone_status status = HONE_OK;
    for (int64_t run = 0; run < w->samples.n && status == HONE_OK; run++)
        status = run_once(w, program, a->graph, run, w->want + run * w->n_out, err);
    hn_program_destroy(program);
    return status;
}

static hone_status report(hn_bisection *w, const hn_step_harm *harms, int n, const bool *back,
                          hn_error *err) {
    hone_bisect_step *steps = hn_arena_array(w->arena, (size_t)n + 1, sizeof *steps);
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
static hone_status measure(hn_bisection *w, const bool *back, double *figure, double *max_error,
                           hn_error *err) {
    hn_model *m;
    HN_TRY(hn_pairs_hybrid(w->pairs, back, w->alloc, &m, err));
    hone_status status = rank(w, m, figure, err);
    *max_error = w->max_error;
    if (status == HONE_OK && w->data != NULL) status = accuracy_of(w, m, &w->how[1], figure, err);
    hn_model_destroy(m);
    return status;
}

static hone_status search(hn_bisection *w, hn_sensitivity *s, hn_error *err) {
    size_t n = (size_t)w->pairs->n;
    hone_bisection *r = &w->result;
    hn_pair_error *errors = hn_arena_array(w->arena, n, sizeof *errors);
    hn_step_harm *harms = hn_arena_array(w->arena, n, sizeof *harms);
    bool *back = hn_arena_array(w->arena, n, sizeof *back);
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

hone_status hn_bisect(hn_bisection *w, hn_error *err) {
    HN_TRY(hn_pairs_create(&w->pairs, w->models[0], w->models[1], w->alloc, err));
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
                        .progress = w->limits.progress,
                        .progress_ctx = w->limits.progress_ctx};
    if (w->data != NULL) {
        s.decide = decide_by_accuracy;
        HN_TRY(accuracy_of(w, w->models[0], &w->how[0], &s.enough, err));
        s.enough -= w->limits.max_drop;
    }
    return search(w, &s, err);
}

void hn_bisection_deinit(hn_bisection *w) {
    for (int64_t i = 0; w->want != NULL && i < w->samples.n * w->n_out; i++)
        hn_tensor_unref(w->want[i]);
    hn_pairs_destroy(w->pairs);
}

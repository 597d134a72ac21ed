#include <math.h>
#include <string.h>

#include "api/api.h"
#include "measure/breaks.h"
#include "measure/output_errors.h"

HN_DEFINE_OPTIONS(compare, .tensor_runs = 8)

/* A comparison with what it points to. Names may lie in `folded`, so the pairs stay with it. */
typedef struct own {
    hone_comparison result;
    hn_allocator alloc;
    hn_arena arena;
    hn_pairs *pairs;
    hone_model *models[2]; /* whose names are pointed to */
} own;

void hone_comparison_destroy(hone_comparison *c) {
    if (c == NULL) return;
    own *o = c->owner;
    hn_pairs_destroy(o->pairs);
    hn_arena_deinit(&o->arena);
    for (int i = 0; i < 2; i++) hn_api_model_unref(o->models[i]);
    hn_shown_free(c, &o->result);
    hn_free(hn_allocator_default(), o);
}

static int64_t runs_of(const hone_samples *s) { return (s->count + s->batch - 1) / s->batch; }

/* ---- outputs ---- */

/* Runs of both sessions, for hn_output_errors. */
typedef struct outputs {
    const hone_model *a;
    hone_session *session[2];
    const hone_samples *samples;
    hone_value *in, *out[2];
    hn_tensor *tensor[3]; /* inputs of the graph, outputs of the first and of the second */
} outputs;

/* Text has no elements here: it is not compared. */
static hone_status borrow(hn_tensor *t, const hone_value *v, hn_error *err) {
    if (v->dtype != HONE_DTYPE_STRING)
        return hn_tensor_borrow(t, v->dtype, v->rank, v->dims, v->data, err);
    *t = (hn_tensor){.dtype = v->dtype};
    return HONE_OK;
}

/* The values of a run as tensors over the same memory. */
static hone_status borrow_all(outputs *o, hn_output_run *values, hn_error *err) {
    const hn_graph *g = o->a->ir->graph;
    for (int i = 0, at = 0; i < g->n_inputs; i++) {
        values->in[i] = NULL;
        if (g->inputs[i]->constant != NULL) continue;
        HN_TRY(borrow(&o->tensor[0][i], &o->in[at++], err));
        values->in[i] = &o->tensor[0][i];
    }
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < o->a->n_outputs; i++) {
            HN_TRY(borrow(&o->tensor[1 + k][i], &o->out[k][i], err));
            values->out[k][i] = &o->tensor[1 + k][i];
        }
    return HONE_OK;
}

static void release(outputs *o) {
    hone_value_release(o->in, o->a->n_inputs);
    for (int k = 0; k < 2; k++) hone_value_release(o->out[k], o->a->n_outputs);
}

static hone_status run_both(void *ctx, int64_t run, hn_output_run *values, hn_error *err) {
    outputs *o = ctx;
    const hone_model *a = o->a;
    release(o);
    HN_TRY(hn_api_read_sample(o->samples, a, run, o->in, err));
    for (int k = 0; k < 2; k++) {
        for (size_t i = 0; i < a->n_outputs; i++)
            o->out[k][i] = (hone_value){.name = a->outputs[i].name};
        hone_status status =
            hone_session_run(o->session[k], a->n_inputs, o->in, a->n_outputs, o->out[k], err);
        if (status != HONE_OK) hn_error_context(err, k == 0 ? "the first model" : "the second");
        HN_TRY(status);
    }
    return borrow_all(o, values, err);
}

static hone_status check_inputs(const hone_model *a, const hone_model *b, hn_error *err) {
    for (size_t i = 0; i < a->n_inputs; i++) {
        size_t at = 0;
        while (at < b->n_inputs && strcmp(a->inputs[i].name, b->inputs[at].name) != 0) at++;
        HN_CHECK(err, at < b->n_inputs, HONE_E_SHAPE,
                 "the models take different inputs: the second has no input '%s'",
                 a->inputs[i].name);
    }
    HN_CHECK(err, a->n_inputs == b->n_inputs, HONE_E_SHAPE,
             "the models take different inputs: the first has %zu, the second %zu", a->n_inputs,
             b->n_inputs);
    return HONE_OK;
}

static hone_status check_outputs(const hone_model *a, const hone_model *b, hn_error *err) {
    bool floats = false;
    for (size_t i = 0; i < a->n_outputs; i++) {
        size_t at = 0;
        while (at < b->n_outputs && strcmp(a->outputs[i].name, b->outputs[at].name) != 0) at++;
        HN_CHECK(err, at < b->n_outputs, HONE_E_SHAPE,
                 "the models cannot be compared: the second has no output '%s'",
                 a->outputs[i].name);
        floats |= hn_dtype_is_float(a->outputs[i].dtype);
    }
    HN_CHECK(err, floats, HONE_E_TYPE, "the models cannot be compared: they have no float output");
    return HONE_OK;
}

static hone_status compare_outputs(own *w, outputs *o, const hone_compare_options *how,
                                   int64_t total, hn_error *err) {
    const hn_graph *g = o->a->ir->graph;
    size_t n_out = o->a->n_outputs;
    o->in = hn_arena_array(&w->arena, o->a->n_inputs + 1, sizeof *o->in);
    bool whole = o->in != NULL;
    for (int k = 0; k < 3; k++) {
        size_t n = k == 0 ? (size_t)g->n_inputs + 1 : n_out;
        o->tensor[k] = hn_arena_array(&w->arena, n, sizeof *o->tensor[k]);
        if (k > 0) o->out[k - 1] = hn_arena_array(&w->arena, n, sizeof *o->out[k - 1]);
        whole = whole && o->tensor[k] != NULL && (k == 0 || o->out[k - 1] != NULL);
    }
    if (!whole) return HN_NOMEM(err);
    hn_output_runs runs = {.graph = g,
                           .samples = o->samples->count,
                           .batch = o->samples->batch,
                           .run = run_both,
                           .ctx = o,
                           .progress = how->progress,
                           .progress_ctx = how->progress_ctx,
                           .total = total};
    hone_status status = hn_output_errors(&runs, &w->alloc, &w->arena, &w->result, err);
    release(o);
    return status;
}

/* ---- tensors ---- */

/* Progress of the tensors, behind that of the outputs. */
typedef struct shown {
    const hone_compare_options *how;
    int64_t before, runs;
} shown;

static bool show(void *ctx, int64_t done, int64_t total) {
    const shown *s = ctx;
    return s->how->progress(s->how->progress_ctx,
                            s->before + (int64_t)((double)done / (double)total * (double)s->runs),
                            s->before + s->runs);
}

static hone_status compare_tensors(own *w, hone_session *a, hone_session *b,
                                   const hone_samples *samples, const hone_compare_options *how,
                                   int64_t runs, hn_error *err) {
    const hn_run_options ways[2] = {hn_api_session_run_options(a), hn_api_session_run_options(b)};
    hn_api_source source = {samples, w->models[0], &w->alloc};
    hn_sample_source s = {runs, hn_api_load_sample, &source};
    shown shows = {how, runs_of(samples), 3 * runs};
    HN_TRY(hn_pairs_create(&w->pairs, w->models[0]->ir, w->models[1]->ir, &w->alloc, err));
    return hn_breaks(w->pairs, ways, &s, how->progress != NULL ? show : NULL, &shows, &w->arena,
                     &w->result, err);
}

static hone_status compare(own *w, hone_session *a, hone_session *b, const hone_samples *samples,
                           const hone_compare_options *how, hn_error *err) {
    int64_t runs = how->tensor_runs < runs_of(samples) ? how->tensor_runs : runs_of(samples);
    HN_TRY(check_inputs(w->models[0], w->models[1], err));
    HN_TRY(check_outputs(w->models[0], w->models[1], err));
    outputs o = {.a = w->models[0], .session = {a, b}, .samples = samples};
    HN_TRY(compare_outputs(w, &o, how, runs_of(samples) + 3 * runs, err));
    return runs > 0 ? compare_tensors(w, a, b, samples, how, runs, err) : HONE_OK;
}

hone_status hone_session_compare_sized(hone_session *a, hone_session *b,
                                       const hone_samples *samples,
                                       const hone_compare_options *options, hone_comparison **out,
                                       const hone_layout *caller, hone_error *err) {
    static const hn_list lists[] = {HN_LIST(comparison, outputs, n_outputs, output_error),
                                    HN_LIST(comparison, tensors, n_tensors, tensor_error)};
    hone_compare_options how;
    hn_api_samples given;
    HN_TRY(HN_TAKE_OPTIONS(compare, &how, options, err));
    HN_TRY(hn_api_take_samples(&given, samples, hn_api_session_model(a), caller, err));
    own *w = hn_alloc_zero(hn_allocator_default(), sizeof *w, HN_MEM_OTHER);
    if (w == NULL) return HN_NOMEM(err);
    w->result = (hone_comparison){.size = sizeof w->result, .owner = w};
    hn_allocator_init(&w->alloc);
    hn_arena_init(&w->arena, &w->alloc, HN_MEM_OTHER);
    w->models[0] = hn_api_session_model(a);
    w->models[1] = hn_api_session_model(b);
    for (int i = 0; i < 2; i++) atomic_fetch_add(&w->models[i]->refs, 1);
    hone_status status = compare(w, a, b, &given.own, &how, err);
    if (status == HONE_OK) HN_HAND_OUT(out, &w->result, lists, caller, comparison, err);
    hone_comparison_destroy(&w->result);
    return status;
}

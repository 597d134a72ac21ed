/* Callers' functions and arrays of values, where the caller's structs have other sizes than the
 * library's: functions are called through one here that turns their arguments into the caller's. */
#include <string.h>

#include "api/api.h"

/* ---- samples ---- */

static hone_status read_sample(void *ctx, int64_t run, hone_value *in, hone_error *err) {
    const hn_api_samples *s = ctx;
    void *shown = hn_show_array(in, s->n_inputs, sizeof *in, s->value_size);
    if (shown == NULL) return HN_NOMEM(err);
    hone_status status = s->given.read(s->given.ctx, run, shown, err);
    for (size_t i = 0; i < s->n_inputs && status == HONE_OK; i++)
        status = hn_take(&in[i], sizeof in[i], (char *)shown + i * s->value_size, s->value_size,
                         "hone_value", err);
    hn_shown_free(shown, in);
    return status;
}

hone_status hn_api_take_samples(hn_api_samples *s, const hone_samples *given,
                                const hone_model *model, const hone_layout *caller, hn_error *err) {
    *s = (hn_api_samples){.n_inputs = model->n_inputs, .value_size = HN_CALLER(caller, value)};
    HN_TRY(HN_TAKE(&s->given, given, caller, samples, err));
    HN_CHECK(err, s->given.count >= 1 && s->given.batch >= 1 && s->given.read != NULL, HONE_E_ARG,
             "there are %lld samples in batches of %lld to compare models on, expected 1 or more",
             (long long)s->given.count, (long long)s->given.batch);
    s->own = s->given;
    if (s->value_size == sizeof(hone_value)) return HONE_OK;
    s->own.read = read_sample;
    s->own.ctx = s;
    return HONE_OK;
}

hone_status hn_api_read_sample(const hone_samples *s, const hone_model *m, int64_t run,
                               hone_value *in, hn_error *err) {
    for (size_t i = 0; i < m->n_inputs; i++) in[i] = (hone_value){.name = m->inputs[i].name};
    return s->read(s->ctx, run, in, err);
}

/* A dense copy for the graph's inputs, those with a default excepted. */
static hone_status to_tensors(const hone_model *m, const hone_value *in, hn_tensor **out,
                              hn_allocator *alloc, hn_error *err) {
    const hn_graph *g = m->ir->graph;
    for (int i = 0, at = 0; i < g->n_inputs; i++) {
        out[i] = NULL;
        if (g->inputs[i]->constant != NULL) continue;
        const hone_value *v = &in[at++];
        HN_TRY(hn_tensor_create(&out[i], alloc, HN_MEM_DATA, v->dtype, v->rank, v->dims, err));
        HN_CHECK(err, out[i]->bytes == v->bytes, HONE_E_SHAPE,
                 "input '%s' has %zu bytes, its dims say %zu", v->name, v->bytes, out[i]->bytes);
        if (v->bytes > 0) memcpy(out[i]->data, v->data, v->bytes);
    }
    return HONE_OK;
}

hone_status hn_api_load_sample(void *ctx, int64_t run, hn_tensor **in, hn_error *err) {
    const hn_api_source *s = ctx;
    const hone_model *m = s->model;
    int n = m->ir->graph->n_inputs;
    hone_value *values = hn_alloc_zero(s->alloc, (m->n_inputs + 1) * sizeof *values, HN_MEM_OTHER);
    if (values == NULL) return HN_NOMEM(err);
    for (int i = 0; i < n; i++) in[i] = NULL;
    hone_status status = hn_api_read_sample(s->samples, m, run, values, err);
    if (status == HONE_OK) status = to_tensors(m, values, in, s->alloc, err);
    hone_value_release(values, m->n_inputs);
    hn_free(s->alloc, values);
    for (int i = 0; i < n && status != HONE_OK; i++) {
        hn_tensor_unref(in[i]);
        in[i] = NULL;
    }
    return status;
}

/* ---- batches of an evaluation ---- */

static hone_status see_batch(void *ctx, const hone_eval_batch *batch, hone_error *err) {
    static const hn_list lists[] = {HN_LIST(eval_batch, inputs, n_inputs, value),
                                    HN_LIST(eval_batch, outputs, n_outputs, value),
                                    HN_LIST(eval_batch, targets, n_targets, value)};
    const hn_api_eval *e = ctx;
    hone_eval_batch own = *batch;
    hone_eval_batch *shown = HN_SHOW(&own, lists, e->caller, eval_batch);
    if (shown == NULL) return HN_NOMEM(err);
    hone_status status = e->given.on_batch(e->given.on_batch_ctx, shown, err);
    hn_shown_free(shown, &own);
    return status;
}

hone_status hn_api_take_eval(hn_api_eval *e, const hone_eval_options *given,
                             const hone_layout *caller, hn_error *err) {
    e->caller = caller;
    HN_TRY(HN_TAKE_OPTIONS(eval, &e->given, given, err));
    e->own = e->given;
    if (e->own.on_batch == NULL) return HONE_OK;
    e->own.on_batch = see_batch;
    e->own.on_batch_ctx = e;
    return HONE_OK;
}

/* ---- timers ---- */

static hone_status open_model(void *ctx, int id, const void *onnx, size_t bytes, size_t n_in,
                              const hone_value *in, hone_error *err) {
    const hn_api_timer *t = ctx;
    void *shown = hn_show_array((void *)in, n_in, sizeof *in, HN_CALLER(t->caller, value));
    if (shown == NULL) return HN_NOMEM(err);
    hone_status status = t->given.open(t->given.ctx, id, onnx, bytes, n_in, shown, err);
    hn_shown_free(shown, in);
    return status;
}

static hone_status run_round(void *ctx, int first, int second, double seconds, hone_round *out,
                             hone_error *err) {
    const hn_api_timer *t = ctx;
    size_t size = HN_CALLER(t->caller, round);
    hone_round *shown = hn_show_array(out, 1, sizeof *out, size);
    if (shown == NULL) return HN_NOMEM(err);
    hone_status status = t->given.round(t->given.ctx, first, second, seconds, shown, err);
    if (status == HONE_OK && shown != out)
        status = hn_take(out, sizeof *out, shown, size, "hone_round", err);
    hn_shown_free(shown, out);
    return status;
}

static void close_model(void *ctx, int id) {
    const hn_api_timer *t = ctx;
    t->given.close(t->given.ctx, id);
}

hone_status hn_api_take_timer(hn_api_timer *t, const hone_timer *given, const hone_layout *caller,
                              hn_error *err) {
    t->caller = caller;
    HN_TRY(hn_take_sized(&t->given, sizeof t->given, given, "hone_timer", err));
    t->own = (hone_timer){.size = sizeof t->own,
                          .name = t->given.name,
                          .ctx = t,
                          .open = open_model,
                          .round = run_round,
                          .close = close_model};
    return HONE_OK;
}

/* ---- values ---- */

hone_status hn_api_take_values(hn_api_values *v, size_t n_in, const hone_value *in, size_t n_out,
                               const hone_value *out, const hone_layout *caller, hn_error *err) {
    HN_TRY(HN_TAKE_ARRAY(&v->in, in, n_in, caller, value, err));
    hone_status status = HN_TAKE_ARRAY(&v->out, out, n_out, caller, value, err);
    if (status != HONE_OK) hn_caller_array_deinit(&v->in);
    return status;
}

void hn_api_give_values(hn_api_values *v, hone_value *out) {
    hn_caller_array_give(&v->out, out);
    hn_caller_array_deinit(&v->out);
    hn_caller_array_deinit(&v->in);
}

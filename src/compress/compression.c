#include "compress/compression.h"

#include <string.h>

#include "compress/convert.h"
#include "compress/samples.h"
#include "compress/weighted.h"
#include "engine/layers.h"
#include "ops/infer.h"
#include "passes/simplify.h"

typedef struct work {
    const hn_compress_options *o;
    hn_allocator *alloc;
    hn_model *model;    /* what becomes of the model */
    hn_model *inputs;   /* as it was, for its inputs, which others may change */
    hn_model *original; /* as methods before have left it; NULL: nobody asks */
    hn_sample_choice samples;
    hn_calibration *made;
    const hn_calibration *calibration;
    hn_grids *grids;
    int fixed_inputs;
    const char *what; /* is going on */
} work;

static bool tell(void *ctx, int64_t done, int64_t total) {
    const work *w = ctx;
    return w->o->progress == NULL || w->o->progress(w->o->progress_ctx, w->what, done, total);
}

/* ---- what is wanted ---- */

/* The kind is that of all layers, or of those that some rule names. */
static bool wants(const hn_scheme *s, hn_layer_kind least, hn_layer_kind most) {
    bool yes = s->layer.kind >= least && s->layer.kind <= most;
    for (int i = 0; i < s->n_rules; i++)
        yes = yes || (s->rules[i].layer.kind >= least && s->rules[i].layer.kind <= most);
    return yes;
}

static hone_status check_data(const hn_compress_options *o, hn_error *err) {
    bool is_static = wants(&o->scheme, HN_LAYER_STATIC, HN_LAYER_STATIC);
    HN_CHECK(err, !is_static || o->data != NULL || o->calibration != NULL, HONE_E_ARG,
             "activations by their ranges want samples to find them with, or a table of ranges");
    for (int i = 0; i < o->n_methods; i++)
        HN_CHECK(err, !o->methods[i]->needs_data || o->data != NULL, HONE_E_ARG,
                 "method '%s' wants samples to look at", o->methods[i]->name);
    return HONE_OK;
}

/* A rule that no node obeys was meant for one. */
static hone_status check_rules(const hn_model *m, const hn_scheme *s, hn_error *err) {
    for (int i = 0; i < s->n_rules; i++) {
        hn_scheme one = {.n_rules = 1, .rules = &s->rules[i]};
        bool named = false;
        for (const hn_node *n = m->graph->first; n != NULL && !named; n = n->next)
            hn_scheme_of(&one, n, &named);
        HN_CHECK(err, named, HONE_E_ARG, "no node of the simplified model is called '%s'",
                 s->rules[i].name);
    }
    return HONE_OK;
}

/* ---- stages ---- */

static hone_status prepare(work *w, const hn_model *m, hn_error *err) {
    hn_simplify_options simplify = hn_simplify_defaults();
    bool integers = wants(&w->o->scheme, HN_LAYER_WEIGHTS, HN_LAYER_STATIC);
    HN_CHECK(err, !integers || !hn_graph_is_quantized(m->graph), HONE_E_MODEL,
             "the model is quantized already: quantize the one it was made of");
    HN_TRY(hn_model_copy(&w->model, m, w->alloc, err));
    w->fixed_inputs = hn_fix_defaults(w->model);
    HN_TRY(hn_model_infer(w->model, NULL, err));
    HN_TRY(hn_simplify(w->model, &simplify, NULL, err));
    HN_TRY(check_rules(w->model, &w->o->scheme, err));
    if (w->o->data == NULL) return HONE_OK;
    HN_TRY(hn_model_clone(&w->inputs, w->model, w->alloc, err));
    HN_TRY(hn_model_infer(w->inputs, NULL, err));
    w->what = "look";
    int threads = hn_pool_threads(w->o->how.engine.pool);
    return hn_sample_choose(&w->samples, w->o->data, w->o->calibrate.samples, w->inputs->graph,
                            w->o->batch, threads, tell, w, w->alloc, err);
}

static hone_status run_methods(work *w, hn_stage stage, hn_error *err) {
    const hn_compress_options *o = w->o;
    for (int i = 0; i < o->n_methods; i++) {
        const hn_method *m = o->methods[i];
        if (m->stage != stage) continue;
        hn_method_ctx c = {.model = w->model,
                           .original = w->original,
                           .scheme = &o->scheme,
                           .calibration = w->calibration,
                           .grids = w->grids,
                           .feed = w->samples.feed,
                           .seed = o->seed,
                           .how = &o->how,
                           .alloc = w->alloc,
                           .progress = tell,
                           .progress_ctx = w};
        w->what = m->name;
        HN_TRY(m->run(&c, err));
        HN_TRY(hn_model_infer(w->model, NULL, err));
    }
    return HONE_OK;
}

static bool has_stage(const hn_compress_options *o, hn_stage stage) {
    bool yes = false;
    for (int i = 0; i < o->n_methods; i++) yes = yes || o->methods[i]->stage == stage;
    return yes;
}

static hone_status calibrate(work *w, hn_error *err) {
    const hn_compress_options *o = w->o;
    w->calibration = o->calibration;
    if (o->calibration != NULL || !wants(&o->scheme, HN_LAYER_STATIC, HN_LAYER_STATIC))
        return HONE_OK;
    hn_arena names_of;
    const char *const *names;
    int n;
    hn_calibrate_options how = o->calibrate;
    how.samples = 0;
    how.progress = tell;
    how.progress_ctx = w;
    w->what = "calibrate";
    hn_arena_init(&names_of, w->alloc, HN_MEM_OTHER);
    hone_status status = hn_quantize_watches(w->model, &o->scheme, &names_of, &names, &n, err);
    if (status == HONE_OK)
        status = hn_calibrate(&w->made, w->model, names, n, w->samples.feed, &o->how, &how,
                              w->alloc, err);
    hn_arena_deinit(&names_of);
    w->calibration = w->made;
    return status;
}

/* ---- f16 and bf16 ---- */

static hone_dtype narrow_type(void *ctx, const hn_node *n) {
    const work *w = ctx;
    hn_layer_kind kind = hn_scheme_of(&w->o->scheme, n, NULL).kind;
    return kind == HN_LAYER_F16    ? HONE_DTYPE_F16
           : kind == HN_LAYER_BF16 ? HONE_DTYPE_BF16
                                   : HONE_DTYPE_F32;
}

/* Rows of what was converted behind those of what was quantized. */
static hone_status join(hn_quantize_report *r, const hn_conversion *c, hn_error *err) {
    size_t n = (size_t)r->n + (size_t)c->n;
    hn_quantized_layer *v = hn_arena_array(&r->arena, n + 1, sizeof *v);
    if (v == NULL) return HN_NOMEM(err);
    if (r->n > 0) memcpy(v, r->v, (size_t)r->n * sizeof *v);
    for (int i = 0; i < c->n; i++) {
        const hn_converted *from = &c->v[i];
        if (from->type == HONE_DTYPE_F32 && from->why_not == NULL) continue;
        bool left = from->type == HONE_DTYPE_F32, half = from->type == HONE_DTYPE_F16;
        hn_quantized_layer *to = &v[r->n];
        *to = (hn_quantized_layer){.kind = left   ? HN_LAYER_F32
                                           : half ? HN_LAYER_F16
                                                  : HN_LAYER_BF16,
                                   .params = from->params,
                                   .bytes_before = from->bytes_before,
                                   .bytes_after = from->bytes_after};
        to->node = hn_arena_strdup(&r->arena, from->node);
        to->op = hn_arena_strdup(&r->arena, from->op);
        if (left) to->why_not = hn_arena_strdup(&r->arena, from->why_not);
        if (to->node == NULL || to->op == NULL || (left && to->why_not == NULL))
            return HN_NOMEM(err);
        if (!left) {
            to->activations = hone_dtype_name(from->type);
            if (to->params > 0) to->weights = to->activations;
            r->weights += to->params;
            r->weight_bits += 8 * to->bytes_after;
        }
        r->n++;
    }
    r->v = v;
    return HONE_OK;
}

static hone_status convert(work *w, hn_quantize_report *report, hn_error *err) {
    hn_conversion done;
    hn_layer_kind kind = w->o->scheme.layer.kind;
    hn_convert_options o = {.type = narrow_type, .ctx = w};
    if (!wants(&w->o->scheme, HN_LAYER_F16, HN_LAYER_BF16)) return HONE_OK;
    if (w->o->scheme.integer_io && kind == HN_LAYER_F16) o.io = HONE_DTYPE_F16;
    if (w->o->scheme.integer_io && kind == HN_LAYER_BF16) o.io = HONE_DTYPE_BF16;
    hone_status status = hn_convert(w->model, &o, &done, err);
    if (status == HONE_OK) status = join(report, &done, err);
    hn_conversion_deinit(&done);
    return status;
}

/* ---- the whole ---- */

static hone_status write(work *w, hn_quantize_report *report, hn_error *err) {
    const hn_scheme *s = &w->o->scheme;
    if (wants(s, HN_LAYER_WEIGHTS, HN_LAYER_STATIC))
        HN_TRY(hn_quantize_model(w->model, s, w->calibration, w->grids, report, err));
    else
        hn_arena_init(&report->arena, w->alloc, HN_MEM_OTHER);
    HN_TRY(hn_model_infer(w->model, NULL, err));
    return convert(w, report, err);
}

static hone_status compress(work *w, const hn_model *m, hn_quantize_report *report, hn_error *err) {
    HN_TRY(check_data(w->o, err));
    HN_TRY(prepare(w, m, err));
    HN_TRY(run_methods(w, HN_STAGE_BEFORE, err));
    HN_TRY(calibrate(w, err));
    if (has_stage(w->o, HN_STAGE_AFTER)) {
        HN_TRY(hn_model_clone(&w->original, w->model, w->alloc, err));
        HN_TRY(hn_model_infer(w->original, NULL, err));
    }
    HN_TRY(hn_grids_create(&w->grids, w->alloc, err));
    HN_TRY(run_methods(w, HN_STAGE_WEIGHTS, err));
    HN_TRY(write(w, report, err));
    HN_TRY(run_methods(w, HN_STAGE_AFTER, err));
    HN_TRY(hn_model_infer(w->model, NULL, err));
    return hn_model_verify(w->model, err);
}

hone_status hn_compress(hn_compressed *out, const hn_model *m, const hn_compress_options *o,
                        hn_allocator *alloc, hn_error *err) {
    work w = {.o = o, .alloc = alloc};
    hn_compressed c = {0};
    hone_status status = compress(&w, m, &c.report, err);
    c.report.fixed_inputs = w.fixed_inputs;
    c.model = w.model;
    c.calibration = w.made;
    c.samples = w.samples.n;
    if (c.samples > 0) memcpy(c.data, w.samples.hash, sizeof c.data);
    memcpy(c.warning, w.samples.warning, sizeof c.warning);
    hn_grids_destroy(w.grids);
    hn_sample_choice_deinit(&w.samples);
    hn_model_destroy(w.original);
    hn_model_destroy(w.inputs);
    if (status == HONE_OK)
        *out = c;
    else
        hn_compressed_deinit(&c);
    return status;
}

void hn_compressed_deinit(hn_compressed *c) {
    hn_model_destroy(c->model);
    hn_calibration_destroy(c->calibration);
    hn_quantize_report_deinit(&c->report);
    *c = (hn_compressed){0};
}

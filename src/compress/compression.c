#include "compress/compression.h"

#include <string.h>

#include "base/map.h"
#include "compress/convert.h"
#include "compress/ranges.h"
#include "compress/rules.h"
#include "compress/samples.h"
#include "compress/weighted.h"
#include "engine/layers.h"
#include "engine/widen.h"
#include "measure/accuracy.h"
#include "ops/infer.h"
#include "passes/simplify.h"

typedef struct work {
    const hn_compress_options *o;
    hn_allocator *alloc;
    hn_model *model;    /* what becomes of the model */
    hn_model *inputs;   /* as it was, for its inputs, which others may change */
    bool widened;       /* what came in 16 bits is f32 now */
    hn_model *original; /* as methods before have left it; NULL: nobody asks */
    hn_sample_choice samples;
    hn_calibration *made;
    const hn_calibration *calibration;
    hn_grids *grids;
    hn_scheme scheme;   /* what layers become, as far as it is known */
    hn_rounded rounded; /* where types are chosen */
    hn_mixed mixed;
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

/* Some layer may become static. */
static bool may_be_static(const hn_compress_options *o) {
    bool yes =
        wants(&o->scheme, HN_LAYER_STATIC, HN_LAYER_STATIC) ||
        (o->mix != NULL && o->mix->base != NULL && o->mix->base->layer.kind == HN_LAYER_STATIC);
    for (int i = 0; o->mix != NULL && i < o->mix->n_types; i++)
        yes = yes || o->mix->types[i]->layer.kind == HN_LAYER_STATIC;
    return yes;
}

static hone_status check_data(const hn_compress_options *o, hn_error *err) {
    bool is_static = may_be_static(o);
    HN_CHECK(err, o->mix == NULL || o->data != NULL, HONE_E_ARG,
             "choosing types of layers wants samples to measure with");
    HN_CHECK(err, o->mix == NULL || o->mix->max_drop < 0 || hn_dataset_has_labels(o->data),
             HONE_E_ARG, "a limit on what accuracy may drop wants samples with labels");
    HN_CHECK(err, !is_static || o->data != NULL || o->calibration != NULL, HONE_E_ARG,
             "activations by their ranges want samples to find them with, or a table of ranges");
    for (int i = 0; i < o->n_methods; i++)
        HN_CHECK(err, !o->methods[i]->needs_data || o->data != NULL, HONE_E_ARG,
                 "method '%s' wants samples to look at", o->methods[i]->name);
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
    HN_TRY(hn_widen(w->model, &w->widened, err));
    if (w->widened) HN_TRY(hn_model_infer(w->model, NULL, err));
    simplify.max_growth = hn_simplify_file_growth(w->model);
    HN_TRY(hn_simplify(w->model, &simplify, NULL, err));
    HN_TRY(hn_rules_check(w->model->graph, &w->o->scheme, err));
    if (w->o->data == NULL) return HONE_OK;
    HN_TRY(hn_model_clone(&w->inputs, w->model, w->alloc, err));
    HN_TRY(hn_model_infer(w->inputs, NULL, err));
    w->what = "look";
    int threads = hn_pool_threads(w->o->how.engine.pool);
    return hn_sample_choose(&w->samples, w->o->data, w->o->calibrate.samples, w->inputs->graph,
                            w->o->batch, threads, tell, w, w->alloc, err);
}

/* Grids that were chosen no longer hold: weights or types are others now. */
static hone_status forget_grids(work *w, hn_error *err) {
    hn_grids_destroy(w->grids);
    w->grids = NULL;
    return hn_grids_create(&w->grids, w->alloc, err);
}

static hone_status run_methods_on(work *w, hn_stage stage, hn_model *model, const hn_scheme *scheme,
                                  hn_grids *grids, hn_error *err) {
    const hn_compress_options *o = w->o;
    for (int i = 0; i < o->n_methods; i++) {
        const hn_method *m = o->methods[i];
        if (m->stage != stage) continue;
        hn_method_ctx c = {.model = model,
                           .original = w->original,
                           .scheme = scheme,
                           .calibration = w->calibration,
                           .grids = grids,
                           .feed = w->samples.feed,
                           .seed = o->seed,
                           .how = &o->how,
                           .alloc = w->alloc,
                           .progress = tell,
                           .progress_ctx = w};
        w->what = m->name;
        if (stage == HN_STAGE_BEFORE) {
            HN_TRY(forget_grids(w, err));
            c.grids = w->grids;
        }
        HN_TRY(m->run(&c, err));
        HN_TRY(hn_model_infer(model, NULL, err));
    }
    return HONE_OK;
}

static hone_status run_methods(work *w, hn_stage stage, hn_error *err) {
    return run_methods_on(w, stage, w->model, &w->scheme, w->grids, err);
}

static bool has_stage(const hn_compress_options *o, hn_stage stage) {
    bool yes = false;
    for (int i = 0; i < o->n_methods; i++) yes = yes || o->methods[i]->stage == stage;
    return yes;
}

/* Where types are still to be chosen, all layers have the first that has ranges. */
static hone_status choose_ranges(work *w, hn_error *err) {
    const hn_mix *mix = w->o->mix;
    hn_scheme scheme = w->scheme;
    hn_range_search s = {.scheme = &scheme,
                         .feed = w->samples.feed,
                         .how = &w->o->how,
                         .progress = tell,
                         .progress_ctx = w};
    for (int i = 0; mix != NULL && scheme.layer.kind != HN_LAYER_STATIC && i <= mix->n_types; i++) {
        const hn_layer_type *t = i == 0 ? mix->base : mix->types[i - 1];
        if (t != NULL) scheme.layer = t->layer;
    }
    w->what = "choose ranges";
    return hn_ranges_choose(w->made, w->model, &s, w->alloc, err);
}

static hone_status calibrate(work *w, hn_error *err) {
    const hn_compress_options *o = w->o;
    w->calibration = o->calibration;
    if (o->calibration != NULL || !may_be_static(o)) return HONE_OK;
    hn_arena names_of;
    const char *const *names;
    int n;
    hn_calibrate_options how = o->calibrate;
    how.samples = 0;
    how.progress = tell;
    how.progress_ctx = w;
    w->what = "calibrate";
    hn_arena_init(&names_of, w->alloc, HN_MEM_OTHER);
    hone_status status =
        o->mix != NULL ? hn_mixed_watches(w->model, &names_of, &names, &n, err)
                       : hn_quantize_watches(w->model, &w->scheme, &names_of, &names, &n, err);
    if (status == HONE_OK)
        status = hn_calibrate(&w->made, w->model, names, n, w->samples.feed, &o->how, &how,
                              w->alloc, err);
    hn_arena_deinit(&names_of);
    w->calibration = w->made;
    if (status != HONE_OK || how.method != HN_RANGE_AUTO) return status;
    return choose_ranges(w, err);
}

/* ---- types of layers ---- */

static hone_status run_program(void *ctx, const hn_tensor *const *in, hn_tensor **out,
                               hn_error *err) {
    return hn_program_run(ctx, in, out, err);
}

/* The share of the samples that a model gets right. */
static hone_status score(void *ctx, const hn_model *m, double *share, hn_error *err) {
    const work *w = ctx;
    hn_program *p;
    hone_eval_result r;
    hone_eval_options o = {.size = sizeof o, .batch = w->o->batch};
    hn_how how = hn_how_for(&w->o->how, m);
    HN_TRY(hn_program_create(&p, m, &how, err));
    hone_status status =
        hn_accuracy_top(m->graph, run_program, p, w->samples.data, &o, w->alloc, &r, err);
    hn_program_destroy(p);
    if (status == HONE_OK) *share = (double)r.top1 / (double)(r.samples > 0 ? r.samples : 1);
    return status;
}

/* What is known of the result before there is one. */
static void describe(const work *w, hn_compressed *c) {
    c->calibration = w->made;
    c->samples = w->samples.n;
    if (c->samples > 0) memcpy(c->data, w->samples.hash, sizeof c->data);
}

static hone_status size_of(void *ctx, hn_model *m, const hn_mixed *x, int64_t *bytes,
                           hn_error *err) {
    const work *w = ctx;
    hn_compressed c = {.model = m, .mixed = *x};
    describe(w, &c);
    return w->o->mix->size(w->o->mix->size_ctx, &c, bytes, err);
}

/* The weights of all layers in that type. */
static hone_status round_type(work *w, const hn_layer_type *t, hn_error *err) {
    hn_rounded *r = &w->rounded;
    for (int i = 0; i < r->n; i++)
        if (hn_qtype_equal(&r->v[i].type, &t->layer.weights)) return HONE_OK;
    hn_rounded_type *v = &r->v[r->n];
    v->type = t->layer.weights;
    HN_TRY(hn_model_clone(&v->model, w->model, w->alloc, err));
    r->n++;
    hn_scheme s = w->scheme;
    s.layer = t->layer;
    HN_TRY(hn_model_infer(v->model, NULL, err));
    return run_methods_on(w, HN_STAGE_WEIGHTS, v->model, &s, r->grids, err);
}

static hone_status round_types(work *w, hn_error *err) {
    const hn_mix *mix = w->o->mix;
    if (!has_stage(w->o, HN_STAGE_WEIGHTS)) return HONE_OK;
    size_t n = (size_t)mix->n_types;
    w->rounded.v = hn_alloc_zero(w->alloc, n * sizeof *w->rounded.v, HN_MEM_OTHER);
    if (w->rounded.v == NULL) return HN_NOMEM(err);
    HN_TRY(hn_grids_create(&w->rounded.grids, w->alloc, err));
    for (int i = 0; i < mix->n_types; i++)
        if (hn_rounded_serves(&mix->types[i]->layer.weights, mix->types, mix->n_types))
            HN_TRY(round_type(w, mix->types[i], err));
    return HONE_OK;
}

static hone_status choose_types(work *w, hn_error *err) {
    const hn_mix *mix = w->o->mix;
    if (mix == NULL) return HONE_OK;
    HN_TRY(round_types(w, err));
    w->what = "choose types";
    hn_mixed_options o = {.base = mix->base,
                          .n_types = mix->n_types,
                          .types = mix->types,
                          .scheme = &w->o->scheme,
                          .calibration = w->calibration,
                          .feed = w->samples.feed,
                          .how = &w->o->how,
                          .harm = mix->harm,
                          .cost = mix->max_ms > 0 ? HN_MIXED_TIME : HN_MIXED_BITS,
                          .rounded = w->rounded.n > 0 ? &w->rounded : NULL,
                          .bits_per_weight = mix->bits_per_weight,
                          .ms = mix->max_ms,
                          .bytes = mix->max_bytes,
                          .size = mix->size != NULL ? size_of : NULL,
                          .size_ctx = w,
                          .score = mix->score,
                          .score_ctx = mix->score_ctx,
                          .least = mix->least,
                          .progress = tell,
                          .progress_ctx = w};
    if (mix->max_drop >= 0) {
        HN_TRY(score(w, w->model, &o.least, err));
        o.least -= mix->max_drop * (mix->relative ? o.least : 1);
        o.score = score;
        o.score_ctx = w;
    }
    HN_TRY(hn_mixed_choose(&w->mixed, w->model, &o, w->alloc, err));
    w->scheme.n_rules = w->mixed.n_rules;
    w->scheme.rules = w->mixed.rules;
    return HONE_OK;
}

/* ---- f16 and bf16 ---- */

/* The row of what stays in floats, which may be there with the reason; or a new one. */
static hn_quantized_layer *row_of(hn_quantize_report *r, const char *node) {
    for (int i = 0; i < r->n; i++)
        if (strcmp(r->v[i].node, node) == 0) return &r->v[i];
    return &r->v[r->n++];
}

/* Rows of what was converted behind those of what was quantized. What came in 16 bits and could not
 * be quantized keeps the reason. */
static hone_status join(hn_quantize_report *r, const hn_conversion *c, bool widened,
                        hn_error *err) {
    size_t n = (size_t)r->n + (size_t)c->n;
    hn_quantized_layer *v = hn_arena_array(&r->arena, n + 1, sizeof *v);
    if (v == NULL) return HN_NOMEM(err);
    if (r->n > 0) memcpy(v, r->v, (size_t)r->n * sizeof *v);
    r->v = v;
    for (int i = 0; i < c->n; i++) {
        const hn_converted *from = &c->v[i];
        if (from->type == HONE_DTYPE_F32 && from->why_not == NULL) continue;
        bool left = from->type == HONE_DTYPE_F32, half = from->type == HONE_DTYPE_F16;
        hn_quantized_layer *to = row_of(r, from->node);
        const char *kept = widened ? to->why_not : NULL;
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
        if (kept != NULL) to->why_not = kept;
        if (!left) {
            to->activations = hone_dtype_name(from->type);
            if (to->params > 0) to->weights = to->activations;
        }
        if (!left && kept == NULL) {
            r->weights += to->params;
            r->weight_bits += 8 * to->bytes_after;
        }
    }
    return HONE_OK;
}

/* What came in 16 bits and stays in floats. */
typedef struct left_over {
    const hn_scheme *scheme;
    bool all; /* nothing is quantized: everything goes back to them, not weights alone */
} left_over;

static hone_dtype float_type(void *ctx, const hn_node *n) {
    const left_over *l = ctx;
    bool named;
    hone_dtype type = hn_scheme_float((void *)(uintptr_t)l->scheme, n);
    if (type != HONE_DTYPE_F32 || !l->all || n->written == HONE_DTYPE_NONE) return type;
    bool kept = hn_scheme_of(l->scheme, n, &named).kind == HN_LAYER_F32 && named;
    return kept ? type : n->written;
}

static bool is_untouched(const hn_quantize_report *r) {
    for (int i = 0; i < r->n; i++)
        if (r->v[i].kind != HN_LAYER_F32) return false;
    return true;
}

static hone_status convert(work *w, hn_quantize_report *report, hn_error *err) {
    hn_conversion done;
    hn_layer_kind kind = w->o->scheme.layer.kind;
    left_over left = {&w->scheme, is_untouched(report)};
    hn_convert_options o = {.type = float_type, .ctx = &left};
    if (!w->widened && !wants(&w->scheme, HN_LAYER_F16, HN_LAYER_BF16)) return HONE_OK;
    if (w->o->scheme.integer_io && kind == HN_LAYER_F16) o.io = HONE_DTYPE_F16;
    if (w->o->scheme.integer_io && kind == HN_LAYER_BF16) o.io = HONE_DTYPE_BF16;
    hone_status status = hn_convert(w->model, &o, &done, err);
    if (status == HONE_OK) status = join(report, &done, w->widened, err);
    hn_conversion_deinit(&done);
    for (hn_node *n = w->model->graph->first; n != NULL; n = n->next) n->written = HONE_DTYPE_NONE;
    return status;
}

/* ---- the whole ---- */

static hone_status round_weights(work *w, hn_error *err) {
    if (w->rounded.n > 0) return hn_rounded_apply(&w->rounded, w->model, &w->scheme, err);
    if (w->grids == NULL || w->o->mix != NULL) HN_TRY(forget_grids(w, err));
    return run_methods(w, HN_STAGE_WEIGHTS, err);
}

static hone_status write(work *w, hn_quantize_report *report, hn_error *err) {
    const hn_scheme *s = &w->scheme;
    const hn_grids *grids = w->rounded.n > 0 ? w->rounded.grids : w->grids;
    if (wants(s, HN_LAYER_WEIGHTS, HN_LAYER_STATIC))
        HN_TRY(hn_quantize_model(w->model, s, w->calibration, grids, w->o->how.engine.pool, report,
                                 err));
    else
        hn_arena_init(&report->arena, w->alloc, HN_MEM_OTHER);
    HN_TRY(hn_model_infer(w->model, NULL, err));
    return convert(w, report, err);
}

/* Names of nodes are for people, but ONNX Runtime refuses a model that has one twice: a later node
 * does without. */
static hone_status drop_double_names(hn_model *m, hn_allocator *alloc, hn_error *err) {
    hn_map seen;
    hone_status status = HONE_OK;
    hn_map_init(&seen, alloc);
    for (hn_node *n = m->graph->first; n != NULL && status == HONE_OK; n = n->next) {
        size_t bytes = strlen(n->name);
        if (bytes == 0) continue;
        if (hn_map_get(&seen, n->name, bytes) != NULL)
            n->name = "";
        else if (!hn_map_put(&seen, n->name, bytes, n))
            status = HN_NOMEM(err);
    }
    hn_map_deinit(&seen);
    return status;
}

static hone_status compress(work *w, const hn_model *m, hn_quantize_report *report, hn_error *err) {
    HN_TRY(check_data(w->o, err));
    HN_TRY(prepare(w, m, err));
    HN_TRY(run_methods(w, HN_STAGE_BEFORE, err));
    HN_TRY(calibrate(w, err));
    HN_TRY(choose_types(w, err));
    if (has_stage(w->o, HN_STAGE_AFTER)) {
        HN_TRY(hn_model_clone(&w->original, w->model, w->alloc, err));
        HN_TRY(hn_model_infer(w->original, NULL, err));
    }
    HN_TRY(round_weights(w, err));
    HN_TRY(write(w, report, err));
    HN_TRY(run_methods(w, HN_STAGE_AFTER, err));
    HN_TRY(hn_model_infer(w->model, NULL, err));
    HN_TRY(drop_double_names(w->model, w->alloc, err));
    return hn_model_verify(w->model, err);
}

hone_status hn_compress(hn_compressed *out, const hn_model *m, const hn_compress_options *o,
                        hn_allocator *alloc, hn_error *err) {
    work w = {.o = o, .alloc = alloc, .scheme = o->scheme};
    hn_compressed c = {0};
    hone_status status = compress(&w, m, &c.report, err);
    c.report.fixed_inputs = w.fixed_inputs;
    c.model = w.model;
    c.mixed = w.mixed;
    describe(&w, &c);
    memcpy(c.warning, w.samples.warning, sizeof c.warning);
    hn_grids_destroy(w.grids);
    hn_rounded_deinit(&w.rounded, alloc);
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
    hn_mixed_deinit(&c->mixed);
    *c = (hn_compressed){0};
}

#include "compress/compression.h"

#include <string.h>

#include "base/map.h"
#include "compress/lineage.h"
#include "compress/ranges.h"
#include "compress/rounds.h"
#include "compress/rules.h"
#include "compress/samples.h"
#include "compress/weighted.h"
#include "engine/layers.h"
#include "engine/widen.h"
#include "formats/onnx.h"
#include "measure/accuracy.h"
#include "measure/gate.h"
#include "ops/infer.h"

typedef struct work {
    const hn_compress_options *o;
    hn_recipe *recipe;
    const hn_compress_plan *plan;
    const hn_type_mix *mix; /* NULL: layers have the types of the scheme */
    bool searches;          /* types are still to be found */
    hn_allocator *alloc;
    hn_compressed *out; /* its model is what becomes of the model */
    hn_model *inputs;   /* as it was before all but graph passes; NULL: there are no samples */
    bool widened;       /* what came in 16 bits is f32 now */
    hn_model *original; /* as methods before have left it; NULL: nobody asks */
    hn_sample_choice samples;
    const hn_calibration *calibration;
    bool ranged; /* ranges and types are found */
    hn_grids *grids;
    hn_scheme scheme;   /* what layers become, as far as it is known */
    hn_rounded rounded; /* where types are chosen */
    int fixed_inputs;
    const char *what; /* is going on */
} work;

static bool tell(void *ctx, int64_t done, int64_t total) {
    const work *w = ctx;
    return w->o->progress == NULL || w->o->progress(w->o->progress_ctx, w->what, done, total);
}

static void begin(work *w, const char *what) {
    w->what = what;
    hn_stages_enter(&w->out->stages, what);
}

/* ---- the plan ---- */

hone_status hn_plan_rules(hn_compress_plan *p, const hn_recipe_step *s, const char *name,
                          hn_read_type_fn *read, int *n, hn_error *err) {
    if (p->rules == NULL) p->rules = hn_arena_array(p->arena, (size_t)s->n + 1, sizeof *p->rules);
    if (p->rules == NULL) return HN_NOMEM(err);
    hn_scheme_rule *to = p->rules + p->scheme.n_rules + p->n_chosen;
    for (int i = 0; i < s->n; i++) {
        if (strcmp(s->v[i].param->name, name) != 0) continue;
        to->name = s->v[i].pattern;
        HN_TRY(read(s, s->v[i].value, &to++->layer, err));
        ++*n;
    }
    p->scheme.rules = p->rules;
    return HONE_OK;
}

hone_status hn_compress_plan_make(hn_compress_plan *p, const hn_recipe *r, hn_error *err) {
    *p = (hn_compress_plan){.arena = r->arena, .scheme.target = r->target};
    HN_TRY(hn_recipe_check(r, err));
    if (r->target == NULL) p->scheme.target = hn_quant_target_named("hone");
    for (int i = 0; i < r->n; i++)
        if (r->steps[i].transform->plan != NULL)
            HN_TRY(r->steps[i].transform->plan(p, &r->steps[i], err));
    return HONE_OK;
}

/* Some layer may become static. */
static bool may_be_static(const hn_scheme *s, const hn_type_mix *mix,
                          const hn_type_search *search) {
    bool yes =
        hn_scheme_wants(s, HN_LAYER_STATIC, HN_LAYER_STATIC) ||
        (search != NULL && search->base != NULL && search->base->layer.kind == HN_LAYER_STATIC);
    for (int i = 0; mix != NULL && i < mix->n_types; i++)
        yes = yes || mix->types[i]->layer.kind == HN_LAYER_STATIC;
    return yes;
}

bool hn_compress_needs_data(const hn_compress_plan *p, const hn_recipe *r) {
    bool needs = (p->ranges == NULL && may_be_static(&p->scheme, &p->mix, NULL)) || p->mix.limited;
    for (int i = 0; i < r->n; i++) needs |= (r->steps[i].transform->needs & HN_NEEDS_DATA) != 0;
    return needs;
}

static hone_status check_data(const work *w, hn_error *err) {
    const hn_compress_options *o = w->o;
    bool is_static = may_be_static(&w->scheme, w->mix, o->search);
    HN_CHECK(err, w->mix == NULL || w->searches || w->plan->n_chosen > 0, HONE_E_ARG,
             "types are chosen within a limit: of bits per weight, size, time or accuracy lost");
    HN_CHECK(err, w->plan->ranges == NULL || o->calibration != NULL, HONE_E_ARG,
             "ranges are those of a table whose SHA-256 is %.12s..., and it is not given",
             w->plan->ranges);
    HN_CHECK(err, !w->searches || o->data != NULL, HONE_E_ARG,
             "choosing types of layers wants samples to measure with");
    HN_CHECK(err, !w->searches || w->mix->max_drop < 0 || hn_dataset_has_labels(o->data),
             HONE_E_ARG, "a limit on what accuracy may drop wants samples with labels");
    HN_CHECK(err, !is_static || o->data != NULL || o->calibration != NULL, HONE_E_ARG,
             "activations by their ranges want samples to find them with, or a table of ranges");
    for (int i = 0; i < w->recipe->n; i++) {
        const hn_transform *t = w->recipe->steps[i].transform;
        HN_CHECK(err, !(t->needs & HN_NEEDS_DATA) || o->data != NULL, HONE_E_ARG,
                 "method '%s' wants samples to look at", t->name);
        HN_CHECK(err, !(t->needs & HN_NEEDS_TRAINING) || w->mix == NULL, HONE_E_ARG,
                 "method '%s' trains layers in types that are settled, not while types are chosen: "
                 "give the chosen ones by rules for layers",
                 t->name);
    }
    return HONE_OK;
}

/* ---- before the first transform, and before the first that looks at layers ---- */

static hone_status copy_model(work *w, const hn_model *m, hn_error *err) {
    bool integers = hn_scheme_wants(&w->scheme, HN_LAYER_WEIGHTS, HN_LAYER_STATIC);
    HN_CHECK(err, !integers || !hn_graph_is_quantized(m->graph), HONE_E_MODEL,
             "the model is quantized already: quantize the one it was made of");
    HN_TRY(hn_model_copy(&w->out->model, m, w->alloc, err));
    hn_arena_init(&w->out->report.arena, w->alloc, HN_MEM_OTHER);
    hn_shrinking_init(&w->out->shrinking, w->alloc);
    w->fixed_inputs = hn_model_fix_defaults(w->out->model);
    HN_TRY(hn_model_infer(w->out->model, NULL, err));
    HN_TRY(hn_widen(w->out->model, &w->widened, err));
    return w->widened ? hn_model_infer(w->out->model, NULL, err) : HONE_OK;
}

static hone_status look(work *w, hn_error *err) {
    const hn_recipe *r = w->recipe;
    HN_TRY(hn_rules_check(w->out->model->graph, &w->scheme, err));
    if (w->o->data == NULL) return HONE_OK;
    HN_TRY(hn_model_clone(&w->inputs, w->out->model, w->alloc, err));
    HN_TRY(hn_model_infer(w->inputs, NULL, err));
    begin(w, "look");
    HN_TRY(hn_sample_choose(
        &w->samples, w->o->data, r->samples >= 0 ? r->samples : HN_RECIPE_SAMPLES, w->inputs->graph,
        r->batch, hn_pool_threads(w->o->how.engine.pool), tell, w, w->alloc, err));
    w->out->samples = w->samples.n;
    memcpy(w->out->warning, w->samples.warning, sizeof w->out->warning);
    if (w->samples.n > 0) memcpy(w->out->data, w->samples.hash, sizeof w->out->data);
    return HONE_OK;
}

/* ---- a transform ---- */

/* Grids that were chosen no longer hold: weights or types are others now. */
static hone_status forget_grids(work *w, hn_error *err) {
    hn_grids_destroy(w->grids);
    w->grids = NULL;
    return hn_grids_create(&w->grids, w->alloc, err);
}

static hone_status run_on(work *w, int step, hn_model *model, const hn_scheme *scheme,
                          hn_grids *grids, hn_error *err) {
    const hn_recipe_step *s = &w->recipe->steps[step];
    hn_transform_ctx c = {
        .model = model,
        .original = s->transform->stage == HN_STAGE_SHRINK ? w->inputs : w->original,
        .step = s,
        .scheme = scheme,
        .calibration = w->calibration,
        .grids = grids,
        .feed = w->samples.feed,
        .data = w->o->data,
        .training = w->o->training,
        .seed = w->recipe->seed,
        .how = &w->o->how,
        .alloc = w->alloc,
        .widened = w->widened,
        .report = &w->out->report,
        .shrinking = &w->out->shrinking,
        .progress = tell,
        .progress_ctx = w};
    begin(w, s->transform->name);
    HN_TRY(s->transform->run(&c, err));
    w->out->changed[step] += c.changed;
    return hn_model_infer(model, NULL, err);
}

static bool has_stage(const work *w, hn_stage stage) {
    bool yes = false;
    for (int i = 0; i < w->recipe->n; i++)
        yes = yes || w->recipe->steps[i].transform->stage == stage;
    return yes;
}

/* ---- ranges ---- */

/* Where types are still to be chosen, all layers have the first that has ranges. */
static hone_status choose_ranges(work *w, hn_error *err) {
    const hn_type_mix *mix = w->mix;
    const hn_layer_type *base = w->o->search != NULL ? w->o->search->base : NULL;
    hn_scheme scheme = w->scheme;
    hn_range_search s = {.scheme = &scheme,
                         .feed = w->samples.feed,
                         .how = &w->o->how,
                         .progress = tell,
                         .progress_ctx = w};
    for (int i = 0; mix != NULL && scheme.layer.kind != HN_LAYER_STATIC && i <= mix->n_types; i++) {
        const hn_layer_type *t = i == 0 ? base : mix->types[i - 1];
        if (t != NULL) scheme.layer = t->layer;
    }
    begin(w, "choose ranges");
    return hn_ranges_choose(w->out->calibration, w->out->model, &s, w->alloc, err);
}

static hone_status calibrate(work *w, hn_error *err) {
    const hn_compress_options *o = w->o;
    const hn_model *model = w->out->model;
    w->calibration = o->calibration;
    if (o->calibration != NULL || !may_be_static(&w->scheme, w->mix, o->search)) return HONE_OK;
    hn_arena names_of;
    const char *const *names;
    int n;
    hn_calibrate_options how = w->plan->calibrate;
    how.progress = tell;
    how.progress_ctx = w;
    begin(w, "calibrate");
    hn_arena_init(&names_of, w->alloc, HN_MEM_OTHER);
    hone_status status = w->mix != NULL
                             ? hn_mixed_watches(model, &names_of, &names, &n, err)
                             : hn_quantize_watches(model, &w->scheme, &names_of, &names, &n, err);
    if (status == HONE_OK)
        status = hn_calibrate(&w->out->calibration, model, names, n, w->samples.feed, &o->how, &how,
                              w->alloc, err);
    hn_arena_deinit(&names_of);
    w->calibration = w->out->calibration;
    if (status != HONE_OK || how.method != HN_RANGE_AUTO) return status;
    return choose_ranges(w, err);
}

/* ---- how good a model is ---- */

static hone_status run_program(void *ctx, const hn_tensor *const *in, hn_tensor **out,
                               hn_error *err) {
    return hn_program_run(ctx, in, out, err);
}

/* The share of the samples that a model gets right. */
static hone_status score(void *ctx, const hn_model *m, double *share, hn_error *err) {
    const work *w = ctx;
    hn_program *p;
    hone_eval_result r;
    hone_eval_options o = {.size = sizeof o, .batch = w->recipe->batch};
    hn_run_options how = hn_run_options_for(&w->o->how, m);
    HN_TRY(hn_program_create(&p, m, &how, err));
    hone_status status =
        hn_accuracy_top(m->graph, run_program, p, w->samples.data, &o, w->alloc, &r, err);
    hn_program_destroy(p);
    if (status == HONE_OK) *share = (double)r.top1 / (double)(r.samples > 0 ? r.samples : 1);
    return status;
}

/* ---- the recipe of what was done ---- */

/* What transforms of the stage SHRINK found out stands in the place of what they looked for. */
static hone_status settle_found(hn_recipe *r, const work *w, hn_error *err) {
    const hn_shrinking *found = &w->out->shrinking;
    for (int i = 0; i < r->n; i++) {
        hn_recipe_step *s = &r->steps[i], was = *s;
        bool any = false;
        for (int k = 0; k < was.n; k++)
            any = any || (was.v[k].param->limit && s->transform->stage == HN_STAGE_SHRINK);
        for (int k = 0; k < found->n_found; k++)
            any = any || found->found[k].step == &w->recipe->steps[i];
        if (!any) continue;
        s->n = 0;
        s->v = NULL;
        for (int k = 0; k < was.n; k++)
            if (!was.v[k].param->limit) HN_TRY(hn_recipe_keep(r, s, &was.v[k], err));
        for (int k = 0; k < found->n_found; k++)
            if (found->found[k].step == &w->recipe->steps[i])
                HN_TRY(hn_recipe_set(r, s, found->found[k].text, err));
    }
    return HONE_OK;
}

/* No paths are written: a file is named by its hash. */
static hone_status settle_files(hn_recipe *r, const work *w, hn_error *err) {
    for (int i = 0; i < r->n; i++)
        for (int k = 0; k < r->steps[i].n; k++) {
            hn_setting *s = &r->steps[i].v[k];
            size_t n = strlen(HN_FILE_HASH);
            hn_file *file;
            if (s->param->kind != HN_PARAM_FILE || strncmp(s->value, HN_FILE_HASH, n) == 0)
                continue;
            char *hash = hn_arena_alloc(r->arena, n + HN_SHA256_HEX);
            if (hash == NULL) return HN_NOMEM(err);
            memcpy(hash, HN_FILE_HASH, n);
            HN_TRY(hn_file_open(&file, s->value, true, w->alloc, err));
            hn_sha256(file->data, file->bytes, hash + n);
            hn_file_unref(file);
            s->value = hash;
        }
    return HONE_OK;
}

/* Limits are left out, for what they led to is there; so is how ranges were found. */
static hone_status settle(hn_recipe *r, const work *w, const hn_mixed *x, hn_error *err) {
    hn_recipe_step *s = hn_recipe_writer(r);
    r->samples = w->out->samples > 0 ? w->out->samples : -1;
    memcpy(r->data, w->out->data, sizeof r->data);
    HN_TRY(settle_found(r, w, err));
    HN_TRY(settle_files(r, w, err));
    if (s == NULL) return HONE_OK;
    hn_recipe_step was = *s;
    s->n = 0;
    s->v = NULL;
    const hn_parameter *ranges = hn_transform_param(s->transform, "ranges");
    bool pins = w->out->calibration != NULL && hn_step_setting(&was, "ranges") == NULL;
    for (int i = 0; i < was.n; i++)
        if (!was.v[i].param->limit) HN_TRY(hn_recipe_keep(r, s, &was.v[i], err));
    if (pins) HN_TRY(hn_recipe_keep(r, s, &(hn_setting){ranges, NULL, ranges->usual}, err));
    const hn_layer_type *base = w->o->search != NULL ? w->o->search->base : NULL;
    for (int i = 0; i < x->n_layers; i++) {
        int t = x->layers[i].type;
        const char *type = t > 0 ? w->mix->types[t - 1]->name : base != NULL ? base->name : "f32";
        HN_TRY(hn_recipe_setf(r, s, err, "chosen:%s=%s", x->layers[i].name, type));
    }
    return HONE_OK;
}

static hone_status write_lineage(const hn_recipe *r, hn_model *m, hn_error *err) {
    char *line;
    HN_TRY(hn_recipe_write(r, true, r->arena, &line, err));
    hn_lineage l = {r->source[0] != '\0' ? r->source : NULL, r->data[0] != '\0' ? r->data : NULL,
                    line};
    return hn_lineage_write(m, &l, err);
}

/* Bytes of the file that m would be. */
static hone_status size_of(void *ctx, hn_model *m, const hn_mixed *x, int64_t *bytes,
                           hn_error *err) {
    const work *w = ctx;
    hn_recipe r = *w->recipe;
    HN_TRY(settle(&r, w, x, err));
    HN_TRY(write_lineage(&r, m, err));
    return hn_onnx_bytes(m, NULL, bytes, err);
}

/* ---- types of layers ---- */

/* The weights of all layers in that type. */
static hone_status round_type(work *w, const hn_layer_type *t, hn_error *err) {
    hn_rounded *r = &w->rounded;
    for (int i = 0; i < r->n; i++)
        if (hn_qtype_equal(&r->v[i].type, &t->layer.weights)) return HONE_OK;
    hn_rounded_type *v = &r->v[r->n];
    v->type = t->layer.weights;
    HN_TRY(hn_model_clone(&v->model, w->out->model, w->alloc, err));
    r->n++;
    hn_scheme s = w->scheme;
    s.layer = t->layer;
    HN_TRY(hn_model_infer(v->model, NULL, err));
    for (int i = 0; i < w->recipe->n; i++)
        if (w->recipe->steps[i].transform->stage == HN_STAGE_WEIGHTS)
            HN_TRY(run_on(w, i, v->model, &s, r->grids, err));
    return HONE_OK;
}

static hone_status round_types(work *w, hn_error *err) {
    const hn_type_mix *mix = w->mix;
    if (!has_stage(w, HN_STAGE_WEIGHTS)) return HONE_OK;
    size_t n = (size_t)mix->n_types;
    w->rounded.v = hn_alloc_zero(w->alloc, n * sizeof *w->rounded.v, HN_MEM_OTHER);
    if (w->rounded.v == NULL) return HN_NOMEM(err);
    HN_TRY(hn_grids_create(&w->rounded.grids, w->alloc, err));
    for (int i = 0; i < mix->n_types; i++)
        if (hn_rounded_serves(&mix->types[i]->layer.weights, mix->types, mix->n_types))
            HN_TRY(round_type(w, mix->types[i], err));
    return HONE_OK;
}

static hone_status search_types(work *w, hn_error *err) {
    const hn_type_mix *mix = w->mix;
    hn_type_search none = {0}, s = w->o->search != NULL ? *w->o->search : none;
    begin(w, "choose types");
    hn_mixed_options o = {.base = s.base,
                          .n_types = mix->n_types,
                          .types = mix->types,
                          .scheme = &w->plan->scheme,
                          .calibration = w->calibration,
                          .feed = w->samples.feed,
                          .how = &w->o->how,
                          .harm = mix->harm,
                          .cost = mix->max_ms > 0 ? HN_MIXED_TIME : HN_MIXED_BITS,
                          .rounded = w->rounded.n > 0 ? &w->rounded : NULL,
                          .bits_per_weight = mix->bits_per_weight,
                          .ms = mix->max_ms,
                          .bytes = mix->max_bytes,
                          .size = size_of,
                          .size_ctx = w,
                          .score = s.score,
                          .score_ctx = s.score_ctx,
                          .least = s.least,
                          .progress = tell,
                          .progress_ctx = w};
    if (mix->max_drop >= 0) {
        HN_TRY(score(w, w->out->model, &o.least, err));
        o.least = hn_gate_bound(o.least, mix->max_drop, mix->relative, false);
        o.score = score;
        o.score_ctx = w;
    }
    HN_TRY(hn_mixed_choose(&w->out->mixed, w->out->model, &o, w->alloc, err));
    w->scheme.n_rules = w->out->mixed.n_rules;
    w->scheme.rules = w->out->mixed.rules;
    return HONE_OK;
}

static hone_status choose_types(work *w, hn_error *err) {
    if (w->mix == NULL) return HONE_OK;
    HN_TRY(round_types(w, err));
    if (w->searches) return search_types(w, err);
    w->scheme.n_rules += w->plan->n_chosen;
    return hn_rules_check(w->out->model->graph, &w->scheme, err);
}

/* What transforms from HN_STAGE_WEIGHTS on start from. */
static hone_status find_ranges(work *w, hn_error *err) {
    if (w->ranged) return HONE_OK;
    w->ranged = true;
    HN_TRY(calibrate(w, err));
    HN_TRY(choose_types(w, err));
    if (has_stage(w, HN_STAGE_AFTER)) {
        HN_TRY(hn_model_clone(&w->original, w->out->model, w->alloc, err));
        HN_TRY(hn_model_infer(w->original, NULL, err));
    }
    if (w->rounded.n > 0) return hn_rounded_apply(&w->rounded, w->out->model, &w->scheme, err);
    return w->grids == NULL || w->mix != NULL ? forget_grids(w, err) : HONE_OK;
}

/* ---- the whole ---- */

static hone_status run_step(work *w, int i, hn_error *err) {
    const hn_transform *t = w->recipe->steps[i].transform;
    if (t->needs & HN_NEEDS_RANGES) HN_TRY(find_ranges(w, err));
    if (t->stage == HN_STAGE_BEFORE) HN_TRY(forget_grids(w, err));
    bool rounded = w->rounded.n > 0; /* for each type that could be chosen */
    if (t->stage == HN_STAGE_WEIGHTS && rounded) return HONE_OK;
    return run_on(w, i, w->out->model, &w->scheme, rounded ? w->rounded.grids : w->grids, err);
}

/* What came in 16 bits goes back to them where no transform has given layers their types. */
static hone_status narrow(work *w, hn_error *err) {
    hn_transform_ctx c = {
        .model = w->out->model, .scheme = &w->scheme, .widened = true, .report = &w->out->report};
    return has_stage(w, HN_STAGE_WRITE) || !w->widened ? HONE_OK : hn_transform_convert(&c, err);
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

static hone_status compress(work *w, const hn_model *m, hn_error *err) {
    bool looked = false;
    begin(w, "prepare");
    HN_TRY(check_data(w, err));
    HN_TRY(copy_model(w, m, err));
    for (int i = 0; i < w->recipe->n; i++) {
        bool first = w->recipe->steps[i].transform->stage == HN_STAGE_FIRST;
        if (!first && !looked) HN_TRY(look(w, err));
        looked = looked || !first;
        HN_TRY(run_step(w, i, err));
        if (w->o->step != NULL)
            HN_TRY(w->o->step(w->o->step_ctx, i + 1, w->recipe->n, &w->recipe->steps[i],
                              w->out->model, err));
    }
    if (!looked) HN_TRY(look(w, err));
    HN_TRY(narrow(w, err));
    HN_TRY(hn_model_infer(w->out->model, NULL, err));
    HN_TRY(drop_double_names(w->out->model, w->alloc, err));
    w->out->report.fixed_inputs = w->fixed_inputs;
    return hn_model_verify(w->out->model, err);
}

static hone_status compress_once(hn_compressed *out, hn_recipe *r, const hn_compress_plan *p,
                                 const hn_model *m, const hn_compress_options *o,
                                 hn_allocator *alloc, int64_t *bytes, hn_error *err) {
    work w = {.o = o,
              .recipe = r,
              .plan = p,
              .mix = p->mix.n_types > 0 ? &p->mix : NULL,
              .searches = p->mix.n_types > 0 && (p->mix.limited || o->search != NULL),
              .alloc = alloc,
              .out = out,
              .scheme = p->scheme};
    hone_status status = compress(&w, m, err);
    if (status == HONE_OK && p->mix.max_bytes > 0)
        status = size_of(&w, out->model, &out->mixed, bytes, err);
    if (status == HONE_OK && *bytes <= p->most_bytes) status = settle(r, &w, &out->mixed, err);
    hn_grids_destroy(w.grids);
    hn_rounded_deinit(&w.rounded, alloc);
    hn_sample_choice_deinit(&w.samples);
    hn_model_destroy(w.original);
    hn_model_destroy(w.inputs);
    return status;
}

/* What transforms do after types were chosen, a bias where there was none, may make the file larger
 * than it was taken for: then types are chosen for that much less. */
static hone_status compress_to_fit(hn_compressed *out, hn_recipe *r, hn_compress_plan *p,
                                   const hn_model *m, const hn_compress_options *o,
                                   hn_allocator *alloc, hn_error *err) {
    int64_t bytes = 0, most = p->mix.max_bytes;
    p->most_bytes = most;
    for (;;) {
        HN_TRY(compress_once(out, r, p, m, o, alloc, &bytes, err));
        if (bytes <= most) return HONE_OK;
        HN_CHECK(err, bytes - most < p->mix.max_bytes, HONE_E_NOT_FOUND,
                 "no choice of types leaves a file of %lld bytes or less", (long long)most);
        p->mix.max_bytes -= bytes - most;
        hn_compressed_deinit(out);
    }
}

hone_status hn_compress(hn_compressed *out, hn_recipe *r, const hn_model *m,
                        const hn_compress_options *o, hn_allocator *alloc, hn_error *err) {
    hn_compress_plan p;
    hn_compressed c = {0};
    char wanted[HN_SHA256_HEX];
    memcpy(wanted, r->data, sizeof wanted);
    HN_TRY(hn_rounds_expand(r, err));
    HN_TRY(hn_compress_plan_make(&p, r, err));
    hone_status status = compress_to_fit(&c, r, &p, m, o, alloc, err);
    if (status == HONE_OK && wanted[0] != '\0' && strcmp(wanted, c.data) != 0)
        status =
            HN_FAIL(err, HONE_E_ARG,
                    "the recipe was made with other samples: their SHA-256 is %.12s..., "
                    "found %.12s%s",
                    wanted, c.data[0] != '\0' ? c.data : "none", c.data[0] != '\0' ? "..." : "");
    c.plan = p;
    if (status == HONE_OK) status = write_lineage(r, c.model, err);
    hn_stages_enter(&c.stages, NULL);
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
    hn_shrinking_deinit(&c->shrinking);
    hn_mixed_deinit(&c->mixed);
    *c = (hn_compressed){0};
}

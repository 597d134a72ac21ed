#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "advise/parts.h"
#include "api/api.h"
#include "base/isa.h"
#include "base/pattern.h"
#include "compress/compression.h"
#include "compress/layer_type.h"
#include "compress/lineage.h"
#include "engine/pools.h"
#include "formats/onnx.h"

/* Ranges found with fewer samples are not to be trusted. */
#define FEW_SAMPLES 100

/* ---- what can be asked for ---- */

static const hn_transform *method_at(size_t i) {
    int k = 0;
    for (;; k++)
        if (hn_transform_is_method(hn_transform_at(k)) && i-- == 0) return hn_transform_at(k);
}

static size_t n_methods(void) {
    size_t n = 0;
    for (int i = 0; i < hn_transform_count(); i++) n += hn_transform_is_method(hn_transform_at(i));
    return n;
}

size_t hone_n_quantize_choices(hone_quantize_table table) {
    switch (table) {
        case HONE_QUANTIZE_TYPES: return (size_t)hn_layer_type_count();
        case HONE_QUANTIZE_RANGES: return HN_RANGE_METHODS;
        case HONE_QUANTIZE_METHODS: return n_methods();
        case HONE_QUANTIZE_RUNTIMES: return (size_t)hn_quant_target_count();
    }
    return 0;
}

hone_status hone_quantize_choice_at_sized(hone_quantize_table table, size_t i,
                                          hone_quantize_choice *out, const hone_layout *caller,
                                          hone_error *err) {
    hone_quantize_choice own;
    size_t n = hone_n_quantize_choices(table);
    HN_CHECK(err, i < n, HONE_E_ARG, "choice %zu was asked for, there are %zu", i, n);
    if (table == HONE_QUANTIZE_TYPES) {
        const hn_layer_type *t = hn_layer_type_at((int)i);
        own = (hone_quantize_choice){t->name, t->help, t->layer.kind == HN_LAYER_STATIC};
    } else if (table == HONE_QUANTIZE_RANGES) {
        own = (hone_quantize_choice){hn_range_method_name((hn_range_method)i),
                                     hn_range_method_help((hn_range_method)i), true};
    } else if (table == HONE_QUANTIZE_METHODS) {
        const hn_transform *m = method_at(i);
        own = (hone_quantize_choice){m->name, m->help, (m->needs & HN_NEEDS_DATA) != 0};
    } else {
        const hn_quant_target *t = hn_quant_target_at((int)i);
        own = (hone_quantize_choice){t->name, t->help, false};
    }
    HN_GIVE(out, &own, caller, quantize_choice);
    return HONE_OK;
}

size_t hone_n_transforms(void) { return (size_t)hn_transform_count(); }

static size_t n_params(const hn_transform *t) {
    size_t n = 0;
    while (t->params[n].name != NULL) n++;
    return n;
}

hone_status hone_transform_at_sized(size_t i, hone_transform_info *out, const hone_layout *caller,
                                    hone_error *err) {
    static const char *const stages[] = {
        [HN_STAGE_FIRST] = "first",     [HN_STAGE_SHRINK] = "shrink", [HN_STAGE_BEFORE] = "before",
        [HN_STAGE_WEIGHTS] = "weights", [HN_STAGE_WRITE] = "write",   [HN_STAGE_AFTER] = "after",
    };
    HN_CHECK(err, i < hone_n_transforms(), HONE_E_ARG, "transform %zu was asked for, there are %zu",
             i, hone_n_transforms());
    const hn_transform *t = hn_transform_at((int)i);
    hone_transform_info own = {.name = t->name,
                               .help = t->help,
                               .stage = stages[t->stage],
                               .needs_data = (t->needs & HN_NEEDS_DATA) != 0,
                               .n_params = n_params(t)};
    HN_GIVE(out, &own, caller, transform_info);
    return HONE_OK;
}

hone_status hone_transform_param_at_sized(size_t transform, size_t i, hone_param_info *out,
                                          const hone_layout *caller, hone_error *err) {
    HN_CHECK(err, transform < hone_n_transforms(), HONE_E_ARG,
             "transform %zu was asked for, there are %zu", transform, hone_n_transforms());
    const hn_transform *t = hn_transform_at((int)transform);
    HN_CHECK(err, i < n_params(t), HONE_E_ARG, "parameter %zu was asked for, %s has %zu", i,
             t->name, n_params(t));
    const hn_parameter *p = &t->params[i];
    hone_param_info own = {.name = p->name,
                           .kind = hn_param_kind_name(p->kind),
                           .usual = p->usual,
                           .help = p->help,
                           .least = p->least,
                           .most = p->most};
    HN_GIVE(out, &own, caller, param_info);
    return HONE_OK;
}

const char *hone_transform_word_at(size_t transform, size_t param, size_t i) {
    if (transform >= hone_n_transforms()) return NULL;
    const hn_transform *t = hn_transform_at((int)transform);
    if (param >= n_params(t) || i > INT32_MAX) return NULL;
    return hn_param_word(&t->params[param], (int)i);
}

HN_DEFINE_OPTIONS(transform, 0)
HN_DEFINE_OPTIONS(qat, .epochs = 10, .batch = 64, .optimizer = "adam", .schedule = "cosine",
                  .temperature = 3)
HN_DEFINE_OPTIONS(quantize, .type = "int8", .group = -1, .samples = 512, .seed = 1, .max_drop = -1)

/* ---- what is asked for ---- */

typedef struct own {
    hone_quantization shown;
    hone_transform_options o;
    hn_arena arena;
    hn_recipe recipe;
    hn_compress_plan plan;
    hn_calibration *given;
    hone_session *session; /* says how models run; NULL: none will */
    hn_pool *pool;         /* where none will; else NULL */
    const char *warnings[8];
} own;

static hn_allocator *memory(void) { return hn_allocator_default(); }

void hone_quantization_destroy(hone_quantization *q) {
    if (q == NULL) return;
    own *w = q->owner;
    hn_shown_free(q, &w->shown);
    hn_arena_deinit(&w->arena);
    hn_free(memory(), w);
}

static hone_status add_methods(hn_recipe *r, const char *list, hn_error *err) {
    for (const char *at = list != NULL ? list : ""; *at != '\0';) {
        char name[64], names[400] = "";
        size_t n = strcspn(at, ",");
        snprintf(name, sizeof name, "%.*s", (int)(n < sizeof name ? n : sizeof name - 1), at);
        const hn_transform *t = hn_transform_named(name);
        for (size_t i = 0; i < n_methods(); i++)
            hn_list_add(names, sizeof names, method_at(i)->name);
        HN_CHECK(err, t != NULL && hn_transform_is_method(t), HONE_E_ARG,
                 "method '%s', expected one of: %s", name, names);
        HN_TRY(hn_recipe_add(r, t, err));
        at += n + (at[n] == ',');
    }
    return HONE_OK;
}

#define SET(condition, ...) \
    if (condition) HN_TRY(hn_recipe_setf(r, s, err, __VA_ARGS__))

/* The transform that trains. */
static const hn_transform *trainer(void) {
    int i = 0;
    while ((hn_transform_at(i)->needs & HN_NEEDS_TRAINING) == 0) i++;
    return hn_transform_at(i);
}

static hone_status add_training(hn_recipe *r, const hone_qat_options *given, hn_error *err) {
    hone_qat_options o;
    const hn_transform *qat = trainer();
    hn_recipe_step *s = NULL;
    if (given == NULL) return HONE_OK;
    HN_TRY(HN_TAKE_OPTIONS(qat, &o, given, err));
    HN_CHECK(err, o.optimizer != NULL && o.schedule != NULL, HONE_E_ARG,
             "no optimizer or no schedule is given");
    HN_TRY(hn_recipe_add(r, qat, err));
    for (int i = 0; i < r->n; i++)
        if (r->steps[i].transform == qat) s = &r->steps[i];
    SET(true, "epochs=%lld", (long long)o.epochs);
    SET(true, "batch=%lld", (long long)o.batch);
    SET(true, "optimizer=%s", o.optimizer);
    SET(true, "schedule=%s", o.schedule);
    SET(o.rate != 0, "rate=%.17g", o.rate);
    SET(o.decay != 0, "decay=%.17g", o.decay);
    SET(o.augment != NULL, "augment=%s", o.augment);
    SET(o.bits != NULL, "bits=%s", o.bits);
    SET(o.labels, "labels");
    SET(o.temperature != 3, "temperature=%.17g", o.temperature);
    return HONE_OK;
}

/* The options as a recipe: `simplify`, the methods, `quantize`. */
static hone_status recipe_of(hn_recipe *r, const hone_quantize_options *o, hn_error *err) {
    HN_CHECK(err, o->type != NULL, HONE_E_ARG, "no type is given");
    HN_CHECK(err, o->samples >= 0 && o->batch >= 0, HONE_E_ARG,
             "%lld samples in batches of %lld, expected 0 or more", (long long)o->samples,
             (long long)o->batch);
    HN_TRY(hn_recipe_add(r, hn_transform_named("simplify"), err));
    HN_TRY(hn_recipe_add(r, hn_transform_named("quantize"), err));
    HN_TRY(add_methods(r, o->methods, err));
    HN_TRY(add_training(r, o->qat, err));
    hn_recipe_step *s = hn_recipe_writer(r);
    r->samples = o->samples;
    r->batch = o->batch;
    r->seed = o->seed;
    if (o->runtime != NULL) HN_TRY(hn_recipe_set_target(r, o->runtime, err));
    SET(true, "type=%s", o->type);
    SET(o->weights != HONE_DTYPE_NONE, "weights=%s", hone_dtype_name(o->weights));
    SET(o->activations != HONE_DTYPE_NONE, "activations=%s", hone_dtype_name(o->activations));
    SET(o->simulate, "simulate");
    SET(o->weight_bits != 0, "bits=%d", o->weight_bits);
    SET(o->activation_bits != 0, "activation-bits=%d", o->activation_bits);
    SET(o->group >= 0, "group=%lld", (long long)o->group);
    SET(o->per_tensor, "per-tensor");
    SET(o->symmetric, "symmetric");
    SET(o->reduce_range, "reduce-range");
    SET(o->embeddings, "embeddings");
    SET(o->integer_io, "integer-io");
    SET(o->mix != NULL, "mix=%s", o->mix);
    SET(o->sensitivity != NULL, "sensitivity=%s", o->sensitivity);
    SET(o->bits_per_weight != 0, "bits-per-weight=%.17g", o->bits_per_weight);
    SET(o->max_latency_ms != 0, "max-latency=%.17g", o->max_latency_ms);
    SET(o->max_file_bytes != 0, "max-bytes=%lld", (long long)o->max_file_bytes);
    SET(o->max_drop >= 0, "max-drop=%.17g", o->max_drop);
    SET(o->max_drop >= 0 && o->max_drop_relative, "max-drop-relative");
    SET(o->ranges != NULL, "ranges=%s", o->ranges);
    SET(o->ranges == NULL && o->percentile != 0, "ranges=percentile");
    SET(o->percentile != 0, "percentile=%.17g", o->percentile);
    for (size_t i = 0; i < o->n_layers; i++)
        SET(true, "layer:%s=%s", o->layers[i].pattern, o->layers[i].type);
#undef SET
    return HONE_OK;
}

/* A table of ranges, which the recipe names by its hash. */
static hone_status load_ranges(own *w, hn_error *err) {
    char hex[HN_SHA256_HEX];
    hn_file *file;
    hn_recipe_step *s = hn_recipe_writer(&w->recipe);
    if (w->o.load_ranges == NULL) return HONE_OK;
    HN_TRY(hn_calibration_read(&w->given, w->o.load_ranges, memory(), err));
    HN_TRY(hn_file_open(&file, w->o.load_ranges, false, memory(), err));
    hn_sha256(file->data, file->bytes, hex);
    hn_file_unref(file);
    HN_CHECK(err, w->plan.ranges == NULL || strcmp(w->plan.ranges, hex) == 0, HONE_E_ARG,
             "%s: its SHA-256 is %.12s..., the recipe wants a table of %.12s...", w->o.load_ranges,
             hex, w->plan.ranges);
    HN_CHECK(err, s != NULL, HONE_E_ARG, "%s: the recipe does nothing that ranges are for",
             w->o.load_ranges);
    return w->plan.ranges != NULL ? HONE_OK
                                  : hn_recipe_setf(&w->recipe, s, err, "load-ranges=%s", hex);
}

static hone_status take_source(hn_recipe *r, hone_model *m, hn_error *err) {
    char source[HN_SHA256_HEX];
    HN_TRY(hn_lineage_source(m->ir, source, err));
    HN_CHECK(err, r->source[0] == '\0' || strcmp(r->source, source) == 0, HONE_E_ARG,
             "the recipe is for another model: its SHA-256 is %.12s..., not %.12s...", r->source,
             source);
    memcpy(r->source, source, sizeof source);
    return HONE_OK;
}

/* How models are run meanwhile. */
static hone_status take_how(own *w, hone_model *m, hone_dataset *data, hn_run_options *how,
                            hn_error *err) {
    how->engine = (hn_engine_options){.alloc = memory(), .isa = hn_isa_available()};
    if (data == NULL) {
        HN_TRY(hn_api_pool_take(&w->pool, w->o.run, err));
        how->engine.pool = w->pool;
        return HONE_OK;
    }
    HN_TRY(hone_session_create(&w->session, m, w->o.run, err));
    *how = hn_api_session_take_run_options(w->session);
    return HONE_OK;
}

/* ---- what came of it ---- */

/* NULL: its type was not chosen. */
static const hn_mixed_layer *mixed_layer(const hn_mixed *x, const char *name) {
    for (int i = 0; i < x->n_layers; i++)
        if (strcmp(x->layers[i].name, name) == 0) return &x->layers[i];
    return NULL;
}

/* The type word of the last rule of that name which matches; NULL: none does. */
static const char *rule_of(const hn_recipe_step *s, const char *name, const char *node) {
    const char *type = NULL;
    for (int i = 0; i < s->n; i++)
        if (strcmp(s->v[i].param->name, name) == 0 && hn_pattern_matches(s->v[i].pattern, node))
            type = s->v[i].value;
    return type;
}

/* By name, where what it became has one. */
static const char *type_of(own *w, const hn_quantized_layer *l) {
    const hn_recipe_step *s = hn_recipe_writer(&w->recipe);
    if (s == NULL) return "f32";
    const char *rule = rule_of(s, "layer", l->node), *chosen = rule_of(s, "chosen", l->node);
    const char *name = rule != NULL ? rule : chosen != NULL ? chosen : hn_step_word(s, "type");
    const hn_layer_type *t = hn_layer_type_named(name);
    for (int i = 0; (t == NULL || t->layer.kind != l->kind) && i < hn_layer_type_count(); i++)
        if (hn_layer_type_at(i)->layer.kind == l->kind) t = hn_layer_type_at(i);
    return t->name;
}

static hone_status copy_text(own *w, const char *from, const char **to, hn_error *err) {
    if (from != NULL) *to = hn_arena_strdup(&w->arena, from);
    return from == NULL || *to != NULL ? HONE_OK : HN_NOMEM(err);
}

static hone_status copy_layers(own *w, const hn_compressed *c, hn_error *err) {
    const hn_quantize_report *r = &c->report;
    hone_quantized_layer *v = hn_arena_array(&w->arena, (size_t)r->n + 1, sizeof *v);
    if (v == NULL) return HN_NOMEM(err);
    for (int i = 0; i < r->n; i++) {
        const hn_quantized_layer *l = &r->v[i];
        v[i] = (hone_quantized_layer){.type = type_of(w, l),
                                      .params = l->params,
                                      .bytes_before = l->bytes_before,
                                      .bytes_after = l->bytes_after,
                                      .harm = NAN,
                                      .estimate = NAN};
        const hn_mixed_layer *mixed = mixed_layer(&c->mixed, l->node);
        if (mixed != NULL && !c->mixed.estimated) v[i].harm = mixed->figures[mixed->type].harm;
        if (mixed != NULL) v[i].estimate = mixed->figures[mixed->type].estimate;
        HN_TRY(copy_text(w, l->node, &v[i].node, err));
        HN_TRY(copy_text(w, l->op, &v[i].op, err));
        HN_TRY(copy_text(w, l->weights, &v[i].weights, err));
        HN_TRY(copy_text(w, l->activations, &v[i].activations, err));
        HN_TRY(copy_text(w, l->why_not, &v[i].why_not, err));
    }
    w->shown.layers = v;
    w->shown.n_layers = (size_t)r->n;
    return HONE_OK;
}

static hone_status warn(own *w, hn_error *err, const char *format, ...) HONE_PRINTF(3, 4);
static hone_status warn(own *w, hn_error *err, const char *format, ...) {
    char text[600];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return copy_text(w, text, &w->warnings[w->shown.n_warnings++], err);
}

static hone_status warn_all(own *w, const hn_compressed *c, hn_error *err) {
    int64_t n = c->samples, fixed = c->report.fixed_inputs;
    w->shown.warnings = w->warnings;
    if (c->warning[0] != '\0') HN_TRY(warn(w, err, "dataset: %s", c->warning));
    if (n > 0 && n < FEW_SAMPLES)
        HN_TRY(warn(w, err, "%lld samples are few to find ranges with; %d or more are wanted",
                    (long long)n, FEW_SAMPLES));
    if (fixed > 0)
        HN_TRY(warn(w, err, "%lld inputs that had defaults are constants now", (long long)fixed));
    return HONE_OK;
}

static hone_status copy_points(own *w, const hn_compressed *c, hn_error *err) {
    const hn_mixed *x = &c->mixed;
    hone_mix_point *v = hn_arena_array(&w->arena, (size_t)x->n_points + 1, sizeof *v);
    if (v == NULL) return HN_NOMEM(err);
    for (int i = 0; i < x->n_points; i++) {
        const hn_mixed_point *p = &x->points[i];
        v[i] = (hone_mix_point){.harm = p->harm,
                                .bits_per_weight = p->bits_per_weight,
                                .ms = p->ms,
                                .accuracy = p->score,
                                .chosen = p->chosen};
        if (p->layer < 0) continue;
        v[i].type = p->to == 0 ? "f32" : c->plan.mix.types[p->to - 1]->name;
        HN_TRY(copy_text(w, x->layers[p->layer].name, &v[i].layer, err));
    }
    w->shown.points = v;
    w->shown.n_points = (size_t)x->n_points;
    return HONE_OK;
}

static hone_status copy_values(own *w, const hn_quantize_report *r, hn_error *err) {
    hone_quantized_value *v = hn_arena_array(&w->arena, (size_t)r->n_values + 1, sizeof *v);
    if (v == NULL) return HN_NOMEM(err);
    for (int i = 0; i < r->n_values; i++) {
        const hn_quantized_value *from = &r->values[i];
        v[i] = (hone_quantized_value){.low = from->range.min,
                                      .high = from->range.max,
                                      .least = from->seen.min,
                                      .greatest = from->seen.max,
                                      .clipped = from->clipped,
                                      .zeros = from->zeros,
                                      .bins_from = NAN,
                                      .bins_step = NAN,
                                      .method = from->method};
        HN_TRY(copy_text(w, from->name, &v[i].name, err));
        HN_TRY(copy_text(w, from->type, &v[i].type, err));
        if (from->bars == NULL) continue;
        size_t n = (size_t)from->bars->n;
        uint64_t *bins = hn_arena_array(&w->arena, n, sizeof *bins);
        if (bins == NULL) return HN_NOMEM(err);
        memcpy(bins, from->bars->v, n * sizeof *bins);
        v[i].bins_from = from->bars->from;
        v[i].bins_step = from->bars->step;
        v[i].n_bins = n;
        v[i].bins = bins;
    }
    w->shown.values = v;
    w->shown.n_values = (size_t)r->n_values;
    return HONE_OK;
}

static hone_status copy_transforms(own *w, const hn_compressed *c, hn_error *err) {
    const hn_recipe *r = &w->recipe;
    hone_transform_result *v = hn_arena_array(&w->arena, (size_t)r->n, sizeof *v);
    if (v == NULL) return HN_NOMEM(err);
    for (int i = 0; i < r->n; i++)
        v[i] =
            (hone_transform_result){.name = r->steps[i].transform->name, .changed = c->changed[i]};
    w->shown.transforms = v;
    w->shown.n_transforms = (size_t)r->n;
    return HONE_OK;
}

static hone_status copy_changes(own *w, const hn_shrinking *from, hn_error *err) {
    hone_shrunk_layer *v = hn_arena_array(&w->arena, (size_t)from->n + 1, sizeof *v);
    if (v == NULL) return HN_NOMEM(err);
    for (int i = 0; i < from->n; i++) {
        const hn_shrunk_layer *l = &from->v[i];
        v[i] = (hone_shrunk_layer){.weights = l->weights, .kept = l->kept, .error = l->error};
        HN_TRY(copy_text(w, l->transform, &v[i].transform, err));
        HN_TRY(copy_text(w, l->layer, &v[i].layer, err));
        HN_TRY(copy_text(w, l->op, &v[i].op, err));
        HN_TRY(copy_text(w, l->what, &v[i].what, err));
        HN_TRY(copy_text(w, l->why_not, &v[i].why_not, err));
    }
    w->shown.changes = v;
    w->shown.n_changes = (size_t)from->n;
    return HONE_OK;
}

/* Numbers that outlive what they come from. */
static hone_status copy_numbers(own *w, const double *from, size_t n, const double **to,
                                hn_error *err) {
    double *v = hn_arena_array(&w->arena, n + 1, sizeof *v);
    if (v == NULL) return HN_NOMEM(err);
    if (n > 0) memcpy(v, from, n * sizeof *v);
    *to = v;
    return HONE_OK;
}

static hone_status copy_scan(own *w, const hn_layer_scan *x, hn_error *err) {
    hone_quantization *q = &w->shown;
    size_t n = (size_t)x->n, cells = n * (size_t)x->n_levels;
    const char **layers = hn_arena_array(&w->arena, n + 1, sizeof *layers);
    double *sqnr = hn_arena_array(&w->arena, cells + 1, sizeof *sqnr);
    if (layers == NULL || sqnr == NULL) return HN_NOMEM(err);
    for (size_t i = 0; i < n; i++) HN_TRY(copy_text(w, x->layers[i], &layers[i], err));
    for (size_t i = 0; i < cells; i++)
        sqnr[i] = x->noise[i] > 0 ? -10 * log10(x->noise[i]) : INFINITY;
    q->scan_before = NAN;
    HN_TRY(copy_numbers(w, x->levels, (size_t)x->n_levels, &q->scan_levels, err));
    if (x->scores != NULL) {
        HN_TRY(copy_numbers(w, x->scores, cells, &q->scan_scores, err));
        HN_TRY(copy_text(w, x->metric, &q->scan_metric, err));
        q->scan_before = x->before;
        q->scan_is_share = x->is_share;
    }
    q->n_scanned = n;
    q->n_scan_levels = (size_t)x->n_levels;
    q->scan_layers = layers;
    q->scan_sqnr = sqnr;
    return HONE_OK;
}

static hone_status copy_stages(own *w, const hn_stages *from, hn_error *err) {
    hone_stage *v = hn_arena_array(&w->arena, (size_t)from->n, sizeof *v);
    if (v == NULL) return HN_NOMEM(err);
    for (int i = 0; i < from->n; i++) {
        v[i] = hn_stages_told(from, i);
        HN_TRY(copy_text(w, v[i].name, &v[i].name, err));
    }
    w->shown.stages = v;
    w->shown.n_stages = (size_t)from->n;
    return HONE_OK;
}

static hone_status describe(own *w, const hn_compressed *c, hn_error *err) {
    hone_quantization *q = &w->shown;
    const hn_quantize_report *r = &c->report;
    const hn_recipe_step *s = hn_recipe_writer(&w->recipe);
    q->weights = r->weights;
    q->bits_per_weight = r->weights > 0 ? (double)r->weight_bits / (double)r->weights : NAN;
    q->samples = c->samples;
    if (c->calibration != NULL) q->stable_after = hn_calibration_stable_after(c->calibration);
    q->recipe = hn_model_metadata(c->model, "hone.recipe");
    HN_TRY(copy_text(w, q->recipe, &q->recipe, err));
    q->type = s != NULL ? hn_step_word(s, "type") : "f32";
    q->simulated = c->plan.scheme.simulate;
    HN_TRY(copy_layers(w, c, err));
    HN_TRY(copy_values(w, r, err));
    HN_TRY(copy_transforms(w, c, err));
    HN_TRY(copy_stages(w, &c->stages, err));
    HN_TRY(copy_changes(w, &c->shrinking, err));
    HN_TRY(copy_scan(w, &c->shrinking.scan, err));
    if (c->mixed.n_layers > 0) HN_TRY(copy_points(w, c, err));
    return warn_all(w, c, err);
}

/* ---- the whole ---- */

static hone_status hand_over(own *w, hone_model *from, hn_compressed *c, hone_model **out,
                             hn_error *err) {
    hn_model *made = c->model;
    if (c->calibration != NULL && w->o.save_ranges != NULL)
        HN_TRY(hn_calibration_write(c->calibration, &c->plan.scheme.layer.activations,
                                    w->o.save_ranges, err));
    HN_TRY(describe(w, c, err));
    c->model = NULL;
    HN_TRY(hn_api_model_adopt(made, out, err));
    atomic_fetch_add(&from->refs, 1);
    (*out)->made_of = from;
    return HONE_OK;
}

/* Some node, or table of embeddings, has other types than it had. */
static bool changed(const hn_quantize_report *r) {
    for (int i = 0; i < r->n; i++)
        if (r->v[i].kind != HN_LAYER_F32) return true;
    return false;
}

/* A model that stays as it was is no answer to somebody who asked for fewer bits. A choice of types
 * within limits may well be f32 everywhere, and rules may keep all layers. */
static hone_status check_changed(own *w, const hn_quantize_report *r, hn_error *err) {
    const hn_scheme *s = &w->plan.scheme;
    bool asked = s->layer.kind != HN_LAYER_F32 || s->embeddings;
    for (int i = 0; i < s->n_rules; i++) asked = asked && s->rules[i].layer.kind != HN_LAYER_F32;
    if (!asked || w->plan.mix.n_types > 0 || changed(r)) return HONE_OK;
    const char *type = hn_step_word(hn_recipe_writer(&w->recipe), "type");
    HN_CHECK(err, r->n > 0, HONE_E_NOT_FOUND,
             "nothing in the model can become %s: no node has weights", type);
    return HN_FAIL(err, HONE_E_NOT_FOUND,
                   "nothing in the model can become %s: %s '%s' stays in floats (%s)", type,
                   r->v[0].op, r->v[0].node, r->v[0].why_not);
}

/* Tells the caller of an epoch. */
static bool tell_epoch(void *ctx, const hn_told_epoch *e) {
    const hone_qat_options *q = ctx;
    const char *metric = isnan(e->score) ? NULL : e->metric;
    if (q->epoch == NULL) return true;
    return (e->epoch > 0 ||
            q->epoch(q->epoch_ctx, -1, e->epochs, NAN, NAN, e->float_score, metric, e->is_share)) &&
           q->epoch(q->epoch_ctx, e->epoch, e->epochs, e->loss, e->rate, e->score, metric,
                    e->is_share);
}

/* Tells the caller of a line that is done. */
static hone_status tell_line(void *ctx, int i, int n, const hn_recipe_step *s, const hn_model *m,
                             hn_error *err) {
    const own *w = ctx;
    hn_arena arena;
    char *text;
    hn_model *copy;
    hone_model *shown;
    hn_arena_init(&arena, memory(), HN_MEM_OTHER);
    hone_status status = hn_recipe_write_step(s, &arena, &text, err);
    if (status == HONE_OK) status = hn_model_copy(&copy, m, memory(), err);
    if (status == HONE_OK) status = hn_api_model_adopt(copy, &shown, err);
    if (status == HONE_OK) {
        if (!w->o.line(w->o.line_ctx, i, n, text, shown))
            status = HN_FAIL(err, HONE_E_LIMIT, "stopped after line %d of %d", i, n);
        hn_api_model_unref(shown);
    }
    hn_arena_deinit(&arena);
    return status;
}

static hone_status transform(own *w, hone_model **out, hone_model *m, hone_dataset *data,
                             hn_error *err) {
    hn_compressed c = {0};
    hn_compress_options how = {.progress = w->o.progress, .progress_ctx = w->o.progress_ctx};
    hone_qat_options qat;
    hn_training_told told = {.epoch = tell_epoch, .ctx = &qat};
    HN_TRY(HN_TAKE_OPTIONS(qat, &qat, w->o.qat, err));
    if (qat.val != NULL) told.val = qat.val->data;
    how.training = &told;
    if (w->o.line != NULL) how.step = tell_line, how.step_ctx = w;
    HN_TRY(hn_compress_plan_make(&w->plan, &w->recipe, err));
    HN_TRY(load_ranges(w, err));
    bool finds = hn_scheme_wants(&w->plan.scheme, HN_LAYER_STATIC, HN_LAYER_STATIC);
    HN_CHECK(err, w->o.save_ranges == NULL || (data != NULL && finds && w->given == NULL),
             HONE_E_ARG,
             "there are no ranges to save: they are found with samples, for layers of type int8");
    HN_TRY(take_how(w, m, data, &how.how, err));
    HN_TRY(take_source(&w->recipe, m, err));
    how.calibration = w->given;
    how.data = data != NULL ? data->data : NULL;
    hn_dataset *part = NULL; /* of them, that `optimize` made the recipe with */
    if (w->recipe.part[0] != '\0' && data != NULL) {
        HN_TRY(hn_part_open(&part, data->data, w->recipe.part, w->recipe.seed, memory(), err));
        how.data = part;
    }
    hone_status status = hn_compress(&c, &w->recipe, m->ir, &how, memory(), err);
    hn_dataset_close(part);
    HN_TRY(status);
    status = check_changed(w, &c.report, err);
    if (status == HONE_OK) status = hand_over(w, m, &c, out, err);
    hn_compressed_deinit(&c);
    return status;
}

/* The recipe of w is made by then, if status is HONE_OK. */
static hone_status finish(own *w, hone_status status, hone_model **out, hone_model *model,
                          hone_dataset *data, hone_quantization **report, const hone_layout *caller,
                          hn_error *err) {
    static const hn_list lists[] = {
        HN_LIST(quantization, layers, n_layers, quantized_layer),
        HN_LIST(quantization, points, n_points, mix_point),
        HN_LIST(quantization, values, n_values, quantized_value),
        HN_LIST(quantization, transforms, n_transforms, transform_result),
        HN_LIST(quantization, stages, n_stages, stage),
        HN_LIST(quantization, changes, n_changes, shrunk_layer)};
    hone_model *made;
    if (status == HONE_OK) status = transform(w, &made, model, data, err);
    hn_calibration_destroy(w->given);
    hone_session_destroy(w->session);
    hn_pools_give(w->pool);
    hone_quantization *shown = &w->shown;
    if (status == HONE_OK && report != NULL) {
        shown = HN_SHOW(&w->shown, lists, caller, quantization);
        if (shown == NULL) {
            hone_model_destroy(made);
            status = HN_NOMEM(err);
        }
    }
    if (status == HONE_OK) *out = made;
    if (status == HONE_OK && report != NULL)
        *report = shown;
    else
        hone_quantization_destroy(&w->shown);
    return status;
}

static hone_status begin(own **out, const hone_transform_options *o, hn_error *err) {
    own *w = hn_alloc_zero(memory(), sizeof *w, HN_MEM_OTHER);
    if (w == NULL) return HN_NOMEM(err);
    w->shown = (hone_quantization){.size = sizeof w->shown, .owner = w};
    w->o = *o;
    hn_arena_init(&w->arena, memory(), HN_MEM_OTHER);
    hn_recipe_init(&w->recipe, &w->arena);
    *out = w;
    return HONE_OK;
}

hone_status hone_model_transform_sized(hone_model **out, hone_model *model, const char *recipe,
                                       hone_dataset *data, const hone_transform_options *options,
                                       hone_quantization **report, const hone_layout *caller,
                                       hone_error *err) {
    hone_transform_options o;
    own *w;
    HN_TRY(HN_TAKE_OPTIONS(transform, &o, options, err));
    HN_CHECK(err, recipe != NULL, HONE_E_ARG, "no recipe is given");
    HN_TRY(begin(&w, &o, err));
    hone_status status = hn_recipe_read(&w->recipe, recipe, &w->arena, err);
    return finish(w, status, out, model, data, report, caller, err);
}

hone_status hone_model_quantize_sized(hone_model **out, hone_model *model, hone_dataset *data,
                                      const hone_quantize_options *options,
                                      hone_quantization **report, const hone_layout *caller,
                                      hone_error *err) {
    hone_quantize_options o;
    hn_caller_array rules;
    own *w;
    HN_TRY(HN_TAKE_OPTIONS(quantize, &o, options, err));
    HN_TRY(HN_TAKE_ARRAY(&rules, o.layers, o.n_layers, caller, layer_rule, err));
    o.layers = rules.own;
    hone_transform_options how = {.run = o.run,
                                  .load_ranges = o.load_ranges,
                                  .save_ranges = o.save_ranges,
                                  .progress = o.progress,
                                  .progress_ctx = o.progress_ctx,
                                  .qat = o.qat};
    hone_status status = begin(&w, &how, err);
    if (status == HONE_OK) {
        status = recipe_of(&w->recipe, &o, err);
        status = finish(w, status, out, model, data, report, caller, err);
    }
    hn_caller_array_deinit(&rules);
    return status;
}

#include <fnmatch.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/api.h"
#include "base/isa.h"
#include "compress/compression.h"
#include "compress/layer_type.h"
#include "compress/lineage.h"
#include "engine/pools.h"
#include "formats/onnx.h"

/* Ranges found with fewer samples are not to be trusted. */
#define FEW_SAMPLES 100

/* ---- what can be asked for ---- */

size_t hone_n_quantize_choices(hone_quantize_table table) {
    switch (table) {
        case HONE_QUANTIZE_TYPES: return (size_t)hn_layer_type_count();
        case HONE_QUANTIZE_RANGES: return HN_RANGE_METHODS;
        case HONE_QUANTIZE_METHODS: return (size_t)hn_method_count();
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
        const hn_method *m = hn_method_at((int)i);
        own = (hone_quantize_choice){m->name, m->help, m->needs_data};
    } else {
        const hn_quant_target *t = hn_quant_target_at((int)i);
        own = (hone_quantize_choice){t->name, t->help, false};
    }
    HN_GIVE(out, &own, caller, quantize_choice);
    return HONE_OK;
}

HN_DEFINE_OPTIONS(quantize, .type = "int8", .group = -1, .samples = 512, .seed = 1, .max_drop = -1)

/* ---- what is asked for ---- */

typedef struct own {
    hone_quantization shown;
    hone_quantize_options o;
    hn_arena arena;
    hn_compress_options how;
    hn_mix mix;
    hn_layer_type *mixed; /* its types, with the changes that are asked for */
    hn_calibration *given;
    hone_session *session; /* says how models run; NULL: none will */
    hn_pool *pool;         /* where none will; else NULL */
    char *recipe;
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

static hone_status no_such(hone_quantize_table table, const char *what, const char *name,
                           hn_error *err) {
    char names[400] = "";
    for (size_t i = 0; i < hone_n_quantize_choices(table); i++) {
        hone_quantize_choice c;
        size_t n = strlen(names);
        HN_TRY(hone_quantize_choice_at(table, i, &c, err));
        snprintf(names + n, sizeof names - n, "%s%s", i > 0 ? ", " : "", c.name);
    }
    return HN_FAIL(err, HONE_E_ARG, "%s '%s', expected one of: %s", what, name, names);
}

static hone_status read_layer(const own *w, const char *name, hn_layer_scheme *out, hn_error *err) {
    const hn_layer_type *type;
    hn_layer_changes c = {.weights = w->o.weights,
                          .activations = w->o.activations,
                          .bits = w->o.weight_bits,
                          .activation_bits = w->o.activation_bits,
                          .per_tensor = w->o.per_tensor,
                          .symmetric = w->o.symmetric,
                          .group = w->o.group};
    HN_TRY(hn_layer_type_find(&type, name, err));
    *out = type->layer;
    HN_CHECK(err,
             !w->o.simulate || out->kind == HN_LAYER_F32 || out->kind == HN_LAYER_WEIGHTS ||
                 out->kind == HN_LAYER_STATIC,
             HONE_E_ARG, "type '%s' is not simulated, only integers with scales found beforehand",
             name);
    HN_TRY(hn_layer_change(out, &c, err));
    HN_CHECK(err,
             w->o.simulate || out->kind != HN_LAYER_STATIC ||
                 out->activations.bits == hone_dtype_bits(out->activations.dtype),
             HONE_E_ARG, "activations of %d bits can only be simulated", out->activations.bits);
    return HONE_OK;
}

static bool has_static(const hn_scheme *s) {
    bool yes = s->layer.kind == HN_LAYER_STATIC;
    for (int i = 0; i < s->n_rules; i++) yes = yes || s->rules[i].layer.kind == HN_LAYER_STATIC;
    return yes;
}

static hone_status check_simulation(const own *w, hn_error *err) {
    const hone_quantize_options *o = &w->o;
    HN_CHECK(err, o->activation_bits == 0 || o->mix != NULL || has_static(&w->how.scheme),
             HONE_E_ARG, "activations of %d bits are for layers of type int8, and there are none",
             o->activation_bits);
    HN_CHECK(err, !o->simulate || !o->integer_io, HONE_E_ARG,
             "what is simulated is in floats: inputs and outputs cannot be integers");
    HN_CHECK(err, !o->simulate || o->max_latency_ms == 0, HONE_E_ARG,
             "what is simulated is in floats: its time says nothing");
    return HONE_OK;
}

static hone_status read_scheme(own *w, hn_error *err) {
    hn_scheme *s = &w->how.scheme;
    const char *target = w->o.runtime != NULL ? w->o.runtime : "hone";
    hn_scheme_rule *rules = hn_arena_array(&w->arena, w->o.n_layers + 1, sizeof *rules);
    if (rules == NULL) return HN_NOMEM(err);
    HN_CHECK(err, w->o.type != NULL, HONE_E_ARG, "no type is given");
    HN_TRY(read_layer(w, w->o.type, &s->layer, err));
    for (size_t i = 0; i < w->o.n_layers; i++) {
        rules[i].name = w->o.layers[i].pattern;
        HN_TRY(read_layer(w, w->o.layers[i].type, &rules[i].layer, err));
    }
    s->rules = rules;
    s->n_rules = (int)w->o.n_layers;
    s->embeddings = w->o.embeddings;
    s->integer_io = w->o.integer_io;
    s->simulate = w->o.simulate;
    HN_TRY(check_simulation(w, err));
    bool halves = s->layer.kind == HN_LAYER_F16 || s->layer.kind == HN_LAYER_BF16;
    HN_CHECK(
        err, !s->integer_io || has_static(s) || halves || w->o.mix != NULL, HONE_E_ARG,
        "inputs and outputs can be integers where layers are of type int8, and there are none");
    s->target = hn_quant_target_named(target);
    return s->target != NULL ? HONE_OK : no_such(HONE_QUANTIZE_RUNTIMES, "runtime", target, err);
}

static hone_status read_methods(own *w, hn_error *err) {
    size_t most = (size_t)hn_method_count() + 1;
    const hn_method **v = hn_arena_array(&w->arena, most, sizeof *v);
    if (v == NULL) return HN_NOMEM(err);
    w->how.methods = v;
    for (const char *at = w->o.methods != NULL ? w->o.methods : ""; *at != '\0';) {
        char name[64];
        size_t n = strcspn(at, ",");
        snprintf(name, sizeof name, "%.*s", (int)(n < sizeof name ? n : sizeof name - 1), at);
        const hn_method *m = hn_method_named(name);
        if (m == NULL) return no_such(HONE_QUANTIZE_METHODS, "method", name, err);
        for (int i = 0; i < w->how.n_methods; i++)
            HN_CHECK(err, v[i] != m, HONE_E_ARG, "method '%s' is asked for twice", name);
        v[w->how.n_methods++] = m;
        at += n + (at[n] == ',');
    }
    return HONE_OK;
}

static hone_status read_mix(own *w, hn_error *err) {
    const hone_quantize_options *o = &w->o;
    int most = hn_layer_type_count();
    const hn_layer_type **types = hn_arena_array(&w->arena, (size_t)most, sizeof *types);
    HN_CHECK(err,
             o->mix != NULL || (o->bits_per_weight == 0 && o->max_latency_ms == 0 &&
                                o->max_file_bytes == 0 && !(o->max_drop >= 0)),
             HONE_E_ARG, "limits are for types to choose from, and none are given");
    HN_CHECK(err, o->mix != NULL || o->sensitivity == NULL, HONE_E_ARG,
             "sensitivity is for types to choose from, and none are given");
    if (o->mix == NULL) return HONE_OK;
    HN_CHECK(err, o->bits_per_weight >= 0 && o->max_latency_ms >= 0 && o->max_file_bytes >= 0,
             HONE_E_ARG, "limits of %g bits per weight, %g ms and %lld bytes, expected more than 0",
             o->bits_per_weight, o->max_latency_ms, (long long)o->max_file_bytes);
    HN_CHECK(err,
             o->bits_per_weight > 0 || o->max_latency_ms > 0 || o->max_file_bytes > 0 ||
                 o->max_drop >= 0,
             HONE_E_ARG,
             "types are chosen within a limit: of bits per weight, size, time or accuracy lost");
    if (o->sensitivity != NULL) {
        bool measured = strcmp(o->sensitivity, "measured") == 0;
        HN_CHECK(err, measured || strcmp(o->sensitivity, "estimated") == 0, HONE_E_ARG,
                 "sensitivity '%s', expected one of: measured, estimated", o->sensitivity);
        w->mix.harm = measured ? HN_MIXED_MEASURED : HN_MIXED_ESTIMATED;
    }
    w->mixed = hn_arena_array(&w->arena, (size_t)most, sizeof *w->mixed);
    if (types == NULL || w->mixed == NULL) return HN_NOMEM(err);
    for (const char *at = o->mix; *at != '\0';) {
        char name[64];
        const hn_layer_type *found;
        size_t n = strcspn(at, ",");
        snprintf(name, sizeof name, "%.*s", (int)(n < sizeof name ? n : sizeof name - 1), at);
        HN_TRY(hn_layer_type_find(&found, name, err));
        for (int i = 0; i < w->mix.n_types; i++)
            HN_CHECK(err, strcmp(types[i]->name, name) != 0, HONE_E_ARG,
                     "type '%s' is given twice to choose from", name);
        at += n + (at[n] == ',');
        if (found->layer.kind == HN_LAYER_F32) continue;
        hn_layer_type *t = &w->mixed[w->mix.n_types];
        *t = *found;
        HN_TRY(read_layer(w, name, &t->layer, err));
        types[w->mix.n_types++] = t;
    }
    HN_CHECK(err, w->mix.n_types > 0, HONE_E_ARG, "there is no type beside f32 to choose from");
    w->mix.types = types;
    w->mix.bits_per_weight = o->bits_per_weight;
    w->mix.max_ms = o->max_latency_ms;
    w->mix.max_bytes = o->max_file_bytes;
    w->mix.max_drop = o->max_drop;
    w->mix.relative = o->max_drop_relative;
    w->how.mix = &w->mix;
    return HONE_OK;
}

static hone_status read_ranges(own *w, hn_error *err) {
    hn_calibrate_options *c = &w->how.calibrate;
    const char *usual = w->o.percentile > 0 ? "percentile" : "auto";
    const char *name = w->o.ranges != NULL ? w->o.ranges : usual;
    c->method = hn_range_method_named(name);
    if (c->method == HN_RANGE_METHODS) return no_such(HONE_QUANTIZE_RANGES, "ranges", name, err);
    HN_CHECK(err, w->o.percentile >= 0 && w->o.percentile <= 100, HONE_E_ARG,
             "percentile %g, expected 0 to 100", w->o.percentile);
    HN_CHECK(err, w->o.samples >= 0 && w->o.batch >= 0, HONE_E_ARG,
             "%lld samples in batches of %lld, expected 0 or more", (long long)w->o.samples,
             (long long)w->o.batch);
    c->percentile = w->o.percentile;
    c->samples = w->o.samples;
    if (w->o.load_ranges == NULL) return HONE_OK;
    HN_TRY(hn_calibration_read(&w->given, w->o.load_ranges, memory(), err));
    w->how.calibration = w->given;
    return HONE_OK;
}

static bool tell(void *ctx, const char *what, int64_t done, int64_t total) {
    own *w = ctx;
    return w->o.progress == NULL || w->o.progress(w->o.progress_ctx, what, done, total);
}

static hone_status read_options(own *w, hone_model *m, hone_dataset *data, hn_error *err) {
    HN_TRY(read_scheme(w, err));
    HN_TRY(read_methods(w, err));
    HN_TRY(read_mix(w, err));
    HN_TRY(read_ranges(w, err));
    w->how.batch = w->o.batch;
    w->how.seed = w->o.seed;
    w->how.progress = tell;
    w->how.progress_ctx = w;
    w->how.how.engine = (hn_engine_options){.alloc = memory(), .isa = hn_isa_available()};
    if (data == NULL) {
        HN_TRY(hn_api_pool_take(&w->pool, w->o.run, err));
        w->how.how.engine.pool = w->pool;
        return HONE_OK;
    }
    w->how.data = data->data;
    HN_TRY(hone_session_create(&w->session, m, w->o.run, err));
    w->how.how = hn_api_session_only_how(w->session);
    return HONE_OK;
}

/* The name of a type that layers were given. */
static const char *mixed_name(const own *w, int type) {
    return type == 0 ? "f32" : w->mix.types[type - 1]->name;
}

/* ---- the recipe ---- */

static bool add(own *w, const char *format, ...) HONE_PRINTF(2, 3);
static bool add(own *w, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int more = vsnprintf(NULL, 0, format, args);
    va_end(args);
    size_t was = strlen(w->recipe);
    char *text = hn_arena_alloc(&w->arena, was + (size_t)more + 1);
    if (text == NULL) return false;
    memcpy(text, w->recipe, was);
    va_start(args, format);
    vsnprintf(text + was, (size_t)more + 1, format, args);
    va_end(args);
    w->recipe = text;
    return true;
}

/* All that the result depends on beside model and data, in a fixed order, defaults left out. */
static hone_status write_recipe(own *w, const hn_compressed *c, hn_error *err) {
    const hone_quantize_options *o = &w->o;
    w->recipe = "quantize";
    bool good = add(w, " type=%s", o->type);
    if (o->weights != HONE_DTYPE_NONE)
        good = good && add(w, " weights=%s", hone_dtype_name(o->weights));
    if (o->activations != HONE_DTYPE_NONE)
        good = good && add(w, " activations=%s", hone_dtype_name(o->activations));
    if (o->simulate) good = good && add(w, " simulate");
    if (o->weight_bits > 0) good = good && add(w, " bits=%d", o->weight_bits);
    if (o->activation_bits > 0) good = good && add(w, " activation-bits=%d", o->activation_bits);
    if (o->group >= 0) good = good && add(w, " group=%lld", (long long)o->group);
    if (o->per_tensor) good = good && add(w, " per-tensor");
    if (o->symmetric) good = good && add(w, " symmetric");
    if (o->embeddings) good = good && add(w, " embeddings");
    if (o->integer_io) good = good && add(w, " integer-io");
    if (o->mix != NULL) good = good && add(w, " mix=%s", o->mix);
    if (o->sensitivity != NULL) good = good && add(w, " sensitivity=%s", o->sensitivity);
    if (o->runtime != NULL) good = good && add(w, " for=%s", o->runtime);
    if (w->how.n_methods > 0) good = good && add(w, " with=%s", o->methods);
    if (c->calibration != NULL)
        good = good && add(w, " ranges=%s", hn_range_method_name(w->how.calibrate.method));
    if (c->calibration != NULL && o->percentile > 0)
        good = good && add(w, " percentile=%.17g", o->percentile);
    if (w->given != NULL) {
        char hex[HN_SHA256_HEX];
        hn_file *file;
        HN_TRY(hn_file_open(&file, o->load_ranges, false, memory(), err));
        hn_sha256(file->data, file->bytes, hex);
        hn_file_unref(file);
        good = good && add(w, " ranges=%s", hex);
    }
    if (c->samples > 0) good = good && add(w, " samples=%lld", (long long)c->samples);
    if (o->batch > 0) good = good && add(w, " batch=%lld", (long long)o->batch);
    if (o->seed != 1) good = good && add(w, " seed=%llu", (unsigned long long)o->seed);
    for (size_t i = 0; i < o->n_layers; i++)
        good = good && add(w, " layer:%s=%s", o->layers[i].pattern, o->layers[i].type);
    for (int i = 0; i < c->mixed.n_layers; i++)
        good = good && add(w, " layer:%s=%s", c->mixed.layers[i].name,
                           mixed_name(w, c->mixed.layers[i].type));
    return good ? HONE_OK : HN_NOMEM(err);
}

/* ---- what came of it ---- */

/* NULL: its type was not chosen. */
static const hn_mixed_layer *mixed_layer(const hn_mixed *x, const char *name) {
    for (int i = 0; i < x->n_layers; i++)
        if (strcmp(x->layers[i].name, name) == 0) return &x->layers[i];
    return NULL;
}

static const char *type_of(const own *w, const hn_mixed *x, const hn_quantized_layer *l) {
    const hn_mixed_layer *mixed = mixed_layer(x, l->node);
    const char *name = mixed != NULL ? mixed_name(w, mixed->type) : w->o.type;
    for (size_t i = 0; i < w->o.n_layers; i++)
        if (fnmatch(w->o.layers[i].pattern, l->node, 0) == 0) name = w->o.layers[i].type;
    const hn_layer_type *t = hn_layer_type_named(name);
    for (int i = 0; t->layer.kind != l->kind && i < hn_layer_type_count(); i++)
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
        v[i] = (hone_quantized_layer){.type = type_of(w, &c->mixed, l),
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

static hone_status copy_points(own *w, const hn_mixed *x, hn_error *err) {
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
        v[i].type = mixed_name(w, p->to);
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

static hone_status describe(own *w, const hn_compressed *c, hn_error *err) {
    hone_quantization *q = &w->shown;
    const hn_quantize_report *r = &c->report;
    q->weights = r->weights;
    q->bits_per_weight = r->weights > 0 ? (double)r->weight_bits / (double)r->weights : NAN;
    q->samples = c->samples;
    if (c->calibration != NULL) q->stable_after = hn_calibration_stable_after(c->calibration);
    q->recipe = w->recipe;
    HN_TRY(copy_layers(w, c, err));
    HN_TRY(copy_values(w, r, err));
    if (c->mixed.n_layers > 0) HN_TRY(copy_points(w, &c->mixed, err));
    return warn_all(w, c, err);
}

/* ---- the whole ---- */

static hone_status write_lineage(own *w, const hn_compressed *c, const char *source,
                                 hn_error *err) {
    HN_TRY(write_recipe(w, c, err));
    hn_lineage l = {source, c->samples > 0 ? c->data : NULL, w->recipe};
    return hn_lineage_write(c->model, &l, err);
}

/* Bytes of the file, with a hash of the source that is as long as the true one. */
static hone_status size_of(void *ctx, const hn_compressed *c, int64_t *bytes, hn_error *err) {
    char source[HN_SHA256_HEX];
    memset(source, '0', sizeof source - 1);
    source[sizeof source - 1] = '\0';
    HN_TRY(write_lineage(ctx, c, source, err));
    return hn_onnx_bytes(c->model, NULL, bytes, err);
}

/* What methods do after types were chosen, a bias where there was none, may make the file larger
 * than it was taken for: then types are chosen for that much less. */
static hone_status compress(own *w, const hone_model *m, hn_compressed *c, hn_error *err) {
    int64_t most = w->o.max_file_bytes, bytes = 0;
    for (;;) {
        HN_TRY(hn_compress(c, m->ir, &w->how, memory(), err));
        hone_status status = most > 0 ? size_of(w, c, &bytes, err) : HONE_OK;
        if (status == HONE_OK && bytes <= most) return HONE_OK;
        hn_compressed_deinit(c);
        HN_TRY(status);
        HN_CHECK(err, bytes - most < w->mix.max_bytes, HONE_E_NOT_FOUND,
                 "no choice of types leaves a file of %lld bytes or less", (long long)most);
        w->mix.max_bytes -= bytes - most;
    }
}

static hone_status hand_over(own *w, hone_model *from, hn_compressed *c, hone_model **out,
                             hn_error *err) {
    char source[HN_SHA256_HEX];
    hn_model *made = c->model;
    if (c->calibration != NULL && w->o.save_ranges != NULL)
        HN_TRY(hn_calibration_write(c->calibration, &w->how.scheme.layer.activations,
                                    w->o.save_ranges, err));
    HN_TRY(hn_lineage_source(from->ir, source, err));
    HN_TRY(write_lineage(w, c, source, err));
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
static hone_status check_changed(const own *w, const hn_quantize_report *r, hn_error *err) {
    bool asked = w->how.scheme.layer.kind != HN_LAYER_F32 || w->how.scheme.embeddings;
    for (int i = 0; i < w->how.scheme.n_rules; i++)
        asked = asked && w->how.scheme.rules[i].layer.kind != HN_LAYER_F32;
    if (!asked || w->how.mix != NULL || changed(r)) return HONE_OK;
    HN_CHECK(err, r->n > 0, HONE_E_NOT_FOUND,
             "nothing in the model can become %s: no node has weights", w->o.type);
    return HN_FAIL(err, HONE_E_NOT_FOUND,
                   "nothing in the model can become %s: %s '%s' stays in floats (%s)", w->o.type,
                   r->v[0].op, r->v[0].node, r->v[0].why_not);
}

static bool finds_ranges(const own *w) { return has_static(&w->how.scheme) && w->given == NULL; }

static hone_status quantize(own *w, hone_model **out, hone_model *m, hone_dataset *data,
                            hn_error *err) {
    hn_compressed c = {0};
    HN_TRY(read_options(w, m, data, err));
    HN_CHECK(err, w->o.save_ranges == NULL || (w->how.data != NULL && finds_ranges(w)), HONE_E_ARG,
             "there are no ranges to save: they are found with samples, for layers of type int8");
    w->mix.size = size_of;
    w->mix.size_ctx = w;
    HN_TRY(compress(w, m, &c, err));
    hone_status status = check_changed(w, &c.report, err);
    if (status == HONE_OK) status = hand_over(w, m, &c, out, err);
    hn_compressed_deinit(&c);
    return status;
}

static hone_status quantize_with(own *w, hone_model **out, hone_model *m, hone_dataset *data,
                                 const hone_layout *caller, hn_error *err) {
    hn_taken rules;
    HN_TRY(HN_TAKE_ARRAY(&rules, w->o.layers, w->o.n_layers, caller, layer_rule, err));
    w->o.layers = rules.own;
    hone_status status = quantize(w, out, m, data, err);
    hn_taken_deinit(&rules);
    hn_calibration_destroy(w->given);
    hone_session_destroy(w->session);
    hn_pools_give(w->pool);
    return status;
}

hone_status hone_model_quantize_sized(hone_model **out, hone_model *model, hone_dataset *data,
                                      const hone_quantize_options *options,
                                      hone_quantization **report, const hone_layout *caller,
                                      hone_error *err) {
    static const hn_list lists[] = {HN_LIST(quantization, layers, n_layers, quantized_layer),
                                    HN_LIST(quantization, points, n_points, mix_point),
                                    HN_LIST(quantization, values, n_values, quantized_value)};
    hone_quantize_options o;
    HN_TRY(HN_TAKE_OPTIONS(quantize, &o, options, err));
    own *w = hn_alloc_zero(memory(), sizeof *w, HN_MEM_OTHER);
    hone_model *made;
    if (w == NULL) return HN_NOMEM(err);
    w->shown = (hone_quantization){.size = sizeof w->shown, .owner = w};
    hn_arena_init(&w->arena, memory(), HN_MEM_OTHER);
    w->o = o;
    hone_status status = quantize_with(w, &made, model, data, caller, err);
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

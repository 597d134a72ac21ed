/* Layers in integers (quantize.h): the parameters, and the step that writes them. Ranges and types
 * have been found by then (compression.c). */
#include <math.h>
#include <string.h>

#include "base/dtype.h"
#include "compress/compression.h"
#include "ops/infer.h"

/* ---- words ---- */

static const char *range_word(int i) {
    return i < HN_RANGE_METHODS ? hn_range_method_name((hn_range_method)i) : NULL;
}

static const char *type_word(int i) {
    return i < hn_layer_type_count() ? hn_layer_type_at(i)->name : NULL;
}

static const char *dtype_word(int i) {
    return i + 1 < HONE_DTYPE_COUNT_ ? hone_dtype_name((hone_dtype)(i + 1)) : NULL;
}

static const char *sensitivity_word(int i) {
    static const char *const words[] = {"measured", "estimated"};
    return i < 2 ? words[i] : NULL;
}

/* ---- parameters ---- */

/* clang-format off */
const hn_parameter hn_params_quantize[] = {
    {"type", HN_PARAM_TYPE, "int8", "of all layers that no rule names", 0, 0, NULL, false},
    {"weights", HN_PARAM_WORD, NULL, "the integers that weights are stored in: s8, u8, s4, u4 ...", 0, 0, dtype_word, false},
    {"activations", HN_PARAM_WORD, NULL, "the integers of activations with ranges found beforehand: u8, s8, u16, s16", 0, 0, dtype_word, false},
    {"bits", HN_PARAM_COUNT, NULL, "of weights, in the narrowest type that holds them", 1, 16, NULL, false},
    {"activation-bits", HN_PARAM_COUNT, NULL, "of activations, in u8 or u16", 2, 16, NULL, false},
    {"group", HN_PARAM_COUNT, NULL, "weights that share a scale; 0: no groups", 0, 2147483647, NULL, false},
    {"per-tensor", HN_PARAM_FLAG, NULL, "one scale for a weight, not one for each channel", 0, 0, NULL, false},
    {"symmetric", HN_PARAM_FLAG, NULL, "the zero point of activations is 0 too", 0, 0, NULL, false},
    {"reduce-range", HN_PARAM_FLAG, NULL, "weights of int8 keep to 7 bits: faster on CPUs without dot products of bytes", 0, 0, NULL, false},
    {"simulate", HN_PARAM_FLAG, NULL, "round to so many bits, but stay f32", 0, 0, NULL, false},
    {"embeddings", HN_PARAM_FLAG, NULL, "tables that Gather reads are weights too", 0, 0, NULL, false},
    {"integer-io", HN_PARAM_FLAG, NULL, "inputs and outputs are in the narrow type as well", 0, 0, NULL, false},
    {"ranges", HN_PARAM_WORD, "auto", "how ranges of activations are found", 0, 0, range_word, false},
    {"percentile", HN_PARAM_NUMBER, NULL, "of values inside a range, in %", 0, 100, NULL, false},
    {"load-ranges", HN_PARAM_HASH, NULL, "the SHA-256 of a table of ranges that is given instead of samples", 0, 0, NULL, false},
    {"mix", HN_PARAM_WORDS, NULL, "types each layer gets one of, within limits or as chosen", 0, 0, type_word, false},
    {"sensitivity", HN_PARAM_WORD, NULL, "with mix: how the harm of a type is found", 0, 0, sensitivity_word, false},
    {"bits-per-weight", HN_PARAM_NUMBER, NULL, "with mix: the most bits of weights, with scales and zero points", 1e-6, 64, NULL, true},
    {"max-latency", HN_PARAM_NUMBER, NULL, "with mix: the most time of all layers for one sample, in ms", 1e-9, 1e12, NULL, true},
    {"max-bytes", HN_PARAM_COUNT, NULL, "with mix: the most bytes of the file", 1, 9e15, NULL, true},
    {"max-drop", HN_PARAM_NUMBER, NULL, "with mix: the most accuracy that is lost on the samples", 0, 1e9, NULL, true},
    {"max-drop-relative", HN_PARAM_FLAG, NULL, "max-drop is a share of the accuracy there was", 0, 0, NULL, true},
    {"layer", HN_PARAM_LAYER, NULL, "the type of some layers", 0, 0, NULL, false},
    {"chosen", HN_PARAM_LAYER, NULL, "with mix: the type that was found for a layer", 0, 0, NULL, false},
    {0},
};
/* clang-format on */

/* ---- the plan ---- */

static hone_dtype dtype_of(const hn_recipe_step *s, const char *name) {
    const char *word = hn_step_word(s, name);
    int t = 0;
    while (word != NULL && dtype_word(t) != NULL && strcmp(dtype_word(t), word) != 0) t++;
    return word != NULL ? (hone_dtype)(t + 1) : HONE_DTYPE_NONE;
}

static double number_of(const hn_recipe_step *s, const char *name, double otherwise) {
    double x = hn_step_number(s, name);
    return isnan(x) ? otherwise : x;
}

/* Counts are whole numbers that a double holds exactly. */
static int64_t count_of(const hn_recipe_step *s, const char *name, int otherwise) {
    return (int64_t)number_of(s, name, otherwise);
}

static hone_status read_layer(const hn_recipe_step *s, const char *type, hn_layer_scheme *out,
                              hn_error *err) {
    bool simulate = hn_step_flag(s, "simulate");
    hn_layer_changes c = {.weights = dtype_of(s, "weights"),
                          .activations = dtype_of(s, "activations"),
                          .bits = (int)count_of(s, "bits", 0),
                          .activation_bits = (int)count_of(s, "activation-bits", 0),
                          .per_tensor = hn_step_flag(s, "per-tensor"),
                          .symmetric = hn_step_flag(s, "symmetric"),
                          .reduce_range = hn_step_flag(s, "reduce-range"),
                          .group = count_of(s, "group", -1)};
    *out = hn_layer_type_named(type)->layer;
    HN_CHECK(err,
             !simulate || out->kind == HN_LAYER_F32 || out->kind == HN_LAYER_WEIGHTS ||
                 out->kind == HN_LAYER_STATIC,
             HONE_E_ARG, "type '%s' is not simulated, only integers with scales found beforehand",
             type);
    return hn_layer_change(out, &c, err);
}

/* The types of "int8,int4", with the changes that are asked for; f32 is one of them anyway. */
static hone_status read_types(hn_compress_plan *p, const hn_recipe_step *s, const char *list,
                              hn_error *err) {
    size_t most = (size_t)hn_layer_type_count();
    const hn_layer_type **types = hn_arena_array(p->arena, most, sizeof *types);
    hn_layer_type *changed = hn_arena_array(p->arena, most, sizeof *changed);
    char *copy = hn_arena_strdup(p->arena, list), *rest = NULL;
    if (types == NULL || changed == NULL || copy == NULL) return HN_NOMEM(err);
    for (char *w = strtok_r(copy, ",", &rest); w != NULL; w = strtok_r(NULL, ",", &rest)) {
        const hn_layer_type *found = hn_layer_type_named(w);
        for (int i = 0; i < p->mix.n_types; i++)
            HN_CHECK(err, strcmp(types[i]->name, w) != 0, HONE_E_ARG,
                     "type '%s' is given twice to choose from", w);
        if (found->layer.kind == HN_LAYER_F32) continue;
        hn_layer_type *t = &changed[p->mix.n_types];
        *t = *found;
        HN_TRY(read_layer(s, w, &t->layer, err));
        types[p->mix.n_types++] = t;
    }
    HN_CHECK(err, p->mix.n_types > 0, HONE_E_ARG, "there is no type beside f32 to choose from");
    p->mix.types = types;
    return HONE_OK;
}

static hone_status read_mix(hn_compress_plan *p, const hn_recipe_step *s, hn_error *err) {
    const char *sensitivity = hn_step_word(s, "sensitivity"), *mix = hn_step_word(s, "mix");
    p->mix = (hn_type_mix){.bits_per_weight = number_of(s, "bits-per-weight", 0),
                           .max_ms = number_of(s, "max-latency", 0),
                           .max_bytes = count_of(s, "max-bytes", 0),
                           .max_drop = number_of(s, "max-drop", -1),
                           .relative = hn_step_flag(s, "max-drop-relative")};
    for (int i = 0; i < s->n; i++) p->mix.limited = p->mix.limited || s->v[i].param->limit;
    HN_CHECK(err, mix != NULL || !p->mix.limited, HONE_E_ARG,
             "limits are for types to choose from, and none are given");
    HN_CHECK(err, mix != NULL || sensitivity == NULL, HONE_E_ARG,
             "sensitivity is for types to choose from, and none are given");
    if (mix == NULL) return HONE_OK;
    if (sensitivity != NULL)
        p->mix.harm = strcmp(sensitivity, "measured") == 0 ? HN_MIXED_MEASURED : HN_MIXED_ESTIMATED;
    return read_types(p, s, mix, err);
}

static hone_status check(const hn_compress_plan *p, const hn_recipe_step *s, hn_error *err) {
    const hn_scheme *scheme = &p->scheme;
    int64_t bits = count_of(s, "activation-bits", 0);
    bool integers = p->mix.n_types > 0 || hn_scheme_wants(scheme, HN_LAYER_STATIC, HN_LAYER_STATIC);
    bool halves = scheme->layer.kind == HN_LAYER_F16 || scheme->layer.kind == HN_LAYER_BF16;
    HN_CHECK(err, bits == 0 || integers, HONE_E_ARG,
             "activations of %d bits are for layers of type int8, and there are none", (int)bits);
    HN_CHECK(err, !scheme->simulate || !scheme->integer_io, HONE_E_ARG,
             "what is simulated is in floats: inputs and outputs cannot be integers");
    HN_CHECK(err, !scheme->simulate || p->mix.max_ms == 0, HONE_E_ARG,
             "what is simulated is in floats: its time says nothing");
    HN_CHECK(
        err, !scheme->integer_io || integers || halves, HONE_E_ARG,
        "inputs and outputs can be integers where layers are of type int8, and there are none");
    return HONE_OK;
}

hone_status hn_plan_quantize(hn_compress_plan *p, const hn_recipe_step *s, hn_error *err) {
    hn_scheme *scheme = &p->scheme;
    HN_TRY(read_layer(s, hn_step_word(s, "type"), &scheme->layer, err));
    HN_TRY(hn_plan_rules(p, s, "layer", read_layer, &scheme->n_rules, err));
    HN_TRY(hn_plan_rules(p, s, "chosen", read_layer, &p->n_chosen, err));
    HN_TRY(read_mix(p, s, err));
    scheme->embeddings = hn_step_flag(s, "embeddings");
    scheme->integer_io = hn_step_flag(s, "integer-io");
    scheme->simulate = hn_step_flag(s, "simulate");
    p->calibrate.method = hn_range_method_named(hn_step_word(s, "ranges"));
    p->calibrate.percentile = number_of(s, "percentile", 0);
    p->ranges = hn_step_word(s, "load-ranges");
    return check(p, s, err);
}

/* ---- the step ---- */

hone_status hn_transform_quantize(hn_transform_ctx *c, hn_error *err) {
    if (hn_scheme_wants(c->scheme, HN_LAYER_WEIGHTS, HN_LAYER_STATIC))
        HN_TRY(hn_quantize_model(c->model, c->scheme, c->calibration, c->grids, c->how->engine.pool,
                                 c->report, err));
    for (int i = 0; i < c->report->n; i++) c->changed += c->report->v[i].kind != HN_LAYER_F32;
    HN_TRY(hn_model_infer(c->model, NULL, err));
    return hn_transform_convert(c, err);
}

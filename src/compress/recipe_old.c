/* Recipes as version 0.1 wrote them. Two texts, which are read for good and never written:
 *
 * The file of `hone optimize`: a word and its values a line.
 *
 *     hone recipe 1
 *     name int8
 *     layer '*' static s8:symmetric:channel u8      weights, then activations
 *     layer 'head*' f32                             the last that matches a node holds
 *     embeddings
 *     for onnxruntime                               what is to run it; hone if nothing is said
 *     ranges mse
 *     method equalize
 *     seed 1
 *     source 9f86d081...
 *     calibration 512 2c26b46b...                   samples, SHA-256 of the inputs they make
 *
 * The line of `hone quantize` in the metadata, with rules for layers at its end, unquoted:
 *
 *     quantize type=int8 with=equalize,bias ranges=auto samples=120 seed=2 layer:my head=f32
 */
#include <stdio.h>
#include <string.h>

#include "compress/layer_type.h"
#include "compress/recipe.h"

/* `simplify` was done always, and `quantize` gave layers their types, floats too. */
static hone_status begin(hn_recipe *r, hn_error *err) {
    HN_TRY(hn_recipe_add(r, hn_transform_named("simplify"), err));
    return hn_recipe_add(r, hn_transform_named("quantize"), err);
}

static hone_status add_method(hn_recipe *r, const char *name, hn_error *err) {
    const hn_transform *t = hn_transform_named(name);
    HN_CHECK(err, t != NULL && hn_transform_is_method(t), HONE_E_ARG,
             "found '%.100s', expected a method", name);
    return hn_recipe_add(r, t, err);
}

static hone_status read_number(const char *name, const char *word, uint64_t most, uint64_t *v,
                               hn_error *err) {
    HN_CHECK(err, hn_recipe_whole(word, most, v), HONE_E_ARG,
             "%s: found '%.100s', expected a whole number", name, word != NULL ? word : "nothing");
    return HONE_OK;
}

static hone_status read_hash(const char *name, const char *word, char *hex, hn_error *err) {
    HN_CHECK(err, word != NULL && hn_sha256_is_hex(word), HONE_E_ARG,
             "%s: found '%.100s', expected a SHA-256 of 64 digits", name,
             word != NULL ? word : "nothing");
    strcpy(hex, word);
    return HONE_OK;
}

/* ---- the file ---- */

static int spell(char *buf, size_t size, const hn_qtype *q) {
    char group[32] = "";
    if (q->dtype == HONE_DTYPE_NONE) return 0;
    if (q->group > 0) snprintf(group, sizeof group, ":group=%lld", (long long)q->group);
    return snprintf(buf, size, " %s%s%s%s", hone_dtype_name(q->dtype),
                    q->symmetric ? ":symmetric" : "", q->per_channel ? ":channel" : "", group);
}

/* The type that was written as " static s8:symmetric:channel u8"; NULL: none was. */
static const hn_layer_type *type_spelled(const char *text) {
    static const char *const kinds[] = {
        [HN_LAYER_F32] = "f32",         [HN_LAYER_F16] = "f16",
        [HN_LAYER_BF16] = "bf16",       [HN_LAYER_WEIGHTS] = "weights",
        [HN_LAYER_DYNAMIC] = "dynamic", [HN_LAYER_STATIC] = "static"};
    for (int i = 0; i < hn_layer_type_count(); i++) {
        const hn_layer_type *t = hn_layer_type_at(i);
        char is[160];
        int n = snprintf(is, sizeof is, " %s", kinds[t->layer.kind]);
        n += spell(is + n, sizeof is - (size_t)n, &t->layer.weights);
        spell(is + n, sizeof is - (size_t)n, &t->layer.activations);
        if (strcmp(is, text) == 0) return t;
    }
    return NULL;
}

/* "'head*' static s8:symmetric u8"; the first is for all nodes. */
static hone_status read_layer(hn_recipe *r, char *rest, hn_error *err) {
    char *from = strchr(rest, '\''), *to = strrchr(rest, '\'');
    HN_CHECK(err, from != NULL && from != to, HONE_E_ARG,
             "layer: found '%.100s', expected a name in quotes", rest);
    *to++ = '\0';
    const hn_layer_type *type = type_spelled(to);
    HN_CHECK(err, type != NULL, HONE_E_ARG,
             "layer: found '%.100s', expected f32 or a type such as static s8:symmetric:channel u8",
             to);
    hn_recipe_step *s = hn_recipe_writer(r);
    if (hn_step_setting(s, "type") != NULL)
        return hn_recipe_setf(r, s, err, "layer:%s=%s", from + 1, type->name);
    HN_CHECK(err, strcmp(from + 1, "*") == 0, HONE_E_ARG,
             "layer: found '%.100s', expected '*' as the first layer", from + 1);
    return hn_recipe_setf(r, s, err, "type=%s", type->name);
}

static hone_status read_line(hn_recipe *r, char *line, hn_error *err) {
    char *rest = line + strcspn(line, " "), *more = NULL;
    uint64_t v;
    if (*rest != '\0') *rest++ = '\0';
    if (*line == '\0' || *line == '#') return HONE_OK;
    if (strcmp(line, "layer") == 0) return read_layer(r, rest, err);
    if (strcmp(line, "name") == 0) {
        HN_CHECK(err, *rest != '\0' && strlen(rest) < sizeof r->name, HONE_E_ARG,
                 "name: found '%.100s', expected a short name", rest);
        strcpy(r->name, rest);
        return HONE_OK;
    }
    char *word = strtok_r(rest, " ", &more);
    hn_recipe_step *s = hn_recipe_writer(r);
    if (strcmp(line, "embeddings") == 0) return hn_recipe_set(r, s, line, err);
    if (strcmp(line, "for") == 0) return hn_recipe_set_target(r, word != NULL ? word : "", err);
    if (strcmp(line, "ranges") == 0)
        return hn_recipe_setf(r, s, err, "%s=%s", line, word != NULL ? word : "");
    if (strcmp(line, "method") == 0) return add_method(r, word != NULL ? word : "", err);
    if (strcmp(line, "source") == 0) return read_hash(line, word, r->source, err);
    if (strcmp(line, "seed") == 0) return read_number(line, word, UINT64_MAX, &r->seed, err);
    HN_CHECK(err, strcmp(line, "calibration") == 0, HONE_E_ARG,
             "found '%.100s', expected name, layer, embeddings, for, ranges, method, seed, source "
             "or calibration",
             line);
    HN_TRY(read_number(line, word, INT64_MAX, &v, err));
    HN_CHECK(err, v > 0, HONE_E_ARG, "calibration: found '%s', expected a number of samples", word);
    r->samples = (int64_t)v;
    return read_hash(line, strtok_r(NULL, " ", &more), r->data, err);
}

hone_status hn_recipe_read_1(hn_recipe *r, char *text, int *line, hn_error *err) {
    HN_TRY(begin(r, err));
    for (*line = 1; *text != '\0'; ++*line) {
        char *end = text + strcspn(text, "\n"), *next = *end != '\0' ? end + 1 : end;
        *end = '\0';
        if (*line > 1) HN_TRY(read_line(r, text, err));
        text = next;
    }
    hn_recipe_step *s = hn_recipe_writer(r);
    HN_CHECK(err, hn_step_setting(s, "type") != NULL, HONE_E_ARG,
             "found the end, expected a line layer '*'");
    if (r->samples < 0) r->samples = 0;
    return hn_step_setting(s, "ranges") != NULL ? HONE_OK
                                                : hn_recipe_set(r, s, "ranges=minmax", err);
}

/* ---- the line ---- */

static hone_status read_methods(hn_recipe *r, char *list, hn_error *err) {
    char *rest = NULL;
    for (char *m = strtok_r(list, ",", &rest); m != NULL; m = strtok_r(NULL, ",", &rest))
        HN_TRY(add_method(r, m, err));
    return HONE_OK;
}

static hone_status read_option(hn_recipe *r, char *word, hn_error *err) {
    uint64_t v;
    char *value = strchr(word, '=');
    if (strncmp(word, "with=", 5) == 0) return read_methods(r, value + 1, err);
    if (strncmp(word, "for=", 4) == 0) return hn_recipe_set_target(r, value + 1, err);
    if (strncmp(word, "seed=", 5) == 0)
        return read_number("seed", value + 1, UINT64_MAX, &r->seed, err);
    if (strncmp(word, "samples=", 8) == 0 || strncmp(word, "batch=", 6) == 0) {
        HN_TRY(read_number("samples and batch", value + 1, INT64_MAX, &v, err));
        *(word[0] == 's' ? &r->samples : &r->batch) = (int64_t)v;
        return HONE_OK;
    }
    if (strncmp(word, "ranges=", 7) == 0 && hn_sha256_is_hex(value + 1))
        return hn_recipe_setf(r, hn_recipe_writer(r), err, "load-ranges=%s", value + 1);
    return hn_recipe_set(r, hn_recipe_writer(r), word, err);
}

hone_status hn_recipe_read_options(hn_recipe *r, char *text, hn_error *err) {
    char *rest = NULL, *layers = strstr(text, " layer:");
    HN_TRY(begin(r, err));
    text[strcspn(text, "\n")] = '\0';
    if (layers != NULL) *layers++ = '\0';
    strtok_r(text, " ", &rest); /* "quantize" */
    for (char *w = strtok_r(NULL, " ", &rest); w != NULL; w = strtok_r(NULL, " ", &rest))
        HN_TRY(read_option(r, w, err));
    /* Rules that were given and types that were found look alike; only the former have patterns. */
    bool mixed = hn_step_setting(hn_recipe_writer(r), "mix") != NULL;
    while (layers != NULL) {
        char *next = strstr(layers, " layer:");
        if (next != NULL) *next++ = '\0';
        bool named = mixed && strpbrk(layers, "*?[") == NULL;
        HN_TRY(hn_recipe_setf(r, hn_recipe_writer(r), err, "%s%s", named ? "chosen" : "layer",
                              layers + strlen("layer")));
        layers = next;
    }
    return HONE_OK;
}

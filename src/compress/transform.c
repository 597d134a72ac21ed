#include "compress/transform.h"

#include <stdio.h>
#include <string.h>

#include "base/decimal.h"
#include "base/sha256.h"
#include "compress/compression.h"
#include "compress/layer_type.h"

enum {
    NOTHING = HN_NEEDS_NOTHING,
    DATA = HN_NEEDS_DATA,
    RANGES = HN_NEEDS_RANGES,
    QUANTIZE = HN_NEEDS_QUANTIZE,
    TRAINING = HN_NEEDS_TRAINING,
};

const hn_parameter hn_params_none[] = {{0}};

static const hn_transform transforms[] = {
#define HN_TRANSFORM(name, stage, needs, params, plan, help) \
    {#name, HN_STAGE_##stage, needs, params, plan, hn_transform_##name, help},
#include "compress/transforms.def"
#undef HN_TRANSFORM
    {0},
};

int hn_transform_count(void) { return (int)(sizeof transforms / sizeof transforms[0]) - 1; }

const hn_transform *hn_transform_at(int i) { return &transforms[i]; }

const hn_transform *hn_transform_named(const char *name) {
    for (const hn_transform *t = transforms; t->name != NULL; t++)
        if (strcmp(t->name, name) == 0) return t;
    return NULL;
}

const hn_parameter *hn_transform_param(const hn_transform *t, const char *name) {
    for (const hn_parameter *p = t->params; p->name != NULL; p++)
        if (strcmp(p->name, name) == 0) return p;
    return NULL;
}

/* ---- values of parameters ---- */

const char *hn_param_kind_name(hn_param_kind kind) {
    static const char *const names[] = {
        [HN_PARAM_FLAG] = "flag",   [HN_PARAM_WORD] = "word",
        [HN_PARAM_WORDS] = "words", [HN_PARAM_TYPE] = "type",
        [HN_PARAM_LAYER] = "layer", [HN_PARAM_COUNT] = "count",
        [HN_PARAM_HASH] = "hash",   [HN_PARAM_NUMBER] = "number",
        [HN_PARAM_TEXT] = "text",   [HN_PARAM_LAYER_COUNT] = "layer-count",
        [HN_PARAM_FILE] = "file",   [HN_PARAM_LAYER_NUMBER] = "layer-number",
    };
    return names[kind];
}

void hn_list_add(char *list, size_t size, const char *word) {
    size_t n = strlen(list);
    snprintf(list + n, size - n, "%s%s", n > 0 ? ", " : "", word);
}

const char *hn_param_word(const hn_parameter *p, int i) {
    if (p->kind == HN_PARAM_TYPE || p->kind == HN_PARAM_LAYER)
        return i < hn_layer_type_count() ? hn_layer_type_at(i)->name : NULL;
    return p->word != NULL ? p->word(i) : NULL;
}

static hone_status check_word(const hn_parameter *p, const char *value, size_t n, hn_error *err) {
    char words[400] = "";
    const char *word;
    for (int i = 0; (word = p->word(i)) != NULL; i++) {
        if (strlen(word) == n && strncmp(word, value, n) == 0) return HONE_OK;
        hn_list_add(words, sizeof words, word);
    }
    return HN_FAIL(err, HONE_E_ARG, "%s '%.*s', expected one of: %s", p->name,
                   n < 100 ? (int)n : 100, value, words);
}

static hone_status check_words(const hn_parameter *p, const char *value, hn_error *err) {
    for (const char *at = value;; at++) {
        size_t n = strcspn(at, ",");
        HN_TRY(check_word(p, at, n, err));
        at += n;
        if (*at == '\0') return HONE_OK;
    }
}

static hone_status check_number(const hn_parameter *p, const char *value, hn_error *err) {
    double x;
    bool whole = p->kind != HN_PARAM_NUMBER && p->kind != HN_PARAM_LAYER_NUMBER;
    size_t n = strlen(value);
    bool good = hn_decimal_f64(value, n, &x) && x >= p->least && x <= p->most &&
                (!whole || strspn(value, "0123456789") == n);
    HN_CHECK(err, good, HONE_E_ARG, "%s '%.40s', expected a %snumber from %g to %g", p->name, value,
             whole ? "whole " : "", p->least, p->most);
    return HONE_OK;
}

hone_status hn_param_check(const hn_parameter *p, const char *value, hn_error *err) {
    const hn_layer_type *type;
    switch (p->kind) {
        case HN_PARAM_FLAG:
        case HN_PARAM_TEXT:
        case HN_PARAM_FILE: return HONE_OK;
        case HN_PARAM_WORD: return check_word(p, value, strlen(value), err);
        case HN_PARAM_WORDS: return check_words(p, value, err);
        case HN_PARAM_TYPE:
        case HN_PARAM_LAYER: return hn_layer_type_find(&type, value, err);
        case HN_PARAM_LAYER_COUNT:
        case HN_PARAM_LAYER_NUMBER:
        case HN_PARAM_COUNT:
        case HN_PARAM_NUMBER: return check_number(p, value, err);
        case HN_PARAM_HASH:
            HN_CHECK(err, hn_sha256_is_hex(value), HONE_E_ARG,
                     "%s '%.80s', expected a SHA-256 of 64 digits", p->name, value);
            return HONE_OK;
    }
    return HONE_OK;
}

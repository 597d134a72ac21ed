/* Pruning: reads the parameters and hands over to the kind that was asked for (prune.h). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "base/pattern.h"
#include "compress/compression.h"
#include "compress/prune.h"
#include "compress/prune_search.h"
#include "compress/rounds.h"
#include "engine/layers.h"

static const hn_pruning_kind kinds[] = {
#define HN_PRUNING(name, needs_data, zeros, help) {#name, needs_data, zeros, hn_prune_##name, help},
#include "compress/prunings.def"
#undef HN_PRUNING
};

const hn_pruning_kind *hn_pruning_kind_at(int i) {
    return i < (int)(sizeof kinds / sizeof *kinds) ? &kinds[i] : NULL;
}

static const char *kind_word(int i) {
    const hn_pruning_kind *k = hn_pruning_kind_at(i);
    return k == NULL ? NULL : strcmp(k->name, "nm") == 0 ? "nm=N:M" : k->name;
}

static const char *scope_word(int i) {
    static const char *const words[] = {"layer", "global", NULL};
    return words[i];
}

static const char *score_word(int i) {
    static const char *const words[] = {"l1", "l2", "median", "bn", NULL};
    return words[i];
}

/* clang-format off */
const hn_parameter hn_params_prune[] = {
    {"kind", HN_PARAM_TEXT, "magnitude", "what goes, by kind", 0, 0, kind_word, false},
    {"sparsity", HN_PARAM_NUMBER, "0.5", "the share of weights, channels or heads to take away", 0, 0.999, NULL, false},
    {"layer-sparsity", HN_PARAM_LAYER_NUMBER, NULL, "the share of weights to take away from some layers; others stay unless sparsity is set", 0, 0.999, NULL, false},
    {"max-drop", HN_PARAM_TEXT, NULL, "the most accuracy that may be lost, on samples with labels: 1%, 1%rel; how much goes is found", 0, 0, NULL, true},
    {"max-latency", HN_PARAM_TEXT, NULL, "the longest a run may take: 60% of what it took, or 5ms; how much of channels, heads or blocks goes is found", 0, 0, NULL, true},
    {"scan", HN_PARAM_FLAG, NULL, "measure first what each layer loses when it alone is pruned, at several shares", 0, 0, NULL, true},
    {"pattern", HN_PARAM_TEXT, NULL, "what goes together: 2:4, of each 4 weights along the sum 2 stay; 4x16, blocks of 4 outputs by 16 inputs", 0, 0, NULL, false},
    {"mask", HN_PARAM_FILE, NULL, "arrays named as weights: those that are 0 there become 0 (kind=mask)", 0, 0, NULL, false},
    {"scope", HN_PARAM_WORD, "layer", "the share holds for each layer, or for the model as a whole", 0, 0, scope_word, false},
    {"rounds", HN_PARAM_COUNT, "1", "get there in so many rounds, each followed by the training of the next line", 1, 63, NULL, false},
    {"ramp", HN_PARAM_WORD, "cubic", "how the share grows over rounds: evenly, fast at first, or by the same share of what is left", 0, 0, hn_ramp_word, false},
    {"ticket", HN_PARAM_COUNT, NULL, "train first, and after each round go back to the weights after so many steps (lottery ticket)", 0, 1e12, NULL, false},
    {"only", HN_PARAM_TEXT, NULL, "layers to change, patterns separated by commas", 0, 0, NULL, false},
    {"except", HN_PARAM_TEXT, NULL, "layers to leave alone, likewise", 0, 0, NULL, false},
    {"criterion", HN_PARAM_WORD, "l1", "what channels and heads are judged by: their weights, their distance to the others, or the scale of their BatchNormalization", 0, 0, score_word, false},
    {"max-macs", HN_PARAM_TEXT, NULL, "the share of multiply-accumulates to leave, like 50%, instead of a share of channels or heads", 0, 0, NULL, false},
    {"align", HN_PARAM_TEXT, "auto", "a number that widths stay multiples of; auto: 16", 0, 0, NULL, false},
    {"compensate", HN_PARAM_FLAG, NULL, "weights that read channels or heads make up for those that go, by least squares over samples", 0, 0, NULL, false},
    {"keep-shapes", HN_PARAM_FLAG, NULL, "weights of channels and heads become zero instead, and no shape changes", 0, 0, NULL, false},
    {0},
};
/* clang-format on */

/* "2:4" or "4x16". */
static hone_status read_pattern(const char *text, hn_pruning *p, hn_error *err) {
    int end = 0;
    if (text == NULL) return HONE_OK;
    if (sscanf(text, "%4dx%4d%n", &p->outputs, &p->sums, &end) == 2 && text[end] == '\0') {
        HN_CHECK(err, p->outputs >= 1 && p->sums >= 1, HONE_E_ARG,
                 "blocks '%.40s', expected 1x1 to 9999x9999 outputs by inputs", text);
        return HONE_OK;
    }
    p->outputs = p->sums = 0;
    bool good = sscanf(text, "%4d:%4d%n", &p->n, &p->m, &end) == 2 && text[end] == '\0';
    HN_CHECK(err, good && p->n >= 1 && p->n < p->m && p->m <= 256, HONE_E_ARG,
             "pattern '%.40s', expected N:M with N of each M weights to stay, 1 to 255 of up to "
             "256, or blocks RxC",
             text);
    return HONE_OK;
}

/* "nm=2:4" is the kind `nm` with its pattern. */
static hone_status read_kind(const char *text, const hn_pruning_kind **kind, hn_pruning *p,
                             hn_error *err) {
    char names[300] = "";
    size_t n = strcspn(text, "=");
    *kind = NULL;
    for (int i = 0; hn_pruning_kind_at(i) != NULL; i++) {
        const hn_pruning_kind *k = hn_pruning_kind_at(i);
        hn_list_add(names, sizeof names, kind_word(i));
        if (strlen(k->name) == n && strncmp(k->name, text, n) == 0) *kind = k;
    }
    HN_CHECK(err, *kind != NULL, HONE_E_ARG, "kind '%.40s', expected one of: %s", text, names);
    bool nm = strcmp((*kind)->name, "nm") == 0;
    HN_CHECK(err, nm || text[n] == '\0', HONE_E_ARG, "kind '%.40s', expected the name alone", text);
    if (!nm) return HONE_OK;
    HN_CHECK(err, p->m == 0 && p->outputs == 0, HONE_E_ARG,
             "kind '%.40s' says what the pattern is, expected no other", text);
    if (text[n] == '=') HN_TRY(read_pattern(text + n + 1, p, err));
    HN_CHECK(err, p->m > 0, HONE_E_ARG,
             "kind '%.40s', expected nm=N:M with N of each M weights to stay", text);
    return HONE_OK;
}

/* Settings of layers are for kinds that choose weights of each layer by a share. */
static hone_status check_layers(const hn_pruning_kind *kind, const hn_pruning *p, hn_error *err) {
    if (hn_step_setting(p->step, "layer-sparsity") == NULL) return HONE_OK;
    HN_CHECK(
        err, kind->zeros && kind->run != hn_prune_mask, HONE_E_ARG,
        "layer-sparsity is for kinds that make a share of the weights of each layer zero: kind "
        "'%s' does not take it",
        kind->name);
    HN_CHECK(err, p->m == 0, HONE_E_ARG,
             "N of each M weights stay in every layer: layer-sparsity does not go with it");
    HN_CHECK(err, !p->global, HONE_E_ARG,
             "scope=global finds the share of each layer: layer-sparsity does not go with it");
    return HONE_OK;
}

double hn_prune_share(const hn_pruning *p, const hn_weighted *w) {
    double x;
    for (int i = p->step->n; i-- > 0;) {
        const hn_setting *s = &p->step->v[i];
        if (strcmp(s->param->name, "layer-sparsity") == 0 &&
            hn_pattern_matches(s->pattern, hn_layer_name(w->node)) &&
            hn_decimal_f64(s->value, strlen(s->value), &x))
            return x;
    }
    return p->others ? p->sparsity : NAN;
}

static hone_status read_pruning(const hn_recipe_step *s, const hn_pruning_kind **kind,
                                hn_pruning *p, hn_error *err) {
    *p = (hn_pruning){.sparsity = hn_step_number(s, "sparsity"),
                      .others = hn_step_setting(s, "sparsity") != NULL ||
                                hn_step_setting(s, "layer-sparsity") == NULL,
                      .global = strcmp(hn_step_word(s, "scope"), "global") == 0,
                      .only = hn_step_word(s, "only"),
                      .except = hn_step_word(s, "except"),
                      .step = s};
    bool masked = hn_step_setting(s, "mask") != NULL;
    const char *word =
        masked && hn_step_setting(s, "kind") == NULL ? "mask" : hn_step_word(s, "kind");
    HN_TRY(read_pattern(hn_step_word(s, "pattern"), p, err));
    HN_TRY(hn_prune_channels_check(s, err));
    HN_TRY(read_kind(word, kind, p, err));
    HN_CHECK(err, masked == ((*kind)->run == hn_prune_mask), HONE_E_ARG,
             masked ? "a mask says what goes: kind '%s' does not take one"
                    : "kind '%s' wants mask=FILE.npz",
             (*kind)->name);
    HN_CHECK(err, !p->global || p->m == 0, HONE_E_ARG,
             "N of each M weights stay in every layer: scope=global does not go with it");
    return check_layers(*kind, p, err);
}

hone_status hn_plan_prune(hn_compress_plan *plan, const hn_recipe_step *s, hn_error *err) {
    const hn_pruning_kind *kind;
    hn_pruning p;
    hn_prune_limits limits;
    (void)plan;
    HN_TRY(read_pruning(s, &kind, &p, err));
    return hn_prune_read_limits(&limits, kind, &p, err);
}

hone_status hn_prune_step(hn_transform_ctx *c, const hn_recipe_step *s, hn_model *inputs_of,
                          hn_error *err) {
    const hn_pruning_kind *kind;
    hn_pruning p;
    HN_TRY(read_pruning(s, &kind, &p, err));
    HN_CHECK(err, !kind->needs_data || c->feed != NULL, HONE_E_ARG,
             "kind '%s' wants samples to look at", kind->name);
    p.inputs_of = inputs_of;
    return kind->run(c, &p, err);
}

/* The line that is done in the place of one with limits. */
static hone_status find_line(hn_transform_ctx *c, const hn_recipe_step *s, hn_arena *arena,
                             hn_recipe_step *line, hn_error *err) {
    const hn_pruning_kind *kind;
    hn_pruning p;
    hn_prune_search search = {.c = c, .arena = arena};
    HN_TRY(read_pruning(s, &kind, &p, err));
    HN_TRY(hn_prune_read_limits(&search.limits, kind, &p, err));
    search.kind = kind;
    search.p = &p;
    return hn_prune_find(&search, line, err);
}

hone_status hn_transform_prune(hn_transform_ctx *c, hn_error *err) {
    const hn_recipe_step usual = {.transform = hn_transform_named("prune")};
    const hn_recipe_step *s = c->step != NULL ? c->step : &usual;
    hn_recipe_step line;
    hn_arena arena;
    bool limited = false;
    for (int i = 0; i < s->n; i++) limited = limited || s->v[i].param->limit;
    if (!limited) return hn_prune_step(c, s, NULL, err);
    hn_arena_init(&arena, c->alloc, HN_MEM_SCRATCH);
    hone_status status = find_line(c, s, &arena, &line, err);
    if (status == HONE_OK) status = hn_prune_step(c, &line, NULL, err);
    hn_arena_deinit(&arena);
    return status;
}

#include "compress/prune_search.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "compress/budget.h"
#include "compress/judge.h"
#include "compress/turns.h"
#include "measure/gate.h"
#include "ops/infer.h"

enum { PARTS = 1000 }; /* of all units, a share is so many of: the recipe has it in three digits */

/* ---- parameters ---- */

/* "1%", "0.01", "1%rel". */
static hone_status read_drop(const char *text, hn_prune_limits *l, hn_error *err) {
    int end = 0;
    l->max_drop = -1;
    if (text == NULL) return HONE_OK;
    bool good = sscanf(text, "%lf%n", &l->max_drop, &end) == 1;
    if (good && text[end] == '%') {
        l->max_drop /= 100;
        end++;
    }
    l->relative = good && strcmp(text + end, "rel") == 0;
    HN_CHECK(err,
             good && l->max_drop >= 0 && l->max_drop <= 1 && (text[end] == '\0' || l->relative),
             HONE_E_ARG, "max-drop '%.40s', expected a share such as 1%%, 0.01 or 1%%rel", text);
    return HONE_OK;
}

/* "60%", "5ms". */
static hone_status read_latency(const char *text, hn_prune_limits *l, hn_error *err) {
    int end = 0;
    double x = 0;
    if (text == NULL) return HONE_OK;
    bool good = sscanf(text, "%lf%n", &x, &end) == 1 && x > 0 && isfinite(x);
    bool share = good && strcmp(text + end, "%") == 0 && x < 100;
    HN_CHECK(err, share || (good && strcmp(text + end, "ms") == 0), HONE_E_ARG,
             "max-latency '%.40s', expected a share of the time before, like 60%%, or a time, like "
             "5ms",
             text);
    *(share ? &l->max_share : &l->max_ms) = share ? x / 100 : x;
    return HONE_OK;
}

/* Limits take the place of these. */
static hone_status check_alone(const hn_recipe_step *s, const char *limit, hn_error *err) {
    static const char *const shares[] = {"sparsity", "layer-sparsity", "max-macs"};
    if (hn_step_setting(s, limit) == NULL) return HONE_OK;
    for (int i = 0; i < 3; i++)
        HN_CHECK(err, hn_step_setting(s, shares[i]) == NULL, HONE_E_ARG,
                 "%s finds how much goes: %s does not go with it", limit, shares[i]);
    return HONE_OK;
}

hone_status hn_prune_read_limits(hn_prune_limits *l, const hn_pruning_kind *kind,
                                 const hn_pruning *p, hn_error *err) {
    *l = (hn_prune_limits){.scan = hn_step_flag(p->step, "scan")};
    HN_TRY(read_drop(hn_step_word(p->step, "max-drop"), l, err));
    HN_TRY(read_latency(hn_step_word(p->step, "max-latency"), l, err));
    HN_TRY(check_alone(p->step, "max-drop", err));
    HN_TRY(check_alone(p->step, "max-latency", err));
    bool limited = l->max_drop >= 0, timed = l->max_share > 0 || l->max_ms > 0;
    HN_CHECK(err, !limited || !timed, HONE_E_ARG,
             "max-drop and max-latency both find how much goes, expected one of them");
    HN_CHECK(
        err, !timed || !kind->zeros, HONE_E_ARG,
        "max-latency is for kinds that make the model smaller: channels, heads, residuals; kind "
        "'%s' makes weights zero",
        kind->name);
    HN_CHECK(err, !timed || !hn_step_flag(p->step, "keep-shapes"), HONE_E_ARG,
             "max-latency wants channels to go: keep-shapes does not go with it");
    HN_CHECK(err, !limited || p->m == 0, HONE_E_ARG,
             "N of each M weights stay in every layer: max-drop has nothing to choose");
    HN_CHECK(err, !limited || kind->run != hn_prune_mask, HONE_E_ARG,
             "a mask says what goes: max-drop has nothing to choose");
    HN_CHECK(err, !l->scan || (kind->zeros && kind->run != hn_prune_mask && p->m == 0), HONE_E_ARG,
             "scan is for kinds that make a share of the weights of each layer zero");
    return HONE_OK;
}

/* ---- lines ---- */

hone_status hn_prune_line(const hn_prune_search *s, const char *const *but, int room,
                          hn_recipe_step *out, hn_error *err) {
    const hn_recipe_step *from = s->p->step;
    *out = (hn_recipe_step){.transform = from->transform};
    out->v = hn_arena_array(s->arena, (size_t)from->n + (size_t)room + 1, sizeof *out->v);
    if (out->v == NULL) return HN_NOMEM(err);
    for (int i = 0; i < from->n; i++) {
        bool kept = !from->v[i].param->limit;
        for (int k = 0; but != NULL && but[k] != NULL; k++)
            kept = kept && strcmp(but[k], from->v[i].param->name) != 0;
        if (kept) out->v[out->n++] = from->v[i];
    }
    return HONE_OK;
}

void hn_prune_set(hn_recipe_step *s, const char *name, const char *pattern, const char *value) {
    s->v[s->n++] = (hn_setting){hn_transform_param(s->transform, name), pattern, value};
}

/* The recipe gets what the line has and the step has not. */
static hone_status tell_found(const hn_prune_search *s, const hn_recipe_step *line, hn_error *err) {
    for (int i = 0; i < line->n; i++) {
        const hn_setting *v = &line->v[i];
        const char *pattern = v->pattern != NULL ? v->pattern : "";
        if (hn_step_setting(s->p->step, v->param->name) != NULL) continue;
        size_t room = strlen(v->param->name) + strlen(pattern) + strlen(v->value) + 3;
        char *text = hn_arena_alloc(s->arena, room);
        if (text == NULL) return HN_NOMEM(err);
        snprintf(text, room, "%s%s%s=%s", v->param->name, v->pattern != NULL ? ":" : "", pattern,
                 v->value);
        HN_TRY(hn_shrinking_found(s->c, text, err));
    }
    return HONE_OK;
}

/* ---- what is tried ---- */

/* Whatever is done within a try, people are told of the tries. */
static bool tick(void *ctx, int64_t done, int64_t total) {
    const hn_prune_search *s = ctx;
    (void)done;
    (void)total;
    return s->c->progress == NULL || s->c->progress(s->c->progress_ctx, s->done, s->total);
}

hone_status hn_prune_tried(hn_prune_search *s, hn_error *err) {
    s->done++;
    HN_CHECK(err, tick(s, 0, 0), HONE_E_LIMIT, "stopped after %lld of %lld models were tried",
             (long long)s->done, (long long)s->total);
    return HONE_OK;
}

hone_status hn_prune_try(hn_prune_search *s, const hn_recipe_step *line, hn_model *inputs_of,
                         hn_model **out, hn_shrinking *told, int64_t *changed, hn_error *err) {
    hn_transform_ctx c = *s->c;
    hn_shrinking own;
    hn_model *m = NULL;
    hone_status status = HONE_OK;
    hn_shrinking_init(&own, s->c->alloc);
    c.shrinking = told != NULL ? told : &own;
    if (s->c->shrinking != NULL) c.shrinking->early = s->c->shrinking->early;
    c.changed = 0;
    c.progress = tick;
    c.progress_ctx = s;
    HN_TRY_GOTO(hn_model_clone(&m, s->c->model, s->c->alloc, err));
    HN_TRY_GOTO(hn_model_infer(m, NULL, err));
    c.model = m;
    HN_TRY_GOTO(hn_prune_step(&c, line, inputs_of, err));
    HN_TRY_GOTO(hn_model_infer(m, NULL, err));
    if (changed != NULL) *changed = c.changed;
    *out = m;
    m = NULL;
fail:
    c.shrinking->early = NULL;
    hn_model_destroy(m);
    hn_shrinking_deinit(&own);
    return status;
}

/* ---- how good it is ---- */

hone_status hn_prune_judges(const hn_prune_search *s, bool may_lack, hn_dataset **out,
                            hn_error *err) {
    const hn_transform_ctx *c = s->c;
    hn_dataset *d = c->training != NULL && c->training->val != NULL ? c->training->val
                    : c->feed != NULL                               ? hn_feed_dataset(c->feed)
                                                                    : NULL;
    const char *how = d != NULL ? hn_dataset_how_labelled(d) : NULL;
    bool good = d != NULL && (hn_dataset_has_labels(d) || hn_dataset_n_targets(d) > 0);
    *out = good ? d : NULL;
    if (may_lack) return HONE_OK;
    HN_CHECK(err, d != NULL, HONE_E_ARG,
             "max-drop is judged on samples with labels, and no samples are given");
    HN_CHECK(err, good, HONE_E_ARG,
             "max-drop is judged on samples with labels or targets, and those to judge by have "
             "none%s%s",
             how != NULL ? "; they get labels by " : "", how != NULL ? how : "");
    return HONE_OK;
}

typedef struct gate {
    hn_dataset *judges;
    hn_judgement before;
    double failed; /* the score of the gentlest that was not good enough; NaN: none was */
} gate;

static hone_status open_gate(gate *g, hn_prune_search *s, hn_error *err) {
    const hn_transform_ctx *c = s->c;
    *g = (gate){.before.value = NAN, .failed = NAN};
    HN_TRY(hn_prune_judges(s, false, &g->judges, err));
    HN_TRY(hn_judge(&g->before, c->model, g->judges, c->how, c->alloc, err));
    HN_CHECK(err, !isnan(g->before.value), HONE_E_ARG,
             "max-drop: no metric is known to suit the model and the samples to judge by");
    return hn_prune_tried(s, err);
}

/* Whether the model that the line gives is good enough; one that nothing was taken from is. */
static hone_status passes(gate *g, hn_prune_search *s, const hn_recipe_step *line, bool *good,
                          bool *same, hn_error *err) {
    const hn_transform_ctx *c = s->c;
    hn_judgement j = g->before;
    hn_model *m;
    int64_t changed;
    HN_TRY(hn_prune_try(s, line, NULL, &m, NULL, &changed, err));
    hone_status status = changed > 0 ? hn_judge(&j, m, g->judges, c->how, c->alloc, err) : HONE_OK;
    hn_model_destroy(m);
    if (status != HONE_OK) return status;
    *same = changed == 0;
    *good = hn_gate_margin(j.value, g->before.value, s->limits.max_drop, s->limits.relative,
                           j.lower_better) >= 0;
    if (!*good) g->failed = j.value;
    return hn_prune_tried(s, err);
}

static hone_status refuse(const gate *g, const hn_prune_search *s, const char *least,
                          hn_error *err) {
    double unit = g->before.is_share ? 100 : 1;
    const char *percent = g->before.is_share ? " %" : "";
    double bound = hn_gate_bound(g->before.value, s->limits.max_drop, s->limits.relative,
                                 g->before.lower_better);
    return HN_FAIL(err, HONE_E_NOT_FOUND,
                   "max-drop %s: nothing can go within it. %s was %.4g%s; with %s it is %.4g%s, "
                   "wanted %.4g%s",
                   hn_step_word(s->p->step, "max-drop"), g->before.metric, unit * g->before.value,
                   percent, least, unit * g->failed, percent, unit * bound, percent);
}

/* ---- one share for all ---- */

/* How many of n are tried to find the last that is good enough. */
static int64_t halvings(int64_t n) {
    int64_t tries = 0;
    for (; n > 0; n /= 2) tries++;
    return tries;
}

/* Of channels and their like so many of all groups go together, unless the line says otherwise. */
static hone_status share_line(const hn_prune_search *s, int part, const char *const *but,
                              hn_recipe_step *line, hn_error *err) {
    char text[16];
    snprintf(text, sizeof text, "%.3f", (double)part / PARTS);
    HN_TRY(hn_prune_line(s, but, 2, line, err));
    char *value = hn_arena_strdup(s->arena, text);
    if (value == NULL) return HN_NOMEM(err);
    if (hn_step_setting(line, "scope") == NULL) hn_prune_set(line, "scope", NULL, "global");
    hn_prune_set(line, "sparsity", NULL, value);
    return HONE_OK;
}

/* The greatest share that is good enough: below lo all are, from hi on none is. One that leaves some
 * layer nothing is not. */
static hone_status find_share(hn_prune_search *s, hn_recipe_step *found, hn_error *err) {
    gate g;
    char least[80];
    int lo = 0, hi = PARTS;
    bool taken = false;
    hn_error why = {.status = HONE_OK};
    s->total = s->done + 1 + halvings(PARTS - 1);
    HN_TRY(open_gate(&g, s, err));
    while (hi - lo > 1) {
        int middle = lo + (hi - lo) / 2;
        bool good = false, same = false;
        hn_recipe_step line;
        HN_TRY(share_line(s, middle, NULL, &line, err));
        hone_status status = passes(&g, s, &line, &good, &same, err);
        if (status == HONE_E_ARG && s->kind->zeros)
            why = err != NULL ? *err : (hn_error){.status = status};
        else if (status != HONE_OK)
            return status;
        *(good ? &lo : &hi) = middle;
        taken = good ? !same : taken;
    }
    if (taken) return share_line(s, lo, NULL, found, err);
    snprintf(least, sizeof least, "a share of %.3f gone", (double)hi / PARTS);
    if (!isnan(g.failed)) return refuse(&g, s, least, err);
    if (why.status != HONE_OK) {
        if (err != NULL) *err = why;
        return HONE_E_ARG;
    }
    return HN_FAIL(err, HONE_E_NOT_FOUND, "max-drop: there is nothing that kind '%s' may take away",
                   s->kind->name);
}

/* ---- one share for all, by time ---- */

typedef struct race {
    hn_turns turns;
    double was_ms, is_ms; /* of the last one that was timed */
} race;

/* Whether the model without so many parts of its units is fast enough. What makes up for them takes
 * no time in a run, and is left out. */
static hone_status is_fast(race *r, hn_prune_search *s, int part, bool *fast, hn_error *err) {
    static const char *const idle[] = {"compensate", NULL};
    hn_recipe_step line;
    hn_model *m;
    HN_TRY(share_line(s, part, idle, &line, err));
    HN_TRY(hn_prune_try(s, &line, NULL, &m, NULL, NULL, err));
    hone_status status = hn_turns_time(&r->turns, m, &r->was_ms, &r->is_ms, err);
    hn_model_destroy(m);
    if (status != HONE_OK) return status;
    *fast = r->is_ms <= (s->limits.max_ms > 0 ? s->limits.max_ms : s->limits.max_share * r->was_ms);
    return hn_prune_tried(s, err);
}

/* The least share that is fast enough: up to lo none is, from hi on all are. What was taken because a
 * run happened to be fast is found out by timing it again; then a little more goes. */
static hone_status find_fast(race *r, hn_prune_search *s, hn_recipe_step *found, hn_error *err) {
    enum { AGAIN = 8, MORE = PARTS / 50 };
    int lo = -1, hi = PARTS - 1;
    bool fast;
    s->total = s->done + 2 + halvings(PARTS);
    HN_TRY(is_fast(r, s, hi, &fast, err));
    HN_CHECK(err, fast, HONE_E_NOT_FOUND,
             "max-latency %s: with all gone that kind '%s' may take away, a run takes %.4g ms, "
             "%.3g %% of the %.4g ms before",
             hn_step_word(s->p->step, "max-latency"), s->kind->name, r->is_ms,
             100 * r->is_ms / r->was_ms, r->was_ms);
    while (hi - lo > 1) {
        int middle = lo + (hi - lo) / 2;
        HN_TRY(is_fast(r, s, middle, &fast, err));
        *(fast ? &hi : &lo) = middle;
    }
    for (int i = 0; i < AGAIN; i++) {
        HN_TRY(is_fast(r, s, hi, &fast, err));
        if (fast || hi == PARTS - 1) break;
        hi = hi + MORE < PARTS ? hi + MORE : PARTS - 1;
    }
    HN_CHECK(err, fast, HONE_E_NOT_FOUND,
             "max-latency %s: times differ from run to run; at a share of %.3f gone a run takes "
             "%.4g ms, %.3g %% of the %.4g ms before",
             hn_step_word(s->p->step, "max-latency"), (double)hi / PARTS, r->is_ms,
             100 * r->is_ms / r->was_ms, r->was_ms);
    return share_line(s, hi, NULL, found, err);
}

static hone_status find_by_time(hn_prune_search *s, hn_recipe_step *found, hn_error *err) {
    race r;
    hone_status status = hn_turns_begin(&r.turns, s->c, err);
    if (status == HONE_OK) status = find_fast(&r, s, found, err);
    hn_turns_deinit(&r.turns);
    return status;
}

/* ---- a share for each layer ---- */

typedef struct front {
    const hn_layer_scan *scan;
    int *first, *at; /* of each layer: level + 1, or 0 where it stays */
    int n_moves;
    hn_budget_move *moves;
} front;

/* From nothing pruned to all layers at the greatest share, by what keeps most for the noise. */
static hone_status find_front(front *f, const hn_prune_search *s, hn_error *err) {
    const hn_layer_scan *x = f->scan;
    size_t n = (size_t)x->n, each = HN_SCAN_LEVELS + 1;
    hn_budget_choice *choices = hn_arena_array(s->arena, n * each, sizeof *choices);
    f->moves = hn_arena_array(s->arena, n * each, sizeof *f->moves);
    f->first = hn_arena_array(s->arena, n, sizeof *f->first);
    f->at = hn_arena_array(s->arena, n, sizeof *f->at);
    if (choices == NULL || f->moves == NULL || f->first == NULL || f->at == NULL)
        return HN_NOMEM(err);
    for (size_t i = 0; i < n; i++) {
        choices[i * each] = (hn_budget_choice){0, (double)x->weights[i]};
        for (size_t l = 0; l < HN_SCAN_LEVELS; l++)
            choices[i * each + l + 1] = (hn_budget_choice){x->noise[i * HN_SCAN_LEVELS + l],
                                                           (double)x->kept[i * HN_SCAN_LEVELS + l]};
    }
    return hn_budget_moves(choices, x->n, (int)each, s->c->alloc, f->first, f->moves, &f->n_moves,
                           err);
}

/* The line after so many moves. */
static hone_status point_line(front *f, const hn_prune_search *s, int point, hn_recipe_step *line,
                              hn_error *err) {
    const hn_layer_scan *x = f->scan;
    HN_TRY(hn_prune_line(s, NULL, x->n, line, err));
    memcpy(f->at, f->first, (size_t)x->n * sizeof *f->at);
    for (int i = 0; i < point; i++) f->at[f->moves[i].layer] = f->moves[i].to;
    for (int i = 0; i < x->n; i++)
        if (f->at[i] > 0)
            hn_prune_set(line, "layer-sparsity", x->layers[i], hn_scan_levels[f->at[i] - 1]);
    return HONE_OK;
}

static bool takes_away(const hn_recipe_step *line) {
    return hn_step_setting(line, "layer-sparsity") != NULL;
}

static hone_status find_shares(hn_prune_search *s, const hn_layer_scan *scan, hn_recipe_step *found,
                               hn_error *err) {
    front f = {.scan = scan};
    gate g;
    HN_TRY(find_front(&f, s, err));
    s->total = s->done + 1 + halvings(f.n_moves);
    HN_TRY(open_gate(&g, s, err));
    int lo = 0, hi = f.n_moves + 1;
    while (hi - lo > 1) {
        int middle = lo + (hi - lo) / 2;
        bool good, same;
        hn_recipe_step line;
        HN_TRY(point_line(&f, s, middle, &line, err));
        HN_TRY(passes(&g, s, &line, &good, &same, err));
        *(good ? &lo : &hi) = middle;
    }
    HN_TRY(point_line(&f, s, lo, found, err));
    if (takes_away(found)) return HONE_OK;
    char least[200];
    HN_CHECK(err, f.n_moves > 0, HONE_E_NOT_FOUND,
             "max-drop: no layer has weights that can go: those that are not zero are few");
    const hn_budget_move *m = &f.moves[0];
    snprintf(least, sizeof least, "%g %% of '%.120s' gone", 100 * scan->levels[m->to - 1],
             scan->layers[m->layer]);
    return refuse(&g, s, least, err);
}

/* ---- the whole ---- */

static hone_status scan_layers(hn_prune_search *s, hn_layer_scan *scan, hn_error *err) {
    hn_shrinking *told = s->c->shrinking;
    hn_dataset *judges;
    HN_TRY(hn_prune_judges(s, s->limits.max_drop < 0, &judges, err));
    s->total = HN_SCAN_LEVELS;
    HN_TRY(hn_prune_scan(s, s->limits.scan ? judges : NULL, scan,
                         told != NULL ? &told->arena : s->arena, err));
    if (told != NULL) told->scan = *scan;
    return HONE_OK;
}

hone_status hn_prune_find(hn_prune_search *s, hn_recipe_step *found, hn_error *err) {
    bool limited = s->limits.max_drop >= 0, each = s->kind->zeros && !s->p->global;
    hn_layer_scan scan;
    if (s->limits.scan || (limited && each)) HN_TRY(scan_layers(s, &scan, err));
    if (s->limits.max_share > 0 || s->limits.max_ms > 0)
        HN_TRY(find_by_time(s, found, err));
    else if (!limited)
        HN_TRY(hn_prune_line(s, NULL, 0, found, err));
    else if (each)
        HN_TRY(find_shares(s, &scan, found, err));
    else
        HN_TRY(find_share(s, found, err));
    return tell_found(s, found, err);
}

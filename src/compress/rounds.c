#include "compress/rounds.h"

#include <math.h>
#include <string.h>

#include "base/decimal.h"

enum { LINEAR, CUBIC, SHARE };

const char *hn_ramp_word(int i) {
    static const char *const words[] = {"linear", "cubic", "share", NULL};
    return words[i];
}

double hn_ramp_at(const char *ramp, double sparsity, int64_t i, int64_t n) {
    double t = (double)i / (double)n, left = 1 - t;
    if (i >= n) return sparsity;
    if (strcmp(ramp, hn_ramp_word(LINEAR)) == 0) return sparsity * t;
    if (strcmp(ramp, hn_ramp_word(CUBIC)) == 0) return sparsity * (1 - left * left * left);
    return 1 - pow(1 - sparsity, t);
}

/* The last step of a recipe, with what is set in another, but for those names. */
static hone_status add(hn_recipe *r, const char *transform, const hn_recipe_step *like,
                       const char *const *but, hn_error *err) {
    HN_TRY(hn_recipe_add(r, hn_transform_named(transform), err));
    for (int i = 0; like != NULL && i < like->n; i++) {
        bool copied = true;
        for (int k = 0; but != NULL && but[k] != NULL; k++)
            copied = copied && strcmp(like->v[i].param->name, but[k]) != 0;
        if (copied) HN_TRY(hn_recipe_keep(r, &r->steps[r->n - 1], &like->v[i], err));
    }
    return HONE_OK;
}

static hone_status set(hn_recipe *r, hn_error *err, const char *name, double v) {
    return hn_recipe_setf(r, &r->steps[r->n - 1], err, "%s=%.6g", name, v);
}

/* The line of round i of n. */
static hone_status add_round(hn_recipe *r, const hn_recipe_step *prune, int64_t i, int64_t n,
                             hn_error *err) {
    static const char *const own[] = {"rounds",   "ramp",           "ticket",
                                      "sparsity", "layer-sparsity", NULL};
    const char *ramp = hn_step_word(prune, "ramp");
    bool layers = hn_step_setting(prune, "layer-sparsity") != NULL;
    HN_TRY(add(r, "prune", prune, own, err));
    if (!layers || hn_step_setting(prune, "sparsity") != NULL)
        HN_TRY(set(r, err, "sparsity", hn_ramp_at(ramp, hn_step_number(prune, "sparsity"), i, n)));
    for (int k = 0; k < prune->n; k++) {
        const hn_setting *s = &prune->v[k];
        double x;
        if (strcmp(s->param->name, "layer-sparsity") != 0 ||
            !hn_decimal_f64(s->value, strlen(s->value), &x))
            continue;
        HN_TRY(hn_recipe_setf(r, &r->steps[r->n - 1], err, "layer-sparsity:%s=%.6g", s->pattern,
                              hn_ramp_at(ramp, x, i, n)));
    }
    return HONE_OK;
}

static hone_status add_rounds(hn_recipe *r, const hn_recipe_step *prune,
                              const hn_recipe_step *train, hn_error *err) {
    static const char *const keep[] = {"keep", NULL};
    int64_t n = (int64_t)hn_step_number(prune, "rounds");
    for (int i = 0; i < prune->n; i++)
        HN_CHECK(err, !prune->v[i].param->limit, HONE_E_ARG,
                 "%s is for one round: in several, sparsity says how much goes",
                 prune->v[i].param->name);
    double ticket = hn_step_number(prune, "ticket");
    if (!isnan(ticket)) {
        HN_TRY(add(r, "train", train, keep, err));
        HN_TRY(set(r, err, "keep", ticket));
    }
    for (int64_t i = 1; i <= n; i++) {
        HN_TRY(add_round(r, prune, i, n, err));
        if (!isnan(ticket)) HN_TRY(add(r, "rewind", NULL, NULL, err));
        HN_TRY(add(r, "train", train, isnan(ticket) ? NULL : keep, err));
    }
    return HONE_OK;
}

static bool has_rounds(const hn_recipe_step *s) {
    return strcmp(s->transform->name, "prune") == 0 &&
           (hn_step_number(s, "rounds") > 1 || hn_step_setting(s, "ticket") != NULL);
}

static hone_status expand(hn_recipe *out, const hn_recipe *r, hn_error *err) {
    *out = *r;
    out->n = 0;
    for (int i = 0; i < r->n; i++) {
        const hn_recipe_step *s = &r->steps[i], *next = i + 1 < r->n ? s + 1 : NULL;
        if (!has_rounds(s)) {
            HN_TRY(hn_recipe_add(out, s->transform, err));
            out->steps[out->n - 1] = *s;
            continue;
        }
        HN_CHECK(err, next != NULL && strcmp(next->transform->name, "train") == 0, HONE_E_ARG,
                 "pruning in rounds wants training between them: a line 'train' behind 'prune'");
        HN_TRY(add_rounds(out, s, next, err));
        i++;
    }
    return HONE_OK;
}

hone_status hn_rounds_expand(hn_recipe *r, hn_error *err) {
    hn_recipe out;
    bool any = false;
    for (int i = 0; i < r->n; i++) any = any || has_rounds(&r->steps[i]);
    if (!any) return HONE_OK;
    HN_TRY(expand(&out, r, err));
    *r = out;
    return HONE_OK;
}

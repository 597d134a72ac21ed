/* Candidates that are trained share the time that is given for it.
 *
 * Training is dear, so it comes last. What a candidate would gain is known before: it is made once
 * with a few steps of training, which leave it inaccurate but as large and as fast as it will be.
 * Only if it would be chosen with good answers is it trained in earnest. Half of the time goes to
 * all of them in equal parts; the other half to those that came nearest to the gate without
 * passing it, one after the other, which are made anew with as many epochs as fit (successive
 * halving). How many epochs that were is in the recipe, so it makes the same bytes again.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "advise/search.h"
#include "base/clock.h"
#include "base/least.h"

#define BATCH 64       /* samples of a step, as transforms that train usually have it */
#define FEW_STEPS 4    /* of training, to try it out */
#define MOST_EPOCHS 60 /* more hardly help a model that was good before */
#define LONGER 2       /* times as many epochs: what is worth another trial */

hone_status hn_trained_settle(const hn_search_state *s, hn_recipe *r, int64_t epochs,
                              hn_error *err) {
    const hn_dataset *data = s->parts.train;
    bool labelled = hn_dataset_has_labels(data) || hn_dataset_n_targets(data) > 0;
    for (int i = 0; i < r->n; i++) {
        hn_recipe_step *step = &r->steps[i];
        if (!hn_step_trains(step)) continue;
        HN_TRY(hn_recipe_setf(r, step, err, "epochs=%lld", (long long)epochs));
        if (hn_transform_param(step->transform, "goal") != NULL)
            HN_TRY(hn_recipe_set(r, step, labelled ? "goal=both" : "goal=teacher", err));
        if (s->o.augment != NULL) HN_TRY(hn_recipe_setf(r, step, err, "augment=%s", s->o.augment));
    }
    return HONE_OK;
}

hone_status hn_trained_few(const hn_search_state *s, hn_dataset **few, hn_error *err) {
    int64_t at[FEW_STEPS * BATCH],
        n = hn_least(FEW_STEPS * BATCH, hn_dataset_count(s->parts.train));
    for (int64_t i = 0; i < n; i++) at[i] = i;
    return hn_dataset_part(few, s->parts.train, at, n, err);
}

double hn_trained_seconds_left(const hn_search_state *s) {
    return fmax(s->o.train_budget - s->trained_seconds, 0);
}

int64_t hn_trained_longest(double epochs) { return (int64_t)fmin(epochs, MOST_EPOCHS); }

int64_t hn_trained_epochs(const hn_search_state *s, double seconds) {
    double epoch = (double)hn_dataset_count(s->parts.train) / s->rate;
    return epoch > 0 && seconds > 0 ? hn_trained_longest(seconds / epoch) : 0;
}

int hn_trained_next(const hn_search_state *s) {
    int best = 0;
    for (int i = 1; i < s->n; i++) {
        const hn_trial *t = &s->trials[i];
        const hone_optimize_row *r = &s->rows[i];
        if (t->epochs == 0 || t->trained_longer || t->passed || isnan(r->drop)) continue;
        if (!(t->train_seconds > 0)) continue; /* a kept one whose seconds are lost */
        double left = hn_trained_seconds_left(s) / t->train_seconds * (double)t->epochs;
        if (!hn_search_would_win(s, r) || hn_trained_longest(left) < LONGER * t->epochs) continue;
        if (best == 0 || r->drop < s->rows[best].drop) best = i;
    }
    return best;
}

/* ---- one of them ---- */

hone_status hn_trained_take_rules(hn_recipe *to, const hn_recipe *from, hn_error *err) {
    const hn_recipe_step *w = hn_recipe_writer(from);
    for (int i = 0; i < w->n; i++)
        if (strcmp(w->v[i].param->name, "layer") == 0)
            HN_TRY(hn_recipe_keep(to, hn_recipe_writer(to), &w->v[i], err));
    return HONE_OK;
}

/* A trial with a few steps of training, for its speed, its size, the layers that stay in f32 and
 * the time that training takes. */
static hone_status try_out(hn_search_state *s, hn_trial *t, hone_optimize_row *row, bool *worth,
                           hn_error *err) {
    hn_trial few = {.candidate = t->candidate, .layer = t->layer};
    hn_compress_plan plan;
    hn_program *p = NULL;
    *worth = false;
    HN_TRY(hn_candidate_recipe(few.candidate, s->o.seed, s->arena, &few.recipe, &plan, err));
    few.recipe.target = s->o.runtime;
    HN_TRY(hn_trained_settle(s, &few.recipe, 1, err));
    HN_TRY(hn_trained_few(s, &s->few, err));
    hone_status status = hn_trial_make(s, &few.recipe, &plan, &few.model, err);
    if (status == HONE_OK) status = hn_trial_time(s, few.model, &p, row, err);
    if (status == HONE_OK) status = hn_trial_keep_fast(s, &few, &plan, &p, row, err);
    hn_program_destroy(p);
    hn_model_destroy(few.model);
    hn_dataset_close(s->few);
    s->few = NULL;
    HN_TRY(status);
    t->in_f32 = few.in_f32;
    HN_TRY(hn_trained_take_rules(&t->recipe, &few.recipe, err));
    bool out;
    HN_TRY(hn_trial_rule_out(s, t, row, &out, err));
    *worth = !out && hn_search_would_win(s, row);
    if (out || *worth) return HONE_OK;
    row->state = "behind";
    row->why = hn_search_text(s,
                              "with good answers it would not be chosen either, so it was not "
                              "trained");
    return row->why != NULL ? HONE_OK : HN_NOMEM(err);
}

/* Its share of the time: half of all, in equal parts. */
static double share_of_time(const hn_search_state *s) {
    double first = s->o.train_budget / 2 - s->trained_seconds;
    return first / (s->to_train > 0 ? s->to_train : 1);
}

/* For how many epochs it is trained; 0: not at all, and its state tells why. */
static hone_status plan_training(hn_search_state *s, hn_trial *t, hone_optimize_row *row,
                                 hn_error *err) {
    bool worth;
    HN_TRY(try_out(s, t, row, &worth, err));
    if (!worth) return HONE_OK;
    double left = hn_trained_seconds_left(s);
    t->epochs = hn_trained_epochs(s, share_of_time(s));
    if (t->epochs == 0) t->epochs = hn_least(1, hn_trained_epochs(s, left));
    if (t->epochs > 0) return HONE_OK;
    row->state = "skipped";
    row->why = hn_search_text(s, "an epoch takes about %.3g s, and %.3g s are left to train in",
                              (double)hn_dataset_count(s->parts.train) / s->rate, left);
    return row->why != NULL ? HONE_OK : HN_NOMEM(err);
}

/* Its recipe is settled when it is known for how long it is trained. */
static hone_status train(hn_search_state *s, hn_trial *t, hn_error *err) {
    hn_compress_plan plan;
    int64_t begun = hn_clock_ns();
    HN_TRY(hn_trained_settle(s, &t->recipe, t->epochs, err));
    HN_TRY(hn_compress_plan_make(&plan, &t->recipe, err));
    HN_TRY(hn_trial_make(s, &t->recipe, &plan, &t->model, err));
    t->train_seconds = (double)(hn_clock_ns() - begun) * 1e-9;
    return hn_kept_store(s, t, err);
}

hone_status hn_trained_run(hn_search_state *s, hn_trial *t, hone_optimize_row *row, hn_error *err) {
    hn_program *p = NULL;
    HN_TRY(hn_kept_recall(s, t, err));
    if (t->epochs == 0) HN_TRY(plan_training(s, t, row, err));
    if (t->epochs == 0) return HONE_OK;
    if (t->model == NULL) HN_TRY(train(s, t, err));
    row->help = hn_search_text(s, "%s; %lld epochs%s%s", t->candidate->help, (long long)t->epochs,
                               t->in_f32 != NULL ? "; " : "", t->in_f32 != NULL ? t->in_f32 : "");
    if (row->help == NULL) return HN_NOMEM(err);
    hone_status status = hn_trial_time(s, t->model, &p, row, err);
    if (status == HONE_OK) status = hn_trial_judge(s, t, p, row, err);
    hn_program_destroy(p);
    return status;
}

#include "compress/course.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "compress/judge.h"
#include "compress/shrinking.h"

const char *hn_course_optimizer_word(int i) {
    return i < hn_n_optimizers ? hn_optimizers[i]->name : NULL;
}

const char *hn_course_schedule_word(int i) {
    return i < hn_n_schedules ? hn_schedules[i]->name : NULL;
}

hone_status hn_course_begin(hn_course *k, hn_transform_ctx *c, const hn_recipe_step *s,
                            hn_error *err) {
    hn_training_options *o = &k->o;
    double rate = hn_step_number(s, "rate");
    *k = (hn_course){.c = c, .best = NAN};
    *o = (hn_training_options){.batch = (int64_t)hn_step_number(s, "batch"),
                               .seed = c->seed,
                               .augment = hn_step_word(s, "augment"),
                               .readers = 1,
                               .rates = {.rate = rate, .factor = 0.1},
                               .step = {.loss_options = {.delta = 1},
                                        .optimizer_options = hn_optimizer_defaults(),
                                        .relative = true}};
    o->step.optimizer_options.decay = hn_step_number(s, "decay");
    HN_TRY(hn_optimizer_find(hn_step_word(s, "optimizer"), &o->step.optimizer, err));
    HN_TRY(hn_schedule_find(hn_step_word(s, "schedule"), &o->schedule, err));
    if (isnan(rate)) o->rates.rate = o->step.optimizer->steady ? 2e-3 : 0.01;
    k->at = (hn_told_epoch){.epochs = (int64_t)hn_step_number(s, "epochs"),
                            .loss = NAN,
                            .rate = NAN,
                            .score = NAN,
                            .float_score = NAN};
    return HONE_OK;
}

void hn_course_deinit(hn_course *k) {
    hn_model_destroy(k->trained);
    k->trained = NULL;
}

void hn_course_teach(hn_course *k, const hn_recipe_step *s, const hn_model *by, double alpha) {
    k->teacher = (hn_teacher){.model = by, .weight = 1, .last = HN_ALL_CLASSES};
    k->o.step.distill = (hn_distill_options){.n_teachers = 1,
                                             .teachers = &k->teacher,
                                             .temperature = hn_step_number(s, "temperature"),
                                             .alpha = alpha};
}

/* ---- judging ---- */

/* How well m does on the samples to judge by. */
static hone_status judge(hn_course *k, const hn_model *m, double *score, hn_error *err) {
    hn_transform_ctx *c = k->c;
    hn_judgement v = {.value = *score, .is_share = k->at.is_share, .lower_better = k->lower_better};
    memcpy(v.metric, k->at.metric, sizeof v.metric);
    HN_TRY(hn_judge(&v, m, c->training->val, c->how, c->alloc, err));
    *score = v.value;
    k->at.is_share = v.is_share;
    k->lower_better = v.lower_better;
    memcpy(k->at.metric, v.metric, sizeof v.metric);
    return HONE_OK;
}

/* The same of what would be written now. */
static hone_status judge_written(hn_course *k, const hn_model *trained, double *score,
                                 hn_error *err) {
    hn_model *m;
    if (k->written == NULL) return judge(k, trained, score, err);
    HN_TRY(k->written(k, trained, &m, err));
    hone_status status = judge(k, m, score, err);
    hn_model_destroy(m);
    return status;
}

static bool is_judged(const hn_course *k) {
    return k->c->training != NULL && k->c->training->val != NULL;
}

static hone_status tell_epoch(const hn_course *k, hn_error *err) {
    const hn_training_told *t = k->c->training;
    if (t == NULL || t->epoch == NULL || t->epoch(t->ctx, &k->at)) return HONE_OK;
    return HN_FAIL(err, HONE_E_LIMIT, "training was ended");
}

/* Takes trained, whatever becomes of it. */
static void keep(hn_course *k, hn_model *trained) {
    hn_model_destroy(k->trained);
    k->trained = trained;
}

/* How well the model before does, and what is written before any training, which is the first model
 * to keep. */
static hone_status judge_start(hn_course *k, const hn_model *m, hn_error *err) {
    bool first = k->at.epoch == 0;
    hn_model *start;
    k->best = k->at.score = NAN;
    if (!is_judged(k)) return HONE_OK;
    if (first && k->before != NULL) HN_TRY(judge(k, k->before, &k->at.float_score, err));
    HN_TRY(judge_written(k, m, &k->at.score, err));
    HN_TRY(hn_model_clone(&start, m, k->c->alloc, err));
    keep(k, start);
    k->best = k->at.score;
    return first ? tell_epoch(k, err) : HONE_OK;
}

/* ---- training ---- */

static hone_status end_epoch(hn_course *k, hn_training *t, double seconds, hn_error *err) {
    hn_training_place at = hn_training_at(t);
    hn_model *trained;
    HN_TRY(hn_training_model(t, &trained, err));
    k->at.epoch++;
    k->at.loss = at.epoch_loss;
    k->at.rate = at.rate;
    k->at.samples_per_second = (double)(at.per_epoch * at.samples) / seconds;
    bool judged = is_judged(k);
    hone_status status = judged ? judge_written(k, trained, &k->at.score, err) : HONE_OK;
    bool better = !judged || isnan(k->best) ||
                  (k->lower_better ? k->at.score < k->best : k->at.score > k->best);
    k->at.kept = status == HONE_OK && better;
    if (!k->at.kept) {
        hn_model_destroy(trained);
    } else {
        k->best = k->at.score;
        keep(k, trained);
    }
    return status == HONE_OK ? tell_epoch(k, err) : status;
}

static hone_status run_steps(hn_course *k, hn_training *t, hn_error *err) {
    hn_transform_ctx *c = k->c;
    hn_training_place at = hn_training_at(t);
    int64_t before = k->at.epoch * at.per_epoch, total = k->at.epochs * at.per_epoch;
    double seconds = 0;
    if (k->stepped != NULL) HN_TRY(k->stepped(k, t, err));
    while (at.step < at.steps) {
        int64_t begun = hn_clock_ns();
        HN_TRY(hn_training_step(t, err));
        seconds += 1e-9 * (double)(hn_clock_ns() - begun);
        at = hn_training_at(t);
        if (k->stepped != NULL) HN_TRY(k->stepped(k, t, err));
        if (c->progress != NULL &&
            !c->progress(c->progress_ctx, (before + at.step) * at.samples, total * at.samples))
            return HN_FAIL(err, HONE_E_LIMIT, "training was ended");
        if (at.in_epoch > 0) continue;
        HN_TRY(end_epoch(k, t, seconds, err));
        seconds = 0;
    }
    return HONE_OK;
}

hone_status hn_course_run(hn_course *k, const hn_model *m, int64_t epochs, hn_error *err) {
    hn_training *t = NULL;
    keep(k, NULL);
    k->o.epochs = epochs;
    hone_status status = judge_start(k, m, err);
    if (status == HONE_OK) status = hn_training_create(&t, m, k->c->data, &k->o, k->c->how, err);
    if (status == HONE_OK) status = run_steps(k, t, err);
    hn_training_destroy(t);
    return status;
}

/* ---- what was trained ---- */

hone_status hn_course_store(const hn_model *trained, hn_model *m, hn_error *err) {
    for (int i = 0; i < m->graph->n_values; i++) {
        hn_value *v = m->graph->values[i];
        if (v->dead || v->constant == NULL || v->constant->dtype != HONE_DTYPE_F32) continue;
        const hn_value *same = hn_graph_value(trained->graph, v->name);
        const hn_tensor *from = same != NULL ? same->constant : NULL;
        hn_tensor *to;
        if (from == NULL || from->bytes != v->constant->bytes || from->data == NULL ||
            from->bytes == 0 || from->dtype != HONE_DTYPE_F32)
            continue;
        HN_TRY(hn_tensor_create(&to, m->alloc, HN_MEM_WEIGHTS, HONE_DTYPE_F32, v->constant->rank,
                                v->constant->dims, err));
        memcpy(to->data, from->data, from->bytes);
        hn_value_set_constant(v, to);
    }
    return HONE_OK;
}

/* Quantization-aware training: the model learns to answer well with the numbers it will have.
 *
 *     float model ─▶ fake.h ─▶ training (train/training.h) ─▶ weights and scales, for `quantize`
 *          └─ teacher: its outputs are what the training aims at, unless labels are wanted
 *
 * Weights, biases and all scales are trained (LSQ); scales start from the ranges of the calibration
 * and the grids of weights, zero points stay. BatchNormalization has been folded before, as it will
 * be in the file. With bits = 8,6,4 the model is trained in 8 bits first, then in 6, then in 4,
 * where layers have as few.
 *
 * With samples to judge by, the model of every epoch is written as it would be in the end and run
 * on them; the best is kept, that before training included: in 8 bits there may be nothing to gain.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "compress/compression.h"
#include "compress/fake.h"
#include "measure/accuracy.h"
#include "ops/infer.h"
#include "train/training.h"

/* ---- parameters ---- */

enum { MOST_BITS = 16, MOST_STEPS = 8 };

static const char *optimizer_word(int i) {
    return i < hn_n_optimizers ? hn_optimizers[i]->name : NULL;
}

static const char *schedule_word(int i) {
    return i < hn_n_schedules ? hn_schedules[i]->name : NULL;
}

/* clang-format off */
const hn_parameter hn_params_qat[] = {
    {"epochs", HN_PARAM_COUNT, "10", "how often to go through the data", 1, 1e6, NULL, false},
    {"batch", HN_PARAM_COUNT, "64", "samples of a step", 1, 1e6, NULL, false},
    {"rate", HN_PARAM_NUMBER, NULL, "the highest learning rate; usually 0.002, of sgd 0.01", 1e-12, 1e6, NULL, false},
    {"optimizer", HN_PARAM_WORD, "adam", "how parameters change by their gradients", 0, 0, optimizer_word, false},
    {"schedule", HN_PARAM_WORD, "cosine", "how the rate changes", 0, 0, schedule_word, false},
    {"decay", HN_PARAM_NUMBER, "0", "decay of weights", 0, 1e3, NULL, false},
    {"augment", HN_PARAM_TEXT, NULL, "changes to samples, flip:crop=4", 0, 0, NULL, false},
    {"bits", HN_PARAM_TEXT, NULL, "bits to begin with and to come down by: 8,6,4", 0, 0, NULL, false},
    {"labels", HN_PARAM_FLAG, NULL, "train by the labels, not by what the float model answers", 0, 0, NULL, false},
    {"temperature", HN_PARAM_NUMBER, "3", "that the scores of both are divided by", 0.01, 100, NULL, false},
    {0},
};
/* clang-format on */

/* "8,6,4": how many, at most MOST_STEPS; 0: it is none. */
static int read_bits(const char *text, int *bits) {
    int n = 0;
    for (const char *at = text; at != NULL; at++) {
        char *end;
        long b = strtol(at, &end, 10);
        if (end == at || b < 1 || b > MOST_BITS || n == MOST_STEPS) return 0;
        if (n > 0 && b >= bits[n - 1]) return 0;
        bits[n++] = (int)b;
        at = end;
        if (*at == '\0') return n;
        if (*at != ',') return 0;
    }
    return n;
}

hone_status hn_plan_qat(hn_compress_plan *p, const hn_recipe_step *s, hn_error *err) {
    const char *bits = hn_step_word(s, "bits");
    int steps[MOST_STEPS];
    hn_augment ignored;
    (void)p;
    HN_CHECK(err, bits == NULL || read_bits(bits, steps) > 0, HONE_E_ARG,
             "bits '%.40s', expected up to %d numbers from %d down to 1, each less than the one "
             "before: 8,6,4",
             bits, MOST_STEPS, MOST_BITS);
    return hn_augment_read(&ignored, hn_step_word(s, "augment"), err);
}

/* ---- the course ---- */

typedef struct course {
    hn_transform_ctx *c;
    hn_training_options o;
    hn_teacher teacher;
    int n_steps, bits[MOST_STEPS]; /* bits 0: as the scheme says */
    hn_scheme scheme;              /* of the current step */
    hn_scheme_rule *rules;
    hn_model *masters; /* the float model with the weights so far */
    hn_told_epoch at;
    double best;
    bool lower_better;
    /* The model to keep: of the last epoch, or of the best of the last step of bits. */
    hn_fakes fakes;
    hn_model *trained;
} course;

/* So many bits at least, where there are integers by ranges found beforehand. */
static void widen(hn_qtype *t, int bits) {
    if (t->dtype == HONE_DTYPE_NONE || bits <= t->bits) return;
    bool sign = hn_dtype_is_signed(t->dtype);
    t->bits = bits;
    t->reduced = false;
    if (bits <= hone_dtype_bits(t->dtype)) return;
    t->dtype = bits <= 8 ? (sign ? HONE_DTYPE_S8 : HONE_DTYPE_U8)
                         : (sign ? HONE_DTYPE_S16 : HONE_DTYPE_U16);
}

static void set_bits(course *k, int bits) {
    const hn_scheme *s = k->c->scheme;
    k->scheme = *s;
    k->scheme.rules = k->rules;
    for (int i = -1; i < s->n_rules; i++) {
        hn_layer_scheme *l = i < 0 ? &k->scheme.layer : &k->rules[i].layer;
        if (i >= 0) k->rules[i] = s->rules[i];
        if (l->kind != HN_LAYER_WEIGHTS && l->kind != HN_LAYER_STATIC) continue;
        widen(&l->weights, bits);
        if (l->kind == HN_LAYER_STATIC) widen(&l->activations, bits);
    }
}

static hone_status run_program(void *ctx, const hn_tensor *const *in, hn_tensor **out,
                               hn_error *err) {
    return hn_program_run(ctx, in, out, err);
}

/* How well m does on the samples to judge by. */
static hone_status judge(course *k, const hn_model *m, double *score, hn_error *err) {
    hn_transform_ctx *c = k->c;
    hone_eval_options o = {.size = sizeof o};
    hone_evaluation *e = NULL;
    hn_run_options how = hn_run_options_for(c->how, m);
    hn_program *p;
    HN_TRY(hn_program_create(&p, m, &how, err));
    hone_status status = hn_accuracy_measure(m->graph, run_program, p, c->training->val, &o,
                                             c->alloc, c->alloc, &e, err);
    hn_program_destroy(p);
    if (status == HONE_OK && e->n_metrics > 0) {
        *score = e->metrics[0].value;
        k->at.is_share = e->metrics[0].is_share;
        k->lower_better = e->metrics[0].lower_better;
        snprintf(k->at.metric, sizeof k->at.metric, "%s", e->metrics[0].name);
    }
    hn_evaluation_destroy(e);
    return status;
}

/* The same of what would be written now. */
static hone_status judge_written(course *k, const hn_fakes *f, const hn_model *trained,
                                 double *score, hn_error *err) {
    hn_transform_ctx *c = k->c;
    hn_scheme scheme = k->scheme;
    hn_grids *grids = NULL;
    hn_model *m;
    scheme.integer_io = false;
    HN_TRY(hn_model_clone(&m, c->model, c->alloc, err));
    hone_status status = hn_model_infer(m, NULL, err);
    if (status == HONE_OK) status = hn_grids_create(&grids, c->alloc, err);
    if (status == HONE_OK) status = hn_fakes_apply(f, trained, true, m, grids, err);
    if (status == HONE_OK)
        status =
            hn_quantize_model(m, &scheme, c->calibration, grids, c->how->engine.pool, NULL, err);
    if (status == HONE_OK) status = judge(k, m, score, err);
    hn_grids_destroy(grids);
    hn_model_destroy(m);
    return status;
}

static hone_status tell_epoch(const course *k, hn_error *err) {
    const hn_training_told *t = k->c->training;
    if (t == NULL || t->epoch == NULL || t->epoch(t->ctx, &k->at)) return HONE_OK;
    return HN_FAIL(err, HONE_E_LIMIT, "training was ended");
}

/* Takes trained, whatever becomes of it. */
static void keep(course *k, hn_model *trained) {
    hn_model_destroy(k->trained);
    k->trained = trained;
}

static hone_status end_epoch(course *k, const hn_fakes *f, hn_training *t, double seconds,
                             hn_error *err) {
    const hn_training_told *told = k->c->training;
    hn_training_place at = hn_training_at(t);
    hn_model *trained;
    HN_TRY(hn_training_model(t, &trained, err));
    k->at.epoch++;
    k->at.loss = at.epoch_loss;
    k->at.rate = at.rate;
    k->at.samples_per_second = (double)(at.per_epoch * at.samples) / seconds;
    bool judged = told != NULL && told->val != NULL;
    hone_status status = judged ? judge_written(k, f, trained, &k->at.score, err) : HONE_OK;
    bool better = !judged || isnan(k->best) ||
                  (k->lower_better ? k->at.score < k->best : k->at.score > k->best);
    k->at.kept = status == HONE_OK && better;
    if (status != HONE_OK || !better) {
        hn_model_destroy(trained);
    } else {
        k->best = k->at.score;
        keep(k, trained);
    }
    return status == HONE_OK ? tell_epoch(k, err) : status;
}

static hone_status run_steps(course *k, const hn_fakes *f, hn_training *t, int64_t before,
                             int64_t total, hn_error *err) {
    hn_transform_ctx *c = k->c;
    hn_training_place at = hn_training_at(t);
    double seconds = 0;
    while (at.step < at.steps) {
        int64_t begun = hn_clock_ns();
        HN_TRY(hn_training_step(t, err));
        seconds += 1e-9 * (double)(hn_clock_ns() - begun);
        at = hn_training_at(t);
        if (c->progress != NULL && !c->progress(c->progress_ctx, (before + at.step) * at.samples,
                                                total * at.per_epoch * at.samples))
            return HN_FAIL(err, HONE_E_LIMIT, "training was ended");
        if (at.in_epoch > 0) continue;
        HN_TRY(end_epoch(k, f, t, seconds, err));
        seconds = 0;
    }
    return HONE_OK;
}

/* How well the float model does, and what is written before any training, which is the first model
 * to keep. */
static hone_status judge_start(course *k, const hn_fakes *f, const hn_model *fake, bool first,
                               hn_error *err) {
    const hn_training_told *told = k->c->training;
    hn_model *start;
    k->best = k->at.score = NAN;
    if (told == NULL || told->val == NULL) return HONE_OK;
    if (first) HN_TRY(judge(k, k->c->model, &k->at.float_score, err));
    HN_TRY(judge_written(k, f, fake, &k->at.score, err));
    HN_TRY(hn_model_clone(&start, fake, k->c->alloc, err));
    keep(k, start);
    k->best = k->at.score;
    if (!first) return HONE_OK;
    return tell_epoch(k, err);
}

/* Trains for so many epochs, in the scheme of the step. */
static hone_status run_course(course *k, int step, int64_t epochs, hn_error *err) {
    hn_transform_ctx *c = k->c;
    hn_model *fake = NULL;
    hn_training *t = NULL;
    int64_t total = k->at.epochs;
    hn_fakes_deinit(&k->fakes);
    HN_TRY(hn_model_clone(&fake, k->masters, c->alloc, err));
    hone_status status = hn_model_infer(fake, NULL, err);
    if (status == HONE_OK)
        status = hn_quantize_fake(fake, &k->scheme, c->calibration, c->grids, c->how->engine.pool,
                                  &k->fakes, err);
    k->o.epochs = epochs;
    if (status == HONE_OK) status = judge_start(k, &k->fakes, fake, step == 0, err);
    if (status == HONE_OK) status = hn_training_create(&t, fake, c->data, &k->o, c->how, err);
    int64_t before = status == HONE_OK ? k->at.epoch * hn_training_at(t).per_epoch : 0;
    if (status == HONE_OK) status = run_steps(k, &k->fakes, t, before, total, err);
    hn_training_destroy(t);
    hn_model_destroy(fake);
    return status;
}

static hone_status run_all(course *k, hn_error *err) {
    hn_transform_ctx *c = k->c;
    int64_t left = k->at.epochs;
    hn_grids *none = NULL;
    HN_TRY(hn_model_clone(&k->masters, c->model, c->alloc, err));
    HN_TRY(hn_model_infer(k->masters, NULL, err));
    for (int i = 0; i < k->n_steps; i++) {
        int64_t epochs = i + 1 < k->n_steps ? k->at.epochs / k->n_steps : left;
        left -= epochs;
        set_bits(k, k->bits[i]);
        k->at.bits = k->bits[i];
        keep(k, NULL);
        HN_TRY(run_course(k, i, epochs, err));
        if (i + 1 == k->n_steps) break;
        HN_TRY(hn_grids_create(&none, c->alloc, err));
        hone_status status = hn_fakes_apply(&k->fakes, k->trained, false, k->masters, none, err);
        hn_grids_destroy(none);
        HN_TRY(status);
    }
    return hn_fakes_apply(&k->fakes, k->trained, true, c->model, c->grids, err);
}

/* ---- the method ---- */

static hone_status read_options(course *k, hn_error *err) {
    const hn_recipe_step usual = {.transform = hn_transform_named("qat")};
    const hn_recipe_step *s = k->c->step != NULL ? k->c->step : &usual;
    hn_training_options *o = &k->o;
    double rate = hn_step_number(s, "rate");
    *o = (hn_training_options){.batch = (int64_t)hn_step_number(s, "batch"),
                               .seed = k->c->seed,
                               .augment = hn_step_word(s, "augment"),
                               .readers = 1,
                               .rates = {.rate = rate, .factor = 0.1},
                               .step = {.loss_options = {.delta = 1},
                                        .optimizer_options = hn_optimizer_defaults(),
                                        .frozen_statistics = true,
                                        .relative = true}};
    o->step.optimizer_options.decay = hn_step_number(s, "decay");
    HN_TRY(hn_optimizer_find(hn_step_word(s, "optimizer"), &o->step.optimizer, err));
    HN_TRY(hn_schedule_find(hn_step_word(s, "schedule"), &o->schedule, err));
    if (isnan(rate)) o->rates.rate = o->step.optimizer->steady ? 2e-3 : 0.01;
    if (!hn_step_flag(s, "labels")) {
        k->teacher = (hn_teacher){.model = k->c->model, .weight = 1, .last = HN_ALL_CLASSES};
        o->step.distill = (hn_distill_options){.n_teachers = 1,
                                               .teachers = &k->teacher,
                                               .temperature = hn_step_number(s, "temperature"),
                                               .alpha = 1};
    }
    k->at = (hn_told_epoch){.epochs = (int64_t)hn_step_number(s, "epochs"),
                            .loss = NAN,
                            .rate = NAN,
                            .score = NAN,
                            .float_score = NAN};
    k->n_steps = read_bits(hn_step_word(s, "bits"), k->bits);
    if (k->n_steps == 0) k->n_steps = 1;
    HN_CHECK(err, k->at.epochs >= k->n_steps, HONE_E_ARG,
             "%lld epochs for %d steps of bits, expected one for each or more",
             (long long)k->at.epochs, k->n_steps);
    return HONE_OK;
}

/* The layers whose weights were trained. */
static int64_t count_layers(const hn_fakes *f) {
    int64_t n = 0;
    for (int i = 0; i < f->n; i++) n += !f->v[i].is_value;
    return n;
}

hone_status hn_transform_qat(hn_transform_ctx *c, hn_error *err) {
    course k = {.c = c, .best = NAN};
    size_t n = (size_t)c->scheme->n_rules + 1;
    k.rules = hn_alloc_zero(c->alloc, n * sizeof *k.rules, HN_MEM_OTHER);
    if (k.rules == NULL) return HN_NOMEM(err);
    hone_status status = read_options(&k, err);
    if (status == HONE_OK) status = run_all(&k, err);
    c->changed = count_layers(&k.fakes);
    if (status != HONE_OK && status != HONE_E_NOMEM)
        hn_error_context(err, "quantization-aware training");
    hn_fakes_deinit(&k.fakes);
    hn_model_destroy(k.trained);
    hn_model_destroy(k.masters);
    hn_free(c->alloc, k.rules);
    return status;
}

/* hone_trainer: a course of training (train/training.h) by a session's threads and memory. */
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "base/cpu.h"
#include "train/training.h"

struct hone_trainer {
    hone_session *session; /* whose memory and threads it takes */
    hn_allocator *memory;
    hone_model *model;
    hn_training *training;
    hn_arena lists; /* that options name */
    hn_allocator *alloc;
};

HN_DEFINE_OPTIONS(train, .optimizer = "adam", .schedule = "constant", .momentum = 0.9, .beta1 = 0.9,
                  .beta2 = 0.999, .epsilon = 1e-8, .delta = 1, .batch = 64, .epochs = 10, .seed = 1,
                  .temperature = 3, .alpha = 0.7, .readers = -1)

static hone_status check(const hone_train_options *o, hn_error *err) {
    const struct {
        const char *name;
        double value, least, most;
    } ranges[] = {
        {"rate", o->rate, 0, 1e6},
        {"warmup", o->warmup, 0, 1e6},
        {"momentum", o->momentum, 0, 1},
        {"beta1", o->beta1, 0, 0.99999999},
        {"beta2", o->beta2, 0, 0.99999999},
        {"epsilon", o->epsilon, 0, 1},
        {"decay", o->decay, 0, 1e3},
        {"smoothing", o->smoothing, 0, 1},
        {"delta", o->delta, 1e-30, 1e30},
        {"clip", o->clip, 0, 1e30},
        {"average", o->average, 0, 0.99999999},
        {"temperature", o->temperature, 1e-3, 1e3},
        {"alpha", o->alpha, 0, 1},
        {"self", o->self, 0, 0.999999},
        {"confidence", o->confidence, 0, 1},
        {"parts", (double)o->parts, 0, 1e9},
        {"readers", o->readers, -1, 64},
    };
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        HN_CHECK(err, ranges[i].value >= ranges[i].least && ranges[i].value <= ranges[i].most,
                 HONE_E_ARG, "%s is %g, expected %g to %g", ranges[i].name, ranges[i].value,
                 ranges[i].least, ranges[i].most);
    return HONE_OK;
}

/* ---- lists ---- */

typedef struct words {
    int n;
    char **at;
} words;

/* What commas separate. */
static hone_status split(hone_trainer *t, const char *text, words *w, hn_error *err) {
    size_t n = text != NULL ? strlen(text) : 0;
    *w = (words){0};
    if (n == 0) return HONE_OK;
    char *own = hn_arena_strdup(&t->lists, text);
    w->at = hn_arena_array(&t->lists, n + 1, sizeof *w->at);
    if (own == NULL || w->at == NULL) return HN_NOMEM(err);
    for (char *rest = own, *word; (word = strsep(&rest, ",")) != NULL;)
        if (*word != '\0') w->at[w->n++] = word;
    return HONE_OK;
}

static hone_status read_number(const char *what, const char *text, double *v, hn_error *err) {
    char *end;
    *v = strtod(text, &end);
    HN_CHECK(err, end != text && *end == '\0' && *v >= 0 && *v <= 1e9, HONE_E_ARG,
             "%s '%s', expected a number from 0 on", what, text);
    return HONE_OK;
}

static hone_status read_frozen(hone_trainer *t, const char *text, hn_step_options *o,
                               hn_error *err) {
    words w;
    HN_TRY(split(t, text, &w, err));
    o->n_frozen = w.n;
    o->frozen = (const char *const *)w.at;
    return HONE_OK;
}

/* "PATTERN=FACTOR,..." */
static hone_status read_scales(hone_trainer *t, const char *text, hn_step_options *o,
                               hn_error *err) {
    words w;
    HN_TRY(split(t, text, &w, err));
    hn_rate_scale *scales = hn_arena_array(&t->lists, (size_t)w.n + 1, sizeof *scales);
    if (scales == NULL) return HN_NOMEM(err);
    for (int i = 0; i < w.n; i++) {
        char *by = strrchr(w.at[i], '=');
        HN_CHECK(err, by != NULL, HONE_E_ARG, "rate '%s' is not PATTERN=FACTOR", w.at[i]);
        *by++ = '\0';
        scales[i].pattern = w.at[i];
        HN_TRY(read_number("factor of a rate", by, &scales[i].by, err));
    }
    o->n_scales = w.n;
    o->scales = scales;
    return HONE_OK;
}

static hone_status read_class_weights(hone_trainer *t, const char *text, hn_training_options *o,
                                      hn_error *err) {
    words w;
    if (text != NULL && strcmp(text, "balanced") == 0) {
        o->balanced = true;
        return HONE_OK;
    }
    HN_TRY(split(t, text, &w, err));
    float *weights = hn_arena_array(&t->lists, (size_t)w.n + 1, sizeof *weights);
    if (weights == NULL) return HN_NOMEM(err);
    for (int i = 0; i < w.n; i++) {
        double v;
        HN_TRY(read_number("weight of a class", w.at[i], &v, err));
        weights[i] = (float)v;
    }
    o->step.loss_options.n_weights = w.n;
    o->step.loss_options.weights = weights;
    return HONE_OK;
}

/* "WEIGHT" or "WEIGHT@FIRST-LAST" */
static hone_status read_share(char *text, hn_teacher *t, hn_error *err) {
    char *classes = strchr(text, '@'), *to = classes != NULL ? strchr(classes, '-') : NULL, *end;
    if (classes != NULL) {
        HN_CHECK(err, to != NULL, HONE_E_ARG, "share '%s' is not WEIGHT@FIRST-LAST", text);
        *classes++ = '\0';
        t->first = strtoll(classes, &end, 10);
        bool good = end == to;
        t->last = strtoll(to + 1, &end, 10);
        HN_CHECK(err, good && *end == '\0' && t->first >= 0 && t->last >= t->first, HONE_E_ARG,
                 "classes '%s' of a teacher, expected FIRST-LAST", classes);
    }
    return read_number("weight of a teacher", text, &t->weight, err);
}

static hone_status read_teachers(hone_trainer *t, const hone_train_options *o,
                                 hn_distill_options *d, hn_error *err) {
    words w;
    size_t n = o->n_teachers + (o->self > 0);
    HN_CHECK(err, n <= 1000, HONE_E_LIMIT, "%zu teachers, at most 1000", n);
    hn_teacher *all = hn_arena_array(&t->lists, n + 1, sizeof *all);
    HN_TRY(split(t, o->teacher_shares, &w, err));
    if (all == NULL) return HN_NOMEM(err);
    HN_CHECK(err, w.n == 0 || (size_t)w.n == n, HONE_E_ARG, "%d shares for %zu teachers", w.n, n);
    HN_CHECK(err, n > 0 || o->match == NULL, HONE_E_ARG,
             "a teacher is wanted to match values with");
    HN_CHECK(err, n > 0 || o->confidence == 0, HONE_E_ARG,
             "a teacher is wanted whose confidence counts from %g on", o->confidence);
    for (size_t i = 0; i < n; i++) {
        const hn_model *model = i < o->n_teachers ? o->teachers[i]->ir : NULL;
        all[i] = (hn_teacher){.model = model, .last = HN_ALL_CLASSES, .weight = 1};
        if (w.n > 0) HN_TRY(read_share(w.at[i], &all[i], err));
    }
    *d = (hn_distill_options){.n_teachers = (int)n,
                              .self = o->self,
                              .confidence = o->confidence,
                              .teachers = all,
                              .temperature = o->temperature,
                              .alpha = o->alpha,
                              .match = o->match,
                              .seed = o->seed};
    return HONE_OK;
}

/* Cores that the session leaves to whoever reads. More than a few have nothing to do: a step of
 * training takes longer than samples of its batch. */
static int spare_cores(const hone_session *s) {
    int spare = hn_cpu_threads() - hone_session_threads(s);
    return spare < 1 ? 1 : spare > 4 ? 4 : spare;
}

static hone_status begin(hone_trainer *t, hone_dataset *data, const hone_train_options *o,
                         hn_error *err) {
    hn_training_options how = {
        .batch = o->batch,
        .epochs = o->epochs,
        .seed = o->seed,
        .augment = o->augment,
        .teacher_augment = o->teacher_augment,
        .warmup = o->warmup,
        .readers = o->readers,
        .rates = {.rate = o->rate, .factor = 0.1},
        .step = {.loss_options = {.smoothing = o->smoothing, .delta = o->delta},
                 .optimizer_options = {.momentum = o->momentum,
                                       .beta1 = o->beta1,
                                       .beta2 = o->beta2,
                                       .epsilon = o->epsilon,
                                       .decay = o->decay,
                                       .nesterov = o->nesterov},
                 .frozen_statistics = o->freeze_statistics,
                 .clip = o->clip,
                 .average = o->average,
                 .parts = o->parts}};
    HN_TRY(hn_optimizer_find(o->optimizer, &how.step.optimizer, err));
    HN_TRY(hn_schedule_find(o->schedule, &how.schedule, err));
    if (o->loss != NULL) HN_TRY(hn_loss_find(o->loss, &how.step.loss, err));
    if (how.rates.rate == 0) how.rates.rate = how.step.optimizer->rate;
    HN_TRY(read_frozen(t, o->freeze, &how.step, err));
    HN_TRY(read_scales(t, o->rates, &how.step, err));
    HN_TRY(read_class_weights(t, o->class_weights, &how, err));
    HN_TRY(read_teachers(t, o, &how.step.distill, err));
    if (how.readers < 0) how.readers = spare_cores(t->session);
    hn_run_options run = hn_api_session_take_run_options(t->session);
    t->memory = run.engine.alloc;
    return hn_training_create(&t->training, t->model->ir, data->data, &how, &run, err);
}

hone_status hone_trainer_create(hone_trainer **out, hone_model *model, hone_dataset *dataset,
                                const hone_train_options *options, hone_error *err) {
    hone_train_options o;
    HN_TRY(HN_TAKE_OPTIONS(train, &o, options, err));
    HN_TRY(check(&o, err));
    hone_trainer *t = hn_alloc_zero(hn_allocator_default(), sizeof *t, HN_MEM_OTHER);
    if (t == NULL) return HN_NOMEM(err);
    t->alloc = hn_allocator_default();
    hn_arena_init(&t->lists, t->alloc, HN_MEM_OTHER);
    t->model = model;
    atomic_fetch_add(&model->refs, 1);
    hone_status status = hone_session_create(&t->session, model, o.session, err);
    if (status == HONE_OK) status = begin(t, dataset, &o, err);
    if (status != HONE_OK)
        hone_trainer_destroy(t);
    else
        *out = t;
    return status;
}

void hone_trainer_destroy(hone_trainer *t) {
    if (t == NULL) return;
    hn_training_destroy(t->training);
    hone_session_destroy(t->session);
    hn_api_model_unref(t->model);
    hn_arena_deinit(&t->lists);
    hn_free(t->alloc, t);
}

hone_status hone_trainer_step(hone_trainer *t, hone_error *err) {
    return hn_training_step(t->training, err);
}

void hone_trainer_at_sized(const hone_trainer *t, hone_train_place *out,
                           const hone_layout *caller) {
    hn_training_place p = hn_training_at(t->training);
    const hn_train_step *s = hn_trainer_graph(hn_training_trainer(t->training));
    hone_train_place own = {.size = sizeof own,
                            .step = p.step,
                            .steps = p.steps,
                            .epoch = p.epoch,
                            .epochs = p.epochs,
                            .in_epoch = p.in_epoch,
                            .per_epoch = p.per_epoch,
                            .samples = p.samples,
                            .loss = p.loss,
                            .epoch_loss = p.epoch_loss,
                            .rate = p.rate,
                            .parts = p.parts,
                            .rank = hn_training_ranks(t->training)->rank,
                            .ranks = hn_training_ranks(t->training)->size,
                            .peak_bytes = (int64_t)atomic_load(&t->memory->peak),
                            .planned_bytes = (int64_t)p.planned,
                            .segments = p.twice.segments,
                            .recomputed = p.twice.share};
    for (int i = 0; i < s->n_kept; i++)
        if (s->kept[i].kind == HN_KEPT_PARAMETER) own.parameters += s->kept[i].n;
    HN_GIVE(out, &own, caller, train_place);
}

void hone_trainer_end(hone_trainer *t) { hn_training_end(t->training); }

const char *hone_trainer_loss(const hone_trainer *t) {
    return hn_trainer_graph(hn_training_trainer(t->training))->loss_kind->name;
}

hone_status hone_trainer_model(hone_trainer *t, hone_model **out, hone_error *err) {
    hn_model *m;
    HN_TRY(hn_training_model(t->training, &m, err));
    HN_TRY(hn_api_model_adopt(m, out, err));
    atomic_fetch_add(&t->model->refs, 1);
    (*out)->made_of = t->model;
    return HONE_OK;
}

hone_status hone_trainer_save(hone_trainer *t, const char *path, hone_error *err) {
    return hn_training_save(t->training, path, err);
}

hone_status hone_trainer_resume(hone_trainer *t, const char *path, hone_error *err) {
    return hn_training_resume(t->training, path, err);
}

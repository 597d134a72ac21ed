/* hone_trainer: a course of training (train/training.h) by a session's threads and memory. */
#include <string.h>

#include "api/api.h"
#include "train/training.h"

struct hone_trainer {
    hone_session *session; /* whose memory and threads it takes */
    hn_allocator *memory;
    hone_model *model;
    hn_training *training;
    char *frozen_text;
    const char **frozen;
    hn_allocator *alloc;
};

HN_DEFINE_OPTIONS(train, .optimizer = "adam", .schedule = "constant", .momentum = 0.9, .beta1 = 0.9,
                  .beta2 = 0.999, .epsilon = 1e-8, .delta = 1, .batch = 64, .epochs = 10, .seed = 1)

static hone_status check(const hone_train_options *o, hn_error *err) {
    const struct {
        const char *name;
        double value, least, most;
    } ranges[] = {
        {"rate", o->rate, 0, 1e6},          {"warmup", o->warmup, 0, 1e6},
        {"momentum", o->momentum, 0, 1},    {"beta1", o->beta1, 0, 0.99999999},
        {"beta2", o->beta2, 0, 0.99999999}, {"epsilon", o->epsilon, 0, 1},
        {"decay", o->decay, 0, 1e3},        {"smoothing", o->smoothing, 0, 1},
        {"delta", o->delta, 1e-30, 1e30},
    };
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        HN_CHECK(err, ranges[i].value >= ranges[i].least && ranges[i].value <= ranges[i].most,
                 HONE_E_ARG, "%s is %g, expected %g to %g", ranges[i].name, ranges[i].value,
                 ranges[i].least, ranges[i].most);
    return HONE_OK;
}

/* Patterns separated by commas, as a list. */
static hone_status read_frozen(hone_trainer *t, const char *text, hn_step_options *o,
                               hn_error *err) {
    size_t n = text != NULL ? strlen(text) : 0;
    if (n == 0) return HONE_OK;
    t->frozen_text = hn_alloc(t->alloc, n + 1, HN_MEM_OTHER);
    t->frozen = hn_alloc_array(t->alloc, n + 1, sizeof *t->frozen, HN_MEM_OTHER);
    if (t->frozen_text == NULL || t->frozen == NULL) return HN_NOMEM(err);
    memcpy(t->frozen_text, text, n + 1);
    for (char *rest = t->frozen_text, *word; (word = strsep(&rest, ",")) != NULL;)
        if (*word != '\0') t->frozen[o->n_frozen++] = word;
    o->frozen = t->frozen;
    return HONE_OK;
}

static hone_status begin(hone_trainer *t, hone_dataset *data, const hone_train_options *o,
                         hn_error *err) {
    hn_training_options how = {
        .batch = o->batch,
        .epochs = o->epochs,
        .seed = o->seed,
        .augment = o->augment,
        .warmup = o->warmup,
        .readers = 1,
        .rates = {.rate = o->rate, .factor = 0.1},
        .step = {.loss_options = {.smoothing = o->smoothing, .delta = o->delta},
                 .optimizer_options = {.momentum = o->momentum,
                                       .beta1 = o->beta1,
                                       .beta2 = o->beta2,
                                       .epsilon = o->epsilon,
                                       .decay = o->decay,
                                       .nesterov = o->nesterov},
                 .frozen_statistics = o->freeze_statistics}};
    HN_TRY(hn_optimizer_find(o->optimizer, &how.step.optimizer, err));
    HN_TRY(hn_schedule_find(o->schedule, &how.schedule, err));
    if (o->loss != NULL) HN_TRY(hn_loss_find(o->loss, &how.step.loss, err));
    if (how.rates.rate == 0) how.rates.rate = how.step.optimizer->rate;
    HN_TRY(read_frozen(t, o->freeze, &how.step, err));
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
    hn_free(t->alloc, t->frozen_text);
    hn_free(t->alloc, (void *)t->frozen);
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
                            .peak_bytes = (int64_t)atomic_load(&t->memory->peak)};
    for (int i = 0; i < s->n_kept; i++)
        if (s->kept[i].kind == HN_KEPT_PARAMETER) own.parameters += s->kept[i].n;
    HN_GIVE(out, &own, caller, train_place);
}

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

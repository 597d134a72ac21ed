#include "compress/gradients.h"

#include <string.h>

#include "train/training.h"

#define BATCH 32 /* samples of a gradient */

/* Gradient descent by rate 0 changes nothing, and its momentum is then the gradient. */
static hone_status begin(hn_training_options *o, int64_t samples, uint64_t seed, hn_error *err) {
    *o = (hn_training_options){.batch = samples < BATCH ? samples : BATCH,
                               .epochs = 1,
                               .seed = seed,
                               .step = {.loss_options = {.delta = 1},
                                        .optimizer_options = hn_optimizer_defaults(),
                                        .frozen_statistics = true}};
    HN_TRY(hn_optimizer_find("sgd", &o->step.optimizer, err));
    return hn_schedule_find("constant", &o->schedule, err);
}

static void take_all(hn_trainer *t, hn_gradient_fn *take, void *ctx) {
    const hn_train_step *s = hn_trainer_graph(t);
    for (int i = 0; i < s->n_kept; i++) {
        if (s->kept[i].kind != HN_KEPT_MOMENT) continue;
        float *gradient = hn_trainer_value(t, i);
        take(ctx, s->kept[i].name, gradient, s->kept[i].n);
        memset(gradient, 0, (size_t)s->kept[i].n * sizeof *gradient);
    }
}

hone_status hn_gradients(hn_transform_ctx *c, hn_gradient_fn *take, void *ctx, hn_error *err) {
    hn_dataset *data = hn_feed_dataset(c->feed);
    hn_training_options o;
    hn_training *t;
    HN_CHECK(err, hn_dataset_has_labels(data) || hn_dataset_n_targets(data) > 0, HONE_E_ARG,
             "gradients of a loss want samples with labels or targets");
    HN_TRY(begin(&o, hn_dataset_count(data), c->seed, err));
    HN_TRY(hn_training_create(&t, c->model, data, &o, c->how, err));
    hn_training_place at = hn_training_at(t);
    hone_status status = HONE_OK;
    while (at.step < at.steps && status == HONE_OK) {
        status = hn_training_step(t, err);
        at = hn_training_at(t);
        if (status == HONE_OK) take_all(hn_training_trainer(t), take, ctx);
        if (status == HONE_OK && c->progress != NULL &&
            !c->progress(c->progress_ctx, at.step, at.steps))
            status = HN_FAIL(err, HONE_E_LIMIT, "stopped after %lld of %lld gradients",
                             (long long)at.step, (long long)at.steps);
    }
    hn_training_destroy(t);
    return status;
}

#include "train/training.h"

#include <stdio.h>
#include <stdlib.h>

#include "formats/onnx.h"
#include "measure/loader.h"
#include "ops/infer.h"

struct hn_training {
    hn_allocator *alloc;
    const hn_model *model;
    hn_model *sized; /* the model with the sizes of a batch */
    hn_dataset *data;
    hn_training_options o;
    hn_augment augment;
    hn_feed *feed;
    hn_loader *loader; /* of the current epoch; NULL: none is begun */
    hn_trainer *trainer;
    hn_training_place at;
    double loss_sum; /* of the current epoch */
    char how[4096];  /* what checkpoints must agree in */
};

void hn_training_destroy(hn_training *t) {
    if (t == NULL) return;
    hn_loader_destroy(t->loader);
    hn_trainer_destroy(t->trainer);
    hn_feed_destroy(t->feed);
    hn_model_destroy(t->sized);
    hn_free(t->alloc, t);
}

/* ---- sizes ---- */

/* Axes that the model leaves open take the batch, and for the others the sizes of a sample. */
static hone_status fix_sizes(hn_training *t, hn_error *err) {
    hn_graph *g = t->sized->graph;
    int n = 0;
    for (int i = 0; i < g->n_inputs; i++) n += g->inputs[i]->constant == NULL;
    for (int i = 0, k = 0; i < g->n_inputs; i++) {
        hn_value *v = g->inputs[i];
        hn_shape *s = &v->type.shape;
        int field;
        int64_t fixed;
        if (v->constant != NULL) continue;
        HN_TRY(hn_dataset_find(t->data, v->name, k++, n, &field, err));
        const hn_dataset_field *f = hn_dataset_field_at(t->data, field);
        HN_CHECK(err, s->rank >= 1, HONE_E_SHAPE, "input '%s' has no axis for the batch", v->name);
        HN_CHECK(err, !hn_dim_is_const(s->dim[0], &fixed) || fixed == t->o.batch, HONE_E_SHAPE,
                 "input '%s' takes %lld samples, a batch has %lld: see hone simplify --set-dim",
                 v->name, (long long)fixed, (long long)t->o.batch);
        s->dim[0] = hn_dim_const(&t->sized->dims, t->o.batch);
        for (int a = 1; a < s->rank; a++) {
            if (hn_dim_is_const(s->dim[a], &fixed)) continue;
            HN_CHECK(err, f->rank == s->rank - 1, HONE_E_SHAPE,
                     "axis %d of input '%s' is open, and samples have rank %d", a, v->name,
                     f->rank);
            s->dim[a] = hn_dim_const(&t->sized->dims, f->dims[a - 1]);
        }
    }
    return hn_model_infer(t->sized, NULL, err);
}

static void size_of(const hn_value *v, hn_step_sizes *s) {
    s->rank = v->type.shape.rank;
    s->dtype = v->type.dtype;
    for (int i = 0; i < s->rank; i++) hn_dim_is_const(v->type.shape.dim[i], &s->dims[i]);
}

/* Labels, or the first target of the dataset. */
static hone_status target_of(const hn_training *t, hn_step_sizes *s, hn_error *err) {
    *s = (hn_step_sizes){.rank = 1, .dims = {t->o.batch}, .dtype = HONE_DTYPE_S64};
    const hn_loss *loss = t->o.step.loss;
    bool labels = loss != NULL ? loss->labels : hn_dataset_has_labels(t->data);
    if (labels) {
        const char *hint = hn_dataset_how_labelled(t->data);
        HN_CHECK(err, hn_dataset_has_labels(t->data), HONE_E_ARG,
                 "training by labels wants data that has them%s%s", hint != NULL ? ": " : "",
                 hint != NULL ? hint : "");
        return HONE_OK;
    }
    HN_CHECK(err, hn_dataset_n_targets(t->data) > 0, HONE_E_ARG,
             "the data has neither labels nor targets to train by");
    const hn_dataset_field *f = hn_dataset_target_at(t->data, 0);
    HN_CHECK(err, f->dtype == HONE_DTYPE_F32 && f->rank < HONE_MAX_RANK, HONE_E_TYPE,
             "target '%s' is %s, expected f32", f->name, hone_dtype_name(f->dtype));
    s->dtype = f->dtype;
    s->rank = f->rank + 1;
    for (int i = 0; i < f->rank; i++) s->dims[i + 1] = f->dims[i];
    return HONE_OK;
}

/* ---- making ---- */

static hone_status describe(hn_training *t, hn_error *err) {
    const hn_training_options *o = &t->o;
    const hn_optimizer_options *p = &o->step.optimizer_options;
    int n = snprintf(
        t->how, sizeof t->how,
        "%s momentum %.17g beta %.17g %.17g epsilon %.17g decay %.17g nesterov %d; %s rate %.17g "
        "warmup %.17g last %.17g period %lld factor %.17g; %lld samples batch %lld epochs %lld "
        "seed %llu augment %s; %s smoothing %.17g delta %.17g statistics %d frozen",
        o->step.optimizer->name, p->momentum, p->beta1, p->beta2, p->epsilon, p->decay, p->nesterov,
        o->schedule->name, o->rates.rate, o->warmup, o->rates.last, (long long)o->rates.period,
        o->rates.factor, (long long)hn_dataset_count(t->data), (long long)o->batch,
        (long long)o->epochs, (unsigned long long)o->seed, o->augment != NULL ? o->augment : "none",
        hn_trainer_graph(t->trainer)->loss_kind->name, o->step.loss_options.smoothing,
        o->step.loss_options.delta, o->step.frozen_statistics);
    for (int i = 0; i < o->step.n_frozen && n < (int)sizeof t->how; i++)
        n += snprintf(t->how + n, sizeof t->how - (size_t)n, " %s", o->step.frozen[i]);
    HN_CHECK(err, n < (int)sizeof t->how, HONE_E_LIMIT,
             "augmentation and frozen patterns are longer than %zu letters", sizeof t->how);
    return HONE_OK;
}

static hone_status begin(hn_training *t, const hn_run_options *how, hn_error *err) {
    int64_t count = hn_dataset_count(t->data);
    HN_CHECK(err, t->o.batch > 0 && t->o.epochs > 0, HONE_E_ARG,
             "batch %lld and epochs %lld, expected 1 or more", (long long)t->o.batch,
             (long long)t->o.epochs);
    HN_CHECK(err, count >= t->o.batch, HONE_E_ARG, "the data has %lld samples, a batch %lld",
             (long long)count, (long long)t->o.batch);
    HN_TRY(hn_augment_read(&t->augment, t->o.augment, err));
    HN_TRY(hn_model_clone(&t->sized, t->model, t->alloc, err));
    HN_TRY(fix_sizes(t, err));
    hn_graph *g = t->sized->graph;
    HN_TRY(hn_feed_create(&t->feed, g, t->data, t->o.batch, t->alloc, err));
    hn_step_sizes sizes[64], target;
    int n = 0;
    for (int i = 0; i < g->n_inputs; i++) {
        if (g->inputs[i]->constant != NULL) continue;
        HN_CHECK(err, n < 64, HONE_E_LIMIT, "more than 64 inputs");
        size_of(g->inputs[i], &sizes[n++]);
    }
    HN_TRY(target_of(t, &target, err));
    HN_TRY(hn_trainer_create(&t->trainer, t->model, sizes, &target, &t->o.step, how, err));
    t->at = (hn_training_place){
        .per_epoch = count / t->o.batch, .epochs = t->o.epochs, .samples = t->o.batch};
    t->at.steps = t->at.per_epoch * t->o.epochs;
    t->o.rates.steps = t->at.steps;
    t->o.rates.warmup = (int64_t)(t->o.warmup * (double)t->at.per_epoch);
    return describe(t, err);
}

hone_status hn_training_create(hn_training **out, const hn_model *m, hn_dataset *data,
                               const hn_training_options *o, const hn_run_options *how,
                               hn_error *err) {
    hn_allocator *alloc = how->engine.alloc;
    hn_training *t = hn_alloc_zero(alloc, sizeof *t, HN_MEM_OTHER);
    if (t == NULL) return HN_NOMEM(err);
    t->alloc = alloc;
    t->model = m;
    t->data = data;
    t->o = *o;
    hone_status status = begin(t, how, err);
    if (status != HONE_OK)
        hn_training_destroy(t);
    else
        *out = t;
    return status;
}

/* ---- steps ---- */

hn_training_place hn_training_at(const hn_training *t) { return t->at; }
hn_trainer *hn_training_trainer(hn_training *t) { return t->trainer; }

/* Opens the data at the place where the course is. */
static hone_status open_epoch(hn_training *t, hn_error *err) {
    hn_loader_options o = {.threads = t->o.readers,
                           .samples = t->at.per_epoch * t->o.batch,
                           .batch = t->o.batch,
                           .shuffle = true,
                           .skip = t->at.in_epoch,
                           .seed = t->o.seed + 0x9e3779b97f4a7c15u * (uint64_t)(t->at.epoch + 1)};
    return hn_loader_create(&t->loader, t->feed, &o, t->alloc, err);
}

static hone_status run(hn_training *t, hn_samples *s, hn_error *err) {
    const hn_graph *g = t->sized->graph;
    const hn_tensor *in[64];
    hn_tensor labels, *target = s->n_targets > 0 ? s->targets[0] : NULL;
    int n = 0;
    HN_CHECK(err, s->n == t->o.batch, HONE_E_FORMAT,
             "samples of a batch cannot be decoded: hone eval names them");
    for (int i = 0; i < g->n_inputs; i++)
        if (s->in[i] != NULL) in[n++] = s->in[i];
    if (t->augment.n > 0)
        HN_TRY(hn_augment_batch(&t->augment, (hn_tensor *)in[0], s->index, t->o.seed, t->at.epoch,
                                err));
    if (hn_trainer_graph(t->trainer)->loss_kind->labels) {
        HN_TRY(hn_tensor_borrow(&labels, HONE_DTYPE_S64, 1, &s->n, s->labels, err));
        target = &labels;
    }
    t->at.rate = hn_schedule_rate(t->o.schedule, &t->o.rates, t->at.step);
    return hn_trainer_step(t->trainer, in, target, t->at.rate, &t->at.loss, err);
}

hone_status hn_training_step(hn_training *t, hn_error *err) {
    hn_samples s = {0};
    HN_CHECK(err, t->at.step < t->at.steps, HONE_E_ARG, "all %lld steps are done",
             (long long)t->at.steps);
    if (t->loader == NULL) HN_TRY(open_epoch(t, err));
    if (t->at.in_epoch == 0) t->loss_sum = 0;
    HN_TRY(hn_loader_next(t->loader, &s, err));
    hone_status status = run(t, &s, err);
    hn_samples_deinit(&s);
    HN_TRY(status);
    t->at.step++;
    t->at.in_epoch++;
    t->loss_sum += t->at.loss;
    t->at.epoch_loss = t->loss_sum / (double)t->at.in_epoch;
    if (t->at.in_epoch == t->at.per_epoch) {
        t->at.in_epoch = 0;
        t->at.epoch++;
        hn_loader_destroy(t->loader);
        t->loader = NULL;
    }
    return HONE_OK;
}

hone_status hn_training_model(hn_training *t, hn_model **out, hn_error *err) {
    hn_model *m;
    HN_TRY(hn_model_copy(&m, t->model, t->model->alloc, err));
    hone_status status = hn_trainer_store(t->trainer, m, err);
    if (status != HONE_OK)
        hn_model_destroy(m);
    else
        *out = m;
    return status;
}

/* ---- checkpoints ---- */

#define KEY_STEP "hone.train.step"
#define KEY_HOW "hone.train.how"
#define KEY_LOSS "hone.train.loss"
#define KEY_VERSION "hone.train.version"
#define VERSION "1"

/* The name of a moment's initializer. */
static const char *moment_name(const hn_training *t, int kept, char *buf, size_t size) {
    const hn_train_step *s = hn_trainer_graph(t->trainer);
    int which = 0;
    for (int i = 0; i < kept; i++)
        which +=
            s->kept[i].kind == HN_KEPT_MOMENT && strcmp(s->kept[i].name, s->kept[kept].name) == 0;
    snprintf(buf, size, "hone.train.moment%d/%s", which, s->kept[kept].name);
    return buf;
}

static hone_status put_moments(hn_training *t, hn_model *m, hn_error *err) {
    const hn_train_step *s = hn_trainer_graph(t->trainer);
    for (int i = 0; i < s->n_kept; i++) {
        char name[1024];
        hn_tensor *moment;
        hn_value *v;
        if (s->kept[i].kind != HN_KEPT_MOMENT) continue;
        HN_TRY(hn_tensor_from_f32(&moment, m->alloc, 1, &s->kept[i].n,
                                  hn_trainer_value(t->trainer, i), err));
        HN_TRY(hn_value_create_constant(&v, m->graph, moment_name(t, i, name, sizeof name), NULL,
                                        moment, err));
    }
    return HONE_OK;
}

static hone_status put_facts(hn_training *t, hn_model *m, hn_error *err) {
    char step[32], loss[40];
    snprintf(step, sizeof step, "%lld", (long long)t->at.step);
    snprintf(loss, sizeof loss, "%.17g", t->loss_sum);
    const hn_prop facts[] = {
        {KEY_STEP, step}, {KEY_HOW, t->how}, {KEY_LOSS, loss}, {KEY_VERSION, VERSION}};
    enum { N = sizeof facts / sizeof *facts };
    hn_prop *all = hn_arena_array(&m->arena, (size_t)m->metadata.n + N, sizeof *all);
    if (all == NULL) return HN_NOMEM(err);
    if (m->metadata.n > 0) memcpy(all, m->metadata.v, (size_t)m->metadata.n * sizeof *all);
    for (int i = 0; i < N; i++) {
        hn_prop *p = &all[m->metadata.n + i];
        p->key = facts[i].key;
        p->value = hn_arena_strdup(&m->arena, facts[i].value);
        if (p->value == NULL) return HN_NOMEM(err);
    }
    m->metadata = (hn_props){m->metadata.n + N, all};
    return HONE_OK;
}

hone_status hn_training_save(hn_training *t, const char *path, hn_error *err) {
    hn_model *m;
    HN_TRY(hn_training_model(t, &m, err));
    hone_status status = put_moments(t, m, err);
    if (status == HONE_OK) status = put_facts(t, m, err);
    if (status == HONE_OK) status = hn_onnx_save(m, path, NULL, err);
    hn_model_destroy(m);
    return status;
}

static const char *fact(const hn_model *m, const char *key) {
    for (int i = 0; i < m->metadata.n; i++)
        if (strcmp(m->metadata.v[i].key, key) == 0) return m->metadata.v[i].value;
    return "";
}

static hone_status take_values(hn_training *t, const hn_model *m, const char *path, hn_error *err) {
    const hn_train_step *s = hn_trainer_graph(t->trainer);
    for (int pass = 0; pass < 2; pass++) /* all is there before any is changed */
        for (int i = 0; i < s->n_kept; i++) {
            const hn_kept *k = &s->kept[i];
            char name[1024];
            const hn_value *v = hn_graph_value(m->graph, k->kind == HN_KEPT_MOMENT
                                                             ? moment_name(t, i, name, sizeof name)
                                                             : k->name);
            bool fits = v != NULL && v->constant != NULL && v->constant->data != NULL &&
                        v->constant->dtype == HONE_DTYPE_F32 && v->constant->n == k->n;
            HN_CHECK(err, fits, HONE_E_ARG,
                     "%s is a checkpoint of another model: it has no '%s' of %lld floats", path,
                     k->kind == HN_KEPT_MOMENT ? name : k->name, (long long)k->n);
            if (pass == 1)
                memcpy(hn_trainer_value(t->trainer, i), v->constant->data, v->constant->bytes);
        }
    return HONE_OK;
}

static hone_status take(hn_training *t, const hn_model *m, const char *path, hn_error *err) {
    const char *version = fact(m, KEY_VERSION);
    HN_CHECK(err, strcmp(version, VERSION) == 0, HONE_E_ARG,
             version[0] == '\0' ? "%s is no checkpoint"
                                : "%s is a checkpoint of another version of hone",
             path);
    HN_CHECK(err, strcmp(fact(m, KEY_HOW), t->how) == 0, HONE_E_ARG,
             "%s is a checkpoint of other options; it has: %s; asked for is: %s", path,
             fact(m, KEY_HOW), t->how);
    int64_t step = strtoll(fact(m, KEY_STEP), NULL, 10);
    HN_CHECK(err, step >= 0 && step <= t->at.steps, HONE_E_FORMAT,
             "%s: step %lld of %lld is not possible", path, (long long)step,
             (long long)t->at.steps);
    HN_TRY(take_values(t, m, path, err));
    hn_loader_destroy(t->loader);
    t->loader = NULL;
    t->at.step = step;
    t->at.epoch = step / t->at.per_epoch;
    t->at.in_epoch = step % t->at.per_epoch;
    t->loss_sum = strtod(fact(m, KEY_LOSS), NULL);
    hn_trainer_set_steps(t->trainer, step);
    return HONE_OK;
}

hone_status hn_training_resume(hn_training *t, const char *path, hn_error *err) {
    hn_model *m;
    HN_TRY(hn_onnx_load(&m, path, NULL, t->alloc, err));
    hone_status status = take(t, m, path, err);
    hn_model_destroy(m);
    return status;
}

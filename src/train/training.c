#include "train/training.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "engine/widen.h"
#include "formats/onnx.h"
#include "measure/loader.h"
#include "ops/infer.h"
#include "passes/set_dim.h"

struct hn_training {
    hn_allocator *alloc;
    const hn_model *model;
    hn_model *sized; /* the model with the sizes of a batch */
    hn_dataset *data;
    hn_training_options o;
    hn_augment augment, teacher_augment;
    hn_feed *feed;
    hn_loader *loader; /* of the current epoch; NULL: none is begun */
    int64_t loading;   /* the epoch that it is of */
    int64_t *others;   /* of a batch whose samples are mixed: partners, then their labels */
    hn_trainer *trainer;
    hn_ranks ranks;
    int64_t part; /* samples of a part: those of a batch, unless it has several */
    hn_training_place at;
    float *class_weights;
    double loss_sum; /* of the current epoch */
    char how[4096];  /* what checkpoints must agree in */
};

void hn_training_destroy(hn_training *t) {
    if (t == NULL) return;
    hn_loader_destroy(t->loader);
    hn_trainer_destroy(t->trainer);
    hn_feed_destroy(t->feed);
    hn_model_destroy(t->sized);
    hn_free(t->alloc, t->class_weights);
    hn_free(t->alloc, t->others);
    hn_free(t->alloc, t);
}

/* ---- sizes ---- */

/* The first axis of inputs takes the batch, others that are open the sizes of a sample. */
static hone_status fix_sizes(hn_training *t, hn_error *err) {
    hn_graph *g = t->sized->graph;
    int n = 0;
    HN_TRY(hn_model_free_batch(t->sized, t->part, err));
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
        s->dim[0] = hn_dim_const(&t->sized->dims, t->part);
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

/* Labels, or the first target of the dataset; *none: it has neither, and teachers need none. */
static hone_status target_of(const hn_training *t, hn_step_sizes *s, bool *none, hn_error *err) {
    *s = (hn_step_sizes){.rank = 1, .dims = {t->part}, .dtype = HONE_DTYPE_S64};
    const hn_loss *loss = t->o.step.loss;
    *none = t->o.step.distill.n_teachers > 0 && !hn_dataset_has_labels(t->data) &&
            hn_dataset_n_targets(t->data) == 0;
    if (*none) return HONE_OK;
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
    HN_CHECK(err, hn_dtype_is_float(f->dtype) || hn_dtype_is_int(f->dtype), HONE_E_TYPE,
             "target '%s' is %s, expected numbers", f->name, hone_dtype_name(f->dtype));
    HN_CHECK(err, f->rank < HONE_MAX_RANK, HONE_E_SHAPE, "target '%s' has %d axes", f->name,
             f->rank);
    s->dtype = HONE_DTYPE_F32;
    s->rank = f->rank + 1;
    for (int i = 0; i < f->rank; i++) s->dims[i + 1] = f->dims[i];
    return HONE_OK;
}

/* ---- what classes count ---- */

/* The mean number of samples of a class, divided by that of its own. */
static hone_status balance(hn_training *t, hn_error *err) {
    const hn_shape *y = &t->sized->graph->outputs[0].value->type.shape;
    int64_t classes = 0, n = hn_dataset_count(t->data);
    bool known = t->sized->graph->n_outputs > 0 && y->rank >= 2 &&
                 hn_dim_is_const(y->dim[1], &classes) && hn_dataset_has_labels(t->data);
    HN_CHECK(err, known, HONE_E_ARG,
             "classes are balanced by labels, and scores [samples, classes] of known size");
    float *weights = hn_alloc_array(t->alloc, (size_t)classes, sizeof *weights, HN_MEM_OTHER);
    int64_t *labels = hn_alloc_array(t->alloc, (size_t)n, sizeof *labels, HN_MEM_OTHER);
    t->class_weights = weights;
    hone_status status = weights == NULL || labels == NULL
                             ? HN_NOMEM(err)
                             : hn_dataset_labels(t->data, 0, n, labels, err);
    if (status == HONE_OK) {
        memset(weights, 0, (size_t)classes * sizeof *weights);
        for (int64_t i = 0; i < n; i++)
            if (labels[i] >= 0 && labels[i] < classes) weights[labels[i]]++;
        for (int64_t c = 0; c < classes; c++)
            weights[c] = weights[c] > 0 ? (float)n / (float)classes / weights[c] : 1;
        t->o.step.loss_options.n_weights = classes;
        t->o.step.loss_options.weights = weights;
    }
    hn_free(t->alloc, labels);
    return status;
}

/* ---- making ---- */

static hone_status describe(hn_training *t, hn_error *err) {
    const hn_training_options *o = &t->o;
    const hn_optimizer_options *p = &o->step.optimizer_options;
    int n = snprintf(
        t->how, sizeof t->how,
        "%s momentum %.17g beta %.17g %.17g epsilon %.17g decay %.17g nesterov %d; %s rate %.17g "
        "warmup %.17g last %.17g period %lld factor %.17g; %lld samples batch %lld parts %lld "
        "epochs %lld "
        "seed %llu augment %s; %s smoothing %.17g delta %.17g statistics %d clip %.17g average "
        "%.17g; %d teachers temperature %.17g alpha %.17g match %s; frozen",
        o->step.optimizer->name, p->momentum, p->beta1, p->beta2, p->epsilon, p->decay, p->nesterov,
        o->schedule->name, o->rates.rate, o->warmup, o->rates.last, (long long)o->rates.period,
        o->rates.factor, (long long)hn_dataset_count(t->data), (long long)o->batch,
        (long long)t->at.parts, (long long)o->epochs, (unsigned long long)o->seed,
        o->augment != NULL ? o->augment : "none", hn_trainer_graph(t->trainer)->loss_kind->name,
        o->step.loss_options.smoothing, o->step.loss_options.delta, o->step.frozen_statistics,
        o->step.clip, o->step.average, o->step.distill.n_teachers, o->step.distill.temperature,
        o->step.distill.alpha, o->step.distill.match != NULL ? o->step.distill.match : "none");
    for (int i = 0; i < o->step.n_frozen && n < (int)sizeof t->how; i++)
        n += snprintf(t->how + n, sizeof t->how - (size_t)n, " %s", o->step.frozen[i]);
    for (int i = 0; i < o->step.n_scales && n < (int)sizeof t->how; i++)
        n += snprintf(t->how + n, sizeof t->how - (size_t)n, " %s*%.17g", o->step.scales[i].pattern,
                      o->step.scales[i].by);
    for (int i = 0; i < o->step.loss_options.n_weights && n < (int)sizeof t->how; i++)
        n += snprintf(t->how + n, sizeof t->how - (size_t)n, " class %d %.9g", i,
                      (double)o->step.loss_options.weights[i]);
    const hn_distill_options *d = &o->step.distill;
    if ((d->self > 0 || d->confidence > 0 || d->viewed) && n < (int)sizeof t->how)
        n += snprintf(t->how + n, sizeof t->how - (size_t)n,
                      "; self %.17g confidence %.17g teachers' augment %s", d->self, d->confidence,
                      d->viewed ? o->teacher_augment : "as student's");
    HN_CHECK(err, n < (int)sizeof t->how, HONE_E_LIMIT,
             "augmentation and frozen patterns are longer than %zu letters", sizeof t->how);
    return HONE_OK;
}

/* Into which parts a batch falls, and how many of them are computed here. */
static hone_status share_parts(hn_training *t, hn_error *err) {
    HN_TRY(hn_ranks_open(&t->ranks, err));
    hn_step_options *o = &t->o.step;
    int64_t size = t->ranks.size;
    if (o->parts == 0 && size > 1) o->parts = size;
    if (o->parts == 1 && size == 1) o->parts = 0;
    int64_t parts = o->parts > 0 ? o->parts : 1;
    HN_CHECK(err, t->o.batch % parts == 0 && parts % size == 0, HONE_E_ARG,
             "a batch of %lld samples in %lld parts for %lld processes: each part wants as many "
             "samples, each process as many parts",
             (long long)t->o.batch, (long long)parts, (long long)size);
    o->ranks = &t->ranks;
    t->part = t->o.batch / parts;
    return HONE_OK;
}

static int64_t parts_here(const hn_training *t) { return t->at.parts / t->ranks.size; }

/* Of an epoch, but for where it begins. */
static hn_loader_options loader_options(const hn_training *t) {
    return (hn_loader_options){.threads = t->o.readers,
                               .samples = t->at.per_epoch * t->o.batch,
                               .batch = t->part,
                               .shuffle = true,
                               .share = {t->at.parts, t->ranks.rank * parts_here(t), parts_here(t)},
                               .ahead = t->o.readers > 0 ? t->o.readers + 1 : 0};
}

static size_t bytes_of(const hn_step_sizes *s) {
    return hone_value_bytes(s->dtype, s->rank, s->dims);
}

static size_t per(const hn_dataset_field *f) {
    size_t n = 1;
    for (int i = 0; i < f->rank; i++) n *= (size_t)f->dims[i];
    return n;
}

/* A batch as the feed makes it, and what preparing it takes. */
static size_t batch_bytes(const hn_training *t, int n, const hn_step_sizes *sizes) {
    size_t bytes = (size_t)t->part * sizeof(int64_t); /* their numbers */
    size_t tensors = (size_t)t->sized->graph->n_inputs;
    int targets = hn_dataset_n_targets(t->data);
    if (hn_dataset_has_labels(t->data)) bytes *= 2;
    bytes += (tensors + (size_t)targets) * sizeof(hn_tensor *);
    for (int i = 0; i < n; i++) bytes += bytes_of(&sizes[i]) + sizeof(hn_tensor);
    if (t->o.step.distill.viewed) bytes += bytes_of(&sizes[0]) + sizeof(hn_tensor);
    for (int i = 0; i < targets; i++) {
        const hn_dataset_field *f = hn_dataset_target_at(t->data, i);
        bytes += (size_t)t->part * hone_value_bytes(f->dtype, f->rank, f->dims) + sizeof(hn_tensor);
        if (f->dtype != HONE_DTYPE_F32) bytes += (size_t)t->part * sizeof(float) * per(f);
    }
    return bytes;
}

/* What is taken beside the trainer: the order of samples, batches that are read ahead and the one
 * that is trained on, and what readers need to augment theirs. */
static size_t reading_bytes(const hn_training *t, int n, const hn_step_sizes *sizes) {
    size_t batch = batch_bytes(t, n, sizes), first = bytes_of(&sizes[0]);
    int64_t working = t->o.readers > 0 ? t->o.readers : 1, ahead = t->o.readers + 1;
    int64_t all = t->at.per_epoch * parts_here(t);
    int64_t kept = t->o.readers == 0 ? 1 : 1 + (ahead < all ? ahead : all);
    int changes = t->augment.n + t->teacher_augment.n;
    size_t more = t->augment.n_mixes > 0 ? first : changes > 0 ? first / (size_t)t->part : 0;
    hn_loader_options o = loader_options(t);
    return (size_t)kept * batch + (size_t)working * more +
           hn_loader_bytes(&o, hn_dataset_count(t->data));
}

/* Makes the trainer; HONE_E_NOMEM: it takes more than is allowed. */
static hone_status try_trainer(hn_training *t, const hn_step_sizes *sizes,
                               const hn_step_sizes *target, size_t reading,
                               const hn_run_options *how, hn_error *err) {
    size_t limit = t->alloc->limit;
    HN_TRY(hn_trainer_create(&t->trainer, t->sized, sizes, target, &t->o.step, how, err));
    size_t step = hn_trainer_planned(t->trainer);
    t->at.planned = step > 0 ? step + reading : 0;
    t->at.twice = hn_trainer_graph(t->trainer)->twice;
    if (limit == 0 || t->at.planned <= limit) return HONE_OK;
    hn_trainer_destroy(t->trainer);
    t->trainer = NULL;
    return HN_FAIL(err, HONE_E_NOMEM,
                   "%zu bytes: %zu of a step, and %zu of batches that are trained on or read "
                   "ahead; smaller batches take less",
                   t->at.planned, step, reading);
}

/* The trainer, with as few segments of its activations computed twice as what is allowed asks for.
 */
static hone_status begin_trainer(hn_training *t, const hn_step_sizes *sizes,
                                 const hn_step_sizes *target, size_t reading,
                                 const hn_run_options *how, hn_error *err) {
    hn_error ignored;
    size_t least = SIZE_MAX;
    t->o.step.segments = 0;
    hone_status status = try_trainer(t, sizes, target, reading, how, err);
    if (status != HONE_E_NOMEM || t->alloc->limit == 0) return status;
    for (int segments = 1; segments <= HN_MOST_SEGMENTS; segments++) {
        size_t bytes;
        hn_recomputed twice;
        t->o.step.segments = segments;
        if (hn_trainer_need(&bytes, &twice, t->sized, sizes, target, &t->o.step, how, &ignored) !=
                HONE_OK ||
            bytes == 0)
            break;
        bytes += reading;
        if (bytes <= t->alloc->limit &&
            try_trainer(t, sizes, target, reading, how, &ignored) == HONE_OK)
            return HONE_OK;
        if (bytes < least) least = bytes;
        if (twice.segments < segments) break;
    }
    if (least < SIZE_MAX)
        hn_error_context(err, "at least %zu with activations computed twice, and without", least);
    return status;
}

static hone_status begin_mixing(hn_training *t, int n_inputs, hn_error *err) {
    HN_CHECK(err, n_inputs == 1, HONE_E_ARG,
             "mixup and cutmix want a model of one input, this one has %d", n_inputs);
    t->o.step.mixed = true;
    t->others = hn_alloc_array(t->alloc, 2 * (size_t)t->part, sizeof *t->others, HN_MEM_DATA);
    return t->others != NULL ? HONE_OK : HN_NOMEM(err);
}

/* What teachers see, if it is not what the student does. */
static hone_status begin_view(hn_training *t, hn_error *err) {
    const char *text = t->o.teacher_augment;
    HN_TRY(hn_augment_read(&t->teacher_augment, text, err));
    t->o.step.distill.viewed = text != NULL;
    HN_CHECK(err, text == NULL || t->o.step.distill.n_teachers > 0, HONE_E_ARG,
             "augmentation '%s' of what teachers see wants a teacher", text);
    HN_CHECK(err, t->teacher_augment.n_mixes == 0, HONE_E_ARG,
             "augmentation '%s' of what teachers see mixes samples: mixup and cutmix stand in the "
             "student's, and teachers then see the same samples mixed in the same shares",
             text);
    return HONE_OK;
}

/* What is trained is in the file under its name. A constant of 16 bits that some node reads as it
 * is keeps its name when others get it in f32. */
static hone_status check_names(const hn_training *t, hn_error *err) {
    const hn_train_step *s = hn_trainer_graph(t->trainer);
    for (int i = 0; i < s->n_kept; i++) {
        const hn_kept *k = &s->kept[i];
        const hn_value *v = hn_graph_value(t->model->graph, k->name);
        HN_CHECK(
            err, !hn_kept_in_model(s, k) || (v != NULL && v->constant != NULL), HONE_E_UNSUPPORTED,
            "parameter '%s' is f32 for some nodes and has 16 bits for others: freeze it", k->name);
    }
    return HONE_OK;
}

static void say_idle(const hn_training *t) {
    const hn_train_step *s = hn_trainer_graph(t->trainer);
    const char *output = t->sized->graph->outputs[0].value->name;
    if (s->n_idle == 1)
        hn_log(HONE_LOG_WARN,
               "parameter '%s' stays as in the file: output '%s' does not depend on it", s->idle,
               output);
    else if (s->n_idle > 1)
        hn_log(
            HONE_LOG_WARN,
            "%d parameters stay as in the file: output '%s' does not depend on them, such as '%s'",
            s->n_idle, output, s->idle);
}

static hone_status begin(hn_training *t, const hn_run_options *how, hn_error *err) {
    int64_t count = hn_dataset_count(t->data);
    HN_CHECK(err, t->o.batch > 0 && t->o.epochs > 0, HONE_E_ARG,
             "batch %lld and epochs %lld, expected 1 or more", (long long)t->o.batch,
             (long long)t->o.epochs);
    HN_CHECK(err, count >= t->o.batch, HONE_E_ARG, "the data has %lld samples, a batch %lld",
             (long long)count, (long long)t->o.batch);
    HN_TRY(share_parts(t, err));
    HN_TRY(hn_augment_read(&t->augment, t->o.augment, err));
    HN_TRY(begin_view(t, err));
    HN_TRY(hn_model_clone(&t->sized, t->model, t->alloc, err));
    bool widened;
    hn_model_fix_defaults(t->sized);
    HN_TRY(fix_sizes(t, err));
    HN_TRY(hn_widen(t->sized, &widened, err));
    if (widened) HN_TRY(hn_model_infer(t->sized, NULL, err));
    if (t->o.balanced) HN_TRY(balance(t, err));
    hn_graph *g = t->sized->graph;
    HN_TRY(hn_feed_create(&t->feed, g, t->data, t->part, t->alloc, err));
    hn_step_sizes sizes[64], target;
    int n = 0;
    for (int i = 0; i < g->n_inputs; i++) {
        if (g->inputs[i]->constant != NULL) continue;
        HN_CHECK(err, n < 64, HONE_E_LIMIT, "more than 64 inputs");
        size_of(g->inputs[i], &sizes[n++]);
    }
    bool none;
    HN_CHECK(err, n > 0, HONE_E_MODEL, "the model has no input for samples");
    HN_TRY(hn_augment_check(&t->augment, sizes[0].dtype, sizes[0].rank, sizes[0].dims, err));
    HN_TRY(
        hn_augment_check(&t->teacher_augment, sizes[0].dtype, sizes[0].rank, sizes[0].dims, err));
    HN_TRY(target_of(t, &target, &none, err));
    if (t->augment.n_mixes > 0) HN_TRY(begin_mixing(t, n, err));
    t->at = (hn_training_place){.per_epoch = count / t->o.batch,
                                .epochs = t->o.epochs,
                                .samples = t->o.batch,
                                .parts = t->o.batch / t->part};
    t->at.steps = t->at.per_epoch * t->o.epochs;
    HN_TRY(begin_trainer(t, sizes, none ? NULL : &target, reading_bytes(t, n, sizes), how, err));
    HN_TRY(check_names(t, err));
    say_idle(t);
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
    t->o.step.seed = o->seed;
    hone_status status = begin(t, how, err);
    if (status == HONE_E_NOMEM && alloc->limit > 0)
        hn_error_context(err, "training would take more than the %zu bytes that are allowed",
                         alloc->limit);
    if (status != HONE_OK)
        hn_training_destroy(t);
    else
        *out = t;
    return status;
}

/* ---- steps ---- */

hn_training_place hn_training_at(const hn_training *t) { return t->at; }
hn_trainer *hn_training_trainer(hn_training *t) { return t->trainer; }
const hn_ranks *hn_training_ranks(const hn_training *t) { return &t->ranks; }
void hn_training_end(hn_training *t) { hn_ranks_close(&t->ranks); }

static hn_tensor *first_input(const hn_training *t, const hn_samples *s) {
    int i = 0;
    while (t->sized->graph->inputs[i]->constant != NULL) i++;
    return s->in[i];
}

/* Targets as the loss takes them. */
static hone_status to_f32(hn_tensor **targets, hn_error *err) {
    const hn_tensor *from = *targets;
    hn_tensor *to;
    if (from->dtype == HONE_DTYPE_F32) return HONE_OK;
    HN_TRY(hn_tensor_create(&to, from->alloc, HN_MEM_DATA, HONE_DTYPE_F32, from->rank, from->dims,
                            err));
    for (int64_t i = 0; i < from->n; i++) ((float *)to->data)[i] = (float)hn_tensor_f64(from, i);
    hn_tensor_unref(*targets);
    *targets = to;
    return HONE_OK;
}

/* Mixes a batch with itself, and with it what it is judged by and what teachers see. */
static hone_status mix(const hn_training *t, int64_t batch, bool targets, hn_samples *s,
                       hn_error *err) {
    hn_tensor *x = first_input(t, s);
    hn_mix m = {.partner = hn_alloc_array(t->alloc, (size_t)s->n, sizeof *m.partner, HN_MEM_DATA)};
    if (m.partner == NULL) return HN_NOMEM(err);
    hn_augment_pair(&t->augment, x, t->o.seed, t->loading, batch, &m);
    hone_status status = hn_augment_mix(&m, x, err);
    if (status == HONE_OK && s->view != NULL) status = hn_augment_mix(&m, s->view, err);
    if (status == HONE_OK && targets) status = hn_augment_blend(&m, s->targets[0], err);
    hn_free(t->alloc, m.partner);
    return status;
}

/* The samples as teachers see them. What is drawn for them is not what is drawn for the student. */
static hone_status make_view(const hn_training *t, hn_samples *s, hn_error *err) {
    const hn_tensor *x = first_input(t, s);
    HN_TRY(hn_tensor_create(&s->view, t->alloc, HN_MEM_DATA, x->dtype, x->rank, x->dims, err));
    memcpy(s->view->data, x->data, x->bytes);
    return hn_augment_batch(&t->teacher_augment, s->view, s->index, t->o.seed ^ 0x94d049bb133111ebu,
                            t->loading, err);
}

/* Makes a batch that was read ready: on a reader's thread, while others and the trainer run. */
static hone_status prepare(void *ctx, int64_t batch, hn_samples *s, hn_error *err) {
    const hn_training *t = ctx;
    const hn_train_step *step = hn_trainer_graph(t->trainer);
    bool targets = step->target >= 0 && !step->loss_kind->labels;
    hn_tensor *x = first_input(t, s);
    if (s->n != t->part) return HONE_OK; /* which ends training */
    if (targets) HN_TRY(to_f32(&s->targets[0], err));
    if (step->view >= 0) HN_TRY(make_view(t, s, err));
    HN_TRY(hn_augment_batch(&t->augment, x, s->index, t->o.seed, t->loading, err));
    return t->augment.n_mixes > 0 ? mix(t, batch, targets, s, err) : HONE_OK;
}

/* Opens the data at the place where the course is. */
static hone_status open_epoch(hn_training *t, hn_error *err) {
    hn_loader_options o = loader_options(t);
    o.skip = t->at.in_epoch * parts_here(t);
    o.seed = t->o.seed + 0x9e3779b97f4a7c15u * (uint64_t)(t->at.epoch + 1);
    o.prepare = prepare;
    o.prepare_ctx = t;
    t->loading = t->at.epoch;
    return hn_loader_create(&t->loader, t->feed, &o, t->alloc, err);
}

/* The labels of the samples that those of a batch were mixed with. */
static hone_status give_others(hn_training *t, const hn_samples *s, int64_t number,
                               hn_tensor *others, hn_error *err) {
    hn_mix m = {.partner = t->others};
    int64_t *labels = t->others + s->n;
    hn_augment_pair(&t->augment, first_input(t, s), t->o.seed, t->at.epoch, number, &m);
    for (int64_t i = 0; i < s->n; i++) labels[i] = s->labels[m.partner[i]];
    HN_TRY(hn_tensor_borrow(others, HONE_DTYPE_S64, 1, &s->n, labels, err));
    hn_trainer_mix(t->trainer, others, m.share);
    return HONE_OK;
}

/* A part of a batch; number: in the epoch, those of other processes counted. */
static hone_status run(hn_training *t, hn_samples *s, int64_t number, hn_error *err) {
    const hn_graph *g = t->sized->graph;
    const hn_tensor *in[64];
    hn_tensor labels, others, *target = s->n_targets > 0 ? s->targets[0] : NULL;
    int n = 0;
    HN_CHECK(err, s->n == t->part, HONE_E_FORMAT,
             "samples of a batch cannot be decoded: hone eval names them");
    for (int i = 0; i < g->n_inputs; i++)
        if (s->in[i] != NULL) in[n++] = s->in[i];
    const hn_train_step *step = hn_trainer_graph(t->trainer);
    if (step->target >= 0 && step->loss_kind->labels) {
        HN_TRY(hn_tensor_borrow(&labels, HONE_DTYPE_S64, 1, &s->n, s->labels, err));
        target = &labels;
    }
    if (step->other >= 0) HN_TRY(give_others(t, s, number, &others, err));
    if (step->view >= 0) hn_trainer_set_view(t->trainer, s->view);
    t->at.rate = hn_schedule_rate(t->o.schedule, &t->o.rates, t->at.step);
    return hn_trainer_step(t->trainer, in, target, t->at.rate, &t->at.loss, err);
}

hone_status hn_training_step(hn_training *t, hn_error *err) {
    hn_samples s = {0};
    HN_CHECK(err, t->at.step < t->at.steps, HONE_E_ARG, "all %lld steps are done",
             (long long)t->at.steps);
    if (t->loader == NULL) HN_TRY(open_epoch(t, err));
    if (t->at.in_epoch == 0) t->loss_sum = 0;
    for (int64_t i = 0; i < parts_here(t); i++) {
        HN_TRY(hn_loader_next(t->loader, &s, err));
        int64_t number = t->at.in_epoch * t->at.parts + t->ranks.rank * parts_here(t) + i;
        hone_status status = run(t, &s, number, err);
        hn_samples_deinit(&s);
        HN_TRY(status);
    }
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

/* Whether the trained model has the very value; one that it stores in 16 bits it has not. */
static bool in_model(const hn_training *t, const hn_kept *k) {
    const hn_value *v = hn_graph_value(t->model->graph, k->name);
    return hn_kept_in_model(hn_trainer_graph(t->trainer), k) && v != NULL &&
           v->type.dtype == HONE_DTYPE_F32;
}

/* The name of the initializer that holds a kept value: its own where the model has it. */
static const char *kept_name(const hn_training *t, int kept, char *buf, size_t size) {
    const hn_train_step *s = hn_trainer_graph(t->trainer);
    const hn_kept *k = &s->kept[kept];
    int which = 0;
    if (in_model(t, k)) return k->name;
    for (int i = 0; i < kept; i++)
        which += s->kept[i].kind == k->kind && strcmp(s->kept[i].name, k->name) == 0;
    if (k->kind == HN_KEPT_MOMENT)
        snprintf(buf, size, "hone.train.moment%d/%s", which, k->name);
    else
        snprintf(buf, size, "hone.train.%s/%s",
                 k->kind == HN_KEPT_EXTRA     ? "extra"
                 : hn_kept_in_model(s, k)     ? "exact"
                 : k->kind == HN_KEPT_AVERAGE ? "average"
                                              : "present",
                 k->name);
    return buf;
}

/* What the model does not have, as initializers that no node reads. */
static hone_status put_kept(hn_training *t, hn_model *m, hn_error *err) {
    const hn_train_step *s = hn_trainer_graph(t->trainer);
    for (int i = 0; i < s->n_kept; i++) {
        char name[1024];
        hn_tensor *value;
        hn_value *v;
        if (in_model(t, &s->kept[i])) continue;
        HN_TRY(hn_tensor_from_f32(&value, m->alloc, 1, &s->kept[i].n,
                                  hn_trainer_value(t->trainer, i), err));
        HN_TRY(hn_value_create_constant(&v, m->graph, kept_name(t, i, name, sizeof name), NULL,
                                        value, err));
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
    hone_status status = put_kept(t, m, err);
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
            const char *stored = kept_name(t, i, name, sizeof name);
            const hn_value *v = hn_graph_value(m->graph, stored);
            bool fits = v != NULL && v->constant != NULL && v->constant->data != NULL &&
                        v->constant->dtype == HONE_DTYPE_F32 && v->constant->n == k->n;
            HN_CHECK(err, fits, HONE_E_ARG,
                     "%s is a checkpoint of another model: it has no '%s' of %lld floats", path,
                     stored, (long long)k->n);
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

#include "train/trainer.h"

#include <math.h>

#include "train/batch_parts.h"
#include "train/diagnose.h"

#define F16_INFINITE 65520.0f /* what rounds to an infinity there */

typedef struct slot {
    float *block[2]; /* the second where a step cannot change it in place */
    int at;          /* the block that holds the value */
    int next;        /* that the step writes */
    size_t bytes;
    hn_tensor now;
} slot;

struct hn_trainer {
    hn_allocator *alloc;
    hn_run_options how;
    hn_train_step *step;
    hn_optimizer_options optimizer;
    hn_runner runner;
    slot *slots;          /* by kept */
    int *slot_of;         /* by output of the graph that updates: -1: it is not kept */
    const hn_tensor **in; /* of the step's graph */
    /* In parts: the runs of their graph are `runner`'s, and the update's: */
    hn_parts *parts;             /* NULL: a step is one run */
    float *part;                 /* that the run writes */
    int64_t *offset;             /* in a part, by output of its graph; -1: it is not added */
    int64_t part_n;              /* floats of a part; the last is the loss */
    int64_t n_parts;             /* of all processes */
    int64_t first_part, part_at; /* of this one among them, and which of its own comes next */
    hn_runner updater;
    const hn_tensor **update_in;
    hn_tensor *sums; /* inputs of the update, by summed */
    float rates[HN_RATES];
    hn_tensor rates_now, number_now;
    float loss;
    int64_t steps, number; /* number: what the step's graph is told */
    float share;
    hn_tensor share_now;
    size_t planned;
};

void hn_trainer_destroy(hn_trainer *t) {
    if (t == NULL) return;
    hn_runner_destroy(&t->runner);
    if (t->parts != NULL) hn_runner_destroy(&t->updater);
    hn_parts_destroy(t->parts);
    hn_free(t->alloc, t->offset);
    hn_free(t->alloc, (void *)t->update_in);
    hn_free(t->alloc, t->sums);
    for (int i = 0; t->slots != NULL && i < t->step->n_kept; i++)
        for (int k = 0; k < 2; k++) hn_free(t->alloc, t->slots[i].block[k]);
    hn_free(t->alloc, t->slots);
    hn_free(t->alloc, t->slot_of);
    hn_free(t->alloc, (void *)t->in);
    hn_train_step_destroy(t->step);
    hn_free(t->alloc, t);
}

/* The graph that updates what is kept. */
static const hn_graph *updating(const hn_trainer *t) {
    return (t->step->update != NULL ? t->step->update : t->step->model)->graph;
}

static hone_status begin_slot(hn_trainer *t, int i, hn_error *err) {
    const hn_kept *k = &t->step->kept[i];
    const hn_value *v = updating(t)->inputs[k->input];
    int64_t dims[HONE_MAX_RANK];
    slot *s = &t->slots[i];
    for (int a = 0; a < v->type.shape.rank; a++) hn_dim_is_const(v->type.shape.dim[a], &dims[a]);
    s->bytes = (size_t)k->n * sizeof(float);
    s->block[0] = hn_alloc(t->alloc, s->bytes, HN_MEM_TENSOR);
    if (s->block[0] == NULL) return HN_NOMEM(err);
    if (k->first != NULL)
        memcpy(s->block[0], k->first->data, s->bytes);
    else
        memset(s->block[0], 0, s->bytes);
    t->slot_of[k->output] = i;
    if (t->parts == NULL) t->in[k->input] = &s->now;
    if (t->parts != NULL) t->update_in[k->input] = &s->now;
    if (k->read >= 0) t->in[k->read] = &s->now;
    return hn_tensor_borrow(&s->now, HONE_DTYPE_F32, v->type.shape.rank, dims, s->block[0], err);
}

/* Where the outputs of a part are added, and what the update reads. */
static hone_status begin_parts(hn_trainer *t, int64_t parts, const hn_ranks *ranks, hn_error *err) {
    const hn_train_step *s = t->step;
    int n_out = s->model->graph->n_outputs, n_in = s->update->graph->n_inputs;
    t->offset = hn_alloc_array(t->alloc, (size_t)n_out, sizeof *t->offset, HN_MEM_OTHER);
    t->update_in = hn_alloc_array(t->alloc, (size_t)n_in, sizeof *t->update_in, HN_MEM_OTHER);
    t->sums = hn_alloc_array(t->alloc, (size_t)s->n_summed, sizeof *t->sums, HN_MEM_OTHER);
    if (t->offset == NULL || t->update_in == NULL || t->sums == NULL) return HN_NOMEM(err);
    for (int i = 0; i < n_out; i++) t->offset[i] = -1;
    memset(t->update_in, 0, (size_t)n_in * sizeof *t->update_in);
    for (int i = 0; i < s->n_summed; i++) {
        const hn_summed *a = &s->summed[i];
        const hn_shape *shape = &s->update->graph->inputs[a->input]->type.shape;
        int64_t dims[HONE_MAX_RANK];
        for (int k = 0; k < shape->rank; k++) hn_dim_is_const(shape->dim[k], &dims[k]);
        t->offset[a->output] = t->part_n;
        t->part_n += a->n;
        t->update_in[a->input] = &t->sums[i];
        HN_TRY(hn_tensor_borrow(&t->sums[i], HONE_DTYPE_F32, shape->rank, dims, t->rates, err));
    }
    t->offset[s->loss] = t->part_n++;
    return hn_parts_create(&t->parts, t->part_n, parts, ranks, t->alloc, err);
}

static hone_status begin(hn_trainer *t, const hn_step_options *o, hn_error *err) {
    const hn_graph *g = t->step->model->graph;
    if (t->step->update != NULL) HN_TRY(begin_parts(t, o->parts / o->ranks->size, o->ranks, err));
    size_t bytes = (size_t)t->step->n_kept * sizeof *t->slots;
    t->slots = hn_alloc_zero(t->alloc, bytes, HN_MEM_OTHER); /* destroy goes through them */
    int n_out = updating(t)->n_outputs;
    t->slot_of = hn_alloc_array(t->alloc, (size_t)n_out, sizeof *t->slot_of, HN_MEM_OTHER);
    t->in = hn_alloc_array(t->alloc, (size_t)g->n_inputs, sizeof *t->in, HN_MEM_OTHER);
    if (t->slots == NULL || t->slot_of == NULL || t->in == NULL) return HN_NOMEM(err);
    memset(t->in, 0, (size_t)g->n_inputs * sizeof *t->in);
    for (int i = 0; i < n_out; i++) t->slot_of[i] = -1;
    for (int i = 0; i < t->step->n_kept; i++) HN_TRY(begin_slot(t, i, err));
    (t->parts != NULL ? t->update_in : t->in)[t->step->rates] = &t->rates_now;
    if (t->step->share >= 0) t->in[t->step->share] = &t->share_now;
    int64_t n = HN_RATES, one = 1;
    HN_TRY(hn_tensor_borrow(&t->share_now, HONE_DTYPE_F32, 1, &one, &t->share, err));
    if (t->step->number >= 0) {
        t->in[t->step->number] = &t->number_now;
        HN_TRY(hn_tensor_borrow(&t->number_now, HONE_DTYPE_S64, 0, NULL, &t->number, err));
    }
    return hn_tensor_borrow(&t->rates_now, HONE_DTYPE_F32, 1, &n, t->rates, err);
}

/* Makes a plan for inputs some of which are not there yet; in[] is as before afterwards. */
static hone_status prepare(const hn_runner *r, const hn_graph *g, const hn_tensor **in,
                           hn_allocator *alloc, hn_error *err) {
    float none;
    hn_tensor *batch = hn_alloc_array(alloc, (size_t)g->n_inputs, sizeof *batch, HN_MEM_OTHER);
    if (batch == NULL) return HN_NOMEM(err);
    hone_status status = HONE_OK;
    for (int i = 0; i < g->n_inputs && status == HONE_OK; i++) {
        const hn_type *type = &g->inputs[i]->type;
        int64_t dims[HONE_MAX_RANK];
        if (in[i] != NULL || g->inputs[i]->constant != NULL) continue;
        for (int a = 0; a < type->shape.rank; a++) hn_dim_is_const(type->shape.dim[a], &dims[a]);
        status = hn_tensor_borrow(&batch[i], type->dtype, type->shape.rank, dims, &none, err);
        in[i] = &batch[i];
    }
    if (status == HONE_OK) status = hn_runner_prepare(r, in, err);
    for (int i = 0; i < g->n_inputs; i++)
        if (in[i] == &batch[i]) in[i] = NULL;
    hn_free(alloc, batch);
    return status;
}

/* Makes the plan of a runner, and adds what it will take to t->planned. */
static hone_status plan(hn_trainer *t, const hn_runner *r, const hn_graph *g, const hn_tensor **in,
                        bool *known, hn_error *err) {
    size_t live = atomic_load(&t->alloc->live);
    HN_TRY(prepare(r, g, in, t->alloc, err));
    hn_engine_memory m;
    *known = *known && hn_runner_memory(r, &m) && m.planned;
    if (*known) t->planned += m.peak - live + m.states;
    return HONE_OK;
}

/* What training takes is known before it begins. */
static hone_status plan_all(hn_trainer *t, hn_error *err) {
    bool known = true;
    t->planned = atomic_load(&t->alloc->live);
    HN_TRY(plan(t, &t->runner, t->step->model->graph, t->in, &known, err));
    if (t->parts != NULL)
        HN_TRY(plan(t, &t->updater, t->step->update->graph, t->update_in, &known, err));
    if (!known) t->planned = 0;
    return HONE_OK;
}

/* Of one of the graphs of a step; the one that updates has what is kept. */
static hn_engine_options engine_options(const hn_run_options *how, const hn_train_step *s,
                                        const hn_model *m) {
    hn_engine_options e = how->engine;
    bool updates = s->update == NULL || m == s->update;
    e.n_pairs = updates ? s->n_kept : 0;
    e.pairs = updates ? s->pairs : NULL;
    e.prepared = NULL;
    e.inferred = false;
    e.layers.n = 0;
    return e;
}

/* A trainer without plans. */
static hone_status create(hn_trainer **out, const hn_model *m, const hn_step_sizes *sizes,
                          const hn_step_sizes *target, const hn_step_options *o,
                          const hn_run_options *how, hn_error *err) {
    hn_allocator *alloc = how->engine.alloc;
    hn_trainer *t = hn_alloc_zero(alloc, sizeof *t, HN_MEM_OTHER);
    if (t == NULL) return HN_NOMEM(err);
    t->alloc = alloc;
    t->how = *how;
    t->optimizer = o->optimizer_options;
    t->n_parts = o->parts;
    if (o->parts > 0) t->first_part = o->parts / o->ranks->size * o->ranks->rank;
    hone_status status = hn_train_step_create(&t->step, m, sizes, target, o, alloc, err);
    if (status == HONE_OK) status = begin(t, o, err);
    if (status != HONE_OK)
        hn_trainer_destroy(t);
    else
        *out = t;
    return status;
}

hone_status hn_trainer_create(hn_trainer **out, const hn_model *m, const hn_step_sizes *sizes,
                              const hn_step_sizes *target, const hn_step_options *o,
                              const hn_run_options *how, hn_error *err) {
    hn_trainer *t;
    hone_status status = HONE_OK;
    HN_TRY(create(&t, m, sizes, target, o, how, err));
    const hn_train_step *s = t->step;
    hn_engine_options e = engine_options(how, s, s->model);
    if (t->parts != NULL) {
        hn_engine_options u = engine_options(how, s, s->update);
        status = hn_runner_create(&t->updater, how->backend, s->update, &u, err);
    }
    if (status == HONE_OK) status = hn_runner_create(&t->runner, how->backend, s->model, &e, err);
    if (status == HONE_OK) status = plan_all(t, err);
    if (status != HONE_OK)
        hn_trainer_destroy(t);
    else
        *out = t;
    return status;
}

/* ---- how much it would take ---- */

/* Everything here is made with allocators that have no limit: the one that training goes by refuses
 * graphs and plans without a word on their size. A plan that is too large for the machine is known
 * all the same, and nothing is written to its memory. */

/* Adds what the plan of a graph takes. */
static hone_status add_need(const hn_trainer *t, const hn_model *m, const hn_tensor **in,
                            size_t *bytes, bool *known, hn_error *err) {
    hn_engine_options e = engine_options(&t->how, t->step, m);
    hn_engine_memory memory;
    hn_allocator own;
    hn_runner r;
    hn_allocator_init(&own);
    e.alloc = &own;
    HN_TRY(hn_runner_create(&r, t->how.backend, m, &e, err));
    hone_status status = prepare(&r, m->graph, in, &own, err);
    if (status == HONE_E_NOMEM) status = HONE_OK;
    *known = *known && hn_runner_memory(&r, &memory) && memory.planned;
    if (*known) *bytes += memory.peak + memory.states;
    hn_runner_destroy(&r);
    return status;
}

hone_status hn_trainer_need(size_t *bytes, hn_recomputed *twice, const hn_model *m,
                            const hn_step_sizes *sizes, const hn_step_sizes *target,
                            const hn_step_options *o, const hn_run_options *how, hn_error *err) {
    hn_trainer *t;
    bool known = true;
    hn_allocator own;
    hn_run_options free_how = *how;
    hn_allocator_init(&own);
    free_how.engine.alloc = &own;
    HN_TRY(create(&t, m, sizes, target, o, &free_how, err));
    *twice = t->step->twice;
    *bytes = atomic_load(&how->engine.alloc->live) + atomic_load(&own.live);
    hone_status status = add_need(t, t->step->model, t->in, bytes, &known, err);
    if (status == HONE_OK && t->parts != NULL)
        status = add_need(t, t->step->update, t->update_in, bytes, &known, err);
    if (!known) *bytes = 0;
    hn_trainer_destroy(t);
    return status;
}

/* ---- steps ---- */

static hone_status place_part(void *ctx, int i, hone_dtype dtype, int rank, const int64_t *dims,
                              void **to, hn_error *err) {
    (void)dtype, (void)rank, (void)dims, (void)err;
    hn_trainer *t = ctx;
    *to = t->offset[i] >= 0 ? t->part + t->offset[i] : NULL;
    return HONE_OK;
}

static hone_status place(void *ctx, int i, hone_dtype dtype, int rank, const int64_t *dims,
                         void **to, hn_error *err) {
    (void)dtype, (void)rank, (void)dims;
    hn_trainer *t = ctx;
    const void *replaced = *to;
    *to = NULL;
    if (t->parts == NULL && i == t->step->loss) {
        *to = &t->loss;
        return HONE_OK;
    }
    if (t->slot_of[i] < 0) return HONE_OK;
    slot *s = &t->slots[t->slot_of[i]];
    s->next = replaced != NULL && replaced == s->block[s->at] ? s->at : 1 - s->at;
    if (s->block[s->next] == NULL) {
        s->block[s->next] = hn_alloc(t->alloc, s->bytes, HN_MEM_TENSOR);
        if (s->block[s->next] == NULL) return HN_NOMEM(err);
    }
    *to = s->block[s->next];
    return HONE_OK;
}

/* One part, and after the last the update. *loss is then known. */
static hone_status run_part(hn_trainer *t, bool *last, hn_error *err) {
    float *sum;
    *last = false;
    t->part = hn_parts_room(t->parts);
    t->part[t->part_n - 1] = 0;
    hone_status status = hn_runner_run(&t->runner, t->in, place_part, t, NULL, NULL, err);
    if (status != HONE_OK) t->loss = t->part[t->part_n - 1];
    HN_TRY(status);
    HN_TRY(hn_parts_add(t->parts, &sum, err));
    if (sum == NULL) return HONE_OK;
    for (int i = 0; i < t->step->n_summed; i++)
        t->sums[i].data = sum + t->offset[t->step->summed[i].output];
    t->loss = sum[t->part_n - 1] / (float)t->n_parts;
    *last = true;
    return hn_runner_run(&t->updater, t->update_in, place, t, NULL, NULL, err);
}

void hn_trainer_mix(hn_trainer *t, const hn_tensor *other, double share) {
    t->in[t->step->other] = other;
    t->share = (float)share;
}

void hn_trainer_set_view(hn_trainer *t, const hn_tensor *view) { t->in[t->step->view] = view; }

static hone_status explain(hn_trainer *t, hn_error *err) {
    char why[800];
    hn_diagnose(t->step, t->in, &t->how, why, sizeof why);
    return HN_FAIL(err, HONE_E_ARG, "the loss of step %lld is %g: %s", (long long)t->steps + 1,
                   (double)t->loss, why);
}

hone_status hn_trainer_step(hn_trainer *t, const hn_tensor *const *in, const hn_tensor *target,
                            double rate, double *loss, hn_error *err) {
    const hn_graph *g = t->step->model->graph;
    for (int i = 0, k = 0; i < t->step->n_data; i++)
        if (g->inputs[i]->constant == NULL) t->in[i] = in[k++];
    if (t->step->target >= 0) t->in[t->step->target] = target;
    hn_optimizer_rates(&t->optimizer, rate, t->steps + 1, t->rates);
    /* Parts are counted over all processes: who computes one makes no difference. */
    t->number = t->parts != NULL ? t->steps * t->n_parts + t->first_part + t->part_at : t->steps;
    bool last = true;
    t->loss = 0;
    hone_status status = t->parts != NULL
                             ? run_part(t, &last, err)
                             : hn_runner_run(&t->runner, t->in, place, t, NULL, NULL, err);
    if (status != HONE_OK && !isfinite(t->loss)) return explain(t, err);
    HN_TRY(status);
    t->part_at = last ? 0 : t->part_at + 1;
    if (!last) return HONE_OK;
    *loss = (double)t->loss;
    for (int i = 0; i < t->step->n_kept; i++) {
        slot *s = &t->slots[i];
        s->at = s->next;
        s->now.data = s->block[s->at];
    }
    t->steps++;
    return HONE_OK;
}

/* ---- looking at it ---- */

void hn_trainer_set_steps(hn_trainer *t, int64_t steps) { t->steps = steps; }
const hn_train_step *hn_trainer_graph(const hn_trainer *t) { return t->step; }
size_t hn_trainer_planned(const hn_trainer *t) { return t->planned; }
float *hn_trainer_value(hn_trainer *t, int kept) { return t->slots[kept].block[t->slots[kept].at]; }

/* What is kept, as the model stores it: like `was`. */
static hone_status put(hn_trainer *t, int kept, const hn_tensor *was, hn_allocator *alloc,
                       hn_tensor **out, hn_error *err) {
    const hn_kept *k = &t->step->kept[kept];
    const float *v = hn_trainer_value(t, kept);
    for (int64_t i = 0; was->dtype == HONE_DTYPE_F16 && i < k->n; i++)
        HN_CHECK(err, fabsf(v[i]) < F16_INFINITE, HONE_E_ARG,
                 "after %lld steps %s '%s' is too large for f16: element %lld of %lld is %g",
                 (long long)t->steps, hn_kept_text(k->kind), k->name, (long long)i, (long long)k->n,
                 (double)v[i]);
    HN_TRY(hn_tensor_create(out, alloc, HN_MEM_TENSOR, was->dtype, was->rank, was->dims, err));
    hn_cast(HONE_DTYPE_F32, v, was->dtype, (*out)->data, k->n, true);
    return HONE_OK;
}

hone_status hn_trainer_store(hn_trainer *t, hn_model *m, hn_error *err) {
    for (int i = 0; i < t->step->n_kept; i++) {
        const hn_kept *k = &t->step->kept[i];
        if (!hn_kept_in_model(t->step, k)) continue;
        int64_t at = hn_first_not_finite(hn_trainer_value(t, i), k->n);
        HN_CHECK(err, at == k->n, HONE_E_ARG,
                 "after %lld steps %s '%s' is not finite: element %lld of %lld is %g",
                 (long long)t->steps, hn_kept_text(k->kind), k->name, (long long)at,
                 (long long)k->n, (double)hn_trainer_value(t, i)[at]);
        hn_value *v = hn_graph_value(m->graph, k->name);
        HN_CHECK(err, v != NULL && v->constant != NULL && v->constant->n == k->n, HONE_E_NOT_FOUND,
                 "the model has no parameter '%s'", k->name);
        hn_tensor *copy;
        HN_TRY(put(t, i, v->constant, m->alloc, &copy, err));
        hn_value_set_constant(v, copy);
    }
    return HONE_OK;
}

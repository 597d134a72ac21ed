#include "train/trainer.h"

#include <math.h>

typedef struct slot {
    float *block[2]; /* the second where a step cannot change it in place */
    int at;          /* the block that holds the value */
    int next;        /* that the step writes */
    size_t bytes;
    hn_tensor now;
} slot;

struct hn_trainer {
    hn_allocator *alloc;
    hn_train_step *step;
    hn_optimizer_options optimizer;
    hn_runner runner;
    slot *slots;          /* by kept */
    int *slot_of;         /* by output: -1: it is not kept */
    const hn_tensor **in; /* of the step's graph */
    float rates[HN_RATES];
    hn_tensor rates_now;
    float loss;
    int64_t steps;
};

void hn_trainer_destroy(hn_trainer *t) {
    if (t == NULL) return;
    hn_runner_destroy(&t->runner);
    for (int i = 0; t->slots != NULL && i < t->step->n_kept; i++)
        for (int k = 0; k < 2; k++) hn_free(t->alloc, t->slots[i].block[k]);
    hn_free(t->alloc, t->slots);
    hn_free(t->alloc, t->slot_of);
    hn_free(t->alloc, (void *)t->in);
    hn_train_step_destroy(t->step);
    hn_free(t->alloc, t);
}

static hone_status begin_slot(hn_trainer *t, int i, hn_error *err) {
    const hn_kept *k = &t->step->kept[i];
    const hn_value *v = t->step->model->graph->inputs[k->input];
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
    t->in[k->input] = &s->now;
    return hn_tensor_borrow(&s->now, HONE_DTYPE_F32, v->type.shape.rank, dims, s->block[0], err);
}

static hone_status begin(hn_trainer *t, hn_error *err) {
    const hn_graph *g = t->step->model->graph;
    t->slots = hn_alloc_array(t->alloc, (size_t)t->step->n_kept, sizeof *t->slots, HN_MEM_OTHER);
    t->slot_of = hn_alloc_array(t->alloc, (size_t)g->n_outputs, sizeof *t->slot_of, HN_MEM_OTHER);
    t->in = hn_alloc_array(t->alloc, (size_t)g->n_inputs, sizeof *t->in, HN_MEM_OTHER);
    if (t->slots == NULL || t->slot_of == NULL || t->in == NULL) return HN_NOMEM(err);
    memset(t->slots, 0, (size_t)t->step->n_kept * sizeof *t->slots);
    memset(t->in, 0, (size_t)g->n_inputs * sizeof *t->in);
    for (int i = 0; i < g->n_outputs; i++) t->slot_of[i] = -1;
    for (int i = 0; i < t->step->n_kept; i++) HN_TRY(begin_slot(t, i, err));
    t->in[t->step->rates] = &t->rates_now;
    int64_t n = HN_RATES;
    return hn_tensor_borrow(&t->rates_now, HONE_DTYPE_F32, 1, &n, t->rates, err);
}

hone_status hn_trainer_create(hn_trainer **out, const hn_model *m, const hn_step_sizes *sizes,
                              const hn_step_sizes *target, const hn_step_options *o,
                              const hn_run_options *how, hn_error *err) {
    hn_allocator *alloc = how->engine.alloc;
    hn_trainer *t = hn_alloc_zero(alloc, sizeof *t, HN_MEM_OTHER);
    if (t == NULL) return HN_NOMEM(err);
    t->alloc = alloc;
    t->optimizer = o->optimizer_options;
    hone_status status = hn_train_step_create(&t->step, m, sizes, target, o, alloc, err);
    if (status == HONE_OK) status = begin(t, err);
    if (status == HONE_OK) {
        hn_engine_options e = how->engine;
        e.n_pairs = t->step->n_kept;
        e.pairs = t->step->pairs;
        e.prepared = NULL;
        e.inferred = false;
        e.layers.n = 0;
        status = hn_runner_create(&t->runner, how->backend, t->step->model, &e, err);
    }
    if (status != HONE_OK)
        hn_trainer_destroy(t);
    else
        *out = t;
    return status;
}

/* ---- steps ---- */

static hone_status place(void *ctx, int i, hone_dtype dtype, int rank, const int64_t *dims,
                         void **to, hn_error *err) {
    (void)dtype, (void)rank, (void)dims;
    hn_trainer *t = ctx;
    const void *replaced = *to;
    *to = NULL;
    if (i == t->step->loss) {
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

hone_status hn_trainer_step(hn_trainer *t, const hn_tensor *const *in, const hn_tensor *target,
                            double rate, double *loss, hn_error *err) {
    const hn_graph *g = t->step->model->graph;
    for (int i = 0, k = 0; i < t->step->n_data; i++)
        if (g->inputs[i]->constant == NULL) t->in[i] = in[k++];
    t->in[t->step->target] = target;
    hn_optimizer_rates(&t->optimizer, rate, t->steps + 1, t->rates);
    HN_TRY(hn_runner_run(&t->runner, t->in, place, t, NULL, NULL, err));
    *loss = (double)t->loss;
    for (int i = 0; i < t->step->n_kept; i++) {
        slot *s = &t->slots[i];
        s->at = s->next;
        s->now.data = s->block[s->at];
    }
    t->steps++;
    HN_CHECK(err, isfinite(t->loss), HONE_E_ARG, "the loss of step %lld is %g", (long long)t->steps,
             (double)t->loss);
    return HONE_OK;
}

/* ---- looking at it ---- */

void hn_trainer_set_steps(hn_trainer *t, int64_t steps) { t->steps = steps; }
const hn_train_step *hn_trainer_graph(const hn_trainer *t) { return t->step; }
float *hn_trainer_value(hn_trainer *t, int kept) { return t->slots[kept].block[t->slots[kept].at]; }

hone_status hn_trainer_store(hn_trainer *t, hn_model *m, hn_error *err) {
    for (int i = 0; i < t->step->n_kept; i++) {
        const hn_kept *k = &t->step->kept[i];
        if (k->kind == HN_KEPT_MOMENT) continue;
        hn_value *v = hn_graph_value(m->graph, k->name);
        HN_CHECK(err, v != NULL && v->constant != NULL && v->constant->n == k->n, HONE_E_NOT_FOUND,
                 "the model has no parameter '%s'", k->name);
        hn_tensor *copy;
        HN_TRY(hn_tensor_create(&copy, m->alloc, HN_MEM_TENSOR, HONE_DTYPE_F32, v->constant->rank,
                                v->constant->dims, err));
        memcpy(copy->data, hn_trainer_value(t, i), copy->bytes);
        hn_value_set_constant(v, copy);
    }
    return HONE_OK;
}

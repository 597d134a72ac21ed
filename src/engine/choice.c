#include "engine/choice.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "engine/lower_quant.h"
#include "engine/weights.h"
#include "ops/infer.h"

enum { RUNS = 7 };
/* Float must be this much faster: below lies noise. */
#define WORTH 0.97

enum { INT8, F32, FORMS };

/* Nodes that are computed in integers or in float together. */
typedef struct part {
    const hn_node *op;
    double us[FORMS]; /* the least of all runs */
    double run;       /* the current one */
} part;

typedef struct parts {
    int n;
    part *list;
} parts;

static part *part_of(const parts *p, const hn_node *n) {
    const hn_node *op = n != NULL ? hn_quant_part(n) : NULL;
    /* Of another copy of the graph: known by name. */
    for (int i = 0; op != NULL && i < p->n; i++)
        if (strcmp(hn_layer_name(p->list[i].op), hn_layer_name(op)) == 0) return &p->list[i];
    return NULL;
}

static hone_status find_parts(const hn_model *m, hn_allocator *alloc, parts *p, hn_error *err) {
    size_t most = 1;
    for (const hn_node *n = m->graph->first; n != NULL; n = n->next) most++;
    p->list = hn_alloc_array(alloc, most, sizeof *p->list, HN_MEM_OTHER);
    if (p->list == NULL) return HN_NOMEM(err);
    for (const hn_node *n = m->graph->first; n != NULL; n = n->next)
        if (hn_quant_part(n) == n) p->list[p->n++] = (part){.op = n, .us = {1e30, 1e30}};
    return HONE_OK;
}

/* ---- one form of the graph, planned and run ---- */

typedef struct trial {
    hn_weights *weights;
    hn_plan *plan;
    hn_context *context;
    hn_room room;
    const hn_tensor **in;
    int n_in;
    const parts *parts;
} trial;

static hone_status nowhere(void *ctx, int i, hone_dtype dtype, int rank, const int64_t *dims,
                           void **to, hn_error *err) {
    (void)ctx, (void)i, (void)dtype, (void)rank, (void)dims, (void)err;
    *to = NULL;
    return HONE_OK;
}

static void take_time(void *ctx, const hn_step_time *t) {
    part *p = part_of(((const trial *)ctx)->parts, t->step->facts->maker);
    if (p != NULL) p->run += (double)(t->end_ns - t->begin_ns) * 1e-3;
}

static void trial_deinit(trial *t, hn_allocator *alloc) {
    for (int i = 0; i < t->n_in; i++) hn_tensor_unref((hn_tensor *)t->in[i]);
    hn_free(alloc, t->in);
    hn_context_destroy(t->context);
    hn_room_deinit(&t->room, alloc);
    hn_plan_destroy(t->plan);
    hn_weights_destroy(t->weights);
}

static hone_status zero_inputs(trial *t, hn_allocator *alloc, hn_error *err) {
    int n = t->plan->model->graph->n_inputs;
    t->in = hn_alloc_array(alloc, (size_t)n + 1, sizeof *t->in, HN_MEM_OTHER);
    if (t->in == NULL) return HN_NOMEM(err);
    for (; t->n_in < n; t->n_in++) {
        const hn_view *v = &t->plan->inputs[t->n_in];
        hn_tensor *zero;
        t->in[t->n_in] = NULL;
        if (t->plan->model->graph->inputs[t->n_in]->constant != NULL) continue;
        HN_TRY(hn_tensor_create(&zero, alloc, HN_MEM_TENSOR, v->dtype, v->rank, v->dims, err));
        if (zero->bytes > 0) memset((void *)zero->data, 0, zero->bytes);
        t->in[t->n_in] = zero;
    }
    return HONE_OK;
}

static hone_status trial_init(trial *t, const hn_model *m, const hn_compile *how, hn_error *err) {
    hn_model *copy;
    hn_compile mine = *how;
    HN_TRY(hn_weights_create(&t->weights, how->device, how->alloc, err));
    mine.weights = t->weights;
    HN_TRY(hn_model_clone(&copy, m, how->alloc, err));
    hone_status status = hn_model_infer(copy, NULL, err);
    if (status != HONE_OK) {
        hn_model_destroy(copy);
        return status;
    }
    HN_TRY(hn_plan_create(&t->plan, copy, &mine, err));
    HN_TRY(hn_weights_fill(t->weights, how->pool, err));
    HN_TRY(hn_context_create(&t->context, t->plan, how->alloc, err));
    HN_TRY(hn_room_fit(&t->room, t->plan, how->alloc, err));
    hn_context_bind(t->context, &t->room);
    return zero_inputs(t, how->alloc, err);
}

/* The least time of the whole in us; with `form` also that of each part. */
static hone_status run_trial(trial *t, const hn_compile *how, int form, double *us, hn_error *err) {
    hn_rng rng;
    hn_rng_init(&rng, 1);
    hn_run r = {.pool = how->pool,
                .rng = &rng,
                .in = t->in,
                .place = nowhere,
                .times = form < FORMS ? take_time : NULL,
                .times_ctx = t};
    *us = 1e30;
    for (int i = 0; i <= RUNS; i++) { /* the first one warms */
        for (int k = 0; k < t->parts->n; k++) t->parts->list[k].run = 0;
        int64_t begun = hn_clock_ns();
        HN_TRY(hn_context_run(t->context, &r, err));
        double took = (double)(hn_clock_ns() - begun) * 1e-3;
        if (i == 0) continue;
        if (took < *us) *us = took;
        for (int k = 0; k < t->parts->n && form < FORMS; k++) {
            part *p = &t->parts->list[k];
            if (p->run < p->us[form]) p->us[form] = p->run;
        }
    }
    return HONE_OK;
}

static hone_status time_form(const hn_model *m, const hn_compile *how, const parts *p, int form,
                             double *us, hn_error *err) {
    trial t = {.parts = p};
    hone_status status = trial_init(&t, m, how, err);
    if (status == HONE_OK && form < FORMS) status = run_trial(&t, how, form, us, err);
    if (status == HONE_OK) status = run_trial(&t, how, FORMS, us, err);
    trial_deinit(&t, how->alloc);
    return status;
}

/* ---- choosing ---- */

void hn_choices_destroy(hn_choice *c, hn_allocator *alloc) {
    while (c != NULL) {
        hn_choice *next = c->next;
        hn_free(alloc, c);
        c = next;
    }
}

static hone_status add_choice(hn_choice **list, const char *name, double f32_us, double int8_us,
                              hn_allocator *alloc, hn_error *err) {
    size_t bytes = strlen(name) + 1;
    hn_choice *c = hn_alloc_zero(alloc, sizeof *c + bytes, HN_MEM_OTHER);
    if (c == NULL) return HN_NOMEM(err);
    c->rule.name = memcpy(c + 1, name, bytes);
    c->rule.exact = c->rule.way.no_integers = true;
    c->f32_us = f32_us;
    c->int8_us = int8_us;
    snprintf(c->text, sizeof c->text, "%.180s: f32 %.3f ms, int8 %.3f ms", name, f32_us * 1e-3,
             int8_us * 1e-3);
    c->next = *list;
    *list = c;
    return HONE_OK;
}

hone_status hn_choices_add(const hn_choice *c, hn_layers *l, hn_allocator *alloc, hn_layer **block,
                           hn_error *err) {
    int n = 0;
    for (const hn_choice *x = c; x != NULL; x = x->next) n++;
    hn_layer *rules = hn_alloc_array(alloc, (size_t)(n + l->n) + 1, sizeof *rules, HN_MEM_OTHER);
    if (rules == NULL) return HN_NOMEM(err);
    n = 0;
    for (; c != NULL; c = c->next) rules[n++] = c->rule;
    for (int i = 0; i < l->n; i++) rules[n++] = l->rules[i];
    l->rules = *block = rules;
    l->n = n;
    return HONE_OK;
}

/* The parts that are faster in float, or all of them, as choices. */
static hone_status pick(const parts *p, bool all, hn_allocator *alloc, hn_choice **list,
                        hn_error *err) {
    for (int i = p->n; i-- > 0;) {
        const part *x = &p->list[i];
        if (all || x->us[F32] < WORTH * x->us[INT8])
            HN_TRY(add_choice(list, hn_layer_name(x->op), x->us[F32], x->us[INT8], alloc, err));
    }
    return HONE_OK;
}

/* Times the whole with that much of it in float. */
static hone_status time_choice(const hn_model *m, const hn_compile *how, const parts *p,
                               const hn_choice *c, double *us, hn_error *err) {
    hn_layer *rules;
    hn_compile mixed = *how;
    HN_TRY(hn_choices_add(c, &mixed.layers, how->alloc, &rules, err));
    hone_status status = time_form(m, &mixed, p, FORMS, us, err);
    hn_free(how->alloc, rules);
    return status;
}

/* us: of the whole as chosen, and in integers. */
static hone_status measure(const hn_model *m, const hn_compile *how, const parts *p,
                           hn_choice **out, double us[2], hn_error *err) {
    double whole[FORMS], mixed = 1e30;
    hn_choice *some = NULL, *all = NULL;
    hn_compile floats = *how;
    floats.layers.way.no_integers = true;
    hone_status status = time_form(m, how, p, INT8, &whole[INT8], err);
    if (status == HONE_OK) status = time_form(m, &floats, p, F32, &whole[F32], err);
    if (status == HONE_OK) status = pick(p, false, how->alloc, &some, err);
    if (status == HONE_OK) status = pick(p, true, how->alloc, &all, err);
    if (status == HONE_OK && some != NULL) status = time_choice(m, how, p, some, &mixed, err);
    hn_choice **best = NULL;
    double least = whole[INT8] * WORTH;
    if (mixed < least) best = &some, least = mixed * WORTH;
    if (whole[F32] < least) best = &all;
    us[0] = best == &all ? whole[F32] : best == &some ? mixed : whole[INT8];
    us[1] = whole[INT8];
    if (status == HONE_OK && best != NULL) {
        *out = *best;
        *best = NULL;
    }
    hn_choices_destroy(some, how->alloc);
    hn_choices_destroy(all, how->alloc);
    return status;
}

uint64_t hn_choice_key(const hn_graph *g) {
    uint64_t h = HN_TUNE_HASH;
    for (const hn_node *n = g->first; n != NULL; n = n->next) {
        const char *name = hn_layer_name(n);
        hn_view y = hn_lower_out(n, 0);
        h = hn_tune_hash(h, n->op_type, strlen(n->op_type) + 1);
        h = hn_tune_hash(h, name, strlen(name) + 1);
        h = hn_tune_hash(h, y.dims, (size_t)y.rank * sizeof *y.dims);
    }
    return h;
}

/* What the tuner remembers. */
static hone_status recall(hn_tuner *t, uint64_t graph, const hn_compile *how, hn_choice **out,
                          hn_error *err) {
    const char *name;
    double us[2];
    for (int i = 0; (name = hn_tuner_choice(t, graph, hn_pool_threads(how->pool), i, us)); i++)
        if (name[0] != '\0') HN_TRY(add_choice(out, name, us[0], us[1], how->alloc, err));
    return HONE_OK;
}

/* The choice without a name is the whole. */
static hone_status keep(hn_tuner *t, uint64_t graph, const hn_compile *how, const hn_choice *c,
                        const double us[2], int64_t ns, hn_error *err) {
    int lanes = hn_pool_threads(how->pool);
    HN_TRY(hn_tuner_keep_choice(t, graph, lanes, "", us, ns, err));
    for (; c != NULL; c = c->next)
        HN_TRY(hn_tuner_keep_choice(t, graph, lanes, c->rule.name,
                                    (const double[]){c->f32_us, c->int8_us}, 0, err));
    return HONE_OK;
}

hone_status hn_choose_precision(const hn_model *m, const hn_compile *how, hn_choice **out,
                                hn_error *err) {
    uint64_t graph = hn_choice_key(m->graph);
    double us[2];
    *out = NULL;
    if (hn_tuner_choice(how->tuner, graph, hn_pool_threads(how->pool), 0, us) != NULL)
        return recall(how->tuner, graph, how, out, err);
    parts p = {0};
    hn_error why;
    int64_t begun = hn_clock_ns();
    hone_status status = find_parts(m, how->alloc, &p, err);
    if (status == HONE_OK && p.n > 0) {
        if (measure(m, how, &p, out, us, &why) == HONE_OK)
            status = keep(how->tuner, graph, how, *out, us, hn_clock_ns() - begun, err);
        else
            hn_log(HONE_LOG_WARN, "precision auto stays with int8: %s", why.text);
    }
    hn_free(how->alloc, p.list);
    return status;
}

void hn_choice_warn(const hn_model *m, const hn_compile *how) {
    const double much = 1.05;
    double us[2];
    if (how->tuner == NULL || how->layers.way.no_integers || how->layers.n > 0 ||
        !hn_graph_is_quantized(m->graph))
        return;
    const char *name =
        hn_tuner_choice(how->tuner, hn_choice_key(m->graph), hn_pool_threads(how->pool), 0, us);
    if (name != NULL && name[0] == '\0' && us[0] * much < us[1])
        hn_log(HONE_LOG_WARN,
               "parts of this model are faster in float: --precision auto takes %.3g instead of "
               "%.3g ms, as the tuning cache says",
               us[0] * 1e-3, us[1] * 1e-3);
}

#include "train/step.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/pattern.h"
#include "ops/infer.h"
#include "ops/nodes.h"
#include "passes/simplify.h"
#include "train/backward.h"

#define LEAST_SCALE 0x1p-60 /* scales are positive */
#define LEAST_SIZE 1e-4     /* of a parameter whose steps are relative to it: one of zeros moves */

typedef struct builder {
    hn_train_step *step;
    const hn_step_options *o;
    const hn_model *model; /* that the step is made of */
    hn_graph *graph;
    hn_grad g; /* what nodes are emitted by */
    hn_distill distill;
    int cap;       /* of what is kept */
    bool *matched; /* by pattern of what is frozen */
    bool *scaled;  /* by pattern of other rates */
} builder;

static hone_status emitted(const builder *b) { return b->g.status; }

/* ---- what is trained ---- */

/* Some node reads it as a scale that is trained. */
static bool is_scale(const hn_value *v) {
    for (const hn_use *u = v->uses; u != NULL; u = u->next)
        if (u->node != NULL && u->node->op != NULL && u->index < 32 &&
            (u->node->op->learned >> u->index & 1) != 0)
            return true;
    return false;
}

/* A dense f32 initializer of more than one number that some node reads as a weight, or a scale that
 * is trained. What the file keeps as Constant nodes is no parameter. */
static bool is_parameter(const hn_value *v) {
    if (v->dead || v->constant == NULL || v->is_input || v->constant->dtype != HONE_DTYPE_F32)
        return false;
    if (v->constant->data == NULL || v->constant->n < (is_scale(v) ? 1 : 2)) return false;
    bool read = false;
    for (const hn_use *u = v->uses; u != NULL; u = u->next) {
        if (u->node == NULL || u->node->op == NULL || u->graph != v->graph) return false;
        if (u->index >= 32 || (u->node->op->settings >> u->index & 1) != 0) return false;
        read = true;
    }
    return read;
}

static bool is_frozen(builder *b, const char *name) {
    bool frozen = false;
    for (int i = 0; i < b->o->n_frozen; i++)
        if (hn_pattern_matches(b->o->frozen[i], name)) frozen = b->matched[i] = true;
    return frozen;
}

static hone_status keep(builder *b, hn_kept_kind kind, const char *name, const hn_tensor *first,
                        int64_t n, hn_error *err) {
    hn_train_step *s = b->step;
    hn_arena *arena = &s->model->arena;
    if (s->n_kept == b->cap) {
        int cap = b->cap > 0 ? 2 * b->cap : 64;
        hn_kept *more = hn_arena_array(arena, (size_t)cap, sizeof *more);
        if (more == NULL) return HN_NOMEM(err);
        if (s->n_kept > 0) memcpy(more, s->kept, (size_t)s->n_kept * sizeof *more);
        s->kept = more;
        b->cap = cap;
    }
    s->kept[s->n_kept++] = (hn_kept){.kind = kind,
                                     .name = name,
                                     .first = first,
                                     .input = b->graph->n_inputs - 1,
                                     .output = -1,
                                     .read = -1,
                                     .average = -1,
                                     .n = n};
    return HONE_OK;
}

/* By value, whether the loss reads it, which comes of the first output. Where values inside are
 * matched: all. */
static hone_status find_read(const builder *b, bool **out, hn_error *err) {
    const hn_graph *g = b->graph;
    bool *read = hn_arena_array(&b->step->model->arena, (size_t)g->n_values + 1, sizeof *read);
    if (read == NULL) return HN_NOMEM(err);
    for (int i = 0; i <= g->n_values; i++) read[i] = b->o->distill.match != NULL;
    read[g->outputs[0].value->id] = true;
    for (const hn_node *n = g->last; n != NULL; n = n->prev) {
        bool any = false;
        for (int i = 0; i < n->n_outputs; i++) {
            const hn_value *v = n->outputs[i];
            for (const hn_use *u = v != NULL ? v->uses : NULL; u != NULL; u = u->next)
                any = any || u->graph != g;
            any = any || (v != NULL && read[v->id]);
        }
        for (int i = 0; i < n->n_inputs && any; i++) {
            const hn_value *v = hn_node_input(n, i);
            if (v != NULL && v->graph == g) read[v->id] = true;
        }
    }
    *out = read;
    return HONE_OK;
}

/* Some Constant node holds floats that could be weights. */
static bool has_constant_nodes(const hn_graph *g) {
    for (const hn_node *n = g->first; n != NULL; n = n->next) {
        const hn_attr *a = hn_is(n, "Constant") ? hn_node_attr(n, "value") : NULL;
        const hn_tensor *t = a != NULL && a->type == HN_ATTR_TENSOR ? a->u.tensor : NULL;
        if (t != NULL && t->dtype == HONE_DTYPE_F32 && t->n > 1) return true;
    }
    return false;
}

/* Makes the parameters inputs of the graph, so that no pass takes them for constants. */
static hone_status free_parameters(builder *b, hn_error *err) {
    hn_graph *g = b->graph;
    int n = g->n_values, idle = 0;
    const char *first = NULL;
    bool *read = NULL;
    HN_TRY(find_read(b, &read, err));
    for (int i = 0; i < n; i++) {
        hn_value *v = g->values[i];
        if (!is_parameter(v) || is_frozen(b, v->name)) continue;
        if (!read[v->id]) {
            if (idle++ == 0) first = v->name;
            continue;
        }
        HN_TRY(hn_graph_add_input(g, v, err));
        HN_TRY(keep(b, HN_KEPT_PARAMETER, v->name, v->constant, v->constant->n, err));
        b->step->kept[b->step->n_kept - 1].scale = is_scale(v);
    }
    for (int i = 0; i < b->o->n_frozen; i++)
        HN_CHECK(err, b->matched[i], HONE_E_ARG, "no parameter's name matches '%s'",
                 b->o->frozen[i]);
    HN_CHECK(err, b->step->n_kept > 0 || idle == 0, HONE_E_ARG,
             "output '%s' depends on none of the model's parameters", g->outputs[0].value->name);
    HN_CHECK(err, b->step->n_kept > 0, HONE_E_ARG,
             "the model has no parameters to train: no initializer of floats%s",
             b->o->n_frozen > 0      ? " that is not frozen"
             : has_constant_nodes(g) ? "; hone simplify makes initializers of its Constant nodes"
                                     : "");
    b->step->n_idle = idle;
    b->step->idle = first;
    return HONE_OK;
}

/* The statistics of BatchNormalization, likewise; the node gets its training form. */
static hone_status free_statistics(builder *b, hn_error *err) {
    hn_graph *g = b->graph;
    for (hn_node *n = g->first; n != NULL && !b->o->frozen_statistics; n = n->next) {
        if (!hn_is(n, "BatchNormalization") || hn_attr_i(n, "training_mode") != 0) continue;
        hn_value *stats[] = {hn_node_input(n, 3), hn_node_input(n, 4)};
        if (hn_const_in(n, 3) == NULL || hn_const_in(n, 4) == NULL || stats[0] == stats[1] ||
            stats[0]->n_uses != 1 || stats[1]->n_uses != 1 ||
            stats[0]->constant->dtype != HONE_DTYPE_F32 || is_frozen(b, stats[0]->name))
            continue;
        hn_node *made;
        HN_TRY(hn_node_create(&made, g, "", "BatchNormalization", n->name, 5, 3, err));
        made->op = n->op;
        for (int i = 0; i < 5; i++) hn_node_set_input(made, i, hn_node_input(n, i));
        HN_TRY(hn_node_set_f(made, "epsilon", hn_attr_f(n, "epsilon"), err));
        HN_TRY(hn_node_set_f(made, "momentum", hn_attr_f(n, "momentum"), err));
        HN_TRY(hn_node_set_i(made, "training_mode", 1, err));
        hn_value *y = n->outputs[0];
        hn_node_set_output(n, 0, NULL);
        hn_node_set_output(made, 0, y);
        for (int i = 0; i < 2; i++) {
            hn_value *next;
            HN_TRY(hn_value_create(&next, g, NULL, stats[i]->name, err));
            hn_node_set_output(made, 1 + i, next);
            HN_TRY(hn_graph_add_input(g, stats[i], err));
            HN_TRY(keep(b, HN_KEPT_STATISTIC, stats[i]->name, stats[i]->constant,
                        stats[i]->constant->n, err));
            b->step->kept[b->step->n_kept - 1].output = g->n_outputs;
            HN_TRY(hn_graph_add_output(g, next, err));
        }
        hn_node_insert(made, n);
        hn_node_remove(n);
        n = made;
    }
    return HONE_OK;
}

/* ---- dropout ---- */

static hone_status add_input(hn_graph *g, const char *name, const hn_step_sizes *s, int *index,
                             hn_value **out, hn_error *err);

/* Each Dropout whose ratio is above 0 gets the form that knows the step. */
static hone_status drop(builder *b, hn_error *err) {
    hn_graph *g = b->graph;
    hn_value *number = NULL;
    int64_t place = 0;
    b->step->number = -1;
    for (hn_node *n = g->first, *next; n != NULL; n = next) {
        double ratio = 0.5;
        next = n->next;
        if (!hn_is(n, "Dropout")) continue;
        place++;
        const hn_value *given = hn_node_input(n, 1);
        if (given != NULL) {
            const hn_tensor *t = given->constant != NULL ? given->constant : given->folded;
            HN_CHECK(err, t != NULL && t->n == 1 && !given->is_input, HONE_E_UNSUPPORTED,
                     "Dropout '%s': its ratio '%s' is computed, training wants a number", n->name,
                     given->name);
            ratio = hn_tensor_f64(t, 0);
        }
        HN_CHECK(err, ratio >= 0 && ratio < 1, HONE_E_MODEL,
                 "Dropout '%s': ratio %g is outside [0, 1)", n->name, ratio);
        if (ratio == 0 || hn_node_output(n, 0) == NULL) continue;
        if (number == NULL)
            HN_TRY(add_input(g, "step", &(hn_step_sizes){.dtype = HONE_DTYPE_S64}, &b->step->number,
                             &number, err));
        hn_node *made;
        HN_TRY(hn_node_create(&made, g, HN_TRAIN_DOMAIN, "Dropout", n->name, 2, 2, err));
        made->op = hn_op_find(HN_TRAIN_DOMAIN, "Dropout");
        hn_node_set_input(made, 0, hn_node_input(n, 0));
        hn_node_set_input(made, 1, number);
        HN_TRY(hn_node_set_f(made, "ratio", (float)ratio, err));
        HN_TRY(hn_node_set_i(made, "seed",
                             (int64_t)(b->o->seed + 0x9e3779b97f4a7c15u * (uint64_t)place), err));
        for (int i = 0; i < n->n_outputs; i++) {
            hn_value *y = n->outputs[i];
            hn_node_set_output(n, i, NULL);
            hn_node_set_output(made, i, y);
        }
        hn_node_insert(made, n);
        hn_node_remove(n);
    }
    return HONE_OK;
}

/* ---- inputs ---- */

static hone_status set_sizes(hn_value *v, const hn_step_sizes *s, hn_error *err) {
    hn_type *t = &v->type;
    HN_CHECK(err, t->shape.rank < 0 || t->shape.rank == s->rank, HONE_E_SHAPE,
             "input '%s' has rank %d, the data %d", v->name, t->shape.rank, s->rank);
    t->shape.rank = s->rank;
    for (int i = 0; i < s->rank; i++)
        t->shape.dim[i] = hn_dim_const(&v->graph->model->dims, s->dims[i]);
    return HONE_OK;
}

static hone_status add_input(hn_graph *g, const char *name, const hn_step_sizes *s, int *index,
                             hn_value **out, hn_error *err) {
    HN_TRY(hn_value_create(out, g, NULL, name, err));
    (*out)->type.kind = HN_TYPE_TENSOR;
    (*out)->type.dtype = s->dtype;
    HN_TRY(set_sizes(*out, s, err));
    *index = g->n_inputs;
    return hn_graph_add_input(g, *out, err);
}

/* ---- the loss ---- */

/* A parameter that is trained along. */
static hn_value *add_extra(void *ctx, const char *name, hn_tensor *first) {
    builder *b = ctx;
    hn_grad *g = &b->g;
    hn_value *v;
    int64_t n = first->n;
    if (g->status == HONE_OK)
        g->status = hn_value_create_constant(&v, b->graph, NULL, name, first, g->err);
    if (g->status == HONE_OK) g->status = hn_graph_add_input(b->graph, v, g->err);
    if (g->status == HONE_OK) g->status = keep(b, HN_KEPT_EXTRA, v->name, first, n, g->err);
    return g->status == HONE_OK ? v : NULL;
}

/* A value that is kept, whose first contents are those of parameter or statistic i: its average. */
static hone_status begin_average(builder *b, int i, hn_value **average, hn_error *err) {
    const hn_kept k = b->step->kept[i];
    HN_TRY(hn_value_create_constant(average, b->graph, NULL, k.name, hn_tensor_ref(k.first), err));
    HN_TRY(hn_graph_add_input(b->graph, *average, err));
    HN_TRY(keep(b, HN_KEPT_AVERAGE, k.name, k.first, k.n, err));
    b->step->kept[i].average = b->step->n_kept - 1;
    return HONE_OK;
}

/* The averages that the student is taught by, of all that it has so far. */
static hone_status average_student(builder *b, hn_distill_inputs *in, hn_error *err) {
    int n = b->step->n_kept;
    hn_average *all = hn_arena_array(&b->step->model->arena, (size_t)n, sizeof *all);
    if (all == NULL) return HN_NOMEM(err);
    for (int i = 0; i < n; i++) {
        all[i].name = b->step->kept[i].name;
        HN_TRY(begin_average(b, i, &all[i].value, err));
    }
    in->n_averages = n;
    in->averages = all;
    return HONE_OK;
}

/* The first input as teachers see it. */
static hone_status add_view(builder *b, const hn_value *like, hn_value **view, hn_error *err) {
    hn_step_sizes s = {.rank = like->type.shape.rank, .dtype = like->type.dtype};
    for (int i = 0; i < s.rank; i++) hn_dim_is_const(like->type.shape.dim[i], &s.dims[i]);
    return add_input(b->graph, "view", &s, &b->step->view, view, err);
}

/* What teachers add to the loss. */
static hone_status add_teachers(builder *b, hn_value *y, hn_value **loss, hn_error *err) {
    hn_train_step *s = b->step;
    const hn_distill_options *o = &b->o->distill;
    hn_value **data = hn_arena_array(&s->model->arena, (size_t)s->n_data + 1, sizeof *data);
    if (data == NULL) return HN_NOMEM(err);
    hn_distill_inputs in = {.data = data, .student = b->model};
    for (int i = 0; i < s->n_data; i++)
        if (b->graph->inputs[i]->constant == NULL) data[in.n++] = b->graph->inputs[i];
    if (o->viewed) HN_TRY(add_view(b, data[0], &in.view, err));
    if (o->self > 0) HN_TRY(average_student(b, &in, err));
    HN_TRY(hn_distill_emit(&b->distill, &b->g, s->loss_kind, &b->o->loss_options, y, *loss, &in,
                           add_extra, b, loss, err));
    for (int i = 0; i < b->distill.n; i++)
        hn_graph_set_output(b->graph, b->distill.match[i].output, *loss);
    return HONE_OK;
}

/* share * (a - b) + b, of the losses by the two labels of mixed samples. */
static hone_status add_mixed_loss(builder *b, hn_value *y, int rank, const int64_t *dims,
                                  const hn_step_sizes *target, hn_value **loss, hn_error *err) {
    const hn_loss *kind = b->step->loss_kind;
    hn_value *other, *share;
    HN_TRY(add_input(b->graph, "other", target, &b->step->other, &other, err));
    HN_TRY(add_input(b->graph, "share",
                     &(hn_step_sizes){.rank = 1, .dims = {1}, .dtype = HONE_DTYPE_F32},
                     &b->step->share, &share, err));
    hn_value *second = kind->emit(&b->g, y, rank, dims, other, &b->o->loss_options);
    hn_value *more = HN_EMIT2(&b->g, "Sub", *loss, second);
    share = hn_emit_reshape(&b->g, share, 0, NULL);
    *loss = HN_EMIT2(&b->g, "Add", HN_EMIT2(&b->g, "Mul", more, share), second);
    return emitted(b);
}

static hone_status add_loss(builder *b, hn_value *target, const hn_step_sizes *sizes,
                            hn_value **loss, hn_error *err) {
    const hn_loss *kind = b->step->loss_kind;
    const hn_value *found = b->graph->outputs[0].value;
    hn_value *y = hn_loss_scores(b->graph->outputs[0].value, kind);
    int64_t dims[HONE_MAX_RANK];
    b->g.dtype = y->type.dtype;
    y = hn_loss_flat(&b->g, y, kind);
    HN_TRY(emitted(b));
    int rank = hn_grad_dims(&b->g, y, dims);
    HN_TRY(emitted(b));
    bool fits = kind->labels && target != NULL ? rank == sizes->rank + 1 : rank >= 2;
    char text[200];
    HN_CHECK(err, !kind->classes || fits, HONE_E_SHAPE,
             "output '%s' is %s, loss %s wants scores [samples, classes]", found->name,
             hn_shape_text(&found->type.shape, text, sizeof text), kind->name);
    const hn_loss_options *o = &b->o->loss_options;
    HN_CHECK(err, o->n_weights == 0 || (kind->labels && o->n_weights == dims[1]), HONE_E_ARG,
             "%lld weights of classes; loss %s of output '%s' takes %lld", (long long)o->n_weights,
             kind->name, found->name, (long long)(kind->labels ? dims[1] : 0));
    if (target != NULL) *loss = kind->emit(&b->g, y, rank, dims, target, o);
    HN_TRY(emitted(b));
    if (target != NULL && b->o->mixed && kind->labels)
        HN_TRY(add_mixed_loss(b, y, rank, dims, sizes, loss, err));
    return b->o->distill.n_teachers > 0 ? add_teachers(b, y, loss, err) : HONE_OK;
}

/* ---- the update ---- */

static bool is_trained(const hn_kept *k) {
    return k->kind == HN_KEPT_PARAMETER || k->kind == HN_KEPT_EXTRA;
}

/* NULL: it keeps nothing. */
static const hn_step_keep *keep_of(const builder *b, const char *name) {
    for (int i = 0; i < b->o->n_keeps; i++)
        if (strcmp(b->o->keeps[i].name, name) == 0) return &b->o->keeps[i];
    return NULL;
}

/* Weights decay; scales and shifts of norms, biases and other vectors do not. */
static double decay_of(const builder *b, const hn_value *v, bool scale) {
    return v->type.shape.rank > 1 && !scale ? b->o->optimizer_options.decay : 0;
}

/* The root of the mean square of each index of the first axis, or of the whole, which is all there
 * is of a vector; of those much smaller than the others, some of that of all. A step by it is by a
 * share of what it changes. */
static hn_value *size_of(builder *b, const hn_tensor *t, bool whole) {
    whole = whole || t->rank < 2;
    int64_t dims[HONE_MAX_RANK], n = whole ? 1 : t->dims[0], each = t->n / n;
    double all = 0;
    for (int i = 0; i < t->rank; i++) dims[i] = i == 0 ? n : 1;
    for (int64_t i = 0; i < t->n; i++) all += hn_tensor_f64(t, i) * hn_tensor_f64(t, i);
    all = fmax(sqrt(all / (double)t->n), LEAST_SIZE);
    hn_value *v = hn_emit_filled(&b->g, 0, t->rank, dims);
    for (int64_t i = 0; v != NULL && i < n; i++) {
        double sum = 0;
        for (int64_t k = i * each; k < (i + 1) * each; k++)
            sum += hn_tensor_f64(t, k) * hn_tensor_f64(t, k);
        double size = fmax(sqrt(sum / (double)each), 0.1 * all);
        hn_store_f64(v->constant->dtype, v->constant->data, i, size);
    }
    return v;
}

/* Elements that stay equal have one rate. */
static void rate_by_size(builder *b, hn_update *u, bool whole) {
    hn_value *by = size_of(b, u->p->constant, whole);
    u->rate[HN_RATE] = HN_EMIT2(&b->g, "Mul", u->rate[HN_RATE], by);
    u->rate[HN_RATE_FIRST] = HN_EMIT2(&b->g, "Mul", u->rate[HN_RATE_FIRST], by);
}

static hone_status pair_with(builder *b, int kept, hn_value *next, hn_error *err) {
    b->step->kept[kept].output = b->graph->n_outputs;
    return hn_graph_add_output(b->graph, next, err);
}

/* What the schedule says, times what holds for parameters of that name. */
static void take_rates(builder *b, const char *name, hn_value *const *rates, hn_update *u) {
    memcpy(u->rate, rates, sizeof u->rate);
    for (int i = 0; i < b->o->n_scales; i++) {
        const hn_rate_scale *s = &b->o->scales[i];
        if (!hn_pattern_matches(s->pattern, name)) continue;
        b->scaled[i] = true;
        for (int k = 0; k < HN_RATES; k++)
            if (k != HN_RATE_SECOND)
                u->rate[k] = HN_EMIT2(&b->g, "Mul", rates[k], hn_emit_number(&b->g, s->by));
        return;
    }
}

/* average' = average + (p' - average) * (1 - decay), of parameter or statistic i. */
static hone_status move_average(builder *b, int i, hn_value *p, hn_error *err) {
    double decay = b->o->distill.self > 0 ? b->o->distill.self : b->o->average;
    int at = b->step->kept[i].average;
    hn_value *average = b->graph->inputs[b->step->kept[at].input];
    hn_value *moved = HN_EMIT2(&b->g, "Mul", HN_EMIT2(&b->g, "Sub", p, average),
                               hn_emit_number(&b->g, 1 - decay));
    hn_value *next = HN_EMIT2(&b->g, "Add", moved, average);
    HN_TRY(emitted(b));
    return pair_with(b, at, next, err);
}

static hone_status move_averages_of_statistics(builder *b, hn_error *err) {
    const hn_train_step *s = b->step;
    for (int i = 0; i < s->n_kept; i++)
        if (s->kept[i].kind == HN_KEPT_STATISTIC && s->kept[i].average >= 0)
            HN_TRY(move_average(b, i, b->graph->outputs[s->kept[i].output].value, err));
    return HONE_OK;
}

static hone_status add_update(builder *b, int i, hn_value *gradient, hn_value *const *rates,
                              hn_error *err) {
    hn_train_step *s = b->step;
    const hn_optimizer *by = b->o->optimizer;
    int n = by->moments(&b->o->optimizer_options);
    hn_update u = {.p = b->graph->inputs[s->kept[i].input], .gradient = gradient};
    bool scale = s->kept[i].scale;
    u.decay = decay_of(b, u.p, scale);
    take_rates(b, s->kept[i].name, rates, &u);
    const hn_step_keep *held = keep_of(b, s->kept[i].name);
    if ((scale || b->o->relative) && by->steady) rate_by_size(b, &u, held != NULL && held->ties);
    hn_step_sizes like = {.rank = u.p->constant->rank, .dtype = HONE_DTYPE_F32};
    memcpy(like.dims, u.p->constant->dims, sizeof like.dims);
    int moments[HN_MOST_MOMENTS];
    for (int k = 0; k < n; k++) {
        int index;
        HN_TRY(add_input(b->graph, s->kept[i].name, &like, &index, &u.moment[k], err));
        HN_TRY(keep(b, HN_KEPT_MOMENT, s->kept[i].name, NULL, s->kept[i].n, err));
        moments[k] = s->n_kept - 1;
    }
    by->emit(&b->g, &b->o->optimizer_options, &u);
    if (scale) u.p_next = HN_EMIT2(&b->g, "Max", u.p_next, hn_emit_number(&b->g, LEAST_SCALE));
    HN_TRY(emitted(b));
    for (int k = 0; k < n; k++) HN_TRY(pair_with(b, moments[k], u.moment_next[k], err));
    HN_TRY(pair_with(b, i, u.p_next, err));
    hn_value *average;
    if (b->o->average > 0 && s->kept[i].kind == HN_KEPT_PARAMETER && s->kept[i].average < 0)
        HN_TRY(begin_average(b, i, &average, err));
    return s->kept[i].average >= 0 ? move_average(b, i, u.p_next, err) : HONE_OK;
}

/* ---- what parameters keep ---- */

/* An element whose gradient is 0 in every step does not move: its moments are 0, and what decays of
 * it is 0. Elements that are equal and have equal gradients go the same way. So it is enough to
 * change gradients:
 *
 *     zeros   dw * mask
 *     ties    Gather (sums, codes), sums = GatherGrad (dw, codes): the gradient by the number that
 *             several elements are, in the place of each */

static int by_value(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* codes[i]: which of the distinct numbers, in order, element i of t is. Returns how many there are.
 */
static int64_t number_values(const hn_tensor *t, float *sorted, int32_t *codes) {
    int64_t n = t->n, count = 0;
    memcpy(sorted, t->data, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, by_value);
    for (int64_t i = 0; i < n; i++)
        if (count == 0 || sorted[i] != sorted[count - 1]) sorted[count++] = sorted[i];
    for (int64_t i = 0; i < n; i++) {
        int64_t low = 0, high = count;
        double v = hn_tensor_f64(t, i);
        while (high - low > 1) {
            int64_t mid = (low + high) / 2;
            if ((double)sorted[mid] <= v)
                low = mid;
            else
                high = mid;
        }
        codes[i] = (int32_t)low;
    }
    return count;
}

static hn_value *masked(builder *b, const hn_tensor *t, hn_value *gradient) {
    hn_tensor *mask;
    hn_value *v = hn_emit_table(&b->g, t->rank, t->dims, &mask);
    if (v == NULL) return NULL;
    for (int64_t i = 0; i < t->n; i++) ((float *)mask->data)[i] = hn_tensor_f64(t, i) != 0;
    return HN_EMIT2(&b->g, "Mul", gradient, v);
}

/* The sums of the numbers of which there are several elements, less that of zeros that stay. */
static hn_value *sums_of(builder *b, const hn_step_keep *held, const hn_tensor *t,
                         hn_value *gradient, const float *values, int64_t n, hn_value *codes) {
    hn_grad *g = &b->g;
    hn_tensor *mask;
    hn_value *flat = hn_emit_reshape(g, gradient, 1, &t->n);
    hn_value *sums = hn_emit_gather_grad(g, flat, codes, 0, 1, &n);
    if (!held->zeros || sums == NULL) return sums;
    hn_value *v = hn_emit_table(g, 1, &n, &mask);
    if (v == NULL) return NULL;
    for (int64_t i = 0; i < n; i++) ((float *)mask->data)[i] = values[i] != 0;
    return HN_EMIT2(g, "Mul", sums, v);
}

static hn_value *tied(builder *b, const hn_step_keep *held, const hn_tensor *t,
                      hn_value *gradient) {
    hn_grad *g = &b->g;
    hn_model *m = b->graph->model;
    hn_tensor *codes = NULL;
    hn_value *v = NULL, *sums = NULL;
    float *sorted = hn_alloc_array(m->alloc, (size_t)t->n, sizeof *sorted, HN_MEM_SCRATCH);
    if (g->status == HONE_OK && sorted == NULL) g->status = HN_NOMEM(g->err);
    if (g->status == HONE_OK)
        g->status =
            hn_tensor_create(&codes, m->alloc, HN_MEM_TENSOR, HONE_DTYPE_S32, 1, &t->n, g->err);
    if (g->status == HONE_OK) {
        int64_t n = number_values(t, sorted, codes->data);
        g->status = hn_value_create_constant(&v, b->graph, NULL, "codes", codes, g->err);
        if (g->status == HONE_OK) sums = sums_of(b, held, t, gradient, sorted, n, v);
    }
    hn_free(m->alloc, sorted);
    if (sums == NULL) return NULL;
    return hn_emit_reshape(g, HN_EMIT2(g, "Gather", sums, v), t->rank, t->dims);
}

/* The gradients of those that keep something, so that they do. */
static hone_status hold(builder *b, hn_value **grads) {
    const hn_train_step *s = b->step;
    for (int i = 0, k = 0; i < s->n_kept; i++) {
        const hn_kept *kept = &s->kept[i];
        if (!is_trained(kept)) continue;
        const hn_step_keep *held = kept->kind == HN_KEPT_PARAMETER ? keep_of(b, kept->name) : NULL;
        if (held != NULL && held->ties)
            grads[k] = tied(b, held, kept->first, grads[k]);
        else if (held != NULL && held->zeros)
            grads[k] = masked(b, kept->first, grads[k]);
        k++;
    }
    return emitted(b);
}

/* Shortens the gradients together to the length that is allowed. */
static void clip(builder *b, int n, hn_value **grads) {
    hn_grad *g = &b->g;
    hn_value *sum = NULL;
    for (int i = 0; i < n; i++) {
        hn_node *square = hn_emit_node(g, "", "ReduceSumSquare", 1, 1, &grads[i]);
        hn_emit_i(g, square, "keepdims", 0);
        hn_value *v = hn_emitted(square, 0);
        sum = sum == NULL ? v : HN_EMIT2(g, "Add", sum, v);
    }
    hn_value *length = HN_EMIT2(g, "Add", HN_EMIT1(g, "Sqrt", sum), hn_emit_number(g, 1e-6));
    hn_value *by = HN_EMIT2(g, "Min", HN_EMIT2(g, "Div", hn_emit_number(g, b->o->clip), length),
                            hn_emit_number(g, 1));
    for (int i = 0; i < n; i++) grads[i] = HN_EMIT2(g, "Mul", grads[i], by);
}

/* ---- parts ---- */

/* Goes over to the graph of the update, whose inputs are the sum over the parts and what is kept.
 * Returns the mean. */
static hone_status add_sum(builder *b, hn_graph *to, const hn_tensor *like, int output,
                           hn_value **mean, hn_error *err) {
    hn_train_step *s = b->step;
    hn_step_sizes sizes = {.rank = like->rank, .dtype = HONE_DTYPE_F32};
    hn_summed *a = &s->summed[s->n_summed++];
    hn_value *sum;
    memcpy(sizes.dims, like->dims, sizeof sizes.dims);
    *a = (hn_summed){.output = output, .n = like->n};
    HN_TRY(add_input(to, "sum", &sizes, &a->input, &sum, err));
    *mean = HN_EMIT2(&b->g, "Mul", sum, hn_emit_number(&b->g, 1 / (double)b->o->parts));
    return emitted(b);
}

/* A kept value becomes an input of the update's graph, too. */
static hone_status move_kept(hn_graph *to, const hn_graph *from, hn_kept *k, hn_error *err) {
    hn_value *v;
    HN_TRY(hn_value_create_constant(&v, to, NULL, k->name,
                                    hn_tensor_ref(from->inputs[k->input]->constant), err));
    k->read = k->input;
    k->input = to->n_inputs;
    return hn_graph_add_input(to, v, err);
}

/* Ends the graph of a part by its gradients, and begins that of the update. */
static hone_status cut(builder *b, hn_value **grads, hn_error *err) {
    hn_train_step *s = b->step;
    hn_graph *from = b->graph, *to;
    HN_TRY(hn_model_create(&s->update, s->model->alloc, err));
    HN_TRY(hn_model_set_opset(s->update, "", hn_model_opset(s->model, ""), err));
    HN_TRY(hn_graph_create(&to, s->update, NULL, err));
    s->summed = hn_arena_array(&s->model->arena, (size_t)s->n_kept, sizeof *s->summed);
    if (s->summed == NULL) return HN_NOMEM(err);
    b->graph = b->g.graph = to;
    b->g.dtype = HONE_DTYPE_F32;
    for (int i = 0, k = 0; i < s->n_kept; i++) {
        hn_kept *kept = &s->kept[i];
        const hn_tensor *like = from->inputs[kept->input]->constant;
        hn_value *mean;
        int output = kept->output;
        if (kept->kind == HN_KEPT_AVERAGE) {
            HN_TRY(move_kept(to, from, kept, err));
            continue;
        }
        if (is_trained(kept)) {
            output = from->n_outputs;
            HN_TRY(hn_graph_add_output(from, grads[k], err));
        }
        HN_TRY(add_sum(b, to, like, output, &mean, err));
        HN_TRY(move_kept(to, from, kept, err));
        if (is_trained(kept)) {
            grads[k++] = mean;
        } else {
            /* The mean of what statistics become in each part. */
            kept->output = to->n_outputs;
            HN_TRY(hn_graph_add_output(to, mean, err));
        }
    }
    return HONE_OK;
}

static hone_status add_updates(builder *b, hn_value *loss, hn_error *err) {
    hn_train_step *s = b->step;
    int n = s->n_kept, n_by = 0;
    hn_arena *arena = &s->model->arena;
    hn_value **by = hn_arena_array(arena, (size_t)n, sizeof *by);
    hn_value **grads = hn_arena_array(arena, (size_t)n, sizeof *grads);
    if (by == NULL || grads == NULL) return HN_NOMEM(err);
    for (int i = 0; i < n; i++)
        if (is_trained(&s->kept[i])) by[n_by++] = b->graph->inputs[s->kept[i].input];
    HN_TRY(hn_backward(b->graph, loss, n_by, by, grads, err));
    for (int k = 0; k < n_by; k++)
        HN_CHECK(err, grads[k] != NULL, HONE_E_ARG,
                 "the loss does not depend on parameter '%s': freeze it", by[k]->name);
    if (b->o->parts > 0) HN_TRY(cut(b, grads, err));
    hn_value *rates, *rate[HN_RATES];
    HN_TRY(add_input(b->graph, "rates",
                     &(hn_step_sizes){.rank = 1, .dims = {HN_RATES}, .dtype = HONE_DTYPE_F32},
                     &s->rates, &rates, err));
    b->g.dtype = HONE_DTYPE_F32;
    for (int i = 0; i < HN_RATES; i++)
        rate[i] = hn_emit_reshape(&b->g, hn_emit_slice(&b->g, rates, 0, i, i + 1), 0, NULL);
    HN_TRY(emitted(b));
    HN_TRY(hold(b, grads));
    if (b->o->clip > 0) clip(b, n_by, grads);
    for (int i = 0, k = 0; i < n; i++)
        if (is_trained(&s->kept[i])) HN_TRY(add_update(b, i, grads[k++], rate, err));
    HN_TRY(move_averages_of_statistics(b, err));
    for (int i = 0; i < b->o->n_scales; i++)
        HN_CHECK(err, b->scaled[i], HONE_E_ARG, "no trained parameter's name matches '%s'",
                 b->o->scales[i].pattern);
    return HONE_OK;
}

/* ---- normalizations ---- */

/* A node of new values in front of another: where it stands is when plans compute it. */
static hn_node *emit_before(builder *b, hn_node *at, const char *domain, const char *op, int n_out,
                            int n_in, hn_value *const *in) {
    hn_grad *g = &b->g;
    hn_node *n = NULL;
    if (g->status == HONE_OK)
        g->status = hn_node_create(&n, b->graph, domain, op, at->name, n_in, n_out, g->err);
    if (g->status != HONE_OK) return NULL;
    n->op = hn_op_find(domain, op);
    for (int i = 0; i < n_in; i++) hn_node_set_input(n, i, in[i]);
    for (int i = 0; i < n_out && g->status == HONE_OK; i++) {
        hn_value *v;
        g->status = hn_value_create(&v, b->graph, NULL, "norm", g->err);
        if (g->status == HONE_OK) hn_node_set_output(n, i, v);
    }
    hn_node_insert(n, at);
    return n;
}

/* BatchNormalization in training form as what it does: statistics, the form by given ones, and
 * running ones that move. What backward needs of the statistics is then computed once. */
static hone_status spell_out(builder *b, hn_node *n) {
    hn_grad *g = &b->g;
    g->node = n;
    g->dtype = HONE_DTYPE_F32;
    hn_value *x = hn_node_input(n, 0);
    hn_node *stats = emit_before(b, n, HN_TRAIN_DOMAIN, "BatchStats", 2, 1, &x);
    hn_value *in[] = {x, hn_node_input(n, 1), hn_node_input(n, 2), hn_emitted(stats, 0),
                      hn_emitted(stats, 1)};
    HN_TRY(emitted(b));
    hn_node *norm = emit_before(b, n, "", "BatchNormalization", 1, 5, in);
    hn_emit_copied(g, norm, "epsilon");
    float momentum = hn_attr_f(n, "momentum");
    hn_value *made[3] = {hn_emitted(norm, 0)};
    for (int i = 0; i < 2; i++)
        made[1 + i] = HN_EMIT2(
            g, "Add",
            HN_EMIT2(g, "Mul", hn_node_input(n, 3 + i), hn_emit_number(g, (double)momentum)),
            HN_EMIT2(g, "Mul", hn_emitted(stats, i), hn_emit_number(g, 1 - (double)momentum)));
    HN_TRY(emitted(b));
    for (int i = 0; i < 3; i++) hn_value_replace(n->outputs[i], made[i]);
    g->node = NULL;
    hn_node_remove(n);
    return HONE_OK;
}

static hone_status spell_out_all(builder *b, hn_error *err) {
    b->graph = b->g.graph = b->step->model->graph;
    for (hn_node *n = b->graph->first, *next; n != NULL; n = next) {
        next = n->next;
        if (hn_is(n, "BatchNormalization") && hn_attr_i(n, "training_mode") != 0)
            HN_TRY(spell_out(b, n));
    }
    return hn_graph_sort(b->graph, NULL, err);
}

/* ---- the whole ---- */

static const hn_loss *suiting(const hn_step_sizes *target) {
    const hn_loss *loss = NULL;
    hn_error ignored;
    bool labels = target == NULL || hn_dtype_is_int(target->dtype);
    hn_loss_find(labels ? "cross-entropy" : "mse", &loss, &ignored);
    return loss;
}

static hone_status simplify(builder *b, hn_error *err) {
    hn_simplify_options o = hn_simplify_defaults();
    o.keep_opset = false;
    o.max_growth = -1;
    return hn_simplify(b->step->model, &o, NULL, err);
}

/* The finished graph, with some of its activations computed twice. What passes would do to it is
 * done before, so that they find no other form for a copy than for its original. */
static hone_status compute_twice(builder *b, hn_error *err) {
    hn_train_step *s = b->step;
    hn_graph *g = s->model->graph;
    if (b->o->segments == 0) return HONE_OK;
    HN_TRY(simplify(b, err));
    HN_TRY(hn_recompute(g, g->outputs[s->loss].value->producer, b->o->segments, &s->twice, err));
    return hn_model_infer(s->model, NULL, err);
}

/* x * Sigmoid (x) becomes Swish (x), whose gradient reads x and the result: the Sigmoid is not kept.
 * The engine computes such a pair as Swish where nothing else reads its Sigmoid. Without this it
 * would depend on what backward reads, which compute_twice changes. */
static hone_status form_swish(builder *b, hn_error *err) {
    for (hn_node *n = b->graph->first, *next; n != NULL; n = next) {
        hn_node *sigmoid = NULL, *made;
        next = n->next;
        for (int i = 0; i < 2 && sigmoid == NULL && hn_is(n, "Mul"); i++) {
            sigmoid = hn_feeds_only(n, i, "Sigmoid");
            if (sigmoid != NULL && hn_node_input(sigmoid, 0) != hn_node_input(n, 1 - i))
                sigmoid = NULL;
        }
        if (sigmoid == NULL) continue;
        hn_value *y = n->outputs[0];
        HN_TRY(hn_make_node(&made, n, "Swish", 1, err));
        hn_node_set_input(made, 0, hn_node_input(sigmoid, 0));
        hn_node_insert(made, n);
        hn_node_set_output(n, 0, NULL);
        hn_node_set_output(made, 0, y);
        hn_prune(n);
    }
    return HONE_OK;
}

static hone_status build(builder *b, const hn_step_sizes *sizes, const hn_step_sizes *target,
                         hn_error *err) {
    hn_train_step *s = b->step;
    hn_value *goal = NULL, *loss = NULL;
    b->graph = b->g.graph = s->model->graph;
    hn_graph *g = b->graph;
    HN_CHECK(err, g->n_outputs > 0, HONE_E_MODEL, "the model has no output");
    hn_model_fix_defaults(s->model);
    for (int i = 0, k = 0; i < g->n_inputs; i++)
        if (g->inputs[i]->constant == NULL) HN_TRY(set_sizes(g->inputs[i], &sizes[k++], err));
    s->n_data = g->n_inputs;
    s->averaged = b->o->average > 0;
    HN_CHECK(err, !s->averaged || b->o->distill.self == 0 || b->o->distill.self == b->o->average,
             HONE_E_ARG,
             "the model gets averages that keep %.10g in each step, its teacher is averages that "
             "keep %.10g: both are the same averages, expected the same number",
             b->o->average, b->o->distill.self);
    HN_TRY(hn_model_infer(s->model, NULL, err));
    s->loss_kind = b->o->loss != NULL ? b->o->loss : suiting(target);
    HN_TRY(free_parameters(b, err));
    HN_TRY(free_statistics(b, err));
    HN_TRY(drop(b, err));
    HN_TRY(hn_distill_begin(&b->distill, &b->o->distill, g, err));
    HN_TRY(simplify(b, err));
    HN_TRY(form_swish(b, err));
    hn_distill_find(&b->distill, g);
    s->target = s->other = s->share = s->view = -1;
    if (target != NULL) HN_TRY(add_input(g, "target", target, &s->target, &goal, err));
    HN_TRY(add_loss(b, goal, target, &loss, err));
    s->loss = g->n_outputs;
    hn_node *checked = hn_emit_node(&b->g, HN_TRAIN_DOMAIN, "CheckFinite", 1, 1, &loss);
    HN_TRY(emitted(b));
    HN_TRY(hn_graph_add_output(g, hn_emitted(checked, 0), err));
    HN_TRY(hn_model_infer(s->model, NULL, err));
    HN_TRY(add_updates(b, loss, err));
    HN_TRY(spell_out_all(b, err));
    s->pairs = hn_arena_array(&s->model->arena, (size_t)s->n_kept, sizeof *s->pairs);
    if (s->pairs == NULL) return HN_NOMEM(err);
    for (int i = 0; i < s->n_kept; i++)
        s->pairs[i] = (hn_state_pair){s->kept[i].input, s->kept[i].output};
    if (s->update != NULL) HN_TRY(hn_model_infer(s->update, NULL, err));
    HN_TRY(hn_model_infer(s->model, NULL, err));
    return compute_twice(b, err);
}

hone_status hn_train_step_create(hn_train_step **out, const hn_model *m, const hn_step_sizes *sizes,
                                 const hn_step_sizes *target, const hn_step_options *o,
                                 hn_allocator *alloc, hn_error *err) {
    hn_train_step *s = hn_alloc_zero(alloc, sizeof *s, HN_MEM_OTHER);
    bool *matched = hn_alloc_zero(alloc, (size_t)(o->n_frozen + o->n_scales) + 1, HN_MEM_OTHER);
    builder b = {.step = s, .o = o, .model = m, .matched = matched};
    if (matched != NULL) b.scaled = matched + o->n_frozen;
    b.g.err = err;
    hone_status status = s == NULL || matched == NULL ? HN_NOMEM(err) : HONE_OK;
    hn_model *clone;
    if (status == HONE_OK) status = hn_model_clone(&clone, m, alloc, err);
    if (status == HONE_OK) {
        s->model = clone;
        status = build(&b, sizes, target, err);
    }
    hn_free(alloc, matched);
    if (status == HONE_OK) {
        *out = s;
        return HONE_OK;
    }
    if (s != NULL && s->model != NULL)
        hn_train_step_destroy(s);
    else
        hn_free(alloc, s);
    return status;
}

void hn_train_step_destroy(hn_train_step *s) {
    if (s == NULL) return;
    hn_allocator *alloc = s->model->alloc;
    hn_model_destroy(s->update);
    hn_model_destroy(s->model);
    hn_free(alloc, s);
}

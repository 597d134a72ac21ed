#include "train/step.h"

#include "base/pattern.h"
#include "ops/infer.h"
#include "ops/nodes.h"
#include "passes/simplify.h"
#include "train/backward.h"

typedef struct builder {
    hn_train_step *step;
    const hn_step_options *o;
    hn_graph *graph;
    hn_grad g;     /* what nodes are emitted by */
    int cap;       /* of what is kept */
    bool *matched; /* by pattern of what is frozen */
} builder;

static hone_status emitted(const builder *b) { return b->g.status; }

/* ---- what is trained ---- */

/* A dense f32 initializer of more than one number that some node reads as a weight. What the file
 * keeps as Constant nodes is no parameter. */
static bool is_parameter(const hn_value *v) {
    if (v->dead || v->constant == NULL || v->is_input || v->constant->dtype != HONE_DTYPE_F32)
        return false;
    if (v->constant->data == NULL || v->constant->n < 2) return false;
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
                                     .n = n};
    return HONE_OK;
}

/* Makes the parameters inputs of the graph, so that no pass takes them for constants. */
static hone_status free_parameters(builder *b, hn_error *err) {
    hn_graph *g = b->graph;
    int n = g->n_values;
    for (int i = 0; i < n; i++) {
        hn_value *v = g->values[i];
        if (!is_parameter(v) || is_frozen(b, v->name)) continue;
        HN_TRY(hn_graph_add_input(g, v, err));
        HN_TRY(keep(b, HN_KEPT_PARAMETER, v->name, v->constant, v->constant->n, err));
    }
    for (int i = 0; i < b->o->n_frozen; i++)
        HN_CHECK(err, b->matched[i], HONE_E_ARG, "no parameter's name matches '%s'",
                 b->o->frozen[i]);
    HN_CHECK(err, b->step->n_kept > 0, HONE_E_ARG,
             "the model has no parameters to train: no f32 initializer%s",
             b->o->n_frozen > 0 ? " that is not frozen" : "");
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

/* The scores behind a Softmax or LogSoftmax that ends the model: losses take these. */
static hn_value *scores_of(hn_value *y, const hn_loss *loss) {
    const hn_node *n = y->producer;
    bool ends = n != NULL && loss->labels && (hn_is(n, "Softmax") || hn_is(n, "LogSoftmax"));
    int64_t axis = ends ? hn_attr_i(n, "axis") : 0;
    if (ends && (axis == 1 || axis == y->type.shape.rank - 1)) return hn_node_input(n, 0);
    return y;
}

static hone_status add_loss(builder *b, hn_value *target, hn_value **loss, hn_error *err) {
    const hn_loss *kind = b->step->loss_kind;
    hn_value *y = scores_of(b->graph->outputs[0].value, kind);
    int64_t dims[HONE_MAX_RANK];
    b->g.dtype = y->type.dtype;
    int rank = hn_grad_dims(&b->g, y, dims);
    HN_TRY(emitted(b));
    HN_CHECK(err, !kind->labels || rank >= 2, HONE_E_SHAPE,
             "output '%s' has rank %d, loss %s wants scores [samples, classes]", y->name, rank,
             kind->name);
    *loss = kind->emit(&b->g, y, rank, dims, target, &b->o->loss_options);
    return emitted(b);
}

/* ---- the update ---- */

/* Weights decay; scales and shifts of norms, biases and other vectors do not. */
static double decay_of(const builder *b, const hn_value *v) {
    return v->type.shape.rank > 1 ? b->o->optimizer_options.decay : 0;
}

static hone_status pair_with(builder *b, int kept, hn_value *next, hn_error *err) {
    b->step->kept[kept].output = b->graph->n_outputs;
    return hn_graph_add_output(b->graph, next, err);
}

static hone_status add_update(builder *b, int i, hn_value *gradient, hn_value *const *rates,
                              hn_error *err) {
    hn_train_step *s = b->step;
    const hn_optimizer *by = b->o->optimizer;
    int n = by->moments(&b->o->optimizer_options);
    hn_update u = {.p = b->graph->inputs[s->kept[i].input], .gradient = gradient};
    u.decay = decay_of(b, u.p);
    memcpy(u.rate, rates, sizeof u.rate);
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
    HN_TRY(emitted(b));
    for (int k = 0; k < n; k++) HN_TRY(pair_with(b, moments[k], u.moment_next[k], err));
    return pair_with(b, i, u.p_next, err);
}

static hone_status add_updates(builder *b, hn_value *loss, hn_error *err) {
    hn_train_step *s = b->step;
    int n = s->n_kept, n_by = 0;
    hn_arena *arena = &s->model->arena;
    hn_value **by = hn_arena_array(arena, (size_t)n, sizeof *by);
    hn_value **grads = hn_arena_array(arena, (size_t)n, sizeof *grads);
    if (by == NULL || grads == NULL) return HN_NOMEM(err);
    for (int i = 0; i < n; i++)
        if (s->kept[i].kind == HN_KEPT_PARAMETER) by[n_by++] = b->graph->inputs[s->kept[i].input];
    HN_TRY(hn_backward(b->graph, loss, n_by, by, grads, err));
    hn_value *rates, *rate[HN_RATES];
    HN_TRY(add_input(b->graph, "rates",
                     &(hn_step_sizes){.rank = 1, .dims = {HN_RATES}, .dtype = HONE_DTYPE_F32},
                     &s->rates, &rates, err));
    b->g.dtype = HONE_DTYPE_F32;
    for (int i = 0; i < HN_RATES; i++)
        rate[i] = hn_emit_reshape(&b->g, hn_emit_slice(&b->g, rates, 0, i, i + 1), 0, NULL);
    HN_TRY(emitted(b));
    for (int i = 0, k = 0; i < n; i++) {
        if (s->kept[i].kind != HN_KEPT_PARAMETER) continue;
        HN_CHECK(err, grads[k] != NULL, HONE_E_ARG,
                 "the loss does not depend on parameter '%s': freeze it", s->kept[i].name);
        HN_TRY(add_update(b, i, grads[k++], rate, err));
    }
    return HONE_OK;
}

/* ---- normalizations ---- */

/* BatchNormalization in training form as what it does: statistics, the form by given ones, and
 * running ones that move. What backward needs of the statistics is then computed once. */
static hone_status spell_out(builder *b, hn_node *n) {
    hn_grad *g = &b->g;
    g->node = n;
    g->dtype = HONE_DTYPE_F32;
    hn_value *x = hn_node_input(n, 0);
    hn_node *stats = hn_emit_node(g, HN_TRAIN_DOMAIN, "BatchStats", 2, 1, &x);
    hn_value *in[] = {x, hn_node_input(n, 1), hn_node_input(n, 2), hn_emitted(stats, 0),
                      hn_emitted(stats, 1)};
    HN_TRY(emitted(b));
    hn_node *norm = hn_emit_node(g, "", "BatchNormalization", 1, 5, in);
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
    hn_loss_find(hn_dtype_is_int(target->dtype) ? "cross-entropy" : "mse", &loss, &ignored);
    return loss;
}

static hone_status simplify(builder *b, hn_error *err) {
    hn_simplify_options o = hn_simplify_defaults();
    o.keep_opset = false;
    o.max_growth = -1;
    return hn_simplify(b->step->model, &o, NULL, err);
}

static hone_status build(builder *b, const hn_step_sizes *sizes, const hn_step_sizes *target,
                         hn_error *err) {
    hn_train_step *s = b->step;
    hn_value *goal, *loss = NULL;
    b->graph = b->g.graph = s->model->graph;
    hn_graph *g = b->graph;
    HN_CHECK(err, g->n_outputs > 0, HONE_E_MODEL, "the model has no output");
    for (int i = 0, k = 0; i < g->n_inputs; i++)
        if (g->inputs[i]->constant == NULL) HN_TRY(set_sizes(g->inputs[i], &sizes[k++], err));
    s->n_data = g->n_inputs;
    HN_TRY(hn_model_infer(s->model, NULL, err));
    s->loss_kind = b->o->loss != NULL ? b->o->loss : suiting(target);
    HN_TRY(free_parameters(b, err));
    HN_TRY(free_statistics(b, err));
    HN_TRY(simplify(b, err));
    HN_TRY(add_input(g, "target", target, &s->target, &goal, err));
    HN_TRY(add_loss(b, goal, &loss, err));
    s->loss = g->n_outputs;
    HN_TRY(hn_graph_add_output(g, loss, err));
    HN_TRY(hn_model_infer(s->model, NULL, err));
    HN_TRY(add_updates(b, loss, err));
    HN_TRY(spell_out_all(b, err));
    s->pairs = hn_arena_array(&s->model->arena, (size_t)s->n_kept, sizeof *s->pairs);
    if (s->pairs == NULL) return HN_NOMEM(err);
    for (int i = 0; i < s->n_kept; i++)
        s->pairs[i] = (hn_state_pair){s->kept[i].input, s->kept[i].output};
    return hn_model_infer(s->model, NULL, err);
}

hone_status hn_train_step_create(hn_train_step **out, const hn_model *m, const hn_step_sizes *sizes,
                                 const hn_step_sizes *target, const hn_step_options *o,
                                 hn_allocator *alloc, hn_error *err) {
    hn_train_step *s = hn_alloc_zero(alloc, sizeof *s, HN_MEM_OTHER);
    bool *matched = hn_alloc_zero(alloc, (size_t)o->n_frozen + 1, HN_MEM_OTHER);
    builder b = {.step = s, .o = o, .matched = matched};
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
    hn_model_destroy(s->model);
    hn_free(alloc, s);
}

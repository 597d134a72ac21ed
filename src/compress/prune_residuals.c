/* Pruning of whole layers: residual blocks go, and what they were added to takes their place.
 *
 *     x ──▶ Conv ─▶ Relu ─▶ Conv ──▶ Add ──▶         becomes      x ──▶
 *     └────────────────────────────▶ │
 *
 * A block is what an addition reads on one side, where that depends on nothing but the other side,
 * nobody else reads it, and shapes are the same. Those go first without which the outputs change
 * least, each judged alone, on samples; without samples those whose last weights are smallest.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compress/channel_groups.h"
#include "compress/prune.h"
#include "compress/recipe.h"
#include "engine/layers.h"
#include "ops/infer.h"
#include "ops/nodes.h"

#define MOST_NODES 64 /* of a block */
#define MOST_SAMPLES 128

typedef struct residual {
    int place; /* of the addition among the nodes */
    hn_node *add;
    hn_value *around; /* what takes the place of its output */
    int n;
    hn_node *nodes[MOST_NODES];
    hn_node *first, *last; /* with weights */
    int64_t weights;
    double harm;
} residual;

/* ---- finding ---- */

static bool has(const residual *r, const hn_node *n) {
    for (int i = 0; i < r->n; i++)
        if (r->nodes[i] == n) return true;
    return false;
}

/* Every node that v depends on before `around`; false: it depends on more, or they are too many. */
static bool gather(residual *r, hn_value *v) {
    if (v == NULL || v == r->around || v->constant != NULL) return true;
    hn_node *n = v->producer;
    int at = 0;
    if (n == NULL || n->graph != r->add->graph || hn_node_subgraph(n, &at) != NULL) return false;
    if (has(r, n)) return true;
    if (r->n == MOST_NODES) return false;
    r->nodes[r->n++] = n;
    for (int i = 0; i < n->n_inputs; i++)
        if (!gather(r, hn_node_input(n, i))) return false;
    return true;
}

/* Only nodes of the block, and the addition, read what its nodes make. */
static bool is_closed(const residual *r) {
    bool reads = false;
    for (int i = 0; i < r->n; i++) {
        const hn_node *n = r->nodes[i];
        for (int k = 0; k < n->n_inputs; k++) reads |= hn_node_input(n, k) == r->around;
        for (int k = 0; k < n->n_outputs; k++)
            for (const hn_use *u = n->outputs[k] != NULL ? n->outputs[k]->uses : NULL; u != NULL;
                 u = u->next)
                if (u->node == NULL || (u->node != r->add && !has(r, u->node))) return false;
    }
    return reads;
}

static bool find_block(residual *r, hn_node *add, int side) {
    hn_value *branch = hn_node_input(add, side), *y = hn_node_output(add, 0);
    *r = (residual){.add = add, .around = hn_node_input(add, 1 - side)};
    if (branch == r->around || r->around->constant != NULL || y->n_outputs > 0 ||
        !hn_same_type(r->around, y) || !gather(r, branch) || !is_closed(r))
        return false;
    for (int i = 0; i < r->n; i++) {
        const hn_weights_def *w = hn_def_of(r->nodes[i])->weights;
        const hn_tensor *t = w != NULL ? hn_const_in(r->nodes[i], w->input) : NULL;
        if (t == NULL) continue;
        if (r->last == NULL) r->last = r->nodes[i]; /* nodes begin at the addition */
        r->first = r->nodes[i];
        r->weights += t->n;
    }
    return r->first != NULL;
}

static bool find_either(residual *r, hn_node *add) {
    return hn_def_of(add)->role == HN_ROLE_ADD && (find_block(r, add, 0) || find_block(r, add, 1));
}

static bool is_wanted(const hn_pruning *p, const residual *r) {
    bool listed = p->only == NULL, left_out = false;
    for (int i = 0; i < r->n; i++) {
        const char *name = hn_layer_name(r->nodes[i]);
        listed |= p->only != NULL && hn_shrinking_is_listed(p->only, name);
        left_out |= p->except != NULL && hn_shrinking_is_listed(p->except, name);
    }
    return listed && !left_out;
}

static hone_status find_all(const hn_pruning *p, const hn_graph *g, hn_arena *arena, residual **out,
                            int *n, hn_error *err) {
    residual *all = hn_arena_array(arena, (size_t)g->n_nodes + 1, sizeof *all);
    int place = 0;
    *n = 0;
    if (all == NULL) return HN_NOMEM(err);
    for (hn_node *at = g->first; at != NULL; at = at->next, place++)
        if (find_either(&all[*n], at) && is_wanted(p, &all[*n])) all[(*n)++].place = place;
    *out = all;
    return HONE_OK;
}

/* Constants go with the last node that reads them. */
static void take_out(const residual *r) {
    hn_value *constants[4 * MOST_NODES];
    int n = 0;
    for (int i = 0; i < r->n; i++)
        for (int k = 0; k < r->nodes[i]->n_inputs && n < 4 * MOST_NODES; k++)
            if (hn_node_constant(r->nodes[i], k) != NULL)
                constants[n++] = hn_node_input(r->nodes[i], k);
    for (hn_use *u = r->add->outputs[0]->uses; u != NULL; u = u->next)
        if (u->node != NULL) hn_node_touch(u->node);
    hn_value_replace(r->add->outputs[0], r->around);
    hn_prune(r->add);
    for (int i = 0; i < n; i++)
        if (!constants[i]->dead && constants[i]->n_uses == 0) hn_value_remove(constants[i]);
}

/* ---- what a block does ---- */

/* The outputs of m for the samples, one tensor after the other for each batch. */
typedef struct answers {
    int n;
    hn_tensor **v;
} answers;

static void answers_deinit(answers *a) {
    for (int i = 0; i < a->n; i++) hn_tensor_unref(a->v[i]);
    a->n = 0;
}

static hone_status ask(answers *a, const hn_model *m, const hn_transform_ctx *c, hn_arena *arena,
                       hn_error *err) {
    int64_t all = hn_dataset_count(hn_feed_dataset(c->feed)), step = hn_feed_batch(c->feed);
    hn_tensor **in = hn_arena_array(arena, (size_t)m->graph->n_inputs + 1, sizeof *in);
    hn_program *p;
    if (all > MOST_SAMPLES) all = MOST_SAMPLES;
    size_t runs = (size_t)((all + step - 1) / step);
    a->v = hn_arena_array(arena, runs * (size_t)m->graph->n_outputs + 1, sizeof *a->v);
    if (in == NULL || a->v == NULL) return HN_NOMEM(err);
    HN_TRY(hn_program_create(&p, m, c->how, err));
    hone_status status = HONE_OK;
    for (int64_t i = 0; i < all && status == HONE_OK; i += step) {
        status = hn_feed_load(c->feed, i, i + step < all ? step : all - i, in, err);
        if (status != HONE_OK) break;
        status = hn_program_run(p, (const hn_tensor *const *)in, a->v + a->n, err);
        for (int k = 0; k < m->graph->n_inputs; k++) hn_tensor_unref(in[k]);
        if (status == HONE_OK) a->n += m->graph->n_outputs;
    }
    hn_program_destroy(p);
    return status;
}

static double apart(const answers *a, const answers *b) {
    double noise = 0, signal = 0;
    for (int i = 0; i < a->n; i++)
        for (int64_t k = 0; k < a->v[i]->n && a->v[i]->n == b->v[i]->n; k++) {
            double x = hn_tensor_f64(a->v[i], k), d = x - hn_tensor_f64(b->v[i], k);
            noise += d * d;
            signal += x * x;
        }
    return signal > 0 ? noise / signal : noise;
}

/* The change of the outputs when one block is not there. */
static hone_status try_without(residual *r, const answers *whole, const hn_transform_ctx *c,
                               hn_arena *arena, hn_error *err) {
    hn_model *m;
    residual same;
    answers a = {0};
    HN_TRY(hn_model_clone(&m, c->model, c->alloc, err));
    hn_node *at = m->graph->first;
    for (int i = 0; i < r->place; i++) at = at->next;
    hone_status status = hn_model_infer(m, NULL, err);
    if (status == HONE_OK && find_either(&same, at)) {
        take_out(&same);
        status = hn_model_infer(m, NULL, err);
        if (status == HONE_OK) status = ask(&a, m, c, arena, err);
        if (status == HONE_OK) r->harm = apart(whole, &a);
    }
    answers_deinit(&a);
    hn_model_destroy(m);
    return status;
}

static hone_status judge(residual *all, int n, const hn_transform_ctx *c, hn_arena *arena,
                         hn_error *err) {
    answers whole = {0};
    hone_status status = HONE_OK;
    for (int i = 0; i < n && c->feed == NULL; i++) {
        const hn_tensor *t = hn_const_in(all[i].last, all[i].last->op->weights->input);
        for (int64_t k = 0; k < t->n; k++) all[i].harm += fabs(hn_tensor_f64(t, k)) / (double)t->n;
    }
    if (c->feed == NULL) return HONE_OK;
    status = ask(&whole, c->model, c, arena, err);
    for (int i = 0; i < n && status == HONE_OK; i++) {
        if (c->progress != NULL && !c->progress(c->progress_ctx, i, n))
            status = HN_FAIL(err, HONE_E_LIMIT, "stopped at layer '%s'", all[i].first->name);
        else
            status = try_without(&all[i], &whole, c, arena, err);
    }
    answers_deinit(&whole);
    return status;
}

static int by_harm(const void *a, const void *b) {
    const residual *x = a, *y = b;
    if (x->harm < y->harm || x->harm > y->harm) return x->harm < y->harm ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

/* ---- the whole ---- */

static hone_status count_macs(const hn_model *m, double *sum, hn_error *err) {
    hn_model *k;
    hone_status status = hn_channels_look(&k, m, err);
    *sum = 0;
    if (status != HONE_OK) return status;
    for (const hn_node *n = k->graph->first; n != NULL && status == HONE_OK; n = n->next) {
        hn_cost cost = {0};
        int64_t macs;
        if (hn_def_of(n)->cost == NULL) continue;
        status = hn_node_cost(n, &cost, err);
        if (cost.macs != NULL && hn_dim_is_const(cost.macs, &macs)) *sum += (double)macs;
    }
    hn_model_destroy(k);
    return status;
}

static hone_status tell(hn_transform_ctx *c, const residual *r, hn_error *err) {
    char what[80];
    snprintf(what, sizeof what, "its block of %d nodes is gone", r->n);
    c->changed++;
    return hn_shrinking_tell(c,
                             &(hn_shrunk_layer){.transform = "prune",
                                                .layer = hn_layer_name(r->first),
                                                .op = r->first->op->name,
                                                .what = what,
                                                .weights = r->weights,
                                                .error = r->harm},
                             err);
}

static hone_status prune(hn_transform_ctx *c, const hn_pruning *p, hn_arena *arena, hn_error *err) {
    residual *all = NULL, now;
    int n;
    double limit, whole, left;
    HN_TRY(hn_prune_limit(p->step, &limit, err));
    HN_TRY(find_all(p, c->model->graph, arena, &all, &n, err));
    HN_TRY(judge(all, n, c, arena, err));
    qsort(all, (size_t)n, sizeof *all, by_harm);
    HN_TRY(count_macs(c->model, &whole, err));
    left = whole;
    int gone = limit < 1 ? n : (int)floor(p->sparsity * n + 0.5);
    for (int i = 0; i < gone && (limit >= 1 || left > limit * whole); i++) {
        /* Of two blocks one of which is in the other, one is left when the other is gone. */
        if (all[i].add->dead || !find_either(&now, all[i].add)) continue;
        now.harm = c->feed != NULL ? all[i].harm : NAN;
        HN_TRY(tell(c, &now, err));
        take_out(&now);
        if (limit >= 1) continue;
        HN_TRY(hn_model_infer(c->model, NULL, err));
        HN_TRY(count_macs(c->model, &left, err));
    }
    HN_CHECK(err, limit >= 1 || left <= limit * whole, HONE_E_NOT_FOUND,
             "max-macs %.4g%%: with all blocks gone that may go, %.3g%% of the "
             "multiply-accumulates are left",
             100 * limit, 100 * left / whole);
    return HONE_OK;
}

hone_status hn_prune_residuals(hn_transform_ctx *c, const hn_pruning *p, hn_error *err) {
    hn_arena arena;
    hn_arena_init(&arena, c->alloc, HN_MEM_SCRATCH);
    hone_status status = prune(c, p, &arena, err);
    hn_arena_deinit(&arena);
    return status;
}

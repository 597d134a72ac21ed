/* Pruning of whole layers: residual blocks go, and what they were added to takes their place.
 *
 *     x ──▶ Conv ─▶ Relu ─▶ Conv ──▶ Add ──▶         becomes      x ──▶
 *     └────────────────────────────▶ │
 *
 * A block is what an addition reads on one side, where that depends on nothing but the other side,
 * nobody else reads it, and shapes are the same. One after the other goes: the one without which the
 * outputs, on samples, are nearest to those of the whole model; without samples the one whose last
 * weights are smallest.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compress/answers.h"
#include "compress/channel_groups.h"
#include "compress/prune.h"
#include "compress/recipe.h"
#include "engine/layers.h"
#include "ops/infer.h"
#include "ops/nodes.h"

#define MOST_NODES 64 /* of a block */
#define MOST_SAMPLES 128

typedef struct residual {
    hn_node *add;
    hn_value *around; /* what takes the place of its output */
    int n;
    hn_node *nodes[MOST_NODES];
    hn_node *first, *last; /* with weights */
    int64_t weights;
    double harm;
    int judged;   /* how many blocks were gone then */
    bool settled; /* gone, or may not go */
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
    *n = 0;
    if (all == NULL) return HN_NOMEM(err);
    for (hn_node *at = g->first; at != NULL; at = at->next)
        if (find_either(&all[*n], at) && is_wanted(p, &all[*n])) (*n)++;
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

static hn_node *node_at(const hn_model *m, int place) {
    hn_node *n = m->graph->first;
    for (int i = 0; i < place; i++) n = n->next;
    return n;
}

static int place_of(const hn_node *n) {
    int place = 0;
    for (const hn_node *at = n->graph->first; at != n; at = at->next) place++;
    return place;
}

/* How far the outputs are from what they were before anything went, when r goes, too. */
static hone_status try_without(residual *r, const hn_answers *whole, const hn_transform_ctx *c,
                               hn_error *err) {
    hn_model *m;
    residual same;
    hn_distance d;
    HN_TRY(hn_model_clone(&m, c->model, c->alloc, err));
    hn_node *at = node_at(m, place_of(r->add));
    hone_status status = hn_model_infer(m, NULL, err);
    if (status == HONE_OK && find_either(&same, at)) {
        take_out(&same);
        status = hn_model_infer(m, NULL, err);
        if (status == HONE_OK) status = hn_answers_compare(whole, m, c, &d, err);
        if (status == HONE_OK) r->harm = hn_answers_noise(&d);
    }
    hn_model_destroy(m);
    return status;
}

/* The mean size of the last weights. */
static double size_of(const residual *r) {
    const hn_tensor *t = hn_const_in(r->last, r->last->op->weights->input);
    double sum = 0;
    for (int64_t k = 0; k < t->n; k++) sum += fabs(hn_tensor_f64(t, k));
    return sum / (double)t->n;
}

/* ---- the whole ---- */

typedef struct course {
    hn_transform_ctx *c;
    residual *all;
    int n, gone, most;         /* most: blocks that may go */
    double limit, whole, left; /* multiply-accumulates; limit 1 or more: they do not count */
    hn_answers answers;
} course;

static bool goes_on(const course *k) {
    return k->gone < k->most && (k->limit >= 1 || k->left > k->limit * k->whole);
}

/* The first half is the first judgement of each block, the second what goes. */
static hone_status tick(const course *k, int judged, const residual *r, hn_error *err) {
    const hn_transform_ctx *c = k->c;
    double way = k->limit >= 1 ? (double)k->gone / (k->most + 1)
                               : (k->whole - k->left) / (k->whole - k->limit * k->whole + 1);
    int64_t done = judged < k->n ? judged : k->n + (int64_t)(way * k->n);
    HN_CHECK(err, c->progress == NULL || c->progress(c->progress_ctx, done, 2 * (int64_t)k->n),
             HONE_E_LIMIT, "stopped at layer '%s'", r->first->name);
    return HONE_OK;
}

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

/* The block whose going changes least; NULL: none is left. */
static residual *least(const course *k) {
    residual *r = NULL;
    for (int i = 0; i < k->n; i++)
        if (!k->all[i].settled && (r == NULL || k->all[i].harm < r->harm)) r = &k->all[i];
    return r;
}

/* Blocks do more harm the more are gone: one that was judged when fewer were is judged anew before
 * it goes, and goes only if it still does least. */
static hone_status take_least(course *k, hn_error *err) {
    hn_transform_ctx *c = k->c;
    residual now, *r;
    while (goes_on(k) && (r = least(k)) != NULL) {
        /* Of two blocks one of which is in the other, one is left when the other is gone. */
        if (r->add->dead || !find_either(&now, r->add)) {
            r->settled = true;
            continue;
        }
        if (c->feed != NULL && r->judged < k->gone) {
            HN_TRY(tick(k, k->n, r, err));
            HN_TRY(try_without(r, &k->answers, c, err));
            r->judged = k->gone;
            continue;
        }
        now.harm = c->feed != NULL ? r->harm : NAN;
        HN_TRY(tell(c, &now, err));
        take_out(&now);
        r->settled = true;
        k->gone++;
        HN_TRY(hn_model_infer(c->model, NULL, err));
        if (k->limit < 1) HN_TRY(count_macs(c->model, &k->left, err));
    }
    return HONE_OK;
}

static hone_status judge(course *k, hn_arena *arena, hn_error *err) {
    if (k->c->feed != NULL) HN_TRY(hn_answers_ask(&k->answers, MOST_SAMPLES, k->c, arena, err));
    for (int i = 0; i < k->n; i++) {
        residual *r = &k->all[i];
        HN_TRY(tick(k, i, r, err));
        if (k->c->feed != NULL)
            HN_TRY(try_without(r, &k->answers, k->c, err));
        else
            r->harm = size_of(r);
    }
    return HONE_OK;
}

static hone_status prune(course *k, const hn_pruning *p, hn_arena *arena, hn_error *err) {
    HN_TRY(hn_prune_limit(p->step, &k->limit, err));
    HN_TRY(find_all(p, k->c->model->graph, arena, &k->all, &k->n, err));
    HN_TRY(count_macs(k->c->model, &k->whole, err));
    k->left = k->whole;
    k->most = k->limit < 1 ? k->n : (int)floor(p->sparsity * k->n + 0.5);
    HN_TRY(judge(k, arena, err));
    HN_TRY(take_least(k, err));
    HN_CHECK(err, k->limit >= 1 || k->left <= k->limit * k->whole, HONE_E_NOT_FOUND,
             "max-macs %.4g%%: with all blocks gone that may go, %.3g%% of the "
             "multiply-accumulates are left",
             100 * k->limit, 100 * k->left / k->whole);
    return HONE_OK;
}

hone_status hn_prune_residuals(hn_transform_ctx *c, const hn_pruning *p, hn_error *err) {
    hn_arena arena;
    course k = {.c = c};
    hn_arena_init(&arena, c->alloc, HN_MEM_SCRATCH);
    hone_status status = prune(&k, p, &arena, err);
    hn_answers_deinit(&k.answers);
    hn_arena_deinit(&arena);
    return status;
}

/* What each layer loses when it alone is pruned, at several shares.
 *
 * For each share one copy of the model is pruned in all layers, each by its inputs in the model as it
 * is. Of this copy one weight after the other is put into the model, which then runs on samples:
 *
 *     share 0.3     copy, all layers pruned          model        one weight is the copy's
 *                   w1' w2' w3'               ─▶     w1' w2  w3   noise at the outputs, score
 *                                                    w1  w2' w3
 *     share 0.5     ...
 *
 * So a share costs one pruning, however many layers there are, and a layer one run of the samples.
 * Runs are bounded: a model with many layers runs on fewer samples, and scores are of so many samples
 * at most.
 */
#include <math.h>
#include <string.h>

#include "base/decimal.h"
#include "compress/answers.h"
#include "compress/judge.h"
#include "compress/prune_search.h"
#include "engine/layers.h"
#include "ops/infer.h"
#include "ops/nodes.h"

enum { MOST_SAMPLES = 32, LEAST_SAMPLES = 4, MOST_RUNS = 8192, MOST_JUDGED = 512 };
enum { MOST_WEIGHTS = 8 }; /* of a layer */

const char *const hn_scan_levels[HN_SCAN_LEVELS] = {"0.3", "0.5", "0.6", "0.7",
                                                    "0.8", "0.9", "0.95"};

/* The weights of a layer, in the model as it is. */
typedef struct weights {
    int n;
    const hn_value *v[MOST_WEIGHTS];
} weights;

typedef struct scanning {
    hn_prune_search *s;
    hn_layer_scan *out;
    hn_arena *keep;
    weights *of;        /* of each layer */
    hn_model *model;    /* a copy, in which one weight at a time is another */
    hn_answers answers; /* of the model as it is */
    hn_dataset *judges; /* NULL: none */
} scanning;

static int64_t not_zero(const hn_tensor *t) {
    int64_t n = 0;
    for (int64_t i = 0; i < t->n; i++) n += hn_weight_at(t, i) != 0;
    return n;
}

/* ---- layers ---- */

/* What pruning has changed of the layers of that name. */
static void find_weights(weights *of, const char *name, const hn_model *m, const hn_model *pruned) {
    for (const hn_node *n = m->graph->first; n != NULL; n = n->next) {
        if (strcmp(hn_layer_name(n), name) != 0) continue;
        for (int i = 0; i < n->n_inputs; i++) {
            const hn_value *v = hn_node_input(n, i);
            const hn_value *now =
                v != NULL && v->constant != NULL ? hn_graph_value(pruned->graph, v->name) : NULL;
            bool new = now != NULL && now->constant != v->constant && of->n < MOST_WEIGHTS;
            for (int k = 0; k < of->n; k++) new = new && of->v[k] != v;
            if (new) of->v[of->n++] = v;
        }
    }
}

/* The layers that a first pruning has told of, which are the same at every share. */
static hone_status find_layers(scanning *k, const hn_shrinking *told, const hn_model *pruned,
                               hn_error *err) {
    hn_layer_scan *x = k->out;
    size_t most = (size_t)told->n + 1;
    x->layers = hn_arena_array(k->keep, most, sizeof *x->layers);
    x->weights = hn_arena_array(k->keep, most, sizeof *x->weights);
    k->of = hn_arena_array(k->s->arena, most, sizeof *k->of);
    if (x->layers == NULL || x->weights == NULL || k->of == NULL) return HN_NOMEM(err);
    for (int i = 0; i < told->n; i++) {
        const char *name = told->v[i].layer;
        bool new = told->v[i].what != NULL;
        for (int j = 0; j < x->n; j++) new = new &&strcmp(x->layers[j], name) != 0;
        if (!new) continue;
        find_weights(&k->of[x->n], name, k->s->c->model, pruned);
        for (int j = 0; j < k->of[x->n].n; j++)
            x->weights[x->n] += not_zero(k->of[x->n].v[j]->constant);
        x->layers[x->n] = hn_arena_strdup(k->keep, name);
        if (x->layers[x->n++] == NULL) return HN_NOMEM(err);
    }
    HN_CHECK(err, x->n > 0, HONE_E_ARG,
             "there is no layer to prune: the model has none with weights of its own, or only and "
             "except leave none");
    size_t cells = (size_t)x->n * HN_SCAN_LEVELS;
    x->kept = hn_arena_array(k->keep, cells, sizeof *x->kept);
    x->noise = hn_arena_array(k->keep, cells, sizeof *x->noise);
    if (k->judges != NULL) x->scores = hn_arena_array(k->keep, cells, sizeof *x->scores);
    if (x->kept == NULL || x->noise == NULL || (k->judges != NULL && x->scores == NULL))
        return HN_NOMEM(err);
    return HONE_OK;
}

/* ---- runs ---- */

/* Puts the constants of `from` into the copy. */
static void put(const scanning *k, const weights *of, const hn_model *from) {
    for (int i = 0; i < of->n; i++) {
        hn_tensor *t = hn_graph_value(from->graph, of->v[i]->name)->constant;
        hn_tensor_ref(t);
        hn_value_set_constant(hn_graph_value(k->model->graph, of->v[i]->name), t);
    }
}

static hone_status judge(const scanning *k, hn_judgement *j, hn_error *err) {
    const hn_transform_ctx *c = k->s->c;
    *j = (hn_judgement){.value = NAN};
    return hn_judge(j, k->model, k->judges, c->how, c->alloc, err);
}

static hone_status look_at(scanning *k, int layer, int level, const hn_model *pruned,
                           hn_error *err) {
    const weights *of = &k->of[layer];
    int at = layer * HN_SCAN_LEVELS + level;
    hn_distance d;
    hn_judgement j = {.value = NAN};
    for (int i = 0; i < of->n; i++)
        k->out->kept[at] += not_zero(hn_graph_value(pruned->graph, of->v[i]->name)->constant);
    put(k, of, pruned);
    hone_status status = hn_answers_compare(&k->answers, k->model, k->s->c, &d, err);
    if (status == HONE_OK && k->judges != NULL) status = judge(k, &j, err);
    put(k, of, k->s->c->model);
    if (status != HONE_OK) return status;
    k->out->noise[at] = hn_answers_noise(&d);
    if (k->judges != NULL) k->out->scores[at] = j.value;
    return hn_prune_tried(k->s, err);
}

/* What is asked before any layer is looked at, now that it is known how many there are. */
static hone_status begin(scanning *k, hn_error *err) {
    hn_prune_search *s = k->s;
    int64_t cells = (int64_t)k->out->n * HN_SCAN_LEVELS, samples = MOST_RUNS / cells;
    samples = samples < LEAST_SAMPLES  ? LEAST_SAMPLES
              : samples > MOST_SAMPLES ? MOST_SAMPLES
                                       : samples;
    s->total += cells;
    HN_TRY(hn_answers_ask(&k->answers, samples, s->c, s->arena, err));
    HN_TRY(hn_model_clone(&k->model, s->c->model, s->c->alloc, err));
    HN_TRY(hn_model_infer(k->model, NULL, err));
    if (k->judges == NULL) return HONE_OK;
    hn_judgement j;
    hone_status status = judge(k, &j, err);
    if (status == HONE_E_ARG) { /* no metric is known to suit the model */
        k->judges = NULL;
        k->out->scores = NULL;
        return HONE_OK;
    }
    HN_TRY(status);
    k->out->before = j.value;
    k->out->is_share = j.is_share;
    k->out->lower_better = j.lower_better;
    k->out->metric = hn_arena_strdup(k->keep, j.metric);
    return k->out->metric != NULL ? HONE_OK : HN_NOMEM(err);
}

static hone_status scan_level(scanning *k, int level, hn_error *err) {
    static const char *const own[] = {"sparsity", "layer-sparsity", "scope", NULL};
    const char *text = hn_scan_levels[level];
    hn_prune_search *s = k->s;
    hn_shrinking told;
    hn_recipe_step line;
    hn_model *pruned = NULL;
    hone_status status = HONE_OK;
    hn_shrinking_init(&told, s->c->alloc);
    HN_TRY_GOTO(hn_prune_line(s, own, 1, &line, err));
    hn_prune_set(&line, "sparsity", NULL, text);
    hn_decimal_f64(text, strlen(text), &k->out->levels[level]);
    HN_TRY_GOTO(hn_prune_try(s, &line, s->c->model, &pruned, &told, NULL, err));
    if (level == 0) HN_TRY_GOTO(find_layers(k, &told, pruned, err));
    if (level == 0) HN_TRY_GOTO(begin(k, err));
    for (int i = 0; i < k->out->n; i++) HN_TRY_GOTO(look_at(k, i, level, pruned, err));
fail:
    hn_model_destroy(pruned);
    hn_shrinking_deinit(&told);
    return status;
}

/* So many of them, spread evenly; as they are where they are no more. */
static hone_status take_some(hn_dataset **out, hn_dataset *from, hn_arena *arena, hn_error *err) {
    int64_t all = from != NULL ? hn_dataset_count(from) : 0;
    *out = NULL;
    if (all <= MOST_JUDGED) return HONE_OK;
    int64_t *index = hn_arena_array(arena, MOST_JUDGED, sizeof *index);
    if (index == NULL) return HN_NOMEM(err);
    for (int64_t i = 0; i < MOST_JUDGED; i++)
        index[i] = (int64_t)((double)i * (double)all / MOST_JUDGED);
    return hn_dataset_part(out, from, index, MOST_JUDGED, err);
}

hone_status hn_prune_scan(hn_prune_search *s, hn_dataset *judges, hn_layer_scan *out,
                          hn_arena *keep, hn_error *err) {
    hn_dataset *some = NULL;
    *out = (hn_layer_scan){.n_levels = HN_SCAN_LEVELS, .before = NAN};
    scanning k = {.s = s, .out = out, .keep = keep};
    HN_CHECK(err, s->c->feed != NULL, HONE_E_ARG,
             "what each layer loses is measured on samples, and none are given");
    out->levels = hn_arena_array(keep, HN_SCAN_LEVELS, sizeof *out->levels);
    if (out->levels == NULL) return HN_NOMEM(err);
    hone_status status = take_some(&some, judges, s->arena, err);
    k.judges = some != NULL ? some : judges;
    for (int i = 0; i < HN_SCAN_LEVELS && status == HONE_OK; i++) status = scan_level(&k, i, err);
    hn_answers_deinit(&k.answers);
    hn_model_destroy(k.model);
    hn_dataset_close(some);
    if (status != HONE_OK) *out = (hn_layer_scan){0};
    return status;
}

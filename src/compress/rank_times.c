#include "compress/rank_times.h"

#include <math.h>
#include <string.h>

#include "engine/layers.h"
#include "ops/infer.h"
#include "ops/nodes.h"

/* Ranks that are tried, in parts of the rank at which a chain is no smaller than the layer; a rank is
 * a multiple of TILE, columns that all f32 kernels compute together at no extra cost. */
enum { LEVELS = 8, TILE = 16, RUNS = 6 };

typedef struct timed {
    const char *name;
    size_t length;
    int alike;  /* the first layer that does the same */
    double run; /* the current one */
} timed;

typedef struct timing {
    int n;
    timed *v;
    bool links;     /* steps of L/0, L/1 ... count for L */
    double *ms[2];  /* of the model and of a copy: the least time of each layer */
    int64_t *ranks; /* of the copy; 0: the layer is as it was */
    const hn_tensor *const *in;
    hn_program *original;
} timing;

/* ---- inputs ---- */

/* Sizes of symbols: 1 for a batch, and 128 for others, as `hone inspect` takes them. */
static bool is_batch(const hn_graph *g, hn_dim symbol) {
    bool yes = false;
    for (int i = 0; i < g->n_inputs; i++) {
        const hn_shape *s = &g->inputs[i]->type.shape;
        yes = yes || (s->rank > 0 && s->dim[0] == symbol);
    }
    return yes;
}

/* Ones: any model takes them as numbers, and most as indices and masks. */
static hone_status ones_for(const hn_value *v, hn_allocator *alloc, hn_tensor **out,
                            hn_error *err) {
    int64_t dims[HONE_MAX_RANK];
    const hn_shape *s = &v->type.shape;
    HN_CHECK(err, s->rank >= 0 && v->type.dtype != HONE_DTYPE_STRING, HONE_E_ARG,
             "times of layers want samples: what input '%s' takes is not known", v->name);
    for (int i = 0; i < s->rank; i++)
        if (!hn_dim_is_const(s->dim[i], &dims[i]))
            dims[i] = is_batch(v->graph, s->dim[i]) ? 1 : 128;
    HN_TRY(hn_tensor_create(out, alloc, HN_MEM_DATA, v->type.dtype, s->rank, dims, err));
    for (int64_t i = 0; i < (*out)->n; i++) hn_store_f64((*out)->dtype, (*out)->data, i, 1);
    return HONE_OK;
}

hone_status hn_timed_inputs(const hn_transform_ctx *c, hn_tensor **in, hn_error *err) {
    const hn_graph *g = c->model->graph;
    HN_CHECK(err, g->n_inputs <= HN_TIMED_INPUTS, HONE_E_UNSUPPORTED,
             "times of layers are for models of at most %d inputs, this one has %d",
             HN_TIMED_INPUTS, g->n_inputs);
    if (c->feed != NULL) return hn_feed_load(c->feed, 0, 1, in, err);
    for (int i = 0; i < g->n_inputs; i++)
        if (g->inputs[i]->constant == NULL) HN_TRY(ones_for(g->inputs[i], c->alloc, &in[i], err));
    return HONE_OK;
}

/* ---- models ---- */

static int64_t rank_at(const hn_chained *of, int level) {
    int64_t even = of->m.n * of->m.k / (of->m.n + of->m.k);
    int64_t rank = (even * level / LEVELS + TILE / 2) / TILE * TILE;
    return rank >= TILE && rank < even ? rank : 0;
}

static hone_status write_rank(const hn_chained *of, int64_t rank, hn_allocator *alloc,
                              hn_error *err) {
    hn_chain chain = {.n = 2};
    chain.v[0] =
        (hn_link){.n = rank, .k = of->inputs, .taps = of->m.k / of->inputs, .axes = of->axes};
    chain.v[1] = (hn_link){.n = of->m.n, .k = rank, .taps = 1};
    hone_status status = hn_chain_create(&chain, alloc, err);
    for (int i = 0; i < 2 && status == HONE_OK; i++)
        for (int64_t e = 0; e < chain.v[i].n * chain.v[i].k * chain.v[i].taps; e++)
            chain.v[i].weight[e] = 0.01f;
    if (status == HONE_OK) status = hn_chain_write(&chain, of, NULL, err);
    hn_chain_deinit(&chain, alloc);
    return status;
}

/* The node of a copy that stands where n does in its graph. */
static hn_node *twin(const hn_model *copy, const hn_node *n) {
    return hn_graph_value(copy->graph, n->outputs[0]->name)->producer;
}

/* A copy in which layers have these ranks. */
static hone_status make_copy(hn_model **out, const hn_chained *layers, int n, const int64_t *ranks,
                             const hn_transform_ctx *c, hn_error *err) {
    const hn_scheme all = {
        .layer = {.kind = HN_LAYER_WEIGHTS, .weights = {.dtype = HONE_DTYPE_S8, .bits = 8}}};
    HN_TRY(hn_model_clone(out, c->model, c->alloc, err));
    HN_TRY(hn_model_infer(*out, NULL, err));
    for (int i = 0; i < n; i++) {
        const char *why;
        hn_weighted w;
        hn_chained of;
        if (ranks[i] == 0) continue;
        if (hn_weighted_of(twin(*out, layers[i].w->node), &all, &w, NULL) &&
            hn_chained_of(&of, &w, &why))
            HN_TRY(write_rank(&of, ranks[i], c->alloc, err));
    }
    return hn_model_infer(*out, NULL, err);
}

/* They multiply by weights of one shape, and give as many outputs. */
static bool are_alike(const hn_chained *a, const hn_chained *b) {
    bool same = a->m.n == b->m.n && a->m.k == b->m.k && a->inputs == b->inputs &&
                a->rank == b->rank && a->w->node->op == b->w->node->op &&
                hn_same_type(a->w->node->outputs[0], b->w->node->outputs[0]) &&
                hn_same_type(a->w->input, b->w->input);
    for (int i = 0; i < a->rank && same; i++)
        same = a->kernel[i] == b->kernel[i] && a->stride[i] == b->stride[i];
    return same;
}

/* ---- times ---- */

static bool is_of(const timing *t, const timed *l, const char *name) {
    if (strncmp(name, l->name, l->length) != 0) return false;
    return name[l->length] == '\0' || (t->links && name[l->length] == '/');
}

static void add_time(void *ctx, const hn_step_time *s) {
    timing *t = ctx;
    const hn_node *maker = s->step->facts->maker;
    for (int i = 0; maker != NULL && i < t->n; i++)
        if (is_of(t, &t->v[i], hn_layer_name(maker)))
            t->v[i].run += (double)(s->end_ns - s->begin_ns) * 1e-6;
}

/* The least times of the model and of a copy; a layer without a step has infinity. The first run of
 * each warms up. Of layers that are alike the least of all counts: one run may be disturbed, but
 * hardly all. */
static hone_status time_both(timing *t, hn_program *copy, hn_error *err) {
    hn_program *const programs[2] = {t->original, copy};
    for (int i = 0; i < t->n; i++) t->ms[0][i] = t->ms[1][i] = INFINITY;
    for (int k = 0; k < 2 * (RUNS + 1); k++) {
        int who = k % 2;
        for (int i = 0; i < t->n; i++) t->v[i].run = 0;
        t->links = who == 1;
        HN_TRY(hn_program_profile(programs[who], t->in, add_time, t, err));
        for (int i = 0; k >= 2 && i < t->n; i++) {
            double *least = &t->ms[who][t->v[i].alike];
            if (t->v[i].run > 0) *least = fmin(*least, t->v[i].run);
        }
    }
    for (int i = 0; i < t->n; i++)
        for (int who = 0; who < 2; who++) t->ms[who][i] = t->ms[who][t->v[i].alike];
    return HONE_OK;
}

static hone_status time_ranks(timing *t, const hn_chained *layers, const hn_transform_ctx *c,
                              hn_error *err) {
    hn_model *copy = NULL;
    hn_program *p = NULL;
    hone_status status = make_copy(&copy, layers, t->n, t->ranks, c, err);
    if (status == HONE_OK) status = hn_program_create(&p, copy, c->how, err);
    if (status == HONE_OK) status = time_both(t, p, err);
    hn_program_destroy(p);
    hn_model_destroy(copy);
    return status;
}

static bool was_timed(const timing *t, int i) {
    return t->ranks[i] > 0 && isfinite(t->ms[0][i]) && isfinite(t->ms[1][i]);
}

/* From the largest rank to the smallest: the first that is fast enough is taken. */
static hone_status try_level(hn_rank_time *of, const hn_chained *layers, timing *t, int level,
                             double faster, const hn_transform_ctx *c, hn_error *err) {
    for (int i = 0; i < t->n; i++) t->ranks[i] = rank_at(&layers[i], level);
    HN_TRY(time_ranks(t, layers, c, err));
    for (int i = 0; i < t->n; i++) {
        hn_rank_time *o = &of[i];
        double was = t->ms[0][i], is = t->ms[1][i];
        if (o->rank > 0 || !was_timed(t, i)) continue;
        bool good = is <= (1 - faster) * was;
        if (good || !isfinite(o->is_ms) || is / was < o->is_ms / o->was_ms)
            *o = (hn_rank_time){good ? t->ranks[i] : 0, was, is};
    }
    return HONE_OK;
}

/* Times everything once more as it was chosen. What was chosen because a run happened to be fast is
 * found out here, and the times that are told are not those that it was chosen by. */
static hone_status confirm(hn_rank_time *of, const hn_chained *layers, timing *t, double faster,
                           const hn_transform_ctx *c, hn_error *err) {
    bool any = false;
    for (int i = 0; i < t->n; i++) {
        t->ranks[i] = of[i].rank;
        any = any || of[i].rank > 0;
    }
    if (!any) return HONE_OK;
    HN_TRY(time_ranks(t, layers, c, err));
    for (int i = 0; i < t->n; i++) {
        double was = t->ms[0][i], is = t->ms[1][i];
        if (!was_timed(t, i)) continue;
        of[i] = (hn_rank_time){is <= (1 - faster / 2) * was ? of[i].rank : 0, was, is};
    }
    return HONE_OK;
}

static hone_status prepare(timing *t, const hn_chained *layers, hn_arena *arena, hn_error *err) {
    size_t n = (size_t)t->n;
    t->v = hn_arena_array(arena, n, sizeof *t->v);
    t->ranks = hn_arena_array(arena, n, sizeof *t->ranks);
    for (int i = 0; i < 2; i++) t->ms[i] = hn_arena_array(arena, n, sizeof *t->ms[i]);
    if (t->v == NULL || t->ranks == NULL || t->ms[0] == NULL || t->ms[1] == NULL)
        return HN_NOMEM(err);
    for (int i = 0; i < t->n; i++) {
        timed *v = &t->v[i];
        v->name = hn_layer_name(layers[i].w->node);
        v->length = strlen(v->name);
        while (v->alike < i && !are_alike(&layers[v->alike], &layers[i])) v->alike++;
    }
    return HONE_OK;
}

hone_status hn_rank_times(hn_rank_time *of, const hn_chained *layers, int n, double faster,
                          const hn_transform_ctx *c, hn_error *err) {
    hn_tensor *in[HN_TIMED_INPUTS] = {NULL};
    timing t = {.n = n, .in = (const hn_tensor *const *)in};
    hn_arena arena;
    hone_status status = HONE_OK;
    for (int i = 0; i < n; i++) of[i] = (hn_rank_time){0, NAN, NAN};
    if (n == 0) return HONE_OK;
    hn_arena_init(&arena, c->alloc, HN_MEM_SCRATCH);
    HN_TRY_GOTO(prepare(&t, layers, &arena, err));
    HN_TRY_GOTO(hn_timed_inputs(c, in, err));
    HN_TRY_GOTO(hn_program_create(&t.original, c->model, c->how, err));
    for (int level = LEVELS - 1; level >= 1; level--) {
        HN_TRY_GOTO(try_level(of, layers, &t, level, faster, c, err));
        HN_CHECK_GOTO(
            err, c->progress == NULL || c->progress(c->progress_ctx, LEVELS - level, LEVELS - 1),
            HONE_E_LIMIT, "stopped while ranks were timed");
    }
    status = confirm(of, layers, &t, faster, c, err);
fail:
    hn_program_destroy(t.original);
    hn_arena_deinit(&arena);
    for (int i = 0; i < HN_TIMED_INPUTS; i++) hn_tensor_unref(in[i]);
    return status;
}

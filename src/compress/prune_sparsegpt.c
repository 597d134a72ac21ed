/* SparseGPT (Frantar and Alistarh 2023): weights go one column after the other, and those that are
 * still to come make up for them (hessian.h).
 *
 * Which go is decided block by block, when the columns before have had their say: a weight counts by
 * the error that its going causes, (w / M[k][k])^2. Of a block of columns the least of all rows go,
 * so many that the share holds for all that was done so far; of N:M, the least of each run of each
 * row. Columns are in the order of patterns (prune.h), whose runs no block cuts.
 *
 * Layers go in order: the inputs of a layer are what the layers before it, already pruned, make; or
 * what they make in another model.
 */
#include <math.h>
#include <string.h>

#include "base/least.h"
#include "compress/hessian.h"
#include "compress/prune.h"
#include "engine/layers.h"

enum { ROWS = 8, MOST_RUN = 256, WIDE = HN_HESSIAN_BLOCK + MOST_RUN };

typedef struct layer {
    const hn_weighted *w;
    const hn_pruning *p;
    const hn_hessian *h;
    hn_layer_matrix m;
    hn_prune_order order;
    int64_t first, last; /* the block in hand */
    double *rows;        /* [n, k], by place */
    float *score;        /* [n, width of the block] */
    float *to;
} layer;

static void order_columns(const void *ctx, int64_t k, int64_t *order) {
    for (int64_t i = 0; i < k; i++) order[i] = hn_prune_column(ctx, i);
}

/* ---- a block ---- */

/* Weights that were zero before stay so. */
static void find_scores(void *ctx, int64_t row) {
    const layer *l = ctx;
    const hn_tensor *was = l->w->weight->constant;
    int64_t width = l->last - l->first;
    for (int64_t k = l->first; k < l->last; k++) {
        double s = l->rows[row * l->m.k + k] / l->h->inverse[k * (l->m.k + 1)];
        bool gone = hn_weight_at(was, hn_prune_element(&l->order, row, k)) == 0;
        l->score[row * width + k - l->first] = gone ? -1 : (float)(s * s);
    }
}

static double settle(void *ctx, int64_t row, int64_t place, double w) {
    const layer *l = ctx;
    int64_t width = l->last - l->first;
    bool gone = l->score[row * width + place - l->first] == -INFINITY;
    l->to[hn_prune_element(&l->order, row, place)] = gone ? 0 : (float)w;
    return gone ? 0 : w;
}

/* Marks all but the N greatest of each run of a row. */
static void mark_runs(const layer *l, float *score) {
    int64_t run = l->order.run, m = l->p->m;
    for (int64_t at = l->first; at < l->last;) {
        int64_t in = at % run, count = hn_least(hn_least(m, run - in), l->last - at);
        for (int64_t gone = count - l->p->n; gone > 0; gone--) {
            float *least = NULL;
            for (int64_t k = at; k < at + count; k++) {
                float *s = &score[k - l->first];
                if (*s != -INFINITY && (least == NULL || *s < *least)) least = s;
            }
            if (least != NULL) *least = -INFINITY;
        }
        at += count;
    }
}

static void settle_rows(void *ctx, int64_t piece) {
    layer *l = ctx;
    int64_t from = piece * ROWS, to = hn_least(from + ROWS, l->m.n), k = l->m.k;
    double errors[WIDE];
    for (int64_t r = from; r < to; r++) {
        if (l->p->m > 0) mark_runs(l, l->score + r * (l->last - l->first));
        hn_hessian_settle(l->h, r, l->first, l->last, l->rows + r * k, errors, settle, l);
        hn_hessian_spread(l->h, l->first, l->last, l->rows + r * k, errors);
    }
}

/* Where the block that ends at `last` begins: no run of N:M lies on both sides. */
static int64_t begin_of(const layer *l, int64_t last) {
    int64_t first = last > HN_HESSIAN_BLOCK ? last - HN_HESSIAN_BLOCK : 0;
    int64_t in = first % l->order.run;
    return l->p->m > 0 ? first - in % l->p->m : first;
}

static hone_status do_blocks(layer *l, const hn_transform_ctx *c, hn_error *err) {
    hn_pool *pool = c->how->engine.pool;
    double sparsity = hn_prune_share(l->p, l->w);
    int64_t n = l->m.n, k = l->m.k, before = 0;
    for (l->last = k; l->last > 0; l->last = l->first) {
        l->first = begin_of(l, l->last);
        int64_t count = n * (l->last - l->first);
        int64_t gone = (int64_t)floor(sparsity * (double)(n * (k - l->first)) + 0.5) - before;
        hn_pool_run(pool, n, find_scores, l);
        if (l->p->m == 0) {
            gone = gone < count ? gone : count;
            before += gone;
            HN_TRY(hn_mark_least(&l->score, &count, 1, gone, c->alloc, err));
        }
        hn_pool_run(pool, (n + ROWS - 1) / ROWS, settle_rows, l);
    }
    return HONE_OK;
}

/* ---- layers ---- */

/* What the outputs are off by, as noise by signal. */
static hone_status find_error(const layer *l, const hn_tensor *was, const hn_transform_ctx *c,
                              double *error, hn_error *err) {
    double noise, signal;
    hn_pool *pool = c->how->engine.pool;
    HN_TRY(
        hn_layer_error(&noise, &l->m, &l->h->in, l->w->weight->constant, was, pool, c->alloc, err));
    HN_TRY(hn_layer_error(&signal, &l->m, &l->h->in, NULL, was, pool, c->alloc, err));
    *error = signal > 0 ? noise / signal : NAN;
    return HONE_OK;
}

static hone_status run_layer(layer *l, hn_transform_ctx *c, hn_error *err) {
    hn_tensor *was = l->w->weight->constant, *made;
    int64_t n = l->m.n, k = l->m.k;
    hone_status status = HONE_OK;
    l->rows = hn_alloc_array(c->alloc, (size_t)(n * k), sizeof *l->rows, HN_MEM_SCRATCH);
    l->score =
        hn_alloc_array(c->alloc, (size_t)(n * hn_least(k, WIDE)), sizeof *l->score, HN_MEM_SCRATCH);
    HN_CHECK_GOTO(err, l->rows != NULL && l->score != NULL, HONE_E_NOMEM, "out of memory");
    for (int64_t r = 0; r < n; r++)
        for (int64_t at = 0; at < k; at++)
            l->rows[r * k + at] = hn_tensor_f64(was, hn_prune_element(&l->order, r, at));
    HN_TRY_GOTO(hn_tensor_create(&made, c->alloc, HN_MEM_WEIGHTS, HONE_DTYPE_F32, was->rank,
                                 was->dims, err));
    l->to = made->data;
    status = do_blocks(l, c, err);
    double error = NAN;
    if (status != HONE_OK) {
        hn_tensor_unref(made);
        goto fail;
    }
    hn_tensor_ref(was);
    hn_value_set_constant(l->w->weight, made);
    status = find_error(l, was, c, &error, err);
    hn_tensor_unref(was);
    if (status == HONE_OK) status = hn_prune_done(c, l->p, l->w, error, err);
fail:
    hn_free(c->alloc, l->score);
    hn_free(c->alloc, l->rows);
    return status;
}

static hone_status prune_layers(const hn_weighted *layers, int n, const hn_pruning *p,
                                hn_hessian *h, hn_transform_ctx *c, hn_error *err) {
    hn_transform_ctx seen = *c;
    if (p->inputs_of != NULL) seen.model = p->inputs_of;
    for (int i = 0; i < n; i++) {
        layer l = {.w = &layers[i], .p = p, .h = h};
        HN_CHECK(err, c->progress == NULL || c->progress(c->progress_ctx, i, n), HONE_E_LIMIT,
                 "stopped at layer '%s'", hn_layer_name(layers[i].node));
        hn_layer_as_matrix(&layers[i], &l.m);
        hn_prune_order_of(&layers[i], &l.order);
        if (l.m.groups > 1) {
            HN_TRY(hn_prune_left(c, &layers[i], "its inputs fall into groups", err));
            continue;
        }
        HN_TRY(hn_hessian_find(h, &layers[i], &l.m, order_columns, &l.order, &seen, err));
        HN_TRY(run_layer(&l, c, err));
    }
    return HONE_OK;
}

hone_status hn_prune_sparsegpt(hn_transform_ctx *c, const hn_pruning *p, hn_error *err) {
    hn_arena arena;
    hn_weighted *layers;
    hn_hessian h = {0};
    int n;
    HN_CHECK(err, p->outputs == 0 && !p->global, HONE_E_ARG,
             "kind sparsegpt takes single weights or N:M of each layer; blocks and one threshold "
             "for all layers are for the other kinds");
    hn_arena_init(&arena, c->alloc, HN_MEM_SCRATCH);
    hone_status status = hn_prune_layers(c, p, true, &arena, &layers, &n, err);
    if (status == HONE_OK) status = prune_layers(layers, n, p, &h, c, err);
    hn_hessian_deinit(&h, c->alloc);
    hn_arena_deinit(&arena);
    return status;
}

/* GPTQ (Frantar et al. 2022): rounds the weights of a layer one column after the other and moves
 * those that are still to come so that they make up for the error.
 *
 * With H = X^T X of the layer's inputs, damped, and M the inverse of its Cholesky triangle
 * (H^-1 = M^T M, M lower), columns go from the last to the first:
 *
 *     q[k]  = nearest grid point of w[k]
 *     e     = (w[k] - q[k]) / M[k][k]
 *     w[j] -= e * M[k][j]                 for all j < k
 *
 * for each row of weights alone; blocks of columns keep what is touched in the cache. Columns are
 * sorted so that those whose inputs are largest come first; their groups stay what they were, so
 * scales are chosen before, those of the least error with errors weighted by the inputs.
 *
 * Layers go in order. The inputs of a layer are what the layers before it, already rounded, make:
 * so each also makes up for those before it. Layers that have the same input share H.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/dense.h"
#include "compress/grid.h"
#include "compress/layer_input.h"

#define DAMPING 0.01
#define BLOCK 128 /* columns */
#define ROWS 8    /* of a piece of work */
#define MOST_SAMPLES 512

typedef struct layer {
    const hn_weighted *w;
    hn_layer_matrix m;
    const hn_grid *grid;
    const double *inverse; /* M, by place in the order */
    const int64_t *order;  /* the column at each place */
    double *scratch;       /* [pieces][ROWS][k] */
    float *to;             /* the new weight */
} layer;

static int64_t element(const layer *l, int64_t row, int64_t place) {
    return row * l->m.o_stride + l->order[place] * l->m.k_stride;
}

/* Columns [first, last) of one row; errors[] gets what each says to the columns before them. */
static void round_block(const layer *l, int64_t row, int64_t first, int64_t last, double *w,
                        double *errors) {
    for (int64_t k = last; k-- > first;) {
        const double *m = l->inverse + k * l->m.k;
        int64_t at = element(l, row, k);
        hn_grid_point p = hn_grid_at(l->grid, l->w->weight->constant, at);
        float q = hn_grid_value(p, hn_grid_code(&l->grid->type, p, w[k]));
        l->to[at] = q;
        double e = errors[k - first] = (w[k] - (double)q) / m[k];
        for (int64_t j = first; j < k; j++) w[j] -= e * m[j];
    }
}

static void round_rows(void *ctx, int64_t piece) {
    const layer *l = ctx;
    int64_t k = l->m.k, from = piece * ROWS, to = from + ROWS < l->m.n ? from + ROWS : l->m.n;
    double *w = l->scratch + from * k, errors[ROWS][BLOCK];
    for (int64_t r = from; r < to; r++)
        for (int64_t c = 0; c < k; c++)
            w[(r - from) * k + c] = hn_tensor_f64(l->w->weight->constant, element(l, r, c));
    for (int64_t last = k; last > 0;) {
        int64_t first = (last - 1) / BLOCK * BLOCK;
        for (int64_t r = from; r < to; r++)
            round_block(l, r, first, last, w + (r - from) * k, errors[r - from]);
        for (int64_t r = from; r < to; r++)
            hn_subtract_rows(w + (r - from) * k, first, errors[r - from], last - first,
                             l->inverse + first * k, k);
        last = first;
    }
}

/* ---- the Hessian ---- */

typedef struct ranked {
    double size;
    int64_t column;
} ranked;

static int by_size(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    if (x->size < y->size || x->size > y->size) return x->size < y->size ? -1 : 1;
    return x->column < y->column ? -1 : x->column > y->column;
}

/* What is known of the input that the layers in hand share. */
typedef struct hessian {
    const hn_value *of; /* NULL: none */
    hn_layer_input in;
    int64_t *order;
    double *inverse;
} hessian;

static void hessian_deinit(hessian *h, hn_allocator *alloc) {
    hn_layer_input_deinit(&h->in, alloc);
    hn_free(alloc, h->order);
    hn_free(alloc, h->inverse);
    *h = (hessian){0};
}

static double at_either(const double *lower, int64_t n, int64_t i, int64_t j) {
    return i >= j ? lower[i * n + j] : lower[j * n + i];
}

static hone_status sort_columns(hessian *h, hn_allocator *alloc, hn_error *err) {
    int64_t k = h->in.k;
    ranked *columns = hn_alloc_array(alloc, (size_t)k, sizeof *columns, HN_MEM_SCRATCH);
    h->order = hn_alloc_array(alloc, (size_t)k, sizeof *h->order, HN_MEM_SCRATCH);
    if (columns != NULL && h->order != NULL) {
        for (int64_t i = 0; i < k; i++) columns[i] = (ranked){h->in.squares[i], i};
        qsort(columns, (size_t)k, sizeof *columns, by_size);
        for (int64_t i = 0; i < k; i++) h->order[i] = columns[i].column;
    }
    hn_free(alloc, columns);
    return columns != NULL && h->order != NULL ? HONE_OK : HN_NOMEM(err);
}

static hone_status factorize(hessian *h, hn_pool *pool, hn_allocator *alloc, hn_error *err) {
    int64_t k = h->in.k;
    size_t bytes = (size_t)(k * k) * sizeof *h->inverse;
    HN_TRY(sort_columns(h, alloc, err));
    double *sorted = hn_alloc(alloc, bytes, HN_MEM_SCRATCH);
    hone_status status = HONE_OK;
    h->inverse = hn_alloc(alloc, bytes, HN_MEM_SCRATCH);
    HN_CHECK_GOTO(err, sorted != NULL && h->inverse != NULL, HONE_E_NOMEM, "out of memory");
    for (int64_t i = 0; i < k; i++)
        for (int64_t j = 0; j <= i; j++)
            sorted[i * k + j] = at_either(h->in.gram, k, h->order[i], h->order[j]);
    hn_damp(sorted, k, DAMPING);
    HN_TRY_GOTO(hn_cholesky(sorted, k, pool, err));
    hn_triangle_invert(sorted, k, h->inverse, pool);
fail:
    hn_free(alloc, sorted);
    return status;
}

static hone_status look_at(hessian *h, const hn_weighted *w, const hn_transform_ctx *c,
                           hn_error *err) {
    hn_layer_look look = {.samples = MOST_SAMPLES, .gram = true};
    hessian_deinit(h, c->alloc);
    HN_TRY(hn_layer_inputs(&h->in, w, 1, &look, c->model, c, err));
    HN_TRY(factorize(h, c->how->engine.pool, c->alloc, err));
    h->of = w->input;
    return HONE_OK;
}

/* ---- layers ---- */

static hone_status round_layer(layer *l, const hessian *h, hn_transform_ctx *c, hn_error *err) {
    hn_tensor *old = l->w->weight->constant, *made;
    HN_TRY(hn_layer_choose_grid(&l->grid, l->w, &h->in, c, err));
    l->inverse = h->inverse;
    l->order = h->order;
    int64_t pieces = (l->m.n + ROWS - 1) / ROWS;
    l->scratch = hn_alloc_array(c->alloc, (size_t)(pieces * ROWS * l->m.k), sizeof *l->scratch,
                                HN_MEM_SCRATCH);
    if (l->scratch == NULL) return HN_NOMEM(err);
    hone_status status = hn_tensor_create(&made, c->alloc, HN_MEM_WEIGHTS, HONE_DTYPE_F32,
                                          old->rank, old->dims, err);
    if (status == HONE_OK) {
        l->to = made->data;
        hn_pool_run(c->how->engine.pool, pieces, round_rows, l);
        hn_value_set_constant(l->w->weight, made);
        c->changed++;
    }
    hn_free(c->alloc, l->scratch);
    return status;
}

static hone_status round_layers(const hn_weighted *layers, int n, hessian *h, hn_transform_ctx *c,
                                hn_error *err) {
    for (int i = 0; i < n; i++) {
        layer l = {.w = &layers[i]};
        HN_CHECK(err, c->progress == NULL || c->progress(c->progress_ctx, i, n), HONE_E_LIMIT,
                 "stopped at layer '%s'", layers[i].node->name);
        if (!hn_layer_as_matrix(&layers[i], &l.m) || l.m.groups > 1) continue;
        if (h->of != layers[i].input || h->in.k != l.m.k || layers[i].kind == HN_WEIGHT_WINDOWS)
            HN_TRY(look_at(h, &layers[i], c, err));
        HN_TRY(round_layer(&l, h, c, err));
    }
    return HONE_OK;
}

hone_status hn_transform_gptq(hn_transform_ctx *c, hn_error *err) {
    hn_arena arena;
    hn_arena_init(&arena, c->alloc, HN_MEM_SCRATCH);
    hn_weighted *layers;
    int n;
    hessian h = {0};
    hone_status status = hn_weighted_layers(c->model, c->scheme, &arena, &layers, &n, err);
    if (status == HONE_OK)
        status = round_layers(layers, hn_weighted_to_round(layers, n), &h, c, err);
    hessian_deinit(&h, c->alloc);
    hn_arena_deinit(&arena);
    return status;
}

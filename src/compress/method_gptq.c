/* GPTQ (Frantar et al. 2022): rounds the weights of a layer one column after the other and moves
 * those that are still to come so that they make up for the error (hessian.h).
 *
 * Columns are sorted so that those whose inputs are largest come first; their groups stay what they
 * were, so scales are chosen before, those of the least error with errors weighted by the inputs.
 *
 * Layers go in order. The inputs of a layer are what the layers before it, already rounded, make:
 * so each also makes up for those before it. Layers that have the same input share H.
 */
#include "compress/grid.h"
#include "compress/hessian.h"

#define ROWS 8 /* of a piece of work */

typedef struct layer {
    const hn_weighted *w;
    hn_layer_matrix m;
    const hn_grid *grid;
    const hn_hessian *h;
    double *scratch; /* [pieces][ROWS][k] */
    float *to;       /* the new weight */
} layer;

static int64_t element(const layer *l, int64_t row, int64_t place) {
    return row * l->m.o_stride + l->h->order[place] * l->m.k_stride;
}

static double nearest(void *ctx, int64_t row, int64_t place, double w) {
    const layer *l = ctx;
    int64_t at = element(l, row, place);
    hn_grid_point p = hn_grid_at(l->grid, l->w->weight->constant, at);
    l->to[at] = hn_grid_value(p, hn_grid_code(&l->grid->type, p, w));
    return (double)l->to[at];
}

static void round_rows(void *ctx, int64_t piece) {
    layer *l = ctx;
    int64_t k = l->m.k, from = piece * ROWS, to = from + ROWS < l->m.n ? from + ROWS : l->m.n;
    double *w = l->scratch + from * k, errors[ROWS][HN_HESSIAN_BLOCK];
    for (int64_t r = from; r < to; r++)
        for (int64_t c = 0; c < k; c++)
            w[(r - from) * k + c] = hn_tensor_f64(l->w->weight->constant, element(l, r, c));
    for (int64_t last = k; last > 0;) {
        int64_t first = (last - 1) / HN_HESSIAN_BLOCK * HN_HESSIAN_BLOCK;
        for (int64_t r = from; r < to; r++)
            hn_hessian_settle(l->h, r, first, last, w + (r - from) * k, errors[r - from], nearest,
                              l);
        for (int64_t r = from; r < to; r++)
            hn_hessian_spread(l->h, first, last, w + (r - from) * k, errors[r - from]);
        last = first;
    }
}

/* ---- layers ---- */

static hone_status round_layer(layer *l, const hn_hessian *h, hn_transform_ctx *c, hn_error *err) {
    hn_tensor *old = l->w->weight->constant, *made;
    HN_TRY(hn_layer_choose_grid(&l->grid, l->w, &h->in, c, err));
    l->h = h;
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

static hone_status round_layers(const hn_weighted *layers, int n, hn_hessian *h,
                                hn_transform_ctx *c, hn_error *err) {
    for (int i = 0; i < n; i++) {
        layer l = {.w = &layers[i]};
        HN_CHECK(err, c->progress == NULL || c->progress(c->progress_ctx, i, n), HONE_E_LIMIT,
                 "stopped at layer '%s'", layers[i].node->name);
        if (!hn_layer_as_matrix(&layers[i], &l.m) || l.m.groups > 1) continue;
        HN_TRY(hn_hessian_find(h, &layers[i], &l.m, NULL, NULL, c, err));
        HN_TRY(round_layer(&l, h, c, err));
    }
    return HONE_OK;
}

hone_status hn_transform_gptq(hn_transform_ctx *c, hn_error *err) {
    hn_arena arena;
    hn_arena_init(&arena, c->alloc, HN_MEM_SCRATCH);
    hn_weighted *layers;
    int n;
    hn_hessian h = {0};
    hone_status status = hn_weighted_layers(c->model, c->scheme, &arena, &layers, &n, err);
    if (status == HONE_OK)
        status = round_layers(layers, hn_weighted_to_round(layers, n), &h, c, err);
    hn_hessian_deinit(&h, c->alloc);
    hn_arena_deinit(&arena);
    return status;
}

#include "compress/hessian.h"

#include <stdlib.h>

#include "base/dense.h"

#define DAMPING 0.01
#define MOST_SAMPLES 512

typedef struct ranked {
    double size;
    int64_t column;
} ranked;

static int by_size(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    if (x->size < y->size || x->size > y->size) return x->size < y->size ? -1 : 1;
    return x->column < y->column ? -1 : x->column > y->column;
}

void hn_hessian_deinit(hn_hessian *h, hn_allocator *alloc) {
    hn_layer_input_deinit(&h->in, alloc);
    hn_free(alloc, h->order);
    hn_free(alloc, h->inverse);
    *h = (hn_hessian){0};
}

static double at_either(const double *lower, int64_t n, int64_t i, int64_t j) {
    return i >= j ? lower[i * n + j] : lower[j * n + i];
}

static hone_status sort_columns(hn_hessian *h, hn_allocator *alloc, hn_error *err) {
    int64_t k = h->in.k;
    ranked *columns = hn_alloc_array(alloc, (size_t)k, sizeof *columns, HN_MEM_SCRATCH);
    if (columns == NULL) return HN_NOMEM(err);
    for (int64_t i = 0; i < k; i++) columns[i] = (ranked){h->in.squares[i], i};
    qsort(columns, (size_t)k, sizeof *columns, by_size);
    for (int64_t i = 0; i < k; i++) h->order[i] = columns[i].column;
    hn_free(alloc, columns);
    return HONE_OK;
}

static hone_status factorize(hn_hessian *h, hn_pool *pool, hn_allocator *alloc, hn_error *err) {
    int64_t k = h->in.k;
    size_t bytes = (size_t)(k * k) * sizeof *h->inverse;
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

static hone_status find(hn_hessian *h, const hn_weighted *w, hn_hessian_order_fn *order,
                        const void *order_ctx, const hn_transform_ctx *c, hn_error *err) {
    hn_layer_look look = {.samples = MOST_SAMPLES, .gram = true};
    HN_TRY(hn_layer_inputs(&h->in, w, 1, &look, c->model, c, err));
    int64_t k = h->in.k;
    h->order = hn_alloc_array(c->alloc, (size_t)k, sizeof *h->order, HN_MEM_SCRATCH);
    if (h->order == NULL) return HN_NOMEM(err);
    if (order != NULL)
        order(order_ctx, k, h->order);
    else
        HN_TRY(sort_columns(h, c->alloc, err));
    return factorize(h, c->how->engine.pool, c->alloc, err);
}

hone_status hn_hessian_find(hn_hessian *h, const hn_weighted *w, const hn_layer_matrix *m,
                            hn_hessian_order_fn *order, const void *order_ctx,
                            const hn_transform_ctx *c, hn_error *err) {
    if (h->of == w->input && h->in.k == m->k && w->kind != HN_WEIGHT_WINDOWS) return HONE_OK;
    hn_hessian_deinit(h, c->alloc);
    HN_TRY(find(h, w, order, order_ctx, c, err));
    h->of = w->input;
    return HONE_OK;
}

void hn_hessian_settle(const hn_hessian *h, int64_t row, int64_t first, int64_t last, double *w,
                       double *errors, hn_settle_fn *settle, void *ctx) {
    for (int64_t k = last; k-- > first;) {
        const double *m = h->inverse + k * h->in.k;
        double e = errors[k - first] = (w[k] - settle(ctx, row, k, w[k])) / m[k];
        for (int64_t j = first; j < k; j++) w[j] -= e * m[j];
    }
}

void hn_hessian_spread(const hn_hessian *h, int64_t first, int64_t last, double *w,
                       const double *errors) {
    hn_subtract_rows(w, first, errors, last - first, h->inverse + first * h->in.k, h->in.k);
}

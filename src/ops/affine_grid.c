/* AffineGrid: for each element of an image of the given size, its position (x, y) or (x, y, z) in
 * [-1, 1] taken through the affine map theta [N, r, r + 1]; the grid that GridSample takes. */
#include "ops/axes.h"
#include "ops/broadcast.h"
#include "ops/grad.h"

enum { THETA, SIZE };

static hone_status infer(hn_infer *c, hn_error *err) {
    const hn_shape *theta = hn_in_shape(c, THETA);
    const hn_dim *size;
    int n, spatial = -1;
    int64_t rows;
    HN_TRY(hn_want_rank(c, THETA, 3, 3, err));
    HN_TRY(hn_list_dims(c, SIZE, HONE_MAX_RANK, &size, &n, err));
    HN_CHECK(err, n < 0 || n == 4 || n == 5, HONE_E_SHAPE,
             "size has %d entries, expected 4 (N, C, H, W) or 5 (N, C, D, H, W)", n);
    if (n > 0) spatial = n - 2;
    if (theta->rank == 3 && hn_dim_is_const(theta->dim[1], &rows)) {
        HN_CHECK(err, rows == 2 || rows == 3, HONE_E_SHAPE,
                 "axis 1 of theta has size %lld, expected 2 or 3", (long long)rows);
        HN_CHECK(err, spatial < 0 || rows == spatial, HONE_E_SHAPE,
                 "theta is for %lld spatial axes, size has %d", (long long)rows, spatial);
        spatial = (int)rows;
    }
    if (spatial < 0) return HONE_OK;
    if (theta->rank == 3)
        HN_TRY(hn_want_equal(theta->dim[2], hn_dim_const(c->dims, spatial + 1),
                             "the columns of theta and the spatial axes + 1", err));
    hn_shape y = hn_shape_fresh(c->dims, spatial + 2);
    if (size != NULL) {
        for (int i = 0; i < spatial; i++) y.dim[i + 1] = size[i + 2];
        y.dim[0] = size[0];
    }
    if (theta->rank == 3) {
        int64_t batch;
        if (size != NULL)
            HN_TRY(hn_want_equal(theta->dim[0], size[0], "the batches of theta and size", err));
        if (!hn_dim_is_const(y.dim[0], &batch)) y.dim[0] = theta->dim[0];
    }
    y.dim[spatial + 1] = hn_dim_const(c->dims, spatial);
    hn_set_shape(c, 0, &y);
    return HONE_OK;
}

/* The middle of an axis of one element is 0 in both conventions, as in PyTorch. */
static double position(int64_t i, int64_t size, bool align_corners) {
    if (align_corners) return size > 1 ? (double)(2 * i - size + 1) / (double)(size - 1) : 0;
    return (double)(2 * i - size + 1) / (double)size;
}

/* A line of the grid, from element `at` on, along the x axis. Row i of the map gives
 * slope[i] * x + base[i], what the other axes add being the same along the line. */
static void put_line(hn_tensor *grid, int64_t at, const double *x, int64_t width,
                     const double *slope, const double *base) {
    int spatial = grid->rank - 2;
    if (grid->dtype == HONE_DTYPE_F32) {
        float *to = (float *)grid->data + at;
        if (spatial == 2)
            for (int64_t k = 0; k < width; k++, to += 2)
                for (int i = 0; i < 2; i++) to[i] = (float)(slope[i] * x[k] + base[i]);
        else
            for (int64_t k = 0; k < width; k++, to += 3)
                for (int i = 0; i < 3; i++) to[i] = (float)(slope[i] * x[k] + base[i]);
        return;
    }
    double block[3 * HN_BLOCK];
    for (int64_t from = 0, n; from < width; from += n) {
        n = width - from < HN_BLOCK ? width - from : HN_BLOCK;
        for (int i = 0; i < spatial; i++)
            for (int64_t k = 0; k < n; k++)
                block[k * spatial + i] = slope[i] * x[from + k] + base[i];
        hn_store_f64_n(grid->dtype, grid->data, at + from * spatial, n * spatial, block);
    }
}

static hone_status ref(hn_eval *e, hn_error *err) {
    hn_tensor *grid = e->out[0];
    int spatial = grid->rank - 2;
    bool align_corners = hn_attr_i(e->node, "align_corners") != 0;
    if (grid->n == 0) return HONE_OK;
    int64_t width = grid->dims[spatial], lines = grid->n / spatial / width;
    const double *theta = hn_scratch_f64(e, e->in[THETA]);
    double *x = hn_scratch(e, width, sizeof *x);
    if (theta == NULL || x == NULL) return HN_NOMEM(err);
    for (int64_t i = 0; i < width; i++) x[i] = position(i, width, align_corners);
    for (int64_t line = 0; line < lines; line++) {
        int64_t rest = line;
        double at[4] = {0}, slope[3], base[3];
        for (int i = 1; i < spatial; i++) {
            int64_t size = grid->dims[spatial - i];
            at[i] = position(rest % size, size, align_corners);
            rest /= size;
        }
        at[spatial] = 1;
        for (int row = 0; row < spatial; row++) {
            const double *t = theta + (rest * spatial + row) * (spatial + 1);
            slope[row] = t[0];
            base[row] = 0;
            for (int i = 1; i <= spatial; i++) base[row] += t[i] * at[i];
        }
        put_line(grid, line * width * spatial, x, width, slope, base);
    }
    return HONE_OK;
}

/* Grid = positions [P, r + 1] times theta': what comes back is dy' times the positions, which are
 * the same for all samples. */
static hone_status grad(hn_grad *g, hn_error *err) {
    (void)err;
    int64_t dims[HONE_MAX_RANK], points = 1;
    int spatial = hn_grad_dims(g, hn_grad_out(g, 0), dims) - 2;
    if (g->status != HONE_OK) return HONE_OK;
    bool align_corners = hn_attr_i(g->node, "align_corners") != 0;
    for (int i = 1; i <= spatial; i++) points *= dims[i];
    const int64_t flat[] = {dims[0], points, spatial}, table[] = {points, spatial + 1};
    hn_tensor *t;
    hn_value *at = hn_emit_table(g, 2, table, &t);
    for (int64_t p = 0; at != NULL && p < points; p++) {
        int64_t rest = p;
        for (int i = 0; i < spatial; i++) {
            int64_t size = dims[spatial - i];
            hn_store_f64(t->dtype, t->data, p * (spatial + 1) + i,
                         position(rest % size, size, align_corners));
            rest /= size;
        }
        hn_store_f64(t->dtype, t->data, p * (spatial + 1) + spatial, 1);
    }
    hn_value *dy = hn_emit_swapped(g, hn_emit_reshape(g, g->dy[0], 3, flat), 3);
    hn_grad_give(g, THETA, HN_EMIT2(g, "MatMul", dy, at));
    return HONE_OK;
}

static const hn_attr_def attrs[] = {HN_ATTR_I("align_corners", 0), {0}};

const hn_op_def hn_op_affine_grid = {
    .name = "AffineGrid",
    .versions = "20",
    .sig = "(theta:T, size:s64) -> (grid:T); T: float",
    .attrs = attrs,
    .infer = infer,
    .ref = ref,
    .grad = grad,
};

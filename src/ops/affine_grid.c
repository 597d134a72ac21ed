/* AffineGrid: for each element of an image of the given size, its position (x, y) or (x, y, z) in
 * [-1, 1] taken through the affine map theta [N, r, r + 1]; the grid that GridSample takes. */
#include "ops/axes.h"

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

static hone_status ref(hn_eval *e, hn_error *err) {
    hn_tensor *grid = e->out[0];
    int spatial = grid->rank - 2;
    bool align_corners = hn_attr_i(e->node, "align_corners") != 0;
    const double *theta = hn_scratch_f64(e, e->in[THETA]);
    if (theta == NULL) return HN_NOMEM(err);
    for (int64_t k = 0; k < grid->n / spatial; k++) {
        int64_t rest = k;
        double at[4];
        for (int i = 0; i < spatial; i++) {
            int64_t size = grid->dims[spatial - i];
            at[i] = position(rest % size, size, align_corners);
            rest /= size;
        }
        at[spatial] = 1;
        for (int row = 0; row < spatial; row++) {
            const double *t = theta + (rest * spatial + row) * (spatial + 1);
            double sum = 0;
            for (int i = 0; i <= spatial; i++) sum += t[i] * at[i];
            hn_store_f64(grid->dtype, grid->data, k * spatial + row, sum);
        }
    }
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
};

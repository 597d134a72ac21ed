/* What training needs of normalizations.
 *
 *     BatchStats (X)                             mean and variance of each channel (axis 1)
 *     BatchNormGrad (dY, X, scale, mean, var)    by X, scale and bias, where mean and var are X's own
 *     LayerNormGrad (dY, X, scale)               the same of rows that have the shape of the scale;
 *                                                with centred = 0 their mean is taken to be 0
 *
 * With xhat = (x - mean) * r, r = 1 / sqrt(var + epsilon), and means over the n elements that share
 * mean and var:
 *
 *     dbias = sum of dy        dscale = sum of dy * xhat
 *     dx = r * (g - mean of g - xhat * mean of g * xhat),  g = dy * scale
 *
 * where the mean of g is left out if that of x is. */
#include <math.h>

#include "ops/grad.h"
#include "ops/norm_ref.h"
#include "ops/train_shapes.h"

/* ---- channels ---- */

static hone_status infer_stats(hn_infer *c, hn_error *err) {
    HN_TRY(hn_want_rank(c, 0, 2, HONE_MAX_RANK, err));
    if (hn_in_rank(c, 0) < 0) return HONE_OK;
    hn_shape y = {.rank = 1, .dim = {hn_in_shape(c, 0)->dim[1]}};
    hn_set_shape(c, 0, &y);
    hn_set_shape(c, 1, &y);
    return HONE_OK;
}

/* [images, channels, inner] */
typedef struct channels {
    const hn_tensor *x, *dy, *scale, *mean, *var;
    hn_tensor *out[3];
    int64_t images, inner, n;
    double epsilon;
} channels;

static channels channels_of(const hn_tensor *x) {
    channels j = {.x = x, .images = x->dims[0], .inner = 1};
    for (int i = 2; i < x->rank; i++) j.inner *= x->dims[i];
    j.n = j.images * j.inner;
    return j;
}

static int64_t place(const channels *j, int64_t c, int64_t i) {
    return (i / j->inner * j->x->dims[1] + c) * j->inner + i % j->inner;
}

static void store(hn_tensor *t, int64_t i, double v) {
    if (t != NULL) hn_store_f64(t->dtype, t->data, i, v);
}

static void run_stats(void *ctx, int64_t c) {
    const channels *j = ctx;
    double mean = 0, var = 0;
    for (int64_t i = 0; i < j->n; i++) mean += hn_tensor_f64(j->x, place(j, c, i));
    mean /= (double)j->n;
    for (int64_t i = 0; i < j->n; i++) {
        double d = hn_tensor_f64(j->x, place(j, c, i)) - mean;
        var += d * d;
    }
    store(j->out[0], c, mean);
    store(j->out[1], c, var / (double)j->n);
}

static hone_status ref_stats(hn_eval *e, hn_error *err) {
    (void)err;
    channels j = channels_of(e->in[0]);
    for (int i = 0; i < 2; i++) j.out[i] = hn_eval_out(e, i);
    hn_pool_run(e->pool, j.x->dims[1], run_stats, &j);
    return HONE_OK;
}

static hone_status infer_batch(hn_infer *c, hn_error *err) {
    HN_TRY(hn_want_rank(c, 1, 2, HONE_MAX_RANK, err));
    HN_TRY(hn_want_same(c, 0, 1, "sizes of dY and X", err));
    const hn_shape *x = hn_in_shape(c, 1);
    if (x->rank < 0) return HONE_OK;
    for (int i = 2; i < 5; i++) HN_TRY(hn_want_channels(c, i, x->dim[1], err));
    hn_shape per = {.rank = 1, .dim = {x->dim[1]}};
    hn_set_shape(c, 0, x);
    hn_set_shape(c, 1, &per);
    hn_set_shape(c, 2, &per);
    return HONE_OK;
}

static void run_batch(void *ctx, int64_t c) {
    const channels *j = ctx;
    double mean = hn_tensor_f64(j->mean, c);
    double r = 1 / sqrt(hn_tensor_f64(j->var, c) + j->epsilon), sum = 0, along = 0;
    for (int64_t i = 0; i < j->n; i++) {
        int64_t at = place(j, c, i);
        double dy = hn_tensor_f64(j->dy, at);
        sum += dy;
        along += dy * (hn_tensor_f64(j->x, at) - mean) * r;
    }
    store(j->out[1], c, along);
    store(j->out[2], c, sum);
    double n = (double)j->n, scale = hn_tensor_f64(j->scale, c);
    for (int64_t i = 0; j->out[0] != NULL && i < j->n; i++) {
        int64_t at = place(j, c, i);
        double xhat = (hn_tensor_f64(j->x, at) - mean) * r;
        store(j->out[0], at, r * scale * (hn_tensor_f64(j->dy, at) - sum / n - xhat * along / n));
    }
}

static hone_status ref_batch(hn_eval *e, hn_error *err) {
    (void)err;
    channels j = channels_of(e->in[1]);
    j.dy = e->in[0], j.scale = e->in[2], j.mean = e->in[3], j.var = e->in[4];
    j.epsilon = hn_attr_f(e->node, "epsilon");
    for (int i = 0; i < 3; i++) j.out[i] = hn_eval_out(e, i);
    hn_pool_run(e->pool, j.x->dims[1], run_batch, &j);
    return HONE_OK;
}

/* ---- layers ---- */

/* Rows end with the shape of the scale. */
static hone_status infer_layer(hn_infer *c, hn_error *err) {
    int rank = hn_in_rank(c, 1), of_row = hn_in_rank(c, 2);
    HN_TRY(hn_want_same(c, 0, 1, "sizes of dY and X", err));
    HN_CHECK(err, rank < 0 || of_row <= rank, HONE_E_SHAPE, "the scale has rank %d, X has rank %d",
             of_row, rank);
    for (int i = 1; rank >= 0 && i <= of_row; i++)
        HN_TRY(hn_want_equal(hn_in_shape(c, 1)->dim[rank - i], hn_in_shape(c, 2)->dim[of_row - i],
                             "sizes of X and the scale", err));
    hn_set_shape(c, 0, hn_in_shape(c, 1));
    hn_set_shape(c, 1, hn_in_shape(c, 2));
    hn_set_shape(c, 2, hn_in_shape(c, 2));
    return HONE_OK;
}

/* [rows, n] */
typedef struct layers {
    const hn_tensor *x, *dy, *scale;
    hn_tensor *out[3];
    int64_t rows, n;
    double epsilon;
    bool centred;
    double *mean, *r; /* by row */
} layers;

static void run_row(void *ctx, int64_t row) {
    const layers *j = ctx;
    double mean = 0, var = 0, sum = 0, along = 0, n = (double)j->n;
    int64_t from = row * j->n;
    for (int64_t i = 0; j->centred && i < j->n; i++) mean += hn_tensor_f64(j->x, from + i) / n;
    for (int64_t i = 0; i < j->n; i++) {
        double d = hn_tensor_f64(j->x, from + i) - mean;
        var += d * d;
    }
    double r = 1 / sqrt(var / n + j->epsilon);
    j->mean[row] = mean;
    j->r[row] = r;
    for (int64_t i = 0; i < j->n; i++) {
        double g = hn_tensor_f64(j->dy, from + i) * hn_tensor_f64(j->scale, i);
        if (j->centred) sum += g;
        along += g * (hn_tensor_f64(j->x, from + i) - mean) * r;
    }
    for (int64_t i = 0; j->out[0] != NULL && i < j->n; i++) {
        double g = hn_tensor_f64(j->dy, from + i) * hn_tensor_f64(j->scale, i);
        double xhat = (hn_tensor_f64(j->x, from + i) - mean) * r;
        store(j->out[0], from + i, r * (g - sum / n - xhat * along / n));
    }
}

static void run_column(void *ctx, int64_t i) {
    const layers *j = ctx;
    double sum = 0, along = 0;
    for (int64_t row = 0; row < j->rows; row++) {
        double dy = hn_tensor_f64(j->dy, row * j->n + i);
        sum += dy;
        along += dy * (hn_tensor_f64(j->x, row * j->n + i) - j->mean[row]) * j->r[row];
    }
    store(j->out[1], i, along);
    store(j->out[2], i, sum);
}

static hone_status ref_layer(hn_eval *e, hn_error *err) {
    layers j = {.dy = e->in[0], .x = e->in[1], .scale = e->in[2], .n = e->in[2]->n};
    if (j.x->n == 0) return HONE_OK;
    j.rows = j.x->n / j.n;
    j.epsilon = hn_attr_f(e->node, "epsilon");
    j.centred = hn_attr_i(e->node, "centred") != 0;
    j.mean = hn_scratch(e, j.rows, sizeof *j.mean);
    j.r = hn_scratch(e, j.rows, sizeof *j.r);
    if (j.mean == NULL || j.r == NULL) return HN_NOMEM(err);
    for (int i = 0; i < 3; i++) j.out[i] = hn_eval_out(e, i);
    hn_pool_run(e->pool, j.rows, run_row, &j);
    hn_pool_run(e->pool, j.n, run_column, &j);
    return HONE_OK;
}

const hn_op_def hn_op_train_batch_norm_grad = {
    .domain = HN_TRAIN_DOMAIN,
    .name = "BatchNormGrad",
    .versions = "1",
    .sig = "(dY:T, X:T, scale:T, mean:T, var:T) -> (dX:T?, dscale:T?, dB:T?); T: float",
    .attrs = (const hn_attr_def[]){HN_ATTR_F("epsilon", 1e-5f), {0}},
    .infer = infer_batch,
    .ref = ref_batch,
};

const hn_op_def hn_op_train_batch_stats = {
    .domain = HN_TRAIN_DOMAIN,
    .name = "BatchStats",
    .versions = "1",
    .sig = "(X:T) -> (mean:T?, var:T?); T: float",
    .infer = infer_stats,
    .ref = ref_stats,
};

const hn_op_def hn_op_train_layer_norm_grad = {
    .domain = HN_TRAIN_DOMAIN,
    .name = "LayerNormGrad",
    .versions = "1",
    .sig = "(dY:T, X:T, scale:T) -> (dX:T?, dscale:T?, dB:T?); T: float",
    .attrs = (const hn_attr_def[]){HN_ATTR_I("centred", 1), HN_ATTR_F("epsilon", 1e-5f), {0}},
    .infer = infer_layer,
    .ref = ref_layer,
};

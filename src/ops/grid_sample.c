/* GridSample: X [N, C, D1 .. Dr] looked up at the positions a grid [N, D1' .. Dr', r] lists, the
 * innermost coordinate first. -1 and 1 are the centers of the corner elements (align_corners), or
 * their outer edges.
 *
 * Along each axis a position becomes at most four taps (index, weight); the value is the sum over
 * all combinations. Taps outside are moved to the border or reflected there, or count nothing
 * (zeros); as in PyTorch and ONNX Runtime positions are not, which for cubic makes a difference.
 * Taps of one index are joined, so a sample never has more combinations than X has elements. */
#include <math.h>

#include "ops/grad.h"
#include "ops/strided.h"

enum { X, GRID };

typedef enum mode { NEAREST, LINEAR, CUBIC } mode;
typedef enum padding { ZEROS, BORDER, REFLECTION } padding;

static hone_status infer(hn_infer *c, hn_error *err) {
    const hn_shape *x = hn_in_shape(c, X), *grid = hn_in_shape(c, GRID);
    HN_TRY(hn_want_rank(c, X, 3, HONE_MAX_RANK, err));
    HN_TRY(hn_want_rank(c, GRID, 3, HONE_MAX_RANK, err));
    HN_CHECK(err, x->rank < 0 || grid->rank < 0 || x->rank == grid->rank, HONE_E_SHAPE,
             "X has rank %d and grid %d, expected the same", x->rank, grid->rank);
    int rank = x->rank >= 0 ? x->rank : grid->rank;
    if (rank < 0) return HONE_OK;
    hn_shape y = {.rank = rank};
    for (int i = 0; i < rank; i++) y.dim[i] = hn_dim_fresh(c->dims, -1);
    if (x->rank >= 0) {
        y.dim[0] = x->dim[0];
        y.dim[1] = x->dim[1];
    }
    if (grid->rank >= 0) {
        HN_TRY(hn_want_equal(grid->dim[rank - 1], hn_dim_const(c->dims, rank - 2),
                             "the coordinates per position and the spatial axes", err));
        if (x->rank >= 0)
            HN_TRY(hn_want_equal(x->dim[0], grid->dim[0], "the batches of X and grid", err));
        int64_t batch;
        if (x->rank < 0 || hn_dim_is_const(grid->dim[0], &batch)) y.dim[0] = grid->dim[0];
        for (int i = 2; i < rank; i++) y.dim[i] = grid->dim[i - 1];
    }
    hn_set_shape(c, 0, &y);
    return HONE_OK;
}

typedef struct taps {
    int n;
    int64_t index[4];
    double weight[4];
} taps;

typedef struct job {
    const hn_tensor *x, *grid;
    hn_tensor *y;
    mode mode;
    padding padding;
    bool align_corners;
    int spatial;     /* r */
    int64_t in, out; /* positions of a plane of X and of Y */
} job;

/* Where the normalized coordinate v lies on an axis of this size. As in PyTorch, NaN means -1. */
static double position(const job *j, double v, int64_t size) {
    const double far = 0x1p60; /* keeps the products finite */
    v = isnan(v) ? -1 : fmin(fmax(v, -far), far);
    return j->align_corners ? (v + 1) / 2 * (double)(size - 1) : ((v + 1) * (double)size - 1) / 2;
}

/* x bounced between the borders of the axis until it lies inside. */
static double reflect(const job *j, double x, int64_t size) {
    double lo = j->align_corners ? 0 : -0.5, range = (double)size - 1 - 2 * lo;
    if (range == 0) return 0;
    x = fmod(fabs(x - lo), 2 * range);
    return lo + (x > range ? 2 * range - x : x);
}

/* The element a tap at i (a whole number) reads, -1: none. */
static int64_t element(const job *j, double i, int64_t size) {
    if (j->padding == REFLECTION) i = reflect(j, i, size);
    if (i >= 0 && i < (double)size) return (int64_t)i;
    return j->padding == ZEROS ? -1 : i < 0 ? 0 : size - 1;
}

/* Weights for the taps at floor(x) - 1 .. floor(x) + 2, t = x - floor(x): Keys' kernel, a = -3/4.
 */
static void cubic(double t, double w[4]) {
    const double a = -0.75;
    for (int k = 0; k < 4; k++) {
        double d = fabs(t + 1 - k);
        w[k] = d <= 1 ? ((a + 2) * d - (a + 3)) * d * d + 1 : a * (((d - 5) * d + 8) * d - 4);
    }
}

static taps taps_at(const job *j, double x, int64_t size) {
    taps t = {0};
    if (j->mode == NEAREST) x = rint(x);
    double low = floor(x), up = x - low, w[4] = {1 - up, up};
    int n = j->mode == NEAREST ? 1 : j->mode == LINEAR ? 2 : 4;
    if (j->mode == NEAREST) w[0] = 1;
    if (j->mode == CUBIC) {
        cubic(up, w);
        low--;
    }
    for (int k = 0; k < n; k++) {
        int64_t i = element(j, low + k, size);
        int at = 0;
        if (i < 0 || w[k] == 0) continue;
        while (at < t.n && t.index[at] != i) at++;
        if (at == t.n) t.index[t.n++] = i, t.weight[at] = 0;
        t.weight[at] += w[k];
    }
    return t;
}

/* The sum over all combinations of taps; all have at least one. */
static double sum(const job *j, const taps *t, int64_t plane) {
    int k[HONE_MAX_RANK] = {0}, a;
    double total = 0;
    do {
        int64_t at = 0;
        double w = 1;
        for (int i = 0; i < j->spatial; i++) {
            at = at * j->x->dims[i + 2] + t[i].index[k[i]];
            w *= t[i].weight[k[i]];
        }
        total += w * hn_tensor_f64(j->x, plane * j->in + at);
        for (a = j->spatial - 1; a >= 0 && ++k[a] == t[a].n; a--) k[a] = 0;
    } while (a >= 0);
    return total;
}

/* Position k of the grid, of all batches, in all channels. */
static void sample(void *ctx, int64_t k) {
    const job *j = ctx;
    taps t[HONE_MAX_RANK];
    bool inside = true;
    int64_t batch = k / j->out, channels = j->x->dims[1], nearest = 0;
    for (int i = 0; i < j->spatial; i++) {
        int64_t size = j->x->dims[i + 2];
        double v = hn_tensor_f64(j->grid, (k + 1) * j->spatial - 1 - i);
        t[i] = taps_at(j, position(j, v, size), size);
        inside = inside && t[i].n > 0;
        nearest = nearest * size + t[i].index[0];
    }
    for (int64_t c = batch * channels; c < (batch + 1) * channels; c++) {
        int64_t to = c * j->out + k % j->out;
        if (!inside)
            hn_store_f64(j->y->dtype, j->y->data, to, 0);
        else if (j->mode == NEAREST)
            hn_copy_element(j->y->dtype, j->y->data, to, j->x->data, c * j->in + nearest);
        else
            hn_store_f64(j->y->dtype, j->y->data, to, sum(j, t, c));
    }
}

static hone_status read_job(const hn_node *n, const hn_tensor *x, const hn_tensor *grid,
                            const hn_tensor *y, job *j, hn_error *err) {
    *j = (job){.x = x,
               .grid = grid,
               .mode = hn_attr_is(n, "mode", "nearest")  ? NEAREST
                       : hn_attr_is(n, "mode", "linear") ? LINEAR
                                                         : CUBIC,
               .padding = hn_attr_is(n, "padding_mode", "zeros")    ? ZEROS
                          : hn_attr_is(n, "padding_mode", "border") ? BORDER
                                                                    : REFLECTION,
               .align_corners = hn_attr_i(n, "align_corners") != 0,
               .spatial = x->rank - 2,
               .in = 1,
               .out = 1};
    if (y->n == 0) return HONE_OK;
    for (int i = 2; i < x->rank; i++) {
        j->in *= x->dims[i];
        j->out *= y->dims[i];
        HN_CHECK(err, x->dims[i] > 0 || j->padding == ZEROS, HONE_E_SHAPE,
                 "axis %d of X is empty: padding %s has nothing to give", i,
                 hn_attr_s(n, "padding_mode"));
    }
    return HONE_OK;
}

static hone_status ref(hn_eval *e, hn_error *err) {
    const hn_node *n = e->node;
    job j;
    HN_TRY(hn_movable(e->in[X], err));
    HN_TRY(read_job(n, e->in[X], e->in[GRID], e->out[0], &j, err));
    j.y = e->out[0];
    HN_CHECK(err, j.mode == NEAREST || !hn_dtype_in(j.x->dtype, HN_DTYPES_COMPLEX),
             HONE_E_UNSUPPORTED, "mode %s is for real numbers, X is %s", hn_attr_s(n, "mode"),
             hone_dtype_name(j.x->dtype));
    if (j.y->n == 0) return HONE_OK;
    hn_pool_run(e->pool, j.y->dims[0] * j.out, sample, &j);
    return HONE_OK;
}

/* ---- gradients ---- */

/* How fast the weights of cubic() change with t. */
static void cubic_slope(double t, double w[4]) {
    const double a = -0.75;
    for (int k = 0; k < 4; k++) {
        double s = t + 1 - k, d = fabs(s);
        double slope = d <= 1 ? (3 * (a + 2) * d - 2 * (a + 3)) * d : a * ((3 * d - 10) * d + 8);
        w[k] = s < 0 ? -slope : slope;
    }
}

/* The taps at x with the slopes of their weights; none are joined or left out, so that an index of
 * -1 is a tap outside. */
typedef struct slopes {
    int n;
    int64_t index[4];
    double weight[4], slope[4];
} slopes;

static slopes slopes_at(const job *j, double x, int64_t size) {
    slopes t = {.n = j->mode == NEAREST ? 1 : j->mode == LINEAR ? 2 : 4};
    if (j->mode == NEAREST) x = rint(x);
    double low = floor(x), up = x - low;
    if (j->mode == NEAREST) t.weight[0] = 1;
    if (j->mode == LINEAR) {
        t.weight[0] = 1 - up, t.weight[1] = up;
        t.slope[0] = -1, t.slope[1] = 1;
    }
    if (j->mode == CUBIC) {
        cubic(up, t.weight);
        cubic_slope(up, t.slope);
        low--;
    }
    for (int k = 0; k < t.n; k++) t.index[k] = element(j, low + k, size);
    return t;
}

typedef struct grad_job {
    job j;
    const hn_tensor *dy;
    hn_tensor *dx, *dgrid;
    double *sums; /* [N * C][in], what dx is before it is rounded; NULL: not asked for */
} grad_job;

/* The taps of position k of the grid, of all batches. */
static void read_slopes(const job *j, int64_t k, slopes *t) {
    for (int i = 0; i < j->spatial; i++) {
        int64_t size = j->x->dims[i + 2];
        double v = hn_tensor_f64(j->grid, (k + 1) * j->spatial - 1 - i);
        t[i] = slopes_at(j, position(j, v, size), size);
    }
}

/* For each combination of taps that is inside: its element, and the product of the weights, where
 * axis `by` has its slope instead; -1: none has. */
typedef struct combination {
    int k[HONE_MAX_RANK];
    int64_t at;
    bool inside;
} combination;

static void locate(const job *j, const slopes *t, combination *c) {
    c->at = 0;
    c->inside = true;
    for (int i = 0; i < j->spatial; i++) {
        int64_t index = t[i].index[c->k[i]];
        c->inside = c->inside && index >= 0;
        c->at = c->at * j->x->dims[i + 2] + index;
    }
}

static double weight_of(const job *j, const slopes *t, const combination *c, int by) {
    double w = 1;
    for (int i = 0; i < j->spatial; i++) w *= i == by ? t[i].slope[c->k[i]] : t[i].weight[c->k[i]];
    return w;
}

static bool step(const job *j, const slopes *t, combination *c) {
    int a = j->spatial - 1;
    for (; a >= 0 && ++c->k[a] == t[a].n; a--) c->k[a] = 0;
    return a >= 0;
}

/* One plane of dX. */
static void add_plane(void *ctx, int64_t plane) {
    const grad_job *g = ctx;
    const job *j = &g->j;
    int64_t batch = plane / j->x->dims[1];
    double *sum = g->sums + plane * j->in;
    slopes t[HONE_MAX_RANK];
    for (int64_t i = 0; i < j->in; i++) sum[i] = 0;
    for (int64_t p = 0; p < j->out; p++) {
        double dy = hn_tensor_f64(g->dy, plane * j->out + p);
        combination c = {0};
        read_slopes(j, batch * j->out + p, t);
        do {
            locate(j, t, &c);
            if (c.inside) sum[c.at] += dy * weight_of(j, t, &c, -1);
        } while (step(j, t, &c));
    }
    hn_store_f64_n(g->dx->dtype, g->dx->data, plane * j->in, j->in, sum);
}

/* Position k of the grid: what its coordinates change, in all channels. */
static void add_point(void *ctx, int64_t k) {
    const grad_job *g = ctx;
    const job *j = &g->j;
    int64_t batch = k / j->out, channels = j->x->dims[1];
    double sum[HONE_MAX_RANK] = {0};
    slopes t[HONE_MAX_RANK];
    combination c = {0};
    read_slopes(j, k, t);
    do {
        locate(j, t, &c);
        if (!c.inside) continue;
        double along = 0;
        for (int64_t m = batch * channels; m < (batch + 1) * channels; m++)
            along += hn_tensor_f64(g->dy, m * j->out + k % j->out) *
                     hn_tensor_f64(j->x, m * j->in + c.at);
        for (int i = 0; i < j->spatial; i++) sum[i] += along * weight_of(j, t, &c, i);
    } while (step(j, t, &c));
    for (int i = 0; i < j->spatial; i++) {
        int64_t size = j->x->dims[i + 2];
        double per = (double)(j->align_corners ? size - 1 : size) / 2; /* elements per coordinate */
        hn_store_f64(g->dgrid->dtype, g->dgrid->data, (k + 1) * j->spatial - 1 - i, sum[i] * per);
    }
}

enum { DY, OF_X, OF_GRID };

static hone_status infer_grad(hn_infer *c, hn_error *err) {
    const hn_shape *dy = hn_in_shape(c, DY), *x = hn_in_shape(c, OF_X);
    const hn_shape *grid = hn_in_shape(c, OF_GRID);
    for (int i = DY; i <= OF_GRID; i++) HN_TRY(hn_want_rank(c, i, 3, HONE_MAX_RANK, err));
    hn_set_shape(c, 0, x);
    hn_set_shape(c, 1, grid);
    if (dy->rank < 0 || x->rank < 0 || grid->rank < 0) return HONE_OK;
    HN_CHECK(err, dy->rank == x->rank && x->rank == grid->rank, HONE_E_SHAPE,
             "dY, X and grid have ranks %d, %d and %d, expected the same", dy->rank, x->rank,
             grid->rank);
    int last = x->rank - 1;
    HN_TRY(hn_want_equal(grid->dim[last], hn_dim_const(c->dims, x->rank - 2),
                         "the coordinates per position and the spatial axes", err));
    HN_TRY(hn_want_equal(x->dim[0], grid->dim[0], "the batches of X and grid", err));
    for (int i = 0; i < x->rank; i++)
        HN_TRY(hn_want_equal(dy->dim[i], i < 2 ? x->dim[i] : grid->dim[i - 1],
                             "sizes of dY and of what was sampled", err));
    return HONE_OK;
}

static hone_status ref_grad(hn_eval *e, hn_error *err) {
    grad_job g = {.dy = e->in[DY], .dx = hn_eval_out(e, 0), .dgrid = hn_eval_out(e, 1)};
    HN_TRY(read_job(e->node, e->in[OF_X], e->in[OF_GRID], e->in[DY], &g.j, err));
    for (int i = 0; i < 2; i++)
        if (hn_eval_out(e, i) != NULL && e->out[i]->bytes > 0)
            memset(e->out[i]->data, 0, e->out[i]->bytes);
    if (g.dy->n == 0 || g.j.x->n == 0) return HONE_OK;
    if (g.dx != NULL) {
        g.sums = hn_scratch(e, g.dx->n, sizeof *g.sums);
        if (g.sums == NULL) return HN_NOMEM(err);
        hn_pool_run(e->pool, g.j.x->dims[0] * g.j.x->dims[1], add_plane, &g);
    }
    if (g.dgrid != NULL) hn_pool_run(e->pool, g.j.x->dims[0] * g.j.out, add_point, &g);
    return HONE_OK;
}

static hone_status grad(hn_grad *g, hn_error *err) {
    static const char *const names[] = {"align_corners", "mode", "padding_mode"};
    (void)err;
    hn_value *in[] = {g->dy[0], hn_grad_in(g, X), hn_grad_in(g, GRID)};
    hn_node *n = hn_emit_node(g, HN_TRAIN_DOMAIN, "GridSampleGrad", 2, 3, in);
    for (int i = 0; i < 3; i++) hn_emit_copied(g, n, names[i]);
    for (int i = 0; i < 2; i++) hn_grad_give(g, i, hn_emitted(n, i));
    return HONE_OK;
}

static const hn_attr_def attrs[] = {
    HN_ATTR_I("align_corners", 0),
    HN_ATTR_S("mode", "linear", "nearest linear cubic"),
    HN_ATTR_S("padding_mode", "zeros", "zeros border reflection"),
    {0},
};

const hn_op_def hn_op_grid_sample = {
    .name = "GridSample",
    .versions = "16 20 22",
    .sig = "(X:T1, grid:T2) -> (Y:T1); T1: tensor; T2: float",
    .attrs = attrs,
    .infer = infer,
    .ref = ref,
    .grad = grad,
};

/* The gradients of GridSample. Where a position meets an element or the border, the slope is that
 * on its right; nearest has none by the grid. */
const hn_op_def hn_op_train_grid_sample_grad = {
    .domain = HN_TRAIN_DOMAIN,
    .name = "GridSampleGrad",
    .versions = "1",
    .sig = "(dY:T, X:T, grid:T2) -> (dX:T?, dgrid:T2?); T: float; T2: float",
    .attrs = attrs,
    .infer = infer_grad,
    .ref = ref_grad,
};

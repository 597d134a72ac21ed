/* RoiAlign: each region of interest is cut into output_height x output_width bins, and each bin is
 * the average or the maximum of X, interpolated, at a regular grid of points in it: sampling_ratio
 * per side, or as many as it takes to have one per element.
 *
 * A point more than one element outside X counts as 0; other points outside are moved to the edge.
 * "max" takes the largest of the four weighted corners of each point, not of the interpolated
 * value: that is what ONNX's tests and its runtimes agree on. */
#include "ops/roi_align.h"

#include <math.h>

#include "ops/grad.h"
#include "ops/train_shapes.h"

enum { X, ROIS, BATCH };

/* Keeps the number of points and their positions within what double and int64_t can hold. */
#define MOST_SAMPLES 4096
#define FARTHEST 0x1p31

static hone_status infer(hn_infer *c, hn_error *err) {
    const hn_shape *x = hn_in_shape(c, X), *rois = hn_in_shape(c, ROIS);
    const hn_shape *batch = hn_in_shape(c, BATCH);
    int64_t h = hn_attr_i(c->node, "output_height"), w = hn_attr_i(c->node, "output_width");
    int64_t samples = hn_attr_i(c->node, "sampling_ratio");
    HN_TRY(hn_want_rank(c, X, 4, 4, err));
    HN_TRY(hn_want_rank(c, ROIS, 2, 2, err));
    HN_TRY(hn_want_rank(c, BATCH, 1, 1, err));
    HN_CHECK(err, h > 0 && w > 0, HONE_E_ARG, "the output is %lld x %lld, expected at least 1 x 1",
             (long long)h, (long long)w);
    HN_CHECK(err, samples >= 0 && samples <= MOST_SAMPLES, HONE_E_ARG,
             "sampling_ratio is %lld, expected 0 to %d", (long long)samples, MOST_SAMPLES);
    hn_shape y = {.rank = 4,
                  .dim = {hn_dim_fresh(c->dims, -1), hn_dim_fresh(c->dims, -1),
                          hn_dim_const(c->dims, h), hn_dim_const(c->dims, w)}};
    if (batch->rank >= 0) y.dim[0] = batch->dim[0];
    if (rois->rank >= 0) {
        HN_TRY(hn_want_equal(rois->dim[1], hn_dim_const(c->dims, 4),
                             "the coordinates per region and 4", err));
        if (batch->rank >= 0)
            HN_TRY(hn_want_equal(rois->dim[0], batch->dim[0], "the regions and the batch indices",
                                 err));
        y.dim[0] = rois->dim[0];
    }
    if (x->rank >= 0) y.dim[1] = x->dim[1];
    hn_set_shape(c, 0, &y);
    return HONE_OK;
}

/* The bins of a region along one axis. */
typedef struct side {
    double start, bin; /* where bin 0 starts, and the size of a bin */
    double samples;    /* points per bin */
    int64_t size;      /* of X */
} side;

static side side_of(double start, double end, bool aligned, int64_t bins, int64_t samples,
                    int64_t size) {
    double extent = end - start;
    /* Without the half-pixel shift a region is at least one element large. */
    if (!aligned && extent < 1) extent = 1;
    side s = {.start = start, .bin = extent / (double)bins, .size = size};
    s.samples = samples > 0 ? (double)samples : ceil(s.bin);
    return s;
}

/* A point on one axis: between elements lo and hi, `up` of the way. */
typedef struct point {
    int64_t lo, hi;
    double up;
} point;

static double point_at(const side *s, int64_t bin, double i) {
    return s->start + (double)bin * s->bin + (i + 0.5) * s->bin / s->samples;
}

static bool outside(const side *s, double at) { return at < -1 || at > (double)s->size; }

static point locate(const side *s, double at) {
    double v = fmax(at, 0);
    int64_t lo = (int64_t)v;
    if (lo >= s->size - 1) return (point){s->size - 1, s->size - 1, 0};
    return (point){lo, lo + 1, v - (double)lo};
}

/* The points [*from, *to) of a bin that may lie inside; a region can be far larger than X. */
static void inside_range(const side *s, int64_t bin, double *from, double *to) {
    double step = s->bin / s->samples, first = point_at(s, bin, 0);
    *from = 0;
    *to = s->samples;
    if (step == 0) return;
    double a = (-1 - first) / step, b = ((double)s->size - first) / step;
    *from = fmax(floor(fmin(a, b)) - 1, *from);
    *to = fmin(ceil(fmax(a, b)) + 2, *to);
}

typedef struct job {
    const hn_tensor *x;
    hn_tensor *y; /* of gradients: dX, and x is dY */
    const double *rois;
    const int64_t *batch;
    double scale;
    bool aligned, max;
    int64_t samples;
} job;

/* An element of weight 0 counts as 0, even where it is not finite. */
static double weighted(const job *j, double weight, int64_t at) {
    return weight == 0 ? 0 : weight * hn_tensor_f64(j->x, at);
}

static double pool_bin(const job *j, int64_t plane, const side *ys, const side *xs, int64_t by,
                       int64_t bx) {
    double y_from, y_to, x_from, x_to, acc = 0;
    /* An upside-down region has no points. */
    if (!(ys->samples > 0 && xs->samples > 0)) return 0;
    inside_range(ys, by, &y_from, &y_to);
    inside_range(xs, bx, &x_from, &x_to);
    double left = ys->samples * xs->samples; /* points that are outside: they count as 0 */
    bool any = false;
    for (double iy = y_from; iy < y_to; iy++) {
        double y = point_at(ys, by, iy);
        if (outside(ys, y)) continue;
        point py = locate(ys, y);
        for (double ix = x_from; ix < x_to; ix++) {
            double x = point_at(xs, bx, ix);
            if (outside(xs, x)) continue;
            point px = locate(xs, x);
            int64_t top = plane + py.lo * xs->size, bottom = plane + py.hi * xs->size;
            double a = weighted(j, (1 - py.up) * (1 - px.up), top + px.lo);
            double b = weighted(j, (1 - py.up) * px.up, top + px.hi);
            double c = weighted(j, py.up * (1 - px.up), bottom + px.lo);
            double d = weighted(j, py.up * px.up, bottom + px.hi);
            double largest = fmax(fmax(a, b), fmax(c, d));
            acc = !j->max ? acc + a + b + c + d : any ? fmax(acc, largest) : largest;
            any = true;
            left--;
        }
    }
    if (j->max) return any && left > 0 ? fmax(acc, 0) : acc;
    return acc / (ys->samples * xs->samples);
}

/* One region in one channel. */
static void pool_region(void *ctx, int64_t k) {
    const job *j = ctx;
    const int64_t *in = j->x->dims, *out = j->y->dims;
    int64_t region = k / out[1], plane = (j->batch[region] * in[1] + k % out[1]) * in[2] * in[3];
    const double *roi = j->rois + region * 4;
    double shift = j->aligned ? 0.5 : 0;
    side xs = side_of(roi[0] * j->scale - shift, roi[2] * j->scale - shift, j->aligned, out[3],
                      j->samples, in[3]);
    side ys = side_of(roi[1] * j->scale - shift, roi[3] * j->scale - shift, j->aligned, out[2],
                      j->samples, in[2]);
    for (int64_t y = 0; y < out[2]; y++)
        for (int64_t x = 0; x < out[3]; x++)
            hn_store_f64(j->y->dtype, j->y->data, (k * out[2] + y) * out[3] + x,
                         pool_bin(j, plane, &ys, &xs, y, x));
}

hone_status hn_want_region(int64_t i, const double *roi, double scale, int64_t batch,
                           int64_t images, hn_error *err) {
    HN_CHECK(err, batch >= 0 && batch < images, HONE_E_ARG,
             "batch index %lld of region %lld is outside [0, %lld)", (long long)batch, (long long)i,
             (long long)images);
    for (int k = 0; k < 4; k++)
        HN_CHECK(err, fabs(roi[k] * scale) <= FARTHEST, HONE_E_ARG,
                 "coordinate %d of region %lld is %g at scale %g, expected at most 2^31", k,
                 (long long)i, roi[k], scale);
    return HONE_OK;
}

/* Input `rois` of the node holds the regions, the next one their images. */
static hone_status read_job(hn_eval *e, int rois, job *j, hn_error *err) {
    const hn_node *n = e->node;
    *j = (job){.rois = hn_scratch_f64(e, e->in[rois]),
               .batch = hn_scratch_s64(e, e->in[rois + 1]),
               .scale = (double)hn_attr_f(n, "spatial_scale"),
               .aligned = hn_attr_is(n, "coordinate_transformation_mode", "half_pixel"),
               .max = hn_attr_is(n, "mode", "max"),
               .samples = hn_attr_i(n, "sampling_ratio")};
    return j->rois == NULL || j->batch == NULL ? HN_NOMEM(err) : HONE_OK;
}

static hone_status ref(hn_eval *e, hn_error *err) {
    job j;
    HN_TRY(read_job(e, ROIS, &j, err));
    j.x = e->in[X];
    j.y = e->out[0];
    if (j.y->n == 0) return HONE_OK;
    HN_CHECK(err, j.x->n > 0, HONE_E_SHAPE, "X is empty");
    for (int64_t i = 0; i < e->in[BATCH]->n; i++)
        HN_TRY(hn_want_region(i, j.rois + 4 * i, j.scale, j.batch[i], j.x->dims[0], err));
    hn_pool_run(e->pool, j.y->dims[0] * j.y->dims[1], pool_region, &j);
    return HONE_OK;
}

/* ---- gradients ---- */

/* Adds dy of one bin to the elements it is an average of. */
static void spread_bin(const side *ys, const side *xs, int64_t by, int64_t bx, double dy,
                       double *sum) {
    double y_from, y_to, x_from, x_to;
    if (!(ys->samples > 0 && xs->samples > 0)) return;
    inside_range(ys, by, &y_from, &y_to);
    inside_range(xs, bx, &x_from, &x_to);
    dy /= ys->samples * xs->samples;
    for (double iy = y_from; iy < y_to; iy++) {
        double y = point_at(ys, by, iy);
        if (outside(ys, y)) continue;
        point py = locate(ys, y);
        for (double ix = x_from; ix < x_to; ix++) {
            double x = point_at(xs, bx, ix);
            if (outside(xs, x)) continue;
            point px = locate(xs, x);
            double *top = sum + py.lo * xs->size, *bottom = sum + py.hi * xs->size;
            top[px.lo] += dy * (1 - py.up) * (1 - px.up);
            top[px.hi] += dy * (1 - py.up) * px.up;
            bottom[px.lo] += dy * py.up * (1 - px.up);
            bottom[px.hi] += dy * py.up * px.up;
        }
    }
}

/* The same of a maximum: dy goes to the corner that was the largest, by its weight. A point outside
 * counts as 0, which may be larger than all. */
static void spread_max(const hn_tensor *of, int64_t plane, const side *ys, const side *xs,
                       int64_t by, int64_t bx, double dy, double *sum) {
    double y_from, y_to, x_from, x_to, best = -INFINITY, weight = 0;
    int64_t found = -1;
    if (!(ys->samples > 0 && xs->samples > 0)) return;
    inside_range(ys, by, &y_from, &y_to);
    inside_range(xs, bx, &x_from, &x_to);
    double left = ys->samples * xs->samples;
    for (double iy = y_from; iy < y_to; iy++) {
        double y = point_at(ys, by, iy);
        if (outside(ys, y)) continue;
        point py = locate(ys, y);
        for (double ix = x_from; ix < x_to; ix++) {
            double x = point_at(xs, bx, ix);
            if (outside(xs, x)) continue;
            point px = locate(xs, x);
            left--;
            for (int corner = 0; corner < 4; corner++) {
                bool low = corner >= 2, right = corner % 2 == 1;
                double w = (low ? py.up : 1 - py.up) * (right ? px.up : 1 - px.up);
                int64_t at = (low ? py.hi : py.lo) * xs->size + (right ? px.hi : px.lo);
                double v = w == 0 ? 0 : w * hn_tensor_f64(of, plane + at);
                if (found >= 0 && !(v > best)) continue;
                best = v;
                weight = w;
                found = at;
            }
        }
    }
    if (found >= 0 && !(left > 0 && best < 0)) sum[found] += dy * weight;
}

typedef struct spread {
    job j;
    const hn_tensor *of; /* X, of mode max */
    int64_t regions;
    double *sums; /* dX before it is rounded */
} spread;

/* One plane of dX: all regions of its image. */
static void spread_plane(void *ctx, int64_t plane) {
    const spread *s = ctx;
    const job *j = &s->j;
    const int64_t *in = j->y->dims, *out = j->x->dims;
    int64_t image = plane / in[1], channel = plane % in[1], size = in[2] * in[3];
    double *sum = s->sums + plane * size, shift = j->aligned ? 0.5 : 0;
    for (int64_t i = 0; i < size; i++) sum[i] = 0;
    for (int64_t r = 0; r < s->regions; r++) {
        if (j->batch[r] != image) continue;
        const double *roi = j->rois + r * 4;
        side xs = side_of(roi[0] * j->scale - shift, roi[2] * j->scale - shift, j->aligned, out[3],
                          j->samples, in[3]);
        side ys = side_of(roi[1] * j->scale - shift, roi[3] * j->scale - shift, j->aligned, out[2],
                          j->samples, in[2]);
        for (int64_t y = 0; y < out[2]; y++)
            for (int64_t x = 0; x < out[3]; x++) {
                int64_t at = ((r * out[1] + channel) * out[2] + y) * out[3] + x;
                double dy = hn_tensor_f64(j->x, at);
                if (j->max)
                    spread_max(s->of, plane * size, &ys, &xs, y, x, dy, sum);
                else
                    spread_bin(&ys, &xs, y, x, dy, sum);
            }
    }
    hn_store_f64_n(j->y->dtype, j->y->data, plane * size, size, sum);
}

/* Inputs dY, rois, batch_indices, and for mode max X; dims are the sizes of X. */
static hone_status infer_grad(hn_infer *c, hn_error *err) {
    const hn_shape *dy = hn_in_shape(c, 0), *rois = hn_in_shape(c, 1), *batch = hn_in_shape(c, 2);
    hn_shape x;
    int64_t samples = hn_attr_i(c->node, "sampling_ratio");
    HN_TRY(hn_want_dims(c, 4, &x, err));
    HN_CHECK(err, x.rank == 4, HONE_E_ARG, "attribute 'dims' has %d sizes, expected 4", x.rank);
    HN_CHECK(err, samples >= 0 && samples <= MOST_SAMPLES, HONE_E_ARG,
             "sampling_ratio is %lld, expected 0 to %d", (long long)samples, MOST_SAMPLES);
    HN_TRY(hn_want_rank(c, 0, 4, 4, err));
    HN_TRY(hn_want_rank(c, 1, 2, 2, err));
    HN_TRY(hn_want_rank(c, 2, 1, 1, err));
    bool max = hn_attr_is(c->node, "mode", "max");
    HN_CHECK(err, hn_has_in(c, 3) == max, HONE_E_MODEL, "mode %s %s X", max ? "max" : "avg",
             max ? "needs" : "does not take");
    if (hn_in_rank(c, 3) >= 0) {
        HN_TRY(hn_want_rank(c, 3, 4, 4, err));
        for (int i = 0; i < 4; i++)
            HN_TRY(
                hn_want_equal(hn_in_shape(c, 3)->dim[i], x.dim[i], "sizes of X and 'dims'", err));
    }
    hn_set_shape(c, 0, &x);
    if (dy->rank < 0 || rois->rank < 0 || batch->rank < 0) return HONE_OK;
    HN_TRY(hn_want_equal(dy->dim[1], x.dim[1], "channels of dY and X", err));
    HN_TRY(hn_want_equal(dy->dim[0], rois->dim[0], "regions of dY and rois", err));
    HN_TRY(hn_want_equal(rois->dim[0], batch->dim[0], "the regions and the batch indices", err));
    return hn_want_equal(rois->dim[1], hn_dim_const(c->dims, 4), "the coordinates per region and 4",
                         err);
}

static hone_status ref_grad(hn_eval *e, hn_error *err) {
    spread s;
    HN_TRY(read_job(e, 1, &s.j, err));
    s.j.x = e->in[0];
    s.j.y = e->out[0];
    s.of = hn_eval_in(e, 3);
    s.regions = e->in[2]->n;
    if (s.j.y->n == 0) return HONE_OK;
    for (int64_t i = 0; i < s.regions; i++)
        HN_TRY(hn_want_region(i, s.j.rois + 4 * i, s.j.scale, s.j.batch[i], s.j.y->dims[0], err));
    s.sums = hn_scratch(e, s.j.y->n, sizeof *s.sums);
    if (s.sums == NULL) return HN_NOMEM(err);
    hn_pool_run(e->pool, s.j.y->dims[0] * s.j.y->dims[1], spread_plane, &s);
    return HONE_OK;
}

static hone_status grad(hn_grad *g, hn_error *err) {
    static const char *const names[] = {"coordinate_transformation_mode", "sampling_ratio",
                                        "spatial_scale", "mode"};
    int64_t dims[HONE_MAX_RANK];
    int rank = hn_grad_dims(g, hn_grad_in(g, X), dims);
    if (hn_grad_wants(g, ROIS)) return hn_grad_refuse(g, "its regions are trained", err);
    hn_value *in[] = {g->dy[0], hn_grad_in(g, ROIS), hn_grad_in(g, BATCH), hn_grad_in(g, X)};
    int n_in = hn_attr_is(g->node, "mode", "max") ? 4 : 3;
    hn_node *n = hn_emit_node(g, HN_TRAIN_DOMAIN, "RoiAlignGrad", 1, n_in, in);
    for (int i = 0; i < 4; i++) hn_emit_copied(g, n, names[i]);
    hn_emit_ints_attr(g, n, "dims", dims, rank);
    hn_grad_give(g, X, hn_emitted(n, 0));
    return HONE_OK;
}

static const hn_attr_def attrs[] = {
    HN_ATTR_S("coordinate_transformation_mode", "half_pixel", "half_pixel output_half_pixel"),
    HN_ATTR_S("mode", "avg", "avg max"),
    HN_ATTR_I("output_height", 1),
    HN_ATTR_I("output_width", 1),
    HN_ATTR_I("sampling_ratio", 0),
    HN_ATTR_F("spatial_scale", 1),
    {0},
};

const hn_op_def hn_op_roi_align = {
    .name = "RoiAlign",
    .versions = "10 16 22",
    .sig = "(X:T, rois:T, batch_indices:s64) -> (Y:T); T: float",
    .attrs = attrs,
    .infer = infer,
    .ref = ref,
    .settings = 1 << ROIS,
    .grad = grad,
};

static const hn_attr_def grad_attrs[] = {
    HN_ATTR_S("coordinate_transformation_mode", "half_pixel", "half_pixel output_half_pixel"),
    HN_ATTR_REQ("dims", INTS),
    HN_ATTR_S("mode", "avg", "avg max"),
    HN_ATTR_I("sampling_ratio", 0),
    HN_ATTR_F("spatial_scale", 1),
    {0},
};

const hn_op_def hn_op_train_roi_align_grad = {
    .domain = HN_TRAIN_DOMAIN,
    .name = "RoiAlignGrad",
    .versions = "1",
    .sig = "(dY:T, rois:T, batch_indices:s64, X:T?) -> (dX:T); T: float",
    .attrs = grad_attrs,
    .infer = infer_grad,
    .ref = ref_grad,
};

/* MaxPoolGrad and AveragePoolGrad: the gradients of pools by their input.
 *
 *     MaxPoolGrad (dY, X)      dY of each window goes to the first of its maxima
 *     AveragePoolGrad (dY)     dY of each window is spread evenly over what it counted
 *
 * Attributes are those of the pool; AveragePoolGrad takes the sizes of X as attribute `dims`. */
#include <math.h>

#include "ops/grad.h"
#include "ops/pooling_ref.h"
#include "ops/train_shapes.h"

/* ---- maxima ---- */

static hone_status infer_max(hn_infer *c, hn_error *err) {
    HN_TRY(hn_want_rank(c, 1, 3, HONE_MAX_RANK, err));
    HN_TRY(hn_want_windows(c, hn_in_shape(c, 1), 0, true, err));
    hn_set_shape(c, 0, hn_in_shape(c, 1));
    return HONE_OK;
}

typedef struct target {
    const hn_tensor *dy;
    hn_tensor *dx;
    double *sum; /* of dx */
} target;

static void spread(const void *ctx, int64_t n, int64_t c, int64_t size, const double *v,
                   const int64_t *at) {
    (void)v;
    const target *t = ctx;
    int64_t plane = n * t->dx->dims[1] + c;
    int64_t in = t->dx->n / (t->dx->dims[0] * t->dx->dims[1]);
    double *sum = t->sum + plane * in;
    for (int64_t i = 0; i < in; i++) sum[i] = 0;
    for (int64_t i = 0; i < size; i++)
        if (at[i] >= 0) sum[at[i]] += hn_tensor_f64(t->dy, plane * size + i);
    hn_store_f64_n(t->dx->dtype, t->dx->data, plane * in, in, sum);
}

static hone_status ref_max(hn_eval *e, hn_error *err) {
    target t = {.dy = e->in[0], .dx = e->out[0]};
    t.sum = hn_scratch(e, t.dx->n, sizeof *t.sum);
    if (t.sum == NULL) return HN_NOMEM(err);
    hn_pooling p = {.mode = HN_POOL_MAX, .lowest = -INFINITY, .store = spread, .ctx = &t};
    return hn_pool_ref(e, e->in[1], e->in[0], &p, err);
}

/* ---- averages ---- */

static hone_status infer_average(hn_infer *c, hn_error *err) {
    hn_shape x;
    HN_TRY(hn_want_dims(c, 3, &x, err));
    HN_TRY(hn_want_windows(c, &x, 0, true, err));
    hn_set_shape(c, 0, &x);
    return HONE_OK;
}

typedef struct averages {
    const hn_tensor *dy;
    hn_tensor *dx;
    hn_spatial s;
    bool count_pads;
    int64_t in, out; /* elements of a plane */
    double *sum;
} averages;

/* Positions of a window along an axis that lie inside, [lo, hi), and how many are counted. */
static int64_t taps(const averages *j, int a, int64_t o, int64_t *lo, int64_t *hi) {
    int64_t in = j->dx->dims[2 + a];
    hn_spatial_taps(&j->s, a, o, in, lo, hi);
    if (!j->count_pads) return *hi - *lo;
    /* Padding counts, but not what ceil_mode adds behind it. */
    int64_t first = o * j->s.stride[a] - j->s.pad[a], end = in + j->s.pad_end[a], n = 0;
    for (int64_t k = 0; k < j->s.kernel[a]; k++) n += first + k * j->s.dilation[a] < end;
    return n;
}

static void add_window(const averages *j, int a, const int64_t *o, int64_t at, double v,
                       double *sum) {
    int64_t lo, hi;
    if (a == j->s.rank) {
        sum[at] += v;
        return;
    }
    taps(j, a, o[a], &lo, &hi);
    for (int64_t k = lo; k < hi; k++)
        add_window(
            j, a + 1, o,
            at * j->dx->dims[2 + a] + o[a] * j->s.stride[a] - j->s.pad[a] + k * j->s.dilation[a], v,
            sum);
}

static void run_plane(void *ctx, int64_t plane) {
    const averages *j = ctx;
    double *sum = j->sum + plane * j->in;
    for (int64_t i = 0; i < j->in; i++) sum[i] = 0;
    for (int64_t i = 0; i < j->out; i++) {
        int64_t o[HN_MAX_SPATIAL], left = i, count = 1, lo, hi;
        for (int a = j->s.rank - 1; a >= 0; left /= j->dy->dims[2 + a--]) {
            o[a] = left % j->dy->dims[2 + a];
            count *= taps(j, a, o[a], &lo, &hi);
        }
        double v = hn_tensor_f64(j->dy, plane * j->out + i);
        if (count > 0) add_window(j, 0, o, 0, v / (double)count, sum);
    }
    hn_store_f64_n(j->dx->dtype, j->dx->data, plane * j->in, j->in, sum);
}

static hone_status ref_average(hn_eval *e, hn_error *err) {
    averages j = {.dy = e->in[0],
                  .dx = e->out[0],
                  .count_pads = hn_attr_i(e->node, "count_include_pad") != 0};
    HN_TRY(hn_spatial_read(e->node, j.dx->rank - 2, &j.s, err));
    hn_spatial_resolve(&j.s, j.dx->dims + 2);
    int64_t planes = j.dx->dims[0] * j.dx->dims[1];
    if (j.dx->n == 0) return HONE_OK;
    j.in = j.dx->n / planes;
    j.out = j.dy->n / planes;
    j.sum = hn_scratch(e, j.dx->n, sizeof *j.sum);
    if (j.sum == NULL) return HN_NOMEM(err);
    hn_pool_run(e->pool, planes, run_plane, &j);
    return HONE_OK;
}

#define POOL_ATTRS HN_SPATIAL_ATTRS, HN_ATTR_I("ceil_mode", 0), HN_ATTR_REQ("kernel_shape", INTS)

const hn_op_def hn_op_train_average_pool_grad = {
    .domain = HN_TRAIN_DOMAIN,
    .name = "AveragePoolGrad",
    .versions = "1",
    .sig = "(dY:T) -> (dX:T); T: float",
    .attrs =
        (const hn_attr_def[]){
            POOL_ATTRS, HN_ATTR_I("count_include_pad", 0), HN_ATTR_REQ("dims", INTS), {0}},
    .infer = infer_average,
    .ref = ref_average,
};

const hn_op_def hn_op_train_max_pool_grad = {
    .domain = HN_TRAIN_DOMAIN,
    .name = "MaxPoolGrad",
    .versions = "1",
    .sig = "(dY:T, X:T) -> (dX:T); T: float",
    .attrs = (const hn_attr_def[]){POOL_ATTRS, {0}},
    .infer = infer_max,
    .ref = ref_max,
};

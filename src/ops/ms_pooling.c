/* Pooling of 8-bit integers of com.microsoft: NhwcMaxPool, QLinearAveragePool and
 * QLinearGlobalAveragePool. An average is the exact sum and one multiplication,
 *     y = saturate(rne((float)sum * m) + zero),  m = sx / (sy * count),
 * where a window without elements is 0. */
#include <math.h>

#include "ops/pooling_ref.h"
#include "ops/requant.h"

/* Where a channel's results go in [N, C, ...] or [N, ..., C]. */
typedef struct target {
    hn_tensor *y;
    bool channels_last;
    int64_t channels;
    double x_scale, y_scale;
    int64_t zero;
} target;

static int64_t place(const target *t, int64_t n, int64_t c, int64_t size, int64_t i) {
    return t->channels_last ? (n * size + i) * t->channels + c : (n * t->channels + c) * size + i;
}

/* ---- NhwcMaxPool ---- */

static hone_status max_infer(hn_infer *c, hn_error *err) { return hn_pool_infer(c, true, err); }

static void store_max(const void *ctx, int64_t n, int64_t c, int64_t size, const double *v,
                      const int64_t *at) {
    (void)at;
    const target *t = ctx;
    for (int64_t i = 0; i < size; i++)
        hn_store_f64(t->y->dtype, t->y->data, place(t, n, c, size, i), v[i]);
}

static hone_status max_ref(hn_eval *e, hn_error *err) {
    const hn_tensor *x = e->in[0];
    target t = {.y = e->out[0], .channels_last = true, .channels = x->dims[x->rank - 1]};
    hn_pooling p = {.mode = HN_POOL_MAX,
                    .channels_last = true,
                    .lowest = (double)hn_dtype_min(x->dtype),
                    .store = store_max,
                    .ctx = &t};
    return hn_pool_ref(e, x, t.y, &p, err);
}

static const hn_attr_def max_attrs[] = {
    HN_SPATIAL_ATTRS,
    HN_ATTR_I("ceil_mode", 0),
    HN_ATTR_REQ("kernel_shape", INTS),
    {0},
};

const hn_op_def hn_op_ms_nhwc_max_pool = {
    .domain = "com.microsoft",
    .name = "NhwcMaxPool",
    .versions = "1",
    .sig = "(x:T) -> (y:T); T: s8 u8",
    .attrs = max_attrs,
    .infer = max_infer,
    .ref = max_ref,
};

/* ---- averages ---- */

enum { X, X_SCALE, X_ZERO, Y_SCALE, Y_ZERO };

static hone_status want_scalars(hn_infer *c, hn_error *err) {
    for (int i = X_SCALE; i <= Y_ZERO; i++) HN_TRY(hn_want_per_channel(c, i, NULL, err));
    return HONE_OK;
}

static target target_of(const hn_eval *e) {
    const hn_tensor *x = e->in[X], *zero = hn_eval_in(e, Y_ZERO);
    bool last = hn_attr_i(e->node, "channels_last") != 0;
    return (target){.y = e->out[0],
                    .channels_last = last,
                    .channels = x->dims[last ? x->rank - 1 : 1],
                    .x_scale = hn_tensor_f64(e->in[X_SCALE], 0),
                    .y_scale = hn_tensor_f64(e->in[Y_SCALE], 0),
                    .zero = zero != NULL ? hn_tensor_s64(zero, 0) : 0};
}

static int64_t average(const target *t, int64_t sum, int64_t count) {
    float all = (float)t->y_scale * (float)(count > 0 ? count : 1);
    float m = hn_requant_scale(t->x_scale, 1, all);
    return hn_requant(t->y->dtype, sum, m, t->zero);
}

static hone_status average_infer(hn_infer *c, hn_error *err) {
    HN_TRY(want_scalars(c, err));
    return hn_pool_infer(c, hn_attr_i(c->node, "channels_last") != 0, err);
}

static void store_average(const void *ctx, int64_t n, int64_t c, int64_t size, const double *v,
                          const int64_t *at) {
    const target *t = ctx;
    for (int64_t i = 0; i < size; i++)
        hn_store_s64(t->y->dtype, t->y->data, place(t, n, c, size, i),
                     average(t, (int64_t)v[i], at[i]));
}

static hone_status average_ref(hn_eval *e, hn_error *err) {
    const hn_tensor *zero = hn_eval_in(e, X_ZERO);
    target t = target_of(e);
    hn_pooling p = {.mode = HN_POOL_SUM,
                    .channels_last = t.channels_last,
                    .count_pads = hn_attr_i(e->node, "count_include_pad") != 0,
                    .zero = zero != NULL ? hn_tensor_f64(zero, 0) : 0,
                    .store = store_average,
                    .ctx = &t};
    return hn_pool_ref(e, e->in[X], t.y, &p, err);
}

static const hn_attr_def average_attrs[] = {
    HN_ATTR_S("auto_pad", "NOTSET", "NOTSET SAME_UPPER SAME_LOWER VALID"),
    HN_ATTR_I("ceil_mode", 0),
    HN_ATTR_I("channels_last", 0),
    HN_ATTR_I("count_include_pad", 0),
    HN_ATTR_REQ("kernel_shape", INTS),
    HN_ATTR_OPT("pads", INTS),
    HN_ATTR_OPT("strides", INTS),
    {0},
};

const hn_op_def hn_op_ms_qlinear_average_pool = {
    .domain = "com.microsoft",
    .name = "QLinearAveragePool",
    .versions = "1",
    .sig = "(X:T, x_scale:f32, x_zero_point:T?, y_scale:f32, y_zero_point:T?) -> (Y:T); T: s8 u8",
    .attrs = average_attrs,
    .quantized = &(const hn_quantized_def){.of = "AveragePool"},
    .infer = average_infer,
    .ref = average_ref,
};

static hone_status global_infer(hn_infer *c, hn_error *err) {
    HN_TRY(want_scalars(c, err));
    HN_TRY(hn_want_rank(c, X, 3, HONE_MAX_RANK, err));
    bool last = hn_attr_i(c->node, "channels_last") != 0;
    hn_shape y = *hn_in_shape(c, X);
    for (int i = 0; i < y.rank - 2; i++) y.dim[last ? 1 + i : 2 + i] = hn_dim_const(c->dims, 1);
    hn_set_shape(c, 0, &y);
    return HONE_OK;
}

typedef struct job {
    target t;
    const hn_tensor *x;
    int64_t size, zero;
} job;

static void average_plane(void *ctx, int64_t plane) {
    const job *j = ctx;
    int64_t n = plane / j->t.channels, c = plane % j->t.channels, sum = 0;
    for (int64_t i = 0; i < j->size; i++)
        sum += hn_tensor_s64(j->x, place(&j->t, n, c, j->size, i)) - j->zero;
    hn_store_s64(j->t.y->dtype, j->t.y->data, plane, average(&j->t, sum, j->size));
}

static hone_status global_ref(hn_eval *e, hn_error *err) {
    (void)err;
    job j = {.t = target_of(e), .x = e->in[X], .zero = hn_tensor_s64(e->in[X_ZERO], 0)};
    if (j.t.y->n == 0) return HONE_OK;
    j.size = j.x->n / j.t.y->n;
    hn_pool_run(e->pool, j.t.y->n, average_plane, &j);
    return HONE_OK;
}

static const hn_attr_def global_attrs[] = {HN_ATTR_I("channels_last", 0), {0}};

const hn_op_def hn_op_ms_qlinear_global_average_pool = {
    .domain = "com.microsoft",
    .name = "QLinearGlobalAveragePool",
    .versions = "1",
    .sig = "(X:T, x_scale:f32, x_zero_point:T, y_scale:f32, y_zero_point:T) -> (Y:T); T: s8 u8",
    .attrs = global_attrs,
    .quantized = &(const hn_quantized_def){.of = "GlobalAveragePool"},
    .infer = global_infer,
    .ref = global_ref,
};

/* ConvInteger and QLinearConv: convolution of 8-bit integers with s32 sums that wrap, given as they
 * are or brought back to 8 bits (requant.h). Padding stands for the zero point of x. */
#include "ops/conv_ref.h"
#include "ops/requant.h"

/* Zero points of the weights, one per output channel; NULL in *out when there are none. */
static hone_status weight_zeros(hn_eval *e, const hn_tensor *t, int64_t channels,
                                const int64_t **out, hn_error *err) {
    *out = NULL;
    if (t == NULL) return HONE_OK;
    int64_t *zeros = hn_scratch(e, channels, sizeof *zeros);
    if (zeros == NULL) return HN_NOMEM(err);
    for (int64_t i = 0; i < channels; i++) zeros[i] = hn_tensor_s64(t, t->n == 1 ? 0 : i);
    *out = zeros;
    return HONE_OK;
}

static hone_status plan(hn_eval *e, const hn_tensor *x, const hn_tensor *x_zero, const hn_tensor *w,
                        const hn_tensor *w_zero, hn_conv *conv, hn_error *err) {
    HN_TRY(hn_conv_plan(e->node, x, w, e->out[0], conv, err));
    conv->integer = true;
    conv->x_zero = x_zero != NULL ? hn_tensor_s64(x_zero, 0) : 0;
    return weight_zeros(e, w_zero, w->dims[0], &conv->w_zero, err);
}

static hn_dim channels_of(const hn_infer *c, int w) {
    return hn_in_rank(c, w) > 0 ? hn_in_shape(c, w)->dim[0] : hn_dim_fresh(c->dims, -1);
}

static const hn_attr_def attrs[] = {
    HN_SPATIAL_ATTRS,
    HN_ATTR_I("group", 1),
    HN_ATTR_OPT("kernel_shape", INTS),
    {0},
};

/* ---- ConvInteger ---- */

static hone_status integer_infer(hn_infer *c, hn_error *err) {
    HN_TRY(hn_want_per_channel(c, 2, NULL, err));
    HN_TRY(hn_want_per_channel(c, 3, channels_of(c, 1), err));
    return hn_conv_infer(c, 0, 1, -1, err);
}

static void integer_cost(const hn_infer *c, hn_cost *cost) { hn_conv_cost(c, 1, cost); }

static hone_status integer_ref(hn_eval *e, hn_error *err) {
    hn_conv conv;
    HN_TRY(plan(e, e->in[0], hn_eval_in(e, 2), e->in[1], hn_eval_in(e, 3), &conv, err));
    hn_dense_out out = {e->out[0], conv.m, conv.out_size};
    return hn_conv_ref(e, &conv, hn_store_dense_s64, &out, err);
}

const hn_op_def hn_op_conv_integer = {
    .name = "ConvInteger",
    .versions = "10",
    .sig = "(x:T1, w:T2, x_zero_point:T1?, w_zero_point:T2?) -> (y:s32); T1: s8 u8; T2: s8 u8",
    .attrs = attrs,
    .quantized = &(const hn_quantized_def){.of = "Conv", .weight = 1, .zero = 3},
    .infer = integer_infer,
    .ref = integer_ref,
    .cost = integer_cost,
};

/* ---- QLinearConv ---- */

enum { X, X_SCALE, X_ZERO, W, W_SCALE, W_ZERO, Y_SCALE, Y_ZERO, B };

static hone_status qlinear_infer(hn_infer *c, hn_error *err) {
    for (int i = X_SCALE; i <= Y_ZERO; i++) {
        if (i == W) continue;
        bool per_channel = i == W_SCALE || i == W_ZERO;
        HN_TRY(hn_want_per_channel(c, i, per_channel ? channels_of(c, W) : NULL, err));
    }
    return hn_conv_infer(c, X, W, B, err);
}

static void qlinear_cost(const hn_infer *c, hn_cost *cost) { hn_conv_cost(c, W, cost); }

typedef struct target {
    const hn_conv *conv;
    hn_tensor *y;
    const hn_tensor *bias, *w_scale;
    double x_scale, y_scale;
    int64_t zero;
} target;

static void store(const void *ctx, const hn_block *at, const void *sums, int64_t pitch) {
    const target *t = ctx;
    for (int64_t r = 0; r < at->n_rows; r++) {
        const int64_t *row = (const int64_t *)sums + r * pitch;
        int64_t channel = hn_conv_channel(t->conv, at, r);
        float m = hn_requant_scale(t->x_scale, hn_channel_f64(t->w_scale, channel), t->y_scale);
        uint64_t bias = t->bias != NULL ? (uint64_t)hn_tensor_s64(t->bias, channel) : 0;
        int64_t to = (at->batch * t->conv->m + at->row + r) * t->conv->out_size + at->col;
        for (int64_t i = 0; i < at->n_cols; i++) {
            int32_t sum = (int32_t)(uint32_t)((uint64_t)row[i] + bias);
            hn_store_s64(t->y->dtype, t->y->data, to + i, hn_requant(t->y->dtype, sum, m, t->zero));
        }
    }
}

static hone_status qlinear_ref(hn_eval *e, hn_error *err) {
    hn_conv conv;
    HN_TRY(plan(e, e->in[X], e->in[X_ZERO], e->in[W], e->in[W_ZERO], &conv, err));
    target t = {.conv = &conv,
                .y = e->out[0],
                .bias = hn_eval_in(e, B),
                .w_scale = e->in[W_SCALE],
                .x_scale = hn_tensor_f64(e->in[X_SCALE], 0),
                .y_scale = hn_tensor_f64(e->in[Y_SCALE], 0),
                .zero = hn_tensor_s64(e->in[Y_ZERO], 0)};
    return hn_conv_ref(e, &conv, store, &t, err);
}

const hn_op_def hn_op_qlinear_conv = {
    .name = "QLinearConv",
    .versions = "10",
    .sig =
        "(x:T1, x_scale:f32, x_zero_point:T1, w:T2, w_scale:f32, w_zero_point:T2, y_scale:f32,"
        " y_zero_point:T3, B:s32?) -> (y:T3); T1: s8 u8; T2: s8 u8; T3: s8 u8",
    .attrs = attrs,
    .settings = 1 << 1 | 1 << 4 | 1 << 6,
    .quantized = &(const hn_quantized_def){.of = "Conv", .weight = 3, .scale = 4, .zero = 5},
    .infer = qlinear_infer,
    .ref = qlinear_ref,
    .cost = qlinear_cost,
};

/* QuantizeLinear and DequantizeLinear, of ai.onnx and com.microsoft:
 *
 *     y = saturate(round(x / scale) + zero_point)        y = (x - zero_point) * scale
 *
 * The shape of the scale says which of its elements belongs to which element of x:
 *     per tensor   one element
 *     per axis     1-D, one element per position on `axis`
 *     blocked      as x, but on `axis` one element per `block_size` positions
 */
#include "ops/broadcast.h"
#include "ops/quantize.h"

/* com.microsoft has no blocks. */
static int64_t block_size(const hn_node *n) {
    return hn_op_attr(n->op, "block_size") != NULL ? hn_attr_i(n, "block_size") : 0;
}

/* ---- inference ---- */

static hone_status check_blocked(hn_infer *c, int64_t block, hn_error *err) {
    const hn_shape *x = hn_in_shape(c, 0), *scale = hn_in_shape(c, 1);
    HN_CHECK(err, scale->rank == x->rank, HONE_E_SHAPE,
             "x has rank %d and the scale of blocks rank %d, not the same", x->rank, scale->rank);
    int64_t axis = hn_attr_i(c->node, "axis");
    HN_TRY(hn_want_axis(&axis, x->rank, err));
    for (int i = 0; i < x->rank; i++) {
        hn_dim want = x->dim[i];
        if (i == axis) want = hn_dim_div_ceil(c->dims, want, hn_dim_const(c->dims, block));
        HN_TRY(hn_want_equal(scale->dim[i], want,
                             i == axis ? "blocks of the scale and of x" : "dims of scale and x",
                             err));
    }
    return HONE_OK;
}

static bool one_element(const hn_shape *s) {
    return s->rank == 0 || (s->rank == 1 && hn_dim_is(s->dim[0], 1));
}

/* The axis of a vector is axis 0 whatever the attribute, whose default is 1. */
static hone_status axis_of(const hn_node *n, int rank, int64_t *axis, hn_error *err) {
    *axis = rank == 1 ? 0 : hn_attr_i(n, "axis");
    return hn_want_axis(axis, rank, err);
}

static hone_status check_scale(hn_infer *c, hn_error *err) {
    const hn_shape *x = hn_in_shape(c, 0), *scale = hn_in_shape(c, 1);
    int64_t block = block_size(c->node);
    HN_CHECK(err, block >= 0, HONE_E_ARG, "block_size is %lld, expected a positive number",
             (long long)block);
    if (scale->rank < 0) return HONE_OK;
    if (hn_has_in(c, 2) && hn_in_rank(c, 2) >= 0) {
        const hn_shape *zero = hn_in_shape(c, 2);
        if (!one_element(scale) || !one_element(zero)) {
            HN_CHECK(err, zero->rank == scale->rank, HONE_E_SHAPE,
                     "scale has rank %d and zero point rank %d, not the same", scale->rank,
                     zero->rank);
            for (int i = 0; i < scale->rank; i++)
                HN_TRY(hn_want_equal(scale->dim[i], zero->dim[i], "dims of scale and zero point",
                                     err));
        }
    }
    if (x->rank < 0 || one_element(scale)) return HONE_OK;
    if (block > 0) return check_blocked(c, block, err);
    HN_CHECK(err, scale->rank == 1, HONE_E_SHAPE,
             "scale has rank %d, expected 0 or 1 without block_size", scale->rank);
    int64_t axis;
    HN_TRY(axis_of(c->node, x->rank, &axis, err));
    return hn_want_equal(scale->dim[0], x->dim[axis], "scales and the size of the axis", err);
}

/* ---- evaluation ---- */

hn_scaling hn_scaling_of(const hn_node *n, const hn_tensor *x, const hn_tensor *scale) {
    hn_scaling s = {.size = 1, .inner = 1, .block = 1};
    if (scale->rank == 0 || (scale->rank == 1 && scale->n == 1) || x->n == 0) return s;
    int64_t axis = hn_attr_i(n, "axis"), block = block_size(n);
    if (x->rank == 1) axis = 0;
    if (axis < 0) axis += x->rank;
    s.size = x->dims[axis];
    for (int i = (int)axis + 1; i < x->rank; i++) s.inner *= x->dims[i];
    if (block == 0) {
        s.axis_step = 1;
    } else {
        s.block = block;
        s.outer_step = scale->dims[axis] * s.inner;
        s.axis_step = s.inner;
        s.inner_step = 1;
    }
    return s;
}

typedef struct job {
    hn_scaling by;
    double *scale, *zero; /* zero NULL: all 0 */
    hone_dtype precision; /* of the quotient; HONE_DTYPE_F64: not rounded */
    bool saturate;
    const hn_tensor *in;
    hn_tensor *out;
} job;

/* Scale and zero point of elements [from, from + n). */
static void gather(const job *j, int64_t from, int64_t n, double *scale, double *zero) {
    const hn_scaling *s = &j->by;
    int64_t k = from % s->inner, a = from / s->inner % s->size, o = from / s->inner / s->size;
    for (int64_t i = 0; i < n; i++) {
        int64_t at = o * s->outer_step + a / s->block * s->axis_step + k * s->inner_step;
        scale[i] = j->scale[at];
        zero[i] = j->zero != NULL ? j->zero[at] : 0;
        if (++k < s->inner) continue;
        k = 0;
        if (++a < s->size) continue;
        a = 0;
        o++;
    }
}

/* v rounded to a float type. */
static void round_to(hone_dtype t, double *v, int64_t n) {
    if (t == HONE_DTYPE_F32)
        for (int64_t i = 0; i < n; i++) v[i] = (float)v[i];
    else if (t == HONE_DTYPE_F16)
        for (int64_t i = 0; i < n; i++) v[i] = hn_f16_to_f32(hn_f16_from_f64(v[i]));
    else if (t == HONE_DTYPE_BF16)
        for (int64_t i = 0; i < n; i++) v[i] = hn_bf16_to_f32(hn_bf16_from_f64(v[i]));
}

static void quantize(void *ctx, int64_t from, int64_t n) {
    const job *j = ctx;
    hone_dtype t = j->out->dtype;
    double x[HN_BLOCK], scale[HN_BLOCK], zero[HN_BLOCK];
    gather(j, from, n, scale, zero);
    hn_load_f64_n(j->in->dtype, j->in->data, from, n, x);
    round_to(j->precision, x, n);
    round_to(j->precision, scale, n);
    /* A quotient in double, rounded once more, is the quotient in the narrower type. */
    for (int64_t i = 0; i < n; i++) x[i] /= scale[i];
    round_to(j->precision, x, n);
    if (hn_dtype_is_int(t)) {
        int64_t q[HN_BLOCK];
        for (int64_t i = 0; i < n; i++) q[i] = hn_quantize(t, x[i], zero[i]);
        hn_store_s64_n(t, j->out->data, from, n, q);
        return;
    }
    for (int64_t i = 0; i < n; i++) x[i] += zero[i];
    if (t == HONE_DTYPE_F4E2M1) {
        hn_store_f64_n(t, j->out->data, from, n, x);
        return;
    }
    uint8_t *y = j->out->data;
    for (int64_t i = 0; i < n; i++) y[from + i] = hn_fp8_from_f64(t, x[i], j->saturate);
}

static void dequantize(void *ctx, int64_t from, int64_t n) {
    const job *j = ctx;
    double x[HN_BLOCK], scale[HN_BLOCK], zero[HN_BLOCK];
    gather(j, from, n, scale, zero);
    hn_load_f64_n(j->in->dtype, j->in->data, from, n, x);
    for (int64_t i = 0; i < n; i++) x[i] = (x[i] - zero[i]) * scale[i];
    hn_store_f64_n(j->out->dtype, j->out->data, from, n, x);
}

static hone_status run(hn_eval *e, job *j, void (*fn)(void *, int64_t, int64_t), hn_error *err) {
    const hn_tensor *zero = hn_eval_in(e, 2);
    j->by = hn_scaling_of(e->node, e->in[0], e->in[1]);
    j->in = e->in[0];
    j->out = e->out[0];
    j->scale = hn_scratch_f64(e, e->in[1]);
    if (zero != NULL) j->zero = hn_scratch_f64(e, zero);
    if (j->scale == NULL || (zero != NULL && j->zero == NULL)) return HN_NOMEM(err);
    hn_for_blocks(e->pool, j->out->n, fn, j);
    return HONE_OK;
}

/* ---- QuantizeLinear ---- */

static hone_status infer_quantize(hn_infer *c, hn_error *err) {
    hone_dtype by_zero = c->out[0].dtype; /* of the zero point, when there is one */
    bool standard = hn_op_attr(c->node->op, "output_dtype") != NULL;
    if (standard && hn_attr_i(c->node, "output_dtype") != 0) {
        HN_TRY(hn_set_dtype_named(c, 0, "output_dtype", err));
        HN_CHECK(err, by_zero == HONE_DTYPE_NONE || by_zero == c->out[0].dtype, HONE_E_TYPE,
                 "output_dtype is %s but the zero point is %s", hone_dtype_name(c->out[0].dtype),
                 hone_dtype_name(by_zero));
    } else if (!hn_has_in(c, 2)) {
        hn_set_dtype(c, 0, HONE_DTYPE_U8);
    }
    HN_TRY(check_scale(c, err));
    return hn_infer_same(c, err);
}

static hone_status ref_quantize(hn_eval *e, hn_error *err) {
    const hn_op_def *op = e->node->op;
    job j = {.precision = e->in[1]->dtype, .saturate = true};
    if (hn_op_attr(op, "precision") != NULL && hn_attr_i(e->node, "precision") != 0) {
        int64_t p = hn_attr_i(e->node, "precision");
        HN_CHECK(err,
                 p == HONE_DTYPE_F32 || p == HONE_DTYPE_F16 || p == HONE_DTYPE_BF16 ||
                     p == HONE_DTYPE_F64,
                 HONE_E_TYPE, "precision is %lld, expected a float type (1, 10, 11 or 16)",
                 (long long)p);
        j.precision = (hone_dtype)p;
    } else if (j.precision == HONE_DTYPE_F8E8M0) {
        j.precision = HONE_DTYPE_F32; /* powers of two: no precision of their own */
    }
    if (hn_op_attr(op, "saturate") != NULL) j.saturate = hn_attr_i(e->node, "saturate") != 0;
    return run(e, &j, quantize, err);
}

const hn_op_def hn_op_quantize_linear = {
    .name = "QuantizeLinear",
    .versions = "10 13 19 21 23 24 25 28",
    .sig =
        "(x:T1, y_scale:T2, y_zero_point:T3?) -> (y:T3);"
        "T1: f32 f16 bf16 s32; T2: f32 f16 bf16 s32 f8e8m0;"
        "T3: s8 u8 s16 u16 int4 int2 fp8 f4e2m1",
    .attrs = (const hn_attr_def[]){HN_ATTR_I("axis", 1),
                                   HN_ATTR_I("block_size", 0),
                                   HN_ATTR_I("output_dtype", 0),
                                   HN_ATTR_I("precision", 0),
                                   HN_ATTR_I("saturate", 1),
                                   {0}},
    .traits = HN_CONVERTS,
    .settings = 1 << 1,
    .infer = infer_quantize,
    .ref = ref_quantize};

const hn_op_def hn_op_ms_quantize_linear = {
    .domain = "com.microsoft",
    .name = "QuantizeLinear",
    .versions = "1",
    .sig =
        "(x:T1, y_scale:T1, y_zero_point:T2?) -> (y:T2);"
        "T1: f16 f32; T2: s8 u8 s16 u16 int4",
    .attrs = (const hn_attr_def[]){HN_ATTR_I("axis", 1), {0}},
    .settings = 1 << 1,
    .infer = infer_quantize,
    .ref = ref_quantize};

/* ---- DequantizeLinear ---- */

static hone_status infer_dequantize(hn_infer *c, hn_error *err) {
    if (hn_op_attr(c->node->op, "output_dtype") != NULL &&
        hn_attr_i(c->node, "output_dtype") != 0) {
        HN_TRY(hn_set_dtype_named(c, 0, "output_dtype", err));
    } else {
        hone_dtype t = c->in[1].dtype;
        HN_CHECK(err, t != HONE_DTYPE_F8E8M0, HONE_E_TYPE,
                 "a scale of f8e8m0 needs output_dtype to say the type of the output");
        hn_set_dtype(c, 0, t);
    }
    HN_TRY(check_scale(c, err));
    return hn_infer_same(c, err);
}

static hone_status ref_dequantize(hn_eval *e, hn_error *err) {
    return run(e, &(job){0}, dequantize, err);
}

const hn_op_def hn_op_dequantize_linear = {
    .name = "DequantizeLinear",
    .versions = "10 13 19 21 23 24 25 28",
    .sig =
        "(x:T1, x_scale:T2, x_zero_point:T1?) -> (y:T3);"
        "T1: s8 u8 s16 u16 s32 int4 int2 fp8 f4e2m1; T2: f32 f16 bf16 f8e8m0;"
        "T3: f32 f16 bf16",
    .attrs =
        (const hn_attr_def[]){
            HN_ATTR_I("axis", 1), HN_ATTR_I("block_size", 0), HN_ATTR_I("output_dtype", 0), {0}},
    .traits = HN_CONVERTS,
    .settings = 1 << 1,
    .no_grad = "it reads integers",
    .infer = infer_dequantize,
    .ref = ref_dequantize};

const hn_op_def hn_op_ms_dequantize_linear = {
    .domain = "com.microsoft",
    .name = "DequantizeLinear",
    .versions = "1",
    .sig =
        "(x:T1, x_scale:T2, x_zero_point:T1?) -> (y:T2);"
        "T1: s8 u8 s16 u16 s32 int4; T2: f16 f32",
    .attrs = (const hn_attr_def[]){HN_ATTR_I("axis", 1), {0}},
    .settings = 1 << 1,
    .no_grad = "it reads integers",
    .infer = infer_dequantize,
    .ref = ref_dequantize};

/* Products of com.microsoft whose operands are 8-bit integers and whose result may be a float:
 *
 *     MatMulIntegerToFloat    (A - za)(B - zb) * sa * sb + bias
 *     DynamicQuantizeMatMul   the same, A being brought to u8 first as DynamicQuantizeLinear does
 *     QGemm                   (A' - za)(B' - zb) + C, times sa * sb * alpha, or brought to 8 bits
 *
 * The sums are s32 and wrap; float results are rounded once.
 */
#include "ops/gemm.h"
#include "ops/matmul_ref.h"
#include "ops/requant.h"

typedef struct target {
    hn_tensor *y;
    int64_t m, n;
    double a_scale;
    const hn_tensor *b_scale; /* numbers b_at says */
    hn_matmul_param b_at;
    const hn_tensor *bias; /* [n] or NULL */
} target;

static void store_float(const void *ctx, const hn_block *at, const void *sums, int64_t pitch) {
    const target *t = ctx;
    for (int64_t r = 0; r < at->n_rows; r++) {
        int64_t to = (at->batch * t->m + at->row + r) * t->n + at->col;
        for (int64_t j = 0; j < at->n_cols; j++) {
            int64_t col = at->col + j, sum = ((const int64_t *)sums)[r * pitch + j];
            int64_t which = hn_matmul_param_at(&t->b_at, at->batch, col);
            double v =
                (double)(int32_t)(uint32_t)sum * t->a_scale * hn_tensor_f64(t->b_scale, which);
            if (t->bias != NULL) v += hn_tensor_f64(t->bias, col);
            hn_store_f64(t->y->dtype, t->y->data, to + j, v);
        }
    }
}

/* A · B with zero points into t->y; y, a_scale, b_scale and bias are set. */
static hone_status multiply(hn_eval *e, const hn_tensor *a, const hn_tensor *b,
                            const hn_tensor *a_zero, const hn_tensor *b_zero, target *t,
                            hn_error *err) {
    hn_matmul p;
    HN_TRY(hn_matmul_plan(e, a, b, 0, t->y, &p, err));
    HN_TRY(hn_matmul_zeros(e, &p, a_zero, b_zero, err));
    HN_TRY(hn_matmul_param_plan(e, &p, t->b_scale, false, &t->b_at, err));
    t->m = p.m;
    t->n = p.n;
    hn_gemm g = {.n_batch = p.n_batch,
                 .m = p.m,
                 .n = p.n,
                 .k = p.k,
                 .integer = true,
                 .a = hn_matrix_s64(&p.a),
                 .b = hn_matrix_s64(&p.b),
                 .store = store_float,
                 .out = t};
    return hn_gemm_ref(e, &g, err);
}

static hone_status want_bias(const hn_infer *c, int b, int bias, hn_error *err) {
    HN_TRY(hn_want_rank(c, bias, 1, 1, err));
    int rank = hn_in_rank(c, b);
    if (hn_in_rank(c, bias) < 0 || rank < 1) return HONE_OK;
    return hn_want_equal(hn_in_shape(c, bias)->dim[0],
                         rank == 1 ? hn_dim_const(c->dims, 1) : hn_in_shape(c, b)->dim[rank - 1],
                         "sizes of the bias and columns of B", err);
}

/* ---- MatMulIntegerToFloat ---- */

enum { TF_A, TF_B, TF_A_SCALE, TF_B_SCALE, TF_A_ZERO, TF_B_ZERO, TF_BIAS };

static hone_status to_float_infer(hn_infer *c, hn_error *err) {
    HN_TRY(hn_want_per_channel(c, TF_A_SCALE, NULL, err));
    HN_TRY(hn_want_per_channel(c, TF_A_ZERO, NULL, err));
    HN_TRY(hn_matmul_param_infer(c, TF_B, TF_B_SCALE, false, err));
    HN_TRY(hn_matmul_param_infer(c, TF_B, TF_B_ZERO, false, err));
    HN_TRY(want_bias(c, TF_B, TF_BIAS, err));
    return hn_matmul_infer(c, TF_A, TF_B, 0, err);
}

static hone_status to_float_ref(hn_eval *e, hn_error *err) {
    target t = {.y = e->out[0],
                .a_scale = hn_tensor_f64(e->in[TF_A_SCALE], 0),
                .b_scale = e->in[TF_B_SCALE],
                .bias = hn_eval_in(e, TF_BIAS)};
    return multiply(e, e->in[TF_A], e->in[TF_B], hn_eval_in(e, TF_A_ZERO), hn_eval_in(e, TF_B_ZERO),
                    &t, err);
}

static void matmul_cost(const hn_infer *c, hn_cost *cost) { hn_matmul_cost(c, 0, 1, 0, cost); }

const hn_op_def hn_op_ms_matmul_integer_to_float = {
    .domain = "com.microsoft",
    .name = "MatMulIntegerToFloat",
    .versions = "1",
    .sig =
        "(A:T1, B:T2, a_scale:T3, b_scale:T3, a_zero_point:T1?, b_zero_point:T2?, bias:T3?)"
        " -> (Y:T3); T1: s8 u8; T2: s8 u8; T3: f32 f16",
    .quantized = &(const hn_quantized_def){.of = "MatMul", .weight = 1, .scale = 3, .zero = 5},
    .no_grad = "it computes in integers",
    .infer = to_float_infer,
    .ref = to_float_ref,
    .cost = matmul_cost,
};

/* ---- DynamicQuantizeMatMul ---- */

enum { DQ_A, DQ_B, DQ_B_SCALE, DQ_B_ZERO, DQ_BIAS };

static hone_status dynamic_infer(hn_infer *c, hn_error *err) {
    HN_TRY(hn_matmul_param_infer(c, DQ_B, DQ_B_SCALE, false, err));
    HN_TRY(hn_matmul_param_infer(c, DQ_B, DQ_B_ZERO, false, err));
    HN_TRY(want_bias(c, DQ_B, DQ_BIAS, err));
    return hn_matmul_infer(c, DQ_A, DQ_B, 0, err);
}

static hone_status dynamic_ref(hn_eval *e, hn_error *err) {
    const hn_tensor *a = e->in[DQ_A];
    const float *x = a->data;
    hn_quant_params q = hn_dynamic_range(x, a->n);
    hn_tensor codes, zero;
    uint8_t *code = hn_scratch(e, a->n, 1);
    if (code == NULL) return HN_NOMEM(err);
    HN_TRY(hn_tensor_borrow(&codes, HONE_DTYPE_U8, a->rank, a->dims, code, err));
    HN_TRY(hn_tensor_borrow(&zero, HONE_DTYPE_U8, 0, NULL, &q.zero_point, err));
    for (int64_t i = 0; i < a->n; i++)
        code[i] = (uint8_t)hn_quantize(HONE_DTYPE_U8, (double)(x[i] / q.scale), q.zero_point);
    target t = {.y = e->out[0],
                .a_scale = q.scale,
                .b_scale = e->in[DQ_B_SCALE],
                .bias = hn_eval_in(e, DQ_BIAS)};
    return multiply(e, &codes, e->in[DQ_B], &zero, hn_eval_in(e, DQ_B_ZERO), &t, err);
}

const hn_op_def hn_op_ms_dynamic_quantize_matmul = {
    .domain = "com.microsoft",
    .name = "DynamicQuantizeMatMul",
    .versions = "1",
    .sig = "(A:f32, B:T, b_scale:f32, b_zero_point:T?, bias:f32?) -> (Y:f32); T: s8 u8",
    .quantized = &(const hn_quantized_def){.of = "MatMul", .weight = 1, .scale = 2, .zero = 3},
    .no_grad = "it computes in integers",
    .infer = dynamic_infer,
    .ref = dynamic_ref,
    .cost = matmul_cost,
};

/* ---- QGemm ---- */

enum { A, A_SCALE, A_ZERO, B, B_SCALE, B_ZERO, C, Y_SCALE, Y_ZERO };

static hone_status qgemm_infer(hn_infer *c, hn_error *err) {
    bool quantized = hn_has_in(c, Y_SCALE);
    HN_CHECK(err, quantized || !hn_has_in(c, Y_ZERO), HONE_E_MODEL,
             "y_zero_point is given without y_scale");
    hn_set_dtype(c, 0,
                 !quantized             ? HONE_DTYPE_F32
                 : hn_has_in(c, Y_ZERO) ? c->in[Y_ZERO].dtype
                                        : HONE_DTYPE_U8);
    HN_TRY(hn_want_rank(c, A, 2, 2, err));
    HN_TRY(hn_want_rank(c, B, 2, 2, err));
    HN_TRY(hn_want_rank(c, C, 0, 2, err));
    for (int i = A_SCALE; i <= Y_ZERO; i++)
        if (i != B && i != B_SCALE && i != B_ZERO && i != C)
            HN_TRY(hn_want_per_channel(c, i, NULL, err));
    const hn_shape *a = hn_in_shape(c, A), *b = hn_in_shape(c, B);
    if (a->rank < 0 || b->rank < 0) return HONE_OK;
    int ta = hn_attr_i(c->node, "transA") != 0, tb = hn_attr_i(c->node, "transB") != 0;
    HN_TRY(hn_want_equal(a->dim[1 - ta], b->dim[tb], "columns of A and rows of B", err));
    hn_shape y = {.rank = 2, .dim = {a->dim[ta], b->dim[1 - tb]}};
    HN_TRY(hn_want_per_channel(c, B_SCALE, y.dim[1], err));
    HN_TRY(hn_want_per_channel(c, B_ZERO, y.dim[1], err));
    HN_TRY(hn_gemm_want_bias(c, C, &y, err));
    hn_set_shape(c, 0, &y);
    return HONE_OK;
}

static void qgemm_cost(const hn_infer *c, hn_cost *cost) {
    const hn_shape *a = hn_in_shape(c, A), *y = &c->out[0].shape;
    if (a->rank != 2) return;
    cost->macs = hn_dim_mul(c->dims, hn_shape_product(c->dims, y, 0, y->rank),
                            a->dim[hn_attr_i(c->node, "transA") != 0 ? 0 : 1]);
}

typedef struct qgemm {
    hn_tensor *y;
    const hn_tensor *b_scale;
    hn_gemm_bias c;
    double a_scale, alpha, y_scale; /* y_scale 0: the result is float */
    int64_t zero;
} qgemm;

static void store_qgemm(const void *ctx, const hn_block *at, const void *sums, int64_t pitch) {
    const qgemm *t = ctx;
    for (int64_t r = 0; r < at->n_rows; r++)
        for (int64_t j = 0; j < at->n_cols; j++) {
            int64_t row = at->row + r, col = at->col + j, to = row * t->y->dims[1] + col;
            uint64_t sum = (uint64_t)((const int64_t *)sums)[r * pitch + j];
            if (t->c.t != NULL)
                sum += (uint64_t)hn_tensor_s64(t->c.t, hn_gemm_bias_at(&t->c, row, col));
            int32_t acc = (int32_t)(uint32_t)sum;
            double scale = t->alpha * t->a_scale, b = hn_channel_f64(t->b_scale, col);
            if (t->y->dtype == HONE_DTYPE_F32)
                hn_store_f64(t->y->dtype, t->y->data, to, (double)acc * scale * b);
            else
                hn_store_s64(
                    t->y->dtype, t->y->data, to,
                    hn_requant(t->y->dtype, acc, hn_requant_scale(scale, b, t->y_scale), t->zero));
        }
}

static hone_status qgemm_ref(hn_eval *e, hn_error *err) {
    const hn_tensor *a = e->in[A], *b = e->in[B], *y_zero = hn_eval_in(e, Y_ZERO);
    const hn_tensor *y_scale = hn_eval_in(e, Y_SCALE);
    int ta = hn_attr_i(e->node, "transA") != 0, tb = hn_attr_i(e->node, "transB") != 0;
    const int64_t *a_zero = hn_scratch_s64(e, e->in[A_ZERO]);
    const int64_t *b_zero = hn_scratch_s64(e, e->in[B_ZERO]);
    if (a_zero == NULL || b_zero == NULL) return HN_NOMEM(err);
    hn_strided_matrix sa = {.t = a,
                            .row_stride = ta ? 1 : a->dims[1],
                            .col_stride = ta ? a->dims[1] : 1,
                            .zero = a_zero};
    hn_strided_matrix sb = {.t = b,
                            .row_stride = tb ? 1 : b->dims[1],
                            .col_stride = tb ? b->dims[1] : 1,
                            .zero = b_zero,
                            .zero_col = e->in[B_ZERO]->n == 1 ? 0 : 1};
    qgemm t = {.y = e->out[0],
               .b_scale = e->in[B_SCALE],
               .c = hn_gemm_bias_of(hn_eval_in(e, C)),
               .a_scale = hn_tensor_f64(e->in[A_SCALE], 0),
               .alpha = hn_attr_f(e->node, "alpha"),
               .y_scale = y_scale != NULL ? hn_tensor_f64(y_scale, 0) : 0,
               .zero = y_zero != NULL ? hn_tensor_s64(y_zero, 0) : 0};
    hn_gemm g = {.n_batch = 1,
                 .m = a->dims[ta],
                 .n = b->dims[1 - tb],
                 .k = a->dims[1 - ta],
                 .integer = true,
                 .a = hn_matrix_s64(&sa),
                 .b = hn_matrix_s64(&sb),
                 .store = store_qgemm,
                 .out = &t};
    return hn_gemm_ref(e, &g, err);
}

static const hn_attr_def qgemm_attrs[] = {
    HN_ATTR_F("alpha", 1),
    HN_ATTR_I("transA", 0),
    HN_ATTR_I("transB", 0),
    {0},
};

const hn_op_def hn_op_ms_qgemm = {
    .no_grad = "it computes in integers",
    .domain = "com.microsoft",
    .name = "QGemm",
    .versions = "1",
    .sig =
        "(A:TA, a_scale:f32, a_zero_point:TA, B:TB, b_scale:f32, b_zero_point:TB, C:s32?,"
        " y_scale:f32?, y_zero_point:TYZ?) -> (Y:TY); TA: s8 u8; TB: s8 u8; TYZ: s8 u8;"
        " TY: f32 s8 u8",
    .attrs = qgemm_attrs,
    .quantized = &(const hn_quantized_def){.of = "Gemm", .weight = 3, .scale = 4, .zero = 5},
    .infer = qgemm_infer,
    .ref = qgemm_ref,
    .cost = qgemm_cost,
};

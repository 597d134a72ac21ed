/* MatMulInteger and QLinearMatMul: products of 8-bit integers with s32 sums that wrap, given as
 * they are or brought back to 8 bits (requant.h). QLinearMatMul also takes the fp8 types, for which
 * it is the float product, rounded once. */
#include "ops/matmul_ref.h"
#include "ops/requant.h"

static hn_gemm integer_gemm(const hn_matmul *p) {
    return (hn_gemm){.n_batch = p->n_batch,
                     .m = p->m,
                     .n = p->n,
                     .k = p->k,
                     .integer = true,
                     .a = hn_matrix_s64(&p->a),
                     .b = hn_matrix_s64(&p->b)};
}

/* ---- MatMulInteger ---- */

static hone_status integer_infer(hn_infer *c, hn_error *err) {
    HN_TRY(hn_matmul_param_infer(c, 0, 2, true, err));
    HN_TRY(hn_matmul_param_infer(c, 1, 3, false, err));
    return hn_matmul_infer(c, 0, 1, 0, err);
}

static void integer_cost(const hn_infer *c, hn_cost *cost) { hn_matmul_cost(c, 0, 1, 0, cost); }

static hone_status integer_ref(hn_eval *e, hn_error *err) {
    hn_matmul p;
    HN_TRY(hn_matmul_plan(e, e->in[0], e->in[1], 0, e->out[0], &p, err));
    HN_TRY(hn_matmul_zeros(e, &p, hn_eval_in(e, 2), hn_eval_in(e, 3), err));
    hn_gemm g = integer_gemm(&p);
    g.store = hn_store_dense_s64;
    g.out = &p.out;
    return hn_gemm_ref(e, &g, err);
}

const hn_op_def hn_op_matmul_integer = {
    .name = "MatMulInteger",
    .versions = "10",
    .sig = "(A:T1, B:T2, a_zero_point:T1?, b_zero_point:T2?) -> (Y:s32); T1: s8 u8; T2: s8 u8",
    .quantized = &(const hn_quantized_def){.of = "MatMul Gemm", .weight = 1, .zero = 3},
    .infer = integer_infer,
    .ref = integer_ref,
    .cost = integer_cost,
};

/* ---- QLinearMatMul ---- */

enum { A, A_SCALE, A_ZERO, B, B_SCALE, B_ZERO, Y_SCALE, Y_ZERO };

static hone_status qlinear_infer(hn_infer *c, hn_error *err) {
    HN_TRY(hn_matmul_param_infer(c, A, A_SCALE, true, err));
    HN_TRY(hn_matmul_param_infer(c, A, A_ZERO, true, err));
    HN_TRY(hn_matmul_param_infer(c, B, B_SCALE, false, err));
    HN_TRY(hn_matmul_param_infer(c, B, B_ZERO, false, err));
    HN_TRY(hn_want_per_channel(c, Y_SCALE, NULL, err));
    HN_TRY(hn_want_per_channel(c, Y_ZERO, NULL, err));
    bool fp8 = hn_dtype_is_float(c->in[A].dtype);
    HN_CHECK(err,
             c->in[A].dtype == HONE_DTYPE_NONE || (fp8 == hn_dtype_is_float(c->in[B].dtype) &&
                                                   fp8 == hn_dtype_is_float(c->in[Y_ZERO].dtype)),
             HONE_E_TYPE, "a is %s, b is %s and y is %s, expected all integers or all fp8",
             hone_dtype_name(c->in[A].dtype), hone_dtype_name(c->in[B].dtype),
             hone_dtype_name(c->in[Y_ZERO].dtype));
    return hn_matmul_infer(c, A, B, 0, err);
}

static void qlinear_cost(const hn_infer *c, hn_cost *cost) { hn_matmul_cost(c, A, B, 0, cost); }

typedef struct target {
    const hn_matmul *p;
    hn_tensor *y;
    const hn_tensor *a_scale, *b_scale;
    hn_matmul_param a_at, b_at; /* where in the scales */
    double y_scale;
    int64_t zero;
} target;

static void scales_at(const target *t, const hn_block *at, int64_t r, int64_t j, double *a,
                      double *b) {
    *a = hn_tensor_f64(t->a_scale, hn_matmul_param_at(&t->a_at, at->batch, at->row + r));
    *b = hn_tensor_f64(t->b_scale, hn_matmul_param_at(&t->b_at, at->batch, at->col + j));
}

static void store_s64(const void *ctx, const hn_block *at, const void *sums, int64_t pitch) {
    const target *t = ctx;
    for (int64_t r = 0; r < at->n_rows; r++) {
        int64_t to = (at->batch * t->p->m + at->row + r) * t->p->n + at->col;
        for (int64_t j = 0; j < at->n_cols; j++) {
            double a, b;
            scales_at(t, at, r, j, &a, &b);
            int32_t sum = (int32_t)(uint32_t)(uint64_t)((const int64_t *)sums)[r * pitch + j];
            hn_store_s64(t->y->dtype, t->y->data, to + j,
                         hn_requant(t->y->dtype, sum, hn_requant_scale(a, b, t->y_scale), t->zero));
        }
    }
}

static void store_f64(const void *ctx, const hn_block *at, const void *sums, int64_t pitch) {
    const target *t = ctx;
    for (int64_t r = 0; r < at->n_rows; r++) {
        int64_t to = (at->batch * t->p->m + at->row + r) * t->p->n + at->col;
        for (int64_t j = 0; j < at->n_cols; j++) {
            double a, b;
            scales_at(t, at, r, j, &a, &b);
            hn_store_f64(t->y->dtype, t->y->data, to + j,
                         ((const double *)sums)[r * pitch + j] * (a * b / t->y_scale));
        }
    }
}

static hone_status want_zero(const hn_tensor *t, const char *name, hn_error *err) {
    for (int64_t i = 0; i < t->n; i++)
        HN_CHECK(err, hn_tensor_f64(t, i) == 0, HONE_E_ARG,
                 "%s is %g, expected 0: fp8 types have no zero point", name, hn_tensor_f64(t, i));
    return HONE_OK;
}

static hone_status qlinear_ref(hn_eval *e, hn_error *err) {
    hn_matmul p;
    HN_TRY(hn_matmul_plan(e, e->in[A], e->in[B], 0, e->out[0], &p, err));
    target t = {.p = &p,
                .y = e->out[0],
                .a_scale = e->in[A_SCALE],
                .b_scale = e->in[B_SCALE],
                .y_scale = hn_tensor_f64(e->in[Y_SCALE], 0)};
    HN_TRY(hn_matmul_param_plan(e, &p, t.a_scale, true, &t.a_at, err));
    HN_TRY(hn_matmul_param_plan(e, &p, t.b_scale, false, &t.b_at, err));
    hn_gemm g = integer_gemm(&p);
    g.out = &t;
    if (hn_dtype_is_float(e->in[A]->dtype)) {
        HN_TRY(want_zero(e->in[A_ZERO], "a_zero_point", err));
        HN_TRY(want_zero(e->in[B_ZERO], "b_zero_point", err));
        HN_TRY(want_zero(e->in[Y_ZERO], "y_zero_point", err));
        g.integer = false;
        g.a = hn_matrix_f64(&p.a);
        g.b = hn_matrix_f64(&p.b);
        g.store = store_f64;
    } else {
        HN_TRY(hn_matmul_zeros(e, &p, e->in[A_ZERO], e->in[B_ZERO], err));
        t.zero = hn_tensor_s64(e->in[Y_ZERO], 0);
        g.store = store_s64;
    }
    return hn_gemm_ref(e, &g, err);
}

const hn_op_def hn_op_qlinear_matmul = {
    .name = "QLinearMatMul",
    .versions = "10 21",
    .sig =
        "(a:T1, a_scale:TS, a_zero_point:T1, b:T2, b_scale:TS, b_zero_point:T2, y_scale:TS,"
        " y_zero_point:T3) -> (y:T3); TS: f16 f32 bf16; T1: s8 u8 fp8; T2: s8 u8 fp8;"
        " T3: s8 u8 fp8",
    .settings = 1 << 1 | 1 << 4 | 1 << 6,
    .quantized = &(const hn_quantized_def){.of = "MatMul", .weight = 3, .scale = 4, .zero = 5},
    .infer = qlinear_infer,
    .ref = qlinear_ref,
    .cost = qlinear_cost,
};

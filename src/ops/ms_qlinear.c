/* QLinearAdd, QLinearMul, QLinearSigmoid and QLinearLeakyRelu of com.microsoft: 8-bit in and out.
 *
 *     add   c = saturate(rne((float)(a - za) * ma + (float)(b - zb) * mb) + zc),  ma = sa / sc ...
 *     mul   c = saturate(rne((float)((a - za)(b - zb)) * m) + zc),                m = sa * sb / sc
 *
 * with each float operation rounded on its own, so every machine gives the same bits. A function of
 * one 8-bit number is a table of 256, computed in double; its exponential is hone's own for the
 * same reason.
 */
#include "ops/broadcast.h"
#include "ops/quantize.h"
#include "ops/requant.h"
#include "ops/scalar.h"

typedef struct qparams {
    double scale;
    int64_t zero_point;
} qparams;

/* Inputs `at` and `at` + 1; the zero point may be absent. */
static hone_status read_params(const hn_eval *e, int at, qparams *p, hn_error *err) {
    const hn_tensor *scale = e->in[at], *zero = hn_eval_in(e, at + 1);
    for (int i = at; i < at + 2; i++) {
        const hn_tensor *t = hn_eval_in(e, i);
        HN_CHECK(err, t == NULL || t->n == 1, HONE_E_SHAPE,
                 "input %d has %lld elements, expected 1", i, (long long)t->n);
    }
    p->scale = hn_tensor_f64(scale, 0);
    p->zero_point = zero != NULL ? hn_tensor_s64(zero, 0) : 0;
    HN_CHECK(err, p->scale > 0, HONE_E_ARG, "input %d: the scale is %g, expected a positive number",
             at, p->scale);
    return HONE_OK;
}

/* ---- QLinearAdd, QLinearMul ---- */

typedef struct job {
    bool multiply;
    hn_broadcast a, b;
    int64_t za, zb, zc;
    float ma, mb; /* mul: ma alone */
    hn_tensor *out;
} job;

static void run(void *ctx, int64_t from, int64_t n) {
    const job *j = ctx;
    hone_dtype t = j->out->dtype;
    int64_t a[HN_BLOCK], b[HN_BLOCK];
    hn_broadcast_s64(&j->a, from, n, a);
    hn_broadcast_s64(&j->b, from, n, b);
    for (int64_t i = 0; i < n; i++) {
        int64_t x = a[i] - j->za, y = b[i] - j->zb;
        float v = j->multiply ? (float)(x * y) * j->ma : (float)x * j->ma + (float)y * j->mb;
        a[i] = hn_quantize(t, (double)v, (double)j->zc);
    }
    hn_store_s64_n(t, j->out->data, from, n, a);
}

/* A, A_scale, A_zero_point, B, B_scale, B_zero_point, C_scale, C_zero_point */
static hone_status ref_binary(hn_eval *e, hn_error *err) {
    job j = {.multiply = *(const bool *)e->node->op->data, .out = e->out[0]};
    qparams a, b, c;
    HN_TRY(read_params(e, 1, &a, err));
    HN_TRY(read_params(e, 4, &b, err));
    HN_TRY(read_params(e, 6, &c, err));
    j.za = a.zero_point, j.zb = b.zero_point, j.zc = c.zero_point;
    j.ma = hn_requant_scale(a.scale, j.multiply ? b.scale : 1, c.scale);
    j.mb = hn_requant_scale(b.scale, 1, c.scale);
    hn_broadcast_init(&j.a, e->in[0], j.out->rank, j.out->dims);
    hn_broadcast_init(&j.b, e->in[3], j.out->rank, j.out->dims);
    hn_for_blocks(e->pool, j.out->n, run, &j);
    return HONE_OK;
}

static hone_status infer_binary(hn_infer *c, hn_error *err) {
    hn_shape s;
    char a[256], b[256];
    HN_CHECK(err, hn_shape_broadcast(c->dims, hn_in_shape(c, 0), hn_in_shape(c, 3), &s),
             HONE_E_SHAPE, "A of shape %s does not broadcast with B of shape %s",
             hn_shape_text(hn_in_shape(c, 0), a, sizeof a),
             hn_shape_text(hn_in_shape(c, 3), b, sizeof b));
    hn_set_shape(c, 0, &s);
    return HONE_OK;
}

#define QLINEAR_BINARY(lc, OF, MULTIPLY)                                             \
    const hn_op_def hn_op_##lc = {                                                   \
        .domain = "com.microsoft",                                                   \
        .name = "QLinear" OF,                                                        \
        .versions = "1",                                                             \
        .sig =                                                                       \
            "(A:T, A_scale:f32, A_zero_point:T?, B:T, B_scale:f32, B_zero_point:T?," \
            "C_scale:f32, C_zero_point:T?) -> (C:T); T: u8 s8",                      \
        .quantized = &(const hn_quantized_def){.of = OF},                            \
        .infer = infer_binary,                                                       \
        .ref = ref_binary,                                                           \
        .data = &(const bool){MULTIPLY}};

QLINEAR_BINARY(ms_qlinear_add, "Add", false)
QLINEAR_BINARY(ms_qlinear_mul, "Mul", true)

/* ---- QLinearSigmoid, QLinearLeakyRelu ---- */

typedef struct table_job {
    uint8_t y[256]; /* by the bits of x */
    const uint8_t *in;
    uint8_t *out;
} table_job;

static void look_up(void *ctx, int64_t from, int64_t n) {
    const table_job *j = ctx;
    for (int64_t i = from; i < from + n; i++) j->out[i] = j->y[j->in[i]];
}

static double sigmoid(const hn_node *n, double x) {
    (void)n;
    return 1 / (1 + hn_exp(-x));
}

static double leaky_relu(const hn_node *n, double x) {
    return x < 0 ? (double)hn_attr_f(n, "alpha") * x : x;
}

/* X, X_scale, X_zero_point, Y_scale, Y_zero_point */
static hone_status ref_unary(hn_eval *e, hn_error *err) {
    const hn_tensor *x = e->in[0];
    table_job j = {.in = x->data, .out = e->out[0]->data};
    qparams qx, qy;
    HN_TRY(read_params(e, 1, &qx, err));
    HN_TRY(read_params(e, 3, &qy, err));
    for (int q = 0; q < 256; q++) {
        int64_t level = (x->dtype == HONE_DTYPE_S8 ? (int8_t)q : q) - qx.zero_point;
        double y = e->node->op->function(e->node, (double)level * qx.scale);
        j.y[q] = (uint8_t)hn_quantize(x->dtype, y / qy.scale, (double)qy.zero_point);
    }
    hn_for_blocks(e->pool, x->n, look_up, &j);
    return HONE_OK;
}

#define QLINEAR_UNARY(lc, OF, FUNCTION, ...)                                              \
    const hn_op_def hn_op_##lc = {                                                        \
        .domain = "com.microsoft",                                                        \
        .name = "QLinear" OF,                                                             \
        .versions = "1",                                                                  \
        .sig =                                                                            \
            "(X:T, X_scale:f32, X_zero_point:T?, Y_scale:f32, Y_zero_point:T?) -> (Y:T);" \
            "T: u8 s8",                                                                   \
        .function = FUNCTION,                                                             \
        .quantized = &(const hn_quantized_def){.of = OF},                                 \
        .infer = hn_infer_same,                                                           \
        .ref = ref_unary,                                                                 \
        __VA_ARGS__};

QLINEAR_UNARY(ms_qlinear_sigmoid, "Sigmoid", sigmoid, .attrs = NULL)
QLINEAR_UNARY(ms_qlinear_leaky_relu, "LeakyRelu", leaky_relu,
              .attrs = (const hn_attr_def[]){HN_ATTR_F("alpha", 0.01f), {0}})

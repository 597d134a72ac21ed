/* Functions of one number, one table row each: computed in double and rounded once. Those that take
 * integers too (Abs, Neg, Relu, Sign) treat them exactly, wrapping as two's complement. Not and
 * BitwiseNot are here as well: bools are integers of value 0 and 1.
 */
#include "ops/broadcast.h"
#include "ops/scalar.h"

typedef struct unary {
    double (*f)(double x);
    double (*g)(double x, double a, double b); /* instead of f: takes the attributes named below */
    const char *a, *b;
    int64_t (*s64)(int64_t x, bool is_u64); /* of any integer type, u64 as its bits */
    hn_dim (*known)(hn_infer *c, const hn_dim *x);
} unary;

/* ---- floats: NaN passes through all of them but ThresholdedRelu and Shrink ---- */

static double clamp(double lo, double x, double hi) { return x < lo ? lo : x > hi ? hi : x; }

static double hard_swish(double x) { return x * clamp(0, x / 6 + 0.5, 1); }
static double mish(double x) { return x * tanh(hn_softplus(x)); }
static double neg(double x) { return -x; }
static double reciprocal(double x) { return 1 / x; }
static double relu(double x) { return x < 0 ? 0 : x; }
static double sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }
static double softsign(double x) { return x / (1 + fabs(x)); }

static double celu(double x, double alpha, double unused) {
    (void)unused;
    double y = alpha * expm1(x / alpha);
    return relu(x) + (y > 0 ? 0 : y);
}

static double elu(double x, double alpha, double unused) {
    (void)unused;
    return x < 0 ? alpha * expm1(x) : x;
}

static double hard_sigmoid(double x, double alpha, double beta) {
    return clamp(0, alpha * x + beta, 1);
}

static double leaky_relu(double x, double alpha, double unused) {
    (void)unused;
    return x < 0 ? alpha * x : x;
}

static double selu(double x, double alpha, double gamma) {
    return gamma * (x > 0 ? x : alpha * expm1(x));
}

static double swish(double x, double alpha, double unused) {
    (void)unused;
    return x * hn_sigmoid(alpha * x);
}

static double thresholded_relu(double x, double alpha, double unused) {
    (void)unused;
    return x > alpha ? x : 0;
}

/* ---- the same for tables of integers: the same bits on every machine ---- */

#define EXACT(name, expression)                              \
    static double exact_##name(const hn_node *n, double x) { \
        (void)n;                                             \
        return expression;                                   \
    }

static double alpha_of(const hn_node *n) { return (double)hn_attr_f(n, "alpha"); }
static double logistic(double x) { return 1 / (1 + hn_exp(-x)); }

EXACT(abs, fabs(x))
EXACT(elu, x < 0 ? alpha_of(n) * (hn_exp(x) - 1) : x)
EXACT(exp, hn_exp(x))
EXACT(hard_sigmoid, hard_sigmoid(x, alpha_of(n), (double)hn_attr_f(n, "beta")))
EXACT(hard_swish, hard_swish(x))
EXACT(leaky_relu, x < 0 ? alpha_of(n) * x : x)
EXACT(neg, -x)
EXACT(sigmoid, logistic(x))
EXACT(sqrt, sqrt(x))
EXACT(swish, x *logistic(alpha_of(n) * x))
EXACT(tanh, 2 * logistic(2 * x) - 1)

static bool relu_limits(const hn_node *n, double *lo, double *hi) {
    (void)n;
    *lo = 0;
    *hi = INFINITY;
    return true;
}

/* ---- integers: nothing unsigned is negative, u64 as s64 may seem so ---- */

static int64_t neg_s64(int64_t x, bool is_u64) {
    (void)is_u64;
    return (int64_t)(0 - (uint64_t)x);
}

static int64_t abs_s64(int64_t x, bool is_u64) { return x < 0 && !is_u64 ? neg_s64(x, false) : x; }
static int64_t relu_s64(int64_t x, bool is_u64) { return x < 0 && !is_u64 ? 0 : x; }

static int64_t sign_s64(int64_t x, bool is_u64) { return x < 0 && !is_u64 ? -1 : x != 0; }

static int64_t not_s64(int64_t x, bool is_u64) {
    (void)is_u64;
    return x == 0;
}

static int64_t bitwise_not_s64(int64_t x, bool is_u64) {
    (void)is_u64;
    return ~x;
}

/* ---- known contents ---- */

static hn_dim neg_known(hn_infer *c, const hn_dim *x) {
    return hn_dim_exact(x[0]) ? hn_dim_mulc(c->dims, x[0], -1) : NULL;
}

static hn_dim relu_known(hn_infer *c, const hn_dim *x) {
    return hn_dim_max(c->dims, x[0], hn_dim_const(c->dims, 0));
}

static hn_dim abs_known(hn_infer *c, const hn_dim *x) {
    return hn_dim_exact(x[0]) ? hn_dim_max(c->dims, x[0], neg_known(c, x)) : NULL;
}

/* ---- the operators ---- */

typedef struct job {
    const unary *op;
    double a, b;
    const hn_tensor *in;
    hn_tensor *out;
} job;

static void run_f64(void *ctx, int64_t from, int64_t n) {
    const job *j = ctx;
    double x[HN_BLOCK];
    hn_load_f64_n(j->in->dtype, j->in->data, from, n, x);
    if (j->op->f != NULL)
        for (int64_t i = 0; i < n; i++) x[i] = j->op->f(x[i]);
    else
        for (int64_t i = 0; i < n; i++) x[i] = j->op->g(x[i], j->a, j->b);
    hn_store_f64_n(j->out->dtype, j->out->data, from, n, x);
}

static void run_s64(void *ctx, int64_t from, int64_t n) {
    const job *j = ctx;
    bool is_u64 = j->out->dtype == HONE_DTYPE_U64;
    int64_t x[HN_BLOCK];
    hn_load_s64_n(j->in->dtype, j->in->data, from, n, x);
    for (int64_t i = 0; i < n; i++) x[i] = j->op->s64(x[i], is_u64);
    hn_store_s64_n(j->out->dtype, j->out->data, from, n, x);
}

static hone_status ref(hn_eval *e, hn_error *err) {
    (void)err;
    const unary *op = e->node->op->data;
    job j = {.op = op, .in = e->in[0], .out = e->out[0]};
    if (op->a != NULL) j.a = hn_attr_f(e->node, op->a);
    if (op->b != NULL) j.b = hn_attr_f(e->node, op->b);
    hn_for_blocks(e->pool, j.out->n, hn_dtype_is_float(j.out->dtype) ? run_f64 : run_s64, &j);
    return HONE_OK;
}

static hone_status infer(hn_infer *c, hn_error *err) {
    const unary *op = c->node->op->data;
    HN_TRY(hn_infer_same(c, err));
    if (op->known != NULL) hn_follow_values(c, op->known);
    return HONE_OK;
}

#define UNARY(lc, NAME, VERSIONS, SIG, ...) \
    const hn_op_def hn_op_##lc = {          \
        .name = NAME, .versions = VERSIONS, .sig = SIG, .infer = infer, .ref = ref, __VA_ARGS__};
#define F(fn) \
    .data = &(const unary) { .f = fn }
#define G(fn, ...) \
    .data = &(const unary) { .g = fn, __VA_ARGS__ }
#define FS(fn, fn_s64, fn_known) \
    .data = &(const unary) { .f = fn, .s64 = fn_s64, .known = fn_known }
#define ATTRS(...)                   \
    .attrs = (const hn_attr_def[]) { \
        __VA_ARGS__, { 0 }           \
    }

#define D(text) .derivative = text
#define TABLE(fn) .role = HN_ROLE_TABLE, .function = exact_##fn

#define XY "(X:T) -> (Y:T); T: "
#define IO "(input:T) -> (output:T); T: "

/* clang-format off */
UNARY(abs, "Abs", "1 6 13", XY "num", D("Sign(a)"), FS(fabs, abs_s64, abs_known),
      TABLE(abs))
UNARY(acos, "Acos", "7 22", IO "float", D("-1 / Sqrt(1 - a * a)"), F(acos))
UNARY(acosh, "Acosh", "9 22", IO "float", D("1 / Sqrt(a * a - 1)"), F(acosh))
UNARY(asin, "Asin", "7 22", IO "float", D("1 / Sqrt(1 - a * a)"), F(asin))
UNARY(asinh, "Asinh", "9 22", IO "float", D("1 / Sqrt(a * a + 1)"), F(asinh))
UNARY(atan, "Atan", "7 22", IO "float", D("1 / (1 + a * a)"), F(atan))
UNARY(atanh, "Atanh", "9 22", IO "float", D("1 / (1 - a * a)"), F(atanh))
UNARY(bitwise_not, "BitwiseNot", "18", XY "int", FS(NULL, bitwise_not_s64, NULL))
UNARY(ceil, "Ceil", "1 6 13", XY "float", D("0"), F(ceil))
UNARY(celu, "Celu", "12 28", XY "float", D("Where(a < 0, Exp(a / $alpha), 1)"), G(celu, .a = "alpha"),
      ATTRS(HN_ATTR_F("alpha", 1)))
UNARY(cos, "Cos", "7 22", IO "float", D("-Sin(a)"), F(cos))
UNARY(cosh, "Cosh", "9 22", IO "float", D("Sinh(a)"), F(cosh))
UNARY(elu, "Elu", "1 6 22", XY "float", D("Where(a < 0, y + $alpha, 1)"), G(elu, .a = "alpha"),
      ATTRS(HN_ATTR_F("alpha", 1)),
      TABLE(elu), .traits = HN_ACTIVATION)
UNARY(erf, "Erf", "9 13", IO "float", D("1.1283791670955126 * Exp(-(a * a))"), F(erf))
UNARY(exp, "Exp", "1 6 13", IO "float", D("y"), F(exp),
      TABLE(exp))
UNARY(floor, "Floor", "1 6 13", XY "float", D("0"), F(floor))
UNARY(hard_sigmoid, "HardSigmoid", "1 6 22", XY "float", D("$alpha * ((1 - y) * y > 0)"),
      G(hard_sigmoid, .a = "alpha", .b = "beta"),
      ATTRS(HN_ATTR_F("alpha", 0.2f), HN_ATTR_F("beta", 0.5f)),
      TABLE(hard_sigmoid), .traits = HN_ACTIVATION, .most = 1)
UNARY(hard_swish, "HardSwish", "14 22", XY "float", D("Where(a < 3, Where(a > -3, a / 3 + 0.5, 0), 1)"), F(hard_swish),
      TABLE(hard_swish), .traits = HN_ACTIVATION)
UNARY(leaky_relu, "LeakyRelu", "1 6 16", XY "float", D("Where(a < 0, $alpha, 1)"), G(leaky_relu, .a = "alpha"),
      ATTRS(HN_ATTR_F("alpha", 0.01f)),
      TABLE(leaky_relu), .traits = HN_ACTIVATION | HN_HOMOGENEOUS)
UNARY(log, "Log", "1 6 13", IO "float", D("1 / a"), F(log))
UNARY(mish, "Mish", "18 22", XY "float", D("Tanh(Softplus(a)) + a * Sigmoid(a) * (1 - Tanh(Softplus(a)) * Tanh(Softplus(a)))"), F(mish))
UNARY(neg, "Neg", "1 6 13", XY "float sint", D("-1"), FS(neg, neg_s64, neg_known),
      TABLE(neg))
UNARY(not, "Not", "1", XY "bool", FS(NULL, not_s64, NULL))
UNARY(reciprocal, "Reciprocal", "1 6 13", XY "float", D("-(y * y)"), F(reciprocal))
UNARY(relu, "Relu", "1 6 13 14", XY "float sint", D("y > 0"), FS(relu, relu_s64, relu_known),
      .role = HN_ROLE_LIMIT, .limits = relu_limits)
UNARY(round, "Round", "11 22", XY "float", D("0"), F(rint)) /* ties to even */
UNARY(selu, "Selu", "1 6 22", XY "float", D("Where(a > 0, $gamma, y + $gamma * $alpha)"), G(selu, .a = "alpha", .b = "gamma"),
      ATTRS(HN_ATTR_F("alpha", 1.67326319217681884765625f),
            HN_ATTR_F("gamma", 1.05070102214813232421875f)))
UNARY(sigmoid, "Sigmoid", "1 6 13", XY "float", D("y * (1 - y)"), F(hn_sigmoid),
      TABLE(sigmoid), .traits = HN_ACTIVATION, .most = 1)
UNARY(sign, "Sign", "9 13", IO "num", D("0"), FS(sign, sign_s64, NULL))
UNARY(sin, "Sin", "7 22", IO "float", D("Cos(a)"), F(sin))
UNARY(sinh, "Sinh", "9 22", IO "float", D("Cosh(a)"), F(sinh))
UNARY(softplus, "Softplus", "1 22", XY "float", D("Sigmoid(a)"), F(hn_softplus))
UNARY(softsign, "Softsign", "1 22", IO "float", D("1 / ((1 + Abs(a)) * (1 + Abs(a)))"), F(softsign))
UNARY(sqrt, "Sqrt", "1 6 13", XY "float", D("0.5 / y"), F(sqrt),
      TABLE(sqrt))
UNARY(swish, "Swish", "24", XY "float", D("Sigmoid($alpha * a) + $alpha * y * (1 - Sigmoid($alpha * a))"), G(swish, .a = "alpha"),
      ATTRS(HN_ATTR_F("alpha", 1)),
      TABLE(swish), .traits = HN_ACTIVATION)
UNARY(tan, "Tan", "7 22", IO "float", D("1 + y * y"), F(tan))
UNARY(tanh, "Tanh", "1 6 13", IO "float", D("1 - y * y"), F(tanh),
      TABLE(tanh), .traits = HN_ACTIVATION, .least = -1, .most = 1)
UNARY(thresholded_relu, "ThresholdedRelu", "10 22", XY "float", D("a > $alpha"),
      G(thresholded_relu, .a = "alpha"), ATTRS(HN_ATTR_F("alpha", 1)))
/* clang-format on */

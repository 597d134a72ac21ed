/* Arithmetic and logic of two broadcast tensors of one type: Add, Sub, Mul, Div, Mod, PRelu; And,
 * Or, Xor; BitwiseAnd, BitwiseOr, BitwiseXor, BitShift.
 *
 * Floats are computed in double and rounded once. Integers are exact: they wrap as two's complement
 * of their own type, which 64-bit arithmetic does when the low bits are stored. Bools are integers
 * of value 0 and 1.
 */
#include <math.h>

#include "ops/broadcast.h"

typedef struct binary {
    double (*f64)(double a, double b);
    /* Of any integer type; u64 arrives as its bits, and `is_u64` says so. */
    int64_t (*s64)(int64_t a, int64_t b, bool is_u64);
    hn_dim (*known)(hn_infer *c, const hn_dim *args); /* NULL: contents are not followed */
    bool divides;                                     /* an integer b of 0 is an error */
} binary;

/* ---- floats ---- */

static double add_f64(double a, double b) { return a + b; }
static double sub_f64(double a, double b) { return a - b; }
static double mul_f64(double a, double b) { return a * b; }
static double div_f64(double a, double b) { return a / b; }
static double prelu_f64(double x, double slope) { return x < 0 ? slope * x : x; }

/* A - floor(A / B) * B, which has the sign of B. */
static double floor_mod_f64(double a, double b) {
    double r = fmod(a, b);
    if (r == 0) return copysign(0, b);
    return (r < 0) != (b < 0) ? r + b : r;
}

/* ---- integers ---- */

static int64_t add_s64(int64_t a, int64_t b, bool is_u64) {
    (void)is_u64;
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t sub_s64(int64_t a, int64_t b, bool is_u64) {
    (void)is_u64;
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

static int64_t mul_s64(int64_t a, int64_t b, bool is_u64) {
    (void)is_u64;
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

/* Division by -1 is apart: the most negative number over -1 wraps to itself, where C and some
 * processors trap. */
static int64_t div_s64(int64_t a, int64_t b, bool is_u64) {
    if (is_u64) return (int64_t)((uint64_t)a / (uint64_t)b);
    return b == -1 ? sub_s64(0, a, false) : a / b;
}

static int64_t fmod_s64(int64_t a, int64_t b, bool is_u64) {
    if (is_u64) return (int64_t)((uint64_t)a % (uint64_t)b);
    return b == -1 ? 0 : a % b;
}

static int64_t floor_mod_s64(int64_t a, int64_t b, bool is_u64) {
    int64_t r = fmod_s64(a, b, is_u64);
    return !is_u64 && r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static int64_t prelu_s64(int64_t x, int64_t slope, bool is_u64) {
    return !is_u64 && x < 0 ? mul_s64(slope, x, is_u64) : x;
}

static int64_t and_s64(int64_t a, int64_t b, bool is_u64) {
    (void)is_u64;
    return a & b;
}

static int64_t or_s64(int64_t a, int64_t b, bool is_u64) {
    (void)is_u64;
    return a | b;
}

static int64_t xor_s64(int64_t a, int64_t b, bool is_u64) {
    (void)is_u64;
    return a ^ b;
}

/* Shifts by less than 0 or 64 and more leave nothing but copies of the sign. Narrower types need no
 * more: a has its sign extended, and what is shifted past their width is not stored. */
static int64_t shift_left_s64(int64_t a, int64_t b, bool is_u64) {
    (void)is_u64;
    return b >= 0 && b < 64 ? (int64_t)((uint64_t)a << b) : 0;
}

static int64_t shift_right_s64(int64_t a, int64_t b, bool is_u64) {
    bool minus = a < 0 && !is_u64;
    if (b < 0 || b > 63) return minus ? -1 : 0;
    uint64_t bits = (uint64_t)a >> b;
    return (int64_t)(minus && b > 0 ? bits | UINT64_MAX << (64 - b) : bits);
}

/* ---- known contents ---- */

static hn_dim sub_known(hn_infer *c, const hn_dim *x) {
    return hn_dim_exact(x[0]) && hn_dim_exact(x[1]) ? hn_dim_sub(c->dims, x[0], x[1]) : NULL;
}

/* Truncation is floor where nothing is negative. */
static bool floor_divides(const hn_dim *x) {
    int64_t lo, hi, ignored;
    hn_dim_range(x[1], &lo, &ignored);
    hn_dim_range(x[0], &hi, &ignored);
    return lo > 0 && hi >= 0 && hn_dim_exact(x[0]) && hn_dim_exact(x[1]);
}

static hn_dim div_known(hn_infer *c, const hn_dim *x) {
    return floor_divides(x) ? hn_dim_div(c->dims, x[0], x[1]) : NULL;
}

static hn_dim mod_known(hn_infer *c, const hn_dim *x) {
    if (!floor_divides(x)) return NULL;
    hn_dim whole = hn_dim_mul(c->dims, hn_dim_div(c->dims, x[0], x[1]), x[1]);
    return hn_dim_sub(c->dims, x[0], whole);
}

/* ---- the operators ---- */

typedef struct job {
    const binary *op;
    hn_broadcast a, b;
    hn_tensor *out;
} job;

static void run_f64(void *ctx, int64_t from, int64_t n) {
    const job *j = ctx;
    double a[HN_BLOCK], b[HN_BLOCK];
    hn_broadcast_f64(&j->a, from, n, a);
    hn_broadcast_f64(&j->b, from, n, b);
    for (int64_t i = 0; i < n; i++) a[i] = j->op->f64(a[i], b[i]);
    hn_store_f64_n(j->out->dtype, j->out->data, from, n, a);
}

static void run_s64(void *ctx, int64_t from, int64_t n) {
    const job *j = ctx;
    bool is_u64 = j->out->dtype == HONE_DTYPE_U64;
    int64_t a[HN_BLOCK], b[HN_BLOCK];
    hn_broadcast_s64(&j->a, from, n, a);
    hn_broadcast_s64(&j->b, from, n, b);
    for (int64_t i = 0; i < n; i++) a[i] = j->op->s64(a[i], b[i], is_u64);
    hn_store_s64_n(j->out->dtype, j->out->data, from, n, a);
}

static hone_status check_divisors(const hn_tensor *t, hn_error *err) {
    int64_t b[HN_BLOCK];
    for (int64_t from = 0; from < t->n; from += HN_BLOCK) {
        int64_t n = t->n - from < HN_BLOCK ? t->n - from : HN_BLOCK;
        hn_load_s64_n(t->dtype, t->data, from, n, b);
        for (int64_t i = 0; i < n; i++)
            HN_CHECK(err, b[i] != 0, HONE_E_ARG, "division by zero: element %lld of the divisor",
                     (long long)(from + i));
    }
    return HONE_OK;
}

static hone_status run(hn_eval *e, const binary *op, hn_error *err) {
    hn_tensor *out = e->out[0];
    job j = {.op = op, .out = out};
    hn_broadcast_init(&j.a, e->in[0], out->rank, out->dims);
    hn_broadcast_init(&j.b, e->in[1], out->rank, out->dims);
    bool is_float = hn_dtype_is_float(out->dtype);
    if (op->divides && !is_float && out->n > 0) HN_TRY(check_divisors(e->in[1], err));
    hn_for_blocks(e->pool, out->n, is_float ? run_f64 : run_s64, &j);
    return HONE_OK;
}

static hone_status ref(hn_eval *e, hn_error *err) { return run(e, e->node->op->data, err); }

static hone_status infer(hn_infer *c, hn_error *err) {
    const binary *op = c->node->op->data;
    HN_TRY(hn_infer_broadcast(c, err));
    if (op->known != NULL) hn_follow_values(c, op->known);
    return HONE_OK;
}

#define BINARY(lc, NAME, VERSIONS, TYPES, ROLE, DERIVATIVE, ...)           \
    const hn_op_def hn_op_##lc = {.name = NAME,                            \
                                  .versions = VERSIONS,                    \
                                  .sig = "(A:T, B:T) -> (C:T); T: " TYPES, \
                                  .role = HN_ROLE_##ROLE,                  \
                                  .infer = infer,                          \
                                  .ref = ref,                              \
                                  .derivative = DERIVATIVE,                \
                                  .data = &(const binary){__VA_ARGS__}};

/* clang-format off */
BINARY(add, "Add", "1 6 7 13 14", "num", ADD, "1; 1", add_f64, add_s64, hn_known_add, false)
BINARY(sub, "Sub", "1 6 7 13 14", "num", SUB, "1; -1", sub_f64, sub_s64, sub_known, false)
BINARY(mul, "Mul", "1 6 7 13 14", "num", MUL, "b; a", mul_f64, mul_s64, hn_known_mul, false)
BINARY(div, "Div", "1 6 7 13 14", "num", NONE, "1 / b; -(y / b)", div_f64, div_s64, div_known, true)
BINARY(and, "And", "1 7", "bool", NONE, NULL, .s64 = and_s64)
BINARY(or, "Or", "1 7", "bool", NONE, NULL, .s64 = or_s64)
BINARY(xor, "Xor", "1 7", "bool", NONE, NULL, .s64 = xor_s64)
BINARY(bitwise_and, "BitwiseAnd", "18", "int", NONE, NULL, .s64 = and_s64)
BINARY(bitwise_or, "BitwiseOr", "18", "int", NONE, NULL, .s64 = or_s64)
BINARY(bitwise_xor, "BitwiseXor", "18", "int", NONE, NULL, .s64 = xor_s64)
/* clang-format on */

static hone_status ref_shift(hn_eval *e, hn_error *err) {
    bool left = hn_attr_is(e->node, "direction", "LEFT");
    return run(e, &(binary){.s64 = left ? shift_left_s64 : shift_right_s64}, err);
}

const hn_op_def hn_op_bit_shift = {
    .name = "BitShift",
    .versions = "11 28",
    .sig = "(X:T, Y:T) -> (Z:T); T: int",
    .attrs =
        (const hn_attr_def[]){
            {.name = "direction", .type = HN_ATTR_STRING, .required = true, .one_of = "LEFT RIGHT"},
            {0}},
    .infer = hn_infer_broadcast,
    .ref = ref_shift};

/* ---- Mod: the quotient rounds down, or with fmod = 1 toward zero ---- */

static const binary mods[2] = {{floor_mod_f64, floor_mod_s64, mod_known, true},
                               {fmod, fmod_s64, mod_known, true}};

static hone_status infer_mod(hn_infer *c, hn_error *err) {
    int64_t mode = hn_attr_i(c->node, "fmod");
    HN_CHECK(err, mode == 0 || mode == 1, HONE_E_ARG, "fmod is %lld, expected 0 or 1",
             (long long)mode);
    return infer(c, err);
}

static hone_status ref_mod(hn_eval *e, hn_error *err) {
    return run(e, &mods[hn_attr_i(e->node, "fmod")], err);
}

const hn_op_def hn_op_mod = {.name = "Mod",
                             .versions = "10 13 28",
                             .sig = "(A:T, B:T) -> (C:T); T: num",
                             .attrs = (const hn_attr_def[]){HN_ATTR_I("fmod", 0), {0}},
                             .infer = infer_mod,
                             .ref = ref_mod,
                             .derivative = "1; -((a - y) / b)",
                             .data = &mods[0]};

/* ---- PRelu: the slope broadcasts to X, never X to the slope ---- */

static const binary prelu = {prelu_f64, prelu_s64, NULL, false};

static hone_status infer_prelu(hn_infer *c, hn_error *err) {
    HN_TRY(hn_want_broadcast_to(c, 1, hn_in_shape(c, 0), err));
    hn_set_shape(c, 0, hn_in_shape(c, 0));
    return HONE_OK;
}

const hn_op_def hn_op_prelu = {.name = "PRelu",
                               .versions = "1 6 7 9 16",
                               .sig = "(X:T, slope:T) -> (Y:T); T: float s32 s64 u32 u64",
                               .traits = HN_HOMOGENEOUS,
                               .infer = infer_prelu,
                               .ref = ref,
                               .derivative = "Where(a < 0, b, 1); Where(a < 0, a, 0)",
                               .data = &prelu};

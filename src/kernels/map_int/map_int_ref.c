/* The definition of map_int: one element at a time, integers in 64 bits. A task is an element. */
#include <math.h>
#include <string.h>

#include "kernels/map_int/map_int.h"

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_map_int *p = problem;
    (void)lanes;
    *w = (hn_work){.n_phases = 1, .tasks = {1}};
    for (int i = 0; i < p->rank; i++) w->tasks[0] *= p->dims[i];
}

static int64_t negative(int64_t a) { return (int64_t)(0 - (uint64_t)a); }

/* -1 is apart: the least number over it wraps, where C is not defined. */
static int64_t quotient(int64_t a, int64_t b) { return b == -1 ? negative(a) : a / b; }
static int64_t rest(int64_t a, int64_t b) { return b == -1 ? 0 : a % b; }

static int64_t compute(hn_map_int_op op, int64_t a, int64_t b, int64_t c) {
    switch (op) {
        case HN_MAP_INT_ADD: return (int64_t)((uint64_t)a + (uint64_t)b);
        case HN_MAP_INT_SUB: return (int64_t)((uint64_t)a - (uint64_t)b);
        case HN_MAP_INT_MUL: return (int64_t)((uint64_t)a * (uint64_t)b);
        case HN_MAP_INT_DIV: return b == 0 ? 0 : quotient(a, b);
        case HN_MAP_INT_FMOD: return b == 0 ? 0 : rest(a, b);
        case HN_MAP_INT_MOD: {
            int64_t r = b == 0 ? 0 : rest(a, b);
            return r != 0 && (r < 0) != (b < 0) ? r + b : r;
        }
        case HN_MAP_INT_MIN: return a < b ? a : b;
        case HN_MAP_INT_MAX: return a > b ? a : b;
        case HN_MAP_INT_BIT_AND: return a & b;
        case HN_MAP_INT_BIT_OR: return a | b;
        case HN_MAP_INT_BIT_XOR: return a ^ b;
        case HN_MAP_INT_BIT_NOT: return ~a;
        case HN_MAP_INT_SHL: return b >= 0 && b < 64 ? (int64_t)((uint64_t)a << b) : 0;
        case HN_MAP_INT_SHR: return b >= 0 && b < 64 ? (int64_t)((uint64_t)a >> b) : 0;
        case HN_MAP_INT_CLIP: a = a > b ? a : b; return a < c ? a : c;
        case HN_MAP_INT_SQUARE: return (int64_t)((uint64_t)a * (uint64_t)a);
        case HN_MAP_INT_CUBE: return (int64_t)((uint64_t)a * (uint64_t)a * (uint64_t)a);
        case HN_MAP_INT_AND: return a != 0 && b != 0;
        case HN_MAP_INT_OR: return a != 0 || b != 0;
        case HN_MAP_INT_XOR: return (a != 0) != (b != 0);
        case HN_MAP_INT_NOT: return a == 0;
        case HN_MAP_INT_NEG: return negative(a);
        case HN_MAP_INT_ABS: return a < 0 ? negative(a) : a;
        case HN_MAP_INT_SIGN: return a < 0 ? -1 : a > 0;
        case HN_MAP_INT_RELU: return a < 0 ? 0 : a;
        case HN_MAP_INT_LT: return a < b;
        case HN_MAP_INT_LE: return a <= b;
        case HN_MAP_INT_GT: return a > b;
        case HN_MAP_INT_GE: return a >= b;
        case HN_MAP_INT_EQ: return a == b;
        default: return 0;
    }
}

static double clip(double a, double low, double high) {
    a = a < low ? low : a;
    return a > high ? high : a;
}

static double sigmoid(double a) { return a < 0 ? exp(a) / (1 + exp(a)) : 1 / (1 + exp(-a)); }

static double compute_f64(hn_map_int_op op, double a, double b, double c) {
    switch (op) {
        case HN_MAP_INT_ADD: return a + b;
        case HN_MAP_INT_SUB: return a - b;
        case HN_MAP_INT_MUL: return a * b;
        case HN_MAP_INT_DIV: return a / b;
        case HN_MAP_INT_MIN: return a < b || a != a ? a : b;
        case HN_MAP_INT_MAX: return a > b || a != a ? a : b;
        case HN_MAP_INT_NEG: return -a;
        case HN_MAP_INT_ABS: return fabs(a);
        case HN_MAP_INT_SIGN: return a < 0 ? -1 : a > 0 ? 1 : a;
        case HN_MAP_INT_RELU: return a < 0 ? 0 : a;
        case HN_MAP_INT_CLIP: return clip(a, b, c);
        case HN_MAP_INT_SQUARE: return a * a;
        case HN_MAP_INT_CUBE: return a * a * a;
        case HN_MAP_INT_FMOD: return fmod(a, b);
        case HN_MAP_INT_POW: return pow(a, b);
        case HN_MAP_INT_IS_NAN: return isnan(a);
        case HN_MAP_INT_IS_INF: return isinf(a);
        case HN_MAP_INT_MUL_ADD: return a * b + c;
        case HN_MAP_INT_SQRT: return sqrt(a);
        case HN_MAP_INT_RECIP: return 1 / a;
        case HN_MAP_INT_FLOOR: return floor(a);
        case HN_MAP_INT_CEIL: return ceil(a);
        case HN_MAP_INT_ROUND: return rint(a);
        case HN_MAP_INT_EXP: return exp(a);
        case HN_MAP_INT_LOG: return log(a);
        case HN_MAP_INT_TANH: return tanh(a);
        case HN_MAP_INT_SIGMOID: return sigmoid(a);
        case HN_MAP_INT_SIN: return sin(a);
        case HN_MAP_INT_COS: return cos(a);
        case HN_MAP_INT_LT: return a < b;
        case HN_MAP_INT_LE: return a <= b;
        case HN_MAP_INT_GT: return a > b;
        case HN_MAP_INT_GE: return a >= b;
        case HN_MAP_INT_EQ: return a == b;
        default: return 0;
    }
}

/* One element of doubles, but for SELECT, which moves bits. */
static void run_f64(const hn_call *call, const hn_map_int *p, const int64_t *at) {
    double v[HN_MAP_INT_Y] = {0};
    for (int i = 0; i < hn_map_int_arity(p->op); i++) v[i] = ((const double *)call->ptr[i])[at[i]];
    hn_store_f64(p->to, call->ptr[HN_MAP_INT_Y], at[HN_MAP_INT_Y],
                 compute_f64(p->op, v[0], v[1], v[2]));
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_map_int *p = call->problem;
    bool divides = p->op >= HN_MAP_INT_DIV && p->op <= HN_MAP_INT_FMOD;
    int32_t *bad = call->ptr[HN_MAP_INT_BAD];
    for (int64_t t = begin; t < end; t++) {
        int64_t at[HN_MAP_INT_Y + 1] = {0}, v[HN_MAP_INT_Y] = {0}, left = t;
        for (int axis = p->rank - 1; axis >= 0; axis--) {
            for (int i = 0; i <= HN_MAP_INT_Y; i++)
                at[i] += left % p->dims[axis] * p->stride[i][axis];
            left /= p->dims[axis];
        }
        void *y = call->ptr[HN_MAP_INT_Y];
        if (p->op == HN_MAP_INT_CAST) {
            size_t in = (size_t)hone_dtype_bits(p->from) / 8,
                   out = (size_t)hone_dtype_bits(p->to) / 8;
            hn_cast(p->from, (const char *)call->ptr[0] + at[0] * (int64_t)in, p->to,
                    (char *)y + at[HN_MAP_INT_Y] * (int64_t)out, 1, true);
            continue;
        }
        bool select = p->op == HN_MAP_INT_SELECT;
        if (p->from == HONE_DTYPE_F64 && !select) {
            run_f64(call, p, at);
            continue;
        }
        if (select) {
            size_t bytes = (size_t)hone_dtype_bits(p->to) / 8;
            int k = ((const uint8_t *)call->ptr[0])[at[0]] != 0 ? 1 : 2;
            memcpy((char *)y + at[HN_MAP_INT_Y] * (int64_t)bytes,
                   (const char *)call->ptr[k] + at[k] * (int64_t)bytes, bytes);
            continue;
        }
        for (int i = 0; i < hn_map_int_arity(p->op); i++)
            v[i] = hn_load_s64(p->from, call->ptr[i], at[i]);
        if (divides && v[1] == 0 && bad != NULL) __atomic_store_n(bad, 1, __ATOMIC_RELAXED);
        hn_store_s64(p->to, y, at[HN_MAP_INT_Y], compute(p->op, v[0], v[1], v[2]));
    }
}

const hn_kernel hn_map_int_ref = {.name = "ref", .order = "exact", .work = work, .run = run};

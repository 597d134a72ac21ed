/* The definition of map_f32: one element at a time, in double. A task is an element. */
#include <math.h>

#include "kernels/act_ref.h"
#include "kernels/map_f32/map_f32.h"

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_map_f32 *p = problem;
    (void)lanes;
    *w = (hn_work){.n_phases = 1, .tasks = {1}};
    for (int i = 0; i < p->rank; i++) w->tasks[0] *= p->dims[i];
}

static double floor_mod(double a, double b) {
    double r = fmod(a, b);
    if (r == 0) return copysign(0, b);
    return (r < 0) != (b < 0) ? r + b : r;
}

static double compute(const hn_map_code *i, double a, double b, double c) {
    switch ((hn_map_op)i->op) {
        case HN_MAP_ADD: return a + b;
        case HN_MAP_SUB: return a - b;
        case HN_MAP_MUL: return a * b;
        case HN_MAP_DIV: return a / b;
        case HN_MAP_MIN: return isnan(a) || a < b ? a : b;
        case HN_MAP_MAX: return isnan(a) || a > b ? a : b;
        case HN_MAP_POW: return pow(a, b);
        case HN_MAP_FMOD: return fmod(a, b);
        case HN_MAP_MOD: return floor_mod(a, b);
        case HN_MAP_MULADD: return a * b + c;
        case HN_MAP_PRELU: return a < 0 ? a * b : a;
        case HN_MAP_SELECT: return a != 0 ? b : c;
        case HN_MAP_ABOVE: return a > b ? a : 0;
        case HN_MAP_LT: return a < b;
        case HN_MAP_LE: return a <= b;
        case HN_MAP_GT: return a > b;
        case HN_MAP_GE: return a >= b;
        case HN_MAP_EQ: return a == b;
        case HN_MAP_NE: return a != b;
        case HN_MAP_AND: return a != 0 && b != 0;
        case HN_MAP_OR: return a != 0 || b != 0;
        case HN_MAP_XOR: return (a != 0) != (b != 0);
        case HN_MAP_NOT: return a == 0;
        case HN_MAP_NEG: return -a;
        case HN_MAP_ABS: return fabs(a);
        case HN_MAP_SQRT: return sqrt(a);
        case HN_MAP_RSQRT: return 1 / sqrt(a);
        case HN_MAP_RECIP: return 1 / a;
        case HN_MAP_EXP: return exp(a);
        case HN_MAP_LOG: return log(a);
        case HN_MAP_LOG1P: return log1p(a);
        case HN_MAP_ERF: return erf(a);
        case HN_MAP_FLOOR: return floor(a);
        case HN_MAP_CEIL: return ceil(a);
        case HN_MAP_ROUND: return nearbyint(a);
        case HN_MAP_SIGN: return a < 0 ? -1 : a > 0 ? 1 : a;
        case HN_MAP_SOFTPLUS: return fmax(a, 0) + log1p(exp(-fabs(a)));
        case HN_MAP_SOFTSIGN: return a / (1 + fabs(a));
        case HN_MAP_SIN: return sin(a);
        case HN_MAP_COS: return cos(a);
        case HN_MAP_TAN: return tan(a);
        case HN_MAP_ASIN: return asin(a);
        case HN_MAP_ACOS: return acos(a);
        case HN_MAP_ATAN: return atan(a);
        case HN_MAP_SINH: return sinh(a);
        case HN_MAP_COSH: return cosh(a);
        case HN_MAP_ASINH: return asinh(a);
        case HN_MAP_ACOSH: return acosh(a);
        case HN_MAP_ATANH: return atanh(a);
        default: break;
    }
    hn_act act = {(hn_act_kind)(i->op - HN_MAP_ACT_NONE), i->x, i->y};
    return hn_act_ref(&act, a);
}

static double operand(const double *value, const hn_map_code *i, int which) {
    return which == HN_MAP_X ? (double)i->x : which == HN_MAP_Y ? (double)i->y : value[which];
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_map_f32 *p = call->problem;
    for (int64_t t = begin; t < end; t++) {
        int64_t in[HN_MAP_MAX_IN] = {0}, out[HN_MAP_MAX_OUT] = {0}, rest = t;
        for (int axis = p->rank - 1; axis >= 0; axis--) {
            int64_t at = rest % p->dims[axis];
            rest /= p->dims[axis];
            for (int i = 0; i < p->n_in; i++) in[i] += at * p->in_stride[i][axis];
            for (int i = 0; i < p->n_out; i++) out[i] += at * p->out_stride[i][axis];
        }
        double value[HN_MAP_X] = {0};
        for (int i = 0; i < p->n_in; i++) {
            const void *x = call->ptr[HN_MAP_IN + i];
            value[i] = p->in_type[i] == HN_MAP_BOOL ? ((const uint8_t *)x)[in[i]] != 0
                                                    : (double)((const float *)x)[in[i]];
        }
        for (int k = 0; k < p->n_code; k++) {
            const hn_map_code *i = &p->code[k];
            value[HN_MAP_CODE + k] = compute(i, operand(value, i, i->a), operand(value, i, i->b),
                                             operand(value, i, i->c));
        }
        for (int i = 0; i < p->n_out; i++) {
            double v = value[p->out[i]];
            void *y = call->ptr[HN_MAP_OUT + i];
            if (p->out_type[i] == HN_MAP_BOOL)
                ((uint8_t *)y)[out[i]] = v != 0;
            else
                ((float *)y)[out[i]] = (float)v;
        }
    }
}

const hn_kernel hn_map_f32_ref = {.name = "ref", .order = "double", .work = work, .run = run};

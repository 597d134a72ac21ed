/* map_f32: a short program of elementwise operations over operands that broadcast.
 *
 * The problem is the program. It runs once for each element of a space of up to six axes; its
 * values are numbered: 0 to n_in - 1 are the inputs' elements, HN_MAP_CODE + k is the result of
 * instruction k, and HN_MAP_X, HN_MAP_Y are the two constants an instruction carries. An
 * instruction may use inputs, constants and results of earlier ones; an output takes the result of
 * one.
 *
 *   y = relu(x * scale + shift), x [56][56][64], scale and shift [64]:
 *     dims {56, 56, 64}; in_stride[0] {3584, 64, 1}, in_stride[1], [2] {0, 0, 1}; out_stride as x
 *     code[0] MULADD a = 0, b = 1, c = 2; code[1] CLIP a = HN_MAP_CODE + 0, x = 0, y = inf
 *     out[0] = HN_MAP_CODE + 1
 *
 * Strides are in elements and may be anything, 0 broadcasts. Elements are floats, or truth values
 * in bytes: read as 1 (any byte but 0) or 0, written as 1 (any value but 0, NaN included) or 0. An
 * output may be an input of the same type (same place, same strides), and overlaps nothing else;
 * no two elements of an output are the same place.
 *
 * Error: that of each operation in f32, one rounding for + - * / sqrt, few for the others
 * (simd/math.h). MULADD rounds once or twice. Comparisons and rounding see the values as they are
 * then.
 */
#ifndef HN_KERNELS_MAP_F32_H
#define HN_KERNELS_MAP_F32_H

#include "kernels/act.h"
#include "kernels/kernel.h"

/* Name, operands, formula. Activations (act.h, with their a = x and b = y) follow as operations of
 * one operand, HN_MAP_ACT_NONE first: that one copies. NaN passes through all of them; comparisons
 * and logic give 1 or 0, NE true and the others false for NaN. */
#define HN_MAP_LIST(X)                           \
    X(ADD, 2, "a + b")                           \
    X(SUB, 2, "a - b")                           \
    X(MUL, 2, "a * b")                           \
    X(DIV, 2, "a / b")                           \
    X(MIN, 2, "min(a, b)")                       \
    X(MAX, 2, "max(a, b)")                       \
    X(POW, 2, "pow(a, b)")                       \
    X(FMOD, 2, "fmod(a, b)")                     \
    X(MOD, 2, "a - floor(a / b) * b")            \
    X(MULADD, 3, "a * b + c")                    \
    X(PRELU, 2, "a < 0 ? a * b : a")             \
    X(SELECT, 3, "a != 0 ? b : c")               \
    X(ABOVE, 2, "a > b ? a : 0")                 \
    X(LT, 2, "a < b")                            \
    X(LE, 2, "a <= b")                           \
    X(GT, 2, "a > b")                            \
    X(GE, 2, "a >= b")                           \
    X(EQ, 2, "a == b")                           \
    X(NE, 2, "a != b")                           \
    X(AND, 2, "a != 0 && b != 0")                \
    X(OR, 2, "a != 0 || b != 0")                 \
    X(XOR, 2, "(a != 0) != (b != 0)")            \
    X(NOT, 1, "a == 0")                          \
    X(NEG, 1, "-a")                              \
    X(ABS, 1, "abs(a)")                          \
    X(SQRT, 1, "sqrt(a)")                        \
    X(RSQRT, 1, "1/sqrt(a)")                     \
    X(RECIP, 1, "1/a")                           \
    X(EXP, 1, "exp(a)")                          \
    X(LOG, 1, "log(a)")                          \
    X(LOG1P, 1, "log(1 + a)")                    \
    X(ERF, 1, "erf(a)")                          \
    X(FLOOR, 1, "floor(a)")                      \
    X(CEIL, 1, "ceil(a)")                        \
    X(ROUND, 1, "nearest integer, ties to even") \
    X(SIGN, 1, "a < 0 ? -1 : a > 0 ? 1 : a")     \
    X(SOFTPLUS, 1, "log(1 + exp(a))")            \
    X(SOFTSIGN, 1, "a/(1 + abs(a))")             \
    X(SIN, 1, "sin(a)")                          \
    X(COS, 1, "cos(a)")                          \
    X(TAN, 1, "tan(a)")                          \
    X(ASIN, 1, "asin(a)")                        \
    X(ACOS, 1, "acos(a)")                        \
    X(ATAN, 1, "atan(a)")                        \
    X(SINH, 1, "sinh(a)")                        \
    X(COSH, 1, "cosh(a)")                        \
    X(ASINH, 1, "asinh(a)")                      \
    X(ACOSH, 1, "acosh(a)")                      \
    X(ATANH, 1, "atanh(a)")

typedef enum hn_map_op {
#define HN_X(name, operands, formula) HN_MAP_##name,
    HN_MAP_LIST(HN_X)
#undef HN_X
#define HN_X(name, formula) HN_MAP_ACT_##name,
        HN_ACT_LIST(HN_X)
#undef HN_X
            HN_MAP_OPS_
} hn_map_op;

enum {
    HN_MAP_MAX_RANK = 6,
    HN_MAP_MAX_IN = 8,
    HN_MAP_MAX_CODE = 24,
    HN_MAP_MAX_OUT = 4,
    HN_MAP_CODE = HN_MAP_MAX_IN, /* the value of the first instruction */
    HN_MAP_X = HN_MAP_CODE + HN_MAP_MAX_CODE,
    HN_MAP_Y,
};

typedef enum hn_map_type { HN_MAP_F32, HN_MAP_BOOL } hn_map_type;

typedef struct hn_map_code {
    uint8_t op, a, b, c; /* hn_map_op; the values of its operands */
    float x, y;          /* its constants */
} hn_map_code;

typedef struct hn_map_f32 {
    int rank; /* 1 to 6 */
    int64_t dims[HN_MAP_MAX_RANK];
    int n_in, n_out, n_code;
    uint8_t in_type[HN_MAP_MAX_IN], out_type[HN_MAP_MAX_OUT]; /* hn_map_type */
    uint8_t out[HN_MAP_MAX_OUT];                              /* values, of instructions */
    int64_t in_stride[HN_MAP_MAX_IN][HN_MAP_MAX_RANK];
    int64_t out_stride[HN_MAP_MAX_OUT][HN_MAP_MAX_RANK];
    hn_map_code code[HN_MAP_MAX_CODE];
} hn_map_f32;

/* Operands: the inputs, then (from HN_MAP_OUT on, however many inputs there are) the outputs. */
enum { HN_MAP_IN = 0, HN_MAP_OUT = HN_MAP_MAX_IN, HN_MAP_OPERANDS_ = HN_MAP_OUT + HN_MAP_MAX_OUT };

extern const hn_family hn_map_f32_family;

/* The number of operands an operation takes: 1, 2 or 3. */
int hn_map_arity(hn_map_op op);

/* Appends an instruction and gives its value; -1 when the program is full. Operands that the
 * operation does not take are ignored. */
int hn_map_emit(hn_map_f32 *p, hn_map_op op, int a, int b, int c, float x, float y);

/* The same problem with as few axes as it can have: the axes are ordered by the strides of the
 * first output, those of length 1 dropped, those that every operand walks as one joined. Rows
 * expect problems in this form, and are slow otherwise. */
void hn_map_collapse(hn_map_f32 *p);

#endif

/* map_int: one elementwise operation on integers, truth values or doubles, over operands that
 * broadcast.
 *
 *   y[i] = f(a[i], b[i], c[i])      i over a space of up to six axes
 *
 * There are no programs as in map_f32: operators of these types stand alone in most models.
 *
 *   operations      a, b, c                               y
 *   arithmetic      s64, s32, s8, u32 or u8, all alike    the same type
 *   comparisons     the same                              bool
 *   SHL, SHR        u64, u32 or u8, both alike            the same type
 *   AND to NOT      bool                                  bool
 *   SELECT          a: bool; b, c alike, not bool         theirs
 *   SQRT to MUL_ADD f64; arithmetic and comparisons too, but for the bits and MOD
 *   IS_NAN, IS_INF  f64                                   bool
 *   CAST            s64, s32, s8, u8, bool, f32, f64      another of these, but for f32 from bool
 *                   f16, bf16                             f32, and back; f64 from f16
 *
 * Integer arithmetic wraps. Floats are cut toward zero; beyond the ends of s64 and s32 they
 * saturate, for the narrower ones the low bits count, and NaN is 0. Truth values are bytes: read as
 * any but 0, written as 1 or 0. Floats of 16 bits are rounded to nearest even, infinite beyond
 * their range. MIN, MAX and CLIP of doubles pass NaN; a limit of CLIP that is NaN limits nothing.
 *
 * Error of doubles: a rounding for each of + - * / sqrt, none for FMOD, 4e-16 relative for EXP, LOG,
 * TANH, SIGMOID, SIN and COS (absolute next to their zeros), 1e-15 for POW.
 *
 * A division of integers by zero gives 0, and sets `bad`, if it is there, to 1: kernels cannot
 * fail, so the caller clears it before and looks at it after.
 *
 * Strides are in elements and may be anything, 0 broadcasts. y overlaps nothing, and no two
 * elements of it are the same place.
 */
#ifndef HN_KERNELS_MAP_INT_H
#define HN_KERNELS_MAP_INT_H

#include "base/dtype.h"
#include "kernels/kernel.h"
#include "kernels/space.h"

/* Name, operands, formula. */
#define HN_MAP_INT_LIST(X)                      \
    X(ADD, 2, "a + b")                          \
    X(SUB, 2, "a - b")                          \
    X(MUL, 2, "a * b")                          \
    X(DIV, 2, "a / b, cut toward zero")         \
    X(MOD, 2, "a - floor(a / b) * b")           \
    X(FMOD, 2, "what is left of a after a / b") \
    X(MIN, 2, "min(a, b)")                      \
    X(MAX, 2, "max(a, b)")                      \
    X(BIT_AND, 2, "a & b")                      \
    X(BIT_OR, 2, "a | b")                       \
    X(BIT_XOR, 2, "a ^ b")                      \
    X(BIT_NOT, 1, "~a")                         \
    X(SHL, 2, "a << b, 0 from the width on")    \
    X(SHR, 2, "a >> b, 0 from the width on")    \
    X(NEG, 1, "-a")                             \
    X(ABS, 1, "abs(a)")                         \
    X(SIGN, 1, "a < 0 ? -1 : a > 0")            \
    X(RELU, 1, "max(a, 0)")                     \
    X(CLIP, 3, "min(max(a, b), c)")             \
    X(SQUARE, 1, "a * a")                       \
    X(CUBE, 1, "a * a * a")                     \
    X(LT, 2, "a < b")                           \
    X(LE, 2, "a <= b")                          \
    X(GT, 2, "a > b")                           \
    X(GE, 2, "a >= b")                          \
    X(EQ, 2, "a == b")                          \
    X(SELECT, 3, "a ? b : c")                   \
    X(AND, 2, "a && b")                         \
    X(OR, 2, "a || b")                          \
    X(XOR, 2, "(a != 0) != (b != 0)")           \
    X(NOT, 1, "!a")                             \
    X(SQRT, 1, "sqrt(a)")                       \
    X(RECIP, 1, "1 / a")                        \
    X(FLOOR, 1, "floor(a)")                     \
    X(CEIL, 1, "ceil(a)")                       \
    X(ROUND, 1, "nearest, ties to even")        \
    X(EXP, 1, "exp(a)")                         \
    X(LOG, 1, "log(a)")                         \
    X(TANH, 1, "tanh(a)")                       \
    X(SIGMOID, 1, "1 / (1 + exp(-a))")          \
    X(SIN, 1, "sin(a)")                         \
    X(COS, 1, "cos(a)")                         \
    X(POW, 2, "a to the power of b")            \
    X(IS_NAN, 1, "whether a is NaN")            \
    X(IS_INF, 1, "whether a is infinite")       \
    X(MUL_ADD, 3, "a * b + c")                  \
    X(CAST, 1, "a in another type")

typedef enum hn_map_int_op {
#define HN_X(name, operands, formula) HN_MAP_INT_##name,
    HN_MAP_INT_LIST(HN_X)
#undef HN_X
        HN_MAP_INT_OPS_
} hn_map_int_op;

enum { HN_MAP_INT_MAX_RANK = HN_SPACE_RANK };

/* Operands; bad, one s32, may be NULL. */
enum { HN_MAP_INT_A, HN_MAP_INT_B, HN_MAP_INT_C, HN_MAP_INT_Y, HN_MAP_INT_BAD };

typedef struct hn_map_int {
    hn_map_int_op op;
    hone_dtype from, to; /* of a (SELECT: of b), of y */
    int rank;            /* 1 to 6 */
    int64_t dims[HN_MAP_INT_MAX_RANK];
    int64_t stride[HN_MAP_INT_Y + 1][HN_MAP_INT_MAX_RANK];
    int64_t divisors; /* elements of b, for the caller: what `bad` is about */
} hn_map_int;

extern const hn_family hn_map_int_family;

/* Whether the family has the operation on these types: of a (SELECT: of b), and of y. */
bool hn_map_int_has(hn_map_int_op op, hone_dtype from, hone_dtype to);

/* The number of operands an operation takes: 1, 2 or 3. */
int hn_map_int_arity(hn_map_int_op op);

/* The same problem with as few axes as it can have: ordered by the strides of y, those of length 1
 * dropped, those that every operand walks as one joined. */
void hn_map_int_collapse(hn_map_int *p);

#endif

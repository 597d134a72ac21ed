/* map_int by plain loops, for the compiler to vectorize.
 *
 * The space is cut into blocks, a task each: a piece of a row (the last axis), or several rows
 * where these are short. The loop of an operation takes adjacent elements, STEP at a time; operands
 * that are not so come through room in the lane's scratch, of one that is the same along a row STEP
 * copies, which each turn of the loop meets again.
 * Loops have a part of constant length, which compilers vectorize at any level of optimization, and
 * a rest.
 */
#include <math.h>
#include <string.h>

#include "kernels/map_int/map_int.h"
#include "simd/doubles.h"
#include "simd/part.h"

/* Bytes of an operand in a block, if it comes through room and if none does; elements. */
enum { ROOM = 8192, BLOCK = 32768, STEP = 64 };

typedef struct args {
    void *y;
    const void *in[HN_MAP_INT_Y]; /* a, b, c */
    int64_t step[HN_MAP_INT_Y];   /* 1, or 0 for one that repeats */
    int64_t n;
    bool bad;
} args;

/* ---- the loops ---- */

/* Loops of constant length, which compilers vectorize at any level of optimization, and a rest. The
 * operands' names are those of the formulas in map_int.h; what an operation does not take is a
 * again.
 */
#define LOOP(name, A, T, R, operands, formula)                                            \
    HN_INLINE bool name##_part(R *restrict y, const A *restrict pa, const T *restrict pb, \
                               const T *restrict pc, int64_t n) {                         \
        (void)pb, (void)pc;                                                               \
        for (int64_t k = 0; k < n; k++) {                                                 \
            operands;                                                                     \
            y[k] = (R)(formula);                                                          \
        }                                                                                 \
        return false;                                                                     \
    }                                                                                     \
    WHOLE(name, A, T, R)
/* A loop of parts that tell whether a divisor was 0. */
#define WHOLE(name, A, T, R)                                                            \
    static void name(args *g) {                                                         \
        R *y = g->y;                                                                    \
        const A *a = g->in[0];                                                          \
        const T *b = g->in[1], *c = g->in[2];                                           \
        int64_t i = 0, n = g->n;                                                        \
        int64_t ia = g->step[0] * STEP, ib = g->step[1] * STEP, ic = g->step[2] * STEP; \
        for (; n - i >= STEP; i += STEP, a += ia, b += ib, c += ic)                     \
            g->bad |= name##_part(y + i, a, b, c, STEP);                                \
        g->bad |= name##_part(y + i, a, b, c, n - i);                                   \
    }
#define LOOP1(name, A, R, formula) LOOP(name, A, A, R, A a = pa[k], formula)
#define LOOP2(name, T, R, formula) LOOP(name, T, T, R, T a = pa[k]; T b = pb[k], formula)
#define LOOP3(name, A, T, R, formula) \
    LOOP(name, A, T, R, A a = pa[k]; T b = pb[k]; T c = pc[k], formula)
/* Loops that an instruction set may have steps of its own for, of OWN elements. */
#ifdef HN_MAP_INT_OWN
#define OWN2(name, A, R, formula)                                                         \
    HN_INLINE bool name##_part(R *restrict y, const A *restrict pa, const A *restrict pb, \
                               const A *restrict pc, int64_t n) {                         \
        int64_t k = 0;                                                                    \
        (void)pc;                                                                         \
        for (; k + OWN <= n; k += OWN) name##_step(pa + k, pb + k, y + k);                \
        for (; k < n; k++) {                                                              \
            A a = pa[k], b = pb[k];                                                       \
            (void)b;                                                                      \
            y[k] = (R)(formula);                                                          \
        }                                                                                 \
        return false;                                                                     \
    }                                                                                     \
    WHOLE(name, A, A, R)
#define OWN1 OWN2
#else
#define OWN1 LOOP1
#define OWN2 LOOP2
#endif

/* Each as wide as its type, so that vectors are. */
static inline uint64_t size_s64(int64_t a) { return a < 0 ? 0 - (uint64_t)a : (uint64_t)a; }
static inline uint32_t size_s32(int32_t a) { return a < 0 ? 0 - (uint32_t)a : (uint32_t)a; }
static inline uint32_t size_s8(int8_t a) { return size_s32(a); }
static inline uint32_t size_u32(uint32_t a) { return a; }
static inline uint32_t size_u8(uint8_t a) { return a; }
static inline int64_t sign(int64_t a) { return a < -1 ? -1 : a > 1 ? 1 : a; }
static inline int64_t positive(int64_t a) { return a < 0 ? 0 : a; }

/* ---- divisions ---- */

/* Quotients of floats are exact, once cut, where both numbers are below 2^22, those of doubles
 * below 2^52; and unlike those of integers they come in vectors. A divisor of 0 or -1 is replaced
 * by 1: the first gives 0, and over the second the least number wraps. By masks, since compilers do
 * not make vectors of what branches around a division. */
#define QUOTIENT(T, U, minus, divide)                                                 \
    U zero_ = 0 - (U)(b == 0), minus_ = 0 - (U)minus(b == -1), odd_ = zero_ | minus_; \
    T d = (T)(((U)b & ~odd_) | (odd_ & 1)), q = (T)(divide);                          \
    q = (T)((((U)q ^ minus_) - minus_) & ~zero_)
/* Whether a number is negative, or what asks for that; never of unsigned types. */
#define MINUS(condition) (condition)
#define NEVER(condition) false

/* Whether n numbers are from -2^(bits - 1) on and below 2^(bits - 1); or below 2^bits. */
#define WITHIN(name, T, bits, from)                                                            \
    static inline bool name(const T *x, int64_t n) {                                           \
        T outside = 0;                                                                         \
        for (int64_t k = 0; k < n; k++) outside |= (x[k] + ((T)(from) << (bits - 1))) >> bits; \
        return outside == 0;                                                                   \
    }
WITHIN(fits_double, uint64_t, 53, 1)
WITHIN(fits_float, uint32_t, 23, 1)
WITHIN(is_short, uint32_t, 22, 0)
#define SMALL(fits, T) fits((const T *)(const void *)pa, n) && fits((const T *)(const void *)pb, n)

#define QUOTIENTS(T, U, minus, divide, result) \
    for (int64_t k = 0; k < n; k++) {          \
        T a = pa[k], b = pb[k];                \
        QUOTIENT(T, U, minus, divide);         \
        y[k] = (T)(result);                    \
    }

/* What name is of a, b and the quotient q. */
#define DIVISION(name, T, U, minus, in_float, in_double, result)                          \
    HN_INLINE bool name##_part(T *restrict y, const T *restrict pa, const T *restrict pb, \
                               const T *restrict pc, int64_t n) {                         \
        T zero = 0;                                                                       \
        (void)pc;                                                                         \
        for (int64_t k = 0; k < n; k++) zero |= (T)(pb[k] == 0);                          \
        if (in_float)                                                                     \
            QUOTIENTS(T, U, minus, (float)a / (float)d, result)                           \
        else if (in_double)                                                               \
            QUOTIENTS(T, U, minus, (double)a / (double)d, result)                         \
        else                                                                              \
            QUOTIENTS(T, U, minus, a / d, result)                                         \
        return zero != 0;                                                                 \
    }                                                                                     \
    WHOLE(name, T, T, T)
/* What is left; and with the divisor's sign. */
#define REST(U) (((U)a - (U)q * (U)b) & ~zero_)
#define FLOOR_REST(T, U, minus) \
    REST(U) + ((U)b & (0 - (U)minus(((T)REST(U) != 0) & (((T)REST(U) < 0) != (b < 0)))))
#define DIVISIONS(t, T, U, minus, in_float, in_double)            \
    DIVISION(DIV_##t, T, U, minus, in_float, in_double, q)        \
    DIVISION(FMOD_##t, T, U, minus, in_float, in_double, REST(U)) \
    DIVISION(MOD_##t, T, U, minus, in_float, in_double, FLOOR_REST(T, U, minus))
DIVISIONS(s64, int64_t, uint64_t, MINUS, false, SMALL(fits_double, uint64_t))
DIVISIONS(s32, int32_t, uint32_t, MINUS, SMALL(fits_float, uint32_t), true)
DIVISIONS(s8, int8_t, uint32_t, MINUS, true, true)
DIVISIONS(u32, uint32_t, uint32_t, NEVER, SMALL(is_short, uint32_t), true)
DIVISIONS(u8, uint8_t, uint32_t, NEVER, true, true)

/* T: of the elements; U: unsigned, at least as wide, to wrap in. */
#define LOOPS(t, T, U)                         \
    LOOP2(ADD_##t, T, T, (U)a + (U)b)          \
    LOOP2(SUB_##t, T, T, (U)a - (U)b)          \
    LOOP2(MUL_##t, T, T, (U)a *(U)b)           \
    LOOP2(MIN_##t, T, T, a < b ? a : b)        \
    LOOP2(MAX_##t, T, T, a > b ? a : b)        \
    LOOP2(BIT_AND_##t, T, T, a &b)             \
    LOOP2(BIT_OR_##t, T, T, a | b)             \
    LOOP2(BIT_XOR_##t, T, T, a ^ b)            \
    LOOP1(BIT_NOT_##t, T, T, ~(U)a)            \
    LOOP1(NEG_##t, T, T, 0 - (U)a)             \
    LOOP1(ABS_##t, T, T, size_##t(a))          \
    LOOP1(SIGN_##t, T, T, sign(a))             \
    LOOP1(RELU_##t, T, T, positive(a))         \
    LOOP2(LT_##t, T, uint8_t, a < b)           \
    LOOP2(LE_##t, T, uint8_t, a <= b)          \
    LOOP2(GT_##t, T, uint8_t, a > b)           \
    LOOP2(GE_##t, T, uint8_t, a >= b)          \
    LOOP2(EQ_##t, T, uint8_t, a == b)          \
    LOOP3(CLIP_##t, T, T, T, limited(a, b, c)) \
    LOOP1(SQUARE_##t, T, T, (U)a *(U)a)        \
    LOOP1(CUBE_##t, T, T, (U)a *(U)a *(U)a)    \
    LOOP3(SELECT_##t, uint8_t, T, T, a != 0 ? b : c)
#define limited(a, b, c) ((a > b ? a : b) < c ? (a > b ? a : b) : c)
LOOPS(s64, int64_t, uint64_t)
LOOPS(s32, int32_t, uint32_t)
LOOPS(s8, int8_t, uint32_t)
LOOPS(u32, uint32_t, uint32_t)
LOOPS(u8, uint8_t, uint32_t)

#define SHIFTS(t, T, width)                          \
    OWN2(SHL_##t, T, T, b < width ? (T)(a << b) : 0) \
    OWN2(SHR_##t, T, T, b < width ? (T)(a >> b) : 0)
SHIFTS(u64, uint64_t, 64)
SHIFTS(u32, uint32_t, 32)
SHIFTS(u8, uint8_t, 8)

LOOP2(AND_bool, uint8_t, uint8_t, (a != 0) & (b != 0))
LOOP2(OR_bool, uint8_t, uint8_t, (a | b) != 0)
LOOP2(XOR_bool, uint8_t, uint8_t, (a != 0) ^ (b != 0))
LOOP1(NOT_bool, uint8_t, uint8_t, a == 0)

/* ---- doubles ---- */

LOOP2(ADD_f64, double, double, a + b)
LOOP2(SUB_f64, double, double, a - b)
LOOP2(MUL_f64, double, double, a *b)
LOOP2(DIV_f64, double, double, a / b)
LOOP2(MIN_f64, double, double, a < b || a != a ? a : b)
LOOP2(MAX_f64, double, double, a > b || a != a ? a : b)
LOOP1(NEG_f64, double, double, -a)
LOOP1(ABS_f64, double, double, fabs(a))
LOOP1(SIGN_f64, double, double, hn_d_select(a < 0, -1, hn_d_select(a > 0, 1, a)))
LOOP1(RELU_f64, double, double, hn_d_select(a < 0, 0, a))
static inline double below(double a, double most) { return hn_d_select(a > most, most, a); }
LOOP3(CLIP_f64, double, double, double, below(hn_d_select(a < b, b, a), c))
LOOP1(SQUARE_f64, double, double, a *a)
LOOP2(LT_f64, double, uint8_t, a < b)
LOOP2(LE_f64, double, uint8_t, a <= b)
LOOP2(GT_f64, double, uint8_t, a > b)
LOOP2(GE_f64, double, uint8_t, a >= b)
LOOP2(EQ_f64, double, uint8_t, a == b)
LOOP3(SELECT_f64, uint8_t, double, double, a != 0 ? b : c)
LOOP1(CUBE_f64, double, double, a *a *a)
LOOP1(IS_NAN_f64, double, uint8_t, a != a)
LOOP1(IS_INF_f64, double, uint8_t, fabs(a) == (double)INFINITY)
LOOP3(MUL_ADD_f64, double, double, double, a *b + c)
LOOP1(SQRT_f64, double, double, sqrt(a))
LOOP1(RECIP_f64, double, double, 1 / a)
LOOP1(FLOOR_f64, double, double, floor(a))
LOOP1(CEIL_f64, double, double, ceil(a))
LOOP1(ROUND_f64, double, double, rint(a))
LOOP1(EXP_f64, double, double, hn_d_exp(a))
LOOP1(LOG_f64, double, double, hn_d_log(a))
LOOP1(TANH_f64, double, double, hn_d_tanh(a))
LOOP1(SIGMOID_f64, double, double, hn_d_sigmoid(a))

/* The sine `ahead` quarter turns ahead of a, abs(a) <= TURNS_MOST: a = n*pi/2 + r, pi/2 in three
 * parts of which n times the first two is exact; the polynomials are fdlibm's. */
#define TURNS_MOST 0x1p19
HN_INLINE double sin_near(double a, uint64_t ahead) {
    double big = hn_d_fma(a, 0x1.45f306dc9c883p-1, 0x1.8p52), n = big - 0x1.8p52;
    double r = a - n * 0x1.921fb544p0 - n * 0x1.0b4611a6p-34 - n * 0x1.3198a2e037073p-69;
    uint64_t turns = hn_d_bits(big) + ahead;
    double z = r * r, s = 0x1.5d93a5acfd57cp-33, c = -0x1.8fae9be8838d4p-37;
    s = hn_d_fma(s, z, -0x1.ae5e68a2b9cebp-26);
    s = hn_d_fma(s, z, 0x1.71de357b1fe7dp-19);
    s = hn_d_fma(s, z, -0x1.a01a019c161d5p-13);
    s = hn_d_fma(s, z, 0x1.111111110f8a6p-7);
    s = hn_d_fma(s, z, -0x1.5555555555549p-3);
    s = r + r * z * s;
    c = hn_d_fma(c, z, 0x1.1ee9ebdb4b1c4p-29);
    c = hn_d_fma(c, z, -0x1.27e4f809c52adp-22);
    c = hn_d_fma(c, z, 0x1.a01a019cb159p-16);
    c = hn_d_fma(c, z, -0x1.6c16c16c15177p-10);
    c = hn_d_fma(c, z, 0x1.555555555554cp-5);
    c = 1 - (0.5 * z - z * z * c);
    double y = hn_d_select(turns & 1, c, s);
    return hn_d_of_bits(hn_d_bits(y) ^ (turns & 2) << 62);
}
LOOP1(SIN_near_f64, double, double, sin_near(a, 0))
LOOP1(COS_near_f64, double, double, sin_near(a, 1))
#define TURNING(name, function)                                                               \
    static void name##_f64(args *g) {                                                         \
        const double *a = g->in[0];                                                           \
        double *y = g->y;                                                                     \
        name##_near_f64(g);                                                                   \
        for (int64_t i = 0; i < g->n; i++)                                                    \
            if (!(fabs(a[i * g->step[0]]) <= TURNS_MOST)) y[i] = function(a[i * g->step[0]]); \
    }
TURNING(SIN, sin)
TURNING(COS, cos)

#ifdef HN_D_POW
/* The remainder is exact: a sum rounded once of a, and b times the quotient cut, which may be one
 * too many. NaN where the quotient is too large to be exact. */
HN_INLINE double fmod_near(double a, double b) {
    double size = fabs(a), by = fabs(b), whole = floor(size / by);
    double r = __builtin_fma(-whole, by, size);
    r += hn_d_select(r < 0, by, 0);
    bool known = (whole < 0x1p52) & (size < (double)INFINITY);
    return hn_d_select(known, copysign(r, a), (double)NAN);
}

/* By one function, and where that gives NaN by another. */
#define OR_ELSE(name, near, function)                                                \
    LOOP2(name##_near_f64, double, double, near(a, b))                               \
    static void name##_f64(args *g) {                                                \
        const double *a = g->in[0], *b = g->in[1];                                   \
        double *y = g->y;                                                            \
        name##_near_f64(g);                                                          \
        for (int64_t i = 0; i < g->n; i++)                                           \
            if (y[i] != y[i]) y[i] = function(a[i * g->step[0]], b[i * g->step[1]]); \
    }
OR_ELSE(POW, hn_d_pow, pow)
OR_ELSE(FMOD, fmod_near, fmod)
#else
LOOP2(POW_f64, double, double, pow(a, b))
LOOP2(FMOD_f64, double, double, fmod(a, b))
#endif

/* ---- casts ---- */

static inline int64_t s64_of(float a) {
    return a >= 0x1p63f ? INT64_MAX : a < -0x1p63f ? INT64_MIN : a == a ? (int64_t)a : 0;
}

static inline int32_t s32_of(float a) {
    return a >= 0x1p31f ? INT32_MAX : a < -0x1p31f ? INT32_MIN : a == a ? (int32_t)a : 0;
}

/* The low byte of the s64: of numbers from 2^31 on it is 0, but where they saturate. */
static inline int32_t byte_of(float a) {
    float size = fabsf(a);
    int32_t near = (int32_t)(size < 0x1p31f ? a : 0.0f);
    return a >= 0x1p63f ? 0xff : near;
}

static inline uint32_t bits_of(float a) {
    uint32_t bits;
    memcpy(&bits, &a, sizeof bits);
    return bits;
}

static inline float from_bits(uint32_t bits) {
    float a;
    memcpy(&a, &bits, sizeof a);
    return a;
}

/* The exponent is 112 less than in f32, which a product puts right, for denormals too. */
static inline float of_f16(uint16_t a) {
    uint32_t code = a & 0x7fffu, bits = code << 13;
    uint32_t finite = bits_of(from_bits(bits) * 0x1p112f);
    bits = code > 0x7c00 ? bits | 0x7fc00000u : code == 0x7c00 ? 0x7f800000u : finite;
    return from_bits((uint32_t)(a >> 15) << 31 | bits);
}

/* Rounding: half a last place, less where the last bit would become odd, may carry up to infinity.
 * Denormals are rounded by the addition that puts their last place last. */
static inline uint16_t to_f16(float a) {
    uint32_t bits = bits_of(a), size = bits & 0x7fffffffu;
    uint32_t normal = (size + 0xfff + (size >> 13 & 1) - (112u << 23)) >> 13;
    uint32_t small = bits_of(from_bits(size) + 0.5f) - (126u << 23);
    uint32_t code = size < 113u << 23 ? small : size >= 143u << 23 ? 0x7c00 : normal;
    if (size > 0x7f800000u) code = 0x7e00 | (size >> 13 & 0x3ff);
    return (uint16_t)(bits >> 31 << 15 | code);
}

#ifdef __F16C__
static void f32_f16(args *g) {
    const float *a = g->in[0];
    uint16_t *y = g->y;
    int64_t i = 0;
    for (; i + 8 <= g->n; i += 8)
        _mm_storeu_si128((__m128i *)(y + i), _mm256_cvtps_ph(_mm256_loadu_ps(a + i), 0));
    for (; i < g->n; i++) y[i] = to_f16(a[i]);
}

static void f16_f32(args *g) {
    const uint16_t *a = g->in[0];
    float *y = g->y;
    int64_t i = 0;
    for (; i + 8 <= g->n; i += 8)
        _mm256_storeu_ps(y + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(a + i))));
    for (; i < g->n; i++) y[i] = of_f16(a[i]);
}
#else
OWN1(f32_f16, float, uint16_t, to_f16(a))
OWN1(f16_f32, uint16_t, float, of_f16(a))
#endif

static inline uint16_t to_bf16(float a) {
    uint32_t bits = bits_of(a), rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    return (uint16_t)(a == a ? rounded : bits >> 16 | 0x40);
}

/* Doubles to s32 saturate, to s64 too, and to bytes through s64. */
static inline int64_t s64_of_f64(double a) {
    return a >= 0x1p63 ? INT64_MAX : a < -0x1p63 ? INT64_MIN : a == a ? (int64_t)a : 0;
}

static inline int32_t s32_of_f64(double a) {
    return a >= 0x1p31 ? INT32_MAX : a <= -0x1p31 ? INT32_MIN : a == a ? (int32_t)a : 0;
}

/* From integers of type T to every other type but f32. */
#define CASTS_OF(t, T)                  \
    LOOP1(t##_s64, T, int64_t, a)       \
    LOOP1(t##_s32, T, int32_t, a)       \
    LOOP1(t##_s8, T, int8_t, a)         \
    LOOP1(t##_u8, T, uint8_t, a)        \
    LOOP1(t##_bool, T, uint8_t, a != 0) \
    LOOP1(t##_f64, T, double, a)
CASTS_OF(s64, int64_t)
CASTS_OF(s32, int32_t)
CASTS_OF(s8, int8_t)
CASTS_OF(u8, uint8_t)
OWN1(s64_f32, int64_t, float, a)
LOOP1(s32_f32, int32_t, float, a)
LOOP1(s8_f32, int8_t, float, a)
LOOP1(u8_f32, uint8_t, float, a)
LOOP1(bool_s64, uint8_t, int64_t, a != 0)
LOOP1(bool_s32, uint8_t, int32_t, a != 0)
LOOP1(bool_f64, uint8_t, double, a != 0)
OWN1(f32_s64, float, int64_t, s64_of(a))
OWN1(f32_s32, float, int32_t, s32_of(a))
OWN1(f32_s8, float, int8_t, byte_of(a))
OWN1(f32_u8, float, uint8_t, byte_of(a))
LOOP1(f32_bool, float, uint8_t, a != 0)
LOOP1(f32_f64, float, double, a)
OWN1(f64_s64, double, int64_t, s64_of_f64(a))
LOOP1(f64_s32, double, int32_t, s32_of_f64(a))
LOOP1(f64_s8, double, int8_t, s64_of_f64(a))
LOOP1(f64_u8, double, uint8_t, s64_of_f64(a))
LOOP1(f64_bool, double, uint8_t, a != 0)
LOOP1(f64_f32, double, float, a)
OWN1(f16_f64, uint16_t, double, of_f16(a))
LOOP1(f32_bf16, float, uint16_t, to_bf16(a))
LOOP1(bf16_f32, uint16_t, float, from_bits((uint32_t)a << 16))

typedef void loop(args *g);

/* Types in the order of the tables. */
enum { S64, S32, S8, U8, BOOL, F32, F64, F16, BF16, U32, U64, TYPES_ };

static int number_of(hone_dtype t) {
    switch (t) {
        case HONE_DTYPE_S64: return S64;
        case HONE_DTYPE_S32: return S32;
        case HONE_DTYPE_S8: return S8;
        case HONE_DTYPE_U8: return U8;
        case HONE_DTYPE_BOOL: return BOOL;
        case HONE_DTYPE_F32: return F32;
        case HONE_DTYPE_F64: return F64;
        case HONE_DTYPE_F16: return F16;
        case HONE_DTYPE_BF16: return BF16;
        case HONE_DTYPE_U32: return U32;
        default: return U64;
    }
}

/* The loops of an operation: what hn_map_int_has tells. */
#define OF_INTEGERS(name) \
    [S64] = name##_s64, [S32] = name##_s32, [S8] = name##_s8, [U32] = name##_u32, [U8] = name##_u8
#define INT_OP(name) [HN_MAP_INT_##name] = {OF_INTEGERS(name)}
#define NUM_OP(name) [HN_MAP_INT_##name] = {OF_INTEGERS(name), [F64] = name##_f64}
#define F64_OP(name) [HN_MAP_INT_##name] = {[F64] = name##_f64}
#define BOOL_OP(name) [HN_MAP_INT_##name] = {[BOOL] = name##_bool}
#define SHIFT_OP(name) \
    [HN_MAP_INT_##name] = {[U64] = name##_u64, [U32] = name##_u32, [U8] = name##_u8}
#define CASTS_FROM(t) \
    { t##_s64, t##_s32, t##_s8, t##_u8, t##_bool, t##_f32, t##_f64 }

static loop *loop_of(const hn_map_int *p) {
    static loop *const loops[HN_MAP_INT_OPS_][TYPES_] = {
        NUM_OP(ADD),     NUM_OP(SUB),     NUM_OP(MUL),   NUM_OP(DIV),     INT_OP(MOD),
        NUM_OP(FMOD),    NUM_OP(MIN),     NUM_OP(MAX),   INT_OP(BIT_AND), INT_OP(BIT_OR),
        INT_OP(BIT_XOR), INT_OP(BIT_NOT), SHIFT_OP(SHL), SHIFT_OP(SHR),   NUM_OP(NEG),
        NUM_OP(ABS),     NUM_OP(SIGN),    NUM_OP(RELU),  NUM_OP(CLIP),    NUM_OP(SQUARE),
        NUM_OP(CUBE),    NUM_OP(LT),      NUM_OP(LE),    NUM_OP(GT),      NUM_OP(GE),
        NUM_OP(EQ),      NUM_OP(SELECT),  BOOL_OP(AND),  BOOL_OP(OR),     BOOL_OP(XOR),
        BOOL_OP(NOT),    F64_OP(SQRT),    F64_OP(RECIP), F64_OP(FLOOR),   F64_OP(CEIL),
        F64_OP(ROUND),   F64_OP(EXP),     F64_OP(LOG),   F64_OP(TANH),    F64_OP(SIGMOID),
        F64_OP(SIN),     F64_OP(COS),     F64_OP(POW),   F64_OP(IS_NAN),  F64_OP(IS_INF),
        F64_OP(MUL_ADD),
    };
    static loop *const casts[TYPES_][TYPES_] = {
        [S64] = CASTS_FROM(s64),
        [S32] = CASTS_FROM(s32),
        [S8] = CASTS_FROM(s8),
        [U8] = CASTS_FROM(u8),
        [BOOL] = {bool_s64, bool_s32, u8_bool, u8_bool, [F64] = bool_f64},
        [F32] = {f32_s64, f32_s32, f32_s8, f32_u8, f32_bool, NULL, f32_f64, f32_f16, f32_bf16},
        [F64] = {f64_s64, f64_s32, f64_s8, f64_u8, f64_bool, f64_f32},
        [F16] = {[F32] = f16_f32, f16_f64},
        [BF16] = {[F32] = bf16_f32},
    };
    int from = number_of(p->from);
    return p->op == HN_MAP_INT_CAST ? casts[from][number_of(p->to)] : loops[p->op][from];
}

/* ---- blocks ---- */

typedef struct cut {
    int64_t n, rows;      /* of the last axis; of all others */
    int64_t block, group; /* elements of a row and rows in a task */
    int64_t blocks;       /* in a row */
} cut;

static size_t size_of(const hn_map_int *p, int operand) {
    if (operand == HN_MAP_INT_A && p->op == HN_MAP_INT_SELECT) return 1;
    return (size_t)hone_dtype_bits(operand == HN_MAP_INT_Y ? p->to : p->from) / 8;
}

/* Whether elements with that stride need no room, or little. */
static bool is_near(int64_t stride) { return stride == 0 || stride == 1; }

static cut cut_of(const hn_map_int *p) {
    size_t from = size_of(p, HN_MAP_INT_B), to = size_of(p, HN_MAP_INT_Y);
    int64_t room = BLOCK;
    for (int i = 0; i <= HN_MAP_INT_Y; i++)
        if ((i == HN_MAP_INT_Y || i < hn_map_int_arity(p->op)) &&
            !is_near(p->stride[i][p->rank - 1]))
            room = ROOM;
    int64_t most = room / (int64_t)(from > to ? from : to);
    cut c = {.n = p->dims[p->rank - 1], .rows = 1, .group = 1};
    for (int i = 0; i < p->rank - 1; i++) c.rows *= p->dims[i];
    c.block = c.n < most ? c.n : most;
    if (c.block > 0) c.group = most / c.block, c.blocks = (c.n + c.block - 1) / c.block;
    return c;
}

static void work(const void *problem, int lanes, hn_work *w) {
    (void)lanes;
    cut c = cut_of(problem);
    *w = (hn_work){.n_phases = 1,
                   .tasks = {(c.rows + c.group - 1) / c.group * c.blocks},
                   .lane_scratch = (HN_MAP_INT_Y + 1) * ROOM};
}

/* n elements of that size from steps of `from` to steps of `to`, in elements. */
static void move(char *dst, int64_t to, const char *src, int64_t from, size_t size, int64_t n) {
    int64_t s = (int64_t)size;
    for (int64_t i = 0; i < n; i++, dst += to * s, src += from * s) {
        if (size == 8)
            memcpy(dst, src, 8);
        else if (size == 4)
            memcpy(dst, src, 4);
        else if (size == 2)
            memcpy(dst, src, 2);
        else
            *dst = *src;
    }
}

/* The same element n times, by doubling. */
static void repeat(char *dst, const char *src, size_t size, int64_t n) {
    size_t all = size * (size_t)n, done = size;
    memcpy(dst, src, size);
    for (; done < all; done *= 2) memcpy(dst + done, dst, all - done < done ? all - done : done);
}

/* Where element `column` of that row is. */
static char *address(const hn_call *call, int operand, int64_t row, int64_t column) {
    const hn_map_int *p = call->problem;
    const int64_t *stride = p->stride[operand];
    int64_t at = column * stride[p->rank - 1];
    for (int axis = p->rank - 2; axis >= 0; axis--) {
        at += row % p->dims[axis] * stride[axis];
        row /= p->dims[axis];
    }
    return (char *)call->ptr[operand] + at * (int64_t)size_of(p, operand);
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase;
    const hn_map_int *p = call->problem;
    cut c = cut_of(p);
    loop *f = loop_of(p);
    args g = {0};
    int arity = hn_map_int_arity(p->op);
    const char *held[HN_MAP_INT_Y] = {NULL}; /* what the room of an operand repeats */
    char *room[HN_MAP_INT_Y + 1];
    for (int i = 0; i <= HN_MAP_INT_Y; i++) room[i] = (char *)lane + i * ROOM;
    for (int64_t t = begin; t < end; t++) {
        int64_t column = t % c.blocks * c.block, row = t / c.blocks * c.group;
        int64_t past = row + c.group < c.rows ? row + c.group : c.rows;
        g.n = c.n - column < c.block ? c.n - column : c.block;
        for (; row < past; row++) {
            for (int i = 0; i < arity; i++) {
                const char *x = address(call, i, row, column);
                int64_t step = p->stride[i][p->rank - 1];
                g.in[i] = step == 1 ? x : room[i];
                g.step[i] = step != 0;
                if (step == 1 || (step == 0 && held[i] == x)) continue;
                if (step == 0)
                    repeat(room[i], x, size_of(p, i), STEP);
                else
                    move(room[i], 1, x, step, size_of(p, i), g.n);
                held[i] = x;
            }
            for (int i = arity; i < HN_MAP_INT_Y; i++) g.in[i] = g.in[0], g.step[i] = g.step[0];
            char *y = address(call, HN_MAP_INT_Y, row, column);
            int64_t step = p->stride[HN_MAP_INT_Y][p->rank - 1];
            g.y = step == 1 ? y : room[HN_MAP_INT_Y];
            f(&g);
            if (step != 1) move(y, step, g.y, 1, size_of(p, HN_MAP_INT_Y), g.n);
        }
    }
    int32_t *bad = call->ptr[HN_MAP_INT_BAD];
    if (g.bad && bad != NULL) __atomic_store_n(bad, 1, __ATOMIC_RELAXED);
}

const hn_kernel HN_V_ROW(map_int) = {
    .name = HN_V_NAME, .isa = HN_V_ISA, .order = "exact", .work = work, .run = run};

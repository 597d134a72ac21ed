/* The small floating-point formats, one number at a time, with integer arithmetic only.
 *
 * Every format here is sign, exponent, mantissa, with subnormals. Read as an integer, the bits
 * below the sign (the "code") grow with the magnitude, so rounding is one addition that may carry
 * into the exponent, and overflow is code > largest.
 *
 *              mantissa  bias  largest      above it              zero
 *   f16           10      15   0x7bff       inf 0x7c00, NaNs      +-
 *   bf16           7     127   0x7f7f       inf 0x7f80, NaNs      +-
 *   f8e4m3fn       3       7   0x7e  448    NaN 0x7f              +-
 *   f8e4m3fnuz     3       8   0x7f  240    nothing               +, 0x80 is the NaN
 *   f8e5m2         2      15   0x7b  57344  inf 0x7c, NaNs        +-
 *   f8e5m2fnuz     2      16   0x7f  57344  nothing               +, 0x80 is the NaN
 *   f4e2m1         1       1   0x7   6      nothing               +-, no NaN
 *
 * f8e8m0 is the odd one out: a bare exponent, 2^(bits - 127), 0xff is NaN, no sign and no zero.
 */
#include <assert.h>
#include <string.h>

#include "base/dtype.h"

static float f32_from_bits(uint32_t bits) {
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static uint64_t f64_bits(double v) {
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

#define F64_MANTISSA 52
#define F64_FRACTION ((UINT64_C(1) << F64_MANTISSA) - 1)
#define F64_INFINITY UINT64_C(0x7ff0000000000000)

/* The code of a magnitude (of a double, not NaN), rounded once, to nearest even. It is not limited
 * to the format's largest: whatever overflows, infinity too, gives a code above it. */
static uint32_t encode(uint64_t magnitude, int mantissa, int bias) {
    int exponent = (int)(magnitude >> F64_MANTISSA) - 1023;
    if (exponent == -1023)
        return 0; /* a subnormal double is far below half the smallest number of any format */
    uint64_t significand = (magnitude & F64_FRACTION) | (UINT64_C(1) << F64_MANTISSA);
    int shift = F64_MANTISSA - mantissa;
    uint32_t base = 0;
    if (exponent > -bias)
        base = (uint32_t)(exponent + bias - 1)
               << mantissa; /* the leading 1 of the significand adds the rest */
    else
        shift += 1 - bias - exponent;
    if (shift > F64_MANTISSA + 1) return 0;
    uint64_t kept = significand >> shift;
    uint64_t lost = significand & ((UINT64_C(1) << shift) - 1);
    uint64_t half = UINT64_C(1) << (shift - 1);
    return base + (uint32_t)kept + (lost > half || (lost == half && (kept & 1) != 0));
}

/* The value of a finite code; exact, as every format here lies within the normal range of f32. */
static float decode(uint32_t code, int mantissa, int bias) {
    uint32_t exponent = code >> mantissa, fraction = code & ((1u << mantissa) - 1);
    if (exponent == 0)
        return (float)fraction * f32_from_bits((uint32_t)(127 + 1 - bias - mantissa) << 23);
    return f32_from_bits((exponent + 127 - (uint32_t)bias) << 23 | fraction << (23 - mantissa));
}

float hn_f16_to_f32(uint16_t bits) {
    uint32_t code = bits & 0x7fffu;
    float v =
        code >= 0x7c00 ? f32_from_bits(0x7f800000u | (code & 0x3ff) << 13) : decode(code, 10, 15);
    return bits >> 15 ? -v : v;
}

float hn_bf16_to_f32(uint16_t bits) { return f32_from_bits((uint32_t)bits << 16); }

/* A format of 16 bits laid out as IEEE says; a NaN stays a (quiet) NaN with the top of its payload.
 */
static uint16_t from_f64(double v, int mantissa, int bias) {
    uint64_t bits = f64_bits(v), magnitude = bits & (UINT64_MAX >> 1);
    uint32_t infinity = 0x7fffu >> mantissa << mantissa, code;
    if (magnitude <= F64_INFINITY) {
        code = encode(magnitude, mantissa, bias);
        if (code > infinity) code = infinity;
    } else {
        uint32_t quiet = 1u << (mantissa - 1);
        code =
            infinity | quiet | (uint32_t)((magnitude & F64_FRACTION) >> (F64_MANTISSA - mantissa));
    }
    return (uint16_t)((bits >> 63) << 15 | code);
}

uint16_t hn_f16_from_f64(double v) { return from_f64(v, 10, 15); }
uint16_t hn_bf16_from_f64(double v) { return from_f64(v, 7, 127); }

typedef struct small_float {
    uint8_t mantissa, bias;
    uint8_t largest;  /* code of the largest finite number */
    uint8_t infinity; /* what overflow becomes when it does not saturate: an infinity or a NaN */
    uint8_t nan;
    uint8_t sign;     /* mask of the sign bit */
    bool signed_zero; /* false: the pattern of -0 is the NaN */
} small_float;

static const small_float *format_of(hone_dtype t) {
    static const small_float e4m3fn = {3, 7, 0x7e, 0x7f, 0x7f, 0x80, true};
    static const small_float e4m3fnuz = {3, 8, 0x7f, 0x80, 0x80, 0x80, false};
    static const small_float e5m2 = {2, 15, 0x7b, 0x7c, 0x7e, 0x80, true};
    static const small_float e5m2fnuz = {2, 16, 0x7f, 0x80, 0x80, 0x80, false};
    /* No infinity and no NaN: always saturates, and a NaN becomes -0 as in ONNX's own conversion.
     */
    static const small_float e2m1 = {1, 1, 0x7, 0x7, 0x8, 0x8, true};
    switch (t) {
        case HONE_DTYPE_F8E4M3FN: return &e4m3fn;
        case HONE_DTYPE_F8E4M3FNUZ: return &e4m3fnuz;
        case HONE_DTYPE_F8E5M2: return &e5m2;
        case HONE_DTYPE_F8E5M2FNUZ: return &e5m2fnuz;
        default: assert(t == HONE_DTYPE_F4E2M1); return &e2m1;
    }
}

static float e8m0_to_f32(uint8_t bits) {
    if (bits == 0xff) return f32_from_bits(0x7fc00000u);
    return f32_from_bits(bits == 0 ? 1u << 22
                                   : (uint32_t)bits << 23); /* 2^-127 is subnormal in f32 */
}

float hn_fp8_to_f32(hone_dtype t, uint8_t bits) {
    if (t == HONE_DTYPE_F8E8M0) return e8m0_to_f32(bits);
    const small_float *f = format_of(t);
    uint8_t code = bits & (f->sign - 1);
    bool negative = (bits & f->sign) != 0;
    float v;
    if (code > f->largest || (negative && code == 0 && !f->signed_zero))
        v = f32_from_bits(t == HONE_DTYPE_F8E5M2 && code == f->infinity ? 0x7f800000u
                                                                        : 0x7fc00000u);
    else
        v = decode(code, f->mantissa, f->bias);
    return negative ? -v : v;
}

uint8_t hn_fp8_from_f64(hone_dtype t, double v, bool saturate) {
    if (t == HONE_DTYPE_F8E8M0) return hn_e8m0_from_f64(v, HN_E8M0_UP, saturate);
    const small_float *f = format_of(t);
    uint64_t bits = f64_bits(v), magnitude = bits & (UINT64_MAX >> 1);
    uint32_t code = f->nan;
    if (magnitude <= F64_INFINITY) {
        code = encode(magnitude, f->mantissa, f->bias);
        if (code > f->largest) code = saturate ? f->largest : f->infinity;
    }
    if (code == 0 && !f->signed_zero) return 0;
    return (uint8_t)(bits >> 63 ? code | f->sign : code);
}

uint8_t hn_e8m0_from_f64(double v, hn_e8m0_round round, bool saturate) {
    if (!(v >= 0)) return 0xff;
    if (v < 0x1p-127) return saturate ? 0 : 0xff;
    if (v > 0x1p127) return saturate ? 0xfe : 0xff;
    uint64_t bits = f64_bits(v), fraction = bits & F64_FRACTION;
    unsigned code = (unsigned)(bits >> F64_MANTISSA) - (1023 - 127);
    if (round == HN_E8M0_UP) code += fraction != 0;
    if (round == HN_E8M0_NEAREST) code += fraction >> (F64_MANTISSA - 1) != 0;
    return (uint8_t)code;
}

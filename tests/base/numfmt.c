/* Every pattern of every small format, against a reference that shares no code with the
 * conversions: the values that the format's definition gives, and between each two neighbours the
 * tie and the doubles next to it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/dtype.h"

#include <cmocka.h>

typedef struct format {
    hone_dtype type;
    int bits, mantissa, bias;
    unsigned largest;               /* code of the largest finite number */
    double largest_value, smallest; /* by the book */
    unsigned overflow, nan;         /* what overflow becomes when it does not saturate; any NaN */
    bool signed_zero, signed_nan;
} format;

static const format formats[] = {
    {HONE_DTYPE_F16, 16, 10, 15, 0x7bff, 65504, 0x1p-24, 0x7c00, 0x7e00, true, true},
    {HONE_DTYPE_BF16, 16, 7, 127, 0x7f7f, 0x1.fep127, 0x1p-133, 0x7f80, 0x7fc0, true, true},
    {HONE_DTYPE_F8E4M3FN, 8, 3, 7, 0x7e, 448, 0x1p-9, 0x7f, 0x7f, true, true},
    {HONE_DTYPE_F8E4M3FNUZ, 8, 3, 8, 0x7f, 240, 0x1p-10, 0x80, 0x80, false, false},
    {HONE_DTYPE_F8E5M2, 8, 2, 15, 0x7b, 57344, 0x1p-16, 0x7c, 0x7e, true, true},
    {HONE_DTYPE_F8E5M2FNUZ, 8, 2, 16, 0x7f, 57344, 0x1p-17, 0x80, 0x80, false, false},
    {HONE_DTYPE_F4E2M1, 4, 1, 1, 0x7, 6, 0.5, 0x7, 0x8, true, false},
};
#define N_FORMATS (sizeof formats / sizeof *formats)

static double decode(const format *f, unsigned bits) {
    switch (f->type) {
        case HONE_DTYPE_F16: return (double)hn_f16_to_f32((uint16_t)bits);
        case HONE_DTYPE_BF16: return (double)hn_bf16_to_f32((uint16_t)bits);
        default: return (double)hn_fp8_to_f32(f->type, (uint8_t)bits);
    }
}

static unsigned encode(const format *f, double v, bool saturate) {
    switch (f->type) {
        case HONE_DTYPE_F16: return hn_f16_from_f64(v);
        case HONE_DTYPE_BF16: return hn_bf16_from_f64(v);
        default: return hn_fp8_from_f64(f->type, v, saturate);
    }
}

/* The 16-bit formats follow IEEE and have no saturating store. */
static bool can_saturate(const format *f) { return f->bits <= 8; }

static double value_of_code(const format *f, unsigned code) {
    unsigned exponent = code >> f->mantissa, fraction = code & ((1u << f->mantissa) - 1);
    if (exponent == 0) return ldexp(fraction, 1 - f->bias - f->mantissa);
    return ldexp(fraction + (1u << f->mantissa), (int)exponent - f->bias - f->mantissa);
}

static void expect(const format *f, double v, bool saturate, unsigned wanted) {
    unsigned found = encode(f, v, saturate);
    if (found != wanted)
        fail_msg("%s: %a (saturate %d) gives 0x%x, wanted 0x%x", hone_dtype_name(f->type), v,
                 saturate, found, wanted);
}

static unsigned negative(const format *f, unsigned code) {
    return code == 0 && !f->signed_zero ? 0 : code | 1u << (f->bits - 1);
}

/* v, with its mirror image, is to become `code`; largest + 1 stands for overflow. */
static void expect_code(const format *f, double v, unsigned code) {
    bool over = code > f->largest;
    if (can_saturate(f)) {
        expect(f, v, true, over ? f->largest : code);
        expect(f, -v, true, negative(f, over ? f->largest : code));
    }
    expect(f, v, false, over ? f->overflow : code);
    expect(f, -v, false, negative(f, over ? f->overflow : code));
}

static void every_finite_pattern(void **state) {
    (void)state;
    for (const format *f = formats; f < formats + N_FORMATS; f++) {
        assert_true(value_of_code(f, f->largest) == f->largest_value);
        assert_true(value_of_code(f, 1) == f->smallest);
        for (unsigned code = 0; code <= f->largest; code++) {
            double v = value_of_code(f, code), found = decode(f, code);
            if (found != v || signbit(found))
                fail_msg("%s: 0x%x is %a, wanted %a", hone_dtype_name(f->type), code, found, v);
            expect_code(f, v, code);
            if (code == 0 && !f->signed_zero) continue;
            found = decode(f, negative(f, code));
            if (found != -v || !signbit(found))
                fail_msg("%s: 0x%x is %a, wanted %a", hone_dtype_name(f->type), negative(f, code),
                         found, -v);
        }
    }
}

static void every_rounding(void **state) {
    (void)state;
    for (const format *f = formats; f < formats + N_FORMATS; f++) {
        for (unsigned code = 0; code <= f->largest; code++) {
            double low = value_of_code(f, code), high = value_of_code(f, code + 1);
            double tie = low + (high - low) / 2; /* exact: one bit more than the format has */
            expect_code(f, nextafter(low, INFINITY), code);
            expect_code(f, nextafter(tie, 0), code);
            expect_code(f, tie, code % 2 == 0 ? code : code + 1);
            expect_code(f, nextafter(tie, INFINITY), code + 1);
            expect_code(f, nextafter(high, 0), code + 1);
        }
    }
}

static void far_too_large_and_small(void **state) {
    (void)state;
    for (const format *f = formats; f < formats + N_FORMATS; f++) {
        const double large[] = {2 * f->largest_value, 0x1p200, 0x1.fffffffffffffp1023, INFINITY};
        for (int i = 0; i < 4; i++) expect_code(f, large[i], f->largest + 1);
        const double small[] = {0x1p-200, 0x1p-1022, 0x1p-1030, 0x1p-1074};
        for (int i = 0; i < 4; i++) expect_code(f, small[i], 0);
    }
}

static void every_nan(void **state) {
    (void)state;
    for (const format *f = formats; f < formats + N_FORMATS; f++) {
        unsigned sign = 1u << (f->bits - 1);
        for (int saturate = !can_saturate(f) ? 0 : 1; saturate >= 0; saturate--) {
            expect(f, NAN, saturate, f->nan);
            expect(f, copysign(NAN, -1), saturate, f->signed_nan ? f->nan | sign : f->nan);
        }
        /* All patterns that are left are NaNs, but for an infinity. */
        bool has_infinity = f->signed_zero && f->bits > 4 && f->overflow != f->nan;
        for (unsigned code = f->largest + 1; code < sign; code++) {
            double plus = decode(f, code), minus = decode(f, code | sign);
            if (has_infinity && code == f->overflow) {
                assert_true(isinf(plus) && plus > 0 && isinf(minus) && minus < 0);
            } else {
                assert_true(isnan(plus) && !signbit(plus));
                assert_true(isnan(minus) && signbit(minus));
            }
        }
        if (!f->signed_zero) assert_true(isnan(decode(f, sign)));
    }
}

/* A NaN of 16 bits comes back with its payload, made quiet if it was not. */
static void nan_payloads_of_16_bits(void **state) {
    (void)state;
    for (const format *f = formats; f < formats + 2; f++) {
        unsigned quiet = 1u << (f->mantissa - 1);
        for (unsigned code = f->overflow + 1; code < 0x8000; code++) {
            assert_int_equal(encode(f, decode(f, code), false), code | quiet);
            assert_int_equal(encode(f, decode(f, code | 0x8000), false), code | quiet | 0x8000);
        }
    }
}

static void rounds_once(void **state) {
    (void)state;
    /* Through f32 these would land on a tie and go to the even neighbour below. */
    assert_int_equal(hn_f16_from_f64(1 + 0x1p-11 + 0x1p-40), 0x3c01);
    assert_int_equal(hn_bf16_from_f64(1 + 0x1p-8 + 0x1p-40), 0x3f81);
    assert_int_equal(hn_fp8_from_f64(HONE_DTYPE_F8E4M3FN, 1 + 0x1p-4 + 0x1p-50, true), 0x39);
    /* And here f32 has no bits left at all. */
    assert_int_equal(hn_bf16_from_f64(0x1.0000000000001p-134), 1);
    assert_int_equal(hn_bf16_from_f64(0x1p-134), 0);
}

static void f8e8m0_is_a_power_of_two(void **state) {
    (void)state;
    for (unsigned bits = 0; bits < 0xff; bits++) {
        double v = ldexp(1, (int)bits - 127);
        assert_true((double)hn_fp8_to_f32(HONE_DTYPE_F8E8M0, (uint8_t)bits) == v);
        for (int saturate = 0; saturate < 2; saturate++) {
            for (int mode = HN_E8M0_UP; mode <= HN_E8M0_NEAREST; mode++)
                assert_int_equal(hn_e8m0_from_f64(v, (hn_e8m0_round)mode, saturate), bits);
            if (bits == 0xfe) continue;
            const double between[] = {nextafter(v, INFINITY), nextafter(1.5 * v, 0), 1.5 * v,
                                      nextafter(2 * v, 0)};
            for (int i = 0; i < 4; i++) {
                assert_int_equal(hn_e8m0_from_f64(between[i], HN_E8M0_UP, saturate), bits + 1);
                assert_int_equal(hn_e8m0_from_f64(between[i], HN_E8M0_DOWN, saturate), bits);
                assert_int_equal(hn_e8m0_from_f64(between[i], HN_E8M0_NEAREST, saturate),
                                 bits + (i >= 2));
                assert_int_equal(hn_fp8_from_f64(HONE_DTYPE_F8E8M0, between[i], saturate),
                                 bits + 1);
            }
        }
    }
    assert_true(isnan(hn_fp8_to_f32(HONE_DTYPE_F8E8M0, 0xff)));
}

/* The tables of special values in the ONNX Cast specification. */
static void f8e8m0_special_values(void **state) {
    (void)state;
    for (int mode = HN_E8M0_UP; mode <= HN_E8M0_NEAREST; mode++) {
        hn_e8m0_round round = (hn_e8m0_round)mode;
        const double large[] = {nextafter(0x1p127, INFINITY), 0x1.8p127, 0x1p128, 0x1p1000,
                                INFINITY};
        for (int i = 0; i < 5; i++) {
            assert_int_equal(hn_e8m0_from_f64(large[i], round, true), 0xfe);
            assert_int_equal(hn_e8m0_from_f64(large[i], round, false), 0xff);
        }
        const double small[] = {0, -0.0, 0x1p-1074, 0x1p-128, nextafter(0x1p-127, 0)};
        for (int i = 0; i < 5; i++) {
            assert_int_equal(hn_e8m0_from_f64(small[i], round, true), 0);
            assert_int_equal(hn_e8m0_from_f64(small[i], round, false), 0xff);
        }
        for (int saturate = 0; saturate < 2; saturate++) {
            assert_int_equal(hn_e8m0_from_f64(NAN, round, saturate), 0xff);
            assert_int_equal(hn_e8m0_from_f64(-1, round, saturate), 0xff);
            assert_int_equal(hn_e8m0_from_f64(-INFINITY, round, saturate), 0xff);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_finite_pattern),     cmocka_unit_test(every_rounding),
        cmocka_unit_test(far_too_large_and_small),  cmocka_unit_test(every_nan),
        cmocka_unit_test(nan_payloads_of_16_bits),  cmocka_unit_test(rounds_once),
        cmocka_unit_test(f8e8m0_is_a_power_of_two), cmocka_unit_test(f8e8m0_special_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

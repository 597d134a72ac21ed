#include "base/decimal.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"

static void expect_f32(float v, const char *want) {
    char buf[HN_DECIMAL_TEXT];
    assert_string_equal(hn_decimal_text_f32(v, buf), want);
}

static void expect_f64(double v, const char *want) {
    char buf[HN_DECIMAL_TEXT];
    assert_string_equal(hn_decimal_text_f64(v, buf), want);
}

static void shortest_text(void **state) {
    (void)state;
    expect_f32(0.1f, "0.1");
    expect_f32(1, "1");
    expect_f32(-2.5f, "-2.5");
    expect_f32(16777216, "16777216");
    expect_f32(100000, "1e+05");
    expect_f32(0.00123f, "0.00123");
    expect_f32(1.5e-5f, "1.5e-05");
    expect_f32(120000, "120000");
    expect_f32(FLT_MAX, "3.4028235e+38");
    expect_f32(0x1p-149f, "1e-45");
    expect_f32(0.0f, "0");
    expect_f32(-0.0f, "-0");
    expect_f32(INFINITY, "inf");
    expect_f32(-INFINITY, "-inf");
    expect_f32(NAN, "nan");
    expect_f32(-NAN, "-nan");
    expect_f64(0.1, "0.1");
    expect_f64(1.0 / 3, "0.3333333333333333");
    expect_f64(1e300, "1e+300");
    expect_f64(DBL_TRUE_MIN, "5e-324");
    expect_f64(-DBL_MAX, "-1.7976931348623157e+308");
}

static void reads_back(void) {
    hn_rng rng;
    hn_rng_init(&rng, 7);
    for (int i = 0; i < 20000; i++) {
        char buf[HN_DECIMAL_TEXT];
        uint64_t bits = hn_rng_u64(&rng);
        uint32_t half = (uint32_t)(bits >> 32);
        double d, d2;
        float f, f2;
        memcpy(&d, &bits, sizeof d);
        memcpy(&f, &half, sizeof f);
        hn_decimal_text_f64(d, buf);
        assert_true(strlen(buf) < HN_DECIMAL_TEXT - 1);
        assert_true(hn_decimal_f64(buf, strlen(buf), &d2));
        assert_true(isnan(d) ? isnan(d2) && signbit(d) == signbit(d2) : memcmp(&d, &d2, 8) == 0);
        hn_decimal_text_f32(f, buf);
        assert_true(hn_decimal_f32(buf, strlen(buf), &f2));
        assert_true(isnan(f) ? isnan(f2) && signbit(f) == signbit(f2) : memcmp(&f, &f2, 4) == 0);
    }
}

static void any_number(void **state) {
    (void)state;
    reads_back();
}

static void any_locale(void **state) {
    (void)state;
    static const char *const commas[] = {"de_DE.UTF-8", "de_DE", "fr_FR.UTF-8", "fr_FR"};
    bool set = false;
    for (size_t i = 0; i < sizeof commas / sizeof *commas && !set; i++)
        set = setlocale(LC_ALL, commas[i]) != NULL;
    if (!set) skip();
    reads_back();
    setlocale(LC_ALL, "C");
}

static void what_is_no_number(void **state) {
    (void)state;
    static const char *const texts[] = {"",    " 1", "1 ", "1,5",   "1.5x", "e5",
                                        "--1", "1e", ".",  "1e400", "abc",  "-1e999"};
    double d;
    float f;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_false(hn_decimal_f64(texts[i], strlen(texts[i]), &d));
        assert_false(hn_decimal_f32(texts[i], strlen(texts[i]), &f));
    }
    assert_false(hn_decimal_f32("1e39", 4, &f));
    assert_true(hn_decimal_f64("1e39", 4, &d));
    assert_true(hn_decimal_f32("1e-60", 5, &f));
    assert_true(f == 0);
    assert_true(hn_decimal_f32("-Infinity", 9, &f));
    assert_true(isinf(f) && f < 0);
    char zeros[HN_DECIMAL_LONGEST + 1];
    memset(zeros, '0', sizeof zeros);
    assert_true(hn_decimal_f64(zeros, HN_DECIMAL_LONGEST, &d));
    assert_false(hn_decimal_f64(zeros, HN_DECIMAL_LONGEST + 1, &d));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shortest_text),
        cmocka_unit_test(any_number),
        cmocka_unit_test(any_locale),
        cmocka_unit_test(what_is_no_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Which type of 16 bits holds numbers exactly. */
#include "kernels/kernel.h"
#include "kernels/values.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/dtype.h"

static hn_float fit_one(float x) { return hn_floats_fit(&x, 1); }

/* Every number of 16 bits fits its type, and its neighbours in f32 do not; bf16 only where f16 does
 * not hold it. */
static void single_numbers(void **state) {
    (void)state;
    for (uint32_t i = 0; i < 0x10000; i++) {
        float f16 = hn_f16_to_f32((uint16_t)i), bf16 = hn_bf16_to_f32((uint16_t)i);
        if (isfinite(f16)) {
            assert_int_equal(fit_one(f16), HN_FLOAT_F16);
            assert_int_equal(fit_one(nextafterf(f16, 1e9f)), HN_FLOAT_F32);
        } else {
            assert_int_equal(fit_one(f16), HN_FLOAT_F32);
        }
        bool held = hn_f16_to_f32(hn_f16_from_f64((double)bf16)) == bf16 && isfinite(bf16);
        assert_int_equal(fit_one(bf16), held             ? HN_FLOAT_F16
                                        : isfinite(bf16) ? HN_FLOAT_BF16
                                                         : HN_FLOAT_F32);
    }
}

/* One number decides for all, wherever it lies, and at any address. */
static void many_numbers(void **state) {
    (void)state;
    enum { N = 1000 };
    char room[N * 4 + 1];
    float x[N];
    for (int at = 0; at < N; at += 37) {
        static const struct {
            float number;
            hn_float fits;
        } cases[] = {{0, HN_FLOAT_F16},     {0x1p-24f, HN_FLOAT_F16}, {0x1p-25f, HN_FLOAT_BF16},
                     {65504, HN_FLOAT_F16}, {65536, HN_FLOAT_BF16},   {1.0f / 3, HN_FLOAT_F32},
                     {NAN, HN_FLOAT_F32}};
        for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
            for (int i = 0; i < N; i++) x[i] = (float)(i % 128 - 64) / 32;
            x[at] = cases[c].number;
            memcpy(room + 1, x, sizeof x);
            assert_int_equal(hn_floats_fit(room + 1, N), cases[c].fits);
        }
    }
    assert_int_equal(hn_floats_fit(room, 0), HN_FLOAT_F16);
}

/* Numbers are told by their bits, and one more than are looked for are none. */
static void different_floats(void **state) {
    (void)state;
    static float x[3 * HN_MOST_VALUES];
    for (int i = 0; i < 3 * HN_MOST_VALUES; i++) x[i] = (float)(i % HN_MOST_VALUES);
    assert_int_equal(hn_floats_values(x, 0), 0);
    assert_int_equal(hn_floats_values(x, 1), 1);
    assert_int_equal(hn_floats_values(x, 3 * HN_MOST_VALUES), HN_MOST_VALUES);
    x[2 * HN_MOST_VALUES] = -0.0f;
    assert_int_equal(hn_floats_values(x, 2 * HN_MOST_VALUES), HN_MOST_VALUES);
    assert_int_equal(hn_floats_values(x, 3 * HN_MOST_VALUES), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(single_numbers),
        cmocka_unit_test(many_numbers),
        cmocka_unit_test(different_floats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "ops/order.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void keys_keep_the_order(void **state) {
    (void)state;
    const double rising[] = {-INFINITY, -1e308, -1, -5e-324, 0, 5e-324, 1, 1e308, INFINITY, NAN};
    int64_t keys[10];
    hn_load_keys(HONE_DTYPE_F64, rising, 0, 10, keys);
    for (int i = 1; i < 10; i++) assert_true(keys[i - 1] < keys[i]);
    assert_true(keys[9] == HN_KEY_NAN);

    const double equal[] = {0.0, -0.0, NAN, -NAN};
    hn_load_keys(HONE_DTYPE_F64, equal, 0, 4, keys);
    assert_true(keys[0] == keys[1]);
    assert_true(keys[2] == keys[3]);

    const uint64_t large[] = {0, 1, (uint64_t)INT64_MAX, (uint64_t)INT64_MAX + 1, UINT64_MAX};
    hn_load_keys(HONE_DTYPE_U64, large, 0, 5, keys);
    for (int i = 1; i < 5; i++) assert_true(keys[i - 1] < keys[i]);

    const int8_t small[] = {-128, -1, 0, 127};
    hn_load_keys(HONE_DTYPE_S8, small, 1, 3, keys);
    for (int i = 1; i < 3; i++) assert_true(keys[i - 1] < keys[i]);

    static float many[1000];
    static int64_t many_keys[1000];
    for (int i = 0; i < 1000; i++) many[i] = (float)i - 500;
    hn_load_keys(HONE_DTYPE_F32, many, 0, 1000, many_keys);
    for (int i = 1; i < 1000; i++) assert_true(many_keys[i - 1] < many_keys[i]);
}

static void sorting_is_stable(void **state) {
    (void)state;
    enum { MOST = 130 };
    int64_t keys[2 * MOST] = {0}, index[MOST], tmp[MOST];
    for (int64_t n = 0; n <= MOST; n++) {
        for (int64_t i = 0; i < n; i++) {
            keys[2 * i] = i * 37 % 5;
            keys[2 * i + 1] = i * 11 % 3;
            index[i] = i;
        }
        hn_sort_rows(keys, 2, index, n, tmp);
        bool seen[MOST] = {0};
        for (int64_t i = 0; i < n; i++) {
            assert_false(seen[index[i]]);
            seen[index[i]] = true;
            if (i == 0) continue;
            int c = hn_compare_rows(keys + 2 * index[i - 1], keys + 2 * index[i], 2);
            assert_true(c < 0 || (c == 0 && index[i - 1] < index[i]));
        }
    }
}

/* Keys of few bits and of all 64, many of them equal, in an order to begin with that is not theirs.
 */
static void single_keys_sort_alike(void **state) {
    (void)state;
    enum { MOST = 5000 };
    static const int64_t lengths[] = {0, 1, 2, 63, 64, 65, 66, 700, 2047, 2048, MOST};
    static const int64_t ends[] = {INT64_MIN, INT64_MAX, 0, -1};
    static int64_t keys[MOST], index[MOST], tmp[MOST], came[MOST];
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
        for (int spread = 0; spread < 62; spread += 10) {
            int64_t n = lengths[l];
            for (int64_t i = 0; i < n; i++) {
                keys[i] = (i * 7919 % 997 - 400) * ((int64_t)1 << (spread < 53 ? spread : 53));
                if (spread == 60 && i % 5 == 0) keys[i] = ends[i % 4];
                index[i] = n - 1 - i;
                came[index[i]] = i;
            }
            hn_sort_rows(keys, 1, index, n, tmp);
            for (int64_t i = 1; i < n; i++) {
                int64_t a = index[i - 1], b = index[i];
                assert_true(keys[a] < keys[b] || (keys[a] == keys[b] && came[a] < came[b]));
            }
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_keep_the_order),
        cmocka_unit_test(sorting_is_stable),
        cmocka_unit_test(single_keys_sort_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

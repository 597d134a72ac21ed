#include "ops/strided.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void axes_merge(void **state) {
    (void)state;
    hn_strided s = {0};
    hn_strided_add(&s, 2, 12, 12);
    hn_strided_add(&s, 1, 99, 98);
    hn_strided_add(&s, 3, 4, 4);
    hn_strided_add(&s, 4, 1, 1);
    assert_int_equal(s.rank, 1);
    assert_int_equal(s.axis[0].n, 24);
    assert_int_equal(s.axis[0].src, 1);
    hn_strided_add(&s, 2, 0, 1); /* reads again: goes on as an axis of its own */
    assert_int_equal(s.rank, 2);
    assert_false(s.empty);
    hn_strided_add(&s, 0, 1, 1);
    assert_true(s.empty);

    hn_strided huge = {0}; /* strides of a tensor that ends in an axis of size 0 */
    hn_strided_add(&huge, INT64_MAX, 0, 0);
    hn_strided_add(&huge, INT64_MAX, 0, 0);
    hn_strided_add(&huge, 0, 1, 1);
    assert_true(huge.empty);
}

static void repeats_and_reverses(void **state) {
    (void)state;
    const uint16_t src[] = {1, 2, 3};
    uint16_t dst[6] = {0};
    hn_strided s = {.src_at = 2};
    hn_strided_add(&s, 2, 0, 3);
    hn_strided_add(&s, 3, -1, 1);
    hn_strided_copy(NULL, HONE_DTYPE_U16, src, dst, &s);
    const uint16_t want[] = {3, 2, 1, 3, 2, 1};
    assert_memory_equal(dst, want, sizeof want);

    hn_strided one = {.src_at = 1, .dst_at = 4};
    hn_strided_copy(NULL, HONE_DTYPE_U16, src, dst, &one);
    assert_int_equal(dst[4], 2);
}

static void every_width(void **state) {
    (void)state;
    static const hone_dtype types[] = {HONE_DTYPE_U8, HONE_DTYPE_F16, HONE_DTYPE_F32,
                                       HONE_DTYPE_S64, HONE_DTYPE_C128};
    unsigned char src[6 * 16], dst[6 * 16];
    for (size_t i = 0; i < sizeof src; i++) src[i] = (unsigned char)i;
    for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
        size_t width = (size_t)hone_dtype_bits(types[k]) / 8;
        hn_strided s = {0}; /* [2, 3] to [3, 2] */
        hn_strided_add(&s, 3, 1, 2);
        hn_strided_add(&s, 2, 3, 1);
        hn_strided_copy(NULL, types[k], src, dst, &s);
        for (size_t i = 0; i < 6; i++)
            assert_memory_equal(dst + i * width, src + (i % 2 * 3 + i / 2) * width, width);
    }
}

static void place(void **state) {
    (void)state;
    const uint8_t src[] = {1, 2, 3, 4, 5, 6}; /* [2, 3] */
    uint8_t dst[12] = {0};                    /* [3, 4] */
    const int64_t src_dims[] = {2, 3}, dst_dims[] = {3, 4};
    hn_strided s = hn_strided_place(2, src_dims, dst_dims, (int64_t[]){1, -1});
    hn_strided_copy(NULL, HONE_DTYPE_U8, src, dst, &s);
    const uint8_t want[] = {0, 0, 0, 0, 2, 3, 0, 0, 5, 6, 0, 0};
    assert_memory_equal(dst, want, sizeof want);
    assert_true(hn_strided_place(2, src_dims, dst_dims, (int64_t[]){3, 0}).empty);
    assert_true(hn_strided_place(2, src_dims, dst_dims, (int64_t[]){0, -3}).empty);
    assert_true(hn_strided_place(2, src_dims, dst_dims, (int64_t[]){INT64_MAX, 0}).empty);
    assert_true(hn_strided_place(2, src_dims, dst_dims, (int64_t[]){0, INT64_MIN}).empty);
}

static void threads(void **state) {
    (void)state;
    enum { N = 300 };
    static uint32_t src[N * N], dst[N * N];
    hn_pool *pool;
    hn_error err;
    assert_int_equal(hn_pool_create(&pool, 3, hn_allocator_default(), &err), HONE_OK);
    for (uint32_t i = 0; i < N * N; i++) src[i] = i;
    hn_strided s = {0};
    hn_strided_add(&s, N, 1, N);
    hn_strided_add(&s, N, N, 1);
    hn_strided_copy(pool, HONE_DTYPE_U32, src, dst, &s);
    for (uint32_t i = 0; i < N; i++)
        for (uint32_t k = 0; k < N; k++) assert_int_equal(dst[i * N + k], src[k * N + i]);
    hn_pool_destroy(pool);
}

static void packed_runs(void **state) {
    (void)state;
    const uint8_t src[] = {0x21, 0x43, 0x05}; /* 1 2 3 4 5 */
    uint8_t dst[3] = {0xff, 0xff, 0xff};
    hn_copy_run(HONE_DTYPE_U4, dst, 0, src, 2, 3);
    assert_int_equal(dst[0], 0x43);
    assert_int_equal(dst[1], 0xf5);
    hn_fill(NULL, HONE_DTYPE_U4, dst, 5, src, 4);
    assert_int_equal(dst[1], 0x55);
    assert_int_equal(dst[2], 0xf5);
    hn_copy_run(HONE_DTYPE_F32, NULL, 0, NULL, 0, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(axes_merge),  cmocka_unit_test(repeats_and_reverses),
        cmocka_unit_test(every_width), cmocka_unit_test(place),
        cmocka_unit_test(threads),     cmocka_unit_test(packed_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

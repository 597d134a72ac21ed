#include "base/dtype.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/size.h"

#include <cmocka.h>

static const hone_dtype all[] = {
#define HONE_X(name, number, short_name, onnx_name, bits) HONE_DTYPE_##name,
    HONE_DTYPE_LIST(HONE_X)
#undef HONE_X
};
#define N_ALL (sizeof all / sizeof *all)

static bool has_numbers(hone_dtype t) { return t != HONE_DTYPE_STRING; }

static size_t bytes_of(hone_dtype t, int64_t n) {
    size_t bytes = 0;
    assert_true(hn_packed_bytes(n, hone_dtype_bits(t), &bytes));
    return bytes;
}

static void names(void **state) {
    (void)state;
    assert_string_equal(hone_dtype_name(HONE_DTYPE_F8E4M3FNUZ), "f8e4m3fnuz");
    assert_string_equal(hn_dtype_onnx_name(HONE_DTYPE_F32), "float");
    assert_string_equal(hn_dtype_onnx_name(HONE_DTYPE_BF16), "bfloat16");
    for (size_t k = 0; k < N_ALL; k++) {
        assert_int_equal(hn_dtype_from_onnx_name(hn_dtype_onnx_name(all[k])), all[k]);
        assert_int_equal(hn_dtype_from_onnx_name(hone_dtype_name(all[k])), all[k]);
        assert_true(hn_dtype_valid((int)all[k]));
    }
    assert_int_equal(hn_dtype_from_onnx_name("float7"), HONE_DTYPE_NONE);
    assert_int_equal(hn_dtype_from_onnx_name(""), HONE_DTYPE_NONE);
    const int wrong[] = {0, -1, 27, 1000, INT32_MIN, INT32_MAX};
    for (int i = 0; i < 6; i++) {
        assert_false(hn_dtype_valid(wrong[i]));
        assert_string_equal(hone_dtype_name((hone_dtype)wrong[i]), "?");
        assert_string_equal(hn_dtype_onnx_name((hone_dtype)wrong[i]), "?");
        assert_int_equal(hone_dtype_bits((hone_dtype)wrong[i]), 0);
    }
}

static void widths_and_ranges(void **state) {
    (void)state;
    assert_int_equal(hone_dtype_bits(HONE_DTYPE_S2), 2);
    assert_int_equal(hone_dtype_bits(HONE_DTYPE_F4E2M1), 4);
    assert_int_equal(hone_dtype_bits(HONE_DTYPE_C128), 128);
    assert_int_equal(hone_dtype_bits(HONE_DTYPE_STRING), 0);
    const struct {
        hone_dtype t;
        int64_t min;
        uint64_t max;
    } ranges[] = {
        {HONE_DTYPE_S2, -2, 1},
        {HONE_DTYPE_U2, 0, 3},
        {HONE_DTYPE_S4, -8, 7},
        {HONE_DTYPE_U4, 0, 15},
        {HONE_DTYPE_S8, INT8_MIN, 127},
        {HONE_DTYPE_U8, 0, 255},
        {HONE_DTYPE_S16, INT16_MIN, INT16_MAX},
        {HONE_DTYPE_U16, 0, UINT16_MAX},
        {HONE_DTYPE_S32, INT32_MIN, INT32_MAX},
        {HONE_DTYPE_U32, 0, UINT32_MAX},
        {HONE_DTYPE_S64, INT64_MIN, INT64_MAX},
        {HONE_DTYPE_U64, 0, UINT64_MAX},
        {HONE_DTYPE_BOOL, 0, 1},
    };
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        assert_true(hn_dtype_min(ranges[i].t) == ranges[i].min);
        assert_true(hn_dtype_max(ranges[i].t) == ranges[i].max);
    }
}

static void sets(void **state) {
    (void)state;
    assert_true(hn_dtype_is_float(HONE_DTYPE_F4E2M1) && hn_dtype_is_float(HONE_DTYPE_F8E8M0));
    assert_false(hn_dtype_is_float(HONE_DTYPE_C64) || hn_dtype_is_float(HONE_DTYPE_BOOL));
    assert_true(hn_dtype_is_int(HONE_DTYPE_U2) && hn_dtype_is_int(HONE_DTYPE_S64));
    assert_false(hn_dtype_is_int(HONE_DTYPE_BOOL) || hn_dtype_is_int(HONE_DTYPE_NONE));
    assert_true(hn_dtype_is_signed(HONE_DTYPE_S2));
    assert_false(hn_dtype_is_signed(HONE_DTYPE_U8));
}

/* What stores back as it was loaded: not a NaN, whose bits may change, nor an infinity that
 * saturates, nor an integer beyond 2^53. */
static bool survives(hone_dtype t, double v) {
    if (hn_dtype_in(t, HN_DTYPE_BIT(S64) | HN_DTYPE_BIT(U64))) return fabs(v) <= 0x1p53;
    return !isnan(v) && !(t == HONE_DTYPE_F8E5M2 && isinf(v));
}

/* Random bytes of every type, at every alignment: bulk and single access agree, and what was loaded
 * stores back to the same bits. */
static void bulk_and_single_access_agree(void **state) {
    (void)state;
    enum { N = 300, FROM = 5, MAX_BYTES = (N + FROM + 1) * 16 };
    hn_rng rng;
    hn_rng_init(&rng, 11);
    for (size_t k = 0; k < N_ALL; k++) {
        hone_dtype t = all[k];
        if (!has_numbers(t) || hn_dtype_in(t, HN_DTYPES_COMPLEX)) continue;
        for (int offset = 0; offset < 8; offset++) {
            unsigned char buffer[MAX_BYTES + 8], copy[MAX_BYTES + 8];
            unsigned char *data = buffer + offset, *out = copy + offset;
            for (size_t i = 0; i < sizeof buffer; i++) buffer[i] = (unsigned char)hn_rng_u64(&rng);
            if (t == HONE_DTYPE_BOOL)
                for (size_t i = 0; i < sizeof buffer; i++) buffer[i] &= 1;
            if (offset % 2 == 1 && hn_dtype_in(t, HN_DTYPE_BIT(S64) | HN_DTYPE_BIT(U64)))
                for (int64_t i = 0; i < N + FROM; i++)
                    hn_store_s64(t, data, i, (int64_t)(hn_rng_u64(&rng) >> 12));
            double v[N];
            int64_t s[N];
            hn_load_f64_n(t, data, FROM, N, v);
            hn_load_s64_n(t, data, FROM, N, s);
            memcpy(copy, buffer, sizeof copy);
            memset(out, 0x5a, bytes_of(t, N + FROM));
            int kept = 0;
            for (int64_t i = 0; i < N; i++) {
                double one = hn_load_f64(t, data, FROM + i);
                assert_memory_equal(&one, &v[i], sizeof one);
                assert_true(hn_load_s64(t, data, FROM + i) == s[i]);
                if (!survives(t, v[i])) continue;
                kept++;
                hn_store_f64(t, out, FROM + i, v[i]);
                unsigned char a[16] = {0}, b[16] = {0};
                hn_copy_element(t, a, 0, data, FROM + i);
                hn_copy_element(t, b, 0, out, FROM + i);
                assert_memory_equal(a, b, 16);
            }
            assert_true(kept > 0 || offset % 2 == 0);
            /* In bulk the same comes out as one by one. */
            unsigned char bulk[MAX_BYTES + 8], single[MAX_BYTES + 8];
            memcpy(bulk, buffer, sizeof bulk);
            memcpy(single, buffer, sizeof single);
            hn_store_f64_n(t, bulk + offset, FROM, N, v);
            for (int64_t i = 0; i < N; i++) hn_store_f64(t, single + offset, FROM + i, v[i]);
            assert_memory_equal(bulk, single, sizeof bulk);
            hn_store_s64_n(t, bulk + offset, FROM, N, s);
            for (int64_t i = 0; i < N; i++) hn_store_s64(t, single + offset, FROM + i, s[i]);
            assert_memory_equal(bulk, single, sizeof bulk);
            if (hn_dtype_is_int(t)) assert_memory_equal(bulk, buffer, sizeof bulk);
        }
    }
}

static void integers_load_as_they_are(void **state) {
    (void)state;
    const unsigned char packed[] = {0xf8, 0x71};
    const int64_t s4[] = {-8, -1, 1, 7}, u4[] = {8, 15, 1, 7};
    const int64_t s2[] = {0, -2, -1, -1, 1, 0, -1, 1}, u2[] = {0, 2, 3, 3, 1, 0, 3, 1};
    int64_t found[8];
    hn_load_s64_n(HONE_DTYPE_S4, packed, 0, 4, found);
    assert_memory_equal(found, s4, sizeof s4);
    hn_load_s64_n(HONE_DTYPE_U4, packed, 0, 4, found);
    assert_memory_equal(found, u4, sizeof u4);
    hn_load_s64_n(HONE_DTYPE_S2, packed, 0, 8, found);
    assert_memory_equal(found, s2, sizeof s2);
    hn_load_s64_n(HONE_DTYPE_U2, packed, 0, 8, found);
    assert_memory_equal(found, u2, sizeof u2);

    assert_int_equal(hn_load_s64(HONE_DTYPE_S8, (int8_t[]){-128}, 0), -128);
    assert_int_equal(hn_load_s64(HONE_DTYPE_U8, (uint8_t[]){200}, 0), 200);
    assert_int_equal(hn_load_s64(HONE_DTYPE_S16, (int16_t[]){-32768}, 0), -32768);
    assert_int_equal(hn_load_s64(HONE_DTYPE_U16, (uint16_t[]){65535}, 0), 65535);
    assert_int_equal(hn_load_s64(HONE_DTYPE_S32, (int32_t[]){0, INT32_MIN}, 1), INT32_MIN);
    assert_int_equal(hn_load_s64(HONE_DTYPE_U32, (uint32_t[]){UINT32_MAX}, 0), UINT32_MAX);
    assert_true(hn_load_s64(HONE_DTYPE_U64, (uint64_t[]){UINT64_MAX}, 0) == -1);
    assert_true(hn_load_f64(HONE_DTYPE_U64, (uint64_t[]){UINT64_MAX}, 0) == 0x1p64);
    assert_true(hn_load_f64(HONE_DTYPE_S64, (int64_t[]){INT64_MIN}, 0) == -0x1p63);
    /* Any byte but 0 is true. */
    assert_int_equal(hn_load_s64(HONE_DTYPE_BOOL, "\x02", 0), 1);
    assert_true(hn_load_f64(HONE_DTYPE_BOOL, "\xff", 0) == 1);
}

static void floats_load_as_integers(void **state) {
    (void)state;
    const double v[] = {
        2.9, -2.9, 0x1p63, -0x1p63, -0x1.8p63, INFINITY, -INFINITY, NAN, 0x1.fffffffffffffp62};
    const int64_t wanted[] = {2,         -2,        INT64_MAX, INT64_MIN,       INT64_MIN,
                              INT64_MAX, INT64_MIN, 0,         INT64_MAX - 1023};
    int64_t found[9];
    hn_load_s64_n(HONE_DTYPE_F64, v, 0, 9, found);
    for (int i = 0; i < 9; i++) assert_true(found[i] == wanted[i]);
    assert_int_equal(hn_load_s64(HONE_DTYPE_F16, (uint16_t[]){0xc180}, 0), -2);
}

static void complex_is_its_real_part(void **state) {
    (void)state;
    float c64[4] = {1, 2, 3, 4};
    double c128[4] = {1, 2, 3, 4};
    assert_true(hn_load_f64(HONE_DTYPE_C64, c64, 1) == 3);
    assert_true(hn_load_f64(HONE_DTYPE_C128, c128, 1) == 3);
    hn_store_f64(HONE_DTYPE_C64, c64, 1, 7);
    hn_store_s64(HONE_DTYPE_C128, c128, 1, 8);
    assert_true(c64[2] == 7 && c64[3] == 0 && c64[1] == 2);
    assert_true(c128[2] == 8 && c128[3] == 0 && c128[1] == 2);
    hn_copy_element(HONE_DTYPE_C128, c128, 1, c128, 0);
    assert_true(c128[2] == 1 && c128[3] == 2);
}

static int64_t stored_f64(hone_dtype t, double v) {
    unsigned char data[16] = {0};
    hn_store_f64(t, data, 0, v);
    return hn_load_s64(t, data, 0);
}

static int64_t stored_s64(hone_dtype t, int64_t v) {
    unsigned char data[16] = {0};
    hn_store_s64(t, data, 0, v);
    return hn_load_s64(t, data, 0);
}

static void storing_integers_truncates_and_wraps(void **state) {
    (void)state;
    assert_int_equal(stored_f64(HONE_DTYPE_S8, -2.9), -2);
    assert_int_equal(stored_f64(HONE_DTYPE_S8, 200), -56);
    assert_int_equal(stored_f64(HONE_DTYPE_U8, 300.7), 44);
    assert_int_equal(stored_f64(HONE_DTYPE_U8, -1), 255);
    assert_int_equal(stored_f64(HONE_DTYPE_S16, 32768), -32768);
    assert_int_equal(stored_f64(HONE_DTYPE_U16, -1), 65535);
    assert_int_equal(stored_f64(HONE_DTYPE_S32, 0x1p31), INT32_MIN);
    assert_int_equal(stored_f64(HONE_DTYPE_U32, -2), 4294967294);
    assert_int_equal(stored_f64(HONE_DTYPE_S64, 0x1p80), INT64_MAX);
    assert_true(stored_f64(HONE_DTYPE_U64, 0x1p63) == INT64_MIN);
    assert_true(stored_f64(HONE_DTYPE_U64, 0x1p64) == -1);
    assert_true(stored_f64(HONE_DTYPE_U64, -1) == -1);
    assert_int_equal(stored_f64(HONE_DTYPE_S4, 8), -8);
    assert_int_equal(stored_f64(HONE_DTYPE_U4, -9), 7);
    assert_int_equal(stored_f64(HONE_DTYPE_S2, 2.5), -2);
    assert_int_equal(stored_f64(HONE_DTYPE_U2, 5), 1);
    assert_int_equal(stored_f64(HONE_DTYPE_BOOL, 0.25), 1);
    assert_int_equal(stored_f64(HONE_DTYPE_BOOL, -0.0), 0);
    assert_int_equal(stored_f64(HONE_DTYPE_BOOL, NAN), 1);
    for (size_t k = 0; k < N_ALL; k++)
        if (hn_dtype_is_int(all[k])) assert_int_equal(stored_f64(all[k], NAN), 0);

    assert_int_equal(stored_s64(HONE_DTYPE_S8, 200), -56);
    assert_int_equal(stored_s64(HONE_DTYPE_U16, 65536 + 5), 5);
    assert_int_equal(stored_s64(HONE_DTYPE_S32, INT64_C(0x180000000)), INT32_MIN);
    assert_int_equal(stored_s64(HONE_DTYPE_S4, -9), 7);
    assert_int_equal(stored_s64(HONE_DTYPE_S2, 2), -2);
    assert_int_equal(stored_s64(HONE_DTYPE_BOOL, 256), 1);
    assert_int_equal(stored_s64(HONE_DTYPE_F16, 3), 3);
}

static void neighbours_of_packed_elements_stay(void **state) {
    (void)state;
    const hone_dtype packed[] = {HONE_DTYPE_U4, HONE_DTYPE_S4, HONE_DTYPE_F4E2M1, HONE_DTYPE_U2,
                                 HONE_DTYPE_S2};
    for (int k = 0; k < 5; k++) {
        int bits = hone_dtype_bits(packed[k]), per_byte = 8 / bits;
        for (int i = 0; i < 2 * per_byte; i++) {
            unsigned char data[4] = {0xff, 0xff, 0xff, 0xff};
            hn_store_f64(packed[k], data, i, 0);
            unsigned mask = ((1u << bits) - 1) << (i % per_byte * bits);
            for (int b = 0; b < 4; b++)
                assert_int_equal(data[b], b == i / per_byte ? 0xff & ~mask : 0xff);
            hn_copy_element(packed[k], data, i, data, 3 * per_byte);
            assert_memory_equal(data, "\xff\xff\xff\xff", 4);
        }
    }
}

/* An integer that double cannot hold reaches the narrow format in one rounding. Each of these lies
 * just beside a tie of the target, and on it once rounded to double. */
static void large_integers_round_once(void **state) {
    (void)state;
    const int64_t just_above = (INT64_C(1) << 62) + (INT64_C(1) << 38) + 1; /* tie of f32 at 2^62 */
    float f = 0;
    hn_store_s64(HONE_DTYPE_F32, &f, 0, just_above);
    assert_true(f == 0x1p62f + 0x1p39f);
    hn_store_s64(HONE_DTYPE_F32, &f, 0, just_above - 1);
    assert_true(f == 0x1p62f);
    hn_store_s64(HONE_DTYPE_F32, &f, 0, -just_above);
    assert_true(f == -0x1p62f - 0x1p39f);
    uint16_t b = 0;
    hn_store_s64(HONE_DTYPE_BF16, &b, 0, (INT64_C(1) << 62) + (INT64_C(1) << 54) + 1);
    assert_true(hn_bf16_to_f32(b) == 0x1p62f + 0x1p55f);
    hn_store_s64(HONE_DTYPE_BF16, &b, 0, INT64_MIN);
    assert_true(hn_bf16_to_f32(b) == -0x1p63f);
    double d = 0;
    hn_store_s64(HONE_DTYPE_F64, &d, 0, INT64_MAX);
    assert_true(d == 0x1p63);
    hn_store_s64(HONE_DTYPE_F64, &d, 0, (INT64_C(1) << 53) + 1);
    assert_true(d == 0x1p53);

    const uint64_t u = (UINT64_C(1) << 63) + (UINT64_C(1) << 39) + 1;
    hn_cast(HONE_DTYPE_U64, &u, HONE_DTYPE_F32, &f, 1, true);
    assert_true(f == 0x1p63f + 0x1p40f);
    hn_cast(HONE_DTYPE_U64, &u, HONE_DTYPE_F64, &d, 1, true);
    assert_true(d == 0x1p63 + 0x1p39);
    hn_cast(HONE_DTYPE_S64, &just_above, HONE_DTYPE_F32, &f, 1, true);
    assert_true(f == 0x1p62f + 0x1p39f);
}

static void nothing_is_done_for_no_elements(void **state) {
    (void)state;
    for (size_t k = 0; k < N_ALL; k++) {
        if (!has_numbers(all[k]) || hn_dtype_in(all[k], HN_DTYPES_COMPLEX)) continue;
        hn_load_f64_n(all[k], NULL, 0, 0, NULL);
        hn_load_s64_n(all[k], NULL, 0, 0, NULL);
        hn_store_f64_n(all[k], NULL, 0, 0, NULL);
        hn_store_s64_n(all[k], NULL, 0, 0, NULL);
        hn_cast(all[k], NULL, all[k], NULL, 0, true);
        hn_cast(all[k], NULL, HONE_DTYPE_F32, NULL, 0, true);
    }
}

/* ---- cast */

/* Every pair, over more elements than a chunk, with the numbers that both types have: 1 is in all
 * of them, 0 in all but f8e8m0, -1 in the signed ones. */
static void cast_of_every_pair(void **state) {
    (void)state;
    enum { N = 1001 };
    static unsigned char src[N * 8], dst[N * 8 + 1];
    const hn_dtypes with_zero =
        HN_DTYPES_INT | (HN_DTYPES_ANY_FLOAT & ~HN_DTYPE_BIT(F8E8M0)) | HN_DTYPE_BIT(BOOL);
    const hn_dtypes with_minus = HN_DTYPES_SIGNED | (HN_DTYPES_ANY_FLOAT & ~HN_DTYPE_BIT(F8E8M0));
    for (size_t a = 0; a < N_ALL; a++) {
        for (size_t b = 0; b < N_ALL; b++) {
            hone_dtype from = all[a], to = all[b];
            const hn_dtypes excluded = HN_DTYPES_COMPLEX | HN_DTYPE_BIT(STRING);
            if (hn_dtype_in(from, excluded) || hn_dtype_in(to, excluded)) continue;
            bool zero = hn_dtype_in(from, with_zero) && hn_dtype_in(to, with_zero);
            bool minus = hn_dtype_in(from, with_minus) && hn_dtype_in(to, with_minus);
            int8_t wanted[N];
            for (int64_t i = 0; i < N; i++) {
                wanted[i] = i % 3 == 0 && zero ? 0 : i % 5 == 0 && minus ? -1 : 1;
                hn_store_s64(from, src, i, wanted[i]);
            }
            memset(dst, 0xff, sizeof dst);
            hn_cast(from, src, to, dst, N, true);
            for (int64_t i = 0; i < N; i++) {
                double found = hn_load_f64(to, dst, i);
                if (found != wanted[i])
                    fail_msg("%s to %s: %d became %g", hone_dtype_name(from), hone_dtype_name(to),
                             wanted[i], found);
            }
            assert_int_equal(dst[bytes_of(to, N)], 0xff);
        }
    }
}

/* Of one number. */
static void expect_cast(hone_dtype from, double v, hone_dtype to, double wanted) {
    unsigned char src[8] = {0}, dst[8] = {0};
    hn_store_f64(from, src, 0, v);
    hn_cast(from, src, to, dst, 1, true);
    double found = hn_load_f64(to, dst, 0);
    if (found != wanted)
        fail_msg("%s to %s: %g became %g, wanted %g", hone_dtype_name(from), hone_dtype_name(to), v,
                 found, wanted);
}

static void cast_of_numbers_out_of_range(void **state) {
    (void)state;
    const hone_dtype from[] = {HONE_DTYPE_F32, HONE_DTYPE_F64, HONE_DTYPE_BF16};
    for (int k = 0; k < 3; k++) {
        expect_cast(from[k], 0x1p40, HONE_DTYPE_S32, INT32_MAX);
        expect_cast(from[k], -0x1p40, HONE_DTYPE_S32, INT32_MIN);
        expect_cast(from[k], 0x1p40, HONE_DTYPE_U32, UINT32_MAX);
        expect_cast(from[k], -1, HONE_DTYPE_U32, 0);
        expect_cast(from[k], 0x1p70, HONE_DTYPE_S64, 0x1p63);
        expect_cast(from[k], -0x1p70, HONE_DTYPE_S64, -0x1p63);
        expect_cast(from[k], 0x1p70, HONE_DTYPE_U64, 0x1p64);
        expect_cast(from[k], 0x1p63, HONE_DTYPE_U64, 0x1p63);
        expect_cast(from[k], -1, HONE_DTYPE_U64, 0);
        expect_cast(from[k], INFINITY, HONE_DTYPE_S32, INT32_MAX);
        expect_cast(from[k], -INFINITY, HONE_DTYPE_S64, -0x1p63);
        expect_cast(from[k], NAN, HONE_DTYPE_S32, 0);
        expect_cast(from[k], NAN, HONE_DTYPE_U8, 0);
        expect_cast(from[k], NAN, HONE_DTYPE_BOOL, 1);
        expect_cast(from[k], 300, HONE_DTYPE_U8, 44);
        expect_cast(from[k], -1, HONE_DTYPE_U8, 255);
        expect_cast(from[k], 200, HONE_DTYPE_S8, -56);
        expect_cast(from[k], -2.75, HONE_DTYPE_S32, -2);
        expect_cast(from[k], 2.75, HONE_DTYPE_U64, 2);
    }
    expect_cast(HONE_DTYPE_F64, 0x1p31 - 0.5, HONE_DTYPE_S32, INT32_MAX);
    expect_cast(HONE_DTYPE_F64, -0x1p31 - 0.5, HONE_DTYPE_S32, INT32_MIN);
    expect_cast(HONE_DTYPE_F64, DBL_MAX, HONE_DTYPE_F32, INFINITY);
    expect_cast(HONE_DTYPE_F32, 65520, HONE_DTYPE_F16, INFINITY);
    expect_cast(HONE_DTYPE_S32, 70000, HONE_DTYPE_F16, INFINITY);
    expect_cast(HONE_DTYPE_S16, 200, HONE_DTYPE_S8, -56);
    expect_cast(HONE_DTYPE_S32, -1, HONE_DTYPE_U64, 0x1p64);
    expect_cast(HONE_DTYPE_U64, 0x1p63, HONE_DTYPE_S64, -0x1p63);
    expect_cast(HONE_DTYPE_S8, -9, HONE_DTYPE_S4, 7);
    expect_cast(HONE_DTYPE_S32, 36, HONE_DTYPE_BOOL, 1);
    expect_cast(HONE_DTYPE_F4E2M1, -6, HONE_DTYPE_S2, -2);
}

/* The cases of ONNX's own tests of Cast, bit for bit. */
static void cast_as_the_onnx_tests_have_it(void **state) {
    (void)state;
    const float n[] = {-9, -8, -7, -1, 0, 1, 7, 8, 9, 15};
    unsigned char dst[16];
    hn_cast(HONE_DTYPE_F32, n, HONE_DTYPE_S4, dst, 10, true);
    assert_memory_equal(dst, "\x87\xf9\x10\x87\xf9", 5);
    hn_cast(HONE_DTYPE_F32, n, HONE_DTYPE_U4, dst, 10, true);
    assert_memory_equal(dst, "\x87\xf9\x10\x87\xf9", 5);
    const float q[] = {-3, -2, -1, 0, 1, 2, 3, 0};
    hn_cast(HONE_DTYPE_F32, q, HONE_DTYPE_S2, dst, 8, true);
    assert_memory_equal(dst, "\x39\x39", 2);

    const float x[] = {0.47892547f, 1e6f, 1e-7f, NAN, INFINITY, -INFINITY, -1e-7f, -1e6f};
    const struct {
        hone_dtype to;
        bool saturate;
        unsigned char wanted[8];
    } cases[] = {
        {HONE_DTYPE_F8E4M3FN, true, {0x2f, 0x7e, 0x00, 0x7f, 0x7e, 0xfe, 0x80, 0xfe}},
        {HONE_DTYPE_F8E4M3FN, false, {0x2f, 0x7f, 0x00, 0x7f, 0x7f, 0xff, 0x80, 0xff}},
        {HONE_DTYPE_F8E4M3FNUZ, true, {0x37, 0x7f, 0x00, 0x80, 0x7f, 0xff, 0x00, 0xff}},
        {HONE_DTYPE_F8E4M3FNUZ, false, {0x37, 0x80, 0x00, 0x80, 0x80, 0x80, 0x00, 0x80}},
        {HONE_DTYPE_F8E5M2, true, {0x38, 0x7b, 0x00, 0x7e, 0x7b, 0xfb, 0x80, 0xfb}},
        {HONE_DTYPE_F8E5M2, false, {0x38, 0x7c, 0x00, 0x7e, 0x7c, 0xfc, 0x80, 0xfc}},
        {HONE_DTYPE_F8E5M2FNUZ, true, {0x3c, 0x7f, 0x00, 0x80, 0x7f, 0xff, 0x00, 0xff}},
        {HONE_DTYPE_F8E5M2FNUZ, false, {0x3c, 0x80, 0x00, 0x80, 0x80, 0x80, 0x00, 0x80}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hn_cast(HONE_DTYPE_F32, x, cases[i].to, dst, 8, cases[i].saturate);
        assert_memory_equal(dst, cases[i].wanted, 8);
    }

    const float f4[] = {0.48f, 0.25f, 1.05f,    -3.5f,     -8, 9,     1e6f,
                        1e-7f, NAN,   INFINITY, -INFINITY, -4, 0.01f, -0.0f};
    for (int saturate = 0; saturate < 2; saturate++) {
        hn_cast(HONE_DTYPE_F32, f4, HONE_DTYPE_F4E2M1, dst, 14, saturate);
        assert_memory_equal(dst, "\x01\xe2\x7f\x07\x78\xef\x80", 7);
    }

    const float powers[] = {0, 0.124f, 0.25f, 0.5f, 1.1f, 2, 4, 8};
    hn_cast(HONE_DTYPE_F32, powers, HONE_DTYPE_F8E8M0, dst, 8, true);
    assert_memory_equal(dst, "\x00\x7c\x7d\x7e\x80\x80\x81\x82", 8);
    hn_cast(HONE_DTYPE_F32, powers, HONE_DTYPE_F8E8M0, dst, 1, false);
    assert_int_equal(dst[0], 0xff);
}

static void cast_to_the_same_type_copies_bits(void **state) {
    (void)state;
    const uint32_t signalling[] = {0x7f800001u, 0xffc12345u};
    uint32_t out[2] = {0};
    hn_cast(HONE_DTYPE_F32, signalling, HONE_DTYPE_F32, out, 2, true);
    assert_memory_equal(out, signalling, sizeof out);
    unsigned char packed[] = {0x21, 0x03}, dst[] = {0, 0, 0xee};
    hn_cast(HONE_DTYPE_U4, packed, HONE_DTYPE_U4, dst, 3, true);
    assert_memory_equal(dst, "\x21\x03\xee", 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),
        cmocka_unit_test(widths_and_ranges),
        cmocka_unit_test(sets),
        cmocka_unit_test(bulk_and_single_access_agree),
        cmocka_unit_test(integers_load_as_they_are),
        cmocka_unit_test(floats_load_as_integers),
        cmocka_unit_test(complex_is_its_real_part),
        cmocka_unit_test(storing_integers_truncates_and_wraps),
        cmocka_unit_test(neighbours_of_packed_elements_stay),
        cmocka_unit_test(large_integers_round_once),
        cmocka_unit_test(nothing_is_done_for_no_elements),
        cmocka_unit_test(cast_of_every_pair),
        cmocka_unit_test(cast_of_numbers_out_of_range),
        cmocka_unit_test(cast_as_the_onnx_tests_have_it),
        cmocka_unit_test(cast_to_the_same_type_copies_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

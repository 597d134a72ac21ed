#include "formats/coded.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/scratch.h"

enum { MOST = 1 << 18 };
static unsigned char src[MOST], back[MOST + 1];

static uint64_t random_state = 1;
static uint32_t next(void) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 33);
}
static double normal(void) {
    return sqrt(-2 * log((next() + 0.5) / 2147483648.0)) *
           cos(6.283185307 * ((next() + 0.5) / 2147483648.0));
}

static hn_growing out;
static hn_code code;

static size_t encode(size_t bytes, size_t width, size_t columns, bool text) {
    hn_error err = {.text = ""};
    hn_uncoded u = {src, bytes, width, columns, text, 1};
    out = (hn_growing){.alloc = &scratch_mem};
    hone_status status = hn_coded_encode(&u, &out, &code, &err);
    if (status != HONE_OK) fail_msg("%s", err.text);
    return code == HN_CODE_RAW ? bytes : out.n;
}

/* Decodes what was encoded, compares, and frees it. */
static void compare(size_t bytes) {
    hn_error err = {.text = ""};
    memset(back, 99, bytes + 1);
    if (code == HN_CODE_RAW) {
        assert_int_equal(out.n, 0);
    } else {
        assert_true(out.n < bytes);
        hone_status status =
            hn_coded_decode(code, out.data, out.n, back, bytes, &scratch_mem, &err);
        if (status != HONE_OK) fail_msg("%s: %s", hn_code_name(code), err.text);
        assert_memory_equal(src, back, bytes);
        assert_int_equal(back[bytes], 99);
    }
    hn_free(&scratch_mem, out.data);
}

static void put_f32(size_t i, float v) { memcpy(src + 4 * i, &v, 4); }

/* ---- which code is taken, and that it is lossless ---- */

static void floats_go_by_planes(void **state) {
    (void)state;
    size_t n = 20000;
    for (size_t i = 0; i < n; i++) put_f32(i, (float)normal() * 0.1f);
    size_t bytes = encode(4 * n, 4, 100, false);
    assert_int_equal(code, HN_CODE_PLANES);
    assert_true(bytes < 4 * n * 0.87);
    compare(4 * n);
}

static void random_bytes_stay_raw(void **state) {
    (void)state;
    for (size_t i = 0; i < 9000; i++) src[i] = (unsigned char)next();
    encode(9000, 1, 0, false);
    assert_int_equal(code, HN_CODE_RAW);
    compare(9000);
}

/* Large enough that adaptive coding is out of the question. */
static void few_kinds_make_a_table(void **state) {
    (void)state;
    size_t n = MOST / 2;
    for (size_t i = 0; i < n; i++) {
        uint16_t v = (uint16_t)(next() % 1000 * 61);
        memcpy(src + 2 * i, &v, 2);
    }
    size_t bytes = encode(2 * n, 2, 0, false);
    assert_int_equal(code, HN_CODE_TABLE);
    assert_true((double)bytes < (double)n * 10.2 / 8 + 2500); /* 1000 kinds are 9.97 bits */
    compare(2 * n);
}

/* 8 % of values with all their bits: gaps and planes. */
static void pruned_floats_are_sparse(void **state) {
    (void)state;
    size_t n = MOST / 4, filled = 0;
    for (size_t i = 0; i < n; i++) {
        bool is = next() % 100 < 8;
        filled += is;
        put_f32(i, is ? (float)normal() : 0);
    }
    size_t bytes = encode(4 * n, 4, 256, false);
    assert_int_equal(code, HN_CODE_SPARSE);
    double p = (double)filled / (double)n;
    double gaps = -(double)n * (p * log2(p) + (1 - p) * log2(1 - p)) / 8;
    assert_true((double)bytes < 1.03 * (gaps + 3.5 * (double)filled));
    compare(4 * n);
}

/* The use that package files are made for: pruned and clustered. */
static void pruned_and_clustered_floats_are_adaptive(void **state) {
    (void)state;
    size_t n = 200 * 300, count[32] = {0};
    for (size_t i = 0; i < n; i++) {
        double x = normal();
        int k = next() % 100 < 8 ? (int)(16 + 4 * x) : 0;
        k = k < 0 ? 1 : k > 31 ? 31 : k;
        count[k]++;
        put_f32(i, k == 0 ? 0 : (float)(k - 15.7) * 0.013f);
    }
    double least = 32 * 4;
    for (int k = 0; k < 32; k++)
        if (count[k] > 0) least -= (double)count[k] * log2((double)count[k] / (double)n) / 8;
    size_t bytes = encode(4 * n, 4, 300, false);
    assert_true(code == HN_CODE_ADAPTIVE || code == HN_CODE_TABLE);
    if ((double)bytes > 1.03 * least) fail_msg("%zu bytes, the entropy is %.0f", bytes, least);
    compare(4 * n);
}

static void texts(void **state) {
    (void)state;
    size_t n = 0;
    while (n < 3000) n += (size_t)sprintf((char *)src + n, "layer.%u.weight", next() % 20);
    size_t bytes = encode(n, 1, 0, true);
    assert_true(code == HN_CODE_TEXT || code == HN_CODE_ZSTD);
    assert_true(bytes < n / 4);
    compare(n);
}

/* Every width and length, and contents of all sorts: gaps of more than 255, NaN, -0, all zero. */
static void all_sorts(void **state) {
    (void)state;
    static const size_t widths[] = {1, 2, 4, 8, 16};
    for (int w = 0; w < 5; w++) {
        for (int kind = 0; kind < 6; kind++) {
            for (size_t n = 0; n < 3000; n = n * 3 + 1) {
                size_t width = widths[w];
                memset(src, kind == 1 ? 0xff : 0, n * width);
                for (size_t i = 0; i < n && kind > 1; i++) {
                    if (kind == 2 && i % 600 != 599) continue;
                    if (kind == 3) src[i * width + width - 1] = next() % 3 == 0 ? 0x80 : 0;
                    if (kind == 3) continue;
                    for (size_t b = 0; b < width; b++)
                        src[i * width + b] = (unsigned char)(kind == 4 ? next() % 5 : next());
                }
                encode(n * width, width, n / 3, false);
                compare(n * width);
            }
        }
    }
}

/* ---- damage, and lack of memory ---- */

/* Each code in turn, by contents that it wins. */
static void damage(void **state) {
    (void)state;
    static const size_t width = 4;
    size_t n = 600;
    for (int kind = 0; kind < 4; kind++) {
        for (size_t i = 0; i < n; i++) {
            uint32_t v = kind == 0   ? next() & 0xff0000ffu
                         : kind == 1 ? next() % 40 * 0x01010101u
                         : kind == 2 ? (next() % 20 == 0 ? next() : 0)
                                     : 7 + next() % 3;
            memcpy(src + 4 * i, &v, 4);
        }
        encode(n * width, width, 30, kind == 3);
        if (code == HN_CODE_RAW) fail_msg("kind %d stays raw", kind);
        hn_error err;
        for (size_t cut = 0; cut < out.n; cut++) {
            unsigned char *piece = test_malloc(cut + 1);
            memcpy(piece, out.data, cut);
            hone_status status =
                hn_coded_decode(code, piece, cut, back, n * width, &scratch_mem, &err);
            /* What the adaptive coder does not find it takes for zeros: checksums are for that. */
            assert_true(status == HONE_E_FORMAT || status == HONE_OK);
            test_free(piece);
        }
        for (size_t at = 0; at < out.n; at++)
            for (int bit = 0; bit < 8; bit++) {
                out.data[at] ^= (unsigned char)(1 << bit);
                hone_status status =
                    hn_coded_decode(code, out.data, out.n, back, n * width, &scratch_mem, &err);
                assert_true(status == HONE_OK || status == HONE_E_FORMAT);
                out.data[at] ^= (unsigned char)(1 << bit);
            }
        hn_free(&scratch_mem, out.data);
    }
    hn_error err;
    assert_int_equal(hn_coded_decode((hn_code)99, src, 4, back, 4, &scratch_mem, &err),
                     HONE_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "newer version"));
}

static void lack_of_memory(void **state) {
    (void)state;
    for (size_t i = 0; i < 500; i++) put_f32(i, next() % 10 == 0 ? (float)(next() % 9) : 0);
    for (int text = 0; text < 2; text++) {
        hn_uncoded u = {src, 2000, 4, 50, text != 0, 1};
        hone_status status = HONE_E_NOMEM;
        for (int k = 0; status != HONE_OK; k++) {
            hn_allocator alloc;
            hn_error err = {.text = ""};
            hn_allocator_init(&alloc);
            hn_growing g = {.alloc = &alloc};
            atomic_store(&alloc.fail_after, k);
            status = hn_coded_encode(&u, &g, &code, &err);
            if (status == HONE_OK)
                status = hn_coded_decode(code, g.data, g.n, back, 2000, &alloc, &err);
            assert_true(status == HONE_OK || status == HONE_E_NOMEM);
            hn_free(&alloc, g.data);
            assert_int_equal(atomic_load(&alloc.blocks), 0);
            assert_true(k < 1000);
            assert_true(status != HONE_OK || k > 5);
        }
        assert_memory_equal(src, back, 2000);
    }
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)
    const struct CMUnitTest tests[] = {
        TEST(floats_go_by_planes),
        TEST(random_bytes_stay_raw),
        TEST(few_kinds_make_a_table),
        TEST(pruned_floats_are_sparse),
        TEST(pruned_and_clustered_floats_are_adaptive),
        TEST(texts),
        TEST(all_sorts),
        TEST(damage),
        TEST(lack_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

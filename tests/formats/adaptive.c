#include "formats/adaptive.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "support/scratch.h"

enum { ROWS = 300, COLUMNS = 784, N = ROWS * COLUMNS, KINDS = 32, ZERO = 16 };
static unsigned char indices[N], back[N], coded[N + 100];

static uint64_t random_state = 1;
static double uniform(void) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return ((double)(random_state >> 33) + 0.5) / 2147483648.0;
}
static double normal(void) { return sqrt(-2 * log(uniform())) * cos(6.283185307 * uniform()); }

/* As a pruned and clustered layer: `density` by column, values on either side of zero. */
static void fill(double (*density)(int column)) {
    for (int i = 0; i < N; i++) {
        double x = normal();
        x += x > 0 ? 1 : -1;
        int v = (int)(ZERO + 4 * x);
        v = v < 0 ? 0 : v >= KINDS ? KINDS - 1 : v == ZERO ? ZERO + 1 : v;
        indices[i] = (unsigned char)(uniform() < density(i % COLUMNS) ? v : ZERO);
    }
}

static double entropy_bytes(size_t n) {
    size_t count[256] = {0};
    double bits = 0;
    for (size_t i = 0; i < n; i++) count[indices[i]]++;
    for (int s = 0; s < 256; s++)
        if (count[s] > 0) bits -= (double)count[s] * log2((double)count[s] / (double)n);
    return bits / 8;
}

/* Bytes that it takes; checks that they come back. */
static size_t code(size_t n, size_t columns, int kinds, int zero) {
    hn_error err = {.text = ""};
    hn_adaptive a = {.alloc = &scratch_mem, .coded = coded, .room = sizeof coded};
    assert_int_equal(hn_adaptive_indices(&a, indices, n, columns, kinds, zero, &err), HONE_OK);
    assert_false(a.full);
    hn_adaptive d = {.alloc = &scratch_mem, .decode = true, .coded = coded, .room = a.bytes};
    memset(back, 255, n);
    assert_int_equal(hn_adaptive_indices(&d, back, n, columns, kinds, zero, &err), HONE_OK);
    assert_memory_equal(indices, back, n);
    return a.bytes;
}

static double even(int column) {
    (void)column;
    return 0.08;
}
/* Images whose border is empty. */
static double border(int column) {
    return hypot(column % 28 - 13.5, column / 28 - 13.5) < 9 ? 0.2 : 0.002;
}

static void weights_without_a_pattern(void **state) {
    (void)state;
    fill(even);
    double least = entropy_bytes(N);
    size_t bytes = code(N, COLUMNS, KINDS, ZERO);
    if ((double)bytes > 1.03 * least) fail_msg("%zu bytes, the entropy is %.0f", bytes, least);
}

static void weights_with_one(void **state) {
    (void)state;
    fill(border);
    double least = entropy_bytes(N);
    size_t bytes = code(N, COLUMNS, KINDS, ZERO);
    if ((double)bytes > 0.9 * least)
        fail_msg("%zu bytes, %.0f if columns were alike", bytes, least);
}

static void all_forms(void **state) {
    (void)state;
    static const struct {
        size_t n, columns;
        int kinds, zero;
    } forms[] = {{1, 1, 1, 0},      {1, 1, 1, 1},       {7, 7, 2, 0},        {7, 1, 2, 1},
                 {9, 2, 3, 3},      {1000, 10, 256, 0}, {1000, 3, 256, 256}, {1000, 1000, 255, 254},
                 {1001, 10, 17, 4}, {64, 2, 5, 2}};
    for (size_t k = 0; k < sizeof forms / sizeof *forms; k++) {
        for (size_t i = 0; i < forms[k].n; i++)
            indices[i] = (unsigned char)(uniform() * uniform() * forms[k].kinds);
        code(forms[k].n, forms[k].columns, forms[k].kinds, forms[k].zero);
    }
}

static void text(void **state) {
    (void)state;
    static unsigned char bytes[5000];
    static const char *const words[] = {"weight", "bias", "Conv_", "layers.", "\x0a\x12\x08", "0"};
    size_t n = 0;
    hn_error err;
    while (n < sizeof bytes - 10) {
        const char *w = words[(int)(uniform() * 6)];
        memcpy(bytes + n, w, strlen(w));
        n += strlen(w);
    }
    for (size_t part = 0; part <= n; part += part < 20 ? 1 : n / 3) {
        hn_adaptive a = {.alloc = &scratch_mem, .coded = coded, .room = sizeof coded};
        assert_int_equal(hn_adaptive_bytes(&a, bytes, part, &err), HONE_OK);
        hn_adaptive d = {.alloc = &scratch_mem, .decode = true, .coded = coded, .room = a.bytes};
        assert_int_equal(hn_adaptive_bytes(&d, back, part, &err), HONE_OK);
        assert_memory_equal(bytes, back, part);
        if (part == n) assert_true(a.bytes < n / 4);
    }
}

static void damage(void **state) {
    (void)state;
    hn_error err;
    unsigned char bad[64];
    for (int i = 0; i < 3000; i++) {
        for (size_t k = 0; k < sizeof bad; k++) bad[k] = (unsigned char)(uniform() * 256);
        int kinds = 1 + i % 256;
        hn_adaptive d = {
            .alloc = &scratch_mem, .decode = true, .coded = bad, .room = (size_t)i % sizeof bad};
        hone_status status = hn_adaptive_indices(&d, back, 300, 20, kinds, i % (kinds + 1), &err);
        assert_true(status == HONE_OK || status == HONE_E_FORMAT);
        for (int k = 0; k < 300 && status == HONE_OK; k++) assert_true(back[k] < kinds);
    }
    hn_adaptive d = {.alloc = &scratch_mem, .decode = true, .coded = bad, .room = 8};
    assert_int_equal(hn_adaptive_indices(&d, back, 300, 0, 4, 0, &err), HONE_E_FORMAT);
    assert_int_equal(hn_adaptive_indices(&d, back, 300, 301, 4, 0, &err), HONE_E_FORMAT);
    assert_int_equal(hn_adaptive_indices(&d, back, HN_ADAPTIVE_MOST_INDICES + 1, 1, 4, 0, &err),
                     HONE_E_FORMAT);
    assert_int_equal(hn_adaptive_bytes(&d, back, HN_ADAPTIVE_MOST_BYTES + 1, &err), HONE_E_FORMAT);
    /* No room: it says so and writes nothing behind it. */
    fill(even);
    coded[100] = 77;
    hn_adaptive a = {.alloc = &scratch_mem, .coded = coded, .room = 100};
    assert_int_equal(hn_adaptive_indices(&a, indices, N, COLUMNS, KINDS, ZERO, &err), HONE_OK);
    assert_true(a.full);
    assert_int_equal(coded[100], 77);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)
    const struct CMUnitTest tests[] = {
        TEST(weights_without_a_pattern),
        TEST(weights_with_one),
        TEST(all_forms),
        TEST(text),
        TEST(damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

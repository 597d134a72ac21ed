#include "formats/rans.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 40000 };
static unsigned char src[MOST], back[MOST], coded[3 * MOST], room[2 * MOST];

static uint64_t random_state;
static uint32_t next(void) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 33);
}

/* Of `kinds` bytes, the first ones more often by `skew`. */
static void fill(size_t n, uint32_t kinds, int skew) {
    for (size_t i = 0; i < n; i++) {
        uint32_t v = next() % kinds;
        for (int k = 0; k < skew; k++) {
            uint32_t w = next() % kinds;
            v = w < v ? w : v;
        }
        src[i] = (unsigned char)(v * 7);
    }
}

static double entropy_bytes(size_t n) {
    size_t count[256] = {0};
    double bits = 0;
    for (size_t i = 0; i < n; i++) count[src[i]]++;
    for (int s = 0; s < 256; s++)
        if (count[s] > 0) bits -= (double)count[s] * log2((double)count[s] / (double)n);
    return bits / 8;
}

static void what_is_coded_comes_back(void **state) {
    (void)state;
    static const uint32_t kinds[] = {2, 3, 17, 256};
    for (size_t n = 0; n < MOST; n = n < 300 ? n + 1 : n * 3) {
        for (int k = 0; k < 4; k++) {
            fill(n, kinds[k], k % 2 * 4);
            size_t bytes = hn_rans_encode(src, n, coded, room);
            assert_true(bytes < n || bytes == 0);
            if (bytes == 0) continue;
            memset(back, 1, n);
            assert_int_equal(hn_rans_decode(coded, bytes, back, n, NULL), HONE_OK);
            assert_memory_equal(src, back, n);
        }
    }
}

/* The table and the states aside, within 1 % of what the frequencies allow. */
static void it_is_near_the_entropy(void **state) {
    (void)state;
    for (int skew = 0; skew < 40; skew += 3) {
        fill(MOST, 60, skew);
        double least = entropy_bytes(MOST);
        size_t bytes = hn_rans_encode(src, MOST, coded, room);
        assert_true(bytes > 0);
        if ((double)bytes > 1.01 * least + 200)
            fail_msg("skew %d: %zu bytes, the entropy is %.0f", skew, bytes, least);
    }
}

static void what_does_not_pay_is_declined(void **state) {
    (void)state;
    memset(src, 9, MOST);
    assert_int_equal(hn_rans_encode(src, MOST, coded, room), 0); /* of one kind */
    for (size_t i = 0; i < MOST; i++) src[i] = (unsigned char)i;
    assert_int_equal(hn_rans_encode(src, MOST, coded, room), 0); /* of all alike */
}

/* No damage is read beyond the ends of anything, and a cut is always noticed. */
static void damage(void **state) {
    (void)state;
    enum { N = 3000 };
    fill(N, 20, 3);
    size_t bytes = hn_rans_encode(src, N, coded, room);
    assert_true(bytes > 0);
    for (size_t cut = 0; cut < bytes; cut++) {
        unsigned char *piece = test_malloc(cut + 1); /* sanitizers see its end */
        memcpy(piece, coded, cut);
        hn_error err;
        assert_int_equal(hn_rans_decode(piece, cut, back, N, &err), HONE_E_FORMAT);
        test_free(piece);
    }
    for (size_t at = 0; at < bytes; at++)
        for (int bit = 0; bit < 8; bit += 3) {
            coded[at] ^= (unsigned char)(1 << bit);
            hone_status status = hn_rans_decode(coded, bytes, back, N, NULL);
            assert_true(status == HONE_OK || status == HONE_E_FORMAT);
            coded[at] ^= (unsigned char)(1 << bit);
        }
    hn_error err;
    assert_int_equal(hn_rans_decode(coded, bytes, back, N - 1, &err), HONE_E_FORMAT);
    assert_int_equal(hn_rans_decode(coded, bytes, back, N + 1, &err), HONE_E_FORMAT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_coded_comes_back),
        cmocka_unit_test(it_is_near_the_entropy),
        cmocka_unit_test(what_does_not_pay_is_declined),
        cmocka_unit_test(damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

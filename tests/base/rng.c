#include "base/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <cmocka.h>

/* The published test vectors of splitmix64 and xoshiro256**. */
static void published_numbers(void **state) {
    (void)state;
    hn_rng rng;
    hn_rng_init(&rng, 1234567);
    const uint64_t seeded[4] = {UINT64_C(6457827717110365317), UINT64_C(3203168211198807973),
                                UINT64_C(9817491932198370423), UINT64_C(4593380528125082431)};
    for (int i = 0; i < 4; i++) assert_true(rng.s[i] == seeded[i]);

    rng = (hn_rng){{1, 2, 3, 4}};
    const uint64_t words[8] = {11520,
                               0,
                               UINT64_C(1509978240),
                               UINT64_C(1215971899390074240),
                               UINT64_C(1216172134540287360),
                               UINT64_C(607988272756665600),
                               UINT64_C(16172922978634559625),
                               UINT64_C(8476171486693032832)};
    for (int i = 0; i < 8; i++) assert_true(hn_rng_u64(&rng) == words[i]);
}

static void many_words_are_those_of_one_by_one(void **state) {
    (void)state;
    hn_rng one, many;
    hn_rng_init(&one, 9);
    hn_rng_init(&many, 9);
    uint64_t words[7];
    for (int n = 0; n <= 7; n++) {
        hn_rng_u64_n(&many, words, n);
        for (int i = 0; i < n; i++) assert_true(words[i] == hn_rng_u64(&one));
    }
    assert_true(hn_rng_u64(&many) == hn_rng_u64(&one));
}

/* Outputs may not change: datasets and trained models are reproduced from seeds. */
static void golden_numbers(void **state) {
    (void)state;
    hn_rng rng;
    hn_rng_init(&rng, 42);
    assert_true(hn_rng_u64(&rng) == UINT64_C(0x15780b2e0c2ec716));
    hn_rng_init(&rng, UINT64_MAX);
    assert_true(hn_rng_u64(&rng) == UINT64_C(0x8f5520d52a7ead08));

    hn_rng_init(&rng, 42);
    const double uniform[3] = {0.08386297105988216, 0.3789802506626686, 0.6800434110281394};
    for (int i = 0; i < 3; i++) assert_true(hn_rng_f64(&rng) == uniform[i]);

    hn_rng_init(&rng, 7);
    const uint64_t below[6] = {4, 4, 8, 4, 4, 1};
    for (int i = 0; i < 6; i++) assert_int_equal(hn_rng_below(&rng, 10), below[i]);

    hn_rng_init(&rng, 42);
    const double normal[8] = {-0x1.73d2feb0fb377p-1, 0x1.c5e21f7812a4ep-3, 0x1.db514bfac5b4ep-2,
                              0x1.79eb7c13cfccdp+0,  0x1.02007c2380aeap+0, 0x1.06f74c2a8e1p+0,
                              0x1.7bb262180f952p-2,  0x1.61ec2cfebd724p-2};
    for (int i = 0; i < 8; i++) assert_true(hn_rng_normal(&rng) == normal[i]);
}

static void below_stays_below_and_is_even(void **state) {
    (void)state;
    hn_rng rng;
    hn_rng_init(&rng, 3);
    assert_int_equal(hn_rng_below(&rng, 1), 0);
    int seen[7] = {0};
    for (int i = 0; i < 70000; i++) seen[hn_rng_below(&rng, 7)]++;
    for (int i = 0; i < 7; i++) assert_in_range(seen[i], 9600, 10400); /* +- 4 sigma */
    /* Of 2^63 + 1 about half the words are refused; without that, the lower half comes up twice as
     * often. */
    uint64_t n = (UINT64_C(1) << 63) + 1;
    int low = 0;
    for (int i = 0; i < 10000; i++) {
        uint64_t v = hn_rng_below(&rng, n);
        assert_true(v < n);
        low += v < n / 2;
    }
    assert_in_range(low, 4800, 5200);
}

static void moments_are_those_of_the_law(void **state) {
    (void)state;
    hn_rng rng;
    hn_rng_init(&rng, 5);
    enum { N = 100000 };
    double sum = 0, lowest = 1, highest = 0;
    for (int i = 0; i < N; i++) {
        double v = hn_rng_f64(&rng);
        sum += v;
        if (v < lowest) lowest = v;
        if (v > highest) highest = v;
    }
    assert_true(lowest >= 0 && lowest < 1e-4 && highest < 1 && highest > 1 - 1e-4);
    assert_true(fabs(sum / N - 0.5) < 0.004);

    double m1 = 0, m2 = 0, m4 = 0;
    for (int i = 0; i < N; i++) {
        double v = hn_rng_normal(&rng);
        m1 += v / N;
        m2 += v * v / N;
        m4 += v * v * v * v / N;
    }
    assert_true(fabs(m1) < 0.013);
    assert_true(fabs(m2 - 1) < 0.018);
    assert_true(fabs(m4 - 3) < 0.13);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_numbers),
        cmocka_unit_test(many_words_are_those_of_one_by_one),
        cmocka_unit_test(golden_numbers),
        cmocka_unit_test(below_stays_below_and_is_even),
        cmocka_unit_test(moments_are_those_of_the_law),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

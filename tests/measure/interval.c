#include "measure/interval.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/metric.h"

/* By Wilson's formula, worked out by hand: 8 of 10 with z = 1.95996. */
static void a_share_stays_between_0_and_1(void **state) {
    (void)state;
    hn_interval i = hn_interval_share(8, 10);
    assert_true(fabs(i.low - 0.490162) < 1e-6 && fabs(i.high - 0.943318) < 1e-6);
    i = hn_interval_share(0, 20);
    assert_true(i.low == 0 && fabs(i.high - 0.161125) < 1e-6);
    i = hn_interval_share(20, 20);
    assert_true(fabs(i.low - 0.838875) < 1e-6 && i.high == 1);
    assert_true(isnan(hn_interval_share(0, 0).low));
}

static void a_mean_has_the_error_of_the_mean(void **state) {
    (void)state;
    hn_ratio r = {0};
    assert_true(isnan(hn_ratio_value(&r)));
    hn_ratio_add(&r, 1, 1);
    assert_true(isnan(hn_ratio_interval(&r).low)); /* one sample tells no spread */
    hn_ratio_add(&r, 2, 1);
    hn_ratio_add(&r, 3, 1);
    hn_ratio_add(&r, 6, 1);
    /* Mean 3, deviations -2 -1 0 3: variance 14 / 3, of the mean 14 / 12. */
    assert_near(hn_ratio_value(&r), 3);
    hn_interval i = hn_ratio_interval(&r);
    assert_near(i.high - 3, 1.959963984540054 * sqrt(14.0 / 12));
    assert_near(3 - i.low, i.high - 3);
}

static void heavier_samples_count_more(void **state) {
    (void)state;
    hn_ratio r = {0};
    hn_ratio_add(&r, 2, 1);
    hn_ratio_add(&r, 2, 3);
    assert_near(hn_ratio_value(&r), 1);
    /* part - 1 * weight is 1 and -1: 2 * (2 / 1) = 4, over 4^2. */
    assert_near(hn_ratio_interval(&r).high - 1, 1.959963984540054 * sqrt(4.0 / 16));
}

static void a_replicate_counts_a_sample_once_on_average(void **state) {
    (void)state;
    int counts[5] = {0}, sum = 0;
    for (int s = 0; s < 200; s++)
        for (int r = 0; r < HN_REPLICATES; r++) {
            int k = hn_bootstrap_times(1, s, r);
            assert_true(k >= 0);
            counts[k < 4 ? k : 4]++;
            sum += k;
        }
    double n = 200.0 * HN_REPLICATES;
    assert_true(fabs(sum / n - 1) < 0.02);
    assert_true(fabs(counts[0] / n - 0.3679) < 0.01 && fabs(counts[1] / n - 0.3679) < 0.01);
    assert_true(fabs(counts[2] / n - 0.1839) < 0.01 && fabs(counts[3] / n - 0.0613) < 0.005);
    assert_int_equal(hn_bootstrap_times(7, 3, 9), hn_bootstrap_times(7, 3, 9));
    int other = 0;
    for (int s = 0; s < 100; s++)
        other += hn_bootstrap_times(1, s, 0) != hn_bootstrap_times(2, s, 0);
    assert_true(other > 30);
}

static void the_middle_95_percent_are_kept(void **state) {
    (void)state;
    double v[HN_REPLICATES];
    for (int i = 0; i < HN_REPLICATES; i++) v[i] = (i * 7) % HN_REPLICATES;
    hn_interval i = hn_bootstrap_interval(v);
    assert_near(i.low, 10);
    assert_near(i.high, 389);
    for (int k = 0; k < HN_REPLICATES; k++) v[k] = NAN;
    assert_true(isnan(hn_bootstrap_interval(v).low));
    for (int k = 0; k < HN_REPLICATES; k++) v[k] = 1;
    assert_true(isnan(hn_bootstrap_interval(v).low)); /* no spread is not certainty */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_share_stays_between_0_and_1),
        cmocka_unit_test(a_mean_has_the_error_of_the_mean),
        cmocka_unit_test(heavier_samples_count_more),
        cmocka_unit_test(a_replicate_counts_a_sample_once_on_average),
        cmocka_unit_test(the_middle_95_percent_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "measure/timing.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "support/scratch.h"

#define NEAR(a, b) assert_true(fabs((a) - (b)) < 1e-9)

static hone_timing timing(const double *ms, size_t n) {
    hone_timing t = {0};
    hn_error err;
    if (hn_timing_of(&t, ms, NULL, 0, n, &scratch_mem, &err) != HONE_OK) fail_msg("%s", err.text);
    return t;
}

static void percentiles_lie_between_neighbours(void **state) {
    (void)state;
    const double ms[] = {5, 1, 4, 2, 3};
    hone_timing t = timing(ms, 5);
    assert_int_equal(t.n, 5);
    NEAR(t.mean, 3);
    NEAR(t.std, sqrt(2.5));
    NEAR(t.min, 1);
    NEAR(t.max, 5);
    NEAR(t.p50, 3);
    NEAR(t.p90, 4.6);
    NEAR(t.p95, 4.8);
    NEAR(t.p99, 4.96);
    NEAR(t.p99_9, 4.996);
}

static void one_run_is_enough(void **state) {
    (void)state;
    const double ms[] = {7};
    hone_timing t = timing(ms, 1);
    NEAR(t.std, 0);
    NEAR(t.p99_9, 7);
    assert_int_equal(t.n_windows, 1);
    assert_int_equal(t.counts[0], 1);
    assert_true(isnan(t.noise) && !t.stable);
}

static void what_is_no_duration_is_refused(void **state) {
    (void)state;
    const double ms[] = {1, NAN, -1};
    hone_timing t = {.n = 77};
    hn_error err;
    assert_int_equal(hn_timing_of(&t, ms, NULL, 0, 0, &scratch_mem, &err), HONE_E_ARG);
    assert_int_equal(hn_timing_of(&t, ms, NULL, 0, 2, &scratch_mem, &err), HONE_E_ARG);
    assert_string_equal(err.text, "duration 1 is nan, expected a number of at least 0");
    assert_int_equal(hn_timing_of(&t, ms + 2, NULL, 0, 1, &scratch_mem, &err), HONE_E_ARG);
    assert_int_equal(t.n, 77);
}

/* 23 runs in 10 windows of 2 or 3; the second half counts for noise. */
static void windows_are_in_order(void **state) {
    (void)state;
    double ms[23];
    for (int i = 0; i < 23; i++) ms[i] = i < 11 ? 2 : 1 + i * 0.001;
    ms[5] = 1.5;
    hone_timing t = timing(ms, 23);
    assert_int_equal(t.n_windows, 10);
    NEAR(t.fastest[2], 1.5);
    NEAR(t.median[0], 2);
    NEAR(t.median[5], 1.0115); /* runs 11 and 12 */
    assert_true(t.stable && t.noise > 0 && t.noise < 0.01);
    ms[21] = ms[22] = 1.2;
    t = timing(ms, 23);
    assert_true(!t.stable && t.noise > 0.1 && t.noise < 0.2);
}

static void the_histogram_counts_every_run(void **state) {
    (void)state;
    double ms[1000];
    int64_t sum = 0;
    for (int i = 0; i < 1000; i++) ms[i] = 1 + i * 0.001;
    ms[999] = 500; /* which must not push all others into the first part */
    hone_timing t = timing(ms, 1000);
    NEAR(t.low, 1);
    NEAR(t.high, t.p99);
    hone_timing spiky = timing((const double[]){1, 1, 1, 1, 1, 90, 80}, 7);
    NEAR(spiky.high, 3);
    assert_int_equal(spiky.counts[HONE_TIMING_BINS - 1], 2);
    for (int i = 0; i < HONE_TIMING_BINS; i++) {
        assert_true(t.counts[i] >= 30 && t.counts[i] <= 45);
        sum += t.counts[i];
    }
    assert_int_equal(sum, 1000);
}

/* Runs of `ms` each on a machine like those that are shared: jitter, single slow runs, and for some
 * of the time half as slow again. */
static hone_timing series(hn_rng *rng, double ms, double disturbed) {
    enum { RUNS = 300 };
    double v[RUNS];
    bool slow = false;
    for (int i = 0; i < RUNS; i++) {
        if (i % 20 == 0) slow = hn_rng_f64(rng) < disturbed;
        v[i] = ms * (1 + 0.03 * hn_rng_f64(rng)) * (slow ? 1.5 : 1);
        if (hn_rng_below(rng, 50) == 0) v[i] *= 4;
    }
    return timing(v, RUNS);
}

/* Of 200 baselines of two series, each judged by as many as are asked for. */
static int slower(double factor, double disturbed) {
    hn_rng rng;
    int found = 0;
    hn_rng_init(&rng, 1);
    for (int i = 0; i < 200; i++) {
        hone_timing then, was[2], now[12];
        hone_change verdict = HONE_CHANGE_UNKNOWN;
        bool settled, more = true;
        for (int k = 0; k < 2; k++) was[k] = series(&rng, 5, disturbed);
        hn_timing_join(&then, was, 2, &settled);
        for (size_t n = 0; more; n++) {
            now[n] = series(&rng, 5 * factor, disturbed);
            verdict = hn_timing_judge(&then, now, n + 1, &more).verdict;
        }
        found += verdict == HONE_CHANGE_SLOWER;
    }
    return found;
}

static void a_disturbed_machine_is_no_slower_build(void **state) {
    (void)state;
    assert_int_equal(slower(1, 0), 0);
    assert_int_equal(slower(1, 0.4), 0);
    assert_int_equal(slower(1.1, 0), 200);
    assert_int_equal(slower(1.1, 0.4), 200);
}

static hone_timing windows(const double *median, int n) {
    hone_timing t = {.n_windows = n, .min = 1, .pace = 1};
    memcpy(t.median, median, (size_t)n * sizeof *median);
    return t;
}

static hone_timing steady(double ms) { return windows((double[]){ms, ms, ms, ms, ms}, 5); }

static void changes_have_a_direction(void **state) {
    (void)state;
    /* The third fastest window counts: two may be lucky. */
    hone_timing then = windows((double[]){10.2, 10, 8, 9, 30, 10.3}, 6), now = steady(10.4);
    assert_int_equal(hn_timing_compare(&then, &now).verdict, HONE_CHANGE_NONE);
    NEAR(hn_timing_compare(&then, &now).then, 10);
    NEAR(hn_timing_compare(&then, &now).now, 10.4);
    now = steady(10.7);
    assert_int_equal(hn_timing_compare(&then, &now).verdict, HONE_CHANGE_SLOWER);
    assert_int_equal(hn_timing_compare(&now, &then).verdict, HONE_CHANGE_FASTER);
    NEAR(hn_timing_compare(&then, &now).ratio, 1.07);
    NEAR(hn_timing_compare(&then, &now).margin, 0.05);
    /* Where the next windows disagree, so much is needed; where there are too few, 10 %. */
    then.median[5] = 10.8;
    assert_int_equal(hn_timing_compare(&then, &now).verdict, HONE_CHANGE_UNKNOWN);
    now = steady(10.9);
    assert_int_equal(hn_timing_compare(&then, &now).verdict, HONE_CHANGE_SLOWER);
    now = steady(10.4); /* noise only adds time: however much there was */
    assert_int_equal(hn_timing_compare(&then, &now).verdict, HONE_CHANGE_NONE);
    NEAR(hn_timing_compare(&then, &now).margin, 0.08);
    then.n_windows = 4;
    NEAR(hn_timing_compare(&then, &now).margin, 0.1);
    then.n_windows = 2;
    NEAR(hn_timing_compare(&then, &now).then, 10.2);
    then.n_windows = 0;
    NEAR(hn_timing_compare(&then, &now).then, 1);
}

static hone_timing beside(double pace, hone_timing t) {
    t.pace = pace;
    t.disturbed = pace < 0.7;
    return t;
}

static void series_are_joined(void **state) {
    (void)state;
    bool settled;
    hone_timing all, s[4] = {
                         windows((double[]){12, 11, 13, 12, 12, 12, 12, 12, 12, 12}, 10),
                         windows((double[]){10.3, 10.1, 10.2, 10.4, 15}, 5),
                         beside(0.6, windows((double[]){10, 14, 14, 14, 14}, 5)),
                         windows((double[]){10.35, 10.2, 10.35, 10.9, 10.9}, 5),
                     };
    s[1].p50 = 77;
    assert_int_equal(hn_timing_join(&all, s, 1, &settled), 0);
    NEAR(all.median[0], 11);
    assert_false(settled);
    assert_int_equal(hn_timing_join(&all, s, 3, &settled), 1);
    assert_false(settled || all.disturbed);
    NEAR(all.p50, 77);
    assert_int_equal(all.n_windows, HONE_TIMING_WINDOWS);
    const double lowest[] = {10, 10.1, 10.2, 10.3, 10.4, 11, 12, 12, 12, 12};
    for (int i = 0; i < HONE_TIMING_WINDOWS; i++) NEAR(all.median[i], lowest[i]);
    assert_int_equal(hn_timing_join(&all, s, 4, &settled), 1);
    assert_true(settled); /* 10.3 and 10.35 agree with 10.2 */
    s[3].pace = 0.8;
    hn_timing_join(&all, s, 4, &settled);
    assert_false(settled); /* others had a part of the core */
    s[3].pace = NAN;
    hn_timing_join(&all, s, 4, &settled);
    assert_true(settled);
    assert_int_equal(hn_timing_join(&all, s + 2, 1, &settled), 0);
    assert_true(all.disturbed);
}

/* What is said of the first n series, and a + where one more is asked for. */
static const char *judged(const hone_timing *then, const hone_timing *s, size_t n) {
    static const char *const words[][2] = {
        {"same", "same+"}, {"slower", "slower+"}, {"faster", "faster+"}, {"unknown", "unknown+"}};
    bool more;
    hone_change verdict = hn_timing_judge(then, s, n, &more).verdict;
    return words[verdict][more];
}

static void four_rounds_make_a_regression(void **state) {
    (void)state;
    hone_timing then = steady(10), s[12];
    for (int i = 0; i < 12; i++) s[i] = steady(11);
    assert_string_equal(judged(&then, s, 1), "unknown+");
    assert_string_equal(judged(&then, s, 3), "unknown+");
    assert_string_equal(judged(&then, s, 4), "slower");
    s[3] = steady(10.2); /* one round that is not slower is enough */
    assert_string_equal(judged(&then, s, 4), "same");
    s[3] = steady(9);
    assert_string_equal(judged(&then, s, 4), "faster");
    /* Rounds of a core that others used do not count, unless that cannot explain it. */
    s[3] = s[2] = beside(0.8, steady(11));
    assert_string_equal(judged(&then, s, 4), "unknown+");
    assert_string_equal(judged(&then, s, 6), "slower");
    s[3] = s[2] = beside(0.8, steady(17));
    assert_string_equal(judged(&then, s, 4), "slower");
    for (int i = 0; i < 12; i++) s[i] = beside(0.8, steady(11));
    assert_string_equal(judged(&then, s, 11), "unknown+");
    assert_string_equal(judged(&then, s, 12), "unknown");
    /* A baseline that says little is not made better by more rounds. */
    s[0] = steady(11);
    then = beside(0.6, steady(10.6));
    assert_string_equal(judged(&then, s, 1), "unknown");
}

/* Runs beside which the core had 0.6 of its speed, but for a few of them. */
static void the_pace_beside_fast_runs_tells(void **state) {
    (void)state;
    enum { RUNS = 40 };
    double ms[RUNS], pace[RUNS];
    hone_timing t;
    hn_error err;
    for (int i = 0; i < RUNS; i++) {
        ms[i] = 9 + i * 0.01;
        pace[i] = 48;
    }
    assert_int_equal(hn_timing_of(&t, ms, pace, 80, RUNS, &scratch_mem, &err), HONE_OK);
    NEAR(t.pace, 0.6);
    assert_true(t.disturbed);
    for (int i = 20; i < 25; i++) {
        ms[i] = 6;
        pace[i] = 76;
    }
    assert_int_equal(hn_timing_of(&t, ms, pace, 80, RUNS, &scratch_mem, &err), HONE_OK);
    NEAR(t.pace, 0.95);
    assert_true(!t.disturbed);
    assert_true(isnan(timing(ms, RUNS).pace) && !timing(ms, RUNS).disturbed);
}

/* Then, now: what a disturbed machine explains is not known, what it does not explain is. */
static void disturbance_excuses_what_it_explains(void **state) {
    (void)state;
    hone_timing quick = steady(10), slow = steady(11);
    assert_int_equal(hn_timing_compare(&quick, &slow).verdict, HONE_CHANGE_SLOWER);
    slow.disturbed = true;
    slow.pace = quick.pace = 0.6;
    assert_int_equal(hn_timing_compare(&quick, &slow).verdict, HONE_CHANGE_UNKNOWN);
    assert_int_equal(hn_timing_compare(&slow, &quick).verdict, HONE_CHANGE_UNKNOWN);
    slow.disturbed = false;
    quick.disturbed = true;
    assert_int_equal(hn_timing_compare(&quick, &slow).verdict, HONE_CHANGE_SLOWER);
    assert_int_equal(hn_timing_compare(&slow, &quick).verdict, HONE_CHANGE_FASTER);
    assert_int_equal(hn_timing_compare(&quick, &quick).verdict, HONE_CHANGE_UNKNOWN);
    /* A pace of 0.6 excuses 2.8 times the time, not 3. */
    slow = beside(0.6, steady(30));
    assert_int_equal(hn_timing_compare(&quick, &slow).verdict, HONE_CHANGE_SLOWER);
    assert_int_equal(hn_timing_compare(&slow, &quick).verdict, HONE_CHANGE_FASTER);
}

static void the_pace_is_a_speed(void **state) {
    (void)state;
    double best = 0, first = hn_pace(&best), seen = best;
    assert_true(first > 0 && first <= best);
    best = 1e9;
    hn_pace(&best);
    NEAR(best, 1e9);
    assert_true(seen < 1e9);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(percentiles_lie_between_neighbours),
        cmocka_unit_test(one_run_is_enough),
        cmocka_unit_test(what_is_no_duration_is_refused),
        cmocka_unit_test(windows_are_in_order),
        cmocka_unit_test(the_histogram_counts_every_run),
        cmocka_unit_test(a_disturbed_machine_is_no_slower_build),
        cmocka_unit_test(changes_have_a_direction),
        cmocka_unit_test(series_are_joined),
        cmocka_unit_test(four_rounds_make_a_regression),
        cmocka_unit_test(the_pace_beside_fast_runs_tells),
        cmocka_unit_test(disturbance_excuses_what_it_explains),
        cmocka_unit_test(the_pace_is_a_speed),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}

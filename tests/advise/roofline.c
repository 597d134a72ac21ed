/* The roofline of a machine whose limits are round numbers. */
#include "advise/roofline.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/isa.h"

/* 100 GFLOP/s a thread; 1200 of bf16 by tiles; caches of 32 KB, 1 MB a core and 32 MB shared. */
static const hone_peak_info peaks[] = {
    {.precision = "f32", .isa = "avx2", .threads = 1, .gops = 50},
    {.precision = "f32", .isa = "avx512", .threads = 1, .gops = 100},
    {.precision = "f32", .isa = "avx512", .threads = 4, .gops = 360},
    {.precision = "bf16", .isa = "amx", .threads = 1, .gops = 1200},
    {.precision = "int8", .isa = "amx", .threads = 1, .gops = 3000},
};
static const hone_cache_info caches[] = {
    {.level = 1, .bytes = 32 << 10, .cpus = 1},
    {.level = 2, .bytes = 1 << 20, .cpus = 1},
    {.level = 3, .bytes = 32 << 20, .cpus = 4},
};
static const hone_bandwidth_info bandwidths[] = {
    {.level = "L1", .threads = 1, .read_gb = 200, .write_gb = 100, .copy_gb = 150},
    {.level = "L2", .threads = 1, .read_gb = 80, .write_gb = 40, .copy_gb = 60},
    {.level = "L3", .threads = 1, .read_gb = 20, .write_gb = 10, .copy_gb = 15},
    {.level = "memory", .threads = 1, .read_gb = 10, .write_gb = 5, .copy_gb = 8},
    {.level = "memory", .threads = 4, .read_gb = 25, .write_gb = 10, .copy_gb = 20},
};
static hone_machine plain(void) {
    return (hone_machine){.size = sizeof(hone_machine),
                          .n_caches = 3,
                          .caches = caches,
                          .n_peaks = 3,
                          .peaks = peaks,
                          .n_bandwidths = 5,
                          .bandwidths = bandwidths};
}
static hone_machine with_tiles(void) {
    hone_machine m = plain();
    m.n_peaks = 5;
    return m;
}

#define assert_near(a, b) assert_float_equal(a, b, 1e-9)

static void peaks_follow_threads_and_precision(void **state) {
    (void)state;
    hone_machine m = plain(), tiles = with_tiles();
    hn_isa any;
    hn_error unread;
    assert_near(hn_roof_peak(&m, "f32", NULL, 1), 100);
    assert_near(hn_roof_peak(&m, "f32", NULL, 3), 300);
    assert_near(hn_roof_peak(&m, "f32", NULL, 4), 360);
    assert_near(hn_roof_peak(&m, "f32", NULL, 8), 360);
    assert_near(hn_roof_peak(&m, "int8", NULL, 1), 0);
    assert_near(hn_roof_peak(&tiles, "f32", NULL, 1), 200); /* six products of bf16 */
    assert_near(hn_roof_peak(&tiles, "f32-relaxed", NULL, 1), 400);
    assert_near(hn_roof_peak(&tiles, "bf16", NULL, 1), 1200);
    assert_near(hn_roof_peak(&tiles, "int8", NULL, 1), 3000);
    /* Of what is masked nothing counts. */
    if (hn_isa_limit(0, "amx", &any, &unread) == HONE_OK) {
        assert_near(hn_roof_peak(&tiles, "f32", "avx512", 1), 100);
        assert_near(hn_roof_peak(&tiles, "bf16", "avx512", 1), 0);
        assert_near(hn_roof_peak(&tiles, "bf16", "amx", 1), 1200);
    }
}

static void bandwidth_is_that_of_the_nearest_cache_that_holds_it(void **state) {
    (void)state;
    hone_machine m = plain();
    const char *level;
    assert_near(hn_roof_bandwidth(&m, 1000, 1, &level), 200);
    assert_string_equal(level, "L1");
    assert_near(hn_roof_bandwidth(&m, 1 << 20, 1, &level), 80);
    assert_string_equal(level, "L2");
    assert_near(hn_roof_bandwidth(&m, 1.5e6, 2, &level), 160); /* two cores have two of them */
    assert_string_equal(level, "L2");
    assert_near(hn_roof_bandwidth(&m, 1.5e6, 1, &level), 20);
    assert_string_equal(level, "L3");
    assert_near(hn_roof_bandwidth(&m, 1e9, 3, &level), 25); /* not 30: all four have 25 */
    assert_string_equal(level, "memory");
}

static void work_with_many_flops_is_bound_by_them(void **state) {
    (void)state;
    hone_machine m = plain();
    hn_roof_work w = {.precision = "f32", .threads = 1, .flops = 1e9, .bytes = 1e6, .ms = 20};
    hn_roof r;
    hn_roofline(&m, &w, &r);
    assert_near(r.intensity, 1000);
    assert_near(r.gflops, 50);
    assert_near(r.gb_s, 0.05);
    assert_near(r.roof_ms, 10);
    assert_near(r.share, 0.5);
    assert_near(r.lost_ms, 10);
    assert_string_equal(r.bound, "compute");
    assert_string_equal(r.level, "L2");
    assert_non_null(strstr(r.advice, "int8"));
    w.ms = 100;
    hn_roofline(&m, &w, &r);
    assert_non_null(strstr(r.advice, "--tune"));
    w.ms = 5; /* faster than was thought possible loses nothing */
    hn_roofline(&m, &w, &r);
    assert_near(r.lost_ms, 0);
    assert_near(r.share, 2);
}

/* 1 MB of weights read once a run of 100 MB come from memory, the other 0.8 MB from L2. */
static void weights_come_from_as_far_as_the_run_reaches(void **state) {
    (void)state;
    hone_machine m = plain();
    hn_roof_work w = {.precision = "f32",
                      .threads = 1,
                      .flops = 1e6,
                      .bytes = 1.8e6,
                      .weights_bytes = 1e6,
                      .run_bytes = 1e8,
                      .ms = 0.2};
    hn_roof r;
    hn_roofline(&m, &w, &r);
    assert_near(r.roof_ms, 0.1 + 0.01);
    assert_string_equal(r.bound, "memory");
    assert_string_equal(r.level, "memory");
    assert_non_null(strstr(r.advice, "prune"));
    w.run_bytes = 2e7; /* they stay in L3 */
    hn_roofline(&m, &w, &r);
    assert_near(r.roof_ms, 0.05 + 0.01);
    assert_string_equal(r.level, "L3");
    w.weights_bytes = 0;
    w.precision = "int8";
    hn_roofline(&m, &w, &r);
    assert_near(r.roof_ms, 0.09);
    assert_non_null(strstr(r.advice, "fuse"));
    w.weights_bytes = 5e6; /* packed weights may be larger than what they stand for */
    w.run_bytes = 1e8;
    hn_roofline(&m, &w, &r);
    assert_near(r.roof_ms, 0.18);
}

static void little_work_is_bound_by_starting_it(void **state) {
    (void)state;
    hone_machine m = plain();
    hn_roof_work w = {.precision = "f32", .threads = 2, .flops = 1000, .bytes = 4000, .ms = 0.002};
    hn_roof r;
    hn_roofline(&m, &w, &r);
    assert_string_equal(r.bound, "overhead");
    assert_non_null(strstr(r.advice, "fewer threads"));
    w.threads = 1;
    hn_roofline(&m, &w, &r);
    assert_string_equal(r.bound, "overhead");
    assert_null(strstr(r.advice, "threads"));
    w.ms = 0.00003; /* as fast as L1 gives it */
    hn_roofline(&m, &w, &r);
    assert_string_equal(r.bound, "memory");
}

static void what_was_not_counted_is_not_judged(void **state) {
    (void)state;
    hone_machine m = plain();
    hn_roof_work w = {.precision = "f32", .threads = 1, .ms = 1};
    hn_roof r;
    hn_roofline(&m, &w, &r);
    assert_null(r.bound);
    assert_null(r.level);
    assert_null(r.advice);
    assert_near(r.roof_ms, 0);
    w.reference = true;
    hn_roofline(&m, &w, &r);
    assert_non_null(strstr(r.advice, "reference"));
    w = (hn_roof_work){.precision = "f32", .threads = 1, .flops = 1e9, .bytes = 1e6, .ms = 20};
    hn_roofline(NULL, &w, &r); /* no limits are known */
    assert_null(r.bound);
    assert_near(r.gflops, 50);
    w.ms = 0;
    hn_roofline(&m, &w, &r);
    assert_near(r.gflops, 0);
    assert_null(r.bound);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(peaks_follow_threads_and_precision),
        cmocka_unit_test(bandwidth_is_that_of_the_nearest_cache_that_holds_it),
        cmocka_unit_test(work_with_many_flops_is_bound_by_them),
        cmocka_unit_test(weights_come_from_as_far_as_the_run_reaches),
        cmocka_unit_test(little_work_is_bound_by_starting_it),
        cmocka_unit_test(what_was_not_counted_is_not_judged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

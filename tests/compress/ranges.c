#include "compress/ranges.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "compress/quantize.h"
#include "support/method_model.h"
#include "support/scratch.h"

#define LAYERS                                                                              \
    "m (float[n,3,8,8] x, float[4,3,3,3] w1, float[4,1,3,3] w2, float[5,4,1,1] w3)"         \
    " => (float[n,5,4,4] y) { a = Conv (x, w1) r = HardSwish (a) c = Conv <group: int = 4>" \
    " (r, w2) s = HardSwish (c) y = Conv (s, w3) }"

typedef struct fixture {
    method_bench b;
    hn_model *m;
    hn_scheme scheme;
    hn_calibration *c;
} fixture;

static void begin(fixture *f, double percentile) {
    hn_calibrate_options o = {.method = HN_RANGE_AUTO, .percentile = percentile};
    hn_arena arena;
    hn_error err;
    const char *const *names;
    int n;
    f->m = method_model(LAYERS, 3);
    method_begin(&f->b, f->m);
    f->scheme = f->b.scheme;
    f->scheme.target = hn_quant_target_named("hone");
    hn_arena_init(&arena, &scratch_mem, HN_MEM_OTHER);
    assert_int_equal(hn_quantize_watches(f->m, &f->scheme, &arena, &names, &n, &err), HONE_OK);
    if (hn_calibrate(&f->c, f->m, names, n, f->b.feed, &f->b.how, &o, &scratch_mem, &err))
        fail_msg("%s", err.text);
    hn_arena_deinit(&arena);
}

static void end(fixture *f) {
    hn_calibration_destroy(f->c);
    method_end(&f->b);
    hn_model_destroy(f->m);
}

static hone_status choose(fixture *f, hn_error *err) {
    hn_range_search s = {.scheme = &f->scheme, .feed = f->b.feed, .how = &f->b.how};
    return hn_ranges_choose(f->c, f->m, &s, &scratch_mem, err);
}

static double distance(const fixture *f) {
    hn_error err;
    hn_model *q = method_copy(f->m);
    if (hn_quantize_model(q, &f->scheme, f->c, NULL, NULL, NULL, &err)) fail_msg("%s", err.text);
    double d = method_distance(f->m, q);
    hn_model_destroy(q);
    return d;
}

/* Ranges that cut off a tenth of the values give way to others. */
static void harmful_ranges_are_not_kept(void **state) {
    (void)state;
    fixture f;
    hn_error err;
    begin(&f, 90);
    assert_true(f.c->n >= 3);
    for (int i = 0; i < f.c->n; i++)
        assert_int_equal(hn_observer_method(f.c, &f.c->v[i]), HN_RANGE_PERCENTILE);
    double before = distance(&f);
    if (choose(&f, &err) != HONE_OK) fail_msg("%s", err.text);
    for (int i = 0; i < f.c->n; i++)
        assert_int_not_equal(hn_observer_method(f.c, &f.c->v[i]), HN_RANGE_PERCENTILE);
    assert_true(distance(&f) < 0.5 * before);

    hn_quantize_report r;
    hn_model *q = method_copy(f.m);
    if (hn_quantize_model(q, &f.scheme, f.c, NULL, NULL, &r, &err)) fail_msg("%s", err.text);
    for (int i = 0; i < r.n_values; i++) {
        hn_range_method method = hn_range_method_named(r.values[i].method);
        assert_true(method == HN_RANGE_MINMAX || method == HN_RANGE_MSE);
    }
    hn_quantize_report_deinit(&r);
    hn_model_destroy(q);
    end(&f);
}

/* Where nothing lies outside, there is nothing to gain by least and greatest value. */
static void equal_ranges_stay(void **state) {
    (void)state;
    fixture f;
    hn_error err;
    begin(&f, 100);
    if (choose(&f, &err) != HONE_OK) fail_msg("%s", err.text);
    for (int i = 0; i < f.c->n; i++)
        assert_int_not_equal(hn_observer_method(f.c, &f.c->v[i]), HN_RANGE_MINMAX);
    end(&f);
}

static void threads_choose_the_same(void **state) {
    (void)state;
    hn_range_method chosen[16];
    for (int threads = 1; threads <= 3; threads += 2) {
        fixture f;
        hn_error err;
        hn_pool *pool;
        begin(&f, 99);
        assert_int_equal(hn_pool_create(&pool, threads, &scratch_mem, &err), HONE_OK);
        f.b.how.engine.pool = pool;
        if (choose(&f, &err) != HONE_OK) fail_msg("%s", err.text);
        assert_true(f.c->n <= 16);
        for (int i = 0; i < f.c->n; i++) {
            if (threads == 1) chosen[i] = f.c->v[i].method;
            assert_int_equal(chosen[i], f.c->v[i].method);
        }
        hn_pool_destroy(pool);
        end(&f);
    }
}

static bool stop(void *ctx, int64_t done, int64_t total) {
    (void)total;
    return done < *(int64_t *)ctx;
}

static void it_can_be_stopped(void **state) {
    (void)state;
    fixture f;
    hn_error err;
    int64_t most = 2;
    begin(&f, 99);
    hn_range_search s = {.scheme = &f.scheme,
                         .feed = f.b.feed,
                         .how = &f.b.how,
                         .progress = stop,
                         .progress_ctx = &most};
    assert_int_equal(hn_ranges_choose(f.c, f.m, &s, &scratch_mem, &err), HONE_E_LIMIT);
    end(&f);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(harmful_ranges_are_not_kept),
        TEST(equal_ranges_stay),
        TEST(threads_choose_the_same),
        TEST(it_can_be_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "compress/calibration.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/data.h"
#include "support/graph.h"

static const hn_qtype u8 = {.dtype = HONE_DTYPE_U8, .bits = 8};

typedef struct set_up {
    hn_dataset *ds;
    hn_model *model;
    hn_feed *feed;
    hn_pool *pool;
    hn_run_options how;
} set_up;

static void begin(set_up *s, hn_dataset *ds, const char *graph, int threads) {
    hn_error err;
    *s = (set_up){.ds = ds, .model = graph_model(21, graph)};
    assert_int_equal(hn_pool_create(&s->pool, threads, &scratch_mem, &err), HONE_OK);
    s->how.engine = (hn_engine_options){
        .alloc = &scratch_mem, .pool = s->pool, .isa = hn_isa_available(), .seed = 1};
    assert_true(hn_layer_precision_named("f32", 3, &s->how.engine.layers.way));
    if (hn_feed_create(&s->feed, s->model->graph, ds, 4, &scratch_mem, &err) != HONE_OK)
        fail_msg("%s", err.text);
}

static void end(set_up *s) {
    hn_feed_destroy(s->feed);
    hn_model_destroy(s->model);
    hn_dataset_close(s->ds);
    hn_pool_destroy(s->pool);
}

/* Row i has the numbers v[2i] and v[2i + 1] and the label 0. */
static hn_dataset *rows(const double *v, int n) {
    static char text[1 << 14];
    size_t used = 0;
    for (int i = 0; i < n; i++)
        used +=
            (size_t)snprintf(text + used, sizeof text - used, "%g,%g,0\n", v[2 * i], v[2 * i + 1]);
    return data_open("csv:%s", scratch_put_text("d.csv", text));
}

#define GRAPH "g (float[n,2] x) => (float[n,2] y) { a = Neg (x) b = Relu (a) y = Neg (b) }"
static const char *const names[] = {"x", "a", "b"};

static hone_status calibrate(const set_up *s, hn_calibrate_options o, hn_calibration **c,
                             hn_error *err) {
    return hn_calibrate(c, s->model, names, 3, s->feed, &s->how, &o, &scratch_mem, err);
}

static hn_calibration *calibrated(const set_up *s, hn_calibrate_options o) {
    hn_error err;
    hn_calibration *c = NULL;
    if (calibrate(s, o, &c, &err) != HONE_OK) fail_msg("%s", err.text);
    return c;
}

static hn_range range(const hn_calibration *c, const char *name) {
    hn_range r;
    assert_true(hn_calibration_range(c, name, &u8, &r));
    return r;
}

static void extremes_are_exact(void **state) {
    (void)state;
    static const double v[] = {1, 2, -3.5, 0, 0.25, 7, 1, 1, 6, 6};
    set_up s;
    hn_range r;
    begin(&s, rows(v, 5), GRAPH, 1);
    hn_calibration *c = calibrated(&s, (hn_calibrate_options){.method = HN_RANGE_MINMAX});
    assert_true(range(c, "x").min == -3.5 && range(c, "x").max == 7);
    assert_true(range(c, "a").min == -7 && range(c, "a").max == 3.5);
    assert_true(range(c, "b").min == 0 && range(c, "b").max == 3.5);
    assert_int_equal(hn_calibration_samples(c), 5);
    assert_false(hn_calibration_range(c, "y", &u8, &r));
    hn_calibration_destroy(c);
    c = calibrated(&s, (hn_calibrate_options){.method = HN_RANGE_MINMAX, .samples = 2});
    assert_true(range(c, "x").max == 2);
    assert_int_equal(hn_calibration_samples(c), 2);
    hn_calibration_destroy(c);
    end(&s);
}

/* By samples, whatever the batches. */
static void averages_move(void **state) {
    (void)state;
    static const double v[] = {1, 2, -3.5, 0, 0.25, 7, 1, 1, 6, 6};
    double least = 1, greatest = 2;
    for (int i = 1; i < 5; i++) {
        least = 0.75 * least + 0.25 * fmin(v[2 * i], v[2 * i + 1]);
        greatest = 0.75 * greatest + 0.25 * fmax(v[2 * i], v[2 * i + 1]);
    }
    for (size_t most = 1; most < 1000; most *= 10) {
        set_up s;
        begin(&s, rows(v, 5), GRAPH, 1);
        hn_calibration *c =
            calibrated(&s, (hn_calibrate_options){
                               .method = HN_RANGE_AVERAGE, .momentum = 0.75, .most_bytes = most});
        assert_true(range(c, "x").min == (double)(float)least);
        assert_true(range(c, "x").max == (double)(float)greatest);
        hn_calibration_destroy(c);
        end(&s);
    }
}

static void histograms_are_the_same_for_any_threads_and_batches(void **state) {
    (void)state;
    for (int method = 0; method < HN_RANGE_METHODS; method++) {
        hn_range first[3];
        for (int k = 0; k < 4; k++) {
            set_up s;
            begin(&s, data_open("random,n=30"),
                  "g (float[n,70,70] x) => (float[n,70,70] y)"
                  "{ a = Neg (x) b = Relu (a) y = Neg (b) }",
                  1 + k % 2);
            hn_calibration *c =
                calibrated(&s, (hn_calibrate_options){.method = (hn_range_method)method,
                                                      .most_bytes = k < 2 ? 0 : 100000});
            for (int i = 0; i < 3; i++) {
                hn_range r = range(c, names[i]);
                if (k == 0) first[i] = r;
                assert_true(r.min == first[i].min && r.max == first[i].max);
            }
            assert_true(first[0].max > 2.5 && first[0].min < -2.5);
            assert_true(first[2].max > 2.5 && first[2].min == 0);
            hn_calibration_destroy(c);
            end(&s);
        }
    }
}

/* Nothing new comes after sample 13; or something does, at the end. */
static void stable_ranges_are_told(void **state) {
    (void)state;
    double v[120];
    for (int last = 0; last < 2; last++) {
        set_up s;
        for (int i = 0; i < 120; i++) v[i] = i % 2;
        v[2 * 13] = 2;
        if (last) v[119] = -5;
        begin(&s, rows(v, 60), GRAPH, 1);
        hn_calibration *c = calibrated(&s, (hn_calibrate_options){.method = HN_RANGE_MINMAX});
        assert_int_equal(hn_calibration_stable_after(c), last ? 0 : 20);
        hn_calibration_destroy(c);
        end(&s);
    }
}

static void data_that_says_nothing_is_named(void **state) {
    (void)state;
    double v[20] = {0};
    set_up s;
    begin(&s, rows(v, 10), GRAPH, 1);
    hn_calibration *c = calibrated(&s, (hn_calibrate_options){.method = HN_RANGE_ENTROPY});
    assert_string_equal(hn_calibration_verdict(c), "all 10 samples are the same");
    assert_true(range(c, "x").min == 0 && range(c, "x").max == 0);
    hn_calibration_destroy(c);
    end(&s);
    v[3] = 1;
    begin(&s, rows(v, 10), GRAPH, 1);
    c = calibrated(&s, (hn_calibrate_options){.method = HN_RANGE_ENTROPY});
    assert_null(hn_calibration_verdict(c));
    hn_calibration_destroy(c);
    end(&s);
}

static void what_is_wrong_is_said(void **state) {
    (void)state;
    static const double v[] = {1, 2, 4, 3, 0.25, 7, 1, 1, 6, -1, 1, 1};
    set_up s;
    hn_error err;
    hn_calibration *c = NULL;
    begin(&s, rows(v, 6),
          "g (float[n,2] x) => (float[n,2] y) { a = Log (x) b = Neg (a) y = Neg (b) }", 1);
    assert_int_equal(calibrate(&s, (hn_calibrate_options){0}, &c, &err), HONE_E_MODEL);
    assert_string_equal(err.text, "value 'a' is NaN at element 1 of sample 4");
    assert_int_equal(calibrate(&s, (hn_calibrate_options){.percentile = 101}, &c, &err),
                     HONE_E_ARG);
    assert_int_equal(calibrate(&s, (hn_calibrate_options){.momentum = 1}, &c, &err), HONE_E_ARG);
    static const char *const twice[] = {"x", "b", "x"};
    assert_int_equal(hn_calibrate(&c, s.model, twice, 3, s.feed, &s.how, &(hn_calibrate_options){0},
                                  &scratch_mem, &err),
                     HONE_E_ARG);
    assert_string_equal(err.text, "value 'x' is there twice");
    end(&s);
    begin(&s, rows(v, 6),
          "g (float[n,2] x) => (float[n,2] y) { a = Less (x, x) b = Neg (x) y = Neg (b) }", 1);
    assert_int_equal(calibrate(&s, (hn_calibrate_options){0}, &c, &err), HONE_E_TYPE);
    assert_null(c);
    end(&s);
}

/* Values of another float type, and without an axis for samples. */
static void other_types_and_shapes_have_ranges(void **state) {
    (void)state;
    static const double v[] = {1, 2, 4, 3, 0.25, 7, 1, 1, 6, -1, 1, 1};
    set_up s;
    begin(&s, rows(v, 6),
          "g (float[n,2] x) => (float16 y) {"
          " a = Cast <to = 10> (x) b = ReduceMax <keepdims = 0> (a) y = Neg (b) }",
          1);
    hn_calibration *c =
        calibrated(&s, (hn_calibrate_options){.method = HN_RANGE_PERCENTILE, .percentile = 100});
    assert_true(range(c, "a").min == -1 && range(c, "a").max == 7);
    assert_true(range(c, "b").min == 0 && range(c, "b").max == 7);
    hn_calibration_destroy(c);
    end(&s);
}

static void methods_have_names(void **state) {
    (void)state;
    for (int m = 0; m < HN_RANGE_METHODS; m++)
        assert_int_equal(hn_range_method_named(hn_range_method_name((hn_range_method)m)), m);
    assert_int_equal(hn_range_method_named("kl"), HN_RANGE_METHODS);
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    static const double v[] = {1, 2, 1, 2, 1, 2};
    set_up s;
    hn_error err;
    begin(&s, rows(v, 3), GRAPH, 1);
    bool done = false;
    for (int n = 0; !done; n++) {
        hn_calibration *c = NULL;
        atomic_store(&scratch_mem.fail_after, n);
        hone_status status =
            calibrate(&s, (hn_calibrate_options){.method = HN_RANGE_MSE}, &c, &err);
        atomic_store(&scratch_mem.fail_after, -1);
        done = status == HONE_OK;
        if (!done) assert_int_equal(status, HONE_E_NOMEM);
        hn_calibration_destroy(c);
    }
    end(&s);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(extremes_are_exact),
        TEST(averages_move),
        TEST(histograms_are_the_same_for_any_threads_and_batches),
        TEST(stable_ranges_are_told),
        TEST(data_that_says_nothing_is_named),
        TEST(what_is_wrong_is_said),
        TEST(other_types_and_shapes_have_ranges),
        TEST(methods_have_names),
        TEST(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "measure/look.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "support/scratch.h"

#define SIDE 32
#define N 8
static float x[N * SIDE * SIDE];
static const int64_t place[N] = {0, 1, 2, 3, 14, 15, 16, 17}; /* ten cannot be decoded */

static hone_value pictures(int rank) {
    hone_value v = {
        .name = "x", .dtype = HONE_DTYPE_F32, .rank = rank, .data = x, .bytes = sizeof x};
    v.dims[0] = N;
    v.dims[1] = rank == 2 ? SIDE * SIDE : SIDE;
    v.dims[2] = SIDE;
    return v;
}

/* What is said of the pictures, given in two halves; "" for nothing. */
static const char *said(int rank) {
    static char buf[400];
    hone_error err;
    hn_look l;
    hone_value v = pictures(rank);
    v.dims[0] = N / 2;
    v.bytes /= 2;
    hn_look_init(&l, &scratch_mem);
    assert_int_equal(hn_look_add(&l, &v, 1, N / 2, place, &err), HONE_OK);
    v.data = x + N / 2 * SIDE * SIDE;
    assert_int_equal(hn_look_add(&l, &v, 1, N / 2, place + N / 2, &err), HONE_OK);
    const char *text = hn_look_verdict(&l, buf, sizeof buf);
    hn_look_deinit(&l);
    return text != NULL ? text : "";
}

static void draw(double noise) {
    hn_rng rng;
    hn_rng_init(&rng, 3);
    for (int i = 0; i < N * SIDE * SIDE; i++)
        x[i] = (float)(sin(i % SIDE * 0.3 + i / (SIDE * SIDE)) + noise * hn_rng_normal(&rng));
}

static void pictures_are_fine(void **state) {
    (void)state;
    draw(0);
    assert_string_equal(said(3), "");
    draw(1); /* as much noise as picture */
    assert_string_equal(said(3), "");
}

static void noise_is_told(void **state) {
    (void)state;
    hn_rng rng;
    hn_rng_init(&rng, 5);
    for (int i = 0; i < N * SIDE * SIDE; i++) x[i] = (float)hn_rng_normal(&rng);
    assert_string_equal(said(3),
                        "the samples look like noise: neighbours in input 'x' do not agree");
    for (int i = 0; i < N * SIDE * SIDE; i++) x[i] = (float)hn_rng_f64(&rng);
    assert_string_equal(said(3),
                        "the samples look like noise: neighbours in input 'x' do not agree");
    assert_string_equal(said(2), ""); /* columns of a table need not agree */
}

static void the_same_again_is_told(void **state) {
    (void)state;
    draw(0.2);
    for (int i = 1; i < N; i++) memcpy(x + i * SIDE * SIDE, x, SIDE * SIDE * sizeof *x);
    assert_string_equal(said(3), "all 8 samples are the same");
    x[N * SIDE * SIDE - 1] += 1; /* in the last sample of the second half */
    assert_string_equal(said(3), "");
}

static void zeros_are_constant_but_one_sample_is_not(void **state) {
    (void)state;
    char buf[400];
    hone_error err;
    hn_look l;
    memset(x, 0, sizeof x);
    assert_string_equal(said(3), "all 8 samples are the same");
    hone_value v = pictures(3);
    v.dims[0] = 1;
    v.bytes /= N;
    hn_look_init(&l, &scratch_mem);
    assert_int_equal(hn_look_add(&l, &v, 1, 1, place, &err), HONE_OK);
    assert_null(hn_look_verdict(&l, buf, sizeof buf));
    hn_look_deinit(&l);
}

static void what_is_not_finite_is_counted(void **state) {
    (void)state;
    draw(0);
    x[6 * SIDE * SIDE - 1] = (float)INFINITY; /* the last of sample 5, in the second half */
    assert_string_equal(said(3), "1 of 8 samples hold a value that is not finite, sample 15 first");
    x[SIDE * SIDE] = (float)NAN;
    x[SIDE * SIDE + 1] = (float)NAN;
    assert_string_equal(said(3), "2 of 8 samples hold a value that is not finite, sample 1 first");
    hone_value all = pictures(3);
    for (int k = 0; k < N; k++) assert_int_equal(hn_look_finite(&all, k, N), k != 1 && k != 5);
    assert_false(hn_look_finite(&all, 0, 3)); /* no axis of 3 samples: all of it counts */
    all.dtype = HONE_DTYPE_S32;
    assert_true(hn_look_finite(&all, 1, N));
}

/* Texts are cut at the longest of their batch. */
static void other_lengths_are_other_samples(void **state) {
    (void)state;
    char buf[400];
    hone_error err;
    hn_look l;
    memset(x, 0, sizeof x);
    hone_value v = pictures(2);
    hn_look_init(&l, &scratch_mem);
    v.dims[1] = 4;
    v.bytes = N * 4 * sizeof *x;
    assert_int_equal(hn_look_add(&l, &v, 1, N, place, &err), HONE_OK);
    assert_non_null(hn_look_verdict(&l, buf, sizeof buf));
    v.dims[1] = 400;
    v.bytes = N * 400 * sizeof *x;
    assert_int_equal(hn_look_add(&l, &v, 1, N, place, &err), HONE_OK);
    assert_null(hn_look_verdict(&l, buf, sizeof buf));
    hn_look_deinit(&l);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, scratch_setup, scratch_teardown)

/* What the input got is said, and for bytes how else they could be scaled. */
static void the_values_of_the_input_are_told(void **state) {
    (void)state;
    hone_value v = pictures(3);
    for (int i = 0; i < N * SIDE * SIDE; i++) x[i] = (float)(i % 256) / 255;
    hn_look l;
    hn_error err;
    hn_look_init(&l, &scratch_mem);
    assert_int_equal(hn_look_add(&l, &v, 1, N, place, &err), HONE_OK);
    hn_input_values values = hn_look_values(&l);
    hn_look_deinit(&l);
    char buf[600];
    const char *seen = "The input 'x' got values from 0 to 1 (mean 0.5, standard deviation 0.29)";
    assert_string_equal(hn_input_values_text(&values, buf, sizeof buf), seen);
    values.bytes = true;
    hn_input_values_text(&values, buf, sizeof buf);
    assert_memory_equal(buf, seen, strlen(seen));
    assert_string_equal(buf + strlen(seen),
                        "; other usual scalings are scale=1 (0 to 255), "
                        "scale=1/255,mean=0.5,std=0.5 (-1 to 1)");
    values.colours = true;
    assert_non_null(strstr(hn_input_values_text(&values, buf, sizeof buf), "mean=0.485:0.456"));
    assert_int_equal(strlen(hn_input_values_text(&values, buf, 80)), 79);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(pictures_are_fine),
        CASE(noise_is_told),
        CASE(the_same_again_is_told),
        CASE(zeros_are_constant_but_one_sample_is_not),
        CASE(what_is_not_finite_is_counted),
        CASE(other_lengths_are_other_samples),
        CASE(the_values_of_the_input_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

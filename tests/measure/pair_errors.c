#include "measure/pair_errors.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "support/compare_models.h"
#include "support/scratch.h"

static void measure(const two_models *t, const hn_pairs *p, size_t most, hn_pair_error *errors) {
    hn_error err;
    memset(errors, 0, (size_t)p->n * sizeof *errors);
    hone_status status = hn_pair_errors(p, t->how, &t->samples, most, NULL, NULL, errors, &err);
    if (status != HONE_OK) fail_msg("%s", err.text);
}

static int index_of(const hn_pairs *p, const char *name) {
    for (int i = 0; i < p->n; i++)
        if (strcmp(p->v[i].a->name, name) == 0) return i;
    fail_msg("there is no pair %s", name);
    return -1;
}

/* The third layer is damaged: it alone has an error of its own, and all behind it inherit that. */
static void an_error_is_its_own_where_it_is_made(void **state) {
    (void)state;
    two_models t;
    hn_pairs *p;
    hn_error err;
    hn_pair_error errors[2 * CHAIN_LAYERS], again[2 * CHAIN_LAYERS];
    two_models_chain(&t, 3, 1u << 2, 0.05);
    assert_int_equal(hn_pairs_create(&p, t.a, t.b, &scratch_mem, &err), HONE_OK);
    assert_int_equal(p->n, 2 * CHAIN_LAYERS);
    measure(&t, p, HN_PAIR_ERRORS_BYTES, errors);
    int at = index_of(p, "m3");
    for (int i = 0; i < p->n; i++) {
        double own = hn_distance_sqnr(&errors[i].own), alone = hn_distance_sqnr(&errors[i].alone);
        assert_true(i == at ? alone < 40 : alone > 100);
        assert_true(i >= at ? own < 60 : own > 100);
        assert_int_equal(errors[i].own.n, 3 * 4 * 8);
    }
    /* Memory for one pair at a time: the same numbers. */
    measure(&t, p, 1, again);
    for (int i = 0; i < p->n; i++) {
        assert_true(fabs(errors[i].own.noise - again[i].own.noise) <= 1e-5 * errors[i].own.noise);
        assert_int_equal(again[i].alone.n, errors[i].alone.n);
    }
    hn_pairs_destroy(p);
    two_models_end(&t);
}

static void check_weight(const char *b, double least, double most) {
    static const char a[] =
        "g (float[1,2] x) => (float[1,2] y) <float[2,2] w = {1, 2, 3, 4}> {"
        " [fc] y = MatMul (x, w) }";
    two_models t;
    hn_pairs *p;
    hn_error err;
    hn_arena arena;
    hn_weight_error *list;
    int n;
    two_models_of(&t, a, b);
    hn_arena_init(&arena, &scratch_mem, HN_MEM_OTHER);
    assert_int_equal(hn_pairs_create(&p, t.a, t.b, &scratch_mem, &err), HONE_OK);
    assert_int_equal(hn_weight_errors(p, &arena, &list, &n, &err), HONE_OK);
    if (most < least) {
        assert_int_equal(n, 0);
    } else {
        assert_int_equal(n, 1);
        assert_string_equal(list[0].weight->name, "w");
        double found = hn_distance_sqnr(&list[0].distance);
        if (!(found >= least && found <= most)) fail_msg("%g dB", found);
    }
    hn_arena_deinit(&arena);
    hn_pairs_destroy(p);
    two_models_end(&t);
}

static void weights_are_found_in_any_form(void **state) {
    (void)state;
    check_weight(
        "g (float[1,2] x) => (float[1,2] y) <float[2,2] w = {1, 2, 3, 4}> {"
        " y = MatMul (x, w) }",
        INFINITY, INFINITY);
    check_weight(
        "g (float[1,2] x) => (float[1,2] y) <float[2,2] w = {1, 2, 3, 5}> {"
        " y = MatMul (x, w) }",
        14.7, 14.8); /* 10 log 30 */
    check_weight(
        "g (float[1,2] x) => (float[1,2] y) <uint8[2,2] q = {11, 12, 13, 14},"
        " float s = {1}, uint8 z = {10}> { d = DequantizeLinear (q, s, z)"
        " y = MatMul (x, d) }",
        INFINITY, INFINITY);
    /* Scales by column, found by their names. */
    check_weight(
        "g (float[1,2] x) => (float[1,2] y) <int8[2,2] w_quantized = {2, 1, 6, 2},"
        " float[2] w_scale = {0.5, 2}, int8[2] w_zero_point = {0, 0}> {"
        " a, b, c = DynamicQuantizeLinear (x)"
        " i = MatMulInteger (a, w_quantized, c, w_zero_point)"
        " f = Cast <to: int = 1> (i) s = Mul (b, w_scale) y = Mul (f, s) }",
        INFINITY, INFINITY);
    /* Multiplied on one side and divided on the other: there is nothing to compare. */
    check_weight(
        "g (float[1,2] x) => (float[1,2] y) <float[2,2] w = {0.5, 1, 1.5, 2},"
        " float two = {2}> { z = Mul (x, two) y = MatMul (z, w) }",
        1, 0);
}

static bool stop(void *ctx, int64_t done, int64_t total) {
    int *calls = ctx;
    assert_true(done <= total);
    return ++*calls < 2;
}

static void it_can_be_stopped(void **state) {
    (void)state;
    two_models t;
    hn_pairs *p;
    hn_error err;
    hn_pair_error errors[2 * CHAIN_LAYERS];
    int calls = 0;
    memset(errors, 0, sizeof errors);
    two_models_chain(&t, 3, 1, 0.05);
    assert_int_equal(hn_pairs_create(&p, t.a, t.b, &scratch_mem, &err), HONE_OK);
    assert_int_equal(
        hn_pair_errors(p, t.how, &t.samples, HN_PAIR_ERRORS_BYTES, stop, &calls, errors, &err),
        HONE_E_LIMIT);
    assert_int_equal(calls, 2);
    hn_pairs_destroy(p);
    two_models_end(&t);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, scratch_setup, scratch_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(an_error_is_its_own_where_it_is_made),
        CASE(weights_are_found_in_any_form),
        CASE(it_can_be_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

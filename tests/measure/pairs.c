#include "measure/pairs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/compare_models.h"
#include "support/graph.h"
#include "support/scratch.h"

static hn_pairs *pairs_of(const two_models *t) {
    hn_pairs *p;
    hn_error err;
    if (hn_pairs_create(&p, t->a, t->b, &scratch_mem, &err) != HONE_OK) fail_msg("%s", err.text);
    return p;
}

/* Every value of a and the one it is paired with: "c=c r=r_quantized"; then those without. */
static void matches(const char *a, const char *b, const char *wanted, const char *lost) {
    two_models t;
    char text[500] = "", none[200] = "";
    two_models_of(&t, a, b);
    hn_pairs *p = pairs_of(&t);
    for (int i = 0; i < p->n; i++) {
        size_t n = strlen(text);
        snprintf(text + n, sizeof text - n, "%s%s=%s", i > 0 ? " " : "", p->v[i].a->name,
                 p->v[i].b->name);
    }
    for (int i = 0; i < p->n_lost; i++) {
        if (i > 0) strcat(none, " ");
        strcat(none, p->lost[i]->name);
    }
    assert_string_equal(text, wanted);
    assert_string_equal(none, lost);
    hn_pairs_destroy(p);
    two_models_end(&t);
}

#define PLAIN                                                            \
    "g (float[n,2] x) => (float[n,2] y) <float[2,2] w = {1, 2, 3, 4}> {" \
    " [first] m = MatMul (x, w) [second] r = Relu (m) [third] y = MatMul (r, w) }"

static void values_are_matched_by_name(void **state) {
    (void)state;
    matches(PLAIN, PLAIN, "m=m r=r y=y", "");
    matches(PLAIN,
            "g (float[n,2] x) => (float[n,2] y) <float[2,2] w = {1, 2, 3, 4}> {"
            " other = MatMul (x, w) r = Relu (other) y = MatMul (r, w) }",
            "r=r y=y", "m");
}

static void values_are_matched_by_the_name_of_their_node(void **state) {
    (void)state;
    matches(PLAIN,
            "g (float[n,2] x) => (float[n,2] y) <float[2,2] w = {1, 2, 3, 4}> {"
            " [first] a = MatMul (x, w) [second] b = Abs (a) [third] y = MatMul (b, w) }",
            "m=a y=y", "r");
}

static void what_quantizers_make_of_names_is_known(void **state) {
    (void)state;
    /* ONNX Runtime leaves the Relu out: its name is that of the product, clipped when quantized. */
    matches(PLAIN,
            "g (float[n,2] x) => (float[n,2] y) <float[2,2] w = {1, 2, 3, 4}, float s = {0.1},"
            " uint8 z = {0}> { r = MatMul (x, w) q = QuantizeLinear (r, s, z)"
            " r_DequantizeLinear_Output = DequantizeLinear (q, s, z)"
            " y = MatMul (r_DequantizeLinear_Output, w) }",
            "r=r_DequantizeLinear_Output y=y", "m");
    matches(
        PLAIN,
        "g (float[n,2] x) => (float[n,2] y) <float[2,2] w = {1, 2, 3, 4}, float r_scale = {0.1},"
        " uint8 r_zero_point = {0}> { a = MatMul (x, w)"
        " r_quantized = QuantizeLinear (a, r_scale, r_zero_point)"
        " b = DequantizeLinear (r_quantized, r_scale, r_zero_point) y = MatMul (b, w) }",
        "r=r_quantized y=y", "m");
    matches(PLAIN,
            "g (float[n,2] x) => (float[n,2] y) <float[2,2] w = {1, 2, 3, 4}, float s = {0.1},"
            " uint8 z = {0}> { a = MatMul (x, w) q_output_r_1 = QuantizeLinear (a, s, z)"
            " dq_output_r_1 = DequantizeLinear (q_output_r_1, s, z)"
            " y = MatMul (dq_output_r_1, w) }",
            "r=dq_output_r_1 y=y", "m");
}

static void a_shape_that_differs_is_no_match(void **state) {
    (void)state;
    matches("g (float[2,2] x) => (float[2,2] y) { r = Relu (x) y = Abs (r) }",
            "g (float[2,2] x) => (float[2,2] y) <int64[1] s = {4}, int64[2] t = {2, 2}> {"
            " r = Reshape (x, s) y = Reshape (r, t) }",
            "y=y", "r");
}

static void refused(const char *a, const char *b, hone_status status, const char *text) {
    two_models t;
    hn_pairs *p;
    hn_error err;
    two_models_of(&t, a, b);
    assert_int_equal(hn_pairs_create(&p, t.a, t.b, &scratch_mem, &err), status);
    if (strstr(err.text, text) == NULL) fail_msg("\"%s\" does not say \"%s\"", err.text, text);
    two_models_end(&t);
}

static void inputs_must_be_the_same(void **state) {
    (void)state;
#define TAKES(in) "g (" in ") => (float[n,2] y) { y = Identity (x) }"
    refused(TAKES("float[n,2] x"), TAKES("float[n,2] x, float[2] z"), HONE_E_SHAPE,
            "the first has no input 'z'");
    refused(TAKES("float[n,2] x, float[2] z"), TAKES("float[n,2] x"), HONE_E_SHAPE,
            "the second has no input 'z'");
    refused(TAKES("float[n,2] x"), "g (double[n,2] x) => (double[n,2] y) { y = Identity (x) }",
            HONE_E_TYPE, "'x' is f32 in the first and f64 in the second");
    refused(TAKES("float[4,2] x"), TAKES("float[3,2] x"), HONE_E_SHAPE, "the shapes of 'x' differ");
}

/* What is between pairs is one step, on either side. */
static void a_step_reaches_from_pair_to_pair(void **state) {
    (void)state;
    two_models t;
    hn_error err;
    bool take[3] = {false}, reads[2] = {false};
    two_models_of(&t, PLAIN,
                  "g (float[n,2] x) => (float[n,2] y) <float[2,2] w = {1, 2, 3, 4}> {"
                  " other = MatMul (x, w) r = Relu (other) y = MatMul (r, w) }");
    hn_pairs *p = pairs_of(&t);
    assert_int_equal(hn_pairs_step(p, HN_SIDE_B, 0, take, reads, &err), HONE_OK);
    assert_true(take[0] && take[1] && !take[2] && !reads[0] && !reads[1]);
    assert_int_equal(hn_pairs_step(p, HN_SIDE_B, 1, take, reads, &err), HONE_OK);
    assert_true(take[2] && reads[0] && !reads[1]);
    hn_pairs_destroy(p);
    two_models_end(&t);
}

/* Outputs of a model for the sample 0. */
static hn_tensor *output_of(two_models *t, const hn_model *m, const hn_tensor *x) {
    hn_program *program;
    hn_tensor *out[1];
    hn_error err;
    hone_status status = hn_program_create(&program, m, &t->how[1], &err);
    if (status == HONE_OK) status = hn_program_run(program, &x, out, &err);
    if (status != HONE_OK) fail_msg("%s", err.text);
    hn_program_destroy(program);
    return out[0];
}

static double sqnr(const hn_tensor *a, const hn_tensor *b) {
    hn_distance d = {0};
    hn_distance_add(&d, a, b);
    return hn_distance_sqnr(&d);
}

/* All steps put back give A, none gives B, and some give something between. */
static void check_hybrids(two_models *t) {
    hn_pairs *p = pairs_of(t);
    hn_tensor *x, *want;
    hn_error err;
    double last = -1000;
    bool back[2 * CHAIN_LAYERS] = {false};
    assert_int_equal(t->samples.load(t, 0, &x, &err), HONE_OK);
    want = output_of(t, t->a, x);
    for (int i = 0; i <= p->n; i++) {
        hn_model *m;
        if (hn_pairs_hybrid(p, back, &scratch_mem, &m, &err) != HONE_OK) fail_msg("%s", err.text);
        assert_int_equal(hn_model_verify(m, &err), HONE_OK);
        hn_tensor *y = output_of(t, m, x);
        double found = sqnr(want, y);
        if (i == p->n) assert_true(found > 100 && last < 60);
        if (i == 0) last = found;
        hn_tensor_unref(y);
        hn_model_destroy(m);
        if (i < p->n) back[i] = true;
    }
    hn_tensor_unref(want);
    hn_tensor_unref(x);
    hn_pairs_destroy(p);
}

static void steps_put_back_give_the_first_model(void **state) {
    (void)state;
    two_models t;
    two_models_chain(&t, 1, 0x2a, 0.1);
    check_hybrids(&t);
    two_models_end(&t);
    /* In integers, by QLinearMatMul, between floats. */
    two_models_of(&t, PLAIN,
                  "g (float[n,2] x) => (float[n,2] y) <uint8[2,2] w = {1, 2, 3, 4},"
                  " float x_scale = {0.1}, uint8 x_zero_point = {128}, float w_scale = {1.1},"
                  " uint8 w_zero_point = {0}, float r_scale = {0.2}, uint8 r_zero_point = {0},"
                  " float y_scale = {0.5}, uint8 y_zero_point = {0}> {"
                  " x_quantized = QuantizeLinear (x, x_scale, x_zero_point)"
                  " r_quantized = QLinearMatMul (x_quantized, x_scale, x_zero_point, w, w_scale,"
                  " w_zero_point, r_scale, r_zero_point)"
                  " q = QLinearMatMul (r_quantized, r_scale, r_zero_point, w, w_scale,"
                  " w_zero_point, y_scale, y_zero_point) y = DequantizeLinear (q, y_scale,"
                  " y_zero_point) }");
    check_hybrids(&t);
    two_models_end(&t);
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    two_models t;
    two_models_chain(&t, 1, 0x2a, 0.1);
    hn_allocator own;
    hone_status status = HONE_E_NOMEM;
    for (long long n = 0; status == HONE_E_NOMEM; n++) {
        hn_error err;
        hn_pairs *p;
        hn_model *m;
        bool back[2 * CHAIN_LAYERS] = {true, true, false, true};
        hn_allocator_init(&own);
        atomic_store(&own.fail_after, n);
        status = hn_pairs_create(&p, t.a, t.b, &own, &err);
        if (status == HONE_OK) {
            status = hn_pairs_hybrid(p, back, &own, &m, &err);
            if (status == HONE_OK) hn_model_destroy(m);
            hn_pairs_destroy(p);
        }
        assert_int_equal(atomic_load(&own.blocks), 0);
    }
    assert_int_equal(status, HONE_OK);
    two_models_end(&t);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, scratch_setup, scratch_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(values_are_matched_by_name),
        CASE(values_are_matched_by_the_name_of_their_node),
        CASE(what_quantizers_make_of_names_is_known),
        CASE(a_shape_that_differs_is_no_match),
        CASE(inputs_must_be_the_same),
        CASE(a_step_reaches_from_pair_to_pair),
        CASE(steps_put_back_give_the_first_model),
        CASE(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

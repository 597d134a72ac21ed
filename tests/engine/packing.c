/* Weights that are not constant: the steps that pack them, which steps share one, and that results
 * are those of the same weights as constants. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "support/engine_model.h"

static void steps_that_read_the_same_form_share_it(void **state) {
    (void)state;
    engine_agrees(
        "m (float[1,24,9,9] x, float[24,24,3,3] v) => (float[1,24,9,9] y) {"
        " a = Conv <pads = [1, 1, 1, 1], dilations = [1, 1]> (x, v)"
        " y = Conv <pads = [1, 1, 1, 1]> (a, v) }",
        "pack Pack, conv_f32 Conv, conv_f32 Conv");
}

static void other_forms_are_packed_by_themselves(void **state) {
    (void)state;
    engine_facts f = engine_ran(
        "m (float[1,24,9,9] x, float[24,24,3,3] v) => (float[1,24,9,9] y) {"
        " a = Conv <pads = [1, 1, 1, 1]> (x, v) t = Transpose <perm = [1, 0, 2, 3]> (v)"
        " y = Conv <pads = [1, 1, 1, 1]> (a, t) }");
    assert_int_equal(engine_count(&f, "pack"), 2);
    /* Other weights of the same shape. */
    f = engine_ran(
        "m (float[1,24,9,9] x, float[24,24,3,3] v) => (float[1,24,9,9] y) {"
        " a = Conv <pads = [1, 1, 1, 1]> (x, v) t = Neg (v)"
        " y = Conv <pads = [1, 1, 1, 1]> (a, t) }");
    assert_int_equal(engine_count(&f, "pack"), 2);
}

static void a_part_of_a_value_is_packed_from_where_it_lies(void **state) {
    (void)state;
    engine_facts f = engine_ran(
        "m (float[1,20,9,9] x, float[50,20,3,3] v) => (float[1,30,9,9] y)"
        " <int64[1] from = {20}, int64[1] to = {50}, int64[1] axis = {0}> {"
        " s = Slice (v, from, to, axis) y = Conv <pads = [1, 1, 1, 1]> (x, s) }");
    assert_int_equal(engine_count(&f, "pack"), 1);
    /* Of a constant too. */
    engine_ran(
        "m (float[1,20,9,9] x, float[50,20,3,3] w) => (float[1,30,9,9] y)"
        " <int64[1] from = {20}, int64[1] to = {50}, int64[1] axis = {0}> {"
        " s = Slice (w, from, to, axis) y = Conv <pads = [1, 1, 1, 1]> (x, s) }");
}

static void results_are_those_of_constants(void **state) {
    (void)state;
    static const char *const models[] = {
        "m (float[1,24,9,9] x, float[40,24,3,3] w, float[40] wb) => (float[1,40,5,5] y) {"
        " c = Conv <strides = [2, 2], pads = [1, 1, 1, 1]> (x, w, wb) y = Relu (c) }",
        "m (float[1,24,9,9] x, float[24,1,3,3] w) => (float[1,24,7,7] y) {"
        " c = Conv <group = 24> (x, w) y = Softmax <axis = 1> (c) }",
        "m (float[1,24,4,9,9] x, float[40,24,2,3,3] w) => (float[1,40,3,4,4] y) {"
        " y = Conv <strides = [1, 2, 2]> (x, w) }",
        "m (float[1,24,9,9] x, float[24,40,4,4] w) => (float[1,40,20,20] y) {"
        " y = ConvTranspose <strides = [2, 2]> (x, w) }",
        "m (float[4,3,5] x, float[1,36,5] w, float[1,36,9] wr) => (float[4,1,3,9] y) {"
        " y = LSTM (x, w, wr) }",
    };
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        uint64_t constant = engine_ran(models[i]).digest;
        if (engine_ran_given(models[i]).digest != constant)
            fail_msg("weights that are given make other bits: %s", models[i]);
    }
}

/* Much to multiply makes up for packing that computes, little does not. */
static void rows_that_compute_while_packing_need_work(void **state) {
    (void)state;
    static const char *const few =
        "m (float[1,16,12,12] x, float[16,16,3,3] w) => (float[1,16,12,12] y) {"
        " c = Conv <pads = [1, 1, 1, 1]> (x, w) s = Softmax <axis = 1> (c)"
        " y = Conv <pads = [1, 1, 1, 1]> (s, w) }";
    engine_facts constant = engine_ran(few), given = engine_ran_given(few);
    if (strstr(constant.kernels, "winograd") == NULL) skip(); /* not on this machine */
    assert_null(strstr(given.kernels, "winograd"));
    given = engine_ran_given(
        "m (float[1,16,60,60] x, float[16,16,3,3] w) => (float[1,16,60,60] y) {"
        " c = Conv <pads = [1, 1, 1, 1]> (x, w) s = Softmax <axis = 1> (c)"
        " y = Conv <pads = [1, 1, 1, 1]> (s, w) }");
    assert_non_null(strstr(given.kernels, "winograd"));
}

static void memory(void **state) {
    (void)state;
    engine_survives(
        "m (float[1,24,9,9] x, float[24,24,3,3] v, float[24,24,2,2] u) => (float[1,24,18,18] y) {"
        " a = Conv <pads = [1, 1, 1, 1]> (x, v) b = Conv <pads = [1, 1, 1, 1]> (a, v)"
        " y = ConvTranspose <strides = [2, 2]> (b, u) }");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_that_read_the_same_form_share_it),
        cmocka_unit_test(other_forms_are_packed_by_themselves),
        cmocka_unit_test(a_part_of_a_value_is_packed_from_where_it_lies),
        cmocka_unit_test(results_are_those_of_constants),
        cmocka_unit_test(rows_that_compute_while_packing_need_work),
        cmocka_unit_test(memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

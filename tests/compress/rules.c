#include "compress/rules.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "compress/layer_type.h"
#include "compress/place.h"
#include "support/method_model.h"
#include "support/scratch.h"

#define MODEL                                                                                    \
    "m (float[3,2,6] x, float[1,20,6] w, float[1,20,5] wr, float[5,4] wm) => (float[3,1,2,4] z)" \
    "{ lstm_1 = LSTM <hidden_size: int = 5> (x, w, wr) r = Relu (lstm_1) z = MatMul (r, wm) }"

/* What is said of a rule; "": it is accepted. */
static const char *said_for(const char *runtime, const char *pattern, const char *type) {
    static hn_error err;
    hn_model *m = method_model(MODEL, 1);
    hn_scheme_rule rule = {pattern, hn_layer_type_named(type)->layer};
    hn_scheme s = {.n_rules = 1, .rules = &rule, .target = hn_quant_target_named(runtime)};
    err.text[0] = '\0';
    hone_status status = hn_rules_check(m->graph, &s, &err);
    assert_int_equal(status, err.text[0] == '\0' ? HONE_OK : HONE_E_ARG);
    hn_model_destroy(m);
    return err.text;
}

static const char *said(const char *pattern, const char *type) {
    return said_for("hone", pattern, type);
}

static void rules_hold_for_some_node(void **state) {
    (void)state;
    assert_string_equal(said("z", "int8"), "");
    assert_string_equal(said("*", "int8"), "");
    assert_string_equal(said("r", "int8"), "");
    assert_string_equal(said("r", "f32"), "");
    assert_string_equal(said("lstm*", "int8"), "");
    assert_string_equal(said("lstm*", "int8-dynamic"), "");
    assert_string_equal(said("lstm*", "int4"), "");
}

static void others_are_refused(void **state) {
    (void)state;
    assert_string_equal(said("lstm1", "int8"),
                        "no node of the simplified model is called 'lstm1'; the nearest layers are"
                        " lstm_1, z");
    assert_string_equal(said_for("openvino", "lstm*", "int8"),
                        "the type given to 'lstm*' quantizes none of the 1 node of that name:"
                        " lstm_1 (LSTM: the runtime has no form of it with ranges found beforehand"
                        " (int8-weights has one))");
    assert_string_equal(said("r", "int8-weights"),
                        "the type given to 'r' quantizes none of the 1 node of that name:"
                        " r (Relu: no type quantizes its operator)");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {TEST(rules_hold_for_some_node), TEST(others_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Making models through hone.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "support/models.h"

static void every_architecture_is_described(void **state) {
    (void)state;
    hone_error err;
    hone_architecture_info a;
    assert_true(hone_n_architectures() > 5);
    for (size_t i = 0; i < hone_n_architectures(); i++) {
        ASSERT_OK(hone_architecture(i, &a, &err), err);
        assert_true(strlen(a.name) > 0 && strlen(a.help) > 0 && strlen(a.text) > 0);
        assert_non_null(a.settings);
    }
    ASSERT_FAILS(hone_architecture(hone_n_architectures(), &a, &err), err, HONE_E_ARG,
                 "was asked for");
}

static void a_model_is_made_and_runs(void **state) {
    (void)state;
    hone_error err;
    hone_model *m = NULL;
    hone_session *s = NULL;
    hone_value_info info;
    ASSERT_OK(hone_make(&m, "lenet5", NULL, &err), err);
    ASSERT_OK(hone_model_input(m, 0, &info, &err), err);
    assert_string_equal(info.name, "input");
    assert_string_equal(info.dim_names[0], "N");
    assert_string_equal(hone_model_metadata(m, "hone.seed"), "1");
    assert_non_null(strstr(hone_model_metadata(m, "hone.description"), "maxpool 2"));
    ASSERT_OK(hone_session_create(&s, m, NULL, &err), err);
    hone_value in = {.name = "input", .dtype = HONE_DTYPE_F32, .rank = 4, .dims = {2, 1, 28, 28}};
    hone_value out = {.name = "logits"};
    ASSERT_OK(hone_value_fill(&in, HONE_FILL_RANDOM, 1, &err), err);
    ASSERT_OK(hone_session_run(s, 1, &in, 1, &out, &err), err);
    assert_int_equal(out.dims[0], 2);
    assert_int_equal(out.dims[1], 10);
    hone_value_release(&in, 1);
    hone_value_release(&out, 1);
    hone_session_destroy(s);
    hone_model_destroy(m);
}

static void options_are_heeded(void **state) {
    (void)state;
    hone_error err;
    hone_model *m = NULL;
    hone_value_info info;
    hone_make_options o;
    char *text = NULL;
    hone_make_options_init(&o);
    assert_int_equal(o.seed, 1);
    o.settings = "n=1 classes=3";
    o.seed = 9;
    ASSERT_OK(hone_make(&m, "resnet32", &o, &err), err);
    ASSERT_OK(hone_model_output(m, 0, &info, &err), err);
    assert_int_equal(info.dims[1], 3);
    assert_string_equal(hone_model_metadata(m, "hone.seed"), "9");
    ASSERT_OK(hone_make_describe(&text, "resnet32", &o, &err), err);
    assert_string_equal(text, hone_model_metadata(m, "hone.description"));
    assert_non_null(strstr(text, "n = 1 from"));
    hone_free(text);
    hone_model_destroy(m);

    m = NULL;
    o.settings = NULL;
    o.text = "vector 5\nlinear 2\n";
    ASSERT_OK(hone_make(&m, "own", &o, &err), err);
    hone_model_destroy(m);
}

static void what_is_wrong_is_said(void **state) {
    (void)state;
    hone_error err;
    hone_model *m = NULL;
    char *text = NULL;
    hone_make_options o;
    hone_make_options_init(&o);
    ASSERT_FAILS(hone_make(&m, "resnet21", NULL, &err), err, HONE_E_NOT_FOUND, "resnet21");
    ASSERT_FAILS(hone_make_describe(&text, "resnet21", NULL, &err), err, HONE_E_NOT_FOUND,
                 "resnet21");
    o.settings = "width=0";
    ASSERT_FAILS(hone_make(&m, "resnet20", &o, &err), err, HONE_E_ARG, "width is 0");
    ASSERT_FAILS(hone_make_describe(&text, "resnet20", &o, &err), err, HONE_E_ARG, "width is 0");
    o.settings = NULL;
    o.text = "vector 5\nlinear\n";
    ASSERT_FAILS(hone_make(&m, "own", &o, &err), err, HONE_E_FORMAT, "own:2:7: linear needs out");
    assert_null(m);
    assert_null(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_architecture_is_described),
        cmocka_unit_test(a_model_is_made_and_runs),
        cmocka_unit_test(options_are_heeded),
        cmocka_unit_test(what_is_wrong_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

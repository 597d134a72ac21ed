#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "support/models.h"

/* The first image's scores, of a batch of n equal images. */
static void scores(hone_model *m, int64_t n, float first[10]) {
    hone_error err;
    hone_session *s = NULL;
    hone_value in = {.name = "image", .dtype = HONE_DTYPE_F32, .rank = 4, .dims = {n, 1, 28, 28}};
    hone_value out = {.name = "logits"};
    ASSERT_OK(hone_session_create(&s, m, NULL, &err), err);
    ASSERT_OK(hone_value_fill(&in, HONE_FILL_ONES, 1, &err), err);
    ASSERT_OK(hone_session_run(s, 1, &in, 1, &out, &err), err);
    assert_int_equal(out.dims[0], n);
    memcpy(first, out.data, 10 * sizeof *first);
    hone_value_release(&in, 1);
    hone_value_release(&out, 1);
    hone_session_destroy(s);
}

static void an_axis_is_fixed_and_set_free_again(void **state) {
    (void)state;
    hone_error err;
    hone_model *m = NULL;
    hone_value_info v;
    float before[10], fixed[10], after[10];
    ASSERT_OK(hone_model_load(&m, DIGITS, NULL, &err), err);
    scores(m, 2, before);
    ASSERT_OK(hone_model_set_dims(m, &(hone_dim_setting){"image", 0, "3"}, 1, &err), err);
    ASSERT_OK(hone_model_output(m, 0, &v, &err), err);
    assert_int_equal(v.dims[0], 3);
    scores(m, 3, fixed);
    ASSERT_OK(hone_model_set_dims(m, &(hone_dim_setting){"image", -4, "n"}, 1, &err), err);
    ASSERT_OK(hone_model_output(m, 0, &v, &err), err);
    assert_int_equal(v.dims[0], -1);
    assert_string_equal(v.dim_names[0], "n");
    scores(m, 5, after);
    assert_memory_equal(before, fixed, sizeof before);
    assert_memory_equal(before, after, sizeof before);
    hone_model_destroy(m);
}

static void what_makes_no_sense_is_refused(void **state) {
    (void)state;
    hone_error err;
    hone_model *m = NULL;
    hone_session *s = NULL;
    ASSERT_OK(hone_model_load(&m, DIGITS, NULL, &err), err);
    assert_int_equal(hone_model_set_dims(m, &(hone_dim_setting){"none", 0, "3"}, 1, &err),
                     HONE_E_ARG);
    assert_non_null(strstr(err.text, "none"));
    assert_int_equal(hone_model_set_dims(m, &(hone_dim_setting){"image", 4, "3"}, 1, &err),
                     HONE_E_ARG);
    /* The channels are those of the first weights. */
    assert_int_not_equal(hone_model_set_dims(m, &(hone_dim_setting){"image", 1, "3"}, 1, &err),
                         HONE_OK);
    assert_non_null(strstr(err.text, "stem_conv"));
    ASSERT_OK(hone_session_create(&s, m, NULL, &err), err);
    assert_int_equal(hone_model_set_dims(m, &(hone_dim_setting){"image", 0, "3"}, 1, &err),
                     HONE_E_ARG);
    hone_session_destroy(s);
    ASSERT_OK(hone_model_set_dims(m, &(hone_dim_setting){"image", 0, "3"}, 1, &err), err);
    hone_model_destroy(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_axis_is_fixed_and_set_free_again),
        cmocka_unit_test(what_makes_no_sense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

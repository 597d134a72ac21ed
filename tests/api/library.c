#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/models.h"

static void statuses_have_names_and_texts(void **state) {
    (void)state;
    assert_string_equal(hone_status_name(HONE_OK), "HONE_OK");
    assert_string_equal(hone_status_name(HONE_E_SHAPE), "HONE_E_SHAPE");
    assert_string_equal(hone_status_text(HONE_E_SHAPE), "incompatible shapes");
    assert_non_null(hone_status_name((hone_status)999));
    assert_non_null(hone_status_text((hone_status)999));
}

static void dtypes_have_names_and_widths(void **state) {
    (void)state;
    assert_string_equal(hone_dtype_name(HONE_DTYPE_F32), "f32");
    assert_string_equal(hone_dtype_name(HONE_DTYPE_NONE), "?");
    assert_string_equal(hone_dtype_name((hone_dtype)-1), "?");
    assert_int_equal(hone_dtype_bits(HONE_DTYPE_F32), 32);
    assert_int_equal(hone_dtype_bits(HONE_DTYPE_S4), 4);
    assert_int_equal(hone_dtype_bits(HONE_DTYPE_STRING), 0);
    assert_int_equal(hone_dtype_bits((hone_dtype)1000), 0);
}

static void the_version_is_three_numbers(void **state) {
    (void)state;
    int major, minor, patch, n = 0;
    assert_int_equal(sscanf(hone_version(), "%d.%d.%d%n", &major, &minor, &patch, &n), 3);
    assert_int_equal(n, strlen(hone_version()));
    assert_true(major == HONE_VERSION_MAJOR && minor == HONE_VERSION_MINOR);
    assert_int_equal(patch, HONE_VERSION_PATCH);
    assert_int_equal(hone_version_number(), HONE_VERSION_NUMBER);
    assert_int_equal(HONE_VERSION_NUMBER, 10000 * major + 100 * minor + patch);
}

static void the_table_of_operators_is_sorted_and_complete(void **state) {
    (void)state;
    hone_error err;
    hone_op_info op, before = {.domain = "", .name = ""};
    bool conv = false, gelu = false;
    assert_true(hone_n_ops() > 150);
    for (size_t i = 0; i < hone_n_ops(); i++) {
        ASSERT_OK(hone_op(i, &op, &err), err);
        int order = strcmp(before.domain, op.domain);
        assert_true(order < 0 || (order == 0 && strcmp(before.name, op.name) < 0));
        assert_non_null(strstr(op.signature, "->"));
        assert_true(op.versions[0] >= '1' && op.versions[0] <= '9');
        assert_true(op.runs);
        assert_true(op.fast || !op.int8);
        assert_true(op.differentiates == (op.no_gradient == NULL));
        conv |= strcmp(op.name, "Conv") == 0 && op.domain[0] == '\0' && op.infers && op.costs &&
                op.fast && op.int8 && op.differentiates;
        gelu |= strcmp(op.name, "BiasGelu") == 0 && strcmp(op.domain, "com.microsoft") == 0;
        before = op;
    }
    assert_true(conv);
    assert_true(gelu);
    ASSERT_FAILS(hone_op(hone_n_ops(), &op, &err), err, HONE_E_ARG, "operator");
    assert_string_equal(op.name, before.name); /* untouched */
}

static void every_family_of_kernels_ends_in_its_reference(void **state) {
    (void)state;
    hone_error err;
    hone_kernel_info k, before = {.family = ""};
    for (size_t i = 0; i <= hone_n_kernels(); i++) {
        if (i < hone_n_kernels()) ASSERT_OK(hone_kernel(i, &k, &err), err);
        bool next = i == hone_n_kernels() || strcmp(k.family, before.family) != 0;
        if (i > 0 && next) {
            assert_string_equal(before.name, "ref");
            assert_string_equal(before.isa, "portable");
            assert_true(before.available && !before.packs);
        }
        before = k;
    }
    ASSERT_FAILS(hone_kernel(hone_n_kernels(), &k, &err), err, HONE_E_ARG, "kernel");
}

typedef struct lines {
    int warnings, infos;
    char last[500];
} lines;

static void keep(void *ctx, hone_log_level level, const char *line) {
    lines *l = ctx;
    l->warnings += level == HONE_LOG_WARN;
    l->infos += level == HONE_LOG_INFO;
    snprintf(l->last, sizeof l->last, "%s", line);
}

static void the_log_tells_of_the_work_when_asked(void **state) {
    (void)state;
    hone_error err;
    hone_model *m;
    lines l = {0};
    hone_log_set(keep, &l, HONE_LOG_WARN);
    ASSERT_OK(hone_model_load(&m, MODEL("add"), NULL, &err), err);
    hone_model_destroy(m);
    assert_int_equal(l.warnings + l.infos, 0);
    hone_log_set(keep, &l, HONE_LOG_INFO);
    ASSERT_OK(hone_model_load(&m, MODEL("add"), NULL, &err), err);
    hone_model_destroy(m);
    assert_int_equal(l.infos, 1);
    assert_non_null(strstr(l.last, "add.onnx: 2 nodes"));
    hone_log_set(NULL, NULL, HONE_LOG_DEBUG);
    ASSERT_OK(hone_model_load(&m, MODEL("add"), NULL, &err), err);
    hone_model_destroy(m);
    assert_int_equal(l.infos, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statuses_have_names_and_texts),
        cmocka_unit_test(dtypes_have_names_and_widths),
        cmocka_unit_test(the_version_is_three_numbers),
        cmocka_unit_test(the_table_of_operators_is_sorted_and_complete),
        cmocka_unit_test(every_family_of_kernels_ends_in_its_reference),
        cmocka_unit_test(the_log_tells_of_the_work_when_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* hone_optimize through the public header alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "hone/hone.h"
#include "support/paths.h"

static hone_model *digits(void) {
    char path[4096];
    hone_model *m = NULL;
    hone_error err;
    snprintf(path, sizeof path, "%s/models/digits_cnn.onnx", HN_SOURCE_DIR);
    if (hone_model_load(&m, path, NULL, &err) != HONE_OK) fail_msg("%s", err.text);
    return m;
}

static bool quietly(void *ctx, const char *what, int64_t done, int64_t total) {
    int *calls = ctx;
    assert_true(what != NULL && done >= 0 && done <= total);
    ++*calls;
    return true;
}

/* The chosen model runs, has its source in it, and outlives the caller's hold on the original. */
static void a_model_comes_out(void **state) {
    (void)state;
    hone_optimize_options o;
    hone_optimization *found;
    hone_session *session;
    hone_eval_result result;
    hone_error err;
    int calls = 0;
    hone_model *m = digits();
    hone_optimize_options_init(&o);
    assert_true(o.size == sizeof o && o.max_drop == 0.01);
    assert_int_equal(hone_dataset_open(&o.data, "synthetic:digits,n=200,seed=7", &err), HONE_OK);
    o.max_file_bytes = 80000; /* less than it takes, more than in 16 bits */
    o.progress = quietly;
    o.progress_ctx = &calls;
    if (hone_optimize(m, &o, &found, &err) != HONE_OK) fail_msg("%s", err.text);
    hone_model_destroy(m);
    assert_true(calls > 0 && found->met && found->model != NULL && found->chosen > 0);
    assert_true(found->rows[found->chosen].file_bytes <= o.max_file_bytes);
    assert_true(found->n_criteria == 8 && found->n_guards == 7);
    assert_non_null(strstr(found->recipe, "hone recipe 2\nname "));
    assert_int_equal(hone_session_create(&session, found->model, NULL, &err), HONE_OK);
    assert_int_equal(hone_session_eval(session, o.data, NULL, &result, &err), HONE_OK);
    assert_true(result.top1 >= 190);
    hone_session_destroy(session);
    hone_optimization_destroy(found);
    hone_optimization_destroy(NULL);
    hone_dataset_destroy(o.data);
}

static void refused(hone_model *m, const hone_optimize_options *o, hone_status status,
                    const char *text) {
    hone_optimization *found = NULL;
    hone_error err;
    assert_int_equal(hone_optimize(m, o, &found, &err), status);
    assert_null(found);
    if (strstr(err.text, text) == NULL) fail_msg("\"%s\" does not say \"%s\"", err.text, text);
}

static void what_cannot_be_is_refused(void **state) {
    (void)state;
    hone_model *m = digits();
    hone_optimize_options o;
#define REFUSED(field, value, status, text) \
    do {                                    \
        hone_optimize_options_init(&o);     \
        o.field = value;                    \
        refused(m, &o, status, text);       \
    } while (0)
    REFUSED(max_drop, -1, HONE_E_ARG, "max_drop is -1");
    REFUSED(max_latency_ms, -1, HONE_E_ARG, "a limit is negative");
    REFUSED(target, "toaster", HONE_E_ARG, "there is no target 'toaster'");
    REFUSED(target, "nvidia_gpu", HONE_E_UNSUPPORTED, "cannot be measured here, cpu alone can");
    REFUSED(metric, "top1", HONE_E_ARG, "the metric 'top1' wants data");
    REFUSED(recipe, "nonsense", HONE_E_FORMAT, "expected 'hone recipe 2'");
    hone_model_destroy(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_comes_out),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

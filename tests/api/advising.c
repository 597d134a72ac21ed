/* Advice through the API: names, limits, and a machine that the caller describes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "hone/hone.h"

static hone_model *load(void) {
    hone_model *m = NULL;
    hone_error err;
    if (hone_model_load(&m, HN_SOURCE_DIR "/models/digits_cnn.onnx", NULL, &err) != HONE_OK)
        fail_msg("%s", err.text);
    return m;
}

static void names_are_listed_and_checked(void **state) {
    (void)state;
    hone_model *m = load();
    hone_advice *a = NULL;
    hone_advise_options o;
    hone_error err;
    const char *what = NULL;
    assert_string_equal(hone_advise_target(0), "cpu");
    assert_string_equal(hone_advise_target(4), "nvidia_gpu");
    assert_null(hone_advise_target(5));
    assert_null(hone_advise_target(SIZE_MAX));
    assert_string_equal(hone_advise_use(0, &what), "batch");
    assert_non_null(what);
    assert_null(hone_advise_use(7, NULL));
    hone_advise_options_init(&o);
    o.target = "toaster";
    assert_int_equal(hone_advise(m, &o, &a, &err), HONE_E_ARG);
    assert_non_null(strstr(err.text, "cpu, edge_arm, embedded_mcu, mobile_npu, nvidia_gpu"));
    hone_advise_options_init(&o);
    o.use = "toast";
    assert_int_equal(hone_advise(m, &o, &a, &err), HONE_E_ARG);
    assert_non_null(strstr(err.text, "online"));
    hone_advise_options_init(&o);
    o.max_latency_ms = -1;
    assert_int_equal(hone_advise(m, &o, &a, &err), HONE_E_ARG);
    hone_advise_options_init(&o);
    o.here = true;
    assert_int_equal(hone_advise(m, &o, &a, &err), HONE_E_ARG);
    hone_dim_value dims[] = {{.name = "nothing", .value = 3}};
    hone_advise_options_init(&o);
    o.dims = dims;
    o.n_dims = 1;
    assert_int_equal(hone_advise(m, &o, &a, &err), HONE_E_NOT_FOUND);
    assert_null(a);
    hone_model_destroy(m);
}

static void defaults_give_a_plan_from_typical_figures(void **state) {
    (void)state;
    hone_model *m = load();
    hone_advice *a;
    hone_error err;
    assert_int_equal(hone_advise(m, NULL, &a, &err), HONE_OK);
    assert_string_equal(a->target, "cpu");
    assert_true(a->typical && !a->measured && isnan(a->here_ms));
    assert_true(a->run_ms > 0 && a->n_stops == 6 && a->n_symptoms == 5);
    assert_float_equal(a->compute_share + a->memory_share + a->overhead_share, 1, 1e-9);
    hone_advice_destroy(a);
    hone_advice_destroy(NULL);
    hone_model_destroy(m);
}

/* Of two machines, one twice as fast in all: its runs take half the time, overhead aside. */
static void a_described_machine_is_planned_for(void **state) {
    (void)state;
    hone_model *m = load();
    double compute_ms[2];
    for (int k = 0; k < 2; k++) {
        hone_peak_info peak = {.precision = "f32",
                               .instruction = "",
                               .isa = "neon",
                               .threads = 1,
                               .gops = k == 0 ? 1 : 2};
        hone_bandwidth_info memory = {.level = "memory", .threads = 1, .read_gb = k == 0 ? 10 : 20};
        hone_machine machine = {.size = sizeof machine,
                                .cpu = "a described one",
                                .arch = "aarch64",
                                .threads = 1,
                                .allowed_cores = 1,
                                .memory_bytes = 1000000000,
                                .memory_limit = -1,
                                .n_peaks = 1,
                                .peaks = &peak,
                                .n_bandwidths = 1,
                                .bandwidths = &memory};
        hone_advise_options o;
        hone_advice *a;
        hone_error err;
        hone_advise_options_init(&o);
        o.target = "edge_arm";
        o.machine = &machine;
        assert_int_equal(hone_advise(m, &o, &a, &err), HONE_OK);
        assert_string_equal(a->machine, "a described one");
        assert_true(!a->typical && !a->measured);
        compute_ms[k] = a->run_ms * (a->compute_share + a->memory_share);
        for (size_t i = 0; i < a->n_remedies; i++) /* it does not compute in integers */
            if (strcmp(a->remedies[i].name, "int8") == 0)
                assert_non_null(strstr(a->remedies[i].why, "no int8 arithmetic"));
        hone_advice_destroy(a);
    }
    assert_float_equal(compute_ms[0] / compute_ms[1], 2, 1e-6);
    hone_model_destroy(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_listed_and_checked),
        cmocka_unit_test(defaults_give_a_plan_from_typical_figures),
        cmocka_unit_test(a_described_machine_is_planned_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

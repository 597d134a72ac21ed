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

/* The peaks of a machine of another kind, whose instruction sets mean nothing here, all count. */
static void machines_of_other_kinds_are_planned_for(void **state) {
    (void)state;
    static const char *const isas[][2] = {{"neon", "neondot"}, {"avx2", "avx512vnni"}};
    hone_model *m = load();
    for (int k = 0; k < 2; k++) {
        hone_peak_info peaks[] = {
            {.precision = "f32", .instruction = "", .isa = isas[k][0], .threads = 1, .gops = 1},
            {.precision = "int8", .instruction = "", .isa = isas[k][1], .threads = 1, .gops = 4}};
        hone_bandwidth_info memory = {.level = "memory", .threads = 1, .read_gb = 10};
        hone_machine machine = {.size = sizeof machine,
                                .cpu = "another one",
                                .arch = "",
                                .isa = isas[k][1],
                                .threads = 1,
                                .allowed_cores = 1,
                                .memory_limit = -1,
                                .n_peaks = 2,
                                .peaks = peaks,
                                .n_bandwidths = 1,
                                .bandwidths = &memory};
        hone_advise_options o;
        hone_advice *a;
        hone_error err;
        hone_advise_options_init(&o);
        o.target = "edge_arm";
        o.machine = &machine;
        assert_int_equal(hone_advise(m, &o, &a, &err), HONE_OK);
        assert_true(a->run_ms > 1); /* 9.5e6 operations at half of 1e9 a second */
        for (size_t i = 0; i < a->n_remedies; i++)
            if (strcmp(a->remedies[i].name, "int8") == 0)
                assert_true(a->remedies[i].rank > 0 && a->remedies[i].speed > 3);
        hone_advice_destroy(a);
    }
    hone_model_destroy(m);
}

/* What runs may not use is no arithmetic that a plan could count on. */
static void runs_may_use_less_than_the_machine_has(void **state) {
    (void)state;
    hone_model *m = load();
    hone_peak_info peaks[] = {
        {.precision = "f32", .instruction = "", .isa = "portable", .threads = 1, .gops = 1},
        {.precision = "int8", .instruction = "", .isa = "avx2", .threads = 1, .gops = 8}};
    hone_bandwidth_info memory = {.level = "memory", .threads = 1, .read_gb = 10};
    hone_machine machine = {.size = sizeof machine,
                            .cpu = "a described one",
                            .arch = "x86_64",
                            .isa = "avx2",
                            .threads = 1,
                            .allowed_cores = 1,
                            .memory_limit = -1,
                            .n_peaks = 2,
                            .peaks = peaks,
                            .n_bandwidths = 1,
                            .bandwidths = &memory};
    hone_step_profile step = {.node = "conv",
                              .op = "Conv",
                              .precision = "f32",
                              .flops = 1e7,
                              .bytes = 1e4,
                              .macs = 5e6,
                              .ms = 12,
                              .roof_ms = 10,
                              .roof_share = 0.8,
                              .bound = "compute"};
    hone_profile profile = {.size = sizeof profile,
                            .threads = 1,
                            .wall_ms = 12,
                            .ms = 12,
                            .coverage = 1,
                            .n_steps = 1,
                            .steps = &step};
    for (int k = 0; k < 2; k++) {
        hone_advise_options o;
        hone_advice *a;
        hone_error err;
        hone_advise_options_init(&o);
        o.machine = &machine;
        o.profile = &profile;
        o.here = true;
        o.isa = k == 0 ? NULL : "portable";
        if (hone_advise(m, &o, &a, &err) != HONE_OK) fail_msg("%s", err.text);
        bool found = false;
        for (size_t i = 0; i < a->n_remedies; i++) {
            if (strcmp(a->remedies[i].name, "int8 static") != 0) continue;
            found = true;
            assert_string_equal(a->remedies[i].state, k == 0 ? "planned" : "left out");
            assert_int_equal(strstr(a->remedies[i].why, "no int8 arithmetic") != NULL, k);
        }
        assert_true(found);
        hone_advice_destroy(a);
    }
    hone_model_destroy(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_listed_and_checked),
        cmocka_unit_test(defaults_give_a_plan_from_typical_figures),
        cmocka_unit_test(a_described_machine_is_planned_for),
        cmocka_unit_test(machines_of_other_kinds_are_planned_for),
        cmocka_unit_test(runs_may_use_less_than_the_machine_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

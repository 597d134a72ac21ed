/* Plans made of numbers that are made up, so that they are the same everywhere. */
#include "advise/advice.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static hn_arena arena;

/* Two convolutions that arithmetic binds, and a product that reads many weights. */
static hn_piece works[] = {
    {.precision = "f32", .macs = 4e9, .flops = 8e9, .bytes = 2e6, .weights_bytes = 1e6},
    {.precision = "f32", .bytes = 1e6, .fuses = true},
    {.precision = "f32", .macs = 5e6, .flops = 1e7, .bytes = 2e7, .weights_bytes = 1.99e7}};

static hn_counts counts_of_a_model(void) {
    return (hn_counts){.works = works,
                       .n = 3,
                       .macs = 4.005e9,
                       .params = 5.25e6,
                       .weights_bytes = 2.1e7,
                       .file_bytes = 2.1e7,
                       .activation_bytes = 1e6,
                       .input_bytes = 6e5,
                       .matrix_macs = 5e6,
                       .window_macs = 4e9,
                       .replaced = 4.6e8,
                       .stored = "f32",
                       .samples = 1,
                       .set_batch = " --set-dim x:0=8",
                       .set_fixed = " --set-dim x:0=1",
                       .set_smaller = " --set-dim x:2=160 --set-dim x:3=160",
                       .batch = 8,
                       .pixels = 0.51,
                       .smaller = "224 x 224 to 160 x 160"};
}

static hn_advice_facts facts_for(const char *target, const hn_counts *c) {
    hn_error err;
    hn_advice_facts f = {.target = hn_target_named(target),
                         .counts = c,
                         .outside_ms = -1,
                         .inside_ms = -1,
                         .max_drop = -1,
                         .model = "m.onnx",
                         .output = "m",
                         .samples = "DATA"};
    assert_int_equal(hn_advice_typical(&f.on, hn_typical_of(target), &arena, &err), HONE_OK);
    return f;
}

static hone_advice advise(const hn_advice_facts *f) {
    hn_error err;
    hone_advice out = {0};
    assert_int_equal(hn_advise(&out, f, &arena, &err), HONE_OK);
    return out;
}

static const hone_advice_remedy *remedy(const hone_advice *a, const char *name) {
    for (size_t i = 0; i < a->n_remedies; i++)
        if (strcmp(a->remedies[i].name, name) == 0 &&
            (a->branches[a->remedies[i].branch].taken || i + 1 == a->n_remedies))
            return &a->remedies[i];
    fail_msg("there is no remedy '%s'", name);
    return NULL;
}

static const hone_verdict *stop(const hone_advice *a, const char *word) {
    for (size_t i = 0; i < a->n_stops; i++)
        if (strstr(a->stops[i].question, word) != NULL) return &a->stops[i];
    fail_msg("no reason to stop asks about '%s'", word);
    return NULL;
}

/* "a, b, c" of what is planned. */
static const char *planned(const hone_advice *a) {
    static char text[1024];
    int last = 0;
    text[0] = '\0';
    for (size_t i = 0; i < a->n_remedies; i++) {
        if (a->remedies[i].rank == 0) continue;
        assert_int_equal(a->remedies[i].rank, ++last);
        assert_string_equal(a->remedies[i].state, "planned");
        if (text[0] != '\0') strcat(text, ", ");
        strcat(text, a->remedies[i].name);
    }
    return text;
}

static void plans_follow_the_tree_of_each_device(void **state) {
    (void)state;
    static const char *const plans[][2] = {
        {"cpu", "batch, 16 bits, int8 static, distil, prune channels, prune weights"},
        {"edge_arm",
         "measure on the device, smaller architecture, int8, prune channels, distil, "
         "smaller input"},
        {"embedded_mcu",
         "measure on the device, smaller architecture, int8, int4, prune channels, "
         "distil, smaller input"},
        {"mobile_npu",
         "measure on the device, int8, engine for the device, prune channels in "
         "multiples, distil"},
        {"nvidia_gpu",
         "batch, f16, engine with tuned kernels, int8, distil, prune channels, 2:4 "
         "sparsity"}};
    hn_counts c = counts_of_a_model();
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        hn_advice_facts f = facts_for(plans[i][0], &c);
        hone_advice a = advise(&f);
        assert_string_equal(planned(&a), plans[i][1]);
        assert_false(a.stop);
        assert_true(a.typical && !a.measured && isnan(a.here_ms));
        for (size_t k = 0; k < a.n_remedies; k++) {
            const hone_advice_remedy *r = &a.remedies[k];
            assert_non_null(r->why);
            assert_non_null(r->risk);
            assert_true(r->command == NULL || strncmp(r->command, "hone ", 5) == 0);
            assert_true(r->command == NULL || strchr(r->command, '@') == NULL);
        }
    }
}

/* 8e9 operations at half of 1e12 a second, 2e7 bytes at half of 4e10: 16 and 1 ms. */
static void times_and_gains_follow_the_roofline(void **state) {
    (void)state;
    hn_counts c = counts_of_a_model();
    hn_advice_facts f = facts_for("cpu", &c);
    hone_advice a = advise(&f);
    assert_float_equal(a.run_ms, 16 + 1 + 0.002 + 0.0025, 0.1);
    assert_string_equal(a.bottleneck, "compute-bound");
    assert_true(a.compute_share > 0.9 && a.memory_share > 0.04 && a.memory_share < 0.08);
    assert_float_equal(a.roof_share, 0.5, 0.01);
    const hone_advice_remedy *half = remedy(&a, "16 bits"), *int8 = remedy(&a, "int8 static");
    assert_float_equal(half->speed, 2, 0.15); /* weights of half the size fit the cache */
    assert_float_equal(half->smaller, 2, 0.01);
    assert_float_equal(int8->speed, 4, 0.3);
    assert_float_equal(int8->smaller, 4, 0.01);
    assert_float_equal(half->then_ms, a.run_ms / half->speed, 1e-6);
    assert_true(int8->then_ms < half->then_ms);
    assert_string_equal(int8->guides, "time 4-5x, size 4x");
    assert_string_equal(int8->command, "hone optimize m.onnx --data DATA -o m.opt.onnx");
}

static void what_binds_a_model_is_named(void **state) {
    (void)state;
    hn_counts c = counts_of_a_model();
    c.works = works + 2, c.n = 1; /* the product alone */
    hn_advice_facts f = facts_for("cpu", &c);
    hone_advice a = advise(&f);
    assert_string_equal(a.bottleneck, "memory-bound");
    assert_string_equal(a.bottleneck_remedies, "prune, quantize, fuse");
    static hn_piece small[200];
    for (int i = 0; i < 200; i++)
        small[i] = (hn_piece){.precision = "f32", .macs = 1e3, .flops = 2e3, .bytes = 1e3};
    c.works = small, c.n = 200;
    f = facts_for("nvidia_gpu", &c);
    a = advise(&f);
    assert_string_equal(a.bottleneck, "overhead-bound");
    assert_string_equal(a.bottleneck_remedies, "fuse, larger batch, graph capture");
    assert_string_equal(a.branches[0].answer, "yes"); /* utilization under 50 % */
    assert_false(a.branches[1].taken);
    assert_string_equal(remedy(&a, "batch")->state, "planned");
    assert_true(remedy(&a, "batch")->throughput > 3);
    c.n = 0;
    f = facts_for("cpu", &c);
    a = advise(&f);
    assert_string_equal(a.bottleneck, "not known");
    assert_true(isnan(a.run_ms));
}

/* What takes nobody knows how long meets no limit, and is no reason to stop. */
static void a_time_that_is_not_known_meets_nothing(void **state) {
    (void)state;
    hn_counts c = counts_of_a_model();
    for (int some = 0; some < 2; some++) {
        c.n = some ? 3 : 0;
        c.unsupported = some;
        c.unsupported_op = "Frobnicate";
        hn_advice_facts f = facts_for("cpu", &c);
        f.max_ms = 1e6;
        f.requests_per_day = 1, f.machine_price = 1;
        hone_advice a = advise(&f);
        assert_false(a.stop);
        assert_true(isnan(a.run_ms));
        assert_string_equal(a.bottleneck, "not known");
        for (size_t i = 0; i < a.n_stops; i++) assert_string_equal(a.stops[i].answer, "not known");
        assert_string_equal(a.symptoms[2].answer, "not known"); /* long latency */
        assert_string_equal(a.symptoms[3].answer, "not known"); /* idle units */
        for (size_t i = 0; i < a.n_remedies; i++) {
            assert_string_not_equal(a.remedies[i].state, "not needed");
            assert_true(isnan(a.remedies[i].then_ms));
        }
        if (some) assert_non_null(strstr(a.evidence, "1 of the nodes (the first is a Frobnicate)"));
        if (some) assert_non_null(strstr(a.verdict, "not known"));
        f.max_ms = 0; /* room is known */
        f.max_file = 1e9;
        a = advise(&f);
        assert_true(a.stop);
    }
}

/* "The requirement is already met": nothing is planned but a measurement on the device. */
static void a_met_requirement_stops(void **state) {
    (void)state;
    hn_counts c = counts_of_a_model();
    hn_advice_facts f = facts_for("cpu", &c);
    f.max_ms = 33;
    hone_advice a = advise(&f);
    assert_true(a.stop);
    assert_string_equal(planned(&a), "");
    assert_string_equal(stop(&a, "met already")->answer, "stop");
    assert_non_null(strstr(a.verdict, "stop: what is wanted is met already"));
    for (size_t i = 0; i < a.n_remedies; i++)
        assert_string_equal(a.remedies[i].state, "not needed");
    f = facts_for("mobile_npu", &c);
    f.max_ms = 1000;
    a = advise(&f);
    assert_true(a.stop);
    assert_string_equal(planned(&a), "measure on the device");
}

static void a_plan_ends_where_the_limit_is_met(void **state) {
    (void)state;
    hn_counts c = counts_of_a_model();
    hn_advice_facts f = facts_for("cpu", &c);
    f.max_ms = 10;
    hone_advice a = advise(&f);
    assert_string_equal(planned(&a), "16 bits");
    assert_string_equal(remedy(&a, "int8 static")->state, "not needed");
    assert_non_null(strstr(a.verdict, "should do"));
    /* Latency is wanted: a batch would make it longer. */
    assert_non_null(strstr(remedy(&a, "batch")->why, "latency is wanted"));
    f.max_ms = 0.001;
    a = advise(&f);
    assert_non_null(strstr(a.verdict, "not enough"));
    assert_string_equal(remedy(&a, "prune weights")->state, "left out"); /* it saves no time */
    f.max_ms = 0;
    f.max_file = 1.2e7;
    a = advise(&f);
    assert_string_equal(planned(&a), "16 bits");
}

static void the_other_reasons_to_stop(void **state) {
    (void)state;
    hn_counts c = counts_of_a_model();
    hn_advice_facts f = facts_for("cpu", &c);
    hone_advice a = advise(&f);
    for (size_t i = 0; i < a.n_stops; i++) assert_string_equal(a.stops[i].answer, "not known");
    assert_int_equal(a.n_stops, 6);
    /* the model is not the bottleneck */
    f.outside_ms = 30, f.inside_ms = 10;
    a = advise(&f);
    assert_string_equal(stop(&a, "something else")->answer, "stop");
    assert_non_null(strstr(stop(&a, "something else")->evidence, "25 %"));
    f.inside_ms = 50;
    assert_string_equal((a = advise(&f), stop(&a, "something else")->answer), "go on");
    /* too rare to pay, unless a limit is not met */
    f.requests_per_day = 1000;
    assert_string_equal((a = advise(&f), stop(&a, "rare")->answer), "stop");
    f.max_ms = 1;
    assert_string_equal((a = advise(&f), stop(&a, "rare")->answer), "go on");
    f.max_ms = 0;
    /* adding a machine is cheaper: two machines, one of which twice the speed would save */
    f.requests_per_day = 8e6, f.machine_price = 100;
    a = advise(&f);
    assert_string_equal(stop(&a, "rare")->answer, "go on");
    assert_string_equal(stop(&a, "cheaper")->answer, "stop");
    f.requests_per_day = 1e9;
    assert_string_equal((a = advise(&f), stop(&a, "cheaper")->answer), "go on");
    assert_string_equal(remedy(&a, "more machines")->state, "planned");
    /* nobody but people can know that the model is still changing */
    assert_string_equal(stop(&a, "changing")->answer, "not known");
}

/* "The gate would be broken": what guides say loses more than is allowed is left out, or trained. */
static void the_gate_leaves_remedies_out(void **state) {
    (void)state;
    hn_counts c = counts_of_a_model();
    hn_advice_facts f = facts_for("mobile_npu", &c);
    f.max_drop = 0.01;
    hone_advice a = advise(&f);
    const hone_advice_remedy *int8 = remedy(&a, "int8");
    assert_string_equal(int8->state, "planned");
    assert_true(int8->training);
    assert_non_null(strstr(int8->command, " --qat"));
    f.max_drop = 0.001;
    a = advise(&f);
    assert_string_equal(remedy(&a, "int8")->state, "left out");
    assert_non_null(strstr(remedy(&a, "int8")->why, "gate"));
    f = facts_for("cpu", &c);
    f.max_drop = 0.001;
    a = advise(&f);
    assert_string_equal(remedy(&a, "16 bits")->state, "planned");
    /* hone optimize holds the gate itself */
    assert_non_null(strstr(remedy(&a, "int8 static")->command, "--max-drop 0.1%"));
}

static void what_a_model_has_no_use_for_is_left_out(void **state) {
    (void)state;
    hn_counts c = counts_of_a_model();
    hn_advice_facts f = facts_for("cpu", &c);
    hone_advice a = advise(&f);
    assert_non_null(strstr(remedy(&a, "int8 dynamic")->why, "products with matrices"));
    assert_non_null(strstr(remedy(&a, "int4 dynamic")->why, "4-bit arithmetic"));
    assert_string_equal(remedy(&a, "mixed")->state, "if needed");
    assert_non_null(strstr(remedy(&a, "distil")->command, "STUDENT.onnx"));
    c.described = true;
    a = advise(&f);
    assert_non_null(strstr(remedy(&a, "distil")->command, "--student width=0.5"));
    c.quantized = true;
    a = advise(&f);
    assert_string_equal(planned(&a), "batch");
    assert_non_null(strstr(remedy(&a, "int8 static")->why, "quantized already"));
    c = counts_of_a_model();
    c.set_smaller = "";
    f = facts_for("edge_arm", &c);
    a = advise(&f);
    assert_string_equal(remedy(&a, "smaller input")->state, "left out");
    assert_null(remedy(&a, "smaller input")->command);
    bool found = false;
    for (size_t i = 0; i < a.n_refused; i++)
        found |= strstr(a.refused[i], "unstructured sparsity") != NULL;
    assert_true(found);
}

static void throughput_is_what_a_batch_is_for(void **state) {
    (void)state;
    hn_counts c = counts_of_a_model();
    hn_advice_facts f = facts_for("nvidia_gpu", &c);
    c.works = works + 2, c.n = 1; /* all time goes into reading weights */
    f.use = hn_purpose_named("batch");
    f.max_ms = 500;
    f.per_second = 20000;
    hone_advice a = advise(&f);
    assert_true(remedy(&a, "batch")->rank > 0);
    assert_true(remedy(&a, "batch")->throughput > 3);
    assert_non_null(strstr(remedy(&a, "batch")->command, "--set-dim x:0=8"));
    f.use = hn_purpose_named("video");
    a = advise(&f);
    assert_non_null(strstr(remedy(&a, "batch")->why, "one at a time"));
}

static void measured_steps_are_taken_as_they_are(void **state) {
    (void)state;
    hn_counts c = counts_of_a_model();
    hn_advice_facts f = facts_for("cpu", &c);
    hone_step_profile steps[] = {{.node = "conv",
                                  .op = "Conv",
                                  .precision = "f32",
                                  .flops = 8e9,
                                  .bytes = 2e6,
                                  .weights_bytes = 1e6,
                                  .macs = 4e9,
                                  .ms = 10,
                                  .roof_ms = 8,
                                  .roof_share = 0.8,
                                  .bound = "compute"},
                                 {.node = "far",
                                  .op = "Gemm",
                                  .precision = "f32",
                                  .flops = 8e8,
                                  .bytes = 2e6,
                                  .weights_bytes = 1e6,
                                  .macs = 4e8,
                                  .ms = 20,
                                  .roof_ms = 0.8,
                                  .roof_share = 0.04,
                                  .bound = "compute"}};
    hone_profile p = {.n_steps = 2, .steps = steps, .ms = 30, .wall_ms = 31, .coverage = 1};
    f.profile = &p;
    f.on.here = true;
    f.on.typical = false;
    f.on.threads = 1;
    f.on.cores = 1;
    hone_advice a = advise(&f);
    assert_true(a.measured);
    assert_float_equal(a.run_ms, 30, 1e-9);
    assert_float_equal(a.here_ms, 31, 1e-9);
    const hone_advice_remedy *kernels = remedy(&a, "fast kernels");
    assert_string_equal(kernels->state, "planned");
    assert_float_equal(kernels->then_ms, 10 + 0.8 / 0.3, 1e-6);
    assert_string_equal(remedy(&a, "threads")->state, "done");
    f.on.cores = 4;
    a = advise(&f);
    assert_string_equal(remedy(&a, "threads")->state, "planned");
    assert_non_null(strstr(remedy(&a, "threads")->why, "1 thread on 4 cores"));
}

static void symptoms_have_their_evidence(void **state) {
    (void)state;
    hn_counts c = counts_of_a_model();
    hn_advice_facts f = facts_for("cpu", &c);
    f.max_memory = 2.3e7;
    f.max_ms = 10;
    hone_advice a = advise(&f);
    assert_string_equal(a.symptoms[0].answer, "no");
    assert_string_equal(a.symptoms[1].answer, "yes"); /* barely fits: 22 of 23 MB */
    assert_string_equal(a.symptoms[2].answer, "yes"); /* long latency */
    f.max_memory = 2e7;
    a = advise(&f);
    assert_string_equal(a.symptoms[0].answer, "yes");
    assert_non_null(strstr(a.symptoms[0].evidence, "22 MB of 20 MB"));
    f.max_memory = 0;
    f.max_ms = 100;
    a = advise(&f);
    assert_string_equal(a.symptoms[4].answer, "not known"); /* slack; advise measures no accuracy */
    assert_non_null(strstr(a.symptoms[4].evidence, "slack"));
    f = facts_for("embedded_mcu", &c); /* where weights stay in storage of 2 MB */
    a = advise(&f);
    assert_string_equal(a.symptoms[0].answer, "yes");
    assert_non_null(strstr(a.symptoms[0].evidence, "the file 21 MB of 2 MB"));
}

static int begin(void **state) {
    (void)state;
    hn_arena_init(&arena, hn_allocator_default(), HN_MEM_OTHER);
    return 0;
}

static int end(void **state) {
    (void)state;
    hn_arena_deinit(&arena);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_follow_the_tree_of_each_device),
        cmocka_unit_test(times_and_gains_follow_the_roofline),
        cmocka_unit_test(what_binds_a_model_is_named),
        cmocka_unit_test(a_time_that_is_not_known_meets_nothing),
        cmocka_unit_test(a_met_requirement_stops),
        cmocka_unit_test(a_plan_ends_where_the_limit_is_met),
        cmocka_unit_test(the_other_reasons_to_stop),
        cmocka_unit_test(the_gate_leaves_remedies_out),
        cmocka_unit_test(what_a_model_has_no_use_for_is_left_out),
        cmocka_unit_test(throughput_is_what_a_batch_is_for),
        cmocka_unit_test(measured_steps_are_taken_as_they_are),
        cmocka_unit_test(symptoms_have_their_evidence),
    };
    return cmocka_run_group_tests(tests, begin, end);
}

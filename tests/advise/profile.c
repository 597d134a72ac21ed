/* Medians of steps, and what is said of them, from runs whose times are made up. */
#include "advise/profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static hn_arena arena;

static hone_step_info info_of(const char *node, const char *op, double ms) {
    return (hone_step_info){.node = node,
                            .op = op,
                            .family = "conv_f32",
                            .kernel = "avx512_14x32",
                            .output = "f32[1]",
                            .flops = 2e9,
                            .bytes = 1e6,
                            .macs = 1e9,
                            .end_ns = (int64_t)(ms * 1e6),
                            .why = "first that accepts",
                            .isa = "avx512",
                            .precision = "f32",
                            .threads = 1,
                            .weights_bytes = 4e5,
                            .live_bytes = 123};
}

/* One run of two steps; the second is not always there. */
static void record(hn_recording *r, int64_t run, double first, double second) {
    hn_error err;
    hn_recording_begin(r, run);
    hone_step_info a = info_of("a", "Conv+Relu", first), b = info_of("b", "Gemm", second);
    b.precision = "int8";
    b.family = "conv_q8";
    hn_recording_step(r, &a);
    if (second > 0) hn_recording_step(r, &b);
    assert_int_equal(hn_recording_end(r, &err), HONE_OK);
}

static hone_profile profile_of(const hn_profile_facts *f) {
    hn_recording r;
    hn_error err;
    hone_profile p = {.cpu_ms = 0.5};
    assert_int_equal(hn_recording_init(&r, 5, &arena, &err), HONE_OK);
    record(&r, 0, 30, 7);
    record(&r, 1, 10, 9);
    record(&r, 2, 20, 0);
    record(&r, 3, 40, 8);
    record(&r, 4, 50, 0);
    assert_int_equal(hn_recording_finish(&r, f, &p, &err), HONE_OK);
    p.wall_ms = 40;
    assert_int_equal(hn_profile_judge(&p, f, &arena, &err), HONE_OK);
    hn_recording_deinit(&r);
    return p;
}

static const hone_verdict *verdict(const hone_profile *p, const char *word) {
    for (size_t i = 0; i < p->n_verdicts; i++)
        if (strstr(p->verdicts[i].question, word) != NULL) return &p->verdicts[i];
    return NULL;
}

static void steps_are_medians_of_the_runs_that_came_to_them(void **state) {
    (void)state;
    hn_profile_facts f = {.threads = 1, .cores = 2, .isa = "avx512", .samples = 1};
    hone_profile p = profile_of(&f);
    assert_int_equal(p.n_steps, 2);
    assert_int_equal(p.runs, 5);
    assert_float_equal(p.steps[0].ms, 30, 1e-9);
    assert_float_equal(p.steps[1].ms, 8, 1e-9);
    assert_float_equal(p.ms, 38, 1e-9);
    assert_float_equal(p.macs, 2e9, 1);
    assert_float_equal(p.integer_macs, 1e9, 1);
    assert_string_equal(p.steps[0].why, "first that accepts");
    assert_int_equal(p.steps[1].live_bytes, 123);
    assert_null(p.steps[0].bound); /* no limits are known */
    assert_float_equal(p.steps[0].gflops, 2e9 / 30e-3 * 1e-9, 1e-6);
    assert_true(p.steps[0].cycles == -1);
}

static void limits_place_the_steps(void **state) {
    (void)state;
    static const hone_peak_info peaks[] = {
        {.precision = "f32", .isa = "avx512", .threads = 1, .gops = 100},
        {.precision = "int8", .isa = "avx512", .threads = 1, .gops = 400}};
    static const hone_bandwidth_info memory[] = {{.level = "memory", .threads = 1, .read_gb = 10}};
    hone_machine m = {.n_peaks = 2,
                      .peaks = peaks,
                      .n_bandwidths = 1,
                      .bandwidths = memory,
                      .memory_bytes = 1000000000,
                      .memory_limit = -1};
    hn_profile_facts f = {.machine = &m,
                          .threads = 1,
                          .cores = 2,
                          .isa = "avx512",
                          .samples = 4,
                          .max_ms = 39,
                          .memory = {.planned_bytes = 2000000}};
    hone_profile p = profile_of(&f);
    assert_float_equal(p.steps[0].roof_ms, 20, 1e-9);
    assert_float_equal(p.steps[0].lost_ms, 10, 1e-9);
    assert_string_equal(p.steps[0].bound, "compute");
    assert_non_null(p.steps[0].advice);
    assert_float_equal(p.roof_ms, 25, 1e-9);
    assert_string_equal(verdict(&p, "requirement")->answer, "no: go on with what binds it");
    assert_non_null(strstr(verdict(&p, "cores used")->answer, "fewer threads"));
    assert_non_null(strstr(verdict(&p, "threads fit")->evidence, "1 threads, 2 cores"));
    assert_string_equal(verdict(&p, "slowest")->answer, "Conv+Relu");
    assert_non_null(strstr(verdict(&p, "slowest")->evidence, "Conv+Relu 79 %, Gemm 21 %"));
    assert_string_equal(verdict(&p, "wide units")->answer, "yes");
    assert_non_null(strstr(verdict(&p, "binds")->answer, "arithmetic"));
    assert_non_null(strstr(verdict(&p, "binds")->evidence, "66 % of the roof"));
    assert_non_null(strstr(verdict(&p, "batch")->answer, "yes"));
    assert_non_null(strstr(verdict(&p, "int8")->answer, "partly"));
    assert_non_null(strstr(verdict(&p, "int8")->evidence, "4.0 times"));
    assert_non_null(strstr(verdict(&p, "too large")->evidence, "10 ms a sample"));
    assert_string_equal(verdict(&p, "fit the memory")->answer, "yes");
    assert_non_null(strstr(verdict(&p, "first")->answer, "a: "));
}

static void answers_follow_the_numbers(void **state) {
    (void)state;
    hone_step_profile s[] = {{.node = "x",
                              .op = "NonZero",
                              .kernel = "reference",
                              .isa = "portable",
                              .precision = "f32"},
                             {.node = "y",
                              .op = "Add",
                              .family = "map_f32",
                              .kernel = "avx2",
                              .isa = "avx2",
                              .precision = "f32"}};
    s[0].ms = 60, s[1].ms = 50;
    hone_profile p = {.n_steps = 2, .steps = s, .ms = 110, .wall_ms = 110, .cpu_ms = 109};
    hn_profile_facts f = {.threads = 4, .cores = 1, .isa = "avx2", .samples = 1, .max_ms = 200};
    hn_error err;
    assert_int_equal(hn_profile_judge(&p, &f, &arena, &err), HONE_OK);
    assert_string_equal(verdict(&p, "requirement")->answer, "yes: stop here");
    assert_string_equal(verdict(&p, "cores used")->answer, "yes");
    assert_non_null(strstr(verdict(&p, "threads fit")->answer, "more threads than cores"));
    assert_non_null(strstr(verdict(&p, "wide units")->answer, "not everywhere"));
    assert_non_null(strstr(verdict(&p, "wide units")->evidence, "references 55 %"));
    assert_non_null(strstr(verdict(&p, "too large")->answer, "yes"));
    assert_null(verdict(&p, "int8"));  /* nothing is multiplied */
    assert_null(verdict(&p, "binds")); /* no limits are known */
    hone_profile none = {0};
    assert_int_equal(hn_profile_judge(&none, &f, &arena, &err), HONE_OK);
    assert_int_equal(none.n_verdicts, 0);
}

/* 97 ms a run whose steps add up to 28 were seen on a busy machine. */
static void a_run_that_its_steps_do_not_add_up_to_is_told(void **state) {
    (void)state;
    hone_step_profile s = {
        .node = "y", .op = "Conv", .family = "f", .kernel = "k", .isa = "avx2", .precision = "f32"};
    hn_profile_facts f = {.threads = 1, .cores = 1, .isa = "avx2", .samples = 1};
    hn_error err;
    static const struct {
        double wall, coverage, sum;
        bool told;
    } cases[] = {{97, 0.99, 28, true},
                 {30, 0.99, 28, false},
                 {97, 0.29, 28, false}, /* the time goes elsewhere, which `coverage` tells */
                 {28, 1, 40, false}};   /* steps that not every run comes to */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        s.ms = cases[i].sum;
        hone_profile p = {.n_steps = 1,
                          .steps = &s,
                          .ms = cases[i].sum,
                          .wall_ms = cases[i].wall,
                          .coverage = cases[i].coverage};
        assert_int_equal(hn_profile_judge(&p, &f, &arena, &err), HONE_OK);
        const hone_verdict *v = verdict(&p, "add up");
        assert_int_equal(v != NULL, cases[i].told);
        if (v == NULL) continue;
        assert_ptr_equal(v, &p.verdicts[0]);
        assert_non_null(strstr(v->answer, "others used the cores"));
        assert_non_null(strstr(v->evidence, "take 96 ms, the medians of the steps 28 ms"));
    }
}

/* Any allocation may fail, and nothing is left behind then. */
static void running_out_of_memory_is_an_error(void **state) {
    (void)state;
    hn_profile_facts f = {.threads = 1, .cores = 1, .isa = "avx2", .samples = 1};
    hone_step_info info = info_of("a", "Conv", 1);
    bool done = false;
    for (size_t limit = 0; !done; limit += 256) {
        hn_allocator alloc;
        hn_arena own;
        hn_recording r;
        hn_error err;
        hone_profile p = {0};
        hn_allocator_init(&alloc);
        alloc.limit = limit + 1;
        hn_arena_init(&own, &alloc, HN_MEM_OTHER);
        hone_status status = hn_recording_init(&r, 2, &own, &err);
        if (status == HONE_OK) {
            for (int64_t i = 0; i < 2 && status == HONE_OK; i++) {
                hn_recording_begin(&r, i);
                hn_recording_step(&r, &info);
                status = hn_recording_end(&r, &err);
            }
            if (status == HONE_OK) status = hn_recording_finish(&r, &f, &p, &err);
            if (status == HONE_OK) status = hn_profile_judge(&p, &f, &own, &err);
            hn_recording_deinit(&r);
        }
        assert_true(status == HONE_OK || status == HONE_E_NOMEM);
        done = status == HONE_OK;
        hn_arena_deinit(&own);
        assert_int_equal(atomic_load(&alloc.live), 0);
    }
}

int main(void) {
    hn_arena_init(&arena, hn_allocator_default(), HN_MEM_OTHER);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_are_medians_of_the_runs_that_came_to_them),
        cmocka_unit_test(limits_place_the_steps),
        cmocka_unit_test(answers_follow_the_numbers),
        cmocka_unit_test(a_run_that_its_steps_do_not_add_up_to_is_told),
        cmocka_unit_test(running_out_of_memory_is_an_error),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    hn_arena_deinit(&arena);
    return failed;
}

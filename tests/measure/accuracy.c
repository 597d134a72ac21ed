#include "measure/accuracy.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "ops/eval.h"
#include "support/data.h"
#include "support/graph.h"

static int runs; /* how often a model was run */

static hone_status run(void *ctx, const hn_tensor *const *in, hn_tensor **out, hn_error *err) {
    hn_exec_options o = {.alloc = &scratch_mem};
    runs++;
    return hn_graph_run(ctx, &o, in, out, err);
}

static hone_status score(const char *graph, const char *csv, int64_t batch, hone_eval_result *r,
                         hn_error *err) {
    hn_model *m = graph_model(21, graph);
    hn_dataset *ds = data_open("csv:%s", scratch_put_text("d.csv", csv));
    hone_eval_options o = {.size = sizeof o, .batch = batch};
    runs = 0;
    hone_status status = hn_accuracy_top(m->graph, run, m->graph, ds, &o, &scratch_mem, r, err);
    hn_dataset_close(ds);
    hn_model_destroy(m);
    return status;
}

static hone_eval_result scored(const char *graph, const char *csv, int64_t batch) {
    hn_error err;
    hone_eval_result r = {0};
    if (score(graph, csv, batch, &r, &err) != HONE_OK) fail_msg("%s", err.text);
    return r;
}

static void refused(const char *graph, const char *csv, hone_status status, const char *text) {
    hn_error err;
    hone_eval_result r = {.top1 = 77};
    assert_int_equal(score(graph, csv, 0, &r, &err), status);
    if (strstr(err.text, text) == NULL) fail_msg("\"%s\" does not say \"%s\"", err.text, text);
    assert_int_equal(r.top1, 77);
}

#define SAME3 "g (float[n,3] x) => (float[n,3] y) { y = Identity (x) }"

static void the_highest_score_decides(void **state) {
    (void)state;
    hone_eval_result r = scored(SAME3, "1,2,3,2\n3,2,1,0\n1,3,2,0\n-1,-2,-3,0\n", 0);
    assert_int_equal(r.samples, 4);
    assert_int_equal(r.classes, 3);
    assert_int_equal(r.top1, 3);
    assert_int_equal(r.top5, -1); /* of three classes it would say nothing */
    assert_int_equal(runs, 1);
}

static void of_equal_scores_the_lower_class_wins(void **state) {
    (void)state;
    hone_eval_result r = scored(SAME3, "5,5,5,0\n5,5,5,1\n1,5,5,1\n1,5,5,2\n", 0);
    assert_int_equal(r.top1, 2);
}

static void five_places_count(void **state) {
    (void)state;
    /* Label 0 has place 1, 5 and 6; then all are equal, and label 4 is the fifth, 5 the sixth. */
    hone_eval_result r = scored("g (float[n,6] x) => (float[n,6] y) { y = Identity (x) }",
                                "9,1,2,3,4,5,0\n5,6,7,8,9,1,0\n1,6,7,8,9,2,0\n"
                                "1,1,1,1,1,1,4\n1,1,1,1,1,1,5\n",
                                0);
    assert_int_equal(r.top1, 1);
    assert_int_equal(r.top5, 3);
}

/* log(-1) is NaN, log(0) is minus infinity: a NaN comes last, also among NaNs in their order. */
static void a_nan_comes_after_every_number(void **state) {
    (void)state;
    const char *log = "g (float[n,3] x) => (float[n,3] y) { y = Log (x) }";
    assert_int_equal(scored(log, "-1,1,0,1\n", 0).top1, 1);
    assert_int_equal(scored(log, "-1,0,-1,1\n", 0).top1, 1);
    assert_int_equal(scored(log, "-1,1,2,0\n", 0).top1, 0);
    assert_int_equal(scored(log, "-1,-1,-1,0\n", 0).top1, 1);
    assert_int_equal(scored(log, "-1,-1,-1,1\n", 0).top1, 0);
}

static const char nine[] = /* nine samples, of which the third and the ninth are wrong */
    "1,2,3,2\n3,2,1,0\n1,3,2,0\n0,0,1,2\n1,0,0,0\n1,2,3,2\n3,2,1,0\n1,3,2,1\n0,1,0,2\n";

static void batches_do_not_change_the_answer(void **state) {
    (void)state;
    static const struct {
        const char *graph;
        int64_t batch, runs;
    } cases[] = {
        {SAME3, 0, 1},
        {SAME3, 4, 3},
        {SAME3, 9, 1},
        {"g (float[1,3] x) => (float[1,3] y) { y = Identity (x) }", 0, 9},
        {"g (float[1,3] x) => (float[1,3] y) { y = Identity (x) }", 4, 9},
        {"g (float[8,3] x) => (float[8,3] y) { y = Identity (x) }", 0, 2}, /* with a rest of one */
        {"g (float[8,3] x) => (float[8,3] y) { y = Identity (x) }", 2, 5},
        {"g (float[3] x) => (float[3] y) { y = Identity (x) }", 0, 9}, /* no batch axis */
        {"g (float[n,3] x) => (float[n,3,1] y) <int64[3] s = {0, 3, 1}> { y = Reshape (x, s) }", 0,
         1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hone_eval_result r = scored(cases[i].graph, nine, cases[i].batch);
        assert_int_equal(r.samples, 9);
        assert_int_equal(r.classes, 3);
        assert_int_equal(r.top1, 7);
        assert_int_equal(runs, cases[i].runs);
    }
}

static void scores_may_have_any_type_with_an_order(void **state) {
    (void)state;
    static const char *const types[] = {"1",  "2",  "3",  "7",
                                        "10", "11", "16", "21"}; /* f32 ... u4 */
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        char graph[200];
        snprintf(graph, sizeof graph, "g (float[n,3] x) => (y) { y = Cast <to: int = %s> (x) }",
                 types[i]);
        assert_int_equal(scored(graph, "1,2,3,2\n3,2,1,0\n1,3,2,0\n", 0).top1, 2);
    }
}

/* Labels that are missing are told before the model runs. */
static hone_status never(void *ctx, const hn_tensor *const *in, hn_tensor **out, hn_error *err) {
    (void)ctx, (void)in, (void)out, (void)err;
    fail_msg("the model was run");
    return HONE_E_ARG;
}

static void what_cannot_be_scored_is_refused(void **state) {
    (void)state;
    refused(SAME3, "1,2,3,3\n", HONE_E_ARG, "sample 0 has label 3, but output 'y' has 3 classes");
    refused(SAME3, "1,2,3,0\n1,2,3,-1\n", HONE_E_ARG, "sample 1 has label -1");
    refused("g (float[n,3] x) => (float[3,n] y) { y = Transpose (x) }", "1,2,3,0\n1,2,3,1\n",
            HONE_E_SHAPE, "output 'y' is f32[3, 2], expected 2 along its first axis");
    refused("g (float[n,3] x) => (float y) { y = ReduceSum <keepdims: int = 0> (x) }",
            "1,2,3,0\n1,2,3,1\n", HONE_E_SHAPE, "output 'y'");
    refused("g (float[n,3] x) => () { y = Relu (x) }", "1,2,3,0\n", HONE_E_MODEL, "no output");
    hn_error err;
    hone_eval_result r;
    hone_eval_options o = {.size = sizeof o};
    hn_model *m = graph_model(21, SAME3);
    hn_dataset *ds = data_open("random");
    assert_int_equal(hn_accuracy_top(m->graph, never, NULL, ds, &o, &scratch_mem, &r, &err),
                     HONE_E_ARG);
    assert_string_equal(err.text, "the dataset has no labels to score by");
    hn_dataset_close(ds);
    scratch_put_text("sample", "123456789012");
    ds = data_open("raw:%s,dtype=f32", scratch_path(""));
    hone_evaluation *e;
    assert_int_equal(
        hn_accuracy_measure(m->graph, never, NULL, ds, &o, &scratch_mem, &scratch_mem, &e, &err),
        HONE_E_ARG);
    assert_string_equal(err.text,
                        "the dataset has no labels to score by; it gets them by "
                        "labels=FILE.csv or a folder per class");
    hn_dataset_close(ds);
    hn_model_destroy(m);
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    hn_model *m = graph_model(21, SAME3);
    hn_dataset *ds = data_open("csv:%s", scratch_put_text("d.csv", nine));
    hn_allocator own;
    hn_allocator_init(&own);
    hone_status status = HONE_E_NOMEM;
    for (long long n = 0; status == HONE_E_NOMEM; n++) {
        hn_error err;
        hone_eval_result r;
        hone_eval_options o = {.size = sizeof o, .batch = 4};
        atomic_store(&own.fail_after, n);
        status = hn_accuracy_top(m->graph, run, m->graph, ds, &o, &own, &r, &err);
        assert_int_equal(atomic_load(&own.blocks), 0);
        if (status == HONE_OK) assert_true(n > 4 && r.top1 == 7);
    }
    assert_int_equal(status, HONE_OK);
    hn_dataset_close(ds);
    hn_model_destroy(m);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, scratch_setup, scratch_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(the_highest_score_decides),
        CASE(of_equal_scores_the_lower_class_wins),
        CASE(five_places_count),
        CASE(a_nan_comes_after_every_number),
        CASE(batches_do_not_change_the_answer),
        CASE(scores_may_have_any_type_with_an_order),
        CASE(what_cannot_be_scored_is_refused),
        CASE(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

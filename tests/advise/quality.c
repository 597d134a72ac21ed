#include "advise/quality.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/data.h"
#include "support/graph.h"

typedef struct pair {
    hn_model *model[2];
    hn_program *program[2];
    hn_pool *pool;
} pair;

static void begin(pair *p, const char *a, const char *b) {
    hn_error err;
    assert_int_equal(hn_pool_create(&p->pool, 1, &scratch_mem, NULL), HONE_OK);
    hn_run_options how = {
        .engine = {.alloc = &scratch_mem, .pool = p->pool, .isa = hn_isa_available()}};
    assert_true(hn_layer_precision_named("f32", 3, &how.engine.layers.way));
    for (int i = 0; i < 2; i++) {
        p->model[i] = graph_model(21, i == 0 ? a : b);
        if (hn_program_create(&p->program[i], p->model[i], &how, &err) != HONE_OK)
            fail_msg("%s", err.text);
    }
}

static void end(pair *p) {
    for (int i = 0; i < 2; i++) {
        hn_program_destroy(p->program[i]);
        hn_model_destroy(p->model[i]);
    }
    hn_pool_destroy(p->pool);
}

#define SAME "g (float[n,2] x) => (float[n,2] y) { y = Identity (x) }"
#define TWISTED "g (float[n,2] x) => (float[n,2] y) <float[2] w = {1, 10}> { y = Mul (x, w) }"
#define SCORES                                                                  \
    "g (float[n,2] x) => (float[n,3] y) <float[2,3] w = {1, 0, 2, 0, 1, -1}> {" \
    " y = MatMul (x, w) }"

static hn_quality measured(pair *p, hn_dataset *ds, bool made_up) {
    hn_output_forms forms;
    hn_arena arena;
    hn_arena_init(&arena, &scratch_mem, HN_MEM_OTHER);
    assert_int_equal(hn_output_forms_init(&forms, p->model[0]->graph, made_up, &arena, NULL),
                     HONE_OK);
    hn_judge j = {.model = p->model[0],
                  .original = p->program[0],
                  .forms = &forms,
                  .batch = 2,
                  .seed = 1,
                  .alloc = &scratch_mem};
    hn_quality q;
    hn_error err;
    if (hn_quality_measure(&j, p->program[1], ds, &q, &err) != HONE_OK) fail_msg("%s", err.text);
    hn_arena_deinit(&arena);
    return q;
}

/* Rows (2, 1), (1, 2), (100, 1): the second model prefers the second score, but for the last. */
static void labels_are_gone_by(void **state) {
    (void)state;
    pair p;
    begin(&p, SAME, TWISTED);
    hn_dataset *labelled =
        data_open("csv:%s", scratch_put_text("d.csv", "2,1,0\n1,2,1\n100,1,0\n"));
    hn_quality q = measured(&p, labelled, false);
    assert_string_equal(q.metric, "top1");
    assert_float_equal(q.value, 2.0 / 3, 1e-9);
    assert_true(q.is_share && q.low < q.value && q.high > q.value && q.samples == 3);
    hn_dataset_close(labelled);
    end(&p);
}

static void made_up_samples_tell_how_close(void **state) {
    (void)state;
    pair p;
    begin(&p, SAME, SAME);
    hn_dataset *noise = data_open("random,n=5,seed=3");
    hn_quality q = measured(&p, noise, true);
    assert_string_equal(q.metric, "signal kept");
    assert_true(q.value == 1 && q.worst[0] == '\0');
    end(&p);
    begin(&p, SCORES, SCORES);
    q = measured(&p, noise, false);
    assert_string_equal(q.metric, "agreement");
    assert_true(q.value == 1 && q.samples == 5 && q.weight == 5);
    end(&p);
    begin(&p, SAME, TWISTED);
    q = measured(&p, noise, true);
    assert_true(q.value == 0); /* noise of 9 times the signal in the second channel */
    assert_non_null(strstr(q.worst, "output 'y', channel 1"));
    hn_dataset_close(noise);
    end(&p);
}

static void drops_and_parts(void **state) {
    (void)state;
    hn_quality a = {.value = 0.9, .samples = 300}, b = {.value = 0.8, .samples = 100};
    assert_float_equal(hn_quality_drop(&a, &b), 0.1, 1e-12);
    hn_quality both = hn_quality_of_both(&a, &b);
    assert_float_equal(both.value, 0.875, 1e-12);
    assert_int_equal(both.samples, 400);
    a.weight = 100; /* answers or detections, where they are counted */
    b.weight = 300;
    assert_float_equal(hn_quality_of_both(&a, &b).value, 0.825, 1e-12);
    a.lower_better = true; /* an error that shrinks is no loss */
    assert_float_equal(hn_quality_drop(&a, &b), -0.1, 1e-12);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)
    const struct CMUnitTest tests[] = {
        TEST(labels_are_gone_by),
        TEST(made_up_samples_tell_how_close),
        TEST(drops_and_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

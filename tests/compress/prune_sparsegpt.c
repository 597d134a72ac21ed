/* What is left makes up for what is gone: the outputs are nearer to what they were than if the
 * smallest weights had gone alone. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "compress/compression.h"
#include "support/method_model.h"
#include "support/scratch.h"

/* The inputs of y are mixtures of a few numbers, so that weights can make up for each other. */
#define MIXED                                                                         \
    "m (float[n,6,10] x, float[10,200] wmix, float[200,16] w) => (float[n,6,16] y) {" \
    " h = MatMul (x, wmix) y = MatMul (h, w) }"

static hn_error err;

static hn_model *pruned(const hn_model *m, const char *line, int threads, hn_shrinking *s) {
    hn_model *copy = method_copy(m);
    hn_arena arena;
    hn_recipe r;
    method_bench b;
    char text[300];
    hn_arena_init(&arena, &scratch_mem, HN_MEM_OTHER);
    snprintf(text, sizeof text, "hone recipe 2; prune except=h %s", line);
    if (hn_recipe_read(&r, text, &arena, &err) != HONE_OK) fail_msg("%s", err.text);
    method_begin(&b, copy);
    hn_pool_destroy(b.pool);
    assert_int_equal(hn_pool_create(&b.pool, threads, &scratch_mem, &err), HONE_OK);
    b.how.engine.pool = b.pool;
    b.c.step = &r.steps[0];
    b.c.shrinking = s;
    if (hn_transform_prune(&b.c, &err) != HONE_OK) fail_msg("%s: %s", line, err.text);
    method_end(&b);
    hn_arena_deinit(&arena);
    return copy;
}

static void what_is_left_makes_up(void **state) {
    (void)state;
    static const struct {
        const char *ours, *rival;
        double most; /* of the rival's error */
    } cases[] = {
        {"kind=sparsegpt sparsity=0.5", "sparsity=0.5", 0.1},
        {"kind=sparsegpt pattern=2:4", "kind=nm=2:4", 0.25},
        {"kind=sparsegpt pattern=3:7", "kind=nm=3:7", 0.25},
        {"kind=sparsegpt sparsity=0.8", "kind=wanda sparsity=0.8", 0.3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hn_model *m = method_model(MIXED, i);
        hn_shrinking s;
        hn_shrinking_init(&s, &scratch_mem);
        hn_model *ours = pruned(m, cases[i].ours, 1, &s);
        hn_model *rival = pruned(m, cases[i].rival, 1, NULL);
        double a = method_distance(m, ours), b = method_distance(m, rival);
        if (!(a < cases[i].most * b))
            fail_msg("%s: %g, %s: %g", cases[i].ours, a, cases[i].rival, b);
        assert_true(s.n == 1 && s.v[0].error > 0 && s.v[0].error < 0.1);
        assert_int_equal(hn_shrinking_keeps(&s, "w"), HN_KEEPS_ZEROS);
        hn_shrinking_deinit(&s);
        hn_model_destroy(ours);
        hn_model_destroy(rival);
        hn_model_destroy(m);
    }
}

static void shares_are_exact(void **state) {
    (void)state;
    hn_model *m = method_model(MIXED, 1);
    float *w = method_weight(m, "w");
    for (int i = 0; i < 40; i++) w[i * 7] = 0;
    hn_model *p = pruned(m, "kind=sparsegpt sparsity=0.63", 1, NULL);
    int zeros = 0;
    for (int i = 0; i < 3200; i++) zeros += method_weight(p, "w")[i] == 0;
    for (int i = 0; i < 40; i++) assert_true(method_weight(p, "w")[i * 7] == 0);
    assert_int_equal(zeros, 2016);
    hn_model_destroy(p);
    p = pruned(m, "kind=sparsegpt pattern=3:7", 1, NULL);
    for (int o = 0; o < 16; o++)
        for (int k = 0; k < 200; k += 7) {
            int left = 0;
            for (int i = k; i < k + 7 && i < 200; i++)
                left += method_weight(p, "w")[i * 16 + o] != 0;
            assert_in_range(left, 0, 3);
        }
    hn_model_destroy(p);
    hn_model_destroy(m);
}

static void threads_change_nothing(void **state) {
    (void)state;
    static const char *const texts[] = {
        MIXED,
        "m (float[n,3,6,6] x, float[8,3,1,1] wmix, float[19,8,3,3] w) => (float[n,19,6,6] y) {"
        " h = Conv (x, wmix) y = Conv <pads = [1, 1, 1, 1]> (h, w) }",
    };
    for (size_t i = 0; i < 4; i++) {
        hn_model *m = method_model(texts[i / 2], i), *of[3];
        for (int t = 0; t < 3; t++) {
            of[t] = pruned(m, i % 2 == 0 ? "kind=sparsegpt" : "kind=sparsegpt pattern=2:4", 1 << t,
                           NULL);
            assert_true(hn_tensor_equal(hn_graph_value(of[0]->graph, "w")->constant,
                                        hn_graph_value(of[t]->graph, "w")->constant));
        }
        for (int t = 0; t < 3; t++) hn_model_destroy(of[t]);
        hn_model_destroy(m);
    }
}

static void depthwise_stays(void **state) {
    (void)state;
    hn_model *m = method_model(
        "m (float[n,4,5,5] x, float[4,1,3,3] w) => (float[n,4,3,3] y) {"
        " y = Conv <group = 4> (x, w) }",
        1);
    hn_shrinking s;
    hn_shrinking_init(&s, &scratch_mem);
    hn_model *p = pruned(m, "kind=sparsegpt", 1, &s);
    method_same(m, p, 0);
    assert_string_equal(s.v[0].why_not, "its inputs fall into groups");
    hn_shrinking_deinit(&s);
    hn_model_destroy(p);
    hn_model_destroy(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_left_makes_up),
        cmocka_unit_test(shares_are_exact),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(depthwise_stays),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}

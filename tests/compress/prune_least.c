/* Which weights go: by size, of each layer or of all, in runs of N:M, in blocks, of each output. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "compress/compression.h"
#include "support/method_model.h"
#include "support/scratch.h"

#define TWO                                                                       \
    "m (float[n,3,6,6] x, float[8,3,3,3] w, float[10,8] w2) => (float[n,10] y) {" \
    " c = Conv (x, w) p = GlobalAveragePool (c) f = Flatten (p)"                  \
    " y = Gemm <transB = 1> (f, w2) }"

static hn_error err;

/* Runs a line of a recipe on m, with samples of random numbers. */
static hone_status run(hn_model *m, const char *line, hn_shrinking *s) {
    hn_arena arena;
    hn_recipe r;
    method_bench b;
    char text[300];
    hn_arena_init(&arena, &scratch_mem, HN_MEM_OTHER);
    snprintf(text, sizeof text, "hone recipe 2; %s", line);
    hone_status status = hn_recipe_read(&r, text, &arena, &err);
    hn_compress_plan p;
    if (status == HONE_OK) status = hn_compress_plan_make(&p, &r, &err);
    if (status == HONE_OK) {
        method_begin(&b, m);
        b.c.step = &r.steps[0];
        b.c.shrinking = s;
        status = r.steps[0].transform->run(&b.c, &err);
        method_end(&b);
    }
    hn_arena_deinit(&arena);
    return status;
}

/* The same, and what is left must be as it was. */
static hn_model *pruned(const hn_model *m, const char *line) {
    static const char *const names[] = {"w", "w2"};
    hn_model *copy = method_copy(m);
    hn_shrinking s;
    hn_shrinking_init(&s, &scratch_mem);
    if (run(copy, line, &s) != HONE_OK) fail_msg("%s: %s", line, err.text);
    for (int i = 0; i < 2; i++) {
        const hn_value *was = hn_graph_value(m->graph, names[i]);
        if (was == NULL) continue;
        const float *a = was->constant->data, *b = method_weight(copy, names[i]);
        for (int64_t k = 0; k < was->constant->n; k++) assert_true(b[k] == 0 || b[k] == a[k]);
        if (strstr(line, "only") == NULL)
            assert_int_equal(hn_shrinking_keeps(&s, names[i]), HN_KEEPS_ZEROS);
    }
    hn_shrinking_deinit(&s);
    return copy;
}

static int64_t zeros_of(hn_model *m, const char *name) {
    const hn_tensor *t = hn_graph_value(m->graph, name)->constant;
    int64_t zeros = 0;
    for (int64_t i = 0; i < t->n; i++) zeros += ((const float *)t->data)[i] == 0;
    return zeros;
}

/* The greatest that went is not greater than the least that stayed. */
static void expect_least_gone(hn_model *was, hn_model *is, const char *const *names, int n) {
    float gone = 0, stays = INFINITY;
    for (int i = 0; i < n; i++) {
        const float *a = method_weight(was, names[i]), *b = method_weight(is, names[i]);
        for (int64_t k = 0; k < hn_graph_value(was->graph, names[i])->constant->n; k++) {
            if (b[k] == 0) gone = fmaxf(gone, fabsf(a[k]));
            if (b[k] != 0) stays = fminf(stays, fabsf(a[k]));
        }
    }
    assert_true(gone > 0 && gone <= stays);
}

static void the_smallest_go(void **state) {
    (void)state;
    static const char *const names[] = {"w", "w2"};
    hn_model *m = method_model(TWO, 1);
    hn_model *each = pruned(m, "prune sparsity=0.7"), *all = pruned(m, "prune scope=global");
    assert_int_equal(zeros_of(each, "w"), 151);
    assert_int_equal(zeros_of(each, "w2"), 56);
    for (int i = 0; i < 2; i++) expect_least_gone(m, each, &names[i], 1);
    assert_int_equal(zeros_of(all, "w") + zeros_of(all, "w2"), 148);
    expect_least_gone(m, all, names, 2);
    hn_model_destroy(each);
    hn_model_destroy(all);
    hn_model_destroy(m);
}

/* Of weights that are equal so many go that the share is exact. */
static void equal_weights(void **state) {
    (void)state;
    hn_model *m = method_model(
        "m (float[n,8] x, float[8,5] w) => (float[n,5] y)"
        " { y = MatMul (x, w) }",
        1);
    for (int i = 0; i < 40; i++) method_weight(m, "w")[i] = i % 2 == 0 ? 1.0f : -1.0f;
    method_weight(m, "w")[7] = NAN;
    hn_model *p = method_copy(m);
    assert_int_equal(run(p, "prune sparsity=0.6", NULL), HONE_OK);
    assert_int_equal(zeros_of(p, "w"), 24);
    assert_true(method_weight(p, "w")[0] == 0 && method_weight(p, "w")[39] != 0);
    assert_true(isnan(method_weight(p, "w")[7]));
    hn_model_destroy(p);
    hn_model_destroy(m);
}

/* Channels of one position of the kernel are neighbours along the sum; the last run is shorter. */
static void runs(void **state) {
    (void)state;
    static const char *const lines[] = {"prune kind=nm=1:2", "prune pattern=1:2",
                                        "prune kind=wanda pattern=1:2"};
    hn_model *m = method_model(TWO, 3);
    for (int l = 0; l < 3; l++) {
        hn_model *p = pruned(m, lines[l]);
        const float *a = method_weight(m, "w"), *b = method_weight(p, "w");
        for (int o = 0; o < 8; o++)
            for (int k = 0; k < 9; k++) {
                int first = (o * 3 + 0) * 9 + k, second = (o * 3 + 1) * 9 + k;
                assert_int_equal((b[first] != 0) + (b[second] != 0), 1);
                bool larger = fabsf(a[first]) > fabsf(a[second]);
                if (l < 2) assert_int_equal(b[first] != 0, larger);
                assert_true(b[(o * 3 + 2) * 9 + k] != 0);
            }
        const float *c = method_weight(p, "w2");
        for (int i = 0; i < 80; i += 2) assert_int_equal((c[i] != 0) + (c[i + 1] != 0), 1);
        hn_model_destroy(p);
    }
    hn_model_destroy(m);
}

static void blocks(void **state) {
    (void)state;
    hn_model *m = method_model(
        "m (float[n,12] x, float[12,10] w) => (float[n,10] y)"
        " { y = MatMul (x, w) }",
        5);
    hn_model *p = pruned(m, "prune pattern=4x3 sparsity=0.5");
    const float *a = method_weight(m, "w"), *b = method_weight(p, "w");
    double gone = 0, stays = INFINITY;
    int n_gone = 0;
    for (int o = 0; o < 10; o += 4)
        for (int k = 0; k < 12; k += 3) {
            double sum = 0;
            int zeros = 0, n = 0;
            for (int i = k; i < k + 3; i++)
                for (int j = o; j < o + 4 && j < 10; j++, n++) {
                    sum += (double)a[i * 10 + j] * (double)a[i * 10 + j];
                    zeros += b[i * 10 + j] == 0;
                }
            assert_true(zeros == 0 || zeros == n);
            n_gone += zeros > 0;
            if (zeros > 0) gone = fmax(gone, sum / n);
            if (zeros == 0) stays = fmin(stays, sum / n);
        }
    assert_int_equal(n_gone, 6);
    assert_true(gone <= stays);
    hn_model_destroy(p);
    hn_model_destroy(m);
}

/* Wanda takes the same share of each output, whatever the sizes of their weights, and small weights
 * of large inputs stay. */
static void inputs_count(void **state) {
    (void)state;
    hn_model *m = method_model(
        "m (float[n,6,8] x, float[8,12] w2, float[12,10] w) => (float[n,6,10] y)"
        " { h = MatMul (x, w2) y = MatMul (h, w) }",
        5);
    float *before = method_weight(m, "w2"), *a = method_weight(m, "w");
    for (int i = 0; i < 8; i++) before[i * 12 + 2] = 1000;
    for (int j = 0; j < 10; j++) a[2 * 10 + j] = 1e-3f * (j % 2 == 0 ? 1.0f : -1.0f);
    hn_model *p = pruned(m, "prune kind=wanda sparsity=0.5");
    const float *b = method_weight(p, "w");
    for (int j = 0; j < 10; j++) {
        int zeros = 0;
        for (int i = 0; i < 12; i++) zeros += b[i * 10 + j] == 0;
        assert_int_equal(zeros, 6);
    }
    hn_model *q = pruned(m, "prune sparsity=0.5");
    int by_size = 0, by_inputs = 0;
    for (int j = 0; j < 10; j++) {
        by_size += method_weight(q, "w")[2 * 10 + j] != 0;
        by_inputs += b[2 * 10 + j] != 0;
    }
    assert_true(by_size == 0 && by_inputs >= 9);
    hn_model_destroy(q);
    hn_model_destroy(p);
    hn_model_destroy(m);
}

static void layers_are_chosen(void **state) {
    (void)state;
    hn_model *m = method_model(TWO, 1);
    hn_model *p = pruned(m, "prune only=y");
    assert_int_equal(zeros_of(p, "w"), 0);
    assert_int_equal(zeros_of(p, "w2"), 40);
    hn_model_destroy(p);
    hn_model_destroy(m);
    /* Two nodes read w. */
    m = method_model(
        "m (float[n,8] x, float[8,8] w) => (float[n,8] y)"
        " { h = MatMul (x, w) y = MatMul (h, w) }",
        1);
    hn_shrinking s;
    hn_shrinking_init(&s, &scratch_mem);
    assert_int_equal(run(m, "prune sparsity=0.5", &s), HONE_OK);
    assert_int_equal(zeros_of(m, "w"), 0);
    assert_int_equal(s.n, 2);
    assert_string_equal(s.v[0].why_not, "other nodes read its weight");
    hn_shrinking_deinit(&s);
    hn_model_destroy(m);
}

/* The last pattern that matches holds; others stay, or have the share for all. */
static void shares_of_layers(void **state) {
    (void)state;
    static const struct {
        const char *line;
        int w, w2;
    } cases[] = {
        {"prune layer-sparsity:y=0.5", 0, 40},
        {"prune layer-sparsity:*=0.25 layer-sparsity:y=0.5", 54, 40},
        {"prune layer-sparsity:y=0.5 layer-sparsity:*=0.25", 54, 20},
        {"prune layer-sparsity:y=0.5 sparsity=0.25", 54, 40},
        {"prune layer-sparsity:*=0.5 except=y", 108, 0},
        {"prune kind=sparsegpt layer-sparsity:y=0.5", 0, 40},
        {"prune kind=wanda layer-sparsity:y=0.25", 0, 20},
        {"prune pattern=2x2 layer-sparsity:y=0.5", 0, 40},
    };
    hn_model *m = method_model(TWO, 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hn_model *p = method_copy(m);
        if (run(p, cases[i].line, NULL) != HONE_OK) fail_msg("%s: %s", cases[i].line, err.text);
        if (zeros_of(p, "w") != cases[i].w || zeros_of(p, "w2") != cases[i].w2)
            fail_msg("%s: %d and %d zeros", cases[i].line, (int)zeros_of(p, "w"),
                     (int)zeros_of(p, "w2"));
        hn_model_destroy(p);
    }
    hn_model_destroy(m);
}

static void wrong_lines(void **state) {
    (void)state;
    static const struct {
        const char *line, *message;
    } cases[] = {
        {"prune kind=large",
         "expected one of: channels, heads, magnitude, mask, movement, nm=N:M, "},
        {"prune kind=nm=4:4", "pattern '4:4', expected N:M"},
        {"prune kind=nm", "expected nm=N:M"},
        {"prune kind=wanda=2:4", "expected the name alone"},
        {"prune pattern=0x4", "expected 1x1 to"},
        {"prune pattern=2:4x", "expected N:M"},
        {"prune kind=nm=2:4 pattern=1x4", "expected no other"},
        {"prune kind=nm=2:4 scope=global", "does not go with it"},
        {"prune kind=wanda mask=a.npz", "does not take one"},
        {"prune kind=mask", "wants mask=FILE.npz"},
        {"prune kind=sparsegpt pattern=2x2", "blocks and one threshold"},
        {"prune kind=movement", "train keep=0"},
        {"prune kind=snip", "labels or targets"},
        {"prune sparsity=0.99 scope=global", "leaves layer"},
        {"prune layer-sparsity:y=1", "expected a number from 0 to 0.999"},
        {"prune layer-sparsity=0.5", "expected layer-sparsity:PATTERN="},
        {"prune layer-sparsity:y=0.5 kind=channels", "kind 'channels' does not take it"},
        {"prune layer-sparsity:y=0.5 mask=a.npz", "kind 'mask' does not take it"},
        {"prune layer-sparsity:y=0.5 kind=nm=2:4", "layer-sparsity does not go with it"},
        {"prune layer-sparsity:y=0.5 scope=global", "layer-sparsity does not go with it"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hn_model *m = method_model(TWO, 1);
        float *w = method_weight(m, "w2");
        for (int k = 0; k < 80; k++) w[k] *= 1e-6f;
        assert_int_not_equal(run(m, cases[i].line, NULL), HONE_OK);
        if (strstr(err.text, cases[i].message) == NULL) fail_msg("%s: %s", cases[i].line, err.text);
        hn_model_destroy(m);
    }
}

static void memory_runs_out(void **state) {
    (void)state;
    static const char *const lines[] = {"prune", "prune scope=global pattern=2x2",
                                        "prune kind=wanda", "prune kind=sparsegpt pattern=1:2"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        hn_arena arena;
        hn_recipe r;
        char text[100];
        hone_status status = HONE_E_NOMEM;
        hn_arena_init(&arena, &scratch_mem, HN_MEM_OTHER);
        snprintf(text, sizeof text, "hone recipe 2; %s", lines[i]);
        assert_int_equal(hn_recipe_read(&r, text, &arena, &err), HONE_OK);
        for (long long k = 0; status != HONE_OK; k++) {
            hn_model *m = method_model(TWO, 1);
            hn_shrinking s;
            method_bench b;
            method_begin(&b, m);
            hn_shrinking_init(&s, &scratch_mem);
            b.c.step = &r.steps[0];
            b.c.shrinking = &s;
            scratch_mem.fail_after = k;
            status = hn_transform_prune(&b.c, &err);
            scratch_mem.fail_after = -1;
            hn_shrinking_deinit(&s);
            method_end(&b);
            hn_model_destroy(m);
            if (status != HONE_OK) assert_int_equal(status, HONE_E_NOMEM);
        }
        hn_arena_deinit(&arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_smallest_go),
        cmocka_unit_test(equal_weights),
        cmocka_unit_test(runs),
        cmocka_unit_test(blocks),
        cmocka_unit_test(inputs_count),
        cmocka_unit_test(layers_are_chosen),
        cmocka_unit_test(shares_of_layers),
        cmocka_unit_test(wrong_lines),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}

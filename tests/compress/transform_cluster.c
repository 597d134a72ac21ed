/* Weights become few numbers, those of the least error on a line; zeros stay zero; a codebook gives
 * the same model. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compress/compression.h"
#include "ops/infer.h"
#include "ops/nodes.h"
#include "support/method_model.h"
#include "support/scratch.h"

#define TWO                                                                       \
    "m (float[n,3,6,6] x, float[8,3,3,3] w, float[10,8] w2) => (float[n,10] y) {" \
    " c = Conv (x, w) p = GlobalAveragePool (c) f = Flatten (p)"                  \
    " y = Gemm <transB = 1> (f, w2) }"

static hn_error err;

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
        status = hn_transform_cluster(&b.c, &err);
        method_end(&b);
    }
    hn_arena_deinit(&arena);
    return status;
}

static void run_well(hn_model *m, const char *line, hn_shrinking *s) {
    if (run(m, line, s) != HONE_OK) fail_msg("%s: %s", line, err.text);
}

static int by_value(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* The distinct numbers among n, sorted. */
static int distinct(const float *v, int n, float *out) {
    int count = 0;
    memcpy(out, v, (size_t)n * sizeof *v);
    qsort(out, (size_t)n, sizeof *out, by_value);
    for (int i = 0; i < n; i++)
        if (count == 0 || out[i] != out[count - 1]) out[count++] = out[i];
    return count;
}

/* The least error of k means of sorted numbers, by all ways to cut them. */
static double least_error(const float *v, int n, int k) {
    static double best[256][17];
    for (int i = 0; i <= n; i++)
        for (int j = 0; j <= k; j++) {
            best[i][j] = i == 0 ? 0 : DBL_MAX;
            double sum = 0, squares = 0;
            for (int a = i; a-- > 0 && j > 0;) {
                sum += (double)v[a];
                squares += (double)v[a] * (double)v[a];
                if (best[a][j - 1] == DBL_MAX) continue;
                best[i][j] = fmin(best[i][j], best[a][j - 1] + squares - sum * sum / (i - a));
            }
        }
    return best[n][k];
}

static double error_between(const float *a, const float *b, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
    return sum;
}

/* As many numbers as asked for, each weight at the nearest of them, each of them the mean of its
 * weights, and an error not far from the least there is. */
static void centers_are_means(void **state) {
    (void)state;
    static const char *const starts[] = {"linear", "density", "random"};
    static float sorted[256], means[256];
    for (int i = 0; i < 9; i++) {
        char line[100];
        int k = i / 3 == 0 ? 2 : i / 3 == 1 ? 5 : 16;
        hn_model *m = method_model(TWO, 1), *was = method_copy(m);
        hn_shrinking s;
        hn_shrinking_init(&s, &scratch_mem);
        snprintf(line, sizeof line, "cluster clusters=%d start=%s", k, starts[i % 3]);
        run_well(m, line, &s);
        const float *a = method_weight(was, "w"), *b = method_weight(m, "w");
        assert_int_equal(distinct(b, 216, means), k);
        for (int c = 0; c < k; c++) {
            double sum = 0;
            int n = 0;
            for (int j = 0; j < 216; j++) {
                if (b[j] == means[c]) sum += (double)a[j], n++;
                assert_true(fabs((double)a[j] - (double)b[j]) <=
                            fabs((double)a[j] - (double)means[c]) + 1e-6);
            }
            assert_true(fabs(sum / n - (double)means[c]) < 1e-6);
        }
        distinct(a, 216, sorted);
        double least = least_error(sorted, 216, k), found = error_between(a, b, 216);
        /* A start that has few centers among the large weights may end there, too. */
        if (found > (i % 3 == 0 ? 1.6 : 4) * least)
            fail_msg("%s: error %g, the least is %g", line, found, least);
        assert_int_equal(hn_shrinking_keeps(&s, "w"), HN_KEEPS_TIES);
        hn_shrinking_deinit(&s);
        hn_model_destroy(was);
        hn_model_destroy(m);
    }
}

static void zeros_are_a_cluster(void **state) {
    (void)state;
    static float out[256];
    hn_model *m = method_model(TWO, 1);
    float *w = method_weight(m, "w"), *w2 = method_weight(m, "w2");
    hn_shrinking s;
    hn_shrinking_init(&s, &scratch_mem);
    for (int i = 0; i < 216; i++) w[i] = i % 2 == 0 ? 0 : w[i];
    w2[3] = 0; /* one among 80 is none to keep */
    run_well(m, "cluster clusters=4", &s);
    const float *b = method_weight(m, "w");
    for (int i = 0; i < 216; i++) assert_true((b[i] == 0) == (i % 2 == 0));
    assert_int_equal(distinct(b, 216, out), 4);
    assert_int_equal(hn_shrinking_keeps(&s, "w"), HN_KEEPS_TIES | HN_KEEPS_ZEROS);
    assert_int_equal(hn_shrinking_keeps(&s, "w2"), HN_KEEPS_TIES);
    assert_string_equal(s.v[0].what, "3 clusters and zero");
    assert_true(method_weight(m, "w2")[3] != 0);
    hn_shrinking_deinit(&s);
    hn_model_destroy(m);
}

static void a_table_for_some_channels(void **state) {
    (void)state;
    static float out[256];
    hn_model *m = method_model(TWO, 1), *whole = method_copy(m), *was = method_copy(m);
    run_well(m, "cluster clusters=4 channels=3", NULL);
    run_well(whole, "cluster clusters=4", NULL);
    const float *b = method_weight(m, "w");
    assert_int_equal(distinct(b, 81, out), 4);
    assert_int_equal(distinct(b + 81, 81, out), 4);
    assert_int_equal(distinct(b + 162, 54, out), 4);
    const float *a = method_weight(was, "w");
    assert_true(error_between(a, b, 216) < error_between(a, method_weight(whole, "w"), 216));
    hn_model_destroy(was);
    hn_model_destroy(whole);
    hn_model_destroy(m);
}

static void few_weights_stay(void **state) {
    (void)state;
    hn_model *m = method_model(TWO, 1);
    float *w2 = method_weight(m, "w2");
    hn_shrinking s;
    hn_shrinking_init(&s, &scratch_mem);
    for (int i = 0; i < 80; i++) w2[i] = (float)(i % 7) + 1;
    hn_model *was = method_copy(m);
    run_well(m, "cluster clusters=8 only=y", &s);
    method_same(m, was, 0);
    assert_int_equal(s.n, 1);
    assert_null(s.v[0].what);
    assert_string_equal(s.v[0].why_not, "it has 7 distinct weights, no more than 8 clusters");
    hn_shrinking_deinit(&s);
    hn_model_destroy(was);
    hn_model_destroy(m);
}

static void weights_that_are_not_finite_stay(void **state) {
    (void)state;
    hn_model *m = method_model(TWO, 1);
    hn_shrinking s;
    hn_shrinking_init(&s, &scratch_mem);
    method_weight(m, "w")[5] = NAN;
    method_weight(m, "w")[6] = INFINITY;
    run_well(m, "cluster codebook", &s);
    assert_non_null(hn_graph_value(m->graph, "w"));
    assert_string_equal(s.v[0].why_not, "its weights are not all finite");
    assert_string_equal(s.v[1].what, "16 clusters, a codebook");
    hn_shrinking_deinit(&s);
    hn_model_destroy(m);
}

static void codebooks_compute_the_same(void **state) {
    (void)state;
    static const int clusters[] = {5, 16, 17, 60};
    for (int i = 0; i < 4; i++) {
        hn_model *m = method_model(TWO, 1), *plain = method_copy(m);
        char line[100];
        snprintf(line, sizeof line, "cluster clusters=%d", clusters[i]);
        run_well(plain, line, NULL);
        strcat(line, " codebook");
        run_well(m, line, NULL);
        assert_int_equal(hn_model_infer(m, NULL, &err), HONE_OK);
        if (hn_model_verify(m, &err) != HONE_OK) fail_msg("%s", err.text);
        int found = 0;
        for (const hn_node *n = m->graph->first; n != NULL; n = n->next) {
            hn_codebook book;
            if (!hn_codebook_of(n, &book)) continue;
            found++;
            assert_int_equal(book.codes->dtype, clusters[i] <= 16 ? HONE_DTYPE_U4 : HONE_DTYPE_U8);
            assert_non_null(strstr(n->name, "/codebook"));
        }
        assert_int_equal(found, 2);
        assert_null(hn_graph_value(m->graph, "w"));
        method_same(m, plain, 0);
        hn_model_destroy(plain);
        hn_model_destroy(m);
    }
}

static void wrong_lines(void **state) {
    (void)state;
    static const char *const lines[][2] = {
        {"cluster clusters=1", "clusters"},
        {"cluster clusters=257", "clusters"},
        {"cluster start=far", "expected one of"},
        {"cluster channels=2 codebook", "does not go with channels"},
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        hn_model *m = method_model(TWO, 1);
        assert_int_not_equal(run(m, lines[i][0], NULL), HONE_OK);
        if (strstr(err.text, lines[i][1]) == NULL) fail_msg("%s", err.text);
        hn_model_destroy(m);
    }
}

static hn_recipe recipe;

static hone_status with_codebook(hn_transform_ctx *c, hn_error *e) {
    c->step = &recipe.steps[0];
    return hn_transform_cluster(c, e);
}

static void memory_runs_out(void **state) {
    (void)state;
    hn_arena arena;
    hn_model *m = method_model(TWO, 1);
    hn_arena_init(&arena, &scratch_mem, HN_MEM_OTHER);
    assert_int_equal(
        hn_recipe_read(&recipe, "hone recipe 2; cluster clusters=4 codebook", &arena, &err),
        HONE_OK);
    method_survives(m, with_codebook);
    hn_model_destroy(m);
    hn_arena_deinit(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(centers_are_means),
        cmocka_unit_test(zeros_are_a_cluster),
        cmocka_unit_test(a_table_for_some_channels),
        cmocka_unit_test(few_weights_stay),
        cmocka_unit_test(codebooks_compute_the_same),
        cmocka_unit_test(wrong_lines),
        cmocka_unit_test(weights_that_are_not_finite_stay),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}

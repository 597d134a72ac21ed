/* How much goes within what may be lost: shares of layers, and of channels; the recipe of what was
 * found does the same again. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "compress/compression.h"
#include "compress/judge.h"
#include "ops/infer.h"
#include "support/data.h"
#include "support/method_model.h"
#include "support/scratch.h"

/* The last layer says nothing about the class: it can do without nearly all of its weights. */
#define TWO                                                                   \
    "m (float[n,16] x, float[16,24] w, float[24,10] w2) => (float[n,10] y) {" \
    " h = MatMul (x, w) r = Relu (h) y = MatMul (r, w2) }"

enum { INPUTS = 16, SAMPLES = 60 };

static hn_error err;

typedef struct bench {
    hn_dataset *data;
    hn_feed *feed;
    method_bench b; /* of random samples: how models run */
    hn_arena arena;
    hn_recipe r;
    hn_shrinking s;
} bench;

static void begin(bench *k, hn_model *m, const char *line, const char *data) {
    char text[300];
    method_begin(&k->b, m);
    k->data = data_open("%s", data);
    if (hn_feed_create(&k->feed, m->graph, k->data, 8, &scratch_mem, &err) != HONE_OK)
        fail_msg("%s", err.text);
    hn_arena_init(&k->arena, &scratch_mem, HN_MEM_OTHER);
    snprintf(text, sizeof text, "hone recipe 2; %s", line);
    if (hn_recipe_read(&k->r, text, &k->arena, &err) != HONE_OK) fail_msg("%s", err.text);
    hn_shrinking_init(&k->s, &scratch_mem);
    k->b.c.feed = k->feed;
    k->b.c.step = &k->r.steps[0];
    k->b.c.shrinking = &k->s;
}

static void end(bench *k) {
    hn_shrinking_deinit(&k->s);
    hn_arena_deinit(&k->arena);
    hn_feed_destroy(k->feed);
    hn_dataset_close(k->data);
    method_end(&k->b);
}

static double score_of(bench *k, const hn_model *m) {
    hn_judgement j = {.value = NAN};
    assert_int_equal(hn_judge(&j, m, k->data, &k->b.how, &scratch_mem, &err), HONE_OK);
    return j.value;
}

static int64_t zeros_of(hn_model *m, const char *name) {
    int64_t n = hn_graph_value(m->graph, name)->constant->n, zeros = 0;
    for (int64_t i = 0; i < n; i++) zeros += method_weight(m, name)[i] == 0;
    return zeros;
}

/* Samples of 10 classes, each the largest of the first 10 inputs. */
static const char *classes(int n) {
    static char spec[300];
    char text[SAMPLES * INPUTS * 8] = "";
    hn_rng rng;
    hn_rng_init(&rng, 5);
    for (int i = 0; i < SAMPLES; i++) {
        for (int k = 0; k < INPUTS; k++)
            sprintf(text + strlen(text), "%.2f,", (k == i % 10) + 0.3 * hn_rng_f64(&rng));
        sprintf(text + strlen(text), "%d\n", i % 10);
    }
    snprintf(spec, sizeof spec, "csv:%s,n=%d", scratch_put_text("classes.csv", text), n);
    return spec;
}

/* A model whose first 10 channels are the first 10 inputs; the others say nothing of the class. */
static hn_model *classifier(void) {
    hn_model *m = method_model(TWO, 3);
    float *w = method_weight(m, "w"), *w2 = method_weight(m, "w2");
    for (int i = 0; i < INPUTS * 24; i++) w[i] *= 1e-3f;
    for (int i = 0; i < 24 * 10; i++) w2[i] *= 1e-3f;
    for (int i = 0; i < 10; i++) w[i * 24 + i] = w2[i * 10 + i] = 1;
    return m;
}

/* Follows what was found on a copy of the model: the same weights. */
static void repeat(const hn_model *m, const bench *found, hn_model *is, const char *kind) {
    char line[300];
    snprintf(line, sizeof line, "prune %s", kind);
    for (int i = 0; i < found->s.n_found; i++) {
        assert_true(found->s.found[i].step == found->b.c.step);
        strcat(line, " ");
        strcat(line, found->s.found[i].text);
    }
    hn_model *again = method_copy(m);
    bench k;
    begin(&k, again, line, classes(SAMPLES));
    if (hn_transform_prune(&k.b.c, &err) != HONE_OK) fail_msg("%s: %s", line, err.text);
    assert_int_equal(k.s.n_found, 0);
    static const char *const names[] = {"w", "w2"};
    for (int i = 0; i < 2; i++) {
        const hn_tensor *a = hn_graph_value(is->graph, names[i])->constant;
        const hn_tensor *b = hn_graph_value(again->graph, names[i])->constant;
        assert_int_equal(a->n, b->n);
        assert_memory_equal(a->data, b->data, a->bytes);
    }
    end(&k);
    hn_model_destroy(again);
}

static void within_the_drop(void **state) {
    (void)state;
    static const struct {
        const char *line, *kind;
        double drop;
    } cases[] = {
        {"prune max-drop=5%", "", 0.05},
        {"prune max-drop=0.2", "", 0.2},
        {"prune kind=sparsegpt max-drop=5%", "kind=sparsegpt", 0.05},
        {"prune kind=wanda max-drop=10%rel scan", "kind=wanda", 0.1},
        {"prune scope=global max-drop=5%", "scope=global", 0.05},
        {"prune kind=channels align=1 max-drop=10%", "kind=channels align=1", 0.1},
        {"prune kind=channels align=1 compensate max-drop=10%", "kind=channels align=1 compensate",
         0.1},
    };
    hn_model *m = classifier();
    int64_t before = hn_graph_value(m->graph, "w")->constant->n;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hn_model *p = method_copy(m);
        bench k;
        begin(&k, p, cases[i].line, classes(SAMPLES));
        double was = score_of(&k, p);
        assert_true(was == 1);
        if (hn_transform_prune(&k.b.c, &err) != HONE_OK)
            fail_msg("%s: %s", cases[i].line, err.text);
        assert_true(k.b.c.changed > 0);
        assert_int_equal(hn_model_infer(p, NULL, &err), HONE_OK);
        assert_true(score_of(&k, p) >= was - cases[i].drop - 1e-9);
        int64_t left = hn_graph_value(p->graph, "w")->constant->n - zeros_of(p, "w");
        if (left >= before) fail_msg("%s: nothing is gone", cases[i].line);
        repeat(m, &k, p, cases[i].kind);
        end(&k);
        hn_model_destroy(p);
    }
    hn_model_destroy(m);
}

/* A layer that matters less loses more of its weights; what is told of layers says so. */
static void scans(void **state) {
    (void)state;
    hn_model *m = classifier();
    bench k;
    begin(&k, m, "prune scan sparsity=0.5", classes(SAMPLES));
    if (hn_transform_prune(&k.b.c, &err) != HONE_OK) fail_msg("%s", err.text);
    const hn_layer_scan *x = &k.s.scan;
    assert_int_equal(x->n, 2);
    assert_int_equal(x->n_levels, 7);
    assert_string_equal(x->layers[0], "h");
    assert_true(x->before == 1 && x->is_share && x->scores != NULL);
    assert_int_equal(k.s.n_found, 0);
    for (int i = 0; i < 2; i++)
        for (int l = 1; l < 7; l++) {
            assert_true(x->kept[i * 7 + l] < x->kept[i * 7 + l - 1]);
            assert_true(x->noise[i * 7 + l] >= x->noise[i * 7 + l - 1]);
        }
    assert_true(x->noise[6] > 100 * x->noise[7 + 1]);
    assert_int_equal(zeros_of(m, "w2"), 120);
    end(&k);
    hn_model_destroy(m);
}

static void wrong_lines(void **state) {
    (void)state;
    static const struct {
        const char *line, *data, *message;
    } cases[] = {
        {"prune max-drop=much", NULL, "max-drop 'much', expected a share such as"},
        {"prune max-drop=200%", NULL, "expected a share such as"},
        {"prune max-drop=1% sparsity=0.5", NULL, "sparsity does not go with it"},
        {"prune max-drop=1% layer-sparsity:h=0.5", NULL, "layer-sparsity does not go with it"},
        {"prune kind=channels max-drop=1% max-macs=50%", NULL, "max-macs does not go with it"},
        {"prune kind=nm=2:4 max-drop=1%", NULL, "nothing to choose"},
        {"prune kind=channels scan", NULL, "scan is for kinds"},
        {"prune max-latency=50%", NULL, "kind 'magnitude' makes weights zero"},
        {"prune kind=channels max-latency=50", NULL, "expected a share of the time before"},
        {"prune kind=channels max-latency=0%", NULL, "expected a share of the time before"},
        {"prune kind=channels max-latency=100%", NULL, "expected a share of the time before"},
        {"prune kind=channels max-latency=50% sparsity=0.5", NULL, "sparsity does not go with it"},
        {"prune kind=channels max-latency=50% keep-shapes", NULL, "does not go with it"},
        {"prune kind=channels max-latency=50% max-drop=1%", NULL, "expected one of them"},
        {"prune kind=channels align=1 max-latency=1e-9ms", NULL,
         "with all gone that kind 'channels'"},
        {"prune max-drop=1%", "random,n=20", "those to judge by have none"},
        {"prune max-drop=1% only=none", NULL, "there is no layer to prune"},
        {"prune kind=heads max-drop=1%", NULL, "nothing that kind 'heads' may take away"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hn_model *m = classifier();
        bench k;
        begin(&k, m, cases[i].line, cases[i].data != NULL ? cases[i].data : classes(SAMPLES));
        assert_int_not_equal(hn_transform_prune(&k.b.c, &err), HONE_OK);
        if (strstr(err.text, cases[i].message) == NULL) fail_msg("%s: %s", cases[i].line, err.text);
        end(&k);
        hn_model_destroy(m);
    }
    /* No samples at all. */
    hn_model *m = classifier();
    bench k;
    begin(&k, m, "prune scan", classes(SAMPLES));
    k.b.c.feed = NULL;
    assert_int_equal(hn_transform_prune(&k.b.c, &err), HONE_E_ARG);
    assert_non_null(strstr(err.text, "none are given"));
    end(&k);
    hn_model_destroy(m);
}

/* Channels that all say the same of another class each: the answer needs every one of them. */
static void out_of_reach(void **state) {
    (void)state;
    hn_model *m = classifier();
    float *w = method_weight(m, "w"), *w2 = method_weight(m, "w2");
    for (int i = 0; i < INPUTS; i++)
        for (int k = 10; k < 24; k++) w[i * 24 + k] = w[i * 24 + k % 10];
    for (int i = 0; i < 240; i++) w2[i] = i / 10 == i % 10 ? 1 : 0;
    bench k;
    begin(&k, m, "prune kind=channels align=1 scope=layer criterion=l2 max-drop=0%",
          classes(SAMPLES));
    for (int i = 0; i < INPUTS; i++)
        for (int c = 10; c < 24; c++) w[i * 24 + c] *= 100;
    assert_int_equal(hn_transform_prune(&k.b.c, &err), HONE_E_NOT_FOUND);
    if (strstr(err.text, "max-drop 0%: nothing can go within it") == NULL) fail_msg("%s", err.text);
    end(&k);
    hn_model_destroy(m);
}

/* Where the time is short enough as it is, nothing goes; times of small models are no test of more. */
static void fast_enough(void **state) {
    (void)state;
    hn_model *m = classifier(), *p = method_copy(m);
    bench k;
    begin(&k, p, "prune kind=channels align=1 compensate max-latency=1e6ms", classes(SAMPLES));
    if (hn_transform_prune(&k.b.c, &err) != HONE_OK) fail_msg("%s", err.text);
    assert_int_equal(k.b.c.changed, 0);
    assert_int_equal(k.s.n_found, 2);
    assert_string_equal(k.s.found[1].text, "sparsity=0.000");
    repeat(m, &k, p, "kind=channels align=1 compensate");
    end(&k);
    hn_model_destroy(p);
    hn_model_destroy(m);
}

static void memory_runs_out(void **state) {
    (void)state;
    static const char *const lines[] = {"prune max-drop=5% scan",
                                        "prune kind=channels align=1 max-drop=10%",
                                        "prune kind=channels align=1 max-latency=1e6ms"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        hone_status status = HONE_E_NOMEM;
        /* Every allocation of the first models, then each 97th. */
        for (long long n = 0; status != HONE_OK; n += n < 300 ? 1 : 97) {
            hn_model *m = classifier();
            bench k;
            begin(&k, m, lines[i], classes(12));
            scratch_mem.fail_after = n;
            status = hn_transform_prune(&k.b.c, &err);
            scratch_mem.fail_after = -1;
            end(&k);
            hn_model_destroy(m);
            if (status != HONE_OK) assert_int_equal(status, HONE_E_NOMEM);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(within_the_drop), cmocka_unit_test(scans),
        cmocka_unit_test(wrong_lines),     cmocka_unit_test(out_of_reach),
        cmocka_unit_test(fast_enough),     cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}

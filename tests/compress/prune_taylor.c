/* Scores by gradients are those of the loss, found here by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "compress/compression.h"
#include "ops/infer.h"
#include "support/data.h"
#include "support/method_model.h"

enum { PIXELS = 784, CLASSES = 10, N = PIXELS * CLASSES };

static hn_error err;

/* One layer: the gradient of its cross entropy is x (softmax (x w) - label), for 32 samples the
 * mean. */
static hn_model *digits_model(void) {
    hn_model *m = method_model(
        "m (float[n,1,28,28] x, float[784,10] w) => (float[n,10] y) {"
        " f = Flatten (x) y = MatMul (f, w) }",
        1);
    float *w = method_weight(m, "w");
    for (int i = 0; i < N; i++) w[i] *= 0.02f;
    return m;
}

/* The sum over the samples of the gradients of their losses. */
static void gradient_of(hn_model *m, hn_dataset *data, int64_t samples, double *g) {
    static float x[PIXELS];
    const float *w = method_weight(m, "w");
    memset(g, 0, N * sizeof *g);
    for (int64_t s = 0; s < samples; s++) {
        double y[CLASSES] = {0}, sum = 0;
        int64_t label;
        data_fill(data, s, 1, 4, DIMS(1, 1, 28, 28), x);
        assert_int_equal(hn_dataset_labels(data, s, 1, &label, &err), HONE_OK);
        for (int p = 0; p < PIXELS; p++)
            for (int c = 0; c < CLASSES; c++) y[c] += (double)x[p] * (double)w[p * CLASSES + c];
        for (int c = 0; c < CLASSES; c++) sum += y[c] = exp(y[c]);
        for (int p = 0; p < PIXELS; p++)
            for (int c = 0; c < CLASSES; c++)
                g[p * CLASSES + c] += (double)x[p] * (y[c] / sum - (c == label));
    }
}

static void prune(hn_model *m, hn_dataset *data, const char *line) {
    hn_arena arena;
    hn_recipe r;
    method_bench b;
    hn_feed *feed;
    char text[100];
    hn_arena_init(&arena, &scratch_mem, HN_MEM_OTHER);
    snprintf(text, sizeof text, "hone recipe 2; %s", line);
    assert_int_equal(hn_recipe_read(&r, text, &arena, &err), HONE_OK);
    method_begin(&b, m);
    assert_int_equal(hn_feed_create(&feed, m->graph, data, 8, &scratch_mem, &err), HONE_OK);
    b.c.feed = feed;
    b.c.step = &r.steps[0];
    if (hn_transform_prune(&b.c, &err) != HONE_OK) fail_msg("%s: %s", line, err.text);
    hn_feed_destroy(feed);
    method_end(&b);
    hn_arena_deinit(&arena);
}

/* One batch has one gradient, so both kinds say the same; of two, the sum for snip. */
static void the_gradient_decides(void **state) {
    (void)state;
    static const struct {
        const char *line;
        int samples;
    } cases[] = {{"prune kind=snip sparsity=0.8", 64}, {"prune kind=taylor sparsity=0.8", 32}};
    static double g[N];
    for (int i = 0; i < 2; i++) {
        hn_dataset *data = data_open("synthetic:digits,n=%d", cases[i].samples);
        hn_model *m = digits_model(), *was = method_copy(m);
        gradient_of(m, data, cases[i].samples, g);
        prune(m, data, cases[i].line);
        const float *a = method_weight(was, "w"), *b = method_weight(m, "w");
        double gone = 0, stays = INFINITY;
        int zeros = 0;
        for (int k = 0; k < N; k++) {
            double s = fabs((double)a[k] * g[k]);
            zeros += b[k] == 0;
            if (b[k] == 0) gone = fmax(gone, s);
            if (b[k] != 0) stays = fmin(stays, s);
        }
        assert_int_equal(zeros, 6272);
        if (gone <= 0 || gone > 1.001 * stays)
            fail_msg("%s: %g gone, %g stays", cases[i].line, gone, stays);
        hn_model_destroy(was);
        hn_model_destroy(m);
        hn_dataset_close(data);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_gradient_decides)};
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}

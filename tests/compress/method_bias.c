#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "compress/compression.h"
#include "compress/layer_type.h"
#include "compress/watch.h"
#include "ops/nodes.h"
#include "support/data.h"
#include "support/method_model.h"

enum { MOST_CHANNELS = 16 };

/* Means of the outputs of the model, by channel, over the samples. */
typedef struct means {
    double v[MOST_CHANNELS];
    int64_t n;
} means;

static hone_status add(void *ctx, int i, const hn_tensor *t, int64_t n, hn_error *err) {
    (void)i, (void)n, (void)err;
    means *m = ctx;
    int64_t channels = t->dims[1], inner = t->n / t->dims[0] / channels;
    for (int64_t k = 0; k < t->n; k++) m->v[k / inner % channels] += hn_tensor_f64(t, k);
    m->n += t->n / channels;
    return HONE_OK;
}

static means means_of(const hn_model *m, const method_bench *b) {
    means s = {.n = 0};
    hn_error err;
    hn_watch_options o = {.samples = 0};
    const char *name = m->graph->outputs[0].value->name;
    hone_status status = hn_watch(m, &name, 1, b->feed, &b->how, &o, add, &s, &scratch_mem, &err);
    if (status != HONE_OK) fail_msg("%s", err.text);
    for (int k = 0; k < MOST_CHANNELS; k++) s.v[k] /= (double)s.n;
    return s;
}

static double apart(const means *a, const means *b) {
    double sum = 0;
    for (int k = 0; k < MOST_CHANNELS; k++) sum += fabs(a->v[k] - b->v[k]);
    return sum;
}

static hone_status compress(hn_model **out, const hn_model *m, const method_bench *b, bool bias,
                            bool integer_io, bool simulate, hn_error *err) {
    hn_compress_options o = {.data = b->data, .how = b->how};
    hn_arena arena;
    hn_recipe r;
    hn_compressed c;
    char text[200];
    snprintf(text, sizeof text,
             "hone recipe 2; samples 0; simplify; quantize weights=s8 bits=3 ranges=minmax%s%s%s",
             integer_io ? " integer-io" : "", simulate ? " simulate" : "", bias ? "; bias" : "");
    hn_arena_init(&arena, &scratch_mem, HN_MEM_OTHER);
    hone_status status = hn_recipe_read(&r, text, &arena, err);
    if (status == HONE_OK) status = hn_compress(&c, &r, m, &o, &scratch_mem, err);
    hn_arena_deinit(&arena);
    HN_TRY(status);
    *out = c.model;
    c.model = NULL;
    hn_compressed_deinit(&c);
    return HONE_OK;
}

/* Behind the Relu all is positive, so what weights are rounded by adds up. */
static const char *const texts[] = {
    "m (float[n,4,6,6] x, float[8,4,3,3] w1, float[8] wb1, float[6,8,3,3] w2, float[6] wb2)"
    " => (float[n,6,2,2] y) { a = Conv (x, w1, wb1) b = Relu (a) y = Conv (b, w2, wb2) }",
    "m (float[n,4,6,6] x, float[8,4,3,3] w1, float[8,1,3,3] w2) => (float[n,8,2,2] y) {"
    " a = Conv (x, w1) b = Relu (a) y = Conv <group = 8> (b, w2) }",
    "m (float[n,8] x, float[8,12] w1, float[12] wb1, float[6,12] w2) => (float[n,6] y) {"
    " a = Gemm <beta = 2.0> (x, w1, wb1) b = Relu (a) y = Gemm <transB = 1> (b, w2) }",
};

static void come_back(bool simulate) {
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        hn_model *m = method_model(texts[k], 30 + k), *plain, *corrected;
        hn_error err;
        method_bench b;
        method_begin_with(&b, m, 128);
        if (compress(&plain, m, &b, false, false, simulate, &err) != HONE_OK)
            fail_msg("%s", err.text);
        if (compress(&corrected, m, &b, true, false, simulate, &err) != HONE_OK)
            fail_msg("%s", err.text);
        if (hn_model_verify(corrected, &err) != HONE_OK) fail_msg("%s", err.text);
        means want = means_of(m, &b), off = means_of(plain, &b), good = means_of(corrected, &b);
        if (!(apart(&want, &good) < 0.2 * apart(&want, &off)))
            fail_msg("case %zu: %g, without %g", k, apart(&want, &good), apart(&want, &off));
        /* biases are integers unless simulated, those that were made too */
        for (const hn_node *n = corrected->graph->first; n != NULL; n = n->next)
            if (hn_is(n, "Conv") || hn_is(n, "Gemm")) {
                const hn_node *d = hn_feeds(n, 2, "DequantizeLinear");
                assert_true((d == NULL) == simulate);
                const hn_tensor *t = simulate ? hn_const_in(n, 2) : hn_const_in(d, 0);
                assert_int_equal(t->dtype, simulate ? HONE_DTYPE_F32 : HONE_DTYPE_S32);
            }
        method_end(&b);
        hn_model_destroy(plain);
        hn_model_destroy(corrected);
        hn_model_destroy(m);
    }
}

static void means_come_back(void **state) {
    (void)state;
    come_back(false);
}

static void means_of_simulated_layers_come_back(void **state) {
    (void)state;
    come_back(true);
}

static void inputs_of_integers_are_refused(void **state) {
    (void)state;
    hn_model *m = method_model(texts[0], 3), *none;
    hn_error err;
    method_bench b;
    method_begin(&b, m);
    assert_int_equal(compress(&none, m, &b, true, true, false, &err), HONE_E_ARG);
    assert_non_null(strstr(err.text, "input 'x'"));
    method_end(&b);
    hn_model_destroy(m);
}

static void float_layers_stay(void **state) {
    (void)state;
    hn_model *m = method_model(texts[0], 3), *copy = method_copy(m);
    hn_error err;
    method_bench b;
    method_begin(&b, copy);
    b.c.original = m;
    assert_int_equal(hn_transform_bias(&b.c, &err), HONE_OK);
    assert_int_equal(b.c.changed, 0);
    method_end(&b);
    hn_model_destroy(copy);
    hn_model_destroy(m);
}

static bool stop(void *ctx, int64_t done, int64_t total) {
    (void)ctx;
    assert_true(done >= 1 && done <= total && total == 2);
    return done < 2;
}

/* Stopped at its end; an allocation may fail anywhere before. */
static void it_can_be_stopped_and_fail(void **state) {
    (void)state;
    hn_model *m = method_model(texts[1], 3), *q;
    hn_error err;
    method_bench b;
    hone_status status = HONE_E_NOMEM;
    method_begin(&b, m);
    if (compress(&q, m, &b, false, false, false, &err) != HONE_OK) fail_msg("%s", err.text);
    for (long long k = 0; status == HONE_E_NOMEM; k += 3) {
        hn_model *copy = method_copy(q);
        b.c.model = copy;
        b.c.original = m;
        b.c.progress = stop;
        scratch_mem.fail_after = k;
        status = hn_transform_bias(&b.c, &err);
        scratch_mem.fail_after = -1;
        hn_model_destroy(copy);
    }
    assert_int_equal(status, HONE_E_LIMIT);
    assert_true(b.c.changed >= 2);
    method_end(&b);
    hn_model_destroy(q);
    hn_model_destroy(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(means_come_back, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(means_of_simulated_layers_come_back, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(inputs_of_integers_are_refused, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(float_layers_stay, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(it_can_be_stopped_and_fail, scratch_setup,
                                        scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

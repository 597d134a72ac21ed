/* Weights most of which are 0 become sparse initializers: the same model, in a smaller file. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "compress/compression.h"
#include "formats/onnx.h"
#include "ops/infer.h"
#include "support/method_model.h"
#include "support/scratch.h"

#define TWO                                                                       \
    "m (float[n,3,6,6] x, float[8,3,3,3] w, float[10,8] w2) => (float[n,10] y) {" \
    " c = Conv (x, w) p = GlobalAveragePool (c) f = Flatten (p)"                  \
    " y = Gemm <transB = 1> (f, w2) }"

static hn_error err;

/* All but every k-th weight is 0. */
static hn_model *thinned(int k) {
    hn_model *m = method_model(TWO, 1);
    float *w = method_weight(m, "w");
    for (int i = 0; i < 8 * 27; i++)
        if (i % k != 0) w[i] = 0;
    return m;
}

static void store(hn_model *m, hn_shrinking *told) {
    method_bench b;
    method_begin(&b, m);
    b.c.shrinking = told;
    if (hn_transform_sparse_form(&b.c, &err) != HONE_OK) fail_msg("%s", err.text);
    method_end(&b);
}

static size_t file_bytes(hn_model *m) {
    hn_file *file;
    if (hn_onnx_save_memory(&file, m, NULL, &err) != HONE_OK) fail_msg("%s", err.text);
    size_t bytes = file->bytes;
    hn_file_unref(file);
    return bytes;
}

static void few_weights_are_stored(void **state) {
    (void)state;
    hn_model *m = thinned(9), *was = method_copy(m), *again;
    hn_shrinking told;
    hn_file *file;
    hn_shrinking_init(&told, &scratch_mem);
    size_t before = file_bytes(m);
    m->ir_version = was->ir_version = 4; /* knows no sparse tensors */
    method_weight(m, "w")[1] = -0.0F;
    store(m, &told);
    assert_int_equal(told.n, 2);
    assert_string_equal(told.v[0].what, "a sparse initializer");
    assert_int_equal(told.v[0].weights, 216);
    assert_int_equal(told.v[0].kept, 24);
    assert_string_equal(told.v[1].why_not, "a third of its weights or more are not 0");
    const hn_tensor *t = hn_graph_value(m->graph, "w")->constant;
    assert_null(t->data);
    assert_int_equal(t->values->n, 25); /* -0 among them */
    assert_true(hn_tensor_sparse_fits((hn_tensor *)t));
    if (hn_model_verify(m, &err) != HONE_OK) fail_msg("%s", err.text);
    method_same(m, was, 1e-6);
    assert_true(file_bytes(m) + 400 < before);
    /* Read back, it is the same model. */
    assert_int_equal(hn_onnx_save_memory(&file, m, NULL, &err), HONE_OK);
    if (hn_onnx_load_memory(&again, file, NULL, &scratch_mem, &err) != HONE_OK)
        fail_msg("%s", err.text);
    hn_file_unref(file);
    assert_int_equal(again->ir_version, 6);
    assert_int_equal(hn_graph_value(again->graph, "w")->constant->values->n, 25);
    hn_shrinking_deinit(&told);
    hn_model_destroy(again);
    hn_model_destroy(was);
    hn_model_destroy(m);
}

static void others_stay(void **state) {
    (void)state;
    hn_model *m = thinned(3), *was = method_copy(m); /* 72 of 216 */
    store(m, NULL);
    assert_non_null(method_weight(m, "w"));
    method_same(m, was, 0);
    hn_model_destroy(was);
    hn_model_destroy(m);
    m = thinned(4);
    store(m, NULL);
    assert_null(hn_graph_value(m->graph, "w")->constant->data);
    store(m, NULL); /* what is sparse already is left alone */
    hn_scheme scheme = {
        .layer = {.kind = HN_LAYER_STATIC, .weights = {HONE_DTYPE_S8, 8, true, true, 0, false}}};
    hn_weighted w;
    const char *why;
    assert_false(hn_weighted_of(m->graph->first, &scheme, &w, &why));
    assert_string_equal(why, "the weight is a sparse initializer");
    hn_model_destroy(m);
}

static void memory_runs_out(void **state) {
    (void)state;
    hn_model *m = thinned(9);
    method_survives(m, hn_transform_sparse_form);
    hn_model_destroy(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_weights_are_stored),
        cmocka_unit_test(others_stay),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}

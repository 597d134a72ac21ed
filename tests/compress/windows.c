#include "compress/windows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "ops/eval.h"
#include "support/method_model.h"
#include "support/scratch.h"

/* The Conv's own reference on numbers without rounding: products of windows with weights are its
 * outputs. */
static void explain_outputs(const char *text, int64_t n_windows) {
    hn_model *m = method_model(text, 1);
    const hn_node *conv = hn_graph_value(m->graph, "y")->producer;
    const hn_tensor *w = conv->inputs[1].value->constant;
    float *weight = method_weight(m, "w");
    hn_tensor *x, *y;
    hn_error err;
    hn_windows s;
    int64_t dims[HONE_MAX_RANK] = {2};
    int rank = m->graph->inputs[0]->type.shape.rank;
    for (int i = 1; i < rank; i++)
        assert_true(hn_dim_is_const(m->graph->inputs[0]->type.shape.dim[i], &dims[i]));
    assert_int_equal(
        hn_tensor_create(&x, &scratch_mem, HN_MEM_DATA, HONE_DTYPE_F32, rank, dims, &err), HONE_OK);
    for (int64_t i = 0; i < x->n; i++) ((float *)x->data)[i] = (float)(i * 7 % 23 - 11);
    for (int64_t i = 0; i < w->n; i++) weight[i] = (float)(i * 5 % 17 - 8);
    if (hn_windows_init(&s, conv, w, x, &err) != HONE_OK) fail_msg("%s", err.text);
    assert_int_equal(s.count, n_windows);
    hn_exec_options o = {.alloc = &scratch_mem};
    assert_int_equal(hn_graph_run(m->graph, &o, (const hn_tensor *const *)&x, &y, &err), HONE_OK);
    int64_t outputs = w->dims[0], k = w->n / outputs, groups = s.channels / w->dims[1];
    assert_int_equal(y->n, 2 * outputs * s.count);
    float *row = hn_alloc_array(&scratch_mem, (size_t)(groups * k), sizeof *row, HN_MEM_SCRATCH);
    for (int64_t n = 0; n < 2; n++)
        for (int64_t at = 0; at < s.count; at++) {
            memset(row, 0xff, (size_t)(groups * k) * sizeof *row);
            hn_windows_copy(&s, (const float *)x->data + n * s.channels * s.in_size, at, row);
            for (int64_t c = 0; c < outputs; c++) {
                float sum = 0;
                for (int64_t i = 0; i < k; i++)
                    sum += row[c / (outputs / groups) * k + i] * weight[c * k + i];
                assert_true(sum == ((const float *)y->data)[(n * outputs + c) * s.count + at]);
            }
        }
    hn_free(&scratch_mem, row);
    hn_tensor_unref(x);
    hn_tensor_unref(y);
    hn_model_destroy(m);
}

static void products_are_outputs(void **state) {
    (void)state;
    explain_outputs(
        "m (float[n,3,6,5] x, float[4,3,3,2] w) => (float[n,4,p,q] y) {"
        " y = Conv (x, w) }",
        4 * 4);
    explain_outputs(
        "m (float[n,2,7,6] x, float[3,2,3,3] w) => (float[n,3,p,q] y) {"
        " y = Conv <strides = [2, 1], pads = [1, 0, 2, 3], dilations = [1, 2]> (x, w) }",
        4 * 5);
    explain_outputs(
        "m (float[n,4,5,5] x, float[8,1,3,3] w) => (float[n,8,p,q] y) {"
        " y = Conv <group = 4, pads = [1, 1, 1, 1]> (x, w) }",
        5 * 5);
    explain_outputs(
        "m (float[n,4,9] x, float[6,2,4] w) => (float[n,6,p] y) {"
        " y = Conv <group = 2, auto_pad = \"SAME_LOWER\"> (x, w) }",
        9);
    explain_outputs(
        "m (float[n,2,3,4,5] x, float[2,2,2,3,2] w) => (float[n,2,p,q,r] y) {"
        " y = Conv <auto_pad = \"SAME_UPPER\", strides = [1, 2, 2]> (x, w) }",
        3 * 2 * 3);
}

static void what_does_not_fit(void **state) {
    (void)state;
    hn_model *m = method_model(
        "m (float[n,3,6,6] x, float[4,3,3,3] w) => (float[n,4,4,4] y) { y = Conv (x, w) }", 1);
    const hn_node *conv = hn_graph_value(m->graph, "y")->producer;
    static const struct {
        int rank;
        int64_t dims[4];
        hone_dtype dtype;
        hone_status status;
    } cases[] = {
        {4, {1, 3, 6, 6}, HONE_DTYPE_F32, HONE_OK},
        {4, {1, 3, 2, 6}, HONE_DTYPE_F32, HONE_OK}, /* too small for a window */
        {4, {1, 4, 6, 6}, HONE_DTYPE_F32, HONE_E_SHAPE},
        {3, {1, 3, 6}, HONE_DTYPE_F32, HONE_E_SHAPE},
        {4, {1, 3, 6, 6}, HONE_DTYPE_F64, HONE_E_SHAPE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hn_tensor *x;
        hn_error err;
        hn_windows s;
        assert_int_equal(hn_tensor_create(&x, &scratch_mem, HN_MEM_DATA, cases[i].dtype,
                                          cases[i].rank, cases[i].dims, &err),
                         HONE_OK);
        assert_int_equal(hn_windows_init(&s, conv, conv->inputs[1].value->constant, x, &err),
                         cases[i].status);
        if (cases[i].status == HONE_OK) assert_int_equal(s.count, i == 0 ? 16 : 0);
        hn_tensor_unref(x);
    }
    hn_model_destroy(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_outputs),
        cmocka_unit_test(what_does_not_fit),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}

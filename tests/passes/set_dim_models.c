/* label: full */
/* Real models: their batch made symbolic, and run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "formats/decompress.h"
#include "formats/onnx.h"
#include "ops/infer.h"
#include "passes/set_dim.h"
#include "support/scratch.h"
#include "support/stack.h"

static hn_error err;

static hn_model *load(const char *name) {
    hn_file *file = NULL;
    hn_model *m = NULL;
    const char *path = scratch_asset(name);
    if (path == NULL) skip();
    if (hn_file_open_unpacked(&file, path, 0, &scratch_mem, &err) != HONE_OK)
        fail_msg("%s", err.text);
    hone_status status = hn_onnx_load_memory(&m, file, NULL, &scratch_mem, &err);
    hn_file_unref(file);
    if (status == HONE_OK) status = hn_model_infer(m, NULL, &err);
    if (status != HONE_OK) fail_msg("%s", err.text);
    return m;
}

static void set(hn_model *m, const char *input, const char *to) {
    if (hn_model_set_dim(m, input, 0, to, &err) != HONE_OK) fail_msg("%s", err.text);
    if (hn_model_verify(m, &err) != HONE_OK) fail_msg("%s", err.text);
    if (hn_model_infer(m, NULL, &err) != HONE_OK) fail_msg("%s", err.text);
}

/* The model was made for one input at a time. */
static void stacks(const char *name) {
    hn_model *a = load(name), *b = load(name);
    set(b, a->graph->inputs[0]->name, "batch");
    if (hn_model_infer(b, &(hn_infer_options){.defaults = true}, &err) != HONE_OK)
        fail_msg("%s", err.text);
    for (int i = 0; i < b->graph->n_outputs; i++) {
        const char *symbol;
        const hn_shape *s = &b->graph->outputs[i].value->type.shape;
        assert_true(hn_dim_is_symbol(s->dim[0], &symbol));
        assert_string_equal(symbol, "batch");
    }
    stack_check(a, b, 0, 0);
    hn_model_destroy(a);
    hn_model_destroy(b);
}

static void mnist_mlp(void **state) {
    (void)state;
    stacks("models/mnist_mlp_256x2.onnx");
}

static void squeezenet(void **state) {
    (void)state;
    stacks("models/squeezenet_fp32.onnx.xz");
}

static void nanodet(void **state) {
    (void)state;
    stacks("models/nanodet_m.onnx");
}

static void yunet(void **state) {
    (void)state;
    stacks("models/yunet_n_320_320.onnx");
}

/* Two inputs with a batch each, the second the state of LSTM nodes. */
static void dtln(void **state) {
    (void)state;
    const hn_dim_setting both[] = {{"input_2", 0, "batch"}, {"input_3", 0, "batch"}};
    hn_model *a = load("models/dtln_1.onnx"), *b = load("models/dtln_1.onnx");
    if (hn_model_set_dims(b, both, 2, &err) != HONE_OK) fail_msg("%s", err.text);
    stack_check(a, b, 0, 0);
    hn_model_destroy(a);
    hn_model_destroy(b);
}

/* A symbol fixed, and made a symbol again. */
static void resnet20(void **state) {
    (void)state;
    hn_model *a = load("models/resnet20_cifar10.onnx"), *b = load("models/resnet20_cifar10.onnx");
    set(a, "input", "1");
    for (int i = 0; i < a->n_graphs; i++)
        for (int k = 0; k < a->graphs[i]->n_values; k++)
            assert_true(a->graphs[i]->values[k]->dead ||
                        hn_shape_is_const(&a->graphs[i]->values[k]->type.shape, NULL));
    set(b, "input", "1");
    set(b, "input", "n");
    stack_check(a, b, 0, 0);
    hn_model_destroy(a);
    hn_model_destroy(b);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)

int main(void) {
    if (scratch_asset("models/yunet_n_320_320.onnx") == NULL) {
        printf("skipped: no models, see HONE_ASSETS\n");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        TEST(mnist_mlp), TEST(squeezenet), TEST(nanodet), TEST(yunet), TEST(dtln), TEST(resnet20),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Pools and reductions of images through the engine and through the plain executor: the numbers
 * agree, and the pooling kernels made them, or not where they cannot. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "support/engine_model.h"

/* `pools` of the steps must be pools. */
static void run(const char *text, int pools) {
    engine_facts f = engine_ran(text);
    int found = engine_count(&f, "pool_f32");
    if (found != pools) fail_msg("%d steps are pools, expected %d: %s", found, pools, text);
}

/* One node from odd to y, of these shapes. */
static void run_node(const char *x, const char *y, const char *node, int pools) {
    char text[512];
    snprintf(text, sizeof text, "m (%s odd) => (%s y) { y = %s }", x, y, node);
    run(text, pools);
}

static void windows(void **state) {
    (void)state;
    run_node("float[2,5,9,7]", "float[2,5,5,4]",
             "MaxPool <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]> (odd)", 1);
    run_node("float[1,20,9,7]", "float[1,20,3,2]",
             "MaxPool <kernel_shape = [2, 3], strides = [3, 3], dilations = [2, 2]> (odd)", 1);
    run_node("float[1,17,8,8]", "float[1,17,4,4]",
             "MaxPool <kernel_shape = [3, 3], strides = [2, 2], auto_pad = \"SAME_UPPER\"> (odd)",
             1);
    run_node("float[1,3,8,8]", "float[1,3,4,4]",
             "MaxPool <kernel_shape = [3, 3], strides = [2, 2], ceil_mode = 1> (odd)", 1);
    run_node("float[3,4,11]", "float[3,4,6]",
             "MaxPool <kernel_shape = [3], strides = [2], pads = [1, 1]> (odd)", 1);
    for (int counted = 0; counted < 2; counted++) {
        char node[256];
        snprintf(node, sizeof node,
                 "AveragePool <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1], "
                 "ceil_mode = 1, count_include_pad = %d> (odd)",
                 counted);
        run_node("float[2,18,8,7]", "float[2,18,5,4]", node, 1);
        snprintf(node, sizeof node,
                 "AveragePool <kernel_shape = [4], strides = [3], pads = [2, 1], "
                 "count_include_pad = %d> (odd)",
                 counted);
        run_node("float[2,18,10]", "float[2,18,4]", node, 1);
    }
}

static void whole_images(void **state) {
    (void)state;
    run_node("float[2,35,5,6]", "float[2,35,1,1]", "GlobalAveragePool (odd)", 1);
    run_node("float[2,35,5,6]", "float[2,35,1,1]", "GlobalMaxPool (odd)", 1);
    run_node("float[2,35,9]", "float[2,35,1]", "GlobalAveragePool (odd)", 1);
    static const char *const names[] = {"ReduceMax", "ReduceMean", "ReduceSum"};
    for (int i = 0; i < 3; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "m (float[2,6,4,5] odd) => (float[2,6] y, float[2,6,1,1] z) <int64[2] a = {2, 3}, "
                 "int64[2] b = {-1, -2}> { y = %s <keepdims = 0> (odd, a) z = %s (odd, b) }",
                 names[i], names[i]);
        run(text, 2);
    }
}

/* What follows a pool finds its result in the order it has. */
static void chains(void **state) {
    (void)state;
    run("m (float[2,6,9,9] odd) => (float[2,6] z) <int64[2] shape = {2, 6}> {"
        " a = MaxPool <kernel_shape = [3, 3]> (odd)"
        " b = AveragePool <kernel_shape = [2, 2]> (a)"
        " y = GlobalMaxPool (b)"
        " z = Reshape (y, shape) }",
        3);
}

static void declined(void **state) {
    (void)state;
    run("m (float[1,3,6,6] odd) => (float[1,3,3,3] y, int64[1,3,3,3] at) {"
        " y, at = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (odd) }",
        0);
    run_node("double[1,3,4,4]", "double[1,3,1,1]", "GlobalAveragePool (odd)", 0);
    run_node("float[1,2,4,4,4]", "float[1,2,3,3,3]", "MaxPool <kernel_shape = [2, 2, 2]> (odd)", 0);
    run("m (float[2,6,4,5] odd) => (float[2,1,4,5] y) <int64[1] a = {1}> { y = ReduceMean (odd, a) "
        "}",
        0);
    run("m (float[2,6,4,5] odd) => (float[2,6,4,1] y) <int64[1] a = {3}> { y = ReduceMax (odd, a) "
        "}",
        0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows),
        cmocka_unit_test(whole_images),
        cmocka_unit_test(chains),
        cmocka_unit_test(declined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

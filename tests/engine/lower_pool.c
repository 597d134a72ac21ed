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
    int found = engine_count(&f, "pool_f32") + engine_count(&f, "pool_planes_f32");
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
    static const char *const pools[] = {"GlobalAveragePool", "GlobalMaxPool"};
    for (int i = 0; i < 2; i++) {
        char node[64], text[512];
        /* Small planes from the caller are reduced as lines. */
        snprintf(node, sizeof node, "%s (odd)", pools[i]);
        run_node("float[2,35,5,6]", "float[2,35,1,1]", node, 0);
        run_node("float[2,35,9]", "float[2,35,1]", node, 0);
        run_node("float[2,3,2,3,4]", "float[2,3,1,1,1]", node, 0);
        snprintf(text, sizeof text,
                 "m (float[2,5,6,35] odd) => (float[2,35,1,1] y) {"
                 " x = Transpose <perm = [0, 3, 1, 2]> (odd) y = %s (x) }",
                 pools[i]);
        run(text, 1);
    }
    static const char *const names[] = {"ReduceMax", "ReduceMean", "ReduceSum"};
    for (int i = 0; i < 3; i++) {
        char text[512];
        /* Of an image with its channels last; else the rows of reductions serve. */
        snprintf(text, sizeof text,
                 "m (float[2,4,5,6] odd) => (float[2,6] y, float[2,6,1,1] z) <int64[2] a = {2, 3}, "
                 "int64[2] b = {-1, -2}> { x = Transpose <perm = [0, 3, 1, 2]> (odd) "
                 "y = %s <keepdims = 0> (x, a) z = %s (x, b) }",
                 names[i], names[i]);
        run(text, 2);
        snprintf(text, sizeof text,
                 "m (float[2,6,4,5] odd) => (float[2,6,1,1] y) <int64[2] a = {2, 3}> { y = %s "
                 "(odd, a) }",
                 names[i]);
        run(text, 0);
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

static void places(void **state) {
    (void)state;
    run("m (float[2,3,7,6] odd) => (float[2,3,4,3] y, int64[2,3,4,3] at) {"
        " y, at = MaxPool <kernel_shape = [3, 2], strides = [2, 2], pads = [1, 0, 1, 0]> (odd) }",
        1);
    /* Channels last, as a convolution leaves them. */
    run("m (float[1,4,9,9] x, float[20,4,3,3] w) => (float[1,20,3,3] y, int64[1,20,3,3] at) {"
        " c = Conv (x, w) y, at = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (c) }",
        1);
    run("m (float[1,3,6,6] odd) => (float[1,3,3,3] y, int64[1,3,3,3] at) {"
        " y, at = MaxPool <kernel_shape = [2, 2], strides = [2, 2], storage_order = 1> (odd) }",
        0);
}

static void three_axes(void **state) {
    (void)state;
    static const char padded[] =
        "<kernel_shape = [3, 2, 3], strides = [2, 2, 2],"
        " pads = [1, 0, 1, 1, 1, 1]>";
    for (int i = 0; i < 2; i++) {
        char text[512];
        const char *op = i == 0 ? "MaxPool" : "AveragePool";
        snprintf(text, sizeof text,
                 "m (float[2,3,6,7,8] odd) => (float[2,3,3,4,4] y) {"
                 " y = %s %s (odd) }",
                 op, padded);
        run(text, 2);
        snprintf(text, sizeof text,
                 "m (float[2,4,8,7,9] x, float[18,4,3,1,2] w) => (float[2,18,3,4,4] y) {"
                 " c = Conv (x, w) y = %s %s (c) }",
                 op, padded);
        run(text, 2);
    }
    run("m (float[2,5,9,10,12] x) => (float[2,5,1,1,1] y) { y = GlobalAveragePool (x) }", 1);
    run("m (float[2,5,9,10,12] x) => (float[2,5,1,1,1] y) { y = GlobalMaxPool (x) }", 1);
}

static void large_planes(void **state) {
    (void)state;
    run("m (float[2,6,40,33] x) => (float[2,6,1,1] y) { y = GlobalAveragePool (x) }", 1);
    run_node("float[1,6,40,33]", "float[1,6,40,33]",
             "MaxPool <kernel_shape = [5, 5], pads = [2, 2, 2, 2]> (odd)", 1);
}

static void declined(void **state) {
    (void)state;
    run_node("double[1,3,4,4]", "double[1,3,1,1]", "GlobalAveragePool (odd)", 0);
    run("m (float[2,6,4,5] odd) => (float[2,1,4,5] y) <int64[1] a = {1}> { y = ReduceMean (odd, a) "
        "}",
        0);
    run("m (float[2,6,4,5] odd) => (float[2,6,4,1] y) <int64[1] a = {3}> { y = ReduceMax (odd, a) "
        "}",
        0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows),  cmocka_unit_test(whole_images), cmocka_unit_test(chains),
        cmocka_unit_test(places),   cmocka_unit_test(three_axes),   cmocka_unit_test(large_planes),
        cmocka_unit_test(declined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

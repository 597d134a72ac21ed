/* Reductions through the engine and through the plain executor: every one over every run of axes,
 * and what runs as the reference. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "support/engine_model.h"

/* From float[2,5,19]; the operand is positive, so that its logarithms are numbers. */
static void reduce(const char *op, const char *attrs, const char *axes, const char *y) {
    char text[512], steps[128];
    snprintf(text, sizeof text,
             "m (float[2,5,19] x) => (float[%s] y) <int64[%s}> {"
             " a = Sigmoid (x) y = %s <%s> (a, axes) }",
             y, axes, op, attrs);
    snprintf(steps, sizeof steps, "map_f32 Sigmoid, reduce_f32 %s", op);
    engine_agrees(text, steps);
}

static void every_reduction(void **state) {
    (void)state;
    static const char *const ops[] = {
        "ReduceL1",   "ReduceL2",  "ReduceLogSum", "ReduceMax", "ReduceLogSumExp",
        "ReduceMean", "ReduceMin", "ReduceProd",   "ReduceSum", "ReduceSumSquare"};
    static const struct {
        const char *axes, *kept, *gone;
    } runs[] = {
        {"1] axes = {0", "1,5,19", "5,19"}, {"1] axes = {1", "2,1,19", "2,19"},
        {"1] axes = {-1", "2,5,1", "2,5"},  {"2] axes = {1, 0", "1,1,19", "19"},
        {"2] axes = {-2, 2", "2,1,1", "2"},
    };
    for (size_t op = 0; op < sizeof ops / sizeof *ops; op++)
        for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
            reduce(ops[op], "keepdims = 1", runs[i].axes, runs[i].kept);
            reduce(ops[op], "keepdims = 0", runs[i].axes, runs[i].gone);
        }
}

static void all_axes(void **state) {
    (void)state;
    engine_agrees("m (float[3,5,7] x) => (float[1,1,1] y) { y = ReduceMax (x) }",
                  "reduce_f32 ReduceMax");
    engine_agrees("m (float[3,5,7] x) => (float y) { y = ReduceMean <keepdims = 0> (x) }",
                  "reduce_f32 ReduceMean");
}

/* Channels that a convolution left innermost. */
static void after_a_convolution(void **state) {
    (void)state;
    engine_agrees(
        "m (float[2,3,5,6] x, float[20,3,1,1] w) => (float[2,1,5,6] y) <int64[1] axes = {1}> {"
        " a = Conv (x, w) y = ReduceMean (a, axes) }",
        "conv_planes_f32 Conv, reduce_f32 ReduceMean");
}

/* Axes that are not neighbours are brought together. */
static void apart(void **state) {
    (void)state;
    engine_agrees(
        "m (float[3,5,7] x) => (float[1,5,1] y) <int64[2] axes = {0, 2}> {"
        " y = ReduceSum (x, axes) }",
        "reduce_f32 ReduceSum");
    engine_agrees(
        "m (float[3,5,7,2] x) => (float[5,2] y) <int64[2] axes = {0, -2}> {"
        " y = ReduceMax <keepdims = 0> (x, axes) }",
        "reduce_f32 ReduceMax");
    /* Of an image with channels last, all but the channels are neighbours as they lie. */
    assert_int_equal(engine_agrees("m (float[2,8,6,6] x, float[12,8,3,3] w) => (float[12] y)"
                                   " <int64[3] axes = {0, 2, 3}> { c = Conv (x, w)"
                                   " y = ReduceSum <keepdims = 0> (c, axes) }",
                                   "conv_f32 Conv, reduce_f32 ReduceSum"),
                     1);
}

static void declined(void **state) {
    (void)state;
    engine_agrees(
        "m (float[3,5] x) => (float[3,5] y) { y = ReduceSum <noop_with_empty_axes = 1> (x) }",
        "reference ReduceSum");
}

/* Of an image whose channels are not last, and of other types than f32. */
static void kinds(void **state) {
    (void)state;
    engine_agrees(
        "m (float[2,3,4,5] x) => (float[2,3,1,1] y) <int64[2] axes = {2, 3}> {"
        " y = ReduceMean (x, axes) }",
        "reduce_f32 ReduceMean");
    engine_agrees("m (double[3,5] x) => (double[1,1] y) { y = ReduceSum (x) }",
                  "reduce_num ReduceSum");
    engine_agrees("m (double[3,5] x) => (double[1,1] y) { y = ReduceLogSumExp (x) }",
                  "reduce_num ReduceLogSumExp");
    engine_agrees(
        "m (double[3,70,5] odd_x) => (double[3,1,5] y) <int64[1] axes = {1}> {"
        " y = ReduceLogSumExp (odd_x, axes) }",
        "reduce_num ReduceLogSumExp");
    engine_agrees("m (double[3,5] x) => (double[1,1] y) { y = ReduceL1 (x) }",
                  "reduce_num ReduceL1");
    engine_agrees("m (double[3,5] x) => (double[1,1] y) { y = ReduceL2 (x) }",
                  "reduce_num ReduceL2");
    engine_agrees("m (double[3,5] x) => (double[1,1] y) { y = ReduceSumSquare (x) }",
                  "reduce_num ReduceSumSquare");
    engine_agrees("m (double[3,5] x) => (double[1,1] y) { a = Abs (x) y = ReduceLogSum (a) }",
                  "map_int Abs, reduce_num ReduceLogSum");
    engine_agrees(
        "m (int64[3,5] x) => (int64[3,1] y) <int64[1] axes = {1}> {"
        " y = ReduceMax (x, axes) }",
        "reduce_num ReduceMax");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds),    cmocka_unit_test(every_reduction),
        cmocka_unit_test(all_axes), cmocka_unit_test(after_a_convolution),
        cmocka_unit_test(apart),    cmocka_unit_test(declined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

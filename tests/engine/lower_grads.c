/* Gradients through the engine and through the plain executor: the numbers agree, and the kernels of
 * gradients made them, or not where they cannot. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "support/engine_model.h"

static void convolutions(void **state) {
    (void)state;
    engine_agrees(
        "m (float[2,5,7,6] x, float[2,9,7,6] d) => (float[9,5,3,3] y) {"
        " y = hone.ConvGradW <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x, d) }",
        "conv_grad_f32 ConvGradW");
    engine_agrees(
        "m (float[3,4,9] x, float[3,6,4] d) => (float[6,2,3] y) {"
        " y = hone.ConvGradW <kernel_shape = [3], strides = [2], group = 2> (x, d) }",
        "conv_grad_f32 ConvGradW");
    engine_agrees(
        "m (float[2,20,8,8] x, float[2,20,4,4] d) => (float[20,1,3,3] y) {"
        " y = hone.ConvGradW <kernel_shape = [3, 3], strides = [2, 2], group = 20,"
        " auto_pad = \"SAME_UPPER\"> (x, d) }",
        "conv_grad_f32 ConvGradW");
    engine_agrees(
        "m (float[1,2,3,4,5] x, float[1,3,2,3,4] d) => (float[3,2,2,2,2] y) {"
        " y = hone.ConvGradW <kernel_shape = [2, 2, 2]> (x, d) }",
        "reference ConvGradW");
}

static void normalizations(void **state) {
    (void)state;
    engine_agrees(
        "m (float[4,9,3,5] x) => (float[9] m, float[9] v) {"
        " m, v = hone.BatchStats (x) }",
        "channel_stats_f32 BatchStats");
    engine_agrees("m (float[40,9] x) => (float[9] v) { , v = hone.BatchStats (x) }",
                  "channel_stats_f32 BatchStats");
    engine_agrees(
        "m (float[4,9,3,5] d, float[4,9,3,5] x, float[9] s) => "
        "(float[4,9,3,5] dx, float[9] ds, float[9] db) {"
        " m, v = hone.BatchStats (x) dx, ds, db = hone.BatchNormGrad (d, x, s, m, v) }",
        "channel_stats_f32 BatchStats, batch_norm_grad_f32 BatchNormGrad");
    engine_agrees(
        "m (float[6,5,40] d, float[6,5,40] x, float[40] s) => "
        "(float[6,5,40] dx, float[40] ds, float[40] db) {"
        " dx, ds, db = hone.LayerNormGrad (d, x, s) }",
        "norm_grad_f32 LayerNormGrad");
    engine_agrees(
        "m (float[6,5,7] d, float[6,5,7] x, float[5,7] s) => (float[6,5,7] dx) {"
        " dx = hone.LayerNormGrad <centred = 0> (d, x, s) }",
        "norm_grad_f32 LayerNormGrad");
}

/* What a Relu or a Clip from 0 lets through, the gradient of the normalization reads itself; unless
 * somebody else wants it, or it is another function. */
static void gates(void **state) {
    (void)state;
#define GRADIENT(outputs, gate)                                                          \
    "m (float[4,3,5,9] dl, float[4,3,5,9] xl, float[9] s, float[4,3,5,9] yl) => "        \
    "(float[4,9,3,5] dx, float[9] ds, float[9] db" outputs                               \
    ")"                                                                                  \
    " <float zero = {0}, float most = {0.75}> {"                                         \
    " d = Transpose <perm = [0, 3, 1, 2]> (dl) x = Transpose <perm = [0, 3, 1, 2]> (xl)" \
    " y = Transpose <perm = [0, 3, 1, 2]> (yl) m, v = hone.BatchStats (x) " gate         \
    " o = Cast <to = 1> (t) g = Mul (d, o)"                                              \
    " dx, ds, db = hone.BatchNormGrad (g, x, s, m, v) }"
#define ABOVE " t = Greater (y, zero)"
#define BETWEEN(a, b) " r = Sub (most, y) q = Mul (" a ", " b ") t = Greater (q, zero)"
    engine_agrees(GRADIENT("", ABOVE),
                  "channel_stats_f32 BatchStats, "
                  "batch_norm_grad_f32 BatchNormGrad+Greater+Cast+Mul");
    engine_agrees(GRADIENT("", BETWEEN("r", "y")),
                  "channel_stats_f32 BatchStats, "
                  "batch_norm_grad_f32 BatchNormGrad+Sub+Mul+Greater+Cast+Mul");
    engine_agrees(GRADIENT("", BETWEEN("y", "r")),
                  "channel_stats_f32 BatchStats, "
                  "batch_norm_grad_f32 BatchNormGrad+Sub+Mul+Greater+Cast+Mul");
    engine_agrees(GRADIENT("", BETWEEN("x", "r")),
                  "channel_stats_f32 BatchStats, map_f32 Sub+Mul+Greater+Cast+Mul, "
                  "batch_norm_grad_f32 BatchNormGrad");
    engine_agrees(GRADIENT("", " t = Greater (y, most)"),
                  "channel_stats_f32 BatchStats, map_f32 Greater+Cast+Mul, "
                  "batch_norm_grad_f32 BatchNormGrad");
    engine_agrees(GRADIENT(", float[4,9,3,5] g", ABOVE),
                  "channel_stats_f32 BatchStats, map_f32 Greater+Cast+Mul, "
                  "batch_norm_grad_f32 BatchNormGrad");
}

static void pools(void **state) {
    (void)state;
    engine_agrees(
        "m (float[2,5,4,4] d, float[2,5,8,8] x) => (float[2,5,8,8] y) {"
        " y = hone.MaxPoolGrad <kernel_shape = [3, 3], strides = [2, 2],"
        " pads = [1, 1, 1, 1]> (d, x) }",
        "pool_grad_f32 MaxPoolGrad");
    engine_agrees(
        "m (float[2,5,4] d) => (float[2,5,8] y) {"
        " y = hone.AveragePoolGrad <kernel_shape = [3], strides = [2], dims = [2, 5, 8],"
        " pads = [1, 0], count_include_pad = 1> (d) }",
        "pool_grad_f32 AveragePoolGrad");
    engine_agrees(
        "m (float[1,3,3,3] d) => (float[1,3,6,6] y) {"
        " y = hone.AveragePoolGrad <kernel_shape = [3, 3], strides = [2, 2],"
        " dims = [1, 3, 6, 6], ceil_mode = 1, count_include_pad = 1,"
        " pads = [0, 0, 1, 1]> (d) }",
        "pool_grad_f32 AveragePoolGrad");
}

static void indices(void **state) {
    (void)state;
    engine_agrees(
        "m (float[3,4,10] d, int64[3,4] i) => (float[16,10] y) {"
        " y = hone.GatherGrad <dims = [16, 10]> (d, i) }",
        "gather_grad_f32 GatherGrad");
    engine_agrees(
        "m (float[3,5,4] d, int32[5] i) => (float[3,16,4] y) {"
        " y = hone.GatherGrad <axis = 1, dims = [3, 16, 4]> (d, i) }",
        "gather_grad_f32 GatherGrad");
    engine_agrees(
        "m (float d, float[6,130] x, int64[6] many) => (float[6,130] y) {"
        " y = hone.LabelLossGrad <softmax = 1> (d, x, many) }",
        "label_grad_f32 LabelLossGrad");
    engine_agrees(
        "m (float[6] d, float[6,130] x, int64[6] many, float[130] w) => (float[6,130] y) {"
        " y = hone.LabelLossGrad <reduction = \"none\", ignore_index = 1> (d, x, many, w) }",
        "label_grad_f32 LabelLossGrad");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolutions), cmocka_unit_test(normalizations), cmocka_unit_test(gates),
        cmocka_unit_test(pools),        cmocka_unit_test(indices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

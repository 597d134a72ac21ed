/* What the gradients of norms, pools, gathers and losses refuse; their numbers are checked against
 * finite differences in tests/train. */
#include "support/op_test.h"

static void norms(void **state) {
    (void)state;
    OP_INFER("hone.BatchStats", .in = {"f32[n, 3, h]"}, .out = {"f32[3]", "f32[3]"});
    OP_INFER("hone.BatchNormGrad",
             .in = {"f32[2, 3, 4]", "f32[2, 3, 4]", "f32[3]", "f32[2]", "f32[3]"}, .error = "3");
    OP_INFER("hone.BatchNormGrad",
             .in = {"f32[2, 3, 5]", "f32[2, 3, 4]", "f32[3]", "f32[3]", "f32[3]"},
             .error = "sizes of dY and X");
    OP_INFER("hone.LayerNormGrad", .in = {"f32[2, 3, 4]", "f32[2, 3, 4]", "f32[3]"},
             .error = "sizes of X and the scale");
    OP_INFER("hone.LayerNormGrad", .in = {"f32[2, 3]", "f32[2, 3, 4]", "f32[4]"}, .error = "ranks");
}

static void pools(void **state) {
    (void)state;
    OP_INFER("hone.MaxPoolGrad", .attrs = "kernel_shape=[2]",
             .in = {"f32[1, 2, 9]", "f32[1, 2, 4]"}, .error = "windows of X");
    OP_INFER("hone.MaxPoolGrad", .attrs = "kernel_shape=[2]",
             .in = {"f32[1, 3, 3]", "f32[1, 2, 4]"}, .error = "channels");
    OP_INFER("hone.AveragePoolGrad", .attrs = "kernel_shape=[2] dims=[1, 2, -4]",
             .in = {"f32[1, 2, 3]"}, .error = "'dims' holds -4");
    OP_INFER("hone.AveragePoolGrad", .attrs = "kernel_shape=[2] dims=[1, 2, 9]",
             .in = {"f32[1, 2, 3]"}, .error = "windows of X");
}

static void indices(void **state) {
    (void)state;
    OP_INFER("hone.GatherGrad", .attrs = "dims=[4, 3]", .in = {"f32[2, 3]", "s64[2]"},
             .out = {"f32[4, 3]"});
    OP_INFER("hone.GatherGrad", .attrs = "dims=[4, 3]", .in = {"f32[2, 5]", "s64[2]"},
             .error = "what was gathered");
    OP_INFER("hone.GatherGrad", .attrs = "dims=[4, 3] axis=1", .in = {"f32[4, 7]", "s64[2]"},
             .error = "what was gathered");
    OP_INFER("hone.GatherGrad", .attrs = "dims=[4]", .in = {"f32[2, 5]", "s64[2]"},
             .error = "rank");
    OP_RUN("hone.GatherGrad", .attrs = "dims=[2]", .in = {"f32[3]{1 2 4}", "s64[3]{1 0 1}"},
           .out = {"f32[2]{2 5}"});
    OP_RUN("hone.GatherGrad", .attrs = "dims=[2]", .in = {"f32[1]{1}", "s64[1]{2}"}, .error = "2");
    OP_INFER("hone.LabelLossGrad", .in = {"f32", "f32[4, 3]", "s64[5]"}, .error = "labels");
    OP_INFER("hone.LabelLossGrad", .in = {"f32[2]", "f32[4, 3]", "s64[4]"}, .error = "one number");
    OP_INFER("hone.LabelLossGrad", .in = {"f32[]", "f32[4, 3]", "s64[4]", "f32[2]"}, .error = "3");
    OP_INFER("hone.LabelLossGrad", .attrs = "reduction='none'",
             .in = {"f32[3]", "f32[4, 3]", "s64[4]"}, .error = "sizes of dY");
    OP_RUN("hone.LabelLossGrad", .in = {"f32[]{1}", "f32[1, 3]{0 0 0}", "s64[1]{3}"},
           .error = "label 3");
}

static void samples(void **state) {
    (void)state;
    /* The point is at element 1, whose right neighbour is 2 more. */
    OP_RUN("hone.GridSampleGrad", .attrs = "align_corners=1",
           .in = {"f32[1, 1, 1]{10}", "f32[1, 1, 3]{1 2 4}", "f32[1, 1, 1]{0}"},
           .out = {"f32[1, 1, 3]{0 10 0}", "f32[1, 1, 1]{20}"});
    OP_RUN("hone.GridSampleGrad", .attrs = "mode='nearest'",
           .in = {"f32[1, 1, 2]{10 3}", "f32[1, 1, 2]{1 2}", "f32[1, 2, 1]{0.4 9}"},
           .out = {"f32[1, 1, 2]{0 10}", "f32[1, 2, 1]{0 0}"});
    OP_RUN("hone.GridSampleGrad", .in = {"f32[1, 0, 1]{}", "f32[1, 0, 3]{}", "f32[1, 1, 1]{0}"},
           .out = {"f32[1, 0, 3]{}", "f32[1, 1, 1]{0}"});
    OP_INFER("hone.GridSampleGrad", .in = {"f32[1, 2, 4]", "f32[1, 2, 3]", "f32[1, 5, 1]"},
             .error = "what was sampled");
    OP_INFER("hone.GridSampleGrad", .in = {"f32[1, 2, 5]", "f32[1, 3, 3]", "f32[1, 5, 1]"},
             .error = "what was sampled");
    OP_INFER("hone.GridSampleGrad", .in = {"f32[1, 2, 5]", "f32[1, 2, 3]", "f32[1, 5, 2]"},
             .error = "coordinates per position");
    OP_INFER("hone.GridSampleGrad", .in = {"f32[1, 2, 5]", "f32[1, 2, 3]", "f32[2, 5, 1]"},
             .error = "batches");
    OP_INFER("hone.GridSampleGrad", .in = {"f32[1, 2, 5]", "f32[1, 2, 3, 3]", "f32[1, 5, 1]"},
             .error = "ranks");
    /* The middle of four elements. */
    OP_RUN("hone.RoiAlignGrad", .attrs = "dims=[1, 1, 2, 2] sampling_ratio=1",
           .in = {"f32[1, 1, 1, 1]{4}", "f32[1, 4]{0 0 2 2}", "s64[1]{0}"},
           .out = {"f32[1, 1, 2, 2]{1 1 1 1}"});
    OP_RUN("hone.RoiAlignGrad", .attrs = "dims=[1, 1, 2, 2]",
           .in = {"f32[1, 1, 1, 1]{4}", "f32[1, 4]{0 0 2 2}", "s64[1]{1}"},
           .error = "batch index 1");
    OP_RUN(
        "hone.RoiAlignGrad", .attrs = "dims=[1, 1, 2, 2] sampling_ratio=1 mode='max'",
        .in = {"f32[1, 1, 1, 1]{4}", "f32[1, 4]{0 0 2 2}", "s64[1]{0}", "f32[1, 1, 2, 2]{1 5 7 2}"},
        .out = {"f32[1, 1, 2, 2]{0 0 1 0}"});
    OP_INFER("hone.RoiAlignGrad", .attrs = "dims=[1, 1, 2, 2] mode='max'",
             .in = {"f32[1, 1, 1, 1]", "f32[1, 4]", "s64[1]"}, .error = "needs X");
    OP_INFER("hone.RoiAlignGrad", .attrs = "dims=[1, 1, 2, 2] mode='max'",
             .in = {"f32[1, 1, 1, 1]", "f32[1, 4]", "s64[1]", "f32[1, 1, 2, 3]"},
             .error = "sizes of X");
    OP_INFER("hone.RoiAlignGrad", .attrs = "dims=[1, 1, 2]",
             .in = {"f32[1, 1, 1, 1]", "f32[1, 4]", "s64[1]"}, .error = "'dims' has 3 sizes");
    OP_INFER("hone.RoiAlignGrad", .attrs = "dims=[1, 2, 2, 2]",
             .in = {"f32[1, 1, 1, 1]", "f32[1, 4]", "s64[1]"}, .error = "channels");
    OP_INFER("hone.RoiAlignGrad", .attrs = "dims=[1, 1, 2, 2]",
             .in = {"f32[2, 1, 1, 1]", "f32[1, 4]", "s64[1]"}, .error = "regions of dY");
    OP_INFER("hone.RoiAlignGrad", .attrs = "dims=[1, 1, 2, 2]",
             .in = {"f32[1, 1, 1, 1]", "f32[1, 5]", "s64[1]"}, .error = "coordinates per region");
    OP_INFER("hone.RoiAlignGrad", .attrs = "dims=[1, 1, 2, 2] sampling_ratio=9999",
             .in = {"f32[1, 1, 1, 1]", "f32[1, 4]", "s64[1]"}, .error = "sampling_ratio");
}

static void dropout(void **state) {
    (void)state;
    OP_INFER("hone.Dropout", .in = {"f32[n, 3]", "s64[]"}, .out = {"f32[n, 3]", "bool[n, 3]"});
    OP_INFER("hone.Dropout", .in = {"f32[n, 3]", "s64[1]"}, .error = "rank");
    OP_INFER("hone.Dropout", .attrs = "ratio=1.0", .in = {"f32[3]", "s64[]"},
             .error = "outside [0, 1)");
    OP_RUN("hone.Dropout", .attrs = "ratio=0.0", .in = {"f32[3]{1 -2 4}", "s64[]{7}"},
           .out = {"f32[3]{1 -2 4}", "bool[3]{1 1 1}"});
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(norms), cmocka_unit_test(pools),
                                       cmocka_unit_test(indices), cmocka_unit_test(samples),
                                       cmocka_unit_test(dropout)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

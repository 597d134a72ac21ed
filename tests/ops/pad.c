#include "support/op_test.h"

static void constant(void **state) {
    (void)state;

    OP_RUN("Pad", .in = {"s32[2]{1 2}", "s64[2]{1 2}"}, .out = {"s32[5]{0 1 2 0 0}"});
    OP_RUN("Pad", .in = {"f32[2, 2]{1 2 3 4}", "s64[4]{0 -1 1 1}", "f32[]{9}"},
           .out = {"f32[3, 2]{2 9 4 9 9 9}"});
    OP_RUN("Pad", .in = {"f32[2, 2]{1 2 3 4}", "s64[2]{1 0}", "f32[1]{9}", "s32[1]{-1}"},
           .out = {"f32[2, 3]{9 1 2 9 3 4}"});
    OP_RUN("Pad", .in = {"s4[3]{1 2 3}", "s64[2]{1 1}", "s4[]{-1}"}, .out = {"s4[5]{-1 1 2 3 -1}"});
    OP_RUN("Pad", .in = {"f32[0]{}", "s64[2]{1 1}", "f32[]{5}"}, .out = {"f32[2]{5 5}"});
    OP_RUN("Pad", .in = {"f32[2]{1 2}", "s64[2]{-3 2}", "f32[]{5}"}, .out = {"f32[1]{5}"});
    OP_RUN("Pad", .in = {"f32[]{1}", "s64[0]{}"}, .out = {"f32[]{1}"});
}

static void other_modes(void **state) {
    (void)state;

    OP_RUN("Pad", .attrs = "mode='reflect'", .in = {"s32[3]{1 2 3}", "s64[2]{5 4}"},
           .out = {"s32[12]{2 1 2 3 2 1 2 3 2 1 2 3}"});
    OP_RUN("Pad", .attrs = "mode='reflect'", .in = {"s32[1]{1}", "s64[2]{2 1}"},
           .out = {"s32[4]{1 ...}"});
    OP_RUN("Pad", .attrs = "mode='edge'", .in = {"s32[2]{1 2}", "s64[2]{2 1}"},
           .out = {"s32[5]{1 1 1 2 2}"});
    OP_RUN("Pad", .attrs = "mode='wrap'", .in = {"s32[3]{1 2 3}", "s64[2]{4 2}"},
           .out = {"s32[9]{3 1 2 3 1 2 3 1 2}"});
    OP_RUN("Pad", .attrs = "mode='edge'", .in = {"u4[2, 2]{1 2 3 4}", "s64[4]{1 0 0 1}"},
           .out = {"u4[3, 3]{1 2 2 1 2 2 3 4 4}"});
    /* What is taken away is gone before the rest is mirrored. */
    OP_RUN("Pad", .attrs = "mode='reflect'", .in = {"s32[4]{1 2 3 4}", "s64[2]{-1 2}"},
           .out = {"s32[5]{2 3 4 3 2}"});
    OP_RUN("Pad", .attrs = "mode='wrap'", .in = {"s32[4]{1 2 3 4}", "s64[2]{2 -2}"},
           .out = {"s32[4]{1 2 1 2}"});
    OP_RUN("Pad", .attrs = "mode='edge'", .in = {"f32[]{1}", "s64[0]{}"}, .out = {"f32[]{1}"});
    OP_RUN("Pad", .attrs = "mode='edge'", .in = {"f32[0, 2]{}", "s64[4]{0 1 0 1}"},
           .out = {"f32[0, 4]{}"});
    OP_RUN("Pad", .attrs = "mode='edge'", .in = {"f32[0]{}", "s64[2]{1 1}"},
           .error = "axis 0 has no elements left");
    OP_RUN("Pad", .attrs = "mode='reflect'", .in = {"f32[2]{1 2}", "s64[2]{-2 3}"},
           .error = "axis 0 has no elements left");
}

static void inference(void **state) {
    (void)state;

    OP_INFER("Pad", .in = {"f32[n, 3, h]", "s64[6]{0 0 1 0 0 2}"}, .out = {"f32[n, 3, h + 3]"});
    OP_INFER("Pad", .in = {"f32[n, 3, h]", "s64[2]{k 1}", "", "s64[1]{2}"},
             .out = {"f32[n, 3, h + k + 1]"});
    OP_INFER("Pad", .in = {"f32[n, 3]", "s64[2]", "", "s64[1]{1}"}, .out = {"f32[n, ?]"});
    OP_INFER("Pad", .in = {"f32[n, 3]", "s64[2]", "", "s64[1]"}, .out = {"f32[?, ?]"});
    OP_INFER("Pad", .in = {"f32", "s64[2]{1 1}"}, .out = {"f32"});
    OP_INFER("Pad", .in = {"f32[3]", "s64[4]{1 1 1 1}"},
             .error = "input 1 has 4 entries, expected at most 2");
    OP_INFER("Pad", .in = {"f32[3, 3]", "s64[2]{1 1}"}, .error = "2 pads are listed for 2 axes");
    OP_INFER("Pad", .in = {"f32[3]", "s64[2]{-2 -2}"},
             .error = "axis 0 of output 0 gets the size -1");
    OP_INFER("Pad", .in = {"f32[3]", "s64[2]{1 1}", "f32[2]"},
             .error = "the value to pad with has 2 elements");
    OP_INFER("Pad", .in = {"f32[3]", "s64[2]{1 1}", "", "s64[1]{1}"}, .error = "axis 1 is outside");
    OP_INFER("Pad", .attrs = "mode='mirror'", .in = {"f32[3]", "s64[2]{1 1}"},
             .error = "expected one of");
    OP_RUN("Pad", .in = {"f32[3]{1 2 3}", "s64[2]{-9223372036854775808 9223372036854775807}"},
           .error = "axis 0 has pads");
}

static void center_crop_pad(void **state) {
    (void)state;

    OP_RUN("CenterCropPad", .in = {"s32[5]{0 ..}", "s64[1]{2}"}, .out = {"s32[2]{1 2}"});
    OP_RUN("CenterCropPad", .in = {"s32[2]{1 2}", "s32[1]{5}"}, .out = {"s32[5]{0 1 2 0 0}"});
    OP_RUN("CenterCropPad", .attrs = "axes=[-1]", .in = {"s32[2, 2]{1 2 3 4}", "s64[1]{1}"},
           .out = {"s32[2, 1]{1 3}"});
    OP_RUN("CenterCropPad", .in = {"s32[3, 2]{1 ..}", "s64[2]{1 4}"},
           .out = {"s32[1, 4]{0 3 4 0}"});
    OP_INFER("CenterCropPad", .attrs = "axes=[1]", .in = {"f32[n, h]", "s64[1]{k}"},
             .out = {"f32[n, k]"});
    OP_INFER("CenterCropPad", .in = {"f32[n, h]", "s64[2]"}, .out = {"f32[?, ?]"});
    OP_INFER("CenterCropPad", .in = {"f32", "s64[2]"}, .out = {"f32"});
    OP_INFER("CenterCropPad", .in = {"f32[n, h]", "s64[1]{2}"},
             .error = "1 sizes are listed for 2 axes");
    OP_INFER("CenterCropPad", .attrs = "axes=[0, 1, 0]", .in = {"f32[n, h]", "s64[3]{2 2 2}"},
             .error = "3 axes are listed");
    OP_INFER("CenterCropPad", .in = {"f32[3]", "s64[1]{-2}"}, .error = "gets the size -2");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constant),
        cmocka_unit_test(other_modes),
        cmocka_unit_test(inference),
        cmocka_unit_test(center_crop_pad),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

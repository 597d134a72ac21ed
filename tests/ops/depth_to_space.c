#include "support/op_test.h"

static void moves(void **state) {
    (void)state;

    OP_RUN("DepthToSpace", .attrs = "blocksize=2", .in = {"s32[1, 8, 1, 1]{0 ..}"},
           .out = {"s32[1, 2, 2, 2]{0 2 4 6 1 3 5 7}"});
    OP_RUN("DepthToSpace", .attrs = "blocksize=2 mode='CRD'", .in = {"s32[1, 8, 1, 1]{0 ..}"},
           .out = {"s32[1, 2, 2, 2]{0 ..}"});
    OP_RUN("SpaceToDepth", .attrs = "blocksize=2", .in = {"s32[1, 2, 2, 2]{0 2 4 6 1 3 5 7}"},
           .out = {"s32[1, 8, 1, 1]{0 ..}"});
    OP_RUN("SpaceToDepth", .attrs = "blocksize=2 mode='CRD'", .in = {"s32[1, 2, 2, 2]{0 ..}"},
           .out = {"s32[1, 8, 1, 1]{0 ..}"});
    OP_RUN("SpaceToDepth", .attrs = "blocksize=2", .in = {"u8[2, 1, 2, 4]{0 ..}"},
           .out = {"u8[2, 4, 1, 2]{0 2 1 3 4 6 5 7 8 10 9 11 12 14 13 15}"});
    OP_RUN("DepthToSpace", .attrs = "blocksize=2",
           .in = {"u8[2, 4, 1, 2]{0 2 1 3 4 6 5 7 8 10 9 11 12 14 13 15}"},
           .out = {"u8[2, 1, 2, 4]{0 ..}"});
    OP_RUN("DepthToSpace", .attrs = "blocksize=3", .in = {"f32[0, 9, 2, 2]{}"},
           .out = {"f32[0, 1, 6, 6]{}"});
}

static void inference(void **state) {
    (void)state;

    OP_INFER("DepthToSpace", .attrs = "blocksize=2", .in = {"f32[n, 16, h, w]"},
             .out = {"f32[n, 4, 2*h, 2*w]"});
    OP_INFER("SpaceToDepth", .attrs = "blocksize=2", .in = {"f32[n, c, 2*h, 6]"},
             .out = {"f32[n, 4*c, h, 3]"});
    OP_INFER("SpaceToDepth", .attrs = "blocksize=2", .in = {"f32"}, .out = {"f32"});
    OP_INFER("DepthToSpace", .attrs = "blocksize=2", .in = {"f32[1, 6, 2, 2]"},
             .error = "size 6 of axis 1 is not a multiple of 4");
    OP_INFER("SpaceToDepth", .attrs = "blocksize=2", .in = {"f32[1, 6, 3, 2]"},
             .error = "size 3 of axis 2 is not a multiple of 2");
    OP_INFER("SpaceToDepth", .attrs = "blocksize=0", .in = {"f32[1, 6, 3, 2]"},
             .error = "blocksize is 0");
    OP_INFER("DepthToSpace", .attrs = "blocksize=4294967296", .in = {"f32[1, 6, 3, 2]"},
             .error = "blocksize is 4294967296");
    OP_INFER("DepthToSpace", .attrs = "blocksize=2", .in = {"f32[4, 2, 2]"},
             .error = "rank 3, expected 4");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moves),
        cmocka_unit_test(inference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "support/op_test.h"

static void makes(void **state) {
    (void)state;

    OP_RUN("EyeLike", .in = {"s32[2, 3]{0 ..}"}, .out = {"s32[2, 3]{1 0 0 0 1 0}"});
    OP_RUN("EyeLike", .attrs = "k=1 dtype=10", .in = {"s32[3, 2]{0 ..}"},
           .out = {"f16[3, 2]{0 1 0 0 0 0}"});
    OP_RUN("EyeLike", .attrs = "k=-1 dtype=9", .in = {"f64[3, 2]{0 ..}"},
           .out = {"bool[3, 2]{0 0 1 0 0 1}"});
    OP_RUN("EyeLike", .attrs = "k=9223372036854775807", .in = {"f32[2, 2]{0 ..}"},
           .out = {"f32[2, 2]{0 ...}"});
    OP_RUN("EyeLike", .attrs = "k=-9223372036854775808", .in = {"f32[2, 2]{0 ..}"},
           .out = {"f32[2, 2]{0 ...}"});
    OP_RUN("EyeLike", .in = {"f32[0, 2]{}"}, .out = {"f32[0, 2]{}"});
    OP_INFER("EyeLike", .attrs = "dtype=7", .in = {"f32[n, m]"}, .out = {"s64[n, m]"});
    OP_INFER("EyeLike", .in = {"f32[n]"}, .error = "rank 1, expected 2");
    OP_INFER("EyeLike", .attrs = "dtype=8", .in = {"f32[n, m]"}, .error = "dtype is 8");
    OP_INFER("EyeLike", .attrs = "dtype=99", .in = {"f32[n, m]"}, .error = "dtype is 99");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(makes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

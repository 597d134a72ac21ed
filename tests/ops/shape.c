#include "support/op_test.h"

static void shape(void **state) {
    (void)state;

    OP_RUN("Shape", .in = {"f32[2, 0, 3]{}"}, .out = {"s64[3]{2 0 3}"});
    OP_RUN("Shape", .in = {"f32[]{1}"}, .out = {"s64[0]{}"});
    OP_RUN("Shape", .attrs = "start=-2 end=9223372036854775807", .in = {"s2[2, 1, 3]{0 1 0 1 0 1}"},
           .out = {"s64[2]{1 3}"});
    OP_RUN("Shape", .attrs = "start=-9223372036854775808 end=-2", .in = {"u8[2, 1, 3]{1 ..}"},
           .out = {"s64[1]{2}"});
    OP_RUN("Shape", .attrs = "start=2 end=1", .in = {"u8[2, 1, 3]{1 ..}"}, .out = {"s64[0]{}"});
    OP_INFER("Shape", .in = {"f32[n, 3, 2*h]"}, .out = {"s64[3]{n 3 2*h}"});
    OP_INFER("Shape", .attrs = "start=1 end=-1", .in = {"f32[n, 3, h]"}, .out = {"s64[1]{3}"});
    OP_INFER("Shape", .in = {"f32"}, .out = {"s64[?<=16]{?}"});
}

static void size(void **state) {
    (void)state;

    OP_RUN("Size", .in = {"f32[2, 3]{1 ..}"}, .out = {"s64[]{6}"});
    OP_RUN("Size", .in = {"f32[2, 0]{}"}, .out = {"s64[]{0}"});
    OP_RUN("Size", .in = {"u8[]{2}"}, .out = {"s64[]{1}"});
    OP_INFER("Size", .in = {"f32[n, 3, h]"}, .out = {"s64[]{3*h*n}"});
    OP_INFER("Size", .in = {"f32"}, .out = {"s64[]{?}"});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shape),
        cmocka_unit_test(size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

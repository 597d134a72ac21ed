#include "support/op_test.h"

static void shrinks(void **state) {
    (void)state;
    OP_RUN("Shrink", .attrs = "lambd=1.5 bias=1.5", .in = {"f32[6]{-2 -1.5 0 1.5 2 nan}"},
           .out = {"f32[6]{-0.5 0 0 0 0.5 0}"});
    OP_RUN("Shrink", .attrs = "lambd=1.5", .in = {"s8[3]{-2 1 127}"}, .out = {"s8[3]{-2 0 127}"});
    /* A fraction of the bias truncates toward zero. */
    OP_RUN("Shrink", .attrs = "lambd=1.0 bias=1.5", .in = {"s32[4]{-4 -2 2 4}"},
           .out = {"s32[4]{-2 0 0 2}"});
    OP_RUN("Shrink", .attrs = "lambd=1.0 bias=2.0", .in = {"u64[2]{18446744073709551615 1}"},
           .out = {"u64[2]{18446744073709551613 0}"});
    OP_RUN("Shrink", .attrs = "bias=1e30", .in = {"s32[1]{1}"}, .error = "bias");
    OP_INFER("Shrink", .in = {"u16[n]"}, .out = {"u16[n]"});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shrinks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

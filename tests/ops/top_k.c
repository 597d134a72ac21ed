#include "support/op_test.h"

static void selects(void **state) {
    (void)state;

    OP_RUN("TopK", .in = {"f32[2, 3]{1 3 2 4 6 5}", "s64[1]{2}"},
           .out = {"f32[2, 2]{3 2 6 5}", "s64[2, 2]{1 2 1 2}"});
    OP_RUN("TopK", .attrs = "axis=0 largest=0", .in = {"s8[3, 2]{3 -128 1 127 2 0}", "s64[1]{2}"},
           .out = {"s8[2, 2]{1 -128 2 0}", "s64[2, 2]{1 0 2 2}"});
    OP_RUN("TopK", .attrs = "sorted=0",
           .in = {"u64[3]{1 18446744073709551615 9223372036854775807}", "s64[1]{3}"},
           .out = {"u64[3]{18446744073709551615 9223372036854775807 1}", "s64[3]{1 2 0}"});
    OP_RUN("TopK", .in = {"s32[4]{7 7 8 7}", "s64[1]{3}"},
           .out = {"s32[3]{8 7 7}", "s64[3]{2 0 1}"});
    OP_RUN("TopK", .attrs = "largest=0", .in = {"s32[4]{7 7 8 7}", "s64[]{2}"},
           .out = {"s32[2]{7 7}", "s64[2]{0 1}"});
    OP_RUN("TopK", .in = {"f16[4]{1 nan inf nan}", "s64[1]{4}"},
           .out = {"f16[4]{nan nan inf 1}", "s64[4]{1 3 2 0}"});
    OP_RUN("TopK", .attrs = "largest=0", .in = {"bf16[3]{nan -inf 2}", "s64[1]{3}"},
           .out = {"bf16[3]{-inf 2 nan}", "s64[3]{1 2 0}"});
    OP_RUN("TopK", .in = {"f32[2]{1 2}", "s64[1]{0}"}, .out = {"f32[0]{}", "s64[0]{}"});
    OP_RUN("TopK", .in = {"f32[0, 2]{}", "s64[1]{1}"}, .out = {"f32[0, 1]{}", "s64[0, 1]{}"});
    OP_RUN("TopK", .attrs = "largest=0", .in = {"s32[1000]{0 ..}", "s64[1]{1000}"},
           .out = {"s32[1000]{0 ..}", "s64[1000]{0 ..}"});
}

static void inference(void **state) {
    (void)state;

    OP_INFER("TopK", .in = {"f32[n, m]", "s64[1]{3}"}, .out = {"f32[n, 3]", "s64[n, 3]"});
    OP_INFER("TopK", .attrs = "axis=0", .in = {"f32[n, m]", "s64[1]{k}"},
             .out = {"f32[k, m]", "s64[k, m]"});
    OP_INFER("TopK", .in = {"f32[n, 5]", "s64[1]"}, .out = {"f32[n, ?<=5]", "s64[n, ?<=5]"});
    OP_INFER("TopK", .in = {"f32", "s64[1]{3}"}, .out = {"f32", "s64"});
    OP_INFER("TopK", .in = {"f32[n, 2]", "s64[1]{3}"},
             .error = "K is 3, but axis 1 has 2 elements");
    OP_INFER("TopK", .in = {"f32[2]", "s64[1]{-1}"}, .error = "K is -1");
    OP_INFER("TopK", .in = {"f32[n]", "s64[1]{-1}"}, .error = "K is -1");
    OP_INFER("TopK", .in = {"f32[n, 2]", "s64[2]"}, .error = "input 1 has 2 entries");
    OP_INFER("TopK", .in = {"f32[n, 2]", "s64[0]"}, .error = "K is empty");
    OP_INFER("TopK", .in = {"f32[]", "s64[1]{1}"}, .error = "rank 0");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(selects),
        cmocka_unit_test(inference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

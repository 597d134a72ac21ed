#include "support/op_test.h"

static void values(void **state) {
    (void)state;
    OP_RUN("GlobalAveragePool", .in = {"f32[1, 2, 2, 2]{1 ..}"},
           .out = {"f32[1, 2, 1, 1]{2.5 6.5}"});
    OP_RUN("GlobalMaxPool", .in = {"f32[1, 2, 3]{-3 -1 -2 nan 1 2}"},
           .out = {"f32[1, 2, 1]{-1 nan}"});
    OP_RUN("GlobalLpPool", .in = {"f32[1, 1, 2]{3 -4}"}, .out = {"f32[1, 1, 1]{5}"});
    OP_RUN("GlobalLpPool", .attrs = "p=1", .in = {"f32[1, 1, 2]{3 -4}"},
           .out = {"f32[1, 1, 1]{7}"});
    OP_RUN("GlobalLpPool", .attrs = "p=3", .in = {"f64[1, 1, 2]{-2 2}"},
           .out = {"f64[1, 1, 1]{2.5198420997897464}"});
    OP_RUN("GlobalLpPool", .attrs = "p=0", .in = {"f64[1, 1, 2]{-2 2}"}, .error = "'p' is 0");
    /* Longer than one block of the loop; f16 sums of 1 would stop at 2048. */
    OP_RUN("GlobalAveragePool", .in = {"f16[1, 1, 3000]{1 ...}"}, .out = {"f16[1, 1, 1]{1}"});
    OP_RUN("GlobalAveragePool", .in = {"bf16[0, 2, 3]{}"}, .out = {"bf16[0, 2, 1]{}"});
    OP_RUN("GlobalMaxPool", .in = {"f32[1, 1, 0]{}"}, .out = {"f32[1, 1, 1]{-inf}"});
}

static void shapes(void **state) {
    (void)state;
    OP_INFER("GlobalAveragePool", .in = {"f32[n, c, h, w]"}, .out = {"f32[n, c, 1, 1]"});
    OP_INFER("GlobalMaxPool", .in = {"f32"}, .out = {"f32"});
    OP_INFER("GlobalMaxPool", .in = {"f32[3]"}, .error = "rank 1, expected 2");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values),
        cmocka_unit_test(shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include <stdio.h>

#include "support/op_test.h"

static void fills(void **state) {
    (void)state;

    OP_RUN("ConstantOfShape", .in = {"s64[2]{2 2}"}, .out = {"f32[2, 2]{0 ...}"});
    OP_RUN("ConstantOfShape", .attrs = "value=s4[1]{-3}", .in = {"s64[1]{3}"},
           .out = {"s4[3]{-3 ...}"});
    OP_RUN("ConstantOfShape", .attrs = "value=f64[1]{2.5}", .in = {"s64[0]{}"},
           .out = {"f64[]{2.5}"});
    OP_RUN("ConstantOfShape", .attrs = "value=s64[1]{9223372036854775807}", .in = {"s64[1]{2}"},
           .out = {"s64[2]{9223372036854775807 ...}"});
    static const char *const types[] = {"s8", "f16", "f32", "u32", "s64"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        char value[64], out[64];
        snprintf(value, sizeof value, "value=%s[1]{77}", types[i]);
        snprintf(out, sizeof out, "%s[3, 1013]{77 ...}", types[i]);
        OP_RUN("ConstantOfShape", .attrs = value, .in = {"s64[2]{3 1013}"}, .out = {out});
    }
    OP_RUN("ConstantOfShape", .attrs = "value=f32[1]{-0.1}", .in = {"s64[1]{5}"},
           .out = {"f32[5]{-0.1 ...}"});
    OP_RUN("ConstantOfShape", .in = {"s64[2]{0 3}"}, .out = {"f32[0, 3]{}"});
    OP_RUN("ConstantOfShape", .attrs = "value=bool[1]{1}", .in = {"s64[1]{40000}"},
           .out = {"bool[40000]{1 ...}"});
}

static void inference(void **state) {
    (void)state;

    OP_INFER("ConstantOfShape", .attrs = "value=s64[1]{1}", .in = {"s64[2]{n 3}"},
             .out = {"s64[n, 3]"});
    OP_INFER("ConstantOfShape", .in = {"s64[2]"}, .out = {"f32[?, ?]"});
    OP_INFER("ConstantOfShape", .in = {"s64[n]"}, .out = {"f32"});
    OP_INFER("ConstantOfShape", .in = {"s64[1]{-1}"}, .error = "gets the size -1");
    OP_INFER("ConstantOfShape", .in = {"s64[1, 1]"}, .error = "rank 2");
    OP_INFER("ConstantOfShape", .attrs = "value=s64[2]{1 2}", .in = {"s64[1]{1}"},
             .error = "attribute 'value' has 2 elements");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fills),
        cmocka_unit_test(inference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

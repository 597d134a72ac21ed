#include "support/op_test.h"

static void finite(void **state) {
    (void)state;
    OP_INFER("hone.CheckFinite", .in = {"f32[n, 3]"}, .out = {"f32[n, 3]"});
    OP_RUN("hone.CheckFinite", .in = {"f32[3]{1 -2 3e38}"}, .out = {"f32[3]{1 -2 3e38}"});
    OP_RUN("hone.CheckFinite", .in = {"f32[]{0.5}"}, .out = {"f32[]{0.5}"});
    OP_RUN("hone.CheckFinite", .in = {"f32[3]{1 nan 2}"}, .error = "element 1 is nan");
    OP_RUN("hone.CheckFinite", .in = {"f32[2]{1 -inf}"}, .error = "element 1 is -inf");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(finite)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

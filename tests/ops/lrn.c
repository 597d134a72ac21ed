#include "support/op_test.h"

static void regions(void **state) {
    (void)state;
    /* x / (sum of squares), over one channel on either side */
    OP_RUN("LRN", .attrs = "size=3 alpha=3.0 beta=1.0 bias=0.0", .in = {"f32[1, 4, 1]{1 2 3 4}"},
           .out = {"f32[1, 4, 1]{0.2 0.14285714 0.10344828 0.16}"});
    /* An even size looks one further ahead than back. */
    OP_RUN("LRN", .attrs = "size=2 alpha=2.0 beta=1.0 bias=0.0", .in = {"f32[1, 3]{1 2 3}"},
           .out = {"f32[1, 3]{0.2 0.15384615 0.33333333}"});
    OP_RUN("LRN", .attrs = "size=9223372036854775807 alpha=0.0 beta=0.5 bias=4.0",
           .in = {"f16[2, 1, 2]{2 4 6 8}"}, .out = {"f16[2, 1, 2]{1 2 3 4}"});
    OP_RUN("LRN", .attrs = "size=1", .in = {"f32[1, 2, 600]{1 ...}"},
           .out = {"f32[1, 2, 600]{0.99992501 ...}"});
    OP_RUN("LRN", .attrs = "size=1", .in = {"f32[1, 0, 2]{}"}, .out = {"f32[1, 0, 2]{}"});
}

static void shapes(void **state) {
    (void)state;
    OP_INFER("LRN", .attrs = "size=3", .in = {"f32[n, c, h, w]"}, .out = {"f32[n, c, h, w]"});
    OP_INFER("LRN", .attrs = "size=3", .in = {"f32"}, .out = {"f32"});
    OP_INFER("LRN", .attrs = "size=3", .in = {"f32[n]"}, .error = "rank 1");
    OP_INFER("LRN", .attrs = "size=0", .in = {"f32"}, .error = "size is 0");
    OP_INFER("LRN", .in = {"f32"}, .error = "'size' is missing");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(regions),
        cmocka_unit_test(shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include <stdio.h>
#include <stdlib.h>

#include "support/op_test.h"

static void selects(void **state) {
    (void)state;

    OP_RUN("Compress", .attrs = "axis=0", .in = {"s32[3, 2]{1 ..}", "bool[3]{0 1 1}"},
           .out = {"s32[2, 2]{3 4 5 6}"});
    OP_RUN("Compress", .attrs = "axis=-1", .in = {"s32[2, 3]{1 ..}", "bool[2]{0 1}"},
           .out = {"s32[2, 1]{2 5}"});
    OP_RUN("Compress", .in = {"f16[2, 2]{1 ..}", "bool[3]{1 0 1}"}, .out = {"f16[2]{1 3}"});
    OP_RUN("Compress", .in = {"u8[2]{1 2}", "bool[4]{0 1 1 1}"}, .out = {"u8[1]{2}"});
    OP_RUN("Compress", .in = {"u8[2]{1 2}", "bool[0]{}"}, .out = {"u8[0]{}"});
    OP_RUN("Compress", .attrs = "axis=1", .in = {"u8[0, 2]{}", "bool[2]{1 0}"},
           .out = {"u8[0, 1]{}"});
}

/* More flags than are looked at together, for elements of every size and for slices. */
static void long_ones(void **state) {
    (void)state;
    static const char *const types[] = {"u8", "s16", "f32", "s64"};
    enum { N = 1500 };
    char flags[4 * N], x[64], out[4 * N];
    size_t n_flags = (size_t)sprintf(flags, "bool[%d]{", N);
    for (int i = 0; i < N; i++)
        n_flags += (size_t)sprintf(flags + n_flags, "%d ", i == 3 || i >= N - 2);
    sprintf(flags + n_flags, "}");
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        size_t n = (size_t)sprintf(out, "%s[2, 3]{", types[t]);
        for (int i = 0; i < 6; i++) {
            int at = i % 3 == 0 ? 3 : N - 3 + i % 3, value = (i / 3 * N + at) % 100;
            n += (size_t)sprintf(out + n, "%d ", value);
        }
        sprintf(out + n, "}");
        char *many = malloc(16 * N);
        assert_non_null(many);
        n = (size_t)sprintf(many, "%s[2, %d]{", types[t], N);
        for (int i = 0; i < 2 * N; i++) n += (size_t)sprintf(many + n, "%d ", i % 100);
        sprintf(many + n, "}");
        OP_RUN("Compress", .attrs = "axis=1", .in = {many, flags}, .out = {out});
        free(many);
    }
    snprintf(x, sizeof x, "s32[%d, 2]{0 ..}", N);
    snprintf(out, sizeof out, "s32[3, 2]{6 7 %d %d %d %d}", 2 * N - 4, 2 * N - 3, 2 * N - 2,
             2 * N - 1);
    OP_RUN("Compress", .attrs = "axis=0", .in = {x, flags}, .out = {out});
}

static void inference(void **state) {
    (void)state;

    OP_INFER("Compress", .attrs = "axis=1", .in = {"f32[n, 5]", "bool[3]"},
             .out = {"f32[n, ?<=3]"});
    OP_INFER("Compress", .attrs = "axis=1", .in = {"f32[n, 5]", "bool"}, .out = {"f32[n, ?<=5]"});
    OP_INFER("Compress", .in = {"f32[2, 5]", "bool[k]"}, .out = {"f32[?<=10]"});
    OP_INFER("Compress", .in = {"f32", "bool[k]"}, .out = {"f32[?]"});
    OP_INFER("Compress", .attrs = "axis=0", .in = {"f32", "bool[k]"}, .out = {"f32"});
    OP_INFER("Compress", .attrs = "axis=1", .in = {"f32[n]", "bool[3]"},
             .error = "axis 1 is outside");
    OP_INFER("Compress", .in = {"f32[n]", "bool[3, 1]"}, .error = "input 1 has rank 2, expected 1");
    OP_RUN("Compress", .in = {"string[0]{}", "bool[0]{}"}, .error = "strings");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(selects),
        cmocka_unit_test(long_ones),
        cmocka_unit_test(inference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include <math.h>
#include <stdio.h>

#include "support/op_test.h"

static void symmetric(void **state) {
    (void)state;
    OP_RUN("HannWindow", .attrs = "periodic=0", .in = {"s64[]{5}"},
           .out = {"f32[5]{0 0.5 1 0.5 0}"});
    OP_RUN("HammingWindow", .attrs = "periodic=0 output_datatype=11", .in = {"s32[]{3}"},
           .out = {"f64[3]{0.08695652173913043 1 0.08695652173913043}"}, .tolerance = 1e-15);
    OP_RUN("BlackmanWindow", .attrs = "periodic=0", .in = {"s64[1]{5}"},
           .out = {"f32[5]{0 0.34 1 0.34 0}"});
    /* One point is the middle. */
    OP_RUN("HannWindow", .attrs = "periodic=0", .in = {"s64[]{1}"}, .out = {"f32[1]{1}"});
}

static void periodic(void **state) {
    (void)state;
    OP_RUN("HannWindow", .in = {"s64[]{4}"}, .out = {"f32[4]{0 0.5 1 0.5}"});
    OP_RUN("HammingWindow", .attrs = "output_datatype=10", .in = {"s64[]{2}"},
           .out = {"f16[2]{0.0869565217 1}"});
    OP_RUN("BlackmanWindow", .attrs = "output_datatype=16", .in = {"s64[]{4}"},
           .out = {"bf16[4]{0 0.34 1 0.34}"});
    OP_RUN("HannWindow", .attrs = "output_datatype=3", .in = {"s64[]{4}"},
           .out = {"s8[4]{0 0 1 0}"});
    OP_RUN("HannWindow", .in = {"s64[]{0}"}, .out = {"f32[0]{}"});
}

/* Windows longer than what is computed at a time, against the formula. */
static void long_ones(void **state) {
    (void)state;
    static const struct {
        const char *op;
        double a0, a1, a2;
    } windows[] = {{"HannWindow", 0.5, 0.5, 0},
                   {"HammingWindow", 25.0 / 46, 21.0 / 46, 0},
                   {"BlackmanWindow", 0.42, 0.5, 0.08}};
    static const int sizes[] = {31, 33, 100};
    for (int k = 0; k < 18; k++) {
        int w = k % 3, n = sizes[k / 3 % 3], periodic = k / 9;
        double period = periodic ? n : n - 1;
        char in[32], attrs[64], out[4096];
        snprintf(in, sizeof in, "s64[]{%d}", n);
        snprintf(attrs, sizeof attrs, "periodic=%d output_datatype=11", periodic);
        int at = snprintf(out, sizeof out, "f64[%d]{", n);
        for (int i = 0; i < n; i++)
            at += snprintf(out + at, sizeof out - (size_t)at, "%.17g ",
                           windows[w].a0 - windows[w].a1 * cos(2 * M_PI * i / period) +
                               windows[w].a2 * cos(4 * M_PI * i / period));
        snprintf(out + at, sizeof out - (size_t)at, "}");
        OP_RUN(windows[w].op, .attrs = attrs, .in = {in}, .out = {out}, .tolerance = 1e-14);
    }
}

static void shapes(void **state) {
    (void)state;
    OP_INFER("HannWindow", .attrs = "output_datatype=11", .in = {"s64[]{n + 1}"},
             .out = {"f64[n + 1]"});
    OP_INFER("HannWindow", .in = {"s64"}, .out = {"f32[?]"});
    OP_INFER("HannWindow", .in = {"s64[]{-2}"}, .error = "gets the size -2");
    OP_INFER("HannWindow", .in = {"s64[0]"}, .error = "size is empty");
    OP_INFER("HannWindow", .attrs = "output_datatype=9", .in = {"s64[]"},
             .error = "output_datatype is bool (9)");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(symmetric),
        cmocka_unit_test(periodic),
        cmocka_unit_test(long_ones),
        cmocka_unit_test(shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

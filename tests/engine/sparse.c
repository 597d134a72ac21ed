/* Constant weights of which most are 0: kernels that leave these out compute the step, where that is
 * faster, and say so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/isa.h"
#include "support/engine_model.h"

static void takes(const engine_facts *f, bool sparse, const char *why) {
    if ((strstr(f->kernels, "_spars") != NULL) != sparse) fail_msg("computed by %s", f->kernels);
    if (strstr(f->why, why) == NULL) fail_msg("'%s' does not say '%s'", f->why, why);
}

#define PRODUCT(w, k, n)                                                                    \
    "m (float[70," #k "] x, float[" #k "," #n "] " w ", float[" #n "] wb) => (float[70," #n \
    "] y) { p = MatMul (x, " w                                                              \
    ") a = Add (p, wb)"                                                                     \
    " y = Relu (a) }"

static void products(void **state) {
    (void)state;
    engine_facts f = engine_ran(PRODUCT("wzero", 400, 300));
    takes(&f, true, "% of the weights are 0");
    f = engine_ran(PRODUCT("w", 400, 300));
    takes(&f, false, "first that accepts");
    assert_null(strstr(f.why, "of the weights"));
    /* Weights that a run is given are not looked at. */
    f = engine_ran_given(PRODUCT("wzero", 400, 300));
    takes(&f, false, "");
}

/* Nor are results turned for a few products each. */
static void small_products(void **state) {
    (void)state;
    engine_facts f = engine_ran(PRODUCT("wzero", 12, 8));
    takes(&f, false, "too few for leaving them out");
}

static void convolutions(void **state) {
    (void)state;
    engine_facts f = engine_ran(
        "m (float[1,256,12,12] x, float[192,256,1,1] wzero, float[192] wb, float[1,192,12,12] r)"
        " => (float[1,192,12,12] y) { c = Conv (x, wzero, wb) a = Add (c, r) y = Relu (a) }");
    takes(&f, true, "% of the weights are 0");
    f = engine_ran(
        "m (float[2,64,15,15] x, float[128,64,3,3] wzero) => (float[2,128,8,8] y) {"
        " y = Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (x, wzero) }");
    takes(&f, true, "% of the weights are 0");
    f = engine_ran(
        "m (float[1,64,9,9] x, float[64,32,3,3] wzero) => (float[1,64,7,7] y) {"
        " y = Conv <group = 2> (x, wzero) }");
    takes(&f, false, "");
}

static void switched_off(void **state) {
    (void)state;
    engine_facts f = engine_ran_so(PRODUCT("wzero", 400, 300), (engine_way){.no_sparse = true});
    takes(&f, false, "");
    assert_null(strstr(f.why, "of the weights"));
}

/* Rows are measured with the weights that they are for, and whichever is taken gives the same bits:
 * also on two threads, which may have found another to be faster. */
static void tuned(void **state) {
    (void)state;
    engine_facts f = engine_ran_so(PRODUCT("wzero", 400, 300), (engine_way){.tuned = true});
    takes(&f, true, "");
    f = engine_ran_so(PRODUCT("wzero", 12, 8), (engine_way){.tuned = true});
}

static void bytes(void **state) {
    (void)state;
    engine_agrees(
        "m (float[70,512] x, int8[512,300] wzero, float ws, float wt, float[300] wb)"
        " => (float[70,300] y) <uint8 z = {9}, int8 none = {0}> {"
        " q = QuantizeLinear (x, wt, z) d = DequantizeLinear (q, wt, z)"
        " v = DequantizeLinear (wzero, ws, none) p = MatMul (d, v) y = Add (p, wb) }",
        NULL);
    engine_facts f = engine_ran(
        "m (float[1,128,12,12] x, int8[96,128,3,3] wzero, float ws, float wt)"
        " => (float[1,96,12,12] y) <uint8 z = {9}, int8 none = {0}> {"
        " q = QuantizeLinear (x, wt, z) d = DequantizeLinear (q, wt, z)"
        " v = DequantizeLinear (wzero, ws, none) y = Conv <pads = [1, 1, 1, 1]> (d, v) }");
#if defined(__x86_64__)
    const hn_isa has = hn_isa_available(), lists = HN_ISA_AVX512VNNI | HN_ISA_AVX512VBMI;
    if ((has & lists) != lists || (has & HN_ISA_AMX)) return;
    takes(&f, true, "% of the weights are 0");
    if (strstr(f.kernels, "avx512vbmi_sparse") == NULL) fail_msg("computed by %s", f.kernels);
#else
    (void)f;
#endif
}

static void memory(void **state) {
    (void)state;
    engine_survives(PRODUCT("wzero", 300, 200));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products),     cmocka_unit_test(small_products),
        cmocka_unit_test(convolutions), cmocka_unit_test(switched_off),
        cmocka_unit_test(tuned),        cmocka_unit_test(bytes),
        cmocka_unit_test(memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

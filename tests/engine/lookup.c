/* Constant weights that are few different numbers: kernels that look them up compute products of few
 * rows, where that is faster, and say so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/engine_model.h"

/* Whether there are such kernels for this CPU. */
static bool has_rows(void) {
    const hn_family *f = hn_family_named("conv_f32", strlen("conv_f32"));
    for (int i = 0; i < f->n_rows; i++)
        if (f->rows[i]->lookup && (f->rows[i]->isa & hn_isa_available()) == f->rows[i]->isa)
            return true;
    return false;
}

static void takes(const engine_facts *f, bool lookup, const char *why) {
    if (!has_rows()) return;
    if ((strstr(f->kernels, "_lookup") != NULL) != lookup) fail_msg("computed by %s", f->kernels);
    if (strstr(f->why, why) == NULL) fail_msg("'%s' does not say '%s'", f->why, why);
}

#define PRODUCT(w, m, k, n)                                                                  \
    "m (float[" #m "," #k "] x, float[" #k "," #n "] " w ", float[" #n "] wb) => (float[" #m \
    "," #n "] y) { p = MatMul (x, " w                                                        \
    ") a = Add (p, wb)"                                                                      \
    " y = Relu (a) }"

static void products(void **state) {
    (void)state;
    engine_facts f = engine_ran(PRODUCT("wfew", 1, 3001, 1010));
    takes(&f, true, "the weights are 16 different numbers");
    f = engine_ran(PRODUCT("wfew", 2, 1500, 2011));
    takes(&f, true, "the weights are 16 different numbers");
    f = engine_ran(PRODUCT("w", 1, 3001, 1010));
    takes(&f, false, "first that accepts");
    assert_null(strstr(f.why, "different numbers"));
    /* Weights that a run is given are not looked at. */
    f = engine_ran_given(PRODUCT("wfew", 1, 3001, 1010));
    takes(&f, false, "");
}

static void transposed(void **state) {
    (void)state;
    engine_facts f = engine_ran(
        "m (float[1,2003] x, float[1500,2003] wfew, float[1500] wb) => (float[1,1500] y) {"
        " y = Gemm <transB = 1> (x, wfew, wb) }");
    takes(&f, true, "the weights are 16 different numbers");
}

/* Dense weights that stay in L2 are as fast, and so are they where many rows use them. */
static void declined(void **state) {
    (void)state;
    engine_facts f = engine_ran(PRODUCT("wfew", 1, 200, 300));
    takes(&f, false, "the weights are 16 different numbers: the weights fit into L2");
    f = engine_ran(PRODUCT("wfew", 9, 1500, 1010));
    takes(&f, false, "");
    assert_null(strstr(f.why, "different numbers"));
}

/* A codebook in the model goes the same way. */
static void codebook(void **state) {
    (void)state;
    engine_facts f = engine_ran(
        "m (float[1,1500] x, uint4[1500,1010] w, float[16] wt) => (float[1,1010] y) {"
        " i = Cast <to = 7> (w) d = Gather (wt, i) y = MatMul (x, d) }");
    takes(&f, true, "the weights are 16 different numbers");
}

static void switched_off(void **state) {
    (void)state;
    engine_facts f = engine_ran_so(PRODUCT("wfew", 1, 3001, 1010), (engine_way){.no_lookup = true});
    takes(&f, false, "");
    assert_null(strstr(f.why, "different numbers"));
    engine_facts with = engine_ran(PRODUCT("wfew", 1, 3001, 1010));
    assert_true(f.digest == with.digest);
}

/* Rows are measured, and whichever is taken gives the same bits. */
static void tuned(void **state) {
    (void)state;
    engine_ran_so(PRODUCT("wfew", 1, 1501, 1010), (engine_way){.tuned = true});
}

static void memory(void **state) {
    (void)state;
    engine_survives(PRODUCT("wfew", 1, 1024, 515));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products), cmocka_unit_test(transposed),   cmocka_unit_test(declined),
        cmocka_unit_test(codebook), cmocka_unit_test(switched_off), cmocka_unit_test(tuned),
        cmocka_unit_test(memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

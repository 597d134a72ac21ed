/* Constants that are not dense: they are weights of the kernels that dense ones have, and are packed
 * once for all plans. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/engine.h"
#include "support/engine_model.h"
#include "support/text_model.h"

static void dequantized_weights(void **state) {
    (void)state;
    engine_agrees(
        "m (float[1,24,9,9] x, int8[40,24,3,3] w, float[40] ws) => (float[1,40,7,7] y) {"
        " d = DequantizeLinear <axis = 0> (w, ws) y = Conv (x, d) }",
        NULL);
    assert_non_null(
        strstr(engine_ran("m (float[1,24,9,9] x, uint8[40,24,3,3] w, float ws, uint8 wz)"
                          " => (float[1,40,7,7] y) {"
                          " d = DequantizeLinear (w, ws, wz) y = Conv (x, d) }")
                   .steps,
               "conv_f32 Conv"));
    /* Each phase is a view of what is expanded. */
    engine_agrees(
        "m (float[1,24,9,9] x, int8[24,40,4,4] w, float[40] ws) => (float[1,40,20,20] y) {"
        " d = DequantizeLinear <axis = 1> (w, ws) y = ConvTranspose <strides = [2, 2]> (x, d) }",
        NULL);
    /* Blocks, and numbers for a step that packs nothing. */
    engine_agrees(
        "m (float[64,8] x, int8[64,8] w, float[2,8] ws) => (float[64,8] y) {"
        " d = DequantizeLinear <axis = 0, block_size = 32> (w, ws) y = Mul (x, d) }",
        NULL);
}

/* Of more than a piece of packed bytes, which lanes share. */
static void large_weights(void **state) {
    (void)state;
    engine_agrees(
        "m (float[1,320,5,5] x, int8[300,320,3,3] w, float[300] ws) => (float[1,300,3,3] y) {"
        " d = DequantizeLinear <axis = 0> (w, ws) y = Conv (x, d) }",
        NULL);
    engine_agrees(
        "m (float[1,320,5,5] x, uint4[300,320,3,3] w, float[16] wt) => (float[1,300,3,3] y) {"
        " i = Cast <to = 7> (w) d = Gather (wt, i) y = Conv (x, d) }",
        NULL);
    /* Numbers for a step that packs nothing. */
    engine_agrees(
        "m (float[900,800] x, int8[900,800] w, float[900] ws) => (float[900,800] y) {"
        " d = DequantizeLinear <axis = 0> (w, ws) y = Mul (x, d) }",
        NULL);
}

static void weights_of_a_codebook(void **state) {
    (void)state;
    engine_facts f = engine_ran(
        "m (float[1,24,9,9] x, uint4[40,24,3,3] w, float[16] wt) => (float[1,40,7,7] y) {"
        " i = Cast <to = 7> (w) d = Gather (wt, i) y = Conv (x, d) }");
    assert_string_equal(f.steps, "conv_f32 Conv");
    /* Elsewhere they are numbers; and codes that may be outside the table stay with the operator. */
    f = engine_ran(
        "m (float[5,8] x, uint8[5,8] w, float[300] wt) => (float[5,8] y) {"
        " i = Cast <to = 7> (w) d = Gather (wt, i) y = Mul (x, d) }");
    assert_string_equal(f.steps, "map_f32 Mul");
    f = engine_ran(
        "m (float[2,2] x, float[256] wt) => (float[2,2] y) <uint16[2,2] few = {0, 1, 255, 3}> {"
        " i = Cast <to = 7> (few) d = Gather (wt, i) y = Mul (x, d) }");
    assert_non_null(strstr(f.steps, "gather"));
}

static void sparse_weights(void **state) {
    (void)state;
    engine_facts f = engine_ran(
        "m (float[2,6] x) => (float[2,3] y)"
        " <sparse_tensor(float[6,3]) s = {float[2] {1, 2}, int64[2] {0, 7}}> {"
        " y = MatMul (x, s) }");
    assert_null(strstr(f.steps, "reference"));
    /* Elsewhere than in weights they are not read. */
    f = engine_ran_in_parts(
        "m (float[6,3] x) => (float[6,3] y)"
        " <sparse_tensor(float[6,3]) s = {float[2] {1, 2}, int64[2] {0, 7}}> {"
        " y = Add (x, s) }");
}

/* ---- more plans ---- */

static hone_status place(void *ctx, int i, hone_dtype dtype, int rank, const int64_t *dims,
                         void **to, hn_error *e) {
    (void)i, (void)dtype, (void)rank, (void)dims, (void)e;
    *to = ctx;
    return HONE_OK;
}

static float run(hn_engine *e, int64_t rows) {
    static float x[4 * 96], y[4 * 96];
    hn_tensor t = {0};
    hn_error err;
    for (int64_t i = 0; i < rows * 96; i++) x[i] = 1;
    assert_int_equal(hn_tensor_borrow(&t, HONE_DTYPE_F32, 4, (int64_t[]){rows, 96, 1, 1}, x, &err),
                     HONE_OK);
    if (hn_engine_run(e, (const hn_tensor *const[]){&t}, place, y, NULL, NULL, &err) != HONE_OK)
        fail_msg("%s", err.text);
    return y[0];
}

static void another_plan_packs_nothing(void **state) {
    (void)state;
    hn_model *m = model_inferred(
        "m (float[n,96,1,1] x) => (float[n,96,1,1] y) <int8[1] seed = {3}, float half = {0.5},"
        "  int64[4] square = {96, 96, 1, 1}> {\n"
        "  w = Expand (seed, square)\n"
        "  d = DequantizeLinear (w, half)\n"
        "  y = Conv (x, d)\n"
        "}");
    hn_allocator alloc;
    hn_engine *e;
    hn_error err;
    hn_allocator_init(&alloc);
    hn_engine_options o = {.alloc = &alloc, .isa = hn_isa_available(), .seed = 1};
    if (hn_engine_create(&e, m, &o, &err) != HONE_OK) fail_msg("%s", err.text);
    assert_true(run(e, 1) == 96 * 1.5f);
    size_t weights = hn_engine_memory_use(e).weights;
    assert_true(run(e, 3) == 96 * 1.5f);
    assert_true(run(e, 4) == 96 * 1.5f);
    assert_true(hn_engine_memory_use(e).weights <= 2 * weights);
    hn_engine_destroy(e);
    assert_int_equal(atomic_load(&alloc.live), 0);
}

static void allocations_that_fail(void **state) {
    (void)state;
    engine_survives(
        "m (float[1,24,9,9] x, int8[24,40,4,4] w, float[40] ws) => (float[1,40,20,20] y) {"
        " d = DequantizeLinear <axis = 1> (w, ws) y = ConvTranspose <strides = [2, 2]> (x, d) }");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dequantized_weights),        cmocka_unit_test(large_weights),
        cmocka_unit_test(weights_of_a_codebook),      cmocka_unit_test(sparse_weights),
        cmocka_unit_test(another_plan_packs_nothing), cmocka_unit_test(allocations_that_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

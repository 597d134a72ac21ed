/* What is found depends on the machine; that it holds together does not. */
#include "advise/slow_layers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "compress/layer_type.h"
#include "compress/quantize.h"
#include "support/method_model.h"
#include "support/scratch.h"

#define MODEL                                                                 \
    "m (float[16,32] x, float[32,32] w, float[32,32] w2) => (float[16,32] y)" \
    "{ h = MatMul (x, w) r = Relu (h) y = MatMul (r, w2) }"

static void check(const char *type, hn_program *original, const hn_tensor *x,
                  const hn_run_options *how) {
    hn_error err;
    hn_arena arena;
    hn_slow_layers slow;
    hn_model *m = method_model(MODEL, 1);
    hn_scheme s = {.layer = hn_layer_type_named(type)->layer,
                   .target = hn_quant_target_named("hone")};
    hn_arena_init(&arena, &scratch_mem, HN_MEM_OTHER);
    if (hn_quantize_model(m, &s, NULL, NULL, NULL, NULL, &err) != HONE_OK) fail_msg("%s", err.text);
    if (hn_slow_layers_find(&slow, original, m, how, &x, &arena, &err) != HONE_OK)
        fail_msg("%s", err.text);
    assert_true(slow.n <= 2);
    for (int i = 0; i < slow.n; i++) {
        assert_true(strcmp(slow.v[i].name, "h") == 0 || strcmp(slow.v[i].name, "y") == 0);
        assert_true(slow.v[i].f32_ms > 0 && slow.v[i].own_ms > slow.v[i].f32_ms);
    }
    hn_arena_deinit(&arena);
    hn_model_destroy(m);
}

static void only_slower_layers_are_listed(void **state) {
    (void)state;
    hn_error err;
    hn_pool *pool;
    hn_program *original;
    hn_tensor *x;
    hn_model *floats = method_model(MODEL, 1);
    assert_int_equal(hn_pool_create(&pool, 1, &scratch_mem, NULL), HONE_OK);
    hn_run_options how = {
        .engine = {.alloc = &scratch_mem, .pool = pool, .isa = hn_isa_available()}};
    assert_int_equal(hn_tensor_create(&x, &scratch_mem, HN_MEM_TENSOR, HONE_DTYPE_F32, 2,
                                      (const int64_t[]){16, 32}, &err),
                     HONE_OK);
    memset(x->data, 0, x->bytes);
    if (hn_program_create(&original, floats, &how, &err) != HONE_OK) fail_msg("%s", err.text);
    check("int8-dynamic", original, x, &how);
    check("int8-weights", original, x, &how);
    hn_program_destroy(original);
    hn_tensor_unref(x);
    hn_model_destroy(floats);
    hn_pool_destroy(pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(
        only_slower_layers_are_listed, scratch_setup, scratch_teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

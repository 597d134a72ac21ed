/* Values between products as bf16: the numbers are those of the plain executor within the bound of
 * bf16, and memory says what became half as large. */
#include "engine/storage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "support/engine_model.h"

/* Whether activations take less memory than by f32, where rows are that take bf16. */
static void takes_less(const char *text, bool less) {
    engine_facts f32 = engine_ran(text);
    engine_facts f = engine_ran_so(text, (engine_way){.precision = HN_PRECISION_BF16});
    if (less && (strstr(f.kernels, "amx1") != NULL || strstr(f.kernels, "_bf16") != NULL))
        assert_true(f.slab * 4 <= f32.slab * 3);
    else
        assert_int_equal(f.slab, f32.slab);
}

static void from_product_to_product(void **state) {
    (void)state;
    takes_less(
        "m (float[1,32,20,20] x, float[64,32,1,1] wa, float[32,64,3,3] wb) => "
        "(float[1,32,20,20] y) { a = Conv (x, wa) b = Relu (a) "
        "y = Conv <pads = [1, 1, 1, 1]> (b, wb) }",
        true);
    /* The residual and the pool in between. */
    takes_less(
        "m (float[1,32,20,20] x, float[64,32,1,1] wa, float[64,64,3,3] wb, float[32,64,1,1] wc) "
        "=> (float[1,32,10,10] y) { a = Conv (x, wa) b = Conv <pads = [1, 1, 1, 1]> (a, wb) "
        "s = Add (a, b) p = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (s) "
        "y = Conv (p, wc) }",
        true);
    takes_less(
        "m (float[64,48] x, float[48,96] wa, float[96] wb, float[96,40] wc) => (float[64,40] y) {"
        " a = MatMul (x, wa) b = Add (a, wb) c = Relu (b) y = MatMul (c, wc) }",
        true);
}

/* Nothing is gained, or lost, where a step knows floats only. */
static void others_keep_floats(void **state) {
    (void)state;
    takes_less(
        "m (float[1,32,20,20] x, float[64,32,1,1] wa, float[32,64,1,1] wb) => "
        "(float[1,32,20,20] y, float[1,64,20,20] z) { a = Conv (x, wa) z = Softmax <axis = 1> (a) "
        "y = Conv (a, wb) }",
        false);
    takes_less(
        "m (float[64,48] x, float[48,96] wa) => (float[64,96] y) { a = MatMul (x, wa) "
        "y = LpNormalization (a) }",
        false);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(from_product_to_product),
        cmocka_unit_test(others_keep_floats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

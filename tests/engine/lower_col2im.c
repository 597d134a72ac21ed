/* Col2Im through the engine and through the plain executor. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "support/engine_model.h"

static void windows(void **state) {
    (void)state;
    engine_agrees(
        "m (float[2,27,35] x) => (float[2,3,5,7] y)"
        " <int64[2] image = {5, 7}, int64[2] block = {3, 3}> {"
        " y = Col2Im <pads = [1, 1, 1, 1]> (x, image, block) }",
        "col2im_f32 Col2Im");
    engine_agrees(
        "m (float[1,8,9] x) => (float[1,2,10] y)"
        " <int64[1] image = {10}, int64[1] block = {4}> {"
        " y = Col2Im <pads = [1, 1]> (x, image, block) }",
        "col2im_f32 Col2Im");
    /* Tiles are a copy. */
    engine_agrees(
        "m (float[2,12,15] x) => (float[2,2,6,15] y)"
        " <int64[2] image = {6, 15}, int64[2] block = {2, 3}> {"
        " y = Col2Im <strides = [2, 3]> (x, image, block) }",
        "");
    engine_agrees(
        "m (double[1,4,9] x) => (double[1,1,4,4] y)"
        " <int64[2] image = {4, 4}, int64[2] block = {2, 2}> {"
        " y = Col2Im (x, image, block) }",
        "reference Col2Im");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(windows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* RotaryEmbedding through the engine and through the plain executor. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "support/engine_model.h"

#define ROPE "<ir_version: 11, opset_import: [\"\" : 23]> "

static void rotations(void **state) {
    (void)state;
    static const char step[] = "rotary_f32 RotaryEmbedding";
    for (int interleaved = 0; interleaved < 2; interleaved++)
        for (int part = 0; part < 2; part++) {
            int pairs = part ? 7 : 20;
            char text[512], attributes[96];
            snprintf(attributes, sizeof attributes, "interleaved = %d, rotary_embedding_dim = %d",
                     interleaved, part ? 14 : 0);
            snprintf(text, sizeof text,
                     ROPE
                     "m (float[2,3,5,40] x, float[2,5,%d] c, float[2,5,%d] s) =>"
                     " (float[2,3,5,40] y) { y = RotaryEmbedding <%s> (x, c, s) }",
                     pairs, pairs, attributes);
            engine_agrees(text, step);
            snprintf(text, sizeof text,
                     ROPE
                     "m (float[2,5,120] x, float[9,%d] w, float[9,%d] wc, int64[2,5] i) =>"
                     " (float[2,5,120] y) { p = Abs (i)"
                     " y = RotaryEmbedding <%s, num_heads = 3> (x, w, wc, p) }",
                     pairs, pairs, attributes);
            engine_agrees(text, "map_int Abs, rotary_f32 RotaryEmbedding");
            /* Heads that a transpose splits off are strides; elements that are apart are copied. */
            snprintf(text, sizeof text,
                     ROPE
                     "m (float[2,5,3,40] x, float[2,5,%d] c, float[2,5,%d] s) =>"
                     " (float[2,3,5,40] y) { t = Transpose <perm = [0, 2, 1, 3]> (x)"
                     " y = RotaryEmbedding <%s> (t, c, s) }",
                     pairs, pairs, attributes);
            assert_int_equal(engine_agrees(text, step), 0);
            snprintf(text, sizeof text,
                     ROPE
                     "m (float[40,5,3,2] x, float[2,5,%d] c, float[2,5,%d] s) =>"
                     " (float[2,3,5,40] y) { t = Transpose (x)"
                     " y = RotaryEmbedding <%s> (t, c, s) }",
                     pairs, pairs, attributes);
            engine_agrees(text, step);
        }
}

static void ids(void **state) {
    (void)state;
    static const int64_t good[] = {0, 3, 2}, over[] = {0, 4, 2}, under[] = {0, 3, -1};
    static const char text[] = ROPE
        "m (float[1,2,3,4] x, float[4,2] w, float[4,2] wc, int64[1,3] p) => (float[1,2,3,4] y) {"
        " y = RotaryEmbedding (x, w, wc, p) }";
    engine_refuses(text, over, good, "position id 4 is outside the cache of 4");
    engine_refuses(text, under, good, "position id -1 is outside the cache of 4");
}

static void memory(void **state) {
    (void)state;
    engine_survives(ROPE
                    "m (float[1,2,3,4] x, float[1,3,2] c, float[1,3,2] s) => (float[1,2,3,4] y) {"
                    " y = RotaryEmbedding (x, c, s) }");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rotations),
        cmocka_unit_test(ids),
        cmocka_unit_test(memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

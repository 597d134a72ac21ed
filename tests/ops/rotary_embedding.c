#include "support/op_test.h"

#define ROPE "RotaryEmbedding"
/* A quarter turn at position 0, none at position 1. */
#define COS "f32[2, 1]{0 1}"
#define SIN "f32[2, 1]{1 0}"

static void rotation(void **state) {
    (void)state;
    /* Two heads at two positions: (1, 2) -> (-2, 1) at position 0 */
    OP_RUN(ROPE, .in = {"f32[1, 2, 2, 2]{1 2 3 4 5 6 7 8}", COS, SIN, "s64[1, 2]{0 1}"},
           .out = {"f32[1, 2, 2, 2]{-2 1 3 4 -6 5 7 8}"});
    OP_RUN(ROPE, .attrs = "num_heads=2",
           .in = {"f32[1, 2, 4]{1 2 3 4 5 6 7 8}", COS, SIN, "s64[1, 2]{1 0}"},
           .out = {"f32[1, 2, 4]{1 2 3 4 -6 5 -8 7}"});
    OP_RUN(ROPE,
           .in = {"f16[2, 1, 1, 4]{1 2 3 4 5 6 7 8}", "f16[2, 1, 2]{0 1 1 0}",
                  "f16[2, 1, 2]{1 0 0 1}"},
           .out = {"f16[2, 1, 1, 4]{-3 2 1 4 5 -8 7 6}"});
    OP_RUN(ROPE, .attrs = "interleaved=1",
           .in = {"bf16[1, 1, 1, 4]{1 2 3 4}", "bf16[1, 1, 2]{0 1}", "bf16[1, 1, 2]{1 0}"},
           .out = {"bf16[1, 1, 1, 4]{-2 1 3 4}"});
    OP_RUN(ROPE, .attrs = "rotary_embedding_dim=2",
           .in = {"f32[1, 1, 1, 5]{1 2 3 4 5}", "f32[1, 1, 1]{0}", "f32[1, 1, 1]{1}"},
           .out = {"f32[1, 1, 1, 5]{-2 1 3 4 5}"});
    OP_RUN(ROPE, .in = {"f32[1, 1, 0, 2]{}", "f32[1, 0, 1]{}", "f32[1, 0, 1]{}"},
           .out = {"f32[1, 1, 0, 2]{}"});
    /* Longer than a block, and not turned. */
#define LONG "f32[1, 1, 1, 2048]{0 ..}"
    OP_RUN(ROPE, .in = {LONG, "f32[1, 1, 1024]{1 ...}", "f32[1, 1, 1024]{0 ...}"}, .out = {LONG});
    OP_RUN(ROPE, .attrs = "interleaved=1",
           .in = {LONG, "f32[1, 1, 1024]{1 ...}", "f32[1, 1, 1024]{0 ...}"}, .out = {LONG});
    OP_RUN(ROPE, .in = {"f32[1, 1, 1, 2]{1 2}", COS, SIN, "s64[1, 1]{2}"},
           .error = "position id 2 is outside the cache of 2");
    OP_RUN(ROPE, .in = {"f32[1, 1, 1, 2]{1 2}", COS, SIN, "s64[1, 1]{-1}"},
           .error = "position id -1");
}

static void shapes(void **state) {
    (void)state;
    OP_INFER(ROPE, .in = {"f32[b, 8, s, 64]", "f32[m, 32]", "f32[m, 32]", "s64[b, s]"},
             .out = {"f32[b, 8, s, 64]"});
    OP_INFER(ROPE, .in = {"f32", "f32", "f32"}, .out = {"f32"});
#define WRONG(attrs_, error_, ...) \
    OP_INFER(ROPE, .attrs = attrs_, .in = {__VA_ARGS__}, .error = error_)
    WRONG("", "input 0 has rank 2", "f32[4, 4]", "f32", "f32");
    WRONG("", "input 1 has rank 2, expected 3", "f32", "f32[4, 4]", "f32");
    WRONG("", "input 2 has rank 3, expected 2", "f32", "f32", "f32[4, 4, 4]", "s64");
    WRONG("", "needs attribute 'num_heads'", "f32[1, 2, 4]", "f32", "f32");
    WRONG("num_heads=3", "3 heads cannot share", "f32[1, 2, 4]", "f32", "f32");
    WRONG("", "3 elements of a head cannot be rotated in pairs", "f32[1, 1, 2, 3]", "f32", "f32");
    WRONG("rotary_embedding_dim=6", "expected 0 to the head size 4", "f32[1, 1, 2, 4]", "f32",
          "f32");
    WRONG("rotary_embedding_dim=-2", "rotary_embedding_dim is -2", "f32[1, 1, 2, 4]", "f32", "f32");
    WRONG("", "input 2 has 1 angles per position, expected 2", "f32[1, 1, 2, 4]", "f32[1, 2, 2]",
          "f32[1, 2, 1]");
    WRONG("", "positions of X and of its angles", "f32[1, 1, 2, 4]", "f32[1, 3, 2]", "f32");
    WRONG("", "samples of X", "f32[1, 1, 2, 4]", "f32", "f32", "s64[2, 2]");
    WRONG("", "cos_cache and sin_cache", "f32", "f32[5, 2]", "f32[6, 2]", "s64");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rotation),
        cmocka_unit_test(shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

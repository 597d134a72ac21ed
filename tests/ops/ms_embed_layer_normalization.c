#include "support/op_test.h"

#define EMBED "com.microsoft.EmbedLayerNormalization"
#define IDS "s32[2, 2]{0 1 1 0}"
#define WORDS "f32[2, 2]{0 2 10 16}"
#define PLACES "f32[2, 2]{0 0 1 1}"
#define AFFINE "f32[2]{1 1}", "f32[2]{0 5}"

static void sums(void **state) {
    (void)state;
    OP_RUN(EMBED, .attrs = "epsilon=0.0",
           .in = {IDS, "", WORDS, PLACES, "", AFFINE, "s32[2, 2]{1 0 2 1}"},
           .out = {"f32[2, 2, 2]{-1 6 -1 6 -1 6 -1 6}", "s32[2]{1 1}",
                   "f32[2, 2, 2]{0 2 11 17 10 16 1 3}"});
    OP_RUN(EMBED, .attrs = "epsilon=0.0",
           .in = {IDS, "s32[2, 2]{0 0 0 1}", WORDS, PLACES, "f32[2, 2]{100 100 200 200}", AFFINE,
                  "", "s32[1, 2]{1 0}"},
           .out = {"f32[2, 2, 2]", "s32[2]{0 0}", "f32[2, 2, 2]{101 103 110 116 111 117 200 202}"});
    OP_RUN(EMBED, .attrs = "epsilon=0.0",
           .in = {"s32[1, 1]{1}", "", "f16[2, 2]{0 2 10 16}", "f16[2, 2]{0 0 1 1}", "",
                  "f16[2]{1 1}", "f16[2]{0 5}"},
           .out = {"f16[1, 1, 2]{-1 6}"});
    OP_RUN(EMBED, .in = {"s32[2, 0]{}", "", WORDS, PLACES, "", AFFINE},
           .out = {"f32[2, 0, 2]{}", "s32[2]{0 0}"});
    OP_RUN(EMBED, .in = {"s32[1, 1]{2}", "", WORDS, PLACES, "", AFFINE},
           .error = "word id 2 is outside [0, 2)");
    OP_RUN(EMBED, .in = {"s32[1, 3]{0 0 0}", "", WORDS, PLACES, "", AFFINE},
           .error = "position id 2 is outside [0, 2)");
    OP_RUN(EMBED, .in = {"s32[1, 1]{0}", "s32[1, 1]{-1}", WORDS, PLACES, WORDS, AFFINE},
           .error = "segment id -1");
}

static void shapes(void **state) {
    (void)state;
    OP_INFER(EMBED, .in = {"s32[b, s]", "", "f16[v, 8]", "f16", "", "f16", "f16"},
             .out = {"f16[b, s, 8]", "s32[b]", "f16[b, s, 8]"});
    OP_INFER(EMBED, .in = {"s32", "", "f16[v, 8]", "f16", "", "f16", "f16"}, .out = {"f16"});
#define WRONG(error_, ...) OP_INFER(EMBED, .in = {__VA_ARGS__}, .error = error_)
    WRONG("input 0 has rank 1", "s32[2]", "", WORDS, PLACES, "", AFFINE);
    WRONG("go together", IDS, IDS, WORDS, PLACES, "", AFFINE);
    WRONG("sizes of the embeddings differ: 2 and 3", IDS, "", WORDS, "f32[2, 3]", "", AFFINE);
    WRONG("input 5 has 3 elements", IDS, "", WORDS, PLACES, "", "f32[3]", "f32[2]");
    WRONG("samples of input_ids", IDS, "", WORDS, PLACES, "", AFFINE, "s32[1, 2]");
    WRONG("positions of input_ids", IDS, "", WORDS, PLACES, "", AFFINE, "", "s32[1, 1]");
    WRONG("samples of input_ids", IDS, "", WORDS, PLACES, "", AFFINE, "", "s32[3, 2]");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums),
        cmocka_unit_test(shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

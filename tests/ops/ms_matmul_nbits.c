#include "support/op_test.h"

#define NBITS "com.microsoft.MatMulNBits"

/* A row of ones adds up the weights: 16 codes to a block. */
static void codes(void **state) {
    (void)state;
    /* 4 bits: codes 1 and 2 in the first byte, then 8, which is zero. */
    OP_RUN(NBITS, .attrs = "K=16 N=1 block_size=16",
           .in = {"f32[1, 16]{1 ...}", "u8[1, 1, 8]{33 136 ...}", "f32[1, 1]{0.5}"},
           .out = {"f32[1, 1]{-6.5}"});
    OP_RUN(NBITS, .attrs = "K=16 N=1 block_size=16 bits=2",
           .in = {"f32[1, 16]{1 10 100 1000 0 ...}", "u8[1, 1, 4]{228 170 170 170}", "f32[1]{1}"},
           .out = {"f32[1, 1]{988}"});
    OP_RUN(NBITS, .attrs = "K=16 N=1 block_size=16 bits=8",
           .in = {"f32[1, 16]{1 1 0 ...}", "u8[1, 1, 16]{130 255 0 ...}", "f32[1]{1}"},
           .out = {"f32[1, 1]{129}"});
}

/* Two blocks, the second cut short; zero points packed, then as floats; g_idx; bias. */
static void blocks(void **state) {
    (void)state;
    OP_RUN(NBITS, .attrs = "K=17 N=2 block_size=16",
           .in = {"f32[1, 17]{1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1}",
                  "u8[2, 2, 8]{5 0 0 0 0 0 0 0 7 0 0 0 0 0 0 0 3 0 0 0 0 0 0 0 4 0 0 0 0 0 0 0}",
                  "f32[2, 2]{1 10 100 1000}", "u8[2, 1]{50 0}"},
           .out = {"f32[1, 2]{43 4300}"});
    OP_RUN(NBITS, .attrs = "K=17 N=1 block_size=16",
           .in = {"f16[1, 17]{1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1}",
                  "u8[1, 2, 8]{5 0 0 0 0 0 0 0 7 0 0 0 0 0 0 0}", "f16[2]{1 10}", "f16[2]{4.5 6}",
                  "s32[17]{1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0}", "f16[1]{100}"},
           .out = {"f16[1, 1]{92.5}"});
    OP_RUN(NBITS, .attrs = "K=17 N=1 block_size=16",
           .in = {"f32[1, 17]{0 ...}", "u8[1, 2, 8]{0 ...}", "f32[2]{1 10}", "",
                  "s32[17]{0 0 0 2 0 ...}"},
           .error = "g_idx holds 2, expected 0 to 1");
    OP_RUN(NBITS, .attrs = "K=16 N=1 block_size=16",
           .in = {"f32[0, 16]{}", "u8[8]{0 ...}", "f32[1]{1}"}, .out = {"f32[0, 1]{}"});
}

static void shapes(void **state) {
    (void)state;
    OP_INFER(NBITS, .attrs = "K=64 N=8 block_size=32",
             .in = {"f32[b, s, 64]", "u8[8, 2, 16]", "f32[8, 2]", "u8[8, 1]", "", "f32[8]"},
             .out = {"f32[b, s, 8]"});
    OP_INFER(NBITS, .attrs = "K=64 N=8 block_size=32", .in = {"f32", "u8", "f32"}, .out = {"f32"});
    OP_INFER(NBITS, .attrs = "K=64 N=8 block_size=32",
             .in = {"f32[1, 32]", "u8[8, 2, 16]", "f32[8, 2]"},
             .error = "columns of A and attribute 'K' differ: 32 and 64");
    OP_INFER(NBITS, .attrs = "K=64 N=8 block_size=32",
             .in = {"f32[1, 64]", "u8[8, 2, 8]", "f32[8, 2]"},
             .error = "input 1 has 128 elements, expected 256");
    OP_INFER(NBITS, .attrs = "K=64 N=8 block_size=32",
             .in = {"f32[1, 64]", "u8[8, 2, 16]", "f32[8]"},
             .error = "input 2 has 8 elements, expected 16");
    OP_INFER(NBITS, .attrs = "K=64 N=8 block_size=32",
             .in = {"f32[1, 64]", "u8[8, 2, 16]", "f32[16]", "f32[8]"},
             .error = "input 3 has 8 elements, expected 16");
    OP_INFER(NBITS, .attrs = "K=64 N=8 block_size=32",
             .in = {"f32[1, 64]", "u8[8, 2, 16]", "f32[16]", "", "s32[63]"},
             .error = "g_idx has 63 elements, expected 64");
    OP_INFER(NBITS, .attrs = "K=64 N=8 block_size=24", .in = {"f32[1, 64]", "u8", "f32"},
             .error = "'block_size' is 24");
    OP_INFER(NBITS, .attrs = "K=64 N=8 block_size=32 bits=3", .in = {"f32[1, 64]", "u8", "f32"},
             .error = "'bits' is 3, expected 2, 4 or 8");
    OP_INFER(NBITS, .attrs = "K=0 N=8 block_size=32", .in = {"f32[1, 64]", "u8", "f32"},
             .error = "attributes 'K' and 'N' are 0 and 8");
    OP_INFER(NBITS, .attrs = "K=64 N=8 block_size=32 weight_prepacked=1",
             .in = {"f32[1, 64]", "u8", "f32"}, .error = "laid out for one device");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codes),
        cmocka_unit_test(blocks),
        cmocka_unit_test(shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

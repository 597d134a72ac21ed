/* What ONNX Runtime's CPU kernels do is compared with them in tests/compare; here is what they do
 * not: packed inputs, 4-d masks, the scores as an output, errors. Queries of 0 look at all keys
 * alike. */
#include "support/op_test.h"

#define ATTENTION "com.microsoft.Attention"
#define MULTI_HEAD "com.microsoft.MultiHeadAttention"

static void projection(void **state) {
    (void)state;
    /* Queries are 0, keys 0, values twice the input; without bias, then with. */
    OP_RUN(ATTENTION, .attrs = "num_heads=1", .in = {"f32[1, 2, 1]{1 3}", "f32[1, 3]{0 0 2}"},
           .out = {"f32[1, 2, 1]{4 4}", "f32[2, 1, 1, 2, 1]{0 0 2 6}"});
    OP_RUN(ATTENTION, .attrs = "num_heads=2",
           .in = {"f16[1, 2, 1]{1 3}", "f16[1, 6]{0 0 0 0 2 1}", "f16[6]{0 0 5 5 1 10}"},
           .out = {"f16[1, 2, 2]{5 12 5 12}"});
    OP_RUN(ATTENTION, .attrs = "num_heads=1", .in = {"f32[0, 2, 1]{}", "f32[1, 3]{0 0 2}"},
           .out = {"f32[0, 2, 1]{}"});
    OP_RUN(ATTENTION, .attrs = "num_heads=1",
           .in = {"f32[1, 0, 1]{}", "f32[1, 3]{0 0 2}", "", "", "f32[2, 1, 1, 1, 1]{7 8}"},
           .out = {"f32[1, 0, 1]{}", "f32[2, 1, 1, 1, 1]{7 8}"});
    OP_RUN(ATTENTION, .attrs = "num_heads=1 do_rotary=1",
           .in = {"f32[1, 2, 1]{1 3}", "f32[1, 3]{0 0 2}"}, .error = "do_rotary");
    OP_RUN(ATTENTION, .attrs = "num_heads=1 past_present_share_buffer=1",
           .in = {"f32[1, 2, 1]{1 3}", "f32[1, 3]{0 0 2}"}, .error = "past_present_share_buffer");
}

static void masks(void **state) {
    (void)state;
    /* Row past + query of a mask for 4 positions. */
    OP_RUN(ATTENTION, .attrs = "num_heads=1",
           .in = {"f32[1, 2, 1]{4 8}", "f32[1, 3]{0 0 1}", "",
                  "s32[1, 1, 4, 4]{0 0 0 0  1 0 1 0  0 1 1 0  0 0 0 0}", "f32[2, 1, 1, 1, 1]{0 2}"},
           .out = {"f32[1, 2, 1]{5 6}"});
    /* A query that may look at nothing looks at everything, a little lower. */
    OP_RUN(ATTENTION, .attrs = "num_heads=1",
           .in = {"f32[1, 2, 1]{1 3}", "f32[1, 3]{0 0 1}", "", "s32[1]{0}"},
           .out = {"f32[1, 2, 1]{2 2}"});
    OP_RUN(ATTENTION, .attrs = "num_heads=1",
           .in = {"f32[1, 2, 1]{1 3}", "f32[1, 3]{0 0 1}", "", "s32[2]{2 1}"},
           .out = {"f32[1, 2, 1]{3 3}"});
    OP_RUN(MULTI_HEAD, .attrs = "num_heads=1 unidirectional=1",
           .in = {"f32[1, 2, 1]{0 0}", "f32[1, 2, 1]{0 0}", "f32[1, 2, 1]{1 3}", "",
                  "s32[1, 2]{0 1}", "f32[1, 1, 2, 2]{1 2 3 4}"},
           .out = {"f32[1, 2, 1]{1 3}", "", "",
                   "f32[1, 1, 2, 2]{-9999 -3.4028234663852886e38 -9997 4}"});
}

static void packed(void **state) {
    (void)state;
    /* Two heads of one element: q k v of the first, of the second; then the next position. */
    OP_RUN(MULTI_HEAD, .attrs = "num_heads=2",
           .in = {"f32[1, 2, 2, 3, 1]{0 5 1 0 6 10 0 7 3 0 8 30}"},
           .out = {"f32[1, 2, 2]{2 20 2 20}", "f32[1, 2, 2, 1]{5 7 6 8}",
                   "f32[1, 2, 2, 1]{1 3 10 30}"});
    OP_RUN(MULTI_HEAD, .attrs = "num_heads=2",
           .in = {"f32[1, 1, 2, 3, 1]{0 5 1 0 6 10}", "", "", "f32[6]{0 0 1 2 100 200}"},
           .out = {"f32[1, 1, 2]{101 210}", "f32[1, 2, 1, 1]{6 8}"});
    OP_RUN(MULTI_HEAD, .attrs = "num_heads=2",
           .in = {"bf16[1, 1, 2]{0 0}", "bf16[1, 2, 2, 2, 1]{5 1 6 10 7 3 8 30}"},
           .out = {"bf16[1, 1, 2]{2 20}", "bf16[1, 2, 2, 1]{5 7 6 8}"});
    OP_RUN(MULTI_HEAD, .attrs = "num_heads=1",
           .in = {"f32[1, 1, 1]{0}", "f32[1, 1, 1]{0}", "f32[1, 1, 1]{0}", "", "", "", "", "",
                  "s32[1]{0}"},
           .error = "past_sequence_length");
}

/* More heads than there is anything to share among. */
static void empty(void **state) {
    (void)state;
    OP_RUN(MULTI_HEAD, .attrs = "num_heads=4611686018427387903",
           .in = {"f32[1, 1, 0]{}", "f32[1, 1, 0]{}", "f32[1, 1, 0]{}", "f32[0]{}"},
           .out = {"f32[1, 1, 0]{}"});
    OP_RUN(ATTENTION, .attrs = "num_heads=4611686018427387903",
           .in = {"f32[2, 1, 1]{1 1}", "f32[1, 0]{}"}, .out = {"f32[2, 1, 0]{}"});
}

static void attention_shapes(void **state) {
    (void)state;
    OP_INFER(
        ATTENTION, .attrs = "num_heads=4",
        .in = {"f16[b, s, 32]", "f16[32, 96]", "f16[96]", "s32[b, p + s]", "f16[2, b, 4, p, 8]"},
        .out = {"f16[b, s, 32]", "f16[2, b, 4, p + s, 8]"});
    OP_INFER(ATTENTION, .attrs = "num_heads=4 qkv_hidden_sizes=[32, 32, 64]",
             .in = {"f32[b, s, 32]", "f32[32, 128]"}, .out = {"f32[b, s, 64]"});
    OP_INFER(ATTENTION, .attrs = "num_heads=4", .in = {"f32", "f32[32, 96]"}, .out = {"f32"});
#define WRONG(error_, ...) \
    OP_INFER(ATTENTION, .attrs = "num_heads=2", .in = {__VA_ARGS__}, .error = error_)
#define XW "f32[2, 3, 4]", "f32[4, 12]"
    WRONG("rank 2", "f32[3, 4]", "f32[4, 12]");
    WRONG("rows of the weights differ: 4 and 5", "f32[2, 3, 4]", "f32[5, 12]");
    WRONG("weights have 10 columns", "f32[2, 3, 4]", "f32[4, 10]");
    WRONG("9 elements per position, which 2 heads cannot share", "f32[2, 3, 4]", "f32[4, 27]");
    WRONG("elements of the bias", XW, "f32[11]");
    WRONG("mask of 3 numbers for 2 samples", XW, "", "s32[3]");
    WRONG("keys of the mask", XW, "", "s32[2, 4]");
    WRONG("queries of the mask", XW, "", "s32[2, 4, 3]");
    WRONG("heads of the mask", XW, "", "s32[2, 2, 3, 3]");
    WRONG("mask for at most 2 positions, there are 3", XW, "", "s32[2, 1, 2, 2]");
    WRONG("samples of past", XW, "", "", "f32[2, 1, 2, 5, 2]");
    WRONG("head sizes of past", XW, "", "", "f32[2, 2, 2, 5, 3]");
    WRONG("does not broadcast", XW, "", "", "", "f32[3, 1, 3, 3]");
    WRONG("queries of the bias", XW, "", "", "", "f32[1, 1, 1, 3]");
    OP_INFER(ATTENTION, .attrs = "num_heads=0", .in = {XW}, .error = "num_heads is 0");
    OP_INFER(ATTENTION, .attrs = "num_heads=1 qkv_hidden_sizes=[4, 8]", .in = {XW},
             .error = "qkv_hidden_sizes has 2 sizes");
    OP_INFER(ATTENTION, .attrs = "num_heads=1 qkv_hidden_sizes=[-4, -4, 20]", .in = {XW},
             .error = "qkv_hidden_sizes holds -4");
    OP_INFER(ATTENTION, .attrs = "num_heads=1 qkv_hidden_sizes=[3, 3, 6]", .in = {XW},
             .out = {"f32", "f32"}, .error = "head sizes of key and value, with a past");
}

static void multi_head_shapes(void **state) {
    (void)state;
    OP_INFER(MULTI_HEAD, .attrs = "num_heads=4",
             .in = {"f16[b, q, 32]", "f16[b, k, 32]", "f16[b, k, 64]", "f16[128]", "", "",
                    "f16[b, 4, p, 8]", "f16[b, 4, p, 16]"},
             .out = {"f16[b, q, 64]", "f16[b, 4, p + k, 8]", "f16[b, 4, p + k, 16]",
                     "f16[b, 4, q, p + k]"});
    OP_INFER(MULTI_HEAD, .attrs = "num_heads=4", .in = {"f32[b, s, 4, 3, 8]"},
             .out = {"f32[b, s, 32]", "f32[b, 4, s, 8]"});
    OP_INFER(MULTI_HEAD, .attrs = "num_heads=4",
             .in = {"f32[b, q, 32]", "f32[b, 4, k, 8]", "f32[b, 4, k, 8]"},
             .out = {"f32[b, q, 32]", "f32[b, 4, k, 8]"});
    OP_INFER(MULTI_HEAD, .attrs = "num_heads=4", .in = {"f32[b, q, 32]", "f32", "f32"},
             .out = {"f32", "f32", "f32", "f32"});
#undef WRONG
#define WRONG(error_, ...) \
    OP_INFER(MULTI_HEAD, .attrs = "num_heads=2", .in = {__VA_ARGS__}, .error = error_)
#define QKV "f32[1, 3, 4]", "f32[1, 5, 4]", "f32[1, 5, 4]"
    WRONG("query has rank 4", "f32[1, 2, 3, 4]", "f32", "f32");
    WRONG("query of rank 3 needs key", "f32[1, 3, 4]");
    WRONG("query of rank 5 holds key", "f32[1, 3, 2, 3, 2]", "f32", "f32");
    WRONG("value without key", "f32", "", "f32");
    WRONG("key of rank 3 needs value", "f32[1, 3, 4]", "f32[1, 3, 4]");
    WRONG("key of rank 5 holds value", "f32[1, 3, 4]", "f32[1, 3, 2, 2, 2]", "f32");
    WRONG("key has rank 3, value 4", "f32[1, 3, 4]", "f32[1, 3, 4]", "f32[1, 2, 3, 2]");
    WRONG("packed heads and their number differ: 2 and 3", "f32[1, 3, 2, 2, 2]");
    WRONG("packed heads and their number differ: 3 and 2", "f32[1, 3, 4]", "f32[1, 3, 2, 3, 2]");
    WRONG("num_heads differ: 3 and 2", "f32[1, 3, 4]", "f32[1, 3, 5, 2]", "f32[1, 3, 5, 2]");
    WRONG("head sizes of query and key", "f32[1, 3, 4]", "f32[1, 5, 6]", "f32[1, 5, 4]");
    WRONG("positions of key and value", "f32[1, 3, 4]", "f32[1, 5, 4]", "f32[1, 6, 4]");
    WRONG("samples of query and value", "f32[1, 3, 4]", "f32[1, 5, 4]", "f32[2, 5, 4]");
    WRONG("elements of the bias", QKV, "f32[10]");
    WRONG("keys of the mask", QKV, "", "s32[1, 4]");
    WRONG("past_key and past_value go together", QKV, "", "", "", "f32");
    WRONG("positions of past_key and past_value", QKV, "", "", "", "f32[1, 2, 3, 2]",
          "f32[1, 2, 4, 2]");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(projection),
        cmocka_unit_test(masks),
        cmocka_unit_test(packed),
        cmocka_unit_test(attention_shapes),
        cmocka_unit_test(multi_head_shapes),
        cmocka_unit_test(empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

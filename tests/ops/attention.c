/* Queries of 0 score every key alike: the weights are equal over the keys that may be looked at,
 * and the output is the mean of their values. */
#include "support/op_test.h"

#define ZERO4 "f32[1, 1, 4, 1]{0 ...}"
#define KEYS "f32[1, 1, 4, 1]{1 ...}"
#define VALUES "f32[1, 1, 4, 1]{1 2 4 8}"

static void layouts(void **state) {
    (void)state;
    OP_RUN("Attention", .in = {ZERO4, KEYS, VALUES}, .out = {"f32[1, 1, 4, 1]{3.75 ...}"});
    /* Weights 1/4 and 3/4: a score of ln 3 against 0. */
    OP_RUN("Attention", .attrs = "scale=0.5",
           .in = {"f64[1, 1, 1, 2]{1.0986122886681098 0}", "f64[1, 1, 2, 2]{0 5 2 7}",
                  "f64[1, 1, 2, 3]{4 8 0 0 4 4}"},
           .out = {"f64[1, 1, 1, 3]{1 5 3}"}, .tolerance = 1e-12);
    /* Two heads inside one axis, values of another size and type. */
    OP_RUN(
        "Attention", .attrs = "q_num_heads=2 kv_num_heads=2",
        .in = {"f32[1, 1, 2]{0 0}", "f32[1, 2, 2]{1 2 3 4}", "f16[1, 2, 4]{0 2 10 12 4 6 20 22}"},
        .out = {"f32[1, 1, 4]{2 4 15 17}", "f32[1, 2, 2, 1]{1 3 2 4}",
                "f16[1, 2, 2, 2]{0 2 4 6 10 12 20 22}", "f32[1, 2, 1, 2]{0 ...}"});
    /* Query heads 0, 1 share the first key head, 2, 3 the second. */
    OP_RUN("Attention",
           .in = {"f32[1, 4, 1, 1]{0 ...}", "f32[1, 2, 2, 1]{1 ...}", "f32[1, 2, 2, 1]{1 3 5 9}"},
           .out = {"f32[1, 4, 1, 1]{2 2 7 7}"});
    /* More scores than are made at once. */
    OP_RUN("Attention",
           .in = {"f32[1, 2, 1, 1]{0 0}", "f32[1, 1, 600000, 1]{1 ...}",
                  "f32[1, 1, 600000, 1]{3 ...}"},
           .out = {"f32[1, 2, 1, 1]{3 3}"});
}

static void masks(void **state) {
    (void)state;
    OP_RUN("Attention", .attrs = "is_causal=1", .in = {ZERO4, KEYS, VALUES},
           .out = {"f32[1, 1, 4, 1]{1 1.5 2.3333333 3.75}"});
    OP_RUN("Attention", .attrs = "left_window_size=1", .in = {ZERO4, KEYS, VALUES},
           .out = {"f32[1, 1, 4, 1]{3.75 3.75 4.6666667 6}"});
    OP_RUN("Attention", .attrs = "right_window_size=1", .in = {ZERO4, KEYS, VALUES},
           .out = {"f32[1, 1, 4, 1]{1.5 2.3333333 3.75 3.75}"});
    OP_RUN("Attention", .attrs = "left_window_size=1 right_window_size=1 is_causal=1",
           .in = {ZERO4, KEYS, VALUES}, .out = {"f32[1, 1, 4, 1]{1 1.5 3 6}"});
    OP_RUN("Attention",
           .attrs = "left_window_size=9223372036854775807 right_window_size=9223372036854775807",
           .in = {ZERO4, KEYS, VALUES}, .out = {"f32[1, 1, 4, 1]{3.75 ...}"});
    /* bool, one row for all queries; shorter than the keys; nothing left for the second query */
    OP_RUN("Attention", .in = {ZERO4, KEYS, VALUES, "bool[4]{1 0 1 0}"},
           .out = {"f32[1, 1, 4, 1]{2.5 ...}"});
    OP_RUN("Attention", .attrs = "qk_matmul_output_mode=2",
           .in = {"f32[1, 1, 2, 1]{0 0}", KEYS, VALUES, "bool[2, 2]{1 1 0 0}"},
           .out = {"f32[1, 1, 2, 1]{1.5 0}", "", "",
                   "f32[1, 1, 2, 4]{0 0 -inf -inf -inf -inf -inf -inf}"});
    OP_RUN("Attention", .attrs = "qk_matmul_output_mode=3",
           .in = {"f32[1, 1, 2, 1]{0 0}", KEYS, VALUES, "f32[2, 1]{-inf 7}"},
           .out = {"f32[1, 1, 2, 1]{0 1}", "", "", "f32[1, 1, 2, 4]{0 0 0 0 1 0 0 0}"});
    OP_RUN("Attention",
           .in = {"f32[2, 1, 1, 1]{0 0}", "f32[2, 1, 2, 1]{0 ...}", "f32[2, 1, 2, 1]{1 2 3 4}",
                  "s32[2, 1, 1, 2]{0 -100 -100 0}"},
           .out = {"f32[2, 1, 1, 1]{1 4}"});
}

static void caches(void **state) {
    (void)state;
    OP_RUN("Attention", .attrs = "is_causal=1",
           .in = {"f32[1, 1, 2, 1]{0 0}", "f32[1, 1, 2, 1]{3 4}", "f32[1, 1, 2, 1]{4 8}", "",
                  "f32[1, 1, 2, 1]{1 2}", "f32[1, 1, 2, 1]{1 2}"},
           .out = {"f32[1, 1, 2, 1]{2.3333333 3.75}", "f32[1, 1, 4, 1]{1 2 3 4}",
                   "f32[1, 1, 4, 1]{1 2 4 8}"});
    OP_RUN("Attention", .attrs = "left_window_size=0 right_window_size=0",
           .in = {"f32[1, 1, 2, 1]{0 0}", "f32[1, 1, 2, 1]{3 4}", "f32[1, 1, 2, 1]{4 8}", "",
                  "f32[1, 1, 2, 1]{1 2}", "f32[1, 1, 2, 1]{1 2}"},
           .out = {"f32[1, 1, 2, 1]{4 8}"});
    /* Lengths 3 and 1 of 4 places; causal, the two queries are the last two of 3, and with one key
     * the first query comes before all. */
    OP_RUN("Attention", .attrs = "is_causal=1",
           .in = {"f32[2, 1, 2, 1]{0 ...}", "f32[2, 1, 4, 1]{1 ...}",
                  "f32[2, 1, 4, 1]{1 2 4 8 1 2 4 8}", "", "", "", "s64[2]{3 1}"},
           .out = {"f32[2, 1, 2, 1]{1.5 2.3333333 0 1}"});
    OP_RUN("Attention", .in = {"f32[1, 1, 1, 1]{0}", KEYS, VALUES, "", "", "", "s64[1]{5}"},
           .error = "nonpad_kv_seqlen of sample 0 is 5, expected 0 to 4");
    OP_RUN("Attention", .in = {"f32[1, 1, 1, 1]{0}", KEYS, VALUES, "", "", "", "s64[1]{-1}"},
           .error = "is -1");
}

static void precision(void **state) {
    (void)state;
    /* tanh(2 / 2) * 2 */
    OP_RUN("Attention", .attrs = "softcap=2.0 qk_matmul_output_mode=1",
           .in = {"f32[1, 1, 1, 1]{2}", "f32[1, 1, 1, 1]{1}", "f32[1, 1, 1, 1]{5}"},
           .out = {"f32[1, 1, 1, 1]{5}", "", "", "f32[1, 1, 1, 1]{1.5231883}"});
    /* 1/3 in bfloat16 */
    OP_RUN("Attention", .attrs = "softmax_precision=16 qk_matmul_output_mode=3",
           .in = {"f32[1, 1, 1, 1]{0}", "f32[1, 1, 3, 1]{0 ...}", "f32[1, 1, 3, 1]{1 ...}"},
           .out = {"f32[1, 1, 1, 1]{1.001953125}", "", "", "f32[1, 1, 1, 3]{0.333984375 ...}"});
    OP_RUN("Attention", .in = {"f32[1, 1, 1, 1]{nan}", KEYS, VALUES},
           .out = {"f32[1, 1, 1, 1]{nan}"});
}

static void empty(void **state) {
    (void)state;
    OP_RUN("Attention", .in = {"f32[1, 1, 2, 1]{0 0}", "f32[1, 1, 0, 1]{}", "f32[1, 1, 0, 3]{}"},
           .out = {"f32[1, 1, 2, 3]{0 ...}", "f32[1, 1, 0, 1]{}"});
    OP_RUN("Attention", .in = {"f32[1, 1, 1, 0]{}", "f32[1, 1, 2, 0]{}", "f32[1, 1, 2, 1]{1 3}"},
           .out = {"f32[1, 1, 1, 1]", "f32[1, 1, 2, 0]{}", "f32[1, 1, 2, 1]{1 3}"});
    OP_RUN("Attention", .in = {"f32[0, 1, 2, 1]{}", "f32[0, 1, 2, 1]{}", "f32[0, 1, 2, 1]{}"},
           .out = {"f32[0, 1, 2, 1]{}"});
}

static void shapes(void **state) {
    (void)state;
    OP_INFER(
        "Attention", .in = {"f16[b, 8, q, 64]", "f16[b, 2, k, 64]", "f16[b, 2, k, 32]"},
        .out = {"f16[b, 8, q, 32]", "f16[b, 2, k, 64]", "f16[b, 2, k, 32]", "f16[b, 8, q, k]"});
    OP_INFER("Attention", .attrs = "q_num_heads=8 kv_num_heads=2",
             .in = {"f32[b, q, 512]", "f32[b, k, 128]", "f16[b, k, 64]", "", "f32[b, 2, p, 64]",
                    "f16[b, 2, p, 32]"},
             .out = {"f32[b, q, 256]", "f32[b, 2, p + k, 64]", "f16[b, 2, p + k, 32]",
                     "f32[b, 8, q, p + k]"});
    OP_INFER("Attention", .in = {"f32", "f32[b, 2, k, 64]", "f32"}, .out = {"f32"});
#define WRONG(error_, ...) OP_INFER("Attention", .in = {__VA_ARGS__}, .error = error_)
    WRONG("rank 2", "f32[4, 4]", "f32", "f32");
    WRONG("ranks 4, 3 and 4", "f32[1, 2, 3, 4]", "f32[1, 2, 3]", "f32[1, 2, 3, 4]");
    WRONG("needs attribute 'q_num_heads'", "f32[1, 2, 3]", "f32[1, 2, 3]", "f32[1, 2, 3]");
    WRONG("3 query heads cannot share 2 key heads", "f32[1, 3, 1, 4]", "f32[1, 2, 1, 4]",
          "f32[1, 2, 1, 4]");
    WRONG("head sizes of Q and K", "f32[1, 2, 1, 4]", "f32[1, 2, 1, 5]", "f32[1, 2, 1, 4]");
    WRONG("positions of K and V", "f32[1, 2, 1, 4]", "f32[1, 2, 1, 4]", "f32[1, 2, 2, 4]");
    WRONG("samples of Q and V", "f32[1, 2, 1, 4]", "f32[1, 2, 1, 4]", "f32[2, 2, 1, 4]");
    WRONG("attn_mask of shape [2, 1]: axis 0 has 2, expected 1 or 1", "f32[1, 2, 1, 4]",
          "f32[1, 2, 3, 4]", "f32[1, 2, 3, 4]", "bool[2, 1]");
    WRONG("axis 1 has 4, expected at most 3", "f32[1, 2, 1, 4]", "f32[1, 2, 3, 4]",
          "f32[1, 2, 3, 4]", "bool[1, 4]");
    WRONG("past_key and past_value go together", "f32", "f32", "f32", "", "f32[1, 2, 3, 4]");
    WRONG("nonpad_kv_seqlen does not go with", "f32", "f32", "f32", "", "f32", "f32", "s64[1]");
    WRONG("heads of the past", "f32[1, 2, 1, 4]", "f32[1, 2, 1, 4]", "f32[1, 2, 1, 4]", "",
          "f32[1, 1, 3, 4]", "f32[1, 2, 3, 4]");
    WRONG("positions of past_key and past_value", "f32[1, 2, 1, 4]", "f32[1, 2, 1, 4]",
          "f32[1, 2, 1, 4]", "", "f32[1, 2, 3, 4]", "f32[1, 2, 4, 4]");
    WRONG("nonpad_kv_seqlen and samples", "f32[1, 2, 1, 4]", "f32[1, 2, 1, 4]", "f32[1, 2, 1, 4]",
          "", "", "", "s64[2]");
    OP_INFER("Attention", .attrs = "q_num_heads=2 kv_num_heads=2",
             .in = {"f32[1, 1, 5]", "f32[1, 1, 4]", "f32[1, 1, 4]"},
             .error = "5 elements per position, which 2 heads cannot share");
    OP_INFER("Attention", .attrs = "q_num_heads=0",
             .in = {"f32[1, 1, 5]", "f32[1, 1, 4]", "f32[1, 1, 4]"}, .error = "q_num_heads is 0");
    OP_INFER("Attention", .attrs = "left_window_size=-2", .in = {"f32", "f32", "f32"},
             .error = "left_window_size is -2");
    OP_INFER("Attention", .attrs = "qk_matmul_output_mode=4", .in = {"f32", "f32", "f32"},
             .error = "qk_matmul_output_mode is 4");
    OP_INFER("Attention", .attrs = "softmax_precision=7", .in = {"f32", "f32", "f32"},
             .error = "softmax_precision is 7");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layouts),   cmocka_unit_test(masks), cmocka_unit_test(caches),
        cmocka_unit_test(precision), cmocka_unit_test(empty), cmocka_unit_test(shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

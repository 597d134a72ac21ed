#include "support/op_test.h"

#define LA "LinearAttention"
#define ONE_HEAD "q_num_heads=1 kv_num_heads=1 scale=1.0 "
/* Two positions; k = 1 and 2, v = 3 and 5, q = 1 and 10. */
#define QKV "f32[1, 2, 1]{1 10}", "f32[1, 2, 1]{1 2}", "f32[1, 2, 1]{3 5}"
#define LN2 "0.69314718056"

static void rules(void **state) {
    (void)state;
    /* S: 3, then 3 + 10 */
    OP_RUN(LA, .attrs = ONE_HEAD "update_rule='linear'", .in = {QKV},
           .out = {"f32[1, 2, 1]{3 130}", "f32[1, 1, 1, 1]{13}"});
    /* from 1, halved and tripled: 0.5 + 3, 10.5 + 10 */
    OP_RUN(LA, .attrs = ONE_HEAD "update_rule='gated'",
           .in = {QKV, "f16[1, 1, 1, 1]{1}", "f32[1, 2, 1]{-" LN2 " 1.09861228867}"},
           .out = {"f32[1, 2, 1]{3.5 205}", "f16[1, 1, 1, 1]{20.5}"});
    /* S = 0 + 1/2 (3 - 0), then 1.5 + 2 * 1/4 (5 - 3) */
    OP_RUN(LA, .attrs = ONE_HEAD "update_rule='delta'",
           .in = {QKV, "", "", "f32[1, 2, 1]{0.5 0.25}"},
           .out = {"f32[1, 2, 1]{1.5 25}", "f32[1, 1, 1, 1]{2.5}"});
    /* S = 2, doubled 4: 4 + 1/2 (3 - 4); 3.5, then kept: 3.5 + 2 * 1 (5 - 7) */
    OP_RUN(LA, .attrs = ONE_HEAD,
           .in = {QKV, "f32[1, 1, 1, 1]{2}", "f32[1, 2, 1]{" LN2 " 0}", "f32[1, 2, 1]{0.5 1}"},
           .out = {"f32[1, 2, 1]{3.5 -5}", "f32[1, 1, 1, 1]{-0.5}"});
}

static void heads(void **state) {
    (void)state;
    /* d_k = 2, d_v = 1: the state is k * v; scale 1 / sqrt(2) */
    OP_RUN(LA, .attrs = "q_num_heads=2 kv_num_heads=1 update_rule='linear'",
           .in = {"f32[1, 1, 4]{1 0 1 1}", "f32[1, 1, 2]{1 2}", "f32[1, 1, 1]{3}"},
           .out = {"f32[1, 1, 2]{2.1213203 6.3639610}", "f32[1, 1, 2, 1]{3 6}"});
    /* Two states: one decay per head; then one per element of the key. */
    OP_RUN(LA, .attrs = "q_num_heads=2 kv_num_heads=2 scale=1.0 update_rule='gated'",
           .in = {"f32[1, 1, 4]{1 1 1 1}", "f32[1, 1, 4]{0 ...}", "f32[1, 1, 2]{0 0}",
                  "f32[1, 2, 2, 1]{1 2 3 4}", "f32[1, 1, 2]{0 " LN2 "}"},
           .out = {"f32[1, 1, 2]{3 14}", "f32[1, 2, 2, 1]{1 2 6 8}"});
    OP_RUN(LA, .attrs = "q_num_heads=2 kv_num_heads=2 scale=1.0 update_rule='gated'",
           .in = {"f32[1, 1, 4]{1 1 1 1}", "f32[1, 1, 4]{0 ...}", "f32[1, 1, 2]{0 0}",
                  "f32[1, 2, 2, 1]{1 2 3 4}", "f32[1, 1, 4]{0 " LN2 " " LN2 " 0}"},
           .out = {"f32[1, 1, 2]{5 10}", "f32[1, 2, 2, 1]{1 4 6 4}"});
    /* One beta for both heads. */
    OP_RUN(LA, .attrs = "q_num_heads=2 kv_num_heads=2 scale=1.0 update_rule='delta'",
           .in = {"bf16[1, 1, 2]{1 1}", "bf16[1, 1, 2]{1 1}", "bf16[1, 1, 2]{4 6}", "", "",
                  "bf16[1, 1, 1]{0.5}"},
           .out = {"bf16[1, 1, 2]{2 3}", "bf16[1, 2, 1, 1]{2 3}"});
    OP_RUN(LA, .attrs = ONE_HEAD "update_rule='linear'",
           .in = {"f32[1, 0, 1]{}", "f32[1, 0, 1]{}", "f32[1, 0, 1]{}", "f32[1, 1, 1, 1]{7}"},
           .out = {"f32[1, 0, 1]{}", "f32[1, 1, 1, 1]{7}"});
}

static void shapes(void **state) {
    (void)state;
    OP_INFER(LA, .attrs = "q_num_heads=4 kv_num_heads=2 update_rule='linear'",
             .in = {"f16[b, t, 64]", "f16[b, t, 32]", "f16[b, t, 16]", "f32"},
             .out = {"f16[b, t, 32]", "f32[b, 2, 16, 8]"});
    OP_INFER(LA, .attrs = "q_num_heads=4 kv_num_heads=2 update_rule='linear'",
             .in = {"f16", "f16", "f16"}, .out = {"f16", "f16"});
#define WRONG(attrs_, error_, ...) \
    OP_INFER(LA, .attrs = "kv_num_heads=2 " attrs_, .in = {__VA_ARGS__}, .error = error_)
    WRONG("q_num_heads=3", "expected a positive multiple", "f32", "f32", "f32");
    WRONG("q_num_heads=2", "'gated_delta' needs the input decay", "f32", "f32", "f32");
    WRONG("q_num_heads=2 update_rule='linear'", "'linear' does not take the input beta", "f32",
          "f32", "f32", "", "", "f32");
#define LINEAR "q_num_heads=2 update_rule='linear'"
    WRONG("q_num_heads=2 update_rule='square'", "'square'", "f32", "f32", "f32");
    WRONG(LINEAR, "input 1 has rank 4", "f32", "f32[1, 1, 1, 2]", "f32");
    WRONG(LINEAR, "2 heads cannot share", "f32[1, 1, 2]", "f32[1, 1, 3]", "f32[1, 1, 2]");
    WRONG(LINEAR, "head sizes of query and key", "f32[1, 1, 2]", "f32[1, 1, 4]", "f32[1, 1, 2]");
    WRONG(LINEAR, "positions of the inputs", "f32[1, 1, 2]", "f32[1, 1, 2]", "f32[1, 2, 2]");
    WRONG(LINEAR, "samples of the inputs", "f32[1, 1, 2]", "f32[1, 1, 2]", "f32[1, 1, 2]",
          "f32[2, 2, 1, 1]");
    WRONG(LINEAR, "value sizes of past_state", "f32[1, 1, 2]", "f32[1, 1, 2]", "f32[1, 1, 2]",
          "f32[1, 2, 1, 3]");
    WRONG("q_num_heads=2 update_rule='gated'",
          "input 4 has 3 elements per position, expected 2 or 4", "f32[1, 1, 4]", "f32[1, 1, 4]",
          "f32[1, 1, 2]", "", "f32[1, 1, 3]");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules),
        cmocka_unit_test(heads),
        cmocka_unit_test(shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

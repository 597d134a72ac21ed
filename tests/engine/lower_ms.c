/* Operators of com.microsoft through the engine and through the plain executor. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "support/engine_model.h"

#define MS "<ir_version: 8, opset_import: [\"\" : 17, \"com.microsoft\" : 1]> "

static void norms(void **state) {
    (void)state;
    engine_agrees(MS
                  "m (float[2,5,24] x, float[2,5,24] r, float[24] wg, float[24] wb) =>"
                  " (float[2,5,24] y) {"
                  " y = com.microsoft.SkipLayerNormalization (x, r, wg, wb) }",
                  "norm_f32 SkipLayerNormalization");
    engine_agrees(MS
                  "m (float[2,5,24] x, float[5,24] r, float[24] wg, float[24] wb, float[24] wo)"
                  " => (float[2,5,24] y, float[2,5,24] s) {"
                  " y, , , s = com.microsoft.SkipLayerNormalization (x, r, wg, wb, wo) }",
                  "norm_f32 SkipLayerNormalization");
    engine_agrees(MS
                  "m (float[10,24] x, float[10,24] r, float[24] wg, float[24] wo) =>"
                  " (float[10,24] y, float[10,24] s) {"
                  " y, , , s = com.microsoft.SkipSimplifiedLayerNormalization (x, r, wg, wo) }",
                  "norm_f32 SkipSimplifiedLayerNormalization");
    engine_agrees(MS
                  "m (float[10,24] x, float[24] wg) => (float[10,24] y) {"
                  " y = com.microsoft.SimplifiedLayerNormalization <epsilon = 0.01> (x, wg) }",
                  "norm_f32 SimplifiedLayerNormalization");
    engine_agrees(MS
                  "m (float[2,5,24] x, float[2,5,24] r, float[24] wg) =>"
                  " (float[2,5,24] y, float[2,5,1] u) {"
                  " y, u = com.microsoft.SkipLayerNormalization (x, r, wg) }",
                  "reference SkipLayerNormalization");
}

/* Ids, drawn from [-2, 2), are made valid by Abs. */
static void embeddings(void **state) {
    (void)state;
    engine_agrees(MS
                  "m (int32[2,5] i, float[4,24] ww, float[9,24] wp, float[24] wg, float[24] wb) =>"
                  " (float[2,5,24] y, int32[2] q, float[2,5,24] s) <int32[1] one = {1}> {"
                  " a = Abs (i) y, m, s = com.microsoft.EmbedLayerNormalization"
                  " (a, , ww, wp, , wg, wb) q = Add (m, one) }",
                  "map_int Abs, gather_rows EmbedLayerNormalization,"
                  " norm_f32 EmbedLayerNormalization, map_int Add");
    engine_agrees(MS
                  "m (int32[3,5] i, int32[3,5] k, float[4,33] ww, float[9,33] wp, float[2,33] ws,"
                  " float[33] wg, float[33] wb, int32[3,5] p) =>"
                  " (float[3,5,33] y, int32[3] m) { a = Abs (i) c = Abs (k) e = Abs (p)"
                  " y, m = com.microsoft.EmbedLayerNormalization <epsilon = 0.5>"
                  " (a, c, ww, wp, ws, wg, wb, c, e) }",
                  NULL);
    engine_agrees(MS
                  "m (int32[3,5] i, float[4,33] ww, float[9,33] wp, float[33] wg, float[33] wb,"
                  " int32[1,5] p) => (float[3,5,33] y) { a = Abs (i) e = Abs (p)"
                  " y = com.microsoft.EmbedLayerNormalization (a, , ww, wp, , wg, wb, , e) }",
                  "map_int Abs, map_int Abs, gather_rows EmbedLayerNormalization,"
                  " gather_rows EmbedLayerNormalization, norm_f32 EmbedLayerNormalization");
    static const int64_t good[] = {0, 1, 3, 2, 0}, over[] = {0, 1, 4, 2, 0};
    static const int64_t under[] = {0, 1, -1, 2, 0};
    static const char words[] = MS
        "m (float[4,8] t, float[9,8] p, float[8] g, float[8] b, int32[1,5] i) =>"
        " (float[1,5,8] y) { y = com.microsoft.EmbedLayerNormalization (i, , t, p, , g, b) }";
    engine_refuses(words, over, good, "word id 4 is outside [0, 4)");
    engine_refuses(words, under, good, "word id -1 is outside [0, 4)");
}

static void products(void **state) {
    (void)state;
    engine_agrees(MS
                  "m (float[2,5,7] x, float[7,9] w) => (float[2,5,9] y) {"
                  " y = com.microsoft.FusedMatMul (x, w) }",
                  "conv_f32 FusedMatMul");
    engine_agrees(MS
                  "m (float[2,7,5] x, float[2,9,7] z) => (float[2,5,9] y) {"
                  " y = com.microsoft.FusedMatMul <alpha = 0.5, transA = 1, transB = 1> (x, z) }",
                  "matmul_f32 FusedMatMul");
    engine_agrees(MS
                  "m (float[5,7] x, float[9,7] w) => (float[5,9] y) {"
                  " p = com.microsoft.TransposeMatMul <alpha = 2.0, transB = 1> (x, w)"
                  " y = Relu (p) }",
                  "matmul_f32 TransposeMatMul+Relu");
    engine_agrees(MS
                  "m (float[7] x, float[7,9] w) => (float[9] y) {"
                  " y = com.microsoft.FusedMatMul (x, w) }",
                  "conv_f32 FusedMatMul");
    engine_agrees(MS
                  "m (float[5,2,7] x, float[2,7,9] z) => (float[2,5,9] y) {"
                  " y = com.microsoft.FusedMatMul <transBatchA = 1> (x, z) }",
                  "reference FusedMatMul");
}

#define HEADS "com.microsoft.MultiHeadAttention <num_heads = 2"
#define QKV "m (float[2,5,8] q, float[2,6,8] k, float[2,6,12] v"

static void multi_head(void **state) {
    (void)state;
    engine_agrees(MS QKV ") => (float[2,5,12] y) { y = " HEADS "> (q, k, v) }",
                  "attention_f32 attention");
    engine_agrees(MS QKV ") => (float[2,5,12] y) { y = " HEADS
                         ", unidirectional = 1, scale = 0.3> (q, k, v) }",
                  "attention_f32 attention");
    engine_agrees(MS QKV ", float[1,2,5,6] b) => (float[2,5,12] y) { y = " HEADS
                         "> (q, k, v, , , b) }",
                  "attention_f32 attention");
    /* How many keys there are, or which; in one sample none, whose scores are then all that counts.
     */
    const char *masked =
        "map_int MultiHeadAttention, map_f32 MultiHeadAttention, attention_f32 attention";
    engine_agrees(MS QKV ") => (float[2,5,12] y) <int32[2] m = {4, 1}> { y = " HEADS
                         "> (q, k, v, , m) }",
                  masked);
    engine_agrees(MS QKV
                  ") => (float[2,5,12] y)"
                  " <int32[2,6] m = {1, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0}> { y = " HEADS
                  ", mask_filter_value = -50.0> (q, k, v, , m) }",
                  masked);
    engine_agrees(MS QKV ", int32[2,5,6] m) => (float[2,5,12] y) { y = " HEADS
                         ", mask_filter_value = -50.0> (q, k, v, , m) }",
                  masked);
    engine_agrees(MS
                  "m (float[2,5,8] q, float[2,2,6,4] k, float[2,2,6,4] v) => (float[2,5,8] y) {"
                  " y = " HEADS "> (q, k, v) }",
                  "attention_f32 attention");
    engine_agrees(MS QKV ", float[28] wb) => (float[2,5,12] y) { y = " HEADS "> (q, k, v, wb) }",
                  "reference MultiHeadAttention");
}

static void attention(void **state) {
    (void)state;
    engine_agrees(MS
                  "m (float[2,5,8] x, float[8,24] w, float[24] wb) => (float[2,5,8] y) {"
                  " y = com.microsoft.Attention <num_heads = 2> (x, w, wb) }",
                  "conv_f32 Attention, attention_f32 attention");
    engine_agrees(
        MS
        "m (float[2,5,8] x, float[8,28] w, float[28] wb) => (float[2,5,12] y)"
        " <int32[2,5] m = {1, 0, 1, 1, 0, 1, 1, 1, 0, 0}> {"
        " y = com.microsoft.Attention <num_heads = 2, unidirectional = 1,"
        " qkv_hidden_sizes = [8, 8, 12]> (x, w, wb, m) }",
        "conv_f32 Attention, map_int Attention, map_f32 Attention, attention_f32 attention");
    engine_agrees(MS
                  "m (float[2,5,8] x, float[8,24] z, float[24] wb) => (float[2,5,8] y) {"
                  " y = com.microsoft.Attention <num_heads = 2> (x, z, wb) }",
                  "matmul_f32 Attention, attention_f32 attention");
}

static void memory(void **state) {
    (void)state;
    engine_survives(MS
                    "m (float[2,5,8] x, float[8,24] w, float[24] wb, float[8] wg) =>"
                    " (float[2,5,8] y) <int32[2] m = {4, 5}> {"
                    " a = com.microsoft.Attention <num_heads = 2> (x, w, wb, m)"
                    " y = com.microsoft.SkipLayerNormalization (a, x, wg) }");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(norms),      cmocka_unit_test(embeddings), cmocka_unit_test(products),
        cmocka_unit_test(multi_head), cmocka_unit_test(attention),  cmocka_unit_test(memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

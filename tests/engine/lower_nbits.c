/* Products by integers of 4 and 8 bits through the engine and through the plain executor. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "support/engine_model.h"

#define MS "<ir_version: 10, opset_import: [\"\" : 21, \"com.microsoft\" : 1]> "
#define QDQ "<ir_version: 10, opset_import: [\"\" : 21]> "

static void nbits(void **state) {
    (void)state;
    engine_agrees(MS
                  "m (float[2,3,40] x, uint8[9,2,16] w, float[9,2] ws) => (float[2,3,9] y) {"
                  " y = com.microsoft.MatMulNBits <K = 40, N = 9, block_size = 32> (x, w, ws) }",
                  "matmul_nbits MatMulNBits");
    engine_agrees(MS
                  "m (float[1,72] x, uint8[33,3,32] w, float[99] ws, uint8[99] wz, float[33] b) =>"
                  " (float[1,33] y) { y = com.microsoft.MatMulNBits"
                  " <K = 72, N = 33, bits = 8, block_size = 32> (x, w, ws, wz, , b) }",
                  "matmul_nbits MatMulNBits");
    /* Packed zero points of an odd number of blocks; ones that are no codes. */
    engine_agrees(MS
                  "m (float[50,40] x, uint8[20,3,8] w, float[20,3] ws, uint8[20,2] wz) =>"
                  " (float[50,20] y) { y = com.microsoft.MatMulNBits"
                  " <K = 40, N = 20, block_size = 16> (x, w, ws, wz) }",
                  "matmul_nbits MatMulNBits");
    engine_agrees(MS
                  "m (float[5,40] x, uint8[20,2,16] w, float[20,2] ws, float[20,2] wz) =>"
                  " (float[5,20] y) { y = com.microsoft.MatMulNBits"
                  " <K = 40, N = 20, block_size = 32> (x, w, ws, wz) }",
                  "matmul_nbits MatMulNBits");
    /* Blocks longer than K, a residual and an activation. */
    engine_agrees(MS
                  "m (float[5,40] x, uint8[20,1,32] w, float[20] ws, float[5,20] r, float[20] b) =>"
                  " (float[5,20] y) {"
                  " p = com.microsoft.MatMulNBits <K = 40, N = 20, block_size = 64> (x, w, ws)"
                  " q = Add (p, b) s = Add (q, r) y = Relu (s) }",
                  "matmul_nbits MatMulNBits+Add+Add+Relu");
}

/* Products that may round what they multiply to 8 bits, and are off by what that is worth. */
static void rounded(void **state) {
    (void)state;
    static const char *const models[] = {
        MS
        "m (float[1,72] x, uint8[33,3,16] w, float[33,3] ws) => (float[1,33] y) {"
        " y = com.microsoft.MatMulNBits <K = 72, N = 33, block_size = 32, accuracy_level = 4>"
        " (x, w, ws) }",
        MS
        "m (float[21,72] x, uint8[33,3,16] w, float[33,3] ws, uint8[33,2] wz, float[33] b) =>"
        " (float[21,33] y) { y = com.microsoft.MatMulNBits"
        " <K = 72, N = 33, block_size = 32, accuracy_level = 4> (x, w, ws, wz, , b) }",
        MS
        "m (float[2,72] odd, uint8[33,3,16] w, float[33,3] ws) => (float[2,33] y) {"
        " y = com.microsoft.MatMulNBits <K = 72, N = 33, block_size = 32, accuracy_level = 4>"
        " (odd, w, ws) }",
    };
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        engine_facts f = engine_ran_so(models[i], (engine_way){.precision = HN_PRECISION_BF16});
        assert_string_equal(f.steps, "matmul_nbits MatMulNBits");
    }
    engine_agrees(MS /* 8 bits by 8 bits: never */
                  "m (float[1,72] x, uint8[33,3,32] w, float[33,3] ws) => (float[1,33] y) {"
                  " y = com.microsoft.MatMulNBits"
                  " <K = 72, N = 33, bits = 8, block_size = 32, accuracy_level = 4> (x, w, ws) }",
                  "matmul_nbits MatMulNBits");
}

static void not_nbits(void **state) {
    (void)state;
    engine_agrees(MS
                  "m (float[5,40] x, uint8[20,2,8] w, float[20,2] ws) => (float[5,20] y) {"
                  " y = com.microsoft.MatMulNBits <K = 40, N = 20, block_size = 32, bits = 2>"
                  " (x, w, ws) }",
                  "reference MatMulNBits");
    engine_agrees(MS
                  "m (float[5,40] x, uint8[20,2,16] w, float[20,2] ws, uint8[20,1] z) =>"
                  " (float[5,20] y) { y = com.microsoft.MatMulNBits <K = 40, N = 20,"
                  " block_size = 32> (x, w, ws, z) }",
                  "reference MatMulNBits");
    /* Scales, or codes too, that are computed. */
    engine_agrees(MS
                  "m (float[5,40] x, uint8[20,2,16] w, float[20,2] s) => (float[5,20] y) {"
                  " y = com.microsoft.MatMulNBits <K = 40, N = 20, block_size = 32> (x, w, s) }",
                  "matmul_nbits MatMulNBits");
    engine_agrees(MS
                  "m (float[5,40] x, uint8[20,2,16] many, float[2,20] s) => (float[5,20] y) {"
                  " t = Transpose (s) y = com.microsoft.MatMulNBits <K = 40, N = 20,"
                  " block_size = 32> (x, many, t) }",
                  "pack Pack, matmul_nbits MatMulNBits");
    engine_agrees(MS
                  "m (float[5,17] x, uint8[20,2,8] w, float[20,2] ws) => (float[5,20] y)"
                  " <int32[17] g = {1, 0, 0, 1, 0, 0, 1, 0, 1, 0, 0, 1, 1, 0, 1, 0, 1}> {"
                  " y = com.microsoft.MatMulNBits <K = 17, N = 20, block_size = 16>"
                  " (x, w, ws, , g) }",
                  "reference MatMulNBits");
}

static void dequantized(void **state) {
    (void)state;
    engine_agrees(QDQ
                  "m (float[3,40] x, int4[40,21] w, float[5,21] ws) => (float[3,21] y) {"
                  " d = DequantizeLinear <axis = 0, block_size = 8> (w, ws) y = MatMul (x, d) }",
                  "matmul_nbits MatMul");
    engine_agrees(QDQ
                  "m (float[2,3,40] x, uint4[21,40] w, float[21,3] ws, uint4[21,3] wz) =>"
                  " (float[2,3,21] y) {"
                  " d = DequantizeLinear <axis = 1, block_size = 16> (w, ws, wz)"
                  " t = Transpose <perm = [1, 0]> (d) y = MatMul (x, t) }",
                  "matmul_nbits MatMul");
    /* A Transpose that moves nothing, of a square: either reading of it fits. */
    engine_agrees(QDQ
                  "m (float[3,24] x, int8[24,24] w, float[24] ws) => (float[3,24] y) {"
                  " d = DequantizeLinear <axis = 1> (w, ws)"
                  " t = Transpose <perm = [0, 1]> (d) y = MatMul (x, t) }",
                  "matmul_nbits MatMul");
    engine_agrees(QDQ
                  "m (float[3,40] x, int8[21,40] w, float[21] ws, int8[21] wz, float[21] b) =>"
                  " (float[3,21] y) { d = DequantizeLinear <axis = 0> (w, ws, wz)"
                  " y = Gemm <transB = 1> (x, d, b) }",
                  "matmul_nbits Gemm");
    engine_agrees(QDQ
                  "m (float[3,40] x, uint8[40,21] w, float ws, uint8 wz) => (float[3,21] y) {"
                  " d = DequantizeLinear (w, ws, wz) y = MatMul (x, d) }",
                  "matmul_nbits MatMul");
}

/* What is dequantized when the plan is made; with many rows that depends on the machine. */
static void in_floats(void **state) {
    (void)state;
    engine_agrees(QDQ
                  "m (float[70,40] x, int8[40,21] w, float[21] ws) => (float[70,21] y) {"
                  " d = DequantizeLinear (w, ws) y = MatMul (x, d) }",
                  NULL);
    engine_agrees(QDQ
                  "m (float[3,40] x, int8[40,21] w, float[40] ws) => (float[3,21] y) {"
                  " d = DequantizeLinear <axis = 0> (w, ws) y = MatMul (x, d) }",
                  "conv_f32 MatMul");
    engine_agrees(QDQ
                  "m (float[3,40] x, int4[40,21] w, float[40,3] ws) => (float[3,21] y) {"
                  " d = DequantizeLinear <axis = 1, block_size = 8> (w, ws) y = MatMul (x, d) }",
                  "conv_f32 MatMul");
    engine_agrees(QDQ
                  "m (float[3,40] x, int4[40,21] w, float[4,21] ws) => (float[3,21] y) {"
                  " d = DequantizeLinear <axis = 0, block_size = 12> (w, ws) y = MatMul (x, d) }",
                  "conv_f32 MatMul");
    engine_agrees(QDQ
                  "m (float[3,40] x, int8[40,21] w, float[21] ws) => (float[3,21] y) {"
                  " d = DequantizeLinear (w, ws) y = Gemm <alpha = 0.5> (x, d) }",
                  "matmul_f32 Gemm");
}

static void memory(void **state) {
    (void)state;
    engine_survives(MS
                    "m (float[3,40] x, uint8[40,2,16] w, float[40,2] ws, uint8[40] wz,"
                    " int4[40,21] wb, float wc) => (float[3,21] y) {"
                    " a = com.microsoft.MatMulNBits <K = 40, N = 40, block_size = 32>"
                    " (x, w, ws, wz)"
                    " d = DequantizeLinear (wb, wc) y = MatMul (a, d) }");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nbits),       cmocka_unit_test(rounded),   cmocka_unit_test(not_nbits),
        cmocka_unit_test(dequantized), cmocka_unit_test(in_floats), cmocka_unit_test(memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

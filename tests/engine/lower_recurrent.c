/* Recurrent layers through the engine and through the plain executor: every kind, direction,
 * optional operand and attribute, and what runs as the reference. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "kernels/recurrent_q8/recurrent_q8.h"
#include "support/engine_model.h"

enum { T = 4, N = 3, I = 5 };

/* What a layer looks like; NULL and false: the usual. */
typedef struct layer {
    const char *op, *direction, *attrs;
    int hidden;
    bool batch_first, bias, states, peepholes, lengths;
    int batch;
} layer;

static const char *steps_of(const char *op) {
    static char text[80];
    snprintf(text, sizeof text, "conv_f32 %s, recurrent_f32 %s", op, op);
    return text;
}

/* Whether this CPU, or HONE_ISA, has products of bytes that are faster than those of floats. */
static bool has_byte_products(void) {
    const hn_recurrent_f32 small = {.kind = HN_RECURRENT_LSTM, .steps = 4, .batch = 1, .hidden = 9};
    return !hn_recurrent_q8_prefers_floats(&small, hn_isa_available());
}

/* The same of weights that stay in 8 bits, where there are such products. */
static const char *codes_of(const char *op) {
    static char text[80];
    if (!has_byte_products()) return steps_of(op);
    snprintf(text, sizeof text, "matmul_nbits %s, recurrent_q8 %s", op, op);
    return text;
}

static void check(layer l) {
    char text[2048], y[64], state[64], node[512];
    int gates = l.op[0] == 'L' ? 4 : l.op[0] == 'G' ? 3 : 1, batch = l.batch > 0 ? l.batch : N;
    int h = l.hidden > 0 ? l.hidden : 9;
    bool lstm = gates == 4;
    const char *direction = l.direction != NULL ? l.direction : "forward";
    int dirs = direction[0] == 'b' ? 2 : 1;
    if (l.batch_first) {
        snprintf(y, sizeof y, "float[%d,%d,%d,%d]", batch, T, dirs, h);
        snprintf(state, sizeof state, "float[%d,%d,%d]", batch, dirs, h);
    } else {
        snprintf(y, sizeof y, "float[%d,%d,%d,%d]", T, dirs, batch, h);
        snprintf(state, sizeof state, "float[%d,%d,%d]", dirs, batch, h);
    }
    snprintf(node, sizeof node,
             "y, yh%s = %s <direction = \"%s\", layout = %d%s%s> (x, w, wr, %s, %s, %s%s%s)",
             lstm ? ", yc" : "", l.op, direction, l.batch_first, l.attrs != NULL ? ", " : "",
             l.attrs != NULL ? l.attrs : "", l.bias ? "wb" : "", l.lengths ? "n" : "",
             l.states ? "h" : "", lstm ? l.states ? ", c" : ", " : "",
             lstm ? l.peepholes ? ", wp" : ", " : "");
    snprintf(
        text, sizeof text,
        "m (float[%d,%d,%d] x, float[%d,%d,%d] w, float[%d,%d,%d] wr, float[%d,%d] wb,"
        " %s h, %s c, float[%d,%d] wp) => (%s y, %s yh%s%s%s) <int32[%d] n = {3, 0, 4}> { %s }",
        l.batch_first ? batch : T, l.batch_first ? T : batch, I, dirs, gates * h, I, dirs,
        gates * h, h, dirs, 2 * gates * h, state, state, dirs, 3 * h, y, state, lstm ? ", " : "",
        lstm ? state : "", lstm ? " yc" : "", N, node);
    engine_agrees(text, steps_of(l.op));
}

static void kinds_and_directions(void **state) {
    (void)state;
    static const char *const ops[] = {"RNN", "GRU", "LSTM"};
    static const char *const directions[] = {"forward", "reverse", "bidirectional"};
    for (int op = 0; op < 3; op++)
        for (int d = 0; d < 3; d++)
            for (int all = 0; all < 2; all++)
                for (int first = 0; first < 2; first++)
                    check((layer){.op = ops[op],
                                  .direction = directions[d],
                                  .batch_first = first,
                                  .bias = all,
                                  .states = all,
                                  .peepholes = all,
                                  .lengths = all});
}

static void attributes(void **state) {
    (void)state;
    check((layer){.op = "GRU", .attrs = "linear_before_reset = 1", .bias = true, .states = true});
    check((layer){.op = "LSTM", .attrs = "input_forget = 1", .bias = true, .peepholes = true});
    check((layer){.op = "LSTM", .attrs = "clip = 0.5", .bias = true, .peepholes = true});
    check((layer){.op = "GRU", .attrs = "clip = 0.3, hidden_size = 9"});
    check((layer){.op = "RNN", .attrs = "activations = [\"Relu\"], clip = 1.5"});
    check((layer){.op = "RNN",
                  .direction = "bidirectional",
                  .attrs = "activations = [\"tanh\", \"LeakyRelu\"], activation_alpha = [0.2]"});
    check((layer){.op = "LSTM",
                  .attrs = "activations = [\"HardSigmoid\", \"Elu\", \"Clip\"],"
                           " activation_alpha = [0.3, 0.7, -0.4], activation_beta = [0.4, 0.6]",
                  .states = true});
    check((layer){.op = "GRU", .attrs = "activations = [\"Sigmoid\", \"QuickGelu\"]"});
}

static void sizes(void **state) {
    (void)state;
    for (int batch = 1; batch <= 8; batch++)
        check((layer){.op = "LSTM", .batch = batch, .hidden = 17, .states = true});
    /* Steps long enough for two threads to share. */
    check((layer){.op = "LSTM", .batch = 1, .hidden = 170});
    check((layer){.op = "GRU", .batch = 1, .hidden = 190});
}

static void outputs(void **state) {
    (void)state;
    engine_agrees(
        "m (float[4,3,5] x, float[1,36,5] w, float[1,36,9] wr) => (float[1,3,9] c) {"
        " , , c = LSTM (x, w, wr) }",
        steps_of("LSTM"));
    engine_agrees(
        "m (float[4,3,5] x, float[2,27,5] w, float[2,27,9] wr) => (float[2,3,9] h) {"
        " , h = GRU <direction = \"bidirectional\"> (x, w, wr) }",
        steps_of("GRU"));
    /* Two layers as they are exported: the second reads both directions of the first in place. */
    engine_agrees(
        "m (float[3,4,5] x, float[2,9,5] w, float[2,9,9] wr, float[2,7,18] w2, float[2,7,7] wr2)"
        " => (float[4,3,14] y) <int64[3] s = {4, 3, 18}, int64[3] t = {4, 3, 14}> {"
        " xt = Transpose <perm = [1, 0, 2]> (x)"
        " a = RNN <direction = \"bidirectional\"> (xt, w, wr)"
        " at = Transpose <perm = [0, 2, 1, 3]> (a) b = Reshape (at, s)"
        " c = RNN <direction = \"bidirectional\"> (b, w2, wr2)"
        " ct = Transpose <perm = [0, 2, 1, 3]> (c) y = Reshape (ct, t) }",
        "conv_f32 RNN, recurrent_f32 RNN, conv_f32 RNN, recurrent_f32 RNN");
}

/* Views as X and as initial states. */
static void strides(void **state) {
    (void)state;
    engine_agrees(
        "m (float[5,4,3] x, float[1,3,9,2] s, float[1,36,5] w, float[1,36,9] wr)"
        " => (float[4,1,3,9] y) <int64[1] axis = {3}> {"
        " xt = Transpose <perm = [1, 2, 0]> (x) h2, c2 = Split <axis = 3, num_outputs = 2> (s)"
        " h = Squeeze (h2, axis) c = Squeeze (c2, axis) y = LSTM (xt, w, wr, , , h, c) }",
        steps_of("LSTM"));
    engine_agrees(
        "m (float[1,3,5] x, float[1,9,5] w, float[1,9,9] wr) => (float[4,1,3,9] y)"
        " <int64[3] s = {4, 3, 5}> { xe = Expand (x, s) y = RNN (xe, w, wr) }",
        steps_of("RNN"));
}

/* Weights of 8 bits that are dequantized stay in 8 bits; others are dequantized once, before the
 * first run. */
static void dequantized(void **state) {
    (void)state;
    engine_agrees(
        "m (float[4,2,5] x, int8[1,27,5] w, int8[1,27,9] wr) => (float[4,1,2,9] y)"
        " <float[27] s = {0.004, 0.006, 0.004, 0.006, 0.004, 0.006, 0.004, 0.006, 0.004,"
        " 0.004, 0.006, 0.004, 0.006, 0.004, 0.006, 0.004, 0.006, 0.004,"
        " 0.004, 0.006, 0.004, 0.006, 0.004, 0.006, 0.004, 0.006, 0.004}, float t = {0.005}> {"
        " a = DequantizeLinear <axis = 1> (w, s) b = DequantizeLinear (wr, t)"
        " y = GRU (x, a, b) }",
        codes_of("GRU"));
    engine_agrees(
        "m (float[4,2,5] x, uint8[2,36,5] w, uint8[2,36,9] wr, float[2,2,9] h) =>"
        " (float[4,2,2,9] y, float[2,2,9] yh) <float t = {0.005}, uint8 z = {128}> {"
        " a = DequantizeLinear (w, t, z) b = DequantizeLinear (wr, t, z)"
        " y, yh = LSTM <direction = \"bidirectional\"> (x, a, b, , , h) }",
        codes_of("LSTM"));
    engine_agrees(
        "m (float[2,4,5] x, int8[1,9,5] w, int8[1,9,9] wr) => (float[2,4,1,9] y)"
        " <float t = {0.005}> { a = DequantizeLinear (w, t) b = DequantizeLinear (wr, t)"
        " y = RNN <layout = 1> (x, a, b) }",
        codes_of("RNN"));
    /* W of floats. */
    engine_agrees(
        "m (float[4,3,5] x, float[1,27,5] w, int8[1,27,9] wr) => (float[4,1,3,9] y)"
        " <float t = {0.005}> { b = DequantizeLinear (wr, t) y = GRU (x, w, b) }",
        has_byte_products() ? "conv_f32 GRU, recurrent_q8 GRU" : steps_of("GRU"));
    /* R with a scale for each column that h is multiplied by, or of blocks. */
    engine_agrees(
        "m (float[4,3,5] x, int8[1,9,5] w, int8[1,9,3] wr) => (float[4,1,3,3] y)"
        " <float t = {0.005}, float[3] s = {0.004, 0.006, 0.007}> {"
        " a = DequantizeLinear (w, t) b = DequantizeLinear <axis = 2> (wr, s) y = GRU (x, a, b) }",
        steps_of("GRU"));
    /* 255 - 100 is no s8. */
    engine_agrees(
        "m (float[4,3,5] x, float[1,9,5] w, uint8[1,9,9] wr) => (float[4,1,3,9] y)"
        " <float t = {0.005}, uint8 z = {100}> { b = DequantizeLinear (wr, t, z)"
        " y = RNN (x, w, b) }",
        steps_of("RNN"));
}

/* The same of an input that is in 8 bits too, for which every CPU has products. */
static const char *bytes_of(const char *op) {
    static char text[80];
    const char *state = has_byte_products() ? "recurrent_q8" : "recurrent_f32";
    snprintf(text, sizeof text, "conv_q8 %s, %s %s", op, state, op);
    return text;
}

/* An input that was dequantized by one scale that is known is multiplied by W in integers. */
static void dequantized_input(void **state) {
    (void)state;
    static const char *const types[] = {"uint8", "int8"}, *const zeros[] = {"{131}", "{-3}"};
    static const char *const ops[] = {"RNN", "GRU", "LSTM"};
    for (int op = 0; op < 3; op++)
        for (int type = 0; type < 2; type++)
            for (int first = 0; first < 2; first++) {
                char text[1024];
                int rows = 9 * (op == 0 ? 1 : op + 2), a = first ? 3 : 4, b = first ? 4 : 3;
                snprintf(text, sizeof text,
                         "m (%s[%d,%d,5] any, int8[2,%d,5] w, int8[2,%d,9] wr, float[2,%d] wb) =>"
                         " (float[%d,%d,%d,9] y) <float t = {0.01}, %s z = %s, int32[3] n ="
                         " {3, 0, 4}> { xf = DequantizeLinear (any, t, z)"
                         " a = DequantizeLinear (w, t) b = DequantizeLinear (wr, t)"
                         " y = %s <direction = \"bidirectional\", layout = %d> (xf, a, b, wb, n) }",
                         types[type], a, b, rows, rows, 2 * rows, a, first ? 4 : 2, first ? 2 : 3,
                         types[type], zeros[type], ops[op], first);
                engine_agrees(text, bytes_of(ops[op]));
            }
    /* As views: X is turned, or all its steps are one. */
    engine_agrees(
        "m (uint8[5,4,3] any, int8[1,9,5] w, int8[1,9,9] wr) => (float[4,1,3,9] y)"
        " <float t = {0.02}, uint8 z = {99}> { q = Transpose <perm = [1, 2, 0]> (any)"
        " xf = DequantizeLinear (q, t, z) a = DequantizeLinear (w, t) b = DequantizeLinear (wr, t)"
        " y = RNN (xf, a, b) }",
        NULL);
    engine_agrees(
        "m (uint8[1,3,5] any, int8[1,27,5] w, int8[1,27,9] wr) => (float[4,1,3,9] y)"
        " <int64[3] s = {4, 3, 5}, float t = {0.02}, uint8 z = {99}> { q = Expand (any, s)"
        " xf = DequantizeLinear (q, t, z) a = DequantizeLinear (w, t) b = DequantizeLinear (wr, t)"
        " y = GRU (xf, a, b) }",
        NULL);
    engine_agrees(
        "m (uint8[1,1,5] any, int8[1,9,5] w, int8[1,9,9] wr) => (float[4,1,1,9] y)"
        " <int64[3] s = {4, 1, 5}, float t = {0.02}, uint8 z = {99}> { q = Expand (any, s)"
        " xf = DequantizeLinear (q, t, z) a = DequantizeLinear (w, t) b = DequantizeLinear (wr, t)"
        " y = RNN (xf, a, b) }",
        bytes_of("RNN"));
    /* Scales of W that differ, and zero points of its own; what else reads the input sees floats. */
    engine_agrees(
        "m (float[4,3,5] x, uint8[1,9,5] w, int8[1,9,9] wr) => (float[4,1,3,9] y, float[4,3,5] f)"
        " <float t = {0.02}, uint8 z = {99}, float[9] s = {0.004, 0.006, 0.004, 0.006, 0.004,"
        " 0.006, 0.004, 0.006, 0.004}, uint8[9] v = {128, 128, 129, 127, 128, 128, 128, 128, 128}>"
        " { q = QuantizeLinear (x, t, z) f = DequantizeLinear (q, t, z)"
        " a = DequantizeLinear <axis = 1> (w, s, v) b = DequantizeLinear (wr, t)"
        " y = RNN (f, a, b) }",
        NULL);
}

/* What is not such an input is multiplied as floats. */
static void other_dequantized_inputs(void **state) {
    (void)state;
    /* A scale for each input, and one that is computed. */
    static const char *const scales[] = {
        "=> (float[4,1,3,9] y) <float[5] s = {0.01, 0.02, 0.03, 0.01, 0.02}, float t = {0.005}> {",
        ", float s0) => (float[4,1,3,9] y) <float t = {0.005}> { s = Abs (s0)"};
    for (int i = 0; i < 2; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "m (int8[4,3,5] x, int8[1,9,5] w, int8[1,9,9] wr%s %s"
                 " xf = DequantizeLinear <axis = 2> (x, s) a = DequantizeLinear (w, t)"
                 " b = DequantizeLinear (wr, t) y = RNN (xf, a, b) }",
                 i == 0 ? ")" : "", scales[i]);
        engine_agrees(text, NULL);
        engine_facts f = engine_ran(text);
        assert_int_equal(engine_count(&f, "conv_q8"), 0);
        assert_int_equal(engine_count(&f, "recurrent_q8"), has_byte_products());
    }
    /* W is of floats, or less its zero point no s8. */
    engine_facts f = engine_ran(
        "m (int8[4,3,5] x, float[1,9,5] w, int8[1,9,9] wr) => (float[4,1,3,9] y)"
        " <float t = {0.005}> { xf = DequantizeLinear (x, t) b = DequantizeLinear (wr, t)"
        " y = RNN (xf, w, b) }");
    assert_int_equal(engine_count(&f, "conv_q8"), 0);
    const char *wide =
        "m (int8[4,3,5] x, uint8[1,9,5] w, int8[1,9,9] wr) => (float[4,1,3,9] y)"
        " <float t = {0.005}, uint8 z = {100}> { xf = DequantizeLinear (x, t)"
        " a = DequantizeLinear (w, t, z) b = DequantizeLinear (wr, t) y = RNN (xf, a, b) }";
    engine_agrees(wide, NULL);
    f = engine_ran(wide);
    assert_int_equal(engine_count(&f, "conv_q8"), 0);
}

/* Floats are chosen by the instruction set, by how many sequences share R, and by its size. */
static void floats_or_codes(void **state) {
    (void)state;
#if defined(__x86_64__)
    const hn_isa dots[] = {HN_ISA_AVX2 | HN_ISA_AVXVNNI,
                           HN_ISA_AVX2 | HN_ISA_AVX512 | HN_ISA_AVX512VNNI};
    const hn_isa others[] = {0, HN_ISA_AVX2, HN_ISA_AVX2 | HN_ISA_AVX512};
#else
    const hn_isa dots[] = {HN_ISA_NEON | HN_ISA_NEONDOT}, others[] = {0, HN_ISA_NEON};
#endif
    static const struct {
        int64_t steps, batch, hidden;
        bool floats;
    } rows[] = {{9, 1, 32, true},    {9, 8, 32, true},    {9, 1, 4096, false},
                {9, 2, 4096, false}, {9, 8, 4096, true},  {1, 1, 32, true},
                {1, 8, 4096, true},  {1, 1, 4096, false}, {1, 2, 4096, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const hn_recurrent_f32 p = {.kind = HN_RECURRENT_GRU,
                                    .steps = rows[i].steps,
                                    .batch = rows[i].batch,
                                    .hidden = rows[i].hidden};
        for (size_t k = 0; k < sizeof dots / sizeof *dots; k++)
            assert_false(hn_recurrent_q8_prefers_floats(&p, dots[k]));
        for (size_t k = 0; k < sizeof others / sizeof *others; k++)
            assert_int_equal(hn_recurrent_q8_prefers_floats(&p, others[k]), rows[i].floats);
    }
}

/* With one sequence, what the operator quantizes together is what the kernel does. */
static void dynamic(void **state) {
    (void)state;
    static const char *const directions[] = {"forward", "reverse", "bidirectional"};
    for (int d = 0; d < 3; d++)
        for (int bytes = 0; bytes < 2; bytes++) {
            char text[1024];
            const char *type = bytes ? "uint8" : "int8";
            int dirs = d == 2 ? 2 : 1;
            snprintf(text, sizeof text,
                     "<ir_version: 8, opset_import: [\"\" : 17, \"com.microsoft\" : 1]> "
                     "m (float[4,1,5] x, %s[%d,5,44] w, %s[%d,11,44] wr, float[%d,88] wb,"
                     " float[%d,1,11] h, float[%d,1,11] c, float[%d,33] wp)"
                     " => (float[4,%d,1,11] y, float[%d,1,11] yh, float[%d,1,11] yc)"
                     " <float[%d] s = {%s}, %s[%d] z = {%s}> {"
                     " y, yh, yc = com.microsoft.DynamicQuantizeLSTM <direction = \"%s\","
                     " hidden_size = 11> (x, w, wr, wb, , h, c, wp, s, z, s, z) }",
                     type, dirs, type, dirs, dirs, dirs, dirs, dirs, dirs, dirs, dirs, dirs,
                     dirs == 2 ? "0.01, 0.02" : "0.01", type, dirs,
                     bytes       ? dirs == 2 ? "128, 128" : "128"
                     : dirs == 2 ? "0, 0"
                                 : "0",
                     directions[d]);
            engine_agrees(text,
                          "quantize_f32 DynamicQuantizeLSTM, conv_q8 DynamicQuantizeLSTM,"
                          " recurrent_q8 DynamicQuantizeLSTM");
        }
}

static void computed_weights(void **state) {
    (void)state;
    engine_facts f = engine_ran(
        "<ir_version: 8, opset_import: [\"\" : 17, \"com.microsoft\" : 1]> "
        "m (float[4,1,5] x, int8[2,5,44] many, int8[2,11,44] many2, float[2] s) =>"
        " (float[4,2,1,11] y) <int8[2] z = {0, 0}> { t = Abs (s)"
        " y = com.microsoft.DynamicQuantizeLSTM <direction = \"bidirectional\","
        " hidden_size = 11> (x, many, many2, , , , , , t, z, t, z) }");
    assert_int_equal(engine_count(&f, "recurrent_q8"), 1);
    assert_int_equal(engine_count(&f, "reference"), 0);
    engine_agrees(
        "m (float[4,3,5] x, float[1,9,5] w, float[1,9,9] r) => (float[4,1,3,9] y) {"
        " y = RNN (x, w, r) }",
        "conv_f32 RNN, pack Pack, recurrent_f32 RNN");
    /* All of them, bias and peepholes too, none as the layer wants it to lie. */
    engine_agrees(
        "m (float[4,3,5] x, float[2,5,36] v, float[2,9,36] r, float[72,2] b, float[27,2] p)"
        " => (float[4,2,3,9] y) {"
        " vt = Transpose <perm = [0, 2, 1]> (v) rt = Transpose <perm = [0, 2, 1]> (r)"
        " bt = Transpose (b) pt = Transpose (p)"
        " y = LSTM <direction = \"bidirectional\"> (x, vt, rt, bt, , , , pt) }",
        "matmul_f32 LSTM, pack Pack, recurrent_f32 LSTM");
}

static void declined(void **state) {
    (void)state;
    engine_agrees(
        "m (double[4,3,5] x, double[1,9,5] w, double[1,9,9] wr) => (double[4,1,3,9] y) {"
        " y = RNN (x, w, wr) }",
        "reference RNN");
    engine_agrees(
        "m (float[4,3,5] x, float[1,9,5] w, float[1,9,9] wr) => (float[4,1,3,9] y) {"
        " y = RNN <activations = [\"Softsign\"]> (x, w, wr) }",
        "reference RNN");
    /* 255 - 100 is no s8. */
    engine_agrees(
        "<ir_version: 8, opset_import: [\"\" : 17, \"com.microsoft\" : 1]> "
        "m (float[4,1,5] x, uint8[1,5,36] w, uint8[1,9,36] wr) => (float[4,1,1,9] y)"
        " <float[1] s = {0.01}, uint8[1] z = {100}> {"
        " y = com.microsoft.DynamicQuantizeLSTM <hidden_size = 9>"
        " (x, w, wr, , , , , , s, z, s, z) }",
        "reference DynamicQuantizeLSTM");
}

static void lengths_out_of_range(void **state) {
    (void)state;
    const char *text =
        "m (float[4,3,5] x, float[1,9,5] w, float[1,9,9] wr, int32[3] n) => (float[4,1,3,9] y) {"
        " y = RNN (x, w, wr, , n) }";
    const int64_t good[] = {4, 1, 0}, more[] = {4, 5, 0}, less[] = {4, 2, -1};
    engine_refuses(text, more, good, "sequence_lens holds 5, expected 0 to 4");
    engine_refuses(text, less, good, "sequence_lens holds -1, expected 0 to 4");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_and_directions),
        cmocka_unit_test(attributes),
        cmocka_unit_test(sizes),
        cmocka_unit_test(outputs),
        cmocka_unit_test(strides),
        cmocka_unit_test(dequantized),
        cmocka_unit_test(dequantized_input),
        cmocka_unit_test(other_dequantized_inputs),
        cmocka_unit_test(floats_or_codes),
        cmocka_unit_test(dynamic),
        cmocka_unit_test(computed_weights),
        cmocka_unit_test(declined),
        cmocka_unit_test(lengths_out_of_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

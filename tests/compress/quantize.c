#include "compress/quantize.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "compress/layer_type.h"
#include "ops/eval.h"
#include "ops/nodes.h"
#include "support/scratch.h"
#include "support/text_model.h"
#include "support/weights.h"

static const hn_layer_scheme int8 = {.kind = HN_LAYER_STATIC,
                                     .weights = {HONE_DTYPE_S8, 8, true, true, 0, false},
                                     .activations = {HONE_DTYPE_U8, 8, false, false, 0, false}};

static hn_scheme scheme_of(hn_layer_scheme layer, const char *target) {
    return (hn_scheme){.layer = layer, .target = hn_quant_target_named(target)};
}

static hn_model *model_of(const char *text) {
    hn_model *m = model_inferred(text);
    make_weights(m, 1);
    return m;
}

/* The names of what is watched, separated by spaces. */
static const char *watches(const hn_model *m, const hn_scheme *s) {
    static char text[1000];
    hn_arena arena;
    hn_error err;
    const char *const *names;
    int n;
    hn_arena_init(&arena, &model_mem, HN_MEM_OTHER);
    if (hn_quantize_watches(m, s, &arena, &names, &n, &err) != HONE_OK) fail_msg("%s", err.text);
    text[0] = '\0';
    for (int i = 0; i < n; i++) {
        if (i > 0) strcat(text, " ");
        strcat(text, names[i]);
    }
    hn_arena_deinit(&arena);
    return text;
}

/* A table of ranges: lines of "low high name". */
static hn_calibration *ranges(const char *lines) {
    char text[4000];
    int n = snprintf(text, sizeof text, "hone-calibration/1\nmethod minmax\nsamples 1\nstable 0\n");
    char name[64];
    double lo, hi;
    int used;
    for (const char *at = lines; sscanf(at, "%lf %lf %63s%n", &lo, &hi, name, &used) == 3;
         at += used)
        n += snprintf(text + n, sizeof text - (size_t)n, "%g %g %g %g %s\n", lo, hi, lo, hi, name);
    hn_calibration *c;
    hn_error err;
    if (hn_calibration_read(&c, scratch_put_text("ranges", text), &model_mem, &err) != HONE_OK)
        fail_msg("%s", err.text);
    return c;
}

static void quantize(hn_model *m, const hn_scheme *s, const char *lines,
                     hn_quantize_report *report) {
    hn_calibration *c = ranges(lines);
    hn_error err;
    if (hn_quantize_model(m, s, c, NULL, NULL, report, &err) != HONE_OK) fail_msg("%s", err.text);
    if (hn_model_verify(m, &err) != HONE_OK) fail_msg("%s", err.text);
    hn_calibration_destroy(c);
}

static void quantize_fails(hn_model *m, const hn_scheme *s, const char *lines, const char *text) {
    hn_calibration *c = ranges(lines);
    hn_error err;
    assert_int_equal(hn_quantize_model(m, s, c, NULL, NULL, NULL, &err), HONE_E_ARG);
    assert_string_equal(err.text, text);
    hn_calibration_destroy(c);
}

static int count(const hn_model *m, const char *op) {
    int n = 0;
    for (const hn_node *at = m->graph->first; at != NULL; at = at->next) n += hn_is(at, op);
    return n;
}

/* The value of that name is dequantized, by this scale and zero point. */
static void assert_point(hn_model *m, const char *name, double scale, int zero) {
    const hn_node *n = value_of(m, name)->producer;
    assert_true(hn_is(n, "DequantizeLinear"));
    assert_true(fabs(hn_tensor_f64(hn_const_in(n, 1), 0) / scale - 1) < 1e-6);
    assert_int_equal(hn_tensor_s64(hn_const_in(n, 2), 0), zero);
}

/* Both models, of one input of that shape and one output, differ by at most `most`, as a share of
 * the largest output. */
static void assert_close(const hn_model *a, const hn_model *b, int rank, const int64_t *dims,
                         double most) {
    hn_error err;
    hn_tensor *x, *y[2];
    hn_exec_options o = {.alloc = &model_mem};
    if (hn_tensor_create(&x, &model_mem, HN_MEM_TENSOR, HONE_DTYPE_F32, rank, dims, &err))
        fail_msg("%s", err.text);
    hn_rng rng;
    hn_rng_init(&rng, 7);
    for (int64_t i = 0; i < x->n; i++) ((float *)x->data)[i] = (float)(2 * hn_rng_f64(&rng) - 1);
    const hn_tensor *in[] = {x};
    for (int k = 0; k < 2; k++)
        if (hn_graph_run((k == 0 ? a : b)->graph, &o, in, &y[k], &err) != HONE_OK)
            fail_msg("%s", err.text);
    double worst = 0, largest = 0;
    for (int64_t i = 0; i < y[0]->n; i++) {
        double want = hn_tensor_f64(y[0], i);
        worst = fmax(worst, fabs(hn_tensor_f64(y[1], i) - want));
        largest = fmax(largest, fabs(want));
    }
    if (!(worst <= most * largest)) fail_msg("off by %g of %g", worst, largest);
    assert_true(worst > 0);
    for (int k = 0; k < 2; k++) hn_tensor_unref(y[k]);
    hn_tensor_unref(x);
}

#define RESIDUAL                                                                           \
    "m (float[1,3,6,6] x, float[4,3,3,3] w1, float[4] b1, float[4,4,3,3] w2, float[4] b2," \
    "   float[5,4] w3, float[5] b3) => (float[1,5] y)"                                     \
    "{ a = Conv <pads: ints = [1,1,1,1]> (x, w1, b1)  r = Relu (a)"                        \
    "  c = Conv <pads: ints = [1,1,1,1]> (r, w2, b2)  s = Add (c, r)  t = Relu (s)"        \
    "  g = GlobalAveragePool (t)  f = Flatten (g)  y = Gemm <transB: int = 1> (f, w3, b3) }"
#define RESIDUAL_RANGES "-1 1 x\n 0 16 r\n 0 60 t\n 0 40 g\n -60 60 c\n 0 40 f\n -99 99 y\n"

static void chains_are_steps_of_the_engine(void **state) {
    (void)state;
    hn_model *m = model_of(RESIDUAL), *floats = model_of(RESIDUAL);
    hn_scheme s = scheme_of(int8, "hone");
    assert_string_equal(watches(m, &s), "x r t g");
    hn_quantize_report report;
    quantize(m, &s, RESIDUAL_RANGES, &report);
    assert_int_equal(count(m, "QuantizeLinear"), 4);
    assert_int_equal(count(m, "DequantizeLinear"), 4 + 3 + 3);
    assert_point(m, "r", 16.0 / 255, 0);
    assert_point(m, "t", 60.0 / 255, 0);
    /* The sum reads the product as it is, and the rounded residual. */
    const hn_node *add = value_of(m, "s")->producer;
    assert_true(hn_is(add->inputs[0].value->producer, "Conv"));
    assert_true(hn_is(add->inputs[1].value->producer, "DequantizeLinear"));
    /* Biases are in units of the sums. */
    const hn_node *conv = value_of(m, "c")->producer, *bias = conv->inputs[2].value->producer;
    const hn_tensor *sw = hn_const_in(conv->inputs[1].value->producer, 1);
    assert_int_equal(hn_const_in(bias, 0)->dtype, HONE_DTYPE_S32);
    for (int i = 0; i < 4; i++)
        assert_true(((float *)hn_const_in(bias, 1)->data)[i] ==
                    (float)(16.0 / 255) * ((float *)sw->data)[i]);
    assert_int_equal(report.n, 8);
    assert_string_equal(report.v[0].node, "a");
    assert_string_equal(report.v[0].weights, "s8 per channel");
    assert_string_equal(report.v[0].activations, "u8");
    assert_int_equal(report.v[0].bytes_before, 4 * (108 + 4));
    assert_int_equal(report.v[0].bytes_after, 108 + 16 + 16);
    assert_int_equal(report.weights, 108 + 144 + 20);
    assert_int_equal(report.weight_bits, 8 * (108 + 144 + 20) + 32 * (4 + 4 + 5));
    for (int i = 0; i < report.n; i++) assert_null(report.v[i].why_not);
    bool found = false;
    for (int i = 0; i < report.n_values; i++) {
        const hn_quantized_value *v = &report.values[i];
        if (strcmp(v->name, "r") != 0) continue;
        found = true;
        assert_string_equal(v->type, "u8");
        assert_true(v->range.min == 0 && v->range.max == 16 && v->seen.max == 16);
        assert_null(v->bars);
        assert_true(isnan(v->clipped));
    }
    assert_true(found && report.n_values >= 4);
    hn_quantize_report_deinit(&report);
    assert_close(floats, m, 4, (int64_t[]){1, 3, 6, 6}, 0.04);
}

/* Weights in 4 bits beside static activations: placed as those of 8, steps of the same kind. */
static void weights_may_be_narrower(void **state) {
    (void)state;
    hn_model *m = model_of(RESIDUAL), *floats = model_of(RESIDUAL);
    hn_scheme s = scheme_of(hn_layer_type_named("w4a8")->layer, "hone");
    assert_string_equal(watches(m, &s), "x r t g");
    hn_quantize_report report;
    quantize(m, &s, RESIDUAL_RANGES, &report);
    assert_int_equal(count(m, "QuantizeLinear"), 4);
    assert_int_equal(count(m, "DequantizeLinear"), 4 + 3 + 3);
    const hn_node *conv = value_of(m, "c")->producer, *bias = conv->inputs[2].value->producer;
    const hn_node *weight = conv->inputs[1].value->producer;
    const float *sw = hn_const_in(weight, 1)->data, *sb = hn_const_in(bias, 1)->data;
    assert_int_equal(hn_const_in(weight, 0)->dtype, HONE_DTYPE_S4);
    assert_int_equal(hn_const_in(weight, 1)->n, 4);
    assert_int_equal(hn_const_in(bias, 0)->dtype, HONE_DTYPE_S32);
    for (int i = 0; i < 4; i++) assert_true(sb[i] == (float)(16.0 / 255) * sw[i]);
    assert_string_equal(report.v[0].weights, "s4 per channel");
    assert_string_equal(report.v[0].activations, "u8");
    assert_int_equal(report.v[0].bytes_after, 54 + 16 + 16);
    assert_int_equal(report.weight_bits, 4 * (108 + 144 + 20) + 32 * (4 + 4 + 5));
    hn_quantize_report_deinit(&report);
    assert_close(floats, m, 4, (int64_t[]){1, 3, 6, 6}, 0.2);
}

/* Codes of 7 bits in plain s8, so that any runtime reads them. */
static void weights_may_keep_to_7_bits(void **state) {
    (void)state;
    hn_model *m = model_of(RESIDUAL), *floats = model_of(RESIDUAL);
    hn_layer_scheme reduced = int8;
    hn_layer_changes c = hn_layer_changes_none();
    hn_error err;
    c.reduce_range = true;
    assert_int_equal(hn_layer_change(&reduced, &c, &err), HONE_OK);
    hn_scheme s = scheme_of(reduced, "hone");
    hn_quantize_report report;
    quantize(m, &s, RESIDUAL_RANGES, &report);
    int64_t most = 0;
    int weights = 0;
    for (const hn_node *n = m->graph->first; n != NULL; n = n->next) {
        const hn_tensor *codes = hn_is(n, "DequantizeLinear") ? hn_const_in(n, 0) : NULL;
        if (codes == NULL || codes->dtype != HONE_DTYPE_S8) continue;
        weights++;
        for (int64_t i = 0; i < codes->n; i++) {
            int64_t code = hn_tensor_s64(codes, i);
            most = code > most ? code : -code > most ? -code : most;
        }
    }
    assert_int_equal(weights, 3);
    assert_int_equal(most, 63);
    assert_string_equal(report.v[0].weights, "s8 of 7 bits per channel");
    assert_int_equal(report.weight_bits, 8 * (108 + 144 + 20) + 32 * (4 + 4 + 5));
    hn_quantize_report_deinit(&report);
    assert_close(floats, m, 4, (int64_t[]){1, 3, 6, 6}, 0.03);
}

static void targets_differ(void **state) {
    (void)state;
    hn_model *m = model_of(RESIDUAL), *floats = model_of(RESIDUAL);
    hn_scheme s = scheme_of(int8, "onnxruntime");
    assert_string_equal(watches(m, &s), "x r c t g f y");
    quantize(m, &s, RESIDUAL_RANGES, NULL);
    assert_int_equal(count(m, "Relu"), 0);
    assert_int_equal(count(m, "QuantizeLinear"), 7);
    const hn_node *w = value_of(m, "c_float")->producer->inputs[1].value->producer;
    assert_int_equal(hn_const_in(w, 2)->n, 4); /* zero points, although they are 0 */
    assert_close(floats, m, 4, (int64_t[]){1, 3, 6, 6}, 0.04);

    m = model_of(RESIDUAL);
    s = scheme_of(int8, "openvino");
    assert_string_equal(watches(m, &s), "x r c t g");
    quantize(m, &s, RESIDUAL_RANGES, NULL);
    assert_int_equal(count(m, "Relu"), 2);
    assert_non_null(hn_const_in(value_of(m, "y")->producer, 2)); /* the bias stays in floats */
    /* An input that may be negative is signed; what else may be is not. */
    assert_point(m, "x_dequantized", 1.0 / 127, 0);
    assert_int_equal(value_of(m, "x_quantized")->type.dtype, HONE_DTYPE_S8);
    assert_int_equal(value_of(m, "c_quantized")->type.dtype, HONE_DTYPE_U8);
    assert_close(floats, m, 4, (int64_t[]){1, 3, 6, 6}, 0.04);

    m = model_of(RESIDUAL); /* one that is not, is as the scheme says */
    s = scheme_of(int8, "openvino");
    quantize(m, &s, "0 1 x\n 0 16 r\n 0 60 t\n 0 40 g\n -60 60 c\n", NULL);
    assert_point(m, "x_dequantized", 1.0 / 255, 0);

    m = model_of(RESIDUAL);
    s = scheme_of(int8, "tensorrt");
    assert_string_equal(watches(m, &s), "x r t g");
    quantize(m, &s, RESIDUAL_RANGES, NULL);
    assert_point(m, "r", 16.0 / 127, 0);
    assert_int_equal(value_of(m, "r_quantized")->type.dtype, HONE_DTYPE_S8);
    assert_close(floats, m, 4, (int64_t[]){1, 3, 6, 6}, 0.06);
    assert_null(hn_quant_target_named("none"));
}

/* Behind its limit, a sum has a scale a little below that of its range, in which a quarter of r is
 * never half a code. */
static void sums_round_alike_everywhere(void **state) {
    (void)state;
    hn_model *m = model_of(RESIDUAL);
    hn_scheme s = scheme_of(int8, "onnxruntime");
    quantize(m, &s, "-1 1 x\n 0 16 r\n 0 64 t\n 0 40 g\n -64 64 c\n 0 40 f\n -99 99 y\n", NULL);
    assert_point(m, "r", 16.0 / 255, 0);
    const hn_node *sum = value_of(m, "t")->producer;
    double scale = hn_tensor_f64(hn_const_in(sum, 1), 0) / (64.0 / 255);
    assert_true(scale < 1 - 1e-6 && scale > 0.998);

    m = model_of(RESIDUAL); /* a product to which r is added unrounded is no such sum */
    s = scheme_of(int8, "hone");
    quantize(m, &s, "-1 1 x\n 0 16 r\n 0 64 t\n 0 40 g\n", NULL);
    assert_point(m, "t", 64.0 / 255, 0);
}

#define JOINED                                                                              \
    "m (float[1,3,6,6] x, float[4,3,1,1] w1, float[5,3,1,1] w2, float[6,9,1,1] w3)"         \
    "=> (float[1,6,3,3] y)"                                                                 \
    "{ a = Conv (x, w1)  b = Conv (x, w2)  r = Relu (b)  c = Concat <axis: int = 1> (a, r)" \
    "  p = MaxPool <kernel_shape: ints = [2,2], strides: ints = [2,2]> (c)  y = Conv (p, w3) }"

static void what_is_joined_or_moved_shares_a_scale(void **state) {
    (void)state;
    hn_model *m = model_of(JOINED), *floats = model_of(JOINED);
    hn_scheme s = scheme_of(int8, "hone");
    assert_string_equal(watches(m, &s), "x a r");
    quantize(m, &s, "-1 1 x\n -5 4 a\n 0 5.2 r", NULL);
    assert_int_equal(count(m, "QuantizeLinear"), 3);
    assert_point(m, "a", 10.2 / 255, 125);
    assert_point(m, "r", 10.2 / 255, 125);
    assert_close(floats, m, 4, (int64_t[]){1, 3, 6, 6}, 0.04);

    m = model_of(JOINED);
    s = scheme_of(int8, "onnxruntime");
    assert_string_equal(watches(m, &s), "x a r c p y");
    quantize(m, &s, "-1 1 x\n -5 4 a\n 0 5.2 r\n -5 5.2 c\n -4 5.2 p\n -9 9 y\n", NULL);
    assert_point(m, "p", 10.2 / 255, 125);
}

static void islands_are_left_out(void **state) {
    (void)state;
    hn_model *m = model_of(
        "m (float[2,4] x, float[4,4] w1, float[4] b1, float[4] wg, float[4,4] w2)"
        "=> (float[2,4] y, float[2,4] z)"
        "{ a = MatMul (x, w1)  d = Add (a, b1)  n = LayerNormalization (d, wg)"
        "  e = Add (n, x)  h = Tanh (e)  y = MatMul (e, w2)  z = Mul (y, y) }");
    hn_scheme s = scheme_of(int8, "hone");
    assert_string_equal(watches(m, &s), "x e");
    hn_quantize_report report;
    quantize(m, &s, "-1 1 x\n -3 3 e", &report);
    static const struct {
        const char *node, *why;
    } want[] = {{"a", NULL},
                {"d", "nothing that runs in integers reads it"},
                {"n", "no integer form of it"},
                {"e", "an input is computed in floats"},
                {"h", "an input is computed in floats"},
                {"y", NULL},
                {"z", "nothing that runs in integers reads it"}};
    assert_int_equal(report.n, 7);
    for (int i = 0; i < 7; i++) {
        assert_string_equal(report.v[i].node, want[i].node);
        if (want[i].why != NULL)
            assert_string_equal(report.v[i].why_not, want[i].why);
        else
            assert_null(report.v[i].why_not);
    }
    hn_quantize_report_deinit(&report);
    assert_int_equal(count(m, "QuantizeLinear"), 2);
}

static void layers_inside_branches_are_said_to_stay(void **state) {
    (void)state;
    for (int k = 0; k < 2; k++) {
        hn_model *m = model_of(
            "m (float[2,4] x, bool c, float[4,4] w1, float[4,4] w2) => (float[2,4] y)"
            "{ a = MatMul (x, w1)"
            "  d = If (c) <then_branch = yes () => (p) { q = MatMul (a, w2)  p = Relu (q) },"
            "             else_branch = no () => (r) { r = Relu (a) }>"
            "  y = If (c) <then_branch = yes () => (s) { s = Relu (d) },"
            "             else_branch = no () => (t) { t = Neg (d) }> }");
        hn_scheme s = scheme_of(int8, "hone");
        if (k == 1) s.layer.kind = HN_LAYER_WEIGHTS;
        hn_quantize_report report;
        quantize(m, &s, "-1 1 x", &report);
        assert_int_equal(report.n, k == 0 ? 3 : 2);
        assert_string_equal(report.v[0].node, "a");
        assert_null(report.v[0].why_not);
        assert_string_equal(report.v[1].node, "d");
        assert_string_equal(
            report.v[1].why_not,
            "layers inside it are left alone: only those of the outermost graph are quantized");
        if (k == 0) assert_string_equal(report.v[2].why_not, "no integer form of it");
        hn_quantize_report_deinit(&report);
    }
}

static void functions_are_part_of_products(void **state) {
    (void)state;
    const char *text =
        "m (float[1,4,4,4] x, float[4,4,1,1] w1, float[4,4,1,1] w2,"
        "   float[4,4,1,1] w3) => (float[1,4,4,4] y)"
        "{ a = Conv (x, w1)  h = HardSwish (a)  b = Conv (h, w2)"
        "  g = Sigmoid (b)  m = Mul (h, g)  y = Conv (m, w3) }";
    hn_model *m = model_of(text), *floats = model_of(text);
    hn_scheme s = scheme_of(int8, "hone");
    assert_string_equal(watches(m, &s), "x h m"); /* Sigmoid lies between 0 and 1 */
    quantize(m, &s, "-1 1 x\n -0.4 6 h\n -0.4 6 m", NULL);
    assert_point(m, "g", 1.0 / 255, 0);
    assert_close(floats, m, 4, (int64_t[]){1, 4, 4, 4}, 0.06);
}

#define LIMITED                                                                         \
    "m (float[1,3,4,4] x, float wl, float wh, float[4,3,1,1] w1) => (float[1,4,4,4] y)" \
    "{ a = Clip (x, wl, wh)  y = Conv (a, w1) }"

static hn_model *limited(float lo, float hi) {
    hn_model *m = model_of(LIMITED);
    *(float *)value_of(m, "wl")->constant->data = lo;
    *(float *)value_of(m, "wh")->constant->data = hi;
    return m;
}

/* A limit of an input is not rounded twice, and goes where quantizing does its work. */
static void limits_of_inputs(void **state) {
    (void)state;
    hn_model *m = limited(0, 0.5F), *floats = limited(0, 0.5F);
    hn_scheme s = scheme_of(int8, "hone");
    assert_string_equal(watches(m, &s), "a");
    quantize(m, &s, "0 0.5 a", NULL);
    assert_int_equal(count(m, "Clip"), 0);
    assert_int_equal(count(m, "QuantizeLinear"), 1);
    assert_close(floats, m, 4, (int64_t[]){1, 3, 4, 4}, 0.04);

    m = limited(0, 0.5F);
    quantize(m, &s, "-1 1 a", NULL);
    assert_int_equal(count(m, "Clip"), 1);
    assert_int_equal(count(m, "QuantizeLinear"), 1);
    assert_close(floats, m, 4, (int64_t[]){1, 3, 4, 4}, 0.04);

    s.integer_io = true;
    m = limited(0, 0.5F);
    assert_string_equal(watches(m, &s), "x a y");
    quantize(m, &s, "-1 1 x 0 0.5 a -9 9 y", NULL);
    assert_int_equal(value_of(m, "x")->type.dtype, HONE_DTYPE_U8);
}

static void means_may_be_integers_whoever_reads_them(void **state) {
    (void)state;
    const char *text =
        "m (float[1,3,8,8] x, float[4,3,1,1] w) => (float[1,4,1,1] y)"
        "{ a = Conv (x, w)  r = Relu (a)  g = GlobalAveragePool (r)"
        "  y = Softmax <axis: int = 1> (g) }";
    hn_model *m = model_of(text), *floats = model_of(text);
    hn_scheme s = scheme_of(int8, "hone");
    assert_string_equal(watches(m, &s), "x");
    s = scheme_of(int8, "onnxruntime");
    assert_string_equal(watches(m, &s), "x r g");
    quantize(m, &s, "-1 1 x\n 0 8 r\n 0 2 g", NULL);
    assert_true(hn_is(value_of(m, "g")->producer, "DequantizeLinear"));
    assert_close(floats, m, 4, (int64_t[]){1, 3, 8, 8}, 0.04);
}

/* Constants that are added are of the type that activations have. */
static void tensorrt_has_no_zero_points(void **state) {
    (void)state;
    hn_model *m = model_of(
        "m (float[1,3,4,4] x, float[1,4,1,1] wc, float[4,3,1,1] w1, float[4,4,1,1] w2)"
        "=> (float[1,4,4,4] y)"
        "{ a = Conv (x, w1)  d = Mul (a, wc)  y = Conv (d, w2) }");
    hn_scheme s = scheme_of(int8, "tensorrt");
    hn_quantize_report report;
    quantize(m, &s, "-1 1 x\n -4 5 a\n -4 5 d", &report);
    assert_string_equal(report.v[0].activations, "s8");
    hn_quantize_report_deinit(&report);
    int seen = 0;
    for (const hn_node *n = m->graph->first; n != NULL; n = n->next) {
        if (!hn_is(n, "DequantizeLinear")) continue;
        assert_int_equal(n->inputs[0].value->type.dtype, HONE_DTYPE_S8);
        const hn_tensor *zero = hn_const_in(n, 2);
        for (int64_t i = 0; zero != NULL && i < zero->n; i++)
            assert_int_equal(hn_tensor_s64(zero, i), 0);
        seen++;
    }
    assert_int_equal(seen, 3 + 2 + 1);
}

static void weights_may_be_shared_and_turned(void **state) {
    (void)state;
    const char *text =
        "m (float[2,4] x, float[4,4] w) => (float[2,4] y)"
        "{ t = Transpose (w)  a = MatMul (x, t)  b = MatMul (a, t)"
        "  y = Gemm <transB: int = 1> (b, w) }";
    hn_model *m = model_of(text), *floats = model_of(text);
    hn_scheme s = scheme_of(int8, "hone");
    quantize(m, &s, "-1 1 x\n -4 4 a\n -12 12 b", NULL);
    assert_int_equal(count(m, "DequantizeLinear"), 3 + 1);
    assert_int_equal(hn_attr_i(value_of(m, "w_dequantized")->producer, "axis"), 0);
    assert_close(floats, m, 2, (int64_t[]){2, 4}, 0.05);
}

static void factors_of_gemm_go_into_scales(void **state) {
    (void)state;
    const char *text =
        "m (float[2,4] x, float[4,4] w, float[4] b) => (float[2,4] y)"
        "{ y = Gemm <alpha: float = 0.5, beta: float = 3.0> (x, w, b) }";
    hn_model *m = model_of(text), *floats = model_of(text);
    hn_scheme s = scheme_of(int8, "hone");
    quantize(m, &s, "-1 1 x", NULL);
    const hn_node *gemm = value_of(m, "y")->producer;
    assert_true(hn_attr_f(gemm, "alpha") == 1 && hn_attr_f(gemm, "beta") == 1);
    assert_close(floats, m, 2, (int64_t[]){2, 4}, 0.02);
}

static void biases_fit_channels_of_zeros(void **state) {
    (void)state;
    const char *text =
        "m (float[1,2] x, float[2,2] w, float[2] b) => (float[1,2] y)"
        "{ y = Gemm (x, w, b) }";
    hn_model *m = model_of(text), *floats = model_of(text);
    for (int k = 0; k < 2; k++) {
        hn_model *at = k == 0 ? m : floats;
        hn_value_set_constant(value_of(at, "w"), tensor_of("float[2,2] {0.5, 0, 0.25, 0}"));
        hn_value_set_constant(value_of(at, "b"), tensor_of("float[2] {0, 0.3}"));
    }
    hn_scheme s = scheme_of(int8, "hone");
    quantize(m, &s, "-1 1 x", NULL);
    const hn_node *bias = value_of(m, "y")->producer->inputs[2].value->producer;
    double b = hn_tensor_f64(hn_const_in(bias, 0), 1) * hn_tensor_f64(hn_const_in(bias, 1), 1);
    assert_true(fabs(b - 0.3) < 1e-6);
    assert_close(floats, m, 2, (int64_t[]){1, 2}, 0.02);
}

static void weights_alone_may_be_in_groups(void **state) {
    (void)state;
    const char *text =
        "m (float[2,10] x, float[10,6] w1, float[8,6] w2) => (float[2,8] y)"
        "{ a = MatMul (x, w1)  y = Gemm <transB: int = 1> (a, w2) }";
    hn_model *m = model_of(text), *floats = model_of(text);
    hn_layer_scheme u4 = {.kind = HN_LAYER_WEIGHTS,
                          .weights = {HONE_DTYPE_U4, 4, false, false, 4, false}};
    hn_scheme s = scheme_of(u4, "hone");
    assert_string_equal(watches(m, &s), "");
    hn_quantize_report report;
    hn_error err;
    assert_int_equal(hn_quantize_model(m, &s, NULL, NULL, NULL, &report, &err), HONE_OK);
    assert_int_equal(count(m, "QuantizeLinear"), 0);
    const hn_node *w1 = value_of(m, "w1_dequantized")->producer;
    assert_int_equal(hn_attr_i(w1, "axis"), 0);
    assert_int_equal(hn_attr_i(w1, "block_size"), 4);
    assert_true(hn_tensor_same_dims(hn_const_in(w1, 1), 2, (int64_t[]){3, 6}));
    assert_int_equal(hn_attr_i(value_of(m, "w2_dequantized")->producer, "axis"), 1);
    assert_string_equal(report.v[0].weights, "u4 groups of 4");
    assert_int_equal(report.v[0].bytes_after, 30 + 18 * 4 + 9);
    hn_quantize_report_deinit(&report);
    assert_close(floats, m, 2, (int64_t[]){2, 10}, 0.2);
}

static void activations_may_be_quantized_at_run_time(void **state) {
    (void)state;
    const char *text =
        "m (float[6,4] x, float[4,6] w1, float[5,6] w2, float[5] b2, float[4,5] w3,"
        "   float[6,7] w4, float[4,7] w5) => (float[4,7] y)"
        "{ a = MatMul (x, w1)"
        "  g = Gemm <transB: int = 1, alpha: float = 0.5, beta: float = 2.0> (a, w2, b2)"
        "  t = Transpose (w3)  u = MatMul (g, t)  k = MatMul (x, w5)  r = Relu (k)"
        "  c = ReduceSum <keepdims: int = 1> (r)"
        "  y = Gemm <transA: int = 1, beta: float = 0.5> (u, w4, c) }";
    hn_model *m = model_of(text), *floats = model_of(text);
    hn_scheme s = scheme_of(int8, "hone");
    s.layer.kind = HN_LAYER_DYNAMIC;
    assert_string_equal(watches(m, &s), "");
    hn_quantize_report report;
    hn_error err;
    if (hn_quantize_model(m, &s, NULL, NULL, NULL, &report, &err) != HONE_OK ||
        hn_model_verify(m, &err) != HONE_OK)
        fail_msg("%s", err.text);
    assert_int_equal(count(m, "MatMulInteger"), 5);
    assert_int_equal(count(m, "DynamicQuantizeLinear"), 4); /* x is quantized once */
    assert_int_equal(count(m, "Transpose"), 1);             /* of u; weights are turned here */
    assert_int_equal(count(m, "MatMul") + count(m, "Gemm"), 0);
    assert_null(hn_graph_value(m->graph, "w1"));
    assert_string_equal(report.v[0].activations, "u8");
    assert_int_equal(report.v[0].kind, HN_LAYER_DYNAMIC);
    hn_quantize_report_deinit(&report);
    assert_close(floats, m, 2, (int64_t[]){6, 4}, 0.05);
}

static void convolutions_are_dynamic_on_request(void **state) {
    (void)state;
    const char *text =
        "m (float[1,2,5,5] x, float[4,1,3,3] w, float[4] b) => (float[1,4,3,3] y)"
        "{ y = Conv <group: int = 2, strides: ints = [2,2],"
        "            auto_pad: string = \"SAME_UPPER\"> (x, w, b) }";
    hn_model *m = model_of(text), *floats = model_of(text);
    hn_scheme s = scheme_of(int8, "hone");
    s.layer.kind = HN_LAYER_DYNAMIC;
    hn_scheme_rule rule = {"y", s.layer};
    hn_error err;
    hn_quantize_report report;
    assert_int_equal(hn_quantize_model(m, &s, NULL, NULL, NULL, &report, &err), HONE_OK);
    assert_string_equal(report.v[0].why_not,
                        "convolutions are dynamic only where a rule names them");
    assert_int_equal(count(m, "Conv"), 1);
    hn_quantize_report_deinit(&report);
    s.n_rules = 1;
    s.rules = &rule;
    if (hn_quantize_model(m, &s, NULL, NULL, NULL, NULL, &err) != HONE_OK) fail_msg("%s", err.text);
    assert_int_equal(count(m, "ConvInteger"), 1);
    assert_close(floats, m, 4, (int64_t[]){1, 2, 5, 5}, 0.05);
}

/* Weights of odd sizes, turned and not, in every type that has groups; the layers that have none.
 */
static void groups_are_dynamic_in_blocks(void **state) {
    (void)state;
    const char *text =
        "m (float[3,40] x, float[40,23] w1, float[17,23] w2, float[17] b2, float[3,17,9] w3)"
        " => (float[3,3,9] y)"
        "{ a = MatMul (x, w1)"
        "  g = Gemm <transB: int = 1, alpha: float = 0.5, beta: float = 2.0> (a, w2, b2)"
        "  y = MatMul (g, w3) }";
    static const struct {
        hn_qtype type;
        double off;
    } types[] = {{{HONE_DTYPE_S4, 4, true, true, 16, false}, 0.3},
                 {{HONE_DTYPE_U4, 4, false, true, 16, false}, 0.3},
                 {{HONE_DTYPE_S4, 4, true, true, 64, false}, 0.3},
                 {{HONE_DTYPE_S8, 8, true, true, 16, false}, 0.02},
                 {{HONE_DTYPE_U8, 8, false, true, 32, false}, 0.02}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        hn_model *m = model_of(text), *floats = model_of(text);
        hn_scheme s = scheme_of((hn_layer_scheme){.kind = HN_LAYER_DYNAMIC}, "hone");
        s.layer.weights = types[i].type;
        hn_quantize_report report;
        hn_error err;
        if (hn_quantize_model(m, &s, NULL, NULL, NULL, &report, &err) != HONE_OK ||
            hn_model_verify(m, &err) != HONE_OK)
            fail_msg("%s", err.text);
        int blocks = 0;
        for (const hn_node *n = m->graph->first; n != NULL; n = n->next)
            blocks += strcmp(n->op_type, "MatMulNBits") == 0;
        assert_int_equal(blocks, 2);
        assert_int_equal(count(m, "MatMul"), 1);
        assert_int_equal(count(m, "Gemm"), 0);
        assert_int_equal(hn_model_opset(m, "com.microsoft"), 1);
        assert_string_equal(report.v[0].activations, "s8");
        assert_string_equal(report.v[2].why_not, "the weight is several matrices");
        hn_quantize_report_deinit(&report);
        assert_int_equal(hn_quantize_model(m, &s, NULL, NULL, NULL, NULL, &err), HONE_E_ARG);
        assert_non_null(strstr(err.text, "quantized already"));
        assert_close(floats, m, 2, (int64_t[]){3, 40}, types[i].off);
    }
}

static void methods_choose_grids(void **state) {
    (void)state;
    hn_model *m = model_of(
        "m (float[2,4] x, float[4,4] w) => (float[2,4] y)"
        "{ y = MatMul (x, w) }");
    hn_scheme s = scheme_of(int8, "hone");
    s.layer.kind = HN_LAYER_WEIGHTS;
    hn_grids *grids;
    hn_grid g;
    hn_error err;
    hn_qtype t = {HONE_DTYPE_S4, 4, true, false, 0, false};
    s.layer.weights = t;
    assert_int_equal(hn_grids_create(&grids, &model_mem, &err), HONE_OK);
    assert_int_equal(
        hn_grid_create(&g, value_of(m, "w")->constant, &t, 1, 0, NULL, &model_mem, &err), HONE_OK);
    float scale = ((float *)g.scale->data)[0] *= 1.25f;
    assert_int_equal(hn_grids_set(grids, "w", &g, &err), HONE_OK);
    assert_int_equal(
        hn_grid_create(&g, value_of(m, "w")->constant, &int8.weights, 1, 0, NULL, &model_mem, &err),
        HONE_OK);
    assert_int_equal(hn_grids_set(grids, "w", &g, &err), HONE_OK); /* for another type */
    assert_int_equal(hn_quantize_model(m, &s, NULL, grids, NULL, NULL, &err), HONE_OK);
    const hn_node *w = value_of(m, "w_dequantized")->producer;
    assert_true(hn_tensor_f64(hn_const_in(w, 1), 0) == (double)scale);
    for (int i = 0; i < 16; i++) assert_in_range(hn_tensor_s64(hn_const_in(w, 0), i) + 7, 0, 14);
    hn_grids_destroy(grids);
}

static void inputs_and_outputs_may_be_integers(void **state) {
    (void)state;
    hn_model *m = model_of(
        "m (float[1,2,4,4] x, float[2,2,1,1] w1, float[2,2,1,1] w2)"
        "=> (float[1,2,4,4] y, float[1,2,4,4] z)"
        "{ y = Conv (x, w1)  z = Conv (y, w2) }");
    hn_scheme s = scheme_of(int8, "hone");
    s.integer_io = true;
    assert_string_equal(watches(m, &s), "x y z");
    quantize(m, &s, "-1 1 x\n -4 4 y\n -9 9 z", NULL);
    assert_string_equal(type_of(m, "x"), "u8[1, 2, 4, 4]");
    assert_string_equal(type_of(m, "y"), "u8[1, 2, 4, 4]");
    assert_string_equal(type_of(m, "z"), "u8[1, 2, 4, 4]");
    assert_int_equal(count(m, "QuantizeLinear"), 2);
    assert_string_equal(m->graph->outputs[0].value->name, "y");
    assert_string_equal(m->graph->outputs[1].value->name, "z");
    assert_true(hn_is(value_of(m, "y")->producer, "QuantizeLinear"));
}

static void bad_requests_say_why(void **state) {
    (void)state;
    hn_scheme s = scheme_of(int8, "hone");
    hn_model *m = model_of(RESIDUAL);
    quantize_fails(m, &s, "-1 1 x\n 0 16 r", "the calibration has no range for 't'");
    m = model_of(RESIDUAL);
    quantize(m, &s, RESIDUAL_RANGES, NULL);
    quantize_fails(m, &s, RESIDUAL_RANGES,
                   "the model is quantized already (QuantizeLinear 'x_quantized'): quantize the "
                   "float model it was made of");
}

static void allocations_may_fail(void **state) {
    (void)state;
    hn_scheme s = scheme_of(int8, "hone");
    hn_calibration *c = ranges(RESIDUAL_RANGES);
    hone_status status = HONE_E_NOMEM;
    hn_model *from = model_of(RESIDUAL);
    for (int k = 0; status != HONE_OK; k++) {
        hn_model *m;
        hn_error err;
        hn_quantize_report report = {0};
        if (hn_model_clone(&m, from, &model_mem, &err) != HONE_OK ||
            hn_model_infer(m, NULL, &err) != HONE_OK)
            fail_msg("%s", err.text);
        atomic_store(&model_mem.fail_after, k);
        status = hn_quantize_model(m, &s, c, NULL, NULL, &report, &err);
        atomic_store(&model_mem.fail_after, -1);
        assert_true(status == HONE_OK || status == HONE_E_NOMEM);
        hn_quantize_report_deinit(&report);
        hn_model_destroy(m);
    }
    hn_calibration_destroy(c);
}

static int setup(void **state) { return scratch_setup(state) || model_setup(state); }
static int teardown(void **state) {
    int left = model_teardown(state);
    return scratch_teardown(state) || left;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(chains_are_steps_of_the_engine),
        TEST(weights_may_be_narrower),
        TEST(weights_may_keep_to_7_bits),
        TEST(targets_differ),
        TEST(sums_round_alike_everywhere),
        TEST(what_is_joined_or_moved_shares_a_scale),
        TEST(islands_are_left_out),
        TEST(layers_inside_branches_are_said_to_stay),
        TEST(functions_are_part_of_products),
        TEST(limits_of_inputs),
        TEST(means_may_be_integers_whoever_reads_them),
        TEST(tensorrt_has_no_zero_points),
        TEST(weights_may_be_shared_and_turned),
        TEST(factors_of_gemm_go_into_scales),
        TEST(biases_fit_channels_of_zeros),
        TEST(weights_alone_may_be_in_groups),
        TEST(activations_may_be_quantized_at_run_time),
        TEST(convolutions_are_dynamic_on_request),
        TEST(groups_are_dynamic_in_blocks),
        TEST(methods_choose_grids),
        TEST(inputs_and_outputs_may_be_integers),
        TEST(bad_requests_say_why),
        TEST(allocations_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

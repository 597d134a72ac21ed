/* Quantized graphs through the engine, against integer arithmetic written out here: whatever form a
 * model has, the same step and the same bits; and what stays in float. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "engine/engine.h"
#include "support/engine_model.h"
#include "support/text_model.h"

enum { MOST = 8 };

static hn_error err;

/* ---- running ---- */

/* A model that has run: its inputs in order, constants included, and its first output. */
typedef struct ran {
    hn_tensor *in[MOST], *out, *plain;
    char steps[512], floats[512]; /* floats: those that say why they are */
} ran;

static hone_status place(void *ctx, int i, hone_dtype dtype, int rank, const int64_t *dims,
                         void **to, hn_error *e) {
    hn_tensor **out = ctx;
    assert_int_equal(i, 0);
    assert_int_equal(hn_tensor_create(out, &model_mem, HN_MEM_DATA, dtype, rank, dims, e), HONE_OK);
    *to = (*out)->data;
    return HONE_OK;
}

static void note_step(void *ctx, const hn_step_time *t) {
    ran *r = ctx;
    char *steps = r->steps;
    const char *why = t->step->facts->why_float;
    size_t told = strlen(r->floats);
    if (why != NULL)
        snprintf(r->floats + told, sizeof r->floats - told, "%s%s: %s", told > 0 ? ", " : "",
                 t->step->facts->label, why);
    const char *family = t->step->family != NULL ? t->step->family->name : "reference";
    size_t at = strlen(steps);
    if (strcmp(family, "copy") == 0) return;
    snprintf(steps + at, 512 - at, "%s%s %s", at > 0 ? ", " : "", family, t->step->facts->label);
}

/* Integers of their whole range, extremes often; floats from -2 to 2; s32 of a bias. */
static hn_tensor *random_tensor(const hn_value *v, hn_rng *rng) {
    hn_tensor *t;
    int64_t dims[HONE_MAX_RANK];
    hone_dtype type = v->type.dtype;
    assert_true(hn_shape_is_const(&v->type.shape, dims));
    assert_int_equal(
        hn_tensor_create(&t, &model_mem, HN_MEM_DATA, type, v->type.shape.rank, dims, &err),
        HONE_OK);
    for (int64_t i = 0; i < t->n; i++) {
        int64_t n = INT64_C(1) << (hone_dtype_bits(type) < 8 ? hone_dtype_bits(type) : 8);
        int64_t lo = hn_dtype_is_signed(type) ? -n / 2 : 0;
        int64_t q = lo + (int64_t)hn_rng_below(rng, (uint64_t)n);
        if (hn_rng_below(rng, 8) == 0) q = hn_rng_below(rng, 2) == 0 ? lo : lo + n - 1;
        if (type == HONE_DTYPE_S32) q = (int64_t)hn_rng_below(rng, 20001) - 10000;
        hn_store_f64(type, t->data, i,
                     type == HONE_DTYPE_F32 ? 4 * hn_rng_f64(rng) - 2 : (double)q);
    }
    return t;
}

/* Inputs whose names begin with w are constants, the second of these integers where there are any;
 * given: not those that are matrices of bytes, or biases. The model is not simplified. */
static ran run_so(const char *text, const int64_t *second, bool are_given) {
    ran r = {0};
    assert_int_equal(model_setup(NULL), 0);
    hn_model *m = model_inferred(text);
    hn_graph *g = m->graph;
    hn_rng rng;
    hn_rng_init(&rng, 7);
    assert_true(g->n_inputs <= MOST);
    const hn_tensor *given[MOST] = {0};
    for (int i = 0; i < g->n_inputs; i++) {
        r.in[i] = random_tensor(g->inputs[i], &rng);
        for (int64_t k = 0; i == 1 && second != NULL && k < r.in[i]->n; k++)
            hn_store_s64(r.in[i]->dtype, r.in[i]->data, k, second[k]);
        const char *name = g->inputs[i]->name;
        bool weights =
            (hone_dtype_bits(r.in[i]->dtype) == 8 && r.in[i]->rank > 1) || name[1] == 'b';
        if (name[0] == 'w' && !(are_given && weights))
            hn_value_set_constant(g->inputs[i], hn_tensor_ref(r.in[i]));
        else
            given[i] = r.in[i];
    }
    hn_exec_options plain = {.alloc = &model_mem, .seed = 1};
    assert_int_equal(hn_graph_run(g, &plain, given, &r.plain, &err), HONE_OK);
    hn_engine *e;
    hn_engine_options o = {.alloc = &model_mem, .isa = hn_isa_available(), .no_simplify = true};
    assert_int_equal(hn_engine_create(&e, m, &o, &err), HONE_OK);
    if (hn_engine_run(e, given, place, &r.out, note_step, &r, &err) != HONE_OK)
        fail_msg("%s", err.text);
    hn_engine_destroy(e);
    return r;
}

static void done(ran *r) {
    for (int i = 0; i < MOST; i++) hn_tensor_unref(r->in[i]);
    hn_tensor_unref(r->out);
    hn_tensor_unref(r->plain);
    assert_int_equal(model_teardown(NULL), 0);
}

/* Where weights that are given are multiplied in integers too, the results are the same bits. */
static ran run_with(const char *text, const int64_t *second) {
    ran given = run_so(text, second, true);
    bool packed = strstr(given.steps, "pack Pack, conv_q8") != NULL;
    size_t bytes = given.out->bytes;
    void *out = malloc(bytes + 1);
    assert_non_null(out);
    memcpy(out, given.out->data, bytes);
    done(&given);
    ran r = run_so(text, second, false);
    if (packed && (r.out->bytes != bytes || memcmp(out, r.out->data, bytes) != 0))
        fail_msg("weights that are given make other bits: %s", text);
    free(out);
    return r;
}

static ran run(const char *text) { return run_with(text, NULL); }

static void has_steps(const ran *r, const char *steps) {
    if (strcmp(r->steps, steps) != 0) fail_msg("steps are '%s', expected '%s'", r->steps, steps);
}

static int64_t at(const hn_tensor *t, int64_t i) { return hn_tensor_s64(t, i); }

static int64_t saturate(hone_dtype t, double v, int64_t zero) {
    double q = rint(v) + (double)zero, lo = t == HONE_DTYPE_U8 ? 0 : -128;
    return (int64_t)(q < lo ? lo : q > lo + 255 ? lo + 255 : q);
}

static void is_at(const ran *r, int64_t i, int64_t want) {
    if (at(r->out, i) != want)
        fail_msg("element %lld is %lld, expected %lld", (long long)i, (long long)at(r->out, i),
                 (long long)want);
}

/* ---- convolutions ---- */

/* x u8[1,6,5,5] with zero point 100, w s8[8,6,3,3], padded by one: sums of output channel o at
 * (y, x), plus bias. */
static int32_t conv_sum(const hn_tensor *x, const hn_tensor *w, int64_t wz, int o, int oy, int ox) {
    int32_t sum = 0;
    for (int c = 0; c < 6; c++)
        for (int k = 0; k < 9; k++) {
            int y = oy + k / 3 - 1, z = ox + k % 3 - 1;
            if (y < 0 || y > 4 || z < 0 || z > 4) continue;
            sum +=
                (int32_t)((at(x, (c * 5 + y) * 5 + z) - 100) * (at(w, (o * 6 + c) * 9 + k) - wz));
        }
    return sum;
}

#define CONV_SCALES                                                                                \
    "float sx = {0.02}, uint8 zx = {100}, float sy = {0.11}, uint8 zy = {30}, "                    \
    "float[8] sw = {0.01, 0.02, 0.03, 0.004, 0.05, 0.006, 0.07, 0.08}, int8[8] zw = {0, 0, 0, 0, " \
    "0, 0, 0, 0}"
static const float sw[] = {0.01f, 0.02f, 0.03f, 0.004f, 0.05f, 0.006f, 0.07f, 0.08f};

static float factor(int o) { return 0.02f * sw[o] / 0.11f; }

/* r: what is added in 8 bits, or NULL; bias: as s32. */
static void is_conv(const ran *r, const hn_tensor *bias, const hn_tensor *added, int64_t lo) {
    for (int o = 0; o < 8; o++)
        for (int i = 0; i < 25; i++) {
            int32_t sum = conv_sum(r->in[0], r->in[1], 0, o, i / 5, i % 5);
            if (bias != NULL) sum += (int32_t)at(bias, o);
            float v = (float)sum * factor(o);
            if (added != NULL) {
                float mr = 0.3f / 0.11f;
                float b = (float)(at(added, o * 25 + i) - 7) * mr;
                v = v + b;
            }
            int64_t want = saturate(HONE_DTYPE_U8, v, 30);
            is_at(r, o * 25 + i, want < lo ? lo : want);
        }
}

static void convolutions(void **state) {
    (void)state;
    ran r =
        run("m (uint8[1,6,5,5] x, int8[8,6,3,3] w, int32[8] wb) => (uint8[1,8,5,5] y) <" CONV_SCALES
            ", float[8] sb = {0.0002, 0.0004, 0.0006, 0.00008, 0.001, 0.00012, "
            "0.0014, 0.0016}> { xf = DequantizeLinear (x, sx, zx)"
            " wf = DequantizeLinear <axis = 0> (w, sw, zw)"
            " bf = DequantizeLinear <axis = 0> (wb, sb)"
            " c = Conv <pads = [1, 1, 1, 1]> (xf, wf, bf) a = Relu (c)"
            " y = QuantizeLinear (a, sy, zy) }");
    has_steps(&r, "conv_q8 Conv+Relu+QuantizeLinear");
    is_conv(&r, r.in[2], NULL, 30);
    done(&r);
    r = run("m (uint8[1,6,5,5] x, int8[8,6,3,3] w, int32[8] wb) => (uint8[1,8,5,5] y) <" CONV_SCALES
            "> { y = QLinearConv <pads = [1, 1, 1, 1]>"
            " (x, sx, zx, w, sw, zw, sy, zy, wb) }");
    has_steps(&r, "conv_q8 QLinearConv");
    is_conv(&r, r.in[2], NULL, 0);
    done(&r);
    r =
        run("m (uint8[1,6,5,5] x, int8[8,6,3,3] w) => (int32[1,8,5,5] y) <uint8 zx = {100}> {"
            " y = ConvInteger <pads = [1, 1, 1, 1]> (x, w, zx) }");
    has_steps(&r, "conv_q8 ConvInteger");
    for (int i = 0; i < 200; i++)
        is_at(&r, i, conv_sum(r.in[0], r.in[1], 0, i / 25, i / 5 % 5, i % 5));
    done(&r);
}

/* Factors are computed in floats, as ONNX Runtime does: 5 times 14.7 is 73.5, and in doubles the
 * factor comes out a bit smaller. */
static void factors(void **state) {
    (void)state;
    static const char *const forms[][2] = {
        {"f = DequantizeLinear (x, sx, z) v = DequantizeLinear <axis = 0> (w, sw, zw)"
         " c = Conv (f, v) y = QuantizeLinear (c, sy, z)",
         "conv_q8 Conv+QuantizeLinear"},
        {"y = QLinearConv (x, sx, z, w, sw, zw, sy, z)", "conv_q8 QLinearConv"},
    };
    for (int i = 0; i < 2; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "m (uint8[1,1,1,4] u) => (uint8[1,1,1,4] y) <uint8 z = {0}, uint8 five = {5},"
                 " int8[1,1,1,1] w = {1}, int8[1] zw = {0}, float sx = {0.16},"
                 " float[1] sw = {0.735}, float sy = {0.008}> { least = Max (u, five)"
                 " x = Min (least, five) %s }",
                 forms[i][0]);
        ran r = run(text);
        assert_non_null(strstr(r.steps, forms[i][1]));
        for (int k = 0; k < 4; k++) is_at(&r, k, 74);
        done(&r);
    }
}

/* A residual that was quantized is added to the product before it is rounded. */
static void residual(void **state) {
    (void)state;
    ran r =
        run("m (uint8[1,6,5,5] x, int8[8,6,3,3] w, uint8[1,8,5,5] q) => (uint8[1,8,5,5] y) "
            "<" CONV_SCALES
            ", float sr = {0.3}, uint8 zr = {7}> {"
            " xf = DequantizeLinear (x, sx, zx) wf = DequantizeLinear <axis = 0> (w, sw, zw)"
            " c = Conv <pads = [1, 1, 1, 1]> (xf, wf)"
            " rf = DequantizeLinear (q, sr, zr) s = Add (rf, c) a = Relu (s)"
            " y = QuantizeLinear (a, sy, zy) }");
    has_steps(&r, "conv_q8 Conv+Add+Relu+QuantizeLinear");
    is_conv(&r, NULL, r.in[2], 30);
    done(&r);
}

/* A sum with what was quantized before: the same bits as of two steps, in one. */
static void is_twice_rounded(const ran *r) {
    float m1 = 0.11f / 0.2f, mr = 0.3f / 0.2f;
    for (int o = 0; o < 8; o++)
        for (int i = 0; i < 25; i++) {
            int32_t sum = conv_sum(r->in[0], r->in[1], 0, o, i / 5, i % 5);
            int64_t first = saturate(HONE_DTYPE_U8, (float)sum * factor(o), 30);
            float v = (float)(first - 30) * m1, b = (float)(at(r->in[2], o * 25 + i) - 7) * mr;
            int64_t want = saturate(HONE_DTYPE_S8, v + b, -9);
            is_at(r, o * 25 + i, want < -9 ? -9 : want);
        }
}

#define TWICE(r, before, rest)                                                               \
    "m (uint8[1,6,5,5] x, int8[8,6,3,3] w, " r ") => (int8[1,8,5,5] y) <" CONV_SCALES        \
    ", float sr = {0.3}, uint8 zr = {7}, float so = {0.2}, int8 zo = {-9}> {"                \
    " xf = DequantizeLinear (x, sx, zx) wf = DequantizeLinear <axis = 0> (w, sw, zw)" before \
    " c = Conv <pads = [1, 1, 1, 1]> (xf, wf) q = QuantizeLinear (c, sy, zy)" rest           \
    " y = QuantizeLinear (a, so, zo) }"

static void twice_rounded(void **state) {
    (void)state;
    ran r = run(TWICE("uint8[1,8,5,5] r",
                      " n = MaxPool <kernel_shape = [1, 1]> (r) rf = DequantizeLinear (n, sr, zr)",
                      " d = DequantizeLinear (q, sy, zy) s = Add (rf, d) a = Relu (s)"));
    has_steps(&r, "pool_q8 MaxPool, conv_q8 Conv+QuantizeLinear+Add+Relu+QuantizeLinear");
    is_twice_rounded(&r);
    done(&r);
    /* What is added is made later than the convolution. */
    r = run(TWICE("uint8[1,8,5,5] r", "",
                  " n = MaxPool <kernel_shape = [1, 1]> (r) rf = DequantizeLinear (n, sr, zr)"
                  " d = DequantizeLinear (q, sy, zy) s = Add (d, rf) a = Relu (s)"));
    has_steps(&r, "pool_q8 MaxPool, conv_q8 Conv+QuantizeLinear+Add+Relu+QuantizeLinear");
    is_twice_rounded(&r);
    done(&r);
    static const char *const others[] = {
        /* It broadcasts; read elsewhere too; with a zero point that is not the one it was rounded
           to */
        TWICE("uint8[1,8,1,1] r", " rf = DequantizeLinear (r, sr, zr)",
              " d = DequantizeLinear (q, sy, zy) a = Add (rf, d)"),
        TWICE("uint8[1,8,5,5] r", "",
              " d = DequantizeLinear (q, sy, zy) e = DequantizeLinear (q, sr, zr) a = Add (d, e)"),
        TWICE("uint8[1,8,5,5] r", " ",
              " rf = DequantizeLinear (r, sr, zr) d = DequantizeLinear (q, sy, zr)"
              " a = Add (rf, d)"),
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        r = run(others[i]);
        has_steps(&r, "conv_q8 Conv+QuantizeLinear, binary_q8 Add+QuantizeLinear");
        done(&r);
    }
}

/* Biases in other units are rounded to those of the sums, once. */
static void biases(void **state) {
    (void)state;
    ran r =
        run("m (uint8[1,6,5,5] x, int8[8,6,3,3] w, float[8] wb) => (uint8[1,8,5,5] y) <" CONV_SCALES
            "> { xf = DequantizeLinear (x, sx, zx)"
            " wf = DequantizeLinear <axis = 0> (w, sw, zw)"
            " c = Conv <pads = [1, 1, 1, 1]> (xf, wf, wb) y = QuantizeLinear (c, sy, zy) }");
    has_steps(&r, "conv_q8 Conv+QuantizeLinear");
    for (int o = 0; o < 8; o++)
        for (int i = 0; i < 25; i++) {
            int32_t b = (int32_t)rint(hn_tensor_f64(r.in[2], o) / ((double)0.02f * (double)sw[o]));
            int32_t sum = conv_sum(r.in[0], r.in[1], 0, o, i / 5, i % 5) + b;
            is_at(&r, o * 25 + i, saturate(HONE_DTYPE_U8, (float)sum * factor(o), 30));
        }
    done(&r);
}

/* Zero points of the weights: differences that are s8 still, and such that are not. */
static void weight_zeros(void **state) {
    (void)state;
    static const char *const zeros[] = {"int8 zw = {0}", "int8 zw = {-5}", "int8 zw = {127}"};
    static const int64_t number[] = {0, -5, 127};
    for (int z = 0; z < 3; z++) {
        char text[512];
        snprintf(text, sizeof text,
                 "m (uint8[1,6,5,5] x, int8[8,6,3,3] w) => (int32[1,8,5,5] y)"
                 " <uint8 zx = {100}, %s> { y = ConvInteger <pads = [1, 1, 1, 1]> (x, w, zx, zw) }",
                 zeros[z]);
        ran r = run(text);
        has_steps(&r, "conv_q8 ConvInteger");
        for (int i = 0; i < 200; i++)
            is_at(&r, i, conv_sum(r.in[0], r.in[1], number[z], i / 25, i / 5 % 5, i % 5));
        done(&r);
    }
    static const int u8_number[] = {0, 1, 128, 255};
    for (int z = 0; z < 4; z++) {
        char text[256];
        snprintf(text, sizeof text,
                 "m (uint8[3,6] x, uint8[6,4] w) => (int32[3,4] y) <uint8 zw = {%d}>"
                 " { y = MatMulInteger (x, w, , zw) }",
                 u8_number[z]);
        ran r = run(text);
        has_steps(&r, "conv_q8 MatMulInteger");
        for (int i = 0; i < 12; i++) {
            int32_t sum = 0;
            for (int k = 0; k < 6; k++)
                sum += (int32_t)(at(r.in[0], i / 4 * 6 + k) *
                                 (at(r.in[1], k * 4 + i % 4) - u8_number[z]));
            is_at(&r, i, sum);
        }
        done(&r);
    }
}

/* Weights that are not constant are packed by a step, and biases of s32 are the sums they are. */
static void computed_weights(void **state) {
    (void)state;
    static const struct {
        const char *text, *steps;
    } rows[] = {
        {"m (uint8[1,6,5,5] x, int8[8,6,3,3] w, int32[8] wb) => (uint8[1,8,5,5] y) <" CONV_SCALES
         "> { y = QLinearConv <pads = [1, 1, 1, 1]> (x, sx, zx, w, sw, zw, sy, zy, wb) }",
         "pack Pack, conv_q8 QLinearConv"},
        {"m (uint8[1,6,5,5] x, int8[8,6,3,3] w, int32[8] wb) => (uint8[1,8,5,5] y) <" CONV_SCALES
         ", float[8] sb = {0.0002, 0.0004, 0.0006, 0.00008, 0.001, 0.00012, 0.0014, 0.0016}> {"
         " xf = DequantizeLinear (x, sx, zx) wf = DequantizeLinear <axis = 0> (w, sw, zw)"
         " bf = DequantizeLinear <axis = 0> (wb, sb) c = Conv <pads = [1, 1, 1, 1]> (xf, wf, bf)"
         " y = QuantizeLinear (c, sy, zy) }",
         "pack Pack, conv_q8 Conv+QuantizeLinear"},
        {"m (uint8[1,6,5,5] x, uint8[6,1,3,3] w) => (int32[1,6,5,5] y) <uint8 zw = {128}> {"
         " y = ConvInteger <group = 6, pads = [1, 1, 1, 1]> (x, w, , zw) }",
         "pack Pack, conv_q8 ConvInteger"},
        {"m (uint8[3,6] x, uint8[6,4] w) => (int32[3,4] y) <uint8 zw = {7}> {"
         " y = MatMulInteger (x, w, , zw) }",
         "pack Pack, conv_q8 MatMulInteger"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ran r = run_so(rows[i].text, NULL, true);
        has_steps(&r, rows[i].steps);
        done(&r);
        r = run(rows[i].text);
        done(&r);
    }
}

/* `format` with weights, input 1, of type `narrow`, and with the same numbers as s8: the same step
 * and the same bits. It has the type of the weights twice, then their zero points. */
static void same_as_bytes(const char *format, const char *narrow, const char *zeros) {
    enum { MOST_WEIGHTS = 1024, MOST_RESULTS = 1024 };
    int64_t weights[MOST_WEIGHTS], results[MOST_RESULTS];
    char text[1024];
    snprintf(text, sizeof text, format, narrow, narrow, zeros);
    ran r = run(text);
    assert_memory_equal(r.steps, "conv_q8 ", 8);
    assert_null(strchr(r.steps, ','));
    assert_true(r.in[1]->n <= MOST_WEIGHTS && r.out->n <= MOST_RESULTS);
    for (int64_t i = 0; i < r.in[1]->n; i++) weights[i] = at(r.in[1], i);
    for (int64_t i = 0; i < r.out->n; i++) results[i] = at(r.out, i);
    for (int64_t i = 0; i < r.out->n; i++) /* to what rounding in another order may change */
        assert_true(llabs((long long)(results[i] - at(r.plain, i))) <= 1);
    done(&r);
    snprintf(text, sizeof text, format, "int8", "int8", zeros);
    r = run_with(text, weights);
    for (int64_t i = 0; i < r.out->n; i++) is_at(&r, i, results[i]);
    done(&r);
}

static void narrow_weights(void **state) {
    (void)state;
    static const char conv[] =
        "m (uint8[1,6,5,5] x, %s[5,6,3,3] w, int32[5] wb) => (uint8[1,5,5,5] y)"
        " <float sx = {0.02}, uint8 zx = {100}, float sy = {0.11}, uint8 zy = {30},"
        " float[5] sw = {0.1, 0.2, 0.3, 0.04, 0.5}, %s[5] zw = {%s},"
        " float[5] sb = {0.002, 0.004, 0.006, 0.0008, 0.01}> {"
        " xf = DequantizeLinear (x, sx, zx) wf = DequantizeLinear <axis = 0> (w, sw, zw)"
        " bf = DequantizeLinear <axis = 0> (wb, sb)"
        " c = Conv <pads = [1, 1, 1, 1]> (xf, wf, bf) a = Relu (c)"
        " y = QuantizeLinear (a, sy, zy) }";
    static const char depthwise[] =
        "m (uint8[1,7,5,5] x, %s[7,1,3,3] w) => (uint8[1,7,5,5] y)"
        " <float sx = {0.02}, uint8 zx = {100}, float sy = {0.11}, uint8 zy = {30},"
        " float sw = {0.3}, %s zw = {%s}> {"
        " xf = DequantizeLinear (x, sx, zx) wf = DequantizeLinear (w, sw, zw)"
        " c = Conv <pads = [1, 1, 1, 1], group = 7> (xf, wf)"
        " y = QuantizeLinear (c, sy, zy) }";
    static const char gemm[] =
        "m (int8[3,7] x, %s[5,7] w) => (int8[3,5] y)"
        " <float sx = {0.02}, int8 zx = {-3}, float sy = {0.11}, int8 zy = {-4},"
        " float[5] sw = {0.1, 0.2, 0.3, 0.04, 0.5}, %s[5] zw = {%s}> {"
        " xf = DequantizeLinear (x, sx, zx) wf = DequantizeLinear <axis = 0> (w, sw, zw)"
        " p = Gemm <transB = 1> (xf, wf) y = QuantizeLinear (p, sy, zy) }";
    static const char turned[] =
        "m (int8[3,7] x, %s[5,7] w) => (int8[3,5] y)"
        " <float sx = {0.02}, int8 zx = {-3}, float sy = {0.11}, int8 zy = {-4},"
        " float[5] sw = {0.1, 0.2, 0.3, 0.04, 0.5}, %s[5] zw = {%s}> {"
        " xf = DequantizeLinear (x, sx, zx) wf = DequantizeLinear <axis = 0> (w, sw, zw)"
        " wt = Transpose <perm = [1, 0]> (wf) p = MatMul (xf, wt)"
        " y = QuantizeLinear (p, sy, zy) }";
    static const char *const per_channel[] = {conv, gemm, turned};
    for (int i = 0; i < 3; i++) {
        same_as_bytes(per_channel[i], "int4", "0, 0, 0, 0, 0");
        same_as_bytes(per_channel[i], "int4", "0, -8, 7, 1, 0");
        same_as_bytes(per_channel[i], "uint4", "0, 0, 0, 0, 0");
        same_as_bytes(per_channel[i], "uint4", "8, 0, 15, 7, 1");
        same_as_bytes(per_channel[i], "int2", "0, 0, 0, 0, 0");
        same_as_bytes(per_channel[i], "uint2", "2, 2, 2, 2, 2");
    }
    same_as_bytes(depthwise, "int4", "0");
    same_as_bytes(depthwise, "uint4", "8");
    /* Groups are for products of floats. */
    ran r =
        run("m (uint8[3,16] x, int4[16,4] w, float[2,4] ws) => (float[3,4] y)"
            " <float sx = {0.02}, uint8 zx = {100}> {"
            " xf = DequantizeLinear (x, sx, zx)"
            " wf = DequantizeLinear <axis = 0, block_size = 8> (w, ws) y = MatMul (xf, wf) }");
    has_steps(&r, "dequantize_q8 DequantizeLinear, matmul_nbits MatMul");
    done(&r);
    /* The memory told beforehand is that of bytes. */
    engine_agrees(
        "m (uint8[3,64] x, int4[64,40] w) => (float[3,40] y)"
        " <float sx = {0.02}, uint8 zx = {100}, float sw = {0.1}> {"
        " xf = DequantizeLinear (x, sx, zx) wf = DequantizeLinear (w, sw) y = MatMul (xf, wf) }",
        "conv_q8 MatMul");
    engine_survives(
        "m (uint8[3,6] x, int4[6,4] w) => (uint8[3,4] y)"
        " <float sx = {0.1}, float sw = {0.1}, float sy = {0.5}> {"
        " xf = DequantizeLinear (x, sx) wf = DequantizeLinear (w, sw)"
        " p = MatMul (xf, wf) y = QuantizeLinear (p, sy) }");
}

static void near_plain(const ran *r) {
    double most = 0;
    for (int64_t i = 0; i < r->plain->n; i++) most = fmax(most, fabs(hn_tensor_f64(r->plain, i)));
    assert_true(most > 0);
    for (int64_t i = 0; i < r->plain->n; i++) {
        double a = hn_tensor_f64(r->out, i), b = hn_tensor_f64(r->plain, i);
        if (!(fabs(a - b) <= 2e-5 * most))
            fail_msg("element %lld is %g, expected %g", (long long)i, a, b);
    }
}

static void stays(const char *text, const char *steps);

/* Integer sums, float results: the activation and what is added go into the step. */
static void float_results(void **state) {
    (void)state;
    ran r =
        run("m (uint8[1,6,5,5] x, int8[8,6,3,3] w, float[8] wb)"
            " => (float[1,8,5,5] y) <" CONV_SCALES
            "> { xf = DequantizeLinear (x, sx, zx)"
            " wf = DequantizeLinear <axis = 0> (w, sw, zw)"
            " c = Conv <pads = [1, 1, 1, 1]> (xf, wf, wb) y = HardSwish (c) }");
    has_steps(&r, "conv_q8 Conv+HardSwish");
    near_plain(&r);
    done(&r);
    r =
        run("m (uint8[2,3,6] x, int8[6,4] w, float[4] wb, float[2,3,4] r) => (float[2,3,4] y)"
            " <float sx = {0.02}, uint8 zx = {100}, float sw = {0.01}> {"
            " xf = DequantizeLinear (x, sx, zx) wf = DequantizeLinear (w, sw)"
            " p = MatMul (xf, wf) s = Add (p, wb) t = Add (s, r)"
            " y = Relu (t) }");
    has_steps(&r, "conv_q8 MatMul+Add+Add+Relu");
    near_plain(&r);
    done(&r);
}

/* Bytes through floats: the step quantizes its float result, with the bits that a step of its own
 * gives, which there is where the floats have more uses. */
#define ACTIVATED(more)                                                                          \
    "m (uint8[1,6,5,5] x, int8[8,6,3,3] w, float[8] wb) => (int8[1,8,5,5] y) <" CONV_SCALES      \
    ", float s = {0.03}, int8 z = {-20}, float tiny = {1e-35}, float[5] srow = {1, 2, 3, 4, 5}," \
    " int8[5] zrow = {0, 0, 0, 0, 0}, int8[8] zdiffer = {0, 0, 0, 0, 0, 0, 0, 1}> {"             \
    " xf = DequantizeLinear (x, sx, zx) wf = DequantizeLinear <axis = 0> (w, sw, zw)"            \
    " c = Conv <pads = [1, 1, 1, 1]> (xf, wf, wb) " more " }"

static void through_floats(void **state) {
    (void)state;
    static const char *const acts[] = {"HardSwish", "HardSigmoid", "Sigmoid", "LeakyRelu", "Gelu"};
    /* A scale for all outputs, and one for each channel. */
    static const char *const quantizes[] = {"QuantizeLinear (a, s, z)",
                                            "QuantizeLinear <axis = 1> (a, sw, zw)"};
    for (size_t i = 0; i < 2 * sizeof acts / sizeof *acts; i++) {
        const char *act = acts[i / 2], *quantize = quantizes[i % 2];
        char text[1200], steps[200];
        int8_t bytes[200];
        int changes = 0;
        snprintf(text, sizeof text, ACTIVATED("a = %s (c) y = %s"), act, quantize);
        snprintf(steps, sizeof steps, "conv_q8 Conv+%s+QuantizeLinear", act);
        ran r = run(text);
        has_steps(&r, steps);
        assert_int_equal(r.out->n, sizeof bytes);
        memcpy(bytes, r.out->data, sizeof bytes);
        done(&r);
        for (int k = 1; k < 200; k++) changes += bytes[k] != bytes[k - 1];
        assert_true(changes > 20);
        snprintf(text, sizeof text, ACTIVATED("a = %s (c) p = %s q = %s y = Max (p, q)"), act,
                 quantize, quantize);
        snprintf(steps, sizeof steps,
                 "conv_q8 Conv+%s, quantize_f32 QuantizeLinear, quantize_f32 QuantizeLinear,"
                 " map_int Max",
                 act);
        r = run(text);
        has_steps(&r, steps);
        for (int k = 0; k < 200; k++) is_at(&r, k, bytes[k]);
        done(&r);
    }
    stays(ACTIVATED("a = HardSwish (c) y = QuantizeLinear (a, tiny, z)"),
          "conv_q8 Conv+HardSwish, quantize_f32 QuantizeLinear");
    stays(ACTIVATED("a = HardSwish (c) y = QuantizeLinear <axis = 2> (a, srow, zrow)"),
          "conv_q8 Conv+HardSwish, quantize_f32 QuantizeLinear");
    stays(ACTIVATED("a = HardSwish (c) y = QuantizeLinear <axis = 1> (a, sw, zdiffer)"),
          "conv_q8 Conv+HardSwish, quantize_f32 QuantizeLinear");
}

/* A scale for each channel, of what a depthwise convolution reads and of what it makes. */
#define CHANNEL_MODEL(zeros, limit)                                                            \
    "m (uint8[1,4,5,5] x, int8[4,1,3,3] w, float[4] wb) => (uint8[1,4,5,5] y)"                 \
    " <float[4] sx = {0.01, 0.02, 0.03, 0.04}, uint8[4] zx = " zeros                           \
    ", float[4] sw = {0.02, 0.01, 0.05, 0.1}, int8[4] zw = {0, 0, 0, 0}, float zero = {0},"    \
    " float[4] sy = {0.02, 0.01, 0.05, 0.03}, uint8[4] zy = {9, 9, 9, 9}, float most = " limit \
    "> { xf = DequantizeLinear <axis = 1> (x, sx, zx)"                                         \
    " wf = DequantizeLinear <axis = 0> (w, sw, zw)"                                            \
    " c = Conv <group = 4, pads = [1, 1, 1, 1]> (xf, wf, wb) a = Clip (c, zero, most)"         \
    " y = QuantizeLinear <axis = 1> (a, sy, zy) }"

static void channels(void **state) {
    (void)state;
    static const float sx[] = {0.01f, 0.02f, 0.03f, 0.04f}, wide[] = {0.02f, 0.01f, 0.05f, 0.1f},
                       sy[] = {0.02f, 0.01f, 0.05f, 0.03f};
    ran r = run(CHANNEL_MODEL("{100, 100, 100, 100}", "{100}"));
    has_steps(&r, "conv_q8 Conv+Clip+QuantizeLinear");
    for (int i = 0; i < 100; i++) {
        int o = i / 25;
        int32_t sum = (int32_t)rint(hn_tensor_f64(r.in[2], o) / (sx[o] * wide[o]));
        for (int k = 0; k < 9; k++) {
            int y = i % 25 / 5 + k / 3 - 1, x = i % 5 + k % 3 - 1;
            if (y < 0 || y > 4 || x < 0 || x > 4) continue;
            sum += (int32_t)((at(r.in[0], o * 25 + y * 5 + x) - 100) * at(r.in[1], o * 9 + k));
        }
        int64_t want = saturate(HONE_DTYPE_U8, (float)sum * (sx[o] * wide[o] / sy[o]), 9);
        is_at(&r, i, want < 9 ? 9 : want);
    }
    done(&r);
    /* The kernel has one zero point. */
    r = run(CHANNEL_MODEL("{100, 100, 100, 90}", "{100}"));
    has_steps(&r,
              "dequantize_q8 DequantizeLinear, conv_f32 Conv+Clip, quantize_f32 QuantizeLinear");
    done(&r);
    /* A limit that is another integer in each channel: it is applied to floats. */
    r = run(CHANNEL_MODEL("{100, 100, 100, 100}", "{1}"));
    has_steps(&r, "conv_q8 Conv+Clip+QuantizeLinear");
    for (int i = 0; i < 100; i++) {
        const int64_t off = at(r.out, i) - at(r.plain, i), most = (int64_t)rint(1 / sy[i / 25]) + 9;
        assert_in_range(off + 1, 0, 2); /* floats: a tie may fall either way */
        assert_true(at(r.out, i) <= most);
    }
    done(&r);
}

/* ---- matrices ---- */

/* x s8[3,6], zero point -3; w as [k][n] at w_k * k + w_n * n. */
static void is_product(const ran *r, int64_t w_k, int64_t w_n, const hn_tensor *bias) {
    for (int i = 0; i < 12; i++) {
        int32_t sum = bias != NULL ? (int32_t)at(bias, i % 4) : 0;
        for (int k = 0; k < 6; k++)
            sum +=
                (int32_t)((at(r->in[0], i / 4 * 6 + k) + 3) * at(r->in[1], k * w_k + i % 4 * w_n));
        float m = 0.02f * sw[i % 4] / 0.11f;
        is_at(r, i, saturate(HONE_DTYPE_S8, (float)sum * m, -4));
    }
}

#define MATRIX_SCALES                                                                      \
    "float sx = {0.02}, int8 zx = {-3}, float sy = {0.11}, int8 zy = {-4}, float[4] sw = " \
    "{0.01, 0.02, 0.03, 0.004}, int8[4] zw = {0, 0, 0, 0}"

static void matrices(void **state) {
    (void)state;
    ran r = run("m (int8[3,6] x, int8[6,4] w) => (int8[3,4] y) <" MATRIX_SCALES
                "> {"
                " xf = DequantizeLinear (x, sx, zx) wf = DequantizeLinear <axis = 1> (w, sw, zw)"
                " p = MatMul (xf, wf) y = QuantizeLinear (p, sy, zy) }");
    has_steps(&r, "conv_q8 MatMul+QuantizeLinear");
    is_product(&r, 4, 1, NULL);
    done(&r);
    r = run("m (int8[3,6] x, int8[6,4] w) => (int8[3,4] y) <" MATRIX_SCALES
            ", float[4] b = {0.0002, 0.0012, -0.0006, 0.0004}> {"
            " xf = DequantizeLinear (x, sx, zx) wf = DequantizeLinear <axis = 1> (w, sw, zw)"
            " p = MatMul (xf, wf) a = Add (b, p) y = QuantizeLinear (a, sy, zy) }");
    has_steps(&r, "conv_q8 MatMul+Add+QuantizeLinear");
    hn_tensor *units;
    assert_int_equal(hn_tensor_from_s64(&units, &model_mem, HONE_DTYPE_S32, 1, (int64_t[]){4},
                                        (int64_t[]){1, 3, -1, 5}, &err),
                     HONE_OK);
    is_product(&r, 4, 1, units);
    hn_tensor_unref(units);
    done(&r);
    r = run("m (int8[3,6] x, int8[4,6] w, int32[4] wb) => (int8[3,4] y) <" MATRIX_SCALES
            ", float[4] sb = {0.0002, 0.0004, 0.0006, 0.00008}> {"
            " xf = DequantizeLinear (x, sx, zx) wf = DequantizeLinear <axis = 0> (w, sw, zw)"
            " bf = DequantizeLinear <axis = 0> (wb, sb)"
            " p = Gemm <transB = 1> (xf, wf, bf) y = QuantizeLinear (p, sy, zy) }");
    has_steps(&r, "conv_q8 Gemm+QuantizeLinear");
    is_product(&r, 1, 6, r.in[2]);
    done(&r);
    r = run("m (int8[3,6] x, int8[4,6] w) => (int8[3,4] y) <" MATRIX_SCALES
            "> {"
            " xf = DequantizeLinear (x, sx, zx) wf = DequantizeLinear <axis = 0> (w, sw, zw)"
            " wt = Transpose <perm = [1, 0]> (wf) p = MatMul (xf, wt)"
            " y = QuantizeLinear (p, sy, zy) }");
    has_steps(&r, "conv_q8 MatMul+QuantizeLinear");
    is_product(&r, 1, 6, NULL);
    done(&r);
    r = run("m (int8[3,6] x, int8[6,4] w) => (int8[3,4] y) <" MATRIX_SCALES
            "> {"
            " y = QLinearMatMul (x, sx, zx, w, sw, zw, sy, zy) }");
    has_steps(&r, "conv_q8 QLinearMatMul");
    is_product(&r, 4, 1, NULL);
    done(&r);
    r =
        run("<opset_import: [\"\" : 21, \"com.microsoft\" : 1]> m (int8[3,6] x, int8[4,6] w, "
            "int32[4] wb) => (int8[3,4] y) <" MATRIX_SCALES
            "> {"
            " y = com.microsoft.QGemm <transB = 1> (x, sx, zx, w, sw, zw, wb, sy, zy) }");
    has_steps(&r, "conv_q8 QGemm");
    is_product(&r, 1, 6, r.in[2]);
    done(&r);
}

/* What ONNX Runtime's dynamic quantization leaves. */
static void dynamic(void **state) {
    (void)state;
    ran r =
        run("m (float[2,3,6] x, int8[6,4] w, float[4] wb) => (float[2,3,4] y)"
            " <float sw = {0.01}, int8 zw = {0}> { q, s, z = DynamicQuantizeLinear (x)"
            " p = MatMulInteger (q, w, z, zw) f = Cast <to = 1> (p) k = Mul (s, sw)"
            " g = Mul (f, k) y = Add (g, wb) }");
    has_steps(&r, "quantize_f32 DynamicQuantizeLinear, conv_q8 MatMulInteger+Cast+Mul+Add");
    near_plain(&r);
    done(&r);
    r =
        run("<opset_import: [\"\" : 21, \"com.microsoft\" : 1]> m (float[2,3,6] x, uint8[6,4] w, "
            "float[4] wb) => (float[2,3,4] y)"
            " <float[4] sw = {0.01, 0.02, 0.03, 0.04}, uint8[4] zw = {128, 127, 3, 0}> {"
            " y = com.microsoft.DynamicQuantizeMatMul (x, w, sw, zw, wb) }");
    has_steps(&r, "quantize_f32 DynamicQuantizeMatMul, conv_q8 DynamicQuantizeMatMul");
    near_plain(&r);
    done(&r);
    r =
        run("<opset_import: [\"\" : 21, \"com.microsoft\" : 1]> m (uint8[3,6] x, int8[6,4] w, "
            "float[4] wb, uint8 z) => (float[3,4] y) <float[4] sw = {0.01, 0.02, 0.03, 0.04}, "
            "float sx = {0.5}> {"
            " k = Identity (sx) y = com.microsoft.MatMulIntegerToFloat (x, w, k, sw, z, , wb) }");
    has_steps(&r, "conv_q8 MatMulIntegerToFloat");
    near_plain(&r);
    done(&r);
}

/* ---- elementwise ---- */

#define BINARY_SCALES                                                                             \
    "float sa = {0.05}, uint8 za = {120}, float sb = {0.03}, uint8 zb = {7}, float sy = {0.07}, " \
    "uint8 zy = {90}"

static void is_binary(const ran *r, char op, int64_t lo) {
    for (int i = 0; i < 60; i++) {
        int64_t a = at(r->in[0], i) - 120, b = at(r->in[1], i % 5) - 7;
        float sa = 0.05f, sb = 0.03f, sy = 0.07f, ma = sa / sy, mb = sb / sy, v;
        if (op == '*') {
            v = (float)(a * b) * (sa * sb / sy);
        } else {
            float x = (float)a * ma, y = (float)b * mb;
            v = op == '+' ? x + y : x - y;
        }
        int64_t want = saturate(HONE_DTYPE_U8, v, 90);
        is_at(r, i, want < lo ? lo : want);
    }
}

static void binaries(void **state) {
    (void)state;
    static const struct {
        const char *op, *follow, *steps;
        char sign;
        int64_t lo;
    } cases[] = {{"Add", "Relu", "binary_q8 Add+Relu+QuantizeLinear", '+', 90},
                 {"Sub", "Identity", NULL, '-', 0},
                 {"Mul", "Relu", "binary_q8 Mul+Relu+QuantizeLinear", '*', 90}};
    for (int i = 0; i < 3; i++) {
        char text[640];
        snprintf(text, sizeof text,
                 "m (uint8[3,4,5] x, uint8[5] b) => (uint8[3,4,5] y) <" BINARY_SCALES
                 "> {"
                 " xf = DequantizeLinear (x, sa, za) bf = DequantizeLinear (b, sb, zb)"
                 " c = %s (xf, bf) %s y = QuantizeLinear (%s, sy, zy) }",
                 cases[i].op, cases[i].lo > 0 ? "d = Relu (c)" : "", cases[i].lo > 0 ? "d" : "c");
        ran r = run(text);
        has_steps(&r, cases[i].steps != NULL ? cases[i].steps : "binary_q8 Sub+QuantizeLinear");
        is_binary(&r, cases[i].sign, cases[i].lo);
        done(&r);
    }
    static const char *const others[] = {"QLinearAdd", "QLinearMul"};
    for (int i = 0; i < 2; i++) {
        char text[640], steps[64];
        snprintf(text, sizeof text,
                 "<opset_import: [\"\" : 21, \"com.microsoft\" : 1]> m (uint8[3,4,5] x, uint8[5] b)"
                 " => (uint8[3,4,5] y) <" BINARY_SCALES
                 "> {"
                 " y = com.microsoft.%s (x, sa, za, b, sb, zb, sy, zy) }",
                 others[i]);
        snprintf(steps, sizeof steps, "binary_q8 %s", others[i]);
        ran r = run(text);
        has_steps(&r, steps);
        is_binary(&r, i == 0 ? '+' : '*', 0);
        done(&r);
    }
}

#define MS "<opset_import: [\"\" : 21, \"com.microsoft\" : 1]> "

/* The same bits as the reference. */
static void is_plain(const char *text, const char *steps) {
    ran r = run(text);
    has_steps(&r, steps);
    assert_true(hn_tensor_equal(r.out, r.plain));
    done(&r);
}

static void concats(void **state) {
    (void)state;
    /* Another scale, another zero point, and the result's own. */
    is_plain(MS
             "m (uint8[2,3,5] a, uint8[2,4,5] b, uint8[2,1,5] c) => (uint8[2,8,5] y)"
             " <float s = {0.02}, uint8 z = {7}, float t = {0.031}, uint8 o = {90}> {"
             " y = com.microsoft.QLinearConcat <axis = -2> (s, z, a, t, z, b, s, o, c, s, z) }",
             "lut_q8 QLinearConcat, lut_q8 QLinearConcat");
    /* What is computed in the result's scale is computed in its place; here twice the same. */
    is_plain(MS
             "m (int8[2,3,5] a, int8[2,3,5] b) => (int8[2,3,15] y)"
             " <float s = {0.004}, int8 z = {-100}, float t = {0.031}, int8 o = {9}> {"
             " f = com.microsoft.QLinearSigmoid (a, t, o, s, z)"
             " y = com.microsoft.QLinearConcat <axis = 2> (s, z, f, s, z, b, t, o, f, s, z) }",
             "lut_q8 QLinearSigmoid, lut_q8 QLinearConcat");
    is_plain(MS
             "m (uint8[4] a, float t) => (uint8[8] y) <float s = {0.02}, uint8 z = {7}> {"
             " u = Abs (t)"
             " y = com.microsoft.QLinearConcat <axis = 0> (s, z, a, u, z, a, s, z) }",
             "map_f32 Abs, reference QLinearConcat");
}

#define POOL_SCALES "<float s = {0.02}, uint8 z = {7}, float t = {0.0131}, uint8 o = {90}>"

static void qlinear_pools(void **state) {
    (void)state;
    is_plain(MS "m (uint8[2,5,7,9] x) => (uint8[2,5,1,1] y) " POOL_SCALES
                " { y = com.microsoft.QLinearGlobalAveragePool (x, s, z, t, o) }",
             "mean_planes_q8 QLinearGlobalAveragePool");
    is_plain(MS "m (uint8[1,40,9] x) => (uint8[1,40,1] y) " POOL_SCALES
                " { y = com.microsoft.QLinearGlobalAveragePool (x, s, z, t, o) }",
             "mean_planes_q8 QLinearGlobalAveragePool");
    is_plain(MS "m (uint8[2,7,9,5] x) => (uint8[2,5,1,1] y) " POOL_SCALES
                " { c = Transpose <perm = [0, 3, 1, 2]> (x)"
                " y = com.microsoft.QLinearGlobalAveragePool (c, s, z, t, o) }",
             "pool_q8 QLinearGlobalAveragePool");
    is_plain(MS "m (uint8[2,5,7,9] x) => (uint8[2,5,4,5] y) " POOL_SCALES
                " { y = com.microsoft.QLinearAveragePool <kernel_shape = [3, 3], strides = [2, 2],"
                " pads = [1, 1, 1, 1]> (x, s, z, t, o) }",
             "pool_q8 QLinearAveragePool");
    is_plain(MS "m (uint8[1,8,5] x) => (uint8[1,8,5] y) " POOL_SCALES
                " { y = com.microsoft.QLinearAveragePool <kernel_shape = [3], pads = [1, 1],"
                " count_include_pad = 1> (x, s, z, t, o) }",
             "pool_q8 QLinearAveragePool");
    is_plain(MS "m (uint8[2,7,9,5] x) => (uint8[2,1,1,5] y) " POOL_SCALES
                " { y = com.microsoft.QLinearGlobalAveragePool <channels_last = 1> (x, s, z, t, o)"
                " }",
             "pool_q8 QLinearGlobalAveragePool");
    is_plain(MS "m (uint8[2,7,9,5] x) => (uint8[2,4,5,5] y) " POOL_SCALES
                " { y = com.microsoft.QLinearAveragePool <channels_last = 1, kernel_shape = [3, 3],"
                " strides = [2, 2], pads = [1, 1, 1, 1]> (x, s, z, t, o) }",
             "pool_q8 QLinearAveragePool");
    is_plain(MS "m (uint8[2,9,5] x) => (uint8[2,7,5] y) " POOL_SCALES
                " { y = com.microsoft.QLinearAveragePool <channels_last = 1, kernel_shape = [3]>"
                " (x, s, z, t, o) }",
             "pool_q8 QLinearAveragePool");
}

/* Images whose channels are the last axis are pooled where they lie, without a copy. */
static void nhwc_pools(void **state) {
    (void)state;
    is_plain(MS
             "m (uint8[2,7,9,70] x) => (uint8[2,4,3,70] y) { y = com.microsoft.NhwcMaxPool"
             " <kernel_shape = [3, 2], strides = [2, 3], pads = [1, 0, 1, 0]> (x) }",
             "pool_q8 NhwcMaxPool");
    is_plain(MS
             "m (int8[1,8,6,3] x) => (int8[1,4,3,3] y) { y = com.microsoft.NhwcMaxPool"
             " <kernel_shape = [3, 3], strides = [2, 2], dilations = [2, 1],"
             " auto_pad = \"SAME_UPPER\"> (x) }",
             "pool_q8 NhwcMaxPool");
    is_plain(MS
             "m (int8[2,9,5] x) => (int8[2,5,5] y) { y = com.microsoft.NhwcMaxPool"
             " <kernel_shape = [2], strides = [2], ceil_mode = 1> (x) }",
             "pool_q8 NhwcMaxPool");
    is_plain(MS
             "m (uint8[1,4,5,6,3] x) => (uint8[1,3,4,5,3] y) { y = com.microsoft.NhwcMaxPool"
             " <kernel_shape = [2, 2, 2]> (x) }",
             "reference NhwcMaxPool");
    is_plain(MS
             "m (uint8[2,3,7,9] x) => (uint8[2,3,4,5] y) {"
             " t = Transpose <perm = [0, 2, 3, 1]> (x)"
             " p = com.microsoft.NhwcMaxPool <kernel_shape = [1, 1], strides = [2, 2]> (t)"
             " y = Transpose <perm = [0, 3, 1, 2]> (p) }",
             "pool_q8 NhwcMaxPool");
}

static double relu(double x) { return x < 0 ? 0 : x; }
static double same(double x) { return x; }
static double leaky(double x) { return x < 0 ? (double)0.1f * x : x; }
static double hard(double x) { return x * fmin(fmax(x / 6 + 0.5, 0), 1); }
static double logistic(double x) { return 1 / (1 + exp(-x)); }
static double silu(double x) { return x * logistic(x); }
static double elu(double x) { return x < 0 ? expm1(x) : x; }
static double bell(double x) { return 0.5 * x * erfc(-x * M_SQRT1_2); }
static double bell_tanh(double x) {
    return 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}
static double hard01(double x) { return fmin(fmax((double)0.2f * x + 0.5, 0), 1); }

static void tables(void **state) {
    (void)state;
    static const struct {
        const char *node;
        double (*fn)(double);
        const char *steps;
    } cases[] = {
        {"", same, "lut_q8 DequantizeLinear+QuantizeLinear"},
        {"v = Relu (f)", relu, "lut_q8 DequantizeLinear+Relu+QuantizeLinear"},
        {"v = LeakyRelu <alpha = 0.1> (f)", leaky, "lut_q8 LeakyRelu+QuantizeLinear"},
        {"v = HardSwish (f)", hard, "lut_q8 HardSwish+QuantizeLinear"},
        {"v = HardSigmoid (f)", hard01, "lut_q8 HardSigmoid+QuantizeLinear"},
        {"v = Sigmoid (f)", logistic, "lut_q8 Sigmoid+QuantizeLinear"},
        {"v = Swish (f)", silu, "lut_q8 Swish+QuantizeLinear"},
        {"v = Tanh (f)", tanh, "lut_q8 Tanh+QuantizeLinear"},
        {"v = Elu (f)", elu, "lut_q8 Elu+QuantizeLinear"},
        {"v = Exp (f)", exp, "lut_q8 Exp+QuantizeLinear"},
        {"v = Gelu (f)", bell, "lut_q8 Gelu+QuantizeLinear"},
        {"v = Gelu <approximate = \"tanh\"> (f)", bell_tanh, "lut_q8 Gelu+QuantizeLinear"},
        {"v = Abs (f)", fabs, "lut_q8 Abs+QuantizeLinear"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        snprintf(
            text, sizeof text,
            "m (int8[16,40] x) => (uint8[16,40] y) <float sx = {0.04}, int8 zx = {-9}, float sy "
            "= {0.0171}, uint8 zy = {60}> { f = DequantizeLinear (x, sx, zx) %s"
            " y = QuantizeLinear (%s, sy, zy) }",
            cases[i].node, cases[i].node[0] != '\0' ? "v" : "f");
        ran r = run(text);
        has_steps(&r, cases[i].steps);
        for (int k = 0; k < 640; k++) {
            double v = cases[i].fn((double)(at(r.in[0], k) + 9) * (double)0.04f);
            is_at(&r, k, saturate(HONE_DTYPE_U8, v / (double)0.0171f, 60));
        }
        done(&r);
    }
}

/* ---- pools ---- */

static void pools(void **state) {
    (void)state;
    ran r =
        run("m (uint8[1,3,4,6] x) => (int8[1,3,1,1] y) <float sx = {0.05}, uint8 zx = {9}, "
            "float sy = {0.02}, int8 zy = {-100}> { f = DequantizeLinear (x, sx, zx)"
            " v = GlobalAveragePool (f) y = QuantizeLinear (v, sy, zy) }");
    has_steps(&r, "mean_planes_q8 GlobalAveragePool+QuantizeLinear");
    for (int c = 0; c < 3; c++) {
        int32_t sum = 0;
        for (int i = 0; i < 24; i++) sum += (int32_t)at(r.in[0], c * 24 + i) - 9;
        float m = (float)((double)0.05f / ((double)0.02f * 24));
        is_at(&r, c, saturate(HONE_DTYPE_S8, (float)sum * m, -100));
    }
    done(&r);
    r =
        run("m (uint8[2,3,4,6] x) => (uint8[2,3] y) <float sx = {0.05}, uint8 zx = {9}, "
            "float sy = {0.02}, uint8 zy = {100}, int64[2] axes = {-1, 2}> {"
            " f = DequantizeLinear (x, sx, zx) v = ReduceMean <keepdims = 0> (f, axes)"
            " y = QuantizeLinear (v, sy, zy) }");
    has_steps(&r, "mean_planes_q8 ReduceMean+QuantizeLinear");
    for (int c = 0; c < 6; c++) {
        int32_t sum = 0;
        for (int i = 0; i < 24; i++) sum += (int32_t)at(r.in[0], c * 24 + i) - 9;
        float m = (float)((double)0.05f / ((double)0.02f * 24));
        is_at(&r, c, saturate(HONE_DTYPE_U8, (float)sum * m, 100));
    }
    done(&r);
    stays(
        "m (uint8[1,3,4,6] x) => (uint8[1,1,4,6] y) <float s = {0.05}, int64[1] axes = {1}> {"
        " f = DequantizeLinear (x, s) v = ReduceMean (f, axes) y = QuantizeLinear (v, s) }",
        "dequantize_q8 DequantizeLinear, reduce_f32 ReduceMean, quantize_f32 QuantizeLinear");
    static const char *const forms[] = {
        "m (uint8[1,3,4,6] x) => (uint8[1,3,2,3] y) <float s = {0.05}, uint8 z = {9}> {"
        " f = DequantizeLinear (x, s, z) v = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (f)"
        " y = QuantizeLinear (v, s, z) }",
        "m (uint8[1,3,4,6] x) => (uint8[1,3,2,3] y) {"
        " y = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x) }"};
    for (int f = 0; f < 2; f++) {
        r = run(forms[f]);
        has_steps(&r, f == 0 ? "pool_q8 MaxPool+QuantizeLinear" : "pool_q8 MaxPool");
        for (int i = 0; i < 18; i++) {
            int64_t most = 0, from = i / 6 * 24 + i % 6 / 3 * 12 + i % 3 * 2;
            for (int k = 0; k < 4; k++) {
                int64_t v = at(r.in[0], from + k / 2 * 6 + k % 2);
                if (v > most) most = v;
            }
            is_at(&r, i, most);
        }
        done(&r);
    }
}

/* ---- what stays in float ---- */

/* The result is that of the plain executor, to the last step of rounding. */
static void stays(const char *text, const char *steps) {
    ran r = run(text);
    has_steps(&r, steps);
    for (int64_t i = 0; i < r.plain->n; i++) {
        double a = hn_tensor_f64(r.out, i), b = hn_tensor_f64(r.plain, i);
        if (a != b && !(isnan(a) && isnan(b)) && !(fabs(a - b) <= 1 + 1e-5 * fabs(b)))
            fail_msg("element %lld is %g, expected %g: %s", (long long)i, a, b, text);
    }
    done(&r);
}

#define LINE(scales, more)                                     \
    "m (uint8[3,6] x, int8[6,4] w) => (uint8[3,4] y) <" scales \
    "> {"                                                      \
    " xf = DequantizeLinear (x, sx) wf = DequantizeLinear <axis = 0> (w, sw)" more "}"
#define PRODUCT " p = MatMul (xf, wf) y = QuantizeLinear (p, sy)"
#define FLOATS "dequantize_q8 DequantizeLinear, matmul_nbits MatMul, quantize_f32 QuantizeLinear"

static void bad_scales(void **state) {
    (void)state;
    stays(LINE("float sx = {0}, float sw = {0.1}, float sy = {0.5}", PRODUCT), FLOATS);
    stays(LINE("float sx = {-0.1}, float sw = {0.1}, float sy = {0.5}", PRODUCT), FLOATS);
    stays(LINE("float sx = {nan}, float sw = {0.1}, float sy = {0.5}", PRODUCT), FLOATS);
    stays(LINE("float sx = {0.1}, float sw = {-0.1}, float sy = {0.5}", PRODUCT), FLOATS);
    /* The sums are right, but cannot be given this scale. */
    stays(LINE("float sx = {0.1}, float sw = {0.1}, float sy = {-0.5}", PRODUCT),
          "conv_q8 MatMul, quantize_f32 QuantizeLinear");
    stays(LINE("float sx = {0.1}, float sw = {0.1}, float sy = {0}", PRODUCT),
          "conv_q8 MatMul, quantize_f32 QuantizeLinear");
    /* One for each row of the weights is none for a column. */
    stays(LINE("float sx = {0.1}, float[6] sw = {1, 2, 3, 4, 5, 6}, float sy = {500}", PRODUCT),
          "dequantize_q8 DequantizeLinear, conv_f32 MatMul, quantize_f32 QuantizeLinear");
}

static void other_forms(void **state) {
    (void)state;
    /* Somebody else wants the product. */
    stays(LINE("float sx = {0.1}, float sw = {0.1}, float sy = {0.5}",
               " p = MatMul (xf, wf) q = QuantizeLinear (p, sy) s = Cast <to = 2> (p)"
               " y = Max (q, s)"),
          "conv_q8 MatMul, quantize_f32 QuantizeLinear, map_int Cast, map_int Max");
    /* Limits that are computed. */
    stays(
        "m (uint8[3,6] x, int8[6,4] w, float k) => (uint8[3,4] y)"
        " <float sx = {0.1}, float sw = {0.1}, float sy = {0.5}> {"
        " xf = DequantizeLinear (x, sx) wf = DequantizeLinear (w, sw)"
        " p = MatMul (xf, wf) c = Clip (p, k) y = QuantizeLinear (c, sy) }",
        "conv_q8 MatMul, reference Clip, quantize_f32 QuantizeLinear");
    /* Sixteen bits. */
    stays(
        "m (uint8[3,6] x, int8[6,4] w) => (uint16[3,4] y)"
        " <float sx = {0.1}, float sw = {0.1}, float sy = {0.005}, uint16 zy = {32768}> {"
        " xf = DequantizeLinear (x, sx) wf = DequantizeLinear (w, sw)"
        " p = MatMul (xf, wf) y = QuantizeLinear (p, sy, zy) }",
        "conv_q8 MatMul, reference QuantizeLinear");
    /* Four bits, an odd number of them. */
    stays(
        "m (float[3,5] x) => (float[5,3] y) <float s = {0.5}, int4 z = {1}> {"
        " q = QuantizeLinear (x, s, z) t = Transpose (q) y = DequantizeLinear (t, s, z) }",
        "reference QuantizeLinear, reference Transpose, reference DequantizeLinear");
    /* Read by another scale than it was written by: what the graph says is done. */
    stays(
        "m (uint8[3,5] x) => (uint8[3,5] y) <float s = {0.5}, uint8 z = {1}, float t = {0.25}> {"
        " f = DequantizeLinear (x, s, z) q = QuantizeLinear (f, t)"
        " g = DequantizeLinear (q, s) y = QuantizeLinear (g, t, z) }",
        "lut_q8 DequantizeLinear+QuantizeLinear, lut_q8 DequantizeLinear+QuantizeLinear");
    /* Scales along an axis of the activations. */
    stays(
        "m (uint8[3,6] x, int8[6,4] w) => (uint8[3,4] y)"
        " <float[6] sx = {1, 2, 3, 4, 5, 6}, float sw = {0.1}, float sy = {50}> {"
        " xf = DequantizeLinear <axis = 1> (x, sx) wf = DequantizeLinear (w, sw)"
        " p = MatMul (xf, wf) y = QuantizeLinear (p, sy) }",
        FLOATS);
    /* A product of two activations. */
    stays(
        "m (uint8[3,6] x, uint8[6,4] z) => (uint8[3,4] y)"
        " <float sx = {0.1}, float sy = {50}> {"
        " xf = DequantizeLinear (x, sx) zf = DequantizeLinear (z, sx)"
        " p = MatMul (xf, zf) y = QuantizeLinear (p, sy) }",
        "pack Pack, conv_q8 MatMul+QuantizeLinear");
    stays(
        "m (uint8[2,3,6] x, uint8[2,6,4] z) => (uint8[2,3,4] y)"
        " <float sx = {0.1}, float sy = {50}> {"
        " xf = DequantizeLinear (x, sx) zf = DequantizeLinear (z, sx)"
        " p = MatMul (xf, zf) y = QuantizeLinear (p, sy) }",
        "dequantize_q8 DequantizeLinear, dequantize_q8 DequantizeLinear, matmul_f32 MatMul, "
        "quantize_f32 QuantizeLinear");
}

static void says(const char *text, const char *floats) {
    ran r = run(text);
    if (strcmp(r.floats, floats) != 0)
        fail_msg("reasons are '%s', expected '%s'", r.floats, floats);
    done(&r);
}

/* Steps in floats say why; those in integers, and those of graphs without any, say nothing. */
static void reasons(void **state) {
    (void)state;
    says(LINE("float sx = {0.1}, float sw = {0.1}, float sy = {0.5}", PRODUCT), "");
    says(LINE("float sx = {0}, float sw = {0.1}, float sy = {0.5}", PRODUCT),
         "DequantizeLinear: what reads it is computed in floats, "
         "MatMul: a scale is zero, negative or not a number, "
         "QuantizeLinear: a scale is zero, negative or not a number");
    says(LINE("float sx = {0.1}, float sw = {0.1}, float sy = {0.5}",
              " p = MatMul (xf, wf) s = Softmax (p) y = QuantizeLinear (s, sy)"),
         "Softmax: no integer form of it, "
         "QuantizeLinear: what it quantizes is computed in floats");
    says(
        "m (uint8[2,3,6] x, uint8[2,6,4] z) => (float[2,3,4] y) <float s = {0.1}> {"
        " xf = DequantizeLinear (x, s) zf = DequantizeLinear (z, s) y = MatMul (xf, zf) }",
        "DequantizeLinear: what reads it is computed in floats, "
        "DequantizeLinear: what reads it is computed in floats, "
        "MatMul: not matrices");
    says("m (float[3,4] x) => (float[3,4] y) { y = Softmax (x) }", "");
}

/* A DequantizeLinear that is an output, and one of constants that only a float operator reads. */
static void borders(void **state) {
    (void)state;
    stays(
        "m (uint8[3,6] x) => (float[3,6] y) <float[3] s = {0.5, 2, 1}, uint8[3] z = {1, 2, 3}> {"
        " y = DequantizeLinear <axis = 0> (x, s, z) }",
        "dequantize_q8 DequantizeLinear");
    stays(
        "m (float[3,6] x, int8[6,4] w) => (float[3,4] y) <float s = {0.5}> {"
        " f = DequantizeLinear (w, s) y = MatMul (x, f) }",
        "matmul_nbits MatMul");
    stays("m (int8[6,4] w) => (float[6,4] y) <float s = {0.5}> { y = DequantizeLinear (w, s) }",
          "");
    stays(
        "m (float[2,3,4,4] x) => (uint8[2,3,4,4] y) <float[3] s = {0.5, 0.02, 0.1}> {"
        " y = QuantizeLinear (x, s) }",
        "quantize_f32 QuantizeLinear");
}

static void allocations(void **state) {
    (void)state;
    engine_survives(
        "m (uint8[3,6] x, int8[6,4] w, float[4] wb) => (uint8[3,4] y)"
        " <float sx = {0.1}, float sw = {0.1}, float sy = {0.5}, int8 zw = {5}> {"
        " xf = DequantizeLinear (x, sx) wf = DequantizeLinear (w, sw, zw)"
        " p = Gemm (xf, wf, wb) q = QuantizeLinear (p, sy) f = DequantizeLinear (q, sy)"
        " t = Tanh (f) y = QuantizeLinear (t, sx) }");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolutions),
        cmocka_unit_test(residual),
        cmocka_unit_test(twice_rounded),
        cmocka_unit_test(biases),
        cmocka_unit_test(computed_weights),
        cmocka_unit_test(weight_zeros),
        cmocka_unit_test(channels),
        cmocka_unit_test(narrow_weights),
        cmocka_unit_test(float_results),
        cmocka_unit_test(matrices),
        cmocka_unit_test(dynamic),
        cmocka_unit_test(binaries),
        cmocka_unit_test(concats),
        cmocka_unit_test(qlinear_pools),
        cmocka_unit_test(nhwc_pools),
        cmocka_unit_test(tables),
        cmocka_unit_test(pools),
        cmocka_unit_test(bad_scales),
        cmocka_unit_test(other_forms),
        cmocka_unit_test(reasons),
        cmocka_unit_test(borders),
        cmocka_unit_test(through_floats),
        cmocka_unit_test(allocations),
        cmocka_unit_test(factors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

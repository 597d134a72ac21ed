#include "compress/pack.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "ops/nodes.h"
#include "passes/simplify.h"
#include "support/method_model.h"
#include "support/scratch.h"

/* Whole bytes of every plane, and not. */
#define GEMM                                             \
    "m (float[n,5] x, float[7,5] w) => (float[n,7] y) {" \
    " y = Gemm <transB = 1, alpha = 0.5> (x, w) }"
static const char *const models[] = {
    "m (float[n,16] x, float[16,9] w) => (float[n,9] y) { y = MatMul (x, w) }",
    GEMM,
    "m (float[n,3,6,6] x, float[3,3,3,3] w) => (float[n,3,4,4] y) { y = Conv (x, w) }",
    "m (float[n,3] x, float[3,1] w) => (float[n,1] y) { y = MatMul (x, w) }",
};

static hn_scheme scheme_of(hone_dtype dtype, int bits, bool symmetric, int64_t group,
                           const char *target) {
    return (hn_scheme){.layer = {.kind = HN_LAYER_WEIGHTS,
                                 .weights = {dtype, bits, symmetric, true, group, false}},
                       .target = hn_quant_target_named(target)};
}

static int count(const hn_model *m, const char *op) {
    int n = 0;
    for (const hn_node *at = m->graph->first; at != NULL; at = at->next) n += hn_is(at, op);
    return n;
}

/* Bytes of the constants that planes are. */
static int64_t plane_bytes(const hn_model *m) {
    int64_t bytes = 0;
    for (const hn_node *n = m->graph->first; n != NULL; n = n->next) {
        const hn_tensor *t = hn_is(n, "BitwiseAnd") ? hn_const_in(n, 0) : NULL;
        if (t != NULL) bytes += (int64_t)t->bytes;
    }
    return bytes;
}

/* m with its weight moved to the grid, in floats. */
static hn_model *simulated(const char *text, const hn_qtype *t, uint64_t seed) {
    hn_model *m = method_model(text, seed);
    hn_value *w = hn_graph_value(m->graph, "w");
    hn_weighted layer;
    hn_scheme s = {.layer = {.kind = HN_LAYER_WEIGHTS, .weights = *t}};
    hn_error err;
    hn_grid g;
    hn_tensor *codes, *floats;
    assert_true(hn_weighted_of(hn_graph_value(m->graph, "y")->producer, &s, &layer, NULL));
    assert_int_equal(hn_weighted_grid(&g, &layer, NULL, &scratch_mem, &err), HONE_OK);
    assert_int_equal(hn_grid_codes(&g, w->constant, NULL, &scratch_mem, &codes, &err), HONE_OK);
    assert_int_equal(hn_grid_floats(&g, codes, NULL, &scratch_mem, &floats, &err), HONE_OK);
    hn_value_set_constant(w, floats);
    hn_tensor_unref(codes);
    hn_grid_deinit(&g);
    return m;
}

/* Packed or not, the numbers are those of the grid, and folding leaves bytes. */
static void check(const char *text, const hn_scheme *s, uint64_t seed) {
    const hn_qtype *t = &s->layer.weights;
    hn_model *want = simulated(text, t, seed), *m = method_model(text, seed);
    int64_t n = hn_graph_value(m->graph, "w")->constant->n;
    hn_error err;
    if (hn_quantize_model(m, s, NULL, NULL, NULL, NULL, &err) != HONE_OK) fail_msg("%s", err.text);
    if (hn_model_verify(m, &err) != HONE_OK) fail_msg("%s", err.text);
    int bits = hn_pack_bits(t, s->target);
    assert_int_equal(plane_bytes(m), (n + 7) / 8 * bits);
    assert_int_equal(count(m, "BitwiseAnd"), bits / 4 + bits % 4 / 2 + bits % 2);
    method_same(want, m, 0);
    hn_simplify_options o = hn_simplify_defaults();
    o.max_growth = -1;
    if (hn_simplify(m, &o, NULL, &err) != HONE_OK) fail_msg("%s", err.text);
    assert_int_equal(count(m, "BitShift") + count(m, "Cast") + count(m, "Reshape"), 0);
    assert_int_equal(count(m, "DequantizeLinear"), 1);
    method_same(want, m, 0);
    hn_model_destroy(want);
    hn_model_destroy(m);
}

static void numbers_stay(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        for (int bits = 2; bits <= 8; bits++) {
            hone_dtype narrow = bits <= 2   ? HONE_DTYPE_S2
                                : bits <= 4 ? HONE_DTYPE_S4
                                            : HONE_DTYPE_S8;
            hn_scheme of[] = {scheme_of(HONE_DTYPE_S8, bits, true, 0, "hone"),
                              scheme_of(narrow, bits, true, i == 0 ? 4 : 0, "hone"),
                              scheme_of(narrow, bits, true, 0, "tensorrt"),
                              scheme_of(HONE_DTYPE_U8, bits, false, i == 0 ? 8 : 0, "onnxruntime")};
            for (size_t k = 0; k < sizeof of / sizeof *of; k++) check(models[i], &of[k], i + k);
        }
}

static void what_is_packed(void **state) {
    (void)state;
    const hn_quant_target *hone = hn_quant_target_named("hone");
    const hn_quant_target *tensorrt = hn_quant_target_named("tensorrt");
    assert_int_equal(hn_pack_bits(&(hn_qtype){HONE_DTYPE_S8, 8, true, true, 0, false}, hone), 0);
    assert_int_equal(hn_pack_bits(&(hn_qtype){HONE_DTYPE_S8, 5, true, true, 0, false}, hone), 5);
    assert_int_equal(hn_pack_bits(&(hn_qtype){HONE_DTYPE_S8, 7, true, true, 0, true}, hone), 0);
    assert_int_equal(hn_pack_bits(&(hn_qtype){HONE_DTYPE_S4, 4, true, true, 0, false}, tensorrt),
                     0);
    assert_int_equal(hn_pack_bits(&(hn_qtype){HONE_DTYPE_S4, 3, true, true, 0, false}, hone), 3);
    assert_int_equal(hn_pack_bits(&(hn_qtype){HONE_DTYPE_S2, 2, true, true, 0, false}, hone), 0);
    assert_int_equal(hn_pack_bits(&(hn_qtype){HONE_DTYPE_S2, 2, true, true, 0, false}, tensorrt),
                     2);
    assert_int_equal(hn_pack_bits(&(hn_qtype){HONE_DTYPE_S2, 1, true, true, 0, false}, tensorrt),
                     2);
    assert_int_equal(hn_pack_bits(&(hn_qtype){HONE_DTYPE_S16, 12, true, true, 0, false}, hone), 0);
}

/* Two levels are stored in two bits, and 6 bits that a product at run time reads in 8: what is
 * reported is what is stored. */
static void bits_are_those_stored(void **state) {
    (void)state;
    static const struct {
        hn_layer_kind kind;
        hn_qtype type;
        int stored;
    } cases[] = {{HN_LAYER_WEIGHTS, {HONE_DTYPE_S2, 1, true, true, 0, false}, 2},
                 {HN_LAYER_WEIGHTS, {HONE_DTYPE_S8, 6, true, true, 0, false}, 6},
                 {HN_LAYER_DYNAMIC, {HONE_DTYPE_S8, 6, true, true, 0, false}, 8}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hn_model *m = method_model(
            "m (float[n,16] x, float[16,8] w) => (float[n,8] y) { y = MatMul (x, w) }", 1);
        hn_scheme s = {.layer = {.kind = cases[i].kind, .weights = cases[i].type},
                       .target = hn_quant_target_named("hone")};
        hn_quantize_report r;
        hn_error err;
        if (hn_quantize_model(m, &s, NULL, NULL, NULL, &r, &err)) fail_msg("%s", err.text);
        assert_int_equal(r.weight_bits, 128 * cases[i].stored + 32 * 8);
        assert_int_equal(r.v[0].bytes_after, 128 * cases[i].stored / 8 + 4 * 8);
        hn_quantize_report_deinit(&r);
        hn_model_destroy(m);
    }
}

/* Two weights share the numbers that unpacking takes. */
static void small_constants_are_shared(void **state) {
    (void)state;
    hn_model *m = method_model(
        "m (float[n,8] x, float[8,8] w, float[8,8] wb) => (float[n,8] y) {"
        " h = MatMul (x, w) y = MatMul (h, wb) }",
        1);
    hn_scheme s = scheme_of(HONE_DTYPE_S8, 3, true, 0, "hone");
    hn_error err;
    assert_int_equal(hn_quantize_model(m, &s, NULL, NULL, NULL, NULL, &err), HONE_OK);
    assert_int_equal(hn_graph_value(m->graph, "unpack2_shifts")->n_uses, 2);
    assert_int_equal(hn_graph_value(m->graph, "unpack1_masks")->n_uses, 2);
    assert_int_equal(hn_graph_value(m->graph, "unpack2_down")->n_uses, 2);
    hn_model_destroy(m);
}

static void memory_runs_out(void **state) {
    (void)state;
    hone_status status = HONE_E_NOMEM;
    hn_scheme s = scheme_of(HONE_DTYPE_U8, 7, false, 0, "onnxruntime");
    for (long long k = 0; status != HONE_OK; k++) {
        hn_model *m = method_model(models[1], 3);
        hn_error err;
        scratch_mem.fail_after = k;
        status = hn_quantize_model(m, &s, NULL, NULL, NULL, NULL, &err);
        scratch_mem.fail_after = -1;
        hn_model_destroy(m);
        if (status != HONE_OK) assert_int_equal(status, HONE_E_NOMEM);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_stay),          cmocka_unit_test(what_is_packed),
        cmocka_unit_test(bits_are_those_stored), cmocka_unit_test(small_constants_are_shared),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}

#include "compress/compression.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "compress/layer_type.h"
#include "engine/layers.h"
#include "formats/onnx.h"
#include "support/data.h"
#include "support/graph.h"

enum { TOTAL = 120 };

static hn_error err;

#define TWO_LAYERS                                                                    \
    "g (float[n,4] x) => (float[n,2] y)"                                              \
    "<float[4,4] w1 = {1, 2, 3, 4, -1, 0.5, 2, 1, 0.25, 1, -2, 1, 3, 1, 0.5, -1},"    \
    " float[4] b1 = {1, 0.5, -1, 2}, float[4,2] w2 = {1, -1, 0.5, 2, 1, 1, -0.5, 1}>" \
    "{ a = Gemm (x, w1, b1) b = Relu (a) y = MatMul (b, w2) }"

static hn_dataset *rows(void) {
    static char text[TOTAL * 64];
    size_t used = 0;
    for (int i = 0; i < TOTAL; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%d,%d,%g,%d,0\n", i % 7,
                                 i % 5 - 2, i % 11 * 0.25, i % 3);
    return data_open("csv:%s", scratch_put_text("d.csv", text));
}

/* What was told of the work. */
typedef struct told {
    char phases[200];
    const char *stop_at;
} told;

static bool tell(void *ctx, const char *what, int64_t done, int64_t total) {
    told *t = ctx;
    size_t n = strlen(t->phases), m = strlen(what);
    assert_true(done >= 0 && done <= total);
    if (n < m || strcmp(t->phases + n - m, what) != 0)
        snprintf(t->phases + n, sizeof t->phases - n, "%s%s", n > 0 ? " " : "", what);
    return t->stop_at == NULL || strcmp(t->stop_at, what) != 0;
}

static hn_compress_options options(const char *type) {
    hn_compress_options o = {.scheme.layer = hn_layer_type_named(type)->layer,
                             .scheme.target = hn_quant_target_named("hone"),
                             .seed = 1};
    o.how.engine = (hn_engine_options){.alloc = &scratch_mem, .isa = hn_isa_available(), .seed = 1};
    assert_true(hn_way_named("f32", 3, &o.how.engine.layers.way));
    return o;
}

static void run(const hn_model *m, const hn_how *how, hn_tensor **y) {
    hn_program *p;
    hn_tensor *x;
    static const float in[] = {3, -1, 0.5f, 2, 6, 2, 2.5f, 0};
    assert_int_equal(hn_tensor_from_f32(&x, &scratch_mem, 2, (int64_t[]){2, 4}, in, &err), HONE_OK);
    if (hn_program_create(&p, m, how, &err) != HONE_OK) fail_msg("%s", err.text);
    if (hn_program_run(p, (const hn_tensor *const[]){x}, y, &err) != HONE_OK)
        fail_msg("%s", err.text);
    hn_program_destroy(p);
    hn_tensor_unref(x);
}

/* Compresses, and the result gives what the model gives, as near as `off` times its largest. */
static hn_compressed made(const hn_model *m, const hn_compress_options *o, double off) {
    hn_compressed c;
    hn_tensor *want, *got;
    if (hn_compress(&c, m, o, &scratch_mem, &err) != HONE_OK) fail_msg("%s", err.text);
    run(m, &o->how, &want);
    run(c.model, &o->how, &got);
    double most = 0;
    for (int i = 0; i < want->n; i++) most = fmax(most, fabs(hn_tensor_f64(want, i)));
    for (int i = 0; i < want->n; i++)
        assert_true(fabs(hn_tensor_f64(got, i) - hn_tensor_f64(want, i)) <= off * most);
    hn_tensor_unref(want);
    hn_tensor_unref(got);
    return c;
}

static void refused(const hn_model *m, const hn_compress_options *o, hone_status status,
                    const char *why) {
    hn_compressed c;
    assert_int_equal(hn_compress(&c, m, o, &scratch_mem, &err), status);
    if (strstr(err.text, why) == NULL) fail_msg("'%s' does not say '%s'", err.text, why);
}

static void every_type_computes_nearly_the_same(void **state) {
    (void)state;
    hn_model *m = graph_model(21, TWO_LAYERS);
    hn_dataset *ds = rows();
    for (int i = 0; i < hn_layer_type_count(); i++) {
        const hn_layer_type *t = hn_layer_type_at(i);
        hn_compress_options o = options(t->name);
        if (t->layer.kind == HN_LAYER_STATIC) o.data = ds;
        hn_compressed c = made(m, &o, t->layer.weights.bits == 4 ? 0.15 : 0.03);
        assert_int_equal(c.samples, o.data != NULL ? TOTAL : 0);
        assert_int_equal(c.data[0] != '\0', o.data != NULL);
        assert_int_equal(c.report.weights > 0, t->layer.kind != HN_LAYER_F32);
        if (t->layer.kind == HN_LAYER_F16)
            assert_int_equal(c.report.weight_bits, 16 * c.report.weights);
        hn_compressed_deinit(&c);
    }
    hn_dataset_close(ds);
    hn_model_destroy(m);
}

static void rules_are_for_some(void **state) {
    (void)state;
    hn_model *m = graph_model(21, TWO_LAYERS);
    hn_compress_options o = options("int8-weights");
    hn_scheme_rule rules[] = {{"y", hn_layer_type_named("f16")->layer},
                              {"nothing*", hn_layer_type_named("f32")->layer}};
    o.scheme.rules = rules;
    o.scheme.n_rules = 1;
    hn_compressed c = made(m, &o, 0.03);
    bool half = false, eighth = false;
    for (int i = 0; i < c.report.n; i++) {
        half = half || (c.report.v[i].kind == HN_LAYER_F16 && !strcmp(c.report.v[i].node, "y"));
        eighth = eighth || c.report.v[i].kind == HN_LAYER_WEIGHTS;
    }
    assert_true(half && eighth);
    hn_compressed_deinit(&c);
    o.scheme.n_rules = 2;
    refused(m, &o, HONE_E_ARG, "no node of the simplified model is called 'nothing*'");
    hn_model_destroy(m);
}

/* The codes and scales of both models are the same. */
static void same_constants(const hn_model *a, const hn_model *b) {
    int n = 0;
    for (int i = 0; i < a->graph->n_values; i++) {
        const hn_value *v = a->graph->values[i];
        if (v->dead || v->constant == NULL) continue;
        const hn_value *other = hn_graph_value(b->graph, v->name);
        assert_true(other != NULL && other->constant != NULL);
        assert_true(hn_tensor_equal(v->constant, other->constant));
        n++;
    }
    assert_true(n >= 4);
}

/* Methods round weights for a type before it is chosen: when all layers get it, as if it had been
 * asked for. */
static void types_are_chosen_of_rounded_weights(void **state) {
    (void)state;
    hn_model *m = graph_model(21, TWO_LAYERS);
    const hn_method *gptq = hn_method_named("gptq");
    const hn_layer_type *types[] = {hn_layer_type_named("int8"), hn_layer_type_named("w4a8")};
    hn_mix mix = {.n_types = 2, .types = types, .bits_per_weight = 12.1, .max_drop = -1};
    hn_compress_options o = options("w4a8");
    o.data = rows();
    o.methods = &gptq;
    o.n_methods = 1;
    hn_compressed want = made(m, &o, 0.2);
    o.mix = &mix;
    hn_compressed c = made(m, &o, 0.2);
    for (int i = 0; i < c.mixed.n_layers; i++) assert_int_equal(c.mixed.layers[i].type, 2);
    same_constants(want.model, c.model);
    hn_compressed_deinit(&c);
    hn_compressed_deinit(&want);
    o.n_methods = 0;
    o.mix = NULL;
    want = made(m, &o, 0.2);
    o.mix = &mix;
    c = made(m, &o, 0.2);
    same_constants(want.model, c.model);
    hn_compressed_deinit(&c);
    hn_compressed_deinit(&want);
    hn_dataset_close(o.data);
    hn_model_destroy(m);
}

static void what_is_missing_is_said_at_once(void **state) {
    (void)state;
    hn_model *m = graph_model(21, TWO_LAYERS);
    hn_compress_options o = options("int8");
    refused(m, &o, HONE_E_ARG, "want samples");
    const hn_method *smooth = hn_method_named("smooth");
    o = options("int8-dynamic");
    o.methods = &smooth;
    o.n_methods = 1;
    refused(m, &o, HONE_E_ARG, "method 'smooth' wants samples");
    o = options("int8-weights");
    hn_compressed c = made(m, &o, 0.03);
    refused(c.model, &o, HONE_E_MODEL, "quantized already");
    hn_compressed_deinit(&c);
    hn_model_destroy(m);
}

static void progress_is_told_and_obeyed(void **state) {
    (void)state;
    hn_model *m = graph_model(21, TWO_LAYERS);
    hn_dataset *ds = rows();
    told t = {.phases = ""};
    hn_compress_options o = options("int8");
    o.data = ds;
    o.progress = tell;
    o.progress_ctx = &t;
    hn_compressed c = made(m, &o, 0.03);
    assert_string_equal(t.phases, "look calibrate");
    hn_compressed_deinit(&c);
    t.stop_at = "calibrate";
    refused(m, &o, HONE_E_LIMIT, "stopped");
    hn_dataset_close(ds);
    hn_model_destroy(m);
}

static void the_model_itself_stays(void **state) {
    (void)state;
    hn_model *m = graph_model(21, TWO_LAYERS);
    hn_file *files[2];
    assert_int_equal(hn_onnx_save_memory(&files[0], m, NULL, &err), HONE_OK);
    for (int n = 0;; n++) { /* every allocation fails once */
        hn_compress_options o = options(n % 2 == 0 ? "f16" : "int8-weights");
        hn_compressed c;
        atomic_store(&scratch_mem.fail_after, n / 2);
        hone_status status = hn_compress(&c, m, &o, &scratch_mem, &err);
        atomic_store(&scratch_mem.fail_after, -1);
        if (status == HONE_OK) hn_compressed_deinit(&c);
        if (status == HONE_OK && n % 2 == 1) break;
        assert_true(status == HONE_OK || status == HONE_E_NOMEM);
    }
    assert_int_equal(hn_onnx_save_memory(&files[1], m, NULL, &err), HONE_OK);
    assert_int_equal(files[0]->bytes, files[1]->bytes);
    assert_memory_equal(files[0]->data, files[1]->data, files[0]->bytes);
    hn_file_unref(files[0]);
    hn_file_unref(files[1]);
    hn_model_destroy(m);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)
    const struct CMUnitTest tests[] = {
        TEST(every_type_computes_nearly_the_same), TEST(rules_are_for_some),
        TEST(types_are_chosen_of_rounded_weights), TEST(what_is_missing_is_said_at_once),
        TEST(progress_is_told_and_obeyed),         TEST(the_model_itself_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

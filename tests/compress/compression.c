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

static hn_arena arena; /* of recipes */

static int begin(void **state) {
    int status = scratch_setup(state);
    hn_arena_init(&arena, &scratch_mem, HN_MEM_OTHER);
    return status;
}

static int end(void **state) {
    hn_arena_deinit(&arena);
    return scratch_teardown(state);
}

static hn_compress_options options(void) {
    hn_compress_options o = {0};
    o.how.engine = (hn_engine_options){.alloc = &scratch_mem, .isa = hn_isa_available(), .seed = 1};
    assert_true(hn_layer_precision_named("f32", 3, &o.how.engine.layers.way));
    return o;
}

static hn_recipe recipe(const char *steps) {
    hn_recipe r;
    char text[400];
    snprintf(text, sizeof text, "hone recipe 2; simplify; %s", steps);
    if (hn_recipe_read(&r, text, &arena, &err) != HONE_OK) fail_msg("%s", err.text);
    return r;
}

static void run(const hn_model *m, const hn_run_options *how, hn_tensor **y) {
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
static hn_compressed made(const hn_model *m, const char *steps, const hn_compress_options *o,
                          double off) {
    hn_compressed c;
    hn_recipe r = recipe(steps);
    hn_tensor *want, *got;
    if (hn_compress(&c, &r, m, o, &scratch_mem, &err) != HONE_OK) fail_msg("%s", err.text);
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

static void refused(const hn_model *m, const char *steps, const hn_compress_options *o,
                    hone_status status, const char *why) {
    hn_compressed c;
    hn_recipe r = recipe(steps);
    assert_int_equal(hn_compress(&c, &r, m, o, &scratch_mem, &err), status);
    if (strstr(err.text, why) == NULL) fail_msg("'%s' does not say '%s'", err.text, why);
}

static void every_type_computes_nearly_the_same(void **state) {
    (void)state;
    hn_model *m = graph_model(21, TWO_LAYERS);
    hn_dataset *ds = rows();
    for (int i = 0; i < hn_layer_type_count(); i++) {
        const hn_layer_type *t = hn_layer_type_at(i);
        hn_compress_options o = options();
        char steps[64];
        snprintf(steps, sizeof steps, "quantize type=%s ranges=minmax", t->name);
        if (t->layer.kind == HN_LAYER_STATIC) o.data = ds;
        int least = t->layer.weights.bits;
        if (t->layer.kind == HN_LAYER_STATIC && t->layer.activations.bits < least)
            least = t->layer.activations.bits;
        hn_compressed c = made(m, steps, &o, least == 2 ? 0.7 : least == 4 ? 0.15 : 0.03);
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
    hn_compress_options o = options();
    hn_compressed c = made(m, "quantize type=int8-weights layer:y=f16", &o, 0.03);
    bool half = false, eighth = false;
    for (int i = 0; i < c.report.n; i++) {
        half = half || (c.report.v[i].kind == HN_LAYER_F16 && !strcmp(c.report.v[i].node, "y"));
        eighth = eighth || c.report.v[i].kind == HN_LAYER_WEIGHTS;
    }
    assert_true(half && eighth);
    hn_compressed_deinit(&c);
    refused(m, "quantize type=int8-weights layer:y=f16 layer:nothing*=f32", &o, HONE_E_ARG,
            "no node of the simplified model is called 'nothing*'");
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
    hn_compress_options o = options();
    o.data = rows();
    static const char *const all[] = {"gptq; quantize type=w4a8 ranges=minmax",
                                      "quantize type=w4a8 ranges=minmax"};
    for (int i = 0; i < 2; i++) {
        char steps[200];
        snprintf(steps, sizeof steps, "%s mix=int8,w4a8 bits-per-weight=12.1", all[i]);
        hn_compressed want = made(m, all[i], &o, 0.2);
        hn_compressed c = made(m, steps, &o, 0.2);
        for (int k = 0; k < c.mixed.n_layers && i == 0; k++)
            assert_int_equal(c.mixed.layers[k].type, 2);
        same_constants(want.model, c.model);
        hn_compressed_deinit(&c);
        hn_compressed_deinit(&want);
    }
    hn_dataset_close(o.data);
    hn_model_destroy(m);
}

/* The recipe that a compression leaves has what was found in the place of limits, and done again it
 * gives the same. */
static void a_choice_of_types_is_done_again(void **state) {
    (void)state;
    hn_model *m = graph_model(21, TWO_LAYERS);
    hn_compress_options o = options();
    hn_compressed c[2];
    char *text[2];
    hn_file *files[2];
    o.data = rows();
    hn_recipe r = recipe("gptq; quantize mix=int8,w4a8 bits-per-weight=13 layer:a=int8; bias");
    for (int i = 0; i < 2; i++) {
        if (hn_compress(&c[i], &r, m, &o, &scratch_mem, &err) != HONE_OK) fail_msg("%s", err.text);
        assert_int_equal(hn_recipe_write(&r, false, &arena, &text[i], &err), HONE_OK);
        assert_int_equal(hn_onnx_save_memory(&files[i], c[i].model, NULL, &err), HONE_OK);
        assert_int_equal(hn_recipe_read(&r, text[i], &arena, &err), HONE_OK);
    }
    assert_string_equal(text[0], text[1]);
    assert_non_null(strstr(text[0], " layer:a=int8 ranges=auto chosen:y="));
    assert_null(strstr(text[0], "bits-per-weight"));
    assert_int_equal(files[0]->bytes, files[1]->bytes);
    assert_memory_equal(files[0]->data, files[1]->data, files[0]->bytes);
    assert_true(c[0].changed[1] > 0 && c[0].changed[2] > 0); /* gptq, quantize */
    for (int i = 0; i < 2; i++) {
        hn_file_unref(files[i]);
        hn_compressed_deinit(&c[i]);
    }
    hn_dataset_close(o.data);
    hn_model_destroy(m);
}

/* What the recipe does not name is not done. */
static void a_list_without_simplify(void **state) {
    (void)state;
    hn_model *m = graph_model(21,
                              "g (float[n,2] x) => (float[n,2] y) <float[2,2] w = {1, 2, 3, 4}>"
                              "{ a = Identity (x) y = MatMul (a, w) }");
    hn_compress_options o = options();
    for (int i = 0; i < 2; i++) {
        hn_compressed c;
        hn_recipe r;
        assert_int_equal(hn_recipe_read(&r,
                                        i == 0 ? "hone recipe 2; simplify; convert type=bf16"
                                               : "hone recipe 2; convert type=bf16",
                                        &arena, &err),
                         HONE_OK);
        if (hn_compress(&c, &r, m, &o, &scratch_mem, &err) != HONE_OK) fail_msg("%s", err.text);
        assert_int_equal(hn_graph_value(c.model->graph, "a") != NULL &&
                             !hn_graph_value(c.model->graph, "a")->dead,
                         i == 1);
        hn_compressed_deinit(&c);
    }
    hn_model_destroy(m);
}

static void what_is_missing_is_said_at_once(void **state) {
    (void)state;
    hn_model *m = graph_model(21, TWO_LAYERS);
    hn_compress_options o = options();
    refused(m, "quantize", &o, HONE_E_ARG, "want samples");
    refused(m, "smooth; quantize type=int8-dynamic", &o, HONE_E_ARG,
            "method 'smooth' wants samples");
    refused(m, "convert", &o, HONE_E_ARG, "type is not set, expected type=f16");
    refused(m, "convert type=int8", &o, HONE_E_ARG, "type 'int8' is for 'quantize'");
    refused(m, "quantize type=int8-weights max-latency=1", &o, HONE_E_ARG, "limits are for types");
    refused(m, "quantize mix=int8", &o, HONE_E_ARG, "types are chosen within a limit");
    hn_compressed c = made(m, "quantize type=int8-weights", &o, 0.03);
    refused(c.model, "quantize type=int8-weights", &o, HONE_E_MODEL, "quantized already");
    hn_compressed_deinit(&c);
    hn_dataset *ds = o.data = rows();
    hn_recipe r = recipe("quantize");
    memset(r.data, '0', sizeof r.data - 1);
    assert_int_equal(hn_compress(&c, &r, m, &o, &scratch_mem, &err), HONE_E_ARG);
    assert_non_null(strstr(err.text, "made with other samples: their SHA-256 is 000000000000..."));
    hn_dataset_close(ds);
    hn_model_destroy(m);
}

static void progress_is_told_and_obeyed(void **state) {
    (void)state;
    hn_model *m = graph_model(21, TWO_LAYERS);
    hn_dataset *ds = rows();
    told t = {.phases = ""};
    hn_compress_options o = options();
    o.data = ds;
    o.progress = tell;
    o.progress_ctx = &t;
    hn_compressed c = made(m, "quantize ranges=minmax", &o, 0.03);
    assert_string_equal(t.phases, "look calibrate");
    hn_compressed_deinit(&c);
    t.stop_at = "calibrate";
    refused(m, "quantize ranges=minmax", &o, HONE_E_LIMIT, "stopped");
    hn_dataset_close(ds);
    hn_model_destroy(m);
}

static void the_model_itself_stays(void **state) {
    (void)state;
    hn_model *m = graph_model(21, TWO_LAYERS);
    hn_file *files[2];
    assert_int_equal(hn_onnx_save_memory(&files[0], m, NULL, &err), HONE_OK);
    for (int n = 0;; n++) { /* every allocation fails once */
        hn_compress_options o = options();
        hn_recipe r = recipe(n % 2 == 0 ? "convert type=f16" : "quantize type=int8-weights");
        hn_compressed c;
        atomic_store(&scratch_mem.fail_after, n / 2);
        hone_status status = hn_compress(&c, &r, m, &o, &scratch_mem, &err);
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
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(every_type_computes_nearly_the_same),
        TEST(rules_are_for_some),
        TEST(types_are_chosen_of_rounded_weights),
        TEST(a_choice_of_types_is_done_again),
        TEST(a_list_without_simplify),
        TEST(what_is_missing_is_said_at_once),
        TEST(progress_is_told_and_obeyed),
        TEST(the_model_itself_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

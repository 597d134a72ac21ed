/* Models to train compute what is written after them: before training, and with other weights and
 * scales. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "compress/fake.h"
#include "compress/layer_type.h"
#include "ops/nodes.h"
#include "support/method_model.h"
#include "support/scratch.h"

/* A residual, values that share a scale (MaxPool, Concat), a constant operand, alpha and beta. */
#define LAYERS                                                                                 \
    "m (float[n,3,8,8] x, float[5,3,3,3] w1, float[5] wb, float[5,5,1,1] w2, float[5,1,1] wk," \
    " float[40,4] w3, float[4] wc) => (float[n,4] z) {"                                        \
    " a = Conv (x, w1, wb) b = Relu (a) c = Conv (b, w2) d = Add (c, b)"                       \
    " k = Mul (d, wk)"                                                                         \
    " e = MaxPool <kernel_shape = [3, 3], strides = [3, 3]> (k)"                               \
    " f = Concat <axis = 1> (e, e) g = Flatten (f)"                                            \
    " z = Gemm <alpha = 0.5, beta = 2.0> (g, w3, wc) }"

/* Layers with a state, one of them read by two. */
#define RECURRENT                                                                                \
    "m (float[n,5,6] x, float[2,28,6] w1, float[2,28,7] w2, float[1,15,6] w3, float[1,15,5] wc," \
    " float[5,4] wk) => (float[n,2,7] z, float[n,1,4] u) {"                                      \
    " y, z = LSTM <layout = 1, direction = \"bidirectional\"> (x, w1, w2)"                       \
    " t, h = GRU <layout = 1> (x, w3, wc) u = MatMul (h, wk) }"

typedef struct fixture {
    hn_model *m;
    method_bench b;
    hn_scheme scheme;
    hn_calibration *ranges;
} fixture;

static void begin_with(fixture *f, const char *text, const char *type, const char *target) {
    hn_error err;
    hn_arena arena;
    const char *const *names;
    int n;
    f->m = method_model(text, 1);
    method_begin(&f->b, f->m);
    f->scheme = (hn_scheme){.layer = hn_layer_type_named(type)->layer,
                            .target = hn_quant_target_named(target)};
    hn_arena_init(&arena, &scratch_mem, HN_MEM_OTHER);
    assert_int_equal(hn_quantize_watches(f->m, &f->scheme, &arena, &names, &n, &err), HONE_OK);
    hn_calibrate_options o = {.method = HN_RANGE_MINMAX};
    if (hn_calibrate(&f->ranges, f->m, names, n, f->b.feed, &f->b.how, &o, &scratch_mem, &err) !=
        HONE_OK)
        fail_msg("%s", err.text);
    hn_arena_deinit(&arena);
}

static void begin(fixture *f, const char *type, const char *target) {
    begin_with(f, LAYERS, type, target);
}

static void end(fixture *f) {
    hn_calibration_destroy(f->ranges);
    method_end(&f->b);
    hn_model_destroy(f->m);
}

static hn_model *fake_of(fixture *f, hn_fakes *fakes) {
    hn_model *m = method_copy(f->m);
    hn_error err;
    if (hn_quantize_fake(m, &f->scheme, f->ranges, NULL, NULL, fakes, &err) != HONE_OK)
        fail_msg("%s", err.text);
    if (hn_model_verify(m, &err) != HONE_OK) fail_msg("%s", err.text);
    return m;
}

static hn_model *written_of(fixture *f, const hn_model *floats, const hn_grids *grids) {
    hn_model *m = method_copy(floats);
    hn_error err;
    if (hn_quantize_model(m, &f->scheme, f->ranges, grids, NULL, NULL, &err) != HONE_OK)
        fail_msg("%s", err.text);
    return m;
}

static int count(const hn_model *m, const char *op) {
    int n = 0;
    for (const hn_node *at = m->graph->first; at != NULL; at = at->next)
        n += strcmp(at->op_type, op) == 0;
    return n;
}

static const char *const types[] = {"int8", "w4a8", "w4a4", "w2a8", "int8-weights"};
static const char *const targets[] = {"hone", "onnxruntime", "tensorrt"};
enum { TYPES = sizeof types / sizeof *types, TARGETS = sizeof targets / sizeof *targets };
/* The recurrent ones last, in types of 8 bits, which they get without a rule. */
enum { CASES = TYPES * TARGETS + 2 };

static void begin_case(fixture *f, int i) {
    if (i < TYPES * TARGETS)
        begin(f, types[i % TYPES], targets[i / TYPES]);
    else
        begin_with(f, RECURRENT, i % 2 == 0 ? "int8" : "int8-weights", "hone");
}

static void fresh_models_agree(void **state) {
    (void)state;
    for (int i = 0; i < CASES; i++) {
        fixture f;
        hn_fakes fakes;
        begin_case(&f, i);
        hn_model *fake = fake_of(&f, &fakes), *written = written_of(&f, f.m, NULL);
        assert_int_equal(count(fake, "QuantizeLinear") + count(fake, "DequantizeLinear"), 0);
        assert_int_equal(count(written, "FakeQuantize"), 0);
        assert_true(count(fake, "FakeQuantize") >= 3);
        method_same(fake, written, 1e-6);
        hn_fakes_deinit(&fakes);
        hn_model_destroy(fake);
        hn_model_destroy(written);
        end(&f);
    }
}

/* Changes every scale and every constant that is trained, as training would. */
static void disturb(hn_model *fake, const hn_fakes *fakes) {
    for (int i = 0; i < fakes->n; i++) {
        hn_tensor *s = hn_graph_value(fake->graph, fakes->v[i].scale)->constant;
        for (int64_t k = 0; k < s->n; k++)
            ((float *)s->data)[k] *= 0.8f + 0.01f * (float)((i + k) % 7);
    }
    static const char *const names[] = {"w1", "wb", "w2", "wk", "w3", "wc"};
    for (int i = 0; i < 6; i++) {
        const hn_value *v = hn_graph_value(fake->graph, names[i]);
        if (v == NULL) continue;
        hn_tensor *t = v->constant;
        for (int64_t k = 0; k < t->n; k++)
            ((float *)t->data)[k] += 0.05f * sinf((float)(k + i)) * ((float *)t->data)[k];
    }
}

static void trained_models_agree(void **state) {
    (void)state;
    for (int i = 0; i < CASES; i++) {
        fixture f;
        hn_fakes fakes;
        hn_grids *grids;
        hn_error err;
        begin_case(&f, i);
        hn_model *fake = fake_of(&f, &fakes), *floats = method_copy(f.m);
        disturb(fake, &fakes);
        assert_int_equal(hn_grids_create(&grids, &scratch_mem, &err), HONE_OK);
        if (hn_fakes_apply(&fakes, fake, true, floats, grids, &err) != HONE_OK)
            fail_msg("%s", err.text);
        hn_model *written = written_of(&f, floats, grids), *before = written_of(&f, f.m, NULL);
        method_same(fake, written, 1e-6);
        assert_true(method_distance(fake, before) > 1e-4);
        hn_grids_destroy(grids);
        hn_fakes_deinit(&fakes);
        hn_model_destroy(fake);
        hn_model_destroy(floats);
        hn_model_destroy(written);
        hn_model_destroy(before);
        end(&f);
    }
}

/* e, k, f and g have one scale, and it is there once. */
static void shared_scales_are_one(void **state) {
    (void)state;
    fixture f;
    hn_fakes fakes;
    begin(&f, "int8", "onnxruntime");
    hn_model *fake = fake_of(&f, &fakes);
    int values = 0, nodes = 0;
    for (int i = 0; i < fakes.n; i++) {
        const hn_value *s = hn_graph_value(fake->graph, fakes.v[i].scale);
        values += fakes.v[i].is_value;
        for (const hn_use *u = s->uses; u != NULL; u = u->next)
            nodes += fakes.v[i].is_value && strcmp(u->node->op_type, "FakeQuantize") == 0;
        for (int k = 0; k < i; k++) assert_string_not_equal(fakes.v[i].name, fakes.v[k].name);
    }
    assert_true(nodes > values);
    hn_fakes_deinit(&fakes);
    hn_model_destroy(fake);
    end(&f);
}

static void what_cannot_be_trained_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *type, *message;
    } cases[] = {{"int4", "groups are not trained"}, {"int8-dynamic", "at run time"}};
    for (int i = 0; i < 2; i++) {
        fixture f;
        hn_fakes fakes;
        hn_error err;
        begin(&f, cases[i].type, "hone");
        hn_model *m = method_copy(f.m);
        assert_int_equal(hn_quantize_fake(m, &f.scheme, f.ranges, NULL, NULL, &fakes, &err),
                         HONE_E_UNSUPPORTED);
        if (strstr(err.text, cases[i].message) == NULL) fail_msg("%s", err.text);
        hn_model_destroy(m);
        end(&f);
    }
}

static void allocations_may_fail(void **state) {
    (void)state;
    fixture f;
    hone_status status = HONE_E_NOMEM;
    begin(&f, "w4a8", "hone");
    for (long long k = 0; status != HONE_OK; k++) {
        hn_model *m = method_copy(f.m), *floats = method_copy(f.m);
        hn_grids *grids;
        hn_fakes fakes;
        hn_error err;
        assert_int_equal(hn_grids_create(&grids, &scratch_mem, &err), HONE_OK);
        scratch_mem.fail_after = k;
        status = hn_quantize_fake(m, &f.scheme, f.ranges, NULL, NULL, &fakes, &err);
        if (status == HONE_OK) {
            status = hn_fakes_apply(&fakes, m, true, floats, grids, &err);
            hn_fakes_deinit(&fakes);
        }
        scratch_mem.fail_after = -1;
        if (status != HONE_OK) assert_int_equal(status, HONE_E_NOMEM);
        hn_grids_destroy(grids);
        hn_model_destroy(m);
        hn_model_destroy(floats);
    }
    end(&f);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(fresh_models_agree),    TEST(trained_models_agree),
        TEST(shared_scales_are_one), TEST(what_cannot_be_trained_is_refused),
        TEST(allocations_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

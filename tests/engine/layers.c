/* Rules for nodes: how they are read, which holds, and what steps become by them. */
#include "engine/layers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "engine/engine.h"
#include "ops/nodes.h"
#include "support/text_model.h"

static hn_error err;

static void rules_are_read(void **state) {
    (void)state;
    hn_layer *rules;
    int n;
    assert_int_equal(
        hn_layers_read("*:bf16,a:b*:f32-relaxed,q?:int8", &model_mem, &rules, &n, &err), HONE_OK);
    assert_int_equal(n, 3);
    assert_string_equal(rules[0].name, "*");
    assert_int_equal(rules[0].way.precision, HN_PRECISION_BF16);
    assert_true(rules[0].way.no_integers);
    assert_string_equal(rules[1].name, "a:b*");
    assert_int_equal(rules[1].way.precision, HN_PRECISION_RELAXED);
    assert_string_equal(rules[2].name, "q?");
    assert_false(rules[2].way.no_integers);
    hn_free(&model_mem, rules);
    static const char *const wrong[] = {"",   "a",      ":f32",   "a:f33",
                                        "a:", "a:f32,", "a:auto", "a:f32x"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        rules = NULL;
        assert_int_equal(hn_layers_read(wrong[i], &model_mem, &rules, &n, &err), HONE_E_ARG);
        assert_null(rules);
        assert_non_null(strstr(err.text, "expected PATTERN:PRECISION"));
    }
}

/* ---- steps ---- */

static hone_status place(void *ctx, int i, hone_dtype dtype, int rank, const int64_t *dims,
                         void **to, hn_error *e) {
    (void)ctx, (void)i, (void)dtype, (void)rank, (void)dims, (void)e;
    *to = NULL;
    return HONE_OK;
}

/* "family precision" of each step that multiplies. */
static void note_step(void *ctx, const hn_step_time *t) {
    char *steps = ctx;
    const hn_step *s = t->step;
    size_t at = strlen(steps);
    if (s->family == NULL || s->facts->flops == 0) return;
    assert_int_not_equal(hn_weight_kind_of(s->facts->maker), HN_WEIGHT_NONE);
    snprintf(steps + at, 200 - at, "%s%s %d", at > 0 ? ", " : "", s->family->name, s->precision);
}

/* The steps of the model by these rules, or the error. */
static const char *steps_by(const char *text, const char *list) {
    static char steps[200];
    steps[0] = '\0';
    hn_model *m = model_inferred(text);
    hn_layer *rules;
    hn_tensor *x;
    hn_engine *e;
    hn_engine_options o = {.alloc = &model_mem, .isa = hn_isa_available(), .no_simplify = true};
    assert_int_equal(hn_layers_read(list, &model_mem, &rules, &o.layers.n, &err), HONE_OK);
    o.layers.rules = rules;
    if (hn_engine_create(&e, m, &o, &err) != HONE_OK) {
        assert_int_equal(err.status, HONE_E_ARG);
        hn_free(&model_mem, rules);
        return err.text;
    }
    int64_t dims[HONE_MAX_RANK];
    const hn_value *in = m->graph->inputs[0];
    assert_true(hn_shape_is_const(&in->type.shape, dims));
    assert_int_equal(hn_tensor_create(&x, &model_mem, HN_MEM_DATA, in->type.dtype,
                                      in->type.shape.rank, dims, &err),
                     HONE_OK);
    memset(x->data, 0, x->bytes);
    const hn_tensor *given[] = {x};
    assert_int_equal(hn_engine_run(e, given, place, NULL, note_step, steps, &err), HONE_OK);
    hn_engine_destroy(e);
    hn_tensor_unref(x);
    hn_free(&model_mem, rules);
    return steps;
}

#define FLOATS                                                                                   \
    "m (float[1,2] x) => (float[1,2] y) <float[2,2] w = {1, 2, 3, 4}, float[2,2] v = {1, 2, 3, " \
    "4}>"                                                                                        \
    " { head = MatMul (x, w) s = Softmax (head) y = MatMul (s, v) }"

static void the_last_rule_that_matches_holds(void **state) {
    (void)state;
    const char *steps = steps_by(FLOATS, "*:bf16");
    assert_string_equal(steps, "conv_f32 2, conv_f32 2");
    assert_string_equal(steps_by(FLOATS, "*:bf16,head:f32"), "conv_f32 0, conv_f32 2");
    assert_string_equal(steps_by(FLOATS, "head:f32,*:bf16"), "conv_f32 2, conv_f32 2");
    assert_string_equal(steps_by(FLOATS, "he?d:f32-relaxed"), "conv_f32 1, conv_f32 0");
    /* A step is the product's, whatever it takes in. */
    assert_string_equal(steps_by("m (float[1,2] x) => (float[1,2] y) <float[2,2] w = {1, 2, 3, 4}>"
                                 " { a = MatMul (x, w) y = Relu (a) }",
                                 "a:bf16,y:f32"),
                        "conv_f32 2");
}

#define QUANTIZED                                                                        \
    "m (uint8[1,2] x) => (uint8[1,2] y) <float s = {0.5}, uint8 z = {1}, int8 zw = {0}," \
    " int8[2,2] w = {1, 2, 3, 4}, int8[2,2] v = {4, 3, 2, 1}> {"                         \
    " a = DequantizeLinear (x, s, z) b = DequantizeLinear (w, s, zw) c = MatMul (a, b)"  \
    " d = QuantizeLinear (c, s, z) e = DequantizeLinear (d, s, z)"                       \
    " f = DequantizeLinear (v, s, zw) g = MatMul (e, f) y = QuantizeLinear (g, s, z) }"

static void quantized_nodes_run_in_float_where_that_is_asked_for(void **state) {
    (void)state;
    assert_string_equal(steps_by(QUANTIZED, "c:int8"), "conv_q8 0, conv_q8 0");
    assert_string_equal(steps_by(QUANTIZED, "g:bf16"), "conv_q8 0, matmul_nbits 2");
    assert_string_equal(steps_by(QUANTIZED, "*:f32,c:int8"), "conv_q8 0, matmul_nbits 0");
}

/* A recurrent layer whose weights and input were dequantized, too. */
static void recurrent_layers_run_as_asked_for(void **state) {
    (void)state;
    const char *text =
        "m (uint8[1,1,2] x) => (float[1,1,1,1] y) <float s = {0.5}, uint8 z = {1}, int8 zw = {0},"
        " int8[1,1,2] w = {1, 2}, int8[1,1,1] v = {4}> {"
        " a = DequantizeLinear (x, s, z) b = DequantizeLinear (w, s, zw)"
        " c = DequantizeLinear (v, s, zw) y = RNN (a, b, c) }";
    assert_int_equal(strncmp(steps_by(text, "y:int8"), "conv_q8 0, recurrent_", 21), 0);
    assert_null(strstr(steps_by(text, "y:f32"), "q8"));
}

static void rules_for_nothing_are_refused(void **state) {
    (void)state;
    assert_non_null(strstr(steps_by(FLOATS, "*:f32,tail*:bf16"), "no node is called 'tail*'"));
    assert_non_null(strstr(steps_by(FLOATS, "*:int8"), "'*' is to run in int8, but no node"));
    assert_non_null(strstr(steps_by(QUANTIZED, "h:int8"), "no node is called 'h'"));
}

/* ---- what is taken where nobody says ---- */

/* The row that multiplies bf16, where one is built in. */
static const hn_kernel *row_of_bf16(void) {
    const hn_family *f = hn_family_named("conv_f32", 8);
    const hn_kernel *amx = hn_kernel_named(f, "amx1", 4);
    return amx != NULL ? amx : hn_kernel_named(f, "neoni8mm_bf16", 13);
}

static const char *way_of(const char *text, hn_isa isa) {
    const hn_model *m = model_read(text);
    return hn_graph_precision(m->graph, isa);
}

#define HALVES(second)                                                                         \
    "m (float[1,2] x) => (float[1,2] y) <bfloat16[2,2] w = {1, 2, 3, 4}, float[2] b = {1, "    \
    "2}, " second                                                                              \
    "[2,2] v = {1, 2, 3, 4}> { h = Cast <to = 16> (x) a = MatMul (h, w) c = Cast <to = 1> (a)" \
    " d = Add (c, b) e = CastLike (d, v) f = MatMul (e, v) y = Cast <to = 1> (f) }"

static void a_model_is_computed_in_what_it_holds(void **state) {
    (void)state;
    hn_isa all = ~(hn_isa)0;
    bool has = row_of_bf16() != NULL;
    assert_string_equal(way_of(FLOATS, all), "f32");
    assert_string_equal(way_of(QUANTIZED, all), "int8");
    assert_string_equal(way_of(HALVES("bfloat16"), all), has ? "bf16" : "f32");
    assert_string_equal(way_of(HALVES("bfloat16"), 0), "f32"); /* no row is there for it */
    assert_string_equal(way_of(HALVES("float"), all), has ? "mixed" : "f32");
    assert_string_equal(way_of(HALVES("float16"), all), has ? "mixed" : "f32");
    assert_string_equal(way_of(HALVES("float"), 0), "f32");
}

/* ---- models of several types ---- */

enum { OUTPUTS = 3 };

/* A product of each type. The second is found again by the name of its output. */
#define MIXED                                                                           \
    "m (float[64,256] x, float[256,256] w, bfloat16[256,256] v, float16[256,256] u) =>" \
    " (float[64,256] a, float[64,256] y, float[64,256] z) {"                            \
    " a = MatMul (x, w) h = Cast <to = 16> (x) b = MatMul (h, v) c = Relu (b)"          \
    " y = Cast <to = 1> (c) g = Cast <to = 10> (x) d = MatMul (g, u) z = Cast <to = 1> (d) }"

typedef struct mixed_run {
    hn_tensor *out[OUTPUTS];
    char steps[400]; /* "a f32: why, ..." of the products, by output */
} mixed_run;

static hone_status keep(void *ctx, int i, hone_dtype dtype, int rank, const int64_t *dims,
                        void **to, hn_error *e) {
    mixed_run *r = ctx;
    hone_status status =
        hn_tensor_create(&r->out[i], &model_mem, HN_MEM_DATA, dtype, rank, dims, e);
    if (status == HONE_OK) *to = r->out[i]->data;
    return status;
}

static void note_product(void *ctx, const hn_step_time *t) {
    mixed_run *r = ctx;
    const hn_step *s = t->step;
    size_t at = strlen(r->steps);
    if (s->facts->why_precision == NULL) return;
    snprintf(r->steps + at, sizeof r->steps - at, "%s%s %s: %s", at > 0 ? ", " : "",
             hn_layer_name(s->facts->maker), hn_step_precision(s), s->facts->why_precision);
}

/* Runs MIXED: as it is written, where precision is NULL; else in that, and by the rules. */
static mixed_run run_mixed(const char *precision, const char *list, hn_isa isa, bool simplify) {
    mixed_run r = {0};
    hn_model *m = model_inferred(MIXED);
    hn_engine *e;
    hn_layer *rules = NULL;
    hn_rng rng;
    hn_rng_init(&rng, 1);
    hn_tensor *x = random_tensor_of(m->graph->inputs[0], &rng);
    const hn_tensor *given[] = {x, NULL, NULL, NULL};
    for (int i = 1; i < m->graph->n_inputs; i++)
        hn_value_set_constant(m->graph->inputs[i], random_tensor_of(m->graph->inputs[i], &rng));
    hn_engine_options o = {.alloc = &model_mem, .isa = isa, .no_simplify = !simplify};
    o.layers.way = hn_graph_stored_precision(m->graph);
    if (precision != NULL)
        assert_true(hn_layer_precision_named(precision, strlen(precision), &o.layers.way));
    if (list != NULL)
        assert_int_equal(hn_layers_read(list, &model_mem, &rules, &o.layers.n, &err), HONE_OK);
    o.layers.rules = rules;
    assert_int_equal(hn_engine_create(&e, m, &o, &err), HONE_OK);
    assert_int_equal(hn_engine_run(e, given, keep, &r, note_product, &r, &err), HONE_OK);
    hn_engine_destroy(e);
    hn_free(&model_mem, rules);
    hn_tensor_unref(x);
    return r;
}

static void drop(mixed_run *r) {
    for (int i = 0; i < OUTPUTS; i++) hn_tensor_unref(r->out[i]);
}

/* Which outputs are the same bits, as bits. */
static int same(const mixed_run *a, const mixed_run *b) {
    int all = 0;
    for (int i = 0; i < OUTPUTS; i++)
        all |= (memcmp(a->out[i]->data, b->out[i]->data, a->out[i]->bytes) == 0) << i;
    return all;
}

static bool multiplies_bf16(void) {
    const hn_kernel *k = row_of_bf16();
    return k != NULL && (k->isa & hn_isa_available()) == k->isa;
}

#define WHY_F16 "f16 in the model; no kernel here multiplies f16, and bf16 would lose bits"

static void each_product_is_computed_in_what_it_is_written_in(void **state) {
    (void)state;
    for (int simplify = 0; simplify < 2; simplify++) {
        mixed_run own = run_mixed(NULL, NULL, hn_isa_available(), simplify);
        mixed_run said = run_mixed("f32", "b:bf16", hn_isa_available(), simplify);
        mixed_run wide = run_mixed("f32", NULL, hn_isa_available(), simplify);
        mixed_run all = run_mixed("bf16", NULL, hn_isa_available(), simplify);
        assert_int_equal(same(&own, &said), 7);
        assert_int_equal(same(&own, &wide), multiplies_bf16() ? 5 : 7);
        assert_int_equal(same(&own, &all), multiplies_bf16() ? 2 : 7);
        assert_string_equal(
            own.steps, multiplies_bf16() ? "a f32: f32 in the model, b bf16: bf16 in the model, "
                                           "d f32: " WHY_F16
                                         : "a f32: f32 in the model, b f32: bf16 in the model; no "
                                           "kernel here multiplies bf16, d f32: " WHY_F16);
        assert_non_null(strstr(wide.steps, "b f32: f32 asked for"));
        assert_non_null(strstr(said.steps, "bf16 by the rule for 'b'"));
        drop(&own), drop(&said), drop(&wide), drop(&all);
    }
}

static void without_kernels_for_it_bf16_is_computed_in_f32(void **state) {
    (void)state;
    mixed_run own = run_mixed(NULL, NULL, 0, true), wide = run_mixed("f32", NULL, 0, true);
    assert_int_equal(same(&own, &wide), 7);
    assert_non_null(strstr(own.steps, "bf16 in the model; no kernel here multiplies bf16"));
    drop(&own), drop(&wide);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_model_is_computed_in_what_it_holds, model_setup,
                                        model_teardown),
        cmocka_unit_test_setup_teardown(each_product_is_computed_in_what_it_is_written_in,
                                        model_setup, model_teardown),
        cmocka_unit_test_setup_teardown(without_kernels_for_it_bf16_is_computed_in_f32, model_setup,
                                        model_teardown),
        cmocka_unit_test_setup_teardown(rules_are_read, model_setup, model_teardown),
        cmocka_unit_test_setup_teardown(the_last_rule_that_matches_holds, model_setup,
                                        model_teardown),
        cmocka_unit_test_setup_teardown(recurrent_layers_run_as_asked_for, model_setup,
                                        model_teardown),
        cmocka_unit_test_setup_teardown(quantized_nodes_run_in_float_where_that_is_asked_for,
                                        model_setup, model_teardown),
        cmocka_unit_test_setup_teardown(rules_for_nothing_are_refused, model_setup, model_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Rules for nodes: how they are read, which holds, and what steps become by them. */
#include "engine/layers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/engine.h"
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
    if (s->family == NULL || s->flops == 0) return;
    assert_string_equal(s->maker->op_type, "MatMul");
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

static void rules_for_nothing_are_refused(void **state) {
    (void)state;
    assert_non_null(strstr(steps_by(FLOATS, "*:f32,tail*:bf16"), "no node is called 'tail*'"));
    assert_non_null(strstr(steps_by(FLOATS, "*:int8"), "'*' is to run in int8, but no node"));
    assert_non_null(strstr(steps_by(QUANTIZED, "h:int8"), "no node is called 'h'"));
}

/* ---- what is taken where nobody says ---- */

static const char *way_of(const char *text, hn_isa isa) {
    const hn_model *m = model_read(text);
    return hn_way_name(hn_graph_way(m->graph, isa));
}

#define HALVES(second)                                                                         \
    "m (float[1,2] x) => (float[1,2] y) <bfloat16[2,2] w = {1, 2, 3, 4}, float[2] b = {1, "    \
    "2}, " second                                                                              \
    "[2,2] v = {1, 2, 3, 4}> { h = Cast <to = 16> (x) a = MatMul (h, w) c = Cast <to = 1> (a)" \
    " d = Add (c, b) e = CastLike (d, v) f = MatMul (e, v) y = Cast <to = 1> (f) }"

static void a_model_is_computed_in_what_it_holds(void **state) {
    (void)state;
    hn_isa all = ~(hn_isa)0;
    bool amx = hn_kernel_named(hn_family_named("conv_f32", 8), "amx1", 4) != NULL; /* built in */
    assert_string_equal(way_of(FLOATS, all), "f32");
    assert_string_equal(way_of(QUANTIZED, all), "int8");
    assert_string_equal(way_of(HALVES("bfloat16"), all), amx ? "bf16" : "f32");
    assert_string_equal(way_of(HALVES("bfloat16"), 0), "f32"); /* no row is there for it */
    /* What somebody kept in f32 was to be exact. */
    assert_string_equal(way_of(HALVES("float"), all), "f32");
    assert_string_equal(way_of(HALVES("float16"), all), "f32");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_model_is_computed_in_what_it_holds, model_setup,
                                        model_teardown),
        cmocka_unit_test_setup_teardown(rules_are_read, model_setup, model_teardown),
        cmocka_unit_test_setup_teardown(the_last_rule_that_matches_holds, model_setup,
                                        model_teardown),
        cmocka_unit_test_setup_teardown(quantized_nodes_run_in_float_where_that_is_asked_for,
                                        model_setup, model_teardown),
        cmocka_unit_test_setup_teardown(rules_for_nothing_are_refused, model_setup, model_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* An operator is quantized by what its descriptor says: those of these tests are operators that
 * stay in floats, with a descriptor made here that gives them an integer form. Nothing else knows
 * of them. */
#include "compress/place.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "compress/quantize.h"
#include "engine/engine.h"
#include "engine/plan.h"
#include "ops/nodes.h"
#include "ops/scalar.h"
#include "support/scratch.h"
#include "support/text_model.h"
#include "support/weights.h"

static const hn_layer_scheme int8 = {.kind = HN_LAYER_STATIC,
                                     .weights = {HONE_DTYPE_S8, 8, true, true, 0, false},
                                     .activations = {HONE_DTYPE_U8, 8, false, false, 0, false}};

static hn_scheme scheme(void) {
    return (hn_scheme){.layer = int8, .target = hn_quant_target_named("hone")};
}

/* A model with random weights, whose nodes of op's name have that descriptor. */
static hn_model *model_with(const char *text, const hn_op_def *op) {
    hn_model *m = model_inferred(text);
    make_weights(m, 1);
    for (hn_node *n = m->graph->first; n != NULL; n = n->next)
        if (strcmp(n->op_type, op->name) == 0) n->op = op;
    return m;
}

/* How the node that computes this value is placed. */
static hn_placed_node placed(hn_model *m, const char *value) {
    hn_scheme s = scheme();
    hn_placement p;
    hn_arena arena;
    hn_error err;
    hn_arena_init(&arena, &model_mem, HN_MEM_OTHER);
    assert_int_equal(hn_place(&p, m->graph, &s, &arena, &err), HONE_OK);
    hn_placed_node n = p.nodes[p.made_by[value_of(m, value)->id]];
    hn_arena_deinit(&arena);
    return n;
}

/* lines: "low high low high name", the ranges of what is held. */
static void quantize(hn_model *m, const char *lines) {
    char text[400];
    snprintf(text, sizeof text, "hone-calibration/1\nmethod minmax\nsamples 1\nstable 0\n%s",
             lines);
    hn_scheme s = scheme();
    hn_calibration *c;
    hn_error err;
    if (hn_calibration_read(&c, scratch_put_text("ranges", text), &model_mem, &err) != HONE_OK)
        fail_msg("%s", err.text);
    if (hn_quantize_model(m, &s, c, NULL, NULL, NULL, &err) != HONE_OK) fail_msg("%s", err.text);
    hn_calibration_destroy(c);
}

/* ---- running ---- */

static hone_status put(void *ctx, int i, hone_dtype dtype, int rank, const int64_t *dims, void **to,
                       hn_error *err) {
    hn_tensor **out = ctx;
    hone_status s = hn_tensor_create(&out[i], &model_mem, HN_MEM_DATA, dtype, rank, dims, err);
    if (s == HONE_OK) *to = out[i]->data;
    return s;
}

static void note(void *ctx, const hn_step_time *t) {
    char *text = ctx;
    snprintf(text + strlen(text), 400 - strlen(text), "%s %s, ",
             t->step->family != NULL ? t->step->family->name : "reference", t->step->facts->label);
}

static double farthest(const hn_tensor *a, const hn_tensor *b) {
    double most = 0, off = 0;
    for (int64_t i = 0; i < a->n; i++) {
        most = fmax(most, fabs(hn_tensor_f64(a, i)));
        off = fmax(off, fabs(hn_tensor_f64(a, i) - hn_tensor_f64(b, i)));
    }
    assert_true(most > 0);
    return off / most;
}

/* The quantized model is near the float one, the engine computes what the references do, and its
 * steps are in text[400]. */
static void compare_runs(const hn_model *floats, const hn_model *m, char *text) {
    hn_error err;
    hn_rng rng;
    hn_rng_init(&rng, 7);
    hn_tensor *x = random_tensor_of(floats->graph->inputs[0], &rng), *y[3] = {NULL};
    const hn_tensor *in[] = {x};
    hn_exec_options plain = {.alloc = &model_mem};
    assert_int_equal(hn_graph_run(floats->graph, &plain, in, &y[0], &err), HONE_OK);
    assert_int_equal(hn_graph_run(m->graph, &plain, in, &y[1], &err), HONE_OK);
    hn_engine *e;
    hn_engine_options o = {.alloc = &model_mem, .isa = hn_isa_available(), .no_simplify = true};
    text[0] = '\0';
    assert_int_equal(hn_engine_create(&e, m, &o, &err), HONE_OK);
    if (hn_engine_run(e, in, put, &y[2], note, text, &err) != HONE_OK) fail_msg("%s", err.text);
    hn_engine_destroy(e);
    assert_true(farthest(y[0], y[1]) < 0.05);
    assert_true(farthest(y[1], y[2]) < 2e-5);
    hn_tensor_unref(x);
    for (int i = 0; i < 3; i++) hn_tensor_unref(y[i]);
}

/* ---- a function of one number ---- */

static double softplus(const hn_node *n, double x) {
    (void)n;
    return hn_softplus(x);
}

static const char *refuse_named(const hn_node *n) {
    return strcmp(n->name, "odd") == 0 ? "its name is odd" : NULL;
}

#define BETWEEN                                                        \
    "m (float[2,8] x, float[8,6] w1, float[6,4] w2) => (float[2,4] y)" \
    "{ a = MatMul (x, w1)  s = Softplus (a)  y = MatMul (s, w2) }"

static void a_function_is_quantized_by_its_descriptor(void **state) {
    (void)state;
    char steps[400];
    hn_op_def op = *hn_op_find("", "Softplus");
    hn_model *floats = model_with(BETWEEN, &op), *m = model_with(BETWEEN, &op);
    assert_string_equal(placed(m, "s").why, "no integer form of it");
    op.role = HN_ROLE_TABLE;
    op.function = softplus;
    assert_true(placed(m, "s").integer);
    assert_int_equal(placed(m, "s").role, HN_ROLE_TABLE);
    quantize(m, "-1 1 -1 1 x\n-5 5 -5 5 a\n0 5 0 5 s\n");
    compare_runs(floats, m, steps);
    if (strstr(steps, "lut_q8 Softplus") == NULL || strstr(steps, "reference") != NULL)
        fail_msg("the steps are %s", steps);
}

static void a_node_is_left_in_floats_where_its_operator_refuses(void **state) {
    (void)state;
    hn_op_def op = *hn_op_find("", "Softplus");
    hn_model *m = model_with(BETWEEN, &op);
    op.role = HN_ROLE_TABLE;
    op.function = softplus;
    op.refuse = refuse_named;
    assert_true(placed(m, "s").integer);
    value_of(m, "s")->producer->name = "odd";
    assert_false(placed(m, "s").integer);
    assert_string_equal(placed(m, "s").why, "its name is odd");
}

static void a_range_may_follow_from_the_descriptor(void **state) {
    (void)state;
    hn_op_def op = *hn_op_find("", "Softplus");
    hn_model *m = model_with(BETWEEN, &op);
    op.role = HN_ROLE_TABLE;
    op.function = softplus;
    op.most = 3;
    quantize(m, "-1 1 -1 1 x\n-5 5 -5 5 a\n"); /* s has none here */
    const hn_node *back = value_of(m, "s")->producer;
    assert_true(hn_is(back, "DequantizeLinear"));
    assert_true(fabs(hn_tensor_f64(hn_const_in(back, 1), 0) - 3.0 / 255) < 1e-7);
}

/* ---- a product with weights ---- */

#define PRODUCT                                                          \
    "<ir_version: 10, opset_import: [\"\" : 21, \"com.microsoft\" : 1]>" \
    "m (float[2,8] x, float[6,8] w) => (float[2,6] y)"                   \
    "{ y = com.microsoft.FusedMatMul <transB: int = 1, alpha: float = 3.0> (x, w) }"

static bool use(const hn_node *n, int rank, const int64_t *dims, hn_weight_use *u) {
    (void)dims;
    int turned = hn_attr_i(n, "transB") != 0;
    *u = (hn_weight_use){.channel_axis = rank - 1 - turned,
                         .sum_axis = rank - 2 + turned,
                         .alpha = hn_attr_f(n, "alpha"),
                         .beta = 1};
    return rank == 2;
}

static void a_product_is_quantized_by_its_descriptor(void **state) {
    (void)state;
    char steps[400];
    static const hn_weights_def weights = {.kind = HN_WEIGHT_MATRIX, .input = 1, .use = use};
    hn_op_def op = *hn_op_find("com.microsoft", "FusedMatMul");
    hn_model *floats = model_with(PRODUCT, &op), *m = model_with(PRODUCT, &op);
    assert_false(placed(m, "y").integer);
    op.role = HN_ROLE_PRODUCT;
    op.weights = &weights;
    assert_int_equal(placed(m, "y").role, HN_ROLE_PRODUCT);
    hn_scheme dynamic = scheme();
    hn_weighted w8;
    const char *why;
    dynamic.layer.kind = HN_LAYER_DYNAMIC;
    assert_false(hn_weighted_of(value_of(m, "y")->producer, &dynamic, &w8, &why));
    assert_string_equal(why, "no dynamic form of it");
    quantize(m, "-1 1 -1 1 x\n");
    const hn_node *n = value_of(m, "y")->producer, *w = n->inputs[1].value->producer;
    assert_true(hn_is(w, "DequantizeLinear"));
    assert_int_equal(hn_attr_i(w, "axis"), 0); /* channels are rows, by transB */
    assert_true(hn_attr_f(n, "alpha") == 1);   /* it is in the scales now */
    compare_runs(floats, m, steps);
    if (strstr(steps, "conv_q8 FusedMatMul") == NULL) fail_msg("the steps are %s", steps);
}

/* ---- the order of axes does not matter to a weight that is seen through a Transpose ---- */

static void channels_are_those_that_the_node_sees(void **state) {
    (void)state;
    hn_model *m = model_inferred(
        "m (float[1,4,5,5] x, float[1,4,3,3] w) => (float[1,4,3,3] y)"
        "{ t = Transpose <perm: ints = [1, 0, 2, 3]> (w)  y = Conv <group: int = 4> (x, t) }");
    make_weights(m, 1);
    hn_scheme s = scheme();
    hn_weighted w;
    assert_true(hn_weighted_of(value_of(m, "y")->producer, &s, &w, NULL));
    assert_int_equal(w.channel_axis, 1);
    assert_int_equal(w.sum_axis, -1); /* depthwise: each channel has one of its own */
}

static int setup(void **state) { return scratch_setup(state) || model_setup(state); }
static int teardown(void **state) {
    int left = model_teardown(state);
    return scratch_teardown(state) || left;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_function_is_quantized_by_its_descriptor),
        TEST(a_node_is_left_in_floats_where_its_operator_refuses),
        TEST(a_range_may_follow_from_the_descriptor),
        TEST(a_product_is_quantized_by_its_descriptor),
        TEST(channels_are_those_that_the_node_sees),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "compress/convert.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/pattern.h"
#include "engine/layers.h"
#include "formats/onnx.h"
#include "formats/onnx_check.h"
#include "ir/text.h"
#include "support/text_model.h"

static hn_error err;

/* All nodes in one type, but those that a pattern names. */
typedef struct wish {
    hone_dtype type, other;
    const char *pattern;
} wish;

static hone_dtype type_for(void *ctx, const hn_node *n) {
    const wish *w = ctx;
    bool named = w->pattern != NULL && hn_pattern_matches(w->pattern, hn_layer_name(n));
    return named ? w->other : w->type;
}

/* The nodes of the outermost graph, "Cast Conv Cast". */
static const char *ops_of(const hn_model *m) {
    static char text[500];
    text[0] = '\0';
    for (const hn_node *n = m->graph->first; n != NULL; n = n->next)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", n->prev ? " " : "",
                 n->op_type);
    return text;
}

static hn_model *convert_by(const char *text, wish w, hone_dtype io, hn_conversion *done) {
    hn_model *m = model_inferred(text);
    hn_convert_options o = {type_for, &w, io};
    if (hn_convert(m, &o, done, &err) != HONE_OK) fail_msg("%s", err.text);
    if (hn_model_verify(m, &err) != HONE_OK) fail_msg("%s", err.text);
    return m;
}

static hn_model *to_f16(const char *text, hn_conversion *done) {
    return convert_by(text, (wish){.type = HONE_DTYPE_F16}, HONE_DTYPE_NONE, done);
}

/* The only node that was left; NULL: there is none, or more than one. */
static const hn_converted *left(const hn_conversion *c) {
    const hn_converted *found = NULL;
    for (int i = 0; i < c->n; i++) {
        if (c->v[i].type != HONE_DTYPE_F32) continue;
        if (found != NULL) return NULL;
        found = &c->v[i];
    }
    return found;
}

static void says(const hn_conversion *c, const char *op, const char *why) {
    const hn_converted *r = left(c);
    assert_non_null(r);
    assert_string_equal(r->op, op);
    assert_non_null(r->why_not);
    if (strstr(r->why_not, why) == NULL) fail_msg("'%s' does not say '%s'", r->why_not, why);
}

#define CHAIN                                                                                   \
    "m (float[1,2] x) => (float[1,2] y) <float[2,2] w = {1, 2, 3, 4}, float[2] b = {0.5, 1}> {" \
    " p = MatMul (x, w) q = Add (p, b) y = Relu (q) }"

static void casts_stand_at_the_borders_alone(void **state) {
    (void)state;
    hn_conversion done;
    hn_model *m = to_f16(CHAIN, &done);
    assert_string_equal(ops_of(m), "Cast MatMul Add Relu Cast");
    assert_string_equal(type_of(m, "x"), "f32[1, 2]");
    assert_string_equal(type_of(m, "w"), "f16[2, 2]");
    assert_string_equal(type_of(m, "q"), "f16[1, 2]");
    assert_string_equal(type_of(m, "y"), "f32[1, 2]");
    model_runs(m, TEXTS("float[1,2] {1, -2}"), TEXTS("float[1,2] {0, 0}"));
    model_runs(m, TEXTS("float[1,2] {2, 1}"), TEXTS("float[1,2] {5.5, 9}"));
    assert_int_equal(done.n, 3);
    assert_null(left(&done));
    assert_int_equal(done.v[0].params, 4);
    assert_int_equal(done.v[0].bytes_before, 16);
    assert_int_equal(done.v[0].bytes_after, 8);
    hn_conversion_deinit(&done);
}

static void inputs_and_outputs_on_request(void **state) {
    (void)state;
    hn_model *m = convert_by(CHAIN, (wish){.type = HONE_DTYPE_F16}, HONE_DTYPE_F16, NULL);
    assert_string_equal(ops_of(m), "MatMul Add Relu");
    assert_string_equal(type_of(m, "x"), "f16[1, 2]");
    assert_string_equal(type_of(m, "y"), "f16[1, 2]");
    /* 2 and 1 give 5.5 and 9, in bits. */
    model_runs(m, TEXTS("float16[1,2] {16384, 15360}"), TEXTS("float16[1,2] {17792, 18560}"));
    /* Of nodes that stay f32, too; the name of an output stays with it. */
    m = convert_by(CHAIN, (wish){HONE_DTYPE_F32, HONE_DTYPE_F32, NULL}, HONE_DTYPE_BF16, NULL);
    assert_string_equal(ops_of(m), "Cast MatMul Add Relu Cast");
    assert_string_equal(m->graph->outputs[0].value->name, "y");
    assert_string_equal(type_of(m, "y"), "bf16[1, 2]");
}

static void named_nodes_stay(void **state) {
    (void)state;
    hn_conversion done;
    hn_model *m =
        convert_by(CHAIN, (wish){HONE_DTYPE_F16, HONE_DTYPE_F32, "q"}, HONE_DTYPE_NONE, &done);
    assert_string_equal(ops_of(m), "Cast MatMul Cast Add Cast Relu Cast");
    assert_string_equal(type_of(m, "b"), "f32[2]");
    assert_non_null(left(&done));
    assert_null(left(&done)->why_not);
    hn_conversion_deinit(&done);
    /* Two types meet without f32 between them. */
    m = convert_by(CHAIN, (wish){HONE_DTYPE_F16, HONE_DTYPE_BF16, "q"}, HONE_DTYPE_NONE, NULL);
    assert_string_equal(ops_of(m), "Cast MatMul Cast Add Cast Relu Cast");
    assert_string_equal(type_of(m, "b"), "bf16[2]");
    model_runs(m, TEXTS("float[1,2] {2, 1}"), TEXTS("float[1,2] {5.5, 9}"));
}

static void constants_out_of_range_keep_their_node(void **state) {
    (void)state;
    hn_conversion done;
    hn_model *m = to_f16(
        "m (float[2] x) => (float[2] y) <float[1] mask = {-1e9}> {"
        " a = Abs (x) b = Add (a, mask) y = Neg (b) }",
        &done);
    says(&done, "Add", "'mask' reaches -1e+09, which f16 does not hold");
    assert_string_equal(ops_of(m), "Cast Abs Cast Add Cast Neg Cast");
    hn_conversion_deinit(&done);
    to_f16("m (float[2] x) => (float[2] y) <float eps = {1e-12}> { y = Add (x, eps) }", &done);
    says(&done, "Add", "'eps' has numbers as small as 1e-12, which f16 does not hold");
    hn_conversion_deinit(&done);
    /* Few small numbers among larger ones cost nothing, and bf16 has the range of f32. */
    to_f16("m (float[2] x) => (float[2] y) <float[2] w = {1e-12, 1}> { y = Add (x, w) }", &done);
    assert_null(left(&done));
    hn_conversion_deinit(&done);
    m = convert_by(
        "m (float[2] x) => (float[2] y) <float eps = {1e-12}, float big = {1e30}> {"
        " a = Add (x, eps) y = Mul (a, big) }",
        (wish){.type = HONE_DTYPE_BF16}, HONE_DTYPE_NONE, &done);
    assert_null(left(&done));
    hn_conversion_deinit(&done);
    /* Infinities are numbers of every type. */
    to_f16("m (float[2] x) => (float[2] y) <float low = {-inf}> { y = Max (x, low) }", &done);
    assert_null(left(&done));
    hn_conversion_deinit(&done);
}

static void operators_without_the_type_stay(void **state) {
    (void)state;
    hn_conversion done;
    hn_model *m = to_f16("m (float[2] x) => (float[2] y) { a = Abs (x) y = Celu (a) }", &done);
    says(&done, "Celu", "Celu takes no f16"); /* opset 28 has it: too new */
    assert_string_equal(ops_of(m), "Cast Abs Cast Celu");
    hn_conversion_deinit(&done);
    m = to_f16(
        "m (float[2] x, bool c) => (float[2] y) { a = Abs (x)"
        " y = If (c) <then_branch = t () => (float[2] p) { p = Neg (a) },"
        " else_branch = e () => (float[2] q) { q = Exp (a) }> }",
        &done);
    says(&done, "If", "control flow");
    assert_string_equal(ops_of(m), "Cast Abs Cast If");
    hn_conversion_deinit(&done);
}

static void settings_and_integers_are_not_touched(void **state) {
    (void)state;
    hn_model *m = to_f16(
        "m (float[1,1,2,2] x) => (float[1,1,4,4] y, int64[4] s)"
        " <float[4] scales = {1, 1, 2, 2}> {"
        " a = Abs (x) s = Shape (a) y = Resize <mode = \"nearest\"> (a, , scales) }",
        NULL);
    assert_string_equal(ops_of(m), "Cast Abs Shape Resize Cast");
    assert_string_equal(type_of(m, "scales"), "f32[4]");
    m = to_f16(
        "m (uint8[2] x, float[2] z) => (float[2] y) {"
        " a = Cast <to = 1> (x) b = Mul (a, z) c = Cast <to = 10> (b)"
        " y = Cast <to = 1> (c) }",
        NULL);
    /* The model's own casts take what is there. */
    assert_string_equal(ops_of(m), "Cast Cast Mul Cast");
}

static void findings(void *ctx, const char *text) {
    (void)ctx;
    fail_msg("%s", text);
}

static void what_is_saved_conforms(void **state) {
    (void)state;
    const char *text =
        "<ir_version: 8, opset_import: [\"\" : 13]>\n"
        "m (float[1,1,4,4] x) => (float[1,1,4,4] y) <float[1,1,1,1] w = {2}> {"
        " a = Conv (x, w) y = Sigmoid (a) }";
    for (int i = 0; i < 2; i++) {
        hone_dtype t = i == 0 ? HONE_DTYPE_F16 : HONE_DTYPE_BF16;
        hn_model *m = convert_by(text, (wish){.type = t}, HONE_DTYPE_NONE, NULL), *again;
        hn_file *file;
        size_t n;
        assert_int_equal(hn_onnx_save_memory(&file, m, NULL, &err), HONE_OK);
        assert_int_equal(hn_onnx_check_memory(file, findings, NULL, &n, &model_mem, &err), HONE_OK);
        assert_int_equal(hn_onnx_load_memory(&again, file, NULL, &model_mem, &err), HONE_OK);
        assert_int_equal(hn_model_opset(again, ""), i == 0 ? 13 : 22);
        hn_model_destroy(again);
        hn_file_unref(file);
    }
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    wish w = {HONE_DTYPE_F16, HONE_DTYPE_BF16, "q"};
    hn_convert_options o = {type_for, &w, HONE_DTYPE_F16};
    hone_status status = HONE_E_NOMEM;
    for (int n = 0; status == HONE_E_NOMEM; n++) {
        hn_model *m = model_inferred(CHAIN);
        hn_conversion done;
        atomic_store(&model_mem.fail_after, n);
        status = hn_convert(m, &o, &done, &err);
        atomic_store(&model_mem.fail_after, -1);
        hn_conversion_deinit(&done);
        assert_true(status == HONE_OK || status == HONE_E_NOMEM);
    }
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, model_setup, model_teardown)
    const struct CMUnitTest tests[] = {
        TEST(casts_stand_at_the_borders_alone),
        TEST(inputs_and_outputs_on_request),
        TEST(named_nodes_stay),
        TEST(constants_out_of_range_keep_their_node),
        TEST(operators_without_the_type_stay),
        TEST(settings_and_integers_are_not_touched),
        TEST(what_is_saved_conforms),
        TEST(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "hone/hone.h"

static hone_error err;

static hone_model *model(void) {
    hone_model *m;
    if (hone_model_load_text(&m,
                             "<ir_version: 8, opset_import: [\"\" : 17]>\n"
                             "g (float[1,2] x) => (float[1,2] y)"
                             " <float[2,2] w = {1, 2, 3, 4}, float[2,2] v = {0.5, 1, -1, 2}>"
                             " { a = MatMul (x, w) b = Relu (a) y = MatMul (b, v) }",
                             &err) != HONE_OK)
        fail_msg("%s", err.text);
    return m;
}

/* What the model says to {1, 2}. */
static void ask(hone_model *m, float *y) {
    hone_session *s;
    float x[2] = {1, 2};
    hone_value in = {.name = "x",
                     .dtype = HONE_DTYPE_F32,
                     .rank = 2,
                     .dims = {1, 2},
                     .data = x,
                     .bytes = sizeof x},
               out = {.name = "y", .data = y, .bytes = 2 * sizeof *y};
    if (hone_session_create(&s, m, NULL, &err) != HONE_OK ||
        hone_session_run(s, 1, &in, 1, &out, &err) != HONE_OK)
        fail_msg("%s", err.text);
    hone_session_destroy(s);
}

static void a_made_model_outlives_its_source(void **state) {
    (void)state;
    hone_model *m = model(), *made;
    hone_quantization *q;
    hone_quantize_options o;
    float want[2], got[2];
    ask(m, want);
    hone_layer_rule rule = {"b*", "f32"};
    hone_quantize_options_init(&o);
    o.type = "int8-weights";
    o.layers = &rule;
    o.n_layers = 1;
    if (hone_model_quantize(&made, m, NULL, &o, &q, &err) != HONE_OK) fail_msg("%s", err.text);
    assert_int_equal(hone_model_simplify(m, NULL, NULL, &err), HONE_E_ARG); /* made shares it */
    hone_model_destroy(m);
    ask(made, got);
    for (int i = 0; i < 2; i++) assert_true(fabsf(got[i] - want[i]) < 0.2f);
    assert_int_equal(q->weights, 8);
    assert_true(q->bits_per_weight > 8);
    assert_int_equal(q->samples, 0);
    size_t n = 0;
    for (size_t i = 0; i < q->n_layers; i++) n += !strcmp(q->layers[i].type, "int8-weights");
    assert_int_equal(n, 2);
    assert_string_equal(hone_model_metadata(made, "hone.recipe"), q->recipe);
    assert_string_equal(q->recipe,
                        "hone recipe 2; simplify; quantize type=int8-weights layer:b*=f32");
    assert_int_equal(strlen(hone_model_metadata(made, "hone.source")), 64);
    assert_null(hone_model_metadata(made, "hone.data"));
    hone_quantization_destroy(q);
    hone_model_destroy(made);
    hone_quantization_destroy(NULL);
}

static void what_is_simulated_stays_in_floats(void **state) {
    (void)state;
    hone_model *m = model(), *made;
    hone_quantization *q;
    hone_quantize_options o;
    float got[2];
    hone_quantize_options_init(&o);
    assert_false(o.simulate);
    o.type = "int8-weights";
    o.simulate = true;
    o.weight_bits = 1;
    if (hone_model_quantize(&made, m, NULL, &o, &q, &err) != HONE_OK) fail_msg("%s", err.text);
    ask(made, got); /* w: 2 and 3; v: 0.75, -0.75 and 1.5 */
    assert_true(fabsf(got[0] + 2.25f) < 1e-4f && fabsf(got[1] - 22.5f) < 1e-4f);
    assert_string_equal(q->recipe,
                        "hone recipe 2; simplify; quantize type=int8-weights simulate bits=1");
    assert_string_equal(q->layers[0].weights, "1 bit per channel");
    hone_quantization_destroy(q);
    hone_model_destroy(made);
    o.activation_bits = 4;
    assert_int_equal(hone_model_quantize(&made, m, NULL, &o, NULL, &err), HONE_E_ARG);
    assert_non_null(strstr(err.text, "for layers of type int8"));
    o.type = "int8";
    o.simulate = false;
    assert_int_equal(hone_model_quantize(&made, m, NULL, &o, NULL, &err), HONE_E_ARG);
    assert_non_null(strstr(err.text, "want samples"));
    o.type = "f16";
    o.simulate = true;
    assert_int_equal(hone_model_quantize(&made, m, NULL, &o, NULL, &err), HONE_E_ARG);
    assert_non_null(strstr(err.text, "'f16' is not simulated"));
    hone_model_destroy(m);
}

static void names_are_in_tables(void **state) {
    (void)state;
    static const struct {
        hone_quantize_table of;
        const char *name;
    } some[] = {{HONE_QUANTIZE_TYPES, "int8"},
                {HONE_QUANTIZE_RANGES, "entropy"},
                {HONE_QUANTIZE_METHODS, "equalize"},
                {HONE_QUANTIZE_RUNTIMES, "onnxruntime"}};
    for (size_t k = 0; k < sizeof some / sizeof *some; k++) {
        bool found = false;
        hone_quantize_choice c;
        size_t n = hone_n_quantize_choices(some[k].of);
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(hone_quantize_choice_at(some[k].of, i, &c, &err), HONE_OK);
            assert_true(c.help[0] != '\0');
            found = found || strcmp(c.name, some[k].name) == 0;
        }
        assert_true(found);
        assert_int_equal(hone_quantize_choice_at(some[k].of, n, &c, &err), HONE_E_ARG);
    }
}

static void transforms_and_their_parameters_are_in_tables(void **state) {
    (void)state;
    hone_transform_info t;
    hone_param_info p;
    bool found = false;
    size_t n = hone_n_transforms();
    assert_true(n >= 9);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(hone_transform_at(i, &t, &err), HONE_OK);
        assert_true(t.help[0] != '\0' && t.stage[0] != '\0');
        if (strcmp(t.name, "gptq") == 0) assert_true(t.needs_data && t.n_params == 0);
        for (size_t k = 0; k < t.n_params; k++) {
            assert_int_equal(hone_transform_param_at(i, k, &p, &err), HONE_OK);
            assert_true(p.help[0] != '\0');
            if (strcmp(t.name, "quantize") != 0 || strcmp(p.name, "ranges") != 0) continue;
            found = true;
            assert_string_equal(p.kind, "word");
            assert_string_equal(p.usual, "auto");
            assert_string_equal(hone_transform_word_at(i, k, 0), "minmax");
            assert_null(hone_transform_word_at(i, k, 100));
        }
        assert_int_equal(hone_transform_param_at(i, t.n_params, &p, &err), HONE_E_ARG);
        assert_null(hone_transform_word_at(i, t.n_params, 0));
    }
    assert_true(found);
    assert_int_equal(hone_transform_at(n, &t, &err), HONE_E_ARG);
    assert_null(hone_transform_word_at(n, 0, 0));
}

static void a_recipe_says_what_is_done(void **state) {
    (void)state;
    hone_model *m = model(), *made = NULL, *again;
    hone_quantization *q, *r;
    if (hone_model_transform(
            &made, m, "hone recipe 2\nsimplify\nequalize\nquantize type=int8-weights bits=5\n",
            NULL, NULL, &q, &err) != HONE_OK)
        fail_msg("%s", err.text);
    assert_int_equal(q->n_transforms, 3);
    assert_string_equal(q->transforms[1].name, "equalize");
    assert_string_equal(q->transforms[2].name, "quantize");
    assert_int_equal(q->transforms[2].changed, 2);
    assert_string_equal(q->type, "int8-weights");
    assert_int_equal(q->n_stages, 4); /* with what comes before the three */
    assert_string_equal(q->stages[0].name, "prepare");
    assert_string_equal(q->stages[3].name, "quantize");
    assert_false(q->simulated);
    assert_string_equal(q->recipe,
                        "hone recipe 2; simplify; equalize; quantize type=int8-weights bits=5");
    if (hone_model_transform(&again, m, hone_model_metadata(made, "hone.recipe"), NULL, NULL, &r,
                             &err) != HONE_OK)
        fail_msg("%s", err.text);
    assert_string_equal(r->recipe, q->recipe);
    float a[2], b[2];
    ask(made, a);
    ask(again, b);
    assert_memory_equal(a, b, sizeof a);
    hone_quantization_destroy(q);
    hone_quantization_destroy(r);
    hone_model_destroy(made);
    hone_model_destroy(again);
    made = NULL;
    assert_int_equal(
        hone_model_transform(&made, m, "hone recipe 2; shrink", NULL, NULL, NULL, &err),
        HONE_E_FORMAT);
    assert_non_null(strstr(err.text, "line 1: a transform: found 'shrink', expected one of: "));
    assert_int_equal(hone_model_transform(&made, m, NULL, NULL, NULL, NULL, &err), HONE_E_ARG);
    assert_null(made);
    hone_model_destroy(m);
}

static void fails(const hone_quantize_options *o, const char *why) {
    hone_model *m = model(), *made = NULL;
    hone_quantization *q = NULL;
    assert_int_equal(hone_model_quantize(&made, m, NULL, o, &q, &err), HONE_E_ARG);
    if (strstr(err.text, why) == NULL) fail_msg("'%s' does not say '%s'", err.text, why);
    assert_null(made);
    assert_null(q);
    hone_model_destroy(m);
}

static void wrong_options_are_said(void **state) {
    (void)state;
    hone_quantize_options o;
    fails(NULL, "want samples");
    hone_quantize_options_init(&o);
    o.type = "int7";
    fails(&o, "type 'int7', expected one of: f32, ");
    o.type = "f16";
    o.runtime = "nobody";
    fails(&o, "runtime 'nobody', expected one of: hone, ");
    o.runtime = NULL;
    o.methods = "equalize,equalize";
    fails(&o, "asked for twice");
    o.methods = "nothing";
    fails(&o, "method 'nothing', expected one of: ");
    o.methods = NULL;
    o.ranges = "wide";
    fails(&o, "ranges 'wide', expected one of: minmax, ");
    o.ranges = NULL;
    o.save_ranges = "r.txt";
    fails(&o, "there are no ranges to save");
    assert_int_not_equal(access("r.txt", F_OK), 0);
}

static void expect_quantized(hone_model *m, hone_dataset *data, const hone_quantize_options *o,
                             hone_status status) {
    hone_model *made = NULL;
    hone_quantization *q = NULL;
    hone_status found = hone_model_quantize(&made, m, data, o, &q, &err);
    if (found != status) fail_msg("%s: %s", o->type, err.text);
    hone_quantization_destroy(q);
    hone_model_destroy(made);
}

/* A model that would stay as it is is refused. Of int8 and f16 inputs and outputs can be integers.
 */
static void models_without_layers(void **state) {
    (void)state;
    static const char *const types[] = {"int8", "int8-dynamic", "int8-weights", "int4", "f16"};
    hone_model *m;
    hone_dataset *data;
    if (hone_model_load_text(&m, "g (float[1,2] x) => (float[1,2] y) { y = Relu (x) }", &err) !=
            HONE_OK ||
        hone_dataset_open(&data, "random,n=4", &err) != HONE_OK)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        bool f16 = strcmp(types[i], "f16") == 0, int8 = strcmp(types[i], "int8") == 0;
        hone_quantize_options o;
        hone_quantize_options_init(&o);
        o.type = types[i];
        expect_quantized(m, data, &o, f16 ? HONE_OK : HONE_E_NOT_FOUND);
        o.integer_io = true;
        expect_quantized(m, data, &o, f16 || int8 ? HONE_OK : HONE_E_ARG);
    }
    hone_dataset_destroy(data);
    hone_model_destroy(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_made_model_outlives_its_source),
        cmocka_unit_test(what_is_simulated_stays_in_floats),
        cmocka_unit_test(names_are_in_tables),
        cmocka_unit_test(transforms_and_their_parameters_are_in_tables),
        cmocka_unit_test(a_recipe_says_what_is_done),
        cmocka_unit_test(wrong_options_are_said),
        cmocka_unit_test(models_without_layers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

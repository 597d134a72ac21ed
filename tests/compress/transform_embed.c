/* What is embedded computes what is done outside, wherever it goes; names, types and messages. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "compress/compression.h"
#include "formats/image.h"
#include "ops/eval.h"
#include "ops/infer.h"
#include "ops/nodes.h"
#include "support/method_model.h"
#include "support/scratch.h"

enum { N = 2, CHANNELS = 3, ROWS = 6, COLUMNS = 5, PIXELS = ROWS * COLUMNS };

typedef struct outcome {
    hn_model *model;
    hn_shrinking told;
} outcome;

static hone_status embed(outcome *o, const hn_model *m, const char *parameters, hn_error *err) {
    hn_arena arena;
    hn_recipe r;
    hn_compress_plan plan = {0};
    char text[300];
    *o = (outcome){.model = method_copy(m)};
    hn_arena_init(&arena, &scratch_mem, HN_MEM_OTHER);
    hn_shrinking_init(&o->told, &scratch_mem);
    plan.arena = &arena;
    snprintf(text, sizeof text, "hone recipe 2; embed %s", parameters);
    hone_status status = hn_recipe_read(&r, text, &arena, err);
    if (status == HONE_OK) status = hn_plan_embed(&plan, &r.steps[0], err);
    if (status == HONE_OK) {
        hn_transform_ctx c = {
            .model = o->model, .step = &r.steps[0], .shrinking = &o->told, .alloc = &scratch_mem};
        status = hn_transform_embed(&c, err);
        if (status == HONE_OK) assert_int_equal(c.changed, o->told.n);
        if (status == HONE_OK) status = hn_model_infer(o->model, NULL, err);
        if (status == HONE_OK) status = hn_model_verify(o->model, err);
    }
    hn_arena_deinit(&arena);
    return status;
}

static void finish(outcome *o) {
    hn_model_destroy(o->model);
    hn_shrinking_deinit(&o->told);
}

/* The first output for one input. */
static hn_tensor *answer(const hn_model *m, hn_tensor *in) {
    hn_exec_options o = {.alloc = &scratch_mem, .seed = 1};
    hn_tensor *out[4] = {NULL};
    hn_error err;
    const hn_tensor *const given[] = {in};
    if (hn_graph_run(m->graph, &o, given, out, &err) != HONE_OK) fail_msg("%s", err.text);
    for (int i = 1; i < m->graph->n_outputs; i++) hn_tensor_unref(out[i]);
    hn_tensor_unref(in);
    return out[0];
}

static unsigned char byte_at(int64_t n, int64_t pixel, int64_t channel) {
    return (unsigned char)((n * 97 + pixel * 31 + channel * 71) % 256);
}

/* [N, rows, columns, channels], as a camera gives them. */
static hn_tensor *camera(void) {
    hn_tensor *t;
    hn_error err;
    int64_t dims[] = {N, ROWS, COLUMNS, CHANNELS};
    assert_int_equal(hn_tensor_create(&t, &scratch_mem, HN_MEM_DATA, HONE_DTYPE_U8, 4, dims, &err),
                     HONE_OK);
    unsigned char *v = t->data;
    for (int64_t i = 0; i < t->n; i++)
        v[i] = byte_at(i / (PIXELS * CHANNELS), i / CHANNELS % PIXELS, i % CHANNELS);
    return t;
}

static const double mean[] = {0.4, 0.5, 0.3}, std[] = {0.2, 0.25, 0.5};

/* The same in the order bgr, as models want it: [N, channels, rows, columns], normalized. */
static hn_tensor *prepared(hone_dtype dtype) {
    hn_tensor *t;
    hn_error err;
    int64_t dims[] = {N, CHANNELS, ROWS, COLUMNS};
    assert_int_equal(hn_tensor_create(&t, &scratch_mem, HN_MEM_DATA, dtype, 4, dims, &err),
                     HONE_OK);
    for (int64_t i = 0; i < t->n; i++) {
        int64_t c = i / PIXELS % CHANNELS;
        double x = byte_at(i / (PIXELS * CHANNELS), i % PIXELS, CHANNELS - 1 - c);
        hn_store_f64(dtype, t->data, i, (x / 255 - mean[c]) / std[c]);
    }
    return t;
}

#define ALL "scale=1/255 mean=.4:.5:.3 std=.2:.25:.5 order=bgr layout=nhwc input-type=u8"

/* The names of the parts that have gone into weights, in the order in which they are told. */
static void folded(const outcome *o, char *list, size_t size) {
    list[0] = '\0';
    for (int i = 0; i < o->told.n; i++)
        if (o->told.v[i].weights > 0) hn_list_add(list, size, o->told.v[i].layer);
}

static void check(const char *text, const char *wanted) {
    hn_model *m = method_model(text, 1);
    hone_dtype dtype = m->graph->inputs[0]->type.dtype;
    for (int fold = 1; fold >= 0; fold--) {
        outcome o;
        hn_error err;
        char list[200];
        if (embed(&o, m, fold ? ALL : ALL " no-fold", &err) != HONE_OK) fail_msg("%s", err.text);
        folded(&o, list, sizeof list);
        assert_string_equal(list, fold ? wanted : "");
        const hn_type *in = &o.model->graph->inputs[0]->type;
        int64_t dims[4];
        assert_int_equal(in->dtype, HONE_DTYPE_U8);
        assert_true(hn_dim_is_const(in->shape.dim[3], &dims[3]) && dims[3] == CHANNELS);
        hn_tensor *x = answer(m, prepared(dtype)), *y = answer(o.model, camera());
        double most = 0, apart = 0;
        assert_true(hn_tensor_same_dims(x, y->rank, y->dims) && x->dtype == y->dtype);
        for (int64_t i = 0; i < x->n; i++) {
            most = fmax(most, fabs(hn_tensor_f64(x, i)));
            apart = fmax(apart, fabs(hn_tensor_f64(x, i) - hn_tensor_f64(y, i)));
        }
        if (!(most > 0 && apart <= 1e-5 * most)) fail_msg("%s: %g of %g", text, apart, most);
        hn_tensor_unref(x);
        hn_tensor_unref(y);
        finish(&o);
    }
    hn_model_destroy(m);
}

#define IN "m (float[n,3,6,5] x, "

static void convolutions(void **state) {
    (void)state;
    check(IN "float[4,3,3,3] w, float[4] wb) => (float[n,4,4,3] y) { y = Conv (x, w, wb) }",
          "order, mean, scale");
    check(IN "float[4,3,3,3] w) => (float[n,4,4,3] y) { y = Conv (x, w) }", "order, mean, scale");
    check(IN "float[4,3,3,3] w) => (float[n,4,6,5] y) { y = Conv <pads = [1, 1, 1, 1]> (x, w) }",
          "order, scale");
    check(IN
          "float[4,3,3,3] w) => (float[n,4,6,5] y)"
          " { y = Conv <auto_pad = \"SAME_LOWER\"> (x, w) }",
          "order, scale");
    check(IN "float[4,3,3,3] w) => (float[n,4,4,3] y) { y = Conv <auto_pad = \"VALID\"> (x, w) }",
          "order, mean, scale");
    check(IN "float[6,1,3,3] w) => (float[n,6,4,3] y) { y = Conv <group = 3> (x, w) }",
          "mean, scale");
}

static void products(void **state) {
    (void)state;
    check(IN
          "float[90,4] w, float[4] wb) => (float[n,4] y)"
          " { f = Flatten (x) y = Gemm (f, w, wb) }",
          "order, mean, scale");
    check(IN
          "float[4,90] w) => (float[n,4] y)"
          " { f = Flatten (x) y = Gemm <transB = 1> (f, w) }",
          "order, mean, scale");
    check(IN
          "float[90,4] w) => (float[n,4] y)"
          " { f = Flatten (x) y = Gemm <alpha = 0.5> (f, w) }",
          "order, scale");
    check(IN
          "float[90,4] w, float[4] wb) => (float[n,4] y)"
          " { f = Flatten (x) p = MatMul (f, w) y = Add (wb, p) }",
          "order, mean, scale");
    check(IN "float[90,4] w) => (float[n,4] y) { f = Flatten (x) y = MatMul (f, w) }",
          "order, scale");
    /* Channels last within the rows that are multiplied. */
    check(IN
          "float[90,4] w) => (float[n,4] y)"
          " { t = Transpose <perm = [0, 2, 3, 1]> (x) f = Flatten (t) y = Gemm (f, w) }",
          "order, mean, scale");
    check(IN
          "float[3,4] w) => (float[n,6,5,4] y)"
          " { t = Transpose <perm = [0, 2, 3, 1]> (x) y = MatMul (t, w) }",
          "order, scale");
}

static void others_get_nodes(void **state) {
    (void)state;
    check(IN "float[4,3,3,3] w) => (float[n,4,4,3] y) { r = Relu (x) y = Conv (r, w) }", "");
    check(IN
          "float[4,3,3,3] w) => (float[n,4,4,3] y, float[n,3,6,5] z)"
          " { y = Conv (x, w) z = Relu (x) }",
          "");
    check("m (double[n,3,6,5] x) => (double[n,3,6,5] y) { y = Neg (x) }", "");
    check("m (float[n,3,6,5] x) => (float[n,3,6,5] y) { y = Identity (x) }", "");
}

/* Of an input whose shape is not known nobody has checked the groups. */
static void groups_that_do_not_divide_get_nodes(void **state) {
    (void)state;
    hn_model *m = method_model(
        "m (float[n,15,6,5] x, float[5,3,3,3] w) => (float[n,5,4,3] y)"
        " { y = Conv <group = 5> (x, w) }",
        1);
    outcome o;
    hn_error err;
    char list[200];
    m->graph->inputs[0]->type.shape.rank = -1;
    m->graph->outputs[0].value->type.shape.rank = -1;
    assert_int_equal(hn_node_set_i(m->graph->first, "group", 7, &err), HONE_OK);
    if (embed(&o, m, "scale=2 mean=1", &err) != HONE_OK) fail_msg("%s", err.text);
    folded(&o, list, sizeof list);
    assert_string_equal(list, "");
    assert_int_equal(o.told.n, 2);
    finish(&o);
    hn_model_destroy(m);
}

/* A weight that two layers have stays what it is for the other. */
static void shared_weights_are_copied(void **state) {
    (void)state;
    check(IN "float[3,3,1,1] w) => (float[n,3,6,5] y) { a = Conv (x, w) y = Conv (a, w) }",
          "order, mean, scale");
}

static void outputs_have_their_names(void **state) {
    (void)state;
    hn_model *m = method_model(IN
                               "float[4,3,6,5] w) => (float[n,4,1,1] y)"
                               " { values = Conv (x, w) y = Relu (values) }",
                               1);
    outcome o;
    hn_error err;
    if (embed(&o, m, "softmax top-k=2", &err) != HONE_OK) fail_msg("%s", err.text);
    const hn_graph *g = o.model->graph;
    assert_int_equal(g->n_outputs, 2);
    assert_string_equal(g->outputs[0].value->name, "values");
    assert_string_equal(g->outputs[1].value->name, "indices");
    assert_int_equal(g->outputs[1].value->type.dtype, HONE_DTYPE_S64);
    assert_true(hn_dim_is(g->outputs[0].value->type.shape.dim[1], 2));
    assert_string_equal(g->inputs[0]->name, "x");
    assert_int_equal(g->inputs[0]->type.dtype, HONE_DTYPE_F32);
    finish(&o);
    if (embed(&o, m, "softmax", &err) != HONE_OK) fail_msg("%s", err.text);
    assert_string_equal(o.model->graph->outputs[0].value->name, "probabilities");
    finish(&o);
    hn_model_destroy(m);
}

/* In two passes that round to bytes, columns first, then cropped. */
static void images_are_scaled_as_they_are_loaded(void **state) {
    (void)state;
    enum { HEIGHT = 13, WIDTH = 17, SIDE = 5, CROP = 4 };
    hn_model *m =
        method_model("m (float[1,3,4,4] x) => (float[1,3,4,4] y) { y = Identity (x) }", 1);
    hn_image image = {.width = WIDTH, .height = HEIGHT};
    hn_image_scaling s = {.resize = SIDE, .crop = CROP};
    hn_image_part part;
    unsigned char rgb[HEIGHT * WIDTH * 3], wanted[3 * CROP * CROP];
    outcome o;
    hn_error err;
    hn_tensor *x;
    for (int64_t i = 0; i < HEIGHT * WIDTH * 3; i++) rgb[i] = byte_at(0, i / 3, i % 3);
    image.rgb = rgb;
    assert_int_equal(hn_image_part_of(&part, &s, WIDTH, HEIGHT, "x", &err), HONE_OK);
    assert_int_equal(hn_image_scale(&image, &part, wanted, &scratch_mem, &err), HONE_OK);
    if (embed(&o, m, "input-type=u8 layout=nhwc image-size=13x17 resize=5 crop=4", &err) != HONE_OK)
        fail_msg("%s", err.text);
    assert_int_equal(hn_tensor_create(&x, &scratch_mem, HN_MEM_DATA, HONE_DTYPE_U8, 4,
                                      (int64_t[]){1, HEIGHT, WIDTH, 3}, &err),
                     HONE_OK);
    memcpy(x->data, rgb, sizeof rgb);
    hn_tensor *y = answer(o.model, x);
    for (int i = 0; i < 3 * CROP * CROP; i++)
        if (hn_tensor_f64(y, i) != wanted[i])
            fail_msg("pixel %d is %g, expected %d", i, hn_tensor_f64(y, i), wanted[i]);
    hn_tensor_unref(y);
    finish(&o);
    hn_model_destroy(m);
}

static void messages(void **state) {
    (void)state;
    hn_model *m = method_model(
        "m (float[n,3,6,5] x, int64[n,4,6,5] i, float[n,7] v) => (float[n,3,6,5] y,"
        " float[n,7] z, int64[n,4,6,5] j) { y = Softmax (x) z = Relu (v)"
        " j = Identity (i) }",
        1);
    static const struct {
        const char *given, *text;
    } cases[] = {
        {"", "nothing is asked for"},
        {"scale=2",
         "more than one input of the model has four axes; expected input=NAME, one of: "
         "x, i, v"},
        {"scale=2 input=q", "the model has no input 'q'; it has: x, i, v"},
        {"scale=0 input=x", "scale 0, mean 0 and std 1 make a factor of 0"},
        {"scale=a input=x", "scale: 'a' is not a number"},
        {"scale=1:2 input=x", "scale has 2 values"},
        {"std=0 input=x", "a factor of inf"},
        {"mean=1:2 std=1:2:3 input=x", "mean has 2 values and std 3"},
        {"mean=1:2 input=x", "mean and std have 2 values, input 'x' has 3 channels"},
        {"order=bgr input=i", "order=bgr needs 3 channels, input 'i' has 4"},
        {"scale=2 input=i", "input 'i' is s64: scale, mean and std are for a model"},
        {"input-type=u8 input=i", "input 'i' is s64: input-type=u8 is for a model"},
        {"layout=nhwc input=v", "input 'v' has 2 axes; layout, resize and crop"},
        {"crop=4 input=x", "resize and crop want image-size=HxW"},
        {"image-size=4x4 scale=2 input=x", "image-size is for resize and crop"},
        {"image-size=9 crop=4 input=x", "image-size is '9', expected HxW"},
        {"image-size=9x9 crop=4 input=x", "come out at 4 x 4 pixels (height x width), input 'x'"},
        {"image-size=9x3 crop=4 input=x", "too small for crop=4"},
        {"input=x softmax scores=y", "input names an input, and nothing is done to one"},
        {"scores=y scale=2 input=x", "scores is for softmax and top-k"},
        {"softmax", "the model has 3 outputs; expected scores=NAME, one of: y, z, j"},
        {"softmax scores=q", "the model has no output 'q'; it has: y, z, j"},
        {"softmax scores=y", "output 'y' comes from a Softmax already"},
        {"softmax scores=j", "output 'j' is no tensor of floats"},
        {"top-k=8 scores=z", "top-k=8, but output 'z' has 7 classes along axis 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        outcome o;
        hn_error err;
        if (embed(&o, m, cases[i].given, &err) == HONE_OK) fail_msg("%s", cases[i].given);
        if (strstr(err.text, cases[i].text) == NULL)
            fail_msg("%s: '%s', expected '%s'", cases[i].given, err.text, cases[i].text);
        finish(&o);
    }
    hn_model_destroy(m);
}

static const hn_recipe_step *wanted_step;

static hone_status embed_wanted(hn_transform_ctx *c, hn_error *err) {
    hn_shrinking told;
    hn_shrinking_init(&told, &scratch_mem);
    c->step = wanted_step;
    c->shrinking = &told;
    hone_status status = hn_transform_embed(c, err);
    hn_shrinking_deinit(&told);
    return status;
}

static void memory_runs_out(void **state) {
    (void)state;
    static const char *const recipes[] = {"hone recipe 2; embed " ALL
                                          " softmax top-k=2 image-size=9x9 resize=7:5 crop=5",
                                          "hone recipe 2; embed " ALL " no-fold"};
    hn_model *models[] = {
        method_model("m (float[n,3,5,5] x, float[4,3,3,3] w) => (float[n,4,3,3] y) {"
                     " y = Conv (x, w) }",
                     1),
        method_model(IN "float[4,3,3,3] w) => (float[n,4,4,3] y) { y = Conv (x, w) }", 1)};
    for (int i = 0; i < 2; i++) {
        hn_arena arena;
        hn_recipe r;
        hn_error err;
        hn_arena_init(&arena, &scratch_mem, HN_MEM_OTHER);
        if (hn_recipe_read(&r, recipes[i], &arena, &err) != HONE_OK) fail_msg("%s", err.text);
        wanted_step = &r.steps[0];
        method_survives(models[i], embed_wanted);
        hn_arena_deinit(&arena);
        hn_model_destroy(models[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)
        TEST(convolutions),
        TEST(products),
        TEST(others_get_nodes),
        TEST(groups_that_do_not_divide_get_nodes),
        TEST(shared_weights_are_copied),
        TEST(outputs_have_their_names),
        TEST(images_are_scaled_as_they_are_loaded),
        TEST(messages),
        TEST(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

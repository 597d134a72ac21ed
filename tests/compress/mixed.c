#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "compress/mixed.h"
#include "formats/onnx.h"
#include "measure/distance.h"
#include "support/method_model.h"
#include "support/scratch.h"

#define MODEL                                                                         \
    "m (float[n,3,8,8] x, float[8,3,3,3] w1, float[8,8,3,3] w2, float[10,128] w3) =>" \
    " (float[n,10] y) <int64[2] flat = {-1, 128}> {"                                  \
    " [c1] a = Conv (x, w1) b = Relu (a) [c2] c = Conv (b, w2) d = Relu (c)"          \
    " e = Reshape (d, flat) [fc] y = Gemm <transB = 1> (e, w3) }"

/* The layer fc reads the last state of a GRU. */
#define RECURRENT                                                                                 \
    "m (float[n,5,6] x, float[1,21,6] w1, float[1,21,7] w2, float[7,9] w3) => (float[n,1,9] y) {" \
    " [gru] s, a = GRU <layout = 1> (x, w1, w2) [fc] y = MatMul (a, w3) }"

typedef struct fixture {
    hn_model *m;
    method_bench b;
    hn_calibration *ranges;
    hn_layer_type int4; /* with a scale per channel */
    const hn_layer_type *types[2];
    hn_scheme scheme;
    hn_mixed_options o;
} fixture;

static void begin_with(fixture *f, const char *text) {
    hn_error err;
    hn_arena arena;
    const char *const *names;
    int n;
    f->m = method_model(text, 3);
    method_begin(&f->b, f->m);
    f->types[0] = hn_layer_type_named("int8");
    f->int4 = *hn_layer_type_named("int4");
    f->int4.layer.weights.group = 0;
    f->types[1] = &f->int4;
    f->scheme = (hn_scheme){.layer = f->types[0]->layer, .target = hn_quant_target_named("hone")};
    hn_arena_init(&arena, &scratch_mem, HN_MEM_OTHER);
    if (hn_mixed_watches(f->m, &arena, &names, &n, &err) != HONE_OK) fail_msg("%s", err.text);
    hn_calibrate_options how = {.method = HN_RANGE_MINMAX};
    assert_int_equal(
        hn_calibrate(&f->ranges, f->m, names, n, f->b.feed, &f->b.how, &how, &scratch_mem, &err),
        HONE_OK);
    hn_arena_deinit(&arena);
    f->o = (hn_mixed_options){.n_types = 2,
                              .types = f->types,
                              .scheme = &f->scheme,
                              .calibration = f->ranges,
                              .feed = f->b.feed,
                              .how = &f->b.how};
}

static void begin(fixture *f) { begin_with(f, MODEL); }

static void end(fixture *f) {
    hn_calibration_destroy(f->ranges);
    method_end(&f->b);
    hn_model_destroy(f->m);
}

static void chosen(fixture *f, hn_mixed *x) {
    hn_error err;
    if (hn_mixed_choose(x, f->m, &f->o, &scratch_mem, &err) != HONE_OK) fail_msg("%s", err.text);
}

static void fewer_bits_do_more_harm(void **state) {
    (void)state;
    fixture f;
    hn_mixed x;
    begin(&f);
    f.o.bits_per_weight = 32;
    chosen(&f, &x);
    assert_int_equal(x.n_layers, 3);
    assert_string_equal(x.layers[0].name, "c1");
    assert_string_equal(x.layers[2].op, "Gemm");
    for (int i = 0; i < 3; i++) {
        const hn_mixed_figure *v = x.layers[i].figures;
        assert_true(v[0].harm == 0 && v[1].harm > 0 && v[2].harm > 4 * v[1].harm);
        assert_true(v[0].bits > v[1].bits && v[1].bits > v[2].bits);
        assert_true(v[1].bits >= 8 * (double)x.layers[i].weights);
        assert_int_equal(x.layers[i].type, 0);
    }
    for (int k = 1; k < x.n_points; k++) {
        assert_true(x.points[k].harm > x.points[k - 1].harm);
        assert_true(x.points[k].bits_per_weight < x.points[k - 1].bits_per_weight);
    }
    assert_true(x.points[0].chosen);
    assert_int_equal(x.tried, 6);
    hn_mixed_deinit(&x);
    end(&f);
}

/* A limit is met, and by no more than one move too many. */
static void limits_on_bits_hold(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    for (double limit = 6; limit < 20; limit += 3) {
        hn_mixed x;
        f.o.bits_per_weight = limit;
        chosen(&f, &x);
        int at = 0;
        while (!x.points[at].chosen) at++;
        assert_true(at > 0 && x.points[at].bits_per_weight <= limit);
        assert_true(x.points[at - 1].bits_per_weight > limit);
        assert_int_equal(x.n_rules, 3);
        for (int i = 0; i < 3; i++) {
            hn_layer_kind kind =
                x.layers[i].type == 0 ? HN_LAYER_F32 : f.types[x.layers[i].type - 1]->layer.kind;
            assert_string_equal(x.rules[i].name, x.layers[i].name);
            assert_int_equal(x.rules[i].layer.kind, kind);
        }
        hn_mixed_deinit(&x);
    }
    end(&f);
}

static int chosen_point(const hn_mixed *x) {
    int at = 0;
    while (!x->points[at].chosen) at++;
    return at;
}

/* The file of the set of types that is taken is no larger, and that of the one before it is. */
static void limits_on_the_file_hold(void **state) {
    (void)state;
    fixture f;
    hn_mixed x;
    hn_error err;
    begin(&f);
    f.o.bytes = INT64_MAX;
    chosen(&f, &x);
    assert_int_equal(chosen_point(&x), 0);
    int64_t most = x.points[0].bytes, least = x.points[x.n_points - 1].bytes;
    hn_mixed_deinit(&x);
    assert_true(least > 0 && least < most / 2);
    int64_t limits[] = {most - 1, (least + most) / 2, least};
    for (int i = 0; i < 3; i++) {
        f.o.bytes = limits[i];
        chosen(&f, &x);
        int at = chosen_point(&x);
        assert_true(at > 0 && x.points[at].bytes <= limits[i]);
        if (i < 2) assert_true(x.points[at - 1].bytes > limits[i]);
        hn_scheme s = f.scheme;
        s.rules = x.rules;
        s.n_rules = x.n_rules;
        hn_model *m = method_copy(f.m);
        int64_t bytes;
        assert_int_equal(hn_quantize_model(m, &s, f.ranges, NULL, NULL, NULL, &err), HONE_OK);
        assert_int_equal(hn_onnx_bytes(m, NULL, &bytes, &err), HONE_OK);
        assert_true(bytes <= limits[i] && bytes > limits[i] / 4);
        hn_model_destroy(m);
        hn_mixed_deinit(&x);
    }
    f.o.bytes = 1000;
    assert_int_equal(hn_mixed_choose(&x, f.m, &f.o, &scratch_mem, &err), HONE_E_NOT_FOUND);
    assert_non_null(strstr(err.text, "bits per weight in a file of 0.00"));
    hn_mixed_deinit(&x);
    end(&f);
}

static void times_are_measured(void **state) {
    (void)state;
    fixture f;
    hn_mixed x;
    begin(&f);
    f.o.cost = HN_MIXED_TIME;
    f.o.ms = 1e6;
    chosen(&f, &x);
    for (int i = 0; i < 3; i++)
        for (int t = 0; t < 3; t++) assert_true(x.layers[i].figures[t].ms > 0);
    hn_mixed_deinit(&x);
    end(&f);
}

/* What harm is: noise by signal over the samples, by a program that runs as `how` says. */
static double harm_by(const fixture *f, const hn_model *q, const hn_run_options *how) {
    hn_program *a, *b;
    hn_error err;
    hn_distance d = {0};
    assert_int_equal(hn_program_create(&a, f->m, how, &err), HONE_OK);
    assert_int_equal(hn_program_create(&b, q, how, &err), HONE_OK);
    for (int64_t first = 0; first < 32; first += 8) {
        hn_samples s;
        hn_tensor *want, *is;
        assert_int_equal(hn_feed_read(f->b.feed, NULL, first, 8, &s, &err), HONE_OK);
        assert_int_equal(hn_program_run(a, (const hn_tensor *const *)s.in, &want, &err), HONE_OK);
        assert_int_equal(hn_program_run(b, (const hn_tensor *const *)s.in, &is, &err), HONE_OK);
        hn_distance_add(&d, want, is);
        hn_tensor_unref(want);
        hn_tensor_unref(is);
        hn_samples_deinit(&s);
    }
    hn_program_destroy(a);
    hn_program_destroy(b);
    return d.noise / d.wanted;
}

typedef struct step_kinds {
    int integers, floats; /* steps made for layers */
} step_kinds;

static void note_step(void *ctx, const hn_step_time *t) {
    step_kinds *k = ctx;
    const hn_node *maker = t->step->facts->maker;
    if (maker == NULL ||
        (strcmp(maker->op_type, "Conv") != 0 && strcmp(maker->op_type, "Gemm") != 0))
        return;
    bool q8 = t->step->family != NULL && strstr(t->step->family->name, "q8") != NULL;
    *(q8 ? &k->integers : &k->floats) += 1;
}

static hone_status nowhere(void *ctx, int i, hone_dtype dtype, int rank, const int64_t *dims,
                           void **to, hn_error *err) {
    (void)ctx, (void)i, (void)dtype, (void)rank, (void)dims, (void)err;
    *to = NULL;
    return HONE_OK;
}

static step_kinds steps_of(const fixture *f, const hn_model *q, const hn_run_options *how) {
    step_kinds k = {0};
    hn_engine *e;
    hn_samples s;
    hn_error err;
    assert_int_equal(hn_feed_read(f->b.feed, NULL, 0, 1, &s, &err), HONE_OK);
    assert_int_equal(hn_engine_create(&e, q, &how->engine, &err), HONE_OK);
    assert_int_equal(
        hn_engine_run(e, (const hn_tensor *const *)s.in, nowhere, NULL, note_step, &k, &err),
        HONE_OK);
    hn_engine_destroy(e);
    hn_samples_deinit(&s);
    return k;
}

/* Though floats are asked for, Q/DQ pairs are computed in integers, and that is what is judged. */
static void layers_in_integers_run_in_integers(void **state) {
    (void)state;
    fixture f;
    hn_mixed x;
    hn_error err;
    begin(&f);
    hn_model *all = method_copy(f.m), *one = method_copy(f.m);
    assert_int_equal(hn_quantize_model(all, &f.scheme, f.ranges, NULL, NULL, NULL, &err), HONE_OK);
    hn_run_options how = hn_run_options_for(&f.b.how, all);
    step_kinds integers = steps_of(&f, all, &how), floats = steps_of(&f, all, &f.b.how);
    assert_true(integers.integers == 3 && integers.floats == 0);
    assert_true(floats.integers == 0 && floats.floats == 3);
    hn_scheme_rule rule = {.name = "c2", .layer = f.types[0]->layer};
    hn_scheme alone = f.scheme;
    alone.layer = (hn_layer_scheme){.kind = HN_LAYER_F32};
    alone.n_rules = 1;
    alone.rules = &rule;
    assert_int_equal(hn_quantize_model(one, &alone, f.ranges, NULL, NULL, NULL, &err), HONE_OK);
    f.o.bits_per_weight = 32;
    chosen(&f, &x);
    assert_true(x.layers[1].figures[1].harm == harm_by(&f, one, &how));
    assert_true(x.layers[1].figures[1].harm != harm_by(&f, one, &f.b.how));
    hn_mixed_deinit(&x);
    hn_model_destroy(all);
    hn_model_destroy(one);
    end(&f);
}

/* No model runs; what types cost is the same as when they do. */
static void harm_can_be_estimated(void **state) {
    (void)state;
    fixture f;
    hn_mixed x, y;
    begin(&f);
    f.o.bits_per_weight = 6;
    f.o.harm = HN_MIXED_ESTIMATED;
    chosen(&f, &x);
    f.o.harm = HN_MIXED_MEASURED;
    chosen(&f, &y);
    assert_true(x.estimated && !y.estimated && x.tried == 0 && y.tried == 6);
    for (int i = 0; i < 3; i++)
        for (int t = 0; t < 3; t++) {
            const hn_mixed_figure *a = &x.layers[i].figures[t], *b = &y.layers[i].figures[t];
            assert_true(a->harm == a->estimate && a->estimate == b->estimate && a->bits == b->bits);
            assert_true(t == 0 ? a->harm == 0 : a->harm > 0 && a->harm < 1);
        }
    int at = 0;
    while (!x.points[at].chosen) at++;
    assert_true(x.points[at].bits_per_weight <= 6);
    hn_mixed_deinit(&x);
    hn_mixed_deinit(&y);
    end(&f);
}

/* They are layers as others are, of two weights each. */
static void recurrent_layers_get_types_too(void **state) {
    (void)state;
    fixture f;
    hn_mixed x;
    begin_with(&f, RECURRENT);
    f.o.bits_per_weight = 13;
    chosen(&f, &x);
    assert_int_equal(x.n_layers, 2);
    const hn_mixed_layer *gru = &x.layers[0];
    assert_string_equal(gru->name, "gru");
    assert_int_equal(gru->weights, 21 * 6 + 21 * 7);
    assert_true(gru->figures[1].bits == 8 * (21 * 6 + 21 * 7) + 2 * 32 * 21);
    const hn_mixed_figure *is = &gru->figures[1];
    assert_true(is->harm > 0 && is->harm < 1);
    assert_true(is->estimate > is->harm / 30 && is->estimate < is->harm * 30);
    assert_true(isnan(gru->figures[2].harm)); /* 4 bits, which only a rule gives them */
    assert_int_equal(gru->type, 1);
    assert_int_equal(x.layers[1].type, 1);
    hn_mixed_deinit(&x);
    end(&f);
}

/* Scores fall with every layer that is not f32. */
static hone_status count_floats(void *ctx, const hn_model *m, double *score, hn_error *err) {
    (void)err;
    int *calls = ctx, pairs = 0;
    for (const hn_node *n = m->graph->first; n != NULL; n = n->next)
        pairs += strcmp(n->op_type, "DequantizeLinear") == 0;
    (*calls)++;
    *score = -pairs;
    return HONE_OK;
}

static void the_last_that_is_good_enough_is_taken(void **state) {
    (void)state;
    fixture f;
    hn_mixed x;
    int calls = 0;
    begin(&f);
    f.o.score = count_floats;
    f.o.score_ctx = &calls;
    f.o.least = 0;
    chosen(&f, &x);
    assert_true(x.points[0].chosen && x.points[0].score == 0);
    hn_mixed_deinit(&x);
    f.o.least = -100;
    calls = 0;
    chosen(&f, &x);
    assert_true(x.points[x.n_points - 1].chosen && calls <= 4);
    hn_mixed_deinit(&x);
    end(&f);
}

static void what_cannot_be_is_said(void **state) {
    (void)state;
    fixture f;
    hn_mixed x;
    hn_error err;
    int calls = 0;
    begin(&f);
    f.o.bits_per_weight = 1;
    assert_int_equal(hn_mixed_choose(&x, f.m, &f.o, &scratch_mem, &err), HONE_E_NOT_FOUND);
    assert_non_null(strstr(err.text, "no choice of types is within the limits"));
    assert_true(x.points[x.n_points - 1].chosen);
    hn_mixed_deinit(&x);
    f.o.bits_per_weight = 9;
    f.o.score = count_floats;
    f.o.score_ctx = &calls;
    f.o.least = 0;
    assert_int_equal(hn_mixed_choose(&x, f.m, &f.o, &scratch_mem, &err), HONE_E_NOT_FOUND);
    assert_non_null(strstr(err.text, "wanted 0"));
    hn_mixed_deinit(&x);
    hn_scheme_rule all = {.name = "*", .layer = {.kind = HN_LAYER_F32}};
    f.scheme.n_rules = 1;
    f.scheme.rules = &all;
    assert_int_equal(hn_mixed_choose(&x, f.m, &f.o, &scratch_mem, &err), HONE_E_ARG);
    hn_mixed_deinit(&x);
    end(&f);
}

static void layers_with_a_rule_keep_it(void **state) {
    (void)state;
    fixture f;
    hn_mixed x;
    begin(&f);
    hn_scheme_rule first = {.name = "c1", .layer = {.kind = HN_LAYER_F32}};
    f.scheme.n_rules = 1;
    f.scheme.rules = &first;
    f.o.bits_per_weight = 6;
    chosen(&f, &x);
    assert_int_equal(x.n_layers, 2);
    assert_int_equal(x.n_rules, 3);
    assert_string_equal(x.rules[0].name, "c1");
    assert_int_equal(x.rules[0].layer.kind, HN_LAYER_F32);
    hn_mixed_deinit(&x);
    end(&f);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(fewer_bits_do_more_harm),
        TEST(limits_on_bits_hold),
        TEST(limits_on_the_file_hold),
        TEST(times_are_measured),
        TEST(the_last_that_is_good_enough_is_taken),
        TEST(what_cannot_be_is_said),
        TEST(layers_with_a_rule_keep_it),
        TEST(harm_can_be_estimated),
        TEST(recurrent_layers_get_types_too),
        TEST(layers_in_integers_run_in_integers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

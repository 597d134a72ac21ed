/* Graphs of f16 and bf16 in the engine: within one rounding of the same graph in double, although
 * its nodes follow each other. */
#include "engine/widen.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "engine/engine.h"
#include "support/engine_model.h"
#include "support/text_model.h"

enum { MOST = 4 };

static hn_error err;

static hone_status place(void *ctx, int i, hone_dtype dtype, int rank, const int64_t *dims,
                         void **to, hn_error *e) {
    hn_tensor **out = ctx;
    hone_status s = hn_tensor_create(&out[i], &model_mem, HN_MEM_DATA, dtype, rank, dims, e);
    if (s == HONE_OK) *to = out[i]->data;
    return s;
}

/* The text with every T as this type. */
static hn_model *model_of(const char *text, const char *type) {
    char full[2000] = "";
    for (const char *p = text; *p != '\0'; p++) {
        size_t n = strlen(full);
        snprintf(full + n, sizeof full - n, *p == 'T' ? "%s" : "%.1s", *p == 'T' ? type : p);
    }
    return model_inferred(full);
}

static hn_tensor *converted(const hn_tensor *t, hone_dtype to) {
    hn_tensor *made;
    assert_int_equal(hn_tensor_create(&made, &model_mem, HN_MEM_DATA, to, t->rank, t->dims, &err),
                     HONE_OK);
    hn_cast(t->dtype, t->data, to, made->data, t->n, true);
    return made;
}

static void count_step(void *ctx, const hn_step_time *t) {
    assert_non_null(t->step->family);
    ++*(int *)ctx;
}

static void near(const hn_tensor *found, const hn_tensor *want, double rounding) {
    double most = 0;
    assert_true(hn_tensor_same_dims(found, want->rank, want->dims));
    for (int64_t i = 0; i < want->n; i++) most = fmax(most, fabs(hn_tensor_f64(want, i)));
    assert_true(most > 0);
    for (int64_t i = 0; i < want->n; i++) {
        double a = hn_tensor_f64(found, i), b = hn_tensor_f64(want, i);
        if (!(fabs(a - b) <= rounding * fabs(b) + 2e-5 * most))
            fail_msg("element %lld is %g, expected %g", (long long)i, a, b);
    }
}

/* With inputs from number `n_given` on as defaults: not given, then given. */
static void agrees_in(const char *text, const char *type, int n_given, int steps) {
    assert_int_equal(model_setup(NULL), 0);
    hn_model *m = model_of(text, type), *exact = model_of(text, "double");
    hn_tensor *in[MOST] = {0}, *wide[MOST] = {0}, *given[MOST] = {0};
    hn_rng rng;
    hn_rng_init(&rng, 1);
    for (int i = 0; i < m->graph->n_inputs; i++) {
        in[i] = random_tensor_of(m->graph->inputs[i], &rng);
        wide[i] = converted(in[i], HONE_DTYPE_F64);
        if (i < n_given)
            given[i] = in[i];
        else
            hn_value_set_constant(m->graph->inputs[i], hn_tensor_ref(in[i]));
    }
    hn_exec_options plain = {.alloc = &model_mem};
    hn_tensor *want = NULL;
    assert_int_equal(
        hn_graph_run(exact->graph, &plain, (const hn_tensor *const *)wide, &want, &err), HONE_OK);
    double rounding = m->graph->inputs[0]->type.dtype == HONE_DTYPE_F16 ? 0x1p-11 : 0x1p-8;
    hn_engine *e;
    hn_engine_options o = {.alloc = &model_mem, .isa = hn_isa_available()};
    assert_int_equal(hn_engine_create(&e, m, &o, &err), HONE_OK);
    for (int pass = 0; pass < 2; pass++) {
        hn_tensor *found = NULL, **from = pass == 0 ? given : in;
        int n = 0;
        if (hn_engine_run(e, (const hn_tensor *const *)from, place, &found,
                          pass == 0 ? count_step : NULL, &n, &err) != HONE_OK)
            fail_msg("%s", err.text);
        assert_int_equal(found->dtype, m->graph->inputs[0]->type.dtype);
        near(found, want, rounding);
        if (n > steps) fail_msg("%d steps, expected %d at most: %s", n, steps, text);
        hn_tensor_unref(found);
    }
    hn_engine_destroy(e);
    hn_tensor_unref(want);
    for (int i = 0; i < MOST; i++) {
        hn_tensor_unref(in[i]);
        hn_tensor_unref(wide[i]);
    }
    assert_int_equal(model_teardown(NULL), 0);
}

static void agrees(const char *text, int n_given, int steps) {
    agrees_in(text, "float16", n_given, steps);
    agrees_in(text, "bfloat16", n_given, steps);
}

static void chains(void **state) {
    (void)state;
    /* Two casts, the convolution, perhaps copies to and from channels last. */
    agrees(
        "m (T[1,8,9,9] x, T[16,8,3,3] w, T[16] b) => (T[1,16,7,7] y) {"
        " c = Conv (x, w, b) d = Relu (c) y = Add (d, d) }",
        1, 6);
    agrees(
        "m (T[5,40] x, T[40,30] v, T[30] b, T[30,20] w) => (T[5,20] y) {"
        " p = MatMul (x, v) q = Add (p, b) r = Sigmoid (q) s = MatMul (r, w) y = Softmax (s) }",
        1, 6);
    agrees(
        "m (T[3,50] x, T[50] g, T[50] b) => (T[3,50] y) {"
        " n = LayerNormalization (x, g, b) s = Add (n, x) y = Sigmoid (s) }",
        1, 4);
}

/* Floats of 16 bits are written as their codes: 0.25, 60000 and -inf. The sum of the second and
 * itself is infinite in f16. */
static void range(void **state) {
    (void)state;
    assert_int_equal(model_setup(state), 0);
    hn_model *m = model_inferred(
        "m (float16[2] x) => (float16[2] y) <float16[1] q = {13312}> { s = Add (x, x) y = Mul (s, "
        "q) }");
    hn_engine *e;
    hn_engine_options o = {.alloc = &model_mem, .isa = hn_isa_available()};
    assert_int_equal(hn_engine_create(&e, m, &o, &err), HONE_OK);
    hn_tensor *x = tensor_of("float16[2] {31571, 64512}"), *found = NULL;
    const hn_tensor *in[] = {x};
    assert_int_equal(hn_engine_run(e, in, place, &found, NULL, NULL, &err), HONE_OK);
    assert_true(hn_tensor_f64(found, 0) == 30000);
    assert_true(hn_tensor_f64(found, 1) == -INFINITY);
    hn_tensor_unref(found);
    hn_tensor_unref(x);
    hn_engine_destroy(e);
    assert_int_equal(model_teardown(state), 0);
}

/* A model's own Cast rounds, also where its result is widened again. */
static void casts(void **state) {
    (void)state;
    engine_agrees(
        "m (float[70] x) => (float[70] y) { h = Cast <to = 10> (x) y = Cast <to = 1> (h) }",
        "map_int Cast, map_int Cast");
    engine_agrees(
        "m (float[70] x) => (float[70] y) {"
        " h = Cast <to = 16> (x) n = Neg (h) y = Cast <to = 1> (n) }",
        "map_int Cast, map_int Cast, map_f32 Neg");
    engine_agrees(
        "m (float[70] x, float16[1] t) => (float[70] y) {"
        " h = CastLike (x, t) n = Abs (h) y = Cast <to = 1> (n) }",
        "map_int CastLike, map_int Cast, map_f32 Abs");
    /* Products round to bf16 by themselves, where they multiply that; others read what was rounded.
     */
    static const char *const readers[] = {"y = Cast <to = 1> (p)",
                                          "s = Add (p, h) y = Cast <to = 1> (s)"};
    for (int i = 0; i < 2; i++) {
        char text[300];
        snprintf(text, sizeof text,
                 "m (float[8,8] x, bfloat16[8,8] w) => (float[8,8] y) {"
                 " h = Cast <to = 16> (x) p = MatMul (h, w) %s }",
                 readers[i]);
        engine_facts f = engine_ran_so(text, (engine_way){.precision = HN_PRECISION_BF16});
        assert_int_equal(engine_count(&f, "map_int"), 2 * i);
    }
    engine_agrees("m (float16[70] x) => (uint16[70] y) { y = BitCast <to = 4> (x) }", NULL);
    engine_agrees("m (float16[70] x) => (int64[70] y) { n = Neg (x) y = Cast <to = 7> (n) }",
                  "map_int Cast, map_f32 Neg, map_int Cast");
}

/* An attribute says the type, or a subgraph takes the value as it is. */
static void borders(void **state) {
    (void)state;
    engine_agrees(
        "m (int8[70] x, float16[70] z) => (float16[70] y) <float16 s = {14336}> {"
        " d = DequantizeLinear <output_dtype = 10> (x, s) n = Neg (d) m = Max (z, z)"
        " y = Max (n, m) }",
        NULL);
    engine_ran_in_parts(
        "m (bool[1] c, float16[70] x) => (float16[70] y) {"
        " n = Neg (x)"
        " i = If <then_branch = t () => (float16[70] a) { a = Relu (n) },"
        " else_branch = f () => (float16[70] b) { b = Abs (n) }> (c)"
        " y = Neg (i) }");
}

/* Runs `y = MatMul (x, w)` with w a constant, with this row of conv_f32 or the one that is chosen;
 * returns the bytes of packed weights. */
static size_t product(const char *type, int64_t pixels, const char *row, hn_isa isa,
                      hn_tensor **found) {
    char text[200];
    snprintf(text, sizeof text,
             "m (T[%d,170] x, T[170,301] w) => (T[%d,301] y) { y = MatMul (x, w) }", (int)pixels,
             (int)pixels);
    hn_model *m = model_of(text, type);
    hn_rng rng;
    hn_rng_init(&rng, 7);
    hn_tensor *in[2];
    for (int i = 0; i < 2; i++) in[i] = random_tensor_of(m->graph->inputs[i], &rng);
    hn_value_set_constant(m->graph->inputs[1], hn_tensor_ref(in[1]));
    hn_forced_kernel forced = {.family = hn_family_named("conv_f32", 8)};
    hn_engine *e;
    hn_engine_options o = {.alloc = &model_mem, .isa = isa, .forced = &forced};
    if (row != NULL)
        forced.kernel = hn_kernel_named(forced.family, row, strlen(row)), o.n_forced = 1;
    assert_int_equal(hn_engine_create(&e, m, &o, &err), HONE_OK);
    const hn_tensor *given[] = {in[0], NULL};
    assert_int_equal(hn_engine_run(e, given, place, found, NULL, NULL, &err), HONE_OK);
    size_t bytes = hn_engine_memory_use(e).weights;
    hn_engine_destroy(e);
    hn_tensor_unref(in[0]);
    hn_tensor_unref(in[1]);
    return bytes;
}

/* Weights that come as f16 or bf16 stay in 16 bits where there are few pixels, and the results are
 * the same bits. */
static void half_weights(void **state) {
    (void)state;
    static const struct {
        const char *name, *direct;
    } levels[] = {{"avx2", "avx2_6x16"}, {"avx512", "avx512_14x32"}, {"neon", "neon_8x12"}};
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        hn_isa isa;
        if (hn_isa_limit(hn_isa_available(), levels[i].name, &isa, &err) != HONE_OK ||
            strcmp(hn_isa_name(isa), levels[i].name) != 0)
            continue; /* not on this machine */
        for (int k = 0; k < 20; k++) {
            const char *type = k % 2 == 0 ? "float16" : "bfloat16";
            hn_tensor *chosen = NULL, *direct = NULL;
            assert_int_equal(model_setup(NULL), 0);
            size_t narrow = product(type, 1 + k / 2, NULL, isa, &chosen);
            size_t wide = product(type, 1 + k / 2, levels[i].direct, isa, &direct);
            assert_memory_equal(chosen->data, direct->data, direct->bytes);
            if (k / 2 < 8)
                assert_in_range(narrow, wide / 2, wide / 2 + wide / 16);
            else
                assert_true(narrow >= wide);
            hn_tensor_unref(chosen);
            hn_tensor_unref(direct);
            assert_int_equal(model_teardown(NULL), 0);
        }
    }
}

static void memory(void **state) {
    (void)state;
    engine_survives(
        "m (float16[3,40] x, float16[40,20] w) => (float16[3,20] y) {"
        " p = MatMul (x, w) y = Relu (p) }");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chains),  cmocka_unit_test(range),  cmocka_unit_test(casts),
        cmocka_unit_test(borders), cmocka_unit_test(memory), cmocka_unit_test(half_weights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

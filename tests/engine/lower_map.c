/* Small models through the engine and through the plain executor: the numbers agree, and the labels
 * of the steps say what was fused. Copies into another layout are left out: whether a kernel needs
 * them depends on the machine. */
#include "engine/engine.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "support/text_model.h"

enum { MOST = 8 };

static hn_error err;

/* Numbers of both signs, weights small enough that sums stay near 1; of bool, both truth values. */
static hn_tensor *random_tensor(const hn_value *v, hn_rng *rng) {
    hn_tensor *t;
    int64_t dims[HONE_MAX_RANK];
    assert_true(hn_shape_is_const(&v->type.shape, dims));
    assert_int_equal(hn_tensor_create(&t, &model_mem, HN_MEM_DATA, v->type.dtype,
                                      v->type.shape.rank, dims, &err),
                     HONE_OK);
    double most = v->name[0] == 'w' && t->n > 1 ? 0.2 : 2;
    for (int64_t i = 0; i < t->n; i++) {
        double x = hn_rng_f64(rng);
        hn_store_f64(t->dtype, t->data, i,
                     t->dtype == HONE_DTYPE_BOOL ? x < 0.5 : (2 * x - 1) * most);
    }
    return t;
}

static hone_status place(void *ctx, int i, hone_dtype dtype, int rank, const int64_t *dims,
                         void **to, hn_error *e) {
    hn_tensor **out = ctx;
    hone_status s = hn_tensor_create(&out[i], &model_mem, HN_MEM_DATA, dtype, rank, dims, e);
    if (s == HONE_OK) *to = out[i]->data;
    return s;
}

static void note_label(void *ctx, const hn_step_time *t) {
    char *text = ctx;
    if (strcmp(t->step->label, "copy") == 0) return;
    if (text[0] != '\0') strcat(text, ", ");
    strcat(text, t->step->label);
}

static void near(const hn_tensor *found, const hn_tensor *want) {
    assert_int_equal(found->dtype, want->dtype);
    assert_true(hn_tensor_same_dims(found, want->rank, want->dims));
    double most = 0;
    for (int64_t i = 0; i < want->n; i++) most = fmax(most, fabs(hn_tensor_f64(want, i)));
    assert_true(most > 0);
    for (int64_t i = 0; i < want->n; i++) {
        double a = hn_tensor_f64(found, i), b = hn_tensor_f64(want, i);
        if (!(fabs(a - b) <= 2e-5 * most)) /* the bound of an f32 step */
            fail_msg("element %lld is %g, expected %g", (long long)i, a, b);
    }
}

/* Runs the model as it is, inputs whose name begins with w being constants. labels: of the steps.
 * slab: bytes of activations. */
static void run(const char *text, const char *labels, size_t *slab) {
    assert_int_equal(model_setup(NULL), 0);
    hn_model *m = model_inferred(text);
    hn_graph *g = m->graph;
    hn_rng rng;
    hn_rng_init(&rng, 1);
    hn_tensor *in[MOST] = {0}, *want[MOST] = {0}, *found[MOST] = {0};
    for (int i = 0; i < g->n_inputs; i++) {
        hn_tensor *t = random_tensor(g->inputs[i], &rng);
        if (g->inputs[i]->name[0] == 'w')
            hn_value_set_constant(g->inputs[i], t);
        else
            in[i] = t;
    }
    hn_exec_options plain = {.alloc = &model_mem, .seed = 1};
    assert_int_equal(hn_graph_run(g, &plain, (const hn_tensor *const *)in, want, &err), HONE_OK);

    hn_pool *pool;
    hn_engine *e;
    char seen[512] = "";
    assert_int_equal(hn_pool_create(&pool, 2, &model_mem, &err), HONE_OK);
    hn_engine_options o = {
        .alloc = &model_mem, .pool = pool, .isa = hn_isa_available(), .no_simplify = true};
    assert_int_equal(hn_engine_create(&e, m, &o, &err), HONE_OK);
    if (hn_engine_run(e, (const hn_tensor *const *)in, place, found, note_label, seen, &err) !=
        HONE_OK)
        fail_msg("%s", err.text);
    if (slab != NULL) *slab = hn_engine_memory_use(e).slab;
    for (int i = 0; i < g->n_outputs; i++) near(found[i], want[i]);
    if (labels != NULL) assert_string_equal(seen, labels);
    for (int i = 0; i < MOST; i++) {
        hn_tensor_unref(in[i]);
        hn_tensor_unref(want[i]);
        hn_tensor_unref(found[i]);
    }
    hn_engine_destroy(e);
    hn_pool_destroy(pool);
    assert_int_equal(model_teardown(NULL), 0);
}

#define CONV_IN "float[2,8,7,6] x, float[16,8,3,3] w"
#define IMAGE "float[2,16,5,4]"

/* ---- one operator each ---- */

static void each_operator(void **state) {
    (void)state;
    static const char *const unary[] = {"Abs",       "Neg",      "Exp",   "Erf",         "Floor",
                                        "Ceil",      "Round",    "Sign",  "Sigmoid",     "Tanh",
                                        "Softplus",  "Softsign", "Relu",  "HardSwish",   "Mish",
                                        "Identity",  "Gelu",     "Swish", "HardSigmoid", "Elu",
                                        "LeakyRelu", "Selu",     "Celu"};
    char text[400];
    for (size_t i = 0; i < sizeof unary / sizeof *unary; i++) {
        snprintf(text, sizeof text, "m (float[3,37] x) => (float[3,37] y) { y = %s (x) }",
                 unary[i]);
        run(text, strcmp(unary[i], "Identity") == 0 ? "" : unary[i], NULL);
    }
    static const char *const binary[] = {"Add", "Sub", "Mul", "Div", "Min", "Max", "PRelu"};
    for (size_t i = 0; i < sizeof binary / sizeof *binary; i++) {
        snprintf(text, sizeof text,
                 "m (float[2,3,37] a, float[3,1] b) => (float[2,3,37] y) "
                 "{ y = %s (a, b) }",
                 binary[i]);
        run(text, binary[i], NULL);
    }
    static const char *const relations[] = {"Less", "LessOrEqual", "Greater", "GreaterOrEqual"};
    for (size_t i = 0; i < sizeof relations / sizeof *relations; i++) {
        snprintf(text, sizeof text,
                 "m (float[5,7] a, float[7] b) => (bool[5,7] y) { y = %s (a, b) }", relations[i]);
        run(text, relations[i], NULL);
    }
    static const char *const logic[] = {"And", "Or", "Xor", "Equal"};
    for (size_t i = 0; i < sizeof logic / sizeof *logic; i++) {
        snprintf(text, sizeof text,
                 "m (bool[5,7] a, bool[5,1] b) => (bool[5,7] y) { y = %s (a, b) }", logic[i]);
        run(text, logic[i], NULL);
    }
    run("m (float[4,9] x) => (float[4,9] y) { y = Gelu <approximate: string = \"tanh\"> (x) }",
        "Gelu", NULL);
    run("m (bool[4,1] c, float[4,9] a, float[9] b) => (float[4,9] y) { y = Where (c, a, b) }",
        "Where", NULL);
    run("m (bool[4,9] x) => (float[4,9] y) { y = Cast <to: int = 1> (x) }", "Cast", NULL);
    run("m (float[4,9] x) => (bool[4,9] y) { y = Cast <to: int = 9> (x) }", "Cast", NULL);
    run("m (float[4,9] a, float[9] b, float[4,1] c) => (float[4,9] y) { y = Mean (a, b, c) }",
        "Mean", NULL);
    run("m (float[4,9] a, float[9] b, float[4,1] c) => (float[4,9] y) { y = Max (a, b, c) }", "Max",
        NULL);
    run("m (float a, float b) => (float y) { y = Add (a, b) }", "Add", NULL);
    run("m (float[4,9] x) => (float[4,9] y) { y = Celu <alpha: float = 0.3> (x) }", "Celu", NULL);
    run("m (float[2,5,9] x, float[5] s, float[5] b, float[5] m) => (float[2,5,9] y)"
        "<float[5] v = {1, 0.5, 2, 3, 0.25}> { y = BatchNormalization (x, s, b, m, v) }",
        "BatchNormalization", NULL);
}

static void tests_for_what_is_no_number(void **state) {
    (void)state;
    run("m (float[37] x) => (bool[37] y) { r = Sqrt (x)  y = IsNaN (r) }", "Sqrt+IsNaN", NULL);
    run("m (float[37] x) => (bool[37] y) { c = Ceil (x)  r = Div (x, c)  y = IsInf (r) }",
        "Ceil+Div+IsInf", NULL);
    run("m (float[37] x) => (bool[37] y)"
        "{ c = Ceil (x)  r = Div (x, c)  y = IsInf <detect_negative: int = 0> (r) }",
        "Ceil+Div+IsInf", NULL);
    run("m (float[37] x) => (bool[37] y)"
        "{ c = Ceil (x)  a = Abs (c)  r = Div (x, a)  y = IsInf <detect_positive: int = 0> (r) }",
        "Ceil+Abs+Div+IsInf", NULL);
}

static void what_is_no_f32_stays_with_the_reference(void **state) {
    (void)state;
    run("m (int64[40] a, int64[40] b) => (int64[40] y) { y = Add (a, b) }", "Add", NULL);
    run("m (float[40] a) => (int32[40] y) { y = Cast <to: int = 6> (a) }", "Cast", NULL);
    run("m (float[1,2,1,2,1,2,3] a) => (float[1,2,1,2,1,2,3] y) { y = Exp (a) }", "Exp", NULL);
}

/* ---- programs ---- */

static void chains_are_one_program(void **state) {
    (void)state;
    run("m (float[6,50] x, float[50] s, float[50] t) => (float[6,50] y)"
        "{ a = Mul (x, s)  b = Add (a, t)  c = Tanh (b)  y = Mul (c, x) }",
        "Mul+Add+Tanh+Mul", NULL);
    run("m (float[6,50] x) => (float[6,50] y) { a = Exp (x)  y = Mul (a, a) }", "Exp+Mul", NULL);
    run("m (float[6,50] x, float[6,50] z) => (float[6,50] y)"
        "{ a = Exp (x)  c = Less (a, z)  y = Where (c, x, z) }",
        "Exp+Less+Where", NULL);
    run("m (float[6,50] x, float wk) => (float[6,50] y) <int64 two = {2}>"
        "{ a = Sub (wk, x)  b = Pow (a, two)  y = Div (b, wk) }",
        "Sub+Pow+Div", NULL);
    /* Two steps of which the earlier is wanted by the later. */
    run("m (float[6,50] x, float[6,50] z) => (float[6,50] y)"
        "{ a = Exp (x)  b = Tanh (z)  y = Sub (a, b) }",
        "Exp, Tanh+Sub", NULL);
    /* The first has to wait for an operand made after it. */
    run("m (float[6,50] x, float[5,50] z) => (float[6,50] y)"
        "{ a = Exp (x)  b = ReduceSum <keepdims: int = 1> (z)  y = Sub (a, b) }",
        "ReduceSum, Exp+Sub", NULL);
}

static void values_with_other_uses_are_kept(void **state) {
    (void)state;
    run("m (float[6,50] x) => (float[6,50] y, float[6,50] a) { a = Exp (x)  y = Neg (a) }",
        "Exp, Neg", NULL);
    run("m (float[6,50] x) => (float[6,50] y, float[6,50] z)"
        "{ a = Exp (x)  y = Neg (a)  z = Abs (a) }",
        "Exp, Neg, Abs", NULL);
    /* A program runs over the elements of one shape. */
    run("m (float[50] x, float[6,50] z) => (float[6,50] y) { a = Exp (x)  y = Add (a, z) }",
        "Exp, Add", NULL);
}

static void a_full_program_is_followed_by_another(void **state) {
    (void)state;
    char text[2000] = "m (float[40] x) => (float[40] y) { v0 = Sin (x) ";
    for (int i = 1; i < 30; i++) snprintf(text + strlen(text), 60, " v%d = Tanh (v%d)", i, i - 1);
    strcat(text, " y = Neg (v29) }");
    run(text,
        "Sin, Tanh+Tanh+Tanh+Tanh+Tanh+Tanh+Tanh+Tanh+Tanh+Tanh+Tanh+Tanh+Tanh+Tanh+Tanh+Tanh+Tanh+"
        "Tanh+Tanh+Tanh+Tanh+Tanh+Tanh+Tanh, Tanh+Tanh+Tanh+Tanh+Tanh+Neg",
        NULL);
}

/* ---- convolutions ---- */

static void activations_end_a_convolution(void **state) {
    (void)state;
    static const char *const acts[] = {"Relu",      "LeakyRelu", "Sigmoid", "Tanh", "HardSigmoid",
                                       "HardSwish", "Gelu",      "Elu",     "Mish", "Swish"};
    char text[400], label[40];
    for (size_t i = 0; i < sizeof acts / sizeof *acts; i++) {
        snprintf(text, sizeof text,
                 "m (" CONV_IN ") => (" IMAGE " y) { a = Conv (x, w)  y = %s (a) }", acts[i]);
        snprintf(label, sizeof label, "Conv+%s", acts[i]);
        run(text, label, NULL);
    }
    run("m (" CONV_IN ", float wlo) => (" IMAGE " y) { a = Conv (x, w)  y = Clip (a, wlo) }",
        "Conv+Clip", NULL);
    /* Limits within limits are one activation, whichever way they meet. */
    run("m (" CONV_IN ") => (" IMAGE
        " y) <float lo = {-0.5}, float hi = {0.25}>"
        "{ a = Conv (x, w)  b = Relu (a)  y = Clip (b, lo, hi) }",
        "Conv+Relu+Clip", NULL);
    run("m (" CONV_IN ") => (" IMAGE
        " y) <float lo = {-0.5}, float hi = {0.25}>"
        "{ a = Conv (x, w)  b = Clip (a, lo, hi)  y = Relu (b) }",
        "Conv+Clip+Relu", NULL);
    run("m (" CONV_IN ") => (" IMAGE
        " y) <float lo = {-0.5}, float hi = {-0.25}, float k = {1}>"
        "{ a = Conv (x, w)  b = Relu (a)  c = Clip (b, lo, hi)  y = Add (c, k) }",
        "Conv+Relu+Clip, Add", NULL);
    /* Limits that are computed stay with the reference; one activation is all there is room for. */
    run("m (" CONV_IN ", float lo) => (" IMAGE " y) { a = Conv (x, w)  y = Clip (a, lo) }",
        "Conv, Clip", NULL);
    run("m (" CONV_IN ") => (" IMAGE " y) { a = Conv (x, w)  b = Relu (a)  y = Tanh (b) }",
        "Conv+Relu, Tanh", NULL);
}

static void residuals_end_a_convolution(void **state) {
    (void)state;
    run("m (" CONV_IN ", float[16,8,3,3] w2) => (" IMAGE
        " y)"
        "{ a = Conv (x, w)  b = Conv (x, w2)  c = Add (a, b)  y = Relu (c) }",
        "Conv, Conv+Add+Relu", NULL);
    /* The convolution waits for an operand made after it. */
    run("m (" CONV_IN ", float[16,8,3,3] w2) => (" IMAGE
        " y)"
        "{ a = Conv (x, w)  b = Conv (x, w2)  r = Relu (b)  r2 = Tanh (r)  c = Add (a, r2)"
        "  y = Relu (c) }",
        "Conv+Relu, Tanh, Conv+Add+Relu", NULL);
    run("m (" CONV_IN ", float[16,1,1] wb) => (" IMAGE
        " y)"
        "{ a = Conv (x, w)  b = Add (wb, a)  y = Relu (b) }",
        "Conv+Add+Relu", NULL);
}

static void no_residual_where_it_does_not_fit(void **state) {
    (void)state;
    /* Broadcast, planar, used twice, an output, after the activation, a second one. */
    run("m (" CONV_IN ", float[2,1,5,4] r) => (" IMAGE " y) { a = Conv (x, w)  y = Add (a, r) }",
        "Conv, Add", NULL);
    run("m (" CONV_IN ", " IMAGE " r) => (" IMAGE " y) { a = Conv (x, w)  y = Add (r, a) }", NULL,
        NULL);
    run("m (" CONV_IN ") => (" IMAGE " y) { a = Conv (x, w)  b = Tanh (a)  y = Add (a, b) }",
        "Conv, Tanh+Add", NULL);
    run("m (" CONV_IN ") => (" IMAGE " y, " IMAGE " a) { a = Conv (x, w)  y = Relu (a) }",
        "Conv, Relu", NULL);
    run("m (" CONV_IN ") => (" IMAGE " y) { a = Conv (x, w)  y = Add (a, a) }", "Conv, Add", NULL);
    run("m (" CONV_IN ", float[16,8,3,3] w2) => (" IMAGE
        " y)"
        "{ a = Conv (x, w)  b = Conv (x, w2)  c = Relu (a)  d = Tanh (b)  y = Add (c, d) }",
        "Conv+Relu, Conv+Tanh, Add", NULL);
}

static void gates(void **state) {
    (void)state;
    run("m (" CONV_IN ") => (" IMAGE " y) { a = Conv (x, w)  s = Sigmoid (a)  y = Mul (s, a) }",
        "Conv+Sigmoid+Mul", NULL);
    run("m (float[3,37] x) => (float[3,37] y) { a = Exp (x)  s = Sigmoid (a)  y = Mul (a, s) }",
        "Exp+Sigmoid+Mul", NULL);
    run("m (" CONV_IN ") => (" IMAGE " y, " IMAGE
        " s)"
        "{ a = Conv (x, w)  s = Sigmoid (a)  y = Mul (s, a) }",
        "Conv, Sigmoid, Mul", NULL);
    run("m (" CONV_IN ", float[2,16,1,1] g) => (" IMAGE
        " y)"
        "{ a = Conv (x, w)  s = Sigmoid (g)  y = Mul (a, s) }",
        "Conv, Sigmoid, Mul", NULL);
}

/* ---- products ---- */

static void products_have_ends_too(void **state) {
    (void)state;
    run("m (float[2,9,8] x, float[8,12] w, float[12] wb, float[2,9,12] r) => (float[2,9,12] y)"
        "{ a = MatMul (x, w)  b = Add (a, wb)  c = Add (r, b)  y = Gelu (c) }",
        "MatMul+Add+Add+Gelu", NULL);
    /* Scores of attention: scaled, and masked for all heads at once. */
    run("m (float[2,3,9,8] q, float[2,3,8,9] k, float wk, float[2,1,1,9] r) => (float[2,3,9,9] y)"
        "{ a = MatMul (q, k)  b = Div (a, wk)  y = Add (b, r) }",
        "MatMul+Div+Add", NULL);
    run("m (float[2,3,9,8] q, float[2,3,8,9] k, float wk) => (float[2,3,9,9] y)"
        "{ a = MatMul (q, k)  y = Div (wk, a) }",
        "MatMul, Div", NULL);
}

/* ---- memory ---- */

#define PLANE "float[64,64]"

/* With s in the place of a or b there are two tensors, not three; Sin and Cos are references. */
static void results_take_the_place_of_operands(void **state) {
    (void)state;
    size_t slab;
    run("m (" PLANE " x) => (" PLANE " y, " PLANE
        " z)"
        "{ a = Sin (x)  b = Cos (x)  s = Add (a, b)  y = Sin (s)  z = Cos (s) }",
        "Sin, Cos, Add, Sin, Cos", &slab);
    assert_int_equal(slab, 2 * 64 * 64 * 4);
    /* An operand that is read later keeps its place. */
    run("m (" PLANE " x) => (" PLANE " y, " PLANE " z, " PLANE
        " u)"
        "{ a = Sin (x)  s = Exp (a)  y = Sin (s)  z = Cos (s)  u = Sin (a) }",
        "Sin, Exp, Sin, Cos, Sin", &slab);
    assert_int_equal(slab, 2 * 64 * 64 * 4);
    /* The residual of a convolution: c, and what was a. */
    run("m (float[1,16,8,8] x, float[16,16,1,1] w, float[16,16,1,1] w2, float[16,16,1,1] w3)"
        " => (float[1,16,8,8] y)"
        "{ a = Conv (x, w)  b = Conv (a, w2)  c = Relu (b)  d = Conv (c, w3)  y = Add (d, a) }",
        "Conv, Conv+Relu, Conv+Add", &slab);
    assert_int_equal(slab, 2 * 16 * 64 * 4);
}

/* Every allocation fails once; nothing leaks, and the error says so. */
static void memory_may_run_out(void **state) {
    (void)state;
    assert_int_equal(model_setup(NULL), 0);
    hn_model *m = model_inferred(
        "m (" PLANE " x, float[64] b) => (" PLANE
        " y)"
        "{ a = Sin (x)  c = Mul (a, b)  d = Sigmoid (c)  e = Mul (c, d)  y = Add (e, x) }");
    hn_rng rng;
    hn_rng_init(&rng, 1);
    hn_tensor *in[2] = {random_tensor(m->graph->inputs[0], &rng),
                        random_tensor(m->graph->inputs[1], &rng)};
    hn_pool *pool;
    assert_int_equal(hn_pool_create(&pool, 1, hn_allocator_default(), &err), HONE_OK);
    hn_engine_options o = {.alloc = &model_mem, .pool = pool, .isa = hn_isa_available()};
    hone_status status = HONE_E_NOMEM;
    for (int k = 0; status != HONE_OK; k++) {
        hn_engine *e = NULL;
        hn_tensor *out[1] = {NULL};
        model_mem.fail_after = k;
        status = hn_engine_create(&e, m, &o, &err);
        if (status == HONE_OK)
            status = hn_engine_run(e, (const hn_tensor *const *)in, place, out, NULL, NULL, &err);
        model_mem.fail_after = -1;
        assert_true(status == HONE_OK || status == HONE_E_NOMEM);
        if (e != NULL) hn_engine_destroy(e);
        hn_tensor_unref(out[0]);
    }
    hn_pool_destroy(pool);
    hn_tensor_unref(in[0]);
    hn_tensor_unref(in[1]);
    assert_int_equal(model_teardown(NULL), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_operator),
        cmocka_unit_test(tests_for_what_is_no_number),
        cmocka_unit_test(what_is_no_f32_stays_with_the_reference),
        cmocka_unit_test(chains_are_one_program),
        cmocka_unit_test(values_with_other_uses_are_kept),
        cmocka_unit_test(a_full_program_is_followed_by_another),
        cmocka_unit_test(activations_end_a_convolution),
        cmocka_unit_test(residuals_end_a_convolution),
        cmocka_unit_test(no_residual_where_it_does_not_fit),
        cmocka_unit_test(gates),
        cmocka_unit_test(products_have_ends_too),
        cmocka_unit_test(results_take_the_place_of_operands),
        cmocka_unit_test(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

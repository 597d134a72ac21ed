/* Attention through the engine and through the plain executor: the numbers agree, and the kernel
 * made for it computed them, or not where the graph wants something else. */
#include "engine/engine.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "kernels/attention_f32/attention_f32.h"
#include "support/text_model.h"

enum { MOST = 8 };

static hn_error err;

/* Numbers of both signs. What begins with m is a mask: one key in four is hidden, the first two
 * rows of the last axis as a whole. */
static hn_tensor *random_tensor(const hn_value *v, hn_rng *rng) {
    hn_tensor *t;
    int64_t dims[HONE_MAX_RANK];
    assert_true(hn_shape_is_const(&v->type.shape, dims));
    assert_int_equal(hn_tensor_create(&t, &model_mem, HN_MEM_DATA, v->type.dtype,
                                      v->type.shape.rank, dims, &err),
                     HONE_OK);
    for (int64_t i = 0; i < t->n; i++) {
        bool hidden = i < 2 * dims[t->rank - 1] || hn_rng_below(rng, 4) == 0;
        double x = 4 * hn_rng_f64(rng) - 2;
        if (v->name[0] == 'm') x = t->dtype == HONE_DTYPE_BOOL ? !hidden : hidden ? -INFINITY : x;
        hn_store_f64(t->dtype, t->data, i, x);
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

/* Steps seen: how many are attention, how many copies, and all of them. */
typedef struct counts {
    int attention, copies, all;
} counts;

static void count(void *ctx, const hn_step_time *t) {
    counts *c = ctx;
    c->all++;
    c->attention += t->step->family == &hn_attention_f32_family;
    c->copies += strcmp(t->step->label, "copy") == 0;
}

static void near(const hn_tensor *found, const hn_tensor *want) {
    assert_true(hn_tensor_same_dims(found, want->rank, want->dims));
    for (int64_t i = 0; i < want->n; i++) {
        double a = hn_tensor_f64(found, i), b = hn_tensor_f64(want, i);
        if (a != b && !(isnan(a) && isnan(b)) && !(fabs(a - b) <= 2e-5))
            fail_msg("element %lld is %g, expected %g", (long long)i, a, b);
    }
}

static counts run(const char *text) {
    assert_int_equal(model_setup(NULL), 0);
    hn_model *m = model_inferred(text);
    hn_graph *g = m->graph;
    hn_rng rng;
    hn_rng_init(&rng, 1);
    hn_tensor *in[MOST] = {0}, *want[MOST] = {0}, *found[MOST] = {0};
    for (int i = 0; i < g->n_inputs; i++) in[i] = random_tensor(g->inputs[i], &rng);
    hn_exec_options plain = {.alloc = &model_mem, .seed = 1};
    assert_int_equal(hn_graph_run(g, &plain, (const hn_tensor *const *)in, want, &err), HONE_OK);

    hn_pool *pool;
    hn_engine *e;
    counts c = {0};
    assert_int_equal(hn_pool_create(&pool, 2, &model_mem, &err), HONE_OK);
    hn_engine_options o = {
        .alloc = &model_mem, .pool = pool, .isa = hn_isa_available(), .no_simplify = true};
    assert_int_equal(hn_engine_create(&e, m, &o, &err), HONE_OK);
    if (hn_engine_run(e, (const hn_tensor *const *)in, place, found, count, &c, &err) != HONE_OK)
        fail_msg("%s", err.text);
    for (int i = 0; i < g->n_outputs; i++) near(found[i], want[i]);
    for (int i = 0; i < MOST; i++) {
        hn_tensor_unref(in[i]);
        hn_tensor_unref(want[i]);
        hn_tensor_unref(found[i]);
    }
    hn_engine_destroy(e);
    hn_pool_destroy(pool);
    assert_int_equal(model_teardown(NULL), 0);
    return c;
}

#define Q "float[2,3,9,8] q, "
#define KV "float[2,3,8,11] k, float[2,3,11,10] v"
#define Y "(float[2,3,9,10] y)"

/* The whole graph is one step. */
static void alone(const char *text) {
    counts c = run(text);
    if (c.attention != 1 || c.all != 1)
        fail_msg("%d steps of attention of %d, expected one: %s", c.attention, c.all, text);
}

static void not_at_all(const char *text) {
    counts c = run(text);
    if (c.attention != 0) fail_msg("%d steps of attention, expected none: %s", c.attention, text);
}

static void products_around_a_softmax(void **state) {
    (void)state;
    alone("m (" Q KV ") => " Y "{ s = MatMul (q, k)  w = Softmax (s)  y = MatMul (w, v) }");
    alone("m (" Q KV ") => " Y
          "<float scale = {0.25}>"
          "{ s = MatMul (q, k)  t = Mul (s, scale)  w = Softmax <axis: int = 3> (t)"
          "  y = MatMul (w, v) }");
    alone("m (" Q KV ", float[2,1,9,11] mask) => " Y
          "<float scale = {3}>"
          "{ s = MatMul (q, k)  t = Div (s, scale)  u = Add (mask, t)  w = Softmax (u)"
          "  y = MatMul (w, v) }");
    alone("m (" Q KV ", float[9,11] mask) => " Y
          "{ s = MatMul (q, k)  t = Add (s, mask)  w = Softmax (t)  y = MatMul (w, v) }");
    alone("m (" Q KV ", float[2,1,1,11] mask) => " Y
          "{ s = MatMul (q, k)  t = Add (s, mask)  w = Softmax (t)  y = MatMul (w, v) }");
    alone("m (" Q KV ", float[11] mask) => " Y
          "{ s = MatMul (q, k)  t = Add (s, mask)  w = Softmax (t)  y = MatMul (w, v) }");
    alone(
        "m (float[7,8] q, float[8,13] k, float[13,5] v) => (float[7,5] y)"
        "{ s = MatMul (q, k)  w = Softmax (s)  y = MatMul (w, v) }");
    alone("m (float[2,3,9,8] q, float[8,11] k, float[3,11,10] v) => " Y
          "{ s = MatMul (q, k)  w = Softmax (s)  y = MatMul (w, v) }");
}

static void scores_that_a_mask_hides(void **state) {
    (void)state;
    alone("m (" Q KV ", bool[2,1,9,11] mask) => " Y
          "<float fill = {-1e9}, float scale = {0.25}>"
          "{ s = MatMul (q, k)  t = Mul (s, scale)  u = Where (mask, t, fill)  w = Softmax (u)"
          "  y = MatMul (w, v) }");
    alone("m (" Q KV ", bool[1,11] mask) => " Y
          "<float fill = {-3}>"
          "{ s = MatMul (q, k)  u = Where (mask, fill, s)  w = Softmax (u)  y = MatMul (w, v) }");
    /* The mask is computed by the step that would choose. */
    not_at_all("m (" Q KV ", float[2,3,9,11] mask) => " Y
               "<float fill = {-3}>"
               "{ s = MatMul (q, k)  c = Less (mask, fill)  u = Where (c, fill, s)"
               "  w = Softmax (u)  y = MatMul (w, v) }");
    not_at_all(
        "m (float[9,8] q, float[8,11] k, float[11,10] v, bool[2,9,11] mask) =>"
        "(float[2,9,10] y) <float fill = {-3}>"
        "{ s = MatMul (q, k)  u = Where (mask, fill, s)  w = Softmax (u)"
        "  y = MatMul (w, v) }");
    not_at_all("m (" Q KV ", bool[9,1] mask) => " Y
               "<float fill = {-3}>"
               "{ s = MatMul (q, k)  u = Where (mask, fill, s)  w = Softmax (u)"
               "  y = MatMul (w, v) }");
}

static void rows_without_weights_are_zero(void **state) {
    (void)state;
    alone("m (" Q KV ", float[9,11] mask) => " Y
          "<float zero = {0}>"
          "{ s = MatMul (q, k)  t = Add (s, mask)  w = Softmax (t)  n = IsNaN (w)"
          "  u = Where (n, zero, w)  y = MatMul (u, v) }");
    not_at_all("m (" Q KV ", float[9,11] mask) => " Y
               "<float one = {1}>"
               "{ s = MatMul (q, k)  t = Add (s, mask)  w = Softmax (t)  n = IsNaN (w)"
               "  u = Where (n, one, w)  y = MatMul (u, v) }");
}

#define HEADS                                                                                 \
    "<int64[4] split = {2, 9, 3, 8}, int64[3] join = {2, 9, 24}, int64[3] flat = {6, 9, 8}, " \
    "int64[4] deep = {2, 3, 8, 9}>"

static void heads_are_strides(void **state) {
    (void)state;
    counts c =
        run("m (float[2,9,24] a, float[2,9,24] b, float[2,9,24] c) => (float[2,9,24] z)" HEADS
            "{ a4 = Reshape (a, split)  q = Transpose <perm: ints = [0, 2, 1, 3]> (a4)"
            "  b4 = Reshape (b, split)  k = Transpose <perm: ints = [0, 2, 3, 1]> (b4)"
            "  c4 = Reshape (c, split)  v = Transpose <perm: ints = [0, 2, 1, 3]> (c4)"
            "  s = MatMul (q, k)  w = Softmax (s)  y = MatMul (w, v)"
            "  y4 = Transpose <perm: ints = [0, 2, 1, 3]> (y)  r = Reshape (y4, join)"
            "  z = Neg (r) }");
    assert_int_equal(c.attention, 1);
    assert_int_equal(c.all, 2);
    /* Keys by way of [samples * heads, positions, size]. */
    c = run("m (float[2,9,24] a, float[2,9,24] b, float[2,9,24] c) => (float[2,9,24] z)" HEADS
            "{ a4 = Reshape (a, split)  q = Transpose <perm: ints = [0, 2, 1, 3]> (a4)"
            "  b4 = Reshape (b, split)  k4 = Transpose <perm: ints = [0, 2, 1, 3]> (b4)"
            "  k3 = Reshape (k4, flat)  kt = Transpose <perm: ints = [0, 2, 1]> (k3)"
            "  k = Reshape (kt, deep)"
            "  c4 = Reshape (c, split)  v = Transpose <perm: ints = [0, 2, 1, 3]> (c4)"
            "  s = MatMul (q, k)  w = Softmax (s)  y = MatMul (w, v)"
            "  y4 = Transpose <perm: ints = [0, 2, 1, 3]> (y)  r = Reshape (y4, join)"
            "  z = Neg (r) }");
    assert_int_equal(c.attention, 1);
    assert_int_equal(c.copies, 0);
    assert_int_equal(c.all, 2);
}

static void what_is_wanted_besides_stays(void **state) {
    (void)state;
    not_at_all("m (" Q KV
               ") => (float[2,3,9,10] y, float[2,3,9,11] w)"
               "{ s = MatMul (q, k)  w = Softmax (s)  y = MatMul (w, v) }");
    not_at_all("m (" Q KV
               ") => (float[2,3,9,10] y, float[2,3,9,11] s)"
               "{ s = MatMul (q, k)  w = Softmax (s)  y = MatMul (w, v) }");
    not_at_all("m (" Q KV ") => " Y
               "{ s = MatMul (q, k)  w = Softmax <axis: int = 2> (s)  y = MatMul (w, v) }");
    not_at_all("m (" Q KV ") => " Y
               "{ s = MatMul (q, k)  t = Relu (s)  w = Softmax (t)  y = MatMul (w, v) }");
    not_at_all(
        "m (float[1,9,8] q, float[1,8,11] k, float[2,11,10] v) => (float[2,9,10] y)"
        "{ s = MatMul (q, k)  w = Softmax (s)  y = MatMul (w, v) }");
}

#define QKV4 "float[2,6,9,8] q, float[2,6,11,8] k, float[2,6,11,10] v"
#define Y4 "(float[2,6,9,10] y)"

static void the_operator(void **state) {
    (void)state;
    alone("m (" QKV4 ") => " Y4 "{ y = Attention (q, k, v) }");
    alone("m (" QKV4 ") => " Y4
          "{ y = Attention <scale: float = 0.5, is_causal: int = 1> (q, k, v) }");
    alone("m (" QKV4 ", float[9,11] mask) => " Y4 "{ y = Attention (q, k, v, mask) }");
    alone("m (" QKV4 ", float[2,6,9,11] mask) => " Y4 "{ y = Attention (q, k, v, mask) }");
    alone("m (float[2,6,9,8] q, float[2,2,11,8] k, float[2,2,11,10] v, float[2,1,9,11] mask) => " Y4
          "{ y = Attention (q, k, v, mask) }");
    alone(
        "m (float[2,9,48] q, float[2,11,16] k, float[2,11,20] v) => (float[2,9,60] y)"
        "{ y = Attention <q_num_heads: int = 6, kv_num_heads: int = 2> (q, k, v) }");
    alone("m (" QKV4 ", bool[9,11] mask) => " Y4 "{ y = Attention (q, k, v, mask) }");
    not_at_all("m (" QKV4 ") => " Y4 "{ y = Attention <softcap: float = 2.0> (q, k, v) }");
    not_at_all("m (" QKV4 ", float[9,4] mask) => " Y4 "{ y = Attention (q, k, v, mask) }");
    not_at_all("m (" QKV4
               ") => (float[2,6,9,10] y, float[2,6,11,8] pk, float[2,6,11,10] pv)"
               "{ y, pk, pv = Attention (q, k, v) }");
}

static void memory_may_run_out(void **state) {
    (void)state;
    assert_int_equal(model_setup(NULL), 0);
    hn_model *m = model_inferred(
        "m (" Q KV
        ", bool[9,11] mask) => (float[2,9,3,10] z) <float fill = {-3}>"
        "{ s = MatMul (q, k)  u = Where (mask, s, fill)  w = Softmax (u)  y = MatMul (w, v)"
        "  z = Transpose <perm: ints = [0, 2, 1, 3]> (y) }");
    hn_rng rng;
    hn_rng_init(&rng, 1);
    hn_tensor *in[4];
    for (int i = 0; i < 4; i++) in[i] = random_tensor(m->graph->inputs[i], &rng);
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
    for (int i = 0; i < 4; i++) hn_tensor_unref(in[i]);
    assert_int_equal(model_teardown(NULL), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_around_a_softmax),
        cmocka_unit_test(scores_that_a_mask_hides),
        cmocka_unit_test(rows_without_weights_are_zero),
        cmocka_unit_test(heads_are_strides),
        cmocka_unit_test(what_is_wanted_besides_stays),
        cmocka_unit_test(the_operator),
        cmocka_unit_test(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

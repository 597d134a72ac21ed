/* Pools and reductions of images through the engine and through the plain executor: the numbers
 * agree, and the pooling kernels made them, or not where they cannot. */
#include "engine/engine.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "kernels/pool_f32/pool_f32.h"
#include "support/text_model.h"

enum { MOST = 2 };

static hn_error err;

/* Numbers of both signs, here and there NaN and infinity. */
static hn_tensor *random_tensor(const hn_value *v) {
    static const double special[] = {NAN, INFINITY, -INFINITY};
    hn_tensor *t;
    hn_rng rng;
    int64_t dims[HONE_MAX_RANK];
    hn_rng_init(&rng, 1);
    assert_true(hn_shape_is_const(&v->type.shape, dims));
    assert_int_equal(hn_tensor_create(&t, &model_mem, HN_MEM_DATA, v->type.dtype,
                                      v->type.shape.rank, dims, &err),
                     HONE_OK);
    for (int64_t i = 0; i < t->n; i++)
        hn_store_f64(t->dtype, t->data, i,
                     i % 97 == 96 ? special[i / 97 % 3] : hn_rng_f64(&rng) * 4 - 2);
    return t;
}

static hone_status place(void *ctx, int i, hone_dtype dtype, int rank, const int64_t *dims,
                         void **to, hn_error *e) {
    hn_tensor **out = ctx;
    hone_status s = hn_tensor_create(&out[i], &model_mem, HN_MEM_DATA, dtype, rank, dims, e);
    if (s == HONE_OK) *to = out[i]->data;
    return s;
}

static void count_pools(void *ctx, const hn_step_time *t) {
    if (t->step->family == &hn_pool_f32_family) ++*(int *)ctx;
}

static void near(const hn_tensor *found, const hn_tensor *want) {
    assert_int_equal(found->dtype, want->dtype);
    assert_true(hn_tensor_same_dims(found, want->rank, want->dims));
    for (int64_t i = 0; i < want->n; i++) {
        double a = hn_tensor_f64(found, i), b = hn_tensor_f64(want, i);
        if (a != b && !(isnan(a) && isnan(b)) && !(fabs(a - b) <= 1e-5))
            fail_msg("element %lld is %g, expected %g", (long long)i, a, b);
    }
}

/* Runs the model as it is; `pools` of its steps must be pools. */
static void run(const char *text, int pools) {
    assert_int_equal(model_setup(NULL), 0);
    hn_model *m = model_inferred(text);
    hn_tensor *in = random_tensor(m->graph->inputs[0]);
    hn_tensor *want[MOST] = {0}, *found[MOST] = {0};
    const hn_tensor *const inputs[] = {in};
    hn_exec_options plain = {.alloc = &model_mem, .seed = 1};
    assert_int_equal(hn_graph_run(m->graph, &plain, inputs, want, &err), HONE_OK);

    hn_pool *pool;
    hn_engine *e;
    int seen = 0;
    assert_int_equal(hn_pool_create(&pool, 2, &model_mem, &err), HONE_OK);
    hn_engine_options o = {
        .alloc = &model_mem, .pool = pool, .isa = hn_isa_available(), .no_simplify = true};
    assert_int_equal(hn_engine_create(&e, m, &o, &err), HONE_OK);
    if (hn_engine_run(e, inputs, place, found, count_pools, &seen, &err) != HONE_OK)
        fail_msg("%s", err.text);
    if (seen != pools) fail_msg("%d steps are pools, expected %d: %s", seen, pools, text);
    for (int i = 0; i < m->graph->n_outputs; i++) near(found[i], want[i]);
    hn_tensor_unref(in);
    for (int i = 0; i < MOST; i++) {
        hn_tensor_unref(want[i]);
        hn_tensor_unref(found[i]);
    }
    hn_engine_destroy(e);
    hn_pool_destroy(pool);
    assert_int_equal(model_teardown(NULL), 0);
}

/* One node from x to y, of these shapes. */
static void run_node(const char *x, const char *y, const char *node, int pools) {
    char text[512];
    snprintf(text, sizeof text, "m (%s x) => (%s y) { y = %s }", x, y, node);
    run(text, pools);
}

static void windows(void **state) {
    (void)state;
    run_node("float[2,5,9,7]", "float[2,5,5,4]",
             "MaxPool <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]> (x)", 1);
    run_node("float[1,20,9,7]", "float[1,20,3,2]",
             "MaxPool <kernel_shape = [2, 3], strides = [3, 3], dilations = [2, 2]> (x)", 1);
    run_node("float[1,17,8,8]", "float[1,17,4,4]",
             "MaxPool <kernel_shape = [3, 3], strides = [2, 2], auto_pad = \"SAME_UPPER\"> (x)", 1);
    run_node("float[1,3,8,8]", "float[1,3,4,4]",
             "MaxPool <kernel_shape = [3, 3], strides = [2, 2], ceil_mode = 1> (x)", 1);
    run_node("float[3,4,11]", "float[3,4,6]",
             "MaxPool <kernel_shape = [3], strides = [2], pads = [1, 1]> (x)", 1);
    for (int counted = 0; counted < 2; counted++) {
        char node[256];
        snprintf(node, sizeof node,
                 "AveragePool <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1], "
                 "ceil_mode = 1, count_include_pad = %d> (x)",
                 counted);
        run_node("float[2,18,8,7]", "float[2,18,5,4]", node, 1);
        snprintf(node, sizeof node,
                 "AveragePool <kernel_shape = [4], strides = [3], pads = [2, 1], "
                 "count_include_pad = %d> (x)",
                 counted);
        run_node("float[2,18,10]", "float[2,18,4]", node, 1);
    }
}

static void whole_images(void **state) {
    (void)state;
    run_node("float[2,35,5,6]", "float[2,35,1,1]", "GlobalAveragePool (x)", 1);
    run_node("float[2,35,5,6]", "float[2,35,1,1]", "GlobalMaxPool (x)", 1);
    run_node("float[2,35,9]", "float[2,35,1]", "GlobalAveragePool (x)", 1);
    static const char *const names[] = {"ReduceMax", "ReduceMean", "ReduceSum"};
    for (int i = 0; i < 3; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "m (float[2,6,4,5] x) => (float[2,6] y, float[2,6,1,1] z) <int64[2] a = {2, 3}, "
                 "int64[2] b = {-1, -2}> { y = %s <keepdims = 0> (x, a) z = %s (x, b) }",
                 names[i], names[i]);
        run(text, 2);
    }
}

/* What follows a pool finds its result in the order it has. */
static void chains(void **state) {
    (void)state;
    run("m (float[2,6,9,9] x) => (float[2,6] z) <int64[2] shape = {2, 6}> {"
        " a = MaxPool <kernel_shape = [3, 3]> (x)"
        " b = AveragePool <kernel_shape = [2, 2]> (a)"
        " y = GlobalMaxPool (b)"
        " z = Reshape (y, shape) }",
        3);
}

static void declined(void **state) {
    (void)state;
    run("m (float[1,3,6,6] x) => (float[1,3,3,3] y, int64[1,3,3,3] at) {"
        " y, at = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x) }",
        0);
    run_node("double[1,3,4,4]", "double[1,3,1,1]", "GlobalAveragePool (x)", 0);
    run_node("float[1,2,4,4,4]", "float[1,2,3,3,3]", "MaxPool <kernel_shape = [2, 2, 2]> (x)", 0);
    run("m (float[2,6,4,5] x) => (float[2,1,4,5] y) <int64[1] a = {1}> { y = ReduceMean (x, a) }",
        0);
    run("m (float[2,6,4,5] x) => (float[2,6,4,1] y) <int64[1] a = {3}> { y = ReduceMax (x, a) }",
        0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows),
        cmocka_unit_test(whole_images),
        cmocka_unit_test(chains),
        cmocka_unit_test(declined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

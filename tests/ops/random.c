/* Random numbers: the ends of each distribution, where the result is certain; and its shape, from
 * many draws. */
#include <math.h>

#include "ops/eval.h"
#include "support/op_test.h"

static void uniform(void **state) {
    (void)state;
    OP_RUN("RandomUniform", .attrs = "shape=[2, 2] low=5.0 high=5.0", .out = {"f32[2, 2]{5 ...}"});
    OP_RUN("RandomUniform", .attrs = "shape=[3] seed=7.0 dtype=11", .out = {"f64[3]"});
    OP_RUN("RandomUniform", .attrs = "shape=[0, 2]", .out = {"f32[0, 2]{}"});
    OP_RUN("RandomUniformLike", .attrs = "low=-2.0 high=-2.0", .in = {"f16[2]{1 2}"},
           .out = {"f16[2]{-2 -2}"});
    OP_RUN("RandomUniformLike", .attrs = "dtype=16 low=1.0", .in = {"s32[1, 1]{1}"},
           .out = {"bf16[1, 1]{1}"});
}

static void normal(void **state) {
    (void)state;
    OP_RUN("RandomNormal", .attrs = "shape=[2] scale=0.0 mean=3.0", .out = {"f32[2]{3 3}"});
    OP_RUN("RandomNormalLike", .attrs = "scale=0.0 mean=-1.5", .in = {"f64[]{9}"},
           .out = {"f64[]{-1.5}"});
    OP_RUN("RandomNormalLike", .attrs = "dtype=10 seed=0.5", .in = {"bool[4]{0 ...}"},
           .out = {"f16[4]"});
}

static void choices(void **state) {
    (void)state;
    OP_RUN("Bernoulli", .in = {"f32[4]{0 1 0 1}"}, .out = {"f32[4]{0 1 0 1}"});
    OP_RUN("Bernoulli", .attrs = "dtype=9", .in = {"f16[2]{1 0}"}, .out = {"bool[2]{1 0}"});
    OP_RUN("Bernoulli", .attrs = "dtype=7 seed=3.0", .in = {"f64[2]{nan 1}"},
           .out = {"s64[2]{0 1}"});
    OP_RUN("Multinomial", .attrs = "sample_size=3", .in = {"f32[2, 3]{-inf 5 -inf 0 -inf -inf}"},
           .out = {"s32[2, 3]{1 1 1 0 0 0}"});
    /* Log-probabilities need not be near 0. */
    OP_RUN("Multinomial", .attrs = "sample_size=2 dtype=7", .in = {"f64[1, 2]{1000 9000}"},
           .out = {"s64[1, 2]{1 1}"});
    OP_RUN("Multinomial", .attrs = "sample_size=0", .in = {"f32[1, 2]{0 0}"},
           .out = {"s32[1, 0]{}"});
    OP_RUN("Multinomial", .in = {"f32[1, 2]{-inf -inf}"}, .error = "largest log-probability -inf");
    OP_RUN("Multinomial", .in = {"f32[2, 2]{0 0 nan 1}"}, .error = "row 1 has");
    OP_RUN("Multinomial", .in = {"f32[1, 0]{}"}, .error = "row 0 has");
}

static void shapes(void **state) {
    (void)state;
    OP_INFER("RandomUniformLike", .in = {"f32[n, 3]"}, .out = {"f32[n, 3]"});
    OP_INFER("RandomNormalLike", .attrs = "dtype=11", .in = {"s64"}, .out = {"f64"});
    OP_INFER("Bernoulli", .attrs = "dtype=3", .in = {"f32[n]"}, .out = {"s8[n]"});
    OP_INFER("Multinomial", .attrs = "sample_size=9", .in = {"f32[n, c]"}, .out = {"s32[n, 9]"});
    OP_INFER("Multinomial", .in = {"f32"}, .out = {"s32[?, 1]"});
    OP_INFER("RandomUniform", .attrs = "shape=[2, -1]", .error = "gets the size -1");
    OP_INFER("RandomUniform", .attrs = "shape=[2] dtype=7", .error = "dtype is s64 (7)");
    OP_INFER("RandomUniform", .attrs = "shape=[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]",
             .error = "the shape has rank 17, at most 16");
    OP_INFER("RandomNormalLike", .in = {"s64[2]"}, .error = "a dtype is needed");
    OP_INFER("Multinomial", .attrs = "sample_size=-1", .in = {"f32"}, .error = "sample_size is -1");
    OP_INFER("Multinomial", .in = {"f32[2]"}, .error = "rank 1");
}

/* ---- many draws ---- */

#define DRAWS 20000

typedef struct draw {
    const char *op;
    hn_tensor *in; /* or NULL */
    float seed;    /* NAN: none */
    uint64_t run_seed;
} draw;

/* DRAWS numbers; the caller's array is filled with them. */
static void run(const draw *d, double *v) {
    hn_error err;
    hn_model *m;
    hn_value *x = NULL, *y;
    hn_node *n;
    hn_attr *seed;
    hn_tensor *out = NULL;
    assert_int_equal(hn_model_create(&m, hn_allocator_default(), &err), HONE_OK);
    assert_int_equal(hn_graph_create(&m->graph, m, NULL, &err), HONE_OK);
    assert_int_equal(hn_node_create(&n, m->graph, "", d->op, "", d->in != NULL, 1, &err), HONE_OK);
    n->op = hn_op_find("", d->op);
    assert_int_equal(hn_value_create(&y, m->graph, "y", NULL, &err), HONE_OK);
    hn_node_set_output(n, 0, y);
    if (d->in != NULL) {
        assert_int_equal(hn_value_create(&x, m->graph, "x", NULL, &err), HONE_OK);
        hn_node_set_input(n, 0, x);
    } else {
        assert_int_equal(hn_node_set_ints(n, "shape", (int64_t[]){DRAWS}, 1, &err), HONE_OK);
    }
    if (strcmp(d->op, "Multinomial") == 0)
        assert_int_equal(hn_node_set_i(n, "sample_size", DRAWS, &err), HONE_OK);
    if (!isnan(d->seed)) {
        assert_int_equal(hn_node_add_attr(&seed, n, "seed", HN_ATTR_FLOAT, &err), HONE_OK);
        seed->u.f = d->seed;
    }
    hn_exec_options o = {.alloc = hn_allocator_default(), .seed = d->run_seed};
    assert_int_equal(hn_node_run(n, &o, (const hn_tensor *const[]){d->in}, &out, &err), HONE_OK);
    assert_int_equal(out->n, DRAWS);
    hn_load_f64_n(out->dtype, out->data, 0, DRAWS, v);
    hn_tensor_unref(out);
    hn_model_destroy(m);
}

static double a[DRAWS], b[DRAWS];

/* How many of a[] lie in [lo, hi), as a fraction. */
static double share(double lo, double hi) {
    int count = 0;
    for (int i = 0; i < DRAWS; i++) count += a[i] >= lo && a[i] < hi;
    return (double)count / DRAWS;
}

/* Four times the standard deviation of a share of DRAWS is below 0.015. */
#define ABOUT(found, wanted) assert_true(fabs((found) - (wanted)) < 0.015)

static void distributions(void **state) {
    (void)state;
    run(&(draw){.op = "RandomUniform", .seed = 1}, a);
    ABOUT(share(0, 0.25), 0.25);
    ABOUT(share(0.25, 0.5), 0.25);
    ABOUT(share(0.5, 0.75), 0.25);
    assert_true(share(0, 1) == 1);
    run(&(draw){.op = "RandomNormal", .seed = 1}, a);
    ABOUT(share(-INFINITY, -1), 0.1587);
    ABOUT(share(-1, 0), 0.3413);
    ABOUT(share(0, 1), 0.3413);
    ABOUT(share(1, 2), 0.1359);

    hn_tensor *p;
    const float log_p[] = {0, 0.6931472f, 1.6094379f}; /* 1 : 2 : 5 */
    assert_int_equal(
        hn_tensor_from_f32(&p, hn_allocator_default(), 2, (int64_t[]){1, 3}, log_p, NULL), HONE_OK);
    run(&(draw){.op = "Multinomial", .in = p, .seed = 1}, a);
    ABOUT(share(0, 1), 0.125);
    ABOUT(share(1, 2), 0.25);
    ABOUT(share(2, 3), 0.625);
    hn_tensor_unref(p);

    assert_int_equal(hn_tensor_create(&p, hn_allocator_default(), HN_MEM_TENSOR, HONE_DTYPE_F32, 1,
                                      (int64_t[]){DRAWS}, NULL),
                     HONE_OK);
    for (int i = 0; i < DRAWS; i++) ((float *)p->data)[i] = 0.3f;
    run(&(draw){.op = "Bernoulli", .in = p, .seed = 1}, a);
    ABOUT(share(1, 2), 0.3);
    ABOUT(share(0, 1), 0.7);
    hn_tensor_unref(p);
}

/* The seed of the node decides, without one that of the run. */
static void seeds(void **state) {
    (void)state;
    run(&(draw){.op = "RandomUniform", .seed = 2, .run_seed = 1}, a);
    run(&(draw){.op = "RandomUniform", .seed = 2, .run_seed = 5}, b);
    assert_memory_equal(a, b, sizeof a);
    run(&(draw){.op = "RandomUniform", .seed = 2.5f}, b);
    assert_memory_not_equal(a, b, sizeof a);
    run(&(draw){.op = "RandomNormal", .seed = NAN, .run_seed = 1}, a);
    run(&(draw){.op = "RandomNormal", .seed = NAN, .run_seed = 1}, b);
    assert_memory_equal(a, b, sizeof a);
    run(&(draw){.op = "RandomNormal", .seed = NAN, .run_seed = 2}, b);
    assert_memory_not_equal(a, b, sizeof a);
}

/* A seed means the same numbers on every machine: they come from operations that IEEE rounds
 * exactly. */
static void golden_numbers(void **state) {
    (void)state;
    run(&(draw){.op = "RandomUniform", .seed = 1}, a);
    assert_true(a[0] == 0x1.96443ap-1 && a[1] == 0x1.bfa36p-2 && a[DRAWS - 1] == 0x1.fbba4ap-5);
    run(&(draw){.op = "RandomNormal", .seed = 1}, a);
    assert_true(a[0] == 0x1.0d8bb8p-2 && a[1] == -0x1.2f5532p-1);
    assert_true(a[300] == 0x1.bc6fa8p-5 && a[DRAWS - 1] == 0x1.6e32bcp-2);
}

/* Moments of N(0, 1), and no correlation between the numbers of a pair, or of neighbours. */
static void moments(void **state) {
    (void)state;
    run(&(draw){.op = "RandomNormal", .seed = 3}, a);
    double sum = 0, squares = 0, fourth = 0, pairs = 0, neighbours = 0;
    for (int i = 0; i < DRAWS; i++) {
        sum += a[i], squares += a[i] * a[i], fourth += a[i] * a[i] * a[i] * a[i];
        if (i % 512 < 256 && i + 256 < DRAWS) pairs += a[i] * a[i + 256];
        if (i > 0) neighbours += a[i] * a[i - 1];
    }
    assert_true(fabs(sum / DRAWS) < 4 * sqrt(1.0 / DRAWS));
    assert_true(fabs(squares / DRAWS - 1) < 4 * sqrt(2.0 / DRAWS));
    assert_true(fabs(fourth / DRAWS - 3) < 4 * sqrt(96.0 / DRAWS));
    assert_true(fabs(pairs / (DRAWS / 2)) < 4 * sqrt(2.0 / DRAWS));
    assert_true(fabs(neighbours / DRAWS) < 4 * sqrt(1.0 / DRAWS));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uniform),        cmocka_unit_test(normal),
        cmocka_unit_test(choices),        cmocka_unit_test(shapes),
        cmocka_unit_test(distributions),  cmocka_unit_test(seeds),
        cmocka_unit_test(golden_numbers), cmocka_unit_test(moments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

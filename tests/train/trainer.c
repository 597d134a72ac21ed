/* Steps of training: against updates computed by hand, against the plain executor, on one thread
 * and on two. */
#include "train/trainer.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "support/graph.h"
#include "support/method_model.h"
#include "support/scratch.h"

enum { BATCH = 8 };

typedef struct bench {
    hn_pool *pool;
    hn_run_options how;
    hn_step_options o;
    hn_step_sizes sizes, target;
    hn_error err;
} bench;

static void begin(bench *b, const char *optimizer, const char *loss, int threads, bool plain) {
    *b = (bench){.o = {.optimizer_options = hn_optimizer_defaults()}};
    assert_int_equal(hn_pool_create(&b->pool, threads, &scratch_mem, &b->err), HONE_OK);
    b->how.engine.alloc = &scratch_mem;
    b->how.engine.pool = b->pool;
    b->how.engine.isa = hn_isa_available();
    if (plain) assert_int_equal(hn_backend_find("reference", &b->how.backend, &b->err), HONE_OK);
    assert_int_equal(hn_optimizer_find(optimizer, &b->o.optimizer, &b->err), HONE_OK);
    assert_int_equal(hn_loss_find(loss, &b->o.loss, &b->err), HONE_OK);
    b->o.loss_options.delta = 0.5;
}

static hn_trainer *trainer(bench *b, const hn_model *m) {
    hn_trainer *t = NULL;
    if (hn_trainer_create(&t, m, &b->sizes, &b->target, &b->o, &b->how, &b->err) != HONE_OK)
        fail_msg("%s", b->err.text);
    return t;
}

static hn_tensor *numbers(hone_dtype dtype, int rank, const int64_t *dims, uint64_t seed) {
    hn_tensor *t;
    hn_error err;
    hn_rng rng;
    hn_rng_init(&rng, seed);
    assert_int_equal(hn_tensor_create(&t, &scratch_mem, HN_MEM_TENSOR, dtype, rank, dims, &err),
                     HONE_OK);
    for (int64_t i = 0; i < t->n; i++) {
        if (dtype == HONE_DTYPE_F32)
            ((float *)t->data)[i] = (float)hn_rng_normal(&rng);
        else
            ((int64_t *)t->data)[i] = (int64_t)hn_rng_below(&rng, 3);
    }
    return t;
}

/* ---- by hand ---- */

/* y = x . w with x = 1: the gradient of the squared error of one output is 2 (w - target) / n. */
static void updates_are_those_of_the_formulas(void **state) {
    (void)state;
    static const char text[] =
        "m (float[2,2] x, float[2,2] w) => (float[2,2] y) { y = Mul (x, w) }";
    static const char *const names[] = {"sgd", "adam", "adamw"};
    for (int which = 0; which < 4; which++) {
        bench b;
        begin(&b, names[which % 3], "mse", 1, false);
        b.o.optimizer_options.decay = 0.1;
        b.o.optimizer_options.nesterov = which == 3;
        b.sizes = b.target = (hn_step_sizes){.rank = 2, .dims = {2, 2}, .dtype = HONE_DTYPE_F32};
        hn_model *m = method_model(text, 1);
        hn_trainer *t = trainer(&b, m);
        double p[4], m1[4] = {0}, m2[4] = {0}, loss, rate = 0.05;
        for (int i = 0; i < 4; i++) p[i] = (double)method_weight(m, "w")[i];
        const int64_t dims[] = {2, 2};
        hn_tensor *x = numbers(HONE_DTYPE_F32, 2, dims, 3),
                  *y = numbers(HONE_DTYPE_F32, 2, dims, 4);
        for (int step = 1; step <= 5; step++) {
            const hn_tensor *in[] = {x};
            assert_int_equal(hn_trainer_step(t, in, y, rate, &loss, &b.err), HONE_OK);
            double sum = 0;
            for (int i = 0; i < 4; i++) {
                double xi = (double)((float *)x->data)[i],
                       e = xi * p[i] - (double)((float *)y->data)[i];
                double g = 2 * e * xi / 4;
                sum += e * e / 4;
                if (which % 3 != 2) g += 0.1 * p[i];
                if (which % 3 == 0) {
                    m1[i] = 0.9 * m1[i] + g;
                    p[i] -= rate * (which == 3 ? g + 0.9 * m1[i] : m1[i]);
                    continue;
                }
                if (which == 2) p[i] -= rate * 0.1 * p[i];
                m1[i] = 0.9 * m1[i] + 0.1 * g;
                m2[i] = 0.999 * m2[i] + 0.001 * g * g;
                p[i] -= rate * m1[i] / (1 - pow(0.9, step)) /
                        (sqrt(m2[i] / (1 - pow(0.999, step))) + 1e-8);
            }
            assert_true(fabs(loss - sum) < 1e-5 * (1 + sum));
            for (int i = 0; i < 4; i++)
                assert_true(fabs((double)hn_trainer_value(t, 0)[i] - p[i]) < 2e-5);
        }
        hn_tensor_unref(x);
        hn_tensor_unref(y);
        hn_trainer_destroy(t);
        hn_model_destroy(m);
        hn_pool_destroy(b.pool);
    }
}

/* ---- networks ---- */

/* Convolutions of all kinds, both norms, both pools, a residual and a product. */
static const char network[] =
    "m (float[n,3,10,10] x, float[12,3,3,3] w1, float[12] w2, float[12] w3, float[12,1,3,3] w4,"
    " float[12] w5, float[8,12,1,1] w6, float[8,4,3,3] w7, float[3,32] w8, float[3] w9,"
    " float[12] wm, float[12] wv) => "
    "(float[n,3] y) {"
    " a = Conv <pads = [1, 1, 1, 1]> (x, w1)"
    " b = BatchNormalization (a, w2, w3, wm, wv)"
    " c = Relu (b)"
    " d = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (c)"
    " e = Conv <group = 12, pads = [1, 1, 1, 1]> (d, w4, w5)"
    " f = Add (d, e)"
    " g = Conv (f, w6)"
    " h = Conv <group = 2, pads = [1, 1, 1, 1], strides = [2, 2]> (g, w7)"
    " i = HardSwish (h)"
    " j = AveragePool <kernel_shape = [2, 2]> (i)"
    " k = Flatten (j)"
    " y = Gemm <transB = 1> (k, w8, w9) }";

typedef struct trained {
    int n;
    float *values[32];
    int64_t counts[32];
    double loss;
} trained;

static void train_network(trained *out, int threads, bool plain, int steps) {
    bench b;
    const int64_t dims[] = {BATCH, 3, 10, 10}, n = BATCH;
    begin(&b, "sgd", "cross-entropy", threads, plain);
    b.sizes = (hn_step_sizes){.rank = 4, .dims = {BATCH, 3, 10, 10}, .dtype = HONE_DTYPE_F32};
    b.target = (hn_step_sizes){.rank = 1, .dims = {BATCH}, .dtype = HONE_DTYPE_S64};
    hn_model *m = method_model(network, 5);
    hn_trainer *t = trainer(&b, m);
    for (int s = 0; s < steps; s++) {
        hn_tensor *x = numbers(HONE_DTYPE_F32, 4, dims, 10 + (uint64_t)s);
        hn_tensor *y = numbers(HONE_DTYPE_S64, 1, &n, 20 + (uint64_t)s);
        const hn_tensor *in[] = {x};
        if (hn_trainer_step(t, in, y, 0.05, &out->loss, &b.err) != HONE_OK)
            fail_msg("%s", b.err.text);
        hn_tensor_unref(x);
        hn_tensor_unref(y);
    }
    const hn_train_step *step = hn_trainer_graph(t);
    out->n = step->n_kept;
    assert_true(out->n <= 32);
    for (int i = 0; i < out->n; i++) {
        out->counts[i] = step->kept[i].n;
        out->values[i] = hn_alloc(&scratch_mem, (size_t)out->counts[i] * 4, HN_MEM_OTHER);
        memcpy(out->values[i], hn_trainer_value(t, i), (size_t)out->counts[i] * 4);
    }
    hn_trainer_destroy(t);
    hn_model_destroy(m);
    hn_pool_destroy(b.pool);
}

static void release(trained *t) {
    for (int i = 0; i < t->n; i++) hn_free(&scratch_mem, t->values[i]);
}

static void threads_change_no_bit(void **state) {
    (void)state;
    trained one, two, four;
    train_network(&one, 1, false, 3);
    train_network(&two, 2, false, 3);
    train_network(&four, 4, false, 3);
    for (int i = 0; i < one.n; i++) {
        assert_memory_equal(one.values[i], two.values[i], (size_t)one.counts[i] * 4);
        assert_memory_equal(one.values[i], four.values[i], (size_t)one.counts[i] * 4);
    }
    release(&one);
    release(&two);
    release(&four);
}

static void the_engine_agrees_with_the_references(void **state) {
    (void)state;
    trained fast, plain;
    train_network(&fast, 1, false, 1);
    train_network(&plain, 1, true, 1);
    assert_int_equal(fast.n, plain.n);
    assert_true(fabs(fast.loss - plain.loss) <= 1e-4 * (1 + plain.loss));
    for (int i = 0; i < fast.n; i++) {
        double most = 0, worst = 0;
        for (int64_t k = 0; k < fast.counts[i]; k++) {
            most = fmax(most, fabs((double)plain.values[i][k]));
            worst = fmax(worst, fabs((double)(fast.values[i][k] - plain.values[i][k])));
        }
        assert_true(worst <= 2e-4 * (most + 1e-3));
    }
    release(&fast);
    release(&plain);
}

/* ---- what is trained ---- */

static int count(const hn_train_step *s, hn_kept_kind kind) {
    int n = 0;
    for (int i = 0; i < s->n_kept; i++) n += s->kept[i].kind == kind;
    return n;
}

static void frozen_parameters_stay(void **state) {
    (void)state;
    bench b;
    const char *frozen[] = {"w1"}, *none[] = {"q*"};
    begin(&b, "adam", "cross-entropy", 1, false);
    b.sizes = (hn_step_sizes){.rank = 4, .dims = {BATCH, 3, 10, 10}, .dtype = HONE_DTYPE_F32};
    b.target = (hn_step_sizes){.rank = 1, .dims = {BATCH}, .dtype = HONE_DTYPE_S64};
    hn_model *m = method_model(network, 5);
    hn_trainer *t = trainer(&b, m);
    assert_int_equal(count(hn_trainer_graph(t), HN_KEPT_PARAMETER), 9);
    assert_int_equal(count(hn_trainer_graph(t), HN_KEPT_MOMENT), 18);
    assert_int_equal(count(hn_trainer_graph(t), HN_KEPT_STATISTIC), 2);
    hn_trainer_destroy(t);
    b.o.frozen = frozen;
    b.o.n_frozen = 1;
    t = trainer(&b, m);
    assert_int_equal(count(hn_trainer_graph(t), HN_KEPT_PARAMETER), 8);
    hn_trainer_destroy(t);
    b.o.frozen = none;
    assert_int_equal(hn_trainer_create(&t, m, &b.sizes, &b.target, &b.o, &b.how, &b.err),
                     HONE_E_ARG);
    assert_non_null(strstr(b.err.text, "'q*'"));
    hn_model_destroy(m);
    hn_pool_destroy(b.pool);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(updates_are_those_of_the_formulas),
        TEST(threads_change_no_bit),
        TEST(the_engine_agrees_with_the_references),
        TEST(frozen_parameters_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

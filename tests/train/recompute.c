/* Activations that are computed twice: results are the same bits, and steps take less memory. */
#include "train/recompute.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "support/graph.h"
#include "support/made.h"
#include "support/method_model.h"
#include "support/scratch.h"
#include "train/trainer.h"

enum { MOST_INPUTS = 4, STEPS = 3 };

typedef struct bench {
    hn_model *model;
    hn_pool *pool;
    hn_run_options how;
    hn_step_options o;
    hn_ranks alone;
    int n;
    hn_step_sizes sizes[MOST_INPUTS], target;
    hn_error err;
} bench;

/* Axes that the model leaves open: the batch first, and else 16. Labels are 0 and 1. */
static void begin(bench *b, hn_model *m, int64_t batch, int threads) {
    *b = (bench){.model = m, .alone = {.size = 1}};
    b->o.optimizer_options = hn_optimizer_defaults();
    b->o.ranks = &b->alone;
    b->o.average = 0.9;
    b->target = (hn_step_sizes){.rank = 1, .dims = {batch}, .dtype = HONE_DTYPE_S64};
    assert_int_equal(hn_pool_create(&b->pool, threads, &scratch_mem, &b->err), HONE_OK);
    b->how.engine.alloc = &scratch_mem;
    b->how.engine.pool = b->pool;
    b->how.engine.isa = hn_isa_available();
    assert_int_equal(hn_optimizer_find("adam", &b->o.optimizer, &b->err), HONE_OK);
    assert_int_equal(hn_loss_find("cross-entropy", &b->o.loss, &b->err), HONE_OK);
    for (int i = 0; i < m->graph->n_inputs; i++) {
        const hn_value *v = m->graph->inputs[i];
        if (v->constant != NULL) continue;
        hn_step_sizes *s = &b->sizes[b->n++];
        s->dtype = v->type.dtype;
        s->rank = v->type.shape.rank;
        for (int a = 0; a < s->rank; a++)
            if (!hn_dim_is_const(v->type.shape.dim[a], &s->dims[a]))
                s->dims[a] = a == 0 ? batch : 16;
    }
}

static hn_trainer *trainer(bench *b, int segments) {
    hn_trainer *t = NULL;
    b->o.segments = segments;
    if (hn_trainer_create(&t, b->model, b->sizes, &b->target, &b->o, &b->how, &b->err) != HONE_OK)
        fail_msg("%s", b->err.text);
    return t;
}

static hn_tensor *numbers(const hn_step_sizes *s, uint64_t seed) {
    hn_tensor *t;
    hn_error err;
    hn_rng rng;
    hn_rng_init(&rng, seed);
    assert_int_equal(
        hn_tensor_create(&t, &scratch_mem, HN_MEM_TENSOR, s->dtype, s->rank, s->dims, &err),
        HONE_OK);
    for (int64_t i = 0; i < t->n; i++)
        hn_store_f64(
            t->dtype, t->data, i,
            t->dtype == HONE_DTYPE_F32 ? hn_rng_normal(&rng) : (double)hn_rng_below(&rng, 2));
    return t;
}

/* Steps, or parts of them. */
static double run(bench *b, hn_trainer *t, int n) {
    double loss = 0;
    for (int i = 0; i < n; i++) {
        hn_tensor *in[MOST_INPUTS], *y = numbers(&b->target, 90 + (uint64_t)i);
        for (int k = 0; k < b->n; k++) in[k] = numbers(&b->sizes[k], (uint64_t)(10 * i + k));
        if (hn_trainer_step(t, (const hn_tensor *const *)in, y, 0.01, &loss, &b->err) != HONE_OK)
            fail_msg("%s", b->err.text);
        for (int k = 0; k < b->n; k++) hn_tensor_unref(in[k]);
        hn_tensor_unref(y);
    }
    return loss;
}

static void end(bench *b) {
    hn_pool_destroy(b->pool);
    hn_model_destroy(b->model);
}

/* Both have taken the same steps. */
static void same_values(hn_trainer *a, hn_trainer *b) {
    const hn_train_step *s = hn_trainer_graph(a);
    for (int i = 0; i < s->n_kept; i++)
        if (memcmp(hn_trainer_value(a, i), hn_trainer_value(b, i),
                   (size_t)s->kept[i].n * sizeof(float)) != 0)
            fail_msg("%s differs", s->kept[i].name);
}

/* ---- the same bits ---- */

/* Norms, residuals, dropout, both pools, a view, and two values that cross many nodes. */
static hn_model *network(void) {
    return method_model(
        "m (float[n,3,12,12] x, float[8,3,3,3] w1, float[8] w2, float[8] w3, float[8,8,3,3] w4,"
        " float[8] w5, float[8] w6, float[8,1,3,3] w7, float[8] w8, float[16,8,1,1] w9,"
        " float[16] wa, float[16] wb, float[3,144] wc, float[3] wd,"
        " float[8] wm, float[8] wv, float[8] wn, float[8] wu, float[16] wo, float[16] wt) => "
        "(float[n,3] y) {"
        " a = Conv <pads = [1, 1, 1, 1]> (x, w1)"
        " b = BatchNormalization (a, w2, w3, wm, wv)"
        " c = Relu (b)"
        " d = Conv <pads = [1, 1, 1, 1]> (c, w4)"
        " e = BatchNormalization (d, w5, w6, wn, wu)"
        " f = Add (e, c)"
        " g = HardSwish (f)"
        " r = Constant <value = float {0.25}> () h = Dropout (g, r)"
        " i = Conv <group = 8, pads = [1, 1, 1, 1]> (h, w7, w8)"
        " j = Add (i, c)"
        " k = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (j)"
        " l = Conv (k, w9)"
        " o = BatchNormalization (l, wa, wb, wo, wt)"
        " p = Sigmoid (o)"
        " q = AveragePool <kernel_shape = [2, 2], strides = [2, 2]> (p)"
        " s = Flatten (q) t = Dropout (s, r)"
        " y = Gemm <transB = 1> (t, wc, wd) }",
        5);
}

static void results_are_the_same_bits(void **state) {
    (void)state;
    for (int threads = 1; threads <= 2; threads++)
        for (int parts = 0; parts <= 2; parts += 2) {
            bench b;
            begin(&b, network(), 8, threads);
            b.o.parts = parts;
            int n = parts > 0 ? STEPS * parts : STEPS;
            hn_trainer *once = trainer(&b, 0);
            double loss = run(&b, once, n);
            assert_int_equal(hn_trainer_graph(once)->twice.segments, 0);
            for (int segments = 1; segments <= 6; segments++) {
                hn_trainer *t = trainer(&b, segments);
                hn_recomputed twice = hn_trainer_graph(t)->twice;
                assert_true(twice.segments >= 1 && twice.segments <= segments);
                assert_true(twice.share > 0 && twice.share < 0.5);
                assert_true(run(&b, t, n) == loss);
                same_values(once, t);
                hn_trainer_destroy(t);
            }
            hn_trainer_destroy(once);
            end(&b);
        }
}

/* Models with operators of all kinds; bert reads tokens. */
static void results_of_models_are_the_same_bits(void **state) {
    (void)state;
    static const char *const models[][2] = {
        {"mobilenetv3-small", "stem=cifar resolution=32 width=0.25"},
        {"efficientnet-b0", "stem=cifar resolution=32 width=0.25 depth=0.5"},
        {"vit", "dim=48 layers=3 heads=3 patch=4 resolution=16"},
        {"bert-tiny", "vocab=100"},
        {"resnet18", "stem=cifar resolution=32 width=0.25"},
        {"lenet5", NULL},
    };
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        bench b;
        begin(&b, made_architecture(models[i][0], models[i][1]), 4, 2);
        hn_trainer *once = trainer(&b, 0), *twice = trainer(&b, 3);
        assert_true(hn_trainer_graph(twice)->twice.segments >= 2);
        double loss = run(&b, once, 2), again = run(&b, twice, 2);
        if (loss != again) fail_msg("%s: %.9g and %.9g", models[i][0], loss, again);
        same_values(once, twice);
        hn_trainer_destroy(once);
        hn_trainer_destroy(twice);
        end(&b);
    }
}

/* ---- memory ---- */

static void planned_memory_falls(void **state) {
    (void)state;
    bench b;
    size_t planned[6];
    begin(&b, made_architecture("resnet20", NULL), 32, 1);
    for (int segments = 0; segments <= 4; segments += 2) {
        hn_allocator own;
        hn_allocator_init(&own);
        b.how.engine.alloc = &own;
        hn_trainer *t = trainer(&b, segments);
        planned[segments] = hn_trainer_planned(t);
        run(&b, t, 1);
        size_t peak = atomic_load(&own.peak);
        if (peak > planned[segments] || (double)peak < 0.98 * (double)planned[segments])
            fail_msg("%zu bytes were planned, %zu taken", planned[segments], peak);
        hn_trainer_destroy(t);
        assert_int_equal(atomic_load(&own.blocks), 0);
    }
    if (planned[2] >= planned[0] * 2 / 3 || planned[4] >= planned[2])
        fail_msg("%zu, %zu and %zu bytes", planned[0], planned[2], planned[4]);
    end(&b);
}

/* What would be taken is known without taking it. */
static void needs_are_known(void **state) {
    (void)state;
    bench b;
    begin(&b, network(), 8, 1);
    for (int segments = 0; segments <= 3; segments++) {
        hn_allocator own;
        hn_allocator_init(&own);
        b.how.engine.alloc = &own;
        b.o.segments = segments;
        size_t bytes, before;
        hn_recomputed twice;
        assert_int_equal(
            hn_trainer_need(&bytes, &twice, b.model, b.sizes, &b.target, &b.o, &b.how, &b.err),
            HONE_OK);
        before = atomic_load(&own.peak);
        assert_true(before < bytes);
        assert_int_equal(atomic_load(&own.blocks), 0);
        hn_trainer *t = trainer(&b, segments);
        assert_int_equal(hn_trainer_graph(t)->twice.segments, twice.segments);
        assert_int_equal(hn_trainer_planned(t), bytes);
        hn_trainer_destroy(t);
    }
    end(&b);
}

/* ---- trouble ---- */

static void failed_allocations_leave_nothing(void **state) {
    (void)state;
    bench b;
    begin(&b, network(), 4, 1);
    b.o.segments = 2;
    for (long long n = 0;; n += 1 + n / 8) {
        hn_allocator own;
        hn_allocator_init(&own);
        b.how.engine.alloc = &own;
        atomic_store(&own.fail_after, n);
        hn_train_step *s = NULL;
        hone_status status =
            hn_train_step_create(&s, b.model, b.sizes, &b.target, &b.o, &own, &b.err);
        hn_train_step_destroy(s);
        assert_int_equal(atomic_load(&own.blocks), 0);
        if (status == HONE_OK) break;
        assert_int_equal(status, HONE_E_NOMEM);
    }
    end(&b);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(results_are_the_same_bits),
        TEST(results_of_models_are_the_same_bits),
        TEST(planned_memory_falls),
        TEST(needs_are_known),
        TEST(failed_allocations_leave_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

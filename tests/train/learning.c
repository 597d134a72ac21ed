/* Small models of operators whose gradients are spelled out learn a batch by heart: the loss falls,
 * to the same bits on one thread and on two, and as by the references. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "support/method_model.h"
#include "support/scratch.h"
#include "train/trainer.h"

enum { BATCH = 6, STEPS = 30, MOST = 64 };

typedef struct learner {
    const char *text, *loss;
    hn_step_sizes sizes, target;
    double rate;
} learner;

static const learner learners[] = {
    /* Classes of sequences. */
    {"m (float[n,5,4] x, float[2,32,4] w1, float[2,32,8] w2, float[2,64] w3, float[3,16] w4,"
     " float[3] w5) => (float[n,3] y) { t = Transpose <perm = [1, 0, 2]> (x)"
     " a, h, c = LSTM <hidden_size = 8, direction = \"bidirectional\"> (t, w1, w2, w3)"
     " b = Transpose <perm = [1, 0, 2]> (h) f = Flatten (b)"
     " r = Constant <value = float {0.1}> () d = Dropout (f, r)"
     " y = Gemm <transB = 1> (d, w4, w5) }",
     "cross-entropy",
     {.rank = 3, .dims = {BATCH, 5, 4}, .dtype = HONE_DTYPE_F32},
     {.rank = 1, .dims = {BATCH}, .dtype = HONE_DTYPE_S64},
     0.02},
    {"m (float[n,5,4] x, float[1,24,4] w1, float[1,24,8] w2, float[1,48] w3, float[3,8] w4)"
     " => (float[n,3] y) { t = Transpose <perm = [1, 0, 2]> (x)"
     " a, h = GRU <hidden_size = 8, linear_before_reset = 1> (t, w1, w2, w3)"
     " z = Constant <value = int64[1] {0}> () s = Squeeze (h, z)"
     " y = Gemm <transB = 1> (s, w4) }",
     "cross-entropy",
     {.rank = 3, .dims = {BATCH, 5, 4}, .dtype = HONE_DTYPE_F32},
     {.rank = 1, .dims = {BATCH}, .dtype = HONE_DTYPE_S64},
     0.02},
    /* A block of attention, by heads that share keys, with a norm over groups. */
    {"m (float[n,5,8] x, float[8,8] w1, float[8,4] w2, float[8,4] w3, float[8] w4, float[8] w5,"
     " float[3,8] w6) => (float[n,3] y) { q = MatMul (x, w1) k = MatMul (x, w2) v = MatMul (x, w3)"
     " a = Attention <q_num_heads = 4, kv_num_heads = 2, is_causal = 1> (q, k, v)"
     " r = Add (x, a) t = Transpose <perm = [0, 2, 1]> (r)"
     " g = GroupNormalization <num_groups = 2> (t, w4, w5) s = Gelu (g)"
     " p = GlobalAveragePool (s) f = Flatten (p) y = Gemm <transB = 1> (f, w6) }",
     "cross-entropy",
     {.rank = 3, .dims = {BATCH, 5, 8}, .dtype = HONE_DTYPE_F32},
     {.rank = 1, .dims = {BATCH}, .dtype = HONE_DTYPE_S64},
     0.02},
    /* Scores are images of one pixel, and end in a Softmax. */
    {"m (float[n,2,6,6] x, float[8,2,3,3] w1, float[3,8,1,1] w2) => (float[n,3,1,1] y) {"
     " a = Conv (x, w1) b = Relu (a) c = Conv (b, w2) p = GlobalAveragePool (c)"
     " y = Softmax <axis = 1> (p) }",
     "cross-entropy",
     {.rank = 4, .dims = {BATCH, 2, 6, 6}, .dtype = HONE_DTYPE_F32},
     {.rank = 1, .dims = {BATCH}, .dtype = HONE_DTYPE_S64},
     0.02},
    /* Down, up again by interpolation, and joined with what was there before. */
    {"m (float[n,2,8,8] x, float[4,2,3,3] w1, float[8,4,3,3] w2, float[8] w3, float[8] w4,"
     " float[1,12,3,3] w5) => (float[n,1,8,8] y) {"
     " a = Conv <pads = [1, 1, 1, 1]> (x, w1) l = Constant <value = float {0.0}> ()"
     " h = Constant <value = float {6.0}> () b = Clip (a, l, h)"
     " c = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (b)"
     " d = Conv <pads = [1, 1, 1, 1]> (c, w2) e = InstanceNormalization (d, w3, w4) f = Relu (e)"
     " s = Constant <value = float[4] {1.0, 1.0, 2.0, 2.0}> ()"
     " u = Resize <mode = \"linear\"> (f, , s) j = Concat <axis = 1> (b, u)"
     " y = Conv <pads = [1, 1, 1, 1]> (j, w5) }",
     "mse",
     {.rank = 4, .dims = {BATCH, 2, 8, 8}, .dtype = HONE_DTYPE_F32},
     {.rank = 4, .dims = {BATCH, 1, 8, 8}, .dtype = HONE_DTYPE_F32},
     0.02},
};
enum { LEARNERS = sizeof learners / sizeof *learners };

static hn_tensor *numbers(const hn_step_sizes *s, uint64_t seed) {
    hn_tensor *t;
    hn_error err;
    hn_rng rng;
    hn_rng_init(&rng, seed);
    assert_int_equal(
        hn_tensor_create(&t, &scratch_mem, HN_MEM_TENSOR, s->dtype, s->rank, s->dims, &err),
        HONE_OK);
    for (int64_t i = 0; i < t->n; i++) {
        if (s->dtype == HONE_DTYPE_F32)
            ((float *)t->data)[i] = (float)hn_rng_normal(&rng);
        else
            ((int64_t *)t->data)[i] = (int64_t)hn_rng_below(&rng, 3);
    }
    return t;
}

typedef struct learned {
    int n;
    float *values[MOST];
    int64_t counts[MOST];
    double first, last;
} learned;

static void learn(const learner *l, int threads, bool plain, int steps, learned *out) {
    hn_error err;
    hn_run_options how = {0};
    hn_step_options o = {.optimizer_options = hn_optimizer_defaults(), .seed = 5};
    hn_trainer *t = NULL;
    assert_int_equal(hn_pool_create(&how.engine.pool, threads, &scratch_mem, &err), HONE_OK);
    how.engine.alloc = &scratch_mem;
    how.engine.isa = hn_isa_available();
    if (plain) assert_int_equal(hn_backend_find("reference", &how.backend, &err), HONE_OK);
    assert_int_equal(hn_optimizer_find("adam", &o.optimizer, &err), HONE_OK);
    assert_int_equal(hn_loss_find(l->loss, &o.loss, &err), HONE_OK);
    hn_model *m = method_model(l->text, 3);
    if (hn_trainer_create(&t, m, &l->sizes, &l->target, &o, &how, &err) != HONE_OK)
        fail_msg("%s", err.text);
    hn_tensor *x = numbers(&l->sizes, 1), *y = numbers(&l->target, 2);
    const hn_tensor *in[] = {x};
    for (int s = 0; s < steps; s++) {
        if (hn_trainer_step(t, in, y, l->rate, &out->last, &err) != HONE_OK)
            fail_msg("%s", err.text);
        if (s == 0) out->first = out->last;
    }
    const hn_train_step *step = hn_trainer_graph(t);
    out->n = step->n_kept;
    assert_true(out->n <= MOST);
    for (int i = 0; i < out->n; i++) {
        size_t bytes = (size_t)step->kept[i].n * sizeof(float);
        out->counts[i] = step->kept[i].n;
        out->values[i] = hn_alloc(&scratch_mem, bytes, HN_MEM_OTHER);
        memcpy(out->values[i], hn_trainer_value(t, i), bytes);
    }
    hn_tensor_unref(x);
    hn_tensor_unref(y);
    hn_trainer_destroy(t);
    hn_model_destroy(m);
    hn_pool_destroy(how.engine.pool);
}

static void release(learned *l) {
    for (int i = 0; i < l->n; i++) hn_free(&scratch_mem, l->values[i]);
}

static void losses_fall_to_the_same_bits(void **state) {
    (void)state;
    for (int i = 0; i < LEARNERS; i++) {
        learned one, two;
        learn(&learners[i], 1, false, STEPS, &one);
        learn(&learners[i], 2, false, STEPS, &two);
        if (!(one.last < 0.6 * one.first))
            fail_msg("model %d: the loss fell from %g to %g only", i, one.first, one.last);
        assert_true(one.last == two.last);
        for (int k = 0; k < one.n; k++)
            assert_memory_equal(one.values[k], two.values[k],
                                (size_t)one.counts[k] * sizeof(float));
        release(&one);
        release(&two);
    }
}

static void the_references_agree(void **state) {
    (void)state;
    for (int i = 0; i < LEARNERS; i++) {
        learned fast, plain;
        learn(&learners[i], 1, false, 3, &fast);
        learn(&learners[i], 1, true, 3, &plain);
        if (fabs(fast.last - plain.last) > 1e-3 * (1 + plain.last))
            fail_msg("model %d: the loss is %g, and %g by the references", i, fast.last,
                     plain.last);
        release(&fast);
        release(&plain);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {TEST(losses_fall_to_the_same_bits),
                                       TEST(the_references_agree)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

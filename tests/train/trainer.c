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
#include "train/batch_parts.h"

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

/* y = x + w: the gradient of the squared error is 2 (x + w - target) / n. Gradients together are
 * longer than 0.5; w moves at a tenth of the rate, and the average by a fifth of what it lacks. */
static void clipping_rates_and_averages(void **state) {
    (void)state;
    bench b;
    const hn_rate_scale scales[] = {{"w", 0.1}, {"*", 7}};
    const int64_t dims[] = {2, 3};
    begin(&b, "sgd", "mse", 1, false);
    b.o.optimizer_options.momentum = 0;
    b.o.scales = scales;
    b.o.n_scales = 1;
    b.o.clip = 0.5;
    b.o.average = 0.8;
    b.sizes = b.target = (hn_step_sizes){.rank = 2, .dims = {2, 3}, .dtype = HONE_DTYPE_F32};
    hn_model *m =
        method_model("m (float[2,3] x, float[2,3] w) => (float[2,3] y) { y = Add (x, w) }", 1);
    hn_trainer *t = trainer(&b, m);
    hn_tensor *x = numbers(HONE_DTYPE_F32, 2, dims, 3), *y = numbers(HONE_DTYPE_F32, 2, dims, 4);
    const hn_tensor *in[] = {x};
    double p[6], average[6], loss;
    for (int i = 0; i < 6; i++) average[i] = p[i] = (double)method_weight(m, "w")[i];
    for (int step = 0; step < 4; step++) {
        double g[6], sum = 0;
        assert_int_equal(hn_trainer_step(t, in, y, 2, &loss, &b.err), HONE_OK);
        for (int i = 0; i < 6; i++) {
            g[i] = 2 * ((double)((float *)x->data)[i] + p[i] - (double)((float *)y->data)[i]) / 6;
            sum += g[i] * g[i];
        }
        assert_true(sqrt(sum) > 0.5);
        for (int i = 0; i < 6; i++) {
            p[i] -= 0.2 * g[i] * 0.5 / (sqrt(sum) + 1e-6);
            average[i] += 0.2 * (p[i] - average[i]);
        }
    }
    hn_model *made;
    assert_int_equal(hn_model_copy(&made, m, &scratch_mem, &b.err), HONE_OK);
    assert_int_equal(hn_trainer_store(t, made, &b.err), HONE_OK);
    for (int i = 0; i < 6; i++) {
        assert_true(fabs((double)hn_trainer_value(t, 0)[i] - p[i]) < 1e-5);
        assert_true(fabs((double)method_weight(made, "w")[i] - average[i]) < 1e-5);
    }
    hn_trainer_destroy(t);
    b.o.scales = &(hn_rate_scale){"q*", 1};
    assert_int_equal(hn_trainer_create(&t, m, &b.sizes, &b.target, &b.o, &b.how, &b.err),
                     HONE_E_ARG);
    assert_non_null(strstr(b.err.text, "'q*'"));
    hn_model_destroy(made);
    hn_model_destroy(m);
    hn_tensor_unref(x);
    hn_tensor_unref(y);
    hn_pool_destroy(b.pool);
}

/* Parameters and statistics after three steps on 8 samples, in parts of `each`. */
static double in_parts(int64_t each, float p[12]) {
    static const char text[] =
        "m (float[n,3] x, float[3] ws, float[3] wb, float[3] wm, float[3] wv, float[3] w)"
        " => (float[n,3] y) { a = BatchNormalization (x, ws, wb, wm, wv) y = Mul (a, w) }";
    bench b;
    const hn_ranks alone = {.size = 1};
    const int64_t dims[] = {8, 3};
    begin(&b, "adam", "mse", 1, false);
    b.o.parts = each < 8 ? 8 / each : 0;
    b.o.ranks = &alone;
    b.o.clip = 0.1;
    b.o.average = 0.5;
    b.o.frozen_statistics = true;
    b.sizes = b.target = (hn_step_sizes){.rank = 2, .dims = {each, 3}, .dtype = HONE_DTYPE_F32};
    hn_model *m = method_model(text, 1);
    for (int i = 0; i < 3; i++) ((float *)method_weight(m, "wv"))[i] = 1;
    hn_trainer *t = trainer(&b, m);
    hn_tensor *x = numbers(HONE_DTYPE_F32, 2, dims, 3), *y = numbers(HONE_DTYPE_F32, 2, dims, 4);
    double loss = 0;
    for (int step = 0; step < 3; step++)
        for (int64_t at = 0; at < 8; at += each) {
            const int64_t part[] = {each, 3};
            hn_tensor some, wanted;
            const hn_tensor *in[] = {&some};
            hn_tensor_borrow(&some, HONE_DTYPE_F32, 2, part, (float *)x->data + 3 * at, &b.err);
            hn_tensor_borrow(&wanted, HONE_DTYPE_F32, 2, part, (float *)y->data + 3 * at, &b.err);
            if (hn_trainer_step(t, in, &wanted, 0.1, &loss, &b.err) != HONE_OK)
                fail_msg("%s", b.err.text);
        }
    for (int i = 0; i < 3; i++) memcpy(p + 3 * i, hn_trainer_value(t, i), 3 * sizeof(float));
    hn_tensor_unref(x);
    hn_tensor_unref(y);
    hn_trainer_destroy(t);
    hn_model_destroy(m);
    hn_pool_destroy(b.pool);
    return loss;
}

/* Means over parts are those over the batch. */
static void parts_make_the_whole(void **state) {
    (void)state;
    float whole[12] = {0}, some[12] = {0};
    double loss = in_parts(8, whole);
    for (int64_t each = 1; each < 8; each *= 2) {
        double by_parts = in_parts(each, some);
        assert_true(fabs(by_parts - loss) < 1e-5);
        for (int i = 0; i < 9; i++) assert_true(fabsf(some[i] - whole[i]) < 1e-5f);
    }
}

/* Sums of 1 to 20 parts, in the order of the tree. */
static void parts_are_added_as_a_tree(void **state) {
    (void)state;
    const hn_ranks alone = {.size = 1};
    hn_error err;
    for (int64_t n = 1; n <= 20; n++) {
        hn_parts *p;
        hn_rng rng;
        float v[20], sum[20], *found = NULL;
        hn_rng_init(&rng, (uint64_t)n);
        for (int i = 0; i < n; i++) sum[i] = v[i] = (float)hn_rng_normal(&rng);
        assert_int_equal(hn_parts_create(&p, 1, n, &alone, &scratch_mem, &err), HONE_OK);
        for (int round = 0; round < 2; round++)
            for (int i = 0; i < n; i++) {
                assert_true(found == NULL || i == 0);
                *hn_parts_room(p) = v[i];
                assert_int_equal(hn_parts_add(p, &found, &err), HONE_OK);
            }
        for (int64_t left = n, step = 1; left > 1; left = (left + 1) / 2, step *= 2)
            for (int64_t i = 0; i + step < n; i += 2 * step) sum[i] += sum[i + step];
        /* Whole powers of two; otherwise the rest is added from the small to the large. */
        if ((n & (n - 1)) == 0) assert_true(*found == sum[0]);
        assert_true(fabsf(*found - sum[0]) < 1e-5f);
        hn_parts_destroy(p);
    }
}

/* The first loss of y = x * w by this target. */
static double first_loss(bench *b, const hn_tensor *x, const hn_tensor *target) {
    hn_model *m =
        method_model("m (float[4,3] x, float[3] w) => (float[4,3] y) { y = Mul (x, w) }", 1);
    hn_trainer *t;
    double loss;
    const hn_tensor *in[] = {x};
    b->sizes = (hn_step_sizes){.rank = 2, .dims = {4, 3}, .dtype = HONE_DTYPE_F32};
    b->target = (hn_step_sizes){.rank = target->rank, .dtype = target->dtype};
    memcpy(b->target.dims, target->dims, sizeof(int64_t) * (size_t)target->rank);
    t = trainer(b, m);
    assert_int_equal(hn_trainer_step(t, in, target, 0.1, &loss, &b->err), HONE_OK);
    hn_trainer_destroy(t);
    hn_model_destroy(m);
    hn_pool_destroy(b->pool);
    return loss;
}

static void losses_are_those_of_the_formulas(void **state) {
    (void)state;
    static const float weights[] = {1, 3, 0.5f};
    const int64_t dims[] = {4, 3}, n = 4;
    bench b;
    hn_model *m =
        method_model("m (float[4,3] x, float[3] w) => (float[4,3] y) { y = Mul (x, w) }", 1);
    hn_tensor *x = numbers(HONE_DTYPE_F32, 2, dims, 3), *p = numbers(HONE_DTYPE_F32, 2, dims, 4),
              *labels = numbers(HONE_DTYPE_S64, 1, &n, 5);
    float *q = p->data;
    double y[4][3], lp[4][3], kl = 0, far = 0, of_label = 0, of_all = 0, sum = 0;
    for (int i = 0; i < 4; i++) {
        double total = 0, target = 0, yy = 0, qq = 0, yq = 0;
        for (int c = 0; c < 3; c++) {
            y[i][c] = (double)((float *)x->data)[3 * i + c] * (double)method_weight(m, "w")[c];
            q[3 * i + c] = fabsf(q[3 * i + c]);
            total += exp(y[i][c] / 2), target += (double)q[3 * i + c];
        }
        for (int c = 0; c < 3; c++) q[3 * i + c] /= (float)target;
        for (int c = 0; c < 3; c++) {
            double t = (double)q[3 * i + c];
            kl += 4 * t * (log(t) - (y[i][c] / 2 - log(total))) / 4;
            yy += y[i][c] * y[i][c], qq += t * t, yq += y[i][c] * t;
        }
        far += (1 - yq / sqrt(yy * qq)) / 4;
        total = 0;
        for (int c = 0; c < 3; c++) total += exp(y[i][c]);
        for (int c = 0; c < 3; c++) lp[i][c] = y[i][c] - log(total);
        int64_t label = ((int64_t *)labels->data)[i];
        sum += (double)weights[label];
        of_label -= (double)weights[label] * lp[i][label];
        for (int c = 0; c < 3; c++) of_all -= (double)weights[c] * lp[i][c] / 3;
    }
    begin(&b, "sgd", "kl", 1, false);
    b.o.loss_options.temperature = 2;
    assert_true(fabs(first_loss(&b, x, p) - kl) < 1e-5);
    begin(&b, "sgd", "cosine", 1, false);
    assert_true(fabs(first_loss(&b, x, p) - far) < 1e-5);
    for (int smooth = 0; smooth < 2; smooth++) {
        begin(&b, "sgd", "cross-entropy", 1, false);
        b.o.loss_options.n_weights = 3;
        b.o.loss_options.weights = weights;
        b.o.loss_options.smoothing = 0.2 * smooth;
        double wanted = smooth ? (0.8 * of_label + 0.2 * of_all) / sum : of_label / sum;
        assert_true(fabs(first_loss(&b, x, labels) - wanted) < 1e-5);
    }
    hn_tensor_unref(x);
    hn_tensor_unref(p);
    hn_tensor_unref(labels);
    hn_model_destroy(m);
}

/* ---- networks ---- */

/* Convolutions of all kinds, both norms, both pools, a residual, dropout and a product. */
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
    " k0 = Flatten (j) r = Constant <value = float {0.25}> () k = Dropout (k0, r)"
    " y = Gemm <transB = 1> (k, w8, w9) }";

typedef struct trained {
    int n;
    float *values[64];
    int64_t counts[64];
    double loss;
} trained;

/* self: averages of the network teach it, which see other samples. */
static void train_network(trained *out, int threads, bool plain, bool self, int steps) {
    static const hn_teacher itself = {.weight = 1, .last = HN_ALL_CLASSES};
    bench b;
    const int64_t dims[] = {BATCH, 3, 10, 10}, n = BATCH;
    begin(&b, "sgd", "cross-entropy", threads, plain);
    b.sizes = (hn_step_sizes){.rank = 4, .dims = {BATCH, 3, 10, 10}, .dtype = HONE_DTYPE_F32};
    b.target = (hn_step_sizes){.rank = 1, .dims = {BATCH}, .dtype = HONE_DTYPE_S64};
    if (self)
        b.o.distill = (hn_distill_options){.n_teachers = 1,
                                           .teachers = &itself,
                                           .temperature = 2,
                                           .alpha = 0.5,
                                           .self = 0.5,
                                           .confidence = 0.4,
                                           .viewed = true};
    hn_model *m = method_model(network, 5);
    for (int i = 0; i < 12; i++) method_weight(m, "wv")[i] = 1;
    hn_trainer *t = trainer(&b, m);
    hn_tensor *view = numbers(HONE_DTYPE_F32, 4, dims, 9);
    for (int s = 0; s < steps; s++) {
        hn_tensor *x = numbers(HONE_DTYPE_F32, 4, dims, 10 + (uint64_t)s);
        if (self) hn_trainer_set_view(t, view);
        hn_tensor *y = numbers(HONE_DTYPE_S64, 1, &n, 20 + (uint64_t)s);
        const hn_tensor *in[] = {x};
        if (hn_trainer_step(t, in, y, 0.05, &out->loss, &b.err) != HONE_OK)
            fail_msg("%s", b.err.text);
        hn_tensor_unref(x);
        hn_tensor_unref(y);
    }
    hn_tensor_unref(view);
    const hn_train_step *step = hn_trainer_graph(t);
    out->n = step->n_kept;
    assert_true(out->n <= 64);
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
    for (int self = 0; self < 2; self++) {
        trained one, two, four;
        train_network(&one, 1, false, self, 3);
        train_network(&two, 2, false, self, 3);
        train_network(&four, 4, false, self, 3);
        for (int i = 0; i < one.n; i++) {
            assert_memory_equal(one.values[i], two.values[i], (size_t)one.counts[i] * 4);
            assert_memory_equal(one.values[i], four.values[i], (size_t)one.counts[i] * 4);
        }
        release(&one);
        release(&two);
        release(&four);
    }
}

static void agree(bool self, int steps) {
    trained fast, plain;
    train_network(&fast, 1, false, self, steps);
    train_network(&plain, 1, true, self, steps);
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

static void the_engine_agrees_with_the_references(void **state) {
    (void)state;
    agree(false, 1);
    agree(true, 1);
    agree(true, 3);
}

/* ---- dropout ---- */

/* y = dropout(x w) with x and w of ones, and no target but 0: the loss is the mean square of what
 * is left, (1 / (1 - ratio))^2 * the part that is kept. */
static double dropped(bench *b, uint64_t seed, int64_t at, const char *ratio, float *w) {
    enum { N = 4096 };
    char text[400];
    snprintf(text, sizeof text,
             "m (float[1,%d] x, float[1,%d] w) => (float[1,%d] y) { r = Constant <value = float"
             " {%s}> () a = Mul (x, w) y, mask = Dropout (a, r) }",
             N, N, N, ratio);
    const int64_t dims[] = {1, N};
    double loss;
    b->o.seed = seed;
    b->sizes = b->target = (hn_step_sizes){.rank = 2, .dims = {1, N}, .dtype = HONE_DTYPE_F32};
    hn_model *m = method_model(text, 1);
    for (int i = 0; i < N; i++) method_weight(m, "w")[i] = 1;
    hn_trainer *t = trainer(b, m);
    hn_tensor *x = numbers(HONE_DTYPE_F32, 2, dims, 1), *y = numbers(HONE_DTYPE_F32, 2, dims, 1);
    for (int i = 0; i < N; i++) ((float *)x->data)[i] = 1, ((float *)y->data)[i] = 0;
    const hn_tensor *in[] = {x};
    hn_trainer_set_steps(t, at);
    if (hn_trainer_step(t, in, y, 1, &loss, &b->err) != HONE_OK) fail_msg("%s", b->err.text);
    memcpy(w, hn_trainer_value(t, 0), N * sizeof *w);
    hn_tensor_unref(x);
    hn_tensor_unref(y);
    hn_trainer_destroy(t);
    hn_model_destroy(m);
    return loss;
}

/* What is dropped is a function of seed and step; the gradient drops the same. */
static void dropout_is_a_function_of_the_step(void **state) {
    (void)state;
    static float w[5][4096];
    bench b;
    begin(&b, "sgd", "mse", 2, false);
    double loss = dropped(&b, 1, 0, "0.25", w[0]);
    assert_true(fabs(loss * 0.75 - 1) < 0.03);
    for (int i = 0, kept = 0; i < 4096; i++) {
        /* w - rate * 2 / n * w / (1 - ratio)^2 */
        bool stays = w[0][i] == 1;
        double moved = 1 - 2.0 / 4096 / 0.5625;
        kept += !stays;
        assert_true(stays || fabs((double)w[0][i] - moved) < 1e-6);
        if (i == 4095) assert_true(fabs(kept / 4096.0 - loss * 0.5625) < 1e-3);
    }
    assert_true(dropped(&b, 1, 0, "0.25", w[1]) == loss);
    assert_memory_equal(w[0], w[1], sizeof w[0]);
    dropped(&b, 1, 1, "0.25", w[2]);
    dropped(&b, 2, 0, "0.25", w[3]);
    assert_memory_not_equal(w[0], w[2], sizeof w[0]);
    assert_memory_not_equal(w[0], w[3], sizeof w[0]);
    assert_true(dropped(&b, 1, 0, "0.0", w[4]) == 1);
    hn_pool_destroy(b.pool);
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

/* ---- mixed samples ---- */

/* The loss is that of each label in its share. */
static void mixed_losses_are_weighted(void **state) {
    (void)state;
    for (int smoothed = 0; smoothed < 2; smoothed++) {
        bench b;
        const int64_t dims[] = {BATCH, 3, 10, 10}, n = BATCH;
        double one[2], loss;
        begin(&b, "sgd", "cross-entropy", 1, false);
        b.o.loss_options.smoothing = smoothed * 0.1;
        b.sizes = (hn_step_sizes){.rank = 4, .dims = {BATCH, 3, 10, 10}, .dtype = HONE_DTYPE_F32};
        b.target = (hn_step_sizes){.rank = 1, .dims = {BATCH}, .dtype = HONE_DTYPE_S64};
        hn_model *m = method_model(network, 5);
        hn_tensor *x = numbers(HONE_DTYPE_F32, 4, dims, 3);
        hn_tensor *y[] = {numbers(HONE_DTYPE_S64, 1, &n, 4), numbers(HONE_DTYPE_S64, 1, &n, 5)};
        const hn_tensor *in[] = {x};
        hn_trainer *t;
        for (int i = 0; i < 2; i++) { /* the first step of each: what is dropped changes with it */
            t = trainer(&b, m);
            assert_int_equal(hn_trainer_graph(t)->other, -1);
            assert_int_equal(hn_trainer_step(t, in, y[i], 0, &one[i], &b.err), HONE_OK);
            hn_trainer_destroy(t);
        }
        b.o.mixed = true;
        t = trainer(&b, m);
        hn_trainer_mix(t, y[1], 0.3);
        assert_int_equal(hn_trainer_step(t, in, y[0], 0.1, &loss, &b.err), HONE_OK);
        assert_true(fabs(one[0] - one[1]) > 1e-3 * loss);
        if (!(fabs(loss - 0.3 * one[0] - 0.7 * one[1]) < 1e-5 * loss))
            fail_msg("%g, expected 0.3 * %g + 0.7 * %g", loss, one[0], one[1]);
        hn_trainer_destroy(t);
        hn_model_destroy(m);
        hn_tensor_unref(x);
        for (int i = 0; i < 2; i++) hn_tensor_unref(y[i]);
        hn_pool_destroy(b.pool);
    }
}

/* ---- losses that are not finite ---- */

typedef struct broken {
    const char *what, *says;
} broken;

/* Everything stays as it was before the step, and the error names the first value. */
static void a_loss_that_is_not_finite_is_explained(void **state) {
    (void)state;
    static const broken cases[] = {
        {"w4", "parameter 'w4' was not finite before the step: element 5 of 108 is nan"},
        {"x", "the batch's 'x' was not finite before the step: element 5 of 2400 is nan"},
        {"w6", "of Conv"},
    };
    for (int k = 0; k < 3; k++) {
        bench b;
        const int64_t dims[] = {BATCH, 3, 10, 10}, n = BATCH;
        double loss;
        begin(&b, "adam", "cross-entropy", 2, false);
        b.sizes = (hn_step_sizes){.rank = 4, .dims = {BATCH, 3, 10, 10}, .dtype = HONE_DTYPE_F32};
        b.target = (hn_step_sizes){.rank = 1, .dims = {BATCH}, .dtype = HONE_DTYPE_S64};
        hn_model *m = method_model(network, 5);
        hn_tensor *x = numbers(HONE_DTYPE_F32, 4, dims, 3), *y = numbers(HONE_DTYPE_S64, 1, &n, 4);
        const hn_tensor *in[] = {x};
        hn_trainer *t = trainer(&b, m);
        const hn_train_step *s = hn_trainer_graph(t);
        assert_int_equal(hn_trainer_step(t, in, y, 0.01, &loss, &b.err), HONE_OK);
        float *values[64];
        for (int i = 0; i < s->n_kept; i++) {
            bool at =
                s->kept[i].kind == HN_KEPT_PARAMETER && strcmp(s->kept[i].name, cases[k].what) == 0;
            float *v = hn_trainer_value(t, i);
            if (at && k == 0) v[5] = NAN;
            if (at && k == 2)
                for (int64_t e = 0; e < s->kept[i].n; e++) v[e] = 3e38f;
            values[i] = hn_alloc(&scratch_mem, (size_t)s->kept[i].n * 4, HN_MEM_OTHER);
            memcpy(values[i], v, (size_t)s->kept[i].n * 4);
        }
        if (k == 1) ((float *)x->data)[5] = NAN;
        assert_int_equal(hn_trainer_step(t, in, y, 0.01, &loss, &b.err), HONE_E_ARG);
        assert_non_null(strstr(b.err.text, "the loss of step 2 is "));
        if (strstr(b.err.text, cases[k].says) == NULL) fail_msg("%s", b.err.text);
        for (int i = 0; i < s->n_kept; i++) {
            assert_memory_equal(values[i], hn_trainer_value(t, i), (size_t)s->kept[i].n * 4);
            hn_free(&scratch_mem, values[i]);
        }
        hn_trainer_destroy(t);
        hn_model_destroy(m);
        hn_tensor_unref(x);
        hn_tensor_unref(y);
        hn_pool_destroy(b.pool);
    }
}

/* Parameters of other outputs alone stay as they are. */
static void what_the_loss_does_not_read_stays(void **state) {
    (void)state;
    const int64_t dims[] = {2, 2};
    bench b;
    hn_trainer *t;
    double loss;
    begin(&b, "sgd", "mse", 1, false);
    b.sizes = b.target = (hn_step_sizes){.rank = 2, .dims = {2, 2}, .dtype = HONE_DTYPE_F32};
    hn_model *m = method_model(
        "m (float[2,2] x, float[2] w1, float[2] w2, float[2] w3) =>"
        " (float[2,2] y, float[2,2] z) { a = Mul (x, w1)"
        " y = Add (a, w2) z = Mul (a, w3) }",
        1);
    hn_tensor *x = numbers(HONE_DTYPE_F32, 2, dims, 3), *y = numbers(HONE_DTYPE_F32, 2, dims, 4);
    const hn_tensor *in[] = {x};
    float was[3][2];
    for (int i = 0; i < 3; i++)
        memcpy(was[i], method_weight(m, (const char *[]){"w1", "w2", "w3"}[i]), sizeof was[i]);
    t = trainer(&b, m);
    assert_int_equal(hn_trainer_graph(t)->n_kept, 4); /* two, and a moment of each */
    assert_int_equal(hn_trainer_step(t, in, y, 0.1, &loss, &b.err), HONE_OK);
    assert_int_equal(hn_trainer_store(t, m, &b.err), HONE_OK);
    assert_memory_not_equal(was[0], method_weight(m, "w1"), sizeof was[0]);
    assert_memory_not_equal(was[1], method_weight(m, "w2"), sizeof was[1]);
    assert_memory_equal(was[2], method_weight(m, "w3"), sizeof was[2]);
    hn_trainer_destroy(t);
    hn_model_destroy(m);
    m = method_model(
        "m (float[2,2] x, float[2] w) => (float[2,2] y, float[2,2] z)"
        " { y = Relu (x) z = Mul (x, w) }",
        1);
    assert_int_equal(hn_trainer_create(&t, m, &b.sizes, &b.target, &b.o, &b.how, &b.err),
                     HONE_E_ARG);
    assert_string_equal(b.err.text, "output 'y' depends on none of the model's parameters");
    hn_model_destroy(m);
    m = method_model(
        "m (float[2,2] x) => (float[2,2] y)"
        " { c = Constant <value = float[2] {1, 2}> () y = Mul (x, c) }",
        1);
    assert_int_equal(hn_trainer_create(&t, m, &b.sizes, &b.target, &b.o, &b.how, &b.err),
                     HONE_E_ARG);
    assert_non_null(strstr(b.err.text, "hone simplify makes initializers of its Constant nodes"));
    hn_model_destroy(m);
    hn_tensor_unref(x);
    hn_tensor_unref(y);
    hn_pool_destroy(b.pool);
}

static void labels_want_scores_of_classes(void **state) {
    (void)state;
    static const struct {
        const char *model, *why;
    } cases[] = {
        {"m (float[4,3] x, float[3] w) => (float[4] y) { a = Mul (x, w)"
         " i = Constant <value = int64[1] {1}> () y = ReduceSum <keepdims = 0> (a, i) }",
         "output 'y' is [4], loss cross-entropy wants scores [samples, classes]"},
        {"m (float[4,3] x, float[3] w) => (float[4,3,2] y) { a = Mul (x, w)"
         " j = Constant <value = int64[1] {2}> () u = Unsqueeze (a, j) y = Concat <axis = 2> (u, "
         "u) }",
         "output 'y' is [4, 3, 2], loss cross-entropy wants scores [samples, classes]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bench b;
        hn_trainer *t = NULL;
        hn_model *m = method_model(cases[i].model, 1);
        begin(&b, "sgd", "cross-entropy", 1, false);
        b.sizes = (hn_step_sizes){.rank = 2, .dims = {4, 3}, .dtype = HONE_DTYPE_F32};
        b.target = (hn_step_sizes){.rank = 1, .dims = {4}, .dtype = HONE_DTYPE_S64};
        assert_int_equal(hn_trainer_create(&t, m, &b.sizes, &b.target, &b.o, &b.how, &b.err),
                         HONE_E_SHAPE);
        assert_string_equal(b.err.text, cases[i].why);
        hn_pool_destroy(b.pool);
        hn_model_destroy(m);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(updates_are_those_of_the_formulas),
        TEST(clipping_rates_and_averages),
        TEST(losses_are_those_of_the_formulas),
        TEST(parts_make_the_whole),
        TEST(parts_are_added_as_a_tree),
        TEST(threads_change_no_bit),
        TEST(the_engine_agrees_with_the_references),
        TEST(dropout_is_a_function_of_the_step),
        TEST(frozen_parameters_stay),
        TEST(mixed_losses_are_weighted),
        TEST(a_loss_that_is_not_finite_is_explained),
        TEST(what_the_loss_does_not_read_stays),
        TEST(labels_want_scores_of_classes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

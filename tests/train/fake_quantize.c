/* Gradients of FakeQuantize against the rules they are defined by, through a step of training on
 * every backend; and what becomes of scales. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "support/method_model.h"
#include "support/scratch.h"
#include "train/trainer.h"

enum { ROWS = 3, COLUMNS = 40, QMIN = -3, QMAX = 3 };

/* A weight with a scale for each row. */
static const char text[] =
    "m (float[3,40] x, float[3,40] w, float[3,1] ws) => (float[3,40] y) {"
    " q = hone.FakeQuantize <qmin = -3, qmax = 3> (w, ws) y = Mul (x, q) }";

static double code_of(double v) { return fmin(fmax(rint(v), QMIN), QMAX); }

/* One step of plain gradient descent from w and s; *loss: before it. */
static void step(const hn_model *m, const char *optimizer, bool plain, double rate, float *w,
                 float *s, double *loss) {
    hn_error err;
    hn_pool *pool;
    hn_step_sizes sizes = {.rank = 2, .dims = {ROWS, COLUMNS}, .dtype = HONE_DTYPE_F32};
    hn_step_options o = {.optimizer_options = hn_optimizer_defaults()};
    o.optimizer_options.momentum = 0;
    assert_int_equal(hn_optimizer_find(optimizer, &o.optimizer, &err), HONE_OK);
    assert_int_equal(hn_loss_find("mse", &o.loss, &err), HONE_OK);
    assert_int_equal(hn_pool_create(&pool, 2, &scratch_mem, &err), HONE_OK);
    hn_run_options how = {
        .engine = {.alloc = &scratch_mem, .pool = pool, .isa = hn_isa_available()}};
    if (plain) assert_int_equal(hn_backend_find("reference", &how.backend, &err), HONE_OK);
    hn_trainer *t;
    if (hn_trainer_create(&t, m, &sizes, &sizes, &o, &how, &err) != HONE_OK)
        fail_msg("%s", err.text);
    float ones[ROWS * COLUMNS], zeros[ROWS * COLUMNS] = {0};
    for (int i = 0; i < ROWS * COLUMNS; i++) ones[i] = 1;
    hn_tensor x, target;
    const hn_tensor *in[] = {&x};
    assert_int_equal(hn_tensor_borrow(&x, HONE_DTYPE_F32, 2, sizes.dims, ones, &err), HONE_OK);
    assert_int_equal(hn_tensor_borrow(&target, HONE_DTYPE_F32, 2, sizes.dims, zeros, &err),
                     HONE_OK);
    if (hn_trainer_step(t, in, &target, rate, loss, &err) != HONE_OK) fail_msg("%s", err.text);
    const hn_train_step *g = hn_trainer_graph(t);
    for (int i = 0; i < g->n_kept; i++) {
        if (g->kept[i].kind != HN_KEPT_PARAMETER) continue;
        float *to = strcmp(g->kept[i].name, "w") == 0 ? w : s;
        memcpy(to, hn_trainer_value(t, i), (size_t)g->kept[i].n * sizeof *to);
    }
    hn_trainer_destroy(t);
    hn_pool_destroy(pool);
}

static void fill(hn_model *m) {
    float *w = method_weight(m, "w"), *s = method_weight(m, "ws");
    hn_rng rng;
    hn_rng_init(&rng, 5);
    for (int i = 0; i < ROWS * COLUMNS; i++) w[i] = (float)hn_rng_normal(&rng);
    for (int i = 0; i < ROWS; i++) s[i] = 0.2f + 0.1f * (float)i;
}

/* The loss is the mean of y * y: dy = 2 y / n. */
static void rules_are_those_of_the_papers(void **state) {
    (void)state;
    const double rate = 0.1, n = ROWS * COLUMNS;
    for (int plain = 0; plain < 2; plain++) {
        hn_model *m = method_model(text, 1);
        fill(m);
        const float *w = method_weight(m, "w"), *s = method_weight(m, "ws");
        float w_next[ROWS * COLUMNS], s_next[ROWS];
        double loss, wanted = 0, outside = 0;
        step(m, "sgd", plain != 0, rate, w_next, s_next, &loss);
        for (int r = 0; r < ROWS; r++) {
            double ds = 0;
            for (int c = 0; c < COLUMNS; c++) {
                double v = (double)(w[r * COLUMNS + c] / s[r]), code = code_of(v);
                double y = code * (double)s[r], dy = 2 * y / n;
                bool inside = v >= QMIN && v <= QMAX;
                wanted += y * y / n;
                outside += !inside;
                ds += dy * (inside ? code - v : code);
                double next = (double)w[r * COLUMNS + c] - rate * (inside ? dy : 0);
                assert_true(fabs((double)w_next[r * COLUMNS + c] - next) < 1e-6);
            }
            double next = (double)s[r] - rate * ds / sqrt(COLUMNS * QMAX);
            assert_true(fabs((double)s_next[r] - next) < 1e-6);
        }
        assert_true(fabs(loss - wanted) < 1e-6 && outside > 5);
        hn_model_destroy(m);
    }
}

/* Adam goes as far whatever the gradient: as the rate says for weights, by that share of their size
 * for scales. */
static void scales_move_by_their_size(void **state) {
    (void)state;
    hn_model *m = method_model(text, 1);
    fill(m);
    const float *s = method_weight(m, "ws");
    float w_next[ROWS * COLUMNS], s_next[ROWS];
    double loss;
    step(m, "adam", false, 0.01, w_next, s_next, &loss);
    for (int r = 0; r < ROWS; r++)
        assert_true(fabs(fabs((double)(s_next[r] - s[r])) - 0.01 * (double)s[r]) < 1e-5);
    hn_model_destroy(m);
}

/* Far more than any scale: they stay positive. */
static void scales_stay_positive(void **state) {
    (void)state;
    hn_model *m = method_model(text, 1);
    fill(m);
    float w_next[ROWS * COLUMNS], s_next[ROWS];
    double loss;
    for (int i = 0; i < ROWS * COLUMNS; i++) method_weight(m, "w")[i] = 100;
    step(m, "sgd", false, 1e4, w_next, s_next, &loss);
    for (int r = 0; r < ROWS; r++) assert_true(s_next[r] > 0);
    hn_model_destroy(m);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(rules_are_those_of_the_papers),
        TEST(scales_move_by_their_size),
        TEST(scales_stay_positive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

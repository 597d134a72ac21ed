/* Plans made while others run: who needs another plan goes on, who needs the same one waits. */
#include "engine/engine.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "support/text_model.h"

enum { WIDTH = 4, MOST = 64, CALLERS = 4 };

static const char *const text =
    "m (float[n,4] x) => (float[n,4] y) <float[4,4] w = {1,0,0,0, 0,2,0,0, 0,0,3,0, 0,0,0,4}> {\n"
    "  y = MatMul(x, w)\n"
    "}";

/* Runs of one caller: threads have no asserts, so it says itself whether all went well. */
typedef struct caller {
    hn_engine *engine;
    int first_rows, n_sizes;
    bool well;
} caller;

static hone_status place(void *ctx, int i, hone_dtype dtype, int rank, const int64_t *dims,
                         void **to, hn_error *err) {
    (void)i, (void)dtype, (void)rank, (void)dims, (void)err;
    *to = ctx;
    return HONE_OK;
}

static bool run(hn_engine *e, int rows) {
    float x[MOST][WIDTH], y[MOST][WIDTH] = {{0}};
    hn_tensor *t;
    hn_error err;
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < WIDTH; i++) x[r][i] = (float)r;
    if (hn_tensor_create_borrowed(&t, hn_allocator_default(), HONE_DTYPE_F32, 2,
                                  (int64_t[]){rows, WIDTH}, x, &err) != HONE_OK)
        return false;
    const hn_tensor *in[] = {t};
    bool well = hn_engine_run(e, in, place, y, NULL, NULL, &err) == HONE_OK;
    hn_tensor_unref(t);
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < WIDTH; i++) well = well && y[r][i] == (float)(r * (i + 1));
    return well;
}

static void *call(void *arg) {
    caller *c = arg;
    c->well = true;
    for (int i = 0; i < c->n_sizes; i++) c->well = run(c->engine, c->first_rows + i) && c->well;
    return NULL;
}

static hn_engine *engine_of(hn_model *m) {
    hn_engine *e;
    hn_error err;
    hn_engine_options o = {
        .alloc = &model_mem, .plan_bytes = 1, .isa = hn_isa_available(), .seed = 1};
    assert_int_equal(hn_engine_create(&e, m, &o, &err), HONE_OK);
    return e;
}

/* What is done when a plan is told of, which is while it is being made. */
typedef struct witness {
    caller other; /* runs meanwhile */
    bool waits;   /* for it */
    int plans;
} witness;

static void see_plan(void *ctx, hone_log_level level, const char *line) {
    witness *w = ctx;
    (void)level;
    if (strncmp(line, "plan: ", 6) != 0) return;
    w->plans++;
    if (!w->waits) return;
    w->waits = false;
    pthread_t thread;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 60;
    if (pthread_create(&thread, NULL, call, &w->other) != 0) return;
    /* One that is held up goes on once the plan is made, and is joined then. */
    if (pthread_timedjoin_np(thread, NULL, &until) != 0) {
        w->other.engine = NULL;
        pthread_detach(thread);
    }
}

static void other_shapes_run_meanwhile(void **state) {
    (void)state;
    hn_engine *e = engine_of(model_inferred(text));
    witness w = {.other = {e, 3, 1, false}};
    assert_true(run(e, 3));
    w.waits = true;
    hone_log_set(see_plan, &w, HONE_LOG_INFO);
    assert_true(run(e, 5));
    hone_log_set(NULL, NULL, HONE_LOG_WARN);
    assert_int_equal(w.plans, 1);
    assert_true(w.other.engine == e && w.other.well);
    hn_engine_destroy(e);
}

static void the_same_shape_is_made_once(void **state) {
    (void)state;
    hn_engine *e = engine_of(model_inferred(text));
    witness w = {.waits = false};
    caller callers[CALLERS];
    pthread_t threads[CALLERS];
    hone_log_set(see_plan, &w, HONE_LOG_INFO);
    for (int i = 0; i < CALLERS; i++) {
        callers[i] = (caller){e, 3, HN_ENGINE_PLANS, false};
        assert_int_equal(pthread_create(&threads[i], NULL, call, &callers[i]), 0);
    }
    for (int i = 0; i < CALLERS; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
    hone_log_set(NULL, NULL, HONE_LOG_WARN);
    for (int i = 0; i < CALLERS; i++) assert_true(callers[i].well);
    assert_int_equal(w.plans, HN_ENGINE_PLANS);
    hn_engine_destroy(e);
}

/* More shapes than are kept, asked for by all callers in another order. */
static void many_shapes_come_and_go(void **state) {
    (void)state;
    hn_engine *e = engine_of(model_inferred(text));
    caller callers[CALLERS];
    pthread_t threads[CALLERS];
    for (int i = 0; i < CALLERS; i++) {
        callers[i] = (caller){e, 1 + 8 * i, 24, false};
        assert_int_equal(pthread_create(&threads[i], NULL, call, &callers[i]), 0);
    }
    for (int i = 0; i < CALLERS; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < CALLERS; i++) assert_true(callers[i].well);
    hn_engine_destroy(e);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(other_shapes_run_meanwhile, model_setup, model_teardown),
        cmocka_unit_test_setup_teardown(the_same_shape_is_made_once, model_setup, model_teardown),
        cmocka_unit_test_setup_teardown(many_shapes_come_and_go, model_setup, model_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

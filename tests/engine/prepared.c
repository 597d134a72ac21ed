/* Engines of one model that share what they make of it. */
#include "engine/prepared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/text_model.h"

/* Large enough that constants lie in blocks of their own. */
enum { WIDTH = 96 };

static hn_prepared_list list = {.lock = PTHREAD_MUTEX_INITIALIZER};
static hn_error err;

/* A product, and one whose weights the passes make: they are multiplied by 2. */
static hn_model *a_model(void) {
    hn_model *m = model_inferred(
        "m (float[n,96] x) => (float[n,96] y) <float[1] seed = {1}, float two = {2},"
        "  int64[2] square = {96, 96}> {\n"
        "  w = Expand (seed, square)\n"
        "  a = MatMul (x, w)\n"
        "  v = Mul (w, two)\n"
        "  y = MatMul (a, v)\n"
        "}");
    return m;
}

typedef struct user {
    hn_allocator alloc;
    hn_engine *engine;
} user;

static hone_status try_open(user *u, const hn_model *m, size_t limit, const char *disable) {
    hn_allocator_init(&u->alloc);
    u->alloc.limit = limit;
    hn_engine_options o = {.alloc = &u->alloc,
                           .prepared = &list,
                           .isa = hn_isa_available(),
                           .disable = disable,
                           .seed = 1};
    return hn_engine_create(&u->engine, m, &o, &err);
}

static void open_user(user *u, const hn_model *m) {
    if (try_open(u, m, 0, NULL) != HONE_OK) fail_msg("%s", err.text);
}

static void close_user(user *u) {
    hn_engine_destroy(u->engine);
    assert_int_equal(atomic_load(&u->alloc.live), 0);
    assert_int_equal(atomic_load(&u->alloc.blocks), 0);
}

static hone_status place(void *ctx, int i, hone_dtype dtype, int rank, const int64_t *dims,
                         void **to, hn_error *e) {
    (void)i, (void)dtype, (void)rank, (void)dims, (void)e;
    *to = ctx;
    return HONE_OK;
}

/* Whether a run of so many rows of ones gives what it must. */
static bool runs(hn_engine *e, int rows) {
    static _Thread_local float x[4 * WIDTH], y[4 * WIDTH];
    hn_tensor t = {0};
    hn_error unread;
    for (int i = 0; i < rows * WIDTH; i++) x[i] = 1;
    if (hn_tensor_borrow(&t, HONE_DTYPE_F32, 2, (int64_t[]){rows, WIDTH}, x, &unread) != HONE_OK)
        return false;
    if (hn_engine_run(e, (const hn_tensor *const[]){&t}, place, y, NULL, NULL, &unread) != HONE_OK)
        return false;
    for (int i = 0; i < rows * WIDTH; i++)
        if (y[i] != 2.0f * WIDTH * WIDTH) return false;
    return true;
}

static size_t shared_bytes(void) { return atomic_load(&list.first->common.live); }

static void weights_are_packed_once(void **state) {
    (void)state;
    hn_model *m = a_model();
    user a, b;
    open_user(&a, m);
    assert_true(runs(a.engine, 1));
    size_t weights = hn_engine_memory_use(a.engine).weights, before = shared_bytes();
    assert_true(weights >= 2 * WIDTH * WIDTH * sizeof(float) && before >= weights);
    open_user(&b, m);
    assert_ptr_equal(list.first->next, NULL);
    assert_true(runs(b.engine, 1));
    assert_int_equal(hn_engine_memory_use(b.engine).weights, weights);
    /* Contents that were dropped are there again; nothing is packed. */
    assert_true(shared_bytes() <= before + 2 * WIDTH * WIDTH * sizeof(float));
    /* What is shared counts for both. */
    assert_true(atomic_load(&a.alloc.live) >= shared_bytes());
    assert_true(atomic_load(&b.alloc.live) >= shared_bytes());
    close_user(&a);
    assert_true(runs(b.engine, 1) && runs(b.engine, 3)); /* also what needs another plan */
    close_user(&b);
    assert_null(list.first);
}

static void memory_is_known_beforehand(void **state) {
    (void)state;
    hn_model *m = a_model();
    user u[2];
    for (int i = 0; i < 2; i++) {
        open_user(&u[i], m);
        assert_true(runs(u[i].engine, 2));
        hn_engine_memory use = hn_engine_memory_use(u[i].engine);
        assert_true(use.planned);
        assert_int_equal(use.peak, atomic_load(&u[i].alloc.peak));
    }
    close_user(&u[1]);
    close_user(&u[0]);
}

static void other_passes_make_another(void **state) {
    (void)state;
    hn_model *m = a_model();
    user a, b;
    open_user(&a, m);
    assert_int_equal(try_open(&b, m, 0, "fold_scalar,fold_constants"), HONE_OK);
    assert_non_null(list.first->next);
    assert_true(runs(a.engine, 1) && runs(b.engine, 1));
    close_user(&a);
    assert_true(runs(b.engine, 2));
    close_user(&b);
    assert_null(list.first);
}

/* What others have counts too; who is refused leaves nothing behind and disturbs nobody. */
static void limits_hold(void **state) {
    (void)state;
    hn_model *m = a_model();
    user a, b;
    assert_int_equal(try_open(&b, m, 1000, NULL), HONE_E_NOMEM);
    assert_int_equal(atomic_load(&b.alloc.live), 0);
    assert_null(list.first);
    open_user(&a, m);
    assert_true(runs(a.engine, 1));
    assert_int_equal(try_open(&b, m, shared_bytes() - 1, NULL), HONE_E_NOMEM);
    assert_int_equal(atomic_load(&b.alloc.live), 0);
    /* Enough for what is there, not for a plan. */
    assert_int_equal(try_open(&b, m, shared_bytes() + 2000, NULL), HONE_OK);
    assert_false(runs(b.engine, 1));
    assert_true(runs(a.engine, 3));
    close_user(&b);
    assert_true(runs(a.engine, 1));
    close_user(&a);
}

static void allocations_that_fail(void **state) {
    (void)state;
    hn_model *m = a_model();
    user a, b;
    open_user(&a, m);
    assert_true(runs(a.engine, 1));
    for (int n = 0;; n++) {
        hn_allocator_init(&b.alloc);
        atomic_store(&b.alloc.fail_after, n);
        hn_engine_options o = {
            .alloc = &b.alloc, .prepared = &list, .isa = hn_isa_available(), .seed = 1};
        bool made = hn_engine_create(&b.engine, m, &o, &err) == HONE_OK;
        bool ran = made && runs(b.engine, 1);
        atomic_store(&b.alloc.fail_after, -1);
        assert_true(!made || runs(b.engine, 1));
        if (made) close_user(&b);
        assert_int_equal(atomic_load(&b.alloc.live), 0);
        if (ran) break;
    }
    assert_true(runs(a.engine, 2));
    close_user(&a);
}

typedef struct thread {
    const hn_model *model;
    bool well;
} thread;

static void *use_it(void *arg) {
    thread *t = arg;
    t->well = true;
    for (int i = 0; i < 8; i++) {
        user u;
        t->well = t->well && try_open(&u, t->model, 0, NULL) == HONE_OK;
        if (!t->well) break;
        for (int rows = 1; rows <= 4; rows++) t->well = runs(u.engine, rows) && t->well;
        hn_engine_destroy(u.engine);
        t->well = t->well && atomic_load(&u.alloc.live) == 0;
    }
    return NULL;
}

static void engines_come_and_go_at_the_same_time(void **state) {
    (void)state;
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    thread t[THREADS];
    hn_model *m = a_model();
    for (int i = 0; i < THREADS; i++) {
        t[i] = (thread){.model = m};
        assert_int_equal(pthread_create(&threads[i], NULL, use_it, &t[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_true(t[i].well);
    }
    assert_null(list.first);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, model_setup, model_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(weights_are_packed_once),   TEST(memory_is_known_beforehand),
        TEST(other_passes_make_another), TEST(limits_hold),
        TEST(allocations_that_fail),     TEST(engines_come_and_go_at_the_same_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "base/pool.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "base/log.h"

#include <cmocka.h>

static hn_allocator mem;

static int setup(void **state) {
    (void)state;
    hn_allocator_init(&mem);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    hone_log_set(NULL, NULL, HONE_LOG_ERROR);
    return atomic_load(&mem.blocks) != 0;
}

static hn_pool *pool_of(int threads) {
    hn_pool *pool = NULL;
    hn_error err;
    if (hn_pool_create(&pool, threads, &mem, &err) != HONE_OK) fail_msg("%s", err.text);
    return pool;
}

/* Comes back when all of so many pieces have begun: none of them is done by the thread of another.
 */
static void meet(atomic_int *begun, int pieces) {
    atomic_fetch_add(begun, 1);
    while (atomic_load(begun) < pieces) sched_yield();
}

#define MAX_N 5000

typedef struct job {
    int visits[MAX_N];
    double result[MAX_N];
    pthread_t by[MAX_N];
} job;

static job shared;

static void visit(void *ctx, int64_t i) {
    job *j = ctx;
    j->visits[i]++;
    j->by[i] = pthread_self();
    double sum = 0;
    for (int k = 1; k <= 20; k++) sum += 1.0 / ((double)i + k);
    j->result[i] = sum;
}

/* Each index once, nothing beyond the last, the same results for any number of threads. */
static void every_index_is_visited_once(void **state) {
    (void)state;
    const int64_t sizes[] = {-3, 0, 1, 2, 3, 4, 5, 7, 8, 100, 1023, 4999};
    static double alone[MAX_N];
    memset(&shared, 0, sizeof shared);
    hn_pool_run(NULL, MAX_N, visit, &shared);
    memcpy(alone, shared.result, sizeof alone);
    for (int threads = 1; threads <= 4; threads++) {
        hn_pool *pool = pool_of(threads);
        assert_int_equal(hn_pool_threads(pool), threads);
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            memset(&shared, 0, sizeof shared);
            hn_pool_run(pool, sizes[s], visit, &shared);
            for (int64_t i = 0; i < MAX_N; i++) assert_int_equal(shared.visits[i], i < sizes[s]);
            if (sizes[s] > 0)
                assert_memory_equal(shared.result, alone, (size_t)sizes[s] * sizeof *alone);
        }
        hn_pool_destroy(pool);
    }
    assert_int_equal(hn_pool_threads(NULL), 1);
    hn_pool_destroy(NULL);
}

/* Piece t is [n t / T, n (t + 1) / T) and one thread's; the caller has the first. */
static void pieces_follow_the_rule(void **state) {
    (void)state;
    for (int threads = 1; threads <= 4; threads++) {
        hn_pool *pool = pool_of(threads);
        for (int64_t n = 1; n < 40; n++) {
            memset(&shared, 0, sizeof shared);
            hn_pool_run(pool, n, visit, &shared);
            int64_t parts = n < threads ? n : threads;
            for (int64_t t = 0; t < parts; t++) {
                int64_t from = n * t / parts, to = n * (t + 1) / parts;
                assert_true(from < to);
                for (int64_t i = from; i < to; i++)
                    assert_true(pthread_equal(shared.by[i], shared.by[from]));
            }
            assert_true(pthread_equal(shared.by[0], pthread_self()));
        }
        hn_pool_destroy(pool);
    }
}

static void many_runs_and_pauses(void **state) {
    (void)state;
    hn_pool *pool = pool_of(4);
    memset(&shared, 0, sizeof shared);
    for (int run = 0; run < 3000; run++) {
        hn_pool_run(pool, run % 6, visit, &shared);
        /* Now and then long enough for the workers to fall asleep. */
        if (run % 500 == 0) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    for (int i = 0; i < 5; i++) assert_int_equal(shared.visits[i], 3000 / 6 * (5 - i));
    hn_pool_destroy(pool);
}

/* A piece that takes longer than the spin: the caller goes to sleep and is woken. */
typedef struct slow {
    atomic_int begun, done;
} slow;

static void slow_last(void *ctx, int64_t i) {
    slow *s = ctx;
    meet(&s->begun, 2);
    if (i == 1) nanosleep(&(struct timespec){.tv_nsec = 3000000}, NULL);
    atomic_fetch_add(&s->done, 1);
}

static void the_caller_waits_for_slow_workers(void **state) {
    (void)state;
    hn_pool *pool = pool_of(2);
    for (int i = 1; i <= 5; i++) {
        slow s = {0};
        hn_pool_run(pool, 2, slow_last, &s);
        assert_int_equal(s.done, 2);
    }
    hn_pool_destroy(pool);
}

typedef struct nest {
    hn_pool *pool;
    atomic_int visits[8][50];
    atomic_int strangers; /* inner pieces that were not done by the thread of their outer piece */
} nest;

typedef struct inner {
    nest *nest;
    int64_t outer;
    pthread_t thread;
} inner;

static void visit_inner(void *ctx, int64_t i) {
    inner *in = ctx;
    atomic_fetch_add(&in->nest->visits[in->outer][i], 1);
    if (!pthread_equal(pthread_self(), in->thread)) atomic_fetch_add(&in->nest->strangers, 1);
}

static void visit_outer(void *ctx, int64_t i) {
    inner in = {ctx, i, pthread_self()};
    hn_pool_run(in.nest->pool, 50, visit_inner, &in);
}

static void a_run_within_a_run_stays_on_its_thread(void **state) {
    (void)state;
    static nest n;
    memset(&n, 0, sizeof n);
    n.pool = pool_of(4);
    hn_pool_run(n.pool, 8, visit_outer, &n);
    for (int o = 0; o < 8; o++)
        for (int i = 0; i < 50; i++) assert_int_equal(n.visits[o][i], 1);
    assert_int_equal(n.strangers, 0);
    hn_pool_destroy(n.pool);
}

typedef struct racer {
    hn_pool *pool;
    int64_t sum[64];
    bool wrong;
} racer;

static void add(void *ctx, int64_t i) { ((racer *)ctx)->sum[i] += i + 1; }

static void *race(void *arg) {
    racer *r = arg;
    for (int run = 1; run <= 500; run++) {
        hn_pool_run(r->pool, 64, add, r);
        for (int64_t i = 0; i < 64; i++)
            if (r->sum[i] != run * (i + 1)) r->wrong = true;
    }
    return NULL;
}

static void two_callers_share_the_pool(void **state) {
    (void)state;
    hn_pool *pool = pool_of(3);
    racer racers[2] = {{.pool = pool}, {.pool = pool}};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, race, &racers[1]), 0);
    race(&racers[0]);
    pthread_join(thread, NULL);
    assert_false(racers[0].wrong || racers[1].wrong);
    hn_pool_destroy(pool);
}

typedef struct masks {
    atomic_int begun;
    sigset_t of[2];
} masks;

static void read_mask(void *ctx, int64_t i) {
    masks *m = ctx;
    meet(&m->begun, 2);
    pthread_sigmask(SIG_BLOCK, NULL, &m->of[i]);
}

static void workers_leave_signals_to_the_program(void **state) {
    (void)state;
    hn_pool *pool = pool_of(2);
    masks m = {0};
    hn_pool_run(pool, 2, read_mask, &m);
    assert_false(sigismember(&m.of[0], SIGTERM));
    assert_true(sigismember(&m.of[1], SIGTERM));
    hn_pool_destroy(pool);
}

static void creation_reports_trouble(void **state) {
    (void)state;
    hn_pool *pool = (hn_pool *)&mem;
    hn_error err;
    assert_int_equal(hn_pool_create(&pool, -1, &mem, &err), HONE_E_ARG);
    assert_string_equal(err.text,
                        "thread pool: -1 threads, wanted 1 to 1024, or 0 for the default");
    assert_int_equal(hn_pool_create(&pool, HN_THREADS_MAX + 1, &mem, NULL), HONE_E_ARG);
    atomic_store(&mem.fail_after, 0);
    assert_int_equal(hn_pool_create(&pool, 3, &mem, &err), HONE_E_NOMEM);
    atomic_store(&mem.fail_after, -1);

    /* A stack larger than any address space, so that no thread can start. */
    pthread_attr_t usual, huge;
    assert_int_equal(pthread_getattr_default_np(&usual), 0);
    pthread_attr_init(&huge);
    assert_int_equal(pthread_attr_setstacksize(&huge, (size_t)1 << 60), 0);
    assert_int_equal(pthread_setattr_default_np(&huge), 0);
    hone_status status = hn_pool_create(&pool, 3, &mem, &err);
    pthread_setattr_default_np(&usual);
    pthread_attr_destroy(&huge);
    assert_int_equal(status, HONE_E_LIMIT);
    assert_memory_equal(err.text, "thread pool: cannot start thread 2 of 3: ", 41);
    assert_ptr_equal(pool, &mem);
}

static void remember(void *ctx, hone_log_level level, const char *line) {
    (void)line;
    *(int *)ctx += level == HONE_LOG_WARN;
}

static void more_threads_than_cores_is_a_warning(void **state) {
    (void)state;
    int warnings = 0;
    hone_log_set(remember, &warnings, HONE_LOG_WARN);
    int cores = hn_cpu_available();
    hn_pool_destroy(pool_of(cores));
    assert_int_equal(warnings, 0);
    if (cores < HN_THREADS_MAX) {
        hn_pool *pool = pool_of(cores + 1);
        assert_int_equal(warnings, 1);
        assert_int_equal(hn_pool_threads(pool), cores + 1);
        hn_pool_destroy(pool);
    }
}

typedef struct cores {
    atomic_int begun;
    int n, at[HN_THREADS_MAX];
} cores;

static void find_core(void *ctx, int64_t i) {
    cores *c = ctx;
    meet(&c->begun, c->n);
    c->at[i] = sched_getcpu();
}

static void pinned_workers_have_cores_of_their_own(void **state) {
    (void)state;
    cores c = {.n = hn_cpu_available()};
    int cpus[HN_THREADS_MAX];
    if (c.n < 2) skip(); /* nothing to be seen */
    hn_cpu_list(cpus, HN_THREADS_MAX);
    hn_pool *pool = pool_of(c.n);
    hn_pool_pin(pool);
    hn_pool_run(pool, c.n, find_core, &c);
    for (int i = 1; i < c.n; i++) assert_int_equal(c.at[i], cpus[i]);
    hn_pool_destroy(pool);
    pool = pool_of(1);
    hn_pool_pin(pool); /* no workers */
    hn_pool_destroy(pool);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(every_index_is_visited_once),
        TEST(pinned_workers_have_cores_of_their_own),
        TEST(pieces_follow_the_rule),
        TEST(many_runs_and_pauses),
        TEST(the_caller_waits_for_slow_workers),
        TEST(a_run_within_a_run_stays_on_its_thread),
        TEST(two_callers_share_the_pool),
        TEST(workers_leave_signals_to_the_program),
        TEST(creation_reports_trouble),
        TEST(more_threads_than_cores_is_a_warning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

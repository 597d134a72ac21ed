/* How the tasks of a kernel are shared out among threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/clock.h"
#include "engine/engine.h"

#include <cmocka.h>

enum { MOST = 3000, LANES = 4, LANE_BYTES = 64 };

typedef struct tally {
    atomic_int done[HN_MAX_PHASES][MOST];
    atomic_int all, ranges;
    atomic_int seen; /* of them all, when the slow range ended */
    int64_t tasks;
    atomic_bool ordered; /* every task of a phase came after all of the phases before */
    char *lanes;
    atomic_bool in_use[LANES];
    atomic_bool shared; /* two ranges had one lane's scratch at the same time */
} tally;

static void mark(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    tally *t = call->ptr[0];
    atomic_bool *mine = &t->in_use[((char *)lane - t->lanes) / LANE_BYTES];
    if (atomic_exchange(mine, true)) t->shared = true;
    atomic_fetch_add(&t->ranges, 1);
    for (int64_t i = begin; i < end; i++) {
        if (atomic_load(&t->all) < phase * t->tasks) t->ordered = false;
        atomic_fetch_add(&t->done[phase][i], 1);
    }
    atomic_fetch_add(&t->all, (int)(end - begin));
    atomic_store(mine, false);
}

static hn_pool *pool_of(int threads) {
    hn_pool *pool = NULL;
    hn_error err;
    if (hn_pool_create(&pool, threads, hn_allocator_default(), &err) != HONE_OK)
        fail_msg("%s", err.text);
    return pool;
}

static void every_task_is_done_once(void **state) {
    (void)state;
    static tally t;
    static char scratch[LANES * LANE_BYTES];
    static const int64_t counts[] = {0, 1, 2, 3, 5, 8, 31, 33, 64, 1000, MOST};
    const hn_kernel kernel = {.name = "mark", .run = mark};
    for (int lanes = 1; lanes <= LANES; lanes++) {
        hn_pool *pool = pool_of(lanes);
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            memset(&t, 0, sizeof t);
            t.tasks = counts[c], t.lanes = scratch, t.ordered = true;
            hn_work work = {.n_phases = 3, .tasks = {t.tasks, t.tasks, t.tasks}};
            void *ptr[] = {&t};
            hn_call call = {.work = &work, .ptr = ptr};
            hn_kernel_launch(&kernel, &call, lanes, pool, scratch, LANE_BYTES, NULL, 0);
            for (int phase = 0; phase < 3; phase++)
                for (int64_t i = 0; i < MOST; i++)
                    assert_int_equal(atomic_load(&t.done[phase][i]), i < t.tasks);
            assert_true(t.ordered);
            assert_false(t.shared);
            if (lanes == 1) assert_int_equal(atomic_load(&t.ranges), t.tasks > 0 ? 3 : 0);
        }
        hn_pool_destroy(pool);
    }
}

/* The range with task 0 lasts until all other tasks are done, by the other lane. */
static void wait_for_others(const hn_call *call, int phase, int64_t begin, int64_t end,
                            void *lane) {
    (void)phase, (void)lane;
    tally *t = call->ptr[0];
    atomic_fetch_add(&t->all, (int)(end - begin));
    int64_t deadline = hn_clock_ns() + 20000000000;
    while (begin == 0 && atomic_load(&t->all) < t->tasks && hn_clock_ns() < deadline) continue;
    if (begin == 0) atomic_store(&t->seen, atomic_load(&t->all));
}

typedef struct stopper {
    hn_stop stop;
    _Atomic int64_t done[2]; /* tasks of each phase */
} stopper;

/* The run is to end while task 100 of the first phase is under way. Other ranges wait for that, so
 * that no lane does them all before. */
static void stop_at_100(const hn_call *call, int phase, int64_t begin, int64_t end, void *scratch) {
    stopper *t = call->ptr[0];
    int64_t deadline = hn_clock_ns() + 20000000000;
    (void)scratch;
    if (phase == 0 && begin <= 100 && 100 < end) hn_stop_ask(&t->stop);
    while (begin > 100 && !hn_stopped(&t->stop) && hn_clock_ns() < deadline) continue;
    atomic_fetch_add(&t->done[phase], end - begin);
}

static void a_launch_ends_early_when_it_is_stopped(void **state) {
    (void)state;
    static char scratch[LANES * LANE_BYTES];
    const hn_kernel kernel = {.name = "stop", .run = stop_at_100};
    for (int lanes = 1; lanes <= LANES; lanes++) {
        hn_pool *pool = pool_of(lanes);
        stopper t = {0};
        hn_work work = {.n_phases = 2, .tasks = {1000000, 1000}};
        void *ptr[] = {&t};
        hn_call call = {.work = &work, .ptr = ptr};
        hn_stop_enter(&t.stop);
        hn_kernel_launch(&kernel, &call, lanes, pool, scratch, LANE_BYTES, &t.stop, 1000);
        assert_true(hn_stopped(&t.stop));
        assert_true(atomic_load(&t.done[0]) >= 1000 && atomic_load(&t.done[0]) < 1000000);
        assert_int_equal(atomic_load(&t.done[1]), 0);
        hn_stop_leave(&t.stop);
        assert_false(hn_stopped(&t.stop));
        hn_pool_destroy(pool);
    }
}

static void a_slow_lane_is_helped(void **state) {
    (void)state;
    static tally t;
    static char scratch[2 * LANE_BYTES];
    const hn_kernel kernel = {.name = "wait", .run = wait_for_others};
    hn_pool *pool = pool_of(2);
    hn_work work = {.n_phases = 1, .tasks = {1000}};
    t.tasks = 1000;
    void *ptr[] = {&t};
    hn_call call = {.work = &work, .ptr = ptr};
    hn_kernel_launch(&kernel, &call, 2, pool, scratch, LANE_BYTES, NULL, 0);
    assert_int_equal(atomic_load(&t.seen), 1000);
    hn_pool_destroy(pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_task_is_done_once),
        cmocka_unit_test(a_slow_lane_is_helped),
        cmocka_unit_test(a_launch_ends_early_when_it_is_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

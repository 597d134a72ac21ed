/* One word, `state`, carries the news to the workers: a sequence number and, in its low bits, how
 * many pieces the job has. Each piece is claimed by one thread, who writes the sequence number
 * beside it; only then it may read the job, because the caller waits for all pieces before writing
 * another. A worker that comes late finds every number as high as its own and leaves. So the job
 * needs no lock.
 *
 *   caller   job = ...; pending = parts - 1; state = (sequence + 1, parts); wake sleepers;
 *            piece 0; those nobody has claimed; wait for pending == 0
 *   worker   wait for state to change; if index < parts: its own piece, those nobody has claimed
 *   both     after a claimed piece: pending--
 *
 * A worker begins with the piece of its own index, so that what a core has in its caches stays of
 * use. Where the cores are shared with others, a worker may have none for milliseconds: then the
 * caller does that piece too instead of waiting for it.
 *
 * Both waits spin for a while, then sleep on a condition under `lock`. Who goes to sleep says so
 * first and looks again then; who has news tells it first and then looks for sleepers. So no
 * wake-up is lost, and while nobody sleeps nobody takes the lock.
 */
#include "base/pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>

#include "base/clock.h"
#include "base/cpu.h"
#include "base/log.h"

/* A wake-up costs a few to 50 us; spinning longer than it saves would only burn power. */
#define SPIN_NS 50000
#define PARTS_BITS 16
#define STOP UINT64_MAX

_Static_assert(HN_THREADS_MAX < 1 << PARTS_BITS, "the count of threads fits its bits");

typedef struct worker {
    _Alignas(HN_ALIGN) _Atomic uint64_t claimed; /* sequence number of the piece of this index */
    hn_pool *pool;
    int index; /* 1 ... threads - 1; the caller is 0 */
    pthread_t thread;
} worker;

struct hn_pool {
    _Alignas(HN_ALIGN) _Atomic uint64_t state;
    _Alignas(HN_ALIGN) _Atomic uint64_t pending;
    _Alignas(HN_ALIGN) atomic_bool held; /* by one run */
    void (*fn)(void *ctx, int64_t i);
    void *ctx;
    int64_t n;
    atomic_int sleepers;       /* workers in wake */
    atomic_bool caller_sleeps; /* in done */
    pthread_mutex_t lock;
    pthread_cond_t wake, done;
    hn_allocator *alloc;
    int threads;
    int started; /* workers that run; fewer than threads - 1 only when creation failed */
    worker workers[];
};

static inline void relax(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Spins until (*word == value) == equal, at most SPIN_NS. */
static void spin(_Atomic uint64_t *word, uint64_t value, bool equal) {
    int64_t deadline = hn_clock_ns() + SPIN_NS;
    do {
        for (int i = 0; i < 32; i++) {
            if ((atomic_load_explicit(word, memory_order_acquire) == value) == equal) return;
            relax();
        }
    } while (hn_clock_ns() < deadline);
}

/* Piece t of `parts`: [n t / parts, n (t + 1) / parts), without the overflow. */
static int64_t piece_start(int64_t n, int t, int parts) {
    return n / parts * t + n % parts * t / parts;
}

static void run_piece(hn_pool *pool, int t, int parts) {
    int64_t end = piece_start(pool->n, t + 1, parts);
    for (int64_t i = piece_start(pool->n, t, parts); i < end; i++) pool->fn(pool->ctx, i);
}

static bool claim(hn_pool *pool, int t, uint64_t sequence) {
    _Atomic uint64_t *claimed = &pool->workers[t - 1].claimed;
    uint64_t before = atomic_load_explicit(claimed, memory_order_relaxed);
    return before < sequence && atomic_compare_exchange_strong(claimed, &before, sequence);
}

/* Pieces 1 ... parts - 1 that nobody has claimed, `first` before the others. */
static void run_unclaimed(hn_pool *pool, uint64_t sequence, int parts, int first) {
    for (int k = 0; k < parts - 1; k++) {
        int t = 1 + (first - 1 + k) % (parts - 1);
        if (!claim(pool, t, sequence)) continue;
        run_piece(pool, t, parts);
        if (atomic_fetch_sub(&pool->pending, 1) == 1 && atomic_load(&pool->caller_sleeps)) {
            pthread_mutex_lock(&pool->lock);
            pthread_cond_signal(&pool->done);
            pthread_mutex_unlock(&pool->lock);
        }
    }
}

static void *work(void *arg) {
    worker *w = arg;
    hn_pool *pool = w->pool;
    for (uint64_t seen = 0;;) {
        spin(&pool->state, seen, false);
        uint64_t state = atomic_load(&pool->state);
        if (state == seen) {
            pthread_mutex_lock(&pool->lock);
            atomic_fetch_add(&pool->sleepers, 1);
            while ((state = atomic_load(&pool->state)) == seen)
                pthread_cond_wait(&pool->wake, &pool->lock);
            atomic_fetch_sub(&pool->sleepers, 1);
            pthread_mutex_unlock(&pool->lock);
        }
        if (state == STOP) return NULL;
        seen = state;
        int parts = (int)(state & ((1u << PARTS_BITS) - 1));
        if (w->index < parts) run_unclaimed(pool, state >> PARTS_BITS, parts, w->index);
    }
}

static void announce(hn_pool *pool, uint64_t state) {
    atomic_store(&pool->state, state);
    if (atomic_load(&pool->sleepers) == 0) return;
    pthread_mutex_lock(&pool->lock);
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
}

void hn_pool_run(hn_pool *pool, int64_t n, void (*fn)(void *ctx, int64_t i), void *ctx) {
    int threads = hn_pool_threads(pool);
    if (threads == 1 || n <= 1 || atomic_exchange(&pool->held, true)) {
        for (int64_t i = 0; i < n; i++) fn(ctx, i);
        return;
    }
    int parts = n < threads ? (int)n : threads;
    pool->fn = fn;
    pool->ctx = ctx;
    pool->n = n;
    atomic_store(&pool->pending, (uint64_t)parts - 1);
    uint64_t sequence = (atomic_load(&pool->state) >> PARTS_BITS) + 1;
    announce(pool, sequence << PARTS_BITS | (uint64_t)parts);
    run_piece(pool, 0, parts);
    run_unclaimed(pool, sequence, parts, 1);
    spin(&pool->pending, 0, true);
    if (atomic_load(&pool->pending) != 0) {
        pthread_mutex_lock(&pool->lock);
        atomic_store(&pool->caller_sleeps, true);
        while (atomic_load(&pool->pending) != 0) pthread_cond_wait(&pool->done, &pool->lock);
        atomic_store(&pool->caller_sleeps, false);
        pthread_mutex_unlock(&pool->lock);
    }
    atomic_store(&pool->held, false);
}

int hn_pool_threads(const hn_pool *pool) { return pool == NULL ? 1 : pool->threads; }

hone_status hn_pool_create(hn_pool **out, int threads, hn_allocator *alloc, hn_error *err) {
    HN_CHECK(err, threads >= 0 && threads <= HN_THREADS_MAX, HONE_E_ARG,
             "thread pool: %d threads, wanted 1 to %d, or 0 for the default", threads,
             HN_THREADS_MAX);
    if (threads == 0) threads = hn_cpu_threads();
    int cores = hn_cpu_available();
    if (threads > cores)
        hn_log(HONE_LOG_WARN, "%d threads on %d available cores will slow each other down", threads,
               cores);

    size_t bytes = sizeof(hn_pool) + (size_t)(threads - 1) * sizeof(worker);
    hn_pool *pool = hn_alloc_zero(alloc, bytes, HN_MEM_OTHER);
    if (pool == NULL) return HN_NOMEM(err);
    pool->alloc = alloc;
    pool->threads = threads;
    pool->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    pool->wake = pool->done = (pthread_cond_t)PTHREAD_COND_INITIALIZER;

    /* Signals are for the program's own threads: workers inherit a mask that blocks all of them. */
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int trouble = 0;
    while (trouble == 0 && pool->started < threads - 1) {
        worker *w = &pool->workers[pool->started];
        *w = (worker){.pool = pool, .index = pool->started + 1};
        trouble = pthread_create(&w->thread, NULL, work, w);
        if (trouble == 0) pool->started++;
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (trouble != 0) {
        hn_fail(err, HONE_E_LIMIT, "thread pool: cannot start thread %d of %d: %s",
                pool->started + 2, threads, strerror(trouble));
        hn_pool_destroy(pool);
        return HONE_E_LIMIT;
    }
    *out = pool;
    return HONE_OK;
}

void hn_pool_pin(hn_pool *pool) {
    int cpus[HN_THREADS_MAX];
    if (hn_cpu_list(cpus, HN_THREADS_MAX) < pool->threads) return;
    for (int i = 0; i < pool->started; i++) {
        cpu_set_t one;
        CPU_ZERO(&one);
        if (cpus[i + 1] >= CPU_SETSIZE) return;
        CPU_SET(cpus[i + 1], &one);
        pthread_setaffinity_np(pool->workers[i].thread, sizeof one, &one);
    }
}

void hn_pool_destroy(hn_pool *pool) {
    if (pool == NULL) return;
    announce(pool, STOP);
    for (int i = 0; i < pool->started; i++) pthread_join(pool->workers[i].thread, NULL);
    pthread_mutex_destroy(&pool->lock);
    pthread_cond_destroy(&pool->wake);
    pthread_cond_destroy(&pool->done);
    hn_free(pool->alloc, pool);
}

/* hone's thread pool: one per process is enough, and one run holds it at a time.
 *
 * hn_pool_run(pool, n, fn, ctx) equals: for (i = 0; i < n; i++) fn(ctx, i);   with the i spread
 * over the threads by a static rule (thread t of T takes [n*t/T, n*(t+1)/T), T being at most n),
 * the caller being thread 0. The piece of a thread that has not begun when another is done goes to
 * that one. Results must not depend on T, so fn(ctx, i) writes only what belongs to i. If a run
 * holds the pool already (another thread's, or the one whose fn is calling), the new run is done by
 * its caller alone. A worker that has done its piece spins 50 us for the next one, then sleeps.
 */
#ifndef HN_BASE_POOL_H
#define HN_BASE_POOL_H

#include "base/alloc.h"
#include "base/cpu.h"
#include "base/error.h"

typedef struct hn_pool hn_pool;

/* threads: 0 means hn_cpu_threads(). 1 makes a pool with no workers. More than the available cores
 * is a warning in the log. */
hone_status hn_pool_create(hn_pool **out, int threads, hn_allocator *alloc, hn_error *err);
void hn_pool_destroy(hn_pool *pool); /* NULL accepted */
/* Keeps worker i on core i of those this process may use, core 0 being left to callers. Nothing
 * where there are fewer cores than threads. */
void hn_pool_pin(hn_pool *pool);
int hn_pool_threads(const hn_pool *pool); /* 1 for NULL */
/* A NULL pool is the caller alone. */
void hn_pool_run(hn_pool *pool, int64_t n, void (*fn)(void *ctx, int64_t i), void *ctx);

#endif

/* hone's thread pool: one per process is enough, and one run holds it at a time.
 *
 * hn_pool_run(pool, n, fn, ctx) equals: for (i = 0; i < n; i++) fn(ctx, i);   with the i spread over the threads by a static
 * rule (thread t takes [n*t/T, n*(t+1)/T)), the caller being thread 0. Results must not depend on T, so fn(ctx, i) writes only
 * what belongs to i. If another run holds the pool, or fn itself calls hn_pool_run, the inner run is done by its caller alone.
 * Workers spin 50 us after their last piece while a run is active, then sleep.
 */
#ifndef HN_BASE_POOL_H
#define HN_BASE_POOL_H

#include "base/alloc.h"
#include "base/error.h"

typedef struct hn_pool hn_pool;

/* threads: 0 means hn_cpu_threads(). 1 makes a pool with no workers. */
hone_status hn_pool_create(hn_pool **out, int threads, hn_allocator *alloc, hn_error *err);
void hn_pool_destroy(hn_pool *pool); /* NULL accepted */
int hn_pool_threads(const hn_pool *pool); /* 1 for NULL */
void hn_pool_run(hn_pool *pool, int64_t n, void (*fn)(void *ctx, int64_t i), void *ctx); /* NULL pool: the caller alone */

/* Threads this process should use: HONE_THREADS if set and valid, else the physical cores its affinity mask allows, capped by
 * the cgroup v1/v2 CPU quota (rounded up); at least 1. */
int hn_cpu_threads(void);
/* Bytes of memory this process may use: physical memory, capped by the cgroup limit. */
size_t hn_cpu_memory(void);

#endif

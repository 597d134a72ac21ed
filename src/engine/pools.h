/* One pool of threads per process: runners that want the threads it has share it, others get a pool
 * of their own. */
#ifndef HN_ENGINE_POOLS_H
#define HN_ENGINE_POOLS_H

#include "base/pool.h"

/* Threads for somebody who asked for so many; 0: as many as the machine has cores, but for those
 * left to others. */
int hn_pools_threads(int asked, int reserved);
hone_status hn_pools_take(hn_pool **out, int threads, bool pinned, hn_error *err);
void hn_pools_give(hn_pool *pool); /* NULL accepted */

#endif

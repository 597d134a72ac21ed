#include "engine/pools.h"

#include <pthread.h>

#include "base/cpu.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static hn_pool *shared_pool;
static bool shared_pinned;
static int shared_users;

int hn_pools_threads(int asked, int reserved) {
    if (asked > 0) return asked;
    int all = hn_cpu_threads(), spared = hn_cpu_available() - reserved;
    return spared >= all ? all : spared > 1 ? spared : 1;
}

static hone_status make_pool(hn_pool **out, int threads, bool pinned, hn_error *err) {
    HN_TRY(hn_pool_create(out, threads, hn_allocator_default(), err));
    if (pinned) hn_pool_pin(*out);
    return HONE_OK;
}

hone_status hn_pools_take(hn_pool **out, int threads, bool pinned, hn_error *err) {
    hone_status status = HONE_OK;
    pthread_mutex_lock(&lock);
    if (shared_pool == NULL) {
        status = make_pool(&shared_pool, threads, pinned, err);
        shared_pinned = pinned;
    }
    if (status == HONE_OK && hn_pool_threads(shared_pool) == threads && shared_pinned == pinned) {
        shared_users++;
        *out = shared_pool;
    } else if (status == HONE_OK) {
        status = make_pool(out, threads, pinned, err);
    }
    pthread_mutex_unlock(&lock);
    return status;
}

void hn_pools_give(hn_pool *pool) {
    if (pool == NULL) return;
    pthread_mutex_lock(&lock);
    bool last = pool != shared_pool;
    if (pool == shared_pool && --shared_users == 0) {
        shared_pool = NULL;
        last = true;
    }
    pthread_mutex_unlock(&lock);
    if (last) hn_pool_destroy(pool);
}

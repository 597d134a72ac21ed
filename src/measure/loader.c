#include "measure/loader.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "base/cpu.h"

/* What became of one batch, until it is handed out. */
typedef struct slot {
    bool ready;
    hone_status status;
    hn_error error;
    hn_samples samples;
} slot;

struct hn_loader {
    const hn_feed *feed;
    hn_allocator *alloc;
    int64_t *order; /* NULL: as the dataset has them */
    int64_t total, batch, n_batches;
    struct {
        int64_t of, first, n;
    } share;
    hone_status (*prepare)(void *ctx, int64_t batch, hn_samples *s, hn_error *err);
    void *prepare_ctx;
    int n_threads;
    pthread_t threads[HN_THREADS_MAX];
    pthread_mutex_t lock;       /* of all below */
    pthread_cond_t room, ready; /* a batch may be begun; a batch is ready */
    int64_t begun, taken;       /* batches */
    bool stop;
    int n_slots;
    slot *slots; /* batch b is kept in slot b % n_slots */
};

static hone_status read_batch(const hn_loader *l, int64_t b, hn_samples *out, hn_error *err) {
    if (l->share.of > 0) b = b / l->share.n * l->share.of + l->share.first + b % l->share.n;
    int64_t first = b * l->batch, left = l->total - first;
    HN_TRY(hn_feed_read(l->feed, l->order, first, left < l->batch ? left : l->batch, out, err));
    hone_status status = l->prepare != NULL ? l->prepare(l->prepare_ctx, b, out, err) : HONE_OK;
    if (status != HONE_OK) hn_samples_deinit(out);
    return status;
}

static void *work(void *arg) {
    hn_loader *l = arg;
    pthread_mutex_lock(&l->lock);
    for (;;) {
        while (!l->stop && l->begun < l->n_batches && l->begun == l->taken + l->n_slots)
            pthread_cond_wait(&l->room, &l->lock);
        if (l->stop || l->begun == l->n_batches) break;
        int64_t b = l->begun++;
        slot *s = &l->slots[b % l->n_slots];
        pthread_mutex_unlock(&l->lock);
        s->status = read_batch(l, b, &s->samples, &s->error);
        pthread_mutex_lock(&l->lock);
        s->ready = true;
        pthread_cond_signal(&l->ready);
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

/* Batch l->taken, which is waited for. */
static hone_status take(hn_loader *l, hn_samples *out, hn_error *err) {
    if (l->n_threads == 0) return read_batch(l, l->taken++, out, err);
    slot *s = &l->slots[l->taken % l->n_slots];
    pthread_mutex_lock(&l->lock);
    while (!s->ready) pthread_cond_wait(&l->ready, &l->lock);
    hone_status status = s->status;
    if (status == HONE_OK)
        *out = s->samples;
    else if (err != NULL)
        *err = s->error;
    s->samples = (hn_samples){0};
    s->ready = false;
    l->taken++;
    pthread_cond_signal(&l->room);
    pthread_mutex_unlock(&l->lock);
    return status;
}

hone_status hn_loader_next(hn_loader *l, hn_samples *out, hn_error *err) {
    hn_samples s = {0};
    while (s.n == 0 && l->taken < l->n_batches) {
        hn_samples_deinit(&s);
        HN_TRY(take(l, &s, err));
    }
    if (s.n == 0) hn_samples_deinit(&s);
    *out = s;
    return HONE_OK;
}

/* Signals are for the program's own threads: workers block all of them. */
static hone_status start(hn_loader *l, int threads, hn_error *err) {
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int trouble = 0;
    while (trouble == 0 && l->n_threads < threads) {
        trouble = pthread_create(&l->threads[l->n_threads], NULL, work, l);
        l->n_threads += trouble == 0;
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    HN_CHECK(err, trouble == 0, HONE_E_LIMIT, "loader: cannot start thread %d of %d: %s",
             l->n_threads + 1, threads, strerror(trouble));
    return HONE_OK;
}

static int64_t kept_ahead(const hn_loader_options *o) {
    return o->threads == 0 ? 0 : o->ahead > 0 ? o->ahead : 2 * o->threads;
}

size_t hn_loader_bytes(const hn_loader_options *o, int64_t total) {
    return sizeof(hn_loader) + (size_t)kept_ahead(o) * sizeof(slot) +
           (o->shuffle ? (size_t)total * sizeof(int64_t) : 0);
}

static hone_status prepare(hn_loader *l, const hn_loader_options *o, hn_error *err) {
    int64_t all = hn_dataset_count(hn_feed_dataset(l->feed));
    if (o->shuffle) HN_TRY(hn_dataset_permutation(&l->order, all, o->seed, l->alloc, err));
    if (o->threads == 0) return HONE_OK;
    int64_t kept = kept_ahead(o);
    l->n_slots = (int)(kept < l->n_batches ? kept : l->n_batches);
    l->slots = hn_alloc_zero(l->alloc, (size_t)l->n_slots * sizeof *l->slots, HN_MEM_DATA);
    if (l->slots == NULL) return HN_NOMEM(err);
    return start(l, o->threads < l->n_slots ? o->threads : l->n_slots, err);
}

hone_status hn_loader_create(hn_loader **out, const hn_feed *feed, const hn_loader_options *o,
                             hn_allocator *alloc, hn_error *err) {
    HN_CHECK(err, o->threads >= 0 && o->threads <= HN_THREADS_MAX, HONE_E_ARG,
             "loader: %d threads, wanted 0 to %d", o->threads, HN_THREADS_MAX);
    HN_CHECK(err, o->ahead >= 0, HONE_E_ARG, "loader: %d batches ahead", o->ahead);
    HN_CHECK(err, o->samples >= 0, HONE_E_ARG, "loader: %lld samples", (long long)o->samples);
    HN_CHECK(err, o->batch >= 0 && o->batch <= hn_feed_batch(feed), HONE_E_ARG,
             "loader: batches of %lld samples, wanted at most %lld", (long long)o->batch,
             (long long)hn_feed_batch(feed));
    hn_loader *l = hn_alloc_zero(alloc, sizeof *l, HN_MEM_DATA);
    if (l == NULL) return HN_NOMEM(err);
    l->feed = feed;
    l->alloc = alloc;
    l->total = hn_dataset_count(hn_feed_dataset(feed));
    if (o->samples > 0 && o->samples < l->total) l->total = o->samples;
    l->batch = o->batch > 0 ? o->batch : hn_feed_batch(feed);
    l->n_batches = (l->total - 1) / l->batch + 1;
    l->share.of = o->share.of, l->share.first = o->share.first, l->share.n = o->share.n;
    if (l->share.of > 0) l->n_batches = l->n_batches / l->share.of * l->share.n;
    l->prepare = o->prepare;
    l->prepare_ctx = o->prepare_ctx;
    l->begun = l->taken = o->skip < l->n_batches ? o->skip : l->n_batches;
    l->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    l->room = l->ready = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    hone_status status = prepare(l, o, err);
    if (status != HONE_OK)
        hn_loader_destroy(l);
    else
        *out = l;
    return status;
}

void hn_loader_destroy(hn_loader *l) {
    if (l == NULL) return;
    pthread_mutex_lock(&l->lock);
    l->stop = true;
    pthread_cond_broadcast(&l->room);
    pthread_mutex_unlock(&l->lock);
    for (int i = 0; i < l->n_threads; i++) pthread_join(l->threads[i], NULL);
    for (int i = 0; i < l->n_slots && l->slots != NULL; i++)
        hn_samples_deinit(&l->slots[i].samples);
    pthread_mutex_destroy(&l->lock);
    pthread_cond_destroy(&l->room);
    pthread_cond_destroy(&l->ready);
    hn_free(l->alloc, l->slots);
    hn_free(l->alloc, l->order);
    hn_free(l->alloc, l);
}

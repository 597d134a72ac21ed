/* A dataset from end to end, in batches that are read ahead by threads of their own.
 *
 * Worker threads take the batches one after the other, each reading, decoding, converting and
 * preparing a whole one in the place kept for it; the caller gets them in order. What a batch holds depends
 * on its number alone, so results are the same for any number of threads, and an error belongs to
 * the batch it happened in. At most `ahead` batches are in memory beside the one handed out:
 *
 *     batches   0  1  2 | 3  4  5  6 | 7 ...        handed out | kept: ready or being read | later
 */
#ifndef HN_MEASURE_LOADER_H
#define HN_MEASURE_LOADER_H

#include "measure/feed.h"

typedef struct hn_loader hn_loader;

typedef struct hn_loader_options {
    int threads;     /* that read; 0: none, the caller reads each batch when it asks for it */
    int ahead;       /* batches kept; 0: two per thread */
    int64_t samples; /* at most; 0: all */
    int64_t batch;   /* samples of a batch; 0: as many as the feed's, which it must not pass */
    bool shuffle;
    uint64_t seed; /* of the order, if shuffled */
    int64_t skip;  /* batches that are left out at the beginning */
    /* Of each `of` batches, only `n` are read, from number `first` on: others read the rest. 0: all
     * are. */
    struct {
        int64_t of, first, n;
    } share;
    /* Changes batch number `batch` once it is read, on the thread that read it: several at once. May
     * be NULL. */
    hone_status (*prepare)(void *ctx, int64_t batch, hn_samples *s, hn_error *err);
    void *prepare_ctx;
} hn_loader_options;

/* The feed, and with it graph and dataset, must outlive the loader. */
hone_status hn_loader_create(hn_loader **out, const hn_feed *feed, const hn_loader_options *options,
                             hn_allocator *alloc, hn_error *err);
/* Bytes that a loader of `total` samples takes beside its batches, at most. */
size_t hn_loader_bytes(const hn_loader_options *options, int64_t total);
/* May be called at any time, also before the last batch; NULL accepted. */
void hn_loader_destroy(hn_loader *l);
/* The next batch with a sample in it, which is then the caller's; n = 0: there is none. After an
 * error, which concerns one batch, the next call goes on behind it. */
hone_status hn_loader_next(hn_loader *l, hn_samples *out, hn_error *err);

#endif

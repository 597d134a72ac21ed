/* Runs a model over samples and shows what some of its values are: for ranges, for the input of a
 * layer, for means.
 *
 * The values are made outputs of a copy of the model, which are shown as soon as they are made. As
 * many samples are run at once as keep them within a bound, as if all were kept. Where they must be
 * (plain executor, graphs whose sizes only running tells) and not even those of one sample fit, all
 * samples are gone over again for the values that are left.
 */
#ifndef HN_COMPRESS_WATCH_H
#define HN_COMPRESS_WATCH_H

#include "measure/feed.h"
#include "measure/look.h"
#include "measure/program.h"

/* Value i (an index into names) of the next batch, and of how many samples that is. Rows that fill
 * up a fixed batch are left out where the first axis tells them. Values come in the order of
 * batches; those of one batch in any order. */
typedef hone_status hn_watch_fn(void *ctx, int i, const hn_tensor *value, int64_t n, hn_error *err);

typedef struct hn_watch_options {
    int64_t samples;   /* at most; 0: all */
    int64_t batch;     /* of a run; 0: as many as fit. Two models then get the same batches */
    size_t most_bytes; /* of watched values of one run, judged by the first batch; 0: 128 MB */
    hn_look *look;     /* looks at the samples too; NULL: none does */
    bool (*progress)(void *ctx, int64_t done, int64_t total); /* may be NULL; false: HONE_E_LIMIT */
    void *progress_ctx;
} hn_watch_options;

/* names[]: outputs of nodes of the top graph, or inputs. m is only read; it has the inputs of the
 * graph that the feed was made for. The next sample is read while one is run. */
hone_status hn_watch(const hn_model *m, const char *const *names, int n, const hn_feed *feed,
                     const hn_run_options *how, const hn_watch_options *o, hn_watch_fn *fn,
                     void *ctx, hn_allocator *alloc, hn_error *err);

#endif

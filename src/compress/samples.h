/* The samples that a compression looks at: so many, spread evenly over a dataset, since datasets
 * are often sorted by class. Looked at once before anything is made of them: what is not finite is
 * an error, what is all alike or noise gets a warning, and a hash says later what was used. */
#ifndef HN_COMPRESS_SAMPLES_H
#define HN_COMPRESS_SAMPLES_H

#include "base/sha256.h"
#include "measure/feed.h"

typedef struct hn_sample_choice {
    hn_allocator *alloc;
    int64_t *index; /* in the dataset they were chosen from */
    hn_dataset *data;
    hn_feed *feed;
    int64_t n;                /* that can be decoded */
    char hash[HN_SHA256_HEX]; /* of what the model is fed */
    char warning[400];        /* "": there is none */
} hn_sample_choice;

typedef bool hn_sample_progress(void *ctx, int64_t done, int64_t total);

/* most: samples, 0: all. batch: of a run, 0: 16 or the model's. The dataset and the graph must
 * outlive the choice. progress may be NULL; false: HONE_E_LIMIT. */
hone_status hn_sample_choose(hn_sample_choice *out, hn_dataset *from, int64_t most,
                             const hn_graph *g, int64_t batch, int threads,
                             hn_sample_progress *progress, void *progress_ctx, hn_allocator *alloc,
                             hn_error *err);
void hn_sample_choice_deinit(hn_sample_choice *c); /* all zero accepted */

#endif

/* From the samples of a dataset to the inputs of a model: which field goes to which input, and in
 * which shape.
 *
 * The first axis of an input is the batch; an input whose dims, the first included, make up exactly
 * one sample takes samples one by one. Symbolic axes take the sample's own sizes. Sequences (one
 * symbolic axis beside the batch) that are padded with zeros are cut at the longest of their batch,
 * judged by the input whose name holds "mask" if there is one.
 */
#ifndef HN_MEASURE_FEED_H
#define HN_MEASURE_FEED_H

#include "formats/dataset.h"
#include "ir/ir.h"

typedef struct hn_feed hn_feed;

/* batch: samples a run should take, 0: the model's fixed batch, or 16. The graph and the dataset
 * must outlive the feed. */
hone_status hn_feed_create(hn_feed **out, const hn_graph *g, hn_dataset *ds, int64_t batch,
                           hn_allocator *alloc, hn_error *err);
void hn_feed_destroy(hn_feed *f); /* NULL accepted */
hn_dataset *hn_feed_dataset(const hn_feed *f);
/* Samples a run takes at most: what was asked for, or the model's fixed batch where that is less.
 */
int64_t hn_feed_batch(const hn_feed *f);
/* Rows of a run of n samples: n, or the model's fixed batch. */
int64_t hn_feed_rows(const hn_feed *f, int64_t n);
/* Samples, ready for a run. */
typedef struct hn_samples {
    int64_t n;           /* those that cannot be decoded are left out, all of them perhaps */
    int64_t *index;      /* of each in the dataset */
    int64_t *labels;     /* of each; NULL: the dataset has none */
    hn_tensor **in;      /* one per input of the graph, NULL for one that has an initializer */
    hn_tensor **targets; /* one per target of the dataset: [n, ...], as stored */
    hn_tensor *view;     /* another view of an input, which whoever prepares the samples may add */
    int n_in, n_targets;
    hn_allocator *alloc; /* of the arrays */
} hn_samples;

/* Samples [first, first + n), n at most the batch, or those whose numbers stand at these places of
 * `order`. A fixed batch larger than what comes is filled up with zeros. Several threads may read
 * at once. */
hone_status hn_feed_read(const hn_feed *f, const int64_t *order, int64_t first, int64_t n,
                         hn_samples *out, hn_error *err);
void hn_samples_deinit(hn_samples *s); /* one that is all zero accepted */

/* The inputs alone, of all these samples: one that cannot be decoded is an error. */
hone_status hn_feed_load(const hn_feed *f, int64_t first, int64_t n, hn_tensor **in, hn_error *err);

#endif

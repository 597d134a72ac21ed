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
/* Samples a run takes at most: what was asked for, or the model's fixed batch where that is less.
 */
int64_t hn_feed_batch(const hn_feed *f);
/* Rows of a run of n samples: n, or the model's fixed batch. */
int64_t hn_feed_rows(const hn_feed *f, int64_t n);
/* Samples [first, first + n), n at most the batch: in[] gets one tensor per input of the graph,
 * NULL for one that has an initializer. A fixed batch larger than n is filled up with zeros. */
hone_status hn_feed_load(const hn_feed *f, int64_t first, int64_t n, hn_tensor **in, hn_error *err);

#endif

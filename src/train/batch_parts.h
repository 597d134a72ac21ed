/* Sums over the parts of a batch: neighbours are added, then those sums, and so on. With as many
 * parts the sum is the same bits, whether one process computes them all or several some each, as long
 * as each has 1, 2, 4 ... of them.
 */
#ifndef HN_TRAIN_BATCH_PARTS_H
#define HN_TRAIN_BATCH_PARTS_H

#include "base/alloc.h"
#include "train/ranks.h"

typedef struct hn_parts hn_parts;

/* n: floats of a part. parts: those of this process. ranks must outlive it. */
hone_status hn_parts_create(hn_parts **out, int64_t n, int64_t parts, const hn_ranks *ranks,
                            hn_allocator *alloc, hn_error *err);
void hn_parts_destroy(hn_parts *p); /* NULL accepted */
/* Where the next part is to be written. */
float *hn_parts_room(hn_parts *p);
/* It is written. *sum: the sum, when it was the last one; until the next part begins. NULL: others
 * are to come. */
hone_status hn_parts_add(hn_parts *p, float **sum, hn_error *err);

#endif

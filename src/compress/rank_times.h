/* Which ranks make layers faster on this machine.
 *
 * Times of products do not follow their multiplications: kernels work in tiles, small products wait
 * for memory, and two steps cost more than one. So ranks are tried: for each of a few ranks a copy of
 * the model is made in which every layer has it, and runs in turns with the model itself. A layer's
 * time is the least sum of its steps, which lie among the others as they will later. No kernel's time
 * depends on values, so the weights of the copies are any numbers.
 */
#ifndef HN_COMPRESS_RANK_TIMES_H
#define HN_COMPRESS_RANK_TIMES_H

#include "compress/chain.h"
#include "compress/shrinking.h"

typedef struct hn_rank_time {
    int64_t rank; /* the largest that is so much faster; 0: none is */
    double was_ms,
        is_ms; /* NaN: the layer has no step of its own; is_ms: of that rank, or the least */
} hn_rank_time;

/* of[i]: of layers[i], as the form `channel`, at least `faster` (a share) faster than it was. Inputs
 * are the first sample; without samples, ones of the sizes that `hone inspect` takes. */
hone_status hn_rank_times(hn_rank_time *of, const hn_chained *layers, int n, double faster,
                          const hn_transform_ctx *c, hn_error *err);

/* in[]: what a run that is timed takes, the first sample or ones; NULL where there is a default. They
 * are the caller's, after a failure too. */
enum { HN_TIMED_INPUTS = 64 };
hone_status hn_timed_inputs(const hn_transform_ctx *c, hn_tensor **in, hn_error *err);

#endif

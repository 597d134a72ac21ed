/* Which range method each value of a model gets, by what methods do to the model's outputs.
 *
 * A range that leaves out the few values farthest out gives the others finer steps. Whether that
 * pays depends on what reads the value: behind a hard-swish or a gate of squeeze-and-excite the
 * largest values may be the ones that count. So the methods that can be read off one histogram are
 * tried: first each for all values, then, from the best of these, others for one group of
 * neighbouring values after another. The model is quantized by the ranges, with weights of 8 bits,
 * and run on some of the samples; a change stays if it leaves clearly less noise at the outputs.
 *
 * How many models are tried and on how many samples is fixed: what is chosen depends neither on the
 * clock nor on the number of threads.
 */
#ifndef HN_COMPRESS_RANGES_H
#define HN_COMPRESS_RANGES_H

#include "compress/calibration.h"
#include "compress/scheme.h"

typedef struct hn_range_search {
    const hn_scheme *scheme; /* which values have ranges, in which types */
    const hn_feed *feed;
    const hn_run_options *how;
    bool (*progress)(void *ctx, int64_t done, int64_t total); /* may be NULL; false: HONE_E_LIMIT */
    void *progress_ctx;
} hn_range_search;

/* Gives each value of c, which was made with HN_RANGE_AUTO, its method. m is only read. */
hone_status hn_ranges_choose(hn_calibration *c, const hn_model *m, const hn_range_search *s,
                             hn_allocator *alloc, hn_error *err);

#endif

/* What the pooling operators share: windows that slide over the spatial axes of [N, C, ...] or
 * [N, ..., C] and become one number each. (The thread pool is base/pool.h.) */
#ifndef HN_OPS_POOLING_REF_H
#define HN_OPS_POOLING_REF_H

#include "ops/spatial.h"

/* Every output has the shape that input 0 and the attributes give. */
hone_status hn_pool_infer(hn_infer *c, bool channels_last, hn_error *err);

typedef enum hn_pool_mode {
    HN_POOL_MAX,     /* NaN if there is one; the first of equals */
    HN_POOL_AVERAGE, /* 0 where nothing is counted */
    HN_POOL_SUM,     /* what AVERAGE divides, with what it divides by in `at` */
    HN_POOL_LP,      /* the p-th root of the sum of |x|^p */
} hn_pool_mode;

typedef struct hn_pooling {
    hn_pool_mode mode;
    bool channels_last;
    bool count_pads; /* AVERAGE, SUM: padding counts as elements that are 0 */
    int64_t p;       /* LP */
    double zero;     /* subtracted from every element */
    double lowest;   /* MAX: of a window that lies in the padding altogether */
    /* Takes the results of channel c of image n, [out_size]. at: MAX: where in the plane each
     * maximum was, -1 for none; SUM: the count. Called from any thread. */
    void (*store)(const void *ctx, int64_t n, int64_t c, int64_t out_size, const double *v,
                  const int64_t *at);
    const void *ctx;
} hn_pooling;

/* y: a tensor of the output's dims. */
hone_status hn_pool_ref(hn_eval *e, const hn_tensor *x, const hn_tensor *y, const hn_pooling *p,
                        hn_error *err);

#endif

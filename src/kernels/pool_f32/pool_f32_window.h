/* What part of a window of pool_f32 lies where, along one axis. */
#ifndef HN_KERNELS_POOL_F32_WINDOW_H
#define HN_KERNELS_POOL_F32_WINDOW_H

#include <stdint.h>

#include "base/divide.h"

typedef struct hn_pool_span {
    int64_t first;   /* the first position inside the image */
    int64_t n;       /* taps inside the image */
    int64_t counted; /* taps inside the padded image */
} hn_pool_span;

/* Window o, of k taps, over an axis of size `in`. */
static inline hn_pool_span hn_pool_span_of(int64_t o, int64_t k, int64_t stride, int64_t dilation,
                                           int64_t pad, int64_t pad_end, int64_t in) {
    int64_t start = o * stride - pad;
    int64_t skipped = start < 0 ? hn_ceil_over(-start, dilation) : 0;
    int64_t inside = start < in ? hn_over(in - start - 1, dilation) + 1 : 0;
    int64_t counted = start < in + pad_end ? hn_over(in + pad_end - start - 1, dilation) + 1 : 0;
    if (inside > k) inside = k;
    return (hn_pool_span){.first = start + skipped * dilation,
                          .n = inside > skipped ? inside - skipped : 0,
                          .counted = counted < k ? counted : k};
}

#endif

/* pool_grad_f32: the gradient of pools over channels-last images by their input.
 *
 *   max    dx[p] = sum of dy over the windows whose first maximum is p; NaN is the maximum
 *   mean   dx[p] = sum of dy / count over the windows that p lies in; count: of the window's pixels,
 *          padding included where that counts (not what lies behind it)
 *
 * x is read by `max` alone, and dy is where `y_*` say. dx is written in full.
 *
 * Error: that of sums of as many numbers as windows reach a pixel.
 */
#ifndef HN_KERNELS_POOL_GRAD_F32_H
#define HN_KERNELS_POOL_GRAD_F32_H

#include "kernels/kernel.h"
#include "kernels/window.h"

typedef enum hn_pool_grad_kind { HN_POOL_GRAD_MAX, HN_POOL_GRAD_MEAN } hn_pool_grad_kind;

typedef struct hn_pool_grad_f32 {
    HN_WINDOWS;
    int64_t dx_image, dx_row, dx_pixel;
    hn_pool_grad_kind kind;
    bool count_pads;
} hn_pool_grad_f32;

enum { HN_POOL_GRAD_DY, HN_POOL_GRAD_X, HN_POOL_GRAD_DX, HN_POOL_GRAD_OPERANDS_ };

extern const hn_family hn_pool_grad_f32_family;

/* Pixels of a window along an axis that lie inside: taps [*lo, *hi). Returns how many count. */
static inline int64_t hn_pool_grad_taps(int64_t first, int64_t taps, int64_t dilation, int64_t size,
                                        int64_t behind, bool count_pads, int64_t *lo, int64_t *hi) {
    *lo = first < 0 ? (-first + dilation - 1) / dilation : 0;
    *hi = first >= size ? 0 : (size - 1 - first) / dilation + 1;
    if (*hi > taps) *hi = taps;
    if (*lo > *hi) *lo = *hi;
    if (!count_pads) return *hi - *lo;
    int64_t all = (size + behind - 1 - first) / dilation + 1;
    return all < taps ? all : taps;
}

#endif

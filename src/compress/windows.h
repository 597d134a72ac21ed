/* Windows of a Conv: what one pixel of its output is the product of weights with.
 *
 *     x [C, D1, D2]  ──▶  row [C * taps], element c * taps + t: channel c under tap t, 0 in padding
 *
 * as the weights [M, C/group * taps] are laid out: a group's part of the row is contiguous.
 */
#ifndef HN_COMPRESS_WINDOWS_H
#define HN_COMPRESS_WINDOWS_H

#include "ops/spatial.h"

typedef struct hn_windows {
    hn_spatial at;
    int64_t channels, taps;
    int64_t in_size, count; /* elements of a channel; windows, 0 where x is too small for one */
    int64_t in[HN_MAX_SPATIAL], out[HN_MAX_SPATIAL];
} hn_windows;

/* Of a Conv with weight w over inputs like x. HONE_E_SHAPE: they do not fit. */
hone_status hn_windows_init(hn_windows *s, const hn_node *n, const hn_tensor *w, const hn_tensor *x,
                            hn_error *err);
/* Window number `window` of one sample, channels * taps floats. */
void hn_windows_copy(const hn_windows *s, const float *sample, int64_t window, float *row);

#endif

/* Windows that slide over images with channels last: what convolutions and pools have in common.
 *
 *   y[b][oy][ox][o]  is computed from  x[b][oy*sh + ky*dh - pt][ox*sw + kx*dw - pl][i]
 *                                      for ky < kh, kx < kw and the channels i of o's group
 *
 * and perhaps from r[b][oy][ox][o]. A pool has as many groups as channels. Strides are in elements.
 * Convolutions do not read pb and pr: where their windows end follows from the other sizes.
 */
#ifndef HN_KERNELS_WINDOW_H
#define HN_KERNELS_WINDOW_H

#include <stdint.h>

#define HN_WINDOWS_FIELDS                                                         \
    int64_t batch, h, w, c; /* input images; c over all groups */                 \
    int64_t oh, ow, n;      /* output images; n over all groups */                \
    int64_t kh, kw, sh, sw, dh, dw;                                               \
    int64_t pt, pl, pb, pr; /* padding above, to the left, below, to the right */ \
    int64_t groups;                                                               \
    int64_t x_image, x_row, x_pixel, x_channel;                                   \
    int64_t y_image, y_row, y_pixel;                                              \
    int64_t r_image, r_row, r_pixel;

typedef struct hn_windows {
    HN_WINDOWS_FIELDS
} hn_windows;

/* Begins a problem: its fields by name, and all of them as `windows`. */
#define HN_WINDOWS            \
    union {                   \
        hn_windows windows;   \
        struct {              \
            HN_WINDOWS_FIELDS \
        };                    \
    }

#endif

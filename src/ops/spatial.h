/* Windows that slide over the spatial axes of [N, C, D1, D2, ...]: kernel_shape, strides, pads,
 * dilations, auto_pad and ceil_mode, as convolutions, pools and their inverses share them.
 *
 * Along one axis, with extent = (kernel - 1) * dilation + 1, window o covers the positions
 *     o * stride - pad + k * dilation,   k = 0 .. kernel - 1
 * and the number of windows is
 *     floor((in + pad + pad_end - extent) / stride) + 1     or with ceil_mode
 *     ceil((in + pad + pad_end - extent) / stride) + 1      windows that start beyond in + pad
 *                                                           dropped
 *     ceil(in / stride)                                     auto_pad SAME_*, which sets pads so
 */
#ifndef HN_OPS_SPATIAL_H
#define HN_OPS_SPATIAL_H

#include "ops/op.h"

#define HN_MAX_SPATIAL (HONE_MAX_RANK - 2)

/* Rows for an attribute table. */
#define HN_SPATIAL_ATTRS                                                   \
    HN_ATTR_S("auto_pad", "NOTSET", "NOTSET SAME_UPPER SAME_LOWER VALID"), \
        HN_ATTR_OPT("dilations", INTS), HN_ATTR_OPT("pads", INTS), HN_ATTR_OPT("strides", INTS)

typedef enum hn_auto_pad {
    HN_PAD_NOTSET,
    HN_PAD_SAME_UPPER,
    HN_PAD_SAME_LOWER,
    HN_PAD_VALID
} hn_auto_pad;

/* The attributes of a node, checked: kernel, stride and dilation are in [1, 2^31), pads in
 * [0, 2^31), so that sums and products of two of them and a tensor's size fit in int64_t. */
typedef struct hn_spatial hn_spatial;
struct hn_spatial {
    int rank;
    hn_auto_pad auto_pad;
    bool ceil;
    int64_t kernel[HN_MAX_SPATIAL]; /* 0: not said */
    int64_t stride[HN_MAX_SPATIAL], dilation[HN_MAX_SPATIAL];
    int64_t pad[HN_MAX_SPATIAL], pad_end[HN_MAX_SPATIAL]; /* all 0 unless NOTSET */
};

/* Reads those of kernel_shape, strides, pads, dilations, auto_pad and ceil_mode that the operator
 * declares, for `rank` spatial axes. */
hone_status hn_spatial_read(const hn_node *n, int rank, hn_spatial *s, hn_error *err);

/* Kernel sizes are those of the weights' axes [from, from + rank), which must agree with a
 * kernel_shape that was given. Where the weights' size is only a symbol, kernel[i] stays what the
 * attribute said, 0 if nothing. */
hone_status hn_spatial_kernel(hn_spatial *s, const hn_shape *weights, int from, hn_error *err);

static inline int64_t hn_spatial_extent(const hn_spatial *s, int axis) {
    return (s->kernel[axis] - 1) * s->dilation[axis] + 1;
}

/* Number of windows along an axis of size `in`; a fresh symbol when the kernel is not known.
 * HONE_E_SHAPE when the axis, padded, is smaller than the window. */
hone_status hn_spatial_out(const hn_spatial *s, hn_dims *t, int axis, hn_dim in, hn_dim *out,
                           hn_error *err);

/* Works out the pads of auto_pad SAME for spatial axes of these sizes; kernels are known. */
void hn_spatial_resolve(hn_spatial *s, const int64_t *in);

/* The k of [0, kernel) whose position o * stride - pad + k * dilation lies in [0, in): [*lo, *hi).
 */
void hn_spatial_taps(const hn_spatial *s, int axis, int64_t o, int64_t in, int64_t *lo,
                     int64_t *hi);

/* The `refuse` of means over all spatial axes or windows of them: in integers, they are taken of
 * images, which have one or two such axes. */
const char *hn_refuse_mean(const hn_node *n);
#define HN_NO_MEAN "a mean over other axes than an image's"

#endif

/* What the convolutions share: shape rule, cost, and the reference as a matrix product per image
 * and group,
 *
 *     Y [M/g, pixels] = W [M/g, C/g * taps] · windows of X [C/g * taps, pixels]
 *
 * where the windows are read from X block by block, padding as 0. A transposed convolution is the
 * same product seen from the output: pixel o gets W at tap k from the input position
 * (o + pad - k * dilation) / stride where that is a whole number.
 */
#ifndef HN_OPS_CONV_REF_H
#define HN_OPS_CONV_REF_H

#include "ops/activation.h"
#include "ops/gemm_ref.h"
#include "ops/spatial.h"

/* Output 0 of a convolution from inputs x, w and b (-1 or absent: no bias). */
hone_status hn_conv_infer(hn_infer *c, int x, int w, int b, hn_error *err);
void hn_conv_cost(const hn_infer *c, int w, hn_cost *cost);

/* One spatial axis: output o and tap k look at position o * step + k * dilation + offset, which is
 * input position/up when up divides it. */
typedef struct hn_conv_axis {
    int64_t in, out, taps;
    int64_t step, dilation, offset, up;
} hn_conv_axis;

typedef struct hn_conv {
    int rank;
    hn_conv_axis axis[HN_MAX_SPATIAL];
    int64_t images, groups;
    int64_t c, m;                    /* channels of the input and of the output, per group */
    int64_t in_size, out_size, taps; /* products over the axes */
    const hn_tensor *x, *w;
    bool transposed; /* w is [C, M/g, taps], else [M, C/g, taps] */
    /* A product of integers: x_zero is subtracted from X, w_zero[channel of the output] from W;
     * w_zero may be NULL. */
    bool integer;
    int64_t x_zero;
    const int64_t *w_zero;
    hn_matrix windows; /* instead of the windows of x, when its load is set */
} hn_conv;

/* The numbers of a convolution whose shapes hn_conv_infer accepted. y: its output's dims. */
hone_status hn_conv_plan(const hn_node *n, const hn_tensor *x, const hn_tensor *w,
                         const hn_tensor *y, hn_conv *conv, hn_error *err);

/* The spatial axes of a ConvTranspose whose shapes inference accepted, from the sizes they have in
 * x, w and y. */
hone_status hn_conv_transpose_axes(const hn_node *n, int rank, const int64_t *x, const int64_t *w,
                                   const int64_t *y, hn_conv_axis *axes, hn_error *err);

/* Hands the sums to store as hn_gemm does: the batch is image * groups + group, a row is a channel
 * of the group, a column a pixel. In the output [N, M, pixels] that is element
 * (batch * m + row) * out_size + col. */
hone_status hn_conv_ref(hn_eval *e, const hn_conv *conv,
                        void (*store)(const void *, const hn_block *, const void *, int64_t),
                        const void *out, hn_error *err);

/* A convolution of floats: activation(sums + bias + add), rounded once, into y [N, M, pixels].
 * bias [M], add (of y's dims) and act may be NULL. */
hone_status hn_conv_floats(hn_eval *e, const hn_conv *conv, const hn_tensor *bias,
                           const hn_tensor *add, const hn_activation *act, hn_tensor *y,
                           hn_error *err);

/* Channel of the output that a row of a block belongs to. */
static inline int64_t hn_conv_channel(const hn_conv *conv, const hn_block *at, int64_t row) {
    return at->batch % conv->groups * conv->m + at->row + row;
}

#endif

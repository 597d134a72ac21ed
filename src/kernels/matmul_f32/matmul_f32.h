/* matmul_f32: batched product of two activations (a product by constants is conv_f32's).
 *
 *   c[b][i][j] = act(alpha * sum over k of a[b][i][k] * b[b][k][j] + bias[j] + r[b][i][j])
 *
 * b stands for up to four batch axes. Strides are in floats and may be anything, 0 included for
 * what is broadcast: so either matrix may come transposed, or as the heads of a wider tensor, and r
 * may be a mask that all rows share. Only c must not overlap itself. Operands may have any 4-byte
 * alignment; c may be r itself (same place, same strides), and overlaps nothing else.
 *
 * Error: as a sum of k products in f32, in the order the row names, of a and of alpha * b, rounded.
 */
#ifndef HN_KERNELS_MATMUL_F32_H
#define HN_KERNELS_MATMUL_F32_H

#include "kernels/act.h"
#include "kernels/kernel.h"

enum { HN_MATMUL_BATCH_AXES = 4 };

typedef struct hn_matmul_f32 {
    int64_t batch[HN_MATMUL_BATCH_AXES]; /* unused axes are 1 */
    int64_t m, n, k;
    int64_t a_batch[HN_MATMUL_BATCH_AXES], a_m, a_k;
    int64_t b_batch[HN_MATMUL_BATCH_AXES], b_k, b_n;
    int64_t r_batch[HN_MATMUL_BATCH_AXES], r_m, r_n;
    int64_t c_batch[HN_MATMUL_BATCH_AXES], c_m, c_n;
    float alpha;
    hn_act act;
} hn_matmul_f32;

/* Operands, in the order of hn_call.ptr; none is constant. bias and r may be NULL. */
enum { HN_MATMUL_A, HN_MATMUL_B, HN_MATMUL_BIAS, HN_MATMUL_R, HN_MATMUL_C, HN_MATMUL_OPERANDS_ };

extern const hn_family hn_matmul_f32_family;

/* Number `index` of the batches, in row-major order of the axes: where it begins in an operand with
 * these strides. */
int64_t hn_matmul_offset(const hn_matmul_f32 *p, const int64_t *strides, int64_t index);
int64_t hn_matmul_batches(const hn_matmul_f32 *p);

#endif

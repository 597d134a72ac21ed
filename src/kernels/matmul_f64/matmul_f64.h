/* matmul_f64: batched product of matrices of f64.
 *
 *   c[b][i][j] = alpha * sum over k of a[b][i][k] * b[b][k][j] + r[b][i][j]
 *
 * b stands for up to four batch axes. Strides are in elements and may be anything, 0 included for
 * what is broadcast; only c must not overlap itself, and its columns are adjacent but for the
 * reference. c overlaps nothing else.
 *
 * Error: as a sum of k products in f64, in order.
 */
#ifndef HN_KERNELS_MATMUL_F64_H
#define HN_KERNELS_MATMUL_F64_H

#include "kernels/kernel.h"

enum { HN_MATMUL_F64_AXES = 4 };

typedef struct hn_matmul_f64 {
    int64_t batch[HN_MATMUL_F64_AXES]; /* unused axes are 1 */
    int64_t m, n, k;
    int64_t a_batch[HN_MATMUL_F64_AXES], a_m, a_k;
    int64_t b_batch[HN_MATMUL_F64_AXES], b_k, b_n;
    int64_t r_batch[HN_MATMUL_F64_AXES], r_m, r_n;
    int64_t c_batch[HN_MATMUL_F64_AXES], c_m, c_n;
    double alpha;
} hn_matmul_f64;

/* Operands; r may be NULL. */
enum {
    HN_MATMUL_F64_A,
    HN_MATMUL_F64_B,
    HN_MATMUL_F64_R,
    HN_MATMUL_F64_C,
    HN_MATMUL_F64_OPERANDS_
};

extern const hn_family hn_matmul_f64_family;

/* Where batch number `index`, in row-major order of the axes, begins in an operand. */
int64_t hn_matmul_f64_offset(const hn_matmul_f64 *p, const int64_t *strides, int64_t index);
int64_t hn_matmul_f64_batches(const hn_matmul_f64 *p);

#endif

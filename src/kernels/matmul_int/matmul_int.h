/* matmul_int: batched product of matrices of integers of 32 or 64 bits, signed or not: the sums
 * wrap, so that signs make no difference.
 *
 *   c[b][i][j] = sum over k of a[b][i][k] * b[b][k][j]
 *
 * The matrices lie as in matmul_f64; there is no factor and nothing is added.
 */
#ifndef HN_KERNELS_MATMUL_INT_H
#define HN_KERNELS_MATMUL_INT_H

#include "kernels/matmul_f64/matmul_f64.h"

typedef struct hn_matmul_int {
    hn_matmul_f64 at; /* sizes and strides; the rest is not used */
    bool wide;        /* 64 bits */
} hn_matmul_int;

/* Operands. */
enum { HN_MATMUL_INT_A, HN_MATMUL_INT_B, HN_MATMUL_INT_C, HN_MATMUL_INT_OPERANDS_ };

extern const hn_family hn_matmul_int_family;

#endif

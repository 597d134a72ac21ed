/* The one reference matrix product. Every operator that multiplies and accumulates (MatMul, Gemm,
 * convolutions, attention, recurrent cells) comes here, so there is one definition of their sums:
 *
 *     for each batch, row i, column j:  C[i][j] = A[i][0]*B[0][j] + A[i][1]*B[1][j] + ...
 *
 * with k ascending and a single accumulator that starts at 0. Floats of any width are multiplied
 * and added in double, each operation rounded on its own; integers in int64_t modulo 2^64, which is
 * exact modulo the width of any integer type. Blocking and threads change nothing in a result.
 *
 * The operands are never seen whole: they are read block by block through callbacks, which lets a
 * convolution present its input as the matrix of its windows without ever building it, and keeps
 * the scratch to about 1 MB per thread.
 */
#ifndef HN_OPS_GEMM_REF_H
#define HN_OPS_GEMM_REF_H

#include "ops/op.h"

/* Rows [row, row + n_rows) and columns [col, col + n_cols) of the matrix number `batch`. */
typedef struct hn_block {
    int64_t batch;
    int64_t row, n_rows;
    int64_t col, n_cols;
} hn_block;

/* A matrix to read: load writes the block, row by row without gaps, to dst: double, or int64_t in a
 * product of integers. It is called from any thread. */
typedef struct hn_matrix {
    void (*load)(const void *ctx, const hn_block *at, void *dst);
    const void *ctx;
} hn_matrix;

typedef struct hn_gemm {
    int64_t n_batch, m, n, k; /* A [m, k], B [k, n], C [m, n] */
    bool integer;
    hn_matrix a, b;
    /* Takes the finished sums of a block: element (i, j) of it is sums[i * pitch + j], double or
     * int64_t. Every element of C comes once; called from any thread. */
    void (*store)(const void *ctx, const hn_block *at, const void *sums, int64_t pitch);
    const void *out;
    void *work; /* NULL: taken from e->scratch, which keeps it until the node is done */
} hn_gemm;

hone_status hn_gemm_ref(hn_eval *e, const hn_gemm *g, hn_error *err);

/* Memory for `work`, for callers that run many products: it serves any whose n_batch, m, n and k
 * are not above those of g. NULL: out of memory. */
void *hn_gemm_work(hn_eval *e, const hn_gemm *g);

/* ---- ready-made callbacks ---- */

/* A matrix that lies in a tensor: element (i, j) of batch b is
 *
 *     data[start[b] + i * row_stride + j * col_stride]
 *         - zero[zero_start[b] + i * zero_row + j * zero_col]
 *
 * Zero points belong to products of integers; zero NULL: none. start and zero_start may be NULL: 0.
 */
typedef struct hn_strided_matrix {
    const hn_tensor *t;
    const int64_t *start;
    int64_t row_stride, col_stride;
    const int64_t *zero;
    const int64_t *zero_start;
    int64_t zero_row, zero_col;
} hn_strided_matrix;

hn_matrix hn_matrix_f64(const hn_strided_matrix *s); /* s must outlive the product */
hn_matrix hn_matrix_s64(const hn_strided_matrix *s);

/* Stores C into the tensor `out`, dense [n_batch, m, n], rounded to its type / low bits kept. */
typedef struct hn_dense_out {
    hn_tensor *t;
    int64_t m, n;
} hn_dense_out;

void hn_store_dense_f64(const void *out, const hn_block *at, const void *sums, int64_t pitch);
void hn_store_dense_s64(const void *out, const hn_block *at, const void *sums, int64_t pitch);

#endif

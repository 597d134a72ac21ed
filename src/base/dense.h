/* Small dense algebra on symmetric matrices, in double and in a fixed order: the same bits for any
 * number of threads.
 *
 * Matrices are [n, n], row after row. Of a symmetric one the lower triangle is read and written,
 * the diagonal included; what lies above it is left alone. A pool may be NULL: the caller alone.
 */
#ifndef HN_BASE_DENSE_H
#define HN_BASE_DENSE_H

#include "base/pool.h"

/* h += X^T X, x being [rows, n] floats. Products of HN_GRAM_ROWS rows are added up in f32, these
 * sums in double. HONE_E_NOMEM alone. */
#define HN_GRAM_ROWS 256
hone_status hn_gram_add(double *h, int64_t n, const float *x, int64_t rows, hn_pool *pool,
                        hn_allocator *alloc, hn_error *err);
/* h [n, m] += X^T Y, likewise, x being [rows, n] and y [rows, m]. */
hone_status hn_cross_add(double *h, int64_t n, const float *x, int64_t m, const float *y,
                         int64_t rows, hn_pool *pool, hn_allocator *alloc, hn_error *err);
/* Adds `share` of the mean of the diagonal to the diagonal; 1 where that mean is 0. */
void hn_damp(double *h, int64_t n, double share);
/* The lower triangle L of h = L L^T, in place. HONE_E_ARG: h is not positive definite. */
hone_status hn_cholesky(double *h, int64_t n, hn_pool *pool, hn_error *err);
/* The inverse of a lower triangle whose diagonal has no 0. Both triangles of `inverse` are written,
 * the upper one with zeros; it is not l. */
void hn_triangle_invert(const double *l, int64_t n, double *inverse, hn_pool *pool);
/* row[k] -= the sum over j < n of by[j] * rows[j * pitch + k], for k < count. */
void hn_subtract_rows(double *row, int64_t count, const double *by, int64_t n, const double *rows,
                      int64_t pitch);
/* c [m, n] = a [m, k] times the transpose of b [n, k]; c is neither. */
void hn_multiply_turned(double *c, const double *a, int64_t m, const double *b, int64_t n,
                        int64_t k, hn_pool *pool);
/* to [n, m] is from [m, n], turned; they do not overlap. */
void hn_turn(double *to, const double *from, int64_t m, int64_t n);

/* The eigenvalues of h, the largest first; row i of h becomes the eigenvector of values[i], of size
 * 1. HONE_E_ARG: some number of h is not finite. */
hone_status hn_eigen(double *h, int64_t n, double *values, hn_pool *pool, hn_allocator *alloc,
                     hn_error *err);

/* A matrix w [n, k] as a sum of products of a column and a row, those that tell most first:
 *
 *     w = sum over i < rank of first[i]^T second[i]
 *
 * Its first r terms are the matrix of rank r that is nearest to w: of all matrices of that rank it
 * leaves the least squared error of the outputs w x, over inputs x of which h is the sum of x x^T.
 * This is Eckart and Young's theorem for the singular values of w S with h = S S^T. What term i
 * adds to the squared outputs is squares[i]; the error of r terms is the sum of the others. */
typedef struct hn_low_rank {
    int64_t n, k, rank; /* rank: the smaller of n and k */
    double *first;      /* [rank, n] */
    double *second;     /* [rank, k] */
    double *squares;    /* [rank] */
} hn_low_rank;
/* h [k, k] is positive definite (hn_damp); NULL: the identity, and the error is that of the weights.
 * HONE_E_ARG: some number is not finite, or h is not positive definite. */
hone_status hn_low_rank_of(hn_low_rank *out, const double *w, int64_t n, int64_t k, const double *h,
                           hn_pool *pool, hn_allocator *alloc, hn_error *err);
void hn_low_rank_deinit(hn_low_rank *l, hn_allocator *alloc); /* all zero accepted */
/* The least rank whose error is at most `share` of all squares. */
int64_t hn_low_rank_within(const hn_low_rank *l, double share);

#endif

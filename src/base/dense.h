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

#endif

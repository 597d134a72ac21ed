/* tile_f32: the inner loop of every f32 product of matrices; conv_f32 and matmul_f32 are loops
 * around it. Not a family: it has no problems of its own.
 *
 *   y[i][j] = clip(bias[j] + r[i][j] + sum over s, k of a[s][i][k] * b[s * len + k][j])
 *
 * for rows i of one tile and columns j of one panel. The sums of a tile stay in registers from the
 * first product to the store. Elements of a are read one at a time and spread over a vector, so
 * that rows may lie anywhere: the k axis of a row is cut into runs of `len` adjacent floats (the
 * channels of a pixel, one run per tap of a window), each with a pointer of its own. Padding is a
 * pointer to zeros.
 *
 *              panel of b: [runs * len][width], 64-byte aligned, zeros in columns from n on
 *                  |
 *   a[s][0..rows) -+- y[0..rows)
 *
 * Order of a sum: bias + r, then one fused multiply-add per k (in portable C a product and a sum,
 * each rounded), in the order of s and k. So a long k axis may be cut anywhere, the partial sums
 * being stored in y and taken up again as r: no bit changes.
 */
#ifndef HN_KERNELS_TILE_F32_H
#define HN_KERNELS_TILE_F32_H

#include <stdint.h>

#include "kernels/act.h"

typedef struct hn_tile_f32 {
    const float *const *a; /* [runs][rows] */
    int64_t runs, len;
    const float *b;
    const float *bias;     /* [n]; NULL: zero */
    const float *const *r; /* [rows]; NULL: zero. Row i begins at r[i] + column. */
    float *const *y;       /* [rows], the same way; may be r */
    int64_t column;
    int64_t n;          /* columns to write, at least 1 and at most the width of the panel */
    float lo, hi;       /* NaN passes */
    const void *ahead;  /* memory soon needed: a cache line is fetched for every k, */
    int64_t ahead_step; /* this many bytes further each time */
} hn_tile_f32;

typedef void hn_tile_f32_fn(const hn_tile_f32 *t);

/* One way to compute tiles. */
typedef struct hn_tiles_f32 {
    int rows;                     /* the most rows of a tile */
    int width, narrow;            /* columns of a full panel, and of the last if those suffice */
    hn_tile_f32_fn *const *fn[2]; /* [narrow][rows - 1] */
    /* An activation over columns [column, column + n) of the rows y points at. */
    void (*act)(const hn_act *act, float *const *y, int rows, int64_t column, int64_t n);
} hn_tiles_f32;

extern const hn_tiles_f32 hn_tiles_f32_portable;
#if defined(__x86_64__)
extern const hn_tiles_f32 hn_tiles_f32_avx512, hn_tiles_f32_avx2;
#elif defined(__aarch64__)
extern const hn_tiles_f32 hn_tiles_f32_neon;
#endif

/* dst[r * ld + c] = scale * src[r * s_row + c * s_col] for r < rows, c < cols. */
void hn_tile_f32_copy(const float *src, int64_t s_row, int64_t s_col, int64_t rows, int64_t cols,
                      float scale, float *restrict dst, int64_t ld);

/* Panels of n columns: all full, the last narrow where that is enough. */
static inline int64_t hn_tiles_f32_panels(const hn_tiles_f32 *t, int64_t n) {
    return (n + t->width - 1) / t->width;
}
/* Columns that panel i of n columns has in memory. */
static inline int64_t hn_tiles_f32_width(const hn_tiles_f32 *t, int64_t n, int64_t i) {
    return n - i * t->width <= t->narrow ? t->narrow : t->width;
}
/* Columns that all panels of n columns have in memory. */
static inline int64_t hn_tiles_f32_columns(const hn_tiles_f32 *t, int64_t n) {
    int64_t last = hn_tiles_f32_panels(t, n) - 1;
    return last * t->width + hn_tiles_f32_width(t, n, last);
}

#endif

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
 * Where spreading an element costs an instruction of its own, tiles want the rows interleaved: a[0]
 * then points at [runs * len][ld] floats, see hn_tile_f32_interleave.
 *
 * Order of a sum: bias + r, then one fused multiply-add per k (in portable C a product and a sum,
 * each rounded), in the order of s and k. So a long k axis may be cut anywhere, the partial sums
 * being stored in y and taken up again as r: no bit changes.
 */
#ifndef HN_KERNELS_TILE_F32_H
#define HN_KERNELS_TILE_F32_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/act.h"

typedef struct hn_tile_f32 {
    const float *const *a; /* [runs][rows] */
    int64_t runs, len;
    const float *b;
    int64_t next;          /* floats from a panel to the next, where a tile takes several */
    const float *bias;     /* [n]; NULL: zero */
    const float *const *r; /* [rows]; NULL: zero. Row i begins at r[i] + column. */
    float *const *y;       /* [rows], the same way; may be r */
    int64_t column;
    int64_t n;          /* columns to write, at least 1 and at most the width of all panels */
    float lo, hi;       /* NaN passes */
    const void *ahead;  /* memory soon needed: a cache line is fetched for every k, */
    int64_t ahead_step; /* this many bytes further each time */
} hn_tile_f32;

typedef void hn_tile_f32_fn(const hn_tile_f32 *t);

/* Tiles of few rows: they may take several full panels at once. Memory feeds several streams faster
 * than one (20 instead of 13 GB/s on Sapphire Rapids), and there are enough sums to hide the
 * latency of each. */
enum { HN_TILE_F32_PANELS = 8 };
typedef struct hn_thin_f32 {
    int most;                               /* panels */
    hn_tile_f32_fn *fn[HN_TILE_F32_PANELS]; /* [panels - 1] */
} hn_thin_f32;

/* dst[r * ld + c] = scale * src[r * s_row + c * s_col] for r < rows, c < cols; src may lie at any
 * address. */
typedef void hn_tile_f32_copy_fn(const float *src, int64_t s_row, int64_t s_col, int64_t rows,
                                 int64_t cols, float scale, float *restrict dst, int64_t ld);
hn_tile_f32_copy_fn hn_tile_f32_copy;
#if defined(__x86_64__)
hn_tile_f32_copy_fn hn_tile_f32_copy_avx512, hn_tile_f32_copy_avx2;
#endif

/* An activation over columns [column, column + n) of the rows y points at. */
typedef void hn_tile_f32_act_fn(const hn_act *act, float *const *y, int rows, int64_t column,
                                int64_t n);
#if defined(__aarch64__)
hn_tile_f32_act_fn hn_tile_f32_act_neon;
#endif

/* One way to compute tiles. */
typedef struct hn_tiles_f32 {
    int rows;          /* the most rows of a tile */
    int width, narrow; /* columns of a full panel, and of a narrow one; 0: there is none */
    hn_tile_f32_fn *const *fn[2]; /* [narrow][rows - 1] */
    /* The same for rows that are interleaved: a[0] points at [runs * len][hn_tile_f32_pitch] floats.
     * NULL: there are none. */
    hn_tile_f32_fn *const *interleaved_fn[2];
    const hn_thin_f32 *thin; /* [rows - 1] */
    int n_thin;
    bool interleaved; /* fn wants the rows interleaved too */
    hn_tile_f32_copy_fn *copy;
    hn_tile_f32_act_fn *act;
    /* What conv_f32_winograd.h chooses by. */
    struct {
        double while_fetched; /* rows by which a weight is multiplied in the time to fetch it */
        int64_t pixels;       /* the fewest, */
        int64_t pixels_2x2, pixels_4x4; /* and with many weights, by the size of an output tile */
    } winograd;
} hn_tiles_f32;

extern const hn_tiles_f32 hn_tiles_f32_portable;
#if defined(__x86_64__)
extern const hn_tiles_f32 hn_tiles_f32_avx512, hn_tiles_f32_avx2;
#elif defined(__aarch64__)
extern const hn_tiles_f32 hn_tiles_f32_neon;
#endif

/* dst[k * ld + i] = a[s][i][..] for all runs s and rows i, k counting through the runs: rows side
 * by side, as tiles with `interleaved` want them; ld is `rows` rounded up to 4. What is beyond
 * `rows` is some value. */
void hn_tile_f32_interleave(const float *const *a, int rows, int64_t runs, int64_t len,
                            float *restrict dst);
static inline int hn_tile_f32_ld(int rows) { return (rows + 3) / 4 * 4; }

/* Floats from an element of k to the next, of rows that interleaved_fn takes. Those that can be
 * without gaps are: on Granite Rapids tiles of 14 rows are 4 % faster than with 16. */
static inline int hn_tile_f32_pitch(const hn_tiles_f32 *t, int rows) {
    return t->interleaved ? hn_tile_f32_ld(rows) : rows;
}

/* How n columns are cut into panels: first full ones, then up to two narrow ones, with as few
 * columns beyond n as can be. */
typedef struct hn_panels_f32 {
    int64_t n, count, full;
    int width, narrow;
} hn_panels_f32;

hn_panels_f32 hn_panels_f32_of(const hn_tiles_f32 *t, int64_t n);

/* Columns of panel i in memory. */
static inline int64_t hn_panels_f32_width(const hn_panels_f32 *p, int64_t i) {
    return i < p->full ? p->width : p->narrow;
}
/* The first column of panel i; of all columns in memory for i = count. */
static inline int64_t hn_panels_f32_column(const hn_panels_f32 *p, int64_t i) {
    return i <= p->full ? i * p->width : p->full * p->width + (i - p->full) * p->narrow;
}
/* Columns of panel i that count. */
static inline int64_t hn_panels_f32_used(const hn_panels_f32 *p, int64_t i) {
    int64_t left = p->n - hn_panels_f32_column(p, i), width = hn_panels_f32_width(p, i);
    return left < width ? left : width;
}

#endif

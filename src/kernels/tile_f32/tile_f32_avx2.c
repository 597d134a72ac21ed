/* Tiles of up to 6 x 16: 12 sums, 2 vectors of b and one element of a fill 15 of the 16 registers.
 * Tiles of few rows fill them with several panels. */
#include "simd/avx2.h"

#include "kernels/tile_f32/tile_f32_act.h"

#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 8")
#endif

/* The first n lanes of eight. */
static inline __m256i first_lanes(int64_t n) {
    static const int32_t ones[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
    return _mm256_loadu_si256((const __m256i *)(ones + (n >= 8 ? 0 : n > 0 ? 8 - n : 8)));
}

enum { MOST = 8 }; /* vectors of a row */

/* vecs vectors of columns from each of some panels; with rows interleaved or not. */
static inline __attribute__((always_inline)) void tile(const hn_tile_f32 *t, const int rows,
                                                       const int vecs, const int panels,
                                                       const bool interleaved) {
    const int all = vecs * panels;
    __m256 c[6][MOST];
    __m256i mask[MOST];
    UNROLL for (int v = 0; v < all; v++) {
        mask[v] = first_lanes(t->n - 8 * v);
        __m256 first = _mm256_setzero_ps();
        if (t->bias != NULL) first = _mm256_maskload_ps(t->bias + 8 * v, mask[v]);
        UNROLL for (int i = 0; i < rows; i++) c[i][v] = first;
    }
    if (t->r != NULL) {
        UNROLL for (int i = 0; i < rows; i++) {
            const float *r = t->r[i] + t->column;
            UNROLL for (int v = 0; v < all; v++) c[i][v] =
                _mm256_add_ps(c[i][v], _mm256_maskload_ps(r + 8 * v, mask[v]));
        }
    }
    const float *b = t->b, *side = t->a[0];
    const char *ahead = t->ahead;
    for (int64_t s = 0; s < t->runs; s++) {
        const float *const *a = t->a + s * rows;
        for (int64_t k = 0; k < t->len; k++) {
            __m256 bv[MOST];
            UNROLL for (int v = 0; v < all; v++) bv[v] =
                _mm256_load_ps(b + v / vecs * t->next + v % vecs * 8);
            b += 8 * vecs;
            _mm_prefetch(ahead, _MM_HINT_T1);
            ahead += t->ahead_step;
            UNROLL for (int i = 0; i < rows; i++) {
                __m256 av = _mm256_broadcast_ss(interleaved ? side + i : a[i] + k);
                UNROLL for (int v = 0; v < all; v++) c[i][v] = _mm256_fmadd_ps(av, bv[v], c[i][v]);
            }
            side += rows;
        }
    }
    __m256 lo = _mm256_set1_ps(t->lo), hi = _mm256_set1_ps(t->hi);
    bool whole = t->n == 8 * all; /* storing by a mask takes some CPUs a dozen cycles */
    UNROLL for (int i = 0; i < rows; i++) {
        float *y = t->y[i] + t->column;
        UNROLL for (int v = 0; v < all; v++) {
            /* In this order of operands a NaN comes through. */
            __m256 x = _mm256_min_ps(hi, _mm256_max_ps(lo, c[i][v]));
            if (whole)
                _mm256_storeu_ps(y + 8 * v, x);
            else
                _mm256_maskstore_ps(y + 8 * v, mask[v], x);
        }
    }
}

#define TILE(rows)                                                                    \
    static void full_##rows(const hn_tile_f32 *t) { tile(t, rows, 2, 1, false); }     \
    static void narrow_##rows(const hn_tile_f32 *t) { tile(t, rows, 1, 1, false); }   \
    static void full_side_##rows(const hn_tile_f32 *t) { tile(t, rows, 2, 1, true); } \
    static void narrow_side_##rows(const hn_tile_f32 *t) { tile(t, rows, 1, 1, true); }
TILE(1)
TILE(2)
TILE(3)
TILE(4)
TILE(5)
TILE(6)

static hn_tile_f32_fn *const full[] = {full_1, full_2, full_3, full_4, full_5, full_6};
static hn_tile_f32_fn *const narrow[] = {narrow_1, narrow_2, narrow_3,
                                         narrow_4, narrow_5, narrow_6};
static hn_tile_f32_fn *const full_side[] = {full_side_1, full_side_2, full_side_3,
                                            full_side_4, full_side_5, full_side_6};
static hn_tile_f32_fn *const narrow_side[] = {narrow_side_1, narrow_side_2, narrow_side_3,
                                              narrow_side_4, narrow_side_5, narrow_side_6};

#define THIN(rows, panels) \
    static void thin_##rows##_##panels(const hn_tile_f32 *t) { tile(t, rows, 2, panels, false); }
THIN(1, 2)
THIN(1, 3)
THIN(1, 4)
THIN(2, 2)
THIN(2, 3)
THIN(3, 2)

static const hn_thin_f32 thin[] = {{4, {full_1, thin_1_2, thin_1_3, thin_1_4}},
                                   {3, {full_2, thin_2_2, thin_2_3}},
                                   {2, {full_3, thin_3_2}}};

const hn_tiles_f32 hn_tiles_f32_avx2 = {.rows = 6,
                                        .width = 16,
                                        .narrow = 8,
                                        .fn = {full, narrow},
                                        .interleaved_fn = {full_side, narrow_side},
                                        .thin = thin,
                                        .n_thin = sizeof thin / sizeof *thin,
                                        .copy = hn_tile_f32_copy_avx2,
                                        .act = act_tile,
                                        /* 10 GB/s for one core of Granite Rapids */
                                        .winograd = {1.2 * 16, 128, 256, 4096}};

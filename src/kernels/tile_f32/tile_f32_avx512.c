/* Tiles of up to 14 x 32: 28 sums, 2 vectors of b and one element of a fill 31 of the 32 registers.
 * Per k 28 multiply-adds (14 cycles) stand against 16 loads, so that a row pointer which does not
 * fit into a register costs nothing. Tiles of few rows fill the registers with several panels. */
#if defined(__GNUC__) && !defined(__clang__)
/* GCC 12 tuned for no CPU in particular would keep row pointers in vector registers, and getting
 * one back takes a port that multiplies. */
#pragma GCC target("tune=skylake-avx512")
#endif
#include "simd/avx512.h"

#include "kernels/tile_f32/tile_f32_act.h"

#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#define TWICE _Pragma("clang loop unroll_count(2)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#define TWICE _Pragma("GCC unroll 2") /* 5 % faster on Cascade Lake, where rows lie apart */
#endif

enum { MOST = 16 }; /* vectors of a row */

/* vecs vectors of columns from each of some panels; with rows interleaved or not. */
static inline __attribute__((always_inline)) void tile(const hn_tile_f32 *t, const int rows,
                                                       const int vecs, const int panels,
                                                       const bool interleaved) {
    const int all = vecs * panels;
    __m512 c[14][MOST];
    __mmask16 mask[MOST];
    UNROLL for (int v = 0; v < all; v++) {
        int64_t left = t->n - 16 * v;
        mask[v] = (__mmask16)(left >= 16 ? 0xffff : left > 0 ? (1U << left) - 1 : 0);
        __m512 first = _mm512_setzero_ps();
        if (t->bias != NULL) first = _mm512_maskz_loadu_ps(mask[v], t->bias + 16 * v);
        UNROLL for (int i = 0; i < rows; i++) c[i][v] = first;
    }
    if (t->r != NULL) {
        UNROLL for (int i = 0; i < rows; i++) {
            const float *r = t->r[i] + t->column;
            UNROLL for (int v = 0; v < all; v++) c[i][v] =
                _mm512_add_ps(c[i][v], _mm512_maskz_loadu_ps(mask[v], r + 16 * v));
        }
    }
    const float *b = t->b, *side = t->a[0];
    const char *ahead = t->ahead;
    for (int64_t s = 0; s < t->runs; s++) {
        const float *const *a = t->a + s * rows;
        TWICE for (int64_t k = 0; k < t->len; k++) {
            __m512 bv[MOST];
            UNROLL for (int v = 0; v < all; v++) bv[v] =
                _mm512_load_ps(b + v / vecs * t->next + v % vecs * 16);
            b += 16 * vecs;
            _mm_prefetch(ahead, _MM_HINT_T1);
            ahead += t->ahead_step;
            UNROLL for (int i = 0; i < rows; i++) {
                __m512 av = _mm512_set1_ps(interleaved ? side[i] : a[i][k]);
                UNROLL for (int v = 0; v < all; v++) c[i][v] = _mm512_fmadd_ps(av, bv[v], c[i][v]);
            }
            side += rows;
        }
    }
    __m512 lo = _mm512_set1_ps(t->lo), hi = _mm512_set1_ps(t->hi);
    UNROLL for (int i = 0; i < rows; i++) {
        float *y = t->y[i] + t->column;
        UNROLL for (int v = 0; v < all; v++) {
            /* In this order of operands a NaN comes through. */
            __m512 x = _mm512_min_ps(hi, _mm512_max_ps(lo, c[i][v]));
            _mm512_mask_storeu_ps(y + 16 * v, mask[v], x);
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
TILE(7)
TILE(8)
TILE(9)
TILE(10)
TILE(11)
TILE(12)
TILE(13)
TILE(14)

static hn_tile_f32_fn *const full[] = {full_1, full_2, full_3,  full_4,  full_5,  full_6,  full_7,
                                       full_8, full_9, full_10, full_11, full_12, full_13, full_14};
static hn_tile_f32_fn *const narrow[] = {narrow_1,  narrow_2,  narrow_3,  narrow_4, narrow_5,
                                         narrow_6,  narrow_7,  narrow_8,  narrow_9, narrow_10,
                                         narrow_11, narrow_12, narrow_13, narrow_14};
static hn_tile_f32_fn *const full_side[] = {
    full_side_1, full_side_2, full_side_3,  full_side_4,  full_side_5,  full_side_6,  full_side_7,
    full_side_8, full_side_9, full_side_10, full_side_11, full_side_12, full_side_13, full_side_14};
static hn_tile_f32_fn *const narrow_side[] = {
    narrow_side_1,  narrow_side_2,  narrow_side_3,  narrow_side_4, narrow_side_5,
    narrow_side_6,  narrow_side_7,  narrow_side_8,  narrow_side_9, narrow_side_10,
    narrow_side_11, narrow_side_12, narrow_side_13, narrow_side_14};

#define THIN(rows, panels) \
    static void thin_##rows##_##panels(const hn_tile_f32 *t) { tile(t, rows, 2, panels, false); }
THIN(1, 2)
THIN(1, 3)
THIN(1, 4)
THIN(1, 5)
THIN(1, 6)
THIN(1, 7)
THIN(1, 8)
THIN(2, 2)
THIN(2, 3)
THIN(2, 4)
THIN(2, 5)
THIN(2, 6)
THIN(3, 2)
THIN(3, 3)
THIN(3, 4)
THIN(4, 2)
THIN(4, 3)
THIN(5, 2)
THIN(6, 2)

static const hn_thin_f32 thin[] = {
    {8, {full_1, thin_1_2, thin_1_3, thin_1_4, thin_1_5, thin_1_6, thin_1_7, thin_1_8}},
    {6, {full_2, thin_2_2, thin_2_3, thin_2_4, thin_2_5, thin_2_6}},
    {4, {full_3, thin_3_2, thin_3_3, thin_3_4}},
    {3, {full_4, thin_4_2, thin_4_3}},
    {2, {full_5, thin_5_2}},
    {2, {full_6, thin_6_2}},
};

const hn_tiles_f32 hn_tiles_f32_avx512 = {.rows = 14,
                                          .width = 32,
                                          .narrow = 16,
                                          .fn = {full, narrow},
                                          .interleaved_fn = {full_side, narrow_side},
                                          .thin = thin,
                                          .n_thin = sizeof thin / sizeof *thin,
                                          .copy = hn_tile_f32_copy_avx512,
                                          .act = act_tile,
                                          /* 10 GB/s for one core of Granite Rapids */
                                          .winograd = {1.2 * 32, 128, 256, 4096}};

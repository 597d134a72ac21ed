/* Tiles of up to 6 x 16: 12 sums, 2 vectors of b and one element of a fill 15 of the 16 registers.
 */
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

static inline __attribute__((always_inline)) void tile(const hn_tile_f32 *t, const int rows,
                                                       const int vecs) {
    __m256 c[6][2];
    __m256i mask[2];
    UNROLL for (int v = 0; v < vecs; v++) {
        mask[v] = first_lanes(t->n - 8 * v);
        __m256 first = _mm256_setzero_ps();
        if (t->bias != NULL) first = _mm256_maskload_ps(t->bias + 8 * v, mask[v]);
        UNROLL for (int i = 0; i < rows; i++) c[i][v] = first;
    }
    if (t->r != NULL) {
        UNROLL for (int i = 0; i < rows; i++) {
            const float *r = t->r[i] + t->column;
            UNROLL for (int v = 0; v < vecs; v++) c[i][v] =
                _mm256_add_ps(c[i][v], _mm256_maskload_ps(r + 8 * v, mask[v]));
        }
    }
    const float *b = t->b;
    const char *ahead = t->ahead;
    for (int64_t s = 0; s < t->runs; s++) {
        const float *const *a = t->a + s * rows;
        for (int64_t k = 0; k < t->len; k++) {
            __m256 bv[2];
            UNROLL for (int v = 0; v < vecs; v++) bv[v] = _mm256_load_ps(b + 8 * v);
            b += 8 * vecs;
            _mm_prefetch(ahead, _MM_HINT_T1);
            ahead += t->ahead_step;
            UNROLL for (int i = 0; i < rows; i++) {
                __m256 av = _mm256_broadcast_ss(&a[i][k]);
                UNROLL for (int v = 0; v < vecs; v++) c[i][v] = _mm256_fmadd_ps(av, bv[v], c[i][v]);
            }
        }
    }
    __m256 lo = _mm256_set1_ps(t->lo), hi = _mm256_set1_ps(t->hi);
    UNROLL for (int i = 0; i < rows; i++) {
        float *y = t->y[i] + t->column;
        UNROLL for (int v = 0; v < vecs; v++) {
            /* In this order of operands a NaN comes through. */
            __m256 x = _mm256_min_ps(hi, _mm256_max_ps(lo, c[i][v]));
            _mm256_maskstore_ps(y + 8 * v, mask[v], x);
        }
    }
}

#define TILE(rows)                                                      \
    static void full_##rows(const hn_tile_f32 *t) { tile(t, rows, 2); } \
    static void narrow_##rows(const hn_tile_f32 *t) { tile(t, rows, 1); }
TILE(1)
TILE(2)
TILE(3)
TILE(4)
TILE(5)
TILE(6)

static hn_tile_f32_fn *const full[] = {full_1, full_2, full_3, full_4, full_5, full_6};
static hn_tile_f32_fn *const narrow[] = {narrow_1, narrow_2, narrow_3,
                                         narrow_4, narrow_5, narrow_6};

const hn_tiles_f32 hn_tiles_f32_avx2 = {
    .rows = 6, .width = 16, .narrow = 8, .fn = {full, narrow}, .act = act_tile};

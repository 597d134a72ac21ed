/* Tiles of up to 8 x 12 with interleaved rows: 24 sums, 3 vectors of b and 2 of a fill 29 of the 32
 * registers, and every multiply-add takes its element of a from a lane. (Rows read where they lie
 * reach 85 % of the peak of a Neoverse-V1, this 96 %.) */
#if defined(__GNUC__) && !defined(__clang__)
/* GCC 12 would move loads so far ahead that sums spill. */
#pragma GCC optimize("no-schedule-insns")
#endif
#include "simd/neon.h"

#include "kernels/tile_f32/tile_f32_act.h"

#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 8")
#endif

enum { ROWS = 8, VECS = 3 };

static inline __attribute__((always_inline)) void tile(const hn_tile_f32 *t, const int rows,
                                                       const int vecs) {
    float32x4_t c[ROWS][VECS];
    /* The tile on its way from and to the last columns. */
    float edge[ROWS][4 * VECS];
    bool whole = t->n == 4 * vecs;
    if (whole) {
        UNROLL for (int v = 0; v < vecs; v++) {
            float32x4_t first = t->bias == NULL ? vdupq_n_f32(0) : vld1q_f32(t->bias + 4 * v);
            UNROLL for (int i = 0; i < rows; i++) {
                c[i][v] = first;
                if (t->r != NULL)
                    c[i][v] = vaddq_f32(first, vld1q_f32(t->r[i] + t->column + 4 * v));
            }
        }
    } else {
        for (int i = 0; i < rows; i++) {
            for (int64_t j = 0; j < 4 * vecs; j++) {
                float first = t->bias != NULL && j < t->n ? t->bias[j] : 0;
                edge[i][j] = t->r != NULL && j < t->n ? first + t->r[i][t->column + j] : first;
            }
        }
        UNROLL for (int i = 0; i < rows; i++) {
            UNROLL for (int v = 0; v < vecs; v++) c[i][v] = vld1q_f32(&edge[i][4 * v]);
        }
    }
    const float *a = t->a[0], *b = t->b;
    const char *ahead = t->ahead;
    for (int64_t k = t->runs * t->len; k > 0; k--) {
        float32x4_t low = vld1q_f32(a), high = low;
        if (rows > 4) high = vld1q_f32(a + 4);
        a += rows > 4 ? 8 : 4;
        __builtin_prefetch(ahead, 0, 2);
        ahead += t->ahead_step;
        UNROLL for (int v = 0; v < vecs; v++) {
            float32x4_t bv = vld1q_f32(b + 4 * v);
#define ROW(i, from, lane) \
    if (rows > (i)) c[i][v] = vfmaq_laneq_f32(c[i][v], bv, from, lane)
            ROW(0, low, 0);
            ROW(1, low, 1);
            ROW(2, low, 2);
            ROW(3, low, 3);
            ROW(4, high, 0);
            ROW(5, high, 1);
            ROW(6, high, 2);
            ROW(7, high, 3);
#undef ROW
        }
        b += 4 * vecs;
    }
    float32x4_t lo = vdupq_n_f32(t->lo), hi = vdupq_n_f32(t->hi);
    UNROLL for (int i = 0; i < rows; i++) {
        float *y = whole ? t->y[i] + t->column : edge[i];
        UNROLL for (int v = 0; v < vecs; v++)
            vst1q_f32(y + 4 * v, hn_v_min(hi, hn_v_max(lo, c[i][v])));
    }
    for (int i = 0; i < rows && !whole; i++)
        for (int64_t j = 0; j < t->n; j++) t->y[i][t->column + j] = edge[i][j];
}

#define TILE(rows)                                                         \
    static void full_##rows(const hn_tile_f32 *t) { tile(t, rows, VECS); } \
    static void narrow_##rows(const hn_tile_f32 *t) { tile(t, rows, 2); }
TILE(1)
TILE(2)
TILE(3)
TILE(4)
TILE(5)
TILE(6)
TILE(7)
TILE(8)

static hn_tile_f32_fn *const full[] = {full_1, full_2, full_3, full_4,
                                       full_5, full_6, full_7, full_8};
static hn_tile_f32_fn *const narrow[] = {narrow_1, narrow_2, narrow_3, narrow_4,
                                         narrow_5, narrow_6, narrow_7, narrow_8};

const hn_tiles_f32 hn_tiles_f32_neon = {.rows = ROWS,
                                        .width = 4 * VECS,
                                        .narrow = 8,
                                        .fn = {full, narrow},
                                        .interleaved_fn = {full, narrow},
                                        .interleaved = true,
                                        .copy = hn_tile_f32_copy,
                                        .act = act_tile};

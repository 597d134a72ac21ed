/* Tiles of up to 8 x 12 with interleaved rows: 24 sums, 3 vectors of b and 2 of a fill 29 of the 32
 * registers, and every multiply-add takes its element of a from a lane. (Rows read where they lie
 * reach 85 % of the peak of a Neoverse-V1, this 97 %.) */
#include "simd/neon.h"

#include "kernels/tile_f32/tile_f32.h"

#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 8")
#endif

enum { ROWS = 8, VECS = 3 };

/* One row by several full panels: more streams from memory than one. */
static inline __attribute__((always_inline)) void thin(const hn_tile_f32 *t, const int panels) {
    float32x4_t c[HN_TILE_F32_PANELS][VECS];
    float edge[HN_TILE_F32_PANELS * 4 * VECS] = {0}; /* from and to the last columns */
    bool whole = t->n == panels * 4 * VECS;
    for (int64_t j = 0; j < t->n; j++) {
        float first = t->bias != NULL ? t->bias[j] : 0;
        edge[j] = t->r != NULL ? first + t->r[0][t->column + j] : first;
    }
    UNROLL for (int p = 0; p < panels; p++) {
        UNROLL for (int v = 0; v < VECS; v++) c[p][v] = vld1q_f32(edge + 4 * (p * VECS + v));
    }
    const float *a = t->a[0], *b = t->b;
    for (int64_t k = t->runs * t->len; k > 0; k--, a += 4, b += 4 * VECS) {
        float32x4_t x = vld1q_dup_f32(a);
        UNROLL for (int p = 0; p < panels; p++) {
            UNROLL for (int v = 0; v < VECS; v++) c[p][v] =
                vfmaq_f32(c[p][v], vld1q_f32(b + p * t->next + 4 * v), x);
        }
    }
    float32x4_t lo = vdupq_n_f32(t->lo), hi = vdupq_n_f32(t->hi);
    float *y = whole ? t->y[0] + t->column : edge;
    UNROLL for (int p = 0; p < panels; p++) {
        UNROLL for (int v = 0; v < VECS; v++)
            vst1q_f32(y + 4 * (p * VECS + v), hn_v_min(hi, hn_v_max(lo, c[p][v])));
    }
    for (int64_t j = 0; j < t->n && !whole; j++) t->y[0][t->column + j] = edge[j];
}

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
    int64_t k = t->runs * t->len;
    float32x4_t bv[VECS];
    UNROLL for (int v = 0; v < vecs && k > 0; v++) bv[v] = vld1q_f32(b + 4 * v);
    for (; k > 0; k--) {
        float32x4_t low = vld1q_f32(a), high = low;
        if (rows > 4) high = vld1q_f32(a + 4);
        a += rows > 4 ? 8 : 4;
        b += k > 1 ? 4 * vecs : 0;
        __builtin_prefetch(ahead, 0, 2);
        ahead += t->ahead_step;
        UNROLL for (int v = 0; v < vecs; v++) {
#define ROW(i, from, lane) \
    if (rows > (i)) c[i][v] = vfmaq_laneq_f32(c[i][v], bv[v], from, lane)
            ROW(0, low, 0);
            ROW(1, low, 1);
            ROW(2, low, 2);
            ROW(3, low, 3);
            ROW(4, high, 0);
            ROW(5, high, 1);
            ROW(6, high, 2);
            ROW(7, high, 3);
#undef ROW
            bv[v] = vld1q_f32(b + 4 * v); /* of the next k; it arrives while others are in use */
        }
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

static void thin_2(const hn_tile_f32 *t) { thin(t, 2); }
static void thin_3(const hn_tile_f32 *t) { thin(t, 3); }
static void thin_4(const hn_tile_f32 *t) { thin(t, 4); }
static const hn_thin_f32 thin_tiles[] = {{4, {full_1, thin_2, thin_3, thin_4}}};

const hn_tiles_f32 hn_tiles_f32_neon = {.rows = ROWS,
                                        .width = 4 * VECS,
                                        .narrow = 8,
                                        .fn = {full, narrow},
                                        .interleaved_fn = {full, narrow},
                                        .thin = thin_tiles,
                                        .n_thin = 1,
                                        .interleaved = true,
                                        .copy = hn_tile_f32_copy,
                                        .act = hn_tile_f32_act_neon,
                                        /* 30 GB/s for one core of Neoverse-V1 */
                                        .winograd = {6, 36, 36, 196}};

/* Panels: how columns are cut into them and how matrices are copied into them. Transposing goes by
 * blocks of 4 x 4 in registers. */
#include <string.h>

#include "kernels/kernel.h"
#include "kernels/tile_f32/tile_f32.h"

typedef float vec __attribute__((vector_size(16)));

static inline vec load(const float *p) {
    vec v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline void store(float *p, vec v) { memcpy(p, &v, sizeof v); }

/* dst[r][c] = scale * row c [r], 4 x 4. */
static inline void transpose4(const float *r0, const float *r1, const float *r2, const float *r3,
                              float scale, float *dst, int64_t ld) {
    vec a = load(r0), b = load(r1), c = load(r2), d = load(r3);
    vec ab0 = __builtin_shufflevector(a, b, 0, 4, 1, 5);
    vec cd0 = __builtin_shufflevector(c, d, 0, 4, 1, 5);
    vec ab1 = __builtin_shufflevector(a, b, 2, 6, 3, 7);
    vec cd1 = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    store(dst, scale * __builtin_shufflevector(ab0, cd0, 0, 1, 4, 5));
    store(dst + ld, scale * __builtin_shufflevector(ab0, cd0, 2, 3, 6, 7));
    store(dst + 2 * ld, scale * __builtin_shufflevector(ab1, cd1, 0, 1, 4, 5));
    store(dst + 3 * ld, scale * __builtin_shufflevector(ab1, cd1, 2, 3, 6, 7));
}

static void copy_any(const hn_any_f32 *src, int64_t s_row, int64_t s_col, int64_t rows,
                     int64_t cols, float scale, float *dst, int64_t ld) {
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < cols; c++) dst[r * ld + c] = scale * src[r * s_row + c * s_col];
}

void hn_tile_f32_copy(const float *src, int64_t s_row, int64_t s_col, int64_t rows, int64_t cols,
                      float scale, float *restrict dst, int64_t ld) {
    int64_t r4 = 0, c4 = 0;
    if (s_col == 1) {
        const hn_any_f32 *from = src;
        for (int64_t r = 0; r < rows; r++)
            for (int64_t c = 0; c < cols; c++) dst[r * ld + c] = scale * from[r * s_row + c];
    } else {
        if (s_row == 1) {
            r4 = rows / 4 * 4, c4 = cols / 4 * 4;
            for (int64_t c = 0; c < c4; c += 4)
                for (int64_t r = 0; r < r4; r += 4) {
                    const float *p = src + c * s_col + r;
                    transpose4(p, p + s_col, p + 2 * s_col, p + 3 * s_col, scale, dst + r * ld + c,
                               ld);
                }
        }
        copy_any((const hn_any_f32 *)src + c4 * s_col, s_row, s_col, r4, cols - c4, scale, dst + c4,
                 ld);
        copy_any((const hn_any_f32 *)src + r4 * s_row, s_row, s_col, rows - r4, cols, scale,
                 dst + r4 * ld, ld);
    }
}

void hn_tile_f32_interleave(const float *const *a, int rows, int64_t runs, int64_t len,
                            float *restrict dst) {
    int64_t ld = hn_tile_f32_ld(rows);
    for (int64_t s = 0; s < runs; s++, a += rows, dst += len * ld) {
        for (int i = 0; i < rows; i += 4) {
            int last = rows - 1;
            const float *r0 = a[i], *r1 = a[i + 1 < last ? i + 1 : last],
                        *r2 = a[i + 2 < last ? i + 2 : last], *r3 = a[i + 3 < last ? i + 3 : last];
            int64_t k = 0;
            for (; k + 4 <= len; k += 4)
                transpose4(r0 + k, r1 + k, r2 + k, r3 + k, 1, dst + k * ld + i, ld);
            for (; k < len; k++) {
                float *d = dst + k * ld + i;
                d[0] = r0[k], d[1] = r1[k], d[2] = r2[k], d[3] = r3[k];
            }
        }
    }
}

hn_panels_f32 hn_panels_f32_of(const hn_tiles_f32 *t, int64_t n) {
    hn_panels_f32 best = {
        .n = n, .full = (n + t->width - 1) / t->width, .width = t->width, .narrow = t->narrow};
    best.count = best.full;
    for (int narrow = 1; narrow <= 2 && t->narrow > 0; narrow++) {
        hn_panels_f32 p = best;
        int64_t left = n - narrow * t->narrow;
        p.full = left > 0 ? (left + t->width - 1) / t->width : 0;
        p.count = p.full + narrow;
        if (hn_panels_f32_column(&p, p.count) < hn_panels_f32_column(&best, best.count)) best = p;
    }
    return best;
}

/* Copying of matrices into panels. Transposing goes by blocks of 4 x 4 in registers. */
#include <string.h>

#include "kernels/tile_f32/tile_f32.h"

typedef float vec __attribute__((vector_size(16)));

static inline vec load(const float *p) {
    vec v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline void store(float *p, vec v) { memcpy(p, &v, sizeof v); }

/* dst[r][c] = scale * src[c][r], 4 x 4. */
static inline void transpose4(const float *src, int64_t pitch, float scale, float *dst,
                              int64_t ld) {
    vec a = load(src), b = load(src + pitch), c = load(src + 2 * pitch), d = load(src + 3 * pitch);
    vec ab0 = __builtin_shufflevector(a, b, 0, 4, 1, 5),
        cd0 = __builtin_shufflevector(c, d, 0, 4, 1, 5);
    vec ab1 = __builtin_shufflevector(a, b, 2, 6, 3, 7),
        cd1 = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    store(dst, scale * __builtin_shufflevector(ab0, cd0, 0, 1, 4, 5));
    store(dst + ld, scale * __builtin_shufflevector(ab0, cd0, 2, 3, 6, 7));
    store(dst + 2 * ld, scale * __builtin_shufflevector(ab1, cd1, 0, 1, 4, 5));
    store(dst + 3 * ld, scale * __builtin_shufflevector(ab1, cd1, 2, 3, 6, 7));
}

static void copy_any(const float *src, int64_t s_row, int64_t s_col, int64_t rows, int64_t cols,
                     float scale, float *dst, int64_t ld) {
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < cols; c++) dst[r * ld + c] = scale * src[r * s_row + c * s_col];
}

void hn_tile_f32_copy(const float *src, int64_t s_row, int64_t s_col, int64_t rows, int64_t cols,
                      float scale, float *restrict dst, int64_t ld) {
    int64_t r4 = 0, c4 = 0;
    if (s_col == 1) {
        for (int64_t r = 0; r < rows; r++)
            for (int64_t c = 0; c < cols; c++) dst[r * ld + c] = scale * src[r * s_row + c];
    } else {
        if (s_row == 1) {
            r4 = rows / 4 * 4, c4 = cols / 4 * 4;
            for (int64_t c = 0; c < c4; c += 4)
                for (int64_t r = 0; r < r4; r += 4)
                    transpose4(src + c * s_col + r, s_col, scale, dst + r * ld + c, ld);
        }
        copy_any(src + c4 * s_col, s_row, s_col, r4, cols - c4, scale, dst + c4, ld);
        copy_any(src + r4 * s_row, s_row, s_col, rows - r4, cols, scale, dst + r4 * ld, ld);
    }
}

/* hn_tile_f32_copy over the vector vocabulary: what is transposed goes by squares of vectors. */
#include "kernels/tile_f32/tile_f32.h"
#include "simd/part.h"

/* The square at src, whose columns are adjacent floats. */
HN_INLINE void turn(const float *src, int64_t s_col, hn_vf scale, float *dst, int64_t ld) {
    hn_vf square[HN_VL];
    for (int i = 0; i < HN_VL; i++) square[i] = hn_v_load(src + i * s_col);
    hn_v_transpose(square);
    for (int i = 0; i < HN_VL; i++) hn_v_store(dst + i * ld, hn_v_mul(scale, square[i]));
}

/* The first `cols` columns of the square at src: the others repeat the last one. `whole` says that
 * they may be stored too, since dst is written again there. Storing a part of a vector takes some
 * CPUs a dozen cycles. */
HN_INLINE void turn_part(const float *src, int64_t s_col, int64_t cols, hn_vf scale, float *dst,
                         int64_t ld, const bool whole) {
    hn_vf square[HN_VL];
    for (int i = 0; i < HN_VL; i++) square[i] = hn_v_load(src + (i < cols ? i : cols - 1) * s_col);
    hn_v_transpose(square);
    for (int i = 0; i < HN_VL; i++) {
        hn_vf row = hn_v_mul(scale, square[i]);
        if (whole)
            hn_v_store(dst + i * ld, row);
        else
            hn_v_store_n(dst + i * ld, row, cols);
    }
}

/* The last columns, fewer than a vector, of `rows` rows of squares. What is stored beyond them falls
 * into the rows that follow, where these have no other columns. */
static void turn_last(const float *src, int64_t s_col, int64_t rows, int64_t cols, hn_vf scale,
                      float *dst, int64_t ld) {
    int64_t i = 0;
    for (; ld == cols && (i + HN_VL) * ld + HN_VL <= rows * ld; i += HN_VL)
        turn_part(src + i, s_col, cols, scale, dst + i * ld, ld, true);
    for (; i < rows; i += HN_VL) turn_part(src + i, s_col, cols, scale, dst + i * ld, ld, false);
}

void HN_V_ROW(tile_f32_copy)(const float *src, int64_t s_row, int64_t s_col, int64_t rows,
                             int64_t cols, float scale, float *restrict dst, int64_t ld) {
    if (s_row != 1 || s_col == 1) {
        hn_tile_f32_copy(src, s_row, s_col, rows, cols, scale, dst, ld);
        return;
    }
    int64_t r = rows / HN_VL * HN_VL, c = cols / HN_VL * HN_VL;
    for (int64_t j = 0; j < c; j += HN_VL)
        for (int64_t i = 0; i < r; i += HN_VL)
            turn(src + j * s_col + i, s_col, hn_v_set1(scale), dst + i * ld + j, ld);
    if (cols - c > HN_VL / 4)
        turn_last(src + c * s_col, s_col, r, cols - c, hn_v_set1(scale), dst + c, ld);
    else
        hn_tile_f32_copy(src + c * s_col, s_row, s_col, r, cols - c, scale, dst + c, ld);
    hn_tile_f32_copy(src + r, s_row, s_col, rows - r, cols, scale, dst + r * ld, ld);
}

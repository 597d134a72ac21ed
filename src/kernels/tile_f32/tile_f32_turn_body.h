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

/* The last n columns of a row, fewer than a vector. `whole`: more may be stored. */
HN_INLINE void copy_last(const float *src, int64_t n, hn_vf scale, float *dst, bool whole) {
    hn_vf v = hn_v_mul(scale, hn_v_load_n(src, n));
    if (whole)
        hn_v_store(dst, v);
    else
        hn_v_store_n(dst, v, n);
}

/* Rows of adjacent floats as they are. These are often a narrow part of long rows, of which the CPU
 * fetches nothing ahead by itself. */
static void copy_straight(const float *src, int64_t s_row, int64_t rows, int64_t cols, hn_vf scale,
                          float *dst, int64_t ld) {
    enum { AHEAD = 12, LINE = 16 };
    int64_t full = cols / HN_VL * HN_VL;
    for (int64_t r = 0; r < rows; r++, src += s_row, dst += ld) {
        if (r + AHEAD < rows)
            for (int64_t c = 0; c < cols; c += LINE)
                __builtin_prefetch(src + AHEAD * s_row + c, 0, 3);
        for (int64_t c = 0; c < full; c += HN_VL)
            hn_v_store(dst + c, hn_v_mul(scale, hn_v_load(src + c)));
        /* What is stored beyond the columns falls into the row that follows, written later. */
        bool whole = ld == cols && r + 1 < rows && full + HN_VL <= 2 * cols;
        if (full < cols) copy_last(src + full, cols - full, scale, dst + full, whole);
    }
}

void HN_V_ROW(tile_f32_copy)(const float *src, int64_t s_row, int64_t s_col, int64_t rows,
                             int64_t cols, float scale, float *restrict dst, int64_t ld) {
    if (s_col == 1) {
        copy_straight(src, s_row, rows, cols, hn_v_set1(scale), dst, ld);
        return;
    }
    if (s_row != 1) {
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

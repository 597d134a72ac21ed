/* resize_f32: images sampled anew, each output from a few taps of a row and of a column.
 *
 *   y[n][oy][ox][c] = sum over row taps r of oy, column taps k of ox of
 *       row_weight[r] * column_weight[k] * x[n][row_index[r]][column_index[k]][c]
 *
 * `rows` holds, for each output row and one more, the number of its first tap, then the indices of
 * all taps; the taps of a row end where those of the next begin. Columns likewise. A pixel that has
 * no tap of either is `outside`. A single tap of weight 1 copies, so nearest neighbours are exact.
 *
 * Images are numbered by up to four axes. Strides are in elements; the c values of a pixel are
 * adjacent: the channels of a channels-last image, or one value of a planar one. y overlaps
 * nothing.
 *
 * Error: of the sums in f32, over rows first.
 *
 * resize_f64 has the same problem for elements of other types.
 */
#ifndef HN_KERNELS_RESIZE_F32_H
#define HN_KERNELS_RESIZE_F32_H

#include "kernels/kernel.h"

enum { HN_RESIZE_AXES = 4 };

#define HN_RESIZE_TYPE_LIST(X) \
    X(F32, float)              \
    X(F64, double)             \
    X(U8, uint8_t)             \
    X(S8, int8_t)              \
    X(U16, uint16_t)           \
    X(S16, int16_t)            \
    X(S32, int32_t)
typedef enum hn_resize_type {
#define HN_X(name, type) HN_RESIZE_##name,
    HN_RESIZE_TYPE_LIST(HN_X)
#undef HN_X
} hn_resize_type;

typedef struct hn_resize_f32 {
    int64_t images[HN_RESIZE_AXES], x_image[HN_RESIZE_AXES], y_image[HN_RESIZE_AXES];
    int64_t h, w, c, oh, ow;
    int64_t x_row, x_pixel, y_row, y_pixel;
    double outside;
    hn_resize_type x_type, y_type; /* both HN_RESIZE_F32 here */
} hn_resize_f32;

static inline int64_t hn_resize_count(const hn_resize_f32 *p) {
    int64_t n = 1;
    for (int i = 0; i < HN_RESIZE_AXES; i++) n *= p->images[i];
    return n;
}

/* Operands; rows and columns are s32, weights f32. */
enum {
    HN_RESIZE_X,
    HN_RESIZE_ROWS,
    HN_RESIZE_ROW_WEIGHT,
    HN_RESIZE_COLUMNS,
    HN_RESIZE_COLUMN_WEIGHT,
    HN_RESIZE_Y,
    HN_RESIZE_OPERANDS_
};

/* How x and y lie, in both families. */
enum { HN_RESIZE_PLACES = 6 };
extern const hn_axes hn_resize_axes[HN_RESIZE_PLACES];

extern const hn_family hn_resize_f32_family;

#endif

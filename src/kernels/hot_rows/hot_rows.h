/* hot_rows: lines that are one value at an index and another elsewhere.
 *
 *   y[o][d][i] = values[index[o][i] == d]     o < outer, d < depth, i < inner
 *
 * An index counts from the end when it is negative; where it is outside of [-depth, depth), all of
 * the line is values[0]. Elements have 1, 2, 4, 8 or 16 bytes; everything is adjacent.
 */
#ifndef HN_KERNELS_HOT_ROWS_H
#define HN_KERNELS_HOT_ROWS_H

#include "kernels/kernel.h"

typedef struct hn_hot_rows {
    int64_t outer, depth, inner;
    int64_t bytes; /* of an element */
    bool wide;     /* indices are s64, else s32 */
} hn_hot_rows;

enum { HN_HOT_ROWS_INDEX, HN_HOT_ROWS_VALUES, HN_HOT_ROWS_Y };

extern const hn_family hn_hot_rows_family;

#endif

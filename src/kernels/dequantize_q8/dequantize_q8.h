/* dequantize_q8: integers to floats.
 *
 *   y = (float)(x - z) * s      the difference in s32, wrapping; both float operations rounded
 *
 * S and Z are operands of the space like any other: strides of 0 make one scale for all of it, a
 * stride of 1 along an axis one for each position. Z has the type of x; absent, it is 0. y overlaps
 * nothing. The same bits from every row.
 */
#ifndef HN_KERNELS_DEQUANTIZE_Q8_H
#define HN_KERNELS_DEQUANTIZE_Q8_H

#include "kernels/kernel.h"
#include "kernels/q8.h"
#include "kernels/space.h"

typedef struct hn_dequantize_q8 {
    hn_space space;  /* strides of X, Y, S, Z */
    hn_q8_type type; /* of x: u8, s8 or s32 */
} hn_dequantize_q8;

enum {
    HN_DEQUANTIZE_Q8_X,
    HN_DEQUANTIZE_Q8_Y,
    HN_DEQUANTIZE_Q8_S,
    HN_DEQUANTIZE_Q8_Z,
    HN_DEQUANTIZE_Q8_OPERANDS_
};

extern const hn_family hn_dequantize_q8_family;

#endif

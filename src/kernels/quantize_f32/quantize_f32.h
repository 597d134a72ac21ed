/* quantize_f32: floats to 8-bit integers, with a scale and a zero point that are given or that are
 * found from the data.
 *
 *   y = saturate(rne(x / s) + z)        the quotient rounded to f32; NaN becomes the lowest value
 *
 * Given, S and Z are operands of the space like any other: strides of 0 make one scale for all of
 * it, a stride of 1 along an axis one for each position.
 *
 * Dynamic, they are outputs, by the rule of DynamicQuantizeLinear: over all elements that share
 * them, with every operation rounded to f32 and comparisons that NaN fails,
 *
 *   lo = min(0, x), hi = max(0, x)
 *   s = lo == hi ? 1 : (hi - lo) / 255
 *   z = saturate(rne(-lo / s))
 *
 * for u8; for s8, z and y are 128 less. The axes along which S and Z move come before those along
 * which they rest (rows of tokens, then a token's elements): hn_space_collapse by S leaves them so.
 * Their strides are the same.
 *
 * y and Z have the same type; an absent Z is 0. y overlaps nothing. All is exact: the same bits
 * from every row.
 */
#ifndef HN_KERNELS_QUANTIZE_F32_H
#define HN_KERNELS_QUANTIZE_F32_H

#include <stdbool.h>

#include "kernels/kernel.h"
#include "kernels/q8.h"
#include "kernels/space.h"

typedef struct hn_quantize_f32 {
    hn_space space;  /* strides of X, Y, S, Z */
    hn_q8_type type; /* of y: u8 or s8 */
    bool dynamic;
} hn_quantize_f32;

enum {
    HN_QUANTIZE_F32_X,
    HN_QUANTIZE_F32_Y,
    HN_QUANTIZE_F32_S,
    HN_QUANTIZE_F32_Z,
    HN_QUANTIZE_F32_OPERANDS_
};

extern const hn_family hn_quantize_f32_family;

/* The number of axes, the first ones, along which S moves. */
static inline int hn_quantize_f32_lead(const hn_quantize_f32 *p) {
    int n = p->space.rank;
    while (n > 0 && p->space.stride[HN_QUANTIZE_F32_S][n - 1] == 0) n--;
    return n;
}

#endif

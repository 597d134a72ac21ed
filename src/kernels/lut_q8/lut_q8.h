/* lut_q8: any function of one 8-bit number, as a table.
 *
 *   y = table[x]        256 bytes, by the bits of x: those of s8 -1 are at 255
 *
 * Requantization and every unary operator between a DequantizeLinear and a QuantizeLinear are this.
 * y may be x (same place, same strides), and overlaps nothing else.
 */
#ifndef HN_KERNELS_LUT_Q8_H
#define HN_KERNELS_LUT_Q8_H

#include "kernels/kernel.h"
#include "kernels/space.h"

typedef struct hn_lut_q8 {
    hn_space space; /* strides of X, Y */
} hn_lut_q8;

enum { HN_LUT_Q8_X, HN_LUT_Q8_Y, HN_LUT_Q8_TABLE, HN_LUT_Q8_OPERANDS_ };

extern const hn_family hn_lut_q8_family;

#endif

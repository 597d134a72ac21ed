/* binary_q8: sums and products of two quantized tensors that broadcast.
 *
 *   ADD  v = (float)(a - az) * ma + (float)(b - bz) * mb      a difference: mb < 0
 *   MUL  v = (float)((a - az) * (b - bz)) * ma
 *        y = min(max(rne(v) + yz, lo), hi)                    lo, hi within the type of y
 *
 * Each float operation is rounded on its own and nothing wraps; a v that is NaN becomes lo. Zero
 * points are values of their types. y may be a or b (same place, same strides), and overlaps
 * nothing else. All is exact: the same bits from every row.
 */
#ifndef HN_KERNELS_BINARY_Q8_H
#define HN_KERNELS_BINARY_Q8_H

#include "kernels/kernel.h"
#include "kernels/q8.h"
#include "kernels/space.h"

typedef enum hn_binary_q8_kind { HN_BINARY_Q8_ADD, HN_BINARY_Q8_MUL } hn_binary_q8_kind;

typedef struct hn_binary_q8 {
    hn_space space; /* strides of A, B, Y */
    hn_binary_q8_kind kind;
    hn_q8_type a, b, y; /* u8 or s8, each its own */
    int32_t az, bz, yz, lo, hi;
    float ma, mb;
} hn_binary_q8;

enum { HN_BINARY_Q8_A, HN_BINARY_Q8_B, HN_BINARY_Q8_Y, HN_BINARY_Q8_OPERANDS_ };

extern const hn_family hn_binary_q8_family;

#endif

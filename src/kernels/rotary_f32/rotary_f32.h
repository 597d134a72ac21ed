/* rotary_f32: turns pairs of elements of each head by an angle that its position has.
 *
 *   y1 = cos[i] * x1 - sin[i] * x2      y2 = sin[i] * x1 + cos[i] * x2      i < pairs
 *
 * for every head of `size` elements; x1 and x2 are elements i and i + pairs, or, interleaved, 2 i
 * and 2 i + 1. Elements past 2 * pairs are copied.
 *
 *   x, y [samples][heads][positions][size], strides in floats, elements of a head adjacent
 *   cos, sin [angles][pairs], adjacent; a row of them is that of number ids[sample][position], or,
 *   without ids, of number sample * positions + position
 *
 * For an id outside of [0, angles) the elements are copied, and `outside`, if it is there, is set
 * to 1: kernels cannot fail, so the caller clears it before and looks at it after. y overlaps
 * nothing.
 *
 * Error: 1.2e-7 of abs(cos * x1) + abs(sin * x2), and likewise.
 */
#ifndef HN_KERNELS_ROTARY_F32_H
#define HN_KERNELS_ROTARY_F32_H

#include "kernels/kernel.h"

typedef struct hn_rotary_f32 {
    int64_t samples, heads, positions, size, pairs, angles;
    int64_t x_sample, x_head, x_position; /* strides */
    int64_t y_sample, y_head, y_position;
    bool interleaved;
} hn_rotary_f32;

/* Operands; ids, of s64, and outside, one s32, may be NULL. */
enum {
    HN_ROTARY_X,
    HN_ROTARY_COS,
    HN_ROTARY_SIN,
    HN_ROTARY_IDS,
    HN_ROTARY_Y,
    HN_ROTARY_OUTSIDE,
    HN_ROTARY_OPERANDS_
};

extern const hn_family hn_rotary_f32_family;

#endif

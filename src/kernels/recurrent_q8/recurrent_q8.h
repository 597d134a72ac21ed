/* recurrent_q8: recurrent_f32 (see there) with R in 8 bits and, without exact_h, h brought to 8
 * bits for each product.
 *
 *   h.R[j] = sh * scales[j] * sum over k of (q[k] - z) * R[j][k]       the sum in s32
 *
 * where q, sh and z are those of DynamicQuantizeLinear for the h of one sequence (of a GRU's second
 * product, r*h): lo = min(0, h), hi = max(0, h), sh = lo == hi ? 1 : (hi - lo) / 255, z = rne(-lo /
 * sh), q = rne(h / sh) + z, every operation rounded to f32. With exact_h
 *
 *   h.R[j] = scales[j] * sum over k of h[k] * R[j][k]
 *
 * The problem and the operands are those of recurrent_f32, but R is s8, and scales f32
 * [dirs][gates*hidden] must be there. R and z times the sums of its columns are below 2^31 up to a
 * hidden size of 65536.
 *
 * Error: that of recurrent_f32, and where it moves an h over the middle between two integers, a
 * step of sh there. With exact_h rows move each h by at most 2^-22 of the largest |h| of its
 * sequence. Beyond a hidden size of 2048 the rows avx2 and avx512 move it by hidden * 2^-33 of that.
 * A largest |h| below 2^-104 counts as 0. An infinity or a NaN among the h of a sequence makes all
 * its sums NaN.
 */
#ifndef HN_KERNELS_RECURRENT_Q8_H
#define HN_KERNELS_RECURRENT_Q8_H

#include "kernels/recurrent_f32/recurrent_f32.h"

#define HN_RECURRENT_Q8_HIDDEN 65536

extern const hn_family hn_recurrent_q8_family;

/* Whether R, with exact_h, is better dequantized to floats, once, for recurrent_f32. Without a dot
 * product of bytes the multiplications take longer than those of floats, which only pays where R as
 * floats does not stay in the L2 cache and few sequences share what is read of it. */
bool hn_recurrent_q8_prefers_floats(const hn_recurrent_f32 *p, hn_isa isa);

#endif

/* conv_q8: convolution of 8-bit integers over channels-last images, and with it every product of a
 * quantized activation by a constant quantized matrix.
 *
 *   acc[b][oy][ox][o] = bias[o] + sum over ky, kx, i of (w[o][i][ky][kx] - wz[o])
 *                           * (x[b][oy*sh + ky*dh - pt][ox*sw + kx*dw - pl][g*c/groups + i] - xz)
 *
 * in s32, wrapping; outside the image x = xz, so that it adds nothing; g the group of o. What
 * becomes of acc, by the type of y:
 *
 *   u8, s8  y = min(max(rne((float)acc * m[o] [+ (float)(r - rz) * mr]) + yz, lo), hi)
 *           each float operation rounded on its own; rne and the sum saturate (never wrap).
 *           Twice rounded, where r is there: y = min(max(rne(v * m1 + (float)(r - rz) * mr) + yz,
 *           lo), hi) of v = min(max(rne((float)acc * m[o]), lo1), hi1), the result of a product
 *           that was quantized before r was added
 *           Through floats, where ys is not 0: y = min(max(rne(v / ys) + yz, lo), hi) of v as an
 *           f32 result is, without r; NaN becomes lo. Where operand YS is there, YS[o] stands for ys
 *   f32     y = act((float)acc * (xs * m[o]) + fbias[o] + r)       xs = 1 where absent
 *   s32     y = acc
 *
 * u8, s8 and s32 results are exact: the same bits from every row. f32, and what goes through it:
 * the same but for act.
 *
 * A matrix product [m][k] x [k][n] is the problem batch = h = oh = kh = kw = 1, w = ow = m, c = k.
 * Strides are in elements. Channels are adjacent in x, y and r. x, y and r may have any alignment
 * their element type has. y may be r itself (same place, type and strides), and overlaps nothing
 * else. lo <= hi, both in the range of y's type; lo1 <= hi1, from -255 to 255; zero points in the
 * range of theirs; m, mr and m1 are finite and below 2^64; ys is 0 or hn_q8_invertible, and so is
 * each of YS.
 */
#ifndef HN_KERNELS_CONV_Q8_H
#define HN_KERNELS_CONV_Q8_H

#include "kernels/act.h"
#include "kernels/kernel.h"
#include "kernels/q8.h"
#include "kernels/window.h"

typedef struct hn_conv_q8 {
    HN_WINDOWS;                 /* x_channel is 1 */
    int64_t w_o, w_i, w_y, w_x; /* strides of the plain weights */
    hn_q8_type x, w_type, y;    /* x, w_type: u8 or s8 */
    hn_q8_type r_type;          /* u8 or s8 where y is u8 or s8; f32 where y is f32 */
    bool w_zero_points;         /* operand WZ is there */
    bool y_scales;              /* operand YS is there; ys is not 0 */
    int32_t xz;                 /* unless operand XZ is there */
    int32_t rz, yz, lo, hi;     /* of u8 and s8 results */
    float mr;
    bool twice; /* rounded */
    int32_t lo1, hi1;
    float m1;
    float ys;         /* of u8 and s8 results that go through floats; 0: they do not */
    hn_act act;       /* of floats alone */
    int64_t w_zeros;  /* plain weights that are 0 of s8, 128 of u8, as far as is known */
    int64_t w_rounds; /* that a row by lists multiplies weights in, once it has looked; else 0 */
} hn_conv_q8;

/* Operands, in the order of hn_call.ptr. W is the constant operand: packed if the row packs; WZ
 * (s32 [n], absent: 0 of s8, 128 of u8), BIAS (s32 [n]), M (f32 [n]), FBIAS (f32 [n]) and YS (f32
 * [n]) may be constants too. XS (f32) and XZ (one element of x's type) are scalars known at run time
 * only, by dynamic quantization. All but X, W and Y may be NULL; M absent: 1. R has no meaning
 * where y is s32 or goes through floats, XS and FBIAS only where there are floats, YS only where
 * bytes go through them. */
enum {
    HN_CONV_Q8_X,
    HN_CONV_Q8_W,
    HN_CONV_Q8_WZ,
    HN_CONV_Q8_BIAS,
    HN_CONV_Q8_M,
    HN_CONV_Q8_XS,
    HN_CONV_Q8_XZ,
    HN_CONV_Q8_FBIAS,
    HN_CONV_Q8_R,
    HN_CONV_Q8_Y,
    HN_CONV_Q8_YS,
    HN_CONV_Q8_OPERANDS_
};

/* What becomes of sums is, or goes through, floats with an activation. */
static inline bool hn_conv_q8_has_floats(const hn_conv_q8 *p) {
    return p->y == HN_Q8_F32 || p->ys > 0;
}

extern const hn_family hn_conv_q8_family;

/* A matrix product [m][k] x [k][n] with dense operands, as a problem of this family; types and
 * zero points are left to the caller. */
hn_conv_q8 hn_conv_q8_of_gemm(int64_t m, int64_t n, int64_t k);

#endif

/* The rows of conv_f32 that split floats for AMX, for families that bring them weights of their own
 * making. */
#ifndef HN_KERNELS_CONV_F32_AMX_H
#define HN_KERNELS_CONV_F32_AMX_H

#include "kernels/conv_f32/conv_f32.h"

/* Packs part number `part` of `parts` of the weights, at most 64 parts, which may be packed at the
 * same time. All together are what the row's `pack` makes. */
typedef void hn_conv_f32_amx_pack_fn(const hn_conv_f32 *p, const float *w, int64_t part,
                                     int64_t parts, void *dst);

extern const hn_kernel hn_conv_f32_six_amx, hn_conv_f32_three_amx, hn_conv_f32_one_amx;
hn_conv_f32_amx_pack_fn hn_conv_f32_six_amx_pack, hn_conv_f32_three_amx_pack,
    hn_conv_f32_one_amx_pack;

#endif

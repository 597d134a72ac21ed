/* The row of conv_f32 that splits floats for AMX, for families that bring it weights of their own
 * making. */
#ifndef HN_KERNELS_CONV_F32_AMX_H
#define HN_KERNELS_CONV_F32_AMX_H

#include "kernels/conv_f32/conv_f32.h"

extern const hn_kernel hn_conv_f32_amx;

/* Packs part number `part` of `parts` of the weights, at most 64 parts, which may be packed at the
 * same time. All together are what the row's `pack` makes. */
void hn_conv_f32_amx_pack(const hn_conv_f32 *p, const float *w, int64_t part, int64_t parts,
                          void *dst);

#endif

#include "simd/neon.h"

#include "base/isa.h"

#define FLIP HN_Q8_S8
#define DOT(s, x, w) vdotq_s32(s, vreinterpretq_s8_s32(x), vreinterpretq_s8_s32(w))
#define ROW hn_conv_q8_sparse_neondot
#define NAME "neondot"
#define ISA HN_ISA_NEONDOT
#include "kernels/conv_q8/conv_q8_sparse_body.h"

#include "simd/neon.h"

#define DOT(sum, codes, digits) \
    vdotq_s32(sum, vreinterpretq_s8_s32(codes), vreinterpretq_s8_s32(digits))
#define DOT_STEPS 1
#define HIGH_CODES(w) vreinterpretq_s32_u8(vshrq_n_u8(vreinterpretq_u8_s32(w), 4))
#define SIGNED_CODES
#define ROW hn_matmul_nbits_digits_neondot
#define NAME "neondot"
#define ISA HN_ISA_NEONDOT
#define PLAIN hn_matmul_nbits_neon
#include "kernels/matmul_nbits/matmul_nbits_digits_body.h"

#include "simd/neon.h"

#define RECURRENT_Q8
#define ROWS 4
#define X_IS_U8 0
#define STEP_MACS 400000

static inline hn_vi dot(hn_vi sum, hn_vi w, hn_vi x) {
    return vdotq_s32(sum, vreinterpretq_s8_s32(w), vreinterpretq_s8_s32(x));
}

#define ROW hn_recurrent_q8_neondot
#define NAME "neondot"
#define ISA HN_ISA_NEONDOT
#include "kernels/recurrent_f32/recurrent_f32_body.h"

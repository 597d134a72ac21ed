#include "simd/avx2.h"

#define RECURRENT_Q8
#define ROWS 2
#define X_IS_U8 1
#define STEP_MACS 400000

/* In assembly because GCC 12 copies sums to and fro around the intrinsic. */
static inline hn_vi dot(hn_vi sum, hn_vi w, hn_vi x) {
    __asm__("%{vex%} vpdpbusd %1, %2, %0" : "+x"(sum) : "x"(w), "x"(x));
    return sum;
}

#define ROW hn_recurrent_q8_avxvnni
#define NAME "avxvnni"
#define ISA HN_ISA_AVXVNNI
#include "kernels/recurrent_f32/recurrent_f32_body.h"

#include "simd/avx512.h"

#define RECURRENT_Q8
#define ROWS 8
#define X_IS_U8 1
#define STEP_MACS 400000

/* In assembly because GCC 12 copies sums to and fro around the intrinsic. */
static inline hn_vi dot(hn_vi sum, hn_vi w, hn_vi x) {
    __asm__("vpdpbusd %1, %2, %0" : "+v"(sum) : "v"(w), "v"(x));
    return sum;
}

#define ROW hn_recurrent_q8_avx512vnni
#define NAME "avx512vnni"
#define ISA HN_ISA_AVX512VNNI
#include "kernels/recurrent_f32/recurrent_f32_body.h"

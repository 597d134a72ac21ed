#include "simd/avx2.h"

/* In assembly because GCC 12 copies sums to and fro around the intrinsic. */
static inline hn_vi dot(hn_vi sum, hn_vi codes, hn_vi digits) {
    __asm__("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sum) : "x"(codes), "x"(digits));
    return sum;
}

#define DOT dot
#define DOT_STEPS 1
#define ROW hn_matmul_nbits_digits_avxvnni
#define NAME "avxvnni"
#define ISA HN_ISA_AVXVNNI
#define PLAIN hn_matmul_nbits_avx2
#include "kernels/matmul_nbits/matmul_nbits_digits_body.h"

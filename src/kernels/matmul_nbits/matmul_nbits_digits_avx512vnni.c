#include "simd/avx512.h"

/* In assembly because GCC 12 copies sums to and fro around the intrinsic. */
static inline hn_vi dot(hn_vi sum, hn_vi codes, hn_vi digits) {
    __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(codes), "v"(digits));
    return sum;
}

#define DOT dot
#define DOT_STEPS 1
#define ROW hn_matmul_nbits_digits_avx512vnni
#define NAME "avx512vnni"
#define ISA HN_ISA_AVX512VNNI
#define PLAIN hn_matmul_nbits_avx512
#include "kernels/matmul_nbits/matmul_nbits_digits_body.h"

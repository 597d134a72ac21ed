/* The speed of multiply-add from registers: what a kernel's time is measured against. */
#include <math.h>

#include "base/clock.h"
#include "check.h"

enum { ROUNDS = 1000, CHAINS = 12 }; /* 12 chains cover the latency of 4 cycles on 2 or 3 pipes */

#if defined(__x86_64__)
#define ROUND(reg)                                 \
    "vfmadd231ps %%" reg "12, %%" reg "13, %%" reg \
    "0\n\t"                                        \
    "vfmadd231ps %%" reg "12, %%" reg "13, %%" reg \
    "1\n\t"                                        \
    "vfmadd231ps %%" reg "12, %%" reg "13, %%" reg \
    "2\n\t"                                        \
    "vfmadd231ps %%" reg "12, %%" reg "13, %%" reg \
    "3\n\t"                                        \
    "vfmadd231ps %%" reg "12, %%" reg "13, %%" reg \
    "4\n\t"                                        \
    "vfmadd231ps %%" reg "12, %%" reg "13, %%" reg \
    "5\n\t"                                        \
    "vfmadd231ps %%" reg "12, %%" reg "13, %%" reg \
    "6\n\t"                                        \
    "vfmadd231ps %%" reg "12, %%" reg "13, %%" reg \
    "7\n\t"                                        \
    "vfmadd231ps %%" reg "12, %%" reg "13, %%" reg \
    "8\n\t"                                        \
    "vfmadd231ps %%" reg "12, %%" reg "13, %%" reg \
    "9\n\t"                                        \
    "vfmadd231ps %%" reg "12, %%" reg "13, %%" reg \
    "10\n\t"                                       \
    "vfmadd231ps %%" reg "12, %%" reg "13, %%" reg "11\n\t"
#define LOOP(reg)                                                                                  \
    __asm__ volatile(                                                                              \
        "vpxor %%xmm12, %%xmm12, %%xmm12\n\tvmovaps %%xmm12, %%xmm13\n\t"                          \
        "1:\n\t" ROUND(reg) "dec %0\n\tjnz 1b\n\tvzeroupper"                                       \
        : "+r"(rounds)                                                                             \
        :                                                                                          \
        : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", \
          "xmm11", "xmm12", "xmm13", "cc")
static double loop(hn_isa isa) {
    int64_t rounds = ROUNDS;
    if (isa == HN_ISA_PORTABLE) return 0;
    if (isa & ~(hn_isa)(HN_ISA_AVX2 | HN_ISA_AVXVNNI)) {
        LOOP("zmm");
        return 16;
    }
    LOOP("ymm");
    return 8;
}
#elif defined(__aarch64__)
static double loop(hn_isa isa) {
    int64_t rounds = ROUNDS;
    if (!(isa & HN_ISA_NEON)) return 0;
    __asm__ volatile(
        "movi v30.4s, #0\n\tmovi v31.4s, #0\n\t"
        "1:\n\tfmla v0.4s, v30.4s, v31.4s\n\tfmla v1.4s, v30.4s, v31.4s\n\t"
        "fmla v2.4s, v30.4s, v31.4s\n\tfmla v3.4s, v30.4s, v31.4s\n\t"
        "fmla v4.4s, v30.4s, v31.4s\n\tfmla v5.4s, v30.4s, v31.4s\n\t"
        "fmla v6.4s, v30.4s, v31.4s\n\tfmla v7.4s, v30.4s, v31.4s\n\t"
        "fmla v16.4s, v30.4s, v31.4s\n\tfmla v17.4s, v30.4s, v31.4s\n\t"
        "fmla v18.4s, v30.4s, v31.4s\n\tfmla v19.4s, v30.4s, v31.4s\n\t"
        "subs %0, %0, #1\n\tb.ne 1b"
        : "+r"(rounds)
        :
        : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v16", "v17", "v18", "v19", "v30", "v31",
          "cc");
    return 4;
}
#else
static double loop(hn_isa isa) {
    (void)isa;
    return 0;
}
#endif

double check_peak(hn_isa isa) {
    double best = 0;
    for (int i = 0; i < 3; i++) {
        int64_t t0 = hn_clock_ns();
        double width = loop(isa);
        double ns = (double)(hn_clock_ns() - t0);
        best = fmax(best, 2.0 * CHAINS * ROUNDS * width / ns);
    }
    return best;
}

#include "measure/peak.h"

#include <string.h>

#include "base/clock.h"

/* ---- arithmetic ----
 *
 * A round is the instruction once per chain. 12 chains cover a latency of 4 to 6 cycles on two
 * pipes; four tiles cover that of a tile product. Operands are zero, and so are the sums:
 * what lies in registers may be denormal, which is slower. */

#if defined(__x86_64__)

enum { CHAINS = 12 };
#define EACH ".irp r,0,1,2,3,4,5,6,7,8,9,10,11\n\t"
static const _Alignas(64) float operands[CHAINS * 16];
/* `operands` is %1. */
#define ANY_LOOP(name, zero, body, end)                                                            \
    static void name(int64_t rounds) {                                                             \
        __asm__ volatile(zero "1:\n\t" body "dec %0\n\tjnz 1b\n\t" end                             \
                         : "+r"(rounds)                                                            \
                         : "r"(operands)                                                           \
                         : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", \
                           "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "cc",     \
                           "memory");                                                              \
    }
#define SSE_ZERO ".irp r,0,1,2,3,4,5,6,7,8,9,10,11,13\n\tpxor %%xmm\\r, %%xmm\\r\n\t.endr\n\t"
#define SSE_LOOP(name, body) ANY_LOOP(name, SSE_ZERO, body, "")
#define X86_LOOP(name, zero, body) ANY_LOOP(name, zero, body, "vzeroupper")
#define ZERO                                                                           \
    ".irp r,0,1,2,3,4,5,6,7,8,9,10,11,12,13\n\tvpxor %%xmm\\r, %%xmm\\r, %%xmm\\r\n\t" \
    ".endr\n\t"

SSE_LOOP(f32_xmm, EACH
         "movaps %%xmm13, %%xmm12\n\tmulps %%xmm13, %%xmm12\n\t"
         "addps %%xmm12, %%xmm\\r\n\t.endr\n\t")
SSE_LOOP(int8_xmm, EACH
         "movdqa %%xmm13, %%xmm12\n\tpmaddwd %%xmm13, %%xmm12\n\t"
         "paddd %%xmm12, %%xmm\\r\n\t.endr\n\t")

/* AVX-512 has twice the registers, and so twice the chains: a loop of 12 is short enough for its
 * own end to cost a twentieth. No clobbers for those the compiler knows nothing of. */
enum { ZMM_CHAINS = 24 };
#define MORE ".irp r,16,17,18,19,20,21,22,23,24,25,26,27\n\t"
#define ZMM_LOOP(name, instruction)                                                       \
    X86_LOOP(name, ZERO MORE "vpxord %%zmm\\r, %%zmm\\r, %%zmm\\r\n\t.endr\n\t",          \
             EACH instruction " %%zmm12, %%zmm13, %%zmm\\r\n\t.endr\n\t" MORE instruction \
                              " %%zmm12, %%zmm13, %%zmm\\r\n\t.endr\n\t")

X86_LOOP(f32_ymm, ZERO, EACH "vfmadd231ps %%ymm12, %%ymm13, %%ymm\\r\n\t.endr\n\t")
ZMM_LOOP(f32_zmm, "vfmadd231ps")
ZMM_LOOP(bf16_zmm, "vdpbf16ps")
X86_LOOP(int8_ymm, ZERO, EACH "%{vex%} vpdpbusd %%ymm12, %%ymm13, %%ymm\\r\n\t.endr\n\t")
ZMM_LOOP(int8_zmm, "vpdpbusd")
/* Without a dot product of bytes: pairs of bytes to 16 bits, pairs of those to 32, add. */
X86_LOOP(int8_pairs, ZERO,
         EACH
         "vpmaddubsw %%ymm12, %%ymm13, %%ymm14\n\tvpmaddwd %%ymm12, %%ymm14, %%ymm15\n\t"
         "vpaddd %%ymm15, %%ymm\\r, %%ymm\\r\n\t.endr\n\t")
X86_LOOP(int8_wide_pairs, ZERO,
         EACH
         "vpmaddubsw %%zmm12, %%zmm13, %%zmm14\n\tvpmaddwd %%zmm12, %%zmm14, %%zmm15\n\t"
         "vpaddd %%zmm15, %%zmm\\r, %%zmm\\r\n\t.endr\n\t")

SSE_LOOP(fed_xmm, EACH
         "movaps \\r*64(%1), %%xmm12\n\tmulps %%xmm13, %%xmm12\n\t"
         "addps %%xmm12, %%xmm\\r\n\t.endr\n\t")
X86_LOOP(fed_ymm, ZERO, EACH "vfmadd231ps \\r*64(%1), %%ymm13, %%ymm\\r\n\t.endr\n\t")
X86_LOOP(fed_zmm, ZERO, EACH "vfmadd231ps \\r*64(%1), %%zmm13, %%zmm\\r\n\t.endr\n\t")

static void fed(hn_isa isa, int64_t rounds) {
    (isa & HN_ISA_AVX512 ? fed_zmm : isa & HN_ISA_AVX2 ? fed_ymm : fed_xmm)(rounds);
}

/* Eight tiles of 16 rows of 64 bytes: four sums, two left and two right operands. */
static void tiles(int64_t rounds, bool bytes) {
    struct {
        uint8_t palette, start_row, reserved[14];
        uint16_t row_bytes[16];
        uint8_t rows[16];
    } config = {.palette = 1};
    for (int i = 0; i < 8; i++) {
        config.row_bytes[i] = 64;
        config.rows[i] = 16;
    }
    __asm__ volatile("ldtilecfg %0\n\t.irp t,0,1,2,3,4,5,6,7\n\ttilezero %%tmm\\t\n\t.endr"
                     :
                     : "m"(config));
    if (bytes)
        __asm__ volatile(
            "1:\n\ttdpbssd %%tmm6, %%tmm4, %%tmm0\n\ttdpbssd %%tmm7, %%tmm4, %%tmm1\n\t"
            "tdpbssd %%tmm6, %%tmm5, %%tmm2\n\ttdpbssd %%tmm7, %%tmm5, %%tmm3\n\t"
            "dec %0\n\tjnz 1b\n\ttilerelease"
            : "+r"(rounds)
            :
            : "cc");
    else
        __asm__ volatile(
            "1:\n\ttdpbf16ps %%tmm6, %%tmm4, %%tmm0\n\ttdpbf16ps %%tmm7, %%tmm4, %%tmm1\n\t"
            "tdpbf16ps %%tmm6, %%tmm5, %%tmm2\n\ttdpbf16ps %%tmm7, %%tmm5, %%tmm3\n\t"
            "dec %0\n\tjnz 1b\n\ttilerelease"
            : "+r"(rounds)
            :
            : "cc");
}
static void bf16_tiles(int64_t rounds) { tiles(rounds, false); }
static void int8_tiles(int64_t rounds) { tiles(rounds, true); }

const hn_peak hn_peaks[] = {
    {"f32", "mulps, addps xmm", HN_ISA_PORTABLE, CHAINS * 2 * 4, f32_xmm},
    {"f32", "vfmadd231ps ymm", HN_ISA_AVX2, CHAINS * 2 * 8, f32_ymm},
    {"f32", "vfmadd231ps zmm", HN_ISA_AVX512, ZMM_CHAINS * 2 * 16, f32_zmm},
    {"bf16", "vdpbf16ps zmm", HN_ISA_AMX, ZMM_CHAINS * 2 * 32, bf16_zmm},
    {"bf16", "tdpbf16ps tmm", HN_ISA_AMX, 4 * 2 * 16 * 16 * 32, bf16_tiles},
    {"int8", "pmaddwd xmm", HN_ISA_PORTABLE, CHAINS * 2 * 8, int8_xmm},
    {"int8", "vpmaddubsw ymm", HN_ISA_AVX2, CHAINS * 2 * 32, int8_pairs},
    {"int8", "vpdpbusd ymm", HN_ISA_AVXVNNI, CHAINS * 2 * 32, int8_ymm},
    {"int8", "vpmaddubsw zmm", HN_ISA_AVX512, CHAINS * 2 * 64, int8_wide_pairs},
    {"int8", "vpdpbusd zmm", HN_ISA_AVX512VNNI, ZMM_CHAINS * 2 * 64, int8_zmm},
    {"int8", "tdpbssd tmm", HN_ISA_AMX, 4 * 2 * 16 * 16 * 64, int8_tiles},
};

#elif defined(__aarch64__)

enum { CHAINS = 16 };
#define EACH ".irp r,0,1,2,3,4,5,6,7,16,17,18,19,20,21,22,23\n\t"
static const _Alignas(64) float operands[4];
/* `operands` is %1. */
#define ARM_LOOP(name, body)                                                                    \
    static void name(int64_t rounds) {                                                          \
        __asm__ volatile(EACH                                                                   \
                         "movi v\\r\\().4s, #0\n\t.endr\n\t"                                    \
                         "movi v30.4s, #0\n\tmovi v31.4s, #0\n\t1:\n\t" EACH body               \
                         "\n\t.endr\n\tsubs %0, %0, #1\n\tb.ne 1b"                              \
                         : "+r"(rounds)                                                         \
                         : "r"(operands)                                                        \
                         : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v16", "v17", "v18", \
                           "v19", "v20", "v21", "v22", "v23", "v29", "v30", "v31", "cc",        \
                           "memory");                                                           \
    }

ARM_LOOP(f32_fmul, "fmul v29.4s, v30.4s, v31.4s\n\tfadd v\\r\\().4s, v\\r\\().4s, v29.4s")
ARM_LOOP(int8_mla, "mla v\\r\\().4s, v30.4s, v31.4s")
ARM_LOOP(int8_smlal, "smlal v\\r\\().4s, v30.4h, v31.4h")
ARM_LOOP(fed_fmla, "ldr q30, [%1]\n\tfmla v\\r\\().4s, v30.4s, v31.4s")
ARM_LOOP(f32_fmla, "fmla v\\r\\().4s, v30.4s, v31.4s")
/* By number, since an assembler takes their names only where the file may use them:
 * sdot, smmla v<r>.4s, v30.16b, v31.16b; bfmmla v<r>.4s, v30.8h, v31.8h; fmla v<r>.8h, v30.8h,
 * v31.8h. */
ARM_LOOP(int8_sdot, ".inst 0x4e9f97c0 + \\r")
ARM_LOOP(int8_smmla, ".inst 0x4e9fa7c0 + \\r")
ARM_LOOP(bf16_bfmmla, ".inst 0x6e5fefc0 + \\r")
ARM_LOOP(f16_fmla, ".inst 0x4e5f0fc0 + \\r")

static void fed(hn_isa isa, int64_t rounds) {
    (void)isa;
    fed_fmla(rounds);
}

const hn_peak hn_peaks[] = {
    {"f32", "fmul, fadd 4s", HN_ISA_PORTABLE, CHAINS * 2 * 4, f32_fmul},
    {"f32", "fmla 4s", HN_ISA_NEON, CHAINS * 2 * 4, f32_fmla},
    {"bf16", "bfmmla", HN_ISA_NEONI8MM, CHAINS * 2 * 16, bf16_bfmmla},
    {"f16", "fmla 8h", HN_ISA_NEONI8MM, CHAINS * 2 * 8, f16_fmla},
    {"int8", "mla 4s", HN_ISA_PORTABLE, CHAINS * 2 * 4, int8_mla},
    {"int8", "smlal 4s", HN_ISA_NEON, CHAINS * 2 * 4, int8_smlal},
    {"int8", "sdot", HN_ISA_NEONDOT, CHAINS * 2 * 16, int8_sdot},
    {"int8", "smmla", HN_ISA_NEONI8MM, CHAINS * 2 * 32, int8_smmla},
};

#else
#error "peak loops are written for x86-64 and aarch64"
#endif

const int hn_n_peaks = sizeof hn_peaks / sizeof *hn_peaks;

double hn_peak_now(const char *precision, hn_isa isa) {
    enum { ROUNDS = 1000, TRIES = 3 };
    const hn_peak *p = NULL;
    hn_isa all = 0;
    hn_isa_limit(~(hn_isa)0, hn_isa_name(isa), &all, NULL);
    for (int i = 0; i < hn_n_peaks; i++)
        if (strcmp(hn_peaks[i].precision, precision) == 0 &&
            (hn_peaks[i].isa & all) == hn_peaks[i].isa)
            p = &hn_peaks[i];
    if (p == NULL) return 0;
    double best = 0;
    for (int i = 0; i < TRIES; i++) {
        int64_t begun = hn_clock_ns();
        p->loop(ROUNDS);
        double rate = p->ops * ROUNDS / (double)(hn_clock_ns() - begun);
        if (rate > best) best = rate;
    }
    return best;
}

double hn_peak_probe(hn_isa isa) {
    enum { ROUNDS = 3000 };
    fed(isa, ROUNDS / 4);
    int64_t begun = hn_clock_ns();
    fed(isa, ROUNDS);
    return ROUNDS / (double)(hn_clock_ns() - begun + 1);
}

/* ---- memory ----
 *
 * The widest loads and stores there are, 512 bytes or more a round. */

#if defined(__x86_64__)

#define WALK(name, body, bytes)                                                                  \
    static void name(char *at, const char *end, int64_t half) {                                  \
        __asm__ volatile("1:\n\t" body "add $" bytes ", %0\n\tcmp %1, %0\n\tjb 1b\n\tvzeroupper" \
                         : "+r"(at)                                                              \
                         : "r"(end), "r"(half)                                                   \
                         : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "cc", \
                           "memory");                                                            \
    }
#define EIGHT ".irp r,0,1,2,3,4,5,6,7\n\t"
WALK(read_ymm, EIGHT "vmovups \\r*32(%0), %%ymm\\r\n\t.endr\n\t", "256")
WALK(write_ymm, EIGHT "vmovups %%ymm0, \\r*32(%0)\n\t.endr\n\t", "256")
WALK(copy_ymm, EIGHT "vmovups \\r*32(%0), %%ymm\\r\n\tvmovups %%ymm\\r, \\r*32(%0,%2)\n\t.endr\n\t",
     "256")
WALK(read_zmm, EIGHT "vmovups \\r*64(%0), %%zmm\\r\n\t.endr\n\t", "512")
WALK(write_zmm, EIGHT "vmovups %%zmm0, \\r*64(%0)\n\t.endr\n\t", "512")
WALK(copy_zmm, EIGHT "vmovups \\r*64(%0), %%zmm\\r\n\tvmovups %%zmm\\r, \\r*64(%0,%2)\n\t.endr\n\t",
     "512")

static void walk(hn_stream kind, hn_isa isa, char *at, const char *end, int64_t half) {
    static void (*const ymm[])(char *, const char *, int64_t) = {read_ymm, write_ymm, copy_ymm};
    static void (*const zmm[])(char *, const char *, int64_t) = {read_zmm, write_zmm, copy_zmm};
    (isa & HN_ISA_AVX512 ? zmm : ymm)[kind](at, end, half);
}
static bool has_vectors(hn_isa isa) { return isa & HN_ISA_AVX2; }

#else

static void walk(hn_stream kind, hn_isa isa, char *at, const char *end, int64_t half) {
    (void)isa;
    char *to = at + half;
    switch (kind) {
        case HN_STREAM_READ:
            __asm__ volatile(
                "1:\n\tldp q0, q1, [%0]\n\tldp q2, q3, [%0, #32]\n\tldp q4, q5, [%0, #64]\n\t"
                "ldp q6, q7, [%0, #96]\n\tadd %0, %0, #128\n\tcmp %0, %1\n\tb.lo 1b"
                : "+r"(at)
                : "r"(end)
                : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "cc", "memory");
            break;
        case HN_STREAM_WRITE:
            __asm__ volatile(
                "1:\n\tstp q0, q0, [%0]\n\tstp q0, q0, [%0, #32]\n\tstp q0, q0, [%0, #64]\n\t"
                "stp q0, q0, [%0, #96]\n\tadd %0, %0, #128\n\tcmp %0, %1\n\tb.lo 1b"
                : "+r"(at)
                : "r"(end)
                : "cc", "memory");
            break;
        default:
            __asm__ volatile(
                "1:\n\tldp q0, q1, [%0]\n\tldp q2, q3, [%0, #32]\n\tldp q4, q5, [%0, #64]\n\t"
                "ldp q6, q7, [%0, #96]\n\tstp q0, q1, [%2]\n\tstp q2, q3, [%2, #32]\n\t"
                "stp q4, q5, [%2, #64]\n\tstp q6, q7, [%2, #96]\n\tadd %0, %0, #128\n\t"
                "add %2, %2, #128\n\tcmp %0, %1\n\tb.lo 1b"
                : "+r"(at)
                : "r"(end), "r"(to)
                : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "cc", "memory");
    }
}
static bool has_vectors(hn_isa isa) { return isa & HN_ISA_NEON; }

#endif

static void walk_plain(hn_stream kind, char *at, size_t bytes) {
    volatile uint64_t *words = (volatile uint64_t *)(void *)at;
    size_t n = bytes / sizeof *words;
    if (kind == HN_STREAM_READ)
        for (size_t i = 0; i < n; i++) (void)words[i];
    else if (kind == HN_STREAM_WRITE)
        for (size_t i = 0; i < n; i++) words[i] = 0;
    else
        for (size_t i = 0; i < n / 2; i++) words[n / 2 + i] = words[i];
}

void hn_stream_run(hn_stream kind, hn_isa isa, void *memory, size_t bytes) {
    char *at = memory;
    int64_t half = (int64_t)(bytes / 2);
    if (has_vectors(isa))
        walk(kind, isa, at, kind == HN_STREAM_COPY ? at + half : at + bytes, half);
    else
        walk_plain(kind, at, bytes);
}

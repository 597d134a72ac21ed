#include "base/isa.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

#if defined(__x86_64__)
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

typedef struct bundle {
    const char *name;
    hn_isa bit, implies;
    hn_isa_facts facts;
} bundle;

static const bundle bundles[] = {
    {"portable", 0, 0, {4, 20, 80, 0, false}},
#define HN_ISA_ROW(name, bit, text, implies, ...) {text, HN_ISA_##name, implies, {__VA_ARGS__}},
#include "base/isa.def"
#undef HN_ISA_ROW
};
#define N_BUNDLES (sizeof bundles / sizeof *bundles)

#if defined(__x86_64__)
/* Tiles are state the kernel saves only for processes that asked for it. */
static bool may_use_tiles(void) {
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 };
    return syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0;
}

/* CPUID leaf 7: what GCC 12 and clang 14 have no common name for. */
static void leaf7(unsigned sub, unsigned r[4]) {
    __asm__ volatile("cpuid" : "=a"(r[0]), "=b"(r[1]), "=c"(r[2]), "=d"(r[3]) : "a"(7), "c"(sub));
}

static hn_isa detect(void) {
    hn_isa set = 0;
    __builtin_cpu_init();
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                __builtin_cpu_supports("bmi2");
    if (!avx2) return set;
    set |= HN_ISA_AVX2;
    unsigned r0[4], r1[4] = {0};
    leaf7(0, r0);
    if (r0[0] >= 1) leaf7(1, r1);
    if (r1[0] >> 4 & 1) set |= HN_ISA_AVXVNNI;
    bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    if (!avx512) return set;
    set |= HN_ISA_AVX512;
    if (__builtin_cpu_supports("avx512vbmi")) set |= HN_ISA_AVX512VBMI;
    if (!__builtin_cpu_supports("avx512vnni")) return set;
    set |= HN_ISA_AVX512VNNI;
    bool amx = (r0[3] >> 22 & 1) && (r0[3] >> 24 & 1) && (r0[3] >> 25 & 1); /* bf16, tile, int8 */
    if (amx && (r1[0] >> 5 & 1) && may_use_tiles()) set |= HN_ISA_AMX;      /* with AVX512-BF16 */
    return set;
}
#elif defined(__aarch64__)
static hn_isa detect(void) {
    enum { FPHP = 1 << 9, ASIMDHP = 1 << 10, ASIMDDP = 1 << 20, I8MM2 = 1 << 13, BF162 = 1 << 14 };
    unsigned long one = getauxval(AT_HWCAP), two = getauxval(AT_HWCAP2);
    hn_isa set = HN_ISA_NEON; /* part of every aarch64 that runs Linux */
    if (!(one & ASIMDDP)) return set;
    set |= HN_ISA_NEONDOT;
    if ((one & FPHP) && (one & ASIMDHP) && (two & I8MM2) && (two & BF162)) set |= HN_ISA_NEONI8MM;
    return set;
}
#else
static hn_isa detect(void) { return 0; }
#endif

static hn_isa detected, available;

static void find(void) {
    available = detected = detect();
    const char *name = getenv("HONE_ISA");
    if (name == NULL || *name == '\0') return;
    hn_error e = {0};
    if (hn_isa_limit(available, name, &available, &e) != HONE_OK)
        hn_log(HONE_LOG_WARN, "HONE_ISA: %s: ignored", e.text);
}

static pthread_once_t once = PTHREAD_ONCE_INIT;

hn_isa hn_isa_detected(void) {
    pthread_once(&once, find);
    return detected;
}

hn_isa hn_isa_available(void) {
    pthread_once(&once, find);
    return available;
}

hone_status hn_isa_limit(hn_isa have, const char *name, hn_isa *out, hn_error *err) {
    for (size_t i = 0; i < N_BUNDLES; i++) {
        if (strcmp(name, bundles[i].name) != 0) continue;
        *out = have & (bundles[i].bit | bundles[i].implies);
        return HONE_OK;
    }
    char list[160] = "";
    for (size_t i = 0; i < N_BUNDLES; i++) {
        strcat(list, i > 0 ? ", " : "");
        strcat(list, bundles[i].name);
    }
    return HN_FAIL(err, HONE_E_ARG, "there is no instruction set '%s'; there are: %s", name, list);
}

static const bundle *strongest(hn_isa set) {
    const bundle *best = &bundles[0];
    for (size_t i = 1; i < N_BUNDLES; i++)
        if (set & bundles[i].bit) best = &bundles[i];
    return best;
}

const char *hn_isa_name(hn_isa set) { return strongest(set)->name; }

const hn_isa_facts *hn_isa_facts_of(hn_isa set) { return &strongest(set)->facts; }

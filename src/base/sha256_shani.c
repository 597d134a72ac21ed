/* SHA-256 by the instructions that x86-64 CPUs have for it. They keep the state as two vectors, of
 * the words a b e f and c d g h, highest first, and do two rounds at a time. */
#include "base/sha256.h"

#include "base/isa.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>

bool hn_sha256_has_shani(void) {
    enum { SHA = 1 << 29 }; /* of EBX */
    unsigned a, b = 0, c, d;
    return hn_isa_available() != HN_ISA_PORTABLE && __get_cpuid_count(7, 0, &a, &b, &c, &d) &&
           (b & SHA) != 0;
}

#define WITH_SHA __attribute__((target("sha,sse4.1")))

static inline WITH_SHA __m128i load(const void *p) { return _mm_loadu_si128(p); }

/* Words 4 * i to 4 * i + 3 of the schedule, by the 16 before them. */
static inline WITH_SHA __m128i schedule(__m128i w0, __m128i w1, __m128i w2, __m128i w3) {
    __m128i sum = _mm_add_epi32(_mm_sha256msg1_epu32(w0, w1), _mm_alignr_epi8(w3, w2, 4));
    return _mm_sha256msg2_epu32(sum, w3);
}

static inline WITH_SHA void four_rounds(__m128i *abef, __m128i *cdgh, __m128i w, int i) {
    __m128i k = _mm_add_epi32(w, load(hn_sha256_k + 4 * i));
    *cdgh = _mm_sha256rnds2_epu32(*cdgh, *abef, k);
    *abef = _mm_sha256rnds2_epu32(*abef, *cdgh, _mm_shuffle_epi32(k, 0x0e));
}

WITH_SHA void hn_sha256_blocks_shani(uint32_t state[8], const unsigned char *p, size_t n) {
    const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    __m128i abcd = _mm_shuffle_epi32(load(state), 0xb1);
    __m128i efgh = _mm_shuffle_epi32(load(state + 4), 0x1b);
    __m128i abef = _mm_alignr_epi8(abcd, efgh, 8);
    __m128i cdgh = _mm_blend_epi16(efgh, abcd, 0xf0);
    for (; n > 0; n--, p += HN_SHA256_BLOCK) {
        __m128i w[4], abef_before = abef, cdgh_before = cdgh;
        for (int i = 0; i < 4; i++) {
            w[i] = _mm_shuffle_epi8(load(p + 16 * i), swap);
            four_rounds(&abef, &cdgh, w[i], i);
        }
        for (int i = 4; i < 16; i += 4) {
            w[0] = schedule(w[0], w[1], w[2], w[3]);
            four_rounds(&abef, &cdgh, w[0], i);
            w[1] = schedule(w[1], w[2], w[3], w[0]);
            four_rounds(&abef, &cdgh, w[1], i + 1);
            w[2] = schedule(w[2], w[3], w[0], w[1]);
            four_rounds(&abef, &cdgh, w[2], i + 2);
            w[3] = schedule(w[3], w[0], w[1], w[2]);
            four_rounds(&abef, &cdgh, w[3], i + 3);
        }
        abef = _mm_add_epi32(abef, abef_before);
        cdgh = _mm_add_epi32(cdgh, cdgh_before);
    }
    __m128i feba = _mm_shuffle_epi32(abef, 0x1b), dchg = _mm_shuffle_epi32(cdgh, 0xb1);
    _mm_storeu_si128((__m128i *)state, _mm_blend_epi16(feba, dchg, 0xf0));
    _mm_storeu_si128((__m128i *)(state + 4), _mm_alignr_epi8(dchg, feba, 8));
}
#else
bool hn_sha256_has_shani(void) { return false; }
void hn_sha256_blocks_shani(uint32_t state[8], const unsigned char *p, size_t n) {
    hn_sha256_blocks(state, p, n);
}
#endif

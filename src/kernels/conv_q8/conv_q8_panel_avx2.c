/* Without a dot product of bytes there are two ways to multiply them:
 *
 *   vpmaddubsw, vpmaddwd by ones, vpaddd    3 instructions for 32 products, but sums of two
 * products saturate at 16 bits 2 vpmaddwd of s16, 2 vpaddd             4 instructions, always exact
 *
 * x is at most 255, so two products fit 16 bits where their weights sum to at most 128 of either
 * sign: most pairs of weights do. Packing thus puts the groups of four k of a panel whose pairs all
 * fit before the others, and windows are copied both as u8 and as s16. A panel is one vector of
 * outputs, which leaves the most groups to the first way: 79 % in ResNet-50, 61 % in MobileNetV2.
 */
#include "simd/avx2.h"

#include "kernels/conv_q8/conv_q8_parts.h"

#define MR 12
#define NR 8
#define KU 4
#define FLIP HN_Q8_U8
#define TWO_WAYS
typedef uint8_t a_elem;

#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 12")
#endif

/* Four bytes in every lane. */
HN_INLINE __m256i fours(const uint8_t *p) {
    int32_t four;
    memcpy(&four, p, sizeof four);
    return _mm256_set1_epi32(four);
}

/* Behind the weights of a panel: the place of every group, and how many groups go the first way. */
HN_INLINE void tile(const int rows, const a_elem *a, int64_t pitch, const int8_t *w, int64_t groups,
                    const int32_t *start, int32_t *c, const int c_pitch) {
    const int32_t *place = (const int32_t *)(const void *)(w + groups * NR * KU);
    const int64_t fitting = place[groups];
    const __m256i ones = _mm256_set1_epi16(1);
    __m256i sum[MR];
    UNROLL for (int r = 0; r < rows; r++) sum[r] = hn_vi_load(start);
    int64_t i = 0;
    for (; i < fitting; i++, w += NR * KU) {
        const uint8_t *x = a + (int64_t)place[i] * KU;
        __m256i wv = hn_vb_load(w);
        UNROLL for (int r = 0; r < rows; r++) {
            __m256i pairs = _mm256_maddubs_epi16(fours(x + r * pitch), wv);
            sum[r] = _mm256_add_epi32(sum[r], _mm256_madd_epi16(pairs, ones));
        }
    }
    a += groups * KU;
    for (; i < groups; i++, w += NR * KU) {
        const uint8_t *x = a + (int64_t)place[i] * 2 * KU;
        __m256i w0 = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)w));
        __m256i w1 = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)w + 1));
        UNROLL for (int r = 0; r < rows; r++) {
            if (r > 0 && r % 3 == 0) x += 3 * pitch; /* by threes: addresses fit registers */
            sum[r] = _mm256_add_epi32(sum[r], _mm256_madd_epi16(fours(x + r % 3 * pitch), w0));
            sum[r] = _mm256_add_epi32(sum[r], _mm256_madd_epi16(fours(x + r % 3 * pitch + 4), w1));
        }
    }
    UNROLL for (int r = 0; r < rows; r++) _mm256_storeu_si256((__m256i *)(c + r * c_pitch), sum[r]);
}

/* A window as s16, behind itself. */
HN_INLINE void copy_wide(a_elem *window, int64_t n) {
    int16_t *to = (int16_t *)(void *)(window + n);
    int64_t i = 0;
    for (; i + 16 <= n; i += 16)
        _mm256_storeu_si256((__m256i *)(to + i),
                            _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(window + i))));
    for (; i < n; i += KU)
        _mm_storel_epi64((__m128i *)(to + i),
                         _mm_cvtepu8_epi16(_mm256_castsi256_si128(fours(window + i))));
}

static bool fits(const int8_t *w) {
    for (int i = 0; i < NR * KU; i += 2)
        if (w[i] + w[i + 1] > 128 || w[i] + w[i + 1] < -128) return false;
    return true;
}

/* Sorts the groups of a packed panel, [group][NR][KU]; of those that go the second way the pairs
 * are separated, [group][2][NR][2]. Where there are few and some do not fit, none is taken to fit:
 * another number of them in every panel costs more by branches than it saves. */
static void sort_groups(int8_t *w, int64_t groups) {
    int32_t *place = (int32_t *)(void *)(w + groups * NR * KU);
    int64_t i = 0, end = groups;
    bool few = false;
    for (int64_t g = 0; g < groups && groups < 24; g++) few |= !fits(w + g * NR * KU);
    for (int64_t g = 0; g < groups; g++) place[g] = (int32_t)g;
    while (i < end) {
        int8_t *one = w + i * NR * KU, *last = w + (end - 1) * NR * KU, t[NR * KU];
        if (!few && fits(one)) {
            i++;
            continue;
        }
        end--;
        int32_t from = place[i];
        memcpy(t, one, sizeof t);
        memmove(one, last, sizeof t);
        place[i] = place[end], place[end] = from;
        for (int o = 0; o < NR * KU; o++) last[o / 2 % 2 * NR * 2 + o / KU * 2 + o % 2] = t[o];
    }
    place[groups] = (int32_t)i;
}

#define ROW hn_conv_q8_panel_avx2
#define NAME "avx2"
#define ISA HN_ISA_AVX2
#include "kernels/conv_q8/conv_q8_panel_body.h"

/* Without a dot product of bytes there are three ways to multiply them, here 64 of them:
 *
 *   2 vpmaddubsw, vpaddw, vpmaddwd by ones, vpaddd    5 instructions, sums of four products fit 16
 *                                                     bits or are wrong
 *   2 vpmaddubsw, 2 vpmaddwd by ones, 2 vpaddd        6, the same of sums of two
 *   4 vpmaddwd of s16, 4 vpaddd                       8, always exact
 *
 * x is at most 255, so products fit 16 bits where the positive ones of their weights sum to at most
 * 128, and the negative ones too. Packing thus looks for groups of four k of a panel that fit by
 * twos, puts those first, then the others whose pairs fit, then the rest; windows are there both
 * as u8 and as s16. A panel is one vector of outputs, which leaves the most groups to the first
 * ways: in the layers of a trained MobileNetV2 71 to 100 of 100 groups fit, 57 to 100 by
 * twos; with random weights 11 to 77 and 0 to 76.
 */
#include "simd/avx2.h"

#include "kernels/conv_q8/conv_q8_parts.h"

#define MR 12
#define NR 8
#define NARROW NR
#define KU 4
#define FLIP HN_Q8_U8
#define SEVERAL_WAYS
typedef uint8_t a_elem;

#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 12")
#endif

/* Four bytes in every lane. */
HN_INLINE __m256i fours(const void *p) {
    int32_t four;
    memcpy(&four, p, sizeof four);
    return _mm256_set1_epi32(four);
}

/* Behind the weights of a panel: the place of every group in a window, how many groups go the first
 * way, and how many the first two. */
HN_INLINE void tile(const int rows, const int width, const hn_q8_windows *x, const int8_t *w,
                    const int32_t *start, int32_t *c, const int c_pitch) {
    (void)width;
    const int64_t pitch = x->pitch, groups = x->lines * x->groups;
    const uint8_t *a = x->a;
    const int32_t *place = (const int32_t *)(const void *)(w + groups * NR * KU);
    const int64_t by_twos = place[groups], fitting = place[groups + 1];
    const __m256i ones = _mm256_set1_epi16(1);
    __m256i sum[MR];
    UNROLL for (int r = 0; r < rows; r++) sum[r] = hn_vi_load(start);
    int64_t i = 0;
    for (; i < by_twos; i += 2, w += 2 * NR * KU) {
        const uint8_t *x0 = a + place[i], *x1 = a + place[i + 1];
        __m256i w0 = hn_vb_load(w), w1 = hn_vb_load(w + NR * KU);
        UNROLL for (int r = 0; r < rows; r++) {
            /* By threes: addresses fit registers. */
            if (r > 0 && r % 3 == 0) x0 += 3 * pitch, x1 += 3 * pitch;
            __m256i fours0 = _mm256_maddubs_epi16(fours(x0 + r % 3 * pitch), w0);
            __m256i fours1 = _mm256_maddubs_epi16(fours(x1 + r % 3 * pitch), w1);
            fours0 = _mm256_madd_epi16(_mm256_add_epi16(fours0, fours1), ones);
            sum[r] = _mm256_add_epi32(sum[r], fours0);
        }
    }
    for (; i < fitting; i++, w += NR * KU) {
        const uint8_t *x0 = a + place[i];
        __m256i wv = hn_vb_load(w);
        UNROLL for (int r = 0; r < rows; r++) {
            __m256i pairs = _mm256_maddubs_epi16(fours(x0 + r * pitch), wv);
            sum[r] = _mm256_add_epi32(sum[r], _mm256_madd_epi16(pairs, ones));
        }
    }
    for (; i < groups; i++, w += NR * KU) {
        const int16_t *x0 = x->wide + place[i];
        __m256i w0 = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)w));
        __m256i w1 = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)w + 1));
        UNROLL for (int r = 0; r < rows; r++) {
            if (r > 0 && r % 3 == 0) x0 += 3 * pitch; /* as above */
            const int16_t *four = x0 + r % 3 * pitch;
            sum[r] = _mm256_add_epi32(sum[r], _mm256_madd_epi16(fours(four), w0));
            sum[r] = _mm256_add_epi32(sum[r], _mm256_madd_epi16(fours(four + 2), w1));
        }
    }
    UNROLL for (int r = 0; r < rows; r++) _mm256_storeu_si256((__m256i *)(c + r * c_pitch), sum[r]);
}

/* Bytes as s16; the last part may do again what was done. */
HN_INLINE void copy_wide(const a_elem *from, int64_t n, int16_t *to) {
    for (int64_t i = 0; n >= 16 && i < n; i += 16) {
        int64_t at = hn_q8_min(i, n - 16);
        __m256i wide = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(from + at)));
        _mm256_storeu_si256((__m256i *)(to + at), wide);
    }
    for (int64_t i = 0; n < 16 && i < n; i++) to[i] = from[i];
}

/* What the weights of the pairs of a group sum to, those above and those below 0 apart. */
static __m256i loads(const int8_t *w) {
    const __m256i all = hn_vb_load(w), zero = _mm256_setzero_si256(), ones = _mm256_set1_epi8(1);
    __m256i above = _mm256_maddubs_epi16(_mm256_max_epi8(all, zero), ones);
    __m256i below = _mm256_maddubs_epi16(_mm256_abs_epi8(_mm256_min_epi8(all, zero)), ones);
    return _mm256_packus_epi16(above, below);
}

static bool fit(__m256i load) {
    __m256i over = _mm256_subs_epu8(load, _mm256_set1_epi8((char)128));
    return _mm256_testz_si256(over, over);
}

static void swap_groups(int8_t *w, int32_t *place, int64_t i, int64_t j) {
    __m256i a = hn_vb_load(w + i * NR * KU), b = hn_vb_load(w + j * NR * KU);
    hn_vb_store(w + i * NR * KU, b), hn_vb_store(w + j * NR * KU, a);
    int32_t from = place[i];
    place[i] = place[j], place[j] = from;
}

/* How many of the first `fitting` groups of a panel go by twos, and are put first. */
static int64_t find_twos(int8_t *w, int32_t *place, int64_t fitting) {
    enum { TRIES = 64 };
    int64_t twos = 0, left = fitting; /* those from `left` on have found none */
    while (twos + 1 < left) {
        __m256i first = loads(w + twos * NR * KU);
        int64_t j = twos + 1, end = hn_q8_min(left, j + TRIES);
        while (j < end && !fit(_mm256_adds_epu8(first, loads(w + j * NR * KU)))) j++;
        if (j < end) {
            swap_groups(w, place, twos + 1, j);
            twos += 2;
        } else {
            swap_groups(w, place, twos, --left);
        }
    }
    return twos;
}

/* Sorts the groups of a packed panel, [group][NR][KU], of lines that are `line` elements apart; of
 * those that go the last way the pairs are separated, [group][2][NR][2]. Where there are few, all go
 * the same way: another number of them in every panel costs more by branches than it saves. */
static void sort_groups(int8_t *w, int64_t lines, int64_t in_line, int64_t line) {
    const int64_t groups = lines * in_line;
    int32_t *place = (int32_t *)(void *)(w + groups * NR * KU);
    const bool few = groups < 24;
    int64_t fitting = 0;
    for (int64_t g = 0; g < groups; g++)
        place[g] = (int32_t)(g / in_line * line + g % in_line * KU);
    for (int64_t g = 0; g < groups; g++)
        if (fit(loads(w + g * NR * KU))) swap_groups(w, place, fitting++, g);
    if (few && fitting < groups) fitting = 0;
    int64_t twos = find_twos(w, place, fitting);
    if (few && twos < groups / 2 * 2) twos = 0;
    for (int64_t i = fitting; i < groups; i++) {
        int8_t *one = w + i * NR * KU, t[NR * KU];
        memcpy(t, one, sizeof t);
        for (int o = 0; o < NR * KU; o++) one[o / 2 % 2 * NR * 2 + o / KU * 2 + o % 2] = t[o];
    }
    place[groups] = (int32_t)twos, place[groups + 1] = (int32_t)fitting;
}

#define ROW hn_conv_q8_panel_avx2
#define NAME "avx2"
#define ISA HN_ISA_AVX2
#include "kernels/conv_q8/conv_q8_panel_body.h"

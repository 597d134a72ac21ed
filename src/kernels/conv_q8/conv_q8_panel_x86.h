/* What the panels of x86 share where there is no dot product of bytes. Then there are three ways to
 * multiply them, here 64 of them by 256 bits:
 *
 *   2 vpmaddubsw, vpaddw, vpmaddwd by ones, vpaddd    5 instructions, sums of four products fit 16
 *                                                     bits or are wrong
 *   2 vpmaddubsw, 2 vpmaddwd by ones, 2 vpaddd        6, the same of sums of two
 *   4 vpmaddwd of s16, 4 vpaddd                       8, always exact
 *
 * x is at most 255, so products fit 16 bits where the positive ones of their weights sum to at most
 * 128, and the negative ones too; pairs of weights of 7 bits always do (hone quantize
 * --reduce-range). Packing thus looks for groups of four k of a panel that fit by
 * twos, puts those first, then the others whose pairs fit, then the rest; windows are there both
 * as u8 and as s16. A panel is one vector of outputs, which leaves the most groups to the first
 * ways: in the layers of a trained MobileNetV2 71 to 100 of 100 groups fit, 57 to 100 by
 * twos; with random weights 11 to 77 and 0 to 76.
 *
 * The file that includes this brings a vector vocabulary of src/simd, and
 *
 *   W(f)            the intrinsic f of its width
 *   load_half(p)    half a vector of bytes
 *   is_zero(v)      whether a vector is 0
 *   ROW, NAME, ISA  of the hn_kernel
 */
#ifdef W
#include "kernels/conv_q8/conv_q8_parts.h"

#define MR 12
#define NR HN_VL
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
HN_INLINE hn_vi fours(const void *p) {
    int32_t four;
    memcpy(&four, p, sizeof four);
    return W(set1_epi32)(four);
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
    const hn_vi ones = W(set1_epi16)(1);
    hn_vi sum[MR];
    UNROLL for (int r = 0; r < rows; r++) sum[r] = hn_vi_load(start);
    int64_t i = 0;
    for (; i < by_twos; i += 2, w += 2 * NR * KU) {
        const uint8_t *x0 = a + place[i], *x1 = a + place[i + 1];
        hn_vi w0 = hn_vb_load(w), w1 = hn_vb_load(w + NR * KU);
        UNROLL for (int r = 0; r < rows; r++) {
            /* By threes: addresses fit registers. */
            if (r > 0 && r % 3 == 0) x0 += 3 * pitch, x1 += 3 * pitch;
            hn_vi fours0 = W(maddubs_epi16)(fours(x0 + r % 3 * pitch), w0);
            hn_vi fours1 = W(maddubs_epi16)(fours(x1 + r % 3 * pitch), w1);
            fours0 = W(madd_epi16)(W(add_epi16)(fours0, fours1), ones);
            sum[r] = W(add_epi32)(sum[r], fours0);
        }
    }
    for (; i < fitting; i++, w += NR * KU) {
        const uint8_t *x0 = a + place[i];
        hn_vi wv = hn_vb_load(w);
        UNROLL for (int r = 0; r < rows; r++) {
            hn_vi pairs = W(maddubs_epi16)(fours(x0 + r * pitch), wv);
            sum[r] = W(add_epi32)(sum[r], W(madd_epi16)(pairs, ones));
        }
    }
    for (; i < groups; i++, w += NR * KU) {
        const int16_t *x0 = x->wide + place[i];
        hn_vi w0 = W(cvtepi8_epi16)(load_half(w));
        hn_vi w1 = W(cvtepi8_epi16)(load_half(w + NR * KU / 2));
        UNROLL for (int r = 0; r < rows; r++) {
            if (r > 0 && r % 3 == 0) x0 += 3 * pitch; /* as above */
            const int16_t *four = x0 + r % 3 * pitch;
            sum[r] = W(add_epi32)(sum[r], W(madd_epi16)(fours(four), w0));
            sum[r] = W(add_epi32)(sum[r], W(madd_epi16)(fours(four + 2), w1));
        }
    }
    UNROLL for (int r = 0; r < rows; r++) hn_vb_store(c + r * c_pitch, sum[r]);
}

/* Bytes as s16; the last part may do again what was done. */
HN_INLINE void copy_wide(const a_elem *from, int64_t n, int16_t *to) {
    enum { HALF = HN_VB / 2 };
    for (int64_t i = 0; n >= HALF && i < n; i += HALF) {
        int64_t at = hn_q8_min(i, n - HALF);
        hn_vb_store(to + at, W(cvtepu8_epi16)(load_half(from + at)));
    }
    for (int64_t i = 0; n < HALF && i < n; i++) to[i] = from[i];
}

/* What the weights of the pairs of a group sum to, those above and those below 0 apart. */
static hn_vi loads(const int8_t *w) {
    const hn_vi all = hn_vb_load(w), zero = hn_vi_set1(0), ones = W(set1_epi8)(1);
    hn_vi above = W(maddubs_epi16)(W(max_epi8)(all, zero), ones);
    hn_vi below = W(maddubs_epi16)(W(abs_epi8)(W(min_epi8)(all, zero)), ones);
    return W(packus_epi16)(above, below);
}

static bool fit(hn_vi load) {
    hn_vi over = W(subs_epu8)(load, W(set1_epi8)((char)128));
    return is_zero(over);
}

static void swap_groups(int8_t *w, int32_t *place, int64_t i, int64_t j) {
    hn_vi a = hn_vb_load(w + i * NR * KU), b = hn_vb_load(w + j * NR * KU);
    hn_vb_store(w + i * NR * KU, b), hn_vb_store(w + j * NR * KU, a);
    int32_t from = place[i];
    place[i] = place[j], place[j] = from;
}

/* How many of the first `fitting` groups of a panel go by twos, and are put first. */
static int64_t find_twos(int8_t *w, int32_t *place, int64_t fitting) {
    enum { TRIES = 64 };
    int64_t twos = 0, left = fitting; /* those from `left` on have found none */
    while (twos + 1 < left) {
        hn_vi first = loads(w + twos * NR * KU);
        int64_t j = twos + 1, end = hn_q8_min(left, j + TRIES);
        while (j < end && !fit(W(adds_epu8)(first, loads(w + j * NR * KU)))) j++;
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
static bool sort_groups(int8_t *w, int64_t lines, int64_t in_line, int64_t line) {
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
    return fitting < groups;
}

#include "kernels/conv_q8/conv_q8_panel_body.h"
#endif

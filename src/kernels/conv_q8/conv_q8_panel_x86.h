/* What the panels of x86 share where there is no dot product of bytes. Then there are four ways to
 * multiply them, here 128 of them by 256 bits:
 *
 *   4 vpmaddubsw, 3 vpaddw, vpmaddwd by ones, vpaddd  9 instructions, sums of eight products fit 16
 *                                                     bits or are wrong
 *   4 vpmaddubsw, 2 vpaddw, 2 vpmaddwd, 2 vpaddd      10, the same of sums of four
 *   4 vpmaddubsw, 4 vpmaddwd by ones, 4 vpaddd        12, of sums of two
 *   8 vpmaddwd of s16, 8 vpaddd                       16, always exact
 *
 * x is at most 255, so products fit 16 bits where the positive ones of their weights sum to at most
 * 128, and the negative ones too; pairs of weights of 7 bits always do (hone quantize
 * --reduce-range). Packing thus looks for groups of four k of a panel that fit by fours, and puts
 * those first, then others that fit by twos, then others whose pairs fit, then the rest; windows
 * are there both as u8 and as s16. A panel is one vector of outputs, which leaves the most groups to the first
 * ways: in the layers of a trained MobileNetV2 71 to 100 of 100 groups fit, 57 to 100 by
 * twos; with random weights 11 to 77 and 0 to 76.
 *
 * The file that includes this brings a vector vocabulary of src/simd, and
 *
 *   W(f)            the intrinsic f of its width
 *   load_half(p)    half a vector of bytes
 *   low_half(v)     the lower half of one
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

/* The products of four k by the weights w, two in every sum of 16 bits. */
#define PAIRS(x, at, w) W(maddubs_epi16)(fours((x) + (at)), w)

/* Behind the weights of a panel: the place of every group in a window, how many groups go the first
 * way, how many the first two, and how many the first three. */
HN_INLINE void tile(const int rows, const int width, const hn_q8_windows *x, const int8_t *w,
                    const int32_t *start, int32_t *c, const int c_pitch) {
    (void)width;
    const int64_t pitch = x->pitch, groups = x->lines * x->groups;
    const uint8_t *a = x->a;
    const int32_t *place = (const int32_t *)(const void *)(w + groups * NR * KU);
    const int64_t by_fours = place[groups], by_twos = place[groups + 1];
    const int64_t fitting = place[groups + 2];
    const hn_vi ones = W(set1_epi16)(1);
    hn_vi sum[MR];
    UNROLL for (int r = 0; r < rows; r++) sum[r] = hn_vi_load(start);
    int64_t i = 0;
    for (; i < by_fours; i += 4, w += 4 * NR * KU) {
        const uint8_t *x0 = a + place[i], *x1 = a + place[i + 1];
        const uint8_t *x2 = a + place[i + 2], *x3 = a + place[i + 3];
        hn_vi w0 = hn_vb_load(w), w1 = hn_vb_load(w + NR * KU);
        hn_vi w2 = hn_vb_load(w + 2 * NR * KU), w3 = hn_vb_load(w + 3 * NR * KU);
        UNROLL for (int r = 0; r < rows; r++) {
            /* By threes: addresses fit registers. */
            if (r > 0 && r % 3 == 0) x0 += 3 * pitch, x1 += 3 * pitch;
            if (r > 0 && r % 3 == 0) x2 += 3 * pitch, x3 += 3 * pitch;
            const int64_t at = r % 3 * pitch;
            hn_vi half0 = W(add_epi16)(PAIRS(x0, at, w0), PAIRS(x1, at, w1));
            hn_vi half1 = W(add_epi16)(PAIRS(x2, at, w2), PAIRS(x3, at, w3));
            hn_vi all = W(madd_epi16)(W(add_epi16)(half0, half1), ones);
            sum[r] = W(add_epi32)(sum[r], all);
        }
    }
    for (; i < by_twos; i += 2, w += 2 * NR * KU) {
        const uint8_t *x0 = a + place[i], *x1 = a + place[i + 1];
        hn_vi w0 = hn_vb_load(w), w1 = hn_vb_load(w + NR * KU);
        UNROLL for (int r = 0; r < rows; r++) {
            if (r > 0 && r % 3 == 0) x0 += 3 * pitch, x1 += 3 * pitch; /* as above */
            const int64_t at = r % 3 * pitch;
            hn_vi both = W(add_epi16)(PAIRS(x0, at, w0), PAIRS(x1, at, w1));
            sum[r] = W(add_epi32)(sum[r], W(madd_epi16)(both, ones));
        }
    }
    for (; i < fitting; i++, w += NR * KU) {
        const uint8_t *x0 = a + place[i];
        hn_vi wv = hn_vb_load(w);
        UNROLL for (int r = 0; r < rows; r++) {
            sum[r] = W(add_epi32)(sum[r], W(madd_epi16)(PAIRS(x0, r * pitch, wv), ones));
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

/* Bytes as s16; the last part may do again what was done. There is room for HN_VB / 2 of them. */
HN_INLINE void copy_wide(const a_elem *from, int64_t n, int16_t *to) {
    enum { HALF = HN_VB / 2 };
    if (n < HALF) {
        hn_vb_store(to, W(cvtepu8_epi16)(low_half(hn_vb_load_n(from, n))));
        return;
    }
    for (int64_t i = 0; i < n; i += HALF) {
        int64_t at = hn_q8_min(i, n - HALF);
        hn_vb_store(to + at, W(cvtepu8_epi16)(load_half(from + at)));
    }
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

/* The same of `size` groups that are added, 1 or 2. */
static hn_vi loads_of(const int8_t *w, int64_t size) {
    return size == 1 ? loads(w) : W(adds_epu8)(loads(w), loads(w + NR * KU));
}

/* Exchanges units i and j of `size` groups. */
static void swap_units(int8_t *w, int32_t *place, int64_t size, int64_t i, int64_t j) {
    for (int64_t k = 0; k < size; k++) {
        const int64_t p = i * size + k, q = j * size + k;
        hn_vi a = hn_vb_load(w + p * NR * KU), b = hn_vb_load(w + q * NR * KU);
        hn_vb_store(w + p * NR * KU, b), hn_vb_store(w + q * NR * KU, a);
        int32_t from = place[p];
        place[p] = place[q], place[q] = from;
    }
}

/* Of the first n groups of a panel, units of `size` of which fit: looks for units that fit by twos,
 * and puts them first. How many groups these are. */
static int64_t join_units(int8_t *w, int32_t *place, int64_t size, int64_t n) {
    enum { TRIES = 64 };
    const int64_t step = size * NR * KU;
    int64_t joined = 0, left = n / size; /* those from `left` on have found none */
    while (joined + 1 < left) {
        hn_vi first = loads_of(w + joined * step, size);
        int64_t j = joined + 1, end = hn_q8_min(left, j + TRIES);
        while (j < end && !fit(W(adds_epu8)(first, loads_of(w + j * step, size)))) j++;
        if (j < end) {
            swap_units(w, place, size, joined + 1, j);
            joined += 2;
        } else {
            swap_units(w, place, size, joined, --left);
        }
    }
    return joined * size;
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
        if (fit(loads(w + g * NR * KU))) swap_units(w, place, 1, fitting++, g);
    if (few && fitting < groups) fitting = 0;
    int64_t twos = join_units(w, place, 1, fitting);
    if (few && twos < groups / 2 * 2) twos = 0;
    int64_t by_fours = join_units(w, place, 2, twos);
    if (few && by_fours < groups / 4 * 4) by_fours = 0;
    for (int64_t i = fitting; i < groups; i++) {
        int8_t *one = w + i * NR * KU, t[NR * KU];
        memcpy(t, one, sizeof t);
        for (int o = 0; o < NR * KU; o++) one[o / 2 % 2 * NR * 2 + o / KU * 2 + o % 2] = t[o];
    }
    place[groups] = (int32_t)by_fours, place[groups + 1] = (int32_t)twos;
    place[groups + 2] = (int32_t)fitting;
    return fitting < groups;
}

#include "kernels/conv_q8/conv_q8_panel_body.h"
#endif

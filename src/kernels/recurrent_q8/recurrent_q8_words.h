/* Dot products of bytes where there are only those of s16: even and odd bytes as s16, of which
 * pairs are summed exactly. For files that have, before they include this:
 *
 *   madd(a, b)                     sums of pairs of products of s16, in s32
 *   shift_left, shift_right        of s16 by 8, and shift_unsigned, which lets zeros in
 *   words_apart(a, even, odd)      HN_VB numbers within s16: those of even k, then those of odd k,
 *                                  in their order
 */
#ifdef madd

#define RECURRENT_Q8
#define X_IS_U8 1
#define WORDS
#define FIRST_DOT dot_even
#define SECOND_DOT dot_odd

static inline hn_vi dot_even(hn_vi sum, hn_vi w, hn_vi x) {
    return hn_vi_add(sum, madd(x, shift_right(shift_left(w))));
}

static inline hn_vi dot_odd(hn_vi sum, hn_vi w, hn_vi x) {
    return hn_vi_add(sum, madd(x, shift_right(w)));
}

static inline hn_vi dot(hn_vi sum, hn_vi w, hn_vi x) {
    hn_vi even = madd(hn_vi_and(x, hn_vi_set1(0xff00ff)), shift_right(shift_left(w)));
    return hn_vi_add(sum, hn_vi_add(even, madd(shift_unsigned(x), shift_right(w))));
}

/* HN_VB of q as pieces (recurrent_q8_product_body.h). */
static void store_exact(const hn_vi *q, int8_t *to, int64_t piece) {
    hn_vi a[4], c[4], even, odd;
    for (int i = 0; i < 4; i++) {
        a[i] = hn_vi_shr(q[i], 8);
        c[i] = hn_vi_sub(hn_vi_sub(q[i], hn_vi_shl(a[i], 8)), hn_vi_set1(128));
    }
    words_apart(a, &even, &odd);
    hn_vb_store(to, even);
    hn_vb_store(to + piece, odd);
    hn_vb_store(to + 2 * piece, hn_vb_xor(hn_vb_narrow(c), hn_vb_set1(0x80)));
}

#endif

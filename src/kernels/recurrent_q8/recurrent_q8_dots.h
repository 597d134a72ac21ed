/* Products with R in 8 bits by vectors, for recurrent_q8_product_body.h. */
#ifdef UNROLL

static void begin_products(int64_t rows) { (void)rows; }
static void end_products(void) {}

HN_INLINE hn_vi quad(const product *p, int64_t at, int64_t k) {
    int32_t x;
    memcpy(&x, p->h.q + at + 4 * k, sizeof x);
    return hn_vi_set1(x);
}

/* `count` of the vectors from `at` on, of `vectors` in the group; count, vectors and rows are
 * constants. A tile of one sequence runs in two chains, even k and odd, since
 * one would wait for itself; the sums are exact in any order. */
HN_INLINE void tile(const product *p, int vectors, int at, int count, int rows,
                    hn_vf (*sum)[WIDE]) {
    const int chains = rows == 1 ? 2 : 1;
    const char *r = p->r + at * HN_VB;
    hn_vi s[ROWS + 1][WIDE];
    UNROLL for (int i = 0; i < rows * chains; i++) {
        UNROLL for (int v = 0; v < count; v++) s[i][v] = hn_vi_set1(0);
    }
    int64_t k = 0;
    for (; k + chains <= p->quads; k += chains) {
        UNROLL for (int c = 0; c < chains; c++, r += vectors * HN_VB) {
            UNROLL for (int i = 0; i < rows; i++) {
                hn_vi x = quad(p, i * p->pitch, k + c);
                UNROLL for (int v = 0; v < count; v++) s[c * rows + i][v] =
                    dot(s[c * rows + i][v], hn_vi_load((const int32_t *)(r + v * HN_VB)), x);
            }
        }
    }
    for (; k < p->quads; k++, r += vectors * HN_VB) {
        UNROLL for (int v = 0; v < count; v++) s[0][v] =
            dot(s[0][v], hn_vi_load((const int32_t *)(r + v * HN_VB)), quad(p, 0, k));
    }
    UNROLL for (int i = 0; i < rows; i++) {
        hn_vf zero = hn_v_set1(p->h.zero[i]), scale = hn_v_set1(p->h.scale[i]);
        UNROLL for (int v = 0; v < count; v++) {
            hn_vi all = chains == 2 ? hn_vi_add(s[i][v], s[i + 1][v]) : s[i][v];
            hn_vf columns = hn_v_load((const float *)(r + v * HN_VB));
            sum[i][at + v] = hn_v_mul(scale, hn_v_fnma(zero, columns, hn_v_from_int(all)));
        }
    }
}

#ifndef WORDS
#define FIRST_DOT dot
#define SECOND_DOT dot
#endif

/* The same of exact_h, from row `first` on. */
HN_INLINE void exact_tile(const product *p, int count, int first, int rows, hn_vf (*sum)[WIDE]) {
    const char *r = p->r;
    hn_vi s[2][WIDE][3];
    UNROLL for (int i = 0; i < rows; i++) {
        UNROLL for (int v = 0; v < count; v++) {
            s[i][v][0] = s[i][v][1] = s[i][v][2] = hn_vi_set1(0);
        }
    }
    for (int64_t k = 0; k < p->quads; k++, r += count * HN_VB) {
        UNROLL for (int i = 0; i < rows; i++) {
            int64_t at = (first + i) * p->pitch;
            hn_vi a = quad(p, at, k), b = quad(p, at + p->piece, k);
            hn_vi c = quad(p, at + 2 * p->piece, k);
            UNROLL for (int v = 0; v < count; v++) {
                hn_vi w = hn_vi_load((const int32_t *)(r + v * HN_VB));
                s[i][v][0] = FIRST_DOT(s[i][v][0], w, a);
                s[i][v][1] = SECOND_DOT(s[i][v][1], w, b);
                s[i][v][2] = dot(s[i][v][2], w, c);
            }
        }
    }
    UNROLL for (int i = 0; i < rows; i++) {
        hn_vf zero = hn_v_set1(p->h.zero[first + i]), scale = hn_v_set1(p->h.scale[first + i]);
        UNROLL for (int v = 0; v < count; v++) {
            hn_vf columns = hn_v_load((const float *)(r + v * HN_VB));
            sum[first + i][v] = hn_v_mul(scale, all_pieces(s[i][v], zero, columns));
        }
    }
}

HN_INLINE void exact_rows(const product *p, int count, int rows, hn_vf (*sum)[WIDE]) {
    int i = 0;
#if ROWS >= 4
    for (; i + 2 <= rows; i += 2) exact_tile(p, count, i, 2, sum);
#endif
    for (; i < rows; i++) exact_tile(p, count, i, 1, sum);
}

#if ROWS == 8
/* More rows than registers allow for all vectors: one or two of them at once. */
HN_INLINE void many_rows(const product *p, int vectors, int at, int count, int64_t rows,
                         hn_vf (*sum)[WIDE]) {
    switch (rows) {
        case 5: tile(p, vectors, at, count, 5, sum); break;
        case 6: tile(p, vectors, at, count, 6, sum); break;
        case 7: tile(p, vectors, at, count, 7, sum); break;
        case 8: tile(p, vectors, at, count, 8, sum); break;
    }
}
#endif

HN_INLINE void some_rows(const product *p, int count, int64_t rows, hn_vf (*sum)[WIDE]) {
    if (p->piece > 0) {
        exact_rows(p, count, (int)rows, sum);
        return;
    }
    switch (rows) {
        case 1: tile(p, count, 0, count, 1, sum); return;
        case 2: tile(p, count, 0, count, 2, sum); return;
#if ROWS >= 4
        case 3: tile(p, count, 0, count, 3, sum); return;
        case 4: tile(p, count, 0, count, 4, sum); return;
#endif
    }
#if ROWS == 8
    many_rows(p, count, 0, 2, rows, sum);
    if (count == 3) many_rows(p, count, 2, 1, rows, sum);
    if (count == 4) many_rows(p, count, 2, 2, rows, sum);
#endif
}

#endif

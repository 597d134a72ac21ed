/* Products with R in 8 bits by tiles of AMX, for recurrent_q8_product_body.h. The sequences of a tile
 * are the rows of one: A is 64 k of h, B a vector of outputs of R, C their sums. With exact_h each
 * of the three digits of h has an A and a C.
 *
 *   tmm0 to 2   C, of two vectors, or of one vector for each digit
 *   tmm3        A
 *   tmm4        B
 *
 * More tiles would be no faster alone, and slower where the other thread of the core is busy.
 * C and A have as many rows as the largest tile of sequences. For a smaller one the rows behind its
 * last are read and multiplied, too, and nothing is done with their sums. */
#ifdef UNROLL

static void begin_products(int64_t rows) {
    hn_tiles t = hn_tiles_whole();
    for (int i = 0; i < 4; i++) t.rows[i] = (uint8_t)rows;
    hn_tiles_begin_as(&t);
}
static void end_products(void) { hn_tiles_end(); }

enum { DIGITS = 3, LINE = 64 };
typedef int32_t sums[ROWS][HN_VL];

/* Sums of vector v of `count`, and of the next one if there is one. */
HN_INLINE void multiply_tiles(const product *p, int count, int v, sums *c) {
    const char *r = p->r + v * LINE;
    HN_TILE_ZERO(0);
    HN_TILE_ZERO(1);
    for (int64_t k = 0; k < p->quads; k += QUADS, r += QUADS * count * LINE) {
        HN_TILE_LOAD(3, p->h.q + 4 * k, p->pitch);
        HN_TILE_LOAD(4, r, count * LINE);
        HN_TILE_DOT_U8(0, 3, 4);
        if (v + 1 == count) continue;
        HN_TILE_LOAD(4, r + LINE, count * LINE);
        HN_TILE_DOT_U8(1, 3, 4);
    }
    HN_TILE_STORE(0, c[0], LINE);
    HN_TILE_STORE(1, c[1], LINE);
}

/* Sums of vector v of `count`, for each digit. */
HN_INLINE void multiply_digits(const product *p, int count, int v, sums *c) {
    const char *r = p->r + v * LINE;
    HN_TILE_ZERO(0);
    HN_TILE_ZERO(1);
    HN_TILE_ZERO(2);
    for (int64_t k = 0; k < p->quads; k += QUADS, r += QUADS * count * LINE) {
        const int8_t *h = p->h.q + 4 * k;
        HN_TILE_LOAD(4, r, count * LINE);
        HN_TILE_LOAD(3, h, p->pitch);
        HN_TILE_DOT_U8(0, 3, 4);
        HN_TILE_LOAD(3, h + p->piece, p->pitch);
        HN_TILE_DOT_U8(1, 3, 4);
        HN_TILE_LOAD(3, h + 2 * p->piece, p->pitch);
        HN_TILE_DOT_U8(2, 3, 4);
    }
    HN_TILE_STORE(0, c[0], LINE);
    HN_TILE_STORE(1, c[1], LINE);
    HN_TILE_STORE(2, c[2], LINE);
}

HN_INLINE void some_digits(const product *p, int count, int64_t rows, hn_vf (*sum)[WIDE]) {
    _Alignas(64) sums c[DIGITS];
    const float *columns = (const float *)(p->r + p->quads * count * LINE);
    for (int v = 0; v < count; v++) {
        hn_vf by_zero = hn_v_load(columns + v * HN_VL);
        multiply_digits(p, count, v, c);
        for (int64_t i = 0; i < rows; i++) {
            hn_vf zero = hn_v_set1(p->h.zero[i]), scale = hn_v_set1(p->h.scale[i]);
            hn_vi all[DIGITS];
            for (int j = 0; j < DIGITS; j++) all[j] = hn_vi_load(c[j][i]);
            sum[i][v] = hn_v_mul(scale, all_pieces(all, zero, by_zero));
        }
    }
}

HN_INLINE void some_rows(const product *p, int count, int64_t rows, hn_vf (*sum)[WIDE]) {
    _Alignas(64) sums c[2];
    const float *columns = (const float *)(p->r + p->quads * count * LINE);
    if (p->piece > 0) {
        some_digits(p, count, rows, sum);
        return;
    }
    for (int v = 0; v < count; v++) {
        hn_vf by_zero = hn_v_load(columns + v * HN_VL);
        if (v % 2 == 0) multiply_tiles(p, count, v, c);
        for (int64_t i = 0; i < rows; i++) {
            hn_vf zero = hn_v_set1(p->h.zero[i]), scale = hn_v_set1(p->h.scale[i]);
            hn_vi all = hn_vi_load(c[v % 2][i]);
            sum[i][v] = hn_v_mul(scale, hn_v_fnma(zero, by_zero, hn_v_from_int(all)));
        }
    }
}

#endif

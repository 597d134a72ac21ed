/* The tile of conv_q8_panel_body.h from vectors: `acc` of s32, one lane per output, `w_vec` the
 * weights of as many outputs, `x_vec` a group of k of one pixel in every lane. Few pixels would
 * wait for their own sums, so that these run in several chains. Where there are more, every group of k
 * fetches a few bytes of what later tiles need: all at once they would fill the queues of the core,
 * which then waits (BERT-base takes 19 % more time that way by AVX-512 VNNI). A second fetch for
 * every group costs up to 6 %. */
#ifdef MR
#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 48")
#endif

enum { NV = NR / LANES };
#define FETCHES_NEXT
#define NARROW LANES

/* The products of a group of k by the weights at w. */
HN_INLINE void add_products(const int rows, const int nv, const a_elem *a, int64_t pitch,
                            const int8_t *w, acc (*sum)[NV]) {
    w_vec wv[NV];
    UNROLL for (int j = 0; j < nv; j++) wv[j] = load_w(w + j * LANES * KU);
    UNROLL for (int r = 0; r < rows; r++) {
        if (r > 0 && r % 3 == 0) a += 3 * pitch; /* by threes: addresses fit registers */
        x_vec xs = load_x(a + r % 3 * pitch);
        UNROLL for (int j = 0; j < nv; j++) sum[r][j] = dot(sum[r][j], wv[j], xs);
    }
}

HN_INLINE void tile(const int rows, const int width, const hn_q8_windows *x, const int8_t *w,
                    const int32_t *start, int32_t *c, const int c_pitch) {
    const int chains = rows == 1 ? 4 : rows == 2 ? 2 : 1, nv = width / LANES;
    const int64_t pitch = x->pitch, groups = x->groups, line = x->line;
    const a_elem *a = x->a;
    const char *next = x->next;
    const int64_t next_step = x->next_step;
    acc sum[MR < 4 ? 4 : MR][NV];
    UNROLL for (int r = 0; r < rows * chains; r++) {
        UNROLL for (int j = 0; j < nv; j++) sum[r][j] =
            r < rows ? load_acc(start + j * LANES) : zero_acc();
    }
    for (int64_t lines = x->lines; lines > 0; lines--, a += line) {
        int64_t k = 0;
        for (; chains > 1 && k + chains <= groups; k += chains) {
            UNROLL for (int i = 0; i < chains; i++, w += width * KU)
                add_products(rows, nv, a + (k + i) * KU, pitch, w, sum + i * rows);
        }
        for (; k < groups; k++, w += width * KU, next += next_step) {
            if (chains == 1) __builtin_prefetch(next, 0, 2);
            add_products(rows, nv, a + k * KU, pitch, w, sum);
        }
    }
    UNROLL for (int r = 0; r < rows; r++) {
        UNROLL for (int j = 0; j < nv; j++) {
            UNROLL for (int i = 1; i < chains; i++) sum[r][j] =
                add_acc(sum[r][j], sum[i * rows + r][j]);
            store_acc(c + r * c_pitch + j * LANES, sum[r][j]);
        }
    }
}

#endif

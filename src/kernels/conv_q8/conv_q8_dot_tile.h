/* The tile of conv_q8_panel_body.h from vectors: `acc` of s32, one lane per output, `w_vec` the
 * weights of as many outputs, `x_vec` a group of k of one pixel in every lane. Few pixels would
 * wait for their own sums, so that these run in several chains. */
#ifdef MR
#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 48")
#endif

enum { NV = NR / LANES };
#define NARROW LANES

HN_INLINE void tile(const int rows, const int width, const hn_q8_windows *x, const int8_t *w,
                    const int32_t *start, int32_t *c, const int c_pitch) {
    const int chains = rows == 1 ? 4 : rows == 2 ? 2 : 1, nv = width / LANES;
    const int64_t pitch = x->pitch, groups = x->groups, line = x->line;
    const a_elem *a = x->a;
    acc sum[MR < 4 ? 4 : MR][NV];
    UNROLL for (int r = 0; r < rows * chains; r++) {
        UNROLL for (int j = 0; j < nv; j++) sum[r][j] =
            r < rows ? load_acc(start + j * LANES) : zero_acc();
    }
    for (int64_t lines = x->lines; lines > 0; lines--, a += line) {
        int64_t k = 0;
        for (; k + chains <= groups; k += chains) {
            UNROLL for (int i = 0; i < chains; i++) {
                w_vec wv[NV];
                UNROLL for (int j = 0; j < nv; j++) wv[j] = load_w(w + j * LANES * KU);
                w += width * KU;
                UNROLL for (int r = 0; r < rows; r++) {
                    x_vec xs = load_x(a + r * pitch + (k + i) * KU);
                    UNROLL for (int j = 0; j < nv; j++) sum[i * rows + r][j] =
                        dot(sum[i * rows + r][j], wv[j], xs);
                }
            }
        }
        for (; k < groups; k++, w += width * KU) UNROLL for (int r = 0; r < rows; r++) {
                x_vec xs = load_x(a + r * pitch + k * KU);
                UNROLL for (int j = 0; j < nv; j++) sum[r][j] =
                    dot(sum[r][j], load_w(w + j * LANES * KU), xs);
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

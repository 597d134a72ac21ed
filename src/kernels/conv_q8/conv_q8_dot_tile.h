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

HN_INLINE void tile(const int rows, const a_elem *a, int64_t pitch, const int8_t *w, int64_t groups,
                    const int32_t *start, int32_t *c, const int c_pitch) {
    const int chains = rows == 1 ? 4 : rows == 2 ? 2 : 1;
    acc sum[MR < 4 ? 4 : MR][NV];
    UNROLL for (int r = 0; r < rows * chains; r++) {
        UNROLL for (int j = 0; j < NV; j++) sum[r][j] =
            r < rows ? load_acc(start + j * LANES) : zero_acc();
    }
    int64_t k = 0;
    for (; k + chains <= groups; k += chains) {
        UNROLL for (int i = 0; i < chains; i++) {
            w_vec wv[NV];
            UNROLL for (int j = 0; j < NV; j++) wv[j] = load_w(w + j * LANES * KU);
            w += NR * KU;
            UNROLL for (int r = 0; r < rows; r++) {
                x_vec x = load_x(a + r * pitch + (k + i) * KU);
                UNROLL for (int j = 0; j < NV; j++) sum[i * rows + r][j] =
                    dot(sum[i * rows + r][j], wv[j], x);
            }
        }
    }
    for (; k < groups; k++, w += NR * KU) UNROLL for (int r = 0; r < rows; r++) {
            x_vec x = load_x(a + r * pitch + k * KU);
            UNROLL for (int j = 0; j < NV; j++) sum[r][j] =
                dot(sum[r][j], load_w(w + j * LANES * KU), x);
        }
    UNROLL for (int r = 0; r < rows; r++) {
        UNROLL for (int j = 0; j < NV; j++) {
            UNROLL for (int i = 1; i < chains; i++) sum[r][j] =
                add_acc(sum[r][j], sum[i * rows + r][j]);
            store_acc(c + r * c_pitch + j * LANES, sum[r][j]);
        }
    }
}

#endif

#include "kernels/conv_q8/conv_q8_parts.h"

#define MR 4
#define NR 8
#define NARROW NR
#define KU 1
#define FLIP HN_Q8_S32
typedef int16_t a_elem;

/* Sums as unsigned, which wrap. */
HN_INLINE void tile(const int rows, const int width, const hn_q8_windows *x, const int8_t *w,
                    const int32_t *start, int32_t *c, const int c_pitch) {
    (void)width;
    const a_elem *a = x->a;
    const int64_t pitch = x->pitch, groups = x->groups;
    uint32_t sum[MR][NR];
    for (int r = 0; r < rows; r++) memcpy(sum[r], start, sizeof sum[r]);
    for (int64_t lines = x->lines; lines > 0; lines--, a += x->line)
        for (int64_t k = 0; k < groups; k++, w += NR)
            for (int r = 0; r < rows; r++)
                for (int j = 0; j < NR; j++) sum[r][j] += (uint32_t)(a[r * pitch + k] * w[j]);
    for (int r = 0; r < rows; r++) memcpy(c + r * c_pitch, sum[r], sizeof sum[r]);
}

#define ROW hn_conv_q8_panel_portable
#define NAME "portable"
#define ISA HN_ISA_PORTABLE
#include "kernels/conv_q8/conv_q8_panel_body.h"

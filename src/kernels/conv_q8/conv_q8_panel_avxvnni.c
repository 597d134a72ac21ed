#include "simd/avx2.h"

#include "kernels/conv_q8/conv_q8_parts.h"

enum { LANES = 8 };
#define MR 6
#define NR 16
#define KU 4
#define FLIP HN_Q8_U8
typedef uint8_t a_elem;
typedef __m256i acc, w_vec, x_vec;

HN_INLINE acc zero_acc(void) { return _mm256_setzero_si256(); }
HN_INLINE acc load_acc(const int32_t *p) { return _mm256_loadu_si256((const __m256i *)p); }
HN_INLINE void store_acc(int32_t *p, acc v) { _mm256_storeu_si256((__m256i *)p, v); }
HN_INLINE acc add_acc(acc a, acc b) { return _mm256_add_epi32(a, b); }
HN_INLINE w_vec load_w(const int8_t *p) { return _mm256_loadu_si256((const __m256i *)p); }
HN_INLINE x_vec load_x(const a_elem *p) {
    int32_t four;
    memcpy(&four, p, sizeof four);
    return _mm256_set1_epi32(four);
}
HN_INLINE acc dot(acc sum, w_vec w, x_vec x) { return _mm256_dpbusd_avx_epi32(sum, x, w); }

#include "kernels/conv_q8/conv_q8_dot_tile.h"

#define ROW hn_conv_q8_panel_avxvnni
#define NAME "avxvnni"
#define ISA HN_ISA_AVXVNNI
#include "kernels/conv_q8/conv_q8_panel_body.h"

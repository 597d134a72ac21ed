#include "simd/avx512.h"

#include "base/isa.h"
#include "kernels/conv_q8/conv_q8_parts.h"

/* Outputs are lanes, each with a list of the weights that it multiplies; see conv_q8_lists.h. A
 * permutation of bytes brings four of 64 neighbours in a window to every lane. */
#define MR 12
#define NR 16
#define KU 4
#define NARROW NR
#define FLIP HN_Q8_U8
#define FETCHES_NEXT
#define LISTS
typedef uint8_t a_elem;
enum { LANES = NR, TABLE = 64, STEP = 16, CHUNK = 15 };

#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 48")
#endif

HN_INLINE uint64_t not_zero(const int8_t *w) {
    const __m512i all = _mm512_loadu_si512(w);
    return _mm512_test_epi8_mask(all, all);
}

HN_INLINE void tile(const int rows, const int width, const hn_q8_windows *x, const int8_t *w,
                    const int32_t *start, int32_t *c, const int c_pitch) {
    (void)width;
    const int64_t pitch = x->pitch, next_step = x->next_step;
    const char *next = x->next;
    __m512i sum[MR];
    UNROLL for (int r = 0; r < rows; r++) sum[r] = _mm512_loadu_si512(start);
    for (int32_t n = CHUNK; n == CHUNK;) {
        const int32_t *places = (const int32_t *)(const void *)w;
        n = *places++;
        w += 64;
        for (int32_t i = 0; i < n; i++, w += 2 * TABLE, next += next_step) {
            const a_elem *a = (const a_elem *)x->a + places[i];
            const __m512i which = _mm512_loadu_si512(w), by = _mm512_loadu_si512(w + TABLE);
            __builtin_prefetch(next, 0, 2);
            UNROLL for (int r = 0; r < rows; r++) {
                if (r > 0 && r % 3 == 0) a += 3 * pitch; /* by threes: addresses fit registers */
                const __m512i table = _mm512_loadu_si512(a + r % 3 * pitch);
                const __m512i four = _mm512_permutexvar_epi8(which, table);
                sum[r] = _mm512_dpbusd_epi32(sum[r], four, by);
            }
        }
    }
    UNROLL for (int r = 0; r < rows; r++) _mm512_storeu_si512(c + r * c_pitch, sum[r]);
}

#define ROW hn_conv_q8_lists_avx512vbmi
#define NAME "avx512vbmi_sparse"
#define ISA (HN_ISA_AVX512VNNI | HN_ISA_AVX512VBMI)
#include "kernels/conv_q8/conv_q8_panel_body.h"

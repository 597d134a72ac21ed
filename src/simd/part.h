/* Vectors that may be parts: the same code for the body of a loop and for its end.
 *
 *   HN_INLINE void step(float *y, const float *x, int64_t n) {
 *       hn_v_store_part(y, f(hn_v_load_part(x, n)), n);
 *   }
 *   for (; i + HN_VL <= n; i += HN_VL) step(y + i, x + i, HN_VL);     // n is constant: plain loads
 *   if (i < n) step(y + i, x + i, n - i);
 *
 * Include the vocabulary first, as for simd/math.h.
 */
#ifndef HN_SIMD_PART_H
#define HN_SIMD_PART_H

#ifndef HN_VL
#include "simd/scalar.h"
#endif

/* Inlined whatever the compiler thinks, for functions that fold when an argument is constant. */
#define HN_INLINE static inline __attribute__((always_inline))

/* The first n lanes, 0 < n <= HN_VL. */
HN_INLINE hn_vf hn_v_load_part(const float *p, int64_t n) {
    return n == HN_VL ? hn_v_load(p) : hn_v_load_n(p, n);
}
HN_INLINE void hn_v_store_part(float *p, hn_vf x, int64_t n) {
    if (n == HN_VL)
        hn_v_store(p, x);
    else
        hn_v_store_n(p, x, n);
}
/* The first n lanes of x, the others of y. */
HN_INLINE hn_vf hn_v_keep_part(hn_vf x, hn_vf y, int64_t n) {
    return n == HN_VL ? x : hn_v_keep_n(x, y, n);
}
/* The same of s32, and of bytes, 0 < n <= HN_VB. */
HN_INLINE hn_vi hn_vi_load_part(const int32_t *p, int64_t n) {
    return n == HN_VL ? hn_vi_load(p) : hn_vi_load_n(p, n);
}
HN_INLINE hn_vb hn_vb_load_part(const void *p, int64_t n) {
    return n == HN_VB ? hn_vb_load(p) : hn_vb_load_n(p, n);
}
HN_INLINE void hn_vb_store_part(void *p, hn_vb x, int64_t n) {
    if (n == HN_VB)
        hn_vb_store(p, x);
    else
        hn_vb_store_n(p, x, n);
}

#endif

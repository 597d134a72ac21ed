/* Elements of quantized tensors as the references see them: one at a time. */
#ifndef HN_KERNELS_Q8_REF_H
#define HN_KERNELS_Q8_REF_H

#include <math.h>

#include "kernels/q8.h"

/* Element `at` of integers of type t. */
static inline int32_t hn_q8_load(hn_q8_type t, const void *p, int64_t at) {
    if (t == HN_Q8_S32) return ((const int32_t *)p)[at];
    return t == HN_Q8_U8 ? ((const uint8_t *)p)[at] : ((const int8_t *)p)[at];
}

static inline void hn_q8_store(hn_q8_type t, void *p, int64_t at, int32_t v) {
    if (t == HN_Q8_U8)
        ((uint8_t *)p)[at] = (uint8_t)v;
    else
        ((int8_t *)p)[at] = (int8_t)v;
}

/* min(max(rne(v) + zero, lo), hi), in double, where nothing is rounded but v itself; NaN: lo. */
static inline int32_t hn_q8_round(float v, int32_t zero, int32_t lo, int32_t hi) {
    double q = rint((double)v) + zero;
    return !(q > lo) ? lo : q > hi ? hi : (int32_t)q;
}

#endif

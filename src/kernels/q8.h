/* What the families of 8-bit tensors share: the types of their elements. */
#ifndef HN_KERNELS_Q8_H
#define HN_KERNELS_Q8_H

#include <stdbool.h>
#include <stdint.h>

typedef enum hn_q8_type { HN_Q8_U8, HN_Q8_S8, HN_Q8_F32, HN_Q8_S32 } hn_q8_type;

/* The least and the greatest value of u8 or s8. */
static inline int32_t hn_q8_lowest(hn_q8_type t) { return t == HN_Q8_U8 ? 0 : -128; }
static inline int32_t hn_q8_highest(hn_q8_type t) { return t == HN_Q8_U8 ? 255 : 127; }

/* Whether 1/s is as exact as any product is, so that dividing by s may begin with it. */
static inline bool hn_q8_invertible(float s) { return s > 0x1p-100F && s < 0x1p100F; }

#endif

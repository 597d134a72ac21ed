#include <arm_neon.h>

typedef float64x2_t vd;
#define VL 2
#define ROWS 8
#define vd_load(p) vld1q_f64(p)
#define vd_store(p, x) vst1q_f64(p, x)
#define vd_set1(x) vdupq_n_f64(x)
#define vd_fma(a, b, c) vfmaq_f64(c, a, b)
#define vd_fma_lane(a, i, b, c) vfmaq_laneq_f64(c, b, a, i)
/* An odd multiple of 16 bytes from row to row: others share banks of the cache. */
#define ROW_PAD 2
#define ONE_ROW 8
#define ROW hn_matmul_f64_neon
#define NAME "neon_8x4"
#define ISA HN_ISA_NEON

#include "kernels/matmul_f64/matmul_f64_body.h"

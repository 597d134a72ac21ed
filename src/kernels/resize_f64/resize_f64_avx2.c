#define ROW hn_resize_f64_avx2
#define NAME "avx2"
#define ISA HN_ISA_AVX2

#include "kernels/resize_f64/resize_f64_body.h"

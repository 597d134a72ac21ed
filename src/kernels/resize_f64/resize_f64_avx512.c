#define ROW hn_resize_f64_avx512
#define NAME "avx512"
#define ISA HN_ISA_AVX512

#include "kernels/resize_f64/resize_f64_body.h"

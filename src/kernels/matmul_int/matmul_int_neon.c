#define VECTOR 16
#define ROW hn_matmul_int_neon
#define NAME "neon"
#define ISA HN_ISA_NEON

#include "kernels/matmul_int/matmul_int_body.h"

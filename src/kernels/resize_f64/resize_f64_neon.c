#define ROW hn_resize_f64_neon
#define NAME "neon"
#define ISA HN_ISA_NEON

#include "kernels/resize_f64/resize_f64_body.h"

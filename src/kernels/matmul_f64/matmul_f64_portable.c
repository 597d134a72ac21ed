#include "kernels/matmul_f64/matmul_f64_body.h"

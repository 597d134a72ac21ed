#include "kernels/matmul_int/matmul_int_body.h"

#include "kernels/matmul_int/matmul_int.h"

#define HN_KERNEL(row) extern const hn_kernel hn_##row;
#include "kernels/matmul_int/matmul_int.def"
#undef HN_KERNEL

static const hn_kernel *const rows[] = {
#define HN_KERNEL(row) &hn_##row,
#include "kernels/matmul_int/matmul_int.def"
#undef HN_KERNEL
};

const hn_family hn_matmul_int_family = {
    .name = "matmul_int",
    .help = "batched product of matrices of s32, u32, s64 and u64",
    .rows = rows,
    .n_rows = sizeof rows / sizeof *rows,
};

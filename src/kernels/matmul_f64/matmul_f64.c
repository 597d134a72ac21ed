#include "kernels/matmul_f64/matmul_f64.h"

#define HN_KERNEL(row) extern const hn_kernel hn_##row;
#include "kernels/matmul_f64/matmul_f64.def"
#undef HN_KERNEL

static const hn_kernel *const rows[] = {
#define HN_KERNEL(row) &hn_##row,
#include "kernels/matmul_f64/matmul_f64.def"
#undef HN_KERNEL
};

const hn_family hn_matmul_f64_family = {
    .name = "matmul_f64",
    .help = "batched product of matrices of f64",
    .rows = rows,
    .n_rows = sizeof rows / sizeof *rows,
};

int64_t hn_matmul_f64_offset(const hn_matmul_f64 *p, const int64_t *strides, int64_t index) {
    int64_t at = 0;
    for (int i = HN_MATMUL_F64_AXES - 1; i >= 0; i--) {
        at += index % p->batch[i] * strides[i];
        index /= p->batch[i];
    }
    return at;
}

int64_t hn_matmul_f64_batches(const hn_matmul_f64 *p) {
    int64_t n = 1;
    for (int i = 0; i < HN_MATMUL_F64_AXES; i++) n *= p->batch[i];
    return n;
}

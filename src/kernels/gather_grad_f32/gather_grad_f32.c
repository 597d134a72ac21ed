#include "kernels/gather_grad_f32/gather_grad_f32.h"

#define HN_KERNEL(row) extern const hn_kernel hn_##row;
#include "kernels/gather_grad_f32/gather_grad_f32.def"
#undef HN_KERNEL

static const hn_kernel *const rows[] = {
#define HN_KERNEL(row) &hn_##row,
#include "kernels/gather_grad_f32/gather_grad_f32.def"
#undef HN_KERNEL
};

const hn_family hn_gather_grad_f32_family = {
    .name = "gather_grad_f32",
    .help = "rows added up where an index says",
    .rows = rows,
    .n_rows = sizeof rows / sizeof *rows,
};

#include "kernels/softmax_f32/softmax_f32.h"

#define HN_KERNEL(row) extern const hn_kernel hn_##row;
#include "kernels/softmax_f32/softmax_f32.def"
#undef HN_KERNEL

static const hn_kernel *const rows[] = {
#define HN_KERNEL(row) &hn_##row,
#include "kernels/softmax_f32/softmax_f32.def"
#undef HN_KERNEL
};

const hn_family hn_softmax_f32_family = {
    .name = "softmax_f32",
    .help = "softmax and log-softmax along adjacent elements, with scale and mask",
    .rows = rows,
    .n_rows = sizeof rows / sizeof *rows,
};

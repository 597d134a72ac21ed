#include "kernels/softmax_f32/softmax_f32.h"

#define HN_KERNEL(row) extern const hn_kernel hn_##row;
#include "kernels/softmax_f32/softmax_f32.def"
#undef HN_KERNEL

static const hn_kernel *const rows[] = {
#define HN_KERNEL(row) &hn_##row,
#include "kernels/softmax_f32/softmax_f32.def"
#undef HN_KERNEL
};

static const hn_axes axes[] = {
    {HN_SOFTMAX_X, HN_SOFTMAX_AXES, offsetof(hn_softmax_f32, rows),
     offsetof(hn_softmax_f32, x_stride)},
    {HN_SOFTMAX_X, 1, offsetof(hn_softmax_f32, n), HN_ADJACENT},
    {HN_SOFTMAX_MASK, HN_SOFTMAX_AXES, offsetof(hn_softmax_f32, rows),
     offsetof(hn_softmax_f32, mask_stride)},
    {HN_SOFTMAX_MASK, 1, offsetof(hn_softmax_f32, n), HN_ADJACENT},
    {HN_SOFTMAX_Y, HN_SOFTMAX_AXES, offsetof(hn_softmax_f32, rows),
     offsetof(hn_softmax_f32, y_stride)},
    {HN_SOFTMAX_Y, 1, offsetof(hn_softmax_f32, n), HN_ADJACENT},
};

const hn_family hn_softmax_f32_family = {
    .name = "softmax_f32",
    .help = "softmax and log-softmax along adjacent elements, with scale and mask",
    .rows = rows,
    .n_rows = sizeof rows / sizeof *rows,
    .axes = axes,
    .n_axes = sizeof axes / sizeof *axes,
};

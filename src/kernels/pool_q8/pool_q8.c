#include "kernels/pool_q8/pool_q8.h"

#define HN_KERNEL(row) extern const hn_kernel hn_##row;
#include "kernels/pool_q8/pool_q8.def"
#undef HN_KERNEL

static const hn_kernel *const rows[] = {
#define HN_KERNEL(row) &hn_##row,
#include "kernels/pool_q8/pool_q8.def"
#undef HN_KERNEL
};

static const hn_axes axes[] = {
    {HN_POOL_Q8_X, 3, offsetof(hn_pool_q8, batch), offsetof(hn_pool_q8, x_image)},
    {HN_POOL_Q8_X, 1, offsetof(hn_pool_q8, c), HN_ADJACENT},
    {HN_POOL_Q8_Y, 1, offsetof(hn_pool_q8, batch), offsetof(hn_pool_q8, y_image)},
    {HN_POOL_Q8_Y, 2, offsetof(hn_pool_q8, oh), offsetof(hn_pool_q8, y_row)},
    {HN_POOL_Q8_Y, 1, offsetof(hn_pool_q8, c), HN_ADJACENT},
};

const hn_family hn_pool_q8_family = {
    .name = "pool_q8",
    .help = "largest or mean of windows of channels-last 8-bit images",
    .rows = rows,
    .n_rows = sizeof rows / sizeof *rows,
    .axes = axes,
    .n_axes = sizeof axes / sizeof *axes,
    .integers = true,
};

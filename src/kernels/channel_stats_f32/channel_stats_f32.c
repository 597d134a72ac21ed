#include "kernels/channel_stats_f32/channel_stats_f32.h"

#define HN_KERNEL(row) extern const hn_kernel hn_##row;
#include "kernels/channel_stats_f32/channel_stats_f32.def"
#undef HN_KERNEL

static const hn_kernel *const rows[] = {
#define HN_KERNEL(row) &hn_##row,
#include "kernels/channel_stats_f32/channel_stats_f32.def"
#undef HN_KERNEL
};

static const hn_axes axes[] = {
    {HN_STATS_X, 1, offsetof(hn_channel_stats_f32, n), offsetof(hn_channel_stats_f32, x_pixel)},
    {HN_STATS_X, 1, offsetof(hn_channel_stats_f32, c), HN_ADJACENT},
};

const hn_family hn_channel_stats_f32_family = {
    .name = "channel_stats_f32",
    .help = "mean and variance of each channel",
    .rows = rows,
    .n_rows = sizeof rows / sizeof *rows,
    .axes = axes,
    .n_axes = sizeof axes / sizeof *axes,
};

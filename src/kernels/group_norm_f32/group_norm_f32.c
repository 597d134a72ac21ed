#include "kernels/group_norm_f32/group_norm_f32.h"

#define HN_KERNEL(row) extern const hn_kernel hn_##row;
#include "kernels/group_norm_f32/group_norm_f32.def"
#undef HN_KERNEL

static const hn_kernel *const rows[] = {
#define HN_KERNEL(row) &hn_##row,
#include "kernels/group_norm_f32/group_norm_f32.def"
#undef HN_KERNEL
};

static const hn_axes axes[] = {
    {HN_GROUP_NORM_X, 2, offsetof(hn_group_norm_f32, batch), offsetof(hn_group_norm_f32, x_image)},
    {HN_GROUP_NORM_X, 1, offsetof(hn_group_norm_f32, channels), HN_ADJACENT},
    {HN_GROUP_NORM_Y, 2, offsetof(hn_group_norm_f32, batch), offsetof(hn_group_norm_f32, y_image)},
    {HN_GROUP_NORM_Y, 1, offsetof(hn_group_norm_f32, channels), HN_ADJACENT},
};

const hn_family hn_group_norm_f32_family = {
    .name = "group_norm_f32",
    .help = "group and instance normalisation of channels-last images",
    .rows = rows,
    .n_rows = sizeof rows / sizeof *rows,
    .axes = axes,
    .n_axes = sizeof axes / sizeof *axes,
};

#include "kernels/group_norm_f32/group_norm_f32.h"

#define HN_KERNEL(row) extern const hn_kernel hn_##row;
#include "kernels/group_norm_f32/group_norm_f32.def"
#undef HN_KERNEL

static const hn_kernel *const rows[] = {
#define HN_KERNEL(row) &hn_##row,
#include "kernels/group_norm_f32/group_norm_f32.def"
#undef HN_KERNEL
};

const hn_family hn_group_norm_f32_family = {
    .name = "group_norm_f32",
    .help = "group and instance normalisation of channels-last images",
    .rows = rows,
    .n_rows = sizeof rows / sizeof *rows,
};

#include "kernels/scatter_at/scatter_at.h"

#define HN_KERNEL(row) extern const hn_kernel hn_##row;
#include "kernels/scatter_at/scatter_at.def"
#undef HN_KERNEL

static const hn_kernel *const rows[] = {
#define HN_KERNEL(row) &hn_##row,
#include "kernels/scatter_at/scatter_at.def"
#undef HN_KERNEL
};

const hn_family hn_scatter_at_family = {
    .name = "scatter_at",
    .help = "pieces put to where one or several indices each say",
    .rows = rows,
    .n_rows = sizeof rows / sizeof *rows,
};

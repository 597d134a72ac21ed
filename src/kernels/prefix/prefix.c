#include "kernels/prefix/prefix.h"

#define HN_KERNEL(row) extern const hn_kernel hn_##row;
#include "kernels/prefix/prefix.def"
#undef HN_KERNEL

static const hn_kernel *const rows[] = {
#define HN_KERNEL(row) &hn_##row,
#include "kernels/prefix/prefix.def"
#undef HN_KERNEL
};

const hn_family hn_prefix_family = {
    .name = "prefix",
    .help = "sums or products of all elements of a line so far",
    .rows = rows,
    .n_rows = sizeof rows / sizeof *rows,
};

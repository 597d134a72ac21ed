#include "kernels/gather/gather.h"

#define HN_KERNEL(row) extern const hn_kernel hn_##row;
#include "kernels/gather/gather.def"
#undef HN_KERNEL

static const hn_kernel *const rows[] = {
#define HN_KERNEL(row) &hn_##row,
#include "kernels/gather/gather.def"
#undef HN_KERNEL
};

const hn_family hn_gather_family = {
    .name = "gather",
    .help = "pieces picked by index along an axis",
    .rows = rows,
    .n_rows = sizeof rows / sizeof *rows,
};

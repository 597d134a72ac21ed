#include "kernels/gather_rows/gather_rows.h"

#define HN_KERNEL(row) extern const hn_kernel hn_##row;
#include "kernels/gather_rows/gather_rows.def"
#undef HN_KERNEL

static const hn_kernel *const rows[] = {
#define HN_KERNEL(row) &hn_##row,
#include "kernels/gather_rows/gather_rows.def"
#undef HN_KERNEL
};

const hn_family hn_gather_rows_family = {
    .name = "gather_rows",
    .help = "pieces picked by index along an axis",
    .rows = rows,
    .n_rows = sizeof rows / sizeof *rows,
    .any_address = 1u << HN_GATHER_X,
};

#include "kernels/hot_rows/hot_rows.h"

#define HN_KERNEL(row) extern const hn_kernel hn_##row;
#include "kernels/hot_rows/hot_rows.def"
#undef HN_KERNEL

static const hn_kernel *const rows[] = {
#define HN_KERNEL(row) &hn_##row,
#include "kernels/hot_rows/hot_rows.def"
#undef HN_KERNEL
};

const hn_family hn_hot_rows_family = {
    .name = "hot_rows",
    .help = "lines that are one value at an index and another elsewhere",
    .rows = rows,
    .n_rows = sizeof rows / sizeof *rows,
};

#include "kernels/rows_f64/rows_f64.h"

#define HN_KERNEL(row) extern const hn_kernel hn_##row;
#include "kernels/rows_f64/rows_f64.def"
#undef HN_KERNEL

static const hn_kernel *const rows[] = {
#define HN_KERNEL(row) &hn_##row,
#include "kernels/rows_f64/rows_f64.def"
#undef HN_KERNEL
};

const hn_family hn_rows_f64_family = {
    .name = "rows_f64",
    .help = "softmax and normalisations of doubles along adjacent elements",
    .rows = rows,
    .n_rows = sizeof rows / sizeof *rows,
};

#include "kernels/select_k/select_k.h"

#define HN_KERNEL(row) extern const hn_kernel hn_##row;
#include "kernels/select_k/select_k.def"
#undef HN_KERNEL

static const hn_kernel *const rows[] = {
#define HN_KERNEL(row) &hn_##row,
#include "kernels/select_k/select_k.def"
#undef HN_KERNEL
};

const hn_family hn_select_k_family = {
    .name = "select_k",
    .help = "the first elements of lines in order, and where they were",
    .rows = rows,
    .n_rows = sizeof rows / sizeof *rows,
};

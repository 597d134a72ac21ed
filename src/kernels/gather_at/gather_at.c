#include "kernels/gather_at/gather_at.h"

#define HN_KERNEL(row) extern const hn_kernel hn_##row;
#include "kernels/gather_at/gather_at.def"
#undef HN_KERNEL

static const hn_kernel *const rows[] = {
#define HN_KERNEL(row) &hn_##row,
#include "kernels/gather_at/gather_at.def"
#undef HN_KERNEL
};

const hn_family hn_gather_at_family = {
    .name = "gather_at",
    .help = "pieces picked by one or several indices each",
    .rows = rows,
    .n_rows = sizeof rows / sizeof *rows,
    .any_address = 1u << HN_GATHER_AT_X,
};

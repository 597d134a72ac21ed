#include "kernels/rotary_f32/rotary_f32.h"

#define HN_KERNEL(row) extern const hn_kernel hn_##row;
#include "kernels/rotary_f32/rotary_f32.def"
#undef HN_KERNEL

static const hn_kernel *const rows[] = {
#define HN_KERNEL(row) &hn_##row,
#include "kernels/rotary_f32/rotary_f32.def"
#undef HN_KERNEL
};

const hn_family hn_rotary_f32_family = {
    .name = "rotary_f32",
    .help = "turns pairs of elements by the angles of their positions",
    .rows = rows,
    .n_rows = sizeof rows / sizeof *rows,
};

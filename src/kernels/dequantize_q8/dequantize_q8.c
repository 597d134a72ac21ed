#include "kernels/dequantize_q8/dequantize_q8.h"

#define HN_KERNEL(row) extern const hn_kernel hn_##row;
#include "kernels/dequantize_q8/dequantize_q8.def"
#undef HN_KERNEL

static const hn_kernel *const rows[] = {
#define HN_KERNEL(row) &hn_##row,
#include "kernels/dequantize_q8/dequantize_q8.def"
#undef HN_KERNEL
};

#define OPERAND(i)                                                \
    {                                                             \
        i, HN_SPACE_RANK, offsetof(hn_dequantize_q8, space.dims), \
            offsetof(hn_dequantize_q8, space.stride[i])           \
    }
static const hn_axes axes[] = {OPERAND(HN_DEQUANTIZE_Q8_X), OPERAND(HN_DEQUANTIZE_Q8_Y)};

static void finish(void *problem) {
    hn_space_collapse(&((hn_dequantize_q8 *)problem)->space, HN_DEQUANTIZE_Q8_Y);
}

const hn_family hn_dequantize_q8_family = {
    .name = "dequantize_q8",
    .help = "integers to floats, by scales",
    .rows = rows,
    .n_rows = sizeof rows / sizeof *rows,
    .axes = axes,
    .n_axes = sizeof axes / sizeof *axes,
    .finish = finish,
};

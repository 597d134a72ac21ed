#include "kernels/quantize_f32/quantize_f32.h"

#define HN_KERNEL(row) extern const hn_kernel hn_##row;
#include "kernels/quantize_f32/quantize_f32.def"
#undef HN_KERNEL

static const hn_kernel *const rows[] = {
#define HN_KERNEL(row) &hn_##row,
#include "kernels/quantize_f32/quantize_f32.def"
#undef HN_KERNEL
};

#define OPERAND(i)                                               \
    {                                                            \
        i, HN_SPACE_RANK, offsetof(hn_quantize_f32, space.dims), \
            offsetof(hn_quantize_f32, space.stride[i])           \
    }
static const hn_axes axes[] = {OPERAND(HN_QUANTIZE_F32_X), OPERAND(HN_QUANTIZE_F32_Y)};

static void finish(void *problem) {
    hn_space_collapse(&((hn_quantize_f32 *)problem)->space, HN_QUANTIZE_F32_Y);
}

const hn_family hn_quantize_f32_family = {
    .name = "quantize_f32",
    .help = "floats to 8-bit integers, by scales that are given or found",
    .rows = rows,
    .n_rows = sizeof rows / sizeof *rows,
    .axes = axes,
    .n_axes = sizeof axes / sizeof *axes,
    .finish = finish,
};

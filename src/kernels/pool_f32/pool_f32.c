#include "kernels/pool_f32/pool_f32.h"

#define HN_KERNEL(row) extern const hn_kernel hn_##row;
#include "kernels/pool_f32/pool_f32.def"
#undef HN_KERNEL

static const hn_kernel *const rows[] = {
#define HN_KERNEL(row) &hn_##row,
#include "kernels/pool_f32/pool_f32.def"
#undef HN_KERNEL
};

static const hn_axes axes[] = {
    {HN_POOL_F32_X, 3, offsetof(hn_pool_f32, batch), offsetof(hn_pool_f32, x_image)},
    {HN_POOL_F32_X, 1, offsetof(hn_pool_f32, c), HN_ADJACENT},
    {HN_POOL_F32_Y, 1, offsetof(hn_pool_f32, batch), offsetof(hn_pool_f32, y_image)},
    {HN_POOL_F32_Y, 2, offsetof(hn_pool_f32, oh), offsetof(hn_pool_f32, y_row)},
    {HN_POOL_F32_Y, 1, offsetof(hn_pool_f32, c), HN_ADJACENT},
};

static hn_float *stored(void *problem, int operand) {
    hn_pool_f32 *p = problem;
    return operand == HN_POOL_F32_X ? &p->x_type : operand == HN_POOL_F32_Y ? &p->y_type : NULL;
}

static size_t bytes(const void *problem, int operand) {
    const hn_pool_f32 *p = problem;
    return hn_float_bytes(operand == HN_POOL_F32_X ? p->x_type : p->y_type);
}

static const hn_images images = {HN_POOL_F32_X, -1, HN_POOL_F32_Y, bytes};

const hn_family hn_pool_f32_family = {
    .name = "pool_f32",
    .help = "largest, mean or sum of windows of channels-last images",
    .rows = rows,
    .n_rows = sizeof rows / sizeof *rows,
    .axes = axes,
    .n_axes = sizeof axes / sizeof *axes,
    .stored = stored,
    .images = &images,
};

#include "kernels/batch_norm_grad_f32/batch_norm_grad_f32.h"

#define HN_KERNEL(row) extern const hn_kernel hn_##row;
#include "kernels/batch_norm_grad_f32/batch_norm_grad_f32.def"
#undef HN_KERNEL

static const hn_kernel *const rows[] = {
#define HN_KERNEL(row) &hn_##row,
#include "kernels/batch_norm_grad_f32/batch_norm_grad_f32.def"
#undef HN_KERNEL
};

static bool may_replace(const void *problem, int operand, int result) {
    (void)result;
    const hn_batch_norm_grad_f32 *p = problem;
    return operand == HN_BNG_DY && p->dy_pixel == p->dx_pixel;
}

const hn_family hn_batch_norm_grad_f32_family = {
    .name = "batch_norm_grad_f32",
    .help = "gradient of batch normalization, of a Relu or Clip behind it too",
    .rows = rows,
    .n_rows = sizeof rows / sizeof *rows,
    .may_replace = may_replace,
    .result = HN_BNG_DX,
};

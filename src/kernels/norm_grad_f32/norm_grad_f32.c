#include "kernels/norm_grad_f32/norm_grad_f32.h"

#define HN_KERNEL(row) extern const hn_kernel hn_##row;
#include "kernels/norm_grad_f32/norm_grad_f32.def"
#undef HN_KERNEL

static const hn_kernel *const rows[] = {
#define HN_KERNEL(row) &hn_##row,
#include "kernels/norm_grad_f32/norm_grad_f32.def"
#undef HN_KERNEL
};

static bool may_replace(const void *problem, int operand, int result) {
    (void)result;
    const hn_norm_grad_f32 *p = problem;
    return operand == HN_NORM_GRAD_DY && p->dy_row == p->dx_row;
}

const hn_family hn_norm_grad_f32_family = {
    .name = "norm_grad_f32",
    .help = "gradient of layer and RMS normalisation",
    .rows = rows,
    .n_rows = sizeof rows / sizeof *rows,
    .may_replace = may_replace,
    .result = HN_NORM_GRAD_DX,
};

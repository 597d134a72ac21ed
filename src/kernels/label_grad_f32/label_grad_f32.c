#include "kernels/label_grad_f32/label_grad_f32.h"

#define HN_KERNEL(row) extern const hn_kernel hn_##row;
#include "kernels/label_grad_f32/label_grad_f32.def"
#undef HN_KERNEL

static const hn_kernel *const rows[] = {
#define HN_KERNEL(row) &hn_##row,
#include "kernels/label_grad_f32/label_grad_f32.def"
#undef HN_KERNEL
};

const hn_family hn_label_grad_f32_family = {
    .name = "label_grad_f32",
    .help = "gradient of losses of labels",
    .rows = rows,
    .n_rows = sizeof rows / sizeof *rows,
};

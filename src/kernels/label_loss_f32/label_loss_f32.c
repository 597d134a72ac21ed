#include "kernels/label_loss_f32/label_loss_f32.h"

#define HN_KERNEL(row) extern const hn_kernel hn_##row;
#include "kernels/label_loss_f32/label_loss_f32.def"
#undef HN_KERNEL

static const hn_kernel *const rows[] = {
#define HN_KERNEL(row) &hn_##row,
#include "kernels/label_loss_f32/label_loss_f32.def"
#undef HN_KERNEL
};

const hn_family hn_label_loss_f32_family = {
    .name = "label_loss_f32",
    .help = "what log probabilities say of labels: losses, their sum or mean",
    .rows = rows,
    .n_rows = sizeof rows / sizeof *rows,
};

#include "kernels/attention_f32/attention_f32.h"

#define HN_KERNEL(row) extern const hn_kernel hn_##row;
#include "kernels/attention_f32/attention_f32.def"
#undef HN_KERNEL

static const hn_kernel *const rows[] = {
#define HN_KERNEL(row) &hn_##row,
#include "kernels/attention_f32/attention_f32.def"
#undef HN_KERNEL
};

const hn_family hn_attention_f32_family = {
    .name = "attention_f32",
    .help = "softmax of masked products of queries and keys, times values",
    .rows = rows,
    .n_rows = sizeof rows / sizeof *rows,
};

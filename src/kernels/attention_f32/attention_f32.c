#include "kernels/attention_f32/attention_f32.h"

#define HN_KERNEL(row) extern const hn_kernel hn_##row;
#include "kernels/attention_f32/attention_f32.def"
#undef HN_KERNEL

static const hn_kernel *const rows[] = {
#define HN_KERNEL(row) &hn_##row,
#include "kernels/attention_f32/attention_f32.def"
#undef HN_KERNEL
};

static const hn_axes axes[] = {
    {HN_ATTENTION_Q, HN_ATTENTION_BATCH_AXES, offsetof(hn_attention_f32, batch),
     offsetof(hn_attention_f32, q_batch)},
    {HN_ATTENTION_Q, 1, offsetof(hn_attention_f32, queries), offsetof(hn_attention_f32, q_row)},
    {HN_ATTENTION_Q, 1, offsetof(hn_attention_f32, size), offsetof(hn_attention_f32, q_col)},
    {HN_ATTENTION_K, HN_ATTENTION_BATCH_AXES, offsetof(hn_attention_f32, batch),
     offsetof(hn_attention_f32, k_batch)},
    {HN_ATTENTION_K, 1, offsetof(hn_attention_f32, keys), offsetof(hn_attention_f32, k_row)},
    {HN_ATTENTION_K, 1, offsetof(hn_attention_f32, size), offsetof(hn_attention_f32, k_col)},
    {HN_ATTENTION_V, HN_ATTENTION_BATCH_AXES, offsetof(hn_attention_f32, batch),
     offsetof(hn_attention_f32, v_batch)},
    {HN_ATTENTION_V, 1, offsetof(hn_attention_f32, keys), offsetof(hn_attention_f32, v_row)},
    {HN_ATTENTION_V, 1, offsetof(hn_attention_f32, v_size), offsetof(hn_attention_f32, v_col)},
    {HN_ATTENTION_MASK, HN_ATTENTION_BATCH_AXES, offsetof(hn_attention_f32, batch),
     offsetof(hn_attention_f32, mask_batch)},
    {HN_ATTENTION_MASK, 1, offsetof(hn_attention_f32, queries),
     offsetof(hn_attention_f32, mask_row)},
    {HN_ATTENTION_MASK, 1, offsetof(hn_attention_f32, keys), HN_ADJACENT},
    {HN_ATTENTION_Y, HN_ATTENTION_BATCH_AXES, offsetof(hn_attention_f32, batch),
     offsetof(hn_attention_f32, y_batch)},
    {HN_ATTENTION_Y, 1, offsetof(hn_attention_f32, queries), offsetof(hn_attention_f32, y_row)},
    {HN_ATTENTION_Y, 1, offsetof(hn_attention_f32, v_size), HN_ADJACENT},
};

const hn_family hn_attention_f32_family = {
    .name = "attention_f32",
    .help = "softmax of masked products of queries and keys, times values",
    .rows = rows,
    .n_rows = sizeof rows / sizeof *rows,
    .axes = axes,
    .n_axes = sizeof axes / sizeof *axes,
    .multiplies = true,
};

#include "kernels/binary_q8/binary_q8.h"

#define HN_KERNEL(row) extern const hn_kernel hn_##row;
#include "kernels/binary_q8/binary_q8.def"
#undef HN_KERNEL

static const hn_kernel *const rows[] = {
#define HN_KERNEL(row) &hn_##row,
#include "kernels/binary_q8/binary_q8.def"
#undef HN_KERNEL
};

#define OPERAND(i)                                            \
    {                                                         \
        i, HN_SPACE_RANK, offsetof(hn_binary_q8, space.dims), \
            offsetof(hn_binary_q8, space.stride[i])           \
    }
static const hn_axes axes[] = {OPERAND(HN_BINARY_Q8_A), OPERAND(HN_BINARY_Q8_B),
                               OPERAND(HN_BINARY_Q8_Y)};

static bool may_replace(const void *problem, int operand, int result) {
    (void)result;
    const hn_space *s = &((const hn_binary_q8 *)problem)->space;
    return hn_axes_agree(s->rank, s->dims, s->stride[operand], s->stride[HN_BINARY_Q8_Y]);
}

static void finish(void *problem) {
    hn_space_collapse(&((hn_binary_q8 *)problem)->space, HN_BINARY_Q8_Y);
}

const hn_family hn_binary_q8_family = {
    .name = "binary_q8",
    .help = "sums and products of two quantized tensors",
    .rows = rows,
    .n_rows = sizeof rows / sizeof *rows,
    .axes = axes,
    .n_axes = sizeof axes / sizeof *axes,
    .integers = true,
    .may_replace = may_replace,
    .result = HN_BINARY_Q8_Y,
    .finish = finish,
};

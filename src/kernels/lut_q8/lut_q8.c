#include "kernels/lut_q8/lut_q8.h"

#define HN_KERNEL(row) extern const hn_kernel hn_##row;
#include "kernels/lut_q8/lut_q8.def"
#undef HN_KERNEL

static const hn_kernel *const rows[] = {
#define HN_KERNEL(row) &hn_##row,
#include "kernels/lut_q8/lut_q8.def"
#undef HN_KERNEL
};

#define OPERAND(i) \
    { i, HN_SPACE_RANK, offsetof(hn_lut_q8, space.dims), offsetof(hn_lut_q8, space.stride[i]) }
static const hn_axes axes[] = {OPERAND(HN_LUT_Q8_X), OPERAND(HN_LUT_Q8_Y)};

static bool may_replace(const void *problem, int operand, int result) {
    (void)result;
    const hn_space *s = &((const hn_lut_q8 *)problem)->space;
    return hn_axes_agree(s->rank, s->dims, s->stride[operand], s->stride[HN_LUT_Q8_Y]);
}

static void finish(void *problem) {
    hn_space_collapse(&((hn_lut_q8 *)problem)->space, HN_LUT_Q8_Y);
}

const hn_family hn_lut_q8_family = {
    .name = "lut_q8",
    .help = "any function of one 8-bit number, by a table",
    .rows = rows,
    .n_rows = sizeof rows / sizeof *rows,
    .axes = axes,
    .n_axes = sizeof axes / sizeof *axes,
    .integers = true,
    .may_replace = may_replace,
    .result = HN_LUT_Q8_Y,
    .finish = finish,
};

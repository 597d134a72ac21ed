#include "kernels/reduce_num/reduce_num.h"

#define HN_KERNEL(row) extern const hn_kernel hn_##row;
#include "kernels/reduce_num/reduce_num.def"
#undef HN_KERNEL

static const hn_kernel *const rows[] = {
#define HN_KERNEL(row) &hn_##row,
#include "kernels/reduce_num/reduce_num.def"
#undef HN_KERNEL
};

const hn_family hn_reduce_num_family = {
    .name = "reduce_num",
    .help = "sums and their kin along an axis, of doubles, integers and truth values",
    .rows = rows,
    .n_rows = sizeof rows / sizeof *rows,
};

bool hn_reduce_num_has(hn_reduce_num_op op, hone_dtype t) {
    hn_dtypes wide = HN_DTYPE_BIT(F64) | HN_DTYPE_BIT(S64) | HN_DTYPE_BIT(S32);
    hn_dtypes bytes = HN_DTYPE_BIT(S8) | HN_DTYPE_BIT(U8) | HN_DTYPE_BIT(BOOL);
    if (op > HN_REDUCE_NUM_MIN) return t == HONE_DTYPE_F64;
    return hn_dtype_in(t, op >= HN_REDUCE_NUM_MAX ? wide | bytes : wide);
}

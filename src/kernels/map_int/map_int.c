#include "kernels/map_int/map_int.h"

#include <string.h>

#define HN_KERNEL(row) extern const hn_kernel hn_##row;
#include "kernels/map_int/map_int.def"
#undef HN_KERNEL

static const hn_kernel *const rows[] = {
#define HN_KERNEL(row) &hn_##row,
#include "kernels/map_int/map_int.def"
#undef HN_KERNEL
};

#define AXES(i) \
    { i, HN_MAP_INT_MAX_RANK, offsetof(hn_map_int, dims), offsetof(hn_map_int, stride[i]) }
static const hn_axes axes[] = {
    AXES(HN_MAP_INT_A),
    AXES(HN_MAP_INT_B),
    AXES(HN_MAP_INT_C),
    AXES(HN_MAP_INT_Y),
};

const hn_family hn_map_int_family = {
    .name = "map_int",
    .help = "an elementwise operation on integers over broadcasting operands",
    .rows = rows,
    .n_rows = sizeof rows / sizeof *rows,
    .axes = axes,
    .n_axes = sizeof axes / sizeof *axes,
};

int hn_map_int_arity(hn_map_int_op op) {
    static const uint8_t arity[] = {
#define HN_X(name, operands, formula) operands,
        HN_MAP_INT_LIST(HN_X)
#undef HN_X
    };
    return arity[op];
}

_Static_assert((int)HN_MAP_INT_Y + 1 == (int)HN_SPACE_OPERANDS, "operands of a space");

void hn_map_int_collapse(hn_map_int *p) {
    hn_space s = {.rank = p->rank, .n = HN_MAP_INT_Y + 1};
    memcpy(s.dims, p->dims, sizeof s.dims);
    memcpy(s.stride, p->stride, sizeof s.stride);
    hn_space_collapse(&s, HN_MAP_INT_Y);
    p->rank = s.rank;
    memcpy(p->dims, s.dims, sizeof s.dims);
    memcpy(p->stride, s.stride, sizeof s.stride);
}

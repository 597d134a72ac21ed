#include "kernels/map_int/map_int.h"

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

static void move_axis(hn_map_int *p, int to, int from) {
    p->dims[to] = p->dims[from];
    for (int i = 0; i <= HN_MAP_INT_Y; i++) p->stride[i][to] = p->stride[i][from];
}

static void swap_axes(hn_map_int *p, int i, int j) {
    hn_map_int old = *p;
    move_axis(p, i, j);
    p->dims[j] = old.dims[i];
    for (int k = 0; k <= HN_MAP_INT_Y; k++) p->stride[k][j] = old.stride[k][i];
}

/* Whether axis i + 1 continues axis i in every operand. */
static bool joins(const hn_map_int *p, int i) {
    for (int k = 0; k <= HN_MAP_INT_Y; k++)
        if (p->stride[k][i] != p->stride[k][i + 1] * p->dims[i + 1]) return false;
    return true;
}

static int64_t size_of(int64_t stride) { return stride < 0 ? -stride : stride; }

void hn_map_int_collapse(hn_map_int *p) {
    const int64_t *y = p->stride[HN_MAP_INT_Y];
    int n = 0;
    for (int i = 0; i < p->rank; i++)
        if (p->dims[i] != 1) move_axis(p, n++, i);
    for (int i = 1; i < n; i++)
        for (int j = i; j > 0 && size_of(y[j - 1]) < size_of(y[j]); j--) swap_axes(p, j - 1, j);
    for (int i = n - 2; i >= 0; i--) {
        if (!joins(p, i)) continue;
        int64_t dim = p->dims[i] * p->dims[i + 1];
        for (int j = i + 1; j < n; j++) move_axis(p, j - 1, j);
        p->dims[i] = dim;
        n--;
    }
    p->rank = n > 0 ? n : 1;
    if (n == 0) p->dims[0] = 1;
    for (int i = p->rank; i < HN_MAP_INT_MAX_RANK; i++) {
        p->dims[i] = 0;
        for (int k = 0; k <= HN_MAP_INT_Y; k++) p->stride[k][i] = 0;
    }
}

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

static void finish(void *problem) { hn_map_int_collapse(problem); }

const hn_family hn_map_int_family = {
    .name = "map_int",
    .help = "an elementwise operation on integers or doubles over broadcasting operands",
    .rows = rows,
    .n_rows = sizeof rows / sizeof *rows,
    .axes = axes,
    .n_axes = sizeof axes / sizeof *axes,
    .finish = finish,
};

enum {
    INTEGERS = HN_DTYPE_BIT(S64) | HN_DTYPE_BIT(S32) | HN_DTYPE_BIT(S8) | HN_DTYPE_BIT(U32) |
               HN_DTYPE_BIT(U8),
    SHIFTED = HN_DTYPE_BIT(U64) | HN_DTYPE_BIT(U32) | HN_DTYPE_BIT(U8),
    DOUBLE = HN_DTYPE_BIT(F64),
    TRUTH = HN_DTYPE_BIT(BOOL),
    CASTS = HN_DTYPE_BIT(S64) | HN_DTYPE_BIT(S32) | HN_DTYPE_BIT(S8) | HN_DTYPE_BIT(U8) |
            HN_DTYPE_BIT(F32) | DOUBLE | TRUTH,
    HALVES = HN_DTYPE_BIT(F16) | HN_DTYPE_BIT(BF16),
};

/* The types of operands, by operation. */
static hn_dtypes types_of(hn_map_int_op op) {
    if (op == HN_MAP_INT_SHL || op == HN_MAP_INT_SHR) return SHIFTED;
    if (op >= HN_MAP_INT_AND && op <= HN_MAP_INT_NOT) return TRUTH;
    if (op >= HN_MAP_INT_SQRT && op <= HN_MAP_INT_MUL_ADD) return DOUBLE;
    bool integers_only =
        op == HN_MAP_INT_MOD || (op >= HN_MAP_INT_BIT_AND && op <= HN_MAP_INT_BIT_NOT);
    return integers_only ? INTEGERS : INTEGERS | DOUBLE;
}

static bool has_cast(hone_dtype from, hone_dtype to) {
    if (hn_dtype_in(from, HALVES) || hn_dtype_in(to, HALVES))
        return from == HONE_DTYPE_F32 || to == HONE_DTYPE_F32 ||
               (from == HONE_DTYPE_F16 && to == HONE_DTYPE_F64);
    if (from == to || !hn_dtype_in(from, CASTS) || !hn_dtype_in(to, CASTS)) return false;
    return from != HONE_DTYPE_BOOL || to != HONE_DTYPE_F32;
}

bool hn_map_int_has(hn_map_int_op op, hone_dtype from, hone_dtype to) {
    return op == HN_MAP_INT_CAST ? has_cast(from, to) : hn_dtype_in(from, types_of(op));
}

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

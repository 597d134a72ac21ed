#include "kernels/map_f32/map_f32.h"

#define HN_KERNEL(row) extern const hn_kernel hn_##row;
#include "kernels/map_f32/map_f32.def"
#undef HN_KERNEL

static const hn_kernel *const rows[] = {
#define HN_KERNEL(row) &hn_##row,
#include "kernels/map_f32/map_f32.def"
#undef HN_KERNEL
};

#define IN(i)                                                       \
    {                                                               \
        HN_MAP_IN + i, HN_MAP_MAX_RANK, offsetof(hn_map_f32, dims), \
            offsetof(hn_map_f32, in_stride[i])                      \
    }
#define OUT(i)                                                       \
    {                                                                \
        HN_MAP_OUT + i, HN_MAP_MAX_RANK, offsetof(hn_map_f32, dims), \
            offsetof(hn_map_f32, out_stride[i])                      \
    }
static const hn_axes axes[] = {
    IN(0), IN(1), IN(2), IN(3), IN(4), IN(5), IN(6), IN(7), OUT(0), OUT(1), OUT(2), OUT(3),
};

static bool may_replace(const void *problem, int operand, int result) {
    const hn_map_f32 *p = problem;
    int out = result - HN_MAP_OUT;
    return operand < p->n_in && p->in_type[operand] == p->out_type[out] &&
           hn_axes_agree(p->rank, p->dims, p->in_stride[operand], p->out_stride[out]);
}

static void finish(void *problem) { hn_map_collapse(problem); }

const hn_family hn_map_f32_family = {
    .name = "map_f32",
    .help = "a program of elementwise operations over broadcasting operands",
    .rows = rows,
    .n_rows = sizeof rows / sizeof *rows,
    .axes = axes,
    .n_axes = sizeof axes / sizeof *axes,
    .may_replace = may_replace,
    .result = HN_MAP_OUT,
    .n_results = HN_MAP_MAX_OUT,
    .finish = finish,
};

int hn_map_arity(hn_map_op op) {
    static const uint8_t arity[] = {
#define HN_X(name, operands, formula) operands,
        HN_MAP_LIST(HN_X)
#undef HN_X
    };
    return op < HN_MAP_ACT_NONE ? arity[op] : 1;
}

int hn_map_emit(hn_map_f32 *p, hn_map_op op, int a, int b, int c, float x, float y) {
    if (p->n_code == HN_MAP_MAX_CODE) return -1;
    int arity = hn_map_arity(op);
    p->code[p->n_code] = (hn_map_code){.op = (uint8_t)op,
                                       .a = (uint8_t)a,
                                       .b = (uint8_t)(arity > 1 ? b : a),
                                       .c = (uint8_t)(arity > 2 ? c : a),
                                       .x = x,
                                       .y = y};
    return HN_MAP_CODE + p->n_code++;
}

/* Moves axis `from` of every operand to `to`. */
static void move_axis(hn_map_f32 *p, int to, int from) {
    p->dims[to] = p->dims[from];
    for (int i = 0; i < p->n_in; i++) p->in_stride[i][to] = p->in_stride[i][from];
    for (int i = 0; i < p->n_out; i++) p->out_stride[i][to] = p->out_stride[i][from];
}

static void swap_axes(hn_map_f32 *p, int i, int j) {
    hn_map_f32 old = *p;
    move_axis(p, i, j);
    p->dims[j] = old.dims[i];
    for (int k = 0; k < p->n_in; k++) p->in_stride[k][j] = old.in_stride[k][i];
    for (int k = 0; k < p->n_out; k++) p->out_stride[k][j] = old.out_stride[k][i];
}

/* Whether axis j, the next inner one, continues axis i in every operand. */
static bool joins(const hn_map_f32 *p, int i, int j) {
    for (int k = 0; k < p->n_in; k++)
        if (p->in_stride[k][i] != p->in_stride[k][j] * p->dims[j]) return false;
    for (int k = 0; k < p->n_out; k++)
        if (p->out_stride[k][i] != p->out_stride[k][j] * p->dims[j]) return false;
    return true;
}

void hn_map_collapse(hn_map_f32 *p) {
    int n = 0;
    for (int i = 0; i < p->rank; i++)
        if (p->dims[i] != 1) move_axis(p, n++, i);
    p->rank = n;
    for (int i = 1; i < n; i++)
        for (int j = i; j > 0; j--) {
            int64_t outer = p->out_stride[0][j - 1], inner = p->out_stride[0][j];
            if ((outer < 0 ? -outer : outer) < (inner < 0 ? -inner : inner)) swap_axes(p, j - 1, j);
        }
    for (int i = p->rank - 2; i >= 0; i--) {
        if (!joins(p, i, i + 1)) continue;
        int64_t dim = p->dims[i] * p->dims[i + 1];
        move_axis(p, i, i + 1);
        p->dims[i] = dim;
        for (int j = i + 2; j < p->rank; j++) move_axis(p, j - 1, j);
        p->rank--;
    }
    if (p->rank > 0) return;
    p->rank = 1, p->dims[0] = 1;
    for (int i = 0; i < p->n_in; i++) p->in_stride[i][0] = 1;
    for (int i = 0; i < p->n_out; i++) p->out_stride[i][0] = 1;
}

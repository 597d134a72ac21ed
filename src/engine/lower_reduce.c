/* The reductions. Over the spatial axes of an image that lies channels last they are global pools
 * by another name, which keep its layout; over other axes, which are brought together
 * where they are not neighbours, a problem of reduce_f32, or of reduce_num for other types. */
#include <string.h>

#include "engine/lower.h"
#include "kernels/reduce_f32/reduce_f32.h"
#include "kernels/reduce_num/reduce_num.h"

static const struct {
    const char *op;
    hn_reduce_op reduce;
} rows[] = {
    {"ReduceL1", HN_REDUCE_L1},         {"ReduceL2", HN_REDUCE_L2},
    {"ReduceLogSum", HN_REDUCE_LOGSUM}, {"ReduceLogSumExp", HN_REDUCE_LOGSUMEXP},
    {"ReduceMax", HN_REDUCE_MAX},       {"ReduceMean", HN_REDUCE_MEAN},
    {"ReduceMin", HN_REDUCE_MIN},       {"ReduceProd", HN_REDUCE_PROD},
    {"ReduceSum", HN_REDUCE_SUM},       {"ReduceSumSquare", HN_REDUCE_SUMSQ},
};

/* The axes, as bits. False: they are computed, or there are none. */
static bool find_axes(const hn_node *n, int rank, uint32_t *reduced) {
    const hn_tensor *axes = hn_node_constant(n, 1);
    if (hn_node_input(n, 1) != NULL && axes == NULL) return false;
    int64_t count = axes != NULL ? axes->n : 0;
    *reduced = 0;
    if (count == 0 && hn_attr_i(n, "noop_with_empty_axes") == 0) *reduced = (1u << rank) - 1;
    for (int64_t i = 0; i < count; i++) {
        int64_t axis = hn_tensor_s64(axes, i);
        *reduced |= 1u << (axis < 0 ? axis + rank : axis);
    }
    return *reduced != 0;
}

/* Brings reduced axes that are not neighbours to the front: of an image with channels last, all
 * but the channels are so already. They are then [*first, *end). */
static void join_axes(hn_view *x, uint32_t reduced, int *first, int *end) {
    hn_view v = *x;
    *first = 0;
    while ((reduced >> *first & 1) == 0) ++*first;
    for (*end = *first; (reduced >> *end & 1) != 0;) ++*end;
    if (reduced >> *end == 0) return;
    int n = 0;
    for (int side = 1; side >= 0; side--) {
        for (int i = 0; i < v.rank; i++) {
            if ((int)(reduced >> i & 1) != side) continue;
            x->dims[n] = v.dims[i];
            x->strides[n++] = v.strides[i];
        }
        if (side == 1) *end = n;
    }
    *first = 0;
}

/* The operation of reduce_num, or HN_REDUCE_NUM_OPS_. */
static hn_reduce_num_op number_op(hn_reduce_op op) {
    switch (op) {
        case HN_REDUCE_SUM: return HN_REDUCE_NUM_SUM;
        case HN_REDUCE_MEAN: return HN_REDUCE_NUM_MEAN;
        case HN_REDUCE_PROD: return HN_REDUCE_NUM_PROD;
        case HN_REDUCE_MAX: return HN_REDUCE_NUM_MAX;
        case HN_REDUCE_MIN: return HN_REDUCE_NUM_MIN;
        case HN_REDUCE_L1: return HN_REDUCE_NUM_L1;
        case HN_REDUCE_L2: return HN_REDUCE_NUM_L2;
        case HN_REDUCE_SUMSQ: return HN_REDUCE_NUM_SUMSQ;
        case HN_REDUCE_LOGSUM: return HN_REDUCE_NUM_LOGSUM;
        case HN_REDUCE_LOGSUMEXP: return HN_REDUCE_NUM_LOGSUMEXP;
        default: return HN_REDUCE_NUM_OPS_;
    }
}

hone_status hn_lower_reduce_step(hn_lower *L, const hn_node *n, hn_reduce_op op,
                                 const int64_t dims[3], const hn_view *x, const hn_view *y,
                                 hn_step **out, hn_error *err) {
    hn_reduce_f32 p = {.op = op,
                       .outer = dims[0],
                       .r = dims[1],
                       .inner = dims[2],
                       .x_outer = dims[1] * dims[2],
                       .x_r = dims[2],
                       .y_outer = dims[2]};
    hn_reduce_num q = {number_op(op), x->dtype, dims[0], dims[1], dims[2]};
    hn_step *s;
    if (x->dtype == HONE_DTYPE_F32)
        HN_TRY(hn_lower_step(L, n, &hn_reduce_f32_family, &p, sizeof p, &s, err));
    else
        HN_TRY(hn_lower_step(L, n, &hn_reduce_num_family, &q, sizeof q, &s, err));
    s->facts->flops = (double)hn_view_count(x);
    s->facts->bytes = (double)(hn_view_count(x) + hn_view_count(y)) * hone_dtype_bits(x->dtype) / 8;
    hn_step_reads(s, HN_REDUCE_X, x);
    hn_step_writes(s, HN_REDUCE_Y, y);
    *out = s;
    return HONE_OK;
}

_Static_assert((int)HN_REDUCE_X == (int)HN_REDUCE_NUM_X && (int)HN_REDUCE_Y == (int)HN_REDUCE_NUM_Y,
               "the families have the same operands");

hone_status hn_lower_reduce(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    hn_view x = hn_lower_in(L, n, 0), y = hn_lower_out(n, 0);
    int first, end;
    uint32_t reduced;
    size_t row = 0;
    while (strcmp(rows[row].op, n->op->name) != 0) row++;
    hn_reduce_op op = rows[row].reduce;
    hn_reduce_num_op number = number_op(op);
    if (x.dtype != HONE_DTYPE_F32 &&
        (number == HN_REDUCE_NUM_OPS_ || !hn_reduce_num_has(number, x.dtype)))
        HN_DECLINE(L, "not of the types that reduce_num has");
    if (hn_view_count(&x) == 0) HN_DECLINE(L, "nothing to compute");
    if (!find_axes(n, x.rank, &reduced)) HN_DECLINE(L, "over axes that are computed, or none");
    join_axes(&x, reduced, &first, &end);
    bool image = x.dtype == HONE_DTYPE_F32 && x.rank == 4 && first == 2 && end == 4;
    if (image && !hn_view_is_dense(&x)) {
        HN_TRY(hn_lower_reduce_image(L, n, op, done, err));
        if (*done) return HONE_OK;
    }
    HN_TRY(hn_lower_dense(L, n, &x, err));
    HN_TRY(hn_lower_place(L, &y, NULL, err));
    int64_t dims[3] = {1, 1, 1};
    for (int i = 0; i < x.rank; i++) dims[i < first ? 0 : i < end ? 1 : 2] *= x.dims[i];
    hn_step *s;
    HN_TRY(hn_lower_reduce_step(L, n, op, dims, &x, &y, &s, err));
    hn_lower_set(L, n, 0, &y, s);
    *done = true;
    return HONE_OK;
}

/* The reductions. Over the spatial axes of an image they are global pools by another name, which
 * keep its layout; over any other run of neighbouring axes, a problem of reduce_f32. */
#include <string.h>

#include "engine/lower.h"
#include "kernels/reduce_f32/reduce_f32.h"

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

/* The axes are [*first, *end). False: they are computed, or not neighbours. */
static bool find_axes(const hn_node *n, int rank, int *first, int *end) {
    const hn_tensor *axes = hn_node_constant(n, 1);
    if (hn_node_input(n, 1) != NULL && axes == NULL) return false;
    int64_t count = axes != NULL ? axes->n : 0;
    *first = 0;
    *end = count == 0 && hn_attr_i(n, "noop_with_empty_axes") == 0 ? rank : 0;
    if (count == 0) return *end > 0;
    uint32_t reduced = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t axis = hn_tensor_s64(axes, i);
        reduced |= 1u << (axis < 0 ? axis + rank : axis);
    }
    while ((reduced >> *first & 1) == 0) ++*first;
    for (*end = *first; (reduced >> *end & 1) != 0;) ++*end;
    return reduced >> *end == 0;
}

hone_status hn_lower_reduce(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    hn_view x = hn_lower_in(L, n, 0), y = hn_lower_out(n, 0);
    int first, end;
    size_t row = 0;
    while (strcmp(rows[row].op, n->op->name) != 0) row++;
    if (x.dtype != HONE_DTYPE_F32) HN_DECLINE(L, "not f32");
    if (hn_view_count(&x) == 0) HN_DECLINE(L, "nothing to compute");
    if (!find_axes(n, x.rank, &first, &end)) HN_DECLINE(L, "not over neighbouring axes");
    if (x.rank == 4 && first == 2 && end == 4) {
        HN_TRY(hn_lower_reduce_image(L, n, rows[row].reduce, done, err));
        if (*done) return HONE_OK;
    }
    HN_TRY(hn_lower_dense(L, n, &x, err));
    HN_TRY(hn_lower_place(L, &y, NULL, err));
    hn_reduce_f32 p = {.op = rows[row].reduce, .outer = 1, .r = 1, .inner = 1};
    for (int i = 0; i < x.rank; i++)
        *(i < first ? &p.outer : i < end ? &p.r : &p.inner) *= x.dims[i];
    p.x_r = p.y_outer = p.inner;
    p.x_outer = p.r * p.inner;
    hn_step *s;
    HN_TRY(hn_lower_step(L, n, &hn_reduce_f32_family, &p, sizeof p, &s, err));
    s->flops = (double)hn_view_count(&x);
    s->bytes = 4.0 * (double)(hn_view_count(&x) + hn_view_count(&y));
    hn_step_reads(s, HN_REDUCE_X, &x);
    hn_step_writes(s, HN_REDUCE_Y, &y);
    hn_lower_set(L, n, 0, &y, s);
    *done = true;
    return HONE_OK;
}

/* MeanVarianceNormalization: (x - mean) / (standard deviation + 1e-9) over any axes. The 1e-9 is in
 * ONNX's definition of it as a function; it keeps a group of equal elements at 0. */
#include "ops/axes.h"
#include "ops/grad.h"
#include "ops/norm_ref.h"

hone_status hn_mean_variance_axes(const hn_node *n, int rank, uint32_t *together, hn_error *err) {
    static const int64_t usual[] = {0, 2, 3};
    int count;
    const int64_t *given = hn_attr_ints(n, "axes", &count);
    if (given == NULL) given = usual, count = 3;
    HN_CHECK(err, count <= HONE_MAX_RANK, HONE_E_ARG, "%d axes are listed, expected at most %d",
             count, HONE_MAX_RANK);
    int64_t axes[HONE_MAX_RANK];
    for (int i = 0; i < count; i++) axes[i] = given[i];
    HN_TRY(hn_want_axes(axes, count, rank, err));
    *together = 0;
    for (int i = 0; i < count; i++) *together |= 1u << axes[i];
    return HONE_OK;
}

static hone_status infer(hn_infer *c, hn_error *err) {
    uint32_t together;
    if (hn_in_rank(c, 0) >= 0)
        HN_TRY(hn_mean_variance_axes(c->node, hn_in_rank(c, 0), &together, err));
    return hn_infer_same(c, err);
}

static hone_status ref(hn_eval *e, hn_error *err) {
    const hn_tensor *x = e->in[0];
    hn_norm n = {
        .load = hn_load_tensor, .src = x, .y = e->out[0], .outside = HN_MEAN_VARIANCE_OUTSIDE};
    uint32_t together;
    HN_TRY(hn_mean_variance_axes(e->node, x->rank, &together, err));
    if (x->n == 0) return HONE_OK;
    hn_groups_init(&n.groups, x->rank, x->dims, together);
    hn_norm_ref(e->pool, &n);
    return HONE_OK;
}

/* The mean over the axes whose bits are set, which stay. */
static hn_value *mean(hn_grad *g, hn_value *x, uint32_t axes, int64_t count) {
    return HN_EMIT2(g, "Div", hn_emit_sum(g, x, axes, true), hn_emit_number(g, (double)count));
}

static hone_status spell(hn_grad *g, hn_value **y, hn_error *err) {
    int64_t dims[HONE_MAX_RANK], count = 1;
    int rank = hn_grad_dims(g, hn_grad_in(g, 0), dims);
    uint32_t together;
    HN_TRY(hn_mean_variance_axes(g->node, rank, &together, err));
    for (int i = 0; i < rank; i++)
        if (together >> i & 1) count *= dims[i];
    hn_value *x = hn_grad_in(g, 0), *d = HN_EMIT2(g, "Sub", x, mean(g, x, together, count));
    hn_value *var = mean(g, HN_EMIT2(g, "Mul", d, d), together, count);
    y[0] = HN_TEXT(g, "a / (Sqrt(b) + c)", d, var, hn_emit_number(g, HN_MEAN_VARIANCE_OUTSIDE));
    return HONE_OK;
}

const hn_op_def hn_op_mean_variance_normalization = {
    .name = "MeanVarianceNormalization",
    .versions = "9 13",
    .sig = "(X:T) -> (Y:T); T: float",
    .attrs = (const hn_attr_def[]){HN_ATTR_OPT("axes", INTS), {0}},
    .infer = infer,
    .ref = ref,
    .spell = spell};

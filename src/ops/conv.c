/* Conv: convolution over any number of spatial axes, in groups. */
#include "ops/conv_ref.h"
#include "ops/grad.h"

static hone_status infer(hn_infer *c, hn_error *err) { return hn_conv_infer(c, 0, 1, 2, err); }

static void cost(const hn_infer *c, hn_cost *out) { hn_conv_cost(c, 1, out); }

static hone_status ref(hn_eval *e, hn_error *err) {
    hn_conv conv;
    HN_TRY(hn_conv_plan(e->node, e->in[0], e->in[1], e->out[0], &conv, err));
    return hn_conv_floats(e, &conv, hn_eval_in(e, 2), NULL, NULL, e->out[0], err);
}

static const hn_attr_def attrs[] = {
    HN_SPATIAL_ATTRS,
    HN_ATTR_I("group", 1),
    HN_ATTR_OPT("kernel_shape", INTS),
    {0},
};

/* W [M, C / group, ...] */
static bool use(const hn_node *n, int rank, const int64_t *dims, hn_weight_use *u) {
    if (rank < 3) return false;
    *u = (hn_weight_use){.alpha = 1, .beta = 1, .channel_axis = 0};
    u->sum_axis = dims[1] == 1 && hn_attr_i(n, "group") > 1 ? -1 : 1;
    return true;
}

/* By X: the transposed convolution, which gives back what rounding down left out. By B: sums. */
static hone_status grad(hn_grad *g, hn_error *err) {
    int64_t x[HONE_MAX_RANK], w[HONE_MAX_RANK], y[HONE_MAX_RANK], left[HN_MAX_SPATIAL];
    int rank = hn_grad_dims(g, hn_grad_in(g, 0), x);
    hn_grad_dims(g, hn_grad_in(g, 1), w);
    hn_grad_dims(g, hn_grad_out(g, 0), y);
    if (g->status != HONE_OK) return g->status;
    hn_spatial s;
    HN_TRY(hn_spatial_read(g->node, rank - 2, &s, err));
    for (int i = 0; i < s.rank; i++) s.kernel[i] = w[2 + i];
    hn_spatial_resolve(&s, x + 2);
    for (int i = 0; i < s.rank; i++)
        left[i] = x[2 + i] + s.pad[i] + s.pad_end[i] - hn_spatial_extent(&s, i) -
                  (y[2 + i] - 1) * s.stride[i];
    if (hn_grad_wants(g, 0)) {
        hn_value *in[] = {g->dy[0], hn_grad_in(g, 1)};
        hn_node *n = hn_emit_node(g, "", "ConvTranspose", 1, 2, in);
        hn_emit_windows(g, n, &s);
        hn_emit_ints_attr(g, n, "output_padding", left, s.rank);
        hn_emit_i(g, n, "group", hn_attr_i(g->node, "group"));
        hn_grad_give(g, 0, hn_emitted(n, 0));
    }
    if (hn_grad_wants(g, 1))
        hn_grad_give(g, 1, hn_emit_conv_grad_w(g, hn_grad_in(g, 0), g->dy[0], &s));
    hn_grad_give(
        g, 2,
        hn_grad_wants(g, 2) ? hn_emit_sum(g, g->dy[0], ((1u << rank) - 1) & ~2u, false) : NULL);
    return HONE_OK;
}

const hn_op_def hn_op_conv = {
    .name = "Conv",
    .versions = "1 11 22",
    .sig = "(X:T, W:T, B:T?) -> (Y:T); T: float",
    .attrs = attrs,
    .role = HN_ROLE_PRODUCT,
    .sizes = {HN_SIZES_GROUPS},
    .weights =
        &(const hn_weights_def){
            .kind = HN_WEIGHT_WINDOWS, .input = 1, .bias = 2, .dynamic = "ConvInteger", .use = use},
    .infer = infer,
    .ref = ref,
    .grad = grad,
    .cost = cost,
};

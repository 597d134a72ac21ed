/* Conv: convolution over any number of spatial axes, in groups. */
#include "ops/conv_ref.h"

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

const hn_op_def hn_op_conv = {
    .name = "Conv",
    .versions = "1 11 22",
    .sig = "(X:T, W:T, B:T?) -> (Y:T); T: float",
    .attrs = attrs,
    .role = HN_ROLE_PRODUCT,
    .weights =
        &(const hn_weights_def){
            .kind = HN_WEIGHT_WINDOWS, .input = 1, .bias = 2, .dynamic = "ConvInteger", .use = use},
    .infer = infer,
    .ref = ref,
    .cost = cost,
};

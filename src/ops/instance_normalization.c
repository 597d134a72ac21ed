/* InstanceNormalization: each channel of each sample by its own mean and variance;
 * GroupNormalization: several channels together. X is [N, C, ...].
 */
#include "ops/grad.h"
#include "ops/norm_ref.h"

static hone_status infer_channels(hn_infer *c, hn_error *err) {
    HN_TRY(hn_want_rank(c, 0, 2, HONE_MAX_RANK, err));
    const hn_shape *x = hn_in_shape(c, 0);
    for (int i = 1; i < 3; i++) {
        if (x->rank >= 0)
            HN_TRY(hn_want_channels(c, i, x->dim[1], err));
        else
            HN_TRY(hn_want_rank(c, i, 1, 1, err));
    }
    hn_set_shape(c, 0, x);
    return HONE_OK;
}

static hone_status infer_group(hn_infer *c, hn_error *err) {
    int64_t groups = hn_attr_i(c->node, "num_groups"), channels;
    HN_CHECK(err, groups > 0, HONE_E_ARG, "num_groups is %lld, expected 1 or more",
             (long long)groups);
    HN_TRY(infer_channels(c, err));
    if (hn_in_rank(c, 0) >= 0 && hn_dim_is_const(hn_in_shape(c, 0)->dim[1], &channels))
        HN_CHECK(err, channels % groups == 0, HONE_E_SHAPE,
                 "%lld channels cannot be divided into %lld groups", (long long)channels,
                 (long long)groups);
    return HONE_OK;
}

/* Seen as [samples, groups, elements of a group]. */
static hone_status normalize(hn_eval *e, int64_t groups) {
    const hn_tensor *x = e->in[0];
    if (x->n == 0) return HONE_OK;
    hn_norm n = {
        .load = hn_load_tensor, .src = x, .y = e->out[0], .epsilon = hn_attr_f(e->node, "epsilon")};
    const int64_t dims[3] = {x->dims[0], groups, x->n / x->dims[0] / groups};
    hn_groups_init(&n.groups, 3, dims, hn_axes_from(2, 3));
    hn_broadcast_channels(&n.scale, e->in[1], x->rank, x->dims, 1);
    hn_broadcast_channels(&n.bias, e->in[2], x->rank, x->dims, 1);
    hn_norm_ref(e->pool, &n);
    return HONE_OK;
}

static hone_status ref_instance(hn_eval *e, hn_error *err) {
    (void)err;
    return normalize(e, e->in[0]->dims[1]);
}

static hone_status ref_group(hn_eval *e, hn_error *err) {
    (void)err;
    return normalize(e, hn_attr_i(e->node, "num_groups"));
}

/* LayerNormalization of [samples, groups, elements of a group], and a scale and a shift by channel. */
static void spell(hn_grad *g, int64_t groups, hn_value **y) {
    int64_t dims[HONE_MAX_RANK], inner = 1, by[HONE_MAX_RANK];
    int rank = hn_grad_dims(g, hn_grad_in(g, 0), dims);
    if (g->status != HONE_OK) return;
    for (int i = 1; i < rank; i++) inner *= dims[i];
    const int64_t grouped[3] = {dims[0], groups, groups > 0 ? inner / groups : 0};
    hn_value *in[] = {hn_emit_reshape(g, hn_grad_in(g, 0), 3, grouped),
                      hn_emit_filled(g, 1, 1, &grouped[2])};
    if (in[0] == NULL || in[1] == NULL) return;
    hn_node *norm = hn_emit_node(g, "", "LayerNormalization", 1, 2, in);
    hn_emit_copied(g, norm, "epsilon");
    hn_value *unit = hn_emit_reshape(g, hn_emitted(norm, 0), rank, dims);
    for (int i = 1; i < rank; i++) by[i - 1] = i == 1 ? dims[1] : 1;
    y[0] = HN_TEXT(g, "a * b + c", unit, hn_emit_reshape(g, hn_grad_in(g, 1), rank - 1, by),
                   hn_emit_reshape(g, hn_grad_in(g, 2), rank - 1, by));
}

static hone_status spell_instance(hn_grad *g, hn_value **y, hn_error *err) {
    (void)err;
    int64_t dims[HONE_MAX_RANK];
    if (hn_grad_dims(g, hn_grad_in(g, 0), dims) > 0) spell(g, dims[1], y);
    return HONE_OK;
}

static hone_status spell_group(hn_grad *g, hn_value **y, hn_error *err) {
    (void)err;
    spell(g, hn_attr_i(g->node, "num_groups"), y);
    return HONE_OK;
}

const hn_op_def hn_op_instance_normalization = {
    .name = "InstanceNormalization",
    .versions = "1 6 22",
    .sig = "(input:T, scale:T, B:T) -> (output:T); T: float",
    .attrs = (const hn_attr_def[]){HN_ATTR_F("epsilon", 1e-5f), {0}},
    .mixing = HN_MIXES_SPACE,
    .infer = infer_channels,
    .ref = ref_instance,
    .spell = spell_instance};

const hn_op_def hn_op_group_normalization = {
    .name = "GroupNormalization",
    .versions = "18 21",
    .sig = "(X:T, scale:T, bias:T) -> (Y:T); T: float",
    .attrs = (const hn_attr_def[]){HN_ATTR_F("epsilon", 1e-5f),
                                   HN_ATTR_REQ("num_groups", INT),
                                   HN_ATTR_I("stash_type", 1),
                                   {0}},
    .infer = infer_group,
    .ref = ref_group,
    .spell = spell_group};

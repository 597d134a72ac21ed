/* BatchNormalization: each channel (axis 1; a 1-d input is one channel) by statistics that are
 * given or, in training mode, by its own, which then move the running ones.
 */
#include "ops/grad.h"
#include "ops/norm_ref.h"

static bool training(const hn_node *n) { return hn_attr_i(n, "training_mode") != 0; }

static hone_status infer(hn_infer *c, hn_error *err) {
    HN_CHECK(err, training(c->node) || (!hn_wants_out(c, 1) && !hn_wants_out(c, 2)), HONE_E_MODEL,
             "running_mean and running_var exist in training mode only");
    HN_TRY(hn_want_rank(c, 0, 1, HONE_MAX_RANK, err));
    hn_dim channels = NULL;
    if (hn_in_rank(c, 0) >= 0)
        channels = hn_in_rank(c, 0) == 1 ? hn_dim_const(c->dims, 1) : hn_in_shape(c, 0)->dim[1];
    for (int i = 1; i < 5; i++) {
        if (channels == NULL) {
            HN_TRY(hn_want_rank(c, i, 1, 1, err));
            if (hn_in_rank(c, i) == 1) channels = hn_in_shape(c, i)->dim[0];
        } else {
            HN_TRY(hn_want_channels(c, i, channels, err));
        }
    }
    hn_set_shape(c, 0, hn_in_shape(c, 0));
    if (channels == NULL) return HONE_OK;
    hn_shape stats = {.rank = 1, .dim = {channels}};
    hn_set_shape(c, 1, &stats);
    hn_set_shape(c, 2, &stats);
    return HONE_OK;
}

/* The momentum keeps that share of the old. */
static void move(const hn_tensor *old, const double *batch, double momentum, hn_tensor *out) {
    if (out == NULL) return;
    for (int64_t i = 0; i < out->n; i++)
        hn_store_f64(out->dtype, out->data, i,
                     hn_tensor_f64(old, i) * momentum + batch[i] * (1 - momentum));
}

static hone_status ref(hn_eval *e, hn_error *err) {
    const hn_tensor *x = e->in[0];
    /* One channel more to see: [N] is [N, 1]. */
    int rank = x->rank > 1 ? x->rank : 2;
    int64_t dims[HONE_MAX_RANK] = {x->dims[0], 1};
    if (x->rank > 1) memcpy(dims, x->dims, sizeof dims);
    hn_norm n = {.load = hn_load_tensor,
                 .src = x,
                 .y = e->out[0],
                 .epsilon = hn_attr_f(e->node, "epsilon"),
                 .given = !training(e->node),
                 .mean = hn_scratch_f64(e, e->in[3]),
                 .var = hn_scratch_f64(e, e->in[4])};
    if (n.mean == NULL || n.var == NULL) return HN_NOMEM(err);
    hn_groups_init(&n.groups, rank, dims, hn_axes_from(0, rank) & ~2u);
    hn_broadcast_channels(&n.scale, e->in[1], rank, dims, 1);
    hn_broadcast_channels(&n.bias, e->in[2], rank, dims, 1);
    hn_norm_ref(e->pool, &n);
    double momentum = hn_attr_f(e->node, "momentum");
    move(e->in[3], n.mean, momentum, hn_eval_out(e, 1));
    move(e->in[4], n.var, momentum, hn_eval_out(e, 2));
    return HONE_OK;
}

/* By given statistics it multiplies and adds; in training mode these are X's own. */
static hone_status grad(hn_grad *g, hn_error *err) {
    int64_t dims[HONE_MAX_RANK], per[HONE_MAX_RANK];
    hn_value *x = hn_grad_in(g, 0), *mean = hn_grad_in(g, 3), *var = hn_grad_in(g, 4);
    int rank = hn_grad_dims(g, x, dims);
    if (rank < 2) return hn_grad_refuse(g, "its input has no axis of channels", err);
    if (training(g->node)) {
        hn_node *stats = hn_emit_node(g, HN_TRAIN_DOMAIN, "BatchStats", 2, 1, &x);
        hn_value *in[] = {g->dy[0], x, hn_grad_in(g, 1), hn_emitted(stats, 0),
                          hn_emitted(stats, 1)};
        hn_node *n = hn_emit_node(g, HN_TRAIN_DOMAIN, "BatchNormGrad", 3, 5, in);
        hn_emit_copied(g, n, "epsilon");
        for (int i = 0; i < 3; i++) hn_grad_give(g, i, hn_emitted(n, i));
        return HONE_OK;
    }
    for (int i = 0; i < rank; i++) per[i] = i == 1 ? dims[1] : 1;
    hn_value *shift = hn_emit_number(g, (double)hn_attr_f(g->node, "epsilon"));
    hn_value *root = HN_EMIT1(g, "Sqrt", HN_EMIT2(g, "Add", var, shift));
    hn_value *r = hn_emit_reshape(g, HN_EMIT1(g, "Reciprocal", root), rank, per);
    hn_value *scale = hn_emit_reshape(g, hn_grad_in(g, 1), rank, per);
    if (hn_grad_wants(g, 0))
        hn_grad_give(g, 0, HN_EMIT2(g, "Mul", g->dy[0], HN_EMIT2(g, "Mul", scale, r)));
    uint32_t others = ((1u << rank) - 1) & ~2u;
    if (hn_grad_wants(g, 1)) {
        hn_value *d = HN_EMIT2(g, "Sub", x, hn_emit_reshape(g, mean, rank, per));
        hn_value *xhat = HN_EMIT2(g, "Mul", d, r);
        hn_grad_give(g, 1, hn_emit_sum(g, HN_EMIT2(g, "Mul", g->dy[0], xhat), others, false));
    }
    if (hn_grad_wants(g, 2)) hn_grad_give(g, 2, hn_emit_sum(g, g->dy[0], others, false));
    if (hn_grad_wants(g, 3) || hn_grad_wants(g, 4))
        return hn_grad_refuse(g, "its statistics are trained", err);
    return HONE_OK;
}

const hn_op_def hn_op_batch_normalization = {
    .name = "BatchNormalization",
    .versions = "1 6 7 9 14 15",
    .sig =
        "(X:T, scale:T1, B:T1, input_mean:T2, input_var:T2) -> (Y:T, running_mean:T2?, "
        "running_var:T2?); T: float; T1: float; T2: float",
    .attrs = (const hn_attr_def[]){HN_ATTR_F("epsilon", 1e-5f),
                                   HN_ATTR_F("momentum", 0.9f),
                                   HN_ATTR_I("training_mode", 0),
                                   {0}},
    .settings = 1 << 3 | 1 << 4,
    .mixing = HN_MIXES_SPACE,
    .infer = infer,
    .ref = ref,
    .grad = grad};

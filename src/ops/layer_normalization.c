/* Normalization over the last axes, from `axis` on: LayerNormalization (mean and variance),
 * RMSNormalization and its forerunner in ONNX Runtime, SimplifiedLayerNormalization (mean square).
 * Scale and bias broadcast to X.
 */
#include "ops/grad.h"
#include "ops/norm_ref.h"

/* Which outputs the statistics are, 0: none. Without one for the mean there is no mean. */
typedef struct layer {
    int mean, inv_std;
} layer;

static hone_status infer(hn_infer *c, hn_error *err) {
    int64_t stash = hn_attr_i(c->node, "stash_type"), axis = hn_attr_i(c->node, "axis");
    bool is_float =
        stash > 0 && stash < HONE_DTYPE_COUNT_ && hn_dtype_in((hone_dtype)stash, HN_DTYPES_FLOAT);
    HN_CHECK(err, is_float, HONE_E_ARG, "stash_type is %lld, expected 1, 10, 11 or 16",
             (long long)stash);
    const hn_shape *x = hn_in_shape(c, 0);
    for (int i = 1; i < c->n_in; i++) HN_TRY(hn_want_broadcast_to(c, i, x, err));
    hn_set_shape(c, 0, x);
    hn_shape stats = *x;
    if (x->rank >= 0) {
        HN_TRY(hn_want_axis(&axis, x->rank, err));
        for (int k = (int)axis; k < x->rank; k++) stats.dim[k] = hn_dim_const(c->dims, 1);
    }
    for (int i = 1; i < c->n_out; i++) {
        hn_set_dtype(c, i, (hone_dtype)stash);
        hn_set_shape(c, i, &stats);
    }
    return HONE_OK;
}

static hone_status ref(hn_eval *e, hn_error *err) {
    const layer *op = e->node->op->data;
    const hn_tensor *x = e->in[0], *bias = hn_eval_in(e, 2);
    hn_norm n = {.load = hn_load_tensor,
                 .src = x,
                 .y = e->out[0],
                 .epsilon = hn_attr_f(e->node, "epsilon"),
                 .no_mean = op->mean == 0,
                 .mean_out = op->mean > 0 ? hn_eval_out(e, op->mean) : NULL,
                 .inv_std_out = op->inv_std > 0 ? hn_eval_out(e, op->inv_std) : NULL};
    int64_t axis = hn_attr_i(e->node, "axis");
    HN_TRY(hn_want_axis(&axis, x->rank, err));
    if (x->n == 0 && n.mean_out == NULL && n.inv_std_out == NULL) return HONE_OK;
    hn_groups_init(&n.groups, x->rank, x->dims, hn_axes_from((int)axis, x->rank));
    hn_broadcast_init(&n.scale, e->in[1], x->rank, x->dims);
    if (bias != NULL) hn_broadcast_init(&n.bias, bias, x->rank, x->dims);
    hn_norm_ref(e->pool, &n);
    return HONE_OK;
}

/* With a scale for each element of a row. */
static hone_status grad(hn_grad *g, hn_error *err) {
    const layer *op = g->node->op->data;
    int64_t x[HONE_MAX_RANK], scale[HONE_MAX_RANK], axis = hn_attr_i(g->node, "axis");
    int rank = hn_grad_dims(g, hn_grad_in(g, 0), x), n = hn_grad_dims(g, hn_grad_in(g, 1), scale);
    if (g->status != HONE_OK) return g->status;
    HN_TRY(hn_want_axis(&axis, rank, err));
    bool plain = n == rank - (int)axis;
    for (int i = 0; plain && i < n; i++) plain = scale[i] == x[axis + i];
    if (!plain) return hn_grad_refuse(g, "its scale is broadcast", err);
    hn_value *in[] = {g->dy[0], hn_grad_in(g, 0), hn_grad_in(g, 1)};
    hn_node *node = hn_emit_node(g, HN_TRAIN_DOMAIN, "LayerNormGrad", 3, 3, in);
    hn_emit_copied(g, node, "epsilon");
    hn_emit_i(g, node, "centred", op->mean != 0);
    for (int i = 0; i < 3; i++) hn_grad_give(g, i, hn_emitted(node, i));
    return HONE_OK;
}

static const hn_attr_def attrs[] = {
    HN_ATTR_I("axis", -1), HN_ATTR_F("epsilon", 1e-5f), HN_ATTR_I("stash_type", 1), {0}};

#define LAYER(lc, DOMAIN, NAME, VERSIONS, SIG, TRAITS, ...) \
    const hn_op_def hn_op_##lc = {.domain = DOMAIN,         \
                                  .name = NAME,             \
                                  .versions = VERSIONS,     \
                                  .sig = SIG,               \
                                  .attrs = attrs,           \
                                  .traits = TRAITS,         \
                                  .infer = infer,           \
                                  .ref = ref,               \
                                  .grad = grad,             \
                                  .data = &(const layer){__VA_ARGS__}};

LAYER(layer_normalization, "", "LayerNormalization", "17",
      "(X:T, Scale:T, B:T?) -> (Y:T, Mean:U?, InvStdDev:U?); T: float; U: float", HN_NORM, 1, 2)
LAYER(rms_normalization, "", "RMSNormalization", "23",
      "(X:T, scale:V) -> (Y:V); T: float; V: float", HN_NORM, 0, 0)

/* ONNX Runtime registers it among the standard operators; com.microsoft is where one looks first.
 */
#define SIMPLIFIED "(X:T, scale:V) -> (Y:V, inv_std_var:U?); T: float; U: float; V: float"
LAYER(simplified_layer_normalization, "", "SimplifiedLayerNormalization", "1", SIMPLIFIED, 0, 0, 1)
LAYER(ms_simplified_layer_normalization, "com.microsoft", "SimplifiedLayerNormalization", "1",
      SIMPLIFIED, 0, 0, 1)

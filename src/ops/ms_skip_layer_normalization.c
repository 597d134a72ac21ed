/* SkipLayerNormalization and SkipSimplifiedLayerNormalization of ONNX Runtime: input + skip + bias,
 * normalized over the last axis. skip may lack the batch axis or have it of size 1. The sum is an
 * output too: the next layer's skip.
 */
#include "ops/grad.h"
#include "ops/norm_ref.h"

enum { OUTPUT, MEAN, INV_STD, SUM }; /* outputs */

/* Which inputs these are; the simplified form has no beta (0), and no mean. */
typedef struct skip {
    int beta, bias;
} skip;

static hone_status infer(hn_infer *c, hn_error *err) {
    const hn_shape *x = hn_in_shape(c, 0);
    HN_TRY(hn_want_rank(c, 0, 2, 3, err));
    HN_TRY(hn_want_rank(c, 1, 2, 3, err));
    HN_TRY(hn_want_broadcast_to(c, 1, x, err));
    hn_shape stats = *x;
    if (x->rank >= 0) {
        for (int i = 2; i < c->n_in; i++) HN_TRY(hn_want_channels(c, i, x->dim[x->rank - 1], err));
        stats.dim[x->rank - 1] = hn_dim_const(c->dims, 1);
    }
    hn_set_shape(c, OUTPUT, x);
    hn_set_shape(c, MEAN, &stats);
    hn_set_shape(c, INV_STD, &stats);
    hn_set_shape(c, SUM, x);
    return HONE_OK;
}

typedef struct sum {
    const hn_tensor *x;
    hn_tensor *out;
    hn_broadcast skip, bias; /* bias.tensor may be NULL */
} sum;

static void load_sum(const void *src, int64_t from, int64_t n, double *dst) {
    const sum *s = src;
    double add[HN_BLOCK];
    hn_load_f64_n(s->x->dtype, s->x->data, from, n, dst);
    hn_broadcast_f64(&s->skip, from, n, add);
    for (int64_t i = 0; i < n; i++) dst[i] += add[i];
    if (s->bias.tensor == NULL) return;
    hn_broadcast_f64(&s->bias, from, n, add);
    for (int64_t i = 0; i < n; i++) dst[i] += add[i];
}

static void put_sum(void *ctx, int64_t from, int64_t n) {
    const sum *s = ctx;
    double x[HN_BLOCK];
    load_sum(s, from, n, x);
    hn_store_f64_n(s->out->dtype, s->out->data, from, n, x);
}

static hone_status ref(hn_eval *e, hn_error *err) {
    (void)err;
    const skip *op = e->node->op->data;
    const hn_tensor *x = e->in[0], *bias = hn_eval_in(e, op->bias);
    const hn_tensor *beta = op->beta > 0 ? hn_eval_in(e, op->beta) : NULL;
    sum s = {.x = x, .out = hn_eval_out(e, SUM)};
    hn_broadcast_init(&s.skip, e->in[1], x->rank, x->dims);
    if (bias != NULL) hn_broadcast_init(&s.bias, bias, x->rank, x->dims);
    hn_norm n = {.load = load_sum,
                 .src = &s,
                 .y = e->out[OUTPUT],
                 .epsilon = hn_attr_f(e->node, "epsilon"),
                 .no_mean = op->beta == 0,
                 .mean_out = hn_eval_out(e, MEAN),
                 .inv_std_out = hn_eval_out(e, INV_STD)};
    if (x->n == 0 && n.mean_out == NULL && n.inv_std_out == NULL) return HONE_OK;
    hn_groups_init(&n.groups, x->rank, x->dims, hn_axes_from(x->rank - 1, x->rank));
    hn_broadcast_init(&n.scale, e->in[2], x->rank, x->dims);
    if (beta != NULL) hn_broadcast_init(&n.bias, beta, x->rank, x->dims);
    hn_norm_ref(e->pool, &n);
    if (s.out != NULL) hn_for_blocks(e->pool, x->n, put_sum, &s);
    return HONE_OK;
}

static hone_status spell(hn_grad *g, hn_value **y, hn_error *err) {
    (void)err;
    const skip *op = g->node->op->data;
    hn_value *bias = hn_grad_in(g, op->bias);
    hn_value *beta = op->beta > 0 ? hn_grad_in(g, op->beta) : NULL;
    hn_value *x = HN_EMIT2(g, "Add", hn_grad_in(g, 0), hn_grad_in(g, 1));
    if (bias != NULL) x = HN_EMIT2(g, "Add", x, bias);
    hn_value *in[] = {x, hn_grad_in(g, 2), beta};
    if (x == NULL) return HONE_OK;
    hn_node *n = hn_emit_node(g, "", op->beta > 0 ? "LayerNormalization" : "RMSNormalization", 1,
                              beta != NULL ? 3 : 2, in);
    hn_emit_f(g, n, "epsilon", hn_attr_f(g->node, "epsilon"));
    y[OUTPUT] = hn_emitted(n, 0);
    y[SUM] = x;
    return HONE_OK;
}

#define SKIP(lc, NAME, BETA, ...)                                            \
    const hn_op_def hn_op_ms_##lc = {                                        \
        .domain = "com.microsoft",                                           \
        .name = NAME,                                                        \
        .versions = "1",                                                     \
        .sig = "(input:T, skip:T, gamma:T, " BETA                            \
               "bias:T?) -> (output:T, mean:f32?, "                          \
               "inv_std_var:f32?, input_skip_bias_sum:T?); T: f32 f16 bf16", \
        .attrs = (const hn_attr_def[]){HN_ATTR_F("epsilon", 1e-12f), {0}},   \
        .infer = infer,                                                      \
        .ref = ref,                                                          \
        .spell = spell,                                                      \
        .data = &(const skip){__VA_ARGS__}};

SKIP(skip_layer_normalization, "SkipLayerNormalization", "beta:T?, ", .beta = 3, .bias = 4)
SKIP(skip_simplified_layer_normalization, "SkipSimplifiedLayerNormalization", "", .bias = 3)

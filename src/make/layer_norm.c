/* Normalization, in the form for inference, and dropout. */
#include "make/layer.h"

enum { GAMMA, EPS, MOMENTUM };

static hone_status bn(hn_maker *m, const double *v) {
    static const char *const parts[] = {"weight", "bias", "running_mean", "running_var"};
    const double first[] = {v[GAMMA], 0, 0, 1};
    hn_value *p[5] = {m->flow.value};
    hn_node *n;
    for (int i = 0; i < 4; i++)
        HN_TRY(hn_make_param_of(m, parts[i], m->flow.channels, first[i], &p[i + 1]));
    HN_TRY(hn_make_op(m, "BatchNormalization", NULL, p, 5, &n, &m->flow.value));
    HN_TRY(hn_node_set_f(n, "epsilon", (float)v[EPS], m->err));
    return hn_node_set_f(n, "momentum", (float)v[MOMENTUM], m->err);
}

const hn_layer hn_layer_bn = {
    .name = "bn",
    .takes = HN_FLOW_IMAGE | HN_FLOW_VECTOR,
    .params =
        {[GAMMA] = {.name = "gamma", .least = 0, .most = 1e6, .real = true, .value = 1},
         [EPS] = {.name = "eps", .least = 0, .most = 1, .real = true, .value = 1e-5},
         [MOMENTUM] = {.name = "momentum", .least = 0, .most = 1, .real = true, .value = 0.9}},
    .make = bn,
};

static hone_status layernorm(hn_maker *m, const double *v) {
    hn_value *p[3] = {m->flow.value};
    hn_node *n;
    HN_TRY(hn_make_param_of(m, "weight", m->flow.channels, 1, &p[1]));
    HN_TRY(hn_make_param_of(m, "bias", m->flow.channels, 0, &p[2]));
    HN_TRY(hn_make_op(m, "LayerNormalization", NULL, p, 3, &n, &m->flow.value));
    HN_TRY(hn_node_set_i(n, "axis", -1, m->err));
    return hn_node_set_f(n, "epsilon", (float)v[0], m->err);
}

const hn_layer hn_layer_layernorm = {
    .name = "layernorm",
    .takes = HN_FLOW_TOKENS | HN_FLOW_VECTOR,
    .params = {{.name = "eps", .least = 0, .most = 1, .real = true, .value = 1e-5}},
    .make = layernorm,
};

/* Passes everything on unless a model is being trained. A rate of 0 is nothing at all. */
static hone_status dropout(hn_maker *m, const double *v) {
    hn_value *rate;
    if (v[0] == 0) return HONE_OK;
    HN_TRY(hn_make_scalar(m, (float)v[0], &rate));
    return HN_MAKE_OP(m, "Dropout", NULL, NULL, &m->flow.value, m->flow.value, rate);
}

const hn_layer hn_layer_dropout = {
    .name = "dropout",
    .takes = HN_FLOW_ANY,
    .params = {{.name = "rate", .least = 0, .most = 0.999, .real = true, .required = true}},
    .make = dropout,
};

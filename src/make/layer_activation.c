/* Activations: functions of each element. */
#include "make/layer.h"

static hone_status plain(hn_maker *m, const char *op) {
    return HN_MAKE_OP(m, op, NULL, NULL, &m->flow.value, m->flow.value);
}

#define ACTIVATION(lower) \
    const hn_layer hn_layer_##lower = {.name = #lower, .takes = HN_FLOW_ANY, .make = lower##_layer}
#define PLAIN(lower, op)                                             \
    static hone_status lower##_layer(hn_maker *m, const double *v) { \
        (void)v;                                                     \
        return plain(m, op);                                         \
    }                                                                \
    ACTIVATION(lower)

PLAIN(relu, "Relu");
PLAIN(sigmoid, "Sigmoid");
PLAIN(tanh, "Tanh");
PLAIN(hardswish, "HardSwish");

static hone_status relu6_layer(hn_maker *m, const double *v) {
    (void)v;
    hn_value *low, *high;
    HN_TRY(hn_make_scalar(m, 0, &low));
    HN_TRY(hn_make_scalar(m, 6, &high));
    return HN_MAKE_OP(m, "Clip", NULL, NULL, &m->flow.value, m->flow.value, low, high);
}
ACTIVATION(relu6);

/* max(0, min(1, x / 6 + 1/2)) */
static hone_status hardsigmoid_layer(hn_maker *m, const double *v) {
    (void)v;
    hn_node *n;
    HN_TRY(HN_MAKE_OP(m, "HardSigmoid", NULL, &n, &m->flow.value, m->flow.value));
    return hn_node_set_f(n, "alpha", 1.0f / 6, m->err);
}
ACTIVATION(hardsigmoid);

/* x * sigmoid(x) */
static hone_status silu_layer(hn_maker *m, const double *v) {
    (void)v;
    hn_value *gate;
    HN_TRY(HN_MAKE_OP(m, "Sigmoid", "sigmoid", NULL, &gate, m->flow.value));
    return HN_MAKE_OP(m, "Mul", NULL, NULL, &m->flow.value, m->flow.value, gate);
}
ACTIVATION(silu);

/* x * (1 + erf(x / sqrt(2))) / 2, spelled out: the operator Gelu is newer than opset 17. */
static hone_status gelu_layer(hn_maker *m, const double *v) {
    (void)v;
    hn_value *root, *one, *half, *a;
    HN_TRY(hn_make_scalar(m, 1.41421356f, &root));
    HN_TRY(hn_make_scalar(m, 1, &one));
    HN_TRY(hn_make_scalar(m, 0.5f, &half));
    HN_TRY(HN_MAKE_OP(m, "Div", "scaled", NULL, &a, m->flow.value, root));
    HN_TRY(HN_MAKE_OP(m, "Erf", "erf", NULL, &a, a));
    HN_TRY(HN_MAKE_OP(m, "Add", "gate", NULL, &a, a, one));
    HN_TRY(HN_MAKE_OP(m, "Mul", "product", NULL, &a, m->flow.value, a));
    return HN_MAKE_OP(m, "Mul", NULL, NULL, &m->flow.value, a, half);
}
ACTIVATION(gelu);

/* FusedConv and FusedGemm of com.microsoft: Conv and Gemm with an activation, which becomes the end
 * of their step. */
#include <math.h>
#include <string.h>

#include "engine/lower.h"
#include "kernels/map_f32/map_f32.h"

/* The activations that a step can end with, by the names of the operators. */
static const struct {
    const char *name;
    hn_act act; /* without parameters of the node */
} activations[] = {
    {"Relu", {HN_ACT_CLIP, 0, INFINITY}},
    {"Sigmoid", {HN_ACT_SIGMOID, 0, 0}},
    {"Tanh", {HN_ACT_TANH, 0, 0}},
};

static bool activation_of(const hn_node *n, hn_act *act) {
    const hn_attr *name = hn_node_attr(n, "activation");
    *act = (hn_act){0};
    if (name == NULL || name->u.s.n == 0) return true;
    for (size_t i = 0; i < sizeof activations / sizeof *activations; i++) {
        *act = activations[i].act;
        if (strlen(activations[i].name) == name->u.s.n &&
            memcmp(activations[i].name, name->u.s.p, name->u.s.n) == 0)
            return true;
    }
    return false;
}

/* A step for the activation of x, the value of n so far. */
static hone_status add_activation(hn_lower *L, const hn_node *n, const hn_act *act, hn_error *err) {
    const hn_value *v = hn_node_output(n, 0);
    hn_view x = L->views[v->id], y = hn_lower_out(n, 0);
    int order[HONE_MAX_RANK];
    hn_lower_order(&x, order);
    HN_TRY(hn_lower_place(L, &y, order, err));
    hn_map_f32 p = {.rank = x.rank, .n_in = 1, .n_out = 1};
    for (int i = 0; i < x.rank; i++) {
        p.dims[i] = x.dims[i];
        p.in_stride[0][i] = x.strides[i];
        p.out_stride[0][i] = y.strides[i];
    }
    hn_map_op op = (hn_map_op)(HN_MAP_ACT_NONE + act->kind);
    p.out[0] = (uint8_t)hn_map_emit(&p, op, 0, 0, 0, act->a, act->b);
    hn_step *s;
    HN_TRY(hn_lower_step(L, n, &hn_map_f32_family, &p, sizeof p, &s, err));
    hn_step_reads(s, HN_MAP_IN, &x);
    hn_step_writes(s, HN_MAP_OUT, &y);
    s->facts->bytes = 8.0 * (double)hn_view_count(&x);
    hn_lower_set(L, n, 0, &y, NULL);
    return HONE_OK;
}

/* Lowers the node as `lower` does, then ends its step with the activation, or adds one for it. */
static hone_status ended(hn_lower *L, const hn_node *n,
                         hone_status (*lower)(hn_lower *, const hn_node *, bool *, hn_error *),
                         bool *done, hn_error *err) {
    hn_act act;
    if (!activation_of(n, &act)) HN_DECLINE(L, "an activation with parameters, or another");
    HN_TRY(lower(L, n, done, err));
    if (!*done || act.kind == HN_ACT_NONE) return HONE_OK;
    hn_epilogue e;
    if (!hn_step_end(L->makers[hn_node_output(n, 0)->id], &e) || e.act->kind != HN_ACT_NONE)
        return add_activation(L, n, &act, err);
    *e.act = act;
    return HONE_OK;
}

hone_status hn_lower_fused_conv(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    if (hn_node_input(n, 3) != NULL) HN_DECLINE(L, "Z is added");
    return ended(L, n, hn_lower_conv, done, err);
}

hone_status hn_lower_fused_gemm(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    return ended(L, n, hn_lower_gemm, done, err);
}

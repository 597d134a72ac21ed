/* Products of vectors and tokens with a matrix. */
#include <stdio.h>

#include "make/layer.h"

/* "part.what", or "what" of the layer itself. */
static const char *below(const char *part, const char *what, char buf[64]) {
    snprintf(buf, 64, "%s%s%s", part, part[0] != '\0' ? "." : "", what);
    return buf;
}

hone_status hn_make_product(hn_maker *m, const char *part, hn_value *x, int64_t in, int64_t out_n,
                            bool bias, hn_value **out) {
    char name[64];
    hn_value *w, *b = NULL;
    hn_fans f = {(double)in, (double)out_n};
    HN_TRY(hn_make_param(m, below(part, "weight", name), HN_INITIAL_LINEAR, 2,
                         (int64_t[]){in, out_n}, f, &w));
    if (bias)
        HN_TRY(hn_make_param(m, below(part, "bias", name), HN_INITIAL_BIAS, 1, &out_n, f, &b));
    if (b == NULL) return HN_MAKE_OP(m, "MatMul", part, NULL, out, x, w);
    HN_TRY(HN_MAKE_OP(m, "MatMul", below(part, "product", name), NULL, &x, x, w));
    return HN_MAKE_OP(m, "Add", part, NULL, out, x, b);
}

/* Of a vector, as PyTorch writes it: the weight is [out, in]. */
static hone_status gemm(hn_maker *m, int64_t out, bool bias) {
    hn_fans f = {(double)m->flow.channels, (double)out};
    hn_value *w, *b = NULL;
    hn_node *n;
    HN_TRY(hn_make_param(m, "weight", HN_INITIAL_LINEAR, 2, (int64_t[]){out, m->flow.channels}, f,
                         &w));
    if (bias) HN_TRY(hn_make_param(m, "bias", HN_INITIAL_BIAS, 1, &out, f, &b));
    HN_TRY(hn_make_op(m, "Gemm", NULL, (hn_value *const[]){m->flow.value, w, b}, bias ? 3 : 2, &n,
                      &m->flow.value));
    return hn_node_set_i(n, "transB", 1, m->err);
}

static hone_status linear(hn_maker *m, const double *v) {
    int64_t out = (int64_t)v[0];
    if (m->flow.kind == HN_FLOW_VECTOR)
        HN_TRY(gemm(m, out, v[1] != 0));
    else
        HN_TRY(hn_make_product(m, "", m->flow.value, m->flow.channels, out, v[1] != 0,
                               &m->flow.value));
    m->flow.channels = out;
    return HONE_OK;
}

const hn_layer hn_layer_linear = {
    .name = "linear",
    .takes = HN_FLOW_VECTOR | HN_FLOW_TOKENS,
    .params = {{.name = "out", .least = 1, .most = HN_MAKE_CHANNELS, .required = true},
               {.name = "bias", .least = 0, .most = 1, .value = 1}},
    .make = linear,
};

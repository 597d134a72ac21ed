/* BatchStats and BatchNormGrad: steps over pixels with adjacent channels. */
#include "engine/lower.h"
#include "kernels/batch_norm_grad_f32/batch_norm_grad_f32.h"
#include "kernels/channel_stats_f32/channel_stats_f32.h"

/* v [N, C, ...] with channels last as pixels that are equally far apart; *pitch is how far. */
static hone_status pixels(hn_lower *L, const hn_node *n, hn_view *v, int64_t *pitch,
                          hn_error *err) {
    HN_TRY(hn_lower_channels_last(L, n, v, err));
    int64_t step = *pitch = v->rank > 2 ? v->strides[v->rank - 1] : v->strides[0];
    bool even = true;
    for (int i = v->rank - 1; i >= 2; i--) {
        even = even && (v->dims[i] == 1 || v->strides[i] == step);
        step *= v->dims[i];
    }
    even = even && (v->dims[0] == 1 || v->strides[0] == step);
    if (even && *pitch >= v->dims[1]) return HONE_OK;
    hn_view dense = *v;
    int order[HONE_MAX_RANK];
    hn_lower_order_channels_last(v->rank, order);
    HN_TRY(hn_lower_place(L, &dense, order, err));
    HN_TRY(hn_lower_copy(L, n, v, &dense, err));
    *v = dense;
    *pitch = v->dims[1];
    return HONE_OK;
}

static const char *refusal(const hn_view *x) {
    if (x->dtype != HONE_DTYPE_F32) return "not f32";
    if (hn_view_count(x) == 0) return "nothing to compute";
    return NULL;
}

hone_status hn_lower_batch_stats(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    hn_view x = hn_lower_in(L, n, 0);
    hn_channel_stats_f32 p = {.c = x.rank > 1 ? x.dims[1] : 0};
    if (refusal(&x) != NULL) HN_DECLINE(L, refusal(&x));
    p.n = hn_view_count(&x) / p.c;
    HN_TRY(pixels(L, n, &x, &p.x_pixel, err));
    hn_view out[2];
    for (int i = 0; i < 2; i++) {
        if (hn_node_output(n, i) == NULL) continue;
        out[i] = hn_lower_out(n, i);
        HN_TRY(hn_lower_place(L, &out[i], NULL, err));
    }
    hn_step *s;
    HN_TRY(hn_lower_step(L, n, &hn_channel_stats_f32_family, &p, sizeof p, &s, err));
    s->facts->flops = 5.0 * (double)hn_view_count(&x);
    s->facts->bytes = 4.0 * (double)hn_view_count(&x);
    hn_step_reads(s, HN_STATS_X, &x);
    for (int i = 0; i < 2; i++) {
        if (hn_node_output(n, i) == NULL) continue;
        hn_step_writes(s, HN_STATS_MEAN + i, &out[i]);
        hn_lower_set(L, n, i, &out[i], NULL);
    }
    *done = true;
    return HONE_OK;
}

hone_status hn_lower_batch_norm_grad(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    static const int inputs[] = {HN_BNG_DY, HN_BNG_X, HN_BNG_SCALE, HN_BNG_MEAN, HN_BNG_VAR};
    hn_view in[5], out[3];
    for (int i = 0; i < 5; i++) in[i] = hn_lower_in(L, n, i);
    if (refusal(&in[1]) != NULL) HN_DECLINE(L, refusal(&in[1]));
    hn_batch_norm_grad_f32 p = {.c = in[1].dims[1], .epsilon = hn_attr_f(n, "epsilon")};
    p.n = hn_view_count(&in[1]) / p.c;
    HN_TRY(pixels(L, n, &in[0], &p.dy_pixel, err));
    HN_TRY(pixels(L, n, &in[1], &p.x_pixel, err));
    for (int i = 2; i < 5; i++) HN_TRY(hn_lower_dense(L, n, &in[i], err));
    p.dx_pixel = p.c;
    int order[HONE_MAX_RANK];
    hn_lower_order_channels_last(in[1].rank, order);
    for (int i = 0; i < 3; i++) {
        if (hn_node_output(n, i) == NULL) continue;
        out[i] = hn_lower_out(n, i);
        HN_TRY(hn_lower_place(L, &out[i], i == 0 ? order : NULL, err));
    }
    hn_step *s;
    HN_TRY(hn_lower_step(L, n, &hn_batch_norm_grad_f32_family, &p, sizeof p, &s, err));
    s->facts->flops = 8.0 * (double)(p.n * p.c);
    s->facts->bytes = 20.0 * (double)(p.n * p.c);
    for (int i = 0; i < 5; i++) hn_step_reads(s, inputs[i], &in[i]);
    for (int i = 0; i < 3; i++) {
        if (hn_node_output(n, i) == NULL) continue;
        hn_step_writes(s, HN_BNG_DX + i, &out[i]);
        hn_lower_set(L, n, i, &out[i], NULL);
    }
    *done = true;
    return HONE_OK;
}

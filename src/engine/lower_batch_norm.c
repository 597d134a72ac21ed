/* BatchStats and BatchNormGrad: steps over pixels with adjacent channels. */
#include <string.h>

#include "engine/lower.h"
#include "kernels/batch_norm_grad_f32/batch_norm_grad_f32.h"
#include "kernels/channel_stats_f32/channel_stats_f32.h"
#include "kernels/map_f32/map_f32.h"

/* Whether v [N, C, ...] lies as pixels that are equally far apart; *pitch is how far. */
static bool even(const hn_view *v, int64_t *pitch) {
    if (v->dims[1] > 1 && v->strides[1] != 1) return false;
    int64_t step = *pitch = v->rank > 2 ? v->strides[v->rank - 1] : v->strides[0];
    for (int i = v->rank - 1; i >= 2; i--) {
        if (v->dims[i] > 1 && v->strides[i] != step) return false;
        step *= v->dims[i];
    }
    return (v->dims[0] == 1 || v->strides[0] == step) && *pitch >= v->dims[1];
}

/* v such pixels, a copy where it must be. */
static hone_status pixels(hn_lower *L, const hn_node *n, hn_view *v, int64_t *pitch,
                          hn_error *err) {
    HN_TRY(hn_lower_channels_last(L, n, v, err));
    if (even(v, pitch)) return HONE_OK;
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

/* ---- what a Relu or Clip behind the normalization lets through ---- */

/* The instruction that gives a value, behind copies; NULL: an input, or a constant. */
static const hn_map_code *maker_of(const hn_map_f32 *p, int value) {
    const hn_map_code *c = NULL;
    while (value >= HN_MAP_CODE && value < HN_MAP_X) {
        c = &p->code[value - HN_MAP_CODE];
        if (c->op != HN_MAP_ACT_NONE) return c;
        value = c->a;
    }
    return NULL;
}

/* Whether an operand of an instruction is a constant, and which. */
static bool constant_of(const hn_map_code *c, int operand, float *number) {
    *number = operand == HN_MAP_X ? c->x : c->y;
    return operand == HN_MAP_X || operand == HN_MAP_Y;
}

/* Whether the value is (limit - gate) * gate of an input `gate`. */
static bool limited(const hn_map_f32 *p, int value, int *gate, float *limit) {
    const hn_map_code *product = maker_of(p, value);
    if (product == NULL || product->op != HN_MAP_MUL) return false;
    for (int side = 0; side < 2; side++) {
        const hn_map_code *rest = maker_of(p, side == 0 ? product->a : product->b);
        *gate = side == 0 ? product->b : product->a;
        if (*gate < p->n_in && rest != NULL && rest->op == HN_MAP_SUB && rest->b == *gate &&
            constant_of(rest, rest->a, limit))
            return *limit > 0;
    }
    return false;
}

/* Whether a program gives (gate > 0) * dy, or ((limit - gate) * gate > 0) * dy: its inputs. */
static bool closes(const hn_map_f32 *p, int *dy, int *gate, float *limit) {
    const hn_map_code *product = maker_of(p, p->out[0]);
    if (p->n_out != 1 || product == NULL || product->op != HN_MAP_MUL) return false;
    for (int side = 0; side < 2; side++) {
        const hn_map_code *open = maker_of(p, side == 0 ? product->a : product->b);
        float zero;
        *dy = side == 0 ? product->b : product->a;
        if (*dy >= p->n_in || open == NULL || open->op != HN_MAP_GT ||
            !constant_of(open, open->b, &zero) || zero != 0)
            continue;
        *gate = open->a, *limit = 0;
        return *gate < p->n_in || limited(p, open->a, gate, limit);
    }
    return false;
}

static hn_view input_of(const hn_step *s, const hn_map_f32 *p, int i) {
    hn_view v = {.buffer = s->operands[HN_MAP_IN + i].buffer,
                 .dtype = HONE_DTYPE_F32,
                 .rank = p->rank,
                 .offset = (int64_t)(s->operands[HN_MAP_IN + i].offset / sizeof(float))};
    memcpy(v.dims, p->dims, sizeof p->dims);
    memcpy(v.strides, p->in_stride[i], sizeof p->in_stride[i]);
    return v;
}

/* Where *dy is made by a step that only closes a gate: that step, *dy and the gate as it reads them.
 * The gradient then passes by memory once less. NULL: it is not. */
static hn_step *gate_before(const hn_lower *L, const hn_node *n, hn_view *dy, hn_view *gate,
                            hn_batch_norm_grad_f32 *q) {
    hn_step *s = hn_lower_maker(L, n, 0);
    const hn_map_f32 *p = hn_step_problem(s, &hn_map_f32_family);
    int from, by;
    if (p == NULL || !closes(p, &from, &by, &q->limit)) return NULL;
    const hn_operand *out = &s->operands[HN_MAP_OUT];
    size_t bytes = (size_t)p->rank * sizeof *p->dims;
    if (out->buffer != dy->buffer || out->offset != (size_t)dy->offset * sizeof(float) ||
        p->rank != dy->rank || memcmp(p->dims, dy->dims, bytes) != 0 ||
        p->in_type[from] != HN_MAP_F32 || p->in_type[by] != HN_MAP_F32)
        return NULL;
    hn_view d = input_of(s, p, from), g = input_of(s, p, by);
    if (!even(&d, &q->dy_pixel) || !even(&g, &q->gate_pixel)) return NULL;
    *dy = d, *gate = g;
    return s;
}

hone_status hn_lower_batch_norm_grad(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    static const int inputs[] = {HN_BNG_DY, HN_BNG_X, HN_BNG_SCALE, HN_BNG_MEAN, HN_BNG_VAR};
    hn_view in[5], out[3], gate;
    for (int i = 0; i < 5; i++) in[i] = hn_lower_in(L, n, i);
    if (refusal(&in[1]) != NULL) HN_DECLINE(L, refusal(&in[1]));
    hn_batch_norm_grad_f32 p = {.c = in[1].dims[1], .epsilon = hn_attr_f(n, "epsilon")};
    p.n = hn_view_count(&in[1]) / p.c;
    hn_step *closer = gate_before(L, n, &in[0], &gate, &p);
    if (closer == NULL) {
        p.limit = 0;
        HN_TRY(pixels(L, n, &in[0], &p.dy_pixel, err));
    }
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
    s->facts->bytes = (closer != NULL ? 28.0 : 20.0) * (double)(p.n * p.c);
    if (closer != NULL) {
        hn_step_reads(s, HN_BNG_GATE, &gate);
        closer->writes = 0;
        HN_TRY(hn_step_join(L, s, closer, err));
    }
    for (int i = 0; i < 5; i++) hn_step_reads(s, inputs[i], &in[i]);
    for (int i = 0; i < 3; i++) {
        if (hn_node_output(n, i) == NULL) continue;
        hn_step_writes(s, HN_BNG_DX + i, &out[i]);
        hn_lower_set(L, n, i, &out[i], NULL);
    }
    *done = true;
    return HONE_OK;
}

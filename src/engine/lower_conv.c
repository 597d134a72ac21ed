/* Conv: a convolution over channels-last images. One spatial axis becomes an image of one row;
 * lower_conv_depth.c takes three, more run as the reference. */
#include "engine/lower.h"

/* Channels up to which a planar image is read as it is: the first layer of a network. With more,
 * every tap would gather from as many places. */
#define MOST_PLANES 4

hn_windows hn_lower_windows(const hn_view *x, const hn_view *y, const hn_spatial *s) {
    bool flat = x->rank == 3, spatial = y->rank == x->rank;
    int h = x->rank - 1, v = h - 1; /* axes of width and height */
    return (hn_windows){
        .batch = x->dims[0],
        .h = flat ? 1 : x->dims[v],
        .w = x->dims[h],
        .c = x->dims[1],
        .oh = flat || !spatial ? 1 : y->dims[v],
        .ow = spatial ? y->dims[h] : 1,
        .n = y->dims[1],
        .kh = flat ? 1 : s->kernel[v - 2],
        .kw = s->kernel[h - 2],
        .sh = flat ? 1 : s->stride[v - 2],
        .sw = s->stride[h - 2],
        .dh = flat ? 1 : s->dilation[v - 2],
        .dw = s->dilation[h - 2],
        .pt = flat ? 0 : s->pad[v - 2],
        .pl = s->pad[h - 2],
        .pb = flat ? 0 : s->pad_end[v - 2],
        .pr = s->pad_end[h - 2],
        .groups = x->dims[1],
        .x_image = x->strides[0],
        .x_row = flat ? 0 : x->strides[v],
        .x_pixel = x->strides[h],
        .x_channel = 1,
        .y_image = y->strides[0],
        .y_row = flat || !spatial ? 0 : y->strides[v],
        .y_pixel = spatial ? y->strides[h] : 0,
    };
}

hn_conv_f32 hn_lower_conv_problem(const hn_view *x, const hn_view *w, const hn_view *y,
                                  const hn_spatial *s, int64_t groups) {
    bool flat = x->rank == 3;
    hn_conv_f32 p = {
        .windows = hn_lower_windows(x, y, s),
        .w_o = w->strides[0],
        .w_i = w->strides[1],
        .w_y = flat ? 0 : w->strides[2],
        .w_x = w->strides[flat ? 2 : 3],
    };
    p.kh = flat ? 1 : w->dims[2], p.kw = w->dims[flat ? 2 : 3];
    p.groups = groups;
    p.x_channel = x->strides[1];
    return p;
}

hone_status hn_lower_conv_step(hn_lower *L, const hn_node *n, const hn_conv_f32 *p,
                               const hn_view *x, const hn_view *w, hn_view b, const hn_view *y,
                               hn_step **out, hn_error *err) {
    hn_step *s;
    if (b.buffer >= 0)
        HN_TRY(hn_lower_dense(L, n, &b, err)); /* a copy comes before what reads it */
    HN_TRY(hn_lower_step(L, n, &hn_conv_f32_family, p, sizeof *p, &s, err));
    s->facts->bytes = 4.0 * (double)(hn_view_count(x) + hn_view_count(w) + hn_view_count(y));
    hn_step_reads(s, HN_CONV_X, x);
    hn_step_reads(s, HN_CONV_W, w);
    if (b.buffer >= 0) hn_step_reads(s, HN_CONV_BIAS, &b);
    hn_step_writes(s, HN_CONV_Y, y);
    hn_lower_set(L, n, 0, y, s);
    *out = s;
    return HONE_OK;
}

/* Weights that are not constant are packed from where they lie, if the problem can say where. */
static hone_status set_part_weights(hn_lower *L, hn_step *s, const hn_view *weights,
                                    hn_error *err) {
    hn_conv_f32 *p = s->problem;
    hn_view w;
    const int64_t dims[] = {p->n, p->c / p->groups, p->kh, p->kw};
    hn_step_reads(s, HN_CONV_W, weights);
    if (!hn_lower_is_constant(L, weights) && hn_view_reshape(weights, 4, dims, &w)) {
        p->w_o = w.strides[0], p->w_i = w.strides[1], p->w_y = w.strides[2], p->w_x = w.strides[3];
        return HONE_OK;
    }
    hn_view *copy = hn_arena_alloc(&L->plan->arena, sizeof *copy);
    if (copy == NULL) return HN_NOMEM(err);
    *copy = *weights;
    s->weights = copy;
    return HONE_OK;
}

hone_status hn_lower_conv_part(hn_lower *L, const hn_step *whole, const hn_conv_f32 *p,
                               const hn_view *weights, hn_step **out, hn_error *err) {
    hn_step *s;
    HN_TRY(hn_lower_step(L, whole->node, whole->family, p, sizeof *p, &s, err));
    s->facts->label = whole->facts->label;
    s->precision = whole->precision;
    s->n_operands = whole->n_operands;
    s->writes = whole->writes;
    for (int i = 0; i < s->n_operands; i++) s->operands[i] = whole->operands[i];
    HN_TRY(set_part_weights(L, s, weights, err));
    s->facts->flops = 2.0 * (double)(p->batch * p->oh * p->ow * p->n) *
                      (double)(p->c / p->groups * p->kh * p->kw);
    *out = s;
    return HONE_OK;
}

void hn_lower_shift(hn_step *s, int operand, int64_t floats) {
    if (s->operands[operand].buffer >= 0) s->operands[operand].offset += (size_t)floats * 4;
}

hone_status hn_lower_conv(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    hn_view x = hn_lower_in(L, n, 0), w = hn_lower_in(L, n, 1), b = hn_lower_in(L, n, 2);
    hn_view y = hn_lower_out(n, 0);
    if (x.dtype != HONE_DTYPE_F32) HN_DECLINE(L, "not f32");
    if (x.rank != 3 && x.rank != 4) HN_DECLINE(L, "not one or two spatial axes");
    if (hn_view_count(&y) == 0) HN_DECLINE(L, "nothing to compute");
    hn_spatial s;
    HN_TRY(hn_spatial_read(n, x.rank - 2, &s, err));
    for (int i = 0; i < x.rank - 2; i++) s.kernel[i] = w.dims[i + 2];
    hn_spatial_resolve(&s, x.dims + 2);
    int order[HONE_MAX_RANK];
    hn_lower_order_channels_last(y.rank, order);
    HN_TRY(hn_lower_place(L, &y, order, err));
    int64_t groups = hn_attr_i(n, "group");
    /* An image of few channels that comes planar stays so if a kernel reads it as it is. */
    hn_conv_f32 p = hn_lower_conv_problem(&x, &w, &y, &s, groups);
    const hn_kernel *reference = hn_conv_f32_family.rows[hn_conv_f32_family.n_rows - 1];
    if (p.c > MOST_PLANES || hn_kernel_choose(&hn_conv_f32_family, (hn_allowed){.isa = L->isa}, &p,
                                              NULL, NULL) == reference) {
        HN_TRY(hn_lower_channels_last(L, n, &x, err));
        p = hn_lower_conv_problem(&x, &w, &y, &s, groups);
    }
    hn_step *step;
    HN_TRY(hn_lower_conv_step(L, n, &p, &x, &w, b, &y, &step, err));
    step->facts->flops = 2.0 * (double)hn_view_count(&y) * (double)(p.c / groups * p.kh * p.kw);
    *done = true;
    return HONE_OK;
}

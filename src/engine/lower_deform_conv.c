/* DeformConv: what its taps see is laid out pixel by pixel, [pixels][taps][channels], and a
 * convolution whose window and stride are the taps of a pixel multiplies it by the weights. */
#include "engine/lower.h"
#include "kernels/deform_f32/deform_f32.h"

enum { X, W, OFFSET, B, MASK };

/* The strides of [batch, maps, oh, ow]; absent: all 0. */
static void read_strides(const hn_view *v, int64_t *to) {
    for (int i = 0; i < 4; i++) to[i] = v->buffer >= 0 ? v->strides[i] : 0;
}

static const char *refusal(const hn_view *x, const hn_view *y) {
    if (x->dtype != HONE_DTYPE_F32) return "not f32";
    if (x->rank != 4) return "not two spatial axes";
    if (hn_view_count(x) == 0 || hn_view_count(y) == 0) return "nothing to compute";
    return NULL;
}

/* Adds the step that lays out what the taps see; x has adjacent channels. */
static hone_status add_taps(hn_lower *L, const hn_node *n, const hn_view *x, const hn_view *w,
                            const hn_view *y, hn_view *seen, hn_error *err) {
    hn_view offset = hn_lower_in(L, n, OFFSET), mask = hn_lower_in(L, n, MASK);
    hn_spatial s;
    HN_TRY(hn_spatial_read(n, 2, &s, err));
    for (int i = 0; i < 2; i++) s.kernel[i] = w->dims[i + 2];
    hn_spatial_resolve(&s, x->dims + 2);
    hn_deform_f32 p = {.batch = x->dims[0],
                       .h = x->dims[2],
                       .w = x->dims[3],
                       .c = x->dims[1],
                       .oh = y->dims[2],
                       .ow = y->dims[3],
                       .kh = s.kernel[0],
                       .kw = s.kernel[1],
                       .sh = s.stride[0],
                       .sw = s.stride[1],
                       .dh = s.dilation[0],
                       .dw = s.dilation[1],
                       .pt = s.pad[0],
                       .pl = s.pad[1],
                       .offset_groups = hn_attr_i(n, "offset_group"),
                       .x_image = x->strides[0],
                       .x_row = x->strides[2],
                       .x_pixel = x->strides[3]};
    read_strides(&offset, &p.offset_image);
    read_strides(&mask, &p.mask_image);
    *seen = (hn_view){
        .dtype = HONE_DTYPE_F32, .rank = 3, .dims = {p.batch * p.oh * p.ow, p.kh * p.kw, p.c}};
    HN_TRY(hn_lower_place(L, seen, NULL, err));
    hn_step *step;
    HN_TRY(hn_lower_step(L, n, &hn_deform_f32_family, &p, sizeof p, &step, err));
    step->facts->flops = 8.0 * (double)hn_view_count(seen);
    step->facts->bytes =
        4.0 * (double)(hn_view_count(x) + hn_view_count(&offset) + hn_view_count(seen));
    hn_step_reads(step, HN_DEFORM_X, x);
    hn_step_reads(step, HN_DEFORM_OFFSET, &offset);
    if (mask.buffer >= 0) hn_step_reads(step, HN_DEFORM_MASK, &mask);
    hn_step_writes(step, HN_DEFORM_Y, seen);
    return HONE_OK;
}

hone_status hn_lower_deform_conv(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    hn_view x = hn_lower_in(L, n, X), w = hn_lower_in(L, n, W), b = hn_lower_in(L, n, B);
    hn_view y = hn_lower_out(n, 0), seen;
    const char *why = refusal(&x, &y);
    if (why != NULL) HN_DECLINE(L, why);
    int order[HONE_MAX_RANK];
    hn_lower_order_channels_last(y.rank, order);
    HN_TRY(hn_lower_place(L, &y, order, err));
    HN_TRY(hn_lower_channels_last(L, n, &x, err));
    HN_TRY(add_taps(L, n, &x, &w, &y, &seen, err));
    int64_t pixels = seen.dims[0], taps = seen.dims[1], c = seen.dims[2], outputs = y.dims[1];
    hn_conv_f32 p = {.batch = 1,
                     .h = 1,
                     .w = pixels * taps,
                     .c = c,
                     .oh = 1,
                     .ow = pixels,
                     .n = outputs,
                     .kh = 1,
                     .kw = taps,
                     .sh = 1,
                     .sw = taps,
                     .dh = 1,
                     .dw = 1,
                     .groups = hn_attr_i(n, "group"),
                     .x_image = pixels * taps * c,
                     .x_row = pixels * taps * c,
                     .x_pixel = c,
                     .x_channel = 1,
                     .y_image = pixels * outputs,
                     .y_row = pixels * outputs,
                     .y_pixel = outputs,
                     .w_o = w.strides[0],
                     .w_i = w.strides[1],
                     .w_y = 0,
                     .w_x = w.strides[3]};
    hn_step *step;
    HN_TRY(hn_lower_conv_step(L, n, &p, &seen, &w, b, &y, &step, err));
    step->facts->flops = 2.0 * (double)hn_view_count(&y) * (double)(c / p.groups * taps);
    *done = true;
    return HONE_OK;
}

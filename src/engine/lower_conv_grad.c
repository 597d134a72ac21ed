/* ConvGradW: a step of conv_grad_f32 over channels-last images. One spatial axis becomes an image of
 * one row; more than two run as the reference. */
#include "engine/lower.h"
#include "kernels/conv_grad_f32/conv_grad_f32.h"

hone_status hn_lower_conv_grad(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    hn_view x = hn_lower_in(L, n, 0), dy = hn_lower_in(L, n, 1), dw = hn_lower_out(n, 0);
    if (x.dtype != HONE_DTYPE_F32) HN_DECLINE(L, "not f32");
    if (x.rank != 3 && x.rank != 4) HN_DECLINE(L, "not one or two spatial axes");
    if (hn_view_count(&dw) == 0) HN_DECLINE(L, "nothing to compute");
    hn_spatial s;
    HN_TRY(hn_spatial_read(n, x.rank - 2, &s, err));
    hn_spatial_resolve(&s, x.dims + 2);
    HN_TRY(hn_lower_channels_last(L, n, &x, err));
    HN_TRY(hn_lower_channels_last(L, n, &dy, err));
    HN_TRY(hn_lower_place(L, &dw, NULL, err));
    bool flat = x.rank == 3;
    hn_conv_grad_f32 p = {.windows = hn_lower_windows(&x, &dy, &s),
                          .w_o = dw.strides[0],
                          .w_i = dw.strides[1],
                          .w_y = flat ? 0 : dw.strides[2],
                          .w_x = dw.strides[flat ? 2 : 3]};
    p.groups = hn_attr_i(n, "group");
    hn_step *step;
    HN_TRY(hn_lower_step(L, n, &hn_conv_grad_f32_family, &p, sizeof p, &step, err));
    step->facts->flops = 2.0 * (double)hn_view_count(&dy) * (double)(p.c / p.groups * p.kh * p.kw);
    step->facts->bytes =
        4.0 * (double)(hn_view_count(&x) + hn_view_count(&dy) + hn_view_count(&dw));
    hn_step_reads(step, HN_CONV_GRAD_X, &x);
    hn_step_reads(step, HN_CONV_GRAD_DY, &dy);
    hn_step_writes(step, HN_CONV_GRAD_DW, &dw);
    hn_lower_set(L, n, 0, &dw, step);
    *done = true;
    return HONE_OK;
}

/* Gradients of pools and of normalizations along rows. */
#include "engine/lower.h"
#include "kernels/norm_grad_f32/norm_grad_f32.h"
#include "kernels/pool_grad_f32/pool_grad_f32.h"

/* ---- pools ---- */

static hone_status pool_grad(hn_lower *L, const hn_node *n, hn_view x, hn_pool_grad_kind kind,
                             bool count_pads, bool *done, hn_error *err) {
    hn_view dy = hn_lower_in(L, n, 0), dx = hn_lower_out(n, 0);
    hn_spatial s;
    int order[HONE_MAX_RANK];
    if (dx.dtype != HONE_DTYPE_F32) HN_DECLINE(L, "not f32");
    if (dx.rank != 3 && dx.rank != 4) HN_DECLINE(L, "not one or two spatial axes");
    if (hn_view_count(&dx) == 0 || hn_view_count(&dy) == 0) HN_DECLINE(L, "nothing to compute");
    HN_TRY(hn_spatial_read(n, dx.rank - 2, &s, err));
    hn_spatial_resolve(&s, dx.dims + 2);
    if (kind == HN_POOL_GRAD_MAX) HN_TRY(hn_lower_channels_last(L, n, &x, err));
    HN_TRY(hn_lower_channels_last(L, n, &dy, err));
    hn_lower_order_channels_last(dx.rank, order);
    HN_TRY(hn_lower_place(L, &dx, order, err));
    hn_pool_grad_f32 p = {.windows = hn_lower_windows(kind == HN_POOL_GRAD_MAX ? &x : &dx, &dy, &s),
                          .dx_image = dx.strides[0],
                          .dx_row = dx.rank == 3 ? 0 : dx.strides[2],
                          .dx_pixel = dx.strides[dx.rank - 1],
                          .kind = kind,
                          .count_pads = count_pads};
    hn_step *step;
    HN_TRY(hn_lower_step(L, n, &hn_pool_grad_f32_family, &p, sizeof p, &step, err));
    step->facts->bytes = 4.0 * (double)(2 * hn_view_count(&dx) + hn_view_count(&dy));
    hn_step_reads(step, HN_POOL_GRAD_DY, &dy);
    if (kind == HN_POOL_GRAD_MAX) hn_step_reads(step, HN_POOL_GRAD_X, &x);
    hn_step_writes(step, HN_POOL_GRAD_DX, &dx);
    hn_lower_set(L, n, 0, &dx, step);
    *done = true;
    return HONE_OK;
}

hone_status hn_lower_max_pool_grad(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    return pool_grad(L, n, hn_lower_in(L, n, 1), HN_POOL_GRAD_MAX, false, done, err);
}

hone_status hn_lower_average_pool_grad(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    return pool_grad(L, n, (hn_view){.buffer = -1}, HN_POOL_GRAD_MEAN,
                     hn_attr_i(n, "count_include_pad") != 0, done, err);
}

/* ---- rows ---- */

hone_status hn_lower_layer_norm_grad(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    hn_view in[3], out[3];
    for (int i = 0; i < 3; i++) in[i] = hn_lower_in(L, n, i);
    if (in[1].dtype != HONE_DTYPE_F32) HN_DECLINE(L, "not f32");
    if (hn_view_count(&in[1]) == 0) HN_DECLINE(L, "nothing to compute");
    for (int i = 0; i < 3; i++) HN_TRY(hn_lower_dense(L, n, &in[i], err));
    int64_t row = hn_view_count(&in[2]);
    hn_norm_grad_f32 p = {.rows = hn_view_count(&in[1]) / row,
                          .n = row,
                          .x_row = row,
                          .dy_row = row,
                          .dx_row = row,
                          .epsilon = hn_attr_f(n, "epsilon"),
                          .rms = hn_attr_i(n, "centred") == 0};
    for (int i = 0; i < 3; i++) {
        if (hn_node_output(n, i) == NULL) continue;
        out[i] = hn_lower_out(n, i);
        HN_TRY(hn_lower_place(L, &out[i], NULL, err));
    }
    hn_step *s;
    HN_TRY(hn_lower_step(L, n, &hn_norm_grad_f32_family, &p, sizeof p, &s, err));
    s->facts->flops = 10.0 * (double)hn_view_count(&in[1]);
    s->facts->bytes = 12.0 * (double)hn_view_count(&in[1]);
    for (int i = 0; i < 3; i++) hn_step_reads(s, HN_NORM_GRAD_DY + i, &in[i]);
    for (int i = 0; i < 3; i++) {
        if (hn_node_output(n, i) == NULL) continue;
        hn_step_writes(s, HN_NORM_GRAD_DX + i, &out[i]);
        hn_lower_set(L, n, i, &out[i], NULL);
    }
    *done = true;
    return HONE_OK;
}

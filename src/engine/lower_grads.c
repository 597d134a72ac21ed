/* Gradients of pools, of normalizations along rows, of gathers and of losses of labels. */
#include "engine/lower.h"
#include "kernels/gather_grad_f32/gather_grad_f32.h"
#include "kernels/label_grad_f32/label_grad_f32.h"
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

/* ---- indices and labels ---- */

/* Indices outside are found by the Gather itself, which reads them before. */
hone_status hn_lower_gather_grad(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    hn_view dy = hn_lower_in(L, n, 0), index = hn_lower_in(L, n, 1), dx = hn_lower_out(n, 0);
    int64_t axis = hn_attr_i(n, "axis");
    if (dx.dtype != HONE_DTYPE_F32) HN_DECLINE(L, "not f32");
    if (hn_view_count(&dx) == 0) HN_DECLINE(L, "nothing to compute");
    if (axis < 0) axis += dx.rank;
    HN_TRY(hn_lower_dense(L, n, &dy, err));
    HN_TRY(hn_lower_dense(L, n, &index, err));
    HN_TRY(hn_lower_place(L, &dx, NULL, err));
    hn_gather_grad_f32 p = {.outer = 1,
                            .axis = dx.dims[axis],
                            .count = hn_view_count(&index),
                            .n = 1,
                            .wide = index.dtype == HONE_DTYPE_S64};
    for (int i = 0; i < dx.rank; i++) {
        if (i < axis) p.outer *= dx.dims[i];
        if (i > axis) p.n *= dx.dims[i];
    }
    hn_step *s;
    HN_TRY(hn_lower_step(L, n, &hn_gather_grad_f32_family, &p, sizeof p, &s, err));
    s->facts->bytes = 4.0 * (double)(hn_view_count(&dx) + 3 * hn_view_count(&dy));
    hn_step_reads(s, HN_GATHER_GRAD_DY, &dy);
    hn_step_reads(s, HN_GATHER_GRAD_INDEX, &index);
    hn_step_writes(s, HN_GATHER_GRAD_DX, &dx);
    hn_lower_set(L, n, 0, &dx, s);
    *done = true;
    return HONE_OK;
}

/* Labels outside are found by the loss itself, which reads them before. */
hone_status hn_lower_label_loss_grad(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    static const int operands[] = {HN_LABEL_GRAD_DY, HN_LABEL_GRAD_X, HN_LABEL_GRAD_LABEL,
                                   HN_LABEL_GRAD_WEIGHT};
    hn_view in[4], dx = hn_lower_out(n, 0);
    for (int i = 0; i < 4; i++) in[i] = hn_lower_in(L, n, i);
    if (dx.dtype != HONE_DTYPE_F32) HN_DECLINE(L, "not f32");
    if (hn_view_count(&dx) == 0) HN_DECLINE(L, "nothing to compute");
    if (dx.rank != 2) HN_DECLINE(L, "labels of more than rows");
    for (int i = 0; i < 4; i++)
        if (in[i].buffer >= 0) HN_TRY(hn_lower_dense(L, n, &in[i], err));
    HN_TRY(hn_lower_place(L, &dx, NULL, err));
    const hn_attr *ignore = hn_node_attr(n, "ignore_index");
    hn_label_grad_f32 p = {.rows = dx.dims[0],
                           .classes = dx.dims[1],
                           .ignore = ignore != NULL ? ignore->u.i : 0,
                           .ignores = ignore != NULL,
                           .wide = in[2].dtype == HONE_DTYPE_S64,
                           .each = hn_attr_is(n, "reduction", "none"),
                           .mean = hn_attr_is(n, "reduction", "mean"),
                           .softmax = hn_attr_i(n, "softmax") != 0};
    hn_step *s;
    HN_TRY(hn_lower_step(L, n, &hn_label_grad_f32_family, &p, sizeof p, &s, err));
    s->facts->bytes = 8.0 * (double)hn_view_count(&dx);
    for (int i = 0; i < 4; i++)
        if (in[i].buffer >= 0) hn_step_reads(s, operands[i], &in[i]);
    hn_step_writes(s, HN_LABEL_GRAD_DX, &dx);
    hn_lower_set(L, n, 0, &dx, s);
    *done = true;
    return HONE_OK;
}

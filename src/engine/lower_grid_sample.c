/* GridSample of images of floats, of one to three axes, in the layout they come in. */
#include "engine/lower.h"
#include "kernels/grid_sample_f32/grid_sample_f32.h"

enum { X, GRID };

static hn_sample_mode mode_of(const hn_node *n) {
    return hn_attr_is(n, "mode", "nearest")  ? HN_SAMPLE_NEAREST
           : hn_attr_is(n, "mode", "linear") ? HN_SAMPLE_LINEAR
                                             : HN_SAMPLE_CUBIC;
}

static hn_sample_padding padding_of(const hn_node *n) {
    return hn_attr_is(n, "padding_mode", "zeros")    ? HN_SAMPLE_ZEROS
           : hn_attr_is(n, "padding_mode", "border") ? HN_SAMPLE_BORDER
                                                     : HN_SAMPLE_REFLECTION;
}

hone_status hn_lower_grid_sample(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    hn_view x = hn_lower_in(L, n, X), grid = hn_lower_in(L, n, GRID), y = hn_lower_out(n, 0);
    if (x.dtype != HONE_DTYPE_F32 || grid.dtype != HONE_DTYPE_F32) HN_DECLINE(L, "not f32");
    if (x.rank > 5) HN_DECLINE(L, "images of more than three axes");
    if (hn_view_count(&x) == 0 || hn_view_count(&y) == 0) HN_DECLINE(L, "nothing to compute");
    HN_TRY(hn_lower_dense(L, n, &grid, err));
    int channels_last[HONE_MAX_RANK], last = x.rank - 1;
    hn_lower_order_channels_last(x.rank, channels_last);
    HN_TRY(hn_lower_place(L, &y, x.dims[1] > 1 && x.strides[1] == 1 ? channels_last : NULL, err));
    hn_grid_sample_f32 p = {
        .axes = x.rank - 2,
        .images = x.dims[0],
        .c = x.dims[1],
        .d = x.rank > 4 ? x.dims[last - 2] : 1,
        .h = x.rank > 3 ? x.dims[last - 1] : 1,
        .w = x.dims[last],
        .positions = 1,
        .x_image = x.strides[0],
        .x_channel = x.strides[1],
        .x_slice = x.rank > 4 ? x.strides[last - 2] : 0,
        .x_row = x.rank > 3 ? x.strides[last - 1] : 0,
        .x_pixel = x.strides[last],
        .y_image = y.strides[0],
        .y_channel = y.strides[1],
        .y_position = y.strides[last],
        .mode = mode_of(n),
        .padding = padding_of(n),
        .align_corners = hn_attr_i(n, "align_corners") != 0,
    };
    for (int i = 2; i < y.rank; i++) p.positions *= y.dims[i];
    hn_step *s;
    HN_TRY(hn_lower_step(L, n, &hn_grid_sample_f32_family, &p, sizeof p, &s, err));
    hn_step_reads(s, HN_GRID_SAMPLE_X, &x);
    hn_step_reads(s, HN_GRID_SAMPLE_GRID, &grid);
    hn_step_writes(s, HN_GRID_SAMPLE_Y, &y);
    s->facts->bytes = 4.0 * (double)(hn_view_count(&x) + hn_view_count(&grid) + hn_view_count(&y));
    hn_lower_set(L, n, 0, &y, s);
    *done = true;
    return HONE_OK;
}

/* Col2Im: windows added up into images; where they neither overlap nor leave a pixel out, a copy.
 * One spatial axis becomes an image of one row; three or more run as the reference. */
#include "engine/lower.h"
#include "kernels/col2im_f32/col2im_f32.h"

/* Windows that tile the image: [N, C, KH, KW, OH, OW] in the order N, C, OH, KH, OW, KW. */
static hone_status lower_tiles(hn_lower *L, const hn_node *n, const hn_col2im_f32 *p,
                               const hn_view *x, const hn_view *y, hn_error *err) {
    const int64_t dims[] = {p->planes, p->kh, p->kw, p->oh, p->ow};
    const int64_t strides[] = {p->h * p->w, p->w, 1, p->kh * p->w, p->kw};
    hn_view from, to = {.buffer = y->buffer, .dtype = y->dtype, .rank = 5, .offset = y->offset};
    hn_view_reshape(x, 5, dims, &from);
    for (int i = 0; i < 5; i++) to.dims[i] = dims[i], to.strides[i] = strides[i];
    return hn_lower_copy(L, n, &from, &to, err);
}

hone_status hn_lower_col2im(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    hn_view x = hn_lower_in(L, n, 0), y = hn_lower_out(n, 0);
    const hn_tensor *block = hn_node_constant(n, 2);
    if (x.dtype != HONE_DTYPE_F32) HN_DECLINE(L, "not f32");
    if (y.rank != 3 && y.rank != 4) HN_DECLINE(L, "not one or two spatial axes");
    if (block == NULL) HN_DECLINE(L, "the size of a block is computed");
    if (hn_view_count(&x) == 0 || hn_view_count(&y) == 0) HN_DECLINE(L, "nothing to compute");
    hn_spatial s;
    HN_TRY(hn_spatial_read(n, y.rank - 2, &s, err));
    for (int i = 0; i < y.rank - 2; i++) s.kernel[i] = hn_tensor_s64(block, i);
    bool flat = y.rank == 3;
    int i = flat ? 0 : 1; /* the axis of width */
    hn_col2im_f32 p = {.planes = y.dims[0] * y.dims[1],
                       .h = flat ? 1 : y.dims[2],
                       .w = y.dims[i + 2],
                       .oh = 1,
                       .kh = flat ? 1 : s.kernel[0],
                       .kw = s.kernel[i],
                       .sh = flat ? 1 : s.stride[0],
                       .sw = s.stride[i],
                       .dh = flat ? 1 : s.dilation[0],
                       .dw = s.dilation[i],
                       .pt = flat ? 0 : s.pad[0],
                       .pl = s.pad[i]};
    if (!flat) p.oh = (p.h + s.pad[0] + s.pad_end[0] - hn_spatial_extent(&s, 0)) / p.sh + 1;
    p.ow = (p.w + s.pad[i] + s.pad_end[i] - hn_spatial_extent(&s, i)) / p.sw + 1;
    HN_TRY(hn_lower_dense(L, n, &x, err));
    HN_TRY(hn_lower_place(L, &y, NULL, err));
    bool tiles = p.sh == p.kh && p.sw == p.kw && p.dh == 1 && p.dw == 1 && p.pt == 0 && p.pl == 0 &&
                 p.oh * p.kh == p.h && p.ow * p.kw == p.w;
    *done = true;
    if (tiles) {
        HN_TRY(lower_tiles(L, n, &p, &x, &y, err));
        hn_lower_set(L, n, 0, &y, NULL);
        return HONE_OK;
    }
    hn_step *step;
    HN_TRY(hn_lower_step(L, n, &hn_col2im_f32_family, &p, sizeof p, &step, err));
    step->facts->flops = (double)hn_view_count(&x);
    step->facts->bytes = 4.0 * (double)(hn_view_count(&x) + hn_view_count(&y));
    hn_step_reads(step, HN_COL2IM_X, &x);
    hn_step_writes(step, HN_COL2IM_Y, &y);
    hn_lower_set(L, n, 0, &y, NULL);
    return HONE_OK;
}

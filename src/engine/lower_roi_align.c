/* RoiAlign: regions of channels-last images. */
#include "engine/lower.h"
#include "kernels/roi_align_f32/roi_align_f32.h"
#include "ops/roi_align.h"

enum { X, ROIS, BATCH };

/* The first region that the kernel refused, in the words of the operator's reference. */
static hone_status check(const void *problem, void *const *operands, hn_error *err) {
    const hn_roi_align_f32 *p = problem;
    const float *rois = operands[HN_ROI_ALIGN_ROIS];
    const int64_t *batch = operands[HN_ROI_ALIGN_BATCH];
    for (int64_t i = 0; i < p->regions; i++) {
        double roi[4];
        for (int k = 0; k < 4; k++) roi[k] = (double)rois[4 * i + k];
        HN_TRY(hn_want_region(i, roi, p->scale, batch[i], p->images, err));
    }
    return HONE_OK;
}

hone_status hn_lower_roi_align(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    hn_view x = hn_lower_in(L, n, X), y = hn_lower_out(n, 0);
    hn_view rois = hn_lower_in(L, n, ROIS), batch = hn_lower_in(L, n, BATCH);
    if (x.dtype != HONE_DTYPE_F32) HN_DECLINE(L, "not f32");
    if (hn_view_count(&x) == 0 || hn_view_count(&y) == 0) HN_DECLINE(L, "nothing to compute");
    HN_TRY(hn_lower_channels_last(L, n, &x, err));
    HN_TRY(hn_lower_dense(L, n, &rois, err));
    HN_TRY(hn_lower_dense(L, n, &batch, err));
    HN_TRY(hn_lower_place(L, &y, NULL, err));
    hn_roi_align_f32 p = {
        .images = x.dims[0],
        .h = x.dims[2],
        .w = x.dims[3],
        .x_image = x.strides[0],
        .x_row = x.strides[2],
        .x_pixel = x.strides[3],
        .regions = y.dims[0],
        .c = y.dims[1],
        .oh = y.dims[2],
        .ow = y.dims[3],
        .y_region = y.strides[0],
        .y_channel = y.strides[1],
        .y_row = y.strides[2],
        .y_pixel = y.strides[3],
        .samples = hn_attr_i(n, "sampling_ratio"),
        .scale = (double)hn_attr_f(n, "spatial_scale"),
        .aligned = hn_attr_is(n, "coordinate_transformation_mode", "half_pixel"),
        .max = hn_attr_is(n, "mode", "max"),
    };
    hn_step *s;
    HN_TRY(hn_lower_step(L, n, &hn_roi_align_f32_family, &p, sizeof p, &s, err));
    hn_step_reads(s, HN_ROI_ALIGN_X, &x);
    hn_step_reads(s, HN_ROI_ALIGN_ROIS, &rois);
    hn_step_reads(s, HN_ROI_ALIGN_BATCH, &batch);
    hn_step_writes(s, HN_ROI_ALIGN_Y, &y);
    s->check = check;
    s->flag = HN_ROI_ALIGN_OUTSIDE;
    s->facts->bytes = 4.0 * (double)(hn_view_count(&x) + hn_view_count(&y));
    hn_lower_set(L, n, 0, &y, s);
    *done = true;
    return HONE_OK;
}

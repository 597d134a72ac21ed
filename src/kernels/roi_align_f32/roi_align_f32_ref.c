/* The definition of roi_align_f32: in double, one point at a time. A task is a channel of a region.
 */
#include "kernels/roi_align_f32/roi_align_f32.h"
#include "kernels/roi_align_f32/roi_align_f32_side.h"

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_roi_align_f32 *p = problem;
    (void)lanes;
    *w = (hn_work){.n_phases = 1, .tasks = {p->regions * p->c}};
}

static double weighted(double weight, const float *x) {
    return weight == 0 ? 0 : weight * (double)*x;
}

/* The weighted corners of a point. */
static void corners_of(const hn_roi_align_f32 *p, const float *x, roi_point y_at, roi_point x_at,
                       double *corner) {
    const float *top = x + y_at.lo * p->x_row, *bottom = x + y_at.hi * p->x_row;
    int64_t left = x_at.lo * p->x_pixel, right = x_at.hi * p->x_pixel;
    corner[0] = weighted((1 - y_at.up) * (1 - x_at.up), top + left);
    corner[1] = weighted((1 - y_at.up) * x_at.up, top + right);
    corner[2] = weighted(y_at.up * (1 - x_at.up), bottom + left);
    corner[3] = weighted(y_at.up * x_at.up, bottom + right);
}

static double bin_of(const hn_roi_align_f32 *p, const float *x, const roi_side *ys,
                     const roi_side *xs, int64_t by, int64_t bx) {
    double y_from, y_to, x_from, x_to, sum = 0, largest = NAN, corner[4];
    double left = ys->samples * xs->samples; /* points that are outside */
    roi_point y_at, x_at;
    if (!(ys->samples > 0 && xs->samples > 0)) return 0;
    roi_inside(ys, by, &y_from, &y_to);
    roi_inside(xs, bx, &x_from, &x_to);
    for (double iy = y_from; iy < y_to; iy++) {
        if (!roi_locate(ys, roi_point_at(ys, by, iy), &y_at)) continue;
        for (double ix = x_from; ix < x_to; ix++) {
            if (!roi_locate(xs, roi_point_at(xs, bx, ix), &x_at)) continue;
            corners_of(p, x, y_at, x_at, corner);
            for (int i = 0; i < 4; i++) {
                sum += corner[i];
                largest = fmax(largest, corner[i]);
            }
            left--;
        }
    }
    if (p->max) return left > 0 ? fmax(largest, 0) : largest;
    return sum / (ys->samples * xs->samples);
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_roi_align_f32 *p = call->problem;
    int32_t *outside = call->ptr[HN_ROI_ALIGN_OUTSIDE];
    for (int64_t k = begin; k < end; k++) {
        int64_t r = k / p->c, c = k % p->c;
        const float *roi = (const float *)call->ptr[HN_ROI_ALIGN_ROIS] + 4 * r;
        int64_t image = ((const int64_t *)call->ptr[HN_ROI_ALIGN_BATCH])[r];
        float *y = (float *)call->ptr[HN_ROI_ALIGN_Y] + r * p->y_region + c * p->y_channel;
        bool valid = roi_is_valid(p, roi, image);
        if (!valid && outside != NULL) __atomic_store_n(outside, 1, __ATOMIC_RELAXED);
        const float *x = (const float *)call->ptr[HN_ROI_ALIGN_X];
        if (valid) x += image * p->x_image + c;
        roi_side xs = roi_side_of(p, roi, 0), ys = roi_side_of(p, roi, 1);
        for (int64_t by = 0; by < p->oh; by++)
            for (int64_t bx = 0; bx < p->ow; bx++)
                y[by * p->y_row + bx * p->y_pixel] =
                    valid ? (float)bin_of(p, x, &ys, &xs, by, bx) : 0;
    }
}

const hn_kernel hn_roi_align_f32_ref = {.name = "ref", .order = "double", .work = work, .run = run};

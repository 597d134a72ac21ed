/* MaxPool, AveragePool, GlobalMaxPool, GlobalAveragePool, and for lower_reduce.c the reductions
 * that are global pools by another name. One spatial axis becomes an image of one row; three or
 * more run as the reference. */
#include "engine/lower.h"
#include "kernels/pool_f32/pool_f32.h"
#include "ops/spatial.h"

static const char *refusal(const hn_view *x) {
    if (x->dtype != HONE_DTYPE_F32) return "not f32";
    if (x->rank != 3 && x->rank != 4) return "not one or two spatial axes";
    if (hn_view_count(x) == 0) return "nothing to compute";
    return NULL;
}

/* x [N, C, (H,) W], y [N, C, (OH,) OW], or without its spatial axes where it has one pixel. */
static hone_status lower(hn_lower *L, const hn_node *n, hn_view x, const hn_spatial *s,
                         hn_pool_f32_kind kind, bool count_pads, hn_error *err) {
    hn_view y = hn_lower_out(n, 0);
    int order[HONE_MAX_RANK];
    hn_lower_order_channels_last(y.rank, order);
    HN_TRY(hn_lower_place(L, &y, order, err));
    HN_TRY(hn_lower_channels_last(L, n, &x, err));
    bool flat = x.rank == 3, spatial = y.rank == x.rank;
    int i = flat ? 0 : 1; /* the axis of width */
    hn_pool_f32 p = {
        .kind = kind,
        .count_pads = count_pads,
        .batch = x.dims[0],
        .h = flat ? 1 : x.dims[2],
        .w = x.dims[i + 2],
        .c = x.dims[1],
        .oh = flat || !spatial ? 1 : y.dims[2],
        .ow = spatial ? y.dims[i + 2] : 1,
        .kh = flat ? 1 : s->kernel[0],
        .kw = s->kernel[i],
        .sh = flat ? 1 : s->stride[0],
        .sw = s->stride[i],
        .dh = flat ? 1 : s->dilation[0],
        .dw = s->dilation[i],
        .pt = flat ? 0 : s->pad[0],
        .pl = s->pad[i],
        .pb = flat ? 0 : s->pad_end[0],
        .pr = s->pad_end[i],
        .x_image = x.strides[0],
        .x_row = flat ? 0 : x.strides[2],
        .x_pixel = x.strides[i + 2],
        .y_image = y.strides[0],
        .y_row = flat || !spatial ? 0 : y.strides[2],
        .y_pixel = spatial ? y.strides[i + 2] : 0,
    };
    hn_step *step;
    HN_TRY(hn_lower_step(L, n, &hn_pool_f32_family, &p, sizeof p, &step, err));
    step->flops = (double)hn_view_count(&y) * (double)(p.kh * p.kw);
    step->bytes = 4.0 * (double)(hn_view_count(&x) + hn_view_count(&y));
    hn_step_reads(step, HN_POOL_F32_X, &x);
    hn_step_writes(step, HN_POOL_F32_Y, &y);
    hn_lower_set(L, n, 0, &y, step);
    return HONE_OK;
}

static hone_status lower_windows(hn_lower *L, const hn_node *n, hn_pool_f32_kind kind,
                                 bool count_pads, bool *done, hn_error *err) {
    hn_view x = hn_lower_in(L, n, 0), y = hn_lower_out(n, 0);
    const char *why = refusal(&x);
    if (why == NULL && hn_view_count(&y) == 0) why = "nothing to compute";
    if (why == NULL && hn_node_output(n, 1) != NULL) why = "the places of the maxima are wanted";
    if (why != NULL) HN_DECLINE(L, why);
    hn_spatial s;
    HN_TRY(hn_spatial_read(n, x.rank - 2, &s, err));
    hn_spatial_resolve(&s, x.dims + 2);
    *done = true;
    return lower(L, n, x, &s, kind, count_pads, err);
}

hone_status hn_lower_max_pool(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    return lower_windows(L, n, HN_POOL_F32_MAX, false, done, err);
}

hone_status hn_lower_average_pool(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    bool count_pads = hn_attr_i(n, "count_include_pad") != 0;
    return lower_windows(L, n, HN_POOL_F32_MEAN, count_pads, done, err);
}

/* One window of the whole image. */
static hone_status lower_global(hn_lower *L, const hn_node *n, hn_pool_f32_kind kind, bool *done,
                                hn_error *err) {
    hn_view x = hn_lower_in(L, n, 0);
    const char *why = refusal(&x);
    if (why != NULL) HN_DECLINE(L, why);
    hn_spatial s = {.rank = x.rank - 2};
    for (int i = 0; i < s.rank; i++) {
        s.kernel[i] = x.dims[i + 2];
        s.stride[i] = s.dilation[i] = 1;
    }
    *done = true;
    return lower(L, n, x, &s, kind, false, err);
}

hone_status hn_lower_global_max_pool(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    return lower_global(L, n, HN_POOL_F32_MAX, done, err);
}

hone_status hn_lower_global_average_pool(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    return lower_global(L, n, HN_POOL_F32_MEAN, done, err);
}

hone_status hn_lower_reduce_image(hn_lower *L, const hn_node *n, hn_reduce_op op, bool *done,
                                  hn_error *err) {
    switch (op) {
        case HN_REDUCE_MAX: return lower_global(L, n, HN_POOL_F32_MAX, done, err);
        case HN_REDUCE_MEAN: return lower_global(L, n, HN_POOL_F32_MEAN, done, err);
        case HN_REDUCE_SUM: return lower_global(L, n, HN_POOL_F32_SUM, done, err);
        default: HN_DECLINE(L, "no pool");
    }
}

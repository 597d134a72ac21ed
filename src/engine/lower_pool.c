/* MaxPool, AveragePool, GlobalMaxPool, GlobalAveragePool, and for lower_reduce.c the reductions
 * that are global pools by another name. One spatial axis becomes an image of one row. Three become
 * two steps, since windows are boxes: over each slice, then along the depth. More run as the
 * reference.
 *
 * Images are pooled with their channels last, as convolutions leave them; images that come planar
 * from the caller, or where the places of the maxima are wanted, plane by plane. Planes from the
 * caller that are small and pooled whole are lines for reduce_f32. */
#include "engine/lower.h"
#include "kernels/pool_f32/pool_f32.h"
#include "kernels/pool_planes_f32/pool_planes_f32.h"
#include "ops/spatial.h"

static const char *refusal(const hn_view *x) {
    if (x->dtype != HONE_DTYPE_F32) return "not f32";
    if (x->rank < 3 || x->rank > 5) return "not one to three spatial axes";
    if (hn_view_count(x) == 0) return "nothing to compute";
    return NULL;
}

static hone_status add(hn_lower *L, const hn_node *n, const hn_pool_f32 *p, const hn_view *x,
                       const hn_view *y, hn_step **out, hn_error *err) {
    HN_TRY(hn_lower_step(L, n, &hn_pool_f32_family, p, sizeof *p, out, err));
    (*out)->facts->flops = (double)hn_view_count(y) * (double)(p->kh * p->kw);
    (*out)->facts->bytes = 4.0 * (double)(hn_view_count(x) + hn_view_count(y));
    hn_step_reads(*out, HN_POOL_F32_X, x);
    hn_step_writes(*out, HN_POOL_F32_Y, y);
    return HONE_OK;
}

static hn_pool_f32 window_of(const hn_view *x, const hn_view *y, const hn_spatial *s,
                             hn_pool_f32_kind kind, bool count_pads) {
    return (hn_pool_f32){
        .windows = hn_lower_windows(x, y, s), .kind = kind, .count_pads = count_pads};
}

/* x [N, C, (H,) W], y [N, C, (OH,) OW], or without its spatial axes where it has one pixel. */
static hone_status lower(hn_lower *L, const hn_node *n, hn_view x, const hn_spatial *s,
                         hn_pool_f32_kind kind, bool count_pads, hn_error *err) {
    hn_view y = hn_lower_out(n, 0);
    int order[HONE_MAX_RANK];
    hn_lower_order_channels_last(y.rank, order);
    HN_TRY(hn_lower_place(L, &y, order, err));
    HN_TRY(hn_lower_channels_last(L, n, &x, err));
    hn_pool_f32 p = window_of(&x, &y, s, kind, count_pads);
    hn_step *step;
    HN_TRY(add(L, n, &p, &x, &y, &step, err));
    hn_lower_set(L, n, 0, &y, step);
    return HONE_OK;
}

/* ---- planes ---- */

enum {
    FEW_CHANNELS = 4, /* vectors along them would be mostly empty, */
    WIDE = 8,         /* as along rows that are shorter */
    LARGE = 1024,     /* elements of a plane for pooling it whole to pay */
};

/* Whether x, [N, C, (H,) W], lies in planes that follow each other. */
static bool has_planes(const hn_view *x) {
    int last = x->rank - 1;
    if (x->strides[last] != 1) return false;
    int64_t plane = x->rank == 4 ? x->dims[2] * x->strides[2] : x->dims[2];
    return x->strides[1] >= plane && x->strides[0] == x->dims[1] * x->strides[1];
}

static bool is_given(const hn_lower *L, const hn_view *x) {
    return L->plan->buffers[hn_buffer_root(L->plan, x->buffer)].kind == HN_BUFFER_INPUT;
}

/* Whether pooling plane by plane pays: it saves copying planes that the caller gives into channels
 * last. Steps that make planes can write channels last instead. */
static bool prefers_planes(const hn_lower *L, const hn_view *x) {
    bool given = is_given(L, x);
    if (x->rank == 5) return given && hn_view_is_dense(x);
    return has_planes(x) && x->strides[1] != 1 &&
           (x->dims[1] <= FEW_CHANNELS || (given && x->dims[x->rank - 1] >= WIDE));
}

/* The step for that many planes of p's windows, x and y adjacent along rows. */
static hone_status add_planes(hn_lower *L, const hn_node *n, const hn_pool_f32 *p, int64_t planes,
                              const hn_view *x, const hn_view *y, hn_pool_planes_f32 *strides,
                              hn_step **out, hn_error *err) {
    hn_pool_planes_f32 q = {.kind = p->kind,
                            .count_pads = p->count_pads,
                            .planes = planes,
                            .h = p->h,
                            .w = p->w,
                            .oh = p->oh,
                            .ow = p->ow,
                            .kh = p->kh,
                            .kw = p->kw,
                            .sh = p->sh,
                            .sw = p->sw,
                            .dh = p->dh,
                            .dw = p->dw,
                            .pt = p->pt,
                            .pl = p->pl,
                            .pb = p->pb,
                            .pr = p->pr,
                            .x_plane = strides->x_plane,
                            .x_row = strides->x_row,
                            .y_plane = strides->y_plane,
                            .y_row = strides->y_row};
    HN_TRY(hn_lower_step(L, n, &hn_pool_planes_f32_family, &q, sizeof q, out, err));
    (*out)->facts->flops = (double)hn_view_count(y) * (double)(p->kh * p->kw);
    (*out)->facts->bytes = 4.0 * (double)(hn_view_count(x) + hn_view_count(y));
    hn_step_reads(*out, HN_POOL_PLANES_X, x);
    hn_step_writes(*out, HN_POOL_PLANES_Y, y);
    return HONE_OK;
}

static hone_status lower_planes(hn_lower *L, const hn_node *n, const hn_view *x,
                                const hn_spatial *s, hn_pool_f32_kind kind, bool count_pads,
                                bool places, hn_error *err) {
    hn_view y = hn_lower_out(n, 0), where;
    HN_TRY(hn_lower_place(L, &y, NULL, err));
    bool rows = x->rank == 4;
    hn_pool_f32 p = window_of(x, &y, s, kind, count_pads);
    hn_pool_planes_f32 strides = {.x_plane = x->strides[1],
                                  .x_row = rows ? x->strides[2] : 0,
                                  .y_plane = p.oh * p.ow,
                                  .y_row = p.ow};
    hn_step *step;
    HN_TRY(add_planes(L, n, &p, p.batch * p.c, x, &y, &strides, &step, err));
    hn_lower_set(L, n, 0, &y, NULL);
    if (!places) return HONE_OK;
    where = hn_lower_out(n, 1);
    HN_TRY(hn_lower_place(L, &where, NULL, err));
    hn_step_writes(step, HN_POOL_PLANES_PLACES, &where);
    hn_lower_set(L, n, 1, &where, NULL);
    return HONE_OK;
}

/* ---- three axes ---- */

/* The window of pools along the depth, of slices of so many pixels. */
static hn_pool_f32 along_depth(const hn_view *x, const hn_view *y, const hn_spatial *s,
                               const hn_pool_f32 *slice) {
    int64_t pixels = slice->oh * slice->ow;
    return (hn_pool_f32){.kind = slice->kind,
                         .count_pads = slice->count_pads,
                         .batch = x->dims[0],
                         .h = x->dims[2],
                         .w = pixels,
                         .c = slice->c,
                         .oh = y->dims[2],
                         .ow = pixels,
                         .n = slice->c,
                         .kh = s->kernel[0],
                         .kw = 1,
                         .sh = s->stride[0],
                         .sw = 1,
                         .dh = s->dilation[0],
                         .dw = 1,
                         .pt = s->pad[0],
                         .pb = s->pad_end[0],
                         .groups = slice->c,
                         .x_channel = 1};
}

/* x [N, C, D, H, W], dense, plane by plane. */
static hone_status lower_depth_planes(hn_lower *L, const hn_node *n, const hn_view *x,
                                      const hn_spatial *s, hn_pool_f32_kind kind, bool count_pads,
                                      hn_error *err) {
    hn_view y = hn_lower_out(n, 0), slices = *x;
    slices.dims[3] = y.dims[3], slices.dims[4] = y.dims[4];
    HN_TRY(hn_lower_place(L, &slices, NULL, err));
    HN_TRY(hn_lower_place(L, &y, NULL, err));
    hn_pool_f32 p = window_of(x, &y, s, kind, count_pads), along = along_depth(x, &y, s, &p);
    hn_pool_planes_f32 strides = {
        .x_plane = p.h * p.w, .x_row = p.w, .y_plane = p.oh * p.ow, .y_row = p.ow};
    hn_step *step;
    HN_TRY(add_planes(L, n, &p, p.batch * p.c * along.h, x, &slices, &strides, &step, err));
    strides = (hn_pool_planes_f32){.x_plane = along.h * along.w,
                                   .x_row = along.w,
                                   .y_plane = along.oh * along.ow,
                                   .y_row = along.ow};
    HN_TRY(add_planes(L, n, &along, p.batch * p.c, &slices, &y, &strides, &step, err));
    hn_lower_set(L, n, 0, &y, NULL);
    return HONE_OK;
}

/* The same with channels last. */
static hone_status lower_depth(hn_lower *L, const hn_node *n, hn_view x, const hn_spatial *s,
                               hn_pool_f32_kind kind, bool count_pads, hn_error *err) {
    hn_view y = hn_lower_out(n, 0), from = x, slices;
    int order[HONE_MAX_RANK];
    hn_lower_order_channels_last(y.rank, order);
    HN_TRY(hn_lower_place(L, &y, order, err));
    HN_TRY(hn_lower_channels_last(L, n, &x, err));
    if (x.strides[0] != x.dims[2] * x.strides[2] && x.dims[0] > 1) { /* images are one batch */
        HN_TRY(hn_lower_place(L, &x, order, err));
        HN_TRY(hn_lower_copy(L, n, &from, &x, err));
    }
    slices = x;
    slices.dims[3] = y.dims[3], slices.dims[4] = y.dims[4];
    HN_TRY(hn_lower_place(L, &slices, order, err));
    hn_pool_f32 p = window_of(&x, &y, s, kind, count_pads), along = along_depth(&x, &y, s, &p);
    p.batch *= along.h;
    p.x_image = x.strides[2], p.x_row = x.strides[3], p.x_pixel = x.strides[4];
    p.y_image = slices.strides[2], p.y_row = slices.strides[3], p.y_pixel = slices.strides[4];
    along.x_image = slices.strides[0], along.x_row = p.y_image, along.x_pixel = p.y_pixel;
    along.y_image = y.strides[0], along.y_row = y.strides[2], along.y_pixel = y.strides[4];
    hn_step *step;
    HN_TRY(add(L, n, &p, &x, &slices, &step, err));
    HN_TRY(add(L, n, &along, &slices, &y, &step, err));
    hn_lower_set(L, n, 0, &y, NULL);
    return HONE_OK;
}

/* ---- the nodes ---- */

static hone_status lower_windows(hn_lower *L, const hn_node *n, hn_pool_f32_kind kind,
                                 bool count_pads, bool *done, hn_error *err) {
    hn_view x = hn_lower_in(L, n, 0), y = hn_lower_out(n, 0);
    const char *why = refusal(&x);
    if (why == NULL && hn_view_count(&y) == 0) why = "nothing to compute";
    bool places = kind == HN_POOL_F32_MAX && hn_node_output(n, 1) != NULL;
    if (why == NULL && places && (x.rank == 5 || hn_attr_i(n, "storage_order") != 0))
        why = "the places of the maxima are wanted";
    if (why != NULL) HN_DECLINE(L, why);
    hn_spatial s;
    HN_TRY(hn_spatial_read(n, x.rank - 2, &s, err));
    hn_spatial_resolve(&s, x.dims + 2);
    *done = true;
    if (places && !has_planes(&x)) HN_TRY(hn_lower_dense(L, n, &x, err));
    if (places || prefers_planes(L, &x))
        return (x.rank == 5 ? lower_depth_planes(L, n, &x, &s, kind, count_pads, err)
                            : lower_planes(L, n, &x, &s, kind, count_pads, places, err));
    return (x.rank == 5 ? lower_depth : lower)(L, n, x, &s, kind, count_pads, err);
}

hone_status hn_lower_max_pool(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    return lower_windows(L, n, HN_POOL_F32_MAX, false, done, err);
}

hone_status hn_lower_average_pool(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    bool count_pads = hn_attr_i(n, "count_include_pad") != 0;
    return lower_windows(L, n, HN_POOL_F32_MEAN, count_pads, done, err);
}

/* Each plane of a dense x is a line to reduce. */
static hone_status lower_lines(hn_lower *L, const hn_node *n, const hn_view *x,
                               hn_pool_f32_kind kind, hn_error *err) {
    static const hn_reduce_op ops[] = {[HN_POOL_F32_MAX] = HN_REDUCE_MAX,
                                       [HN_POOL_F32_MEAN] = HN_REDUCE_MEAN,
                                       [HN_POOL_F32_SUM] = HN_REDUCE_SUM};
    int64_t planes = x->dims[0] * x->dims[1];
    hn_view y = hn_lower_out(n, 0);
    hn_step *s;
    HN_TRY(hn_lower_place(L, &y, NULL, err));
    HN_TRY(hn_lower_reduce_step(
        L, n, ops[kind], (const int64_t[]){planes, hn_view_count(x) / planes, 1}, x, &y, &s, err));
    hn_lower_set(L, n, 0, &y, s);
    return HONE_OK;
}

/* One window of the whole image. */
static hone_status lower_global(hn_lower *L, const hn_node *n, hn_pool_f32_kind kind, bool *done,
                                hn_error *err) {
    hn_view x = hn_lower_in(L, n, 0);
    const char *why = refusal(&x);
    bool deep = x.rank == 5;
    if (why == NULL && deep && hn_lower_out(n, 0).rank != 5) why = "not one or two spatial axes";
    if (why != NULL) HN_DECLINE(L, why);
    hn_spatial s = {.rank = x.rank - 2};
    for (int i = 0; i < s.rank; i++) {
        s.kernel[i] = x.dims[i + 2];
        s.stride[i] = s.dilation[i] = 1;
    }
    *done = true;
    bool large = hn_view_count(&x) / (x.dims[0] * x.dims[1]) >= LARGE;
    if (!large && is_given(L, &x) && hn_view_is_dense(&x)) return lower_lines(L, n, &x, kind, err);
    if (deep && prefers_planes(L, &x)) { /* slices below each other are one */
        int64_t rows = x.dims[2] * x.dims[3];
        hn_view flat;
        hn_view_reshape(&x, 4, (int64_t[]){x.dims[0], x.dims[1], rows, x.dims[4]}, &flat);
        s.kernel[0] = rows, s.kernel[1] = x.dims[4];
        return lower_planes(L, n, &flat, &s, kind, false, false, err);
    }
    if (!deep && large && prefers_planes(L, &x))
        return lower_planes(L, n, &x, &s, kind, false, false, err);
    return (deep ? lower_depth : lower)(L, n, x, &s, kind, false, err);
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

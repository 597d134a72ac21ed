/* Conv of three spatial axes: convolutions over slices, one per tap of the depth, added up.
 *
 *   y[z] = sum over taps k of the depth of   conv(x[z*stride + k*dilation - pad], w[k])
 *
 * Outputs z whose windows reach the same taps are one batch of images, and each tap is a step:
 *
 *   three taps, padding 1, 8 slices:   y[0]      taps 1, 2        7 steps
 *                                      y[1..6]   taps 0, 1, 2
 *                                      y[7]      taps 0, 1
 *
 * The first step of a batch adds the bias and the residual, the others add to what is there, the
 * last one computes the activation. So every kernel for images serves, depthwise ones included.
 *
 * While lowering goes on, one step stands for all of them: a convolution over images whose rows are
 * those of all slices. So what follows is taken in as by any other.
 */
#include "engine/lower.h"

enum { MOST_SPANS = 16, MOST_STEPS = 128 };

struct hn_conv_3d {
    const hn_step *step;
    hn_view w; /* [outputs, channels of a group, kd, kh, kw] */
    hn_conv_slide depth;
    int64_t h, oh; /* rows of a slice */
    hn_conv_3d *next;
};

/* ---- steps ---- */

/* The weights of one tap of the depth. */
static hn_view weights_of(const hn_view *w, int64_t tap) {
    hn_view v = {.buffer = w->buffer,
                 .dtype = w->dtype,
                 .rank = 4,
                 .offset = w->offset + tap * w->strides[2],
                 .dims = {w->dims[0], w->dims[1], w->dims[3], w->dims[4]},
                 .strides = {w->strides[0], w->strides[1], w->strides[3], w->strides[4]}};
    return v;
}

/* Tap `tap` of the depth, for the slices of a span of image b. */
static hone_status add_tap(hn_lower *L, const hn_conv_3d *d, int64_t b, const hn_conv_span *span,
                           int64_t tap, hn_error *err) {
    const hn_conv_f32 *whole = d->step->problem;
    hn_view w = weights_of(&d->w, tap);
    bool first = tap == span->tap, last = tap == span->tap_end - 1;
    int64_t slice = span->first * d->depth.stride + tap * d->depth.dilation - d->depth.pad;
    hn_conv_f32 p = *whole;
    p.batch = span->end - span->first;
    p.h = d->h, p.oh = d->oh;
    p.x_image = d->depth.stride * d->h * p.x_row;
    p.y_image = d->oh * p.y_row, p.r_image = d->oh * p.r_row;
    p.w_x = 1, p.w_y = p.kw, p.w_i = p.kh * p.kw, p.w_o = p.c / p.groups * p.kh * p.kw;
    if (!first) p.r_image = p.y_image, p.r_row = p.y_row, p.r_pixel = p.y_pixel;
    if (!last) p.act = (hn_act){HN_ACT_NONE, 0, 0};
    hn_step *s;
    HN_TRY(hn_lower_conv_part(L, d->step, &p, &w, &s, err));
    s->facts->bytes =
        d->step->facts->bytes * (double)p.batch / (double)(d->depth.out * d->depth.taps);
    hn_lower_shift(s, HN_CONV_X, b * whole->x_image + slice * d->h * p.x_row);
    hn_lower_shift(s, HN_CONV_Y, b * whole->y_image + span->first * p.y_image);
    hn_lower_shift(s, HN_CONV_R, b * whole->r_image + span->first * p.r_image);
    if (first) return HONE_OK;
    s->operands[HN_CONV_BIAS] = (hn_operand){.buffer = -1};
    s->operands[HN_CONV_R] = s->operands[HN_CONV_Y];
    return HONE_OK;
}

static const hn_conv_3d *deep_of(const hn_lower *L, const hn_step *s) {
    const hn_conv_3d *d = L->deep;
    while (d != NULL && d->step != s) d = d->next;
    return d;
}

bool hn_lower_is_deep(const hn_lower *L, const hn_step *s) { return deep_of(L, s) != NULL; }

hone_status hn_lower_conv_depth_finish(hn_lower *L, const hn_step *s, bool *done, hn_error *err) {
    const hn_conv_3d *d = deep_of(L, s);
    *done = d != NULL;
    if (d == NULL) return HONE_OK;
    const hn_conv_f32 *whole = s->problem;
    hn_conv_span spans[MOST_SPANS];
    int n = hn_conv_spans(&d->depth, spans, MOST_SPANS);
    for (int64_t b = 0; b < whole->batch; b++)
        for (int i = 0; i < n; i++)
            for (int64_t tap = spans[i].tap; tap < spans[i].tap_end; tap++)
                HN_TRY(add_tap(L, d, b, &spans[i], tap, err));
    return HONE_OK;
}

/* ---- the node ---- */

/* Why a convolution cannot be cut into such steps; NULL: it can. */
static const char *refusal(const hn_conv_slide *depth, int64_t images) {
    hn_conv_span spans[MOST_SPANS];
    int n = hn_conv_spans(depth, spans, MOST_SPANS);
    int64_t steps = 0;
    for (int i = 0; i < n; i++) {
        int64_t slice =
            spans[i].first * depth->stride + spans[i].tap * depth->dilation - depth->pad;
        if (slice < 0 || slice >= depth->in) return "a window lies in the padding";
        steps += spans[i].tap_end - spans[i].tap;
    }
    return n == 0 || steps > MOST_STEPS / images ? "too many steps" : NULL;
}

hone_status hn_lower_slices_last(hn_lower *L, const hn_node *n, hn_view *v, hn_error *err) {
    HN_TRY(hn_lower_channels_last(L, n, v, err));
    if (v->dims[2] == 1 || v->strides[2] == v->dims[3] * v->strides[3]) return HONE_OK;
    hn_view from = *v;
    int order[HONE_MAX_RANK];
    hn_lower_order_channels_last(v->rank, order);
    HN_TRY(hn_lower_place(L, v, order, err));
    return hn_lower_copy(L, n, &from, v, err);
}

hn_view hn_view_join_slices(const hn_view *v) {
    hn_view f = *v;
    f.rank = 4;
    f.dims[2] = v->dims[2] * v->dims[3], f.dims[3] = v->dims[4];
    f.strides[2] = v->strides[3], f.strides[3] = v->strides[4];
    if (f.dims[1] == 1) f.strides[1] = 1; /* the only channel is adjacent to itself */
    return f;
}

hone_status hn_lower_conv_depth(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    hn_view x = hn_lower_in(L, n, 0), w = hn_lower_in(L, n, 1), b = hn_lower_in(L, n, 2);
    hn_view y = hn_lower_out(n, 0);
    if (x.dtype != HONE_DTYPE_F32) HN_DECLINE(L, "not f32");
    if (x.rank != 5) HN_DECLINE(L, "not one to three spatial axes");
    if (hn_view_count(&y) == 0 || hn_view_count(&x) == 0) HN_DECLINE(L, "nothing to compute");
    hn_spatial s;
    HN_TRY(hn_spatial_read(n, 3, &s, err));
    for (int i = 0; i < 3; i++) s.kernel[i] = w.dims[i + 2];
    hn_spatial_resolve(&s, x.dims + 2);
    hn_conv_slide depth = {x.dims[2], y.dims[2], s.kernel[0], s.stride[0], s.dilation[0], s.pad[0]};
    const char *why = refusal(&depth, x.dims[0]);
    if (why != NULL) HN_DECLINE(L, why);
    *done = true;

    hn_conv_3d *d = hn_arena_zero(&L->plan->arena, sizeof *d);
    if (d == NULL) return HN_NOMEM(err);
    *d = (hn_conv_3d){.w = w, .depth = depth, .h = x.dims[3], .oh = y.dims[3], .next = L->deep};
    int order[HONE_MAX_RANK];
    hn_lower_order_channels_last(y.rank, order);
    HN_TRY(hn_lower_place(L, &y, order, err));
    HN_TRY(hn_lower_slices_last(L, n, &x, err));
    hn_spatial slices = {.rank = 2};
    for (int i = 0; i < 2; i++) {
        slices.stride[i] = s.stride[i + 1];
        slices.dilation[i] = s.dilation[i + 1];
        slices.pad[i] = s.pad[i + 1];
    }
    hn_view x2 = hn_view_join_slices(&x), y2 = hn_view_join_slices(&y), w2 = weights_of(&w, 0);
    hn_conv_f32 p = hn_lower_conv_problem(&x2, &w2, &y2, &slices, hn_attr_i(n, "group"));
    hn_step *step;
    HN_TRY(hn_lower_conv_step(L, n, &p, &x, &w, b, &y, &step, err));
    step->facts->flops = 2.0 * (double)hn_view_count(&y) * (double)(hn_view_count(&w) / w.dims[0]);
    bool one_slice = depth.taps == 1 && depth.stride == 1 && depth.pad == 0;
    if (one_slice && p.kh == 1 && p.sh == 1 && p.pt == 0)
        return HONE_OK; /* all rows are one image */
    d->step = step;
    L->deep = d;
    return HONE_OK;
}

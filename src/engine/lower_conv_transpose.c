/* ConvTranspose: ordinary convolutions, one per phase of the output.
 *
 * Along one axis output o takes tap k from input (o + offset - k*dilation) / stride, where that is
 * a whole number. Outputs o = p, p + stride, p + 2*stride, ... take the same taps, every
 * stride/gcd-th one, backwards, from neighbouring inputs: a convolution of stride 1 that writes
 * every stride-th pixel.
 *
 *   kernel 3, stride 2, offset 1:   phase 0   y[0], y[2], ...    tap 1
 *                                   phase 1   y[1], y[3], ...    taps 2, 0
 *
 * Where the phases of the width have equal taps and pads (kernel 2, stride 2), they are one
 * convolution: its channels are those of all phases, which lie side by side in y.
 *
 * Three spatial axes are convolutions over slices: each phase of the depth is a convolution along
 * the depth, and each of its taps one step for every phase of the slices. The first tap adds the
 * bias and the residual, the others add to y, the last one computes the activation.
 *
 * While lowering goes on, one step stands for all of them, a convolution whose output is the whole
 * image (of three axes: whose rows are those of all slices): so what follows is taken in as by any
 * other. The weights are views of all of them, gathered when they are packed. One spatial
 * axis becomes an image of one row.
 */
#include <string.h>

#include "engine/lower.h"
#include "kernels/col2im_f32/col2im_f32.h"
#include "ops/conv_ref.h"

enum {
    MOST_PHASES = 16, /* of an axis */
    MOST_SPANS = 16,  /* of a phase of the depth */
    MOST_STEPS = 128,
    FAR_REACH = 64, /* of a window: too far for planes, which are copied with what it reaches */
};

enum { DEPTH, HEIGHT, WIDTH, AXES };

struct hn_transposed {
    const hn_step *step;
    bool deep;               /* three spatial axes */
    hn_view w;               /* [channels, outputs of a group, kd, kh, kw], as phases read it */
    hn_view plain;           /* the same, as it comes */
    hn_conv_axis axis[AXES]; /* those that are absent have one input, one output and one tap */
    bool planes;             /* x and y are planar */
    int64_t y_channel;       /* of planar ones: floats from a channel of y to the next */
    hn_transposed *next;
};

/* ---- phases ---- */

/* The convolution that outputs p, p + stride, ... of an axis are. */
typedef struct phase {
    int64_t out;       /* how many they are */
    int64_t skip;      /* inputs before the first one used */
    int64_t in;        /* inputs from there on */
    int64_t taps, pad; /* of the convolution */
    int64_t dilation;
    int64_t first, back; /* its taps are first, first - back, first - 2*back, ... */
} phase;

/* A phase of that many outputs which no input reaches: its window lies before the image. */
static phase nothing(const hn_conv_axis *a, int64_t out) {
    return (phase){.out = out, .in = a->in, .taps = 1, .pad = out, .dilation = 1};
}

static phase phase_of(const hn_conv_axis *a, int64_t p) {
    int64_t dilation = -a->dilation, k = 0, step = 1;
    phase f = {.out = a->out > p ? (a->out - p - 1) / a->up + 1 : 0};
    while (k < a->taps && (p + a->offset - k * dilation) % a->up != 0) k++;
    while (step * dilation % a->up != 0) step++;
    int64_t shift = (p + a->offset - k * dilation) / a->up;
    f.dilation = step * dilation / a->up;
    f.taps = k < a->taps ? (a->taps - 1 - k) / step + 1 : 0;
    f.pad = (f.taps - 1) * f.dilation - shift;
    f.first = k + (f.taps - 1) * step;
    f.back = step;
    if (f.pad < 0) {
        f.skip = -f.pad;
        f.pad = 0;
    }
    f.in = a->in - f.skip;
    return f.taps > 0 && f.in > 0 ? f : nothing(a, f.out);
}

/* Whether the phases of an axis can be one convolution. */
static bool alike(const hn_conv_axis *a) {
    phase f = phase_of(a, 0);
    for (int64_t p = 1; p < a->up; p++) {
        phase g = phase_of(a, p);
        if (g.out != f.out || g.skip != f.skip || g.taps != f.taps || g.pad != f.pad ||
            g.back != f.back || g.first != f.first + p)
            return false;
    }
    return f.taps > 0;
}

/* ---- steps ---- */

/* What one step computes: phase v of the height and h of the width, `joined` of these at once, from
 * tap `tap` of phase d of the depth, for the outputs [first, end) of that phase. */
typedef struct part {
    int64_t image; /* of several; with a depth, a step computes one */
    phase d, v, h;
    int64_t pd, py, px; /* numbers of the phases */
    int64_t joined;
    int64_t tap, first, end;
    int64_t slice;     /* of the input, for the first output; -1: the tap lies in the padding */
    bool starts, ends; /* the sums */
} part;

/* The weights of one step, [outputs][channels of a group][ky][kx] in order. */
static hn_view weights_of(const hn_transposed *t, int64_t groups, const part *a) {
    const int64_t *s = t->w.strides;
    int64_t channels = t->w.dims[0] / groups, tap = a->d.first - a->tap * a->d.back;
    hn_view w = {.buffer = t->w.buffer,
                 .dtype = t->w.dtype,
                 .rank = 6,
                 .offset = t->w.offset + tap * s[2] + a->v.first * s[3] + a->h.first * s[4]};
    const int64_t dims[] = {a->joined, groups, t->w.dims[1], channels, a->v.taps, a->h.taps};
    const int64_t strides[] = {s[4], channels * s[0],   s[1],
                               s[0], -a->v.back * s[3], -a->h.back * s[4]};
    for (int i = 0; i < 6; i++) {
        w.dims[i] = dims[i];
        w.strides[i] = strides[i];
    }
    return w;
}

static hone_status add_part(hn_lower *L, const hn_transposed *t, const part *a, hn_operand bias,
                            hn_error *err) {
    const hn_conv_f32 *whole = t->step->problem;
    const hn_conv_axis *z = &t->axis[DEPTH], *y = &t->axis[HEIGHT], *x = &t->axis[WIDTH];
    hn_view w = weights_of(t, whole->groups, a);
    hn_conv_f32 p = *whole;
    int64_t from = 0, to = 0; /* rows before the first slice, of x and of y */
    if (t->deep) {
        from = a->slice < 0 ? 0 : a->slice * y->in;
        to = (a->pd + a->first * z->up) * y->out;
        p.batch = a->end - a->first;
        p.x_image = a->slice < 0 ? 0 : y->in * p.x_row;
        p.y_image = z->up * y->out * p.y_row, p.r_image = z->up * y->out * p.r_row;
    }
    p.h = a->v.in, p.w = a->h.in;
    p.oh = a->v.out, p.ow = a->h.out, p.n = whole->n * a->joined;
    p.kh = a->v.taps, p.kw = a->h.taps;
    p.sh = p.sw = 1;
    p.dh = a->v.dilation, p.dw = a->h.dilation;
    p.pt = a->v.pad, p.pl = a->h.pad;
    p.y_row = whole->y_row * y->up, p.y_pixel = whole->y_pixel * x->up;
    p.r_row = whole->r_row * y->up, p.r_pixel = whole->r_pixel * x->up;
    p.w_x = 1, p.w_y = p.kw, p.w_i = p.kh * p.kw, p.w_o = p.c / p.groups * p.kh * p.kw;
    if (!a->starts) p.r_image = p.y_image, p.r_row = p.y_row, p.r_pixel = p.y_pixel;
    if (!a->ends) p.act = (hn_act){HN_ACT_NONE, 0, 0};
    hn_step *s;
    HN_TRY(hn_lower_conv_part(L, t->step, &p, &w, &s, err));
    if (t->planes) HN_TRY(hn_lower_conv_to_planes(L, s, t->y_channel, err));
    s->operands[HN_CONV_BIAS] = bias;
    from += a->v.skip, to += a->py;
    hn_lower_shift(s, HN_CONV_X,
                   a->image * whole->x_image + from * p.x_row + a->h.skip * p.x_pixel);
    hn_lower_shift(s, HN_CONV_Y,
                   a->image * whole->y_image + to * whole->y_row + a->px * whole->y_pixel);
    hn_lower_shift(s, HN_CONV_R,
                   a->image * whole->r_image + to * whole->r_row + a->px * whole->r_pixel);
    if (!a->starts) {
        s->operands[HN_CONV_BIAS] = (hn_operand){.buffer = -1};
        s->operands[HN_CONV_R] = s->operands[HN_CONV_Y];
    }
    double share = (double)a->joined / (double)(z->up * y->up * x->up);
    if (t->deep) share *= (double)p.batch / (double)(whole->batch * a->d.out * a->d.taps);
    s->facts->bytes = t->step->facts->bytes * share;
    return HONE_OK;
}

/* All phases of the slices that a says. */
static hone_status add_slices(hn_lower *L, const hn_transposed *t, part a, hn_operand bias,
                              hn_error *err) {
    const hn_conv_axis *y = &t->axis[HEIGHT], *x = &t->axis[WIDTH];
    for (a.py = 0; a.py < y->up; a.py++)
        for (a.px = 0; a.px < x->up; a.px += a.joined) {
            a.v = phase_of(y, a.py), a.h = phase_of(x, a.px);
            if (a.slice < 0) a.v = nothing(y, a.v.out);
            if (a.v.out > 0 && a.h.out > 0) HN_TRY(add_part(L, t, &a, bias, err));
        }
    return HONE_OK;
}

/* How the window of a phase moves along the depth. */
static hn_conv_slide slide_of(const phase *d) {
    return (hn_conv_slide){d->in, d->out, d->taps, 1, d->dilation, d->pad};
}

/* The slice of the input that output o of a phase gets tap `tap` from; -1: there is none. */
static int64_t slice_of(const phase *d, int64_t o, int64_t tap) {
    int64_t slice = o + tap * d->dilation - d->pad;
    return slice >= 0 && slice < d->in ? d->skip + slice : -1;
}

/* The bias as often as phases are joined: made with the plan where it is a constant. */
static hone_status repeat(hn_lower *L, const hn_transposed *t, int64_t times, hn_operand *bias,
                          hn_error *err) {
    const hn_conv_f32 *whole = t->step->problem;
    if (times == 1 || bias->buffer < 0) return HONE_OK;
    const hn_tensor *known = L->plan->buffers[bias->buffer].tensor;
    if (known != NULL) {
        size_t bytes = (size_t)whole->n * sizeof(float);
        hn_tensor *all;
        hn_view v;
        HN_TRY(hn_lower_constant(L, HONE_DTYPE_F32, times * whole->n, &all, &v, err));
        for (int64_t i = 0; i < times; i++)
            memcpy((char *)all->data + (size_t)i * bytes, (char *)known->data + bias->offset,
                   bytes);
        *bias = (hn_operand){v.buffer, 0};
        return HONE_OK;
    }
    hn_view from = {.buffer = bias->buffer,
                    .dtype = HONE_DTYPE_F32,
                    .rank = 2,
                    .offset = (int64_t)(bias->offset / 4),
                    .dims = {times, whole->n},
                    .strides = {0, 1}};
    hn_view to = from;
    HN_TRY(hn_lower_place(L, &to, NULL, err));
    HN_TRY(hn_lower_copy(L, t->step->node, &from, &to, err));
    *bias = (hn_operand){to.buffer, 0};
    return HONE_OK;
}

/* ---- columns ---- */

/* Whether planar images are rather multiplied by all taps at once, and what that gives added up:
 * where a pixel then has fewer numbers than the phases, one after the other, read of it. */
static bool prefers_columns(const hn_transposed *t) {
    const hn_conv_f32 *p = t->step->problem;
    const hn_conv_axis *y = &t->axis[HEIGHT], *x = &t->axis[WIDTH];
    bool dense = p->y_pixel == 1 && (p->oh == 1 || p->y_row == p->ow) &&
                 (p->n == 1 || t->y_channel == p->oh * p->ow) &&
                 (p->batch == 1 || p->y_image == p->n * p->oh * p->ow);
    return dense && t->w.dims[1] * y->taps * x->taps < y->up * x->up * (p->c / p->groups);
}

/* The weights of all taps, [outputs][ky][kx][channels of a group] in order. */
static hn_view weights_of_taps(const hn_transposed *t, int64_t groups) {
    const int64_t *d = t->plain.dims, *s = t->plain.strides;
    int64_t channels = d[0] / groups;
    return (hn_view){.buffer = t->plain.buffer,
                     .dtype = t->plain.dtype,
                     .rank = 5,
                     .offset = t->plain.offset,
                     .dims = {groups, d[1], d[3], d[4], channels},
                     .strides = {channels * s[0], s[1], s[3], s[4], s[0]}};
}

static hone_status add_columns(hn_lower *L, const hn_transposed *t, hn_error *err) {
    const hn_conv_f32 *whole = t->step->problem;
    const hn_conv_axis *y = &t->axis[HEIGHT], *x = &t->axis[WIDTH];
    int64_t taps = y->taps * x->taps;
    hn_view columns = {.dtype = HONE_DTYPE_F32,
                       .rank = 4,
                       .dims = {whole->batch, whole->n * taps, whole->h, whole->w}};
    HN_TRY(hn_lower_place(L, &columns, NULL, err));
    hn_conv_f32 p = *whole;
    p.n = whole->n * taps, p.oh = p.h, p.ow = p.w;
    p.kh = p.kw = p.sh = p.sw = p.dh = p.dw = 1;
    p.pt = p.pl = 0;
    p.y_image = columns.strides[0], p.y_row = columns.strides[2], p.y_pixel = 1;
    p.w_o = p.c / p.groups, p.w_i = p.w_y = p.w_x = 1;
    p.act = (hn_act){HN_ACT_NONE, 0, 0};
    hn_view w = weights_of_taps(t, whole->groups);
    hn_step *product, *sum;
    HN_TRY(hn_lower_conv_part(L, t->step, &p, &w, &product, err));
    HN_TRY(hn_lower_conv_to_planes(L, product, columns.strides[1], err));
    product->operands[HN_CONV_BIAS] = (hn_operand){.buffer = -1};
    hn_step_writes(product, HN_CONV_Y, &columns);
    product->facts->bytes = t->step->facts->bytes + 4.0 * (double)hn_view_count(&columns);

    hn_col2im_f32 q = {.planes = whole->batch * whole->n,
                       .h = whole->oh,
                       .w = whole->ow,
                       .oh = whole->h,
                       .ow = whole->w,
                       .kh = y->taps,
                       .kw = x->taps,
                       .sh = y->up,
                       .sw = x->up,
                       .dh = -y->dilation,
                       .dw = -x->dilation,
                       .pt = y->offset,
                       .pl = x->offset,
                       .channels = whole->n,
                       .act = whole->act};
    HN_TRY(hn_lower_step(L, t->step->node, &hn_col2im_f32_family, &q, sizeof q, &sum, err));
    sum->facts->label = t->step->facts->label;
    sum->facts->flops = (double)hn_view_count(&columns);
    sum->facts->bytes = 4.0 * (double)(hn_view_count(&columns) + q.planes * q.h * q.w);
    hn_step_reads(sum, HN_COL2IM_X, &columns);
    sum->operands[HN_COL2IM_Y] = t->step->operands[HN_CONV_Y];
    sum->writes = 1u << HN_COL2IM_Y;
    sum->operands[HN_COL2IM_BIAS] = t->step->operands[HN_CONV_BIAS];
    sum->n_operands = HN_COL2IM_OPERANDS_;
    return HONE_OK;
}

/* ---- all steps ---- */

hn_transposed *hn_lower_transposed(const hn_lower *L, const hn_step *s) {
    hn_transposed *t = L->transposed;
    while (t != NULL && t->step != s) t = t->next;
    return t;
}

bool hn_lower_transposed_planes(hn_transposed *t, int64_t y_channel) {
    for (int i = 0; i < AXES; i++)
        if ((t->axis[i].taps - 1) * -t->axis[i].dilation > FAR_REACH) return false;
    if (t->deep || t->planes) return false;
    t->planes = true;
    t->y_channel = y_channel;
    return true;
}

hone_status hn_lower_conv_transpose_finish(hn_lower *L, const hn_step *s, bool *done,
                                           hn_error *err) {
    const hn_transposed *t = hn_lower_transposed(L, s);
    *done = t != NULL;
    if (t == NULL) return HONE_OK;
    if (t->planes && prefers_columns(t)) return add_columns(L, t, err);
    const hn_conv_f32 *whole = s->problem;
    const hn_conv_axis *x = &t->axis[WIDTH];
    bool adjacent = whole->y_pixel == whole->n &&
                    (s->operands[HN_CONV_R].buffer < 0 || whole->r_pixel == whole->n);
    bool join = whole->groups == 1 && adjacent && alike(x) && !t->planes;
    part a = {.joined = join ? x->up : 1};
    hn_operand bias = s->operands[HN_CONV_BIAS];
    HN_TRY(repeat(L, t, a.joined, &bias, err));
    for (a.image = 0; a.image < (t->deep ? whole->batch : 1); a.image++)
        for (a.pd = 0; a.pd < t->axis[DEPTH].up; a.pd++) {
            hn_conv_span spans[MOST_SPANS];
            a.d = phase_of(&t->axis[DEPTH], a.pd);
            hn_conv_slide slide = slide_of(&a.d);
            int n = hn_conv_spans(&slide, spans, MOST_SPANS);
            for (int i = 0; i < n; i++)
                for (a.tap = spans[i].tap; a.tap < spans[i].tap_end; a.tap++) {
                    a.first = spans[i].first, a.end = spans[i].end;
                    a.slice = slice_of(&a.d, a.first, a.tap);
                    a.starts = a.tap == spans[i].tap, a.ends = a.tap == spans[i].tap_end - 1;
                    HN_TRY(add_slices(L, t, a, bias, err));
                }
        }
    return HONE_OK;
}

/* ---- the node ---- */

/* Why a transposed convolution cannot be cut into steps; NULL: it can. */
static const char *refusal(const hn_conv_axis *axes, int64_t images) {
    int64_t steps = 0;
    for (int i = 0; i < AXES; i++)
        if (axes[i].up > MOST_PHASES) return "a large stride";
    for (int64_t p = 0; p < axes[DEPTH].up; p++) {
        hn_conv_span spans[MOST_SPANS];
        phase d = phase_of(&axes[DEPTH], p);
        hn_conv_slide slide = slide_of(&d);
        int n = hn_conv_spans(&slide, spans, MOST_SPANS);
        if (n == 0 && d.out > 0) return "too many steps";
        for (int i = 0; i < n; i++) steps += spans[i].tap_end - spans[i].tap;
    }
    if (axes[DEPTH].up == 1 && steps == 1) return NULL;
    return steps * axes[HEIGHT].up * axes[WIDTH].up > MOST_STEPS / images ? "too many steps" : NULL;
}

/* The weights of one to three spatial axes as those of three. */
static hn_view spread_weights(const hn_view *w) {
    hn_view v = *w;
    int absent = 5 - w->rank;
    v.rank = 5;
    for (int i = 4; i >= 2; i--) {
        v.dims[i] = i - absent >= 2 ? w->dims[i - absent] : 1;
        v.strides[i] = i - absent >= 2 ? w->strides[i - absent] : 0;
    }
    return v;
}

/* Weights that are not constant lie as most phases read them: taps apart, those of outputs side by
 * side, and those of phases that may be joined too. */
static hone_status part_taps(hn_lower *L, const hn_node *n, int64_t groups, hn_view *w,
                             hn_error *err) {
    int order[5], at = 0, joined = groups == 1 ? w->rank - 1 : w->rank;
    if (hn_lower_is_constant(L, w) || hn_view_count(w) == w->dims[0] * w->dims[1]) return HONE_OK;
    for (int i = 2; i < w->rank; i++)
        if (i != joined) order[at++] = i;
    order[at++] = 0;
    if (joined < w->rank) order[at++] = joined;
    order[at] = 1;
    hn_view from = *w;
    HN_TRY(hn_lower_place(L, w, order, err));
    return hn_lower_copy(L, n, &from, w, err);
}

hone_status hn_lower_conv_transpose(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    hn_view x = hn_lower_in(L, n, 0), w = hn_lower_in(L, n, 1), b = hn_lower_in(L, n, 2);
    hn_view y = hn_lower_out(n, 0);
    if (x.dtype != HONE_DTYPE_F32) HN_DECLINE(L, "not f32");
    if (x.rank < 3 || x.rank > 5) HN_DECLINE(L, "not one to three spatial axes");
    if (hn_view_count(&x) == 0 || hn_view_count(&w) == 0 || hn_view_count(&y) == 0)
        HN_DECLINE(L, "nothing to compute");
    bool flat = x.rank == 3, deep = x.rank == 5;
    const hn_conv_axis absent = {.in = 1, .out = 1, .taps = 1, .step = 1, .dilation = -1, .up = 1};
    hn_conv_axis axes[AXES] = {absent, absent, absent};
    HN_TRY(hn_conv_transpose_axes(n, x.rank - 2, x.dims + 2, w.dims + 2, y.dims + 2,
                                  axes + 5 - x.rank, err));
    const char *why = refusal(axes, x.dims[0]);
    if (why != NULL) HN_DECLINE(L, why);

    int order[HONE_MAX_RANK];
    hn_lower_order_channels_last(y.rank, order);
    HN_TRY(hn_lower_place(L, &y, order, err));
    HN_TRY((deep ? hn_lower_slices_last : hn_lower_channels_last)(L, n, &x, err));
    hn_view plain = spread_weights(&w);
    HN_TRY(part_taps(L, n, hn_attr_i(n, "group"), &w, err));
    hn_transposed *t = hn_arena_zero(&L->plan->arena, sizeof *t);
    if (t == NULL) return HN_NOMEM(err);
    *t = (hn_transposed){
        .deep = deep, .w = spread_weights(&w), .plain = plain, .next = L->transposed};
    memcpy(t->axis, axes, sizeof axes);
    hn_view in = deep ? hn_view_join_slices(&x) : x, out = deep ? hn_view_join_slices(&y) : y;
    int i = in.rank - 1; /* the axis of width */
    /* Only what describes the images is that of a convolution; the rest is each phase's own. */
    hn_conv_f32 p = {
        .batch = in.dims[0],
        .h = flat ? 1 : in.dims[2],
        .w = in.dims[i],
        .c = in.dims[1],
        .oh = flat ? 1 : out.dims[2],
        .ow = out.dims[i],
        .n = out.dims[1],
        .groups = hn_attr_i(n, "group"),
        .x_image = in.strides[0],
        .x_row = flat ? 0 : in.strides[2],
        .x_pixel = in.strides[i],
        .x_channel = 1,
        .y_image = out.strides[0],
        .y_row = flat ? 0 : out.strides[2],
        .y_pixel = out.strides[i],
    };
    hn_step *step;
    HN_TRY(hn_lower_conv_step(L, n, &p, &x, &w, b, &y, &step, err));
    step->facts->flops = 2.0 * (double)hn_view_count(&x) * (double)(hn_view_count(&w) / w.dims[0]);
    t->step = step;
    L->transposed = t;
    *done = true;
    return HONE_OK;
}

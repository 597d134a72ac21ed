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
 * While lowering goes on, one step stands for all of them, a convolution whose output is the whole
 * image: so what follows is taken in as by any other. The weights are views of the constant, which
 * is gathered when it is packed. One spatial axis becomes an image of one row.
 */
#include <string.h>

#include "engine/lower.h"
#include "ops/conv_ref.h"

enum { MOST_PHASES = 16 }; /* of an axis */

struct hn_transposed {
    const hn_step *step;
    hn_view w;            /* [channels, outputs of a group, kh, kw] */
    hn_conv_axis axis[2]; /* height, width */
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
    if (f.taps > 0 && f.in > 0) return f;
    /* Nothing gets there: a window that lies before the image. */
    return (phase){.out = f.out, .in = a->in, .taps = 1, .pad = f.out, .dilation = 1};
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

/* The weights of one convolution, [outputs][channels of a group][ky][kx] in order. */
static hn_view weights_of(const hn_transposed *t, int64_t groups, const phase *v, const phase *h,
                          int64_t joined) {
    const int64_t *s = t->w.strides;
    int64_t channels = t->w.dims[0] / groups;
    hn_view w = {.buffer = t->w.buffer,
                 .dtype = t->w.dtype,
                 .rank = 6,
                 .offset = t->w.offset + v->first * s[2] + h->first * s[3]};
    const int64_t dims[] = {joined, groups, t->w.dims[1], channels, v->taps, h->taps};
    const int64_t strides[] = {s[3], channels * s[0], s[1], s[0], -v->back * s[2], -h->back * s[3]};
    for (int i = 0; i < 6; i++) {
        w.dims[i] = dims[i];
        w.strides[i] = strides[i];
    }
    return w;
}

/* The convolution of phase v of the height and h, which is number px, of the width; `joined`
 * phases of the width at once. */
static hone_status add_phase(hn_lower *L, const hn_transposed *t, const phase *v, int64_t py,
                             const phase *h, int64_t px, int64_t joined, hn_operand bias,
                             hn_error *err) {
    const hn_conv_f32 *whole = t->step->problem;
    int64_t sy = t->axis[0].up, sx = t->axis[1].up;
    hn_view w = weights_of(t, whole->groups, v, h, joined);
    hn_conv_f32 p = *whole;
    p.h = v->in, p.w = h->in;
    p.oh = v->out, p.ow = h->out, p.n = whole->n * joined;
    p.kh = v->taps, p.kw = h->taps;
    p.sh = p.sw = 1;
    p.dh = v->dilation, p.dw = h->dilation;
    p.pt = v->pad, p.pl = h->pad;
    p.y_row = whole->y_row * sy, p.y_pixel = whole->y_pixel * sx;
    p.r_row = whole->r_row * sy, p.r_pixel = whole->r_pixel * sx;
    p.w_x = 1, p.w_y = p.kw, p.w_i = p.kh * p.kw, p.w_o = p.c / p.groups * p.kh * p.kw;
    hn_step *s;
    HN_TRY(hn_lower_conv_part(L, t->step, &p, &w, &s, err));
    s->operands[HN_CONV_BIAS] = bias;
    hn_lower_shift(s, HN_CONV_X, v->skip * p.x_row + h->skip * p.x_pixel);
    hn_lower_shift(s, HN_CONV_Y, py * whole->y_row + px * whole->y_pixel);
    hn_lower_shift(s, HN_CONV_R, py * whole->r_row + px * whole->r_pixel);
    s->bytes = t->step->bytes / (double)(sx * sy) * (double)joined;
    return HONE_OK;
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

hone_status hn_lower_conv_transpose_finish(hn_lower *L, const hn_step *s, bool *done,
                                           hn_error *err) {
    const hn_transposed *t = L->transposed;
    while (t != NULL && t->step != s) t = t->next;
    *done = t != NULL;
    if (t == NULL) return HONE_OK;
    const hn_conv_f32 *whole = s->problem;
    const hn_conv_axis *y = &t->axis[0], *x = &t->axis[1];
    bool adjacent = whole->y_pixel == whole->n &&
                    (s->operands[HN_CONV_R].buffer < 0 || whole->r_pixel == whole->n);
    int64_t joined = whole->groups == 1 && adjacent && alike(x) ? x->up : 1;
    hn_operand bias = s->operands[HN_CONV_BIAS];
    HN_TRY(repeat(L, t, joined, &bias, err));
    for (int64_t py = 0; py < y->up; py++)
        for (int64_t px = 0; px < x->up; px += joined) {
            phase v = phase_of(y, py), h = phase_of(x, px);
            if (v.out > 0 && h.out > 0) HN_TRY(add_phase(L, t, &v, py, &h, px, joined, bias, err));
        }
    return HONE_OK;
}

/* ---- the node ---- */

hone_status hn_lower_conv_transpose(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    hn_view x = hn_lower_in(L, n, 0), w = hn_lower_in(L, n, 1), b = hn_lower_in(L, n, 2);
    hn_view y = hn_lower_out(n, 0);
    if (x.dtype != HONE_DTYPE_F32) HN_DECLINE(L, "not f32");
    if (x.rank != 3 && x.rank != 4) HN_DECLINE(L, "not one or two spatial axes");
    if (hn_node_constant(n, 1) == NULL) HN_DECLINE(L, "the weights are computed");
    if (hn_view_count(&x) == 0 || hn_view_count(&w) == 0 || hn_view_count(&y) == 0)
        HN_DECLINE(L, "nothing to compute");
    bool flat = x.rank == 3;
    int i = flat ? 2 : 3; /* the axis of width */
    hn_conv_axis axis[2] = {{.in = 1, .out = 1, .taps = 1, .step = 1, .dilation = -1, .up = 1}};
    HN_TRY(hn_conv_transpose_axes(n, x.rank - 2, x.dims + 2, w.dims + 2, y.dims + 2,
                                  flat ? axis + 1 : axis, err));
    if (axis[0].up > MOST_PHASES || axis[1].up > MOST_PHASES) HN_DECLINE(L, "a large stride");

    int order[HONE_MAX_RANK];
    hn_lower_order_channels_last(y.rank, order);
    HN_TRY(hn_lower_place(L, &y, order, err));
    HN_TRY(hn_lower_channels_last(L, n, &x, err));
    hn_transposed *t = hn_arena_zero(&L->plan->arena, sizeof *t);
    if (t == NULL) return HN_NOMEM(err);
    *t = (hn_transposed){.w = w, .axis = {axis[0], axis[1]}, .next = L->transposed};
    if (flat) {
        t->w.dims[3] = w.dims[2];
        t->w.strides[3] = w.strides[2];
        t->w.dims[2] = 1;
    }
    /* Only what describes the images is that of a convolution; the rest is each phase's own. */
    hn_conv_f32 p = {
        .batch = x.dims[0],
        .h = flat ? 1 : x.dims[2],
        .w = x.dims[i],
        .c = x.dims[1],
        .oh = flat ? 1 : y.dims[2],
        .ow = y.dims[i],
        .n = y.dims[1],
        .groups = hn_attr_i(n, "group"),
        .x_image = x.strides[0],
        .x_row = flat ? 0 : x.strides[2],
        .x_pixel = x.strides[i],
        .x_channel = 1,
        .y_image = y.strides[0],
        .y_row = flat ? 0 : y.strides[2],
        .y_pixel = y.strides[i],
    };
    hn_step *step;
    HN_TRY(hn_lower_conv_step(L, n, &p, &x, &w, b, &y, &step, err));
    t->step = step;
    L->transposed = t;
    *done = true;
    return HONE_OK;
}

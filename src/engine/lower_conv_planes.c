/* Convolutions between images that are planar on both sides.
 *
 * Convolutions compute with channels last, and copies stand where the other steps, or the caller,
 * have them first:
 *
 *   x ─▶ copy ─▶ conv_f32 ─▶ copy ─▶ y          becomes          x ─▶ conv_planes_f32 ─▶ y
 *
 * where nothing else reads what is between, and the arithmetic is little beside the copies. In
 * networks the steps before and after a convolution mostly have channels last too: there are no
 * copies then, and nothing changes. An image of one channel lies both ways.
 *
 * It is done when all nodes are lowered, so that a step has taken in what follows it. */
#include <string.h>

#include "engine/lower.h"
#include "kernels/conv_planes_f32/conv_planes_f32.h"
#include "kernels/copy/copy.h"

/* ---- the steps around ---- */

/* Which steps have operands in a buffer, counted by its root. */
typedef struct uses {
    int n;
    hn_step *step[2]; /* the first two */
} uses;

static void add_use(const hn_plan *p, uses *all, int buffer, hn_step *s) {
    if (buffer < 0) return;
    uses *u = &all[hn_buffer_root(p, buffer)];
    for (int i = 0; i < u->n && i < 2; i++)
        if (u->step[i] == s) return;
    if (u->n < 2) u->step[u->n] = s;
    u->n++;
}

static void count_uses(const hn_plan *p, uses *all) {
    memset(all, 0, (size_t)p->n_buffers * sizeof *all);
    for (int i = 0; i < p->n_steps; i++) {
        hn_step *s = p->steps[i];
        for (int k = 0; k < s->n_operands; k++) add_use(p, all, s->operands[k].buffer, s);
        for (int k = 0; k < s->n_in; k++) add_use(p, all, s->in[k].buffer, s);
        for (int k = 0; k < s->n_out; k++) add_use(p, all, s->out[k].buffer, s);
    }
}

/* The only step that uses the buffer besides s; NULL: there are none or several, or the caller sees
 * the buffer. */
static hn_step *other_step(const hn_lower *L, const uses *all, const hn_step *s, int buffer) {
    const hn_buffer *b = &L->plan->buffers[buffer];
    const uses *u = &all[buffer];
    if (b->kind != HN_BUFFER_SLAB || b->inside >= 0 || u->n != 2) return NULL;
    return u->step[u->step[0] == s];
}

/* An image: sizes and strides of [batch, channels, rows, columns]. */
typedef struct image {
    int64_t dims[4], strides[4];
} image;

/* One side of a copy as an image; false: it is none. */
static bool image_of(const hn_copy *c, const int64_t *strides, image *out) {
    int64_t rows = 1, row = 0;
    for (int i = c->rank - 2; i >= 2; i--) {
        if (c->dims[i] == 1) continue;
        if (rows > 1 && strides[i] != rows * row) return false;
        if (rows == 1) row = strides[i];
        rows *= c->dims[i];
    }
    int last = c->rank - 1;
    *out = (image){{c->dims[0], c->dims[1], rows, c->dims[last]},
                   {strides[0], strides[1], row, strides[last]}};
    return true;
}

static bool same_image(const image *a, const image *b) {
    for (int i = 0; i < 4; i++)
        if (a->dims[i] != b->dims[i] || (a->dims[i] > 1 && a->strides[i] != b->strides[i]))
            return false;
    return true;
}

static bool goes_forward(const image *a) {
    for (int i = 0; i < 4; i++)
        if (a->dims[i] > 1 && a->strides[i] <= 0) return false;
    return true;
}

/* The other side of the copy that has `side` of it (HN_COPY_SRC or HN_COPY_DST) in the place of an
 * operand of s, which is the image `is`, and that is of no other use. NULL: there is none. */
static hn_step *copy_at(const hn_lower *L, const uses *all, const hn_step *s, int operand, int side,
                        const image *is, image *other) {
    const hn_operand *o = &s->operands[operand];
    hn_step *t = other_step(L, all, s, o->buffer);
    image here;
    const hn_copy *c = hn_step_problem(t, &hn_copy_family);
    if (c == NULL || c->size != sizeof(float) || c->rank < 3 || c->rank > 5) return NULL;
    if (t->operands[side].buffer != o->buffer || t->operands[side].offset != o->offset) return NULL;
    bool to = side == HN_COPY_DST;
    if (!image_of(c, to ? c->dst : c->src, &here) || !same_image(&here, is)) return NULL;
    if (!image_of(c, to ? c->src : c->dst, other) || !goes_forward(other)) return NULL;
    return t;
}

/* What there is to change. */
typedef struct change {
    hn_step *before, *after; /* copies; NULL: that side is planar as it is */
    image x, y;
} change;

/* Whether both sides of s are planar, but for copies of no other use. */
static bool find_planes(const hn_lower *L, const uses *all, const hn_step *s, change *out) {
    const hn_conv_f32 *p = s->problem;
    *out = (change){
        .x = {{p->batch, p->c, p->h, p->w}, {p->x_image, p->x_channel, p->x_row, p->x_pixel}},
        .y = {{p->batch, p->n, p->oh, p->ow}, {p->y_image, 1, p->y_row, p->y_pixel}}};
    image x, y;
    out->before = copy_at(L, all, s, HN_CONV_X, HN_COPY_DST, &out->x, &x);
    if (out->before != NULL) out->x = x;
    out->after = copy_at(L, all, s, HN_CONV_Y, HN_COPY_SRC, &out->y, &y);
    if (out->after != NULL) out->y = y;
    bool read = (p->w == 1 || out->x.strides[3] == 1) && goes_forward(&out->x);
    return read && (p->n == 1 || out->after != NULL);
}

/* ---- whether it pays ---- */

/* Both ways are compared by what they cost, in multiplications that conv_planes_f32 does meanwhile
 * with all lanes filled (26 per cycle). The numbers are from convolutions of 3 to 192 channels over
 * images of 7x7 to 150x150 on Granite Rapids with AVX-512. */
enum {
    COPIED = 9,       /* an element that a copy moves, */
    COPIED_FAR = 36,  /* where there are more than stay in L2: */
    FAR = 1 << 18,    /* elements; the same on every machine: another step has other bits */
    STEP = 6000,      /* a copy, whatever its size */
    LAID_OUT = 10,    /* an element of x that conv_planes_f32 copies to put padding around it, */
    PICKED = 20,      /* or to put every second one aside */
    LAID_ROW = 260,   /* a row of those */
    FEW_OUTPUTS = 16, /* of transposed convolutions, up to which planes pay */
    SHORT_ROW = 12,   /* with rows that are longer; or */
    VERY_FEW_OUTPUTS = 4,
};

static double filled(int64_t n, int64_t lanes) {
    return (double)n / (double)((n + lanes - 1) / lanes * lanes);
}

/* Multiplications by conv_f32 while conv_planes_f32 does one. */
static double rate_of(const hn_lower *L, const hn_conv_f32 *p) {
    int64_t out = p->n / p->groups, terms = p->c / p->groups * p->kh * p->kw;
    bool tiles = hn_isa_facts_of(L->isa)->tile_rate > 0;
    if (p->groups > 1 && p->groups == p->c) return (terms > 25 ? 0.55 : 0.45) * filled(p->c, 16);
    if (p->groups > 1) return out < 16 ? 0.27 : out < 32 ? 0.45 : 0.85;
    if (p->x_channel == 1 && p->n <= 4)
        return (0.3 + 0.13 * (double)p->n) * (double)terms / (double)(terms + 150);
    bool winograd = p->kh == 3 && p->kw == 3 && p->sh == 1 && p->sw == 1 && p->dh == 1 &&
                    p->dw == 1 && p->c >= 16;
    if (winograd) return p->n >= 32 ? 2 : p->c >= 32 ? 1.2 : 1;
    if (terms >= 192 && p->n >= 32) return p->kh * p->kw == 1 ? 1.2 : tiles ? 1.9 : 1;
    if (p->x_channel != 1) return 0.95 * filled(p->n, 16);
    return p->n > 16 ? 0.85 : 0.6 * filled(p->n, 16);
}

static double cost_of_channels_last(const hn_lower *L, const hn_step *s, const change *c) {
    const hn_conv_f32 *p = s->problem;
    double x = (double)p->batch * (double)(p->c * p->h * p->w);
    double y = (double)p->batch * (double)(p->n * p->oh * p->ow);
    double copied = (c->before != NULL ? x : 0) + (c->after != NULL ? y : 0);
    return s->facts->flops / 2 / rate_of(L, p) + copied * (copied > FAR ? COPIED_FAR : COPIED) +
           STEP * ((c->before != NULL) + (c->after != NULL));
}

static double cost_of_planes(const hn_lower *L, const hn_step *s) {
    const hn_conv_f32 *p = s->problem;
    int64_t lanes = hn_isa_facts_of(L->isa)->vector_floats, out = p->n / p->groups;
    bool line = p->kh == 1 && p->kw == 1 && p->sh == 1 && p->sw == 1 && p->pt == 0 && p->pl == 0;
    bool column = p->sh == 1 && p->dh == 1 && p->kh > 1;
    double tall = out == 1 ? (column ? 0.6 : 0.4) : out == 2 ? 0.75 : 1;
    double busy = filled(line ? p->oh * p->ow : p->ow, lanes) * tall;
    double rows = (double)p->batch * (double)(p->c * p->h), laid = 0;
    if (!line)
        laid = p->sw == 1 ? rows * (double)p->w * LAID_OUT + rows * LAID_ROW
                          : rows * (double)p->w * PICKED + 2 * rows * LAID_ROW;
    return s->facts->flops / 2 / busy + laid;
}

static bool pays(const hn_lower *L, const hn_step *s, const change *c) {
    const hn_conv_f32 *p = s->problem;
    if (hn_lower_transposed(L, s) != NULL)
        return p->groups == 1 &&
               (p->n <= VERY_FEW_OUTPUTS || (p->n <= FEW_OUTPUTS && p->w > SHORT_ROW));
    /* Taps that lie in the padding are left out by conv_f32 alone, where they are many. */
    if (hn_conv_share_inside(p) < 0.7) return false;
    hn_conv_planes_f32 planes = hn_conv_planes_of(p, 1);
    const hn_family *f = &hn_conv_planes_f32_family;
    if (hn_kernel_choose(f, (hn_allowed){.isa = L->isa}, &planes, NULL, NULL) ==
        f->rows[f->n_rows - 1])
        return false;
    return cost_of_planes(L, s) < cost_of_channels_last(L, s, c);
}

/* ---- the step ---- */

hone_status hn_lower_conv_to_planes(hn_lower *L, hn_step *s, int64_t y_channel, hn_error *err) {
    hn_conv_planes_f32 p = hn_conv_planes_of(s->problem, y_channel);
    hn_conv_planes_f32 *copy = hn_arena_alloc(&L->plan->arena, sizeof *copy);
    if (copy == NULL) return HN_NOMEM(err);
    *copy = p;
    s->problem = copy;
    s->problem_bytes = sizeof *copy;
    s->family = &hn_conv_planes_f32_family;
    return HONE_OK;
}

static void drop(hn_plan *p, const hn_step *s) {
    int kept = 0;
    for (int i = 0; i < p->n_steps; i++)
        if (p->steps[i] != s) p->steps[kept++] = p->steps[i];
    p->n_steps = kept;
}

/* Puts s in the place of a later step. */
static void replace(hn_plan *p, hn_step *later, hn_step *s) {
    drop(p, s);
    for (int i = 0; i < p->n_steps; i++)
        if (p->steps[i] == later) p->steps[i] = s;
}

static hone_status use_planes(hn_lower *L, hn_step *s, const change *c, hn_error *err) {
    hn_conv_f32 *p = s->problem;
    p->x_image = c->x.strides[0], p->x_channel = c->x.strides[1], p->x_row = c->x.strides[2];
    p->x_pixel = 1;
    p->y_image = c->y.strides[0], p->y_row = c->y.strides[2], p->y_pixel = c->y.strides[3];
    if (c->before != NULL) {
        s->operands[HN_CONV_X] = c->before->operands[HN_COPY_SRC];
        drop(L->plan, c->before);
    }
    if (c->after != NULL) {
        s->operands[HN_CONV_Y] = c->after->operands[HN_COPY_DST];
        replace(L->plan, c->after, s);
    }
    if (hn_lower_transposed(L, s) != NULL) return HONE_OK;
    return hn_lower_conv_to_planes(L, s, c->y.strides[1], err);
}

hone_status hn_lower_conv_planes(hn_lower *L, hn_error *err) {
    hn_plan *p = L->plan;
    uses *all = hn_arena_array(&p->arena, (size_t)p->n_buffers + 1, sizeof *all);
    if (all == NULL) return HN_NOMEM(err);
    count_uses(p, all);
    for (int i = 0; i < p->n_steps; i++) {
        hn_step *s = p->steps[i];
        change c;
        if (hn_step_problem(s, &hn_conv_f32_family) == NULL) continue;
        if (s->operands[HN_CONV_R].buffer >= 0) continue;
        if (hn_lower_is_deep(L, s) || !find_planes(L, all, s, &c) || !pays(L, s, &c)) continue;
        hn_transposed *t = hn_lower_transposed(L, s);
        if (t != NULL && !hn_lower_transposed_planes(t, c.y.strides[1])) continue;
        HN_TRY(use_planes(L, s, &c, err));
        count_uses(p, all);                          /* copies that are gone use nothing */
        i -= (c.before != NULL) + (c.after != NULL); /* steps that are no longer before the next */
    }
    return HONE_OK;
}

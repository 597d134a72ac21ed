/* Depthwise conv_q8: every channel has a window of its own.
 *
 * Vectors run along channels, HN_VB of them at a time: a block. An instruction sums KU products of
 * neighbours in a row of the window, if their bytes lie together. So the rows of the image are
 * woven first, each once for all windows it is in:
 *
 *   row of x, KU = 4      a0 a1 a2 a3 ...    a: pixel, channels 0, 1, 2 ...
 *                         b0 b1 b2 b3 ...
 *                         c0 c1 c2 c3 ...      ->   a0 b0 c0 d0 | a1 b1 c1 d1 | a2 b2 c2 d2 | ...
 *                         d0 d1 d2 d3 ...           `---------- a group of KU taps ----------'
 *
 * A window is `groups` of these in each of its rows. Where that is more pixels than it has, it
 * serves some outputs to the right too (`outputs` together, a segment), by weights that are moved:
 * w0 w1 w2 0 for the first, 0 w0 w1 w2 for the next. What lies outside the image is woven as zero
 * points, what lies behind the last output has weights 0: the loop over windows knows no edges.
 *
 * A lane keeps the woven rows of one block of one image in a ring of kh. A task is an output row of
 * a block; those of neighbours find most of their rows there.
 *
 * A last block of few channels would leave most of its vectors empty. It is folded: a vector holds
 * as many pixels of these channels as it has room for, side by side. For this rows are first copied,
 * with their padding, to sw planes: pixel i to place i / sw of plane i % sw, so that the pixels that
 * meet a tap for neighbouring outputs lie side by side.
 *
 * Channels in a woven group, and in all that meets it, have the order that bytes take by halves
 * within 128 bits: `channel_at` says which. Weights are packed as sums [c], then
 * [block][ky][group][output of a segment][HN_VB places][KU].
 *
 * The file that includes this brings
 *
 *   KU, FLIP          products an instruction sums, the sign of x that it wants
 *   MAX_OUTPUTS       of a segment, four sums each: 1, 2 or 4
 *   GROUP_BYTES       of a woven group
 *   w_elem            int8_t, or int16_t: weights may have zero points
 *   weave(taps, to)   KU vectors of bytes to a group
 *   x_group, load_group(from)
 *   dot(sum, x, w)    sum[0..3] += the group times weights
 *   zero_vec, spread(zero)
 *   narrow(y, zero)   y[0..3] in the order of places, zero added to each, as bytes, saturating;
 *                     y may be saturated to s16 before
 *   ROW, NAME, ISA    of the hn_kernel
 */
#ifdef KU
#include <math.h>
#include <string.h>

#include "kernels/conv_q8/conv_q8_parts.h"

typedef struct geometry {
    int64_t blocks, groups, outputs, segments;
    /* Groups of a woven row: `runs` of `run` each, their first pixels so far apart. */
    int64_t runs, run, run_step, group_step;
    int64_t hop;       /* groups from segment to segment */
    int64_t row_bytes; /* of a woven row */
    int64_t weights;   /* of a block */
    int64_t pixels;    /* in a vector: more than 1 where it is folded */
    int64_t plane;     /* bytes of a plane, where it is */
} geometry;

static geometry measure(const hn_conv_q8 *p) {
    geometry g = {.blocks = hn_q8_ceil(p->c, HN_VB), .groups = hn_q8_ceil(p->kw, KU), .pixels = 1};
    int64_t free_taps = g.groups * KU - p->kw;
    g.outputs = p->dw == 1 ? hn_q8_min(hn_over(free_taps, p->sw) + 1, MAX_OUTPUTS) : 1;
    if (g.outputs == 3) g.outputs = 2;
    g.segments = hn_q8_ceil(p->ow, g.outputs);
    int64_t step = g.outputs * p->sw;
    if (p->dw == 1 && step % KU == 0 && step / KU < g.groups) { /* segments share groups */
        g.hop = step / KU;
        g.runs = (g.segments - 1) * g.hop + g.groups, g.run = 1;
        g.run_step = KU;
    } else {
        g.hop = g.groups;
        g.runs = g.segments, g.run = g.groups;
        g.run_step = step;
    }
    g.group_step = KU * p->dw;
    g.row_bytes = g.runs * g.run * GROUP_BYTES;
    g.weights = p->kh * g.groups * g.outputs * HN_VB * KU;
    return g;
}

/* Channels of block i. */
static int64_t channels_of(const hn_conv_q8 *p, int64_t i) {
    return hn_q8_min(HN_VB, p->c - i * HN_VB);
}

/* The geometry of block i: that of all, or of a folded last one. */
static geometry measure_block(const hn_conv_q8 *p, const geometry *all, int64_t i) {
    geometry g = *all;
    const int64_t n = channels_of(p, i);
    if (2 * n > HN_VB) return g;
    g.pixels = hn_q8_min(hn_over(HN_VB, n), p->ow);
    if (g.pixels == 1) return g;
    g.outputs = 1;
    g.segments = g.runs = hn_q8_ceil(p->ow, g.pixels);
    g.hop = g.run = g.groups, g.run_step = g.pixels;
    if (p->sw == 1 && p->dw == 1 && g.pixels % KU == 0 && g.pixels / KU < g.groups) {
        g.hop = g.pixels / KU, g.run = 1, g.run_step = KU; /* segments share groups */
        g.runs = (g.segments - 1) * g.hop + g.groups;
    }
    g.row_bytes = g.runs * g.run * GROUP_BYTES;
    g.weights = p->kh * g.groups * HN_VB * KU;
    /* Whole vectors are written from every place on. */
    g.plane = (g.segments * g.pixels + hn_over(g.groups * KU * p->dw, p->sw)) * n + HN_VB;
    return g;
}

/* The byte of a vector of a block that is in vector place / HN_VL, lane place % HN_VL. */
static int64_t byte_at(int64_t place) {
    int64_t vector = place / HN_VL, lane = place % HN_VL;
    return lane / 4 * 16 + vector * 4 + lane % 4;
}

/* And the place of a byte. */
static int64_t place_of(int64_t byte) { return byte / 4 % 4 * HN_VL + byte / 16 * 4 + byte % 4; }

/* The channel at a place, of n in a block; -1: none. */
static int64_t channel_at(const geometry *g, int64_t n, int64_t place) {
    const int64_t byte = byte_at(place);
    return byte < g->pixels * n ? byte % n : -1;
}

/* Which weight of a block is at a place of its packed ones; kx outside the window: none, 0. */
typedef struct tap {
    int64_t ky, kx, place;
} tap;

static tap tap_at(const hn_conv_q8 *p, const geometry *g, int64_t at) {
    int64_t k = at % KU, place = at / KU % HN_VB, row = at / KU / HN_VB;
    int64_t output = row % g->outputs, group = row / g->outputs % g->groups;
    return (tap){
        .ky = row / g->outputs / g->groups, .kx = group * KU + k - output * p->sw, .place = place};
}

typedef struct ring {
    char *rows;        /* [kh] woven */
    int64_t *held;     /* which row of the padded image, -1: none */
    const char **from; /* the rows of the windows at hand */
    uint8_t *padding;  /* a pixel */
    w_elem *w;         /* of a block, less their zero points */
    uint8_t *planes;   /* of a row that is folded */
} ring;

static size_t divide(const hn_conv_q8 *p, const geometry *g, char *base, ring *r) {
    const geometry last = measure_block(p, g, g->blocks - 1);
    const int64_t weights = hn_q8_max(g->weights, last.weights);
    size_t rows = (size_t)(p->kh * hn_q8_max(g->row_bytes, last.row_bytes));
    size_t padding = hn_q8_round64(HN_VB);
    size_t lines = hn_q8_round64(p->kh * (int64_t)sizeof(int64_t));
    size_t w = p->w_zero_points ? hn_q8_round64(weights * (int64_t)sizeof(w_elem)) : 0;
    if (base != NULL) {
        r->rows = base;
        r->held = (int64_t *)(base + rows);
        r->from = (const char **)(base + rows + lines);
        r->padding = (uint8_t *)(base + rows + 2 * lines);
        r->w = (w_elem *)(base + rows + 2 * lines + padding);
        r->planes = (uint8_t *)base + rows + 2 * lines + padding + w;
    }
    return rows + 2 * lines + padding + w + (size_t)(p->sw * last.plane);
}

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_conv_q8 *p = problem;
    geometry g = measure(p);
    *w = (hn_work){.n_phases = 1,
                   .tasks = {g.blocks * p->batch * p->oh},
                   .parts = hn_q8_max(1, hn_q8_min(lanes, p->batch * p->oh)),
                   .lane_scratch = divide(p, &g, NULL, NULL)};
}

static size_t header_bytes(const hn_conv_q8 *p) {
    return hn_q8_round64(p->c * (int64_t)sizeof(int32_t));
}

/* A block of channels: what sums start with and are multiplied by, in the order of places. */
typedef struct block {
    int64_t c0, n;
    const w_elem *w;
    _Alignas(64) int32_t start[HN_VB];
    float scale[HN_VB];
    float fbias[HN_VB];
    float divisor[HN_VB], inverse[HN_VB]; /* of bytes that go through floats */
    float in_order[HN_VB];                /* scale, by channels */
    bool small; /* all sums, scaled, are below 2^22, as hn_v_to_int asks */
} block;

static int32_t x_off(const hn_conv_q8 *p) {
    if (FLIP == (int)p->x) return 0;
    return FLIP == HN_Q8_U8 ? 128 : -128;
}

/* Weights less their zero points; those of no tap stay 0. */
static void subtract_zero_points(const hn_conv_q8 *p, const geometry *g, const int32_t *wz,
                                 const w_elem *w, w_elem *to, int64_t n) {
    for (int64_t at = 0; at < g->weights; at++) {
        tap t = tap_at(p, g, at);
        const int64_t c = channel_at(g, n, t.place);
        const bool none = t.kx < 0 || t.kx >= p->kw || c < 0;
        to[at] = (w_elem)(w[at] - (none ? 0 : wz[c] - hn_q8_w_off(p)));
    }
}

/* Elements in the order of bytes to that of places: four that follow each other stay together. */
HN_INLINE void to_places(void *to, const void *from) {
    for (int64_t i = 0; i < HN_VB; i += 4)
        memcpy((char *)to + place_of(i) * 4, (const char *)from + i * 4, 16);
}

/* Numbers of a block's channels, by places; of n channels only. */
static void spread_floats(const geometry *g, const float *of, int64_t n, float *to) {
    float all[HN_VB] = {0};
    memcpy(all, of, (size_t)n * sizeof *all);
    for (int64_t i = n; i < g->pixels * n; i++) all[i] = all[i - n];
    to_places(to, all);
}

/* Whether what becomes of these sums, scaled, is below 2^22. */
static bool all_small(const hn_conv_q8 *p, const int32_t *start, const float *scale) {
    const hn_vf products = hn_v_set1(255.0F * 255.0F * (float)(p->kh * p->kw));
    const hn_vf bound = hn_v_set1(0x1.fffp21F);
    bool small = true;
    for (int i = 0; i < HN_VB; i += HN_VL) {
        hn_vf most = hn_v_add(hn_v_abs(hn_v_from_int(hn_vi_load(start + i))), products);
        most = hn_v_mul(most, hn_v_abs(hn_v_load(scale + i)));
        small &= !hn_vm_any(hn_vm_not(hn_v_lt(most, bound))); /* NaN is not small */
    }
    return small;
}

/* Block i, whose weights are at w. */
static void begin_block(const hn_q8_args *a, const geometry *g, const void *packed, const w_elem *w,
                        int64_t i, const ring *r, block *b) {
    const hn_conv_q8 *p = a->p;
    int32_t sums[HN_VB] = {0}, start[HN_VB] = {0};
    const int64_t c0 = i * HN_VB, n = channels_of(p, i);
    b->c0 = c0, b->n = n;
    b->w = w;
    memcpy(sums, (const int32_t *)packed + c0, (size_t)n * sizeof *sums);
    if (p->w_zero_points) {
        subtract_zero_points(p, g, a->wz + c0, b->w, r->w, n);
        b->w = r->w;
        for (int64_t j = 0; j < n; j++)
            sums[j] -= (int32_t)(p->kh * p->kw) * (a->wz[c0 + j] - hn_q8_w_off(p));
    }
    memset(b->in_order, 0, sizeof b->in_order);
    hn_q8_begin(a, sums, x_off(p), c0, n, start, b->in_order);
    b->small = all_small(p, start, b->in_order);
    for (int64_t j = n; j < g->pixels * n; j++) start[j] = start[j - n];
    to_places(b->start, start);
    spread_floats(g, b->in_order, n, b->scale);
    memset(b->fbias, 0, sizeof b->fbias);
    if (a->fbias != NULL) spread_floats(g, a->fbias + c0, n, b->fbias);
    if (p->ys <= 0) return;
    for (int64_t j = 0; j < HN_VB; j++) b->divisor[j] = p->ys;
    if (a->ys != NULL) spread_floats(g, a->ys + c0, n, b->divisor);
    for (int64_t j = 0; j < HN_VB; j++) {
        if (b->divisor[j] == 0) b->divisor[j] = 1; /* of no channel */
        b->inverse[j] = 1 / b->divisor[j];
    }
}

/* The group whose first pixel is `first`, where some may lie outside a row of `width`. */
HN_INLINE void weave_edge(const hn_conv_q8 *p, const uint8_t *x, int64_t first, int64_t width,
                          hn_vb outside, hn_vb flip, int64_t n, char *to) {
    hn_vb taps[KU];
    for (int k = 0; k < KU; k++) {
        int64_t at = first + k * p->dw;
        taps[k] = at >= 0 && at < width ? hn_vb_xor(hn_vb_load_part(x + at * p->x_pixel, n), flip)
                                        : outside;
    }
    weave(taps, to);
}

/* A row of x, of which `width` pixels are inside the image. */
HN_INLINE void weave_row(const hn_conv_q8 *p, const geometry *g, const uint8_t *x, int64_t width,
                         const uint8_t *padding, int64_t n, char *to) {
    const hn_vb flip = hn_vb_set1(x_off(p) != 0 ? 0x80 : 0), outside = hn_vb_load(padding);
    const int64_t next = p->dw * p->x_pixel, step = g->run * GROUP_BYTES;
    for (int64_t j = 0; j < g->run; j++) {
        int64_t first = j * g->group_step - p->pl, i = 0;
        char *group = to + j * GROUP_BYTES;
        for (; i < g->runs && first < 0; i++, group += step, first += g->run_step)
            weave_edge(p, x, first, width, outside, flip, n, group);
        int64_t last = first + (KU - 1) * p->dw;
        const uint8_t *from = x + first * p->x_pixel;
        for (; i < g->runs && last < width; i++, group += step, last += g->run_step) {
            hn_vb taps[KU];
            for (int k = 0; k < KU; k++)
                taps[k] = hn_vb_xor(hn_vb_load_part(from + k * next, n), flip);
            weave(taps, group);
            from += g->run_step * p->x_pixel;
        }
        for (first = last - (KU - 1) * p->dw; i < g->runs; i++, group += step, first += g->run_step)
            weave_edge(p, x, first, width, outside, flip, n, group);
    }
}

/* n channels of a row of x, of which `width` pixels are inside the image, with its padding to planes.
 */
static void fold_row(const hn_q8_args *a, const geometry *g, const uint8_t *x, int64_t width,
                     int64_t n, uint8_t *planes) {
    const hn_conv_q8 *p = a->p;
    const int64_t all = hn_over(g->plane - HN_VB, n) * p->sw;
    const int64_t first = hn_q8_min(hn_q8_max(p->pl, 0), all);
    const int64_t last = hn_q8_max(first, hn_q8_min(all, p->pl + width));
    const hn_vb outside = hn_vb_set1(a->xz);
    const uint8_t *from = x + (first - p->pl) * p->x_pixel;
    if (p->sw == 1 && p->x_pixel == n) {
        memset(planes, a->xz, (size_t)(first * n));
        memcpy(planes + first * n, from, (size_t)((last - first) * n));
        memset(planes + last * n, a->xz, (size_t)((all - last) * n));
        return;
    }
    int64_t plane = 0, at = 0; /* of pixel i */
    for (int64_t i = 0; i < all; i++) {
        const bool inside = i >= first && i < last;
        hn_vb_store(planes + plane * g->plane + at,
                    inside ? hn_vb_load_n(from + (i - first) * p->x_pixel, n) : outside);
        if (++plane == p->sw) plane = 0, at += n;
    }
}

/* Planes to a woven row. */
static void weave_planes(const hn_conv_q8 *p, const geometry *g, const uint8_t *planes, int64_t n,
                         char *to) {
    const hn_vb flip = hn_vb_set1(x_off(p) != 0 ? 0x80 : 0);
    const int64_t step = g->run_step * n;
    for (int64_t j = 0; j < g->run; j++) {
        const uint8_t *from[KU];
        for (int k = 0; k < KU; k++) {
            int64_t pixel = (j * KU + k) * p->dw;
            const int64_t plane = hn_digit(&pixel, p->sw);
            from[k] = planes + plane * g->plane + pixel * n;
        }
        for (int64_t i = 0; i < g->runs; i++) {
            hn_vb taps[KU];
            for (int k = 0; k < KU; k++) taps[k] = hn_vb_xor(hn_vb_load(from[k] + i * step), flip);
            weave(taps, to + (i * g->run + j) * GROUP_BYTES);
        }
    }
}

/* The rows of the windows of output row oy, woven. */
static void find_rows(const hn_q8_args *a, const geometry *g, const ring *r, const block *b,
                      int64_t image, int64_t oy) {
    const hn_conv_q8 *p = a->p;
    int64_t y = oy * p->sh, slot = hn_rest(p->dh == 1 ? y : hn_over(y, p->dh), p->kh);
    for (int64_t ky = 0; ky < p->kh; ky++, y += p->dh, slot = slot + 1 < p->kh ? slot + 1 : 0) {
        char *to = r->rows + slot * g->row_bytes;
        r->from[ky] = to;
        if (r->held[slot] == y) continue;
        r->held[slot] = y;
        int64_t iy = y - p->pt;
        bool inside = iy >= 0 && iy < p->h;
        const uint8_t *x = inside ? a->x + image * p->x_image + iy * p->x_row + b->c0 : a->x;
        int64_t width = inside ? p->w : 0;
        if (g->pixels > 1) {
            fold_row(a, g, x, width, b->n, r->planes);
            weave_planes(p, g, r->planes, b->n, to);
        } else if (b->n == HN_VB)
            weave_row(p, g, x, width, r->padding, HN_VB, to);
        else
            weave_row(p, g, x, width, r->padding, b->n, to);
    }
}

#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

/* Output row (image, oy) of a block. */
typedef struct target {
    const hn_q8_args *a;
    const geometry *g;
    const block *b;
    const char *const *rows;
    int64_t y_at, r_at;
} target;

/* Sums of outputs of segment j, of weights that are w_step apart from group to group. kh and groups
 * are constants for usual windows, `outputs` always is. */
HN_INLINE void add_up(const target *t, int64_t j, const int64_t kh, const int64_t groups,
                      const int outputs, const w_elem *w, int64_t w_step, hn_vi (*sum)[4]) {
    for (int64_t ky = 0; ky < kh; ky++) {
        const char *x = t->rows[ky] + j * t->g->hop * GROUP_BYTES;
        for (int64_t k = 0; k < groups; k++, x += GROUP_BYTES, w += w_step) {
            x_group xs = load_group(x);
            UNROLL for (int s = 0; s < outputs; s++) dot(sum[s], &xs, w + s * HN_VB * KU);
        }
    }
}

/* A vector of bytes: the outputs of a pixel, or of several, of which `left` are left in the row. */
HN_INLINE void put(const target *t, hn_vb bytes, int64_t left, const bool folded, uint8_t *to) {
    const int64_t n = t->b->n, step = t->a->p->y_pixel;
    const int64_t pixels = folded ? hn_q8_min(t->g->pixels, left) : 1;
    if (!folded || step == n) {
        hn_vb_store_part(to, bytes, pixels * n);
        return;
    }
    uint8_t apart[2 * HN_VB];
    hn_vb_store(apart, bytes);
    for (int64_t i = 0; i < pixels; i++) hn_vb_store_n(to + i * step, hn_vb_load(apart + i * n), n);
}

/* Bytes, with nothing added. Limits are applied to bytes, which saturate at those of their type. */
HN_INLINE void make_bytes(const target *t, const int64_t kh, const int64_t groups,
                          const int outputs, const bool folded) {
    const hn_conv_q8 *p = t->a->p;
    const block *b = t->b;
    const int32_t bias = p->y == HN_Q8_U8 ? 128 : 0;
    const hn_vb lo = hn_vb_set1(p->lo - bias), hi = hn_vb_set1(p->hi - bias);
    const hn_vb flip = hn_vb_set1(p->y == HN_Q8_U8 ? 0x80 : 0);
    const zero_vec zero = spread(p->yz - bias);
    hn_vf scale[4];
    hn_vi start[4];
    UNROLL for (int i = 0; i < 4; i++) {
        scale[i] = hn_v_load(b->scale + i * HN_VL);
        start[i] = hn_vi_load(b->start + i * HN_VL);
    }
    uint8_t *to = (uint8_t *)t->a->y + t->y_at;
    const int64_t pixels = folded ? t->g->pixels : 1;
    for (int64_t j = 0, left = p->ow; left > 0; j++, left -= outputs * pixels) {
        hn_vi sum[MAX_OUTPUTS][4];
        UNROLL for (int s = 0; s < outputs; s++) {
            UNROLL for (int i = 0; i < 4; i++) sum[s][i] = start[i];
        }
        add_up(t, j, kh, groups, outputs, b->w, outputs * HN_VB * KU, sum);
        UNROLL for (int s = 0; s < outputs; s++, to += pixels * p->y_pixel) {
            if (s >= left) break;
            hn_vi y[4];
            UNROLL for (int i = 0; i < 4; i++) y[i] =
                hn_v_to_int(hn_v_mul(hn_v_from_int(sum[s][i]), scale[i]));
            hn_vb bytes = hn_vb_max(lo, hn_vb_min(hi, narrow(y, zero)));
            put(t, hn_vb_xor(bytes, flip), left, folded, to);
        }
    }
}

/* Sums of output ox, or of folded outputs, alone. */
HN_INLINE void add_up_one(const target *t, int64_t ox, hn_vi (*sum)[4]) {
    const geometry *g = t->g;
    for (int i = 0; i < 4; i++) sum[0][i] = hn_vi_load(t->b->start + i * HN_VL);
    const int64_t output = hn_digit(&ox, g->outputs);
    add_up(t, ox, t->a->p->kh, g->groups, 1, t->b->w + output * HN_VB * KU, g->outputs * HN_VB * KU,
           sum);
}

/* Bytes that go through floats: some pixels at a time, that activations have enough to do. */
static void make_through_floats(const target *t) {
    enum { PIXELS = 8 };
    const hn_conv_q8 *p = t->a->p;
    const block *b = t->b;
    const hn_q8_end end = hn_q8_end_of(p->y, p->yz, p->lo, p->hi);
    hn_vf divisor[4], inverse[4];
    for (int k = 0; k < 4; k++) {
        divisor[k] = hn_v_load(b->divisor + k * HN_VL);
        inverse[k] = hn_v_load(b->inverse + k * HN_VL);
    }
    const zero_vec zero = spread(p->yz - hn_q8_bias(p->y));
    uint8_t *to = (uint8_t *)t->a->y + t->y_at;
    _Alignas(64) float v[PIXELS * HN_VB];
    const int64_t outputs = hn_q8_ceil(p->ow, t->g->pixels);
    for (int64_t ox = 0; ox < outputs; ox += PIXELS) {
        int64_t pixels = hn_q8_min(PIXELS, outputs - ox);
        for (int64_t i = 0; i < pixels; i++) {
            hn_vi sum[1][4];
            add_up_one(t, ox + i, sum);
            for (int k = 0; k < 4; k++) {
                hn_vf x = hn_v_mul(hn_v_from_int(sum[0][k]), hn_v_load(b->scale + k * HN_VL));
                x = hn_v_add(x, hn_v_load(b->fbias + k * HN_VL));
                hn_v_store(v + i * HN_VB + k * HN_VL, x);
            }
        }
        hn_q8_activate(&p->act, v, pixels * HN_VB);
        for (int64_t i = 0; i < pixels; i++, to += t->g->pixels * p->y_pixel) {
            hn_vf x[4];
            hn_vi y[4];
            hn_q8_fetch_f32(v, 1, i * HN_VB, HN_VB, x);
            hn_q8_divide_each(divisor, inverse, &end, x, y);
            put(t, hn_vb_xor(narrow(y, zero), end.flip), p->ow - (ox + i) * t->g->pixels,
                t->g->pixels > 1, to);
        }
    }
}

/* Whatever else becomes of sums, output by output. */
static void make_any(const target *t) {
    const hn_conv_q8 *p = t->a->p;
    const int64_t n = t->b->n, pixels = t->g->pixels;
    for (int64_t ox = 0; ox < p->ow; ox += pixels) {
        int32_t places[HN_VB], c[HN_VB];
        hn_vi sum[1][4];
        add_up_one(t, hn_over(ox, pixels), sum);
        memcpy(places, sum, sizeof places);
        for (int64_t i = 0; i < HN_VB; i++) c[byte_at(i)] = places[i];
        for (int64_t i = 0; i < hn_q8_min(pixels, p->ow - ox); i++)
            hn_q8_finish(t->a, c + i * n, t->b->in_order, t->b->c0, n, 0,
                         t->y_at + (ox + i) * p->y_pixel, t->r_at + (ox + i) * p->r_pixel);
    }
}

/* Windows of three rows, three wide, with what the compiler then knows of them, and others. Where
 * sums are plain additions it does not help: they are put in another order, which needs more
 * registers than there are. */
HN_INLINE void make_usual(const target *t, const int outputs) {
    const int64_t three = (3 + KU - 1) / KU;
    if (KU != 2 && t->a->p->kh == 3 && t->g->groups == three)
        make_bytes(t, 3, three, outputs, false);
    else
        make_bytes(t, t->a->p->kh, t->g->groups, outputs, false);
}

static void make_row(const target *t) {
    const hn_conv_q8 *p = t->a->p;
    bool bytes = (p->y == HN_Q8_U8 || p->y == HN_Q8_S8) && t->a->r == NULL;
    if (bytes && p->ys > 0)
        make_through_floats(t);
    else if (!bytes || !t->b->small)
        make_any(t);
    else if (t->g->pixels > 1)
        make_bytes(t, p->kh, t->g->groups, 1, true);
    else if (t->g->outputs == 1)
        make_usual(t, 1);
#if MAX_OUTPUTS > 1
    else if (t->g->outputs == 2)
        make_usual(t, 2);
#endif
#if MAX_OUTPUTS > 2
    else
        make_bytes(t, p->kh, t->g->groups, 4, false);
#endif
}

/* Tasks are the rows of a block, block after block, first in one band of rows and then in the next:
 * a lane stays in its band, whose pixels it wrote itself if the step before was divided so. */
typedef struct band {
    int64_t first, rows; /* of the batch */
} band;

static band band_at(const hn_conv_q8 *p, int64_t parts, int64_t i) {
    int64_t rows = p->batch * p->oh, first = hn_over(rows * i, parts);
    return (band){first, hn_over(rows * (i + 1), parts) - first};
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase;
    const hn_conv_q8 *p = call->problem;
    const geometry g = measure(p);
    geometry of = g;
    const char *packed = call->ptr[HN_CONV_Q8_W];
    const w_elem *w = (const w_elem *)(const void *)(packed + header_bytes(p));
    ring r = {0};
    divide(p, &g, lane, &r);
    hn_q8_args a = hn_q8_args_of(call), without = a;
    hn_conv_q8 plain = *p; /* the zero points of weights are gone before they meet anything */
    plain.w_zero_points = false, without.p = &plain;
    memset(r.padding, a.xz + x_off(p), HN_VB);
    block b;
    int64_t number = 0;
    band at = band_at(p, call->work->parts, 0);
    while (g.blocks * (at.first + at.rows) <= begin) at = band_at(p, call->work->parts, ++number);
    int64_t i = begin - g.blocks * at.first;
    int64_t row = hn_digit(&i, at.rows);
    for (int64_t t = begin; t < end; t++) {
        int64_t image = at.first + row;
        const int64_t oy = hn_digit(&image, p->oh);
        if (t == begin || row == 0) {
            of = measure_block(p, &g, i);
            begin_block(&a, &of, packed, w + i * g.weights, i, &r, &b);
        }
        if (t == begin || row == 0 || oy == 0)
            for (int64_t k = 0; k < p->kh; k++) r.held[k] = -1;
        find_rows(&a, &of, &r, &b, image, oy);
        make_row(&(target){&without, &of, &b, r.from, image * p->y_image + oy * p->y_row + b.c0,
                           image * p->r_image + oy * p->r_row + b.c0});
        if (++row < at.rows) continue;
        row = 0;
        if (++i == g.blocks) i = 0, at = band_at(p, call->work->parts, ++number);
    }
}

static size_t packed_bytes(const void *problem) {
    const geometry g = measure(problem), last = measure_block(problem, &g, g.blocks - 1);
    return header_bytes(problem) +
           (size_t)((g.blocks - 1) * g.weights + last.weights) * sizeof(w_elem);
}

static uint64_t pack_key(const void *problem) {
    const hn_conv_q8 *p = problem;
    const int64_t of[] = {p->c,       p->kh,           p->kw,       p->sw,
                          p->dw == 1, p->w_o,          p->w_y,      p->w_x,
                          p->w_type,  HN_VB * 10 + KU, MAX_OUTPUTS, p->ow < HN_VB ? p->ow : HN_VB};
    return hn_pack_hash(of, sizeof of / sizeof *of);
}

static int64_t pack_tasks(const void *problem) { return measure(problem).blocks; }

/* A task is a block. The first outputs of segments have every tap once: they are summed. */
static void pack_block(const hn_conv_q8 *p, const geometry *all, const void *plain, int64_t i,
                       void *dst) {
    const geometry g = measure_block(p, all, i);
    const int64_t c0 = i * HN_VB, n = channels_of(p, i), rows = p->kh * g.groups * g.outputs;
    int32_t *sums = (int32_t *)dst + c0;
    w_elem *to = (w_elem *)(void *)((char *)dst + header_bytes(p)) + i * all->weights;
    memset(to, 0, (size_t)g.weights * sizeof *to);
    memset(sums, 0, hn_q8_round64(n * (int64_t)sizeof *sums));
    for (int64_t t = 0; t < rows * KU; t++) {
        int64_t row = t / KU, at = row * HN_VB * KU + t % KU;
        tap w = tap_at(p, &g, at);
        if (w.kx < 0 || w.kx >= p->kw) continue;
        for (int64_t c = 0; c < n; c++) {
            int64_t from = (c0 + c) * p->w_o + w.ky * p->w_y + w.kx * p->w_x;
            int8_t weight = hn_q8_weight(p, plain, from);
            for (int64_t k = 0; k < g.pixels; k++) to[at + place_of(k * n + c) * KU] = weight;
            if (row % g.outputs == 0) sums[c] += weight;
        }
    }
}

static void pack(const void *problem, const hn_stored *plain, int64_t begin, int64_t end,
                 void *dst) {
    const geometry all = measure(problem);
    for (int64_t i = begin; i < end; i++) pack_block(problem, &all, plain->data, i, dst);
}

static bool ok(const void *problem, const char **why) {
    const hn_conv_q8 *p = problem;
    if (p->groups != p->c || p->n != p->c || p->c == 1) return *why = "not depthwise", false;
    if (p->w_zero_points && sizeof(w_elem) == 1) return *why = "weights have zero points", false;
    /* Folding takes as long as the products of half a vector do, and planes longer still. */
    if (HN_VB == 64 && p->sw > 1 && p->c > 16 && p->c <= 32)
        return *why = "vectors of 32 channels are filled", false;
    return true;
}

const hn_kernel ROW = {
    .name = NAME,
    .isa = ISA,
    .order = "exact",
    .ok = ok,
    .work = work,
    .run = run,
    .packed_bytes = packed_bytes,
    .pack_key = pack_key,
    .pack_tasks = pack_tasks,
    .pack = pack,
};

#endif

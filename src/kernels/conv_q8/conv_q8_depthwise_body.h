/* Depthwise conv_q8: every channel has a window of its own.
 *
 * Vectors run along channels. x and w are widened to s16, and taps are taken in pairs, since the
 * instruction at hand sums two products into s32 (or does as well with one): no product is rounded
 * or saturates. A tap outside the image reads zero points from a line of its own.
 *
 * A task is an output row. Weights are packed as sums [c], then [channel block][pair of taps][2*CB]
 * of s16, in the order that `pair` wants. Where weights have zero points, a lane first makes a copy
 * of them with these subtracted.
 *
 * The file that includes this brings
 *
 *   CB                     channels in a block
 *   sums, x_vec            CB sums of s32, CB channels of s16
 *   load_x(x, is_signed), begin_sums(start), end_sums(c, s)
 *   pair(s, a, b, w)       s + a * w[first tap] + b * w[second tap]
 *   weight_place(tap, i)   of channel i of tap 0 or 1 in the 2*CB weights of a pair
 *   ROW, NAME, ISA         of the hn_kernel
 */
#ifdef CB
#include <string.h>

#include "kernels/conv_q8/conv_q8_parts.h"

typedef struct geometry {
    int64_t taps, pairs, blocks;
    int64_t weights; /* s16 of all blocks */
} geometry;

static geometry measure(const hn_conv_q8 *p) {
    geometry g = {.taps = p->kh * p->kw, .blocks = hn_q8_ceil(p->c, CB)};
    g.pairs = hn_q8_ceil(g.taps, 2);
    g.weights = g.blocks * g.pairs * 2 * CB;
    return g;
}

typedef struct lane_parts {
    int64_t *offset;      /* of the taps of a window that lies inside the image */
    const uint8_t **from; /* the taps of a window, each CB bytes that may be read */
    uint8_t *padding;     /* CB zero points of x */
    uint8_t *copies;      /* [taps][CB], where fewer channels are left */
    int16_t *w;           /* weights without their zero points */
} lane_parts;

static size_t divide(const hn_conv_q8 *p, const geometry *g, char *base, lane_parts *l) {
    size_t lines = hn_q8_round64((g->pairs * 2 + 1) * (int64_t)sizeof(int64_t));
    size_t copies = hn_q8_round64(g->pairs * 2 * CB), padding = hn_q8_round64(CB);
    if (base != NULL) {
        l->offset = (int64_t *)base;
        l->from = (const uint8_t **)(base + lines);
        l->padding = (uint8_t *)(base + 2 * lines);
        l->copies = l->padding + padding;
        l->w = (int16_t *)(base + 2 * lines + padding + copies);
    }
    size_t w = p->w_zero_points ? hn_q8_round64(g->weights * 2) : 0;
    return 2 * lines + padding + copies + w;
}

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_conv_q8 *p = problem;
    geometry g = measure(p);
    (void)lanes;
    *w = (hn_work){
        .n_phases = 1, .tasks = {p->batch * p->oh}, .lane_scratch = divide(p, &g, NULL, NULL)};
}

static size_t header_bytes(const hn_conv_q8 *p) {
    return hn_q8_round64(p->c * (int64_t)sizeof(int32_t));
}

/* Where the taps of the window at (oy, ox) are read, from channel c0 on. */
static void find_taps(const hn_q8_args *a, const lane_parts *l, const uint8_t *image, int64_t oy,
                      int64_t ox, int64_t c0) {
    const hn_conv_q8 *p = a->p;
    int64_t n = hn_q8_min(CB, p->c - c0), t = 0;
    for (int64_t ky = 0; ky < p->kh; ky++)
        for (int64_t kx = 0; kx < p->kw; kx++, t++) {
            int64_t iy = oy * p->sh + ky * p->dh - p->pt, ix = ox * p->sw + kx * p->dw - p->pl;
            l->from[t] = l->padding;
            if (iy < 0 || iy >= p->h || ix < 0 || ix >= p->w) continue;
            l->from[t] = image + iy * p->x_row + ix * p->x_pixel + c0;
            if (n == CB) continue;
            memcpy(l->copies + t * CB, l->from[t], (size_t)n);
            l->from[t] = l->copies + t * CB;
        }
    l->from[t] = l->padding; /* the second tap of a last pair that is half; its weights are 0 */
}

/* Channels [c0, c0 + CB) of an output row. */
HN_INLINE void compute_row(const hn_q8_args *a, const geometry *g, const lane_parts *l,
                           const int32_t *w_sums, const int16_t *w, int64_t b, int64_t oy,
                           int64_t c0, const bool is_signed) {
    const hn_conv_q8 *p = a->p;
    int64_t n = hn_q8_min(CB, p->c - c0);
    const uint8_t *image = a->x + b * p->x_image;
    _Alignas(64) int32_t start[CB] = {0}, c[CB];
    float scale[CB];
    hn_q8_begin(a, w_sums, 0, c0, n, start, scale);
    int64_t y0 = oy * p->sh - p->pt;
    bool rows_inside = y0 >= 0 && y0 + (p->kh - 1) * p->dh < p->h && n == CB;
    for (int64_t ox = 0; ox < p->ow; ox++) {
        int64_t x0 = ox * p->sw - p->pl;
        sums s = begin_sums(start);
        if (rows_inside && x0 >= 0 && x0 + (p->kw - 1) * p->dw < p->w) {
            const uint8_t *x = image + y0 * p->x_row + x0 * p->x_pixel + c0;
            for (int64_t t = 0; t < g->pairs; t++)
                s = pair(s, load_x(x + l->offset[2 * t], is_signed),
                         load_x(x + l->offset[2 * t + 1], is_signed), w + t * 2 * CB);
        } else {
            find_taps(a, l, image, oy, ox, c0);
            for (int64_t t = 0; t < g->pairs; t++)
                s = pair(s, load_x(l->from[2 * t], is_signed),
                         load_x(l->from[2 * t + 1], is_signed), w + t * 2 * CB);
        }
        end_sums(c, s);
        hn_q8_finish(a, c, scale, c0, n, 0, b * p->y_image + oy * p->y_row + ox * p->y_pixel + c0,
                     b * p->r_image + oy * p->r_row + ox * p->r_pixel + c0);
    }
}

/* Weights less their zero points. */
static void subtract_zero_points(const hn_conv_q8 *p, const geometry *g, const int32_t *wz,
                                 const int16_t *w, int16_t *to) {
    for (int64_t i = 0; i < g->blocks; i++)
        for (int64_t t = 0; t < g->taps; t++)
            for (int64_t j = 0; j < hn_q8_min(CB, p->c - i * CB); j++) {
                int64_t at = (i * g->pairs + t / 2) * 2 * CB + weight_place((int)(t % 2), (int)j);
                to[at] = (int16_t)(w[at] - (wz[i * CB + j] - hn_q8_w_off(p)));
            }
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase;
    hn_conv_q8 p = *(const hn_conv_q8 *)call->problem;
    geometry g = measure(&p);
    hn_q8_args a = hn_q8_args_of(call);
    lane_parts l = {0};
    divide(&p, &g, lane, &l);
    memset(l.padding, a.xz, CB);
    memset(l.copies, 0, (size_t)(g.pairs * 2 * CB));
    l.offset[g.taps] = 0; /* of a second tap whose weights are 0 */
    for (int64_t t = 0; t < g.taps; t++)
        l.offset[t] = t / p.kw * p.dh * p.x_row + t % p.kw * p.dw * p.x_pixel;
    const int32_t *w_sums = call->ptr[HN_CONV_Q8_W];
    const int16_t *w = (const void *)((const char *)call->ptr[HN_CONV_Q8_W] + header_bytes(&p));
    if (p.w_zero_points) {
        memcpy(l.w, w, (size_t)g.weights * sizeof *w);
        subtract_zero_points(&p, &g, a.wz, w, l.w);
        w = l.w;
    }
    const int32_t *wz = p.w_zero_points ? a.wz : NULL;
    int32_t w_off = hn_q8_w_off(&p);
    p.w_zero_points = false;
    a.p = &p;
    for (int64_t i = 0; i < g.blocks; i++) {
        int64_t c0 = i * CB;
        int32_t block_sums[CB] = {0};
        for (int64_t j = 0; j < hn_q8_min(CB, p.c - c0); j++)
            block_sums[j] =
                w_sums[c0 + j] - (wz != NULL ? (int32_t)g.taps * (wz[c0 + j] - w_off) : 0);
        for (int64_t t = begin; t < end; t++) {
            const int16_t *wi = w + i * g.pairs * 2 * CB;
            if (p.x == HN_Q8_S8)
                compute_row(&a, &g, &l, block_sums, wi, t / p.oh, t % p.oh, c0, true);
            else
                compute_row(&a, &g, &l, block_sums, wi, t / p.oh, t % p.oh, c0, false);
        }
    }
}

static size_t packed_bytes(const void *problem) {
    geometry g = measure(problem);
    return header_bytes(problem) + (size_t)g.weights * sizeof(int16_t);
}

static uint64_t pack_key(const void *problem) {
    const hn_conv_q8 *p = problem;
    const int64_t of[] = {p->c, p->kh, p->kw, p->w_o, p->w_y, p->w_x, p->w_type, CB};
    return hn_pack_hash(of, sizeof of / sizeof *of);
}

static void pack(const void *problem, const void *plain, void *dst) {
    const hn_conv_q8 *p = problem;
    geometry g = measure(p);
    int32_t *w_sums = dst;
    int16_t *to = (int16_t *)(void *)((char *)dst + header_bytes(p));
    memset(dst, 0, packed_bytes(p));
    for (int64_t c = 0; c < p->c; c++)
        for (int64_t t = 0; t < g.taps; t++) {
            int8_t w = hn_q8_weight(p, plain, c * p->w_o + t / p->kw * p->w_y + t % p->kw * p->w_x);
            w_sums[c] += w;
            to[(c / CB * g.pairs + t / 2) * 2 * CB + weight_place((int)(t % 2), (int)(c % CB))] = w;
        }
}

static bool ok(const void *problem, const char **why) {
    const hn_conv_q8 *p = problem;
    if (p->groups != p->c || p->n != p->c || p->c == 1) return *why = "not depthwise", false;
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
    .pack = pack,
};

#endif

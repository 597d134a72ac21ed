/* conv_q8 by packed blocks of pixels: the rows of AArch64 with instructions for 8-bit products.
 *
 * A block of pixels has its windows packed to lane scratch first, as the instructions read them:
 * tiles of 8 pixels, [k / KU][8 pixels][KU]. A register of it is loaded whole, where windows as they
 * lie in an image need a shuffle for each, which costs as much as a product does. Then a strip of
 * outputs, whose weights stay in L1, meets one tile of the block after the other, panel by panel. The
 * sums of a few tiles by a strip become outputs together.
 *
 *   for each block:                              windows in L2, or in L1 if weights are few
 *       pack its windows
 *       for each strip of outputs:               weights in L1
 *           for each tile of 8 pixels:
 *               for each panel of the strip:     12 outputs, or 8
 *                   sums [8][12] to scratch
 *               every few tiles: sums to outputs
 *
 * A window is kh lines of taps, channels fastest, each line filled up to whole groups of KU: weights
 * are 0 there, so that anything may stand in windows. Of few channels, the rows of the image under a
 * block are copied first, with their padding, and windows are packed line by line. Else they are packed
 * from the image itself, tap by tap at its edges; if a tap is not whole groups, windows are copied.
 *
 * Packed weights are, for all outputs of a group rounded up to whole vectors, the sums of w' [all
 * outputs] and the sums of those above 0 [all outputs]; then [strip][panel][k / KU][outputs][KU].
 * Groups have strips of their own.
 *
 * Sums that are known to stay below 2^22 become floats without a conversion, of which a core does
 * one per cycle and four of anything else: they start at the integer that is the float 1.5 * 2^23,
 * and as floats are that much too large. Rounding is adding that number.
 *
 * The file that includes this brings
 *
 *   KU            products an instruction sums
 *   EITHER_SIGN   only where x may be u8; it is made s8 otherwise
 *   START_TWICE   only where tiles want starts as pairs, each twice: 0 1 0 1 2 3 2 3 ...
 *   READS_ON      bytes that tiles read behind their pixels and weights
 *   C_PITCH       sums from pixel to pixel
 *   tile_fn, tile_of(x, rows, width)
 *                 the function for a tile of so many pixels and outputs:
 *                 C[rows or more][C_PITCH] = start + X * W
 *   weave(x, to)  packs 16 bytes of 8 pixels
 *   ROW, NAME, ISA   of the hn_kernel
 */
#ifdef KU
#include <string.h>

#include "base/cpu.h"
#include "kernels/conv_q8/conv_q8_parts.h"
#include "simd/bytes.h"

#ifdef START_TWICE
enum { COPIES = 2 };
#else
enum { COPIES = 1 };
#endif

enum {
    TILE_ROWS = 8,
    WIDTH = HN_VB, /* outputs that end together */
    NR = WIDTH,
    STRIP = C_PITCH,         /* outputs of a strip, at most */
    STRIP_BYTES = 30 << 10,  /* of its weights; sizes are those that hn_of_l1 and _l2 scale */
    NEAR_BYTES = 20 << 10,   /* of a block and its outputs, if weights stay in L1 with them */
    BLOCK_BYTES = 512 << 10, /* of windows in a block, else */
    STAY_BYTES = 768 << 10,  /* of weights that are in L2 for the next block */
    ROWS_MOST = 256,         /* pixels of a block */
    SUMMED = 3 * TILE_ROWS,  /* pixels whose sums become outputs together */
    ENDED = 4,               /* pixels whose outputs are made at a time */
    STRIPS_KEPT = 8,         /* from one block to the next */
    VECTORS_OF_STRIP = STRIP / WIDTH,
    FEW_CHANNELS = 32,      /* of images that are copied, */
    IMAGE_BYTES = 64 << 10, /* no more of them for a block than this */
    FEW_TERMS = 1 << 20,    /* in a window: sums of weights do not overflow */
};

#include "kernels/conv_q8/conv_q8_finish.h"

#define HN_APART __attribute__((noinline))

typedef struct geometry {
    int64_t group_in, group_out;
    int64_t line, k, steps;     /* bytes of a packed line and of a window, groups of KU in that */
    bool taps;                  /* windows can be packed tap by tap */
    int64_t image_rows;         /* that are copied for a block; or 0 */
    int64_t image_row;          /* bytes of each */
    int64_t strip;              /* outputs of a whole one */
    int64_t strips, all_strips; /* of a group, of all */
    int64_t group_bytes, group_sums; /* packed weights and sums of a group */
    int64_t rows, blocks;            /* pixels of a block; blocks */
} geometry;

static int64_t outputs_of(const geometry *g, int64_t i) {
    return hn_q8_min(g->strip, g->group_out - i % g->strips * g->strip);
}

/* The outputs of all panels of a strip; those of its panels with 12, which come first. */
static int64_t width_of(const geometry *g, int64_t i) {
    return hn_q8_max(8, hn_q8_ceil(outputs_of(g, i), 4) * 4);
}
static int64_t wide_of(int64_t width) { return width - (12 - width % 12) % 12 / 4 * 8; }

static geometry measure(const hn_conv_q8 *p) {
    geometry g = {.group_in = p->c / p->groups, .group_out = p->n / p->groups};
    const int64_t taps = p->kh * p->kw, pixels = p->batch * p->oh * p->ow;
    g.taps = taps == 1 || g.group_in % KU == 0;
    g.line = hn_q8_ceil(g.group_in * p->kw, KU) * KU;
    g.k = p->kh * g.line;
    g.steps = g.k / KU;
    const int64_t fit = hn_of_l1(STRIP_BYTES) / hn_q8_max(g.k, 1);
    g.strip = fit >= STRIP ? STRIP : fit >= STRIP / 2 ? STRIP / 2 : STRIP / 4;
    g.strips = hn_q8_ceil(g.group_out, g.strip);
    g.all_strips = g.strips * p->groups;
    if (g.strips == 0) return g;
    g.group_bytes =
        (int64_t)hn_q8_round64(((g.strips - 1) * g.strip + width_of(&g, g.strips - 1)) * g.k);
    g.group_sums = hn_q8_ceil(g.group_out, WIDTH) * WIDTH;
    const bool near = g.k * g.group_out <= hn_of_l1(STRIP_BYTES);
    const int64_t fits = near ? hn_of_l1(NEAR_BYTES) / (g.k + 2 * g.group_out + 1)
                              : hn_of_l2(BLOCK_BYTES) / hn_q8_max(g.k, 1);
    const int64_t most = hn_q8_min(ROWS_MOST, hn_q8_max(SUMMED, fits));
    const int64_t blocks = hn_q8_ceil(pixels, most);
    g.rows = hn_q8_ceil(hn_q8_ceil(pixels, hn_q8_max(blocks, 1)), TILE_ROWS) * TILE_ROWS;
    g.blocks = hn_q8_ceil(pixels, hn_q8_max(g.rows, 1));
    if (taps == 1 || p->dw != 1 || p->groups != 1 || p->c == 0 || p->c > FEW_CHANNELS) return g;
    g.image_row = ((p->ow - 1) * p->sw + p->kw) * p->c;
    g.image_rows = (hn_q8_ceil(g.rows - 1, p->ow) * p->sh + (p->kh - 1) * p->dh + 1);
    if (g.image_rows * g.image_row > IMAGE_BYTES) g.image_rows = 0;
    return g;
}

/* Lane scratch: the packed block, copies of rows of the image or of a tile's windows, the channels of a
 * tap outside. */
static int64_t block_bytes(const geometry *g) {
    return (int64_t)hn_q8_round64(g->rows * g->k + hn_q8_max(READS_ON, 16 * TILE_ROWS));
}
static int64_t copy_pitch(const geometry *g) { return g->k + 16; }
static int64_t copy_bytes(const geometry *g) {
    const int64_t image = g->image_rows * g->image_row + 16;
    return (int64_t)hn_q8_round64(hn_q8_max(image, g->taps ? 0 : TILE_ROWS * copy_pitch(g)));
}

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_conv_q8 *p = problem;
    geometry g = measure(p);
    /* Parts of the strips, where there are too few blocks for all lanes. */
    int64_t parts = lanes == 1 || g.blocks >= 4 * lanes ? 1 : hn_q8_min(g.all_strips, 4 * lanes);
    *w = hn_q8_work(p, g.blocks * hn_q8_max(parts, 1),
                    (size_t)(block_bytes(&g) + copy_bytes(&g)) + hn_q8_round64(g.group_in));
}

static uint8_t flip_of(const hn_conv_q8 *p) {
#ifdef EITHER_SIGN
    (void)p;
    return 0;
#else
    return p->x == HN_Q8_U8 ? 0x80 : 0;
#endif
}

/* ---- windows ---- */

/* n bytes from each of 8 places, as whole groups; returns where the next follow, up to which it may
 * have written some already. reads_on: 15 more bytes may be read from each place. */
HN_INLINE int8_t *pack_bytes(const uint8_t *const *from, int64_t n, uint8_t flip, bool reads_on,
                             int8_t *to) {
    const int8x16_t flips = vdupq_n_s8((int8_t)flip);
    const uint8_t *x[TILE_ROWS];
    int8x16_t v[TILE_ROWS];
    for (int r = 0; r < TILE_ROWS; r++) x[r] = from[r];
    int64_t i = 0;
    for (; i + 16 <= n; i += 16, to += 16 * TILE_ROWS) {
        for (int r = 0; r < TILE_ROWS; r++) v[r] = veorq_s8(hn_vb_load(x[r] + i), flips);
        weave(v, to);
    }
    if (i == n) return to;
    if (reads_on)
        for (int r = 0; r < TILE_ROWS; r++) v[r] = hn_vb_load(x[r] + i);
    else if (n - i == 8)
        for (int r = 0; r < TILE_ROWS; r++)
            v[r] = vcombine_s8(vld1_s8((const int8_t *)x[r] + i), vdup_n_s8(0));
    else
        for (int r = 0; r < TILE_ROWS; r++) v[r] = hn_vb_load_n(x[r] + i, n - i);
    for (int r = 0; r < TILE_ROWS; r++) v[r] = veorq_s8(v[r], flips);
    weave(v, to);
    return to + hn_q8_ceil(n - i, KU) * KU * TILE_ROWS;
}

/* Where the windows of a tile's pixels are. */
typedef struct windows {
    const uint8_t *x[TILE_ROWS]; /* element (0, 0); it may be outside */
    int64_t iy[TILE_ROWS], ix[TILE_ROWS];
    bool inside; /* all of all windows */
} windows;

/* A pixel of the outputs. */
typedef struct place {
    int64_t image, oy, ox;
} place;

static place place_of(const hn_conv_q8 *p, int64_t q) {
    return (place){q / p->ow / p->oh, q / p->ow % p->oh, q % p->ow};
}

/* Of `rows` pixels from one on, which becomes that behind them; the last stands for those of the tile
 * that are not there. */
HN_INLINE void find_windows(const hn_q8_args *a, const geometry *g, int64_t group, place *first,
                            int64_t rows, windows *at) {
    const hn_conv_q8 *p = a->p;
    const int64_t bottom = p->h - (p->kh - 1) * p->dh, right = p->w - (p->kw - 1) * p->dw;
    const int64_t ow = p->ow, sw = p->sw, x_pixel = p->x_pixel;
    at->inside = true;
    for (int64_t r = 0, end; r < TILE_ROWS; r = end) { /* a row of the image at a time */
        const int64_t iy = first->oy * p->sh - p->pt, ix = first->ox * sw - p->pl;
        const uint8_t *x =
            a->x + (first->image * p->x_image + iy * p->x_row + ix * x_pixel + group * g->group_in);
        const int64_t some = hn_q8_min(ow - first->ox, rows - r), step = sw * x_pixel;
        end = r + some < rows ? r + some : TILE_ROWS;
        for (int64_t i = r; i < end; i++) {
            const int64_t k = hn_q8_min(i - r, some - 1);
            at->iy[i] = iy, at->ix[i] = ix + k * sw, at->x[i] = x + k * step;
        }
        at->inside &= iy >= 0 && ix >= 0 && iy < bottom && ix + (some - 1) * sw < right;
        first->ox += some;
        if (first->ox < ow) continue;
        first->ox = 0;
        if (++first->oy == p->oh) first->oy = 0, first->image++;
    }
}

/* Whether the taps of a line are in one piece. */
static bool has_lines(const hn_conv_q8 *p) {
    return p->kw == 1 || (p->dw == 1 && p->groups == 1 && p->x_pixel == p->c);
}

/* Windows that are all there, line by line, those of a window `row` bytes apart. */
static void pack_lines(const hn_conv_q8 *p, const geometry *g, const windows *at, int64_t row,
                       bool reads_on, int8_t *to) {
    const uint8_t flip = flip_of(p);
    const int64_t bytes = p->kw * g->group_in;
    for (int64_t ky = 0; ky < p->kh; ky++) {
        const uint8_t *from[TILE_ROWS];
        for (int r = 0; r < TILE_ROWS; r++) from[r] = at->x[r] + ky * row;
        to = reads_on ? pack_bytes(from, bytes, flip, true, to)
                      : pack_bytes(from, bytes, flip, false, to);
    }
}

/* Windows anywhere, tap by tap; `outside` stands for what is not in the image. */
static void pack_taps(const hn_q8_args *a, const geometry *g, const windows *at,
                      const uint8_t *outside, int8_t *to) {
    const hn_conv_q8 *p = a->p;
    const uint8_t flip = flip_of(p);
    for (int64_t ky = 0; ky < p->kh; ky++) {
        for (int64_t kx = 0; kx < p->kw; kx++) {
            const int64_t dy = ky * p->dh, dx = kx * p->dw, skip = dy * p->x_row + dx * p->x_pixel;
            const uint8_t *from[TILE_ROWS];
            for (int r = 0; r < TILE_ROWS; r++) {
                const int64_t iy = at->iy[r] + dy, ix = at->ix[r] + dx;
                const bool inside = iy >= 0 && iy < p->h && ix >= 0 && ix < p->w;
                from[r] = inside ? at->x[r] + skip : outside;
            }
            to = pack_bytes(from, g->group_in, flip, false, to);
        }
    }
}

HN_INLINE void copy_some(uint8_t *to, const uint8_t *from, int64_t n) {
    if (n < 32)
        hn_bytes_copy(to, from, n);
    else
        memcpy(to, from, (size_t)n);
}

/* The window of pixel r of a tile, its lines filled up. */
static void copy_window(const hn_q8_args *a, const geometry *g, const windows *at, int r,
                        uint8_t *to) {
    const hn_conv_q8 *p = a->p;
    const bool adjacent = has_lines(p);
    const bool columns = at->ix[r] >= 0 && at->ix[r] + (p->kw - 1) * p->dw < p->w;
    for (int64_t ky = 0; ky < p->kh; ky++, to += g->line) {
        const int64_t iy = at->iy[r] + ky * p->dh;
        const bool row = iy >= 0 && iy < p->h;
        const uint8_t *x = at->x[r] + ky * p->dh * p->x_row;
        if (adjacent && columns && row) {
            copy_some(to, x, p->kw * g->group_in);
            continue;
        }
        for (int64_t kx = 0; kx < p->kw; kx++) {
            const int64_t ix = at->ix[r] + kx * p->dw;
            if (row && ix >= 0 && ix < p->w)
                copy_some(to + kx * g->group_in, x + kx * p->dw * p->x_pixel, g->group_in);
            else
                memset(to + kx * g->group_in, a->xz, (size_t)g->group_in);
        }
    }
}

/* The rows of an image from row y0 on, with their padding. */
static void copy_image(const hn_q8_args *a, const geometry *g, int64_t image, int64_t y0,
                       uint8_t *to) {
    const hn_conv_q8 *p = a->p;
    const int64_t columns = g->image_row / p->c;
    const int64_t left = hn_q8_max(0, hn_q8_min(p->pl, columns)), x0 = left - p->pl;
    const int64_t n = hn_q8_max(0, hn_q8_min(p->w - x0, columns - left));
    for (int64_t i = 0; i < g->image_rows; i++, to += g->image_row) {
        const int64_t iy = y0 + i;
        const bool inside = iy >= 0 && iy < p->h && n > 0;
        const uint8_t *x = a->x + (image * p->x_image + iy * p->x_row + x0 * p->x_pixel);
        if (!inside || n < columns) memset(to, a->xz, (size_t)g->image_row);
        if (inside && p->x_pixel == p->c)
            copy_some(to + left * p->c, x, n * p->c);
        else
            for (int64_t k = 0; inside && k < n; k++)
                copy_some(to + (left + k) * p->c, x + k * p->x_pixel, p->c);
    }
}

/* Packs the windows of n pixels from pixel q on. */
static HN_APART void pack_block(const hn_q8_args *a, const geometry *g, int64_t group, int64_t q,
                                int64_t n, int8_t *lane) {
    const hn_conv_q8 *p = a->p;
    uint8_t *copies = (uint8_t *)lane + block_bytes(g), *outside = copies + copy_bytes(g);
    if (g->taps) memset(outside, a->xz, (size_t)g->group_in);
    const bool lines = has_lines(p);
    place next = place_of(p, q);
    const int64_t y0 = next.oy * p->sh - p->pt;
    const bool copied = g->image_rows > 0 && place_of(p, q + n - 1).image == next.image;
    if (copied) copy_image(a, g, next.image, y0, copies);
    const int64_t last = (p->batch - 1) * p->x_image + (p->h - 1) * p->x_row +
                         (p->w - 1) * p->x_pixel + p->c - (p->kh - 1) * p->dh * p->x_row;
    for (int64_t i = 0; i < n; i += TILE_ROWS) {
        windows at;
        int8_t *to = lane + i * g->k;
        find_windows(a, g, group, &next, hn_q8_min(TILE_ROWS, n - i), &at);
        if (copied) {
            for (int r = 0; r < TILE_ROWS; r++)
                at.x[r] = copies + (at.iy[r] - y0) * g->image_row + (at.ix[r] + p->pl) * p->c;
            pack_lines(p, g, &at, p->dh * g->image_row, true, to);
            continue;
        }
        bool reads_on = at.inside;
        for (int r = 0; r < TILE_ROWS; r++) reads_on &= at.x[r] - a->x + g->line + 15 <= last;
        if (at.inside && lines && (g->taps || reads_on)) {
            pack_lines(p, g, &at, p->dh * p->x_row, reads_on, to);
            continue;
        }
        if (g->taps) {
            pack_taps(a, g, &at, outside, to);
            continue;
        }
        const uint8_t *from[TILE_ROWS];
        for (int r = 0; r < TILE_ROWS; r++) {
            from[r] = copies + r * copy_pitch(g);
            copy_window(a, g, &at, r, copies + r * copy_pitch(g));
        }
        pack_bytes(from, g->k, flip_of(p), true, to);
    }
}

/* Where the outputs of the pixels of a block go; where what is added to them is found, if there is
 * something; and the sums of their windows, where weights have zero points. */
typedef struct places {
    int64_t y[ROWS_MOST], r[ROWS_MOST];
    int32_t sum[ROWS_MOST];
} places;

static void find_places(const hn_q8_args *a, int64_t group, int64_t q, int64_t n, places *at) {
    const hn_conv_q8 *p = a->p;
    place of = place_of(p, q);
    for (int64_t i = 0, end; i < n; i = end, of.ox = 0) {
        end = hn_q8_min(n, i + p->ow - of.ox);
        const int64_t ox = of.ox - i, y_pixel = p->y_pixel, r_pixel = p->r_pixel;
        const int64_t y = of.image * p->y_image + of.oy * p->y_row + ox * y_pixel;
        const int64_t r = of.image * p->r_image + of.oy * p->r_row + ox * r_pixel;
        for (int64_t k = i; k < end; k++) at->y[k] = y + k * y_pixel;
        for (int64_t k = i; a->r != NULL && k < end; k++) at->r[k] = r + k * r_pixel;
        for (int64_t k = i; p->w_zero_points && k < end; k++)
            at->sum[k] = hn_q8_window_sum(a, group, of.image, of.oy, ox + k);
        if (++of.oy == p->oh) of.oy = 0, of.image++;
    }
}

/* ---- outputs ---- */

static const float as_float = 0x1.8p23F;      /* what sums are too large by, as floats */
static const int32_t as_integer = 0x4b400000; /* its bits */

/* A strip of outputs: vectors of them, and what its panels start with. */
typedef struct strip {
    int64_t n, vectors;
    int64_t width, wide;          /* outputs of all panels, and of those with 12 */
    bool small[VECTORS_OF_STRIP]; /* sums are below 2^22, and started as_integer too large */
    hn_q8_outputs to[VECTORS_OF_STRIP];
    _Alignas(64) int32_t start[COPIES * STRIP];
} strip;

/* Whether sums of these outputs stay below 2^22, with room for what these floats round. above: the
 * sums of weights above 0. */
static bool are_small(const hn_q8_args *a, const geometry *g, int64_t n0, int64_t n,
                      const int32_t *w_sums, const int32_t *above) {
    const hn_conv_q8 *p = a->p;
    const float most = (float)(hn_q8_highest(p->x) - a->xz);
    const float least = (float)(a->xz - hn_q8_lowest(p->x)), end = 0x1p22F - 64;
    int32_t large = g->k > FEW_TERMS;
    for (int64_t i = 0; i < n; i++) {
        const float up = (float)above[i], down = (float)(above[i] - w_sums[i]);
        const float b = a->bias != NULL ? (float)a->bias[n0 + i] : 0.0F;
        large |= b + most * up + least * down > end;
        large |= b - most * down - least * up < -end;
    }
    return large == 0;
}

static void begin_strip(const hn_q8_args *a, const geometry *g, const int32_t *sums, int64_t i,
                        strip *s) {
    const int64_t group = i / g->strips, in_group = i % g->strips * g->strip;
    const int32_t *w_sums = sums + group * g->group_sums + in_group;
    const int32_t *above = w_sums + a->p->groups * g->group_sums;
    s->n = outputs_of(g, i), s->width = width_of(g, i), s->wide = wide_of(s->width);
    s->vectors = hn_q8_ceil(s->n, WIDTH);
    const int32_t x_off = flip_of(a->p) != 0 ? -128 : 0;
    for (int64_t v = 0; v < s->vectors; v++) {
        const int64_t at = v * WIDTH, n0 = group * g->group_out + in_group + at;
        const int64_t n = hn_q8_min(WIDTH, s->n - at);
        hn_q8_outputs *to = &s->to[v];
        begin_outputs(a, w_sums + at, x_off, g->k, n0, n, to);
        s->small[v] = to->bytes && are_small(a, g, n0, n, w_sums + at, above + at);
        const uint32_t more = s->small[v] ? (uint32_t)as_integer : 0;
        for (int j = 0; j < WIDTH; j++) to->start[j] = (int32_t)((uint32_t)to->start[j] + more);
        for (int j = 0; j < WIDTH; j += 2) /* once or twice */
            for (int k = 0; k < COPIES; k++)
                memcpy(s->start + COPIES * (at + j) + 2 * k, to->start + j, 2 * sizeof(int32_t));
    }
}

/* What bytes are made with, found once for many of them. */
typedef struct byte_end {
    float32x4_t lo, hi; /* of outputs less their zero point */
    float32x4_t magic, mr, rz, lo1, hi1, m1;
    int8x16_t zero, r_flip;
} byte_end;

HN_INLINE byte_end byte_end_of(const hn_conv_q8 *p) {
    const int32_t r_off = p->r_type == HN_Q8_S8 ? 128 : 0;
    return (byte_end){.lo = vdupq_n_f32((float)(p->lo - p->yz)),
                      .hi = vdupq_n_f32((float)(p->hi - p->yz)),
                      .magic = vdupq_n_f32(as_float),
                      .mr = vdupq_n_f32(p->mr),
                      .rz = vdupq_n_f32(0x1p23F + (float)(p->rz + r_off)),
                      .lo1 = vdupq_n_f32((float)p->lo1),
                      .hi1 = vdupq_n_f32((float)p->hi1),
                      .m1 = vdupq_n_f32(p->m1),
                      .zero = vdupq_n_s8((int8_t)p->yz),
                      .r_flip = vdupq_n_s8((int8_t)r_off)};
}

/* Adds what is at r: a byte becomes the float 2^23 + r by the bytes put above it. */
HN_INLINE void add_bytes(const byte_end *e, int8x16_t r, const ending how, float32x4_t *v) {
    const uint8x16_t bytes = vreinterpretq_u8_s8(veorq_s8(r, e->r_flip));
    const uint16x8_t above = vdupq_n_u16(0x4b00);
    const uint16x8_t low = vmovl_u8(vget_low_u8(bytes)), high = vmovl_high_u8(bytes);
    const uint16x8_t f[4] = {vzip1q_u16(low, above), vzip2q_u16(low, above),
                             vzip1q_u16(high, above), vzip2q_u16(high, above)};
    for (int j = 0; j < 4; j++) {
        if (how == TWICE) {
            v[j] = vminq_f32(e->hi1, vmaxq_f32(e->lo1, v[j]));
            v[j] = vmulq_f32(vsubq_f32(vaddq_f32(v[j], e->magic), e->magic), e->m1);
        }
        const float32x4_t add = vsubq_f32(vreinterpretq_f32_u16(f[j]), e->rz);
        v[j] = vaddq_f32(v[j], vmulq_f32(add, e->mr));
    }
}

/* Limits are integers, so they may be applied before rounding; then whatever is cut off is 0. */
HN_INLINE int8x16_t to_bytes(const byte_end *e, float32x4_t *v) {
    int16x8_t t[4];
    for (int j = 0; j < 4; j++) {
        v[j] = vminq_f32(e->hi, vmaxq_f32(e->lo, v[j]));
        t[j] = vreinterpretq_s16_f32(vaddq_f32(v[j], e->magic));
    }
    const uint8x16_t low = vreinterpretq_u8_s16(vuzp1q_s16(t[0], t[1]));
    const uint8x16_t high = vreinterpretq_u8_s16(vuzp1q_s16(t[2], t[3]));
    return vreinterpretq_s8_u8(vaddq_u8(vuzp1q_u8(low, high), vreinterpretq_u8_s8(e->zero)));
}

/* The outputs of a vector for `rows` pixels; all but the pointers are constants, or n is any. */
HN_INLINE void end_rows(const byte_end *e, const float32x4_t *scale, const int32_t *c,
                        const int rows, uint8_t *y, const int64_t *y_at, const uint8_t *r,
                        const int64_t *r_at, int64_t n, const bool small, const ending how) {
    float32x4_t v[ENDED][4];
    int8x16_t out[ENDED];
    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < 4; j++) {
            const int32x4_t sum = vld1q_s32(c + i * C_PITCH + 4 * j);
            v[i][j] = small ? vsubq_f32(vreinterpretq_f32_s32(sum), e->magic) : vcvtq_f32_s32(sum);
            v[i][j] = vmulq_f32(v[i][j], scale[j]);
        }
        if (how != PLAIN) add_bytes(e, hn_vb_load_part(r + r_at[i], n), how, v[i]);
    }
    for (int i = 0; i < rows; i++) out[i] = to_bytes(e, v[i]);
    for (int i = 0; i < rows; i++) hn_vb_store_part(y + y_at[i], out[i], n);
}

/* The same of any number of pixels, ENDED at a time: loads of sums may have to wait until all stores
 * before them are done. */
HN_INLINE void end_bytes(const hn_q8_outputs *t, const int32_t *c, int64_t rows,
                         const int64_t *y_at, const int64_t *r_at, int64_t n, const bool small,
                         const ending how) {
    const byte_end e = byte_end_of(t->a->p);
    uint8_t *y = (uint8_t *)t->a->y + t->n0;
    const uint8_t *r = how != PLAIN ? (const uint8_t *)t->a->r + t->n0 : NULL;
    float32x4_t scale[4];
    for (int j = 0; j < 4; j++) scale[j] = vld1q_f32(t->scale + 4 * j);
    int64_t i = 0;
    for (; i + ENDED <= rows; i += ENDED)
        end_rows(&e, scale, c + i * C_PITCH, ENDED, y, y_at + i, r, r_at + i, n, small, how);
    for (; i < rows; i++)
        end_rows(&e, scale, c + i * C_PITCH, 1, y, y_at + i, r, r_at + i, n, small, how);
}

HN_INLINE void end_any(const hn_q8_outputs *t, const int32_t *c, int64_t rows, const int64_t *y_at,
                       const int64_t *r_at, bool is_small, const ending how) {
    if (t->n == WIDTH && is_small)
        end_bytes(t, c, rows, y_at, r_at, WIDTH, true, how);
    else if (t->n == WIDTH)
        end_bytes(t, c, rows, y_at, r_at, WIDTH, false, how);
    else if (is_small)
        end_bytes(t, c, rows, y_at, r_at, t->n, true, how);
    else
        end_bytes(t, c, rows, y_at, r_at, t->n, false, how);
}

/* Floats of whole vectors of outputs, or the bytes that they become, of two pixels at a time: the steps
 * of an activation wait for each other, and those of 8 vectors do not. `kind` is a constant. */
HN_INLINE void end_floats(const hn_q8_outputs *t, const int32_t *c, int64_t rows,
                          const int64_t *y_at, const int64_t *r_at, const hn_act_kind kind) {
    const hn_q8_args *a = t->a;
    const hn_conv_q8 *p = a->p;
    const hn_vf act_a = hn_v_set1(p->act.a), act_b = hn_v_set1(p->act.b);
    const hn_q8_end end = hn_q8_end_of(p->y, p->yz, p->lo, p->hi);
    for (int64_t i = 0; i < rows; i += 2, c += 2 * C_PITCH) {
        const int64_t other = i + 1 < rows; /* or the same again */
        hn_vf v[8];
        for (int j = 0; j < 8; j++) {
            const int32_t *from = c + (j / 4 != 0 ? other * C_PITCH : 0);
            v[j] = hn_v_mul(hn_v_from_int(hn_vi_load(from + j % 4 * HN_VL)),
                            hn_v_load(t->scale + j % 4 * HN_VL));
        }
        if (a->fbias != NULL)
            for (int j = 0; j < 8; j++) v[j] = hn_v_add(v[j], hn_v_load(t->fbias + j % 4 * HN_VL));
        if (a->r != NULL) {
            const float *r = (const float *)a->r + t->n0;
            for (int j = 0; j < 8; j++)
                v[j] =
                    hn_v_add(v[j], hn_v_load(r + r_at[j / 4 != 0 ? i + other : i] + j % 4 * HN_VL));
        }
        for (int j = 0; j < 8; j++) v[j] = hn_v_act(v[j], kind, act_a, act_b);
        for (int64_t k = 0; k <= other; k++) {
            const int64_t at = y_at[i + k] + t->n0;
            if (p->y == HN_Q8_F32) {
                float *to = (float *)a->y + at;
                for (int j = 0; j < 4; j++) hn_v_store(to + j * HN_VL, k == 0 ? v[j] : v[4 + j]);
                continue;
            }
            hn_vf divisor[4], inverse[4];
            hn_vi q[4];
            for (int j = 0; j < 4; j++) divisor[j] = hn_v_load(t->divisor + j * HN_VL);
            for (int j = 0; j < 4; j++) inverse[j] = hn_v_load(t->inverse + j * HN_VL);
            hn_q8_divide_each(divisor, inverse, &end, v + 4 * k, q);
            hn_vb_store((uint8_t *)a->y + at, hn_q8_to_bytes(&end, q));
        }
    }
}

static HN_APART void end_all_floats(const hn_q8_outputs *t, const int32_t *c, int64_t rows,
                                    const int64_t *y_at, const int64_t *r_at) {
    switch (t->a->p->act.kind) { /* known to the compiler */
#define HN_X(name, formula) \
    case HN_ACT_##name: end_floats(t, c, rows, y_at, r_at, HN_ACT_##name); break;
        HN_ACT_LIST(HN_X)
#undef HN_X
        case HN_ACT_COUNT_: break;
    }
}

/* The sums c of some pixels become outputs. */
static HN_APART void end_sums(const strip *s, const int32_t *c, int64_t rows, const int64_t *y_at,
                              const int64_t *r_at, const int32_t *sums) {
    for (int64_t v = 0; v < s->vectors; v++, c += WIDTH) {
        const hn_q8_outputs *t = &s->to[v];
        if ((t->floats || t->through) && t->n == WIDTH)
            end_all_floats(t, c, rows, y_at, r_at);
        else if (!t->bytes)
            finish(t, c, rows, y_at, r_at, sums);
        else if (t->a->r == NULL)
            end_any(t, c, rows, y_at, r_at, s->small[v], PLAIN);
        else if (t->a->p->twice)
            end_any(t, c, rows, y_at, r_at, s->small[v], TWICE);
        else
            end_any(t, c, rows, y_at, r_at, s->small[v], ADDED);
    }
}

/* ---- products ---- */

/* Weights that come to L2 while tiles are computed, a part with each tile. */
typedef struct fetches {
    const char *w, *w_end;
    int64_t w_part;
} fetches;

HN_INLINE void fetch_weights(fetches *f) {
    for (int64_t i = 0; i < f->w_part && f->w < f->w_end; i += 64, f->w += 64)
        __builtin_prefetch(f->w, 0, 2);
}

/* A strip of outputs for the n pixels of a block. A function of its own, as end_sums is, or its loops
 * run out of registers. */
static HN_APART void compute(const strip *s, const geometry *g, const int8_t *block,
                             const int8_t *w, int64_t n, const places *at, fetches *f) {
    _Alignas(64) int32_t c[(SUMMED + 3) * C_PITCH]; /* 3: finish reads whole vectors of pixels */
    const hn_q8_type x = s->to[0].a->p->x;
    const int64_t k = g->k, steps = g->steps, wide = s->wide, width = s->width;
    for (int64_t i = 0, some; i < n; i += some) {
        some = hn_q8_min(SUMMED, n - i);
        for (int64_t j = 0; j < some; j += TILE_ROWS) {
            const int64_t rows = hn_q8_min(TILE_ROWS, some - j);
            const int8_t *pixels = block + (i + j) * k;
            int32_t *to = c + j * C_PITCH;
            fetch_weights(f);
            tile_fn *const by_12 = tile_of(x, rows, 12), *const by_8 = tile_of(x, rows, 8);
            for (int64_t o = 0; o < wide; o += 12)
                by_12(pixels, w + o * k, steps, s->start + COPIES * o, to + o);
            for (int64_t o = wide; o < width; o += 8)
                by_8(pixels, w + o * k, steps, s->start + COPIES * o, to + o);
        }
        end_sums(s, c, some, at->y + i, at->r + i, at->sum + i);
    }
}

static size_t header_bytes(const hn_conv_q8 *p, const geometry *g) {
    return hn_q8_round64(2 * p->groups * g->group_sums * (int64_t)sizeof(int32_t));
}

/* Where the weights of a strip are. */
static int64_t strip_at(const geometry *g, int64_t i) {
    return i / g->strips * g->group_bytes + i % g->strips * g->strip * g->k;
}

/* What to fetch while strip i of a block is computed: the weights of the next. */
static fetches fetches_of(const geometry *g, const int8_t *weights, int64_t i, int64_t n) {
    const int64_t next = i + 1 < g->all_strips ? i + 1 : 0, bytes = width_of(g, next) * g->k;
    const char *w = (const char *)weights + strip_at(g, next);
    return (fetches){w, w + bytes, bytes / hn_q8_max(1, hn_q8_ceil(n, TILE_ROWS)) + 64};
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    if (hn_q8_sum_pixels(call, phase, begin, end)) return;
    const hn_conv_q8 *p = call->problem;
    const hn_q8_args a = hn_q8_args_of(call);
    const geometry g = measure(p);
    const int8_t *packed = call->ptr[HN_CONV_Q8_W];
    const int8_t *weights = packed + header_bytes(p, &g);
    const int64_t pixels = p->batch * p->oh * p->ow;
    const int64_t parts = hn_work_tasks(call->work, phase) / hn_q8_max(g.blocks, 1);
    const bool stay = g.group_bytes * p->groups <= hn_of_l2(STAY_BYTES);
    int64_t packed_now = -1;
    places at;
    strip kept[STRIPS_KEPT];
    int64_t begun[STRIPS_KEPT];
    for (int i = 0; i < STRIPS_KEPT; i++) begun[i] = -1;
    for (int64_t i = begin; i < end; i++) {
        const int64_t part = i % parts, last = g.all_strips * (part + 1) / parts;
        const int64_t q = i / parts * g.rows, n = hn_q8_min(g.rows, pixels - q);
        const bool fetch_w = n > TILE_ROWS && (!stay || i / parts == begin / parts);
        for (int64_t k = g.all_strips * part / parts; k < last; k++) {
            const int64_t group = k / g.strips, wanted = i / parts * p->groups + group;
            if (wanted != packed_now) {
                pack_block(&a, &g, group, q, n, lane);
                find_places(&a, group, q, n, &at);
            }
            packed_now = wanted;
            strip *s = &kept[k % STRIPS_KEPT];
            if (begun[k % STRIPS_KEPT] != k)
                begin_strip(&a, &g, (const int32_t *)(const void *)packed, k, s);
            begun[k % STRIPS_KEPT] = k;
            fetches f = {0};
            if (fetch_w) f = fetches_of(&g, weights, k, n);
            compute(s, &g, lane, weights + strip_at(&g, k), n, &at, &f);
        }
    }
}

/* ---- weights ---- */

static size_t packed_bytes(const void *problem) {
    const hn_conv_q8 *p = problem;
    geometry g = measure(p);
    return header_bytes(p, &g) + (size_t)(g.group_bytes * p->groups) + READS_ON;
}

static uint64_t pack_key(const void *problem) {
    const hn_conv_q8 *p = problem;
    const int64_t of[] = {p->c,   p->n,   p->kh,     p->kw,     p->w_o, p->w_i,
                          p->w_y, p->w_x, p->w_type, p->groups, KU,     measure(p).strip};
    return hn_pack_hash(of, sizeof of / sizeof *of);
}

static int64_t pack_tasks(const void *problem) { return measure(problem).all_strips; }

/* KU weights from element k of a window on, of the n outputs that a panel of `width` has; adds to
 * their sums. w: those of its first. */
static void pack_group(const hn_conv_q8 *p, const geometry *g, const uint8_t *w, int64_t n,
                       int64_t width, int64_t k, int8_t *restrict to, int32_t *restrict sums,
                       int32_t *restrict above) {
    const uint8_t flip = p->w_type == HN_Q8_U8 ? 0x80 : 0;
    const int64_t w_o = p->w_o;
    memset(to, 0, (size_t)(width * KU));
    for (int64_t i = 0; i < KU; i++) {
        const int64_t ky = (k + i) / g->line, in_line = (k + i) % g->line;
        if (in_line >= p->kw * g->group_in) break;
        const int64_t kx = in_line / g->group_in, channel = in_line % g->group_in;
        const uint8_t *from = w + ky * p->w_y + kx * p->w_x + channel * p->w_i;
        for (int64_t o = 0; o < n; o++) to[o * KU + i] = (int8_t)(from[o * w_o] ^ flip);
    }
    for (int64_t o = 0; o < n; o++) {
        int32_t sum = 0, up = 0;
        for (int i = 0; i < KU; i++) {
            sum += to[o * KU + i];
            up += to[o * KU + i] > 0 ? to[o * KU + i] : 0;
        }
        sums[o] = (int32_t)((uint32_t)sums[o] + (uint32_t)sum);
        above[o] = (int32_t)((uint32_t)above[o] + (uint32_t)up);
    }
}

static void pack(const void *problem, const hn_stored *plain, int64_t begin, int64_t end,
                 void *dst) {
    const hn_conv_q8 *p = problem;
    const geometry g = measure(p);
    int8_t *weights = (int8_t *)dst + header_bytes(p, &g);
    for (int64_t i = begin; i < end; i++) {
        const int64_t group = i / g.strips, in_group = i % g.strips * g.strip;
        int32_t *sums = (int32_t *)dst + group * g.group_sums + in_group;
        int32_t *above = sums + p->groups * g.group_sums;
        const int64_t n = outputs_of(&g, i), width = width_of(&g, i);
        const int64_t slots = i % g.strips + 1 < g.strips ? g.strip : g.group_sums - in_group;
        const uint8_t *w = (const uint8_t *)plain->data + (group * g.group_out + in_group) * p->w_o;
        memset(sums, 0, (size_t)slots * sizeof *sums);
        memset(above, 0, (size_t)slots * sizeof *above);
        int8_t *to = weights + strip_at(&g, i), *const first = to;
        for (int64_t o = 0, panel; o < width; o += panel) {
            panel = o < wide_of(width) ? 12 : 8;
            const int64_t some = hn_q8_max(0, hn_q8_min(panel, n - o));
            for (int64_t k = 0; k < g.k; k += KU, to += panel * KU)
                pack_group(p, &g, w + o * p->w_o, some, panel, k, to, sums + o, above + o);
        }
        if (i % g.strips + 1 == g.strips)
            memset(to, 0,
                   (size_t)(strip_at(&g, i - i % g.strips) + g.group_bytes - strip_at(&g, i) -
                            (to - first)));
    }
    const size_t all = (size_t)(2 * p->groups * g.group_sums) * sizeof(int32_t);
    if (end < g.all_strips) return;
    memset((char *)dst + all, 0, header_bytes(p, &g) - all);
    memset(weights + g.group_bytes * p->groups, 0, READS_ON);
}

const hn_kernel ROW = {
    .name = NAME,
    .isa = ISA,
    .order = "exact",
    .work = work,
    .run = run,
    .packed_bytes = packed_bytes,
    .pack_key = pack_key,
    .pack_tasks = pack_tasks,
    .pack = pack,
};

#endif

/* conv_q8 by panels of outputs: the rows of every instruction set without matrix tiles.
 *
 * Every panel of NR outputs meets the windows of some pixels, a block, up to MR of them at a time.
 * The numbers in a window are those the instruction multiplies (see x' in conv_q8_parts.h). Where
 * windows are depends on the problem:
 *
 *   pixels    1x1 windows that follow each other in x: they are used where they are
 *   strips    the rows of the image that a block needs, with their padding, are copied to lane
 *             scratch; kw * c neighbours in such a row are a line of a window, and pixel follows
 *             pixel at sw * c elements
 *   windows   all others are copied to lane scratch, one after the other, a single line each
 *
 * Weights are packed as sums of w' [outputs, panels rounded up], whether each panel multiplies s16
 * [panels] where there are several ways to multiply, then [panel][line][groups of KU in a line][NR][KU]: an instruction sums KU products into an
 * accumulator. Groups have panels of their own.
 *
 * The file that includes this brings
 *
 *   MR, NR, KU   pixels and outputs of a tile, products an instruction sums
 *   a_elem       what windows are copied as: uint8_t, int8_t or int16_t
 *   FLIP         the sign of x that instruction wants: HN_Q8_U8, HN_Q8_S8; or HN_Q8_S32: any
 *   tile(rows, width, x, w, start, c, c_pitch)
 *                C[rows][c_pitch] = start + X[rows] * W, `width` of each row; inlined, all but the
 *                pointers constants, rows up to MR
 *   NARROW       `width` is this in a last panel that has no more outputs, and else NR
 *   FETCHES_NEXT only where tiles fetch what is at x->next to L2 while they compute
 *   SEVERAL_WAYS only where there are several ways to multiply: then copy_wide(from, n, to) makes
 *                the s16 form of what is copied, and sort_groups(w, lines, groups, line) finishes a
 *                packed panel, behind which it has an int32_t for every group and three more; it
 *                says whether the panel multiplies s16
 *   LISTS        only where panels are lists of the weights that are not 0: conv_q8_lists.h says what
 *                that is and what it asks for
 *   ROW, NAME, ISA   of the hn_kernel
 */
#ifdef MR
#include <math.h>
#include <string.h>

#include "base/cpu.h"
#include "kernels/conv_q8/conv_q8_parts.h"
#include "simd/bytes.h"

#ifdef SEVERAL_WAYS
enum { WAYS = 1 };
#else
enum { WAYS = 0 };
HN_INLINE void copy_wide(const a_elem *from, int64_t n, int16_t *to) {
    (void)from, (void)n, (void)to;
}
HN_INLINE bool sort_groups(int8_t *w, int64_t lines, int64_t groups, int64_t line) {
    (void)w, (void)lines, (void)groups, (void)line;
    return false;
}
#endif

#ifdef LISTS
enum { LISTED = 1 };
#else
enum { LISTED = 0, TABLE = 0 };
#endif

#ifdef FETCHES_NEXT
enum { FETCHES = 1 };
#else
enum { FETCHES = 0 };
#endif

enum {
    BLOCK = 48 / MR * MR,       /* pixels at a time, if windows are large */
    SUMMED = 48 / MR * MR,      /* pixels whose sums end together */
    BLOCK_SMALL = 96 / MR * MR, /* and if they are small */
    SMALL_BYTES = 24 << 10,     /* of those: they stay in L1 */
    BLOCK_MOST = 252 / MR * MR, /* and if weights do not stay in L2 from block to block */
    WEIGHTS_BYTES = 1 << 18,    /* that do */
    FEW_PRODUCTS = 32,          /* in a window: a block costs more to begin than a pixel */
    COLUMNS = 48,               /* pixels of a row in a strip, at most */
    ROW_ELEMENTS = 16 << 10,    /* of a row of the image in a strip, at most */
    BLOCK_BYTES = 640 << 10,    /* of windows: they stay in L2 */
    TOGETHER = HN_VB > NR ? HN_VB / NR : 1, /* panels whose outputs of a pixel end as one vector */
    WIDTH = TOGETHER * NR,
};

#include "kernels/conv_q8/conv_q8_finish.h"

typedef struct geometry {
    int64_t group_in, group_out, k;
    int64_t lines, line_k, groups; /* of a window; elements and groups of KU in a line */
    int64_t panel;                 /* bytes of W, unless they are lists */
    int64_t steps;                 /* in which a tile multiplies */
    int64_t panels, all_panels;    /* of a group, of all */
    bool strips, pixels;           /* where windows are */
    int64_t rows, columns;         /* of the outputs of a block; or 1 and pixels */
    int64_t bands, segments;       /* blocks of an image, down and across; or 1 and all blocks */
    int64_t row, image_rows;       /* of a strip: elements of a row, rows */
} geometry;

static int64_t strip_columns(const hn_conv_q8 *p) {
    return hn_q8_min(COLUMNS, hn_over(hn_over(ROW_ELEMENTS, p->c) - p->kw, p->sw) + 1);
}

/* Strips round lines up to whole groups, not windows: that must not be much more to multiply. And a
 * tile ends with a row of the image, which may leave it few pixels. Then its instructions wait for
 * each other, and for many outputs that costs more than copying does in any case: 3x3 windows of 256
 * channels and outputs, 14 pixels wide, take 9 % more time by AVX-512. */
static bool use_strips(const hn_conv_q8 *p, const geometry *g) {
    enum { FEW = 5, MANY = 192 };
    if (p->groups != 1 || p->dw != 1 || p->kh * p->kw == 1 || p->c == 0) return false;
    if (LISTED && p->kw * p->c < TABLE) return false;
    const int64_t all = hn_q8_ceil(g->k, KU), by_lines = p->kh * hn_q8_ceil(p->kw * p->c, KU);
    if (2 * by_lines > 3 * all || strip_columns(p) < 8) return false;
    const int64_t tiles_of_row = hn_q8_ceil(p->ow, MR);
    if (p->n >= MANY) return 8 * p->ow >= 7 * MR * tiles_of_row;
    return p->ow >= hn_q8_min(FEW, MR) * tiles_of_row;
}

/* Whether windows are single pixels that follow each other in memory, as they are multiplied. */
static bool use_pixels(const hn_conv_q8 *p) {
    return FLIP == (int)p->x && p->kh * p->kw == 1 && p->sh == 1 && p->sw == 1 && p->pt == 0 &&
           p->pl == 0 && p->oh == p->h && p->ow == p->w && p->groups == 1 && p->c % KU == 0 &&
           p->x_pixel == p->c && p->x_row == p->w * p->c && p->x_image == p->h * p->x_row;
}

static void measure_strips(const hn_conv_q8 *p, geometry *g) {
    const int64_t most = strip_columns(p);
    g->lines = p->kh, g->line_k = p->kw * p->c;
    g->segments = hn_q8_ceil(p->ow, most);
    g->columns = hn_q8_ceil(p->ow, g->segments);
    const int64_t pixels = g->k <= FEW_PRODUCTS ? BLOCK_MOST : BLOCK_SMALL;
    g->bands = hn_q8_ceil(p->oh, hn_q8_max(1, hn_over(pixels, g->columns)));
    g->rows = hn_q8_ceil(p->oh, g->bands);
    g->row = (int64_t)hn_q8_round64(((most - 1) * p->sw + p->kw) * p->c + KU);
    g->image_rows = (g->rows - 1) * p->sh + (p->kh - 1) * p->dh + 1;
}

#ifdef LISTS
static int64_t weights_bytes(const hn_conv_q8 *p);
static void measure_lists(const hn_conv_q8 *p, geometry *g);
static int64_t list_at(const geometry *g, const int8_t *packed, int64_t panel);
#else
static int64_t weights_bytes(const hn_conv_q8 *p) {
    return hn_over(p->kh * p->kw * p->c, p->groups) * p->n;
}
static void measure_lists(const hn_conv_q8 *p, geometry *g) { (void)p, (void)g; }
static int64_t list_at(const geometry *g, const int8_t *packed, int64_t panel) {
    (void)g, (void)packed, (void)panel;
    return 0;
}
#endif

static void measure_windows(const hn_conv_q8 *p, geometry *g) {
    const int64_t pixels = p->batch * p->oh * p->ow;
    g->lines = 1, g->line_k = g->k;
    const int64_t bytes = hn_q8_max(hn_q8_ceil(g->k, KU) * KU, 1) * (int64_t)sizeof(a_elem);
    const int64_t fit = hn_over(hn_of_l2(BLOCK_BYTES), bytes * (1 + 2 * WAYS)) / MR * MR;
    const int64_t near = hn_over(hn_of_l1(SMALL_BYTES), bytes * (1 + 2 * WAYS)) / MR * MR;
    const bool stay = weights_bytes(p) <= hn_of_l2(WEIGHTS_BYTES);
    const int64_t most =
        hn_q8_max(hn_q8_min(stay ? BLOCK : BLOCK_MOST, fit), hn_q8_min(BLOCK_SMALL, near));
    g->rows = g->bands = 1;
    g->segments = hn_q8_ceil(pixels, hn_q8_max(MR, most));
    g->columns = hn_q8_ceil(pixels, hn_q8_max(g->segments, 1)); /* about the same in each */
}

/* The bytes of a packed panel of so many outputs. */
static int64_t panel_bytes(const geometry *g, int64_t width) {
    const int64_t groups = g->lines * g->groups;
    return WAYS ? (int64_t)hn_q8_round64(width * groups * KU +
                                         (groups + 3) * (int64_t)sizeof(int32_t))
                : width * groups * KU;
}

/* Outputs that a panel has room for. */
static int64_t panel_width(const geometry *g, int64_t panel) {
    const int64_t left = g->group_out - hn_rest(panel, g->panels) * NR;
    return left <= NARROW ? NARROW : NR;
}

static geometry measure(const hn_conv_q8 *p) {
    geometry g = {.group_in = hn_over(p->c, p->groups), .group_out = hn_over(p->n, p->groups)};
    g.k = g.group_in * p->kh * p->kw;
    g.strips = use_strips(p, &g), g.pixels = use_pixels(p);
    if (g.strips)
        measure_strips(p, &g);
    else
        measure_windows(p, &g);
    g.groups = hn_q8_ceil(g.line_k, KU);
    g.panels = hn_q8_ceil(g.group_out, NR);
    g.all_panels = g.panels * p->groups;
    g.panel = panel_bytes(&g, g.panels == 1 ? panel_width(&g, 0) : NR);
    g.steps = g.lines * g.groups;
    if (LISTED) measure_lists(p, &g);
    return g;
}

static int64_t count_blocks(const hn_conv_q8 *p, const geometry *g) {
    return (g->strips ? p->batch : 1) * g->bands * g->segments;
}

/* Elements that are copied of x for a block; behind them lies their s16 form, if there is one. */
static int64_t copied(const geometry *g) {
    const int64_t n =
        g->strips ? g->image_rows * g->row + KU : g->columns * g->lines * g->groups * KU;
    return (int64_t)hn_q8_round64(n);
}

static size_t lane_bytes(const geometry *g) {
    const size_t n = (size_t)copied(g);
    return (g->pixels ? 0 : n * sizeof(a_elem)) + (WAYS ? n * sizeof(int16_t) : 0);
}

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_conv_q8 *p = problem;
    geometry g = measure(p);
    /* Parts of the panels, where there are too few blocks for all lanes. */
    int64_t blocks = count_blocks(p, &g);
    int64_t parts = lanes == 1 || blocks >= 4 * lanes ? 1 : hn_q8_min(g.all_panels, 4 * lanes);
    *w = hn_q8_work(p, blocks * parts, lane_bytes(&g));
}

static int32_t x_off(const hn_conv_q8 *p) {
    if (FLIP == HN_Q8_S32 || FLIP == (int)p->x) return 0;
    return FLIP == HN_Q8_U8 ? 128 : -128;
}

/* Bytes with their sign bits turned or not; the last vector may do again what was done. */
HN_INLINE void copy_bytes(const uint8_t *from, void *to, int64_t n, bool turn) {
    const hn_vb flip = hn_vb_set1(turn ? -128 : 0);
    if (!turn && n < 32) {
        hn_bytes_copy(to, from, n);
    } else if (n < HN_VB) {
        hn_vb_store_part(to, hn_vb_xor(hn_vb_load_part(from, n), flip), n);
    } else {
        for (int64_t i = 0; i < n; i += HN_VB) {
            const int64_t at = hn_q8_min(i, n - HN_VB);
            hn_vb_store((uint8_t *)to + at, hn_vb_xor(hn_vb_load(from + at), flip));
        }
    }
}

HN_INLINE void copy_channels(const hn_conv_q8 *p, const uint8_t *from, a_elem *to, int64_t n) {
    if (FLIP != HN_Q8_S32) {
        copy_bytes(from, to, n, x_off(p) != 0);
    } else if (p->x == HN_Q8_U8) {
        for (int64_t i = 0; i < n; i++) to[i] = (a_elem)from[i];
    } else {
        for (int64_t i = 0; i < n; i++) to[i] = (a_elem)(int8_t)from[i];
    }
}

HN_INLINE void fill_up(const geometry *g, a_elem *window, a_elem *d) {
    while (d < window + g->groups * KU) *d++ = 0;
}

/* Windows in a row of the image, all of it inside; the first is at x. */
static void copy_whole(const hn_conv_q8 *problem, const geometry *g, const uint8_t *x, int64_t n,
                       a_elem *to) {
    const hn_conv_q8 p = *problem; /* which no byte that is written can change */
    const geometry is = *g;
    const int64_t bytes = p.kw * p.c, window = is.groups * KU;
    if (p.kh == 1 && window == bytes && p.sw * p.c == bytes) { /* they follow each other */
        copy_channels(&p, x, to, n * bytes);
        return;
    }
    for (int64_t i = 0; i < n; i++, x += p.sw * p.x_pixel, to += window) {
        for (int64_t ky = 0; ky < p.kh; ky++)
            copy_channels(&p, x + ky * p.dh * p.x_row, to + ky * bytes, bytes);
        fill_up(&is, to, to + p.kh * bytes);
    }
}

/* The window whose first pixel is (y0, x0), of which some may be outside; x: where row y0 is.
 * `whole`: all columns are inside, and pixels adjacent. */
static void copy_at_edge(const hn_q8_args *a, const geometry *g, const uint8_t *x, int64_t x0,
                         int64_t y0, bool whole, a_elem *to) {
    const hn_conv_q8 *p = a->p;
    const a_elem padding = (a_elem)(a->xz + x_off(p));
    a_elem *d = to;
    for (int64_t ky = 0; ky < p->kh; ky++) {
        int64_t iy = y0 + ky * p->dh;
        bool inside = iy >= 0 && iy < p->h;
        const uint8_t *row = x + ky * p->dh * p->x_row;
        if (inside && whole) {
            copy_channels(p, row + x0 * p->x_pixel, d, p->kw * p->c);
            d += p->kw * p->c;
            continue;
        }
        for (int64_t kx = 0; kx < p->kw; kx++, d += g->group_in) {
            int64_t ix = x0 + kx * p->dw;
            if (inside && ix >= 0 && ix < p->w)
                copy_channels(p, row + ix * p->x_pixel, d, g->group_in);
            else
                for (int64_t i = 0; i < g->group_in; i++) d[i] = padding;
        }
    }
    fill_up(g, to, d);
}

/* Columns [x0, x0 + n) of a row of the image, which may be outside; row: NULL if it is. */
static void copy_row(const hn_q8_args *a, const uint8_t *row, int64_t x0, int64_t n, a_elem *to) {
    const hn_conv_q8 *p = a->p;
    const a_elem padding = (a_elem)(a->xz + x_off(p));
    const int64_t first = hn_q8_min(hn_q8_max(-x0, 0), n);
    const int64_t last = row == NULL ? first : hn_q8_max(first, hn_q8_min(n, p->w - x0));
    for (int64_t i = 0; i < first * p->c; i++) to[i] = padding;
    if (row != NULL && p->x_pixel == p->c)
        copy_channels(p, row + (x0 + first) * p->c, to + first * p->c, (last - first) * p->c);
    else
        for (int64_t i = first; i < last; i++)
            copy_channels(p, row + (x0 + i) * p->x_pixel, to + i * p->c, p->c);
    for (int64_t i = last * p->c; i < n * p->c; i++) to[i] = padding;
}

/* Outputs that are computed together: `runs` rows of n pixels, the first at (image, oy, ox). Where
 * windows are copied it is one run, which goes on in the next row of the image. */
typedef struct block {
    int64_t image, oy, ox, runs, n;
} block;

static block block_at(const hn_conv_q8 *p, const geometry *g, int64_t i) {
    if (!g->strips) {
        int64_t q = i * g->columns;
        const int64_t n = hn_q8_min(g->columns, p->batch * p->oh * p->ow - q);
        const int64_t ox = hn_digit(&q, p->ow), oy = hn_digit(&q, p->oh);
        return (block){q, oy, ox, 1, n};
    }
    const int64_t ox = hn_digit(&i, g->segments) * g->columns;
    const int64_t oy = hn_digit(&i, g->bands) * g->rows;
    return (block){i, oy, ox, hn_q8_min(g->rows, p->oh - oy), hn_q8_min(g->columns, p->ow - ox)};
}

/* The rows of the image under a block; `wide`: as s16, too. */
static void copy_strip(const hn_q8_args *a, const geometry *g, const block *b, bool wide,
                       a_elem *to) {
    const hn_conv_q8 *p = a->p;
    const int64_t y0 = b->oy * p->sh - p->pt, x0 = b->ox * p->sw - p->pl;
    const int64_t rows = (b->runs - 1) * p->sh + (p->kh - 1) * p->dh + 1;
    const int64_t n = (b->n - 1) * p->sw + p->kw;
    int16_t *as_s16 = (int16_t *)(void *)(to + copied(g));
    for (int64_t i = 0; i < rows; i++) {
        const int64_t iy = y0 + i;
        const bool inside = iy >= 0 && iy < p->h;
        copy_row(a, inside ? a->x + b->image * p->x_image + iy * p->x_row : NULL, x0, n,
                 to + i * g->row);
        if (wide) copy_wide(to + i * g->row, n * p->c, as_s16 + i * g->row);
    }
}

/* The windows of a block's pixels, in a group; `wide`: as s16, too. */
static void copy_windows(const hn_q8_args *a, const geometry *g, int64_t group, const block *b,
                         bool wide, a_elem *to) {
    const hn_conv_q8 *p = a->p;
    const int64_t window = g->groups * KU;
    const bool adjacent = p->dw == 1 && p->x_pixel == p->c && p->groups == 1;
    int64_t ox = b->ox, oy = b->oy, image = b->image;
    a_elem *d = to;
    for (int64_t i = 0, some; i < b->n; i += some, d += some * window) {
        int64_t x0 = ox * p->sw - p->pl, y0 = oy * p->sh - p->pt;
        const uint8_t *x = a->x + image * p->x_image + y0 * p->x_row + group * g->group_in;
        bool whole = adjacent && x0 >= 0 && x0 + p->kw <= p->w;
        some = 1;
        if (whole && y0 >= 0 && y0 + (p->kh - 1) * p->dh < p->h) {
            some = hn_q8_min(p->ow - ox, hn_over(p->w - p->kw - x0, p->sw) + 1);
            some = hn_q8_min(some, b->n - i);
            copy_whole(p, g, x + x0 * p->x_pixel, some, d);
        } else {
            copy_at_edge(a, g, x, x0, y0, whole, d);
        }
        ox += some;
        if (ox < p->ow) continue;
        ox = 0;
        if (++oy == p->oh) oy = 0, image++;
    }
    /* Not at once: bytes are read in other pieces than they were written in, which takes time. */
    if (wide) copy_wide(to, b->n * window, (int16_t *)(void *)(to + copied(g)));
}

/* Brings the windows of a block, in a group, to where tiles find them. */
static hn_q8_windows bring_windows(const hn_q8_args *a, const geometry *g, int64_t group,
                                   const block *b, bool wide, void *lane) {
    const hn_conv_q8 *p = a->p;
    hn_q8_windows x = {.a = lane, .wide = (int16_t *)(void *)((a_elem *)lane + copied(g))};
    x.lines = g->lines, x.groups = g->groups;
    if (g->strips) {
        x.pitch = p->sw * p->c, x.line = p->dh * g->row;
        copy_strip(a, g, b, wide, lane);
        return x;
    }
    x.pitch = g->groups * KU;
    if (g->pixels) {
        x.a = a->x + ((b->image * p->oh + b->oy) * p->ow + b->ox) * p->c;
        x.wide = lane;
        if (wide) copy_wide(x.a, b->n * p->c, lane);
    } else {
        copy_windows(a, g, group, b, wide, lane);
    }
    return x;
}

typedef void tile_fn(const hn_q8_windows *x, const int8_t *w, const int32_t *start, int32_t *c);

#define TILE(rows)                                                                           \
    static void tile_##rows(const hn_q8_windows *x, const int8_t *w, const int32_t *start,   \
                            int32_t *c) {                                                    \
        tile(rows, NR, x, w, start, c, WIDTH);                                               \
    }                                                                                        \
    static void narrow_##rows(const hn_q8_windows *x, const int8_t *w, const int32_t *start, \
                              int32_t *c) {                                                  \
        tile(rows, NARROW, x, w, start, c, WIDTH);                                           \
    }
#define ROWS_TO_4(X) X(1) X(2) X(3) X(4)
#define ROWS_TO_6(X) ROWS_TO_4(X) X(5) X(6)
#define ROWS_TO_8(X) ROWS_TO_6(X) X(7) X(8)
#define ROWS_TO_12(X) ROWS_TO_8(X) X(9) X(10) X(11) X(12)
#define ROWS_TO(most, X) ROWS_TO_(most, X)
#define ROWS_TO_(most, X) ROWS_TO_##most(X)

ROWS_TO(MR, TILE)

#define FULL(rows) tile_##rows,
#define NARROWER(rows) narrow_##rows,
static tile_fn *const tiles[] = {ROWS_TO(MR, FULL)}, *const narrow_tiles[] = {
                                                         ROWS_TO(MR, NARROWER)};

/* Of packed weights, before the panels. */
static size_t sums_bytes(const geometry *g) {
    return hn_q8_round64(g->all_panels * NR * (int64_t)sizeof(int32_t));
}

static size_t header_bytes(const geometry *g) {
    return sums_bytes(g) + (WAYS ? hn_q8_round64(g->all_panels) : 0) +
           (LISTED ? hn_q8_round64((g->all_panels + 1) * (int64_t)sizeof(int32_t)) : 0);
}

/* Where a panel begins; one more than there are: where the last one ends. */
static const int8_t *panel_at(const geometry *g, const int8_t *packed, int64_t panel) {
    return packed + header_bytes(g) + (LISTED ? list_at(g, packed, panel) : panel * g->panel);
}

/* Whether panels of a group multiply s16. */
static bool needs_wide(const geometry *g, const int8_t *packed, int64_t group) {
    const uint8_t *wide = (const uint8_t *)packed + sums_bytes(g);
    bool any = false;
    for (int64_t i = 0; WAYS && i < g->panels; i++) any |= wide[group * g->panels + i] != 0;
    return any;
}

/* Where the outputs of the pixels of a block go; where what is added to them is found, if there is
 * something; and the sums of their windows, where weights have zero points. */
typedef struct places {
    int64_t y[BLOCK_MOST], r[BLOCK_MOST];
    int32_t sum[BLOCK_MOST];
} places;

static void find_run(const hn_q8_args *a, int64_t group, const block *b, int64_t run, places *at) {
    const hn_conv_q8 *p = a->p;
    int64_t ox = b->ox, oy = b->oy + run, image = b->image;
    for (int64_t i = run * b->n, end = i + b->n; i < end; ox = 0) {
        int64_t y = image * p->y_image + oy * p->y_row + ox * p->y_pixel;
        int64_t r = image * p->r_image + oy * p->r_row + ox * p->r_pixel;
        const int64_t row_end = hn_q8_min(end, i + p->ow - ox), first = i;
        for (int64_t k = i; k < row_end; k++, y += p->y_pixel) at->y[k] = y;
        for (int64_t k = i; a->r != NULL && k < row_end; k++, r += p->r_pixel) at->r[k] = r;
        i = row_end;
        for (int64_t k = first; p->w_zero_points && k < row_end; k++)
            at->sum[k] = hn_q8_window_sum(a, group, image, oy, ox + k - first);
        if (++oy == p->oh) oy = 0, image++;
    }
}

/* Some panels of a group, TOGETHER at most. */
typedef struct task {
    const int8_t *packed;
    int64_t first; /* panel */
    hn_q8_outputs to;
} task;

static void begin_task(const hn_q8_args *a, const geometry *g, const int8_t *packed, int64_t panel,
                       int64_t panels, task *t) {
    const int32_t *w_sums = (const int32_t *)(const void *)packed + panel * NR;
    t->packed = packed, t->first = panel;
    int64_t group = panel;
    const int64_t in_group = hn_digit(&group, g->panels) * NR;
    begin_outputs(a, w_sums, x_off(a->p), g->k, group * g->group_out + in_group,
                  hn_q8_min(panels * NR, g->group_out - in_group), &t->to);
}

/* Stretches of memory that come to L2 while tiles are computed, a part with each tile. */
typedef struct stream {
    struct {
        const char *at;
        int64_t bytes;
    } of[3];
    int n, i;           /* stretches, and the one that is being fetched */
    int64_t done;       /* bytes of that */
    int64_t part, step; /* bytes to fetch with every tile, and with every group of its products */
} stream;

static void add_stretch(stream *s, const void *from, int64_t first, int64_t end) {
    if (from == NULL || end <= first) return;
    s->of[s->n].at = (const char *)from + first;
    s->of[s->n++].bytes = end - first;
}

static void share_out(stream *s, const geometry *g, int64_t n_tiles) {
    int64_t all = 0;
    for (int i = 0; i < s->n; i++) all += s->of[i].bytes;
    s->part = hn_q8_ceil(all, hn_q8_max(n_tiles, 1));
    s->step = hn_q8_ceil(s->part, hn_q8_max(g->steps, 1));
}

/* The next part to fetch; NULL: there is none. */
static const char *next_part(stream *s) {
    if (s->i == s->n) return NULL;
    const char *part = s->of[s->i].at + s->done;
    s->done += s->part;
    if (s->done >= s->of[s->i].bytes) s->i++, s->done = 0;
    return part;
}

/* What is fetched meanwhile. Weights: those of most models are in no near cache. Images: several
 * are in none either, nor is what another core wrote. */
typedef struct fetches {
    stream weights, images;
    bool turn; /* where there are both: whose */
} fetches;

static int64_t inside(int64_t i, int64_t n) { return hn_q8_max(0, hn_q8_min(i, n - 1)); }

static int64_t tiles_of(const block *b) { return b->runs * hn_q8_ceil(b->n, MR); }

/* The last pixel of a block; n and runs have no meaning. */
static block last_of(const hn_conv_q8 *p, const geometry *g, const block *b) {
    if (g->strips) return (block){b->image, b->oy + b->runs - 1, b->ox + b->n - 1, 0, 0};
    int64_t q = (b->image * p->oh + b->oy) * p->ow + b->ox + b->n - 1;
    const int64_t ox = hn_digit(&q, p->ow), oy = hn_digit(&q, p->oh);
    return (block){q, oy, ox, 0, 0};
}

/* What block i reads and writes. */
static stream images_of(const hn_q8_args *a, const geometry *g, int64_t i) {
    const hn_conv_q8 *p = a->p;
    const block b = block_at(p, g, i), e = last_of(p, g, &b);
    const int64_t size = p->y == HN_Q8_F32 || p->y == HN_Q8_S32 ? 4 : 1;
    const int64_t top = inside(b.oy * p->sh - p->pt, p->h);
    const int64_t left = inside(b.ox * p->sw - p->pl, p->w);
    const int64_t bottom = inside(e.oy * p->sh - p->pt + (p->kh - 1) * p->dh, p->h);
    const int64_t right = inside(e.ox * p->sw - p->pl + (p->kw - 1) * p->dw, p->w);
    stream s = {0};
    add_stretch(&s, a->x, b.image * p->x_image + top * p->x_row + left * p->x_pixel,
                e.image * p->x_image + bottom * p->x_row + right * p->x_pixel + p->c);
    add_stretch(&s, a->y, (b.image * p->y_image + b.oy * p->y_row + b.ox * p->y_pixel) * size,
                (e.image * p->y_image + e.oy * p->y_row + e.ox * p->y_pixel + p->n) * size);
    add_stretch(&s, a->r == a->y ? NULL : a->r,
                (b.image * p->r_image + b.oy * p->r_row + b.ox * p->r_pixel) * size,
                (e.image * p->r_image + e.oy * p->r_row + e.ox * p->r_pixel + p->n) * size);
    share_out(&s, g, tiles_of(&b) * g->all_panels);
    return s;
}

/* The weights of some panels. */
static stream weights_of(const geometry *g, const int8_t *packed, int64_t panel, int64_t panels,
                         int64_t n_tiles) {
    stream s = {0};
    add_stretch(&s, packed, panel_at(g, packed, panel) - packed,
                panel_at(g, packed, panel + panels) - packed);
    share_out(&s, g, n_tiles);
    return s;
}

static bool has_more(const stream *s) { return s->i < s->n; }

/* Says what the tile with weights at w fetches; where tiles cannot, it is fetched here. */
static void fetch_next(fetches *f, const int8_t *w, hn_q8_windows *x) {
    const int parts = has_more(&f->weights) && has_more(&f->images) ? 2 : 1; /* by turns */
    stream *s = has_more(&f->weights) ? &f->weights : &f->images;
    f->turn = !f->turn;
    if (parts == 2 && f->turn) s = &f->images;
    const char *part = next_part(s);
    if (parts == 2) next_part(s);
    x->next = part != NULL ? part : (const char *)w; /* those are near */
    x->next_step = part != NULL ? s->step * parts : 0;
    for (int64_t at = 0; !FETCHES && part != NULL && at < s->part * parts; at += 64)
        __builtin_prefetch(part + at, 0, 2);
}

/* Panels of a group from `panel` on, of the pixels of a block, whose windows are at x. */
static void compute(const task *t, const geometry *g, int64_t panel, int64_t panels, const block *b,
                    const places *at, const hn_q8_windows *x, fetches *f, int32_t *c) {
    const int64_t run_step = t->to.a->p->sh * g->row;
    const bool narrow = panel_width(g, panel + panels - 1) != NR; /* which only the last may be */
    /* As many pixels in each tile, nearly: a tile of few is slow. Tiles that end together follow each
     * other, so that the weights of a panel which do not stay in L1 are read once for all of them. */
    const int64_t most = hn_q8_ceil(b->n, hn_q8_ceil(b->n, MR)), row = hn_over(SUMMED, most) * most;
    for (int64_t run = 0; run < b->runs; run++) {
        for (int64_t i = 0, some; i < b->n; i += some) {
            some = hn_q8_min(row, b->n - i);
            for (int64_t k = 0; k < panels; k++) {
                const int8_t *w = panel_at(g, t->packed, t->first + k);
                tile_fn *const *by = narrow && k == panels - 1 ? narrow_tiles : tiles;
                for (int64_t j = 0, rows; j < some; j += rows) {
                    rows = hn_q8_min(most, some - j);
                    const int64_t skip = run * run_step + (i + j) * x->pitch;
                    hn_q8_windows from = *x;
                    from.a = (const a_elem *)x->a + skip, from.wide = x->wide + skip;
                    fetch_next(f, w, &from);
                    by[rows - 1](&from, w, t->to.start + k * NR, c + j * WIDTH + k * NR);
                }
            }
            const int64_t first = run * b->n + i;
            finish(&t->to, c, some, at->y + first, at->r + first, at->sum + first);
        }
    }
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    if (hn_q8_sum_pixels(call, phase, begin, end)) return;
    const hn_conv_q8 *p = call->problem;
    hn_q8_args a = hn_q8_args_of(call);
    geometry g = measure(p);
    const int8_t *packed = call->ptr[HN_CONV_Q8_W];
    const int64_t parts = hn_over(hn_work_tasks(call->work, phase), count_blocks(p, &g));
    const bool stay =
        panel_at(&g, packed, g.all_panels) - panel_at(&g, packed, 0) <= hn_of_l2(WEIGHTS_BYTES);
    int64_t brought = -1;
    _Alignas(64) int32_t c[(SUMMED + 3) * WIDTH]; /* 3: of a vector's last pixels */
    hn_q8_windows x = {0};
    places at;
    task t;
    fetches f = {0};
    const int64_t first_part = hn_rest(begin, parts);
    for (int64_t i = begin; i < end; i++) {
        int64_t at_block = i;
        const int64_t part = hn_digit(&at_block, parts);
        const int64_t last = hn_over(g.all_panels * (part + 1), parts);
        const block b = block_at(p, &g, at_block);
        for (int64_t n = hn_over(g.all_panels * part, parts), some; n < last; n += some) {
            const int64_t group = hn_over(n, g.panels), wanted = at_block * p->groups + group;
            some = hn_q8_min(TOGETHER, hn_q8_min(last, (group + 1) * g.panels) - n);
            if (wanted != brought) {
                x = bring_windows(&a, &g, group, &b, needs_wide(&g, packed, group), lane);
                for (int64_t k = 0; k < b.runs; k++) find_run(&a, group, &b, k, &at);
                const int64_t after = at_block + 1;
                f.images = after * parts < end ? images_of(&a, &g, after) : (stream){0};
            }
            brought = wanted;
            const int64_t next = n + some < g.all_panels ? n + some : 0;
            const bool first_block = i - begin + first_part < parts;
            const bool more = next > 0 || i + 1 < end;
            f.weights = (stream){0};
            if (b.runs * b.n > MR && more && (first_block || !stay))
                f.weights = weights_of(&g, packed, next, hn_q8_min(some, g.all_panels - next),
                                       tiles_of(&b) * some);
            begin_task(&a, &g, packed, n, some, &t);
            compute(&t, &g, n, some, &b, &at, &x, &f, c);
        }
    }
}

#ifdef LISTS
#include "kernels/conv_q8/conv_q8_lists.h"
#else
static size_t packed_bytes(const void *problem) {
    geometry g = measure(problem);
    return header_bytes(&g) + (size_t)(g.all_panels * g.panel);
}

static uint64_t pack_key(const void *problem) {
    const hn_conv_q8 *p = problem;
    const int64_t of[] = {p->c,
                          p->n,
                          p->kh,
                          p->kw,
                          p->w_o,
                          p->w_i,
                          p->w_y,
                          p->w_x,
                          p->w_type,
                          p->groups,
                          KU * 1000 + NR * 10 + WAYS,
                          p->sw,
                          p->dh,
                          measure(p).strips};
    return hn_pack_hash(of, sizeof of / sizeof *of);
}

static int64_t pack_tasks(const void *problem) { return measure(problem).all_panels; }

/* KU products, from k on, of the outputs of a panel `width` wide; adds to their sums. Those from
 * `end` on are 0. */
static void pack_group(const hn_conv_q8 *p, const geometry *g, const uint8_t *w, int64_t outputs,
                       int64_t width, int64_t k, int64_t end, int8_t *restrict to,
                       int32_t *restrict sums) {
    const uint8_t flip = p->w_type == HN_Q8_U8 ? 0x80 : 0;
    const uint8_t *from[KU];
    uint8_t raw[NR * KU];
    int64_t n = hn_q8_min(KU, end - k);
    for (int64_t i = 0; i < n; i++) {
        int64_t tap = (k + i) / g->group_in, channel = (k + i) % g->group_in;
        from[i] = w + tap / p->kw * p->w_y + tap % p->kw * p->w_x + channel * p->w_i;
    }
    if (outputs < NR || n < KU) memset(raw, flip, sizeof raw);
    if (p->w_o == 1 && outputs == NR && n == KU) {
        for (int o = 0; o < NR; o++)
            for (int i = 0; i < KU; i++) raw[o * KU + i] = from[i][o];
    } else if (n == KU && p->w_i == 1 && from[KU - 1] - from[0] == KU - 1) {
        for (int64_t o = 0; o < outputs; o++) memcpy(raw + o * KU, from[0] + o * p->w_o, KU);
    } else {
        for (int64_t i = 0; i < n; i++)
            for (int64_t o = 0; o < outputs; o++) raw[o * KU + i] = from[i][o * p->w_o];
    }
    for (int64_t i = 0; i < width * KU; i++) to[i] = (int8_t)(raw[i] ^ flip);
    for (int64_t o = 0; o < width; o++)
        for (int i = 0; i < KU; i++) sums[o] += to[o * KU + i];
}

static void pack(const void *problem, const hn_stored *plain, int64_t begin, int64_t end,
                 void *dst) {
    const hn_conv_q8 *p = problem;
    geometry g = measure(p);
    size_t sums_end = end < g.all_panels ? (size_t)(end * NR) * sizeof(int32_t) : sums_bytes(&g);
    memset((int32_t *)dst + begin * NR, 0, sums_end - (size_t)(begin * NR) * sizeof(int32_t));
    uint8_t *wide = (uint8_t *)dst + sums_bytes(&g);
    if (WAYS && end == g.all_panels)
        memset(wide + end, 0, header_bytes(&g) - sums_bytes(&g) - (size_t)end);
    for (int64_t panel = begin; panel < end; panel++) {
        int8_t *first = (int8_t *)dst + header_bytes(&g) + panel * g.panel, *to = first;
        const int64_t in_group = panel % g.panels * NR, width = panel_width(&g, panel);
        const uint8_t *w =
            (const uint8_t *)plain->data + (panel / g.panels * g.group_out + in_group) * p->w_o;
        for (int64_t line = 0; line < g.lines; line++)
            for (int64_t i = 0; i < g.groups; i++, to += width * KU)
                pack_group(p, &g, w, hn_q8_min(NR, g.group_out - in_group), width,
                           line * g.line_k + i * KU, (line + 1) * g.line_k, to,
                           (int32_t *)dst + panel * NR);
        memset(to, 0, (size_t)(first + g.panel - to));
        const bool s16 = sort_groups(first, g.lines, g.groups, p->dh * g.row);
        if (WAYS) wide[panel] = s16;
    }
}
#endif

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
#ifdef LISTS
    .sparse = true,
    .ok = ok,
    .pays = pays,
    .look = look,
#endif
};

#endif

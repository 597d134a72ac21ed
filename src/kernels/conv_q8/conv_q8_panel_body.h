/* conv_q8 by panels of outputs: the rows of every instruction set without matrix tiles.
 *
 * The windows of some pixels are copied one after the other into lane scratch, [pixel][K], as the
 * numbers the instruction multiplies (see x' in conv_q8_parts.h); then every panel of NR outputs
 * meets them, up to MR pixels at a time. Weights are packed as sums of w' [outputs, panels rounded
 * up], then [panel][K/KU][NR][KU]: an instruction sums KU products into an accumulator. Groups have
 * panels of their own.
 *
 * The file that includes this brings
 *
 *   MR, NR, KU   pixels and outputs of a tile, products an instruction sums
 *   a_elem       what windows are copied as: uint8_t, int8_t or int16_t
 *   FLIP         the sign of x that instruction wants: HN_Q8_U8, HN_Q8_S8; or HN_Q8_S32: any
 *   tile(rows, a, pitch, w, groups of k, start, c, c_pitch)
 *                C[rows][c_pitch] = start + A[rows][pitch] * W, NR of each row; inlined, `rows` a
 *                constant up to MR, and c_pitch
 *   SEVERAL_WAYS only where there are several ways to multiply: then copy_wide(window, n) puts
 *                another form of a window behind it, twice as large, and sort_groups(w, groups)
 *                finishes a packed panel, behind which it has an int32_t for every group and two
 *                more
 *   ROW, NAME, ISA   of the hn_kernel
 */
#ifdef MR
#include <math.h>
#include <string.h>

#include "base/cpu.h"
#include "kernels/conv_q8/conv_q8_parts.h"
#include "simd/bytes.h"

enum {
    BLOCK = 48 / MR * MR,
    BLOCK_BYTES = 384 << 10,                /* of windows: they stay in L2 */
    TOGETHER = HN_VB > NR ? HN_VB / NR : 1, /* panels whose outputs of a pixel end as one vector */
    WIDTH = TOGETHER * NR,
};

typedef struct geometry {
    int64_t group_in, group_out, k, pitch; /* pitch: k rounded up to whole instructions */
    int64_t window, panel;                 /* elements from one window to the next, bytes of W */
    int64_t panels, all_panels;            /* of a group, of all */
    int64_t block, blocks;                 /* pixels at a time */
    int64_t span; /* elements a move copies of a short window's row; or 0 */
    int64_t row;  /* elements of a row of the image in lane scratch */
} geometry;

/* Windows whose rows are short are copied by moves of fixed size, from rows of the image that were
 * copied with their padding before. What a move takes along behind a row is overwritten by the next
 * one, or meets weights of 0. */
static int64_t span_of(const hn_conv_q8 *p, const geometry *g) {
    const int64_t n = p->kw * p->c + g->pitch - g->k;
    if (p->dw != 1 || p->groups != 1 || p->kh * p->kw == 1 || n > 128) return 0;
    return n <= 16 ? 16 : n <= 32 ? 32 : hn_q8_ceil(n, 64) * 64;
}

static geometry measure(const hn_conv_q8 *p) {
    geometry g = {.group_in = p->c / p->groups, .group_out = p->n / p->groups};
    int64_t pixels = p->batch * p->oh * p->ow;
    g.k = g.group_in * p->kh * p->kw;
    g.pitch = hn_q8_ceil(g.k, KU) * KU;
#ifdef SEVERAL_WAYS
    g.window = 3 * g.pitch;
    g.panel = (int64_t)hn_q8_round64(NR * g.pitch + (g.pitch / KU + 2) * (int64_t)sizeof(int32_t));
#else
    g.window = g.pitch;
    g.panel = NR * g.pitch;
#endif
    g.panels = hn_q8_ceil(g.group_out, NR);
    g.all_panels = g.panels * p->groups;
    int64_t fit =
        hn_of_l2(BLOCK_BYTES) / (int64_t)sizeof(a_elem) / hn_q8_max(g.window, 1) / MR * MR;
    g.blocks = hn_q8_ceil(pixels, hn_q8_max(MR, hn_q8_min(fit, BLOCK)));
    g.block = hn_q8_ceil(pixels, hn_q8_max(g.blocks, 1)); /* about the same in each */
    g.span = span_of(p, &g);
    g.row = ((hn_q8_min(p->ow, g.block) - 1) * p->sw + p->kw) * p->c;
    return g;
}

/* Windows, and behind them the rows they are copied from; a move may go beyond either. */
static size_t windows_bytes(const geometry *g) {
    return hn_q8_round64((g->block * g->window + g->span) * (int64_t)sizeof(a_elem));
}

static size_t lane_bytes(const hn_conv_q8 *p, const geometry *g) {
    if (g->span == 0) return windows_bytes(g);
    return windows_bytes(g) + hn_q8_round64((p->kh * g->row + g->span) * (int64_t)sizeof(a_elem));
}

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_conv_q8 *p = problem;
    geometry g = measure(p);
    /* Parts of the panels, where there are too few blocks for all lanes. */
    int64_t parts = lanes == 1 || g.blocks >= 4 * lanes ? 1 : hn_q8_min(g.all_panels, 4 * lanes);
    *w = hn_q8_work(p, g.blocks * parts, lane_bytes(p, &g));
}

static int32_t x_off(const hn_conv_q8 *p) {
    if (FLIP == HN_Q8_S32 || FLIP == (int)p->x) return 0;
    return FLIP == HN_Q8_U8 ? 128 : -128;
}

HN_INLINE void copy_channels(const hn_conv_q8 *p, const uint8_t *from, a_elem *to, int64_t n) {
    if (FLIP != HN_Q8_S32) {
        uint8_t flip = x_off(p) != 0 ? 0x80 : 0;
        if (flip == 0 && n < 32)
            hn_bytes_copy(to, from, n);
        else
            for (int64_t i = 0; i < n; i++) to[i] = (a_elem)(from[i] ^ flip);
    } else if (p->x == HN_Q8_U8) {
        for (int64_t i = 0; i < n; i++) to[i] = (a_elem)from[i];
    } else {
        for (int64_t i = 0; i < n; i++) to[i] = (a_elem)(int8_t)from[i];
    }
}

/* Whether windows are single pixels that follow each other in memory as they do in a panel. */
static bool are_pixels(const hn_conv_q8 *p, const geometry *g) {
    return p->kh * p->kw == 1 && p->sh == 1 && p->sw == 1 && p->pt == 0 && p->pl == 0 &&
           p->oh == p->h && p->ow == p->w && p->groups == 1 && p->x_pixel == g->pitch &&
           p->c == g->pitch && p->x_row == p->w * p->c && p->x_image == p->h * p->x_row;
}

HN_INLINE void fill_up(const geometry *g, a_elem *window, a_elem *d) {
    while (d < window + g->pitch) *d++ = 0;
}

/* Windows in a row of the image, all of it inside; the first is at x. */
static void copy_whole(const hn_conv_q8 *problem, const geometry *g, const uint8_t *x, int64_t n,
                       a_elem *to) {
    const hn_conv_q8 p = *problem; /* which no byte that is written can change */
    const geometry is = *g;
    const int64_t bytes = p.kw * p.c;
    for (int64_t i = 0; i < n; i++, x += p.sw * p.x_pixel, to += is.window) {
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

/* n windows that follow each other, from rows that were copied. */
HN_INLINE void copy_short(const hn_conv_q8 *p, const geometry *g, const a_elem *rows, int64_t n,
                          a_elem *to, const int span) {
    const int64_t moves = g->span / span;
    const int64_t kh = p->kh, bytes = p->kw * p->c, step = p->sw * p->c, row = g->row;
    const int64_t window = g->window;
    for (int64_t i = 0; i < n; i++, rows += step, to += window)
        for (int64_t ky = 0; ky < kh; ky++)
            for (int64_t k = 0; k < moves; k++)
                memcpy(to + ky * bytes + k * span, rows + ky * row + k * span,
                       (size_t)span * sizeof *to);
}

/* Windows of `some` pixels of a row of outputs, the first of them at (y0, x0) of the image. */
static void copy_short_windows(const hn_q8_args *a, const geometry *g, const uint8_t *image,
                               int64_t y0, int64_t x0, int64_t some, a_elem *rows, a_elem *to) {
    const hn_conv_q8 *p = a->p;
    for (int64_t ky = 0; ky < p->kh; ky++) {
        const int64_t iy = y0 + ky * p->dh;
        copy_row(a, iy >= 0 && iy < p->h ? image + iy * p->x_row : NULL, x0,
                 (some - 1) * p->sw + p->kw, rows + ky * g->row);
    }
    switch (g->span) { /* known to the compiler */
        case 16: copy_short(p, g, rows, some, to, 16); break;
        case 32: copy_short(p, g, rows, some, to, 32); break;
        default: copy_short(p, g, rows, some, to, 64); break;
    }
}

/* The windows of pixels [q, end) in a group. */
static void copy_bytes(const hn_q8_args *a, const geometry *g, int64_t group, int64_t q,
                       int64_t end, a_elem *to) {
    const hn_conv_q8 *p = a->p;
    bool adjacent = p->dw == 1 && p->x_pixel == p->c && p->groups == 1;
    if (are_pixels(p, g)) {
        const int64_t together = g->window == p->c ? end - q : 1;
        for (; q < end; q += together, to += together * g->window)
            copy_channels(p, a->x + q * p->c, to, together * p->c);
        return;
    }
    int64_t ox = q % p->ow, oy = q / p->ow % p->oh, image = q / p->ow / p->oh;
    a_elem *rows = (a_elem *)(void *)((char *)to + windows_bytes(g));
    while (q < end) {
        int64_t x0 = ox * p->sw - p->pl, y0 = oy * p->sh - p->pt, some = 1;
        const uint8_t *x = a->x + image * p->x_image + y0 * p->x_row + group * g->group_in;
        bool whole = adjacent && x0 >= 0 && x0 + p->kw <= p->w;
        if (g->span > 0) {
            some = hn_q8_min(p->ow - ox, end - q);
            copy_short_windows(a, g, a->x + image * p->x_image, y0, x0, some, rows, to);
        } else if (whole && y0 >= 0 && y0 + (p->kh - 1) * p->dh < p->h) {
            some = hn_q8_min(p->ow - ox, (p->w - p->kw - x0) / p->sw + 1);
            some = hn_q8_min(some, end - q);
            copy_whole(p, g, x + x0 * p->x_pixel, some, to);
        } else {
            copy_at_edge(a, g, x, x0, y0, whole, to);
        }
        q += some, to += some * g->window, ox += some;
        if (ox < p->ow) continue;
        ox = 0;
        if (++oy == p->oh) oy = 0, image++;
    }
}

static void copy_windows(const hn_q8_args *a, const geometry *g, int64_t group, int64_t q,
                         int64_t end, a_elem *to) {
    copy_bytes(a, g, group, q, end, to);
#ifdef SEVERAL_WAYS
    /* Not at once: bytes are read in other pieces than they were written in, which takes time. */
    for (; q < end; q++, to += g->window) copy_wide(to, g->pitch);
#endif
}

typedef void tile_fn(const a_elem *a, int64_t pitch, const int8_t *w, int64_t groups,
                     const int32_t *start, int32_t *c);

#define TILE(rows)                                                                      \
    static void tile_##rows(const a_elem *a, int64_t pitch, const int8_t *w, int64_t n, \
                            const int32_t *start, int32_t *c) {                         \
        tile(rows, a, pitch, w, n, start, c, WIDTH);                                    \
    }
TILE(1)
TILE(2)
TILE(3)
TILE(4)
#if MR > 4
TILE(5)
TILE(6)
#endif
#if MR > 6
TILE(7)
TILE(8)
#endif
#if MR > 8
TILE(9)
TILE(10)
TILE(11)
TILE(12)
#endif

static tile_fn *const tiles[] = {
    tile_1, tile_2,  tile_3,  tile_4,
#if MR > 4
    tile_5, tile_6,
#endif
#if MR > 6
    tile_7, tile_8,
#endif
#if MR > 8
    tile_9, tile_10, tile_11, tile_12,
#endif
};
_Static_assert(sizeof tiles / sizeof *tiles == MR, "a function for every number of rows");

static size_t header_bytes(const geometry *g) {
    return hn_q8_round64(g->all_panels * NR * (int64_t)sizeof(int32_t));
}

/* Where the outputs of a block of pixels go, and what is added to them is found. */
typedef struct places {
    int64_t y[BLOCK], r[BLOCK];
} places;

static void find_places(const hn_conv_q8 *p, int64_t q, int64_t end, places *at) {
    int64_t ox = q % p->ow, oy = q / p->ow % p->oh, image = q / p->ow / p->oh;
    for (int64_t i = 0; q + i < end; ox = 0) {
        int64_t y = image * p->y_image + oy * p->y_row + ox * p->y_pixel;
        int64_t r = image * p->r_image + oy * p->r_row + ox * p->r_pixel;
        int64_t row_end = hn_q8_min(i + p->ow - ox, end - q);
        for (; i < row_end; i++, y += p->y_pixel, r += p->r_pixel) at->y[i] = y, at->r[i] = r;
        if (++oy == p->oh) oy = 0, image++;
    }
}

typedef enum ending { SMALL, PLAIN, ADDED, TWICE } ending;

/* What becomes of the sums of these n outputs, where it is bytes. */
static ending ending_of(const hn_q8_args *a, const geometry *g, const int32_t *start,
                        const float *scale, int64_t n) {
    if (a->r != NULL) return a->p->twice ? TWICE : ADDED;
    const float most = 0x1p15F * (float)g->k; /* of the products in a sum */
    bool small = true;
    for (int64_t i = 0; i < n; i++)
        small &= (fabsf((float)start[i]) + most) * fabsf(scale[i]) < 0x1p21F;
    return small ? SMALL : PLAIN;
}

/* How many pixels end as one vector of bytes: those of a few outputs that lie side by side. */
static int64_t pixels_together(const hn_q8_args *a, int64_t n) {
    const hn_conv_q8 *p = a->p;
    if (n != p->n || (n != HN_VL && n != 2 * HN_VL)) return 1;
    if (p->y_pixel != n || p->y_row != p->ow * n || p->y_image != p->oh * p->y_row) return 1;
    if (a->r != NULL &&
        (p->r_pixel != n || p->r_row != p->ow * n || p->r_image != p->oh * p->r_row))
        return 1;
    return HN_VB / n;
}

/* Outputs of bytes of some pixels, n of each, `together` pixels in a vector; `how` is a constant.
 */
HN_INLINE void finish_bytes(const hn_q8_args *a, const int32_t *c, const float *scale, int64_t n,
                            int64_t n0, int64_t rows, const int64_t *y_at, const int64_t *r_at,
                            int64_t together, const ending how) {
    const hn_q8_ends ends = hn_q8_ends_of(a->p);
    const bool added = how == ADDED || how == TWICE;
    const int64_t vectors = 4 / together; /* of a pixel */
    uint8_t *y = (uint8_t *)a->y + n0;
    const uint8_t *r = added ? (const uint8_t *)a->r + n0 : NULL;
    hn_vf factor[4];
    const int32_t *sums[4];
    for (int j = 0; j < 4; j++) {
        factor[j] = hn_v_load(scale + j % vectors * HN_VL);
        sums[j] = c + j / vectors * WIDTH + j % vectors * HN_VL;
    }
    for (int64_t i = 0; i < rows; i += together) {
        const int64_t bytes = hn_q8_min(together, rows - i) * n;
        hn_vf v[4];
        for (int j = 0; j < 4; j++)
            v[j] = hn_v_mul(hn_v_from_int(hn_vi_load(sums[j] + i * WIDTH)), factor[j]);
        const uint8_t *r_i = added ? r + r_at[i] : NULL;
        if (how == SMALL)
            hn_q8_put_small(&ends, v, bytes, y + y_at[i]);
        else if (bytes == HN_VB) /* known to the compiler */
            hn_q8_put_bytes(&ends, v, HN_VB, r_i, how == TWICE, y + y_at[i]);
        else
            hn_q8_put_bytes(&ends, v, bytes, r_i, how == TWICE, y + y_at[i]);
    }
}

/* Some panels of a group, TOGETHER at most, of pixels [q0, end), whose windows are in `windows`. */
static void compute(const hn_q8_args *a, const geometry *g, const int8_t *packed, int64_t panel,
                    int64_t panels, int64_t q0, int64_t end, const places *at,
                    const a_elem *windows) {
    const hn_conv_q8 *p = a->p;
    int64_t group = panel / g->panels, in_group = panel % g->panels * NR;
    int64_t n0 = group * g->group_out + in_group;
    int64_t n = hn_q8_min(panels * NR, g->group_out - in_group);
    const int32_t *w_sums = (const int32_t *)(const void *)packed + panel * NR;
    const int8_t *w = packed + header_bytes(g) + panel * g->panel;
    const bool bytes =
        WIDTH == HN_VB && p->y != HN_Q8_S32 && !hn_conv_q8_has_floats(p) && !p->w_zero_points;
    const int64_t together = bytes ? pixels_together(a, n) : 1;
    _Alignas(64) int32_t start[WIDTH] = {0}, c[(MR + 3) * WIDTH]; /* 3: of a vector's last pixels */
    float scale[WIDTH] = {0};
    if (panels < TOGETHER || together > 1) memset(c, 0, sizeof c);
    hn_q8_begin(a, w_sums, x_off(p), n0, n, start, scale);
    const ending how = ending_of(a, g, start, scale, n);
    /* As many pixels in each tile, nearly: a tile of few is slow. */
    const int64_t most = hn_q8_ceil(end - q0, hn_q8_ceil(end - q0, MR));
    for (int64_t q = q0, rows; q < end; q += rows) {
        rows = hn_q8_min(most, end - q);
        for (int64_t k = 0; k < panels; k++)
            tiles[rows - 1](windows + (q - q0) * g->window, g->window, w + k * g->panel,
                            g->pitch / KU, start + k * NR, c + k * NR);
        const int64_t *y_at = at->y + (q - q0), *r_at = at->r + (q - q0);
        if (bytes) {
            switch (how) { /* known to the compiler */
#define END(of) \
    case of: finish_bytes(a, c, scale, n, n0, rows, y_at, r_at, together, of); break
                END(SMALL);
                END(PLAIN);
                END(ADDED);
                END(TWICE);
#undef END
            }
            continue;
        }
        for (int64_t i = 0; i < rows; i++) {
            int64_t y = y_at[i] + n0, r = r_at[i] + n0;
            int32_t window_sum = 0;
            if (p->w_zero_points)
                window_sum = hn_q8_window_sum(a, group, (q + i) / p->ow / p->oh,
                                              (q + i) / p->ow % p->oh, (q + i) % p->ow);
            /* By panels, of which lanes may have any number: activations of floats may differ by
             * the vectors that they come in. */
            for (int64_t k = 0; k < n; k += NR)
                hn_q8_finish(a, c + i * WIDTH + k, scale + k, n0 + k, hn_q8_min(NR, n - k),
                             window_sum, y + k, r + k);
        }
    }
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    if (hn_q8_sum_pixels(call, phase, begin, end)) return;
    const hn_conv_q8 *p = call->problem;
    hn_q8_args a = hn_q8_args_of(call);
    geometry g = measure(p);
    int64_t parts = hn_work_tasks(call->work, phase) / g.blocks, in_lane = -1, placed = -1;
    places at;
    for (int64_t t = begin; t < end; t++) {
        int64_t part = t % parts, block = t / parts, q0 = block * g.block;
        int64_t q1 = hn_q8_min(q0 + g.block, p->batch * p->oh * p->ow);
        int64_t last = g.all_panels * (part + 1) / parts;
        if (placed != block) find_places(p, q0, q1, &at);
        placed = block;
        for (int64_t n = g.all_panels * part / parts, some; n < last; n += some) {
            int64_t group = n / g.panels, wanted = block * p->groups + group;
            some = hn_q8_min(TOGETHER, hn_q8_min(last, (group + 1) * g.panels) - n);
            if (wanted != in_lane) copy_windows(&a, &g, group, q0, q1, lane);
            in_lane = wanted;
            compute(&a, &g, call->ptr[HN_CONV_Q8_W], n, some, q0, q1, &at, lane);
        }
    }
}

static size_t packed_bytes(const void *problem) {
    geometry g = measure(problem);
    return header_bytes(&g) + (size_t)(g.all_panels * g.panel);
}

static uint64_t pack_key(const void *problem) {
    const hn_conv_q8 *p = problem;
    const int64_t of[] = {p->c,   p->n,   p->kh,     p->kw,     p->w_o,        p->w_i,
                          p->w_y, p->w_x, p->w_type, p->groups, KU * 1000 + NR};
    return hn_pack_hash(of, sizeof of / sizeof *of);
}

static int64_t pack_tasks(const void *problem) { return measure(problem).all_panels; }

/* KU products, from k on, of the outputs of a panel; adds to their sums. */
static void pack_group(const hn_conv_q8 *p, const geometry *g, const uint8_t *w, int64_t outputs,
                       int64_t k, int8_t *restrict to, int32_t *restrict sums) {
    const uint8_t flip = p->w_type == HN_Q8_U8 ? 0x80 : 0;
    const uint8_t *from[KU];
    uint8_t raw[NR * KU];
    int64_t n = hn_q8_min(KU, g->k - k);
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
    for (int i = 0; i < NR * KU; i++) to[i] = (int8_t)(raw[i] ^ flip);
    for (int o = 0; o < NR; o++)
        for (int i = 0; i < KU; i++) sums[o] += to[o * KU + i];
}

static void pack(const void *problem, const void *plain, int64_t begin, int64_t end, void *dst) {
    const hn_conv_q8 *p = problem;
    geometry g = measure(p);
    size_t sums_end = end < g.all_panels ? (size_t)(end * NR) * sizeof(int32_t) : header_bytes(&g);
    memset((int32_t *)dst + begin * NR, 0, sums_end - (size_t)(begin * NR) * sizeof(int32_t));
    for (int64_t panel = begin; panel < end; panel++) {
        int8_t *to = (int8_t *)dst + header_bytes(&g) + panel * g.panel;
        int64_t in_group = panel % g.panels * NR;
        int64_t n0 = panel / g.panels * g.group_out + in_group;
        memset(to + g.pitch * NR, 0, (size_t)(g.panel - g.pitch * NR));
        for (int64_t k = 0; k < g.k; k += KU)
            pack_group(p, &g, (const uint8_t *)plain + n0 * p->w_o,
                       hn_q8_min(NR, g.group_out - in_group), k, to + k * NR,
                       (int32_t *)dst + panel * NR);
#ifdef SEVERAL_WAYS
        sort_groups(to, g.pitch / KU);
#endif
    }
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

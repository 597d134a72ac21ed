/* Convolution of images that come planar, or have so few channels that a run of them is short: the
 * first layer of a network. Over the vector vocabulary.
 *
 * Vectors run along output channels, and a tile is as many neighbouring outputs of a row as there
 * are registers for. A task is a band of output rows. It first copies the input rows it needs into
 * lane scratch, as they are, planar or not, but with their padding; then tap (ky, kx) of channel i
 * is a fixed distance from where the tile begins, whatever the tile, and its values for
 * neighbouring outputs lie a fixed pitch apart: no pointers, no edges. A tile at the end of a row
 * may compute more outputs than there are, from zeros; they are not stored.
 *
 * The pitch is the stride times the distance of pixels. Tiles that know it have it in their
 * instructions; those of the common ones do (PITCHES).
 *
 * `line` is the same for 1x1 windows over pixels that lie on one line: nothing is copied, and the
 * products of a sum are adjacent. A file that defines WITHOUT_LINE has no such row.
 *
 * Weights are packed [group][panel][ky][kx][i][columns], a panel being two vectors of outputs, the
 * last one of a group perhaps one. A sum begins with bias + r and goes through ky, kx, i.
 *
 * The file that includes this one defines SUMS, the sums of a tile: a multiple of 4 that leaves two
 * registers for weights and one for x.
 */
#include <math.h>
#include <string.h>

#include "base/cpu.h"
#include "base/divide.h"
#include "base/least.h"
#include "kernels/act_simd.h"
#include "kernels/conv_f32/conv_f32.h"
#include "kernels/conv_f32/conv_f32_columns.h"
#include "kernels/tile_f32/tile_f32.h"

#ifndef SUMS
#define SUMS 8 /* vectors that the registers hold beside operands */
#endif

#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 32")
#endif

enum {
    WIDE = 2 * HN_VL,
    BAND = 32 << 10,          /* bytes of a band: it stays in L1, */
    BAND_MANY = 512 << 10,    /* or in L2, where all weights do not */
    MANY_WEIGHTS = 256 << 10, /* bytes */
    LINE_WEIGHTS = 160 << 10, /* bytes that pass through L1 for every few pixels, */
    LINE_OUTPUTS = 128,       /* or twice as many where there are fewer outputs than these, */
    LINE_PIXELS = 128,        /* but where there are fewer pixels than these, */
    LINE_NEAR = 24 << 10,     /* only what stays in L1 */
    LINE_TASKS = 8,           /* at least, where there are that many panels */
    STRETCH = 4 * SUMS,       /* pixels of a task of `line`, about */
    LINE = -1,                /* stands for the pitch of its tiles */
};

/* Planar images at strides 1 and 2, images of three channels at the same. */
#define PITCHES(X) X(1) X(2) X(3) X(6)

typedef struct geometry {
    int64_t c, n, k;          /* of a group: channels, outputs, products */
    int64_t columns;          /* of an input row in scratch */
    int64_t pixel, row, tall; /* floats from a pixel, a row, a plane there to the next */
    int64_t bytes;            /* of a band */
    int64_t rows, bands;      /* output rows of a band, bands of an image */
} geometry;

static geometry measure(const hn_conv_f32 *p) {
    geometry g = {.c = hn_over(p->c, p->groups), .n = hn_over(p->n, p->groups)};
    g.k = p->kh * p->kw * g.c;
    /* Tiles compute at most up to the next multiple of half their height. */
    int64_t outputs = hn_ceil_over(p->ow, SUMS / 2) * (SUMS / 2);
    g.columns = (outputs - 1) * p->sw + (p->kw - 1) * p->dw + 1;
    bool planar = p->x_channel != 1;
    g.pixel = planar ? 1 : p->c;
    g.row = g.columns * g.pixel;
    int64_t most = p->n * g.k * 4 > hn_of_l2(MANY_WEIGHTS) ? hn_of_l2(BAND_MANY) : hn_of_l1(BAND);
    int64_t window = (p->kh - 1) * p->dh + 1, inputs = hn_over(most, g.columns * p->c * 4 + 1);
    g.rows = inputs > window ? hn_over(inputs - window, p->sh) + 1 : 1;
    g.bands = hn_ceil_over(p->oh, g.rows);
    /* A number that 2, 4 and 8 threads can share. */
    if (g.bands > 2) g.bands = hn_ceil_over(g.bands, 8) * 8;
    g.rows = hn_ceil_over(p->oh, g.bands);
    g.bands = hn_ceil_over(p->oh, g.rows);
    int64_t height = (g.rows - 1) * p->sh + window;
    g.tall = planar ? height * g.row : 1;
    g.bytes = height * g.columns * p->c * 4;
    return g;
}

typedef struct lane_parts {
    float *x;        /* the band: [channel][row][column], or [row][column][channel] */
    float *sums;     /* of a tile: [output][columns of the panel] */
    int64_t *offset; /* of each product, from where a tile begins */
} lane_parts;

static size_t divide(const geometry *g, char *base, lane_parts *l) {
    size_t x = ((size_t)g->bytes + 63) / 64 * 64;
    size_t sums = SUMS * WIDE * sizeof(float);
    if (l != NULL)
        *l = (lane_parts){(float *)base, (float *)(base + x), (int64_t *)(base + x + sums)};
    return x + sums + (size_t)g->k * sizeof(int64_t);
}

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_conv_f32 *p = problem;
    (void)lanes;
    geometry g = measure(p);
    *w = (hn_work){
        .n_phases = 1, .tasks = {p->batch * g.bands}, .lane_scratch = divide(&g, NULL, NULL)};
}

static void fill_offsets(const hn_conv_f32 *p, const geometry *g, int64_t *offset) {
    for (int64_t ky = 0; ky < p->kh; ky++)
        for (int64_t kx = 0; kx < p->kw; kx++)
            for (int64_t i = 0; i < g->c; i++)
                *offset++ = i * g->tall + ky * p->dh * g->row + kx * p->dw * g->pixel;
}

/* Input row iy, perhaps outside the image: `channels` of them side by side. */
static void copy_row(const hn_conv_f32 *p, const geometry *g, const float *src, int64_t iy,
                     int64_t channels, float *dst) {
    /* Column j of scratch is column j - pl of the image. */
    int64_t begin = p->pl > 0 ? p->pl : 0, end = p->w + p->pl;
    if (end > g->columns) end = g->columns;
    if (iy < 0 || iy >= p->h || begin >= end) begin = end = g->columns;
    memset(dst, 0, (size_t)(begin * channels) * sizeof(float));
    if (begin < end) {
        src += iy * p->x_row + (begin - p->pl) * p->x_pixel;
        dst += begin * channels;
        if (p->x_pixel == channels)
            memcpy(dst, src, (size_t)((end - begin) * channels) * sizeof(float));
        else
            hn_tile_f32_copy(src, p->x_pixel, 1, end - begin, channels, 1, dst, channels);
        memset(dst + (end - begin) * channels, 0,
               (size_t)((g->columns - end) * channels) * sizeof(float));
    }
}

/* The input rows of `rows` output rows from oy on. */
static void copy_band(const hn_conv_f32 *p, const geometry *g, const float *image, int64_t oy,
                      int64_t rows, float *dst) {
    int64_t inputs = (rows - 1) * p->sh + (p->kh - 1) * p->dh + 1;
    int64_t planes = p->x_channel != 1 ? p->c : 1;
    for (int64_t c = 0; c < planes; c++)
        for (int64_t i = 0; i < inputs; i++)
            copy_row(p, g, image + c * p->x_channel, oy * p->sh - p->pt + i, p->c / planes,
                     dst + c * g->tall + i * g->row);
}

/* ---- tiles ---------------------------------------------------------------------------------- */

typedef struct tile {
    const float *x; /* where it begins in the band */
    const float *w; /* of the panel */
    const float *bias, *r;
    const float *first; /* what the sums begin with beside the bias, NULL: zero */
    float *y;
    int64_t pitch, first_pitch, y_pixel; /* floats from an output to the next */
    int64_t skip, outputs;               /* store outputs [skip, outputs) */
    int64_t n;                           /* columns to store */
    float lo, hi;                        /* where the tile stores: limits */
    bool store; /* all outputs, within the limits; else the sums are left in scratch */
} tile;

/* Adds all products; tap k is offset[k] from where the tile begins. */
HN_INLINE void add_taps(const tile *t, int64_t taps, const int64_t *offset, int height, int vecs,
                        int64_t pitch, hn_vf *s) {
    const float *w = t->w;
    for (int64_t k = 0; k < taps; k++, w += vecs * HN_VL) {
        const float *x = t->x + offset[k];
        hn_vf wv[2];
        UNROLL for (int v = 0; v < vecs; v++) wv[v] = hn_v_load(w + v * HN_VL);
        UNROLL for (int i = 0; i < height; i++) {
            hn_vf xi = hn_v_set1(x[i * pitch]);
            UNROLL for (int v = 0; v < vecs; v++) s[i * vecs + v] =
                hn_v_fma(xi, wv[v], s[i * vecs + v]);
        }
    }
}

/* Adds all products of a tile of `line`, where they are adjacent. Three outputs share a pointer: an
 * instruction can add the pitch once or twice to an address. */
HN_INLINE void add_line(const tile *t, int64_t taps, int height, int vecs, hn_vf *s) {
    const float *w = t->w, *x[(SUMS + 2) / 3];
    UNROLL for (int i = 0; i < (height + 2) / 3; i++) x[i] = t->x + 3 * i * t->pitch;
    for (int64_t k = 0; k < taps; k++, w += vecs * HN_VL) {
        hn_vf wv[2];
        UNROLL for (int v = 0; v < vecs; v++) wv[v] = hn_v_load(w + v * HN_VL);
        UNROLL for (int i = 0; i < height; i++) {
            hn_vf xi = hn_v_set1(x[i / 3][i % 3 * t->pitch]);
            UNROLL for (int v = 0; v < vecs; v++) s[i * vecs + v] =
                hn_v_fma(xi, wv[v], s[i * vecs + v]);
        }
        UNROLL for (int i = 0; i < (height + 2) / 3; i++) x[i]++;
    }
}

HN_INLINE void sum(const tile *t, const geometry *g, const lane_parts *l, int height, int vecs,
                   int64_t pitch) {
    hn_vf s[SUMS];
    UNROLL for (int v = 0; v < vecs; v++) {
        hn_vf bias = hn_v_set1(0.0f);
        int64_t n = t->n - v * HN_VL < HN_VL ? t->n - v * HN_VL : HN_VL;
        if (t->bias != NULL) bias = hn_v_load_part(t->bias + v * HN_VL, n);
        UNROLL for (int i = 0; i < height; i++) s[i * vecs + v] = bias;
    }
    for (int v = 0; v < vecs && t->first != NULL; v++)
        UNROLL for (int i = 0; i < height; i++) s[i * vecs + v] =
            hn_v_add(s[i * vecs + v], hn_v_load(t->first + i * t->first_pitch + v * HN_VL));
    if (pitch == LINE)
        add_line(t, g->k, height, vecs, s);
    else
        add_taps(t, g->k, l->offset, height, vecs, pitch, s);
    if (!t->store) {
        UNROLL for (int i = 0; i < height * vecs; i++) hn_v_store(l->sums + i * HN_VL, s[i]);
        return;
    }
    hn_vf lo = hn_v_set1(t->lo), hi = hn_v_set1(t->hi);
    int64_t last = t->n - (vecs - 1) * HN_VL;
    UNROLL for (int i = 0; i < height; i++) {
        float *y = t->y + i * t->y_pixel;
        UNROLL for (int v = 0; v < vecs; v++) {
            hn_vf out = hn_v_min(hi, hn_v_max(lo, s[i * vecs + v]));
            hn_v_store_part(y + v * HN_VL, out, v < vecs - 1 ? HN_VL : last);
        }
    }
}

typedef void sum_fn(const tile *t, const geometry *g, const lane_parts *l);

#define TILE(name, height, vecs, at)                                          \
    static void name(const tile *t, const geometry *g, const lane_parts *l) { \
        sum(t, g, l, height, vecs, at != 0 ? at : t->pitch);                  \
    }
#define TILES(at)                                \
    TILE(wide_##at, SUMS / 2, 2, at)             \
    TILE(wide_half_##at, SUMS / 4, 2, at)        \
    TILE(wide_third_##at, (SUMS + 4) / 6, 2, at) \
    TILE(narrow_##at, SUMS, 1, at)               \
    TILE(narrow_half_##at, SUMS / 2, 1, at)      \
    TILE(narrow_third_##at, (SUMS + 2) / 3, 1, at)
PITCHES(TILES)
TILES(LINE)
TILES(0)

/* Tiles of one vector or of two, of full height, a half and a third of it; pitch 0: any. */
static const struct {
    int64_t pitch;
    sum_fn *fn[2][3];
} tiles[] = {
#define ENTRY(at)                                         \
    {at,                                                  \
     {{narrow_##at, narrow_half_##at, narrow_third_##at}, \
      {wide_##at, wide_half_##at, wide_third_##at}}},
    PITCHES(ENTRY) ENTRY(LINE) ENTRY(0)};

/* Says where the tile finds what is added to: in place if it may read as much as it sums up, else
 * copied to where its sums will be. */
static void find_residual(const hn_conv_f32 *p, tile *t, int64_t width, bool whole, float *sums) {
    whole = whole && t->n == width;
    t->first = whole ? t->r : sums, t->first_pitch = whole ? p->r_pixel : width;
    for (int64_t i = t->skip; i < t->outputs && !whole; i++)
        memcpy(sums + i * width, t->r + i * p->r_pixel, (size_t)t->n * sizeof(float));
}

HN_INLINE void store_as(const hn_conv_f32 *p, const tile *t, int64_t width, const float *sums,
                        hn_act_kind kind) {
    hn_vf a = hn_v_set1(p->act.a), b = hn_v_set1(p->act.b);
    for (int64_t i = t->skip; i < t->outputs; i++) {
        float *y = t->y + i * p->y_pixel;
        int64_t j = 0;
        for (; j + HN_VL <= t->n; j += HN_VL)
            hn_v_store(y + j, hn_v_act(hn_v_load(sums + i * width + j), kind, a, b));
        if (j < t->n)
            hn_v_store_n(y + j, hn_v_act(hn_v_load(sums + i * width + j), kind, a, b), t->n - j);
    }
}

static void store(const hn_conv_f32 *p, const tile *t, int64_t width, const float *sums) {
    switch (p->act.kind) {
#define HN_X(name, formula) \
    case HN_ACT_##name: store_as(p, t, width, sums, HN_ACT_##name); break;
        HN_ACT_LIST(HN_X)
#undef HN_X
        case HN_ACT_COUNT_: break;
    }
}

/* One panel of `outputs` neighbouring outputs, whose operands `t` points at; it moves on. If they are
 * part of a line, no tile reads beyond them, and there are at least SUMS of them. */
static void run_row(const hn_conv_f32 *p, const geometry *g, const lane_parts *l, tile *t,
                    int64_t outputs, bool line) {
    bool wide = t->n > HN_VL, clip = p->act.kind == HN_ACT_CLIP;
    int64_t height = wide ? SUMS / 2 : SUMS, width = wide ? WIDE : HN_VL;
    t->pitch = p->sw * g->pixel, t->y_pixel = p->y_pixel;
    t->lo = clip ? p->act.a : -INFINITY, t->hi = clip ? p->act.b : INFINITY;
    int64_t pitch = line ? LINE : t->pitch;
    int kind = 0;
    while (tiles[kind].pitch != 0 && tiles[kind].pitch != pitch) kind++;
    for (int64_t left = outputs; left > 0; left -= height) {
        int part = left <= (height + 2) / 3 ? 3 : left <= height / 2 ? 2 : 1;
        int64_t computed = (height + part - 1) / part;
        t->outputs = left < computed ? left : computed;
        t->skip = line ? computed - t->outputs : 0;
        t->x -= t->skip * t->pitch, t->y -= t->skip * p->y_pixel, t->outputs += t->skip;
        bool whole = t->skip == 0 && t->outputs == computed;
        if (t->r != NULL) {
            t->r -= t->skip * p->r_pixel;
            find_residual(p, t, width, whole, l->sums);
        }
        t->store = (clip || p->act.kind == HN_ACT_NONE) && whole;
        tiles[kind].fn[wide][part - 1](t, g, l);
        if (!t->store) store(p, t, width, l->sums);
        t->x += height * t->pitch, t->y += height * p->y_pixel;
        if (t->r != NULL) t->r += height * p->r_pixel;
    }
}

/* ---- band ----------------------------------------------------------------------------------- */

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase;
    const hn_conv_f32 *p = call->problem;
    const geometry g = measure(p);
    const float *bias = call->ptr[HN_CONV_BIAS], *r = call->ptr[HN_CONV_R];
    lane_parts l;
    divide(&g, lane, &l);
    fill_offsets(p, &g, l.offset);
    memset(l.sums, 0, SUMS * WIDE * sizeof(float));
    for (int64_t task = begin; task < end; task++) {
        int64_t image = task, oy = hn_digit(&image, g.bands) * g.rows;
        int64_t rows = p->oh - oy < g.rows ? p->oh - oy : g.rows;
        copy_band(p, &g, (const float *)call->ptr[HN_CONV_X] + image * p->x_image, oy, rows, l.x);
        const float *w = call->ptr[HN_CONV_W];
        for (int64_t n = 0; n < p->n;) {
            int64_t group = hn_over(n, g.n), left = (group + 1) * g.n - n;
            tile t = {.w = w, .n = left < WIDE ? left : WIDE};
            if (bias != NULL) t.bias = bias + n;
            for (int64_t i = 0; i < rows; i++) {
                t.x = l.x + group * g.c * g.tall + i * p->sh * g.row;
                t.y = (float *)call->ptr[HN_CONV_Y] + image * p->y_image + (oy + i) * p->y_row + n;
                if (r != NULL) t.r = r + image * p->r_image + (oy + i) * p->r_row + n;
                run_row(p, &g, &l, &t, p->ow, false);
            }
            w += g.k * (t.n > HN_VL ? WIDE : HN_VL);
            n += t.n;
        }
    }
}

#ifndef WITHOUT_LINE
/* ---- line ----------------------------------------------------------------------------------- */

/* A task is a stretch of the line in one part of the panels; the stretches of a part follow each
 * other. */
static int64_t pixels_of(const hn_conv_f32 *p) { return p->batch * p->oh * p->ow; }
static int64_t stretches_of(const hn_conv_f32 *p) {
    int64_t n = pixels_of(p) / STRETCH, most = pixels_of(p) / SUMS;
    return n >= LINE_TASKS ? n : hn_least(most, LINE_TASKS);
}
static int64_t parts_of(const hn_conv_f32 *p) {
    return hn_least(hn_ceil_over(LINE_TASKS, stretches_of(p)), hn_ceil_over(p->n, WIDE));
}

static void work_line(const void *problem, int lanes, hn_work *w) {
    const hn_conv_f32 *p = problem;
    (void)lanes;
    geometry g = {0}; /* neither a band nor offsets */
    *w = (hn_work){.n_phases = 1,
                   .tasks = {stretches_of(p) * parts_of(p)},
                   .lane_scratch = divide(&g, NULL, NULL)};
}

/* Pixels [at, last) of panels [panel, end). */
static void run_pixels(const hn_call *call, const lane_parts *l, int64_t at, int64_t last,
                       int64_t panel, int64_t end) {
    const hn_conv_f32 *p = call->problem;
    const geometry g = {.c = p->c, .n = p->n, .k = p->c, .pixel = p->x_pixel, .tall = 1};
    const float *x = call->ptr[HN_CONV_X], *bias = call->ptr[HN_CONV_BIAS],
                *r = call->ptr[HN_CONV_R], *w = call->ptr[HN_CONV_W];
    while (at < last) {
        /* As many pixels at a time as the tallest tile has, for all panels. */
        int64_t outputs = last - at < 2 * SUMS ? last - at : SUMS;
        for (int64_t i = panel; i < end; i++) {
            int64_t n = i * WIDE;
            tile t = {.x = x + at * p->sw * p->x_pixel, .w = w + n * g.k};
            t.n = hn_least(p->n - n, WIDE);
            t.y = (float *)call->ptr[HN_CONV_Y] + at * p->y_pixel + n;
            if (bias != NULL) t.bias = bias + n;
            if (r != NULL) t.r = r + at * p->r_pixel + n;
            run_row(p, &g, l, &t, outputs, true);
        }
        at += outputs;
    }
}

static void run_line(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase;
    const hn_conv_f32 *p = call->problem;
    int64_t pixels = pixels_of(p), panels = hn_ceil_over(p->n, WIDE);
    int64_t stretches = stretches_of(p), parts = hn_over(call->work->tasks[0], stretches);
    lane_parts l;
    divide(&(geometry){0}, lane, &l);
    memset(l.sums, 0, SUMS * WIDE * sizeof(float));
    while (begin < end) {
        int64_t part = hn_over(begin, stretches), first = begin - part * stretches;
        int64_t last = hn_least(end - part * stretches, stretches);
        run_pixels(call, &l, hn_over(pixels * first, stretches), hn_over(pixels * last, stretches),
                   hn_over(panels * part, parts), hn_over(panels * (part + 1), parts));
        begin += last - first;
    }
}

/* Whether rows of pixels lie one after the other, and images too. */
static bool is_line(const hn_conv_f32 *p, int64_t image, int64_t row, int64_t pixel) {
    return (p->oh == 1 || row == p->ow * pixel) &&
           (p->batch == 1 || image == p->oh * p->ow * pixel);
}

/* Measured against the rows that follow, which compute the same bits, with 16 to 2048 channels, 1 to
 * 2048 outputs, 49 to 25600 pixels, weights in L2 and not: up to twice as fast within these limits,
 * and at most 4 % slower (AVX2 and AVX-512, Granite Rapids). */
static int64_t most_weights(const hn_conv_f32 *p) {
    if (pixels_of(p) < LINE_PIXELS) return hn_of_l1(LINE_NEAR);
    return hn_of_l2(LINE_WEIGHTS) * (p->n < LINE_OUTPUTS ? 2 : 1);
}

static bool ok_line(const void *problem, const char **why) {
    const hn_conv_f32 *p = problem;
    if (!hn_conv_stored_f32(p, why)) return false;
    if (p->kh != 1 || p->kw != 1 || p->groups != 1) return *why = "not 1x1, or groups", false;
    if (p->x_channel != 1) return *why = "the input is planar", false;
    if (p->pt != 0 || p->pl != 0 || (p->oh - 1) * p->sh >= p->h || (p->ow - 1) * p->sw >= p->w)
        return *why = "padding", false;
    if (!is_line(p, p->x_image, p->sh * p->x_row, p->sw * p->x_pixel) ||
        !is_line(p, p->y_image, p->y_row, p->y_pixel) ||
        !is_line(p, p->r_image, p->r_row, p->r_pixel))
        return *why = "the pixels do not lie on one line", false;
    if (pixels_of(p) < SUMS) return *why = "too few pixels", false;
    if (p->c * p->n * 4 > most_weights(p)) return *why = "too many weights", false;
    return true;
}
#endif

/* ---- packing -------------------------------------------------------------------------------- */

static size_t packed_bytes(const void *problem) {
    const hn_conv_f32 *p = problem;
    geometry g = measure(p);
    return (size_t)(p->groups * g.k * hn_ceil_over(g.n, HN_VL) * HN_VL) * sizeof(float);
}

static uint64_t pack_key(const void *problem) {
    const hn_conv_f32 *p = problem;
    const int64_t facts[] = {HN_VL, p->groups, p->c,   p->n,   p->kh,
                             p->kw, p->w_o,    p->w_i, p->w_y, p->w_x};
    return hn_pack_hash(facts, sizeof facts / sizeof *facts);
}

/* Panels of a group. */
static int64_t panels_of(const hn_conv_f32 *p) { return hn_ceil_over(p->n / p->groups, WIDE); }

static int64_t pack_tasks(const void *problem) {
    const hn_conv_f32 *p = problem;
    return p->groups * panels_of(p);
}

static void pack(const void *problem, const hn_stored *plain, int64_t begin, int64_t end,
                 void *dst) {
    const hn_conv_f32 *p = problem;
    geometry g = measure(p);
    int64_t panels = panels_of(p), group_floats = g.k * hn_ceil_over(g.n, HN_VL) * HN_VL;
    for (int64_t task = begin; task < end; task++) {
        int64_t group = task / panels, column = task % panels * WIDE, left = g.n - column;
        int64_t width = left > HN_VL ? WIDE : HN_VL;
        float *to = (float *)dst + group * group_floats + g.k * column;
        for (int64_t j = 0; j < width; j += HN_VL)
            hn_columns_pack(p, plain->data, group * g.n + column + j,
                            left - j < HN_VL ? left - j : HN_VL, width, to + j);
    }
}

static bool ok(const void *problem, const char **why) {
    const hn_conv_f32 *p = problem;
    if (!hn_conv_stored_f32(p, why)) return false;
    if (p->groups == p->c && p->c > 1) return *why = "depthwise rows want channels adjacent", false;
    if (p->x_channel != 1 || (p->c <= 8 && p->kw > 1 && p->groups == 1)) return true;
    return *why = "no planar image, nor one of few channels", false;
}

const hn_kernel HN_V_ROW(conv_f32_band) = {.name = HN_V_NAME "_band",
                                           .isa = HN_V_ISA,
                                           .order = HN_V_NAME "_short",
                                           .ok = ok,
                                           .work = work,
                                           .run = run,
                                           .packed_bytes = packed_bytes,
                                           .pack_key = pack_key,
                                           .pack_tasks = pack_tasks,
                                           .pack = pack};

#ifndef WITHOUT_LINE
const hn_kernel HN_V_ROW(conv_f32_line) = {.name = HN_V_NAME "_line",
                                           .isa = HN_V_ISA,
                                           .order = HN_V_NAME "_short",
                                           .ok = ok_line,
                                           .work = work_line,
                                           .run = run_line,
                                           .packed_bytes = packed_bytes,
                                           .pack_key = pack_key,
                                           .pack_tasks = pack_tasks,
                                           .pack = pack};
#endif

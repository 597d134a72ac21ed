/* conv_grad_f32 over the vector vocabulary.
 *
 * The pixels of dy fall into bands: some rows of an image, some images, or a part of a long row.
 * For a band, channels of dy are copied into panels of ROWS, and a block of channels of x into a
 * strip with its padding, so that every tap of every pixel is a place in the strip:
 *
 *     dy [pixels][n]      ──▶ panel [pixels][ROWS]            ┐   sums [ROWS][taps * channels]
 *     x  [h][w][c]        ──▶ strip [rows][columns][channels] ┘   += panel^T * windows of the strip
 *
 * Where a vector would hold few channels, the taps of a row are one run of numbers in the strip, and
 * vectors run over all of them:
 *
 *     strip of 3 channels  |r g b|r g b|r g b| ...     3 taps are 9 numbers from each pixel on
 *
 * A tile of ROWS by COLUMNS vectors of sums stays in registers over all pixels of a band. A task
 * takes a chunk of the bands, a block of channels of x and one of dy; where there is more than one
 * chunk, they leave their sums in scratch, and a second phase adds them up in order. How many chunks
 * there are follows from the problem alone.
 */
#include <string.h>

#include "base/least.h"
#include "kernels/conv_grad_f32/conv_grad_f32.h"
#include "simd/part.h"

enum {
    COLUMNS = 3,               /* vectors of a tile */
    ROWS = HN_VL == 8 ? 4 : 8, /* as registers allow */
    BLOCK = 64,                /* channels of dy of a task */
    MOST_VECTORS = 36,         /* of sums of a channel of dy in a task */
    BAND = 512,                /* pixels */
    FEW_TASKS = 16,            /* from which on bands need not be shared out */
};

static int64_t up(int64_t a, int64_t b) { return (a + b - 1) / b; }

/* How a problem is cut. */
typedef struct cut {
    int64_t per, out;      /* channels of a group, of x and of dy */
    bool joined;           /* the taps of a row are one run */
    int64_t taps, vectors; /* runs, and vectors of each in a task: of channels of x, or of all
                                   * numbers of a row of taps */
    int64_t pitch;         /* floats of a pixel in a strip */
    int64_t blocks_in, blocks_out; /* of a group */
    int64_t images, rows, columns; /* of a band; two of them are all there are, or 1 */
    int64_t across, down, along;   /* bands: of columns, rows, images */
    int64_t chunks, tasks;
    int64_t strip_rows, strip_columns; /* of an image in a strip */
    size_t sums;                       /* floats of all sums of a task */
} cut;

static cut cut_of(const hn_conv_grad_f32 *p) {
    cut c = {.per = p->c / p->groups, .out = p->n / p->groups, .taps = p->kh * p->kw};
    int64_t all = up(c.per, HN_VL), most = MOST_VECTORS / c.taps;
    c.vectors = hn_least(all, most > 1 ? most : 1);
    c.vectors = up(all, up(all, c.vectors)); /* blocks of one size */
    c.blocks_in = up(all, c.vectors);
    c.pitch = c.vectors * HN_VL;
    c.joined = p->dw == 1 && c.per < HN_VL && up(c.per * p->kw, HN_VL) < p->kw;
    if (c.joined) {
        c.taps = p->kh;
        c.vectors = up(c.per * p->kw, HN_VL);
        c.pitch = c.per;
    }
    c.blocks_out = up(c.out, BLOCK);
    int64_t pixels = p->oh * p->ow;
    c.images = pixels >= BAND ? 1 : hn_least(p->batch, BAND / (pixels > 0 ? pixels : 1));
    c.columns = hn_least(p->ow, BAND);
    c.rows = c.columns < p->ow ? 1 : hn_least(p->oh, up(BAND, p->ow > 0 ? p->ow : 1));
    c.across = up(p->ow, c.columns > 0 ? c.columns : 1);
    c.down = up(p->oh, c.rows > 0 ? c.rows : 1);
    c.along = up(p->batch, c.images > 0 ? c.images : 1);
    int64_t bands = c.across * c.down * c.along;
    c.tasks = p->groups * c.blocks_in * c.blocks_out;
    c.chunks = hn_least(up(FEW_TASKS, c.tasks > 0 ? c.tasks : 1), bands > 1 ? bands : 1);
    c.strip_rows = (c.rows - 1) * p->sh + (p->kh - 1) * p->dh + 1;
    c.strip_columns = (c.columns - 1) * p->sw + (p->kw - 1) * p->dw + 1;
    c.sums = (size_t)(BLOCK * c.taps * c.vectors * HN_VL);
    return c;
}

static size_t strip_floats(const cut *c) {
    size_t floats = (size_t)(c->images * c->strip_rows * c->strip_columns * c->pitch);
    return (floats + (size_t)c->vectors * HN_VL + 15) / 16 * 16; /* a run may end behind the last */
}

static size_t panel_floats(const cut *c) {
    return (size_t)(c->images * c->rows * c->columns * BLOCK);
}

static void work(const void *problem, int lanes, hn_work *w) {
    (void)lanes;
    const hn_conv_grad_f32 *p = problem;
    cut c = cut_of(p);
    size_t lane = strip_floats(&c) + panel_floats(&c) + (c.chunks > 1 ? 0 : c.sums);
    *w = (hn_work){
        .n_phases = c.chunks > 1 ? 2 : 1,
        .tasks = {c.tasks * c.chunks, c.tasks, c.tasks, c.tasks},
        .scratch = c.chunks > 1 ? (size_t)(c.tasks * c.chunks) * c.sums * sizeof(float) : 0,
        .lane_scratch = (lane + 64) * sizeof(float)};
}

/* ---- a band ---- */

typedef struct band {
    int64_t b0, b1, y0, y1, x0, x1;
} band;

static band band_at(const hn_conv_grad_f32 *p, const cut *c, int64_t i) {
    band b;
    b.x0 = i % c->across * c->columns;
    b.y0 = i / c->across % c->down * c->rows;
    b.b0 = i / c->across / c->down * c->images;
    b.x1 = hn_least(p->ow, b.x0 + c->columns);
    b.y1 = hn_least(p->oh, b.y0 + c->rows);
    b.b1 = hn_least(p->batch, b.b0 + c->images);
    return b;
}

/* n channels to a place of `floats`, the rest zeros. */
static void copy_pixel(const float *from, float *to, int64_t n, int64_t floats) {
    int64_t i = 0;
    for (; i + HN_VL <= n; i += HN_VL) hn_v_store(to + i, hn_v_load(from + i));
    for (; i < n; i++) to[i] = from[i];
    for (; i < floats; i++) to[i] = 0;
}

static void fill_strip(const hn_conv_grad_f32 *p, const cut *c, const band *at, const float *x,
                       int64_t n, float *strip) {
    int64_t floats = c->pitch;
    bool one = false;
    if (p->x_pixel == floats && n == floats) one = true; /* rows are copied as they are */
    for (int64_t b = at->b0; b < at->b1; b++)
        for (int64_t r = 0; r < c->strip_rows; r++) {
            int64_t iy = at->y0 * p->sh - p->pt + r, first = at->x0 * p->sw - p->pl;
            float *to = strip + ((b - at->b0) * c->strip_rows + r) * c->strip_columns * floats;
            int64_t lo = first < 0 ? -first : 0, hi = p->w - first;
            if (hi > c->strip_columns) hi = c->strip_columns;
            if (iy < 0 || iy >= p->h || hi < lo) lo = hi = c->strip_columns;
            memset(to, 0, (size_t)(lo * floats) * sizeof *to);
            const float *from = x + b * p->x_image + iy * p->x_row;
            if (one && hi > lo)
                memcpy(to + lo * floats, from + (first + lo) * p->x_pixel,
                       (size_t)((hi - lo) * floats) * sizeof *to);
            for (int64_t k = lo; k < hi && !one; k++)
                copy_pixel(from + (first + k) * p->x_pixel, to + k * floats, n, floats);
            memset(to + hi * floats, 0, (size_t)((c->strip_columns - hi) * floats) * sizeof *to);
        }
}

/* n channels of dy, as panels one behind the other. */
static void fill_panels(const hn_conv_grad_f32 *p, const band *at, const float *dy, int64_t n,
                        int64_t pixels, float *panels) {
    int64_t k = 0;
    for (int64_t b = at->b0; b < at->b1; b++)
        for (int64_t y = at->y0; y < at->y1; y++)
            for (int64_t x = at->x0; x < at->x1; x++, k++) {
                const float *from = dy + b * p->y_image + y * p->y_row + x * p->y_pixel;
                for (int64_t o = 0; o < n; o += ROWS) {
                    float *to = panels + o * pixels + k * ROWS;
                    if (o + ROWS <= n) {
                        memcpy(to, from + o, ROWS * sizeof *to);
                        continue;
                    }
                    for (int64_t r = 0; r < ROWS; r++) to[r] = o + r < n ? from[o + r] : 0;
                }
            }
}

/* ---- a tile ---- */

/* Where the pixels of a band lie in the strip. */
typedef struct walk {
    int64_t images, rows, columns; /* of the band */
    int64_t image, row, column;    /* floats from one to the next */
} walk;

HN_INLINE void tile(const float *panel, const float *strip, const int64_t *offset, const walk *w,
                    float *sums, int64_t pitch, int columns) {
    hn_vf acc[ROWS][COLUMNS];
    for (int r = 0; r < ROWS; r++)
        for (int k = 0; k < columns; k++) acc[r][k] = hn_v_load(sums + r * pitch + k * HN_VL);
    for (int64_t b = 0; b < w->images; b++)
        for (int64_t y = 0; y < w->rows; y++) {
            const float *x = strip + b * w->image + y * w->row;
            for (int64_t i = 0; i < w->columns; i++, x += w->column, panel += ROWS) {
                hn_vf v[COLUMNS];
                for (int k = 0; k < columns; k++) v[k] = hn_v_load(x + offset[k]);
                for (int r = 0; r < ROWS; r++) {
                    hn_vf d = hn_v_set1(panel[r]);
                    for (int k = 0; k < columns; k++) acc[r][k] = hn_v_fma(d, v[k], acc[r][k]);
                }
            }
        }
    for (int r = 0; r < ROWS; r++)
        for (int k = 0; k < columns; k++) hn_v_store(sums + r * pitch + k * HN_VL, acc[r][k]);
}

static void multiply(const cut *c, const hn_conv_grad_f32 *p, const band *at, const float *panels,
                     const float *strip, int64_t n_out, float *sums) {
    int64_t line = c->strip_columns * c->pitch, n = c->taps * c->vectors;
    walk w = {.images = at->b1 - at->b0,
              .rows = at->y1 - at->y0,
              .columns = at->x1 - at->x0,
              .image = c->strip_rows * line,
              .row = p->sh * line,
              .column = p->sw * c->pitch};
    int64_t pixels = w.images * w.rows * w.columns;
    for (int64_t o = 0; o < n_out; o += ROWS)
        for (int64_t k = 0; k < n; k += COLUMNS) {
            int64_t offset[COLUMNS] = {0};
            int columns = (int)hn_least(COLUMNS, n - k);
            for (int i = 0; i < columns; i++) {
                int64_t tap = (k + i) / c->vectors, v = (k + i) % c->vectors;
                int64_t ky = c->joined ? tap : tap / p->kw, kx = c->joined ? 0 : tap % p->kw;
                offset[i] = ky * p->dh * line + kx * p->dw * c->pitch + v * HN_VL;
            }
            float *to = sums + o * n * HN_VL + k * HN_VL;
            const float *panel = panels + o * pixels;
            if (columns == 3)
                tile(panel, strip, offset, &w, to, n * HN_VL, 3);
            else if (columns == 2)
                tile(panel, strip, offset, &w, to, n * HN_VL, 2);
            else
                tile(panel, strip, offset, &w, to, n * HN_VL, 1);
        }
}

/* ---- tasks ---- */

/* What a task is about: channels [i0, i0 + n_in) of x and [o0, o0 + n_out) of dy, in all groups. */
typedef struct part {
    int64_t i0, n_in, o0, n_out, in_group;
} part;

static part part_of(const cut *c, int64_t task) {
    int64_t in = task % c->blocks_in, out = task / c->blocks_in % c->blocks_out;
    int64_t group = task / c->blocks_in / c->blocks_out, width = c->pitch;
    part t = {.in_group = in * width,
              .n_in = hn_least(width, c->per - in * width),
              .n_out = hn_least(BLOCK, c->out - out * BLOCK)};
    t.i0 = group * c->per + t.in_group;
    t.o0 = group * c->out + out * BLOCK;
    return t;
}

static void add_bands(const hn_call *call, const cut *c, int64_t task, int64_t chunk, float *sums,
                      float *strip) {
    const hn_conv_grad_f32 *p = call->problem;
    float *panels = strip + strip_floats(c);
    part t = part_of(c, task);
    int64_t bands = c->across * c->down * c->along;
    memset(sums, 0, c->sums * sizeof *sums);
    for (int64_t i = bands * chunk / c->chunks; i < bands * (chunk + 1) / c->chunks; i++) {
        band at = band_at(p, c, i);
        int64_t pixels = (at.b1 - at.b0) * (at.y1 - at.y0) * (at.x1 - at.x0);
        fill_strip(p, c, &at, (const float *)call->ptr[HN_CONV_GRAD_X] + t.i0, t.n_in, strip);
        fill_panels(p, &at, (const float *)call->ptr[HN_CONV_GRAD_DY] + t.o0, t.n_out, pixels,
                    panels);
        multiply(c, p, &at, panels, strip, t.n_out, sums);
    }
}

static void write_out(const hn_call *call, const cut *c, int64_t task, const float *sums) {
    const hn_conv_grad_f32 *p = call->problem;
    part t = part_of(c, task);
    int64_t floats = c->vectors * HN_VL, taps = p->kh * p->kw;
    for (int64_t o = 0; o < t.n_out; o++)
        for (int64_t tap = 0; tap < taps; tap++) {
            const float *from = sums + (o * taps + tap) * floats;
            if (c->joined) from = sums + (o * p->kh + tap / p->kw) * floats + tap % p->kw * c->per;
            float *to = (float *)call->ptr[HN_CONV_GRAD_DW] + (t.o0 + o) * p->w_o +
                        t.in_group * p->w_i + tap / p->kw * p->w_y + tap % p->kw * p->w_x;
            for (int64_t i = 0; i < t.n_in; i++) to[i * p->w_i] = from[i];
        }
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    const hn_conv_grad_f32 *p = call->problem;
    cut c = cut_of(p);
    float *parts = call->scratch, *strip = lane;
    float *own = strip + strip_floats(&c) + panel_floats(&c);
    for (int64_t t = begin; t < end; t++) {
        if (phase == 1) {
            float *sum = parts + (size_t)(t * c.chunks) * c.sums;
            for (int64_t k = 1; k < c.chunks; k++)
                for (size_t i = 0; i < c.sums; i += HN_VL)
                    hn_v_store(sum + i, hn_v_add(hn_v_load(sum + i),
                                                 hn_v_load(sum + (size_t)k * c.sums + i)));
            write_out(call, &c, t, sum);
        } else if (c.chunks > 1) {
            add_bands(call, &c, t / c.chunks, t % c.chunks, parts + (size_t)t * c.sums, strip);
        } else {
            add_bands(call, &c, t, 0, own, strip);
            write_out(call, &c, t, own);
        }
    }
}

const hn_kernel HN_V_ROW(conv_grad_f32) = {
    .name = HN_V_NAME, .isa = HN_V_ISA, .order = HN_V_NAME, .work = work, .run = run};

/* ---- a group for each channel ----
 *
 * Vectors run along the channels, and a vector of sums for each tap stays in a register. A task is a
 * vector of channels in a chunk of the images. */

enum { DEPTH_TAPS = 9, DEPTH_CHUNKS = 8 };

static int64_t depth_chunks(const hn_conv_grad_f32 *p) { return hn_least(p->batch, DEPTH_CHUNKS); }

static bool depth_ok(const void *problem, const char **why) {
    const hn_conv_grad_f32 *p = problem;
    if (p->groups != p->c || p->n != p->c)
        return *why = "channels are not each by themselves", false;
    if (p->kh * p->kw > DEPTH_TAPS) return *why = "large windows", false;
    return true;
}

static size_t depth_strip(const hn_conv_grad_f32 *p) {
    int64_t columns = (p->ow - 1) * p->sw + (p->kw - 1) * p->dw + 1;
    return (size_t)(((p->oh - 1) * p->sh + (p->kh - 1) * p->dh + 1) * columns * HN_VL);
}

static void depth_work(const void *problem, int lanes, hn_work *w) {
    (void)lanes;
    const hn_conv_grad_f32 *p = problem;
    int64_t vectors = up(p->c, HN_VL), chunks = depth_chunks(p);
    *w = (hn_work){.n_phases = 2,
                   .tasks = {vectors * chunks, vectors, vectors, vectors},
                   .scratch = (size_t)(vectors * chunks * DEPTH_TAPS * HN_VL) * sizeof(float),
                   .lane_scratch = (depth_strip(p) + HN_VL) * sizeof(float)};
}

HN_INLINE void depth_image(const hn_conv_grad_f32 *p, const float *strip, const float *dy,
                           int64_t n, hn_vf *acc, int taps) {
    int64_t line = ((p->ow - 1) * p->sw + (p->kw - 1) * p->dw + 1) * HN_VL, offset[DEPTH_TAPS];
    hn_vf sum[DEPTH_TAPS];
    for (int k = 0; k < taps; k++) {
        offset[k] = k / p->kw * p->dh * line + k % p->kw * p->dw * HN_VL;
        sum[k] = acc[k];
    }
    for (int64_t y = 0; y < p->oh; y++) {
        const float *x = strip + y * p->sh * line, *d = dy + y * p->y_row;
        for (int64_t i = 0; i < p->ow; i++, x += p->sw * HN_VL, d += p->y_pixel) {
            hn_vf v = n >= HN_VL ? hn_v_load(d) : hn_v_load_n(d, n);
            for (int k = 0; k < taps; k++) sum[k] = hn_v_fma(v, hn_v_load(x + offset[k]), sum[k]);
        }
    }
    for (int k = 0; k < taps; k++) acc[k] = sum[k];
}

static void depth_sum(const hn_call *call, int64_t vector, int64_t chunk, float *sums,
                      float *strip) {
    const hn_conv_grad_f32 *p = call->problem;
    int64_t chunks = depth_chunks(p), n = hn_least(HN_VL, p->c - vector * HN_VL);
    int taps = (int)(p->kh * p->kw);
    cut c = {.vectors = 1,
             .pitch = HN_VL,
             .strip_rows = (p->oh - 1) * p->sh + (p->kh - 1) * p->dh + 1,
             .strip_columns = (p->ow - 1) * p->sw + (p->kw - 1) * p->dw + 1};
    hn_vf acc[DEPTH_TAPS];
    for (int k = 0; k < DEPTH_TAPS; k++) acc[k] = hn_v_set1(0.0f);
    for (int64_t b = p->batch * chunk / chunks; b < p->batch * (chunk + 1) / chunks; b++) {
        band at = {b, b + 1, 0, p->oh, 0, p->ow};
        fill_strip(p, &c, &at, (const float *)call->ptr[HN_CONV_GRAD_X] + vector * HN_VL, n, strip);
        const float *dy =
            (const float *)call->ptr[HN_CONV_GRAD_DY] + b * p->y_image + vector * HN_VL;
        if (taps == 9)
            depth_image(p, strip, dy, n, acc, 9);
        else
            depth_image(p, strip, dy, n, acc, taps);
    }
    for (int k = 0; k < taps; k++) hn_v_store(sums + k * HN_VL, acc[k]);
}

static void depth_run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    const hn_conv_grad_f32 *p = call->problem;
    int64_t chunks = depth_chunks(p), each = DEPTH_TAPS * HN_VL, taps = p->kh * p->kw;
    float *parts = call->scratch, *dw = call->ptr[HN_CONV_GRAD_DW];
    for (int64_t t = begin; t < end; t++) {
        if (phase == 0) {
            depth_sum(call, t / chunks, t % chunks, parts + t * each, lane);
            continue;
        }
        for (int64_t k = 0; k < taps; k++)
            for (int64_t i = 0; i < hn_least(HN_VL, p->c - t * HN_VL); i++) {
                float sum = 0;
                for (int64_t c = 0; c < chunks; c++)
                    sum += parts[(t * chunks + c) * each + k * HN_VL + i];
                dw[(t * HN_VL + i) * p->w_o + k / p->kw * p->w_y + k % p->kw * p->w_x] = sum;
            }
    }
}

const hn_kernel HN_V_ROW(conv_grad_f32_depth) = {.name = "depth_" HN_V_NAME,
                                                 .isa = HN_V_ISA,
                                                 .order = "depth " HN_V_NAME,
                                                 .ok = depth_ok,
                                                 .work = depth_work,
                                                 .run = depth_run};

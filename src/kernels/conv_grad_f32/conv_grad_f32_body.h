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
 * Windows of one pixel inside the image need neither: their numbers are read where they lie, but for
 * the last channels of dy, if they are fewer than ROWS, which still become a panel.
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
    BAND = 512,                /* pixels, */
    BAND_PLACE = 32 << 10,     /* or as many as are bytes to be read where they lie, */
    BAND_LEAST = 64,           /* but at least these */
    FEW_TASKS = 16,            /* from which on bands need not be shared out */
};

static int64_t up(int64_t a, int64_t b) { return (a + b - 1) / b; }

/* How a problem is cut. */
typedef struct cut {
    int64_t per, out;      /* channels of a group, of x and of dy */
    bool joined;           /* the taps of a row are one run */
    bool in_place;         /* x and dy are read where they lie */
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
    c.in_place = c.taps == 1 && p->pt == 0 && p->pl == 0 && (p->oh - 1) * p->sh < p->h &&
                 (p->ow - 1) * p->sw < p->w;
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
    int64_t pixels = p->oh * p->ow, band = BAND;
    if (c.in_place) {
        int64_t bytes = (hn_least(c.per, c.pitch) + hn_least(c.out, BLOCK)) * 4;
        band = hn_least(BAND, BAND_PLACE / bytes);
        if (band < BAND_LEAST) band = BAND_LEAST;
    }
    c.images = pixels >= band ? 1 : hn_least(p->batch, band / (pixels > 0 ? pixels : 1));
    c.columns = hn_least(p->ow, band);
    c.rows = c.columns < p->ow ? 1 : hn_least(p->oh, up(band, p->ow > 0 ? p->ow : 1));
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
    if (c->in_place) return 0;
    size_t floats = (size_t)(c->images * c->strip_rows * c->strip_columns * c->pitch);
    return (floats + (size_t)c->vectors * HN_VL + 15) / 16 * 16; /* a run may end behind the last */
}

static size_t panel_floats(const cut *c) {
    return (size_t)(c->images * c->rows * c->columns * (c->in_place ? ROWS : BLOCK));
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

/* Where the pixels of a band lie: floats from one to the next, in the strip or in x, and in a panel
 * or in dy. */
typedef struct walk {
    int64_t images, rows, columns; /* of the band */
    int64_t image, row, column;
    int64_t d_image, d_row, d_column;
    int64_t ahead,
        d_ahead; /* to what is fetched meanwhile: the next band, where it is read in place */
} walk;

/* Of the last vector only `last` lanes are read. */
HN_INLINE void tile(const float *dy, const float *x, const int64_t *offset, const walk *w,
                    float *sums, int64_t pitch, int columns, int64_t last) {
    hn_vf acc[ROWS][COLUMNS];
    for (int r = 0; r < ROWS; r++)
        for (int k = 0; k < columns; k++) acc[r][k] = hn_v_load(sums + r * pitch + k * HN_VL);
    for (int64_t b = 0; b < w->images; b++)
        for (int64_t y = 0; y < w->rows; y++) {
            const float *px = x + b * w->image + y * w->row;
            const float *pd = dy + b * w->d_image + y * w->d_row;
            for (int64_t i = 0; i < w->columns; i++, px += w->column, pd += w->d_column) {
                hn_vf v[COLUMNS];
                __builtin_prefetch(pd + w->d_ahead);
                for (int k = 0; k < columns; k++) __builtin_prefetch(px + offset[k] + w->ahead);
                for (int k = 0; k < columns; k++)
                    v[k] = hn_v_load_part(px + offset[k], k == columns - 1 ? last : HN_VL);
                for (int r = 0; r < ROWS; r++) {
                    hn_vf d = hn_v_set1(pd[r]);
                    for (int k = 0; k < columns; k++) acc[r][k] = hn_v_fma(d, v[k], acc[r][k]);
                }
            }
        }
    for (int r = 0; r < ROWS; r++)
        for (int k = 0; k < columns; k++) hn_v_store(sums + r * pitch + k * HN_VL, acc[r][k]);
}

typedef void tile_fn(const float *dy, const float *x, const int64_t *offset, const walk *w,
                     float *sums, int64_t pitch, int64_t last);
#define TILE(columns)                                                                     \
    static void tile_##columns(const float *dy, const float *x, const int64_t *offset,    \
                               const walk *w, float *sums, int64_t pitch, int64_t last) { \
        if (last == HN_VL)                                                                \
            tile(dy, x, offset, w, sums, pitch, columns, HN_VL);                          \
        else                                                                              \
            tile(dy, x, offset, w, sums, pitch, columns, last);                           \
    }
TILE(1)
TILE(2)
TILE(3)

/* ROWS channels of dy times all of the task's vectors; a band, where `strip` and dy point. */
static void multiply_rows(const cut *c, const hn_conv_grad_f32 *p, const walk *w, const float *dy,
                          const float *strip, int64_t n_in, float *sums) {
    static tile_fn *const tiles[] = {tile_1, tile_2, tile_3};
    int64_t line = c->strip_columns * c->pitch, n = c->taps * c->vectors, columns;
    for (int64_t k = 0; k < n; k += columns) {
        int64_t offset[COLUMNS] = {0}, last = HN_VL;
        columns = up(n - k, up(n - k, COLUMNS));
        for (int64_t i = 0; i < columns; i++) {
            int64_t tap = (k + i) / c->vectors, v = (k + i) % c->vectors;
            int64_t ky = c->joined ? tap : tap / p->kw, kx = c->joined ? 0 : tap % p->kw;
            offset[i] = ky * p->dh * line + kx * p->dw * c->pitch + v * HN_VL;
        }
        if (c->in_place && k + columns == n) last = n_in - (n - 1) * HN_VL;
        tiles[columns - 1](dy, strip, offset, w, sums + k * HN_VL, n * HN_VL, last);
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

/* A band by way of a strip and panels. */
static void add_copied(const hn_conv_grad_f32 *p, const cut *c, const part *t, const band *at,
                       const float *x, const float *dy, float *sums, float *strip) {
    float *panels = strip + strip_floats(c);
    int64_t line = c->strip_columns * c->pitch;
    walk w = {.images = at->b1 - at->b0,
              .rows = at->y1 - at->y0,
              .columns = at->x1 - at->x0,
              .image = c->strip_rows * line,
              .row = p->sh * line,
              .column = p->sw * c->pitch,
              .d_column = ROWS};
    w.d_row = w.columns * ROWS, w.d_image = w.rows * w.d_row;
    int64_t pixels = w.images * w.rows * w.columns;
    fill_strip(p, c, at, x, t->n_in, strip);
    fill_panels(p, at, dy, t->n_out, pixels, panels);
    for (int64_t o = 0; o < t->n_out; o += ROWS)
        multiply_rows(c, p, &w, panels + o * pixels, strip, t->n_in,
                      sums + o * c->taps * c->vectors * HN_VL);
}

static void add_in_place(const hn_conv_grad_f32 *p, const cut *c, const part *t, const band *at,
                         const float *x, const float *dy, float *sums, float *panel) {
    walk w = {.images = at->b1 - at->b0,
              .rows = at->y1 - at->y0,
              .columns = at->x1 - at->x0,
              .image = p->x_image,
              .row = p->sh * p->x_row,
              .column = p->sw * p->x_pixel,
              .d_image = p->y_image,
              .d_row = p->y_row,
              .d_column = p->y_pixel};
    bool along = c->columns < p->ow, down = c->rows < p->oh; /* where the next band lies */
    w.ahead = along ? c->columns * w.column : down ? c->rows * w.row : c->images * w.image;
    w.d_ahead = along ? c->columns * w.d_column : down ? c->rows * w.d_row : c->images * w.d_image;
    const float *px = x + at->b0 * p->x_image + at->y0 * w.row + at->x0 * w.column;
    const float *pd = dy + at->b0 * p->y_image + at->y0 * p->y_row + at->x0 * p->y_pixel;
    int64_t whole = t->n_out / ROWS * ROWS, each = c->vectors * HN_VL;
    for (int64_t o = 0; o < whole; o += ROWS)
        multiply_rows(c, p, &w, pd + o, px, t->n_in, sums + o * each);
    if (whole == t->n_out) return;
    fill_panels(p, at, dy + whole, t->n_out - whole, w.images * w.rows * w.columns, panel);
    w.d_column = ROWS, w.d_row = w.columns * ROWS, w.d_image = w.rows * w.d_row, w.d_ahead = 0;
    multiply_rows(c, p, &w, panel, px, t->n_in, sums + whole * each);
}

static void add_bands(const hn_call *call, const cut *c, int64_t task, int64_t chunk, float *sums,
                      float *strip) {
    const hn_conv_grad_f32 *p = call->problem;
    part t = part_of(c, task);
    int64_t bands = c->across * c->down * c->along;
    const float *x = (const float *)call->ptr[HN_CONV_GRAD_X] + t.i0;
    const float *dy = (const float *)call->ptr[HN_CONV_GRAD_DY] + t.o0;
    memset(sums, 0, c->sums * sizeof *sums);
    for (int64_t i = bands * chunk / c->chunks; i < bands * (chunk + 1) / c->chunks; i++) {
        band at = band_at(p, c, i);
        (c->in_place ? add_in_place : add_copied)(p, c, &t, &at, x, dy, sums, strip);
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
 * Vectors run along the channels. A task is a chunk of the rows of dy: for one after the other, each
 * vector of channels passes along the row with a sum for each tap in a register. So memory is read
 * as it lies, and the rows of x that the next row of dy needs as well are still in the cache. What
 * lies outside the image is read as zeros, from lane scratch above and below it.
 */

enum { DEPTH_TAPS = 9, DEPTH_CHUNKS = 16 };

static int64_t depth_chunks(const hn_conv_grad_f32 *p) {
    return hn_least(p->batch * p->oh, DEPTH_CHUNKS);
}

static bool depth_ok(const void *problem, const char **why) {
    const hn_conv_grad_f32 *p = problem;
    if (p->groups != p->c || p->n != p->c)
        return *why = "channels are not each by themselves", false;
    if (p->kh * p->kw > DEPTH_TAPS) return *why = "large windows", false;
    return true;
}

static size_t depth_zeros(const hn_conv_grad_f32 *p) {
    return (size_t)((p->w - 1) * p->x_pixel + p->c);
}

static void depth_work(const void *problem, int lanes, hn_work *w) {
    (void)lanes;
    const hn_conv_grad_f32 *p = problem;
    int64_t vectors = up(p->c, HN_VL), chunks = depth_chunks(p);
    *w = (hn_work){.n_phases = 2,
                   .tasks = {chunks, vectors, vectors, vectors},
                   .scratch = (size_t)(vectors * chunks * DEPTH_TAPS * HN_VL) * sizeof(float),
                   .lane_scratch = depth_zeros(p) * sizeof(float)};
}

/* Where a vector of channels passes along a row. */
typedef struct depth_pass {
    const float *x[DEPTH_TAPS]; /* by row of the window: its first pixel, or zeros */
    const float *dy;
    int64_t lo, hi; /* outputs whose window is inside the image, to the left and right */
    float *sums;
} depth_pass;

/* An output whose window may leave the image. */
HN_INLINE void depth_edge(const hn_conv_grad_f32 *p, const depth_pass *t, int64_t ox, hn_vf *sum,
                          int64_t width, int kh, int kw) {
    hn_vf d = hn_v_load_part(t->dy + ox * p->y_pixel, width);
    for (int kx = 0; kx < kw; kx++) {
        int64_t ix = ox * p->sw + kx * p->dw - p->pl;
        bool inside = ix >= 0 && ix < p->w;
        for (int ky = 0; ky < kh; ky++) {
            hn_vf v = hn_v_set1(0.0f);
            if (inside) v = hn_v_load_part(t->x[ky] + ix * p->x_pixel, width);
            sum[ky * kw + kx] = hn_v_fma(d, v, sum[ky * kw + kx]);
        }
    }
}

/* near: the next row of dy takes its window one row further down, and is fetched meanwhile. */
HN_INLINE void depth_row(const hn_conv_grad_f32 *p, const depth_pass *t, int64_t width, int kh,
                         int kw, bool near) {
    int64_t step = p->sw * p->x_pixel, tap = p->dw * p->x_pixel;
    hn_vf sum[DEPTH_TAPS];
    for (int k = 0; k < kh * kw; k++) sum[k] = hn_v_load(t->sums + k * HN_VL);
    for (int64_t ox = 0; ox < t->lo; ox++) depth_edge(p, t, ox, sum, width, kh, kw);
    const float *dy = t->dy + t->lo * p->y_pixel;
    int64_t at = t->lo * step - p->pl * p->x_pixel;
    for (int64_t ox = t->lo; ox < t->hi; ox++, dy += p->y_pixel, at += step) {
        hn_vf d = hn_v_load_part(dy, width);
        __builtin_prefetch(dy + p->y_row);
        for (int ky = 0; ky < kh; ky++)
            for (int kx = 0; kx < kw; kx++)
                sum[ky * kw + kx] =
                    hn_v_fma(d, hn_v_load_part(t->x[ky] + at + kx * tap, width), sum[ky * kw + kx]);
        const float *ahead = t->x[kh - 1] + at + p->sh * p->x_row;
        __builtin_prefetch(ahead);
        if (near) continue;
        __builtin_prefetch(ahead + p->x_pixel);
        __builtin_prefetch(ahead - p->x_row);
        __builtin_prefetch(ahead - p->x_row + p->x_pixel);
    }
    for (int64_t ox = t->hi; ox < p->ow; ox++) depth_edge(p, t, ox, sum, width, kh, kw);
    for (int k = 0; k < kh * kw; k++) hn_v_store(t->sums + k * HN_VL, sum[k]);
}

static void depth_sum(const hn_call *call, int64_t chunk, float *sums, float *zeros) {
    const hn_conv_grad_f32 *p = call->problem;
    const float *x = call->ptr[HN_CONV_GRAD_X], *dy = call->ptr[HN_CONV_GRAD_DY];
    int64_t chunks = depth_chunks(p), rows = p->batch * p->oh;
    int64_t last = p->w - 1 - (p->kw - 1) * p->dw + p->pl; /* place where the window still fits */
    depth_pass t = {.lo = hn_least(p->ow, up(p->pl, p->sw)),
                    .hi = last < 0 ? 0 : hn_least(p->ow, last / p->sw + 1)};
    if (t.hi < t.lo) t.hi = t.lo;
    bool three = p->kh == 3 && p->kw == 3;
    memset(sums, 0, (size_t)(up(p->c, HN_VL) * DEPTH_TAPS * HN_VL) * sizeof *sums);
    memset(zeros, 0, depth_zeros(p) * sizeof *zeros);
    for (int64_t r = rows * chunk / chunks; r < rows * (chunk + 1) / chunks; r++) {
        int64_t b = r / p->oh, oy = r % p->oh;
        for (int64_t ky = 0; ky < p->kh; ky++) {
            int64_t iy = oy * p->sh + ky * p->dh - p->pt;
            bool inside = iy >= 0 && iy < p->h;
            t.x[ky] = inside ? x + b * p->x_image + iy * p->x_row : zeros;
        }
        t.dy = dy + b * p->y_image + oy * p->y_row;
        t.sums = sums;
        for (int64_t i = 0; i < p->c; i += HN_VL) {
            int64_t width = hn_least(HN_VL, p->c - i);
            if (three && width == HN_VL && p->sh == 1 && p->sw == 1)
                depth_row(p, &t, HN_VL, 3, 3, true);
            else if (three && width == HN_VL)
                depth_row(p, &t, HN_VL, 3, 3, false);
            else
                depth_row(p, &t, width, (int)p->kh, (int)p->kw, true);
            for (int64_t ky = 0; ky < p->kh; ky++) t.x[ky] += HN_VL;
            t.dy += HN_VL;
            t.sums += DEPTH_TAPS * HN_VL;
        }
    }
}

static void depth_run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    const hn_conv_grad_f32 *p = call->problem;
    int64_t chunks = depth_chunks(p), each = DEPTH_TAPS * HN_VL, taps = p->kh * p->kw;
    int64_t vectors = up(p->c, HN_VL);
    float *parts = call->scratch, *dw = call->ptr[HN_CONV_GRAD_DW];
    for (int64_t t = begin; t < end; t++) {
        if (phase == 0) {
            depth_sum(call, t, parts + t * vectors * each, lane);
            continue;
        }
        for (int64_t k = 0; k < taps; k++)
            for (int64_t i = 0; i < hn_least(HN_VL, p->c - t * HN_VL); i++) {
                float sum = 0;
                for (int64_t c = 0; c < chunks; c++)
                    sum += parts[(c * vectors + t) * each + k * HN_VL + i];
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

/* 3x3 convolution of stride 1 by Winograd's F(OUT x OUT, 3x3), over the vector vocabulary and
 * tile_f32. OUT is 4, or 2 if the file that includes this one says so.
 *
 * An output tile of 4x4 pixels needs an input tile of 6x6. Both are values of polynomials at six
 * points, where a convolution is a product:
 *
 *     Y = At (sum over channels of (G g Gt) .* (Bt d B)) A        d 6x6 input, g 3x3 weights
 *
 * so that 36 products per channel give 16 outputs instead of 144. Over a block of tiles each of the
 * 36 spots is a product of matrices, [tiles][c] times [c][n]:
 *
 *     x --Bt.B--> V[36][tiles][c]  --times U[36][c][n]-->  M[36][tiles][n]  --At.A--> y
 *
 * V of a block and M of one panel of outputs live in lane scratch; bias, residual and activation
 * are applied when a tile of outputs is in registers. A task is a block times a group of panels.
 *
 * The points are 0, +-3/4, +-3/2 and infinity: all constants are exact in f32, and the error is
 * a third of what the usual 0, +-1, +-2 leave. Relative to the largest output it was measured as
 * 1.2e-6 for 64 channels, 2e-6 for 128, 3e-6 for 256, 5e-6 for 512 (normal data, with and without
 * Relu); it grows with the square root of the channels.
 *
 * An output tile of 2x2 pixels needs an input tile of 4x4, with the points 0, +-1 and infinity: 16
 * products per channel instead of 36, and 16 spots of U instead of 36 for the 9 taps. That serves
 * small images with many weights, see conv_f32_winograd.h.
 *
 * A value that is not finite spreads over its tile as NaN. A tile with such outputs is therefore
 * summed again, directly, with the plain weights that lie behind U: packed are
 * U[panel][SPOTS][c][columns of the panel], then [tap][c][n].
 */
#include <math.h>
#include <string.h>

#include "base/divide.h"
#include "base/least.h"
#include "kernels/act_simd.h"
#include "kernels/conv_f32/conv_f32.h"
#include "kernels/conv_f32/conv_f32_columns.h"
#include "kernels/conv_f32/conv_f32_winograd.h"
#include "kernels/tile_f32/tile_f32.h"

#ifndef OUT
#define OUT 4
#endif

enum {
    IN = OUT + 2,
    SPOTS = IN * IN,
    TAPS = 9,
};

typedef hn_winograd geometry;

static geometry measure(const hn_conv_f32 *p) {
    return hn_winograd_of(p, &HN_V_ROW(tiles_f32), OUT, HN_VL);
}

typedef struct lane_parts {
    float *v, *m, *zeros;
    float *stage;    /* rows of V that are to be interleaved */
    const float **a; /* the rows of a tile of tile_f32 */
    float **y;
} lane_parts;

static size_t divide(const geometry *g, char *base, lane_parts *l) {
    const hn_tiles_f32 *t = &HN_V_ROW(tiles_f32);
    size_t row = (size_t)g->pitch * sizeof(float), pointers = (size_t)t->rows * sizeof(float *);
    size_t v = (size_t)(SPOTS * g->rows) * row;
    size_t m = (size_t)(SPOTS * g->rows * t->width) * sizeof(float);
    size_t stage = t->interleaved ? (size_t)(SPOTS * t->rows) * row : 0;
    if (l != NULL) {
        l->v = (float *)base;
        l->m = (float *)(base + v);
        l->stage = (float *)(base + v + m);
        l->zeros = (float *)(base + v + m + stage);
        l->a = (const float **)(base + v + m + stage + row);
        l->y = (float **)(base + v + m + stage + row + pointers);
    }
    return v + m + stage + row + 2 * pointers;
}

static void work(const void *problem, int lanes, hn_work *w) {
    geometry g = measure(problem);
    int64_t groups = hn_least(g.panels.count, hn_ceil_over(lanes, g.blocks));
    *w = (hn_work){
        .n_phases = 1, .tasks = {g.blocks * groups}, .lane_scratch = divide(&g, NULL, NULL)};
}

#if OUT == 4
/* The points that are not infinity. */
#define NEAR 0.75f
#define FAR 1.5f
static const double points[] = {0, (double)NEAR, -(double)NEAR, (double)FAR, -(double)FAR};

/* Values times Bt. */
HN_INLINE void forward(const hn_vf d[IN], hn_vf v[IN]) {
    const hn_vf p = hn_v_set1(NEAR), q = hn_v_set1(FAR), p2 = hn_v_set1(NEAR * NEAR),
                q2 = hn_v_set1(FAR * FAR);
    const hn_vf product = hn_v_set1(NEAR * NEAR * FAR * FAR),
                sum = hn_v_set1(NEAR * NEAR + FAR * FAR);
    hn_vf even_p = hn_v_fnma(q2, d[2], d[4]), odd_p = hn_v_fnma(q2, d[1], d[3]);
    hn_vf even_q = hn_v_fnma(p2, d[2], d[4]), odd_q = hn_v_fnma(p2, d[1], d[3]);
    v[0] = hn_v_fma(product, d[0], hn_v_fnma(sum, d[2], d[4]));
    v[1] = hn_v_fma(p, odd_p, even_p);
    v[2] = hn_v_fnma(p, odd_p, even_p);
    v[3] = hn_v_fma(q, odd_q, even_q);
    v[4] = hn_v_fnma(q, odd_q, even_q);
    v[5] = hn_v_fma(product, d[1], hn_v_fnma(sum, d[3], d[5]));
}

/* Values times At. */
HN_INLINE void backward(const hn_vf m[IN], hn_vf y[OUT]) {
    const hn_vf p = hn_v_set1(NEAR), q = hn_v_set1(FAR), p2 = hn_v_set1(NEAR * NEAR),
                q2 = hn_v_set1(FAR * FAR);
    const hn_vf p3 = hn_v_set1(NEAR * NEAR * NEAR), q3 = hn_v_set1(FAR * FAR * FAR);
    hn_vf sum_p = hn_v_add(m[1], m[2]), diff_p = hn_v_sub(m[1], m[2]);
    hn_vf sum_q = hn_v_add(m[3], m[4]), diff_q = hn_v_sub(m[3], m[4]);
    y[0] = hn_v_add(hn_v_add(m[0], sum_p), sum_q);
    y[1] = hn_v_fma(q, diff_q, hn_v_mul(p, diff_p));
    y[2] = hn_v_fma(q2, sum_q, hn_v_mul(p2, sum_p));
    y[3] = hn_v_fma(q3, diff_q, hn_v_fma(p3, diff_p, m[5]));
}
#else
static const double points[] = {0, 1, -1};

HN_INLINE void forward(const hn_vf d[IN], hn_vf v[IN]) {
    v[0] = hn_v_sub(d[2], d[0]);
    v[1] = hn_v_add(d[2], d[1]);
    v[2] = hn_v_sub(d[2], d[1]);
    v[3] = hn_v_sub(d[3], d[1]);
}

HN_INLINE void backward(const hn_vf m[IN], hn_vf y[OUT]) {
    y[0] = hn_v_add(m[0], hn_v_add(m[1], m[2]));
    y[1] = hn_v_add(hn_v_sub(m[1], m[2]), m[3]);
}
#endif

/* Where tile i lies. */
typedef struct spot {
    int64_t image, y, x; /* of its first output */
} spot;

static spot spot_of(const geometry *g, int64_t i) {
    const int64_t x = hn_digit(&i, g->tx) * OUT, y = hn_digit(&i, g->ty) * OUT;
    return (spot){i, y, x};
}

/* One input tile into a row of each V; they lie `next` floats apart. */
static void transform_input(const hn_conv_f32 *p, const lane_parts *l, const float *x, spot s,
                            float *v, int64_t next) {
    const float *from[SPOTS];
    for (int64_t i = 0; i < IN; i++)
        for (int64_t j = 0; j < IN; j++) {
            int64_t iy = s.y + i - p->pt, ix = s.x + j - p->pl;
            bool inside = iy >= 0 && iy < p->h && ix >= 0 && ix < p->w;
            from[i * IN + j] = l->zeros;
            if (inside)
                from[i * IN + j] = x + s.image * p->x_image + iy * p->x_row + ix * p->x_pixel;
        }
    for (int64_t c = 0; c < p->c; c += HN_VL) {
        int64_t left = p->c - c;
        hn_vf half[SPOTS];
        for (int j = 0; j < IN; j++) {
            hn_vf d[IN], t[IN];
            for (int i = 0; i < IN; i++) {
                const float *at = from[i * IN + j] + c;
                d[i] = left >= HN_VL ? hn_v_load(at) : hn_v_load_n(at, left);
            }
            forward(d, t);
            for (int i = 0; i < IN; i++) half[i * IN + j] = t[i];
        }
        for (int i = 0; i < IN; i++) {
            hn_vf t[IN];
            forward(half + i * IN, t);
            for (int j = 0; j < IN; j++) hn_v_store(v + (i * IN + j) * next + c, t[j]);
        }
    }
}

/* How the tiles of a block are cut into those of tile_f32. */
typedef struct strip {
    int64_t first, n; /* tiles of the block */
    int64_t row;      /* where they lie in V and M */
} strip;

static int64_t strips_of(int64_t rows) {
    return (rows + HN_V_ROW(tiles_f32).rows - 1) / HN_V_ROW(tiles_f32).rows;
}

static strip strip_of(int64_t rows, int64_t i) {
    int64_t strips = strips_of(rows), first = hn_over(rows * i, strips);
    return (strip){first, hn_over(rows * (i + 1), strips) - first, i * HN_V_ROW(tiles_f32).rows};
}

/* The input tiles from `first` on, `rows` of them, into V. */
static void fill_v(const hn_conv_f32 *p, const geometry *g, const lane_parts *l, const float *x,
                   int64_t first, int64_t rows) {
    const hn_tiles_f32 *t = &HN_V_ROW(tiles_f32);
    for (int64_t k = 0; k < strips_of(rows); k++) {
        strip at = strip_of(rows, k);
        float *v = l->v + at.row * g->pitch, *to = t->interleaved ? l->stage : v;
        int64_t next = (t->interleaved ? t->rows : g->rows) * g->pitch;
        for (int64_t i = 0; i < at.n; i++)
            transform_input(p, l, x, spot_of(g, first + at.first + i), to + i * g->pitch, next);
        for (int64_t e = 0; e < SPOTS && t->interleaved; e++) {
            for (int64_t i = 0; i < at.n; i++) l->a[i] = l->stage + e * next + i * g->pitch;
            hn_tile_f32_interleave(l->a, (int)at.n, 1, p->c, v + e * g->rows * g->pitch);
        }
    }
}

/* M = V * U for one panel and `rows` tiles. */
static void multiply(const hn_conv_f32 *p, const geometry *g, const lane_parts *l, const float *u,
                     int64_t panel, int64_t rows) {
    const hn_tiles_f32 *t = &HN_V_ROW(tiles_f32);
    int64_t width = hn_panels_f32_width(&g->panels, panel);
    hn_tile_f32 args = {.a = l->a,
                        .runs = 1,
                        .len = p->c,
                        .y = l->y,
                        .n = hn_panels_f32_used(&g->panels, panel),
                        .lo = -INFINITY,
                        .hi = INFINITY,
                        .ahead_step = hn_over(width * 4, strips_of(rows))};
    for (int64_t e = 0; e < SPOTS; e++) {
        args.b = u + e * p->c * width;
        /* The weights of the next spot, some at each tile; those behind the last are the next
         * panel's, or at the very end the plain ones. */
        args.ahead = args.b + p->c * width;
        for (int64_t k = 0; k < strips_of(rows); k++) {
            strip at = strip_of(rows, k);
            int64_t row = e * g->rows + at.row;
            for (int64_t i = 0; i < at.n; i++) {
                l->a[i] = l->v + (row + i) * g->pitch; /* interleaved: only the first matters */
                l->y[i] = l->m + (row + i) * t->width;
            }
            t->fn[width == t->narrow][at.n - 1](&args);
            args.ahead = (const char *)args.ahead + p->c * args.ahead_step;
        }
    }
}

/* The sums of a tile, directly. */
static void sum_plainly(const hn_conv_f32 *p, const float *x, const float *w, spot s, int64_t n,
                        hn_vf out[OUT * OUT]) {
    int64_t columns = hn_least(HN_VL, p->n - n);
    for (int64_t k = 0; k < OUT * OUT; k++) {
        hn_vf sum = hn_v_set1(0.0f);
        for (int64_t tap = 0; tap < TAPS; tap++) {
            int64_t iy = s.y + k / OUT + tap / 3 - p->pt, ix = s.x + k % OUT + tap % 3 - p->pl;
            if (iy < 0 || iy >= p->h || ix < 0 || ix >= p->w) continue;
            const float *px = x + s.image * p->x_image + iy * p->x_row + ix * p->x_pixel;
            for (int64_t c = 0; c < p->c; c++)
                sum = hn_v_fma(hn_v_set1(px[c]),
                               hn_v_load_n(w + (tap * p->c + c) * p->n + n, columns), sum);
        }
        out[k] = sum;
    }
}

typedef struct finish {
    const hn_conv_f32 *p;
    const float *bias, *r;
    float *y;
} finish;

/* The outputs of a tile for channels [n, n + HN_VL). */
HN_INLINE void store_as(const finish *f, spot s, int64_t n, const hn_vf out[OUT * OUT],
                        hn_act_kind kind) {
    const hn_conv_f32 *p = f->p;
    int64_t columns = p->n - n;
    bool full = columns >= HN_VL;
    hn_vf a = hn_v_set1(p->act.a), b = hn_v_set1(p->act.b), bias = hn_v_set1(0.0f);
    if (f->bias != NULL) bias = full ? hn_v_load(f->bias + n) : hn_v_load_n(f->bias + n, columns);
    int64_t rows = hn_least(OUT, p->oh - s.y), cols = hn_least(OUT, p->ow - s.x);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++) {
            hn_vf v = hn_v_add(out[i * OUT + j], bias);
            if (f->r != NULL) {
                const float *r =
                    f->r + s.image * p->r_image + (s.y + i) * p->r_row + (s.x + j) * p->r_pixel + n;
                v = hn_v_add(v, full ? hn_v_load(r) : hn_v_load_n(r, columns));
            }
            v = hn_v_act(v, kind, a, b);
            float *y =
                f->y + s.image * p->y_image + (s.y + i) * p->y_row + (s.x + j) * p->y_pixel + n;
            if (full)
                hn_v_store(y, v);
            else
                hn_v_store_n(y, v, columns);
        }
}

static void store(const finish *f, spot s, int64_t n, const hn_vf out[OUT * OUT]) {
    switch (f->p->act.kind) {
#define HN_X(name, formula) \
    case HN_ACT_##name: store_as(f, s, n, out, HN_ACT_##name); break;
        HN_ACT_LIST(HN_X)
#undef HN_X
        case HN_ACT_COUNT_: break;
    }
}

/* Row `row` of each M into one output tile. */
static void transform_output(const finish *f, const geometry *g, const lane_parts *l,
                             const float *x, const float *plain, spot s, int64_t row,
                             int64_t panel) {
    const hn_tiles_f32 *t = &HN_V_ROW(tiles_f32);
    const hn_conv_f32 *p = f->p;
    int64_t first = hn_panels_f32_column(&g->panels, panel);
    int64_t columns = hn_panels_f32_used(&g->panels, panel);
    for (int64_t n = 0; n < columns; n += HN_VL) {
        const float *m = l->m + row * t->width + n;
        int64_t left = columns - n;
        hn_vf half[OUT * IN], out[OUT * OUT];
        for (int j = 0; j < IN; j++) {
            hn_vf d[IN], y[OUT];
            for (int i = 0; i < IN; i++) {
                const float *at = m + (i * IN + j) * g->rows * t->width;
                d[i] = left >= HN_VL ? hn_v_load(at) : hn_v_load_n(at, left);
            }
            backward(d, y);
            for (int i = 0; i < OUT; i++) half[i * IN + j] = y[i];
        }
        for (int i = 0; i < OUT; i++) backward(half + i * IN, out + i * OUT);
        /* Each of the values of M is part of a corner. */
        hn_vf corners = hn_v_add(hn_v_add(out[0], out[OUT - 1]),
                                 hn_v_add(out[OUT * OUT - OUT], out[OUT * OUT - 1]));
        if (hn_vm_any(hn_v_isnan(hn_v_mul(corners, hn_v_set1(0.0f)))))
            sum_plainly(p, x, plain, s, first + n, out);
        store(f, s, first + n, out);
    }
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase;
    const hn_conv_f32 *p = call->problem;
    const float *x = call->ptr[HN_CONV_X], *u = call->ptr[HN_CONV_W];
    const geometry g = measure(p);
    const float *plain = u + SPOTS * p->c * hn_panels_f32_column(&g.panels, g.panels.count);
    const finish f = {p, call->ptr[HN_CONV_BIAS], call->ptr[HN_CONV_R], call->ptr[HN_CONV_Y]};
    int64_t groups = hn_over(call->work->tasks[0], g.blocks), in_scratch = -1;
    lane_parts l;
    divide(&g, lane, &l);
    memset(l.zeros, 0, (size_t)g.pitch * sizeof(float));
    for (int64_t i = begin; i < end; i++) {
        int64_t block = i, group = hn_digit(&block, groups);
        int64_t first = hn_over(g.tiles * block, g.blocks);
        int64_t rows = hn_over(g.tiles * (block + 1), g.blocks) - first;
        if (block != in_scratch) fill_v(p, &g, &l, x, first, rows);
        in_scratch = block;
        int64_t last = hn_over(g.panels.count * (group + 1), groups);
        for (int64_t panel = hn_over(g.panels.count * group, groups); panel < last; panel++) {
            const float *of = u + hn_panels_f32_column(&g.panels, panel) * SPOTS * p->c;
            multiply(p, &g, &l, of, panel, rows);
            for (int64_t k = 0; k < strips_of(rows); k++) {
                strip at = strip_of(rows, k);
                for (int64_t j = 0; j < at.n; j++)
                    transform_output(&f, &g, &l, x, plain, spot_of(&g, first + at.first + j),
                                     at.row + j, panel);
            }
        }
    }
}

static size_t packed_bytes(const void *problem) {
    const hn_conv_f32 *p = problem;
    const hn_panels_f32 panels = hn_panels_f32_of(&HN_V_ROW(tiles_f32), p->n);
    int64_t columns = hn_panels_f32_column(&panels, panels.count);
    return (size_t)(p->c * (SPOTS * columns + TAPS * p->n)) * sizeof(float);
}

static uint64_t pack_key(const void *problem) {
    const hn_conv_f32 *p = problem;
    const int64_t of[] = {OUT, p->c, p->n, p->w_o, p->w_i, p->w_y, p->w_x};
    return hn_pack_hash(of, sizeof of / sizeof *of);
}

/* The powers of each point, divided by its distances to the others. */
static void fill_g(double g[IN][3]) {
    for (int i = 0; i < IN - 1; i++) {
        double distance = 1;
        for (int j = 0; j < IN - 1; j++) distance *= j == i ? 1 : points[i] - points[j];
        g[i][0] = 1 / distance, g[i][1] = points[i] / distance;
        g[i][2] = points[i] * points[i] / distance;
    }
    g[IN - 1][0] = g[IN - 1][1] = 0, g[IN - 1][2] = 1; /* infinity */
}

static int64_t pack_tasks(const void *problem) {
    const hn_conv_f32 *p = problem;
    return hn_panels_f32_of(&HN_V_ROW(tiles_f32), p->n).count;
}

/* y = g[0] * a + g[1] * b + g[2] * c, lane by lane. */
HN_INLINE void combine(const double g[3], const double *a, const double *b, const double *c,
                       double *y) {
    for (int j = 0; j < HN_VL; j++) y[j] = g[0] * a[j] + g[1] * b[j] + g[2] * c[j];
}

/* A channel. Spots of u and taps of the plain weights lie so many floats apart. */
static void pack_channel(const double g[IN][3], const hn_columns *k, int64_t channel, float *u,
                         int64_t u_next, float *plain, int64_t plain_next) {
    double tap_of[TAPS][HN_VL], half[3][HN_VL], value[HN_VL];
    float rounded[HN_VL];
    for (int64_t tap = 0; tap < TAPS; tap++) {
        hn_vf v = hn_column(k, channel, tap);
        hn_v_store_part(plain + tap * plain_next, v, k->n);
        hn_v_store(rounded, v);
        for (int j = 0; j < HN_VL; j++) tap_of[tap][j] = (double)rounded[j];
    }
    for (int i = 0; i < IN; i++) {
        for (int j = 0; j < 3; j++) combine(g[i], tap_of[j], tap_of[3 + j], tap_of[6 + j], half[j]);
        for (int j = 0; j < IN; j++) {
            combine(g[j], half[0], half[1], half[2], value);
            for (int q = 0; q < HN_VL; q++) rounded[q] = (float)value[q];
            hn_v_store(u + (i * IN + j) * u_next, hn_v_load_n(rounded, k->n));
        }
    }
}

static void pack(const void *problem, const hn_stored *source, int64_t begin, int64_t end,
                 void *dst) {
    const hn_conv_f32 *p = problem;
    const hn_panels_f32 panels = hn_panels_f32_of(&HN_V_ROW(tiles_f32), p->n);
    float *plain = (float *)dst + SPOTS * p->c * hn_panels_f32_column(&panels, panels.count);
    int64_t most = hn_columns_channels(p);
    hn_columns_room room;
    double g[IN][3];
    fill_g(g);
    for (int64_t panel = begin; panel < end; panel++) {
        int64_t width = hn_panels_f32_width(&panels, panel);
        int64_t first = hn_panels_f32_column(&panels, panel);
        int64_t used = hn_panels_f32_used(&panels, panel);
        float *to = (float *)dst + first * SPOTS * p->c;
        for (int64_t n = 0; n < width; n += HN_VL)
            for (int64_t c = 0; c < p->c; c += most) {
                int64_t some = hn_least(most, p->c - c), outputs = hn_least(HN_VL, used - n);
                if (outputs <= 0) { /* of a panel that is not full */
                    for (int64_t i = 0; i < SPOTS * some; i++)
                        hn_v_store(to + (i / some * p->c + c + i % some) * width + n,
                                   hn_v_set1(0.0f));
                    continue;
                }
                hn_columns k = hn_columns_of(p, source->data, first + n, outputs, c, some, room);
                for (int64_t i = 0; i < some; i++)
                    pack_channel(g, &k, i, to + (c + i) * width + n, p->c * width,
                                 plain + (c + i) * p->n + first + n, p->c * p->n);
            }
    }
}

static bool ok(const void *problem, const char **why) {
    return hn_winograd_ok(problem, &HN_V_ROW(tiles_f32), OUT, why);
}

/* The row `stem`, of the order `sums`. */
#define ROW(stem, ending, sums, accepts, worth) \
    const hn_kernel HN_V_ROW(stem) = {          \
        .name = HN_V_NAME ending,               \
        .isa = HN_V_ISA,                        \
        .order = sums,                          \
        .ok = accepts,                          \
        .work = work,                           \
        .run = run,                             \
        .packed_bytes = packed_bytes,           \
        .pack_key = pack_key,                   \
        .pack_tasks = pack_tasks,               \
        .pack_worth = worth,                    \
        .pack = pack,                           \
    }

#if OUT == 4
ROW(conv_f32_winograd, "_winograd", "winograd 4x4, fma", ok, 64);
#else
ROW(conv_f32_winograd_2x2, "_winograd_2x2", "winograd 2x2, fma", ok, 64);
#endif

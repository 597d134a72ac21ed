/* conv_planes_f32 over the vector vocabulary: vectors run along output rows.
 *
 * A tile is some outputs (a block) by some vectors, all summed in registers: for each product of
 * the sum one vector of x is loaded per vector of the tile, and multiplied by one weight per
 * output.
 *
 *                     x, at tap k       |. . . . . . . .|. . . . . . . .|
 *   weights of tap k  o 0 ->  sums      |. . . . . . . .|. . . . . . . .|
 *                     o 1 ->            |. . . . . . . .|. . . . . . . .|
 *
 * A task is a patch: some output rows by some columns, for one group of one image. Its part of x is
 * first copied into lane scratch, with zeros for the padding, so that a tap is a fixed distance
 * from where a vector begins, and the last vector of a row may read beyond it. With a stride, the
 * columns that one tap reads are put side by side:
 *
 *   stride 2, 3 taps    x        a b c d e f g ...      tap 0 reads a c e .., tap 1 b d f ..
 *                       scratch  a c e g ..             tap 2 c e g ..
 *                                b d f ..
 *
 * Where no window leaves the image and there is no stride, vectors are loaded from x itself, and
 * a 1x1 window goes over the plane as over one row. There, and in y, the last vector of a row
 * begins earlier and computes some outputs again: they are the same bits.
 *
 * Weights are packed [group][block][i][ky][kx][outputs of the block]. A sum runs through them in
 * order, from the bias.
 */
#include <math.h>
#include <string.h>

#include "base/cpu.h"
#include "base/least.h"
#include "kernels/act_simd.h"
#include "kernels/conv_planes_f32/conv_planes_f32.h"

#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 32")
#endif

/* 32 vector registers, or 16. */
#if HN_VL == 16 || defined(__aarch64__)
#define MANY_REGISTERS 1
#else
#define MANY_REGISTERS 0
#endif

enum {
    BLOCK = MANY_REGISTERS ? 8 : 4, /* outputs of a tile, at most */
    VECTORS = 8,                    /* of a tile, at most */
    SUMS = MANY_REGISTERS ? 24 : 12,
    TALL = MANY_REGISTERS ? 8 : 4, /* rows of a column */
    PATCH = 256 << 10,             /* bytes of x that a patch has, about: they stay in L2 */
    SHARES = 8,       /* patches that there are at least, where each has something to do */
    MANY_PLANES = 64, /* more than the first table of pages holds */
    LEAST_PATCH = 64, /* vectors of a patch for that */
};

/* How far apart the columns are, in scratch, that neighbouring outputs read: slots of columns that
 * a tap reads. */
typedef struct geometry {
    hn_conv_planes_f32 p;            /* as it is computed: a 1x1 window over one row */
    int64_t c, n, k;                 /* of a group */
    bool direct;                     /* from x itself */
    int64_t rows, patch_rows;        /* output rows of a patch; patches of an image */
    int64_t columns, patch_columns;  /* output columns of a patch, of the last one up to twice as
                                        many; patches of a row */
    int64_t slots, slot, row, plane; /* in scratch: slots of a row; floats of a slot, a row, a
                                        plane */
} geometry;

static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

static int64_t divisor(int64_t a, int64_t b) {
    while (b != 0) {
        int64_t rest = a % b;
        a = b, b = rest;
    }
    return a;
}

/* A 1x1 window that goes over adjacent rows goes over one. */
static void join_rows(hn_conv_planes_f32 *p) {
    if (p->kh != 1 || p->kw != 1 || p->sh != 1 || p->sw != 1 || p->pt != 0 || p->pl != 0) return;
    if (p->oh != p->h || p->ow != p->w || p->x_row != p->w || p->y_row != p->ow * p->y_pixel)
        return;
    p->w *= p->h, p->ow = p->w;
    p->h = p->oh = 1;
}

/* Whether every vector of every row lies in x; and not in too many pages, if it is read again. */
static bool is_direct(const hn_conv_planes_f32 *p) {
    if (p->c / p->groups > MANY_PLANES && p->n / p->groups > BLOCK) return false;
    return p->sw == 1 && p->pt == 0 && p->pl == 0 && p->ow >= HN_VL &&
           (p->oh - 1) * p->sh + (p->kh - 1) * p->dh < p->h &&
           p->ow - 1 + (p->kw - 1) * p->dw < p->w;
}

static geometry measure(const hn_conv_planes_f32 *problem) {
    geometry g = {.p = *problem};
    hn_conv_planes_f32 *p = &g.p;
    join_rows(p);
    g.c = p->c / p->groups, g.n = p->n / p->groups;
    g.k = g.c * p->kh * p->kw;
    g.direct = is_direct(p);
    g.slots = hn_least(p->kw, p->sw / divisor(p->sw, p->dw));
    int64_t window = (p->kh - 1) * p->dh + 1, reach = (p->kw - 1) * p->dw / p->sw;
    /* Of one row of outputs as many columns as are enough, then as many rows. */
    int64_t others = hn_least(p->batch * p->groups, SHARES);
    int64_t patch = hn_of_l2(PATCH), per_column = g.c * window * g.slots * 4 + 1;
    g.columns = most(patch / per_column / HN_VL, 4) * HN_VL;
    int64_t shared = ceil_div(ceil_div(p->ow, SHARES / others), HN_VL) * HN_VL;
    if (p->oh == 1) g.columns = hn_least(g.columns, most(shared, LEAST_PATCH * HN_VL));
    g.patch_columns = most(p->ow / g.columns, 1);
    g.columns = p->ow / g.patch_columns;
    int64_t wide = p->ow - (g.patch_columns - 1) * g.columns;
    g.slot = ceil_div(wide, HN_VL) * HN_VL + reach;
    g.row = g.slots * g.slot;
    int64_t inputs = patch / (g.c * g.row * 4 + 1);
    g.rows = most(inputs > window ? (inputs - window) / p->sh + 1 : 1, hn_least(window, 4));
    int64_t enough = LEAST_PATCH / ceil_div(wide, HN_VL) + 1;
    g.rows = hn_least(g.rows, most(ceil_div(p->oh, SHARES / others), enough));
    g.patch_rows = ceil_div(p->oh, g.rows);
    g.rows = ceil_div(p->oh, g.patch_rows);
    g.patch_rows = ceil_div(p->oh, g.rows);
    g.plane = ((g.rows - 1) * p->sh + window) * g.row;
    return g;
}

/* From a row of x to the next, where tiles read it. */
static int64_t row_of(const geometry *g) { return g->direct ? g->p.x_row : g->row; }

/* Windows that reach so far that what a patch reads of x is no small part of memory are declined.
 */
static bool ok(const void *problem, const char **why) {
    const hn_conv_planes_f32 *p = problem;
    const int64_t far = 1 << 10, large = 1 << 24;
    bool fits = p->kh <= far && p->kw <= far && p->dh <= far && p->dw <= far &&
                (p->kh - 1) * p->dh <= far && (p->kw - 1) * p->dw <= far &&
                (p->kh * p->dh) * (p->kw * p->dw + 4 * HN_VL) <= large / (p->c / p->groups + 1);
    return fits || (*why = "a window that reaches far", false);
}

static int64_t patch_floats(const geometry *g) { return g->direct ? 0 : g->c * g->plane; }

static void work(const void *problem, int lanes, hn_work *w) {
    geometry g = measure(problem);
    (void)lanes;
    *w = (hn_work){
        .n_phases = 1,
        .tasks = {g.p.batch * g.p.groups * g.patch_rows * g.patch_columns},
        .lane_scratch = (size_t)g.k * sizeof(int64_t) + (size_t)patch_floats(&g) * sizeof(float)};
}

/* ---- the patch ------------------------------------------------------------------------------ */

/* Where a product's x lies, from where a vector begins. */
static void fill_offsets(const geometry *g, int64_t *offset) {
    const hn_conv_planes_f32 *p = &g->p;
    for (int64_t i = 0; i < g->c; i++)
        for (int64_t ky = 0; ky < p->kh; ky++)
            for (int64_t kx = 0; kx < p->kw; kx++) {
                int64_t column = kx % g->slots * g->slot + kx * p->dw / p->sw;
                *offset++ = g->direct ? i * p->x_channel + ky * p->dh * p->x_row + kx * p->dw
                                      : i * g->plane + ky * p->dh * g->row + column;
            }
}

/* Of two vectors in a row, a and b: every second lane; and for a vector of y and one of x, the
 * lanes that put the lower or the upper half of x into every second lane of y. */
#define HALF (HN_VL + HN_VL / 2)
static const int32_t even_lanes[] = {0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30};
static const int32_t low_lanes[] = {HN_VL,     1, HN_VL + 1, 3,  HN_VL + 2, 5,  HN_VL + 3, 7,
                                    HN_VL + 4, 9, HN_VL + 5, 11, HN_VL + 6, 13, HN_VL + 7, 15};
static const int32_t high_lanes[] = {HALF,     1, HALF + 1, 3,  HALF + 2, 5,  HALF + 3, 7,
                                     HALF + 4, 9, HALF + 5, 11, HALF + 6, 13, HALF + 7, 15};

/* Every second of the floats from x on, of which there are as many as it takes: n <= HN_VL. */
HN_INLINE void pick_part(const float *x, hn_vi even, float *to, int64_t n) {
    int64_t all = 2 * n - 1, low = hn_least(all, HN_VL);
    hn_vf a = hn_v_load_part(x, low), b = hn_v_load_part(x + low, all - low);
    hn_v_store_part(to, hn_v_pick(a, b, even), n);
}

/* Every stride-th float. */
static void pick_columns(const float *x, int64_t stride, float *to, int64_t n) {
    int64_t j = 0;
    if (stride == 2) {
        hn_vi even = hn_vi_load(even_lanes);
        for (; j + HN_VL < n; j += HN_VL) {
            hn_vf a = hn_v_load(x + 2 * j), b = hn_v_load(x + 2 * j + HN_VL);
            hn_v_store(to + j, hn_v_pick(a, b, even));
        }
        pick_part(x + 2 * j, even, to + j, n - j);
        return;
    }
    for (; j < n; j++) to[j] = x[j * stride];
}

static void copy_columns(const float *x, int64_t stride, float *to, int64_t n) {
    if (stride != 1) {
        pick_columns(x, stride, to, n);
        return;
    }
    if (n < HN_VL) {
        hn_v_store_n(to, hn_v_load_n(x, n), n);
        return;
    }
    for (int64_t j = 0; j + HN_VL < n; j += HN_VL) hn_v_store(to + j, hn_v_load(x + j));
    hn_v_store(to + n - HN_VL, hn_v_load(x + n - HN_VL));
}

static void fill_zeros(const geometry *g, float *slot) {
    memset(slot, 0, (size_t)g->slot * sizeof(float));
}

/* What the outputs from (oy, ox) on read, of `rows` rows, into scratch that holds zeros where there
 * are columns of padding, and rows if `rows_too`. */
static void copy_patch(const geometry *g, const float *x, int64_t oy, int64_t ox, int64_t rows,
                       bool rows_too, float *to) {
    const hn_conv_planes_f32 *p = &g->p;
    int64_t inputs = (rows - 1) * p->sh + (p->kh - 1) * p->dh + 1, top = oy * p->sh - p->pt;
    for (int64_t s = 0; s < g->slots; s++, to += g->slot) {
        int64_t first = ox * p->sw - p->pl + s * p->dw % p->sw; /* column of x, perhaps outside */
        int64_t begin = first < 0 ? ceil_div(-first, p->sw) : 0;
        int64_t end = first < p->w ? hn_least(ceil_div(p->w - first, p->sw), g->slot) : 0;
        int64_t above = hn_least(most(-top, 0), inputs),
                below = most(hn_least(p->h - top, inputs), above);
        for (int64_t i = 0; i < g->c; i++) {
            float *rows_of = to + i * g->plane;
            if (!rows_too) {
                for (int64_t r = 0; r < above; r++) fill_zeros(g, rows_of + r * g->row);
                for (int64_t r = below; r < inputs; r++) fill_zeros(g, rows_of + r * g->row);
            }
            const float *from = x + i * p->x_channel + (top + above) * p->x_row + first;
            for (int64_t r = above; r < below && begin < end; r++, from += p->x_row)
                copy_columns(from + begin * p->sw, p->sw, rows_of + r * g->row + begin,
                             end - begin);
        }
    }
}

/* ---- tiles ---------------------------------------------------------------------------------- */

typedef struct tile {
    const float *const *x; /* where each vector begins */
    float *const *y;       /* of the first output of the group */
    int64_t o;             /* the first output of the block */
    int64_t lanes;         /* of a vector, to store */
    bool plain;            /* all of them, side by side, between limits */
    const float *w, *bias; /* of the block */
    float lo, hi;
} tile;

/* Not inlined: what activations compute is long, and most are limits. */
static __attribute__((noinline)) hn_vf activate(const hn_act *act, hn_vf x) {
    hn_vf a = hn_v_set1(act->a), b = hn_v_set1(act->b);
    switch (act->kind) {
#define HN_X(name, formula) \
    case HN_ACT_##name: return hn_v_act(x, HN_ACT_##name, a, b);
        HN_ACT_LIST(HN_X)
#undef HN_X
        case HN_ACT_COUNT_: break;
    }
    return x;
}

/* The first lanes of x into every second float of y; those between stay. */
static void store_second(float *y, hn_vf x, int64_t lanes) {
    int64_t all = 2 * lanes - 1, first = hn_least(all, HN_VL), rest = all - first;
    hn_v_store_part(y, hn_v_pick(hn_v_load_part(y, first), x, hn_vi_load(low_lanes)), first);
    y += HN_VL;
    if (rest > 0) hn_v_store_n(y, hn_v_pick(hn_v_load_n(y, rest), x, hn_vi_load(high_lanes)), rest);
}

/* The first lanes of x, which is within the limits, as y is stored. */
static __attribute__((noinline)) void store_part(const hn_conv_planes_f32 *p, float *y, hn_vf x,
                                                 int64_t lanes) {
    if (p->act.kind != HN_ACT_NONE && p->act.kind != HN_ACT_CLIP) x = activate(&p->act, x);
    if (p->y_pixel == 1) {
        hn_v_store_part(y, x, lanes);
        return;
    }
    if (p->y_pixel == 2) {
        store_second(y, x, lanes);
        return;
    }
    float apart[HN_VL];
    hn_v_store(apart, x);
    for (int64_t i = 0; i < lanes; i++) y[i * p->y_pixel] = apart[i];
}

HN_INLINE void store(const hn_conv_planes_f32 *p, const tile *t, float *y, hn_vf x) {
    x = hn_v_min(hn_v_set1(t->hi), hn_v_max(hn_v_set1(t->lo), x));
    if (t->plain)
        hn_v_store(y, x);
    else
        store_part(p, y, x, t->lanes);
}

HN_INLINE void compute(const geometry *g, const tile *t, const int64_t *offset, int n,
                       int vectors) {
    hn_vf sum[SUMS], x[VECTORS];
    UNROLL for (int o = 0; o < n; o++) {
        hn_vf bias = hn_v_set1(t->bias != NULL ? t->bias[o] : 0.0f);
        UNROLL for (int v = 0; v < vectors; v++) sum[o * vectors + v] = bias;
    }
    const float *w = t->w;
    for (int64_t k = 0; k < g->k; k++, w += n) {
        int64_t at = offset[k];
        UNROLL for (int v = 0; v < vectors; v++) x[v] = hn_v_load(t->x[v] + at);
        UNROLL for (int o = 0; o < n; o++) {
            hn_vf one = hn_v_set1(w[o]);
            UNROLL for (int v = 0; v < vectors; v++) sum[o * vectors + v] =
                hn_v_fma(x[v], one, sum[o * vectors + v]);
        }
    }
    UNROLL for (int o = 0; o < n; o++) UNROLL for (int v = 0; v < vectors; v++) {
        float *y = t->y[v] + (t->o + o) * g->p.y_channel;
        store(&g->p, t, y, sum[o * vectors + v]);
    }
}

typedef void tile_fn(const geometry *g, const tile *t, const int64_t *offset);

#define TILE(n, vectors)                                                                        \
    static void tile_##n##_##vectors(const geometry *g, const tile *t, const int64_t *offset) { \
        compute(g, t, offset, n, vectors);                                                      \
    }
#define TILES_FEW(X) \
    X(4, 3)          \
    X(4, 2) X(4, 1) X(3, 4) X(3, 2) X(3, 1) X(2, 4) X(2, 2) X(2, 1) X(1, 8) X(1, 4) X(1, 2) X(1, 1)
#if MANY_REGISTERS
#define TILES(X) X(8, 3) X(8, 2) X(8, 1) X(4, 6) X(3, 6) X(2, 8) TILES_FEW(X)
#else
#define TILES(X) TILES_FEW(X)
#endif
TILES(TILE)

/* By outputs and vectors; NULL: there is none. */
static tile_fn *const tiles[BLOCK + 1][VECTORS + 1] = {
#define ENTRY(n, vectors) [n][vectors] = tile_##n##_##vectors,
    TILES(ENTRY)
#undef ENTRY
};

/* The outputs of the next block, of that many left. */
static int block_of(int64_t left) { return left >= BLOCK ? BLOCK : left >= 4 ? 4 : (int)left; }

/* The vectors of the tallest tile of n outputs, of that many left. */
static int height_of(int n, int64_t left) {
    int v = left < VECTORS ? (int)left : VECTORS;
    while (tiles[n][v] == NULL) v--;
    return v;
}

/* ---- columns -------------------------------------------------------------------------------- */

/* A vector of each of TALL rows below each other, of the only output of a group, where the window
 * goes down row by row: a vector of x, once loaded, goes into every row whose window it is in. kh
 * is a constant. */
HN_INLINE void compute_column(const geometry *g, const tile *t, const int64_t *offset, int kh) {
    const hn_conv_planes_f32 *p = &g->p;
    hn_vf sum[TALL];
    hn_vf bias = hn_v_set1(t->bias != NULL ? t->bias[0] : 0.0f);
    int64_t x_row = row_of(g), y_row = p->y_row, kw = p->kw;
    UNROLL for (int r = 0; r < TALL; r++) sum[r] = bias;
    for (int64_t i = 0; i < g->c; i++)
        for (int64_t kx = 0; kx < kw; kx++) {
            const float *x = t->x[0] + offset[i * kh * kw + kx], *w = t->w + i * kh * kw + kx;
            hn_vf weight[7], row[TALL + 6];
            UNROLL for (int ky = 0; ky < kh; ky++) weight[ky] = hn_v_set1(w[ky * kw]);
            UNROLL for (int r = 0; r < TALL + kh - 1; r++) row[r] = hn_v_load(x + r * x_row);
            UNROLL for (int r = 0; r < TALL; r++) UNROLL for (int ky = 0; ky < kh; ky++) sum[r] =
                hn_v_fma(row[r + ky], weight[ky], sum[r]);
        }
    UNROLL for (int r = 0; r < TALL; r++) store(p, t, t->y[0] + r * y_row, sum[r]);
}

#define COLUMN(kh)                                                                     \
    static void column_##kh(const geometry *g, const tile *t, const int64_t *offset) { \
        compute_column(g, t, offset, kh);                                              \
    }
COLUMN(3)
COLUMN(5)
COLUMN(7)

/* NULL: the patch is computed by tiles. */
static tile_fn *column_for(const geometry *g, int64_t rows) {
    const hn_conv_planes_f32 *p = &g->p;
    if (g->n != 1 || p->sh != 1 || p->dh != 1 || rows < TALL) return NULL;
    return p->kh == 3 ? column_3 : p->kh == 5 ? column_5 : p->kh == 7 ? column_7 : NULL;
}

/* ---- running -------------------------------------------------------------------------------- */

/* The outputs of a patch: `rows` rows of `columns` columns. */
typedef struct patch {
    const float *x; /* where the window of the first one begins */
    float *y;
    const float *w, *bias; /* of the group */
    int64_t rows, columns;
} patch;

/* The lanes of its vectors that are stored. */
static int64_t lanes_of(const patch *a) { return hn_least(a->columns, HN_VL); }

/* A tile of its first output. */
static tile tile_of(const geometry *g, const patch *a) {
    bool clip = g->p.act.kind == HN_ACT_CLIP;
    bool limits = clip || g->p.act.kind == HN_ACT_NONE;
    return (tile){.w = a->w,
                  .bias = a->bias,
                  .lanes = lanes_of(a),
                  .plain = limits && g->p.y_pixel == 1 && lanes_of(a) == HN_VL,
                  .lo = clip ? g->p.act.a : -INFINITY,
                  .hi = clip ? g->p.act.b : INFINITY};
}

/* All outputs of some vectors, whose x stays near meanwhile. */
static void run_vectors(const geometry *g, const patch *a, const int64_t *offset,
                        const float *const *x, float *const *y, int vectors) {
    tile t = tile_of(g, a);
    for (int n; t.o < g->n; t.o += n, t.w += g->k * n) {
        n = block_of(g->n - t.o);
        if (t.bias != NULL) t.bias = a->bias + t.o;
        for (int v = 0, height; v < vectors; v += height) {
            height = height_of(n, vectors - v);
            t.x = x + v, t.y = y + v;
            tiles[n][height](g, &t, offset);
        }
    }
}

/* Row by row, as many vectors at a time as a tile has. */
static void run_tiles(const geometry *g, const patch *a, const int64_t *offset) {
    const hn_conv_planes_f32 *p = &g->p;
    int64_t last = a->columns - lanes_of(a), x_row = p->sh * row_of(g);
    int64_t left = a->rows * ceil_div(a->columns, HN_VL), row = 0, column = 0;
    while (left > 0) {
        const float *x[VECTORS];
        float *y[VECTORS];
        int vectors = height_of(block_of(g->n), left);
        for (int v = 0; v < vectors; v++) {
            int64_t from = hn_least(column, last);
            x[v] = a->x + row * x_row + from;
            y[v] = a->y + row * p->y_row + from * p->y_pixel;
            column += HN_VL;
            if (column >= a->columns) column = 0, row++;
        }
        run_vectors(g, a, offset, x, y, vectors);
        left -= vectors;
    }
}

/* Column by column; the last rows begin earlier where they are fewer, as the last columns do. */
static void run_columns(const geometry *g, const patch *a, const int64_t *offset, tile_fn *column) {
    const float *x;
    float *y;
    tile t = tile_of(g, a);
    t.x = &x, t.y = &y;
    for (int64_t row = 0; row < a->rows; row += TALL)
        for (int64_t j = 0; j < a->columns; j += HN_VL) {
            int64_t at = hn_least(j, a->columns - t.lanes), r = hn_least(row, a->rows - TALL);
            x = a->x + r * row_of(g) + at;
            y = a->y + r * g->p.y_row + at * g->p.y_pixel;
            column(g, &t, offset);
        }
}

static void run_patch(const geometry *g, const patch *a, const int64_t *offset) {
    tile_fn *column = column_for(g, a->rows);
    if (column != NULL)
        run_columns(g, a, offset, column);
    else
        run_tiles(g, a, offset);
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase;
    const geometry g = measure(call->problem);
    const hn_conv_planes_f32 *p = &g.p;
    const float *bias = call->ptr[HN_CONV_BIAS];
    int64_t *offset = lane, weights = g.k * g.n, last_px = -1, last_py = -1;
    float *scratch = (float *)(offset + g.k);
    fill_offsets(&g, offset);
    for (int64_t task = begin; task < end; task++) {
        int64_t px = task % g.patch_columns, py = task / g.patch_columns % g.patch_rows;
        int64_t group = task / g.patch_columns / g.patch_rows % p->groups;
        int64_t b = task / g.patch_columns / g.patch_rows / p->groups;
        int64_t oy = py * g.rows, ox = px * g.columns;
        const float *x =
            (const float *)call->ptr[HN_CONV_X] + b * p->x_image + group * g.c * p->x_channel;
        patch a = {.w = (const float *)call->ptr[HN_CONV_W] + group * weights,
                   .bias = bias != NULL ? bias + group * g.n : NULL,
                   .rows = hn_least(g.rows, p->oh - oy),
                   .columns = px + 1 < g.patch_columns ? g.columns : p->ow - ox};
        a.y = (float *)call->ptr[HN_CONV_Y] + b * p->y_image + group * g.n * p->y_channel +
              oy * p->y_row + ox * p->y_pixel;
        a.x = g.direct ? x + oy * p->sh * p->x_row + ox : scratch;
        if (!g.direct) {
            bool same = px == last_px && py == last_py;
            if (px != last_px) memset(scratch, 0, (size_t)patch_floats(&g) * sizeof(float));
            copy_patch(&g, x, oy, ox, a.rows, same || px != last_px, scratch);
            last_px = px, last_py = py;
        }
        run_patch(&g, &a, offset);
    }
}

/* ---- packing -------------------------------------------------------------------------------- */

static size_t packed_bytes(const void *problem) {
    const hn_conv_planes_f32 *p = problem;
    return (size_t)(p->n * (p->c / p->groups) * p->kh * p->kw) * sizeof(float);
}

static uint64_t pack_key(const void *problem) {
    const hn_conv_planes_f32 *p = problem;
    const int64_t facts[] = {BLOCK, p->groups, p->c,   p->n,   p->kh,
                             p->kw, p->w_o,    p->w_i, p->w_y, p->w_x};
    return hn_pack_hash(facts, sizeof facts / sizeof *facts);
}

static void pack(const void *problem, const hn_stored *plain, int64_t begin, int64_t end,
                 void *dst) {
    (void)begin, (void)end; /* one task */
    const hn_conv_planes_f32 *p = problem;
    const hn_any_f32 *w = plain->data;
    float *to = dst;
    int64_t of_group = p->n / p->groups;
    for (int64_t o = 0, n; o < p->n; o += n) {
        n = block_of(of_group - o % of_group);
        for (int64_t i = 0; i < p->c / p->groups; i++)
            for (int64_t ky = 0; ky < p->kh; ky++)
                for (int64_t kx = 0; kx < p->kw; kx++)
                    for (int64_t q = 0; q < n; q++)
                        *to++ = w[(o + q) * p->w_o + i * p->w_i + ky * p->w_y + kx * p->w_x];
    }
}

const hn_kernel HN_V_ROW(conv_planes_f32) = {.name = HN_V_NAME,
                                             .isa = HN_V_ISA,
                                             .order = HN_V_NAME,
                                             .ok = ok,
                                             .work = work,
                                             .run = run,
                                             .packed_bytes = packed_bytes,
                                             .pack_key = pack_key,
                                             .pack = pack};

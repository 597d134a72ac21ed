/* Convolution as a product of matrices whose left one is never built: the tiles of tile_f32 read
 * pixels where they lie.
 *
 *   rows     m = batch * oh * ow output pixels, cut into tiles of nearly the same number of rows;
 *            a tile may span rows and images
 *   columns  output channels of a group, cut into panels
 *   k        one run of c/groups channels per tap; taps outside the image point at zeros
 *
 * Weights are packed [group][panel][ky][kx][i][columns of the panel].
 *
 * A task is one tile of one panel. Tasks are numbered so that walking them in order reuses what is
 * expensive to fetch: a shelf of panels, whose weights stay in L2 together; in it the tiles; in
 * each the panels of the shelf, while its pixels stay in L1. Small weights are one shelf. Where
 * pixels are few beside the weights, all of them meet one panel after the other: shelves of one. A
 * long k axis is cut into passes: all tasks of a shelf do the first part, then the second, with the
 * partial sums in y. Meanwhile the weights that the next pass or shelf needs are fetched.
 *
 * Where a dilated window misses much of the image, tiles are taken region by region: the pixels of
 * one region reach the same taps, and a tile goes through those alone.
 *
 *        |  |     |  |            regions of an image whose window is wider than half of it:
 *      --+--+-----+--+--          the inner one reaches the middle tap, corners four taps
 *        |  |     |  |
 */
#include <math.h>
#include <string.h>

#include "base/cpu.h"
#include "base/divide.h"
#include "kernels/conv_f32/conv_f32.h"
#include "kernels/tile_f32/tile_f32.h"

enum {
    SHELF = 512 << 10, /* bytes of weights that stay in L2 beside the next ones and the pixels */
    IMAGE = 512 << 10, /* bytes of x that stay there whole */
    FEW_PIXELS = 64,   /* so few that weights are more */
    PASS = 1536,       /* the most k of a pass */
    MAX_ROWS = 16,     /* of a tile */
    MAX_SPANS =
        7, /* of an axis, for windows of three dilated taps; with more there are no regions */
};

/* Outputs whose windows reach the same taps. */
typedef struct region {
    hn_conv_span y, x;
    int64_t tile, tiles; /* its first tile, and how many it has */
} region;

typedef struct geometry {
    int64_t pixels, tiles; /* rows of the product, cut into tiles */
    int n_regions;
    region regions[MAX_SPANS * MAX_SPANS];
    int64_t taps, c, n, k;     /* of a group */
    hn_panels_f32 panels;      /* of a group */
    int64_t group_weights;     /* floats */
    int64_t shelf;             /* panels, of all groups */
    int64_t pass_taps, pass_c; /* what one pass over k takes: some taps, or part of the only one */
} geometry;

static int64_t pixels_of(const hn_conv_f32 *p, const region *r) {
    return p->batch * (r->y.end - r->y.first) * (r->x.end - r->x.first);
}

/* Cuts the outputs into regions where that leaves out enough taps, and each into tiles. */
static void cut(const hn_tiles_f32 *t, const hn_conv_f32 *p, geometry *g) {
    const double enough = 0.8;
    hn_conv_span y[MAX_SPANS] = {{0, p->oh, 0, p->kh}}, x[MAX_SPANS] = {{0, p->ow, 0, p->kw}};
    int rows = 1, columns = 1;
    if (hn_conv_share_inside(p) < enough) {
        rows =
            hn_conv_spans(&(hn_conv_slide){p->h, p->oh, p->kh, p->sh, p->dh, p->pt}, y, MAX_SPANS);
        columns =
            hn_conv_spans(&(hn_conv_slide){p->w, p->ow, p->kw, p->sw, p->dw, p->pl}, x, MAX_SPANS);
    }
    if (rows == 0) rows = 1, y[0] = (hn_conv_span){0, p->oh, 0, p->kh};
    if (columns == 0) columns = 1, x[0] = (hn_conv_span){0, p->ow, 0, p->kw};
    for (int i = 0; i < rows * columns; i++) {
        region *r = &g->regions[g->n_regions++];
        *r = (region){.y = y[i / columns], .x = x[i % columns], .tile = g->tiles};
        r->tiles = hn_ceil_over(pixels_of(p, r), t->rows);
        g->tiles += r->tiles;
    }
}

static geometry measure(const hn_tiles_f32 *t, const hn_conv_f32 *p) {
    geometry g = {.pixels = p->batch * p->oh * p->ow,
                  .taps = p->kh * p->kw,
                  .c = hn_over(p->c, p->groups),
                  .n = hn_over(p->n, p->groups)};
    g.k = g.taps * g.c;
    cut(t, p, &g);
    g.panels = hn_panels_f32_of(t, g.n);
    g.group_weights = g.k * hn_panels_f32_column(&g.panels, g.panels.count);
    /* One tile reads each weight once, whatever the passes; and k may be 0. */
    int64_t passes = g.tiles <= 1 || g.k == 0 ? 1 : hn_ceil_over(g.k, PASS);
    g.pass_taps = hn_ceil_over(g.taps, passes);
    g.pass_c = g.taps == 1 ? hn_ceil_over(g.c, passes) : g.c;
    int64_t shelf = hn_of_l2(SHELF);
    g.shelf = hn_over(shelf, g.pass_taps * (g.pass_c + 1) * t->width * 4);
    bool many_weights = g.group_weights * p->groups * 4 > shelf || g.pixels <= FEW_PIXELS;
    if (many_weights && p->batch * p->h * p->w * p->c * 4 <= hn_of_l2(IMAGE)) g.shelf = 1;
    if (g.tiles <= 1) g.shelf = g.panels.count * p->groups;
    if (g.shelf < 1) g.shelf = 1;
    return g;
}

static bool ok(const void *problem, const char **why) {
    const hn_conv_f32 *p = problem;
    if (!hn_conv_stored_f32(p, why)) return false;
    if (p->x_channel == 1) return true;
    *why = "the channels of x are not adjacent";
    return false;
}

static void work(const hn_tiles_f32 *t, const hn_conv_f32 *p, hn_work *w) {
    geometry g = measure(t, p);
    size_t pointers = (size_t)((g.pass_taps + 2) * t->rows) * sizeof(void *);
    size_t copy = t->interleaved ? (size_t)(g.pass_taps * g.pass_c * t->rows) * 4 : 0;
    *w = (hn_work){.n_phases = 1,
                   .tasks = {g.tiles * g.panels.count * p->groups},
                   .lane_scratch = pointers + (size_t)g.pass_c * 4 + copy};
}

/* ---- packing -------------------------------------------------------------------------------- */

static size_t packed_bytes(const hn_tiles_f32 *t, const hn_conv_f32 *p) {
    return (size_t)(measure(t, p).group_weights * p->groups) * 4;
}

static uint64_t pack_key(const hn_tiles_f32 *t, const hn_conv_f32 *p) {
    const int64_t facts[] = {t->width, t->narrow, p->groups, p->c,   p->n,  p->kh,
                             p->kw,    p->w_o,    p->w_i,    p->w_y, p->w_x};
    return hn_pack_hash(facts, sizeof facts / sizeof *facts);
}

static int64_t pack_tasks(const hn_tiles_f32 *t, const hn_conv_f32 *p) {
    return measure(t, p).panels.count * p->groups;
}

/* Columns of a panel, by the tiles' way of copying. Weights [output][channel][ky][kx] are
 * transposed in runs of several channels, and the taps parted afterwards. */
static void pack_columns(const hn_tiles_f32 *t, const hn_conv_f32 *p, const geometry *g,
                         const hn_any_f32 *w, int64_t n, int64_t width, float *dst) {
    enum { ROOM = 8192 };
    bool in_runs = g->taps > 1 && p->w_i == g->taps && (p->kh == 1 || p->w_y == p->kw) &&
                   (p->kw == 1 || p->w_x == 1) && g->taps * width <= ROOM;
    if (!in_runs) {
        for (int64_t tap = 0; tap < g->taps; tap++)
            t->copy((const float *)(w + tap / p->kw * p->w_y + tap % p->kw * p->w_x), p->w_i,
                    p->w_o, g->c, n, 1, dst + tap * g->c * width, width);
        return;
    }
    float room[ROOM];
    int64_t most = hn_over(ROOM, g->taps * width);
    for (int64_t i = 0; i < g->c; i += most) {
        int64_t some = g->c - i < most ? g->c - i : most;
        t->copy((const float *)(w + i * g->taps), 1, p->w_o, some * g->taps, n, 1, room, width);
        for (int64_t tap = 0; tap < g->taps; tap++)
            for (int64_t k = 0; k < some; k++)
                memcpy(dst + (tap * g->c + i + k) * width, room + (k * g->taps + tap) * width,
                       (size_t)n * sizeof *room);
    }
}

static void pack(const hn_tiles_f32 *t, const hn_conv_f32 *p, const hn_any_f32 *w, int64_t begin,
                 int64_t end, float *dst) {
    geometry g = measure(t, p);
    for (int64_t panel = begin; panel < end; panel++) {
        int64_t group = panel, in_group = hn_digit(&group, g.panels.count);
        int64_t width = hn_panels_f32_width(&g.panels, in_group);
        int64_t n = hn_panels_f32_used(&g.panels, in_group);
        int64_t column = hn_panels_f32_column(&g.panels, in_group);
        float *to = dst + group * g.group_weights + g.k * column;
        if (n < width) memset(to, 0, (size_t)(g.k * width) * sizeof *to);
        pack_columns(t, p, &g, w + (group * g.n + column) * p->w_o, n, width, to);
    }
}

/* ---- running -------------------------------------------------------------------------------- */

/* The rows of one tile in one pass, all in lane scratch. */
typedef struct tile_rows {
    const float **a; /* [taps of the pass][n] */
    float **y;
    const float **r;
    float *zeros, *copy;
    const float *next; /* the first row of the next tile; NULL: not known */
    const region *region;
    int n;
} tile_rows;

typedef struct pass {
    int64_t tap, taps, c0, c;
} pass;

static const region *region_of(const geometry *g, int64_t tile) {
    const region *r = g->regions;
    while (tile >= r->tile + r->tiles) r++;
    return r;
}

/* Points a, y and r at the pixels of a tile, in one group. */
static void place(const hn_tiles_f32 *t, const hn_conv_f32 *p, const geometry *g, void *const *ptr,
                  int64_t tile, int64_t group, const pass *k, tile_rows *s) {
    const region *in = s->region = region_of(g, tile);
    int64_t pixels = pixels_of(p, in), high = in->y.end - in->y.first;
    int64_t wide = in->x.end - in->x.first, number = tile - in->tile;
    int64_t first = hn_over(pixels * number, in->tiles);
    int64_t end = hn_over(pixels * (number + 1), in->tiles);
    const float *x = (const float *)ptr[HN_CONV_X] + group * g->c + k->c0, *r = ptr[HN_CONV_R];
    float *y = ptr[HN_CONV_Y];
    int64_t b = first, ox = in->x.first + hn_digit(&b, wide);
    int64_t oy = in->y.first + hn_digit(&b, high);
    s->n = (int)(end - first);
    struct {
        int64_t x, iy, ix; /* where the window begins, perhaps outside the image */
    } at[MAX_ROWS];
    bool all_inside = true;
    for (int i = 0; i < s->n; i++) {
        int64_t iy = oy * p->sh - p->pt, ix = ox * p->sw - p->pl;
        at[i].iy = iy, at[i].ix = ix;
        at[i].x = b * p->x_image + iy * p->x_row + ix * p->x_pixel;
        all_inside &= iy >= 0 && iy + (p->kh - 1) * p->dh < p->h && ix >= 0 &&
                      ix + (p->kw - 1) * p->dw < p->w;
        s->y[i] = y + b * p->y_image + oy * p->y_row + ox * p->y_pixel;
        if (r != NULL) s->r[i] = r + b * p->r_image + oy * p->r_row + ox * p->r_pixel;
        if (++ox == in->x.end) {
            ox = in->x.first;
            if (++oy == in->y.end) oy = in->y.first, b++;
        }
    }
    s->next = NULL;
    if (g->taps == 1 && p->pt == 0 && p->pl == 0 && tile + 1 < g->tiles)
        s->next = x + (b * p->x_image + oy * p->sh * p->x_row + ox * p->sw * p->x_pixel);
    const float **a = s->a;
    int64_t ky = k->tap, kx = hn_digit(&ky, p->kw);
    for (int64_t tap = 0; tap < k->taps; tap++, a += s->n) {
        int64_t dy = ky * p->dh, dx = kx * p->dw, offset = dy * p->x_row + dx * p->x_pixel;
        for (int i = 0; i < s->n; i++) {
            bool inside = all_inside || (at[i].iy + dy >= 0 && at[i].iy + dy < p->h &&
                                         at[i].ix + dx >= 0 && at[i].ix + dx < p->w);
            a[i] = inside ? x + (at[i].x + offset) : s->zeros;
        }
        if (++kx == p->kw) kx = 0, ky++;
    }
    if (t->interleaved) hn_tile_f32_interleave(s->a, s->n, k->taps, k->c, s->copy);
}

/* The packed weights of a panel, counted over all groups. */
static const float *panel_weights(const geometry *g, const float *w, int64_t panel) {
    int64_t column = hn_panels_f32_column(&g->panels, hn_digit(&panel, g->panels.count));
    return w + panel * g->group_weights + column * g->k;
}

/* How many panels from number in_group of a group on, at most `left`, a tile of `rows` rows takes
 * at once: what a thin tile can, in shares of nearly the same size. */
static int64_t take(const hn_tiles_f32 *t, const geometry *g, int rows, int64_t in_group,
                    int64_t left) {
    if (g->tiles > 1 || rows > t->n_thin || in_group >= g->panels.full) return 1;
    if (left > g->panels.full - in_group) left = g->panels.full - in_group;
    return hn_ceil_over(left, hn_ceil_over(left, t->thin[rows - 1].most));
}

/* What a task fetches meanwhile. The first tasks of a tile, or all if no other shelf follows: their
 * share of the rows of the next tile. The others: their share, over all tiles, of the weights that
 * the next shelf or pass needs. */
static void look_ahead(const geometry *g, const hn_conv_f32 *p, const pass *k, const float *weights,
                       int64_t first, int64_t shelf, int64_t task, const tile_rows *s,
                       hn_tile_f32 *args) {
    int64_t all = g->panels.count * p->groups, next = first + shelf, tile = task;
    int64_t len = k->taps * k->c, at = hn_digit(&tile, shelf);
    int64_t width = hn_panels_f32_width(&g->panels, hn_rest(first + at, g->panels.count));
    bool whole = len == g->k, ends = k->tap * g->c + k->c0 + len == g->k;
    args->ahead = args->b, args->ahead_step = 0;
    if (g->tiles == 1) return; /* the CPU's own prefetching does better */
    int64_t for_rows = whole && s->next != NULL && k->c >= 32 ? shelf : 0;
    if (next < all && for_rows > 0) for_rows = shelf / 4;
    const float *from = s->next;
    int64_t floats, share = at, shares = for_rows;
    if (at < for_rows) {
        floats = s->n * p->sw * p->x_pixel;
    } else if (whole && next < all) {
        int64_t stop = next + shelf < all ? next + shelf : all;
        from = panel_weights(g, weights, next);
        floats = panel_weights(g, weights, stop) - from;
        share = tile * (shelf - for_rows) + at - for_rows;
        shares = g->tiles * (shelf - for_rows);
    } else if (!ends || next + at < all) {
        from = ends ? panel_weights(g, weights, next + at) : args->b + len * width;
        floats = len * width, share = tile, shares = g->tiles;
    } else {
        return;
    }
    args->ahead = from + hn_over(floats * share, shares);
    args->ahead_step = hn_over(floats * 4, shares * len + 1);
}

/* What run_panels adds up next. */
typedef struct stretch {
    int64_t tap, end;  /* taps, of all */
    bool starts, ends; /* no sum has begun, none goes on */
} stretch;

/* The next taps of a pass, from `tap` on, that a region reaches and whose weights lie together.
 * False: there are none. */
static bool next_stretch(const hn_conv_f32 *p, const geometry *g, const region *in, const pass *k,
                         int64_t tap, stretch *s) {
    bool rows_whole = in->x.tap_end - in->x.tap == p->kw;
    int64_t row = tap, column = hn_digit(&row, p->kw);
    if (row < in->y.tap) row = in->y.tap, column = in->x.tap;
    if (column < in->x.tap) column = in->x.tap;
    if (column >= in->x.tap_end) row++, column = in->x.tap;
    int64_t last = (in->y.tap_end - 1) * p->kw + in->x.tap_end;
    s->tap = row * p->kw + column;
    s->end = rows_whole ? last : row * p->kw + in->x.tap_end;
    if (s->end > k->tap + k->taps) s->end = k->tap + k->taps;
    s->starts = s->tap == in->y.tap * p->kw + in->x.tap && k->c0 == 0;
    s->ends = s->end == last && k->c0 + k->c == g->c;
    return s->tap < s->end && s->tap < last;
}

/* One tile by `taken` panels, in one pass over k. args has what all stretches share. */
static void run_panels(const hn_tiles_f32 *t, const hn_call *call, const geometry *g, const pass *k,
                       int64_t width, int64_t taken, const tile_rows *s, hn_tile_f32 *args) {
    const hn_conv_f32 *p = call->problem;
    const float *bias = call->ptr[HN_CONV_BIAS], *weights = args->b;
    bool clip = p->act.kind == HN_ACT_CLIP;
    stretch at = {.end = k->tap};
    while (next_stretch(p, g, s->region, k, at.end, &at)) {
        int64_t before = at.tap - k->tap;
        const float *copy = s->copy + before * k->c * hn_tile_f32_ld(s->n);
        args->a = t->interleaved ? &copy : s->a + before * s->n;
        args->runs = at.end - at.tap;
        args->b = weights + (at.tap * g->c + k->c0) * width;
        args->bias = at.starts && bias != NULL ? bias + args->column : NULL;
        args->r = NULL;
        if (!at.starts)
            args->r = (const float *const *)s->y;
        else if (call->ptr[HN_CONV_R] != NULL)
            args->r = s->r;
        args->lo = at.ends && clip ? p->act.a : -INFINITY;
        args->hi = at.ends && clip ? p->act.b : INFINITY;
        if (taken > 1)
            t->thin[s->n - 1].fn[taken - 1](args);
        else
            t->fn[width == t->narrow][s->n - 1](args);
        if (at.ends && p->act.kind != HN_ACT_NONE && !clip)
            t->act(&p->act, s->y, s->n, args->column, args->n);
    }
}

/* The tasks [begin, end) of one shelf, which begins with panel `first`, in one pass over k. */
static void run_pass(const hn_tiles_f32 *t, const hn_call *call, const geometry *g, const pass *k,
                     int64_t first, int64_t begin, int64_t end, tile_rows *s) {
    const hn_conv_f32 *p = call->problem;
    const float *weights = call->ptr[HN_CONV_W];
    int64_t all = g->panels.count * p->groups,
            shelf = all - first < g->shelf ? all - first : g->shelf;
    int64_t placed_tile = -1, placed_group = -1;
    hn_tile_f32 args = {.len = k->c, .y = s->y};
    for (int64_t task = begin, taken; task < end; task += taken) {
        int64_t tile = task, panel = first + hn_digit(&tile, shelf);
        int64_t group = panel, in_group = hn_digit(&group, g->panels.count);
        if (tile != placed_tile || group != placed_group) {
            placed_tile = tile, placed_group = group;
            place(t, p, g, call->ptr, tile, group, k, s);
        }
        int64_t width = hn_panels_f32_width(&g->panels, in_group);
        args.column = group * g->n + hn_panels_f32_column(&g->panels, in_group);
        taken = take(t, g, s->n, in_group, end - task);
        args.n = hn_panels_f32_used(&g->panels, in_group + taken - 1) + (taken - 1) * width;
        args.b = panel_weights(g, weights, panel) + (k->tap * g->c + k->c0) * width;
        args.next = g->k * width;
        look_ahead(g, p, k, weights, first, shelf, task, s, &args);
        args.b = panel_weights(g, weights, panel);
        run_panels(t, call, g, k, width, taken, s, &args);
    }
}

static void run(const hn_tiles_f32 *t, const hn_call *call, int64_t begin, int64_t end,
                void *lane) {
    const hn_conv_f32 *p = call->problem;
    const geometry g = measure(t, p);
    tile_rows s = {.a = lane};
    s.y = (float **)(s.a + g.pass_taps * t->rows);
    s.r = (const float **)(s.y + t->rows);
    s.zeros = (float *)(s.r + t->rows);
    s.copy = s.zeros + g.pass_c;
    memset(s.zeros, 0, (size_t)g.pass_c * 4);
    while (begin < end) {
        int64_t shelf = hn_over(begin, g.shelf * g.tiles), base = shelf * g.shelf * g.tiles;
        int64_t stop = base + g.shelf * g.tiles < end ? base + g.shelf * g.tiles : end;
        for (pass k = {0}; k.tap < g.taps;) {
            k.taps = g.taps - k.tap < g.pass_taps ? g.taps - k.tap : g.pass_taps;
            k.c = g.c - k.c0 < g.pass_c ? g.c - k.c0 : g.pass_c;
            run_pass(t, call, &g, &k, shelf * g.shelf, begin - base, stop - base, &s);
            k.c0 += k.c;
            if (k.c0 == g.c) k.c0 = 0, k.tap += k.taps;
        }
        begin = stop;
    }
}

/* ---- rows ----------------------------------------------------------------------------------- */

/* The row whose tiles are hn_tiles_f32_<isa>. */
#define ROW(isa_name, bits, tile_name, sums)                                                       \
    static size_t packed_bytes_##isa_name(const void *p) {                                         \
        return packed_bytes(&hn_tiles_f32_##isa_name, p);                                          \
    }                                                                                              \
    static uint64_t pack_key_##isa_name(const void *p) {                                           \
        return pack_key(&hn_tiles_f32_##isa_name, p);                                              \
    }                                                                                              \
    static int64_t pack_tasks_##isa_name(const void *p) {                                          \
        return pack_tasks(&hn_tiles_f32_##isa_name, p);                                            \
    }                                                                                              \
    static void pack_##isa_name(const void *p, const hn_stored *plain, int64_t begin, int64_t end, \
                                void *dst) {                                                       \
        pack(&hn_tiles_f32_##isa_name, p, plain->data, begin, end, dst);                           \
    }                                                                                              \
    static void work_##isa_name(const void *p, int lanes, hn_work *w) {                            \
        (void)lanes;                                                                               \
        work(&hn_tiles_f32_##isa_name, p, w);                                                      \
    }                                                                                              \
    static void run_##isa_name(const hn_call *call, int phase, int64_t begin, int64_t end,         \
                               void *lane) {                                                       \
        (void)phase;                                                                               \
        run(&hn_tiles_f32_##isa_name, call, begin, end, lane);                                     \
    }                                                                                              \
    const hn_kernel hn_conv_f32_direct_##isa_name = {.name = #isa_name "_" tile_name,              \
                                                     .isa = bits,                                  \
                                                     .order = sums,                                \
                                                     .ok = ok,                                     \
                                                     .work = work_##isa_name,                      \
                                                     .run = run_##isa_name,                        \
                                                     .packed_bytes = packed_bytes_##isa_name,      \
                                                     .pack_key = pack_key_##isa_name,              \
                                                     .pack_tasks = pack_tasks_##isa_name,          \
                                                     .pack = pack_##isa_name};

#if defined(__x86_64__)
ROW(avx512, HN_ISA_AVX512, "14x32", "fma")
ROW(avx2, HN_ISA_AVX2, "6x16", "fma")
#elif defined(__aarch64__)
ROW(neon, HN_ISA_NEON, "8x12", "fma")
#endif
ROW(portable, HN_ISA_PORTABLE, "6x8", "f32")

/* Products by weights of which most are 0, over the vector vocabulary: those are neither stored nor
 * multiplied. What rows of conv_f32 and conv_q8 have in common.
 *
 * Vectors run along pixels, so that one weight meets a whole vector and it does not matter which
 * weights of an output are left. That asks for x the other way round than it lies. So output pixels
 * are taken in tiles, and k (taps, in each the channels) in passes, such that the part of x which a
 * tile meets in a pass stays in L1 while all outputs use it:
 *
 *            pixels of the tile                     pixels of the tile
 *       k   |. . . . . . . . . .|         output   |. . . . . . . . . .|
 *      of   |. . . . . . . . . .|   -->            |. . . . . . . . . .|
 *    a pass |. . . . . . . . . .|                  |. . . . . . . . . .|
 *             x, in L1                               sums, in L2
 *
 *   for each pass: turn its x; for each output: sums += weight * x[k] for its weights of that pass
 *   at last: turn the sums, and write results
 *
 * A unit of k, of weights and of x is 32 bits: a float, or four bytes, of which an instruction sums
 * the products. Where not all four weights of a unit are 0, the unit is kept.
 *
 * Packed weights. A cell holds those of up to SHARD outputs and one pass:
 *
 *   cells    [shard][pass]           where the units of the cell begin, and how many groups it has
 *   groups   [shard][pass][GROUPS]   so many outputs have so many units each
 *   values   [units]                 by cell and output, in the order of k
 *   outputs  [shard][pass][SHARD]    outputs by falling number of units, counted in the shard
 *   places   [units]                 in bytes, where x[k] begins
 *
 * Outputs with the same number of units follow each other, so that the CPU foresees where the loop
 * over these ends, and several are summed up at once, so that it need not wait for each sum. A unit
 * takes 6 bytes.
 *
 * The file that includes this has a vector vocabulary, and
 *
 *   unit            a type of 32 bits: what weights and sums are
 *   sum_vector      a vector of these
 *   SUM_SET1(u), SUM_LOAD(p), SUM_STORE(p, s)
 *   MULTIPLY(u, p, s)   the sums s and the products of unit u by the vector at p
 *   turn_state, TURNED(t, v)   what is done to a vector of x before it is stored, and a type for what
 *                           that needs; see turn_x
 */
#ifdef MULTIPLY
#include <string.h>

#include "base/least.h"
#include "kernels/window.h"
#include "simd/part.h"

enum {
    VECTORS = HN_VL == 4 ? 6 : 4, /* of a tile */
    PIXELS = VECTORS * HN_VL,
    L1_UNITS = 8 << 10, /* of x in a pass: two thirds of an L1 of 48 kB */
    DEPTH = L1_UNITS / PIXELS < 256 ? L1_UNITS / PIXELS : 256, /* k of a pass */
    SHARD = 256,                                               /* outputs */
    GROUPS = DEPTH + 1 < SHARD ? DEPTH + 1 : SHARD,            /* the most of a cell */
};

typedef struct cell {
    int64_t first; /* of its units */
    int64_t groups;
} cell;

typedef struct group {
    uint16_t units, outputs;
} group;

typedef struct geometry {
    int64_t pixels, tiles, c, k, passes, shards; /* c: units of a tap */
    int64_t kept;                                /* units of weights, or at least so many may be */
} geometry;

static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

static geometry measure_units(const hn_windows *p, int64_t c, int64_t kept) {
    int64_t pixels = p->batch * p->oh * p->ow, k = p->kh * p->kw * c;
    return (geometry){.pixels = pixels,
                      .tiles = ceil_div(pixels, PIXELS),
                      .c = c,
                      .k = k,
                      .passes = ceil_div(k, DEPTH),
                      .shards = ceil_div(p->n, SHARD),
                      .kept = kept};
}

static int64_t pass_begin(const geometry *g, int64_t pass) { return g->k * pass / g->passes; }
static int64_t shard_outputs(const hn_windows *p, int64_t shard) {
    return hn_least(SHARD, p->n - shard * SHARD);
}
/* Tiles have nearly the same number of pixels, so that the last one fills its vectors too. */
static int64_t tile_pixel(const geometry *g, int64_t tile) {
    int64_t vectors = ceil_div(g->pixels, HN_VL);
    return hn_least(vectors * tile / g->tiles * HN_VL, g->pixels);
}

/* ---- choosing ------------------------------------------------------------------------------- */

/* What it costs, in multiplications of f32 by a dense row at its best. Measured on Emerald Rapids with
 * AVX-512; narrower vectors take as much longer in both. */
static double own_cost(const hn_windows *p, const geometry *g) {
    const double turn = 20; /* an element of x, or of results */
    const double again = 6; /* to take up a sum again in another pass */
    const double read = 54; /* a unit of weights for a tile, */
    const double use = 9;   /* and to multiply a vector by it */
    double n = (double)p->n, k = (double)g->k, vectors = (double)ceil_div(g->pixels, HN_VL);
    double products = (double)g->kept * (read * (double)g->tiles + use * vectors);
    double turns = HN_VL * vectors * (turn * (k + n) + again * n * (double)(g->passes - 1));
    return (products + turns) * HN_VL / 16;
}

/* ---- packing -------------------------------------------------------------------------------- */

/* The parts of packed weights, as the drawing above has them. */
typedef struct packed {
    cell *cells;
    group *groups;
    unit *values;
    uint16_t *outputs, *places;
} packed;

static size_t packed_units_bytes(const geometry *g) {
    size_t of_cell = sizeof(cell) + GROUPS * sizeof(group) + SHARD * sizeof(uint16_t);
    return (size_t)(g->shards * g->passes) * of_cell +
           (size_t)g->kept * (sizeof(unit) + sizeof(uint16_t));
}

static packed parts_of(const geometry *g, void *at) {
    packed w = {.cells = at};
    int64_t cells = g->shards * g->passes;
    w.groups = (group *)(w.cells + cells);
    w.values = (unit *)(w.groups + cells * GROUPS);
    w.outputs = (uint16_t *)(w.values + g->kept);
    w.places = w.outputs + cells * SHARD;
    return w;
}

/* Where weights come from: of an output, unit c of a tap into *to; false: it is 0. */
typedef struct plain_weights plain_weights;
static bool fetch_unit(const plain_weights *w, int64_t output, int64_t tap, int64_t c, unit *to);

/* The units of an output in a pass: to `value` and `place` where these are not NULL. Returns how many
 * are kept. */
static int64_t gather(const plain_weights *w, const geometry *g, int64_t output, int64_t pass,
                      unit *value, uint16_t *place) {
    int64_t n = 0, begin = pass_begin(g, pass), end = pass_begin(g, pass + 1);
    for (int64_t k = begin, tap = begin / g->c, c = begin % g->c; k < end; k++) {
        unit u;
        if (fetch_unit(w, output, tap, c, &u)) {
            if (value != NULL) value[n] = u, place[n] = (uint16_t)((k - begin) * PIXELS * 4);
            n++;
        }
        if (++c == g->c) c = 0, tap++;
    }
    return n;
}

static void pack_cell(const plain_weights *w, const hn_windows *p, const geometry *g, int64_t shard,
                      int64_t pass, int64_t *kept, const packed *to) {
    int64_t outputs = shard_outputs(p, shard), first = shard * SHARD;
    int64_t number = shard * g->passes + pass, count[SHARD], with[DEPTH + 1] = {0};
    cell *c = &to->cells[number];
    group *groups = to->groups + number * GROUPS;
    uint16_t *order = to->outputs + number * SHARD;
    *c = (cell){.first = *kept};
    for (int64_t o = 0; o < outputs; o++)
        with[count[o] = gather(w, g, first + o, pass, NULL, NULL)]++;
    for (int64_t n = DEPTH, i = 0; n >= 0; n--) {
        if (with[n] == 0) continue;
        groups[c->groups++] = (group){(uint16_t)n, (uint16_t)with[n]};
        for (int64_t o = 0; o < outputs; o++)
            if (count[o] == n) order[i++] = (uint16_t)o;
    }
    for (int64_t i = 0; i < outputs; i++)
        *kept += gather(w, g, first + order[i], pass, to->values + *kept, to->places + *kept);
}

/* All of them, to dst; in one task, since where a cell begins depends on those before it. */
static void pack_units(const plain_weights *w, const hn_windows *p, const geometry *g, void *dst) {
    packed to = parts_of(g, dst);
    int64_t kept = 0;
    memset(dst, 0, packed_units_bytes(g));
    for (int64_t shard = 0; shard < g->shards; shard++)
        for (int64_t pass = 0; pass < g->passes; pass++)
            pack_cell(w, p, g, shard, pass, &kept, &to);
}

/* ---- turning x ------------------------------------------------------------------------------ */

/* The pixels of a tile. */
typedef struct tile {
    int n, vectors;
    struct {
        int64_t x; /* where the window begins, in elements of x, perhaps outside the image */
        int64_t iy, ix;
    } at[PIXELS];
    int64_t y[PIXELS], r[PIXELS]; /* where results are, and what is added to them */
} tile;

static void place(const hn_windows *p, const geometry *g, int64_t number, tile *t) {
    int64_t first = tile_pixel(g, number);
    int64_t ox = first % p->ow, oy = first / p->ow % p->oh, b = first / p->ow / p->oh;
    t->n = (int)(tile_pixel(g, number + 1) - first);
    t->vectors = (t->n + HN_VL - 1) / HN_VL;
    for (int i = 0; i < t->n; i++) {
        t->at[i].iy = oy * p->sh - p->pt, t->at[i].ix = ox * p->sw - p->pl;
        t->at[i].x = b * p->x_image + t->at[i].iy * p->x_row + t->at[i].ix * p->x_pixel;
        t->y[i] = b * p->y_image + oy * p->y_row + ox * p->y_pixel;
        t->r[i] = b * p->r_image + oy * p->r_row + ox * p->r_pixel;
        if (++ox == p->ow) ox = 0, oy++;
        if (oy == p->oh) oy = 0, b++;
    }
}

/* Turns n units of HN_VL pixels, 0 < n <= HN_VL. */
HN_INLINE void turn_square(const char *const *from, int64_t c, int64_t n, unit *to,
                           turn_state *also) {
    hn_vf square[HN_VL];
    for (int i = 0; i < HN_VL; i++)
        square[i] = hn_v_load_part((const float *)(const void *)(from[i] + 4 * c), n);
    hn_v_transpose(square);
    for (int i = 0; i < n; i++)
        hn_v_store((float *)(void *)(to + i * PIXELS), TURNED(also, square[i]));
}

/* Units [c, c + n) of a tap, to to[unit][pixel]. Elements of x have `size` bytes; `padding` holds
 * DEPTH units of what is outside the image. */
HN_INLINE void turn_tap(const hn_windows *p, const tile *t, const char *x, int size, int64_t tap,
                        int64_t c, int64_t n, const char *padding, unit *to, turn_state *also) {
    int64_t dy = tap / p->kw * p->dh, dx = tap % p->kw * p->dw;
    int64_t offset = (dy * p->x_row + dx * p->x_pixel) * size + 4 * c;
    for (int v = 0; v < t->vectors; v++) {
        const char *from[HN_VL];
        for (int i = 0; i < HN_VL; i++) {
            int q = v * HN_VL + i;
            bool inside = q < t->n && t->at[q].iy + dy >= 0 && t->at[q].iy + dy < p->h &&
                          t->at[q].ix + dx >= 0 && t->at[q].ix + dx < p->w;
            from[i] = inside ? x + (t->at[q].x * size + offset) : padding;
        }
        int64_t i = 0;
        for (; i + HN_VL <= n; i += HN_VL)
            turn_square(from, i, HN_VL, to + i * PIXELS + v * HN_VL, also);
        if (i < n) turn_square(from, i, n - i, to + i * PIXELS + v * HN_VL, also);
    }
}

/* Turns what the tile meets in a pass. */
HN_INLINE void turn_x(const hn_windows *p, const geometry *g, const tile *t, const void *x,
                      int size, int64_t pass, const void *padding, unit *to, turn_state *also) {
    int64_t begin = pass_begin(g, pass), end = pass_begin(g, pass + 1);
    for (int64_t k = begin, n; k < end; k += n) {
        n = hn_least(end - k, g->c - k % g->c);
        turn_tap(p, t, x, size, k / g->c, k % g->c, n, padding, to + (k - begin) * PIXELS, also);
    }
}

/* ---- sums ----------------------------------------------------------------------------------- */

/* A cell and what it meets. */
typedef struct meeting {
    const cell *cell;
    const group *groups;
    const uint16_t *outputs, *places;
    const unit *values, *x;
    const unit *start; /* what the sums of the shard's outputs begin with; NULL: 0 */
    bool starts;       /* they begin here */
    unit *sums;        /* [output][pixel] */
} meeting;

static meeting meeting_of(const geometry *g, const packed *w, int64_t shard, int64_t pass) {
    int64_t number = shard * g->passes + pass;
    return (meeting){.cell = &w->cells[number],
                     .groups = w->groups + number * GROUPS,
                     .outputs = w->outputs + number * SHARD,
                     .places = w->places + w->cells[number].first,
                     .values = w->values + w->cells[number].first};
}

/* `rows` outputs of n units each. */
HN_INLINE void sum_outputs(const meeting *m, const uint16_t *outputs, const uint16_t *places,
                           const unit *values, int64_t n, const int rows, const int vectors) {
    sum_vector sum[2 * VECTORS];
    for (int r = 0; r < rows; r++) {
        const unit *from = m->sums + outputs[r] * PIXELS;
        unit start = m->start != NULL ? m->start[outputs[r]] : 0;
        for (int v = 0; v < vectors; v++)
            sum[r * vectors + v] = m->starts ? SUM_SET1(start) : SUM_LOAD(from + v * HN_VL);
    }
    for (int64_t i = 0; i < n; i++)
#pragma GCC unroll 4
        for (int r = 0; r < rows; r++) {
            const unit *x = (const unit *)(const void *)((const char *)m->x + places[r * n + i]);
            const unit w = values[r * n + i];
#pragma GCC unroll 8
            for (int v = 0; v < vectors; v++)
                sum[r * vectors + v] = MULTIPLY(w, x + v * HN_VL, sum[r * vectors + v]);
        }
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < vectors; v++)
            SUM_STORE(m->sums + outputs[r] * PIXELS + v * HN_VL, sum[r * vectors + v]);
}

/* All outputs of a cell, `rows` at once where so many have as many units. */
HN_INLINE void sum_cell(const meeting *m, const int rows, const int vectors) {
    const uint16_t *outputs = m->outputs, *places = m->places;
    const unit *values = m->values;
    for (int64_t i = 0; i < m->cell->groups; i++) {
        int64_t n = m->groups[i].units, left = m->groups[i].outputs;
        for (; left >= rows; left -= rows) {
            sum_outputs(m, outputs, places, values, n, rows, vectors);
            outputs += rows, places += rows * n, values += rows * n;
        }
        for (; left > 0; left--) {
            sum_outputs(m, outputs, places, values, n, 1, vectors);
            outputs++, places += n, values += n;
        }
    }
}

typedef void sum_fn(const meeting *m);

#define SUM(vectors) \
    static void sum_##vectors(const meeting *m) { sum_cell(m, (vectors) > 2 ? 2 : 4, vectors); }
SUM(1)
SUM(2)
SUM(3)
SUM(4)
#if HN_VL == 4
SUM(5)
SUM(6)
static sum_fn *const sum_by_vectors[VECTORS] = {sum_1, sum_2, sum_3, sum_4, sum_5, sum_6};
#else
static sum_fn *const sum_by_vectors[VECTORS] = {sum_1, sum_2, sum_3, sum_4};
#endif
#undef SUM

/* ---- work ----------------------------------------------------------------------------------- */

/* Units of sums that a lane has room for: of all shards, where passes go over them again and again,
 * else of one. */
static int64_t sums_of(const hn_windows *p, const geometry *g) {
    int64_t outputs = g->passes > 1 ? p->n : hn_least(p->n, SHARD);
    return ceil_div(outputs, HN_VL) * HN_VL * PIXELS;
}
/* Where those of a shard are, of the shards that begin with `first`. */
static int64_t sums_at(const geometry *g, int64_t shard, int64_t first) {
    return g->passes > 1 ? (shard - first) * SHARD * PIXELS : 0;
}

/* Memory of a lane. */
typedef struct lane_room {
    unit *x, *padding, *sums;
} lane_room;

static size_t lane_units(const hn_windows *p, const geometry *g) {
    return (size_t)(DEPTH * PIXELS + sums_of(p, g) + DEPTH);
}

static lane_room room_of(const hn_windows *p, const geometry *g, void *lane) {
    lane_room room = {.x = lane};
    room.sums = room.x + DEPTH * PIXELS;
    room.padding = room.sums + sums_of(p, g);
    return room;
}
#endif

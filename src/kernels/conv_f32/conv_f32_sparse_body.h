/* Convolution by weights of which most are 0, over the vector vocabulary: those are neither stored
 * nor multiplied.
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
 * Packed weights. A cell holds those of up to SHARD outputs and one pass:
 *
 *   cells    [shard][pass]           where the weights of the cell begin, and its groups
 *   groups   [shard][pass][GROUPS]   so many outputs have so many weights each
 *   outputs  [shard][pass][SHARD]    outputs by falling number of weights, counted in the shard
 *   places   [weights]               in bytes, where x[k] begins, by cell and output
 *   values   [weights]
 *
 * Outputs with the same number of weights follow each other, so that the CPU foresees where the loop
 * over these ends, and several are summed up at once, so that it need not wait for each sum. A
 * weight takes 6 bytes. (Tried: outputs as they come, which costs a wrong guess for each; one list
 * for all k, which reads x from L2.)
 *
 * Sums are added up in the same order as by the direct rows: bias + r, then one fused multiply-add
 * per weight. Those by 0 change no bit of a sum but, in rare cases, the sign of one that is 0. They
 * do where x is not finite: the product is NaN. Turning x sees such numbers, and then sums to which
 * one of them belongs that has no weight become NaN.
 */
#include <string.h>

#include "base/least.h"
#include "kernels/conv_f32/conv_f32.h"
#include "kernels/tile_f32/tile_f32_act.h"

enum {
    VECTORS = HN_VL == 4 ? 6 : 4, /* of a tile */
    PIXELS = VECTORS * HN_VL,
    L1_FLOATS = 8 << 10, /* of x in a pass: two thirds of an L1 of 48 kB */
    DEPTH = L1_FLOATS / PIXELS < 256 ? L1_FLOATS / PIXELS : 256, /* k of a pass */
    SHARD = 256,                                                 /* outputs */
    GROUPS = DEPTH + 1 < SHARD ? DEPTH + 1 : SHARD,              /* the most of a cell */
};

typedef struct cell {
    int64_t first; /* of its weights */
    int64_t groups;
} cell;

typedef struct group {
    uint16_t weights, outputs;
} group;

typedef struct geometry {
    int64_t pixels, tiles, taps, k, passes, shards;
    int64_t weights; /* that are kept, or at least may be */
} geometry;

static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

static geometry measure(const hn_conv_f32 *p) {
    geometry g = {.pixels = p->batch * p->oh * p->ow, .taps = p->kh * p->kw};
    g.k = g.taps * p->c;
    g.tiles = ceil_div(g.pixels, PIXELS);
    g.passes = ceil_div(g.k, DEPTH);
    g.shards = ceil_div(p->n, SHARD);
    g.weights = g.k * p->n - p->w_zeros;
    return g;
}

static int64_t pass_begin(const geometry *g, int64_t pass) { return g->k * pass / g->passes; }
static int64_t shard_outputs(const hn_conv_f32 *p, int64_t shard) {
    return hn_least(SHARD, p->n - shard * SHARD);
}
/* Tiles have nearly the same number of pixels, so that the last one fills its vectors too. */
static int64_t tile_pixel(const geometry *g, int64_t tile) {
    int64_t vectors = ceil_div(g->pixels, HN_VL);
    return hn_least(vectors * tile / g->tiles * HN_VL, g->pixels);
}

/* ---- packing -------------------------------------------------------------------------------- */

/* The parts of packed weights, as the drawing above has them. */
typedef struct packed {
    cell *cells;
    group *groups;
    float *values;
    uint16_t *outputs, *places;
} packed;

static size_t packed_bytes(const void *problem) {
    geometry g = measure(problem);
    size_t of_cell = sizeof(cell) + GROUPS * sizeof(group) + SHARD * sizeof(uint16_t);
    return (size_t)(g.shards * g.passes) * of_cell +
           (size_t)g.weights * (sizeof(float) + sizeof(uint16_t));
}

static packed parts_of(const geometry *g, void *at) {
    packed w = {.cells = at};
    int64_t cells = g->shards * g->passes;
    w.groups = (group *)(w.cells + cells);
    w.values = (float *)(w.groups + cells * GROUPS);
    w.outputs = (uint16_t *)(w.values + g->weights);
    w.places = w.outputs + cells * SHARD;
    return w;
}

static uint64_t pack_key(const void *problem) {
    const hn_conv_f32 *p = problem;
    const int64_t facts[] = {PIXELS, DEPTH,  p->w_zeros, p->c,   p->n,  p->kh,
                             p->kw,  p->w_o, p->w_i,     p->w_y, p->w_x};
    return hn_pack_hash(facts, sizeof facts / sizeof *facts);
}

/* The weights of an output in a pass: to `value` and `place` where these are not NULL. Returns how
 * many are not 0. */
static int64_t gather(const hn_conv_f32 *p, const hn_any_f32 *w, int64_t begin, int64_t end,
                      float *value, uint16_t *place) {
    int64_t n = 0;
    for (int64_t k = begin; k < end;) {
        int64_t tap = k / p->c, c = k % p->c, stop = hn_least(end, k - c + p->c);
        const hn_any_f32 *from = w + c * p->w_i;
        if (tap > 0) from += tap / p->kw * p->w_y + tap % p->kw * p->w_x;
        for (; k < stop; k++, from += p->w_i) {
            if (*from == 0) continue;
            if (value != NULL) value[n] = *from, place[n] = (uint16_t)((k - begin) * PIXELS * 4);
            n++;
        }
    }
    return n;
}

static void pack_cell(const hn_conv_f32 *p, const geometry *g, const hn_any_f32 *w, int64_t shard,
                      int64_t pass, int64_t *kept, const packed *to) {
    int64_t outputs = shard_outputs(p, shard), begin = pass_begin(g, pass);
    int64_t end = pass_begin(g, pass + 1), number = shard * g->passes + pass, count[SHARD];
    int64_t with[DEPTH + 1] = {0};
    cell *c = &to->cells[number];
    group *groups = to->groups + number * GROUPS;
    uint16_t *order = to->outputs + number * SHARD;
    *c = (cell){.first = *kept};
    w += shard * SHARD * p->w_o;
    for (int64_t o = 0; o < outputs; o++)
        with[count[o] = gather(p, w + o * p->w_o, begin, end, NULL, NULL)]++;
    for (int64_t n = end - begin, i = 0; n >= 0; n--) {
        if (with[n] == 0) continue;
        groups[c->groups++] = (group){(uint16_t)n, (uint16_t)with[n]};
        for (int64_t o = 0; o < outputs; o++)
            if (count[o] == n) order[i++] = (uint16_t)o;
    }
    for (int64_t i = 0; i < outputs; i++)
        *kept +=
            gather(p, w + order[i] * p->w_o, begin, end, to->values + *kept, to->places + *kept);
}

static void pack(const void *problem, const hn_stored *plain, int64_t begin, int64_t end,
                 void *dst) {
    (void)begin, (void)end; /* one task: where a cell begins depends on those before it */
    const hn_conv_f32 *p = problem;
    geometry g = measure(p);
    packed to = parts_of(&g, dst);
    int64_t kept = 0;
    memset(dst, 0, packed_bytes(p));
    for (int64_t shard = 0; shard < g.shards; shard++)
        for (int64_t pass = 0; pass < g.passes; pass++)
            pack_cell(p, &g, plain->data, shard, pass, &kept, &to);
}

/* ---- running -------------------------------------------------------------------------------- */

/* The pixels of a tile. */
typedef struct tile {
    int n, vectors;
    struct {
        const float *x; /* where the window begins, perhaps outside the image */
        int64_t iy, ix;
    } at[PIXELS];
    float *y[PIXELS];
    const float *r[PIXELS];
    bool finite;            /* the numbers of the pass; if not, */
    int not_finite[PIXELS]; /* so many of a pixel are not */
} tile;

/* Memory of a lane. */
typedef struct room {
    float *x, *zeros, *sums;
} lane_room;

/* Floats of sums: of all shards, where passes go over them again and again, else of one. */
static int64_t sums_of(const hn_conv_f32 *p, const geometry *g) {
    int64_t outputs = g->passes > 1 ? p->n : hn_least(p->n, SHARD);
    return ceil_div(outputs, HN_VL) * HN_VL * PIXELS;
}

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_conv_f32 *p = problem;
    (void)lanes;
    geometry g = measure(p);
    *w = (hn_work){
        .n_phases = 1,
        .tasks = {g.tiles * g.shards},
        .lane_scratch = (size_t)(DEPTH * PIXELS + DEPTH + sums_of(p, &g)) * sizeof(float)};
}

static void place(const hn_conv_f32 *p, const geometry *g, void *const *ptr, int64_t number,
                  tile *t) {
    int64_t first = tile_pixel(g, number);
    const float *x = ptr[HN_CONV_X], *r = ptr[HN_CONV_R];
    float *y = ptr[HN_CONV_Y];
    int64_t ox = first % p->ow, oy = first / p->ow % p->oh, b = first / p->ow / p->oh;
    t->n = (int)(tile_pixel(g, number + 1) - first);
    t->vectors = (t->n + HN_VL - 1) / HN_VL;
    for (int i = 0; i < t->n; i++) {
        t->at[i].iy = oy * p->sh - p->pt, t->at[i].ix = ox * p->sw - p->pl;
        t->at[i].x = x + (b * p->x_image + t->at[i].iy * p->x_row + t->at[i].ix * p->x_pixel);
        t->y[i] = y + (b * p->y_image + oy * p->y_row + ox * p->y_pixel);
        t->r[i] = r != NULL ? r + (b * p->r_image + oy * p->r_row + ox * p->r_pixel) : NULL;
        if (++ox == p->ow) ox = 0, oy++;
        if (oy == p->oh) oy = 0, b++;
    }
}

/* Turns n channels of HN_VL pixels, 0 < n <= HN_VL; *odd: a lane is not 0 where one is not finite. */
HN_INLINE void turn_square(const float *const *from, int64_t c, int64_t n, float *to, hn_vf *odd) {
    hn_vf square[HN_VL];
    for (int i = 0; i < HN_VL; i++) square[i] = hn_v_load_part(from[i] + c, n);
    hn_v_transpose(square);
    for (int i = 0; i < n; i++) {
        *odd = hn_v_or(*odd, hn_v_sub(square[i], square[i]));
        hn_v_store(to + i * PIXELS, square[i]);
    }
}

/* Channels [c, c + n) of a tap, to x[channel][pixel]. */
static void turn_tap(const hn_conv_f32 *p, const tile *t, int64_t tap, int64_t c, int64_t n,
                     const float *zeros, float *x, hn_vf *odd) {
    int64_t dy = tap / p->kw * p->dh, dx = tap % p->kw * p->dw;
    int64_t offset = dy * p->x_row + dx * p->x_pixel + c;
    for (int v = 0; v < t->vectors; v++) {
        const float *from[HN_VL];
        for (int i = 0; i < HN_VL; i++) {
            int q = v * HN_VL + i;
            bool inside = q < t->n && t->at[q].iy + dy >= 0 && t->at[q].iy + dy < p->h &&
                          t->at[q].ix + dx >= 0 && t->at[q].ix + dx < p->w;
            from[i] = inside ? t->at[q].x + offset : zeros;
        }
        int64_t i = 0;
        for (; i + HN_VL <= n; i += HN_VL)
            turn_square(from, i, HN_VL, x + i * PIXELS + v * HN_VL, odd);
        if (i < n) turn_square(from, i, n - i, x + i * PIXELS + v * HN_VL, odd);
    }
}

/* Turns what the tile meets in pass [begin, end). */
static void turn_x(const hn_conv_f32 *p, tile *t, int64_t begin, int64_t end,
                   const lane_room *room) {
    hn_vf odd = hn_v_set1(0.0f);
    for (int64_t k = begin, n; k < end; k += n) {
        n = hn_least(end - k, p->c - k % p->c);
        turn_tap(p, t, k / p->c, k % p->c, n, room->zeros, room->x + (k - begin) * PIXELS, &odd);
    }
    t->finite = !hn_vm_any(hn_v_isnan(odd));
    if (t->finite) return;
    for (int i = 0; i < t->n; i++) {
        t->not_finite[i] = 0;
        for (int64_t k = 0; k < end - begin; k++)
            t->not_finite[i] += !isfinite(room->x[k * PIXELS + i]);
    }
}

/* A cell and what it meets. */
typedef struct meeting {
    const cell *cell;
    const group *groups;
    const uint16_t *outputs, *places;
    const float *values, *x;
    const float *bias; /* of the shard's outputs, or NULL */
    bool starts;       /* there are no sums yet */
    float *sums;       /* [output][pixel] */
} meeting;

/* `rows` outputs of n weights each. */
HN_INLINE void sum_outputs(const meeting *m, const uint16_t *outputs, const uint16_t *places,
                           const float *values, int64_t n, const int rows, const int vectors) {
    hn_vf sum[VECTORS * VECTORS];
    for (int r = 0; r < rows; r++) {
        const float *from = m->sums + outputs[r] * PIXELS;
        float bias = m->bias != NULL ? m->bias[outputs[r]] : 0;
        for (int v = 0; v < vectors; v++)
            sum[r * vectors + v] = m->starts ? hn_v_set1(bias) : hn_v_load(from + v * HN_VL);
    }
    for (int64_t i = 0; i < n; i++)
#pragma GCC unroll 4
        for (int r = 0; r < rows; r++) {
            const float *x = (const float *)(const void *)((const char *)m->x + places[r * n + i]);
            hn_vf w = hn_v_set1(values[r * n + i]);
#pragma GCC unroll 8
            for (int v = 0; v < vectors; v++)
                sum[r * vectors + v] = hn_v_fma(w, hn_v_load(x + v * HN_VL), sum[r * vectors + v]);
        }
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < vectors; v++)
            hn_v_store(m->sums + outputs[r] * PIXELS + v * HN_VL, sum[r * vectors + v]);
}

/* All outputs of a cell, `rows` at once where so many have as many weights. */
HN_INLINE void sum_cell(const meeting *m, const int rows, const int vectors) {
    const uint16_t *outputs = m->outputs, *places = m->places;
    const float *values = m->values;
    for (int64_t i = 0; i < m->cell->groups; i++) {
        int64_t n = m->groups[i].weights, left = m->groups[i].outputs;
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
static sum_fn *const sums_by_vectors[VECTORS] = {sum_1, sum_2, sum_3, sum_4, sum_5, sum_6};
#else
static sum_fn *const sums_by_vectors[VECTORS] = {sum_1, sum_2, sum_3, sum_4};
#endif

/* Makes NaN what the product of 0 and a number that is not finite belongs to. */
static void spoil(const meeting *m, const tile *t) {
    const uint16_t *output = m->outputs, *place = m->places;
    for (int64_t i = 0; i < m->cell->groups; i++)
        for (int64_t k = 0; k < m->groups[i].outputs; k++, output++) {
            for (int q = 0; q < t->n; q++) {
                int met = 0;
                for (int64_t j = 0; j < m->groups[i].weights && t->not_finite[q] > 0; j++)
                    met += !isfinite(m->x[place[j] / 4 + q]);
                if (met < t->not_finite[q]) m->sums[*output * PIXELS + q] = NAN;
            }
            place += m->groups[i].weights;
        }
}

/* Sums of a shard begin with bias + r. */
static void start(const tile *t, const float *bias, int64_t column, int64_t outputs, float *sums) {
    for (int v = 0; v < t->vectors; v++)
        for (int64_t o = 0; o < outputs; o += HN_VL) {
            int64_t n = hn_least(HN_VL, outputs - o);
            hn_vf square[HN_VL], add = hn_v_set1(0.0f);
            if (bias != NULL) add = hn_v_load_n(bias + column + o, n);
            for (int i = 0; i < HN_VL; i++) {
                int q = v * HN_VL + i;
                square[i] = q < t->n ? hn_v_add(add, hn_v_load_n(t->r[q] + column + o, n)) : add;
            }
            hn_v_transpose(square);
            for (int i = 0; i < HN_VL; i++)
                hn_v_store(sums + (o + i) * PIXELS + v * HN_VL, square[i]);
        }
}

/* Writes the results of a shard. */
static void finish(const hn_conv_f32 *p, const tile *t, int64_t column, int64_t outputs,
                   const float *sums) {
    bool clip = p->act.kind == HN_ACT_CLIP;
    hn_vf lo = hn_v_set1(clip ? p->act.a : -INFINITY), hi = hn_v_set1(clip ? p->act.b : INFINITY);
    for (int v = 0; v < t->vectors; v++)
        for (int64_t o = 0; o < outputs; o += HN_VL) {
            int64_t n = hn_least(HN_VL, outputs - o);
            hn_vf square[HN_VL];
            for (int i = 0; i < HN_VL; i++)
                square[i] = hn_v_load(sums + (o + i) * PIXELS + v * HN_VL);
            hn_v_transpose(square);
            for (int i = 0; i < HN_VL && v * HN_VL + i < t->n; i++) {
                hn_vf y = hn_v_min(hi, hn_v_max(lo, square[i]));
                hn_v_store_part(t->y[v * HN_VL + i] + column + o, y, n);
            }
        }
    if (p->act.kind != HN_ACT_NONE && !clip) act_tile(&p->act, t->y, t->n, column, outputs);
}

/* One tile by shards [begin, end). */
static void run_tile(const hn_call *call, const geometry *g, tile *t, int64_t begin, int64_t end,
                     const lane_room *room) {
    const hn_conv_f32 *p = call->problem;
    const float *bias = call->ptr[HN_CONV_BIAS];
    bool adds = call->ptr[HN_CONV_R] != NULL;
    packed w = parts_of(g, call->ptr[HN_CONV_W]);
    for (int64_t pass = 0; pass < g->passes; pass++) {
        turn_x(p, t, pass_begin(g, pass), pass_begin(g, pass + 1), room);
        for (int64_t shard = begin; shard < end; shard++) {
            int64_t number = shard * g->passes + pass, column = shard * SHARD;
            int64_t outputs = shard_outputs(p, shard);
            meeting m = {.cell = &w.cells[number],
                         .groups = w.groups + number * GROUPS,
                         .outputs = w.outputs + number * SHARD,
                         .places = w.places + w.cells[number].first,
                         .values = w.values + w.cells[number].first,
                         .x = room->x,
                         .bias = bias != NULL ? bias + column : NULL,
                         .starts = pass == 0 && !adds,
                         .sums = room->sums};
            if (g->passes > 1) m.sums += (shard - begin) * SHARD * PIXELS;
            if (pass == 0 && adds) start(t, bias, column, outputs, m.sums);
            sums_by_vectors[t->vectors - 1](&m);
            if (!t->finite) spoil(&m, t);
            if (pass + 1 == g->passes) finish(p, t, column, outputs, m.sums);
        }
    }
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase;
    const hn_conv_f32 *p = call->problem;
    const geometry g = measure(p);
    lane_room room = {.x = lane};
    room.sums = room.x + DEPTH * PIXELS;
    room.zeros = room.sums + sums_of(p, &g);
    memset(room.zeros, 0, DEPTH * sizeof(float));
    while (begin < end) {
        tile t;
        int64_t number = begin / g.shards, shard = begin % g.shards;
        int64_t stop = hn_least(g.shards, shard + end - begin);
        place(p, &g, call->ptr, number, &t);
        run_tile(call, &g, &t, shard, stop, &room);
        begin += stop - shard;
    }
}

/* ---- choosing ------------------------------------------------------------------------------- */

static bool ok(const void *problem, const char **why) {
    const hn_conv_f32 *p = problem;
    if (p->w_zeros == 0) return *why = "weights are not known to be sparse", false;
    if (!hn_conv_stored_f32(p, why)) return false;
    if (p->groups != 1) return *why = "groups", false;
    if (p->x_channel != 1) return *why = "the channels of x are not adjacent", false;
    return true;
}

const hn_kernel HN_V_ROW(conv_f32_sparse) = {.name = HN_V_NAME "_sparse",
                                             .isa = HN_V_ISA,
#ifdef HN_V_FMA
                                             .order = "fma",
#else
                                             .order = "f32",
#endif
                                             .ok = ok,
                                             .work = work,
                                             .run = run,
                                             .packed_bytes = packed_bytes,
                                             .pack_key = pack_key,
                                             .pack = pack};

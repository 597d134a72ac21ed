/* recurrent_f32 over the vector vocabulary; with RECURRENT_Q8, and ROW, NAME and ISA, recurrent_q8.
 *
 * Units go in groups, whose products with R stay in registers until the new state is made of them:
 * the four gates of one vector of units (LSTM), the three of one (GRU with linear_before_reset),
 * two gates and then the third of two vectors (other GRUs), or four vectors of one gate (RNN). R is
 * packed so that a group reads it in one stream, once per tile of at most ROWS sequences:
 *
 *   [dirs][groups][parts][k][vectors of the part][HN_VL]
 *
 * What a step costs is this stream: R out of the L2 cache for a sequence or two, multiplications
 * for more.
 *
 * The states h before and after a step are two buffers that change places. There are two ways to
 * cut the work, which give the same bits. A task is some tiles of sequences in one direction, all
 * steps of them: nothing waits for anything, and its tiles share what they read of R. Or a task is a
 * group of units, and a phase a step (or one of its two parts), after a first phase that fetches the
 * initial states. That is for steps long enough to be worth meeting after, when there are fewer
 * tasks of the first kind than lanes, or their tiles would not be full.
 */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/least.h"
#include "kernels/act_simd.h"
#include "kernels/conv_f32/conv_f32_columns.h"
#include "kernels/recurrent_f32/recurrent_f32.h"

#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 24")
#endif

/* Whether tiles are made smaller so that all lanes have one. */
#ifdef RECURRENT_Q8
#define SPLITS_TILES true
#else
#define SPLITS_TILES false
#endif

/* Sequences of a tile at most, 6 or 12: what 16 or 32 registers hold. */
#ifndef ROWS
#define ROWS 6
#endif

/* Multiplications of a step from which on lanes gain more by sharing it than the meeting after it
 * costs, about a microsecond. */
#ifndef STEP_MACS
#define STEP_MACS 100000
#endif

enum {
    WIDE = 4,   /* vectors of a group in one part */
    STATES = 4, /* arrays of a direction's state, see there */
    /* Products of a step from which on meeting after it costs less than tiles that are not full. */
    LONG_STEP_MACS = 1000000,
};

/* ---- how a problem falls into groups, parts and tiles ---- */

static bool two_parts(const hn_recurrent_f32 *p) {
    return p->kind == HN_RECURRENT_GRU && !p->linear_before_reset;
}

/* Vectors of units in a group. */
static int units_of(const hn_recurrent_f32 *p) {
    return p->kind == HN_RECURRENT_RNN ? 4 : two_parts(p) ? 2 : 1;
}

/* Gates of a part; those of the second part come after those of the first. */
static int gates_of(const hn_recurrent_f32 *p, int part) {
    return two_parts(p) ? 2 - part : hn_recurrent_gates(p->kind);
}

static int64_t groups_of(const hn_recurrent_f32 *p) {
    int64_t units = units_of(p) * HN_VL;
    return (p->hidden + units - 1) / units;
}

/* Tiles of each direction; with 8-bit weights more than there must be, where lanes would have none:
 * R takes little time to read twice. */
static int64_t tiles_of(const hn_recurrent_f32 *p, int lanes) {
    int64_t least = (p->batch + ROWS - 1) / ROWS, wanted = (lanes + p->dirs - 1) / p->dirs;
    if (!SPLITS_TILES || wanted <= least) return least;
    return wanted < p->batch ? wanted : p->batch;
}

/* Tasks of each direction, where a task is some of its tiles: no more than lanes can take at once. */
static int64_t shares_of(const hn_recurrent_f32 *p, int lanes) {
    return hn_least(tiles_of(p, lanes), (lanes + p->dirs - 1) / p->dirs);
}

static int64_t pitch_of(const hn_recurrent_f32 *p) { return groups_of(p) * units_of(p) * HN_VL; }

/* ---- cells ---- */

/* One vector of units of one sequence at one step. */
typedef struct cell {
    const hn_recurrent_f32 *p;
    const hn_act *act;
    const hn_vf *sum;             /* of each gate of the part */
    const float *x, *bias, *peep; /* at its first unit; bias and peep may be NULL */
    int64_t n;                    /* lanes that are units */
    const float *was;             /* h before the step */
    float *h, *c,
        *rh; /* whole vectors; of a GRU c holds z before its activation, of an LSTM rh o */
    float *y, *yh, *yc; /* NULL: not to be written */
} cell;

static hn_vf other_act(const hn_act *act, hn_vf x) {
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

HN_INLINE hn_vf activate(const hn_act *act, hn_vf x) {
    if (act->kind == HN_ACT_SIGMOID) return hn_v_sigmoid(x);
    if (act->kind == HN_ACT_TANH) return hn_v_tanh(x);
    return other_act(act, x);
}

HN_INLINE hn_vf clipped(const cell *c, hn_vf x) {
    float most = c->p->clip;
    return most < INFINITY ? hn_v_min(hn_v_set1(most), hn_v_max(hn_v_set1(-most), x)) : x;
}

HN_INLINE hn_vf limited(const cell *c, int which, hn_vf x) {
    return activate(&c->act[which], clipped(c, x));
}

/* The same of f, with 1 less that: where a gate is about 1, not what rounding leaves of it. */
HN_INLINE hn_vf gate_and_rest(const cell *c, hn_vf x, hn_vf *rest) {
    if (c->act[0].kind == HN_ACT_SIGMOID) return hn_v_sigmoid_rest(clipped(c, x), rest);
    hn_vf y = limited(c, 0, x);
    *rest = hn_v_sub(hn_v_set1(1.0f), y);
    return y;
}

/* The bias of a gate, from the input's side (0) or that of h (1). */
HN_INLINE hn_vf bias(const cell *c, int side, int gate) {
    int64_t n = c->p->hidden, gates = hn_recurrent_gates(c->p->kind);
    if (c->bias == NULL) return hn_v_set1(0.0f);
    return hn_v_load_part(c->bias + (side * gates + gate) * n, c->n);
}

HN_INLINE hn_vf from_input(const cell *c, int gate) {
    return hn_v_add(hn_v_load_part(c->x + gate * c->p->hidden, c->n), bias(c, 0, gate));
}

/* What a gate gets from the input and from h. */
HN_INLINE hn_vf gate_of(const cell *c, int gate) {
    return hn_v_add(from_input(c, gate), hn_v_add(c->sum[gate], bias(c, 1, gate)));
}

HN_INLINE hn_vf peephole(const cell *c, int which, hn_vf state, hn_vf v) {
    if (c->peep == NULL) return v;
    return hn_v_fma(hn_v_load_part(c->peep + which * c->p->hidden, c->n), state, v);
}

/* v times the gate f(x). */
HN_INLINE hn_vf gated(const cell *c, hn_vf v, hn_vf x) {
    if (c->act[0].kind == HN_ACT_SIGMOID) return hn_v_gate(v, clipped(c, x));
    return hn_v_mul(v, limited(c, 0, x));
}

/* The new c, and o. */
HN_INLINE hn_vf lstm_gates(const cell *c, hn_vf *o) {
    hn_vf s = hn_v_load(c->c), i = peephole(c, 0, s, gate_of(c, 0));
    hn_vf v = limited(c, 1, gate_of(c, 3));
    if (c->p->input_forget) {
        hn_vf keep, take = gate_and_rest(c, i, &keep);
        s = hn_v_fma(keep, s, hn_v_mul(take, v));
    } else {
        s = hn_v_add(gated(c, s, peephole(c, 2, s, gate_of(c, 2))), gated(c, v, i));
    }
    hn_v_store(c->c, s);
    *o = gated(c, hn_v_set1(1.0f), peephole(c, 1, s, gate_of(c, 1)));
    return s;
}

static void lstm(const cell *c) {
    hn_vf o, s = lstm_gates(c, &o);
    hn_v_store(c->h, hn_v_mul(o, activate(&c->act[2], s)));
}

/* Several cells at once, in two rounds: h of one would wait for its c. */
static void lstms(const cell *cells, int n) {
    for (int i = 0; i < n; i++) {
        hn_vf o;
        lstm_gates(&cells[i], &o);
        hn_v_store(cells[i].rh, o);
    }
    for (int i = 0; i < n; i++) {
        const cell *c = &cells[i];
        hn_v_store(c->h, hn_v_mul(hn_v_load(c->rh), activate(&c->act[2], hn_v_load(c->c))));
    }
}

/* h = (1 - z)*v + z*h, z given before its activation. */
HN_INLINE void blend(const cell *c, hn_vf gate, hn_vf v) {
    hn_vf rest, z = gate_and_rest(c, gate, &rest);
    hn_v_store(c->h, hn_v_fma(z, hn_v_load(c->was), hn_v_mul(rest, v)));
}

static void gru_linear(const cell *c) {
    hn_vf r = limited(c, 0, gate_of(c, 1));
    hn_vf v = hn_v_fma(r, hn_v_add(c->sum[2], bias(c, 1, 2)), from_input(c, 2));
    blend(c, gate_of(c, 0), limited(c, 1, v));
}

static void gru_gates(const cell *c) {
    hn_v_store(c->c, gate_of(c, 0));
    hn_v_store(c->rh, hn_v_mul(limited(c, 0, gate_of(c, 1)), hn_v_load(c->was)));
}

static void gru_state(const cell *c) {
    hn_vf v = hn_v_add(from_input(c, 2), hn_v_add(c->sum[0], bias(c, 1, 2)));
    blend(c, hn_v_load(c->c), limited(c, 1, v));
}

static void rnn(const cell *c) { hn_v_store(c->h, limited(c, 0, gate_of(c, 0))); }

static void compute(const hn_recurrent_f32 *p, int part, const cell *cells, int n) {
    if (p->kind == HN_RECURRENT_LSTM && n == 1)
        lstm(cells);
    else if (p->kind == HN_RECURRENT_LSTM)
        lstms(cells, n);
    for (int i = 0; i < n && p->kind == HN_RECURRENT_RNN; i++) rnn(&cells[i]);
    for (int i = 0; i < n && p->kind == HN_RECURRENT_GRU; i++)
        (p->linear_before_reset ? gru_linear : part == 0 ? gru_gates : gru_state)(&cells[i]);
}

/* ---- steps ---- */

static int64_t length_of(const hn_call *call, int64_t b) {
    const hn_recurrent_f32 *p = call->problem;
    const int32_t *lengths = call->ptr[HN_RECURRENT_LENGTHS];
    int64_t n = lengths != NULL ? lengths[b] : p->steps;
    return n < 0 ? 0 : n > p->steps ? p->steps : n;
}

/* The states, [batch][pitch] each: h before and after step s, c or z, r*h or o. */
typedef struct states {
    float *was, *h, *c, *rh;
    int64_t pitch;
} states;

static size_t state_bytes(const hn_recurrent_f32 *p) {
    return (size_t)(STATES * p->dirs * p->batch * pitch_of(p)) * sizeof(float);
}

static states states_of(const hn_call *call, int64_t d, int64_t s) {
    const hn_recurrent_f32 *p = call->problem;
    int64_t pitch = pitch_of(p), each = p->batch * pitch, all = p->dirs * each;
    float *first = (float *)call->scratch + d * each;
    return (states){.was = first + (s % 2) * all,
                    .h = first + (s + 1) % 2 * all,
                    .c = first + 2 * all,
                    .rh = first + 3 * all,
                    .pitch = pitch};
}

static uint64_t pack_key(const void *problem) {
    const hn_recurrent_f32 *p = problem;
    return (uint64_t)p->hidden << 8 | (uint64_t)p->kind << 4 | (uint64_t)two_parts(p) << 2 |
           (uint64_t)p->dirs;
}

/* A task packs a group of a direction. */
static int64_t pack_tasks(const void *problem) {
    const hn_recurrent_f32 *p = problem;
    return p->dirs * groups_of(p);
}

/* R and the products with it; these have
 *
 *   packed_bytes, pack
 *   h_bytes         bytes that h takes in the form products want, of all sequences
 *   prepare         writes that form, before the products of one part of a step, of some sequences
 *   multiply        one part of a group of R by h of some sequences, a tile at most
 *   begin_products  before the first of them in a thread, with the sequences of the largest tile
 *   end_products    after the last
 *
 * Tasks that are tiles have the prepared h of their own sequences, after the states. Tasks that are
 * groups of units each need that of all sequences, and every lane prepares it for itself. */
#ifdef RECURRENT_Q8
#include "kernels/recurrent_q8/recurrent_q8_product_body.h"
#else
#include "kernels/recurrent_f32/recurrent_f32_product_body.h"
#endif

/* Writes units of a state to an output that may be absent. */
HN_INLINE void put(float *to, const float *v, int64_t n) {
    if (to != NULL) hn_v_store_part(to, hn_v_load(v), n);
}

/* An output at that place. */
HN_INLINE float *at_place(float *output, int64_t place) {
    return output != NULL ? output + place : NULL;
}

static void load_units(float *to, const float *from, const hn_recurrent_state *at, int64_t d,
                       int64_t b, int64_t unit, int64_t n) {
    for (int64_t j = 0; j < HN_VL; j++)
        to[j] = from != NULL && j < n ? from[d * at->dir + b * at->row + (unit + j) * at->unit] : 0;
}

/* The initial states of a group of units of some sequences. */
static void begin(const hn_call *call, int64_t d, int64_t group, int64_t row, int64_t end) {
    const hn_recurrent_f32 *p = call->problem;
    states s = states_of(call, d, 0);
    int units = units_of(p);
    for (int64_t b = row; b < end; b++) {
        const int32_t *lengths = call->ptr[HN_RECURRENT_LENGTHS];
        int32_t *outside = call->ptr[HN_RECURRENT_OUTSIDE];
        int64_t length = length_of(call, b);
        if (lengths != NULL && lengths[b] != length && outside != NULL)
            __atomic_store_n(outside, 1, __ATOMIC_RELAXED);
        for (int u = 0; u < units; u++) {
            int64_t unit = (group * units + u) * HN_VL, at = b * s.pitch + unit;
            int64_t n = p->hidden - unit < HN_VL ? p->hidden - unit : HN_VL;
            load_units(s.was + at, call->ptr[HN_RECURRENT_H0], &p->h0, d, b, unit, n);
            hn_v_store(s.h + at, hn_v_load(s.was + at)); /* what a sequence without steps keeps */
            if (p->kind == HN_RECURRENT_LSTM)
                load_units(s.c + at, call->ptr[HN_RECURRENT_C0], &p->c0, d, b, unit, n);
            if (length > 0 || n <= 0) continue;
            int64_t place = d * p->out_dir + b * p->out_row + unit;
            put(at_place(call->ptr[HN_RECURRENT_YH], place), s.was + at, n);
            put(at_place(call->ptr[HN_RECURRENT_YC], place), s.c + at, n);
        }
    }
}

/* The cells of one part of step s for sequence b; returns how many. */
static int cells_of(const hn_call *call, const states *st, int64_t s, int part, int64_t d,
                    int64_t b, int64_t group, const hn_vf *sum, cell *cells) {
    const hn_recurrent_f32 *p = call->problem;
    int64_t length = length_of(call, b), gates = hn_recurrent_gates(p->kind) * p->hidden;
    int64_t time = (p->backwards || d == 1) && s < length ? length - 1 - s : s;
    int64_t x_at = time * p->x_step + b * p->x_row + d * gates;
    int64_t y_at = time * p->y_step + d * p->y_dir + b * p->y_row;
    int64_t last_at = d * p->out_dir + b * p->out_row;
    const float *x = call->ptr[HN_RECURRENT_X], *biases = call->ptr[HN_RECURRENT_B];
    const float *peep = call->ptr[HN_RECURRENT_P];
    float *y = call->ptr[HN_RECURRENT_Y];
    bool writes = part == two_parts(p), ends = writes && s == length - 1;
    int n = 0, units = units_of(p);
    for (int u = 0; u < units; u++) {
        int64_t unit = (group * units + u) * HN_VL, at = b * st->pitch + unit;
        int64_t left = p->hidden - unit < HN_VL ? p->hidden - unit : HN_VL;
        if (left <= 0) break;
        if (s >= length) {
            if (writes && y != NULL) hn_v_store_part(y + y_at + unit, hn_v_set1(0.0f), left);
            continue;
        }
        cells[n++] =
            (cell){.p = p,
                   .act = p->act[d],
                   .sum = sum + u * gates_of(p, part),
                   .x = x + x_at + unit,
                   .bias = biases != NULL ? biases + d * 2 * gates + unit : NULL,
                   .peep = peep != NULL ? peep + d * 3 * p->hidden + unit : NULL,
                   .n = left,
                   .was = st->was + at,
                   .h = st->h + at,
                   .c = st->c + at,
                   .rh = st->rh + at,
                   .y = writes ? at_place(y, y_at + unit) : NULL,
                   .yh = ends ? at_place(call->ptr[HN_RECURRENT_YH], last_at + unit) : NULL,
                   .yc = ends ? at_place(call->ptr[HN_RECURRENT_YC], last_at + unit) : NULL};
    }
    return n;
}

/* What the input gives a cell: it comes from a cache far away, while products are made. */
static void fetch_input(const cell *c) {
    int gates = hn_recurrent_gates(c->p->kind);
    for (int i = 0; i < gates; i++) __builtin_prefetch(c->x + i * c->p->hidden);
}

/* One part of step s for a group of units of some sequences, a tile at most. */
static void step(const hn_call *call, void *prepared, int64_t s, int part, int64_t d, int64_t group,
                 int64_t row, int64_t end) {
    const hn_recurrent_f32 *p = call->problem;
    states st = states_of(call, d, s);
    hn_vf sum[ROWS][WIDE];
    cell cells[ROWS * WIDE];
    int n = 0;
    for (int64_t b = row; b < end; b++)
        n += cells_of(call, &st, s, part, d, b, group, sum[b - row], cells + n);
    if (n == 0) return;
    for (int i = 0; i < n; i++) fetch_input(&cells[i]);
    multiply(call, prepared, &st, part, d, group, row, end, sum);
    compute(p, part, cells, n);
    for (int i = 0; i < n; i++) {
        put(cells[i].y, cells[i].h, cells[i].n);
        put(cells[i].yh, cells[i].h, cells[i].n);
        put(cells[i].yc, cells[i].c, cells[i].n);
    }
}

/* ---- tasks ---- */

/* Whether lanes that take sequences apart would have tiles that are neither full nor so small that a
 * product takes all vectors of a group at once, though together they would fill one. */
static bool wastes_tiles(const hn_recurrent_f32 *p, int lanes) {
    int64_t rows = p->batch / shares_of(p, lanes);
    return rows > ROWS / 2 && rows < ROWS && p->batch >= ROWS;
}

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_recurrent_f32 *p = problem;
    int64_t apart = p->dirs * shares_of(p, lanes), together = p->dirs * groups_of(p);
    int64_t macs = p->dirs * p->batch * hn_recurrent_gates(p->kind) * p->hidden * p->hidden;
    *w = (hn_work){.n_phases = 1, .tasks = {apart}};
    w->scratch = state_bytes(p) + h_bytes(p);
    bool apart_is_best = apart >= lanes && (macs < LONG_STEP_MACS || !wastes_tiles(p, lanes));
    if (apart_is_best || together <= apart || macs < STEP_MACS || p->steps > INT_MAX / 4) return;
    w->lane_scratch = h_bytes(p);
    w->n_phases = 1 + (int)p->steps * (1 + two_parts(p));
    for (int i = 0; i < HN_MAX_PHASES; i++) w->tasks[i] = together;
}

/* How the sequences of a direction are cut into tiles. */
typedef struct cut {
    int64_t tiles, rows; /* rows of each tile but the last; 0: of all about the same */
} cut;

/* For that many tasks in a direction. A task that takes all tiles is done sooner with full ones and
 * a rest: more sums hide the latency of each. A rest of one would be summed in another order. */
static cut cut_of(const hn_recurrent_f32 *p, int64_t shares) {
    bool full = shares == 1 && p->batch % ROWS != 1;
    return (cut){.tiles = tiles_of(p, (int)(shares * p->dirs)), .rows = full ? ROWS : 0};
}

/* Sequences of the largest tile. */
static int64_t largest_tile(const hn_recurrent_f32 *p, const cut *c) {
    return c->rows > 0 ? hn_least(c->rows, p->batch) : (p->batch + c->tiles - 1) / c->tiles;
}

/* The first sequence of a tile. */
static int64_t tile_row(const hn_recurrent_f32 *p, const cut *c, int64_t tile) {
    return c->rows > 0 ? hn_least(tile * c->rows, p->batch) : p->batch * tile / c->tiles;
}

/* One part of step s for a group of units, tiles [first, last) one after the other: the first
 * brings the group of R into L1. */
static void step_tiles(const hn_call *call, void *prepared, int64_t s, int part, int64_t d,
                       int64_t group, const cut *c, int64_t first, int64_t last) {
    for (int64_t i = first; i < last; i++)
        step(call, prepared, s, part, d, group, tile_row(call->problem, c, i),
             tile_row(call->problem, c, i + 1));
}

/* All steps of tiles [first, last) in one direction. */
static void run_tiles(const hn_call *call, int64_t d, const cut *c, int64_t first, int64_t last) {
    const hn_recurrent_f32 *p = call->problem;
    int64_t groups = groups_of(p), row = tile_row(p, c, first), end = tile_row(p, c, last);
    void *prepared = (char *)call->scratch + state_bytes(p);
    for (int64_t g = 0; g < groups; g++) begin(call, d, g, row, end);
    for (int64_t s = 0; s < p->steps; s++)
        for (int part = 0; part <= two_parts(p); part++) {
            prepare(call, prepared, s, part, d, row, end);
            for (int64_t g = 0; g < groups; g++)
                step_tiles(call, prepared, s, part, d, g, c, first, last);
        }
}

/* One part of step s for groups [first, last) of units, which are numbered through both directions,
 * of all sequences. */
static void run_groups(const hn_call *call, void *prepared, int64_t s, int part, const cut *c,
                       int64_t first, int64_t last) {
    const hn_recurrent_f32 *p = call->problem;
    int64_t groups = groups_of(p);
    for (int64_t i = first; i < last; i++) {
        if (i == first || i % groups == 0)
            prepare(call, prepared, s, part, i / groups, 0, p->batch);
        step_tiles(call, prepared, s, part, i / groups, i % groups, c, 0, c->tiles);
    }
}

static void run(const hn_call *call, int phase, int64_t first, int64_t last, void *lane) {
    const hn_recurrent_f32 *p = call->problem;
    bool together = call->work->n_phases > 1;
    int64_t groups = groups_of(p), shares = together ? 1 : call->work->tasks[0] / p->dirs;
    int parts = 1 + two_parts(p), at = phase - 1;
    cut c = cut_of(p, shares);
    if (together && phase == 0) {
        for (int64_t t = first; t < last; t++) begin(call, t / groups, t % groups, 0, p->batch);
        return;
    }
    begin_products(largest_tile(p, &c));
    if (together) run_groups(call, lane, at / parts, at % parts, &c, first, last);
    for (int64_t t = first; t < last && !together; t++)
        run_tiles(call, t / shares, &c, c.tiles * (t % shares) / shares,
                  c.tiles * (t % shares + 1) / shares);
    end_products();
}

#ifndef ROW
#define ROW HN_V_ROW(recurrent_f32)
#define NAME HN_V_NAME
#define ISA HN_V_ISA
#endif
#ifndef OK
#define OK NULL
#endif

const hn_kernel ROW = {.name = NAME,
                       .isa = ISA,
                       .order = NAME,
                       .ok = OK,
                       .work = work,
                       .run = run,
                       .packed_bytes = packed_bytes,
                       .pack_key = pack_key,
                       .pack_tasks = pack_tasks,
                       .pack = pack};

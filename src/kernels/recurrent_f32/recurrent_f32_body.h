/* recurrent_f32 over the vector vocabulary.
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
 * cut the work, which give the same bits:
 *   - a task is a tile of sequences in one direction, all steps of it; nothing waits for anything;
 *   - when there are fewer of those than lanes, and a step is long enough to be worth meeting
 * after: a task is a group of units, a phase is a step (or one of its two parts), after a first
 * phase that fetches the initial states.
 *
 * A sum runs through k in order; that of a tile of one sequence in two chains, even k and odd,
 * since one would wait for itself.
 */
#include <limits.h>
#include <math.h>

#include "kernels/act_simd.h"
#include "kernels/recurrent_f32/recurrent_f32.h"

#ifndef ROWS
#define ROWS 4 /* of a tile */
#endif

#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 24")
#endif

enum {
    MOST_ROWS = 6, /* of a tile, in any of the files */
    WIDE = 4,      /* vectors of a group in one part */
    STATES = 4,    /* arrays of a direction's state, see there */
    /* Products of a step from which on two lanes gain more than the meeting after it costs, about a
     * microsecond. */
    STEP_MACS = 100000,
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

static int64_t tiles_of(const hn_recurrent_f32 *p) { return (p->batch + ROWS - 1) / ROWS; }

static int64_t pitch_of(const hn_recurrent_f32 *p) { return groups_of(p) * units_of(p) * HN_VL; }

/* ---- R ---- */

static int64_t group_floats(const hn_recurrent_f32 *p) {
    return p->hidden * units_of(p) * hn_recurrent_gates(p->kind) * HN_VL;
}

static size_t packed_bytes(const void *problem) {
    const hn_recurrent_f32 *p = problem;
    return (size_t)(p->dirs * groups_of(p) * group_floats(p)) * sizeof(float);
}

static uint64_t pack_key(const void *problem) {
    const hn_recurrent_f32 *p = problem;
    return (uint64_t)p->hidden << 8 | (uint64_t)p->kind << 4 | (uint64_t)two_parts(p) << 2 |
           (uint64_t)p->dirs;
}

static void pack(const void *problem, const void *plain, void *dst) {
    const hn_recurrent_f32 *p = problem;
    int64_t n = p->hidden, all = hn_recurrent_gates(p->kind) * n;
    int units = units_of(p);
    float *to = dst;
    for (int64_t d = 0; d < p->dirs; d++)
        for (int64_t group = 0; group < groups_of(p); group++)
            for (int part = 0; part <= two_parts(p); part++) {
                int gates = gates_of(p, part), first = part * 2;
                for (int u = 0; u < units; u++)
                    for (int g = 0; g < gates; g++)
                        for (int lane = 0; lane < HN_VL; lane++) {
                            int64_t unit = (group * units + u) * HN_VL + lane;
                            int64_t from = d * all + (first + g) * n + unit;
                            float *at = to + (u * gates + g) * HN_VL + lane;
                            for (int64_t k = 0; k < n; k++, at += units * gates * HN_VL)
                                *at = unit < n ? ((const float *)plain)[from * n + k] : 0;
                        }
                to += n * units * gates * HN_VL;
            }
}

/* ---- products ---- */

/* sum[row] = h[row] . R for one part of a group; vectors and rows are constants. */
HN_INLINE void tile(const float *r, const float *h, int64_t pitch, int64_t n, int vectors, int rows,
                    hn_vf (*sum)[WIDE]) {
    hn_vf s[MOST_ROWS][WIDE];
    UNROLL for (int i = 0; i < rows; i++) {
        UNROLL for (int v = 0; v < vectors; v++) s[i][v] = hn_v_set1(0.0f);
    }
    for (int64_t k = 0; k < n; k++, r += vectors * HN_VL) {
        hn_vf x[MOST_ROWS];
        UNROLL for (int i = 0; i < rows; i++) x[i] = hn_v_set1(h[i * pitch + k]);
        UNROLL for (int v = 0; v < vectors; v++) {
            hn_vf w = hn_v_load(r + v * HN_VL);
            UNROLL for (int i = 0; i < rows; i++) s[i][v] = hn_v_fma(w, x[i], s[i][v]);
        }
    }
    UNROLL for (int i = 0; i < rows; i++) {
        UNROLL for (int v = 0; v < vectors; v++) sum[i][v] = s[i][v];
    }
}

HN_INLINE void tile_of_one(const float *r, const float *h, int64_t n, int vectors,
                           hn_vf (*sum)[WIDE]) {
    hn_vf even[WIDE], odd[WIDE];
    UNROLL for (int v = 0; v < vectors; v++) even[v] = odd[v] = hn_v_set1(0.0f);
    int64_t k = 0;
    for (; k + 2 <= n; k += 2, r += 2 * vectors * HN_VL) {
        hn_vf x0 = hn_v_set1(h[k]), x1 = hn_v_set1(h[k + 1]);
        UNROLL for (int v = 0; v < vectors; v++) {
            even[v] = hn_v_fma(hn_v_load(r + v * HN_VL), x0, even[v]);
            odd[v] = hn_v_fma(hn_v_load(r + (vectors + v) * HN_VL), x1, odd[v]);
        }
    }
    if (k < n) {
        hn_vf x = hn_v_set1(h[k]);
        UNROLL for (int v = 0; v < vectors; v++) even[v] =
            hn_v_fma(hn_v_load(r + v * HN_VL), x, even[v]);
    }
    UNROLL for (int v = 0; v < vectors; v++) sum[0][v] = hn_v_add(even[v], odd[v]);
}

HN_INLINE void tile_of_rows(const float *r, const float *h, int64_t pitch, int64_t n, int vectors,
                            int64_t rows, hn_vf (*sum)[WIDE]) {
    switch (rows) {
        case 1: tile_of_one(r, h, n, vectors, sum); break;
        case 2: tile(r, h, pitch, n, vectors, 2, sum); break;
#if ROWS > 2
        case 3: tile(r, h, pitch, n, vectors, 3, sum); break;
#endif
#if ROWS > 3
        case 4: tile(r, h, pitch, n, vectors, 4, sum); break;
        case 5: tile(r, h, pitch, n, vectors, 5, sum); break;
        case 6: tile(r, h, pitch, n, vectors, 6, sum); break;
#endif
    }
}

static void products(const float *r, const float *h, int64_t pitch, int64_t n, int vectors,
                     int64_t rows, hn_vf (*sum)[WIDE]) {
    if (vectors == 4)
        tile_of_rows(r, h, pitch, n, 4, rows, sum);
    else if (vectors == 3)
        tile_of_rows(r, h, pitch, n, 3, rows, sum);
    else
        tile_of_rows(r, h, pitch, n, 2, rows, sum);
}

/* ---- cells ---- */

/* One vector of units of one sequence at one step. */
typedef struct cell {
    const hn_recurrent_f32 *p;
    const hn_act *act;
    const float *x, *bias, *peep; /* at its first unit; bias and peep may be NULL */
    int64_t n;                    /* lanes that are units */
    const float *was;             /* h before the step, or r*h */
    float *h, *c, *rh;            /* whole vectors; of a GRU c holds z */
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

HN_INLINE hn_vf limited(const cell *c, int which, hn_vf x) {
    float most = c->p->clip;
    if (most < INFINITY) x = hn_v_min(hn_v_set1(most), hn_v_max(hn_v_set1(-most), x));
    return activate(&c->act[which], x);
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
HN_INLINE hn_vf gate_of(const cell *c, int gate, hn_vf sum) {
    return hn_v_add(from_input(c, gate), hn_v_add(sum, bias(c, 1, gate)));
}

HN_INLINE hn_vf peephole(const cell *c, int which, hn_vf state, hn_vf v) {
    if (c->peep == NULL) return v;
    return hn_v_fma(hn_v_load_part(c->peep + which * c->p->hidden, c->n), state, v);
}

static void lstm(const cell *c, const hn_vf *sum) {
    hn_vf s = hn_v_load(c->c), one = hn_v_set1(1.0f);
    hn_vf i = limited(c, 0, peephole(c, 0, s, gate_of(c, 0, sum[0])));
    hn_vf keep = c->p->input_forget ? hn_v_sub(one, i)
                                    : limited(c, 0, peephole(c, 2, s, gate_of(c, 2, sum[2])));
    hn_vf more = hn_v_mul(i, limited(c, 1, gate_of(c, 3, sum[3])));
    s = hn_v_fma(keep, s, more);
    hn_vf o = limited(c, 0, peephole(c, 1, s, gate_of(c, 1, sum[1])));
    hn_v_store(c->c, s);
    hn_v_store(c->h, hn_v_mul(o, activate(&c->act[2], s)));
}

/* h = (1 - z)*v + z*h */
HN_INLINE void blend(const cell *c, hn_vf z, hn_vf v) {
    hn_v_store(c->h, hn_v_fma(z, hn_v_load(c->was), hn_v_mul(hn_v_sub(hn_v_set1(1.0f), z), v)));
}

static void gru_linear(const cell *c, const hn_vf *sum) {
    hn_vf z = limited(c, 0, gate_of(c, 0, sum[0])), r = limited(c, 0, gate_of(c, 1, sum[1]));
    hn_vf v = hn_v_fma(r, hn_v_add(sum[2], bias(c, 1, 2)), from_input(c, 2));
    blend(c, z, limited(c, 1, v));
}

static void gru_gates(const cell *c, const hn_vf *sum) {
    hn_v_store(c->c, limited(c, 0, gate_of(c, 0, sum[0])));
    hn_v_store(c->rh, hn_v_mul(limited(c, 0, gate_of(c, 1, sum[1])), hn_v_load(c->was)));
}

static void gru_state(const cell *c, const hn_vf *sum) {
    blend(c, hn_v_load(c->c), limited(c, 1, gate_of(c, 2, sum[0])));
}

static void rnn(const cell *c, const hn_vf *sum) {
    hn_v_store(c->h, limited(c, 0, gate_of(c, 0, sum[0])));
}

/* ---- steps ---- */

static int64_t length_of(const hn_call *call, int64_t b) {
    const hn_recurrent_f32 *p = call->problem;
    const int32_t *lengths = call->ptr[HN_RECURRENT_LENGTHS];
    int64_t n = lengths != NULL ? lengths[b] : p->steps;
    return n < 0 ? 0 : n > p->steps ? p->steps : n;
}

/* The states, [batch][pitch] each: h before and after step s, c or z, r*h. */
typedef struct states {
    float *was, *h, *c, *rh;
    int64_t pitch;
} states;

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

/* Writes units of a state, or zeros, to an output that may be absent. */
HN_INLINE void put(float *to, int64_t at, const float *v, int64_t n) {
    if (to != NULL) hn_v_store_part(to + at, v != NULL ? hn_v_load(v) : hn_v_set1(0.0f), n);
}

/* The last states of one sequence, for one vector of units. */
static void put_last(const hn_call *call, int64_t d, int64_t b, int64_t unit, const float *h,
                     const float *c, int64_t n) {
    const hn_recurrent_f32 *p = call->problem;
    int64_t at = d * p->out_dir + b * p->out_row + unit;
    put(call->ptr[HN_RECURRENT_YH], at, h, n);
    put(call->ptr[HN_RECURRENT_YC], at, c, n);
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
            if (length == 0 && n > 0) put_last(call, d, b, unit, s.was + at, s.c + at, n);
        }
    }
}

/* One part of step s for one vector of units of sequence b. */
static void cell_step(const hn_call *call, const states *st, int64_t s, int part, int64_t d,
                      int64_t b, int64_t unit, const hn_vf *sum) {
    const hn_recurrent_f32 *p = call->problem;
    int64_t length = length_of(call, b), gates = hn_recurrent_gates(p->kind) * p->hidden;
    int64_t n = p->hidden - unit < HN_VL ? p->hidden - unit : HN_VL, at = b * st->pitch + unit;
    if (n <= 0) return;
    bool last = part == two_parts(p);
    int64_t time = (p->backwards || d == 1) && s < length ? length - 1 - s : s;
    if (s < length) {
        const float *x = call->ptr[HN_RECURRENT_X], *bias_at = call->ptr[HN_RECURRENT_B];
        const float *peep = call->ptr[HN_RECURRENT_P];
        cell c = {.p = p,
                  .act = p->act[d],
                  .x = x + time * p->x_step + b * p->x_row + d * gates + unit,
                  .bias = bias_at != NULL ? bias_at + d * 2 * gates + unit : NULL,
                  .peep = peep != NULL ? peep + d * 3 * p->hidden + unit : NULL,
                  .n = n,
                  .was = st->was + at,
                  .h = st->h + at,
                  .c = st->c + at,
                  .rh = st->rh + at};
        if (p->kind == HN_RECURRENT_LSTM)
            lstm(&c, sum);
        else if (p->kind == HN_RECURRENT_RNN)
            rnn(&c, sum);
        else if (p->linear_before_reset)
            gru_linear(&c, sum);
        else
            (part == 0 ? gru_gates : gru_state)(&c, sum);
        if (last && s == length - 1) put_last(call, d, b, unit, st->h + at, st->c + at, n);
    }
    if (last)
        put(call->ptr[HN_RECURRENT_Y], time * p->y_step + d * p->y_dir + b * p->y_row + unit,
            s < length ? st->h + at : NULL, n);
}

/* One part of step s for a group of units of some sequences, a tile at most. */
static void step(const hn_call *call, int64_t s, int part, int64_t d, int64_t group, int64_t row,
                 int64_t end) {
    const hn_recurrent_f32 *p = call->problem;
    states st = states_of(call, d, s);
    int units = units_of(p), gates = gates_of(p, part);
    const float *r = (const float *)call->ptr[HN_RECURRENT_R] +
                     (d * groups_of(p) + group) * group_floats(p) +
                     part * p->hidden * units * gates_of(p, 0) * HN_VL;
    hn_vf sum[MOST_ROWS][WIDE];
    products(r, (part == 0 ? st.was : st.rh) + row * st.pitch, st.pitch, p->hidden, units * gates,
             end - row, sum);
    for (int64_t b = row; b < end; b++)
        for (int u = 0; u < units; u++)
            cell_step(call, &st, s, part, d, b, (group * units + u) * HN_VL,
                      &sum[b - row][u * gates]);
}

/* ---- tasks ---- */

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_recurrent_f32 *p = problem;
    int64_t apart = p->dirs * tiles_of(p), together = p->dirs * groups_of(p);
    int64_t macs = p->dirs * p->batch * hn_recurrent_gates(p->kind) * p->hidden * p->hidden;
    *w = (hn_work){.n_phases = 1, .tasks = {apart}};
    w->scratch = (size_t)(STATES * p->dirs * p->batch * pitch_of(p)) * sizeof(float);
    if (apart >= lanes || together <= apart || macs < STEP_MACS || p->steps > INT_MAX / 4) return;
    w->n_phases = 1 + (int)p->steps * (1 + two_parts(p));
    for (int i = 0; i < HN_MAX_PHASES; i++) w->tasks[i] = together;
}

static void run_tile(const hn_call *call, int64_t d, int64_t row, int64_t end) {
    const hn_recurrent_f32 *p = call->problem;
    int64_t groups = groups_of(p);
    for (int64_t g = 0; g < groups; g++) begin(call, d, g, row, end);
    for (int64_t s = 0; s < p->steps; s++)
        for (int part = 0; part <= two_parts(p); part++)
            for (int64_t g = 0; g < groups; g++) step(call, s, part, d, g, row, end);
}

static void run(const hn_call *call, int phase, int64_t first, int64_t last, void *lane) {
    (void)lane;
    const hn_recurrent_f32 *p = call->problem;
    int64_t tiles = tiles_of(p), groups = groups_of(p);
    for (int64_t t = first; t < last && call->work->n_phases == 1; t++)
        run_tile(call, t / tiles, p->batch * (t % tiles) / tiles,
                 p->batch * (t % tiles + 1) / tiles);
    for (int64_t t = first; t < last && call->work->n_phases > 1; t++)
        for (int64_t i = 0; i < tiles; i++) {
            int64_t row = p->batch * i / tiles, end = p->batch * (i + 1) / tiles;
            int parts = 1 + two_parts(p), at = phase - 1;
            if (phase == 0)
                begin(call, t / groups, t % groups, row, end);
            else
                step(call, at / parts, at % parts, t / groups, t % groups, row, end);
        }
}

const hn_kernel HN_V_ROW(recurrent_f32) = {.name = HN_V_NAME,
                                           .isa = HN_V_ISA,
                                           .order = HN_V_NAME,
                                           .work = work,
                                           .run = run,
                                           .packed_bytes = packed_bytes,
                                           .pack_key = pack_key,
                                           .pack = pack};

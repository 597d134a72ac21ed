/* Convolution by weights of which most are 0; kernels/sparse_rows.h has the idea and the loops.
 *
 * Sums are added up in the same order as by the direct rows: bias + r, then one fused multiply-add
 * per weight. Those by 0 change no bit of a sum but, in rare cases, the sign of one that is 0. They
 * do where x is not finite: the product is NaN. Turning x sees such numbers, and then sums to which
 * one of them belongs that has no weight become NaN.
 */
#include "kernels/conv_f32/conv_f32.h"
#include "kernels/tile_f32/tile_f32_act.h"

typedef float unit;
typedef hn_vf sum_vector, turn_state;
#define SUM_SET1(u) hn_v_set1(u)
#define SUM_LOAD(p) hn_v_load(p)
#define SUM_STORE(p, s) hn_v_store(p, s)
#define MULTIPLY(u, p, s) hn_v_fma(hn_v_set1(u), hn_v_load(p), s)
/* Gathers lanes: not 0 where a number is not finite. */
#define TURNED(odd, v) (*(odd) = hn_v_or(*(odd), hn_v_sub(v, v)), v)

#include "kernels/sparse_rows.h"

static geometry measure(const hn_conv_f32 *p) {
    return measure_units(&p->windows, p->c, p->kh * p->kw * p->c * p->n - p->w_zeros);
}

/* ---- packing -------------------------------------------------------------------------------- */

static size_t packed_bytes(const void *problem) {
    geometry g = measure(problem);
    return packed_units_bytes(&g);
}

static uint64_t pack_key(const void *problem) {
    const hn_conv_f32 *p = problem;
    const int64_t facts[] = {PIXELS, DEPTH,  p->w_zeros, p->c,   p->n,  p->kh,
                             p->kw,  p->w_o, p->w_i,     p->w_y, p->w_x};
    return hn_pack_hash(facts, sizeof facts / sizeof *facts);
}

struct plain_weights {
    const hn_conv_f32 *p;
    const hn_any_f32 *w;
};

static bool fetch_unit(const plain_weights *from, int64_t output, int64_t tap, int64_t c,
                       unit *to) {
    const hn_conv_f32 *p = from->p;
    const hn_any_f32 *w = from->w + output * p->w_o + c * p->w_i;
    if (tap > 0) w += tap / p->kw * p->w_y + tap % p->kw * p->w_x;
    return (*to = *w) != 0;
}

static void pack(const void *problem, const hn_stored *plain, int64_t begin, int64_t end,
                 void *dst) {
    (void)begin, (void)end; /* one task */
    const hn_conv_f32 *p = problem;
    geometry g = measure(p);
    pack_units(&(plain_weights){p, plain->data}, &p->windows, &g, dst);
}

/* ---- running -------------------------------------------------------------------------------- */

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_conv_f32 *p = problem;
    (void)lanes;
    geometry g = measure(p);
    *w = (hn_work){.n_phases = 1,
                   .tasks = {g.tiles * g.shards},
                   .lane_scratch = lane_units(&p->windows, &g) * sizeof(unit)};
}

/* Makes NaN what the product of 0 and a number that is not finite belongs to. */
static void spoil(const meeting *m, const tile *t, int64_t depth) {
    int odd[PIXELS]; /* so many numbers of a pixel are not finite */
    for (int q = 0; q < t->n; q++) {
        odd[q] = 0;
        for (int64_t k = 0; k < depth; k++) odd[q] += !isfinite(m->x[k * PIXELS + q]);
    }
    const uint16_t *output = m->outputs, *at = m->places;
    for (int64_t i = 0; i < m->cell->groups; i++)
        for (int64_t o = 0; o < m->groups[i].outputs; o++, output++, at += m->groups[i].units)
            for (int q = 0; q < t->n; q++) {
                int met = 0;
                for (int64_t j = 0; j < m->groups[i].units && odd[q] > 0; j++)
                    met += !isfinite(m->x[at[j] / 4 + q]);
                if (met < odd[q]) m->sums[*output * PIXELS + q] = NAN;
            }
}

/* Sums of a shard begin with bias + r. */
static void start(const tile *t, const float *bias, const float *r, int64_t column, int64_t outputs,
                  float *to) {
    for (int v = 0; v < t->vectors; v++)
        for (int64_t o = 0; o < outputs; o += HN_VL) {
            int64_t n = hn_least(HN_VL, outputs - o);
            hn_vf square[HN_VL], add = hn_v_set1(0.0f);
            if (bias != NULL) add = hn_v_load_n(bias + column + o, n);
            for (int i = 0; i < HN_VL; i++) {
                int q = v * HN_VL + i;
                square[i] = add;
                if (q < t->n)
                    square[i] = hn_v_add(add, hn_v_load_part(r + t->r[q] + column + o, n));
            }
            hn_v_transpose(square);
            for (int i = 0; i < HN_VL; i++)
                hn_v_store(to + (o + i) * PIXELS + v * HN_VL, square[i]);
        }
}

/* Writes the results of a shard. */
static void finish(const hn_conv_f32 *p, const tile *t, int64_t column, int64_t outputs,
                   const float *from, float *y) {
    bool clip = p->act.kind == HN_ACT_CLIP;
    hn_vf lo = hn_v_set1(clip ? p->act.a : -INFINITY), hi = hn_v_set1(clip ? p->act.b : INFINITY);
    for (int v = 0; v < t->vectors; v++)
        for (int64_t o = 0; o < outputs; o += HN_VL) {
            int64_t n = hn_least(HN_VL, outputs - o);
            hn_vf square[HN_VL];
            for (int i = 0; i < HN_VL; i++)
                square[i] = hn_v_load(from + (o + i) * PIXELS + v * HN_VL);
            hn_v_transpose(square);
            for (int i = 0; i < HN_VL && v * HN_VL + i < t->n; i++)
                hn_v_store_part(y + t->y[v * HN_VL + i] + column + o,
                                hn_v_min(hi, hn_v_max(lo, square[i])), n);
        }
    if (p->act.kind == HN_ACT_NONE || clip) return;
    float *rows[PIXELS];
    for (int q = 0; q < t->n; q++) rows[q] = y + t->y[q];
    act_tile(&p->act, rows, t->n, column, outputs);
}

/* One tile by shards [begin, end). */
static void run_tile(const hn_call *call, const geometry *g, int64_t number, int64_t begin,
                     int64_t end, const lane_room *room) {
    const hn_conv_f32 *p = call->problem;
    const float *bias = call->ptr[HN_CONV_BIAS], *r = call->ptr[HN_CONV_R];
    packed w = parts_of(g, call->ptr[HN_CONV_W]);
    tile t;
    place(&p->windows, g, number, &t);
    for (int64_t pass = 0; pass < g->passes; pass++) {
        hn_vf odd = hn_v_set1(0.0f);
        turn_x(&p->windows, g, &t, call->ptr[HN_CONV_X], sizeof(float), pass, room->padding,
               room->x, &odd);
        for (int64_t shard = begin; shard < end; shard++) {
            int64_t column = shard * SHARD, outputs = shard_outputs(&p->windows, shard);
            meeting m = meeting_of(g, &w, shard, pass);
            m.x = room->x, m.sums = room->sums + sums_at(g, shard, begin);
            m.start = bias != NULL ? bias + column : NULL;
            m.starts = pass == 0 && r == NULL;
            if (pass == 0 && r != NULL) start(&t, bias, r, column, outputs, m.sums);
            sum_by_vectors[t.vectors - 1](&m);
            if (hn_vm_any(hn_v_isnan(odd)))
                spoil(&m, &t, pass_begin(g, pass + 1) - pass_begin(g, pass));
            if (pass + 1 == g->passes) finish(p, &t, column, outputs, m.sums, call->ptr[HN_CONV_Y]);
        }
    }
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase;
    const hn_conv_f32 *p = call->problem;
    const geometry g = measure(p);
    lane_room room = room_of(&p->windows, &g, lane);
    memset(room.padding, 0, DEPTH * sizeof *room.padding);
    while (begin < end) {
        int64_t shard = begin % g.shards, stop = hn_least(g.shards, shard + end - begin);
        run_tile(call, &g, begin / g.shards, shard, stop, &room);
        begin += stop - shard;
    }
}

/* ---- choosing ------------------------------------------------------------------------------- */

/* The share of a direct convolution's time that the fastest dense row takes: Winograd's needs fewer
 * multiplications, if there are enough pixels. */
static double dense_share(const hn_conv_f32 *p, int64_t pixels) {
    bool winograd =
        p->kh == 3 && p->kw == 3 && p->sh == 1 && p->sw == 1 && p->dh == 1 && p->dw == 1;
    if (!winograd || pixels < 128) return 1;
    return pixels < 512 ? 0.65 : 0.4;
}

static bool ok(const void *problem, const char **why) {
    const hn_conv_f32 *p = problem;
    if (p->w_zeros == 0) return *why = "weights are not known to be sparse", false;
    if (!hn_conv_stored_f32(p, why)) return false;
    if (p->groups != 1) return *why = "groups", false;
    if (p->x_channel != 1) return *why = "the channels of x are not adjacent", false;
    return true;
}

/* `least`: the share of a direct convolution's time that other rows take at best. */
static bool pays(const hn_conv_f32 *p, double least, const char **why) {
    const double margin = 0.85;
    geometry g = measure(p);
    /* Few pixels wait for dense weights: so many multiplications for one from memory, or from L2,
     * where a megabyte of them stays. */
    double weights = (double)g.k * (double)p->n, fetch = weights * 4 > 1 << 20 ? 12 : 3;
    double share = dense_share(p, g.pixels);
    double pixels = (double)g.pixels * (share < least ? share : least);
    double dense = weights * (pixels > fetch ? pixels : fetch);
    if (own_cost(&p->windows, &g) < margin * dense) return true;
    return *why = "too few for leaving them out to be faster", false;
}

#ifdef HN_V_FMA
#define ORDER "fma"
#else
#define ORDER "f32"
#endif

#define ROW(row, suffix, least)                                               \
    static bool pays_##row(const void *problem, const char **why) {           \
        return pays(problem, least, why);                                     \
    }                                                                         \
    const hn_kernel HN_V_ROW(conv_f32_##row) = {.name = HN_V_NAME "_" suffix, \
                                                .isa = HN_V_ISA,              \
                                                .order = ORDER,               \
                                                .sparse = true,               \
                                                .ok = ok,                     \
                                                .work = work,                 \
                                                .run = run,                   \
                                                .packed_bytes = packed_bytes, \
                                                .pack_key = pack_key,         \
                                                .pack = pack,                 \
                                                .pays = pays_##row};

ROW(sparse, "sparse", 1)
#if HN_VL == 16
/* The same where it is faster than AMX too, whose six products take so much less time. */
ROW(sparsest, "sparsest", 0.6)
#endif

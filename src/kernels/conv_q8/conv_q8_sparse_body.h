/* conv_q8 by weights of which most are 0; kernels/sparse_rows.h has the idea and the loops.
 *
 * A unit is four neighbouring channels of a tap: an instruction adds four products of bytes to each
 * s32. Units whose weights are all 0 are left out, which at 90 % zeros are two thirds of them if the
 * zeros lie anywhere, and more if they lie in blocks. Sums are exact, whatever their order.
 *
 * Packed weights begin with the sums of w' of every output (conv_q8_parts.h).
 *
 * The file that includes this has a vector vocabulary of src/simd, and
 *
 *   FLIP            the sign of x that the instruction wants: HN_Q8_U8 or HN_Q8_S8
 *   DOT(s, x, w)    the s32 of s and four products of bytes for each
 *   ROW, NAME, ISA  of the hn_kernel
 */
#ifdef DOT
#include "kernels/conv_q8/conv_q8_parts.h"

typedef int32_t unit;
typedef hn_vi sum_vector;
typedef hn_vf turn_state;
#define SUM_SET1(u) hn_vi_set1(u)
#define SUM_LOAD(p) hn_vi_load(p)
#define SUM_STORE(p, s) hn_v_store((float *)(void *)(p), hn_v_from_bits(s))
#define MULTIPLY(u, p, s) DOT(s, hn_vi_load(p), hn_vi_set1(u))
/* Bytes with their sign bits turned or not. */
#define TURNED(flip, v) hn_v_xor(v, *(flip))

#include "kernels/sparse_rows.h"

enum { KU = 4, WIDTH = HN_VB, NR = 2 * HN_VL };

#include "kernels/conv_q8/conv_q8_finish.h"

/* ---- packing -------------------------------------------------------------------------------- */

static int64_t count_weights(const hn_conv_q8 *p) { return p->kh * p->kw * p->c * p->n; }

/* Each weight that is not 0 may need a unit of its own. */
static geometry measure(const hn_conv_q8 *p) {
    int64_t all = count_weights(p);
    return measure_units(&p->windows, p->c / KU, hn_least(all / KU, all - p->w_zeros));
}

static size_t sums_bytes(const hn_conv_q8 *p) { return hn_q8_round64(p->n * 4); }

static size_t packed_bytes(const void *problem) {
    geometry g = measure(problem);
    return sums_bytes(problem) + packed_units_bytes(&g);
}

static uint64_t pack_key(const void *problem) {
    const hn_conv_q8 *p = problem;
    const int64_t facts[] = {PIXELS, DEPTH, p->w_zeros, p->w_type, p->c,   p->n,
                             p->kh,  p->kw, p->w_o,     p->w_i,    p->w_y, p->w_x};
    return hn_pack_hash(facts, sizeof facts / sizeof *facts);
}

struct plain_weights {
    const hn_conv_q8 *p;
    const void *w;
};

static bool fetch_unit(const plain_weights *from, int64_t output, int64_t tap, int64_t c,
                       unit *to) {
    const hn_conv_q8 *p = from->p;
    int64_t at = output * p->w_o + tap / p->kw * p->w_y + tap % p->kw * p->w_x + KU * c * p->w_i;
    int8_t four[KU];
    for (int i = 0; i < KU; i++) four[i] = hn_q8_weight(p, from->w, at + i * p->w_i);
    memcpy(to, four, sizeof four);
    return *to != 0;
}

static void pack(const void *problem, const hn_stored *plain, int64_t begin, int64_t end,
                 void *dst) {
    (void)begin, (void)end; /* one task */
    const hn_conv_q8 *p = problem;
    const plain_weights w = {p, plain->data};
    geometry g = measure(p);
    int32_t *sums_of_w = dst;
    memset(dst, 0, sums_bytes(p));
    for (int64_t o = 0; o < p->n; o++)
        for (int64_t tap = 0; tap < p->kh * p->kw; tap++)
            for (int64_t i = 0; i < p->c; i++)
                sums_of_w[o] += hn_q8_weight(
                    p, w.w, o * p->w_o + i * p->w_i + tap / p->kw * p->w_y + tap % p->kw * p->w_x);
    pack_units(&w, &p->windows, &g, (char *)dst + sums_bytes(p));
}

/* ---- running -------------------------------------------------------------------------------- */

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_conv_q8 *p = problem;
    (void)lanes;
    geometry g = measure(p);
    size_t units = lane_units(&p->windows, &g) + PIXELS * WIDTH + SHARD;
    *w = (hn_work){
        .n_phases = 1, .tasks = {g.tiles * g.shards}, .lane_scratch = units * sizeof(unit)};
}

static int32_t x_off(const hn_conv_q8 *p) {
    if (FLIP == (int)p->x) return 0;
    return FLIP == HN_Q8_U8 ? 128 : -128;
}

/* What the sums of a shard start with. */
static void start(const hn_q8_args *a, const int32_t *w_sums, int64_t column, int64_t outputs,
                  int32_t *to) {
    float scale[WIDTH];
    for (int64_t o = 0; o < outputs; o += WIDTH)
        hn_q8_begin(a, w_sums + column + o, x_off(a->p), column + o, hn_least(WIDTH, outputs - o),
                    to + o, scale);
}

/* Writes the results of a shard; turned: room for sums [pixel][WIDTH]. */
static void finish_shard(const hn_q8_args *a, const int32_t *w_sums, const tile *t, int64_t k,
                         int64_t column, int64_t outputs, const int32_t *from, int32_t *room) {
    for (int64_t o = 0; o < outputs; o += WIDTH) {
        int64_t n = hn_least(WIDTH, outputs - o);
        hn_q8_outputs to;
        begin_outputs(a, w_sums + column + o, x_off(a->p), k, column + o, n, &to);
        for (int64_t i = 0; i < n; i += HN_VL)
            for (int v = 0; v < t->vectors; v++) {
                hn_vf square[HN_VL];
                for (int j = 0; j < HN_VL; j++)
                    square[j] = hn_v_from_bits(hn_vi_load(from + (o + i + j) * PIXELS + v * HN_VL));
                hn_v_transpose(square);
                for (int j = 0; j < HN_VL; j++)
                    SUM_STORE(room + (v * HN_VL + j) * WIDTH + i, hn_v_bits(square[j]));
            }
        finish(&to, room, t->n, t->y, t->r, NULL);
    }
}

/* One tile by shards [begin, end). */
static void run_tile(const hn_call *call, const hn_q8_args *a, const geometry *g, int64_t number,
                     int64_t begin, int64_t end, const lane_room *room, int32_t *more) {
    const hn_conv_q8 *p = a->p;
    const int32_t *w_sums = call->ptr[HN_CONV_Q8_W];
    packed w = parts_of(g, (char *)call->ptr[HN_CONV_Q8_W] + sums_bytes(p));
    const hn_vf flip = hn_v_from_bits(hn_vi_set1(x_off(p) != 0 ? (int32_t)0x80808080 : 0));
    int32_t *starts = more + PIXELS * WIDTH;
    tile t;
    place(&p->windows, g, number, &t);
    for (int64_t pass = 0; pass < g->passes; pass++) {
        turn_state also = flip;
        turn_x(&p->windows, g, &t, a->x, 1, pass, room->padding, room->x, &also);
        for (int64_t shard = begin; shard < end; shard++) {
            int64_t column = shard * SHARD, outputs = shard_outputs(&p->windows, shard);
            meeting m = meeting_of(g, &w, shard, pass);
            m.x = room->x, m.sums = room->sums + sums_at(g, shard, begin);
            m.start = starts, m.starts = pass == 0;
            if (m.starts) start(a, w_sums, column, outputs, starts);
            sum_by_vectors[t.vectors - 1](&m);
            if (pass + 1 == g->passes)
                finish_shard(a, w_sums, &t, g->k * KU, column, outputs, m.sums, more);
        }
    }
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase;
    const hn_conv_q8 *p = call->problem;
    const hn_q8_args a = hn_q8_args_of(call);
    const geometry g = measure(p);
    lane_room room = room_of(&p->windows, &g, lane);
    int32_t *more = room.padding + DEPTH;
    memset(room.padding, a.xz & 0xff, DEPTH * sizeof *room.padding); /* turned like x */
    while (begin < end) {
        int64_t shard = hn_rest(begin, g.shards), stop = hn_least(g.shards, shard + end - begin);
        run_tile(call, &a, &g, hn_over(begin, g.shards), shard, stop, &room, more);
        begin += stop - shard;
    }
}

/* ---- choosing ------------------------------------------------------------------------------- */

static bool ok(const void *problem, const char **why) {
    const hn_conv_q8 *p = problem;
    if (p->w_zeros == 0) return *why = "weights are not known to be sparse", false;
    if (p->groups != 1) return *why = "groups", false;
    if (p->w_zero_points) return *why = "weights have zero points", false;
    if (p->c % KU != 0) return *why = "channels are no multiple of four", false;
    return true;
}

/* Dense rows take a quarter of the time of f32 for a product: that of a unit is the same. So many
 * units are kept as there would be if zeros lay anywhere. */
static bool pays(const void *problem, const char **why) {
    const double margin = 0.85;
    const hn_conv_q8 *p = problem;
    geometry g = measure(p);
    double zero = (double)p->w_zeros / (double)count_weights(p), units = (double)(g.k * p->n);
    g.kept = (int64_t)(units * (1 - zero * zero * zero * zero));
    double pixels = (double)g.pixels, fetch = units * KU > 1 << 20 ? 12 : 3;
    if (own_cost(&p->windows, &g) < margin * units * (pixels > fetch ? pixels : fetch)) return true;
    return *why = "too few for leaving them out to be faster", false;
}

const hn_kernel ROW = {.name = NAME "_sparse",
                       .isa = ISA,
                       .order = "exact",
                       .sparse = true,
                       .ok = ok,
                       .work = work,
                       .run = run,
                       .packed_bytes = packed_bytes,
                       .pack_key = pack_key,
                       .pack = pack,
                       .pays = pays};
#endif

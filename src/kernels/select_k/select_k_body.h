/* select_k by ranks: integers that are smaller the earlier an element comes.
 *
 *   k = 1, adjacent elements   the least rank of a line, block by block, then where it is in the
 *                              best block
 *   k = 1, lines side by side  a task goes down a strip of lines, keeping the best of each
 *   few of many lines          HN_VL lines at once, one per lane. A lane keeps its k best; those
 *                              that come after a newcomer move on by one
 *   otherwise                  line by line. Elements that may be among the k first are collected;
 *                              when there are several times k, they are sorted, the k first stay,
 *                              and from then on only what comes before the last of these counts.
 *                              Most chunks of a long line are then done with after one comparison
 */
#include <string.h>

#include "kernels/select_k/select_k.h"
#include "simd/part.h"

enum {
    STRIP = 64,         /* lines */
    CHUNK = 32,         /* elements */
    BLOCK = 256,        /* elements */
    FEW = 16,           /* the most that lanes keep */
    SHORT = 2048,       /* the longest lines that are worth reading across */
    MOST_BUCKETS = 2048 /* of a pass of the sort */
};

typedef enum way { ONE, STRIPS, LANES, FEW_LINES, LINES } way;

/* Whether elements, and so their ranks, take 64 bits. */
static bool is_wide(const hn_select_k *p) { return hone_dtype_bits(p->dtype) == 64; }

static way way_of(const hn_select_k *p) {
    bool narrow = !is_wide(p) && p->size <= INT32_MAX;
    if (p->k == 1) return p->x_size == 1 ? ONE : STRIPS;
    bool across = p->x_size != 1 ? p->inner > 1 : p->size <= SHORT && p->outer * p->inner > 3;
    if (p->k > FEW) return LINES;
    return narrow && across ? LANES : FEW_LINES;
}

typedef struct entry {
    int64_t rank, index;
} entry;

/* How many elements a line collects before it sorts them. */
static int64_t most_of(const hn_select_k *p) { return p->k >= p->size / 4 ? p->size : 4 * p->k; }

static int64_t strips_of(const hn_select_k *p) { return (p->inner + STRIP - 1) / STRIP; }

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_select_k *p = problem;
    (void)lanes;
    int64_t lines = p->outer * p->inner;
    *w = (hn_work){.n_phases = 1};
    switch (way_of(p)) {
        case ONE:
        case FEW_LINES: w->tasks[0] = lines; break;
        case STRIPS: w->tasks[0] = p->outer * strips_of(p); break;
        case LANES: w->tasks[0] = (lines + HN_VL - 1) / HN_VL; break;
        case LINES:
            w->tasks[0] = lines;
            w->lane_scratch = 2 * (size_t)(most_of(p) + CHUNK) * sizeof(entry);
            break;
    }
}

/* ---- ranks ---- */

/* How elements become ranks: by `turn`, -1 where the greatest comes first, and NaN by itself. */
typedef struct order {
    int32_t turn, nan;
} order;

static order order_of(const hn_select_k *p) {
    bool last = p->smallest && !p->nan_first;
    return (order){p->smallest ? 0 : -1, last ? INT32_MAX : INT32_MIN};
}

/* As integers floats are in order but for their sign: those below 0 run backwards. */
HN_INLINE int32_t rank_f32(float x, order o) {
    int32_t bits;
    float y = x + 0.0f; /* makes -0 into 0 */
    memcpy(&bits, &y, sizeof bits);
    return x == x ? bits ^ (bits >> 31 & INT32_MAX) ^ o.turn : o.nan;
}
HN_INLINE int64_t rank_f64(double x, order o) {
    int64_t bits, nan = o.nan < 0 ? INT64_MIN : INT64_MAX;
    double y = x + 0.0;
    memcpy(&bits, &y, sizeof bits);
    return x == x ? bits ^ (bits >> 63 & INT64_MAX) ^ o.turn : nan;
}
HN_INLINE int32_t rank_s32(int32_t x, order o) { return x ^ o.turn; }
HN_INLINE int64_t rank_s64(int64_t x, order o) { return x ^ o.turn; }

/* n ranks of elements that are `stride` apart, from element `at` on. */
#define RANKS(type, T)                                                                       \
    HN_INLINE void ranks_##type(const T *x, int64_t stride, int n, order o, int64_t *rank) { \
        for (int i = 0; i < n; i++) rank[i] = rank_##type(x[i * stride], o);                 \
    }
RANKS(f32, float)
RANKS(f64, double)
RANKS(s32, int32_t)
RANKS(s64, int64_t)

/* n at most STRIP; whole strips and chunks of adjacent elements by loops that can be vectorized. */
static void load(const hn_select_k *p, const void *x, int64_t at, int64_t stride, int n,
                 int64_t *rank) {
    order o = order_of(p);
#define LOAD(type, T)                                       \
    if (stride == 1 && n == STRIP)                          \
        ranks_##type((const T *)x + at, 1, STRIP, o, rank); \
    else if (stride == 1 && n == CHUNK)                     \
        ranks_##type((const T *)x + at, 1, CHUNK, o, rank); \
    else                                                    \
        ranks_##type((const T *)x + at, stride, n, o, rank);
    if (p->dtype == HONE_DTYPE_F32) {
        LOAD(f32, float)
    } else if (p->dtype == HONE_DTYPE_F64) {
        LOAD(f64, double)
    } else if (p->dtype == HONE_DTYPE_S64) {
        LOAD(s64, int64_t)
    } else {
        LOAD(s32, int32_t)
    }
#undef LOAD
}

/* Whether none of a chunk of adjacent elements has a rank up to `limit`; without a branch for each.
 */
#define NONE_UP_TO(type, T, R)                                                  \
    HN_INLINE bool none_##type(const T *x, R limit, order o) {                  \
        R found = 0; /* as wide as T, for vectors */                            \
        for (int i = 0; i < CHUNK; i++) found |= rank_##type(x[i], o) <= limit; \
        return found == 0;                                                      \
    }
NONE_UP_TO(f32, float, int32_t)
NONE_UP_TO(s32, int32_t, int32_t)
NONE_UP_TO(s64, int64_t, int64_t)
NONE_UP_TO(f64, double, int64_t)

/* Element `from` of x, which is `index` along its line, is number `to` of the result. */
static void put(const hn_call *call, int64_t to, int64_t from, int64_t index) {
    const hn_select_k *p = call->problem;
    const char *x = call->ptr[HN_SELECT_K_X];
    char *values = call->ptr[HN_SELECT_K_VALUES];
    int64_t *indices = call->ptr[HN_SELECT_K_INDICES];
    if (indices != NULL) indices[to] = index;
    if (values == NULL) return;
    if (is_wide(p))
        memcpy(values + 8 * to, x + 8 * from, 8);
    else
        memcpy(values + 4 * to, x + 4 * from, 4);
}

/* ---- the first of adjacent elements ---- */

/* Where the least rank of n > 0 elements is, the first or the last time. */
#define FIND(type, T, R, MOST)                                                                     \
    HN_INLINE R least_##type(const T *x, int64_t n, order o) {                                     \
        R least = MOST;                                                                            \
        for (int64_t i = 0; i < n; i++) {                                                          \
            R rank = rank_##type(x[i], o);                                                         \
            least = rank < least ? rank : least;                                                   \
        }                                                                                          \
        return least;                                                                              \
    }                                                                                              \
    static int64_t find_##type(const T *x, int64_t n, order o, bool last) {                        \
        R best = MOST;                                                                             \
        int64_t block = 0, i;                                                                      \
        for (int64_t at = 0; at < n; at += BLOCK) {                                                \
            R least =                                                                              \
                n - at < BLOCK ? least_##type(x + at, n - at, o) : least_##type(x + at, BLOCK, o); \
            if (last ? least <= best : least < best) block = at;                                   \
            best = least < best ? least : best;                                                    \
        }                                                                                          \
        if (last) {                                                                                \
            i = n - block < BLOCK ? n : block + BLOCK;                                             \
            while (i - block >= CHUNK && none_##type(x + i - CHUNK, best, o)) i -= CHUNK;          \
            while (rank_##type(x[--i], o) != best) continue;                                       \
        } else {                                                                                   \
            i = block;                                                                             \
            while (n - i >= CHUNK && none_##type(x + i, best, o)) i += CHUNK;                      \
            while (rank_##type(x[i], o) != best) i++;                                              \
        }                                                                                          \
        return i;                                                                                  \
    }
FIND(f32, float, int32_t, INT32_MAX)
FIND(s32, int32_t, int32_t, INT32_MAX)
FIND(s64, int64_t, int64_t, INT64_MAX)
FIND(f64, double, int64_t, INT64_MAX)

static void one(const hn_call *call, int64_t o, int64_t i) {
    const hn_select_k *p = call->problem;
    const void *x = call->ptr[HN_SELECT_K_X];
    int64_t at = o * p->x_outer + i * p->x_inner, found;
    if (p->dtype == HONE_DTYPE_F32)
        found = find_f32((const float *)x + at, p->size, order_of(p), p->last);
    else if (p->dtype == HONE_DTYPE_F64)
        found = find_f64((const double *)x + at, p->size, order_of(p), p->last);
    else if (p->dtype == HONE_DTYPE_S64)
        found = find_s64((const int64_t *)x + at, p->size, order_of(p), p->last);
    else
        found = find_s32((const int32_t *)x + at, p->size, order_of(p), p->last);
    put(call, o * p->inner + i, at + found, found);
}

/* ---- strips ---- */

HN_INLINE void keep_best(const int64_t *rank, int64_t at, bool last, int64_t *restrict best,
                         int64_t *restrict where) {
    for (int i = 0; i < STRIP; i++) {
        bool better = rank[i] < best[i] || (last && rank[i] == best[i]);
        best[i] = better ? rank[i] : best[i];
        where[i] = better ? at : where[i];
    }
}

static void strip(const hn_call *call, int64_t o, int64_t i) {
    const hn_select_k *p = call->problem;
    int64_t rank[STRIP] = {0}, best[STRIP], where[STRIP] = {0};
    int64_t at = o * p->x_outer + i * p->x_inner;
    int n = p->inner - i < STRIP ? (int)(p->inner - i) : STRIP;
    load(p, call->ptr[HN_SELECT_K_X], at, p->x_inner, n, rank);
    memcpy(best, rank, sizeof best);
    for (int64_t j = 1; j < p->size; j++) {
        load(p, call->ptr[HN_SELECT_K_X], at + j * p->x_size, p->x_inner, n, rank);
        if (p->last)
            keep_best(rank, j, true, best, where);
        else
            keep_best(rank, j, false, best, where);
    }
    for (int m = 0; m < n; m++)
        put(call, o * p->inner + i + m, at + m * p->x_inner + where[m] * p->x_size, where[m]);
}

/* ---- lanes ---- */

/* The lines of a group: where they begin in x and in the result. Lanes without a line have another
 * one's. */
typedef struct group {
    int n;
    bool adjacent; /* elements of all lanes are */
    int64_t x[HN_VL], y[HN_VL];
} group;

static group group_of(const hn_select_k *p, int64_t first) {
    int64_t rest = p->outer * p->inner - first;
    group g = {.n = rest < HN_VL ? (int)rest : HN_VL, .adjacent = rest >= HN_VL};
    for (int l = 0; l < HN_VL; l++) {
        int64_t line = first + (l < g.n ? l : 0), o = line / p->inner, i = line % p->inner;
        g.x[l] = o * p->x_outer + i * p->x_inner;
        g.y[l] = o * p->k * p->inner + i;
        g.adjacent &= g.x[l] == g.x[0] + l;
    }
    return g;
}

/* Elements j to j + HN_VL - 1 of the lanes, a vector for each j; past the end, anything. Both types
 * are moved as floats. */
static void load_tile(const hn_select_k *p, const group *g, const float *x, int64_t j,
                      hn_vf *tile) {
    int64_t n = p->size - j < HN_VL ? p->size - j : HN_VL;
    if (g->adjacent) {
        for (int64_t m = 0; m < n; m++) tile[m] = hn_v_load(x + g->x[0] + (j + m) * p->x_size);
    } else if (p->x_size == 1) {
        for (int l = 0; l < HN_VL; l++) tile[l] = hn_v_load_part(x + g->x[l] + j, n);
        hn_v_transpose(tile);
    } else {
        for (int64_t m = 0; m < n; m++) {
            float lane[HN_VL];
            for (int l = 0; l < HN_VL; l++)
                memcpy(&lane[l], &x[g->x[l] + (j + m) * p->x_size], sizeof *lane);
            tile[m] = hn_v_load(lane);
        }
    }
}

HN_INLINE hn_vi choose(hn_vm m, hn_vi a, hn_vi b) {
    return hn_v_bits(hn_v_select(m, hn_v_from_bits(a), hn_v_from_bits(b)));
}

/* rank_f32 and rank_s32 of each lane; `whole`: of s32. */
HN_INLINE hn_vi ranks(hn_vf x, order o, bool whole) {
    hn_vf turn = hn_v_from_bits(hn_vi_set1(o.turn));
    if (whole) return hn_v_bits(hn_v_xor(x, turn));
    hn_vf y = hn_v_add(x, hn_v_set1(0.0f));
    hn_vi backwards = hn_vi_and(hn_vi_shr(hn_v_bits(y), 31), hn_vi_set1(INT32_MAX));
    y = hn_v_xor(hn_v_xor(y, hn_v_from_bits(backwards)), turn);
    return choose(hn_v_isnan(x), hn_vi_set1(o.nan), hn_v_bits(y));
}

/* What lanes keep, the best first. */
typedef struct ranking {
    hn_vi rank[FEW], index[FEW];
} ranking;

/* A newcomer per lane takes its place among those kept, the last of which is number `last`: in the
 * lanes `here` that one drops out, and all that come after the newcomer move on by one. Equal ones
 * stay before it. */
HN_INLINE void insert(ranking *b, int64_t last, hn_vm here, hn_vi rank, hn_vi index) {
    for (int64_t q = last; q > 0; q--) {
        hn_vm above = hn_vi_lt(rank, b->rank[q - 1]);
        hn_vi r = choose(above, b->rank[q - 1], rank), i = choose(above, b->index[q - 1], index);
        b->rank[q] = choose(here, r, b->rank[q]);
        b->index[q] = choose(here, i, b->index[q]);
        here = above;
    }
    b->rank[0] = choose(here, rank, b->rank[0]);
    b->index[0] = choose(here, index, b->index[0]);
}

HN_INLINE void walk(const hn_select_k *p, const group *g, const float *x, bool whole, ranking *b) {
    order o = order_of(p);
    hn_vm all = hn_v_eq(hn_v_set1(0.0f), hn_v_set1(0.0f));
    hn_vf tile[HN_VL];
    for (int64_t q = 0; q < p->k; q++) b->rank[q] = b->index[q] = hn_vi_set1(0);
    for (int64_t j = 0; j < p->size; j++) {
        if (j % HN_VL == 0) load_tile(p, g, x, j, tile);
        hn_vi rank = ranks(tile[j % HN_VL], o, whole), index = hn_vi_set1((int32_t)j);
        hn_vm here = hn_vi_lt(rank, b->rank[p->k - 1]);
        if (j < p->k)
            insert(b, j, all, rank, index);
        else if (hn_vm_any(here))
            insert(b, p->k - 1, here, rank, index);
    }
}

static void lanes_of(const hn_call *call, int64_t first) {
    const hn_select_k *p = call->problem;
    group g = group_of(p, first);
    ranking best;
    if (p->dtype == HONE_DTYPE_F32)
        walk(p, &g, call->ptr[HN_SELECT_K_X], false, &best);
    else
        walk(p, &g, call->ptr[HN_SELECT_K_X], true, &best);
    for (int64_t q = 0; q < p->k; q++) {
        int32_t index[HN_VL];
        memcpy(index, &best.index[q], sizeof index);
        for (int l = 0; l < g.n; l++)
            put(call, g.y[l] + q * p->inner, g.x[l] + index[l] * p->x_size, index[l]);
    }
}

/* ---- lines ---- */

typedef struct range {
    int64_t least, most;
    int bits; /* of the difference */
} range;

static range range_of(const entry *e, int64_t n) {
    range r = {e[0].rank, e[0].rank, 0};
    for (int64_t i = 1; i < n; i++) {
        r.least = e[i].rank < r.least ? e[i].rank : r.least;
        r.most = e[i].rank > r.most ? e[i].rank : r.most;
    }
    for (uint64_t rest = (uint64_t)r.most - (uint64_t)r.least; rest > 0; rest >>= 1) r.bits++;
    return r;
}

/* The part of a rank, counted from the least one, that begins at bit `shift`. */
HN_INLINE uint64_t part_of(const entry *e, const range *r, int shift) {
    return ((uint64_t)e->rank - (uint64_t)r->least) >> shift;
}

/* Leaves out those of n entries that are not among the k first, if that is easily told: counts by
 * the leading bits say up to which rank there are k or more. Returns how many are left, in their
 * order; their ranks, and no others, are up to *limit. */
static int64_t narrow(entry *e, int64_t n, int64_t k, int64_t *limit) {
    range r = range_of(e, n);
    int shift = r.bits > 8 ? r.bits - 8 : 0;
    int64_t count[256] = {0}, before = 0, left = 0;
    for (int64_t i = 0; i < n; i++) count[part_of(&e[i], &r, shift)]++;
    uint64_t last = 0;
    while ((before += count[last]) < k) last++;
    /* Wraps where it is the last rank there is. */
    int64_t up_to = (int64_t)((uint64_t)r.least + ((last + 1) << shift) - 1);
    if (up_to < r.least || up_to > r.most) up_to = r.most;
    for (int64_t i = 0; i < n; i++) {
        e[left] = e[i];
        left += e[i].rank <= up_to;
    }
    *limit = up_to;
    return left;
}

/* A pass of a radix sort: stable, by `digits` bits of the rank from `shift` on. */
static void sort_pass(const entry *from, entry *to, int64_t n, const range *r, int shift,
                      int digits) {
    uint64_t mask = ((uint64_t)1 << digits) - 1;
    int64_t place[MOST_BUCKETS], before = 0;
    memset(place, 0, (size_t)(mask + 1) * sizeof *place);
    for (int64_t i = 0; i < n; i++) place[part_of(&from[i], r, shift) & mask]++;
    for (uint64_t b = 0; b <= mask; b++) {
        int64_t count = place[b];
        place[b] = before;
        before += count;
    }
    for (int64_t i = 0; i < n; i++) to[place[part_of(&from[i], r, shift) & mask]++] = from[i];
}

/* Puts e where it belongs among n sorted entries with room for one more; equal ones stay before it.
 */
static void insert_entry(entry *sorted, int64_t n, entry e) {
    for (; n > 0 && sorted[n - 1].rank > e.rank; n--) sorted[n] = sorted[n - 1];
    sorted[n] = e;
}

/* Sorts n entries, of which equal ones are in their order, with as much room at `spare`; swaps the
 * two if the result is there. */
static void sort(entry **e, entry **spare, int64_t n) {
    if (n <= 24) {
        for (int64_t i = 1; i < n; i++) insert_entry(*e, i, (*e)[i]);
        return;
    }
    range r = range_of(*e, n);
    int most = n < 4096 ? 8 : 11, passes = (r.bits + most - 1) / most;
    for (int pass = 0; pass < passes; pass++) {
        int digits = (r.bits + passes - 1) / passes;
        sort_pass(*e, *spare, n, &r, pass * digits, digits);
        entry *swap = *e;
        *e = *spare;
        *spare = swap;
    }
}

/* Whether none of the chunk of adjacent elements from `at` on has a rank up to `limit`. */
HN_INLINE bool none_up_to(const hn_select_k *p, const float *x, int64_t limit, bool whole) {
    order o = order_of(p);
    hn_vi least = hn_vi_set1(limit > INT32_MAX ? INT32_MAX : (int32_t)limit);
    hn_vm all = hn_vi_lt(hn_vi_set1(0), hn_vi_set1(1));
    for (int i = 0; i < CHUNK; i += HN_VL)
        all = hn_vm_and(all, hn_vi_lt(least, ranks(hn_v_load(x + i), o, whole)));
    return !hn_vm_any(hn_vm_not(all));
}

static bool can_skip(const hn_select_k *p, const void *x, int64_t at, int64_t limit) {
    if (p->dtype == HONE_DTYPE_F64) return none_f64((const double *)x + at, limit, order_of(p));
    if (p->dtype == HONE_DTYPE_S64) return none_s64((const int64_t *)x + at, limit, order_of(p));
    if (p->dtype == HONE_DTYPE_S32) return none_up_to(p, (const float *)x + at, limit, true);
    return none_up_to(p, (const float *)x + at, limit, false);
}

static int64_t least_rank(const hn_select_k *p) { return is_wide(p) ? INT64_MIN : INT32_MIN; }

static void put_line(const hn_call *call, int64_t o, int64_t i, const entry *kept) {
    const hn_select_k *p = call->problem;
    int64_t at = o * p->x_outer + i * p->x_inner;
    for (int64_t j = 0; j < p->k; j++)
        put(call, (o * p->k + j) * p->inner + i, at + kept[j].index * p->x_size, kept[j].index);
}

/* The k first of a line, k at most FEW, kept in order. */
static void line_few(const hn_call *call, int64_t o, int64_t i) {
    const hn_select_k *p = call->problem;
    const void *x = call->ptr[HN_SELECT_K_X];
    int64_t at = o * p->x_outer + i * p->x_inner, rank[CHUNK], n = 0;
    int64_t last = INT64_MAX, least = least_rank(p); /* last: the rank of the last that is kept */
    entry kept[FEW + 1];
    for (int64_t j = 0; j < p->size; j += CHUNK) {
        int m = p->size - j < CHUNK ? (int)(p->size - j) : CHUNK;
        bool full = n == p->k;
        if (full && last == least) break; /* what comes later does not come before it */
        if (full && m == CHUNK && p->x_size == 1 && can_skip(p, x, at + j, last - 1)) continue;
        load(p, x, at + j * p->x_size, p->x_size, m, rank);
        for (int q = 0; q < m; q++) {
            if (n == p->k && rank[q] >= last) continue;
            insert_entry(kept, n, (entry){rank[q], j + q});
            if (n < p->k) n++;
            last = kept[n - 1].rank;
        }
    }
    put_line(call, o, i, kept);
}

static void line(const hn_call *call, int64_t o, int64_t i, entry *scratch) {
    const hn_select_k *p = call->problem;
    const void *x = call->ptr[HN_SELECT_K_X];
    int64_t at = o * p->x_outer + i * p->x_inner, most = most_of(p), rank[CHUNK], n = 0;
    int64_t limit = INT64_MAX, least = least_rank(p);
    entry *kept = scratch, *spare = scratch + most + CHUNK;
    for (int64_t j = 0; j < p->size; j += CHUNK) {
        int m = p->size - j < CHUNK ? (int)(p->size - j) : CHUNK;
        if (limit != INT64_MAX && m == CHUNK && p->x_size == 1 && can_skip(p, x, at + j, limit))
            continue;
        load(p, x, at + j * p->x_size, p->x_size, m, rank);
        for (int q = 0; q < m; q++) {
            kept[n] = (entry){rank[q], j + q};
            n += rank[q] <= limit;
        }
        if (n < most || most == p->size) continue;
        n = narrow(kept, n, p->k, &limit);
        if (n <= most / 2) continue;
        sort(&kept, &spare, n); /* too many are alike */
        n = p->k;
        limit = kept[n - 1].rank;
        if (limit == least) break; /* what comes later does not come before it */
        limit--;
    }
    if (n > p->k) n = narrow(kept, n, p->k, &limit);
    sort(&kept, &spare, n);
    put_line(call, o, i, kept);
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase;
    const hn_select_k *p = call->problem;
    way how = way_of(p);
    int64_t strips = strips_of(p);
    for (int64_t t = begin; t < end; t++) {
        switch (how) {
            case ONE: one(call, t / p->inner, t % p->inner); break;
            case STRIPS: strip(call, t / strips, t % strips * STRIP); break;
            case LANES: lanes_of(call, t * HN_VL); break;
            case FEW_LINES: line_few(call, t / p->inner, t % p->inner); break;
            case LINES: line(call, t / p->inner, t % p->inner, lane); break;
        }
    }
}

const hn_kernel HN_V_ROW(select_k) = {
    .name = HN_V_NAME, .isa = HN_V_ISA, .order = "exact", .work = work, .run = run};

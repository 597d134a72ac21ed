/* gather_at by memcpy, with loops of their own for pieces of one or two words. A task is a group of
 * pieces; along the last axis of the space the share that no index tells grows by a constant. */
#include <string.h>

#include "kernels/gather_at/gather_at.h"
#include "simd/part.h"

enum { TASK = 32768, CHUNK = 32, AT_ONCE = 8 }; /* bytes; pieces whose places are found at once */

static int64_t group_of(const hn_gather_at *p) {
    return p->bytes < TASK ? TASK / (p->bytes + 1) + 1 : 1;
}

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_gather_at *p = problem;
    (void)lanes;
    int64_t group = group_of(p);
    *w = (hn_work){.n_phases = 1, .tasks = {(hn_places_count(&p->places) + group - 1) / group}};
}

/* Pieces i to stop, all of one row of the space. What is constant where it is called folds. False:
 * an index is outside. */
HN_INLINE bool gather(const hn_places *places, const char *x, const void *index, int64_t i,
                      int64_t stop, int64_t base, char *to, int64_t bytes) {
    int64_t step = places->base[places->rank - 1];
    bool good = true;
    for (; i < stop; i++, base += step, to += bytes) {
        int64_t at;
        if (hn_places_named(places, index, i, &at)) {
            memcpy(to, x + base + at, (size_t)bytes);
        } else {
            memset(to, 0, (size_t)bytes);
            good = false;
        }
    }
    return good;
}

/* Whether a chunk of indices is inside as it is, none of them counted from the end. */
static bool are_inside(const int64_t *index, int64_t size) {
    uint64_t outside = 0;
    for (int k = 0; k < CHUNK; k++) outside |= (uint64_t)index[k] >= (uint64_t)size;
    return outside == 0;
}

/* The same of pieces of type T, named by one s64 each, chunk by chunk: their places first, which
 * makes vectors, then what is there, several at once. Where indices are places, they serve as they
 * are. */
#define GATHER_ONE(name, T)                                                                      \
    HN_INLINE void name##_chunk(const char *x, const int64_t *place, int64_t unit, char *to) {   \
        for (int k = 0; k < CHUNK; k += AT_ONCE) {                                               \
            T v[AT_ONCE];                                                                        \
            for (int j = 0; j < AT_ONCE; j++) memcpy(&v[j], x + place[k + j] * unit, sizeof(T)); \
            for (int j = 0; j < AT_ONCE; j++)                                                    \
                memcpy(to + (size_t)(k + j) * sizeof(T), &v[j], sizeof(T));                      \
        }                                                                                        \
    }                                                                                            \
    static bool name(const hn_places *places, const char *x, const int64_t *index, int64_t i,    \
                     int64_t stop, int64_t base, char *to) {                                     \
        int64_t step = places->base[places->rank - 1], size = places->size[0];                   \
        int64_t unit = places->step[0], place[CHUNK];                                            \
        bool good = true, direct = step == 0 && unit == sizeof(T);                               \
        for (; i + CHUNK <= stop; i += CHUNK, base += CHUNK * step, to += CHUNK * sizeof(T)) {   \
            uint64_t outside = 0;                                                                \
            if (direct && are_inside(index + i, size)) {                                         \
                name##_chunk(x + base, index + i, sizeof(T), to);                                \
                continue;                                                                        \
            }                                                                                    \
            for (int k = 0; k < CHUNK; k++) {                                                    \
                int64_t at = index[i + k];                                                       \
                at += at < 0 ? size : 0;                                                         \
                outside |= (uint64_t)at >= (uint64_t)size;                                       \
                place[k] = base + k * step + at * unit;                                          \
            }                                                                                    \
            if (outside == 0)                                                                    \
                name##_chunk(x, place, 1, to);                                                   \
            else                                                                                 \
                good &= gather(places, x, index, i, i + CHUNK, base, to, sizeof(T));             \
        }                                                                                        \
        return gather(places, x, index, i, stop, base, to, sizeof(T)) && good;                   \
    }
GATHER_ONE(gather_one_u32, uint32_t)
GATHER_ONE(gather_one_u64, uint64_t)

static bool gather_row(const hn_gather_at *p, const char *x, const void *index, int64_t i,
                       int64_t stop, int64_t base, char *to) {
    const hn_places *places = &p->places;
    bool one = places->n == 1 && places->wide;
    if (one && p->bytes == 4) return gather_one_u32(places, x, index, i, stop, base, to);
    if (one && p->bytes == 8) return gather_one_u64(places, x, index, i, stop, base, to);
    if (p->bytes == 4) return gather(places, x, index, i, stop, base, to, 4);
    if (p->bytes == 8) return gather(places, x, index, i, stop, base, to, 8);
    return gather(places, x, index, i, stop, base, to, p->bytes);
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_gather_at *p = call->problem;
    const hn_places *places = &p->places;
    const char *x = call->ptr[HN_GATHER_AT_X];
    const void *index = call->ptr[HN_GATHER_AT_INDEX];
    int32_t *outside = call->ptr[HN_GATHER_AT_OUTSIDE];
    int64_t group = group_of(p), count = hn_places_count(places);
    int64_t last = end * group < count ? end * group : count;
    int64_t row = places->dims[places->rank - 1];
    bool bad = false;
    int64_t below = places->rank > 1 ? places->dims[places->rank - 2] : 1, left = 0, base = 0;
    for (int64_t i = begin * group; i < last;) {
        int64_t rest = row - i % row, stop = i + rest < last ? i + rest : last;
        char *to = (char *)call->ptr[HN_GATHER_AT_Y] + i * p->bytes;
        if (left == 0) { /* else it is the row below the last one */
            base = hn_places_base(places, i);
            left = below - i / row % below;
        }
        bad |= !gather_row(p, x, index, i, stop, base, to);
        /* As of the next row's first piece. */
        base += (rest - row) * places->base[places->rank - 1];
        if (--left > 0) base += places->base[places->rank - 2];
        i = stop;
    }
    if (bad && outside != NULL) __atomic_store_n(outside, 1, __ATOMIC_RELAXED);
}

const hn_kernel HN_V_ROW(gather_at) = {
    .name = HN_V_NAME, .isa = HN_V_ISA, .order = "exact", .work = work, .run = run};

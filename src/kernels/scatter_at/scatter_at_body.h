/* scatter_at, a task for each group of elements that the axes in front tell apart. Within it pieces
 * come in order, each by one loop. */
#include <string.h>

#include "kernels/scatter_at/scatter_at.h"
#include "simd/part.h"

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_scatter_at *p = problem;
    (void)lanes;
    *w = (hn_work){.n_phases = 1, .tasks = {1}};
    for (int i = 0; i < p->apart; i++) w->tasks[0] *= p->places.dims[i];
}

typedef void putter(void *y, const void *u, int64_t n);

#define PUT(name, T, formula)                                 \
    static void name(void *dst, const void *src, int64_t n) { \
        T *y = dst;                                           \
        const T *u = src;                                     \
        for (int64_t i = 0; i < n; i++) {                     \
            T a = y[i], b = u[i];                             \
            y[i] = (T)(formula);                              \
        }                                                     \
    }
#define PUT_INT(t, T, U)           \
    PUT(add_##t, T, (U)a + (U)b)   \
    PUT(mul_##t, T, (U)a *(U)b)    \
    PUT(max_##t, T, a > b ? a : b) \
    PUT(min_##t, T, a < b ? a : b)
PUT_INT(s64, int64_t, uint64_t)
PUT_INT(s32, int32_t, uint32_t)
PUT(add_f32, float, a + b)
PUT(mul_f32, float, a *b)
PUT(max_f32, float, a != a || a > b ? a : b)
PUT(min_f32, float, a != a || a < b ? a : b)

/* NULL: pieces are moved. */
static putter *putter_of(const hn_scatter_at *p) {
    static putter *const table[][3] = {
        {NULL, NULL, NULL},          {add_f32, add_s64, add_s32}, {mul_f32, mul_s64, mul_s32},
        {max_f32, max_s64, max_s32}, {min_f32, min_s64, min_s32},
    };
    int t = p->dtype == HONE_DTYPE_F32 ? 0 : p->dtype == HONE_DTYPE_S64 ? 1 : 2;
    return table[p->op][t];
}

static void move(char *to, const char *from, int64_t bytes) {
    if (bytes == 4)
        memcpy(to, from, 4);
    else if (bytes == 8)
        memcpy(to, from, 8);
    else
        memcpy(to, from, (size_t)bytes);
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_scatter_at *p = call->problem;
    const hn_places *places = &p->places;
    const void *index = call->ptr[HN_SCATTER_AT_INDEX];
    int32_t *outside = call->ptr[HN_SCATTER_AT_OUTSIDE];
    putter *put = putter_of(p);
    int64_t bytes = p->count * hone_dtype_bits(p->dtype) / 8, group = 1;
    for (int i = p->apart; i < places->rank; i++) group *= places->dims[i];
    int64_t row = places->dims[places->rank - 1], step = places->base[places->rank - 1];
    bool bad = false;
    for (int64_t i = begin * group; i < end * group;) {
        int64_t base = hn_places_base(places, i), stop = i - i % row + row;
        const char *u = (const char *)call->ptr[HN_SCATTER_AT_U] + i * bytes;
        for (; i < stop && i < end * group; i++, base += step, u += bytes) {
            int64_t at;
            bool ok = hn_places_named(places, index, i, &at);
            char *y = (char *)call->ptr[HN_SCATTER_AT_Y] + base + at;
            bad |= !ok;
            if (ok && put != NULL)
                put(y, u, p->count);
            else if (ok)
                move(y, u, bytes);
        }
    }
    if (bad && outside != NULL) __atomic_store_n(outside, 1, __ATOMIC_RELAXED);
}

const hn_kernel HN_V_ROW(scatter_at) = {
    .name = HN_V_NAME, .isa = HN_V_ISA, .order = "sequence", .work = work, .run = run};

/* prefix, a task for each strip of lines that go on together.
 *
 * Lines that lie side by side make vectors, and take four steps at a time: their sums, which memory
 * keeps, are fetched and put back once for all four. Lines that lie one behind the other
 * (inner = 1) are read eight at a time: each sum waits for the one before it, and eight of them can
 * wait at once.
 */
#include "kernels/prefix/prefix.h"
#include "simd/part.h"

enum { STRIP = 1024, STEPS = 4, LINES = 8 };

/* Where the lines of a problem are. */
typedef struct lines {
    int64_t groups, count; /* of lines that are strips of their own; lines in a group */
    int64_t strip;         /* lines in a strip */
    int64_t next, along;   /* steps to the next line, and along a line */
} lines;

static lines lines_of(const hn_prefix *p) {
    if (p->inner == 1) return (lines){1, p->outer, LINES, p->size, 1};
    return (lines){p->outer, p->inner, STRIP, 1, p->inner};
}

static int64_t strips_of(const lines *l) { return (l->count + l->strip - 1) / l->strip; }

static void work(const void *problem, int lanes, hn_work *w) {
    lines l = lines_of(problem);
    (void)lanes;
    *w = (hn_work){.n_phases = 1, .tasks = {l.groups * strips_of(&l)}};
}

/* Elements of other lines: also where y is x, all are read that a turn of the loop writes. */
#ifdef __clang__
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif

/* T: of elements, S: of sums. n lines from x on; what is constant where it is called folds. */
#define SCAN(name, T, S)                                                                         \
    /* `steps` along each line, from x and y on. */                                              \
    HN_INLINE void name##_on(const T *x, T *y, S *sum, int n, int64_t next, int64_t along,       \
                             int steps, bool product, bool exclusive) {                          \
        INDEPENDENT                                                                              \
        for (int i = 0; i < n; i++) {                                                            \
            S at = sum[i];                                                                       \
            T to[STEPS];                                                                         \
            for (int k = 0; k < steps; k++) {                                                    \
                S before = at, v = (S)x[k * along + i * next];                                   \
                at = product ? before * v : before + v;                                          \
                to[k] = (T)(exclusive ? before : at);                                            \
            }                                                                                    \
            for (int k = 0; k < steps; k++) y[k * along + i * next] = to[k];                     \
            sum[i] = at;                                                                         \
        }                                                                                        \
    }                                                                                            \
    HN_INLINE void name##_as(const hn_prefix *p, const T *x, T *y, int n, int64_t next,          \
                             int64_t along, bool product, bool exclusive) {                      \
        S sum[STRIP];                                                                            \
        for (int i = 0; i < n; i++) sum[i] = product ? 1 : 0;                                    \
        if (p->reverse) {                                                                        \
            x += (p->size - 1) * along, y += (p->size - 1) * along;                              \
            along = -along;                                                                      \
        }                                                                                        \
        int64_t m = 0;                                                                           \
        if (next == 1)                                                                           \
            for (; m + STEPS <= p->size; m += STEPS)                                             \
                name##_on(x + m * along, y + m * along, sum, n, next, along, STEPS, product,     \
                          exclusive);                                                            \
        for (; m < p->size; m++)                                                                 \
            name##_on(x + m * along, y + m * along, sum, n, next, along, 1, product, exclusive); \
    }                                                                                            \
    HN_INLINE void name##_in(const hn_prefix *p, const T *x, T *y, int n, int64_t next,          \
                             int64_t along) {                                                    \
        if (p->product && p->exclusive)                                                          \
            name##_as(p, x, y, n, next, along, true, true);                                      \
        else if (p->product)                                                                     \
            name##_as(p, x, y, n, next, along, true, false);                                     \
        else if (p->exclusive)                                                                   \
            name##_as(p, x, y, n, next, along, false, true);                                     \
        else                                                                                     \
            name##_as(p, x, y, n, next, along, false, false);                                    \
    }                                                                                            \
    static void name(const hn_prefix *p, const void *from, void *to, int64_t at, int n,          \
                     const lines *l) {                                                           \
        const T *x = (const T *)from + at;                                                       \
        T *y = (T *)to + at;                                                                     \
        if (l->next == 1 && n == STRIP)                                                          \
            name##_in(p, x, y, STRIP, 1, l->along);                                              \
        else if (l->next == 1)                                                                   \
            name##_in(p, x, y, n, 1, l->along);                                                  \
        else if (n == LINES)                                                                     \
            name##_in(p, x, y, LINES, l->next, 1);                                               \
        else                                                                                     \
            name##_in(p, x, y, n, l->next, 1);                                                   \
    }
SCAN(scan_f64, double, double)
SCAN(scan_f32, float, double)
SCAN(scan_s64, int64_t, uint64_t)
SCAN(scan_s32, int32_t, uint32_t)

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_prefix *p = call->problem;
    lines l = lines_of(p);
    int64_t strips = strips_of(&l);
    const void *x = call->ptr[HN_PREFIX_X];
    void *y = call->ptr[HN_PREFIX_Y];
    for (int64_t t = begin; t < end; t++) {
        int64_t first = t % strips * l.strip;
        int64_t at = t / strips * l.count * p->size + first * l.next;
        int n = l.count - first < l.strip ? (int)(l.count - first) : (int)l.strip;
        if (p->dtype == HONE_DTYPE_F32)
            scan_f32(p, x, y, at, n, &l);
        else if (p->dtype == HONE_DTYPE_F64)
            scan_f64(p, x, y, at, n, &l);
        else if (p->dtype == HONE_DTYPE_S64)
            scan_s64(p, x, y, at, n, &l);
        else
            scan_s32(p, x, y, at, n, &l);
    }
}

const hn_kernel HN_V_ROW(prefix) = {
    .name = HN_V_NAME, .isa = HN_V_ISA, .order = "line", .work = work, .run = run};

/* prefix, a task for each strip of lines that lie side by side. */
#include "kernels/prefix/prefix.h"

enum { STRIP = 64 };

static int64_t strips_of(const hn_prefix *p) { return (p->inner + STRIP - 1) / STRIP; }

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_prefix *p = problem;
    (void)lanes;
    *w = (hn_work){.n_phases = 1, .tasks = {p->outer * strips_of(p)}};
}

/* T: of elements, S: of sums. The lines are n, from element `first` on. */
#define SCAN(name, T, S)                                                                     \
    static void name(const hn_prefix *p, const void *from, void *to, int64_t first, int n) { \
        S sum[STRIP];                                                                        \
        for (int i = 0; i < n; i++) sum[i] = p->product ? 1 : 0;                             \
        for (int64_t m = 0; m < p->size; m++) {                                              \
            int64_t at = first + (p->reverse ? p->size - 1 - m : m) * p->inner;              \
            const T *x = (const T *)from + at;                                               \
            T *y = (T *)to + at;                                                             \
            for (int i = 0; i < n; i++) {                                                    \
                S before = sum[i], v = (S)x[i];                                              \
                sum[i] = p->product ? before * v : before + v;                               \
                y[i] = (T)(p->exclusive ? before : sum[i]);                                  \
            }                                                                                \
        }                                                                                    \
    }
SCAN(scan_f32, float, double)
SCAN(scan_s64, int64_t, uint64_t)
SCAN(scan_s32, int32_t, uint32_t)

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_prefix *p = call->problem;
    int64_t strips = strips_of(p);
    const void *x = call->ptr[HN_PREFIX_X];
    void *y = call->ptr[HN_PREFIX_Y];
    for (int64_t t = begin; t < end; t++) {
        int64_t i = t % strips * STRIP, first = t / strips * p->size * p->inner + i;
        int n = p->inner - i < STRIP ? (int)(p->inner - i) : STRIP;
        if (p->dtype == HONE_DTYPE_F32)
            scan_f32(p, x, y, first, n);
        else if (p->dtype == HONE_DTYPE_S64)
            scan_s64(p, x, y, first, n);
        else
            scan_s32(p, x, y, first, n);
    }
}

const hn_kernel hn_prefix_portable = {
    .name = "portable", .order = "line", .work = work, .run = run};

/* lut_q8 over the vector vocabulary: HN_VB elements of a row at a time.
 *
 * What instruction sets have to look up many bytes at once differs too much for words they share: a
 * file that defines HN_LUT_OWN brings its own `tables`, `prepare` and `look_up`.
 */
#include "kernels/lut_q8/lut_q8.h"
#include "kernels/q8_simd.h"
#include "kernels/space_rows.h"

#ifndef HN_LUT_OWN
typedef struct tables {
    const uint8_t *y;
} tables;

static inline void prepare(tables *t, const uint8_t *table) { t->y = table; }

HN_INLINE hn_vb look_up(const tables *t, hn_vb x) {
    uint8_t u[HN_VB];
    hn_vb_store(u, x);
    for (int i = 0; i < HN_VB; i++) u[i] = t->y[u[i]];
    return hn_vb_load(u);
}
#endif

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_lut_q8 *p = problem;
    (void)lanes;
    *w = (hn_work){.n_phases = 1, .tasks = {hn_rows_of(&p->space).tasks}};
}

HN_INLINE void step(const tables *t, const uint8_t *x, int64_t x_stride, uint8_t *y,
                    int64_t y_stride, int64_t i, int64_t n) {
    hn_q8_put(y, y_stride, i, look_up(t, hn_q8_fetch(x, x_stride, i, n)), n);
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_lut_q8 *p = call->problem;
    const hn_space *s = &p->space;
    int64_t x_stride = s->stride[HN_LUT_Q8_X][s->rank - 1];
    int64_t y_stride = s->stride[HN_LUT_Q8_Y][s->rank - 1];
    hn_rows rows = hn_rows_of(s);
    tables t;
    prepare(&t, call->ptr[HN_LUT_Q8_TABLE]);
    for (int64_t task = begin; task < end; task++)
        for (hn_walk w = hn_walk_of(s, &rows, task); w.rows > 0; hn_walk_next(&w)) {
            const uint8_t *x = (const uint8_t *)call->ptr[HN_LUT_Q8_X] + w.offset[HN_LUT_Q8_X];
            uint8_t *y = (uint8_t *)call->ptr[HN_LUT_Q8_Y] + w.offset[HN_LUT_Q8_Y];
            int64_t i = 0;
            for (; i + HN_VB <= w.n; i += HN_VB) step(&t, x, x_stride, y, y_stride, i, HN_VB);
            if (i < w.n) step(&t, x, x_stride, y, y_stride, i, w.n - i);
        }
}

const hn_kernel HN_V_ROW(lut_q8) = {
    .name = HN_V_NAME, .isa = HN_V_ISA, .order = "exact", .work = work, .run = run};

/* rotary_f32 over the vector vocabulary. A task is a group of heads at a position, in the order
 * [samples][heads][positions]. */
#include <string.h>

#include "kernels/rotary_f32/rotary_f32.h"
#include "simd/part.h"

enum { TASK = 4096 }; /* elements */

static int64_t group_of(const hn_rotary_f32 *p) {
    return p->size < TASK ? TASK / (p->size + 1) + 1 : 1;
}

static int64_t rows_of(const hn_rotary_f32 *p) { return p->samples * p->heads * p->positions; }

static void work(const void *problem, int lanes, hn_work *w) {
    int64_t group = group_of(problem);
    (void)lanes;
    *w = (hn_work){.n_phases = 1, .tasks = {(rows_of(problem) + group - 1) / group}};
}

/* Makes (x1, x2) the turned pair. */
HN_INLINE void turn(hn_vf *x1, hn_vf *x2, hn_vf cos, hn_vf sin) {
    hn_vf y1 = hn_v_fnma(sin, *x2, hn_v_mul(cos, *x1));
    *x2 = hn_v_fma(sin, *x1, hn_v_mul(cos, *x2));
    *x1 = y1;
}

HN_INLINE void halves_part(const float *x, const float *cos, const float *sin, float *y,
                           int64_t pairs, int64_t i, int64_t n) {
    hn_vf x1 = hn_v_load_part(x + i, n), x2 = hn_v_load_part(x + pairs + i, n);
    turn(&x1, &x2, hn_v_load_part(cos + i, n), hn_v_load_part(sin + i, n));
    hn_v_store_part(y + i, x1, n);
    hn_v_store_part(y + pairs + i, x2, n);
}

static void halves(const float *x, const float *cos, const float *sin, float *y, int64_t pairs) {
    int64_t i = 0;
    for (; i + HN_VL <= pairs; i += HN_VL) halves_part(x, cos, sin, y, pairs, i, HN_VL);
    if (i < pairs) halves_part(x, cos, sin, y, pairs, i, pairs - i);
}

/* Lanes for hn_v_pick, of which two vectors of neighbours become two of pairs, and back. */
typedef struct weave {
    hn_vi even, odd, low, high;
} weave;

static weave weave_of(void) {
    int32_t lane[4][HN_VL];
    for (int i = 0; i < HN_VL; i++) {
        lane[0][i] = 2 * i;
        lane[1][i] = 2 * i + 1;
        lane[2][i] = i / 2 + i % 2 * HN_VL;
        lane[3][i] = i / 2 + i % 2 * HN_VL + HN_VL / 2;
    }
    return (weave){hn_vi_load(lane[0]), hn_vi_load(lane[1]), hn_vi_load(lane[2]),
                   hn_vi_load(lane[3])};
}

static void neighbours(const weave *w, const float *x, const float *cos, const float *sin, float *y,
                       int64_t pairs) {
    for (int64_t i = 0; i < pairs; i += HN_VL) {
        int64_t n = pairs - i < HN_VL ? pairs - i : HN_VL;
        int64_t low = 2 * n < HN_VL ? 2 * n : HN_VL, high = 2 * n - low;
        hn_vf a = hn_v_load_n(x + 2 * i, low);
        hn_vf b = high > 0 ? hn_v_load_n(x + 2 * i + HN_VL, high) : a;
        hn_vf x1 = hn_v_pick(a, b, w->even), x2 = hn_v_pick(a, b, w->odd);
        turn(&x1, &x2, hn_v_load_n(cos + i, n), hn_v_load_n(sin + i, n));
        hn_v_store_n(y + 2 * i, hn_v_pick(x1, x2, w->low), low);
        if (high > 0) hn_v_store_n(y + 2 * i + HN_VL, hn_v_pick(x1, x2, w->high), high);
    }
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_rotary_f32 *p = call->problem;
    const int64_t *ids = call->ptr[HN_ROTARY_IDS];
    const float *cos = call->ptr[HN_ROTARY_COS], *sin = call->ptr[HN_ROTARY_SIN];
    int32_t *outside = call->ptr[HN_ROTARY_OUTSIDE];
    int64_t group = group_of(p), rows = rows_of(p);
    if (begin == end) return;
    if (end * group < rows) rows = end * group;
    int64_t k = begin * group % p->positions, h = begin * group / p->positions;
    int64_t n = h / p->heads;
    weave w = weave_of();
    h %= p->heads;
    for (int64_t row = begin * group; row < rows; row++) {
        int64_t place = n * p->positions + k, id = ids != NULL ? ids[place] : place;
        const float *x = (const float *)call->ptr[HN_ROTARY_X] + n * p->x_sample + h * p->x_head +
                         k * p->x_position;
        float *y =
            (float *)call->ptr[HN_ROTARY_Y] + n * p->y_sample + h * p->y_head + k * p->y_position;
        bool known = id >= 0 && id < p->angles;
        int64_t turned = known ? 2 * p->pairs : 0;
        if (known && p->interleaved)
            neighbours(&w, x, cos + id * p->pairs, sin + id * p->pairs, y, p->pairs);
        else if (known)
            halves(x, cos + id * p->pairs, sin + id * p->pairs, y, p->pairs);
        else if (outside != NULL)
            __atomic_store_n(outside, 1, __ATOMIC_RELAXED);
        if (turned < p->size)
            memcpy(y + turned, x + turned, (size_t)(p->size - turned) * sizeof(float));
        if (++k < p->positions) continue;
        k = 0;
        if (++h == p->heads) h = 0, n++;
    }
}

const hn_kernel HN_V_ROW(rotary_f32) = {
    .name = HN_V_NAME, .isa = HN_V_ISA, .order = HN_V_NAME, .work = work, .run = run};

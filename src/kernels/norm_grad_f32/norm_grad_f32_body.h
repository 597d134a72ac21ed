/* norm_grad_f32 over the vector vocabulary. A task is a chunk of rows: a row's sums are taken while
 * it is in L1, then dx is written and the row added to the chunk's sums for ds and db, which a
 * second phase adds up in order. */
#include <math.h>
#include <string.h>

#include "base/least.h"
#include "kernels/norm_grad_f32/norm_grad_f32.h"
#include "simd/part.h"

enum { CHUNKS = 32 }; /* at most */

static int64_t chunks_of(const hn_norm_grad_f32 *p) { return hn_least(p->rows, CHUNKS); }
static int64_t width_of(const hn_norm_grad_f32 *p) { return (p->n + HN_VL - 1) / HN_VL * HN_VL; }

static void work(const void *problem, int lanes, hn_work *w) {
    (void)lanes;
    const hn_norm_grad_f32 *p = problem;
    int64_t vectors = width_of(p) / HN_VL, chunks = p->n > 0 ? chunks_of(p) : 0;
    *w = (hn_work){.n_phases = 2,
                   .tasks = {chunks, vectors, vectors, vectors},
                   .scratch = (size_t)(chunks * 2 * width_of(p)) * sizeof(float)};
}

typedef enum addend { PLAIN, SQUARE, PRODUCT, ALONG } addend;

/* One vector of what is summed over a row. */
HN_INLINE hn_vf term(hn_vf s, const float *x, const float *dy, const float *scale, hn_vf mean,
                     int64_t i, int64_t n, addend what) {
    if (what == PLAIN) return hn_v_add(s, hn_v_load_part(x + i, n));
    hn_vf d = hn_v_keep_part(hn_v_sub(hn_v_load_part(x + i, n), mean), hn_v_set1(0.0f), n);
    if (what == SQUARE) return hn_v_fma(d, d, s);
    hn_vf g = hn_v_mul(hn_v_load_part(dy + i, n), hn_v_load_part(scale + i, n));
    return what == PRODUCT ? hn_v_add(s, g) : hn_v_fma(g, d, s);
}

HN_INLINE float total(const float *x, const float *dy, const float *scale, float mean, int64_t n,
                      addend what) {
    hn_vf s[2] = {hn_v_set1(0.0f), hn_v_set1(0.0f)}, m = hn_v_set1(mean);
    int64_t i = 0;
    for (; i + 2 * HN_VL <= n; i += 2 * HN_VL)
        for (int k = 0; k < 2; k++) s[k] = term(s[k], x, dy, scale, m, i + k * HN_VL, HN_VL, what);
    for (; i + HN_VL <= n; i += HN_VL) s[0] = term(s[0], x, dy, scale, m, i, HN_VL, what);
    if (i < n) s[1] = term(s[1], x, dy, scale, m, i, n - i, what);
    return hn_v_sum(hn_v_add(s[0], s[1]));
}

/* What a row comes to: dx = r * g + (x - mean) * by + at. */
typedef struct line {
    hn_vf mean, r, by, at;
} line;

HN_INLINE void finish(const line *l, const float *x, const float *dy, const float *scale, float *dx,
                      float *ds, float *db, int64_t i, int64_t n) {
    hn_vf d = hn_v_sub(hn_v_load_part(x + i, n), l->mean), y = hn_v_load_part(dy + i, n);
    hn_vf g = hn_v_mul(y, hn_v_load_part(scale + i, n));
    hn_vf along = hn_v_fma(y, hn_v_mul(d, l->r), hn_v_load_part(ds + i, n));
    hn_v_store_part(ds + i, along, n);
    hn_v_store_part(db + i, hn_v_add(hn_v_load_part(db + i, n), y), n);
    if (dx != NULL) hn_v_store_part(dx + i, hn_v_fma(l->r, g, hn_v_fma(d, l->by, l->at)), n);
}

static void run_row(const hn_norm_grad_f32 *p, const float *x, const float *dy, const float *scale,
                    float *dx, float *ds, float *db) {
    float n = (float)p->n, mean = p->rms ? 0 : total(x, dy, scale, 0, p->n, PLAIN) / n;
    float r = 1.0f / sqrtf(total(x, dy, scale, mean, p->n, SQUARE) / n + p->epsilon);
    float sum = p->rms ? 0 : total(x, dy, scale, mean, p->n, PRODUCT);
    float along = total(x, dy, scale, mean, p->n, ALONG); /* without r */
    line l = {hn_v_set1(mean), hn_v_set1(r), hn_v_set1(-r * r * r * along / n),
              hn_v_set1(-r * sum / n)};
    int64_t i = 0;
    for (; i + HN_VL <= p->n; i += HN_VL) finish(&l, x, dy, scale, dx, ds, db, i, HN_VL);
    if (i < p->n) finish(&l, x, dy, scale, dx, ds, db, i, p->n - i);
}

static void run_chunk(const hn_call *call, int64_t chunk) {
    const hn_norm_grad_f32 *p = call->problem;
    float *ds = (float *)call->scratch + chunk * 2 * width_of(p), *db = ds + width_of(p);
    float *dx = call->ptr[HN_NORM_GRAD_DX];
    memset(ds, 0, (size_t)(2 * width_of(p)) * sizeof *ds);
    for (int64_t row = p->rows * chunk / chunks_of(p); row < p->rows * (chunk + 1) / chunks_of(p);
         row++)
        run_row(p, (const float *)call->ptr[HN_NORM_GRAD_X] + row * p->x_row,
                (const float *)call->ptr[HN_NORM_GRAD_DY] + row * p->dy_row,
                call->ptr[HN_NORM_GRAD_SCALE], dx != NULL ? dx + row * p->dx_row : NULL, ds, db);
}

static void join(const hn_call *call, int64_t vector) {
    const hn_norm_grad_f32 *p = call->problem;
    int64_t at = vector * HN_VL, n = hn_least(HN_VL, p->n - at);
    for (int k = 0; k < 2; k++) {
        const float *part = (const float *)call->scratch + k * width_of(p) + at;
        float *out = call->ptr[HN_NORM_GRAD_DS + k];
        hn_vf sum = hn_v_set1(0.0f);
        if (out == NULL) continue;
        for (int64_t c = 0; c < chunks_of(p); c++)
            sum = hn_v_add(sum, hn_v_load(part + c * 2 * width_of(p)));
        hn_v_store_part(out + at, sum, n);
    }
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)lane;
    for (int64_t t = begin; t < end; t++) {
        if (phase == 0)
            run_chunk(call, t);
        else
            join(call, t);
    }
}

const hn_kernel HN_V_ROW(norm_grad_f32) = {
    .name = HN_V_NAME, .isa = HN_V_ISA, .order = HN_V_NAME, .work = work, .run = run};

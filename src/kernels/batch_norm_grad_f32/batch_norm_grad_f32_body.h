/* batch_norm_grad_f32 over the vector vocabulary: sums of chunks of the pixels, which a second phase
 * adds up in order and makes the numbers of the last one of:
 *
 *     dx = a * dy + (x - mean) * by + at,   a = scale * r, by = -a * r * ds / n, at = -a * db / n
 */
#include <math.h>

#include "base/least.h"
#include "kernels/batch_norm_grad_f32/batch_norm_grad_f32.h"
#include "simd/part.h"

enum { CHUNK = 8192, LEAST = 16, PARTS = 3 }; /* floats of a chunk; pixels; a, by and at */

static int64_t pixels_of(const hn_batch_norm_grad_f32 *p) {
    int64_t n = CHUNK / (p->c > 0 ? p->c : 1);
    return n > LEAST ? n : LEAST;
}

static int64_t chunks_of(const hn_batch_norm_grad_f32 *p) {
    return (p->n + pixels_of(p) - 1) / pixels_of(p);
}

static int64_t vectors_of(const hn_batch_norm_grad_f32 *p) { return (p->c + HN_VL - 1) / HN_VL; }

static void work(const void *problem, int lanes, hn_work *w) {
    (void)lanes;
    const hn_batch_norm_grad_f32 *p = problem;
    int64_t vectors = vectors_of(p), chunks = chunks_of(p);
    *w = (hn_work){.n_phases = 3,
                   .tasks = {chunks, vectors, chunks, chunks},
                   .scratch = (size_t)((chunks * 2 + PARTS) * vectors * HN_VL) * sizeof(float)};
}

/* ---- sums ---- */

/* Nothing is at or above what is no number. */
HN_INLINE hn_vf limit_of(const hn_batch_norm_grad_f32 *p) {
    return hn_v_set1(p->limit > 0 ? p->limit : NAN);
}

HN_INLINE hn_vf gated(hn_vf dy, const float *gate, hn_vf limit, int64_t width) {
    hn_vf zero = hn_v_set1(0.0f), g = hn_v_load_part(gate, width);
    hn_vm open = hn_vm_and(hn_v_gt(g, zero), hn_vm_not(hn_v_ge(g, limit)));
    return hn_v_select(open, dy, zero);
}

/* Sums of dy and dy * (x - mean) over n pixels. */
HN_INLINE void add_up(const hn_batch_norm_grad_f32 *p, const float *dy, const float *x,
                      const float *gate, hn_vf mean, int64_t n, float *out, int64_t width,
                      bool gates) {
    hn_vf sum[2], along[2], limit = limit_of(p);
    for (int i = 0; i < 2; i++) sum[i] = along[i] = hn_v_set1(0.0f);
    int64_t k = 0;
    for (; k + 2 <= n; k += 2)
        for (int i = 0; i < 2; i++) {
            hn_vf d = hn_v_load_part(dy + (k + i) * p->dy_pixel, width);
            if (gates) d = gated(d, gate + (k + i) * p->gate_pixel, limit, width);
            hn_vf v = hn_v_sub(hn_v_load_part(x + (k + i) * p->x_pixel, width), mean);
            sum[i] = hn_v_add(sum[i], d);
            along[i] = hn_v_fma(d, v, along[i]);
        }
    if (k < n) {
        hn_vf d = hn_v_load_part(dy + k * p->dy_pixel, width);
        if (gates) d = gated(d, gate + k * p->gate_pixel, limit, width);
        hn_vf v = hn_v_sub(hn_v_load_part(x + k * p->x_pixel, width), mean);
        sum[0] = hn_v_add(sum[0], d);
        along[0] = hn_v_fma(d, v, along[0]);
    }
    hn_v_store(out, hn_v_add(sum[0], sum[1]));
    hn_v_store(out + HN_VL, hn_v_add(along[0], along[1]));
}

/* One channel vector after the other of a chunk: fn is inlined with constants. */
#define FOR_VECTORS(p, i, width)                                                          \
    for (int64_t i = 0, width; i < (p)->c && (width = hn_least(HN_VL, (p)->c - i), true); \
         i += HN_VL)

static void run_chunk(const hn_call *call, int64_t chunk) {
    const hn_batch_norm_grad_f32 *p = call->problem;
    int64_t first = chunk * pixels_of(p), n = hn_least(pixels_of(p), p->n - first);
    const float *dy = (const float *)call->ptr[HN_BNG_DY] + first * p->dy_pixel;
    const float *x = (const float *)call->ptr[HN_BNG_X] + first * p->x_pixel;
    const float *gate = call->ptr[HN_BNG_GATE], *mean = call->ptr[HN_BNG_MEAN];
    bool gates = gate != NULL;
    if (gates) gate += first * p->gate_pixel;
    float *out = (float *)call->scratch + chunk * vectors_of(p) * 2 * HN_VL;
    FOR_VECTORS(p, i, width) {
        hn_vf m = hn_v_load_part(mean + i, width);
        const float *g = gates ? gate + i : NULL;
        if (width == HN_VL && gates)
            add_up(p, dy + i, x + i, g, m, n, out, HN_VL, true);
        else if (width == HN_VL)
            add_up(p, dy + i, x + i, g, m, n, out, HN_VL, false);
        else
            add_up(p, dy + i, x + i, g, m, n, out, width, gates);
        out += 2 * HN_VL;
    }
}

/* ---- what they come to ---- */

static float *numbers(const hn_call *call) {
    const hn_batch_norm_grad_f32 *p = call->problem;
    return (float *)call->scratch + chunks_of(p) * 2 * vectors_of(p) * HN_VL;
}

static void settle(const hn_call *call, int64_t vector) {
    const hn_batch_norm_grad_f32 *p = call->problem;
    int64_t step = vectors_of(p) * 2 * HN_VL, at = vector * HN_VL;
    int64_t width = hn_least(HN_VL, p->c - at);
    const float *part = (const float *)call->scratch + vector * 2 * HN_VL;
    hn_vf db = hn_v_set1(0.0f), along = db;
    for (int64_t k = 0; k < chunks_of(p); k++) {
        db = hn_v_add(db, hn_v_load(part + k * step));
        along = hn_v_add(along, hn_v_load(part + k * step + HN_VL));
    }
    hn_vf var = hn_v_load_part((const float *)call->ptr[HN_BNG_VAR] + at, width);
    hn_vf scale = hn_v_load_part((const float *)call->ptr[HN_BNG_SCALE] + at, width);
    hn_vf r = hn_v_div(hn_v_set1(1.0f), hn_v_sqrt(hn_v_add(var, hn_v_set1(p->epsilon))));
    hn_vf ds = hn_v_mul(along, r), a = hn_v_mul(scale, r);
    hn_vf each = hn_v_mul(a, hn_v_set1(-1.0f / (float)p->n));
    float *db_out = call->ptr[HN_BNG_DB], *ds_out = call->ptr[HN_BNG_DS];
    if (db_out != NULL) hn_v_store_part(db_out + at, db, width);
    if (ds_out != NULL) hn_v_store_part(ds_out + at, ds, width);
    float *to = numbers(call) + vector * PARTS * HN_VL;
    hn_v_store(to, a);
    hn_v_store(to + HN_VL, hn_v_mul(hn_v_mul(each, r), ds));
    hn_v_store(to + 2 * HN_VL, hn_v_mul(each, db));
}

/* ---- the result ---- */

HN_INLINE void finish(const hn_batch_norm_grad_f32 *p, const float *dy, const float *x,
                      const float *gate, float *dx, hn_vf mean, const float *with, int64_t n,
                      int64_t width, bool gates) {
    hn_vf a = hn_v_load(with), by = hn_v_load(with + HN_VL), at = hn_v_load(with + 2 * HN_VL);
    hn_vf limit = limit_of(p);
    for (int64_t k = 0; k < n; k++) {
        hn_vf d = hn_v_load_part(dy + k * p->dy_pixel, width);
        if (gates) d = gated(d, gate + k * p->gate_pixel, limit, width);
        hn_vf v = hn_v_sub(hn_v_load_part(x + k * p->x_pixel, width), mean);
        hn_v_store_part(dx + k * p->dx_pixel, hn_v_fma(a, d, hn_v_fma(v, by, at)), width);
    }
}

static void write_chunk(const hn_call *call, int64_t chunk) {
    const hn_batch_norm_grad_f32 *p = call->problem;
    int64_t first = chunk * pixels_of(p), n = hn_least(pixels_of(p), p->n - first);
    const float *dy = (const float *)call->ptr[HN_BNG_DY] + first * p->dy_pixel;
    const float *x = (const float *)call->ptr[HN_BNG_X] + first * p->x_pixel;
    const float *gate = call->ptr[HN_BNG_GATE], *mean = call->ptr[HN_BNG_MEAN];
    const float *with = numbers(call);
    float *dx = call->ptr[HN_BNG_DX];
    bool gates = gate != NULL;
    if (dx == NULL) return;
    dx += first * p->dx_pixel;
    if (gates) gate += first * p->gate_pixel;
    FOR_VECTORS(p, i, width) {
        hn_vf m = hn_v_load_part(mean + i, width);
        const float *g = gates ? gate + i : NULL;
        if (width == HN_VL && gates)
            finish(p, dy + i, x + i, g, dx + i, m, with, n, HN_VL, true);
        else if (width == HN_VL)
            finish(p, dy + i, x + i, g, dx + i, m, with, n, HN_VL, false);
        else
            finish(p, dy + i, x + i, g, dx + i, m, with, n, width, gates);
        with += PARTS * HN_VL;
    }
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)lane;
    for (int64_t t = begin; t < end; t++) {
        if (phase == 0)
            run_chunk(call, t);
        else if (phase == 1)
            settle(call, t);
        else
            write_chunk(call, t);
    }
}

const hn_kernel HN_V_ROW(batch_norm_grad_f32) = {
    .name = HN_V_NAME, .isa = HN_V_ISA, .order = HN_V_NAME, .work = work, .run = run};

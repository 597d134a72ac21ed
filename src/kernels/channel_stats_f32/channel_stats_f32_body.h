/* channel_stats_f32 over the vector vocabulary. The pixels fall into chunks that stay in L1: of each
 * the mean, then the squares of the deviations from it. A second phase joins the chunks of some
 * channels in order, by how far their means are apart:
 *
 *     d = mean_b - mean        mean += d * n_b / (n + n_b)        m2 += m2_b + d * d * n * n_b / (n + n_b)
 */
#include "base/least.h"
#include "kernels/channel_stats_f32/channel_stats_f32.h"
#include "simd/part.h"

enum { CHUNK = 4096, LEAST = 16 }; /* floats of a chunk; pixels */

static int64_t pixels_of(const hn_channel_stats_f32 *p) {
    int64_t n = CHUNK / (p->c > 0 ? p->c : 1);
    return n > LEAST ? n : LEAST;
}

static int64_t chunks_of(const hn_channel_stats_f32 *p) {
    return (p->n + pixels_of(p) - 1) / pixels_of(p);
}

static int64_t vectors_of(const hn_channel_stats_f32 *p) { return (p->c + HN_VL - 1) / HN_VL; }

static void work(const void *problem, int lanes, hn_work *w) {
    (void)lanes;
    const hn_channel_stats_f32 *p = problem;
    int64_t vectors = vectors_of(p);
    *w = (hn_work){.n_phases = 2,
                   .tasks = {chunks_of(p), vectors, vectors, vectors},
                   .scratch = (size_t)(chunks_of(p) * vectors * 2 * HN_VL) * sizeof(float)};
}

/* Mean and squares of n pixels of a vector of channels, into out[0] and out[HN_VL]. */
HN_INLINE void measure(const float *x, int64_t pitch, int64_t n, float *out, int64_t width) {
    hn_vf s[4], zero = hn_v_set1(0.0f);
    int64_t k = 0;
    for (int i = 0; i < 4; i++) s[i] = zero;
    for (; k + 4 <= n; k += 4)
        for (int i = 0; i < 4; i++)
            s[i] = hn_v_add(s[i], hn_v_load_part(x + (k + i) * pitch, width));
    for (; k < n; k++) s[0] = hn_v_add(s[0], hn_v_load_part(x + k * pitch, width));
    hn_vf mean =
        hn_v_mul(hn_v_add(hn_v_add(s[0], s[1]), hn_v_add(s[2], s[3])), hn_v_set1(1.0f / (float)n));
    for (int i = 0; i < 4; i++) s[i] = zero;
    for (k = 0; k + 4 <= n; k += 4)
        for (int i = 0; i < 4; i++) {
            hn_vf d = hn_v_sub(hn_v_load_part(x + (k + i) * pitch, width), mean);
            s[i] = hn_v_fma(d, d, s[i]);
        }
    for (; k < n; k++) {
        hn_vf d = hn_v_sub(hn_v_load_part(x + k * pitch, width), mean);
        s[0] = hn_v_fma(d, d, s[0]);
    }
    hn_v_store(out, mean);
    hn_v_store(out + HN_VL, hn_v_add(hn_v_add(s[0], s[1]), hn_v_add(s[2], s[3])));
}

static void run_chunk(const hn_call *call, int64_t chunk) {
    const hn_channel_stats_f32 *p = call->problem;
    int64_t first = chunk * pixels_of(p), n = hn_least(pixels_of(p), p->n - first);
    const float *x = (const float *)call->ptr[HN_STATS_X] + first * p->x_pixel;
    float *out = (float *)call->scratch + chunk * vectors_of(p) * 2 * HN_VL;
    for (int64_t i = 0; i < p->c; i += HN_VL, out += 2 * HN_VL) {
        if (p->c - i >= HN_VL)
            measure(x + i, p->x_pixel, n, out, HN_VL);
        else
            measure(x + i, p->x_pixel, n, out, p->c - i);
    }
}

static void join(const hn_call *call, int64_t vector) {
    const hn_channel_stats_f32 *p = call->problem;
    float *mean_out = call->ptr[HN_STATS_MEAN], *var_out = call->ptr[HN_STATS_VAR];
    int64_t step = vectors_of(p) * 2 * HN_VL, n = hn_least(pixels_of(p), p->n);
    const float *part = (const float *)call->scratch + vector * 2 * HN_VL;
    hn_vf mean = hn_v_load(part), m2 = hn_v_load(part + HN_VL);
    for (int64_t k = 1; k < chunks_of(p); k++) {
        int64_t more = hn_least(pixels_of(p), p->n - n);
        float share = (float)((double)more / (double)(n + more));
        hn_vf d = hn_v_sub(hn_v_load(part + k * step), mean);
        mean = hn_v_fma(d, hn_v_set1(share), mean);
        m2 = hn_v_add(m2, hn_v_load(part + k * step + HN_VL));
        m2 = hn_v_fma(hn_v_mul(d, d), hn_v_set1(share * (float)n), m2);
        n += more;
    }
    int64_t width = hn_least(HN_VL, p->c - vector * HN_VL);
    hn_vf var = hn_v_mul(m2, hn_v_set1(1.0f / (float)p->n));
    if (mean_out != NULL) hn_v_store_part(mean_out + vector * HN_VL, mean, width);
    if (var_out != NULL) hn_v_store_part(var_out + vector * HN_VL, var, width);
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

const hn_kernel HN_V_ROW(channel_stats_f32) = {
    .name = HN_V_NAME, .isa = HN_V_ISA, .order = HN_V_NAME, .work = work, .run = run};

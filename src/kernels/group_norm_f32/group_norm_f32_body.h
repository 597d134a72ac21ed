/* group_norm_f32 over the vector vocabulary, in three phases:
 *   - for chunks of pixels: the sum of every channel, and its squared deviations from the chunk's
 *     own mean, so that nothing cancels;
 *   - for groups: the chunks' sums and deviations joined, in double, in their order;
 *   - for chunks again: the result.
 * Vectors run along channels. The chunks are a function of the problem alone.
 *
 * Scratch: [batch][chunks][2][channels] sums and deviations, then [batch][2][groups] means and
 * factors.
 */
#include <math.h>

#include "kernels/act_simd.h"
#include "kernels/group_norm_f32/group_norm_f32.h"
#include "simd/part.h"

enum { CHUNK = 8192 }; /* elements */

static int64_t chunk_of(const hn_group_norm_f32 *p) {
    int64_t pixels = CHUNK / (p->channels > 0 ? p->channels : 1);
    return pixels < 1 ? 1 : pixels < p->pixels ? pixels : p->pixels;
}

static int64_t chunks_of(const hn_group_norm_f32 *p) {
    int64_t chunk = chunk_of(p);
    return chunk > 0 ? (p->pixels + chunk - 1) / chunk : 0;
}

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_group_norm_f32 *p = problem;
    (void)lanes;
    *w = (hn_work){.n_phases = 3};
    if (p->batch == 0 || p->pixels == 0 || p->channels == 0) return;
    int64_t tasks = p->batch * chunks_of(p);
    w->tasks[0] = tasks, w->tasks[1] = p->batch * p->groups, w->tasks[2] = tasks;
    w->scratch = (size_t)(2 * (tasks * p->channels + p->batch * p->groups)) * sizeof(float);
}

/* The sums and deviations of one or four vectors of n channels each over some pixels. */
HN_INLINE void measure(const float *x, int64_t pixels, int64_t pitch, float *sum, float *square,
                       int vectors, int64_t n) {
    hn_vf s[4], q[4], mean[4];
    for (int k = 0; k < vectors; k++) s[k] = q[k] = hn_v_set1(0.0f);
    for (int64_t i = 0; i < pixels; i++)
        for (int k = 0; k < vectors; k++)
            s[k] = hn_v_add(s[k], hn_v_load_part(x + i * pitch + k * HN_VL, n));
    for (int k = 0; k < vectors; k++) mean[k] = hn_v_div(s[k], hn_v_set1((float)pixels));
    for (int64_t i = 0; i < pixels; i++)
        for (int k = 0; k < vectors; k++) {
            hn_vf d = hn_v_sub(hn_v_load_part(x + i * pitch + k * HN_VL, n), mean[k]);
            q[k] = hn_v_fma(d, d, q[k]);
        }
    for (int k = 0; k < vectors; k++) {
        hn_v_store_part(sum + k * HN_VL, s[k], n);
        hn_v_store_part(square + k * HN_VL, q[k], n);
    }
}

static void measure_all(const hn_group_norm_f32 *p, const float *x, int64_t pixels, float *sum) {
    float *square = sum + p->channels;
    int64_t c = 0, n = p->channels, pitch = p->x_pixel;
    for (; c + 4 * HN_VL <= n; c += 4 * HN_VL)
        measure(x + c, pixels, pitch, sum + c, square + c, 4, HN_VL);
    for (; c + HN_VL <= n; c += HN_VL) measure(x + c, pixels, pitch, sum + c, square + c, 1, HN_VL);
    if (c < n) measure(x + c, pixels, pitch, sum + c, square + c, 1, n - c);
}

/* The mean and the factor of group g of image b. */
static void join(const hn_group_norm_f32 *p, const float *sums, int64_t b, int64_t g, float *mean,
                 float *factor) {
    int64_t chunks = chunks_of(p), chunk = chunk_of(p), size = p->channels / p->groups;
    const float *first = sums + b * chunks * 2 * p->channels + g * size;
    double total = 0, square = 0, count = (double)(p->pixels * size);
    for (int64_t k = 0; k < chunks; k++)
        for (int64_t c = 0; c < size; c++) total += (double)first[2 * k * p->channels + c];
    double middle = total / count;
    for (int64_t k = 0; k < chunks; k++) {
        double pixels = (double)(k + 1 < chunks ? chunk : p->pixels - k * chunk);
        const float *s = first + 2 * k * p->channels, *q = s + p->channels;
        for (int64_t c = 0; c < size; c++) {
            double d = (double)s[c] / pixels - middle;
            square += (double)q[c] + pixels * d * d;
        }
    }
    *mean = (float)middle;
    *factor = (float)(1 / sqrt(square / count + (double)p->epsilon));
}

/* Per channel, what a chunk's pixels go through: (x - mean) * factor + bias. */
typedef struct ending {
    hn_vf mean, factor, bias, a, b;
} ending;

HN_INLINE void finish(const ending *e, const float *x, float *y, int64_t pixels, int64_t x_pixel,
                      int64_t y_pixel, int64_t n, hn_act_kind kind) {
    for (int64_t i = 0; i < pixels; i++) {
        hn_vf d = hn_v_sub(hn_v_load_part(x + i * x_pixel, n), e->mean);
        hn_v_store_part(y + i * y_pixel,
                        hn_v_act(hn_v_fma(d, e->factor, e->bias), kind, e->a, e->b), n);
    }
}

/* The constants of n <= HN_VL channels from c on. */
static ending ending_of(const hn_group_norm_f32 *p, const hn_call *call, const float *means,
                        int64_t c, int64_t n) {
    const float *scale = call->ptr[HN_GROUP_NORM_SCALE], *bias = call->ptr[HN_GROUP_NORM_BIAS];
    float mean[HN_VL] = {0}, factor[HN_VL] = {0};
    for (int64_t i = 0; i < n; i++) {
        int64_t g = (c + i) / (p->channels / p->groups);
        mean[i] = means[g];
        factor[i] = means[p->groups + g] * (scale != NULL ? scale[c + i] : 1.0f);
    }
    return (ending){hn_v_load(mean), hn_v_load(factor),
                    bias != NULL ? hn_v_load_n(bias + c, n) : hn_v_set1(0.0f), hn_v_set1(p->act.a),
                    hn_v_set1(p->act.b)};
}

static void finish_any(const hn_group_norm_f32 *p, const ending *e, const float *x, float *y,
                       int64_t pixels, int64_t n) {
    switch (p->act.kind) {
#define HN_X(name, formula)                                                        \
    case HN_ACT_##name:                                                            \
        if (n == HN_VL)                                                            \
            finish(e, x, y, pixels, p->x_pixel, p->y_pixel, HN_VL, HN_ACT_##name); \
        else                                                                       \
            finish(e, x, y, pixels, p->x_pixel, p->y_pixel, n, HN_ACT_##name);     \
        break;
        HN_ACT_LIST(HN_X)
#undef HN_X
        case HN_ACT_COUNT_: break;
    }
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)lane;
    const hn_group_norm_f32 *p = call->problem;
    int64_t chunk = chunk_of(p), chunks = chunks_of(p), channels = p->channels;
    float *sums = call->scratch, *means = sums + p->batch * chunks * 2 * channels;
    for (int64_t t = begin; t < end; t++) {
        if (phase == 1) {
            int64_t b = t / p->groups, g = t % p->groups;
            float *m = means + b * 2 * p->groups + g;
            join(p, sums, b, g, m, m + p->groups);
            continue;
        }
        int64_t b = t / chunks, first = t % chunks * chunk;
        int64_t pixels = p->pixels - first < chunk ? p->pixels - first : chunk;
        const float *x =
            (const float *)call->ptr[HN_GROUP_NORM_X] + b * p->x_image + first * p->x_pixel;
        float *y = (float *)call->ptr[HN_GROUP_NORM_Y] + b * p->y_image + first * p->y_pixel;
        if (phase == 0) {
            measure_all(p, x, pixels, sums + t * 2 * channels);
            continue;
        }
        for (int64_t c = 0; c < channels; c += HN_VL) {
            int64_t n = channels - c < HN_VL ? channels - c : HN_VL;
            ending e = ending_of(p, call, means + b * 2 * p->groups, c, n);
            finish_any(p, &e, x + c, y + c, pixels, n);
        }
    }
}

const hn_kernel HN_V_ROW(group_norm_f32) = {
    .name = HN_V_NAME, .isa = HN_V_ISA, .order = HN_V_NAME, .work = work, .run = run};

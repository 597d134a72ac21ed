/* SmoothQuant: what is hard to quantize moves from the inputs of products to their weights (Xiao et
 * al., 2023).
 *
 *     h = LayerNormalization (x, g, b)            h = LayerNormalization (x, g/s, b/s)
 *     q = MatMul (h, Q)                           q = MatMul (h, s*Q)     rows of the weights
 *     k = MatMul (h, K)             becomes       k = MatMul (h, s*K)
 *
 *                  |h|    |Q|, |K|                |h|    |Q|, |K|
 *     channel 0    #      ##                      #      #
 *             1    #      #                       #      #
 *             2    ###########  #        becomes  ###    ###          an outlier of a few channels
 *             3    ##     ##                      ##     ##
 *
 * A few channels of what a normalization makes are larger than the others by far, always the same
 * ones, and inputs have one scale for all channels. Per channel
 *
 *     s = max|h|^a / max|w|^(1-a)
 *
 * over the samples and over the weights of all products that read h (normed.h). With a = 0.5 the
 * burden is shared evenly; which share is best depends on how uneven either side is. So a goes from
 * 0.3 to 0.9, and the one is taken that makes the error of the products least, each number being
 * off by its step / sqrt(12):
 *
 *     sum over outputs o of    step_w[o]^2 / 12 * sum over k of (h[k] / s[k])^2      their weights
 *                            + step_h^2 / 12 * sum over k of (s[k] * w[o][k])^2      their inputs
 *
 * with steps of the ranges that h / s and s * w then have. Where that gains less than a tenth over
 * s = 1, the normalization stays as it is.
 *
 * Fires for LayerNormalization and RMSNormalization over the last axis with constant f32 scale and
 * bias, read by MatMul or Gemm layers whose inputs the scheme quantizes and whose weights nothing
 * else uses.
 */
#include <math.h>
#include <string.h>

#include "compress/normed.h"
#include "compress/transform.h"
#include "compress/watch.h"

enum { FIRST_TENTH = 3, LAST_TENTH = 9 }; /* of a */
#define WORTH 0.9                         /* of the error that there is without */
/* No channel is scaled by more, and larger weights are left alone: nothing leaves the range of f32.
 */
#define MOST_FACTOR 1e4
#define MOST_WEIGHT 1e30

typedef struct norm {
    const hn_normed *at;
    double rows;
    /* [channels]: */
    double *least, *most; /* h over the samples, and 0 */
    double *squares;      /* sums of h * h */
    double *weights;      /* greatest |w| of all products */
    double *by, *best;    /* s */
    bool better;          /* the best are worth it */
} norm;

typedef struct smoothing {
    hn_transform_ctx *c;
    hn_arena arena;
    int n_norms;
    norm *norms;
} smoothing;

static hone_status find(smoothing *s, hn_error *err) {
    hn_normed *all;
    HN_TRY(hn_normed_find(&all, &s->n_norms, s->c->model, s->c->scheme, HN_LAYER_DYNAMIC,
                          HN_LAYER_STATIC, &s->arena, err));
    s->norms = hn_arena_array(&s->arena, (size_t)s->n_norms + 1, sizeof *s->norms);
    if (s->norms == NULL) return HN_NOMEM(err);
    for (int i = 0; i < s->n_norms; i++) {
        norm *of = &s->norms[i];
        of->at = &all[i];
        double **arrays[] = {&of->least, &of->most, &of->squares, &of->weights, &of->by, &of->best};
        for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++) {
            *arrays[k] = hn_arena_array(&s->arena, (size_t)of->at->channels, sizeof(double));
            if (*arrays[k] == NULL) return HN_NOMEM(err);
        }
    }
    return HONE_OK;
}

static hone_status look(void *ctx, int i, const hn_tensor *t, int64_t n, hn_error *err) {
    (void)n;
    norm *of = &((const smoothing *)ctx)->norms[i];
    HN_CHECK(err, t->dtype == HONE_DTYPE_F32 && t->n % of->at->channels == 0, HONE_E_SHAPE,
             "normalization '%s' has an output that does not fit its scale", of->at->norm->name);
    const float *x = t->data;
    for (int64_t at = 0; at < t->n; at += of->at->channels)
        for (int64_t k = 0; k < of->at->channels; k++) {
            double h = (double)x[at + k];
            of->least[k] = fmin(of->least[k], h);
            of->most[k] = fmax(of->most[k], h);
            of->squares[k] += h * h;
        }
    of->rows += (double)(t->n / of->at->channels);
    return HONE_OK;
}

static hone_status watch(smoothing *s, hn_error *err) {
    hn_transform_ctx *c = s->c;
    hn_watch_options o = {
        .samples = c->samples, .progress = c->progress, .progress_ctx = c->progress_ctx};
    const char **names = hn_arena_array(&s->arena, (size_t)s->n_norms, sizeof *names);
    if (names == NULL) return HN_NOMEM(err);
    for (int i = 0; i < s->n_norms; i++) names[i] = s->norms[i].at->norm->outputs[0]->name;
    return hn_watch(c->model, names, s->n_norms, c->feed, c->how, &o, look, s, c->alloc, err);
}

/* False: a weight is not a number that can be scaled. */
static bool measure_weights(norm *of) {
    for (int p = 0; p < of->at->n; p++) {
        const hn_tensor *t = of->at->products[p].weight->constant;
        for (int64_t i = 0; i < t->n; i++) {
            double x = fabs(hn_tensor_f64(t, i)),
                   *most = &of->weights[hn_normed_channel(&of->at->products[p], i)];
            if (!(x <= MOST_WEIGHT)) return false;
            *most = fmax(*most, x);
        }
    }
    return true;
}

static void factors(norm *of, double a) {
    for (int64_t k = 0; k < of->at->channels; k++) {
        double h = fmax(-of->least[k], of->most[k]), w = of->weights[k];
        double by = pow(h, a) / pow(w, 1 - a);
        of->by[k] =
            h == 0 || w == 0 || !isfinite(h) ? 1 : fmin(fmax(by, 1 / MOST_FACTOR), MOST_FACTOR);
    }
}

static double square(double x) { return x * x; }

/* Squared steps of a product's weights, [outputs] where each has its own, added up; and the sum of
 * their squares, both by s. */
static void weigh_product(const norm *of, const hn_weighted *w, double *steps, double *squares) {
    const hn_tensor *t = w->weight->constant;
    int64_t outputs = t->dims[w->channel_axis], across = w->channel_axis == 0 ? t->dims[1] : 1;
    int64_t down = w->channel_axis == 0 ? 1 : t->dims[1];
    double levels = (double)(INT64_C(1) << (w->scheme.weights.bits - 1)), largest = 0;
    *steps = *squares = 0;
    for (int64_t o = 0; o < outputs; o++) {
        double most = 0;
        for (int64_t k = 0; k < of->at->channels; k++) {
            double x = of->by[k] * hn_tensor_f64(t, o * across + k * down);
            most = fmax(most, fabs(x));
            *squares += x * x;
        }
        largest = fmax(largest, most);
        *steps += square(most / levels);
    }
    if (!w->scheme.weights.per_channel) *steps = (double)outputs * square(largest / levels);
}

/* The error of all products for the factors in `by`. */
static double error_of(const norm *of) {
    double least = 0, most = 0, inputs = 0, error = 0;
    for (int64_t k = 0; k < of->at->channels; k++) {
        least = fmin(least, of->least[k] / of->by[k]);
        most = fmax(most, of->most[k] / of->by[k]);
        inputs += of->squares[k] / square(of->by[k]);
    }
    for (int p = 0; p < of->at->n; p++) {
        const hn_weighted *w = &of->at->products[p];
        double steps, squares, codes = (double)(INT64_C(1) << w->scheme.activations.bits);
        weigh_product(of, w, &steps, &squares);
        error += (steps * inputs + square((most - least) / codes) * of->rows * squares) / 12;
    }
    return error;
}

/* The best factors; false: they are not worth it. */
static bool choose(norm *of) {
    size_t n = (size_t)of->at->channels;
    bool better = false;
    if (!measure_weights(of)) return false;
    for (size_t k = 0; k < n; k++) of->by[k] = 1;
    double least = WORTH * error_of(of);
    for (int tenth = FIRST_TENTH; tenth <= LAST_TENTH; tenth++) {
        factors(of, tenth / 10.0);
        double error = error_of(of);
        if (!(error < least)) continue;
        least = error;
        better = true;
        memcpy(of->best, of->by, n * sizeof *of->best);
    }
    return better;
}

/* Weights of one normalization's products are no other's: all may be looked at side by side. */
static void choose_at(void *ctx, int64_t i) {
    norm *of = &((const smoothing *)ctx)->norms[i];
    of->better = choose(of);
}

hone_status hn_transform_smooth(hn_transform_ctx *c, hn_error *err) {
    smoothing s = {.c = c};
    hn_arena_init(&s.arena, c->alloc, HN_MEM_SCRATCH);
    hone_status status = find(&s, err);
    if (status == HONE_OK && s.n_norms > 0) status = watch(&s, err);
    if (status == HONE_OK) hn_pool_run(c->how->engine.pool, s.n_norms, choose_at, &s);
    for (int i = 0; i < s.n_norms && status == HONE_OK; i++) {
        const norm *of = &s.norms[i];
        if (!of->better) continue;
        status = hn_normed_scale(of->at, of->best, "_smooth", err);
        c->changed += of->at->n;
    }
    hn_arena_deinit(&s.arena);
    return status;
}

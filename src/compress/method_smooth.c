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
 *     s = max|h|^a / max|w|^(1-a)        a = 0.5: the burden is shared evenly
 *
 * over the samples and over the weights of all products that read h (normed.h).
 *
 * Fires for LayerNormalization and RMSNormalization over the last axis with constant f32 scale and
 * bias, read by MatMul or Gemm layers whose inputs the scheme quantizes and whose weights nothing
 * else uses.
 */
#include <math.h>

#include "compress/method.h"
#include "compress/normed.h"
#include "compress/watch.h"

#define ALPHA 0.5
/* No channel is scaled by more, and larger weights are left alone: nothing leaves the range of f32.
 */
#define MOST_FACTOR 1e4
#define MOST_WEIGHT 1e30

typedef struct norm {
    const hn_normed *at;
    double *inputs; /* [channels]: greatest |h| over the samples */
    double *by;     /* [channels]: s */
} norm;

typedef struct smoothing {
    hn_method_ctx *c;
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
        of->inputs = hn_arena_array(&s->arena, (size_t)of->at->channels, sizeof *of->inputs);
        of->by = hn_arena_array(&s->arena, (size_t)of->at->channels, sizeof *of->by);
        if (of->inputs == NULL || of->by == NULL) return HN_NOMEM(err);
    }
    return HONE_OK;
}

static hone_status look(void *ctx, int i, const hn_tensor *t, int64_t n, hn_error *err) {
    (void)n;
    const norm *of = &((const smoothing *)ctx)->norms[i];
    HN_CHECK(err, t->dtype == HONE_DTYPE_F32 && t->n % of->at->channels == 0, HONE_E_SHAPE,
             "normalization '%s' has an output that does not fit its scale", of->at->norm->name);
    const float *x = t->data;
    for (int64_t at = 0; at < t->n; at += of->at->channels)
        for (int64_t k = 0; k < of->at->channels; k++)
            of->inputs[k] = fmax(of->inputs[k], fabs((double)x[at + k]));
    return HONE_OK;
}

static hone_status watch(smoothing *s, hn_error *err) {
    hn_method_ctx *c = s->c;
    hn_watch_options o = {
        .samples = c->samples, .progress = c->progress, .progress_ctx = c->progress_ctx};
    const char **names = hn_arena_array(&s->arena, (size_t)s->n_norms, sizeof *names);
    if (names == NULL) return HN_NOMEM(err);
    for (int i = 0; i < s->n_norms; i++) names[i] = s->norms[i].at->norm->outputs[0]->name;
    return hn_watch(c->model, names, s->n_norms, c->feed, c->how, &o, look, s, c->alloc, err);
}

/* False: a weight is not a number that can be scaled. */
static bool choose(norm *of) {
    for (int p = 0; p < of->at->n; p++) {
        const hn_tensor *t = of->at->products[p].weight->constant;
        for (int64_t i = 0; i < t->n; i++) {
            double x = fabs(hn_tensor_f64(t, i)),
                   *most = &of->by[hn_normed_channel(&of->at->products[p], i)];
            if (!(x <= MOST_WEIGHT)) return false;
            *most = fmax(*most, x);
        }
    }
    for (int64_t k = 0; k < of->at->channels; k++) {
        double by = pow(of->inputs[k], ALPHA) / pow(of->by[k], 1 - ALPHA);
        bool nothing = of->inputs[k] == 0 || of->by[k] == 0 || !isfinite(of->inputs[k]);
        of->by[k] = nothing ? 1 : fmin(fmax(by, 1 / MOST_FACTOR), MOST_FACTOR);
    }
    return true;
}

hone_status hn_method_smooth(hn_method_ctx *c, hn_error *err) {
    smoothing s = {.c = c};
    hn_arena_init(&s.arena, c->alloc, HN_MEM_SCRATCH);
    hone_status status = find(&s, err);
    if (status == HONE_OK && s.n_norms > 0) status = watch(&s, err);
    for (int i = 0; i < s.n_norms && status == HONE_OK; i++) {
        norm *of = &s.norms[i];
        if (!choose(of)) continue;
        status = hn_normed_scale(of->at, of->by, "_smooth", err);
        c->changed += of->at->n;
    }
    hn_arena_deinit(&s.arena);
    return status;
}

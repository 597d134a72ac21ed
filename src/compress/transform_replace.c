/* A convolution becomes a depthwise one, which has the window, and a pointwise one, which has the
 * channels:
 *
 *     w[m, c, t]  ~  sum over q of  p[m, (c, q)] * d[(c, q), t]         q < multiplier
 *
 * Each channel's weights [m, t] are cut to rank `multiplier` by their singular values. With samples,
 * p and d are then found in turns, each by least squares of the layer's outputs while the other
 * stays: what one channel cannot do, others make up for. What is left is large, and training gets it
 * back.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/least.h"
#include "base/size.h"
#include "compress/compression.h"
#include "compress/factor.h"

#define MOST_SAMPLES 512
#define DAMPING 1e-4 /* of the mean of the diagonal */
/* Numbers of d that least squares find at once: their matrix takes 42 MB. */
#define MOST_AT_ONCE 2304

/* clang-format off */
const hn_parameter hn_params_replace[] = {
    {"multiplier", HN_PARAM_COUNT, "1", "outputs of the depthwise convolution for each channel", 1, 64, NULL, false},
    {"turns", HN_PARAM_COUNT, "4", "with samples: how often the two are found in turns", 1, 100, NULL, false},
    {"only", HN_PARAM_TEXT, NULL, "layers to change, patterns separated by commas", 0, 0, NULL, false},
    {"except", HN_PARAM_TEXT, NULL, "layers to leave alone, likewise", 0, 0, NULL, false},
    {0},
};
/* clang-format on */

hone_status hn_plan_replace(hn_compress_plan *plan, const hn_recipe_step *s, hn_error *err) {
    (void)plan, (void)s, (void)err; /* the ranges of its parameters are all there is to check */
    return HONE_OK;
}

/* A layer that is being replaced. */
typedef struct pair_of {
    const hn_factored *f;
    hn_chain *chain;
    int64_t m, c, taps, q, j; /* j: c * q */
    double *p, *d;            /* [m, j], [j, taps] */
    double *wh;               /* [m, c * taps]: the weight by X^T X */
    double *hd;               /* [j, c * taps]: d by X^T X */
    double *square, *other;   /* [j, j] */
    double *by, *turned;      /* [m, j] */
    double *system, *right;   /* for d: [j * taps, j * taps], lower; [j * taps] */
} pair_of;

static double *room(const pair_of *x, int64_t rows, int64_t columns) {
    size_t n;
    bool fits = hn_size_mul((size_t)rows, (size_t)columns, &n);
    return fits ? hn_alloc_zero(x->f->alloc, n * sizeof(double), HN_MEM_SCRATCH) : NULL;
}

static void pair_deinit(pair_of *x) {
    double *all[] = {x->p,     x->d,  x->wh,     x->hd,     x->square,
                     x->other, x->by, x->turned, x->system, x->right};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) hn_free(x->f->alloc, all[i]);
}

static bool finds_windows(const pair_of *x) { return x->j * x->taps <= MOST_AT_ONCE; }

static hone_status pair_init(pair_of *x, hn_error *err) {
    int64_t k = x->c * x->taps;
    x->p = room(x, x->m, x->j);
    x->d = room(x, x->j, x->taps);
    bool good = x->p != NULL && x->d != NULL;
    if (good && x->f->gram != NULL) {
        x->wh = room(x, x->m, k);
        x->hd = room(x, x->j, k);
        x->square = room(x, x->j, x->j);
        x->other = room(x, x->j, x->j);
        x->by = room(x, x->m, x->j);
        x->turned = room(x, x->j, x->m);
        good = x->wh != NULL && x->hd != NULL && x->square != NULL && x->other != NULL &&
               x->by != NULL && x->turned != NULL;
        if (good && finds_windows(x)) {
            x->system = room(x, x->j * x->taps, x->j * x->taps);
            x->right = room(x, x->j, x->taps);
            good = x->system != NULL && x->right != NULL;
        }
    }
    return good ? HONE_OK : HN_NOMEM(err);
}

/* Each channel by its singular values. */
static hone_status begin(pair_of *x, hn_error *err) {
    double *w = room(x, x->m, x->taps);
    hone_status status = HONE_OK;
    hn_low_rank l = {0};
    HN_CHECK_GOTO(err, w != NULL, HONE_E_NOMEM, "out of memory");
    for (int64_t c = 0; c < x->c; c++) {
        for (int64_t m = 0; m < x->m; m++)
            memcpy(w + m * x->taps, x->f->weight + (m * x->c + c) * x->taps,
                   (size_t)x->taps * sizeof *w);
        HN_TRY_GOTO(hn_low_rank_of(&l, w, x->m, x->taps, NULL, NULL, x->f->alloc, err));
        for (int64_t q = 0; q < hn_least(x->q, l.rank); q++) {
            int64_t j = c * x->q + q;
            double size = 0;
            for (int64_t t = 0; t < x->taps; t++)
                size += l.second[q * x->taps + t] * l.second[q * x->taps + t];
            size = size > 0 ? sqrt(size) : 1;
            for (int64_t t = 0; t < x->taps; t++)
                x->d[j * x->taps + t] = l.second[q * x->taps + t] / size;
            for (int64_t m = 0; m < x->m; m++) x->p[m * x->j + j] = l.first[q * x->m + m] * size;
        }
        hn_low_rank_deinit(&l, x->f->alloc);
    }
fail:
    hn_free(x->f->alloc, w);
    return status;
}

/* ---- least squares ---- */

/* p: the outputs of d are features, [j, j] of whose products and [m, j] with the outputs follow from
 * X^T X. */
static hone_status find_points(pair_of *x, hn_error *err) {
    int64_t k = x->c * x->taps, j = x->j;
    const double *h = x->f->gram;
    for (int64_t a = 0; a < j; a++)
        for (int64_t i = 0; i < k; i++) {
            double sum = 0;
            for (int64_t t = 0; t < x->taps; t++)
                sum += x->d[a * x->taps + t] * h[(a / x->q * x->taps + t) * k + i];
            x->hd[a * k + i] = sum;
        }
    for (int64_t a = 0; a < j; a++)
        for (int64_t b = 0; b < j; b++) {
            const double *from = x->hd + a * k + b / x->q * x->taps, *d = x->d + b * x->taps;
            double sum = 0;
            for (int64_t t = 0; t < x->taps; t++) sum += from[t] * d[t];
            x->square[a * j + b] = sum;
        }
    for (int64_t m = 0; m < x->m; m++)
        for (int64_t b = 0; b < j; b++) {
            const double *from = x->wh + m * k + b / x->q * x->taps, *d = x->d + b * x->taps;
            double sum = 0;
            for (int64_t t = 0; t < x->taps; t++) sum += from[t] * d[t];
            x->by[m * j + b] = sum;
        }
    hn_damp(x->square, j, DAMPING);
    HN_TRY(hn_cholesky(x->square, j, x->f->pool, err));
    hn_triangle_invert(x->square, j, x->other, x->f->pool);
    hn_multiply_turned(x->p, x->by, x->m, x->other, j, j, x->f->pool);
    hn_turn(x->square, x->other, j, j);
    memcpy(x->by, x->p, (size_t)(x->m * j) * sizeof *x->p);
    hn_multiply_turned(x->p, x->by, x->m, x->square, j, j, x->f->pool);
    return HONE_OK;
}

/* Solves l l^T y = right, in place. */
static void solve(const double *l, int64_t n, double *right) {
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = 0; k < i; k++) right[i] -= l[i * n + k] * right[k];
        right[i] /= l[i * n + i];
    }
    for (int64_t i = n; i-- > 0;) {
        right[i] /= l[i * n + i];
        for (int64_t k = 0; k < i; k++) right[k] -= l[i * n + k] * right[i];
    }
}

/* d: its numbers are unknowns of one system. */
static hone_status find_windows(pair_of *x, hn_error *err) {
    int64_t j = x->j, n = j * x->taps, k = x->c * x->taps;
    hn_turn(x->turned, x->p, x->m, j);
    hn_multiply_turned(x->square, x->turned, j, x->turned, j, x->m, x->f->pool);
    for (int64_t a = 0; a < n; a++) {
        int64_t ja = a / x->taps, at = ja / x->q * x->taps + a % x->taps;
        for (int64_t b = 0; b <= a; b++) {
            int64_t jb = b / x->taps, bt = jb / x->q * x->taps + b % x->taps;
            x->system[a * n + b] = x->square[ja * j + jb] * x->f->gram[at * k + bt];
        }
        x->right[a] = 0;
        for (int64_t m = 0; m < x->m; m++) x->right[a] += x->p[m * j + ja] * x->wh[m * k + at];
    }
    hn_damp(x->system, n, DAMPING);
    HN_TRY(hn_cholesky(x->system, n, x->f->pool, err));
    solve(x->system, n, x->right);
    memcpy(x->d, x->right, (size_t)n * sizeof *x->d);
    return HONE_OK;
}

static hone_status by_samples(pair_of *x, int64_t rounds, hn_error *err) {
    int64_t k = x->c * x->taps;
    hn_multiply_turned(x->wh, x->f->weight, x->m, x->f->gram, k, k, x->f->pool);
    HN_TRY(find_points(x, err));
    for (int64_t i = 1; i < rounds && x->system != NULL; i++) {
        HN_TRY(find_windows(x, err));
        HN_TRY(find_points(x, err));
    }
    return HONE_OK;
}

/* ---- layers ---- */

static void fill(const pair_of *x) {
    for (int64_t i = 0; i < x->j * x->taps; i++) x->chain->v[0].weight[i] = (float)x->d[i];
    for (int64_t i = 0; i < x->m * x->j; i++) x->chain->v[1].weight[i] = (float)x->p[i];
}

static hone_status error_of(const hn_factored *f, const hn_chain *chain, double *error,
                            hn_error *err) {
    double *is =
        hn_alloc_array(f->alloc, (size_t)(f->of.m.n * f->of.m.k), sizeof *is, HN_MEM_SCRATCH);
    if (is == NULL) return HN_NOMEM(err);
    hone_status status = hn_chain_multiply(chain, &f->of, is, f->alloc, err);
    if (status == HONE_OK) status = hn_factored_error(f, is, error, err);
    hn_free(f->alloc, is);
    return status;
}

/* The chain of a layer, without weights; false: it is not smaller, and *why says so. */
static bool plan(hn_chain *chain, const hn_chained *of, int64_t multiplier, const char **why) {
    int64_t taps = of->m.k / of->inputs, j = of->inputs * multiplier;
    *why = of->rank == 0   ? "only convolutions become depthwise and pointwise ones"
           : of->depthwise ? "it is a depthwise convolution"
           : taps == 1     ? "it is a pointwise convolution"
                           : NULL;
    if (*why != NULL) return false;
    *chain = (hn_chain){.n = 2};
    chain->v[0] = (hn_link){.n = j, .k = 1, .own = true, .taps = taps, .axes = of->axes};
    chain->v[1] = (hn_link){.n = of->m.n, .k = j, .taps = 1};
    if (hn_chain_weights(chain) < of->m.n * of->m.k) return true;
    *why = "the two would take no fewer weights";
    return false;
}

static hone_status replace(hn_transform_ctx *c, const hn_factored *f, hn_chain *chain,
                           int64_t multiplier, int64_t rounds, hn_error *err) {
    char what[120];
    pair_of x = {.f = f, .chain = chain, .m = f->of.m.n, .c = f->of.inputs, .q = multiplier};
    hone_status status = HONE_OK;
    hn_shrunk_layer row = hn_factored_row("replace", f->of.w);
    x.taps = f->of.m.k / x.c, x.j = x.c * x.q;
    HN_TRY_GOTO(pair_init(&x, err));
    HN_TRY_GOTO(begin(&x, err));
    if (f->gram != NULL && f->signal > 0) HN_TRY_GOTO(by_samples(&x, rounds, err));
    HN_TRY_GOTO(hn_chain_create(chain, f->alloc, err));
    fill(&x);
    HN_TRY_GOTO(error_of(f, chain, &row.error, err));
    row.kept = hn_chain_weights(chain);
    snprintf(what, sizeof what, "depthwise and pointwise, %.0f %% of its MACs",
             100 * (double)row.kept / (double)row.weights);
    row.what = what;
    status = hn_factored_replace(c, f, chain, &row, err);
fail:
    pair_deinit(&x);
    return status;
}

static hone_status replace_layer(hn_transform_ctx *c, const hn_weighted *w, int64_t multiplier,
                                 int64_t rounds, hn_error *err) {
    hn_chained of;
    hn_chain chain = {0};
    hn_layer_input in = {0};
    hn_factored f = {.alloc = c->alloc};
    hn_layer_look look = {.samples = MOST_SAMPLES, .gram = true};
    const char *why;
    hone_status status = HONE_OK;
    if (!hn_chained_of(&of, w, &why) || !plan(&chain, &of, multiplier, &why)) {
        hn_shrunk_layer row = hn_factored_row("replace", w);
        row.why_not = why;
        return hn_shrinking_tell(c, &row, err);
    }
    bool samples = c->feed != NULL;
    if (samples) HN_TRY_GOTO(hn_layer_inputs(&in, w, 1, &look, c->model, c, err));
    HN_TRY_GOTO(
        hn_factored_create(&f, &of, samples ? &in : NULL, c->how->engine.pool, c->alloc, err));
    status = replace(c, &f, &chain, multiplier, rounds, err);
fail:
    hn_chain_deinit(&chain, c->alloc);
    hn_factored_deinit(&f);
    hn_layer_input_deinit(&in, c->alloc);
    return status;
}

hone_status hn_transform_replace(hn_transform_ctx *c, hn_error *err) {
    const hn_recipe_step usual = {.transform = hn_transform_named("replace")};
    const hn_recipe_step *s = c->step != NULL ? c->step : &usual;
    int64_t multiplier = (int64_t)hn_step_number(s, "multiplier");
    int64_t rounds = (int64_t)hn_step_number(s, "turns");
    hn_arena arena;
    hn_weighted *layers;
    int n = 0;
    hn_arena_init(&arena, c->alloc, HN_MEM_SCRATCH);
    hone_status status = hn_shrinking_layers(c, hn_step_word(s, "only"), hn_step_word(s, "except"),
                                             &arena, &layers, &n, err);
    for (int i = 0; i < n && status == HONE_OK; i++) {
        if (c->progress != NULL && !c->progress(c->progress_ctx, i, n))
            status = HN_FAIL(err, HONE_E_LIMIT, "stopped at layer %d of %d", i, n);
        else
            status = replace_layer(c, &layers[i], multiplier, rounds, err);
    }
    hn_arena_deinit(&arena);
    return status;
}

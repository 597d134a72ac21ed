/* AWQ (Lin et al. 2023): weights that large inputs meet are scaled up before they are rounded, and
 * what makes the inputs is scaled down (normed.h): their part in the error of the outputs shrinks.
 *
 *     s = mean|h|^a per channel, of a mean of 1 between its least and its greatest
 *
 * a goes from 0 to 1 in steps of 1/20; the one is taken that makes the error of all products of a
 * normalization least, their weights rounded to the nearest point of their grids:
 *
 *     sum over products and rows d of (rounded(s*W)/s - W) of     d H d^T,      H = X^T X
 *
 * which is what their outputs are off by over the samples. Products behind other operators are not
 * scaled. Then all layers get the grids of the least error, each weight's counting by the inputs it
 * meets: ranges of groups are shrunk as far as that gains (layer_input.h), which cuts off weights.
 *
 * Layers that are computed from floats alone gain: those with integer inputs have SmoothQuant
 * (method_smooth.c).
 */
#include <math.h>
#include <string.h>

#include "compress/grid.h"
#include "compress/layer_input.h"
#include "compress/normed.h"

#define STEPS 20
#define MOST_SAMPLES 128
/* No channel is scaled by more. */
#define MOST_FACTOR 1e4

typedef struct search {
    const hn_normed *of;
    const hn_layer_input *in;
    hn_allocator *alloc;
    hn_pool *pool;
    double *by, *best; /* [channels] */
} search;

/* The factors for an exponent. */
static void factors(const search *s, double exponent) {
    double least = INFINITY, most = 0;
    int64_t n = s->in->k;
    for (int64_t k = 0; k < n; k++) {
        double mean = s->in->magnitudes[k] / (double)s->in->rows;
        s->by[k] = mean > 0 ? pow(mean, exponent) : 1;
        least = fmin(least, s->by[k]);
        most = fmax(most, s->by[k]);
    }
    double middle = sqrt(least * most);
    for (int64_t k = 0; k < n; k++)
        s->by[k] = fmin(fmax(s->by[k] / middle, 1 / MOST_FACTOR), MOST_FACTOR);
}

/* ---- the error of a product ---- */

/* The elements of a weight times or by the factors of their channels. */
typedef struct scaling {
    const search *s;
    const hn_weighted *w;
    const hn_tensor *from; /* NULL: what `to` holds is divided */
    hn_tensor *to;
} scaling;

enum { PIECE = 16384 }; /* elements of a piece of work */

static void scale_piece(void *ctx, int64_t piece) {
    const scaling *x = ctx;
    float *to = x->to->data;
    int64_t end = (piece + 1) * PIECE < x->to->n ? (piece + 1) * PIECE : x->to->n;
    for (int64_t i = piece * PIECE; i < end; i++) {
        double by = x->s->by[hn_normed_channel(x->w, i)];
        to[i] = x->from != NULL ? (float)(hn_tensor_f64(x->from, i) * by) : to[i] / (float)by;
    }
}

static void scale_weight(const search *s, const hn_weighted *w, const hn_tensor *from,
                         hn_tensor *to) {
    scaling x = {s, w, from, to};
    hn_pool_run(s->pool, (to->n + PIECE - 1) / PIECE, scale_piece, &x);
}

/* s*W on its grid, divided by s. */
static hone_status round_scaled(const search *s, const hn_weighted *w, hn_tensor **out,
                                hn_error *err) {
    const hn_tensor *from = w->weight->constant;
    hn_tensor *t, *codes = NULL;
    hn_grid g = {0};
    HN_TRY(hn_tensor_create(&t, s->alloc, HN_MEM_SCRATCH, HONE_DTYPE_F32, from->rank, from->dims,
                            err));
    scale_weight(s, w, from, t);
    hone_status status = hn_grid_create(&g, t, &w->scheme.weights, w->channel_axis, w->sum_axis,
                                        s->pool, s->alloc, err);
    if (status == HONE_OK) status = hn_grid_codes(&g, t, s->pool, s->alloc, &codes, err);
    if (status == HONE_OK) status = hn_grid_floats(&g, codes, s->pool, s->alloc, out, err);
    if (status == HONE_OK) scale_weight(s, w, NULL, *out);
    hn_tensor_unref(codes);
    hn_grid_deinit(&g);
    hn_tensor_unref(t);
    return status;
}

static hone_status add_error(const search *s, const hn_weighted *w, double *error, hn_error *err) {
    hn_layer_matrix m;
    hn_tensor *rounded;
    double sum;
    hn_layer_as_matrix(w, &m);
    HN_TRY(round_scaled(s, w, &rounded, err));
    hone_status status =
        hn_layer_error(&sum, &m, s->in, rounded, w->weight->constant, s->pool, s->alloc, err);
    hn_tensor_unref(rounded);
    if (status == HONE_OK) *error += sum;
    return status;
}

/* ---- normalizations ---- */

/* *better: some factors make the error less than none do. */
static hone_status try_exponents(const search *s, bool *better, hn_error *err) {
    double least = INFINITY;
    *better = false;
    for (int step = 0; step <= STEPS; step++) {
        double error = 0;
        factors(s, (double)step / STEPS);
        for (int p = 0; p < s->of->n; p++) HN_TRY(add_error(s, &s->of->products[p], &error, err));
        if (!(error < least)) continue;
        least = error;
        *better = step > 0;
        memcpy(s->best, s->by, (size_t)s->in->k * sizeof *s->best);
    }
    return HONE_OK;
}

static hone_status scale_norm(hn_transform_ctx *c, const hn_normed *of, hn_arena *arena,
                              hn_error *err) {
    hn_layer_input in;
    hn_layer_look look = {.samples = MOST_SAMPLES, .gram = true};
    size_t n = (size_t)of->channels;
    search s = {.of = of, .in = &in, .alloc = c->alloc, .pool = c->how->engine.pool};
    s.by = hn_arena_array(arena, n, sizeof *s.by);
    s.best = hn_arena_array(arena, n, sizeof *s.best);
    if (s.by == NULL || s.best == NULL) return HN_NOMEM(err);
    HN_TRY(hn_layer_inputs(&in, of->products, 1, &look, c->model, c, err));
    bool better = false;
    hone_status status = try_exponents(&s, &better, err);
    if (status == HONE_OK && better) {
        status = hn_normed_scale(of, s.best, "_awq", err);
        c->changed += of->n;
    }
    hn_layer_input_deinit(&in, c->alloc);
    return status;
}

/* ---- grids ---- */

static hone_status choose_grids(hn_transform_ctx *c, hn_arena *arena, hn_error *err) {
    hn_weighted *layers;
    hn_layer_matrix m;
    hn_layer_look look = {.samples = MOST_SAMPLES};
    const hn_grid *unused;
    int n_all, n = 0;
    HN_TRY(hn_weighted_layers(c->model, c->scheme, arena, &layers, &n_all, err));
    for (int i = 0; i < n_all; i++)
        if (layers[i].scheme.kind == HN_LAYER_WEIGHTS && hn_layer_as_matrix(&layers[i], &m))
            layers[n++] = layers[i];
    hn_layer_input *in = hn_arena_array(arena, (size_t)n + 1, sizeof *in);
    if (in == NULL) return HN_NOMEM(err);
    if (n == 0) return HONE_OK;
    HN_TRY(hn_layer_inputs(in, layers, n, &look, c->model, c, err));
    hone_status status = HONE_OK;
    for (int i = 0; i < n; i++) {
        if (status == HONE_OK) status = hn_layer_choose_grid(&unused, &layers[i], &in[i], c, err);
        hn_layer_input_deinit(&in[i], c->alloc);
    }
    return status;
}

hone_status hn_transform_awq(hn_transform_ctx *c, hn_error *err) {
    hn_arena arena;
    hn_arena_init(&arena, c->alloc, HN_MEM_SCRATCH);
    hn_normed *norms;
    int n = 0;
    hone_status status = hn_normed_find(&norms, &n, c->model, c->scheme, HN_LAYER_WEIGHTS,
                                        HN_LAYER_WEIGHTS, &arena, err);
    for (int i = 0; i < n && status == HONE_OK; i++) {
        if (c->progress != NULL && !c->progress(c->progress_ctx, i, n))
            status = HN_FAIL(err, HONE_E_LIMIT, "stopped at '%s'", norms[i].norm->name);
        else
            status = scale_norm(c, &norms[i], &arena, err);
    }
    if (status == HONE_OK && c->grids != NULL) status = choose_grids(c, &arena, err);
    hn_arena_deinit(&arena);
    return status;
}

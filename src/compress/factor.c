#include "compress/factor.h"

#include <math.h>
#include <string.h>

#include "base/least.h"
#include "base/size.h"
#include "engine/layers.h"

#define DAMPING 0.01 /* of the mean of the diagonal: directions that few samples have still count */

static double *numbers(int64_t rows, int64_t columns, hn_allocator *alloc) {
    size_t n;
    bool fits = hn_size_mul((size_t)rows, (size_t)columns, &n);
    return fits ? hn_alloc_array(alloc, n, sizeof(double), HN_MEM_SCRATCH) : NULL;
}

/* ---- the layer ---- */

static void copy_weight(hn_factored *f) {
    const hn_layer_matrix *m = &f->of.m;
    const hn_tensor *w = f->of.w->weight->constant;
    for (int64_t o = 0; o < m->n; o++)
        for (int64_t k = 0; k < m->k; k++)
            f->weight[o * m->k + k] = (double)hn_weight_at(w, o * m->o_stride + k * m->k_stride);
}

/* X^T X of each group with both triangles; less the mean if there is one. */
static void copy_gram(hn_factored *f, const hn_layer_input *in) {
    int64_t k = in->k;
    for (int64_t g = 0; g < in->groups; g++) {
        double *to = f->gram + g * k * k;
        const double *from = in->gram + g * k * k, *mean = f->mean + g * k;
        for (int64_t i = 0; i < k; i++)
            for (int64_t j = 0; j <= i; j++) {
                double less = f->mean != NULL ? (double)in->rows * mean[i] * mean[j] : 0;
                to[i * k + j] = to[j * k + i] = from[i * k + j] - less;
            }
    }
}

/* The squared outputs of weights d [n, k]: the sum over its rows of d X^T X d^T. */
static hone_status squares_of(const hn_factored *f, const double *d, double *sum, hn_error *err) {
    const hn_layer_matrix *m = &f->of.m;
    *sum = 0;
    if (f->gram == NULL) {
        for (int64_t i = 0; i < m->n * m->k; i++) *sum += d[i] * d[i];
        return HONE_OK;
    }
    int64_t each = m->n / m->groups;
    double *by = numbers(each, m->k, f->alloc);
    if (by == NULL) return HN_NOMEM(err);
    for (int64_t g = 0; g < m->groups; g++) {
        const double *rows = d + g * each * m->k;
        hn_multiply_turned(by, rows, each, f->gram + g * m->k * m->k, m->k, m->k,
                           m->groups > 1 ? NULL : f->pool);
        for (int64_t i = 0; i < each * m->k; i++) *sum += by[i] * rows[i];
    }
    hn_free(f->alloc, by);
    return HONE_OK;
}

/* What the mean of the inputs adds to each output, which samples count as signal too. */
static double mean_output(const hn_factored *f, const double *d, int64_t o) {
    int64_t k = f->of.m.k, group = o / (f->of.m.n / f->of.m.groups);
    double sum = 0;
    for (int64_t i = 0; i < k; i++) sum += d[o * k + i] * f->mean[group * k + i];
    return sum;
}

hone_status hn_factored_create(hn_factored *f, const hn_chained *of, const hn_layer_input *in,
                               hn_pool *pool, hn_allocator *alloc, hn_error *err) {
    const hn_layer_matrix *m = &of->m;
    hone_status status = HONE_OK;
    bool samples = in != NULL && in->rows > 0;
    *f = (hn_factored){.of = *of, .pool = pool, .alloc = alloc};
    f->weight = numbers(m->n, m->k, alloc);
    if (samples) f->gram = numbers(m->groups * m->k, m->k, alloc);
    if (samples && hn_chained_has_bias(of)) {
        f->mean = numbers(m->groups, m->k, alloc);
        HN_CHECK_GOTO(err, f->mean != NULL, HONE_E_NOMEM, "out of memory");
        for (int64_t i = 0; i < m->groups * m->k; i++) f->mean[i] = in->sums[i] / (double)in->rows;
    }
    HN_CHECK_GOTO(err, f->weight != NULL && (f->gram != NULL || !samples), HONE_E_NOMEM,
                  "out of memory");
    copy_weight(f);
    if (samples) copy_gram(f, in);
    HN_TRY_GOTO(squares_of(f, f->weight, &f->signal, err));
    for (int64_t o = 0; f->mean != NULL && o < m->n; o++) {
        double mean = mean_output(f, f->weight, o);
        f->signal += (double)in->rows * mean * mean;
    }
fail:
    if (status != HONE_OK) hn_factored_deinit(f);
    return status;
}

void hn_factored_deinit(hn_factored *f) {
    hn_free(f->alloc, f->weight);
    hn_free(f->alloc, f->gram);
    hn_free(f->alloc, f->mean);
    *f = (hn_factored){0};
}

static hone_status difference(const hn_factored *f, const double *is, double **out, hn_error *err) {
    int64_t n = f->of.m.n * f->of.m.k;
    *out = numbers(n, 1, f->alloc);
    if (*out == NULL) return HN_NOMEM(err);
    for (int64_t i = 0; i < n; i++) (*out)[i] = f->weight[i] - is[i];
    return HONE_OK;
}

hone_status hn_factored_error(const hn_factored *f, const double *is, double *share,
                              hn_error *err) {
    double *d, noise;
    HN_TRY(difference(f, is, &d, err));
    hone_status status = squares_of(f, d, &noise, err);
    hn_free(f->alloc, d);
    if (status == HONE_OK) *share = f->signal > 0 ? fmax(noise, 0) / f->signal : 0;
    return status;
}

/* What the bias has to add when the weight is `is`: [m.n]; NULL where no bias takes it. */
static hone_status shift_of(const hn_factored *f, const double *is, double **shift, hn_error *err) {
    double *d;
    *shift = NULL;
    if (f->mean == NULL) return HONE_OK;
    HN_TRY(difference(f, is, &d, err));
    *shift = numbers(f->of.m.n, 1, f->alloc);
    for (int64_t o = 0; *shift != NULL && o < f->of.m.n; o++)
        (*shift)[o] = (double)f->of.w->alpha * mean_output(f, d, o);
    hn_free(f->alloc, d);
    return *shift != NULL ? HONE_OK : HN_NOMEM(err);
}

hone_status hn_factored_replace(hn_transform_ctx *c, const hn_factored *f, const hn_chain *chain,
                                const hn_shrunk_layer *row, hn_error *err) {
    hone_status status = HONE_OK;
    double *shift = NULL, *is = numbers(f->of.m.n, f->of.m.k, f->alloc);
    HN_CHECK_GOTO(err, is != NULL, HONE_E_NOMEM, "out of memory");
    HN_TRY_GOTO(hn_chain_multiply(chain, &f->of, is, f->alloc, err));
    HN_TRY_GOTO(shift_of(f, is, &shift, err));
    HN_TRY_GOTO(hn_shrinking_tell(c, row, err));
    HN_TRY_GOTO(hn_chain_write(chain, &f->of, shift, err));
    c->changed++;
fail:
    hn_free(f->alloc, shift);
    hn_free(f->alloc, is);
    return status;
}

hn_shrunk_layer hn_factored_row(const char *transform, const hn_weighted *w) {
    return (hn_shrunk_layer){.transform = transform,
                             .layer = hn_layer_name(w->node),
                             .op = w->node->op->name,
                             .weights = w->weight->constant->n,
                             .error = NAN};
}

/* ---- forms ---- */

/* X^T X, damped, as a copy; *out NULL: no samples. */
static hone_status damped(const hn_factored *f, double **out, hn_error *err) {
    int64_t k = f->of.m.k;
    *out = NULL;
    if (f->gram == NULL) return HONE_OK;
    *out = numbers(k, k, f->alloc);
    if (*out == NULL) return HN_NOMEM(err);
    memcpy(*out, f->gram, (size_t)(k * k) * sizeof **out);
    hn_damp(*out, k, DAMPING);
    return HONE_OK;
}

/* The rank that leaves that share, but at least 1. */
static int64_t rank_within(const hn_low_rank *l, double share) {
    int64_t r = hn_low_rank_within(l, share);
    return r > 0 ? r : 1;
}

/* By how much the column of term i is to grow, and its row to shrink, so that both have one size. */
static double balance(const hn_low_rank *l, int64_t i) {
    double column = 0, row = 0;
    for (int64_t o = 0; o < l->n; o++) column += l->first[i * l->n + o] * l->first[i * l->n + o];
    for (int64_t k = 0; k < l->k; k++) row += l->second[i * l->k + k] * l->second[i * l->k + k];
    return column > 0 && row > 0 ? sqrt(sqrt(row / column)) : 1;
}

static bool fits_channel(const hn_factored *f) { return !f->of.depthwise; }

static hone_status take_channel(hn_factors *p, const hn_factored *f, hn_error *err) {
    double *h;
    HN_TRY(damped(f, &h, err));
    hone_status status =
        hn_low_rank_of(&p->v[0], f->weight, f->of.m.n, f->of.m.k, h, f->pool, f->alloc, err);
    hn_free(f->alloc, h);
    return status;
}

static int64_t all_taps(const hn_factored *f) { return f->of.m.k / f->of.inputs; }

static void cut_channel(hn_chain *out, const hn_factors *p, const hn_factored *f, double share) {
    int64_t r = rank_within(&p->v[0], share);
    *out = (hn_chain){.n = 2};
    out->v[0] = (hn_link){.n = r, .k = f->of.inputs, .taps = all_taps(f), .axes = f->of.axes};
    out->v[1] = (hn_link){.n = f->of.m.n, .k = r, .taps = 1};
}

static hone_status fill_channel(hn_chain *c, const hn_factors *p, const hn_factored *f,
                                hn_error *err) {
    const hn_low_rank *l = &p->v[0];
    int64_t r = c->v[0].n;
    HN_TRY(hn_chain_create(c, f->alloc, err));
    for (int64_t i = 0; i < r; i++) {
        double by = balance(l, i);
        for (int64_t k = 0; k < l->k; k++)
            c->v[0].weight[i * l->k + k] = (float)(l->second[i * l->k + k] / by);
        for (int64_t o = 0; o < l->n; o++)
            c->v[1].weight[o * r + i] = (float)(l->first[i * l->n + o] * by);
    }
    return HONE_OK;
}

static bool is_image(const hn_factored *f) {
    return f->of.rank == 2 && f->of.kernel[0] > 1 && f->of.kernel[1] > 1;
}

static bool fits_spatial(const hn_factored *f) { return !f->of.depthwise && is_image(f); }

/* Outputs and columns of the window against inputs and rows of the window. */
static hone_status take_spatial(hn_factors *p, const hn_factored *f, hn_error *err) {
    int64_t m = f->of.m.n, c = f->of.inputs, kh = f->of.kernel[0], kw = f->of.kernel[1];
    double *w = numbers(m * kw, c * kh, f->alloc);
    if (w == NULL) return HN_NOMEM(err);
    for (int64_t o = 0; o < m; o++)
        for (int64_t i = 0; i < c; i++)
            for (int64_t y = 0; y < kh; y++)
                for (int64_t x = 0; x < kw; x++)
                    w[(o * kw + x) * c * kh + i * kh + y] =
                        f->weight[((o * c + i) * kh + y) * kw + x];
    hone_status status = hn_low_rank_of(&p->v[0], w, m * kw, c * kh, NULL, f->pool, f->alloc, err);
    hn_free(f->alloc, w);
    return status;
}

static void cut_spatial(hn_chain *out, const hn_factors *p, const hn_factored *f, double share) {
    int64_t r = rank_within(&p->v[0], share);
    *out = (hn_chain){.n = 2};
    out->v[0] = (hn_link){.n = r, .k = f->of.inputs, .taps = f->of.kernel[0], .axes = 1};
    out->v[1] = (hn_link){.n = f->of.m.n, .k = r, .taps = f->of.kernel[1], .axes = 2};
}

static hone_status fill_spatial(hn_chain *c, const hn_factors *p, const hn_factored *f,
                                hn_error *err) {
    const hn_low_rank *l = &p->v[0];
    int64_t r = c->v[0].n, kw = f->of.kernel[1];
    HN_TRY(hn_chain_create(c, f->alloc, err));
    for (int64_t i = 0; i < r; i++) {
        double by = balance(l, i);
        for (int64_t k = 0; k < l->k; k++)
            c->v[0].weight[i * l->k + k] = (float)(l->second[i * l->k + k] / by);
        for (int64_t o = 0; o < l->n; o++)
            c->v[1].weight[(o / kw * r + i) * kw + o % kw] = (float)(l->first[i * l->n + o] * by);
    }
    return HONE_OK;
}

static bool fits_tucker(const hn_factored *f) {
    return !f->of.depthwise && f->of.rank > 0 && all_taps(f) > 1 && f->of.inputs > 1 &&
           f->of.m.n > 1;
}

/* The eigenvectors of w h w^T, w [n, k]; h NULL: the identity. Only `first` and the squares. */
static hone_status basis_of(hn_low_rank *out, const double *w, int64_t n, int64_t k,
                            const double *h, const hn_factored *f, hn_error *err) {
    double *by = NULL;
    hone_status status = HONE_OK;
    *out = (hn_low_rank){.n = n, .k = n, .rank = n};
    out->first = numbers(n, n, f->alloc);
    out->squares = numbers(n, 1, f->alloc);
    if (h != NULL) by = numbers(n, k, f->alloc);
    HN_CHECK_GOTO(err, out->first != NULL && out->squares != NULL && (by != NULL || h == NULL),
                  HONE_E_NOMEM, "out of memory");
    if (h != NULL) hn_multiply_turned(by, w, n, h, k, k, f->pool);
    hn_multiply_turned(out->first, h != NULL ? by : w, n, w, n, k, f->pool);
    HN_TRY_GOTO(hn_eigen(out->first, n, out->squares, f->pool, f->alloc, err));
    for (int64_t i = 0; i < n; i++) out->squares[i] = fmax(out->squares[i], 0);
fail:
    hn_free(f->alloc, by);
    return status;
}

/* v[0]: of the inputs, v[1]: of the outputs. */
static hone_status take_tucker(hn_factors *p, const hn_factored *f, hn_error *err) {
    int64_t m = f->of.m.n, c = f->of.inputs, taps = all_taps(f);
    double *h, *w = numbers(c, m * taps, f->alloc);
    if (w == NULL) return HN_NOMEM(err);
    for (int64_t o = 0; o < m; o++)
        for (int64_t i = 0; i < c; i++)
            memcpy(w + (i * m + o) * taps, f->weight + (o * c + i) * taps,
                   (size_t)taps * sizeof *w);
    hone_status status = basis_of(&p->v[0], w, c, m * taps, NULL, f, err);
    hn_free(f->alloc, w);
    if (status != HONE_OK) return status;
    HN_TRY(damped(f, &h, err));
    status = basis_of(&p->v[1], f->weight, m, f->of.m.k, h, f, err);
    hn_free(f->alloc, h);
    return status;
}

/* What both cuts leave adds up at most. */
static void cut_tucker(hn_chain *out, const hn_factors *p, const hn_factored *f, double share) {
    int64_t r1 = rank_within(&p->v[0], share / 2), r2 = rank_within(&p->v[1], share / 2);
    *out = (hn_chain){.n = 3};
    out->v[0] = (hn_link){.n = r1, .k = f->of.inputs, .taps = 1};
    out->v[1] = (hn_link){.n = r2, .k = r1, .taps = all_taps(f), .axes = f->of.axes};
    out->v[2] = (hn_link){.n = f->of.m.n, .k = r2, .taps = 1};
}

static hone_status fill_tucker(hn_chain *c, const hn_factors *p, const hn_factored *f,
                               hn_error *err) {
    int64_t m = f->of.m.n, in = f->of.inputs, taps = all_taps(f), r1 = c->v[0].n, r2 = c->v[1].n;
    double *half = numbers(r2, in * taps, f->alloc);
    hone_status status = HONE_OK;
    HN_CHECK_GOTO(err, half != NULL, HONE_E_NOMEM, "out of memory");
    HN_TRY_GOTO(hn_chain_create(c, f->alloc, err));
    for (int64_t r = 0; r < r2; r++) {
        double *to = half + r * in * taps;
        memset(to, 0, (size_t)(in * taps) * sizeof *to);
        for (int64_t o = 0; o < m; o++)
            for (int64_t e = 0; e < in * taps; e++)
                to[e] += p->v[1].first[r * m + o] * f->weight[o * in * taps + e];
        for (int64_t q = 0; q < r1; q++)
            for (int64_t t = 0; t < taps; t++) {
                double sum = 0;
                for (int64_t i = 0; i < in; i++)
                    sum += p->v[0].first[q * in + i] * to[i * taps + t];
                c->v[1].weight[(r * r1 + q) * taps + t] = (float)sum;
            }
    }
    for (int64_t i = 0; i < r1 * in; i++) c->v[0].weight[i] = (float)p->v[0].first[i];
    for (int64_t o = 0; o < m; o++)
        for (int64_t r = 0; r < r2; r++)
            c->v[2].weight[o * r2 + r] = (float)p->v[1].first[r * m + o];
fail:
    hn_free(f->alloc, half);
    return status;
}

static bool fits_separable(const hn_factored *f) { return f->of.depthwise && is_image(f); }

static hone_status take_separable(hn_factors *p, const hn_factored *f, hn_error *err) {
    int64_t n = f->of.m.n, kh = f->of.kernel[0], kw = f->of.kernel[1];
    p->channels = hn_alloc_array(f->alloc, (size_t)n, sizeof *p->channels, HN_MEM_SCRATCH);
    if (p->channels == NULL) return HN_NOMEM(err);
    for (; p->n_channels < n; p->n_channels++)
        HN_TRY(hn_low_rank_of(&p->channels[p->n_channels], f->weight + p->n_channels * kh * kw, kh,
                              kw, NULL, NULL, f->alloc, err));
    return HONE_OK;
}

/* It has no other rank than 1. */
static void cut_separable(hn_chain *out, const hn_factors *p, const hn_factored *f, double share) {
    (void)p, (void)share;
    int64_t n = f->of.m.n;
    *out = (hn_chain){.n = 2};
    out->v[0] = (hn_link){.n = n, .k = 1, .own = true, .taps = f->of.kernel[0], .axes = 1};
    out->v[1] = (hn_link){.n = n, .k = 1, .own = true, .taps = f->of.kernel[1], .axes = 2};
}

static hone_status fill_separable(hn_chain *c, const hn_factors *p, const hn_factored *f,
                                  hn_error *err) {
    int64_t kh = f->of.kernel[0], kw = f->of.kernel[1];
    HN_TRY(hn_chain_create(c, f->alloc, err));
    for (int64_t o = 0; o < f->of.m.n; o++) {
        const hn_low_rank *l = &p->channels[o];
        double by = balance(l, 0);
        for (int64_t y = 0; y < kh; y++) c->v[0].weight[o * kh + y] = (float)(l->first[y] * by);
        for (int64_t x = 0; x < kw; x++) c->v[1].weight[o * kw + x] = (float)(l->second[x] / by);
    }
    return HONE_OK;
}

void hn_factors_deinit(hn_factors *p, hn_allocator *alloc) {
    for (int64_t i = 0; i < p->n_channels; i++) hn_low_rank_deinit(&p->channels[i], alloc);
    hn_free(alloc, p->channels);
    for (int i = 0; i < 2; i++) hn_low_rank_deinit(&p->v[i], alloc);
    *p = (hn_factors){0};
}

/* clang-format off */
static const hn_factor_form channel   = {"channel",   fits_channel,   take_channel,   cut_channel,   fill_channel,   true};
static const hn_factor_form spatial   = {"spatial",   fits_spatial,   take_spatial,   cut_spatial,   fill_spatial,   false};
static const hn_factor_form tucker    = {"tucker",    fits_tucker,    take_tucker,    cut_tucker,    fill_tucker,    false};
static const hn_factor_form separable = {"separable", fits_separable, take_separable, cut_separable, fill_separable, false};
/* clang-format on */
const hn_factor_form *const hn_factor_forms[] = {&channel, &spatial, &tucker, &separable, NULL};

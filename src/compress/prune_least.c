/* Which weights go, by scores: of a layer, of the model, of each output; one by one, in blocks, or M - N
 * of each M.
 *
 * Scores become whole numbers of 32 bits that are ordered as they are; the greatest that goes is
 * found by counting, first by the upper 16 bits, then by the lower ones of those that share them.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/least.h"
#include "compress/layer_input.h"
#include "compress/prune.h"
#include "engine/layers.h"
#include "ops/nodes.h"

enum { BINS = 65536 };

/* ---- layers ---- */

bool hn_prune_order_of(const hn_weighted *w, hn_prune_order *o) {
    hn_layer_matrix m;
    if (!hn_layer_as_matrix(w, &m) || m.n < 1 || m.k < 1) return false;
    *o = (hn_prune_order){.rows = m.n,
                          .places = m.k,
                          .run = m.k / m.inner,
                          .o_stride = m.o_stride,
                          .k_stride = m.k_stride,
                          .inner = m.inner};
    return true;
}

hone_status hn_prune_left(hn_transform_ctx *c, const hn_weighted *w, const char *why,
                          hn_error *err) {
    return hn_shrinking_tell(c,
                             &(hn_shrunk_layer){.transform = "prune",
                                                .layer = hn_layer_name(w->node),
                                                .op = w->node->op->name,
                                                .why_not = why,
                                                .weights = w->weight->constant->n,
                                                .error = NAN},
                             err);
}

hone_status hn_prune_layers(hn_transform_ctx *c, const hn_pruning *p, bool matrix, hn_arena *arena,
                            hn_weighted **out, int *n, hn_error *err) {
    int all, kept = 0;
    hn_prune_order o;
    HN_TRY(hn_shrinking_layers(c, p->only, p->except, arena, out, &all, err));
    for (int i = 0; i < all; i++) {
        const hn_weighted *w = &(*out)[i];
        if (isnan(hn_prune_share(p, w))) continue;
        const char *why = !hn_used_once(w->weight) ? "other nodes read its weight"
                          : matrix && !hn_prune_order_of(w, &o)
                              ? "its weight is not one matrix of outputs by inputs"
                              : NULL;
        if (why != NULL)
            HN_TRY(hn_prune_left(c, w, why, err));
        else
            (*out)[kept++] = *w;
    }
    *n = kept;
    return HONE_OK;
}

hone_status hn_prune_done(hn_transform_ctx *c, const hn_pruning *p, const hn_weighted *w,
                          double error, hn_error *err) {
    const hn_tensor *t = w->weight->constant;
    char what[80] = "";
    int64_t zeros = 0;
    for (int64_t i = 0; i < t->n; i++) zeros += hn_weight_at(t, i) == 0;
    if (p->m > 0) snprintf(what, sizeof what, "%d of %d stay, ", p->n, p->m);
    if (p->outputs > 0) snprintf(what, sizeof what, "blocks of %d x %d, ", p->outputs, p->sums);
    snprintf(what + strlen(what), sizeof what - strlen(what), "%.1f %% zeros",
             100 * (double)zeros / (double)t->n);
    c->changed++;
    HN_TRY(hn_shrinking_keep(c, w->weight->name, HN_KEEPS_ZEROS, err));
    return hn_shrinking_tell(c,
                             &(hn_shrunk_layer){.transform = "prune",
                                                .layer = hn_layer_name(w->node),
                                                .op = w->node->op->name,
                                                .what = what,
                                                .weights = t->n,
                                                .kept = t->n - zeros,
                                                .error = error},
                             err);
}

/* ---- the least ---- */

/* Ordered as the scores are; NaN is the greatest. */
static uint32_t key_of(float x) {
    uint32_t u;
    if (x != x) return UINT32_MAX;
    memcpy(&u, &x, sizeof u);
    return u >> 31 ? ~u : u | 1u << 31;
}

/* In which bin the scores from the least on come to be more than `gone`; *before: those below it. */
static uint32_t find_bin(const int64_t *bins, int64_t gone, int64_t *before) {
    uint32_t b = 0;
    *before = 0;
    while (b + 1 < BINS && *before + bins[b] <= gone) *before += bins[b++];
    return b;
}

hone_status hn_mark_least(float *const *scores, const int64_t *counts, int n, int64_t gone,
                          hn_allocator *alloc, hn_error *err) {
    int64_t below, lower;
    if (gone <= 0) return HONE_OK;
    int64_t *bins = hn_alloc_zero(alloc, BINS * sizeof *bins, HN_MEM_SCRATCH);
    if (bins == NULL) return HN_NOMEM(err);
    for (int i = 0; i < n; i++)
        for (int64_t k = 0; k < counts[i]; k++) bins[key_of(scores[i][k]) >> 16]++;
    uint32_t high = find_bin(bins, gone, &below);
    memset(bins, 0, BINS * sizeof *bins);
    for (int i = 0; i < n; i++)
        for (int64_t k = 0; k < counts[i]; k++)
            if (key_of(scores[i][k]) >> 16 == high) bins[key_of(scores[i][k]) & 0xffff]++;
    uint32_t key = high << 16 | find_bin(bins, gone - below, &lower);
    hn_free(alloc, bins);
    int64_t equal = gone - below - lower;
    for (int i = 0; i < n; i++)
        for (int64_t k = 0; k < counts[i]; k++) {
            uint32_t is = key_of(scores[i][k]);
            if (is < key || (is == key && equal-- > 0)) scores[i][k] = -INFINITY;
        }
    return HONE_OK;
}

/* ---- patterns ---- */

/* Of each M scores those beyond the greatest N; of equal ones the first go. */
static void mark_runs(const hn_prune_order *o, int n, int m, float *score) {
    for (int64_t row = 0; row < o->rows; row++)
        for (int64_t run = 0; run < o->places; run += o->run)
            for (int64_t at = 0; at < o->run; at += m) {
                int64_t count = hn_least(m, o->run - at), gone = count - n;
                for (; gone > 0; gone--) {
                    float *least = NULL;
                    for (int64_t k = 0; k < count; k++) {
                        float *s = &score[hn_prune_element(o, row, run + at + k)];
                        bool out = *s == -INFINITY;
                        if (!out && (least == NULL || key_of(*s) < key_of(*least))) least = s;
                    }
                    if (least != NULL) *least = -INFINITY;
                }
            }
}

static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

static int64_t count_blocks(const hn_prune_order *o, const hn_pruning *p) {
    return ceil_div(o->rows, p->outputs) * ceil_div(o->run, p->sums) * (o->places / o->run);
}

/* Of each block the root of the mean square of its scores; with `mark`, the elements of blocks that
 * are marked are, too. */
static void visit_blocks(const hn_prune_order *o, const hn_pruning *p, float *score, float *blocks,
                         bool mark) {
    int64_t b = 0;
    for (int64_t row = 0; row < o->rows; row += p->outputs)
        for (int64_t run = 0; run < o->places; run += o->run)
            for (int64_t at = 0; at < o->run; at += p->sums, b++) {
                int64_t rows = hn_least(p->outputs, o->rows - row);
                int64_t sums = hn_least(p->sums, o->run - at);
                double sum = 0;
                for (int64_t r = row; r < row + rows; r++)
                    for (int64_t k = run + at; k < run + at + sums; k++) {
                        float *s = &score[hn_prune_element(o, r, k)];
                        sum += (double)*s * (double)*s;
                        if (mark && blocks[b] == -INFINITY) *s = -INFINITY;
                    }
                if (!mark) blocks[b] = (float)sqrt(sum / (double)(rows * sums));
            }
}

/* ---- scopes ---- */

typedef struct scored {
    const hn_weighted *w;
    hn_prune_order order; /* rows 0: none */
    float *score;         /* by element */
    float *units;         /* what goes as a whole: blocks; or the scores */
    int64_t n_units;
} scored;

static void scored_deinit(scored *s, hn_allocator *alloc) {
    if (s->units != s->score) hn_free(alloc, s->units);
    hn_free(alloc, s->score);
    *s = (scored){0};
}

static hone_status begin(scored *s, const hn_pruning *p, const hn_weighted *w, hn_allocator *alloc,
                         hn_error *err) {
    int64_t n = w->weight->constant->n;
    *s = (scored){.w = w, .n_units = n};
    if (!hn_prune_order_of(w, &s->order)) s->order.rows = 0;
    s->score = s->units = hn_alloc_array(alloc, (size_t)n, sizeof *s->score, HN_MEM_SCRATCH);
    if (s->score == NULL) return HN_NOMEM(err);
    if (p->outputs == 0) return HONE_OK;
    s->n_units = count_blocks(&s->order, p);
    s->units = hn_alloc_array(alloc, (size_t)s->n_units, sizeof *s->units, HN_MEM_SCRATCH);
    return s->units != NULL ? HONE_OK : HN_NOMEM(err);
}

/* The share of so many, of which one stays in any case. */
static int64_t share_of(double sparsity, int64_t n) {
    return hn_least((int64_t)floor(sparsity * (double)n + 0.5), n - 1);
}

static hone_status mark_layer(scored *s, const hn_pruning *p, bool by_row, hn_allocator *alloc,
                              hn_error *err) {
    const hn_prune_order *o = &s->order;
    double share = hn_prune_share(p, s->w);
    if (p->m > 0) {
        mark_runs(o, p->n, p->m, s->score);
        return HONE_OK;
    }
    if (!by_row || p->outputs > 0 || o->rows == 0)
        return hn_mark_least(&s->units, &s->n_units, 1, share_of(share, s->n_units), alloc, err);
    float *row = hn_alloc_array(alloc, (size_t)o->places, sizeof *row, HN_MEM_SCRATCH);
    hone_status status = row != NULL ? HONE_OK : HN_NOMEM(err);
    for (int64_t r = 0; r < o->rows && status == HONE_OK; r++) {
        for (int64_t k = 0; k < o->places; k++) row[k] = s->score[hn_prune_element(o, r, k)];
        status = hn_mark_least(&row, &o->places, 1, share_of(share, o->places), alloc, err);
        for (int64_t k = 0; k < o->places; k++) s->score[hn_prune_element(o, r, k)] = row[k];
    }
    hn_free(alloc, row);
    return status;
}

static hone_status take(hn_transform_ctx *c, const hn_pruning *p, scored *s, hn_error *err) {
    float *v;
    int64_t left = 0, n = s->w->weight->constant->n;
    if (p->outputs > 0) visit_blocks(&s->order, p, s->score, s->units, true);
    HN_TRY(hn_shrinking_edit(c, s->w, &v, err));
    for (int64_t i = 0; i < n; i++) {
        if (s->score[i] == -INFINITY) v[i] = 0;
        left += v[i] != 0;
    }
    HN_CHECK(err, left > 0, HONE_E_ARG,
             "sparsity %g leaves layer '%s' none of its %lld weights: leave it out by except=, or "
             "take the same share of each layer",
             hn_prune_share(p, s->w), hn_layer_name(s->w->node), (long long)n);
    return hn_prune_done(c, p, s->w, NAN, err);
}

static hone_status find_scores(scored *s, int i, const hn_pruning *p, hn_score_fn *score, void *ctx,
                               hn_error *err) {
    HN_TRY(score(ctx, i, s->score, err));
    if (p->outputs > 0) visit_blocks(&s->order, p, s->score, s->units, false);
    return HONE_OK;
}

static hone_status mark_all(scored *all, int n, const hn_pruning *p, hn_allocator *alloc,
                            hn_error *err) {
    int64_t count = 0;
    float **units = hn_alloc_array(alloc, (size_t)n + 1, sizeof *units, HN_MEM_SCRATCH);
    int64_t *counts = hn_alloc_array(alloc, (size_t)n + 1, sizeof *counts, HN_MEM_SCRATCH);
    hone_status status = units != NULL && counts != NULL ? HONE_OK : HN_NOMEM(err);
    for (int i = 0; i < n && status == HONE_OK; i++) {
        units[i] = all[i].units;
        count += counts[i] = all[i].n_units;
    }
    if (status == HONE_OK)
        status = hn_mark_least(units, counts, n, share_of(p->sparsity, count), alloc, err);
    hn_free(alloc, counts);
    hn_free(alloc, units);
    return status;
}

static hone_status prune_all(hn_transform_ctx *c, const hn_pruning *p, const hn_weighted *layers,
                             int n, hn_score_fn *score, void *ctx, hn_error *err) {
    hone_status status = HONE_OK;
    scored *all = hn_alloc_zero(c->alloc, ((size_t)n + 1) * sizeof *all, HN_MEM_SCRATCH);
    if (all == NULL) return HN_NOMEM(err);
    for (int i = 0; i < n && status == HONE_OK; i++) {
        status = begin(&all[i], p, &layers[i], c->alloc, err);
        if (status == HONE_OK) status = find_scores(&all[i], i, p, score, ctx, err);
    }
    if (status == HONE_OK) status = mark_all(all, n, p, c->alloc, err);
    for (int i = 0; i < n && status == HONE_OK; i++) status = take(c, p, &all[i], err);
    for (int i = 0; i < n; i++) scored_deinit(&all[i], c->alloc);
    hn_free(c->alloc, all);
    return status;
}

hone_status hn_prune_least(hn_transform_ctx *c, const hn_pruning *p, const hn_weighted *layers,
                           int n, bool by_row, hn_score_fn *score, void *ctx, hn_error *err) {
    if (p->global && p->m == 0) return prune_all(c, p, layers, n, score, ctx, err);
    for (int i = 0; i < n; i++) {
        scored s;
        HN_CHECK(err, c->progress == NULL || c->progress(c->progress_ctx, i, n), HONE_E_LIMIT,
                 "stopped at layer '%s'", hn_layer_name(layers[i].node));
        hone_status status = begin(&s, p, &layers[i], c->alloc, err);
        if (status == HONE_OK) status = find_scores(&s, i, p, score, ctx, err);
        if (status == HONE_OK) status = mark_layer(&s, p, by_row, c->alloc, err);
        if (status == HONE_OK) status = take(c, p, &s, err);
        scored_deinit(&s, c->alloc);
        HN_TRY(status);
    }
    return HONE_OK;
}

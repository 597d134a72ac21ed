/* Structured pruning: whole channels or heads go, together with all that goes with them
 * (channel_groups.h), and the model is smaller in every runtime.
 *
 * The score of a unit is the mean, over the layers that make it, of the size of its weights by that
 * of the layer's other channels (l1, l2: Li et al. 2016; median: He et al. 2019, the distance to the
 * other channels; bn: Liu et al. 2017). So units of all groups compare. Those of least score go: the
 * same share of each group, or of all together.
 *
 * Widths are kept at multiples: kernels compute as many channels at a time as a vector register has
 * floats, 16 with AVX-512, two registers of AVX2, four of NEON. Half a register takes as long as a
 * whole one, or longer: convolutions of ResNet-56 with 8 channels took 0.044 ms, those with 16 that
 * Winograd's kernels take 0.030 (Emerald Rapids). The number is the same on every machine, so that
 * the same command gives the same model.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/dense.h"
#include "compress/channel_groups.h"
#include "compress/layer_input.h"
#include "compress/prune.h"
#include "compress/recipe.h"
#include "engine/layers.h"
#include "ops/infer.h"
#include "ops/nodes.h"

#define AUTO_ALIGN 16
#define MOST_ALIGN 1024
#define MOST_SHARE 0.95  /* of a group, whatever the limit of work */
#define DAMPING 0.01     /* as in GPTQ */
#define MOST_SAMPLES 512 /* likewise */
#define GRAM_BYTES (256 << 20)

typedef struct ranked {
    double score;
    int unit;
} ranked;

typedef struct plan {
    hn_channels *ch;
    const hn_pruning *p;
    bool heads;
    int64_t align;
    const char *score;
    ranked *order; /* units, the least score first */
    bool *taken;   /* groups that are pruned */
    int *going;    /* of each group, while a share is tried */
} plan;

/* ---- parameters ---- */

static hone_status read_align(const char *text, int64_t *align, hn_error *err) {
    int end = 0;
    long long v = AUTO_ALIGN;
    bool good =
        strcmp(text, "auto") == 0 || (sscanf(text, "%5lld%n", &v, &end) == 1 && text[end] == '\0');
    HN_CHECK(err, good && v >= 1 && v <= MOST_ALIGN, HONE_E_ARG,
             "align '%.40s', expected auto or 1 to %d", text, MOST_ALIGN);
    *align = v;
    return HONE_OK;
}

hone_status hn_prune_limit(const hn_recipe_step *s, double *share, hn_error *err) {
    const char *text = hn_step_word(s, "max-macs");
    int end = 0;
    *share = 1;
    if (text == NULL) return HONE_OK;
    bool good = sscanf(text, "%lf%n", share, &end) == 1 && strcmp(text + end, "%") == 0;
    *share /= 100;
    HN_CHECK(err, good && *share > 0 && *share <= 1, HONE_E_ARG,
             "max-macs '%.40s', expected a share of the multiply-accumulates, like 50%%", text);
    return HONE_OK;
}

hone_status hn_prune_channels_check(const hn_recipe_step *s, hn_error *err) {
    int64_t align;
    double share;
    HN_TRY(read_align(hn_step_word(s, "align"), &align, err));
    return hn_prune_limit(s, &share, err);
}

/* ---- scores ---- */

static double at(const hn_channel_cut *cut, const hn_tensor *t, int64_t i, int64_t k) {
    int64_t inner = 1;
    for (int a = cut->axis + 1; a < t->rank; a++) inner *= t->dims[a];
    return hn_tensor_f64(t, (k / inner * cut->n + i) * inner + k % inner);
}

static double distance(const hn_channel_cut *cut, const hn_tensor *t, int64_t i, int64_t j) {
    double sum = 0;
    for (int64_t k = 0; k < t->n / cut->n; k++) {
        double d = at(cut, t, i, k) - at(cut, t, j, k);
        sum += d * d;
    }
    return sqrt(sum);
}

static double size_of_slice(const plan *p, const hn_channel_cut *cut, const hn_tensor *t,
                            int64_t i) {
    double sum = 0;
    if (strcmp(p->score, "median") == 0) {
        for (int64_t j = 0; j < cut->n; j++) sum += distance(cut, t, i, j);
        return sum;
    }
    bool squares = strcmp(p->score, "l2") == 0;
    for (int64_t k = 0; k < t->n / cut->n; k++) {
        double v = at(cut, t, i, k);
        sum += squares ? v * v : fabs(v);
    }
    return squares ? sqrt(sum) : sum;
}

/* The constant is the scale of a BatchNormalization. */
static bool is_scale(const hn_channel_cut *cut) {
    const hn_op_def *op = cut->node->op;
    return op->mixing == HN_MIXES_SPACE && op->settings != 0 && op->sizes.kind == HN_SIZES_NONE &&
           cut->input == 1;
}

static bool gives_score(const plan *p, const hn_channel_cut *cut, const bool *scaled) {
    int32_t u = -1;
    if (strcmp(p->score, "bn") != 0) return cut->kind == HN_CUT_MAKES;
    for (int64_t i = 0; i < cut->n && u < 0; i++) u = cut->unit[i];
    bool group = u >= 0 && scaled[p->ch->units[u].group];
    return group ? is_scale(cut) : cut->kind == HN_CUT_MAKES;
}

static hone_status score_units(plan *p, hn_arena *arena, hn_error *err) {
    hn_channels *ch = p->ch;
    double *times = hn_arena_array(arena, (size_t)ch->n_units + 1, sizeof *times);
    bool *scaled = hn_arena_array(arena, (size_t)ch->n_groups + 1, sizeof *scaled);
    if (times == NULL || scaled == NULL) return HN_NOMEM(err);
    for (int i = 0; i < ch->n_cuts; i++)
        for (int64_t k = 0; is_scale(&ch->cuts[i]) && k < ch->cuts[i].n; k++)
            if (ch->cuts[i].unit[k] >= 0) scaled[ch->units[ch->cuts[i].unit[k]].group] = true;
    for (int i = 0; i < ch->n_cuts; i++) {
        const hn_channel_cut *cut = &ch->cuts[i];
        const hn_tensor *t = hn_node_constant(cut->node, cut->input);
        if (!gives_score(p, cut, scaled)) continue;
        double *sizes =
            hn_alloc_array(p->ch->model->alloc, (size_t)cut->n, sizeof *sizes, HN_MEM_SCRATCH);
        double mean = 0;
        if (sizes == NULL) return HN_NOMEM(err);
        for (int64_t k = 0; k < cut->n; k++) {
            sizes[k] = size_of_slice(p, cut, t, k);
            if (!(sizes[k] >= 0)) sizes[k] = 0; /* NaN */
            mean += sizes[k] / (double)cut->n;
        }
        for (int64_t k = 0; k < cut->n; k++) {
            int32_t u = cut->unit[k];
            if (u < 0) continue;
            ch->units[u].score += mean > 0 ? sizes[k] / mean : 1;
            times[u]++;
        }
        hn_free(p->ch->model->alloc, sizes);
    }
    for (int i = 0; i < ch->n_units; i++)
        if (times[i] > 0) ch->units[i].score /= times[i];
    return HONE_OK;
}

/* ---- which units go ---- */

static int by_score(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    if (x->score < y->score || x->score > y->score) return x->score < y->score ? -1 : 1;
    return x->unit < y->unit ? -1 : x->unit > y->unit;
}

static hone_status rank_units(plan *p, hn_arena *arena, hn_error *err) {
    hn_channels *ch = p->ch;
    p->order = hn_arena_array(arena, (size_t)ch->n_units + 1, sizeof *p->order);
    p->going = hn_arena_array(arena, (size_t)ch->n_groups + 1, sizeof *p->going);
    if (p->order == NULL || p->going == NULL) return HN_NOMEM(err);
    for (int i = 0; i < ch->n_units; i++) p->order[i] = (ranked){ch->units[i].score, i};
    qsort(p->order, (size_t)ch->n_units, sizeof *p->order, by_score);
    return HONE_OK;
}

/* How many units of a group go when `wanted` are to: as many as leave a width that is a multiple,
 * the nearest one. Of two that are as near, the wider. Heads are wide enough as they are. */
static int aligned(const plan *p, const hn_channel_group *g, int wanted) {
    int most = (int)(MOST_SHARE * g->n), n = wanted < most ? wanted : most;
    int64_t each = g->channels / g->n;
    if (each < 1) each = 1;
    if (g->heads || each % p->align == 0) return n;
    int64_t left = g->channels - n * each;
    int64_t width = left > 0 ? (left + p->align / 2) / p->align * p->align : 0;
    if (width == 0) width = p->align;
    if (width >= g->channels) return 0;
    int64_t fit = (g->channels - width) / each;
    return fit < most ? (int)fit : most;
}

/* No value is left without channels: the best of its units comes back. */
static void keep_some(hn_channels *ch) {
    for (int i = 0; i < ch->n_slices; i++) {
        const hn_slices *s = ch->slices[i];
        int32_t best = -1;
        if (s == NULL || hn_slices_left(ch, s) > 0) continue;
        for (int64_t k = 0; k < s->n; k++)
            if (best < 0 || ch->units[s->unit[k]].score > ch->units[best].score) best = s->unit[k];
        ch->units[best].gone = false;
    }
}

/* How many units of each group go. */
static void count_going(plan *p, double share) {
    const hn_channels *ch = p->ch;
    int64_t all = 0, seen = 0;
    for (int g = 0; g < ch->n_groups; g++) {
        all += p->taken[g] ? ch->groups[g].n : 0;
        p->going[g] = p->p->global ? 0 : (int)floor(share * ch->groups[g].n + 0.5);
    }
    int64_t gone = (int64_t)floor(share * (double)all + 0.5);
    for (int i = 0; p->p->global && i < ch->n_units && seen < gone; i++) {
        int g = ch->units[p->order[i].unit].group;
        if (p->taken[g]) p->going[g]++, seen++;
    }
    for (int g = 0; g < ch->n_groups; g++)
        p->going[g] = p->taken[g] ? aligned(p, &ch->groups[g], p->going[g]) : 0;
}

/* Of each group as many as were counted, those of the least score. */
static void mark_going(plan *p) {
    hn_channels *ch = p->ch;
    for (int i = 0; i < ch->n_units; i++) {
        hn_channel_unit *u = &ch->units[p->order[i].unit];
        u->gone = p->going[u->group]-- > 0;
    }
    for (int g = 0; g < ch->n_groups; g++) p->going[g] += ch->groups[g].n;
    keep_some(ch);
}

static double macs_at(plan *p, double share) {
    count_going(p, share);
    mark_going(p);
    return hn_channels_macs(p->ch);
}

/* Widths go in steps, and at one share many groups take theirs. Those that need not take it for the
 * limit to hold do not: of as many as there is room for, first those whose units score most. */
static hone_status give_back(plan *p, double low, double high, double most, hn_arena *arena,
                             hn_error *err) {
    const hn_channels *ch = p->ch;
    size_t n = (size_t)ch->n_groups;
    int *fewer = hn_arena_array(arena, n + 1, sizeof *fewer);
    ranked *groups = hn_arena_array(arena, n + 1, sizeof *groups);
    if (fewer == NULL || groups == NULL) return HN_NOMEM(err);
    count_going(p, low);
    memcpy(fewer, p->going, n * sizeof *fewer);
    count_going(p, high);
    for (int g = 0; g < ch->n_groups; g++) {
        int seen = 0;
        groups[g].unit = g;
        for (int i = 0; i < ch->n_units && seen < p->going[g]; i++)
            if (ch->units[p->order[i].unit].group == g && seen++ >= fewer[g])
                groups[g].score -= p->order[i].score / (p->going[g] - fewer[g]);
    }
    qsort(groups, n, sizeof *groups, by_score);
    for (size_t i = 0; i < n; i++) {
        int g = groups[i].unit, was = p->going[g];
        if (fewer[g] >= was) continue;
        p->going[g] = fewer[g];
        mark_going(p);
        if (hn_channels_macs(ch) > most) p->going[g] = was;
    }
    mark_going(p);
    return HONE_OK;
}

/* The least share that leaves no more work than the limit. */
static hone_status choose_within(plan *p, double limit, hn_arena *arena, hn_error *err) {
    double whole = macs_at(p, 0), least = macs_at(p, 1), low = 0, high = 1;
    HN_CHECK(err, least <= limit * whole, HONE_E_NOT_FOUND,
             "max-macs %.4g%%: with all channels gone that may go, %.3g%% of the "
             "multiply-accumulates are left",
             100 * limit, 100 * least / whole);
    for (int i = 0; i < 24; i++) {
        double middle = (low + high) / 2;
        *(macs_at(p, middle) <= limit * whole ? &high : &low) = middle;
    }
    return give_back(p, low, high, limit * whole, arena, err);
}

/* ---- which groups are pruned ---- */

/* The group of what a cut makes; -1: nothing of it may go. */
static int group_of(const hn_channels *ch, const hn_channel_cut *cut) {
    for (int64_t i = 0; i < cut->n; i++)
        if (cut->unit[i] >= 0) return ch->units[cut->unit[i]].group;
    return -1;
}

/* Those of the kind that were asked for, by the names of the layers that make their channels. */
static hone_status take_groups(plan *p, hn_arena *arena, hn_error *err) {
    hn_channels *ch = p->ch;
    p->taken = hn_arena_array(arena, (size_t)ch->n_groups + 1, sizeof *p->taken);
    if (p->taken == NULL) return HN_NOMEM(err);
    for (int i = 0; i < ch->n_cuts; i++) {
        const hn_channel_cut *cut = &ch->cuts[i];
        int g = cut->kind == HN_CUT_MAKES ? group_of(ch, cut) : -1;
        if (g < 0 || ch->groups[g].heads != p->heads) continue;
        p->taken[g] |=
            p->p->only == NULL || hn_shrinking_is_listed(p->p->only, hn_layer_name(cut->node));
    }
    for (int i = 0; i < ch->n_cuts && p->p->except != NULL; i++) {
        const hn_channel_cut *cut = &ch->cuts[i];
        int g = cut->kind == HN_CUT_MAKES ? group_of(ch, cut) : -1;
        if (g >= 0 && hn_shrinking_is_listed(p->p->except, hn_layer_name(cut->node)))
            p->taken[g] = false;
    }
    return HONE_OK;
}

/* ---- what stays makes up for what goes ---- */

/* The least squares of a layer's output: with G = X^T X of its inputs, K what stays and R what goes,
 *
 *     W_K += W_R G_RK (G_KK)^-1 */
typedef struct repair {
    float *w;
    hn_layer_matrix m;
    const int64_t *stays, *goes; /* columns */
    int64_t n_stays, n_goes;
    const double *gram, *lower; /* lower: the triangle of G_KK */
    double *rows;               /* [n, n_stays] */
} repair;

static double gram_at(const repair *r, int64_t i, int64_t j) {
    return i >= j ? r->gram[i * r->m.k + j] : r->gram[j * r->m.k + i];
}

static void repair_row(void *ctx, int64_t o) {
    const repair *r = ctx;
    int64_t n = r->n_stays;
    double *x = r->rows + o * n;
    float *w = r->w + o * r->m.o_stride;
    for (int64_t i = 0; i < n; i++) {
        x[i] = 0;
        for (int64_t j = 0; j < r->n_goes; j++)
            x[i] += (double)w[r->goes[j] * r->m.k_stride] * gram_at(r, r->goes[j], r->stays[i]);
    }
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < i; j++) x[i] -= r->lower[i * n + j] * x[j];
        x[i] /= r->lower[i * n + i];
    }
    for (int64_t i = n; i-- > 0;) {
        x[i] /= r->lower[i * n + i];
        for (int64_t j = 0; j < i; j++) x[j] -= r->lower[i * n + j] * x[i];
    }
    for (int64_t i = 0; i < n; i++) w[r->stays[i] * r->m.k_stride] += (float)x[i];
    for (int64_t j = 0; j < r->n_goes; j++) w[r->goes[j] * r->m.k_stride] = 0;
}

static hone_status repair_layer(hn_transform_ctx *c, const hn_channels *ch, const hn_weighted *w,
                                const hn_channel_cut *cut, const hn_layer_input *in,
                                hn_error *err) {
    repair r = {.gram = in->gram};
    hone_status status = HONE_OK;
    hn_layer_as_matrix(w, &r.m);
    int64_t *columns = hn_alloc_array(c->alloc, 2 * (size_t)r.m.k, sizeof *columns, HN_MEM_SCRATCH);
    double *lower = NULL;
    HN_CHECK_GOTO(err, columns != NULL, HONE_E_NOMEM, "out of memory");
    r.stays = columns, r.goes = columns + r.m.k;
    for (int64_t k = 0; k < r.m.k; k++) {
        int32_t u = cut->unit[k / r.m.inner];
        bool gone = u >= 0 && ch->units[u].gone;
        columns[gone ? r.m.k + r.n_goes : r.n_stays] = k;
        ++*(gone ? &r.n_goes : &r.n_stays);
    }
    size_t n = (size_t)r.n_stays;
    lower = hn_alloc_array(c->alloc, n * n, sizeof *lower, HN_MEM_SCRATCH);
    r.rows = hn_alloc_array(c->alloc, n * (size_t)r.m.n, sizeof *r.rows, HN_MEM_SCRATCH);
    HN_CHECK_GOTO(err, lower != NULL && r.rows != NULL, HONE_E_NOMEM, "out of memory");
    for (int64_t i = 0; i < r.n_stays; i++)
        for (int64_t j = 0; j <= i; j++)
            lower[i * r.n_stays + j] = gram_at(&r, r.stays[i], r.stays[j]);
    hn_damp(lower, r.n_stays, DAMPING);
    HN_TRY_GOTO(hn_cholesky(lower, r.n_stays, c->how->engine.pool, err));
    r.lower = lower;
    HN_TRY_GOTO(hn_shrinking_edit(c, w, &r.w, err));
    hn_pool_run(c->how->engine.pool, r.m.n, repair_row, &r);
fail:
    hn_free(c->alloc, columns);
    hn_free(c->alloc, lower);
    hn_free(c->alloc, r.rows);
    return status;
}

/* The cut along the sum of a layer that loses something there; NULL: there is none. */
static const hn_channel_cut *sum_cut(const hn_channels *ch, const hn_node *n) {
    for (int i = 0; i < ch->n_cuts; i++) {
        const hn_channel_cut *cut = &ch->cuts[i];
        if (cut->node != n || cut->kind != HN_CUT_READS) continue;
        for (int64_t k = 0; k < cut->n; k++)
            if (cut->unit[k] >= 0 && ch->units[cut->unit[k]].gone) return cut;
    }
    return NULL;
}

/* As many layers at a time as there is room for what is gathered of their inputs, which are those of
 * the model before anything goes. */
static hone_status compensate(hn_transform_ctx *c, const hn_channels *ch, hn_arena *arena,
                              hn_error *err) {
    hn_weighted *layers;
    int n, own = 0;
    HN_TRY(hn_shrinking_layers(c, NULL, NULL, arena, &layers, &n, err));
    for (int i = 0; i < n; i++) {
        hn_layer_matrix m;
        if (sum_cut(ch, layers[i].node) != NULL && hn_layer_as_matrix(&layers[i], &m) &&
            m.groups == 1 && hn_used_once(layers[i].weight))
            layers[own++] = layers[i];
    }
    hn_layer_input *in = hn_arena_array(arena, (size_t)own + 1, sizeof *in);
    hn_layer_look look = {.samples = MOST_SAMPLES, .gram = true};
    hn_model *before = NULL;
    hone_status status = HONE_OK;
    if (in == NULL) return HN_NOMEM(err);
    HN_TRY_GOTO(hn_model_clone(&before, c->model, c->alloc, err));
    HN_TRY_GOTO(hn_model_infer(before, NULL, err));
    for (int from = 0, to; from < own; from = to) {
        int64_t bytes = 0;
        hn_layer_matrix m;
        for (to = from; to < own; to++) {
            hn_layer_as_matrix(&layers[to], &m);
            bytes += m.k * m.k * (int64_t)sizeof(double);
            if (bytes > GRAM_BYTES && to > from) break;
        }
        HN_CHECK_GOTO(err, c->progress == NULL || c->progress(c->progress_ctx, from, own),
                      HONE_E_LIMIT, "stopped at layer '%s'", layers[from].node->name);
        HN_TRY_GOTO(hn_layer_inputs(in + from, layers + from, to - from, &look, before, c, err));
        for (int i = from; i < to; i++) {
            if (status == HONE_OK)
                status = repair_layer(c, ch, &layers[i], sum_cut(ch, layers[i].node), &in[i], err);
            hn_layer_input_deinit(&in[i], c->alloc);
        }
        if (status != HONE_OK) goto fail;
    }
fail:
    hn_model_destroy(before);
    return status;
}

/* ---- what is told ---- */

static hone_status tell_layer(hn_transform_ctx *c, const plan *p, const hn_channel_cut *cut,
                              const hn_channel_work *work, hn_error *err) {
    const hn_channels *ch = p->ch;
    char what[120];
    int g = group_of(ch, cut);
    int64_t weights = hn_node_constant(cut->node, cut->input)->n, left = 0, kept;
    for (int64_t i = 0; i < cut->n; i++) left += cut->unit[i] < 0 || !ch->units[cut->unit[i]].gone;
    kept = weights / cut->n * left;
    if (work != NULL && work->in != NULL)
        kept = (int64_t)((double)kept * (double)hn_slices_left(ch, work->in) / (double)work->in->n);
    snprintf(what, sizeof what, "%lld of %lld channels, group %d: %d of %d %s go", (long long)left,
             (long long)cut->n, g + 1, p->going[g], ch->groups[g].n,
             ch->groups[g].heads ? "heads" : "units");
    c->changed += left < cut->n;
    return hn_shrinking_tell(c,
                             &(hn_shrunk_layer){.transform = "prune",
                                                .layer = hn_layer_name(cut->node),
                                                .op = cut->node->op->name,
                                                .what = left < cut->n ? what : NULL,
                                                .why_not = left < cut->n ? NULL
                                                                         : "its width would not be "
                                                                           "a multiple",
                                                .weights = weights,
                                                .kept = kept,
                                                .error = NAN},
                             err);
}

static hone_status tell(hn_transform_ctx *c, plan *p, hn_error *err) {
    const hn_channels *ch = p->ch;
    for (int g = 0; g < ch->n_groups; g++) p->going[g] = 0;
    for (int i = 0; i < ch->n_units; i++) p->going[ch->units[i].group] += ch->units[i].gone;
    for (int i = 0; i < ch->n_cuts; i++) {
        const hn_channel_cut *cut = &ch->cuts[i];
        const hn_channel_work *work = NULL;
        if (cut->kind != HN_CUT_MAKES || group_of(ch, cut) < 0 || !p->taken[group_of(ch, cut)])
            continue;
        for (int k = 0; k < ch->n_works; k++)
            if (ch->works[k].node == cut->node) work = &ch->works[k];
        HN_TRY(tell_layer(c, p, cut, work, err));
    }
    for (int g = 0; g < ch->n_groups; g++) {
        const hn_channel_group *of = &ch->groups[g];
        if (of->n > 0 || of->why == NULL || of->heads != p->heads) continue;
        HN_TRY(hn_shrinking_tell(c,
                                 &(hn_shrunk_layer){.transform = "prune",
                                                    .layer = of->name,
                                                    .op = of->op,
                                                    .why_not = of->why,
                                                    .error = NAN},
                                 err));
    }
    return HONE_OK;
}

/* ---- the whole ---- */

static hone_status keep_zeros(hn_transform_ctx *c, const hn_channels *ch, hn_error *err) {
    for (int i = 0; i < ch->n_cuts; i++)
        if (ch->cuts[i].kind != HN_CUT_FOLLOWS)
            HN_TRY(hn_shrinking_keep(c, hn_node_input(ch->cuts[i].node, ch->cuts[i].input)->name,
                                     HN_KEEPS_ZEROS, err));
    return HONE_OK;
}

static hone_status prune(plan *p, hn_transform_ctx *c, hn_arena *arena, hn_error *err) {
    const hn_recipe_step *s = p->p->step;
    double limit;
    p->score = hn_step_word(s, "criterion");
    HN_TRY(read_align(hn_step_word(s, "align"), &p->align, err));
    HN_TRY(hn_prune_limit(s, &limit, err));
    HN_CHECK(err, !hn_step_flag(s, "compensate") || c->feed != NULL, HONE_E_ARG,
             "compensate wants samples to look at");
    HN_TRY(take_groups(p, arena, err));
    HN_TRY(score_units(p, arena, err));
    HN_TRY(rank_units(p, arena, err));
    if (limit < 1)
        HN_TRY(choose_within(p, limit, arena, err));
    else
        (void)macs_at(p, p->p->sparsity);
    HN_TRY(tell(c, p, err));
    if (c->changed == 0) return HONE_OK;
    if (hn_step_flag(s, "compensate")) HN_TRY(compensate(c, p->ch, arena, err));
    if (!hn_step_flag(s, "keep-shapes")) return hn_channels_remove(p->ch, err);
    HN_TRY(hn_channels_mask(p->ch, err));
    return keep_zeros(c, p->ch, err);
}

static hone_status run(hn_transform_ctx *c, const hn_pruning *p, bool heads, hn_error *err) {
    hn_channels ch;
    hn_arena arena;
    HN_TRY(hn_channels_find(&ch, c->model, c->alloc, err));
    hn_arena_init(&arena, c->alloc, HN_MEM_SCRATCH);
    plan of = {.ch = &ch, .p = p, .heads = heads};
    hone_status status = prune(&of, c, &arena, err);
    hn_arena_deinit(&arena);
    hn_channels_deinit(&ch);
    return status;
}

hone_status hn_prune_channels(hn_transform_ctx *c, const hn_pruning *p, hn_error *err) {
    return run(c, p, false, err);
}

hone_status hn_prune_heads(hn_transform_ctx *c, const hn_pruning *p, hn_error *err) {
    return run(c, p, true, err);
}

/* Low rank: a layer becomes a chain of smaller ones (factor.h), where that takes fewer weights and
 * fewer multiplications.
 *
 * How much goes is said in one of these ways:
 *
 *     energy=0.9       each layer keeps this share of its squared singular values, and has the form
 *                      that does so with the fewest multiplications
 *     rank=64          each layer has this rank, or the form that takes no more multiplications and
 *     rank-share=0.25  leaves the least error
 *     layer-rank:fc*=64  likewise for some layers; others stay where nothing else is said
 *     latency=10       each product has the largest rank that makes it 10 % faster on this machine
 *                      (rank_times.h); the recipe of what was done has the ranks instead
 *
 * With samples, singular values are those of what the layer makes of them. Layers go in order, and
 * the inputs of one are what the layers before it, already smaller, make.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/decimal.h"
#include "base/least.h"
#include "base/pattern.h"
#include "compress/compression.h"
#include "compress/factor.h"
#include "compress/rank_times.h"
#include "engine/layers.h"
#include "ops/nodes.h"

#define MOST_SAMPLES 512
/* To bring the error of a form that is cut by the weights alone within a share of the outputs. */
enum { MOST_TRIES = 8 };

static const char *form_word(int i) {
    static const char *const first = "auto";
    return i == 0 ? first : hn_factor_forms[i - 1] != NULL ? hn_factor_forms[i - 1]->name : NULL;
}

/* clang-format off */
const hn_parameter hn_params_factorize[] = {
    {"energy", HN_PARAM_NUMBER, "0.9", "the share of its squared singular values that a layer keeps", 0, 1, NULL, false},
    {"rank", HN_PARAM_COUNT, NULL, "the rank of every layer, instead of energy", 1, 1 << 20, NULL, false},
    {"rank-share", HN_PARAM_NUMBER, NULL, "likewise, as a share of a layer's full rank", 0.001, 1, NULL, false},
    {"latency", HN_PARAM_NUMBER, NULL, "likewise: the largest that makes a layer so many percent faster on this machine", 1, 95, NULL, true},
    {"layer-rank", HN_PARAM_LAYER_COUNT, NULL, "the rank of some layers; others stay unless energy, rank or rank-share is set", 1, 1 << 20, NULL, false},
    {"form", HN_PARAM_WORD, "auto", "which chain of layers takes the place of one", 0, 0, form_word, false},
    {"multiple", HN_PARAM_COUNT, "8", "ranks are rounded up to a multiple of it where a layer still gets smaller", 1, 1024, NULL, false},
    {"only", HN_PARAM_TEXT, NULL, "layers to change, patterns separated by commas", 0, 0, NULL, false},
    {"except", HN_PARAM_TEXT, NULL, "layers to leave alone, likewise", 0, 0, NULL, false},
    {0},
};
/* clang-format on */

typedef struct factorizing {
    double share;   /* of the squares that may go; NaN: by rank */
    int64_t rank;   /* 0: by share */
    double of_full; /* likewise, of the full rank; 0: not so */
    double faster;  /* share; 0: ranks are not found by time */
    bool others;    /* layers that no rule names change too */
    const hn_recipe_step *step;
    const char *form; /* NULL: any */
    int64_t align;
    const char *only, *except;
} factorizing;

static hone_status read_parameters(const hn_recipe_step *s, factorizing *p, hn_error *err) {
    static const char *const ways[] = {"energy", "rank", "rank-share", "latency"};
    const char *form = hn_step_word(s, "form");
    int said = 0;
    for (int i = 0; i < 4; i++) said += hn_step_setting(s, ways[i]) != NULL;
    HN_CHECK(err, said <= 1, HONE_E_ARG,
             "ranks are set in %d ways, expected one of: energy, rank, rank-share, latency", said);
    *p = (factorizing){.share = 1 - hn_step_number(s, "energy"),
                       .others = said > 0 || hn_step_setting(s, "layer-rank") == NULL,
                       .step = s,
                       .form = strcmp(form, form_word(0)) == 0 ? NULL : form,
                       .align = (int64_t)hn_step_number(s, "multiple"),
                       .only = hn_step_word(s, "only"),
                       .except = hn_step_word(s, "except")};
    if (hn_step_setting(s, "rank") != NULL) p->rank = (int64_t)hn_step_number(s, "rank");
    if (hn_step_setting(s, "rank-share") != NULL) p->of_full = hn_step_number(s, "rank-share");
    if (hn_step_setting(s, "latency") == NULL) return HONE_OK;
    p->faster = hn_step_number(s, "latency") / 100;
    HN_CHECK(err, p->form == NULL || p->form == hn_factor_forms[0]->name, HONE_E_ARG,
             "form '%s', expected %s with latency", p->form, hn_factor_forms[0]->name);
    p->form = hn_factor_forms[0]->name;
    return HONE_OK;
}

/* The rank of a layer: a rule's, the last that matches, or what holds for all; 0: none is set. */
static int64_t rank_of(const factorizing *p, const hn_node *n) {
    double x;
    for (int i = p->step->n; i-- > 0;) {
        const hn_setting *s = &p->step->v[i];
        if (strcmp(s->param->name, "layer-rank") == 0 &&
            hn_pattern_matches(s->pattern, hn_layer_name(n)) &&
            hn_decimal_f64(s->value, strlen(s->value), &x))
            return (int64_t)x;
    }
    return p->rank;
}

hone_status hn_plan_factorize(hn_compress_plan *plan, const hn_recipe_step *s, hn_error *err) {
    factorizing p;
    (void)plan;
    return read_parameters(s, &p, err);
}

/* ---- one form of one layer ---- */

/* A chain that the layer may become, with its weights; n 0: there is none. */
typedef struct candidate {
    hn_chain chain;
    const hn_factor_form *form;
    int64_t macs;
    double error; /* noise by signal */
} candidate;

typedef struct layer {
    const factorizing *p;
    int64_t rank;             /* 0: by share, or as a share of the full rank */
    const hn_rank_time *time; /* NULL: its rank was not found by time */
    hn_factored f;
    int64_t weights, macs; /* before */
    candidate best;
    int64_t wanted; /* the least rank that was tried and is no smaller; 0: none */
    bool tried;     /* a form was, and leaves too much of the outputs */
} layer;

static bool is_smaller(const layer *l, const hn_chain *c) {
    return hn_chain_weights(c) < l->weights && hn_chain_macs(c, &l->f.of) < l->macs;
}

static bool has_ranks(const hn_chain *c) { return !c->v[0].own; }

/* The rank between links i and i + 1. */
static void set_rank(hn_chain *c, int i, int64_t rank) { c->v[i].n = c->v[i + 1].k = rank; }

/* Rounds the ranks up where the chain stays smaller than the layer; full: the chain of full rank. */
static void align(const layer *l, hn_chain *c, const hn_chain *full) {
    int64_t to = l->p->align;
    for (int i = 0; i + 1 < c->n; i++) {
        int64_t was = c->v[i].n, rounded = (was + to - 1) / to * to;
        if (rounded > full->v[i].n) continue;
        set_rank(c, i, rounded);
        if (!is_smaller(l, c)) set_rank(c, i, was);
    }
}

/* Makes the weights of a chain whose ranks are settled, and finds its error. */
static hone_status make_chain(const layer *l, candidate *c, const hn_factors *p, hn_error *err) {
    const hn_factored *f = &l->f;
    size_t n = (size_t)(f->of.m.n * f->of.m.k);
    double *is = hn_alloc_array(f->alloc, n, sizeof *is, HN_MEM_SCRATCH);
    hone_status status = HONE_OK;
    HN_CHECK_GOTO(err, is != NULL, HONE_E_NOMEM, "out of memory");
    HN_TRY_GOTO(c->form->fill(&c->chain, p, f, err));
    HN_TRY_GOTO(hn_chain_multiply(&c->chain, &f->of, is, f->alloc, err));
    HN_TRY_GOTO(hn_factored_error(f, is, &c->error, err));
    c->macs = hn_chain_macs(&c->chain, &f->of);
fail:
    hn_free(f->alloc, is);
    if (status != HONE_OK) hn_chain_deinit(&c->chain, f->alloc);
    return status;
}

/* Takes over c, which is better than what there is. */
static void keep(layer *l, const candidate *c) {
    hn_chain_deinit(&l->best.chain, l->f.alloc);
    l->best = *c;
}

/* By share the chain with the fewest multiplications is best. What is cut by the weights alone is cut
 * less until it leaves no more of the outputs, or takes more than the best so far. */
static hone_status try_share(layer *l, const hn_factor_form *form, const hn_factors *p,
                             hn_error *err) {
    double share = l->p->share, cut = share;
    hn_chain full;
    form->cut(&full, p, &l->f, 0);
    for (int i = 0; i < MOST_TRIES; i++) {
        candidate c = {.form = form};
        form->cut(&c.chain, p, &l->f, cut);
        if (!is_smaller(l, &c.chain)) {
            if (l->wanted == 0) l->wanted = c.chain.v[0].n;
            return HONE_OK;
        }
        if (has_ranks(&c.chain)) align(l, &c.chain, &full);
        if (l->best.chain.n > 0 && hn_chain_macs(&c.chain, &l->f.of) >= l->best.macs)
            return HONE_OK;
        bool only_one = !has_ranks(&c.chain);
        HN_TRY(make_chain(l, &c, p, err));
        if (form->optimal || c.error <= share) {
            keep(l, &c);
            return HONE_OK;
        }
        hn_chain_deinit(&c.chain, l->f.alloc);
        l->tried = true;
        if (only_one) return HONE_OK;
        cut *= fmin(0.9, 0.95 * share / c.error);
    }
    return HONE_OK;
}

/* The largest ranks that take no more than so many multiplications. */
static void cut_to_macs(const layer *l, const hn_factor_form *form, const hn_factors *p,
                        int64_t macs, hn_chain *c) {
    double high = 1, low = 0; /* shares: of high the chain is small enough */
    form->cut(c, p, &l->f, 0);
    if (c->n == 2) {
        int64_t full = c->v[0].n;
        set_rank(c, 0, 1);
        int64_t rank = macs / hn_chain_macs(c, &l->f.of);
        set_rank(c, 0, rank < 1 ? 1 : rank < full ? rank : full);
        return;
    }
    if (hn_chain_macs(c, &l->f.of) <= macs) return;
    for (int i = 0; i < 50; i++) {
        double middle = (low + high) / 2;
        form->cut(c, p, &l->f, middle);
        *(hn_chain_macs(c, &l->f.of) <= macs ? &high : &low) = middle;
    }
    form->cut(c, p, &l->f, high);
}

/* By rank the chain with the least error is best, of those that take no more multiplications than the
 * form `channel` does. */
static hone_status try_rank(layer *l, const hn_factor_form *form, const hn_factors *p,
                            hn_error *err) {
    const hn_layer_matrix *m = &l->f.of.m;
    int64_t full = hn_least(m->n, m->k), rank = l->rank;
    if (rank == 0) rank = (int64_t)ceil(l->p->of_full * (double)full);
    hn_chain like;
    hn_factor_forms[0]->cut(&like, p, &l->f, 1);
    set_rank(&like, 0, hn_least(rank, full));
    candidate c = {.form = form};
    cut_to_macs(l, form, p, hn_chain_macs(&like, &l->f.of), &c.chain);
    if (!is_smaller(l, &c.chain)) {
        if (l->wanted == 0) l->wanted = c.chain.v[0].n;
        return HONE_OK;
    }
    HN_TRY(make_chain(l, &c, p, err));
    if (l->best.chain.n == 0 || c.error < l->best.error)
        keep(l, &c);
    else
        hn_chain_deinit(&c.chain, l->f.alloc);
    return HONE_OK;
}

static hone_status try_form(layer *l, const hn_factor_form *form, hn_error *err) {
    hn_factors p = {0};
    bool by_share = l->rank == 0 && l->p->of_full == 0;
    hone_status status = HONE_OK;
    if (!form->fits(&l->f) || (!by_share && l->f.of.depthwise)) return HONE_OK;
    HN_TRY_GOTO(form->take_apart(&p, &l->f, err));
    status = by_share ? try_share(l, form, &p, err) : try_rank(l, form, &p, err);
fail:
    hn_factors_deinit(&p, l->f.alloc);
    return status;
}

/* ---- layers ---- */

static void describe(const layer *l, char *text, size_t size) {
    const hn_chain *c = &l->best.chain;
    int64_t full = hn_least(l->f.of.m.n, l->f.of.m.k);
    double part = 100 * (double)l->best.macs / (double)l->macs;
    const char *form = l->best.form->name;
    if (!has_ranks(c))
        snprintf(text, size, "%s, %.0f %% of its MACs", form, part);
    else if (c->n == 3)
        snprintf(text, size, "%s, ranks %lld and %lld, %.0f %% of its MACs", form,
                 (long long)c->v[0].n, (long long)c->v[1].n, part);
    else
        snprintf(text, size, "%s%srank %lld of %lld, %.0f %% of its MACs",
                 l->f.of.rank > 0 ? form : "", l->f.of.rank > 0 ? ", " : "", (long long)c->v[0].n,
                 (long long)full, part);
}

/* ", 1.32 -> 0.81 ms" */
static void add_time(const layer *l, char *text, size_t size) {
    size_t n = strlen(text);
    if (l->time != NULL)
        snprintf(text + n, size - n, ", %.3f -> %.3f ms", l->time->was_ms, l->time->is_ms);
}

static hone_status leave(const hn_transform_ctx *c, const layer *l, hn_error *err) {
    char why[160] = "it has no form of lower rank";
    hn_shrunk_layer row = hn_factored_row("factorize", l->f.of.w);
    if (l->f.of.depthwise && (l->rank > 0 || l->p->of_full > 0))
        snprintf(why, sizeof why, "a depthwise convolution has no rank to set, only an energy");
    else if (l->wanted > 0)
        snprintf(why, sizeof why, "rank %lld of %lld takes no fewer weights and MACs",
                 (long long)l->wanted, (long long)hn_least(l->f.of.m.n, l->f.of.m.k));
    else if (l->tried)
        snprintf(why, sizeof why, "its smaller forms lose more than the energy allows");
    row.why_not = why;
    return hn_shrinking_tell(c, &row, err);
}

static hone_status replace(hn_transform_ctx *c, const layer *l, hn_error *err) {
    char what[120];
    hn_shrunk_layer row = hn_factored_row("factorize", l->f.of.w);
    describe(l, what, sizeof what);
    add_time(l, what, sizeof what);
    row.what = what;
    row.kept = hn_chain_weights(&l->best.chain);
    row.error = l->best.error;
    return hn_factored_replace(c, &l->f, &l->best.chain, &row, err);
}

/* What layers read, of the last one that was looked at. */
typedef struct looked {
    const hn_value *of; /* NULL: none */
    hn_layer_input in;
} looked;

static hone_status look_at(looked *at, const hn_chained *of, const hn_transform_ctx *c,
                           hn_error *err) {
    const hn_weighted *w = of->w;
    bool again = at->of == w->input && of->rank == 0 && at->in.k == of->m.k && at->in.groups == 1;
    if (c->feed == NULL || again) return HONE_OK;
    hn_layer_look look = {.samples = MOST_SAMPLES, .gram = true};
    hn_layer_input_deinit(&at->in, c->alloc);
    at->of = NULL;
    HN_TRY(hn_layer_inputs(&at->in, w, 1, &look, c->model, c, err));
    if (of->rank == 0) at->of = w->input;
    return HONE_OK;
}

static hone_status factorize(hn_transform_ctx *c, const factorizing *p, const hn_chained *of,
                             const hn_rank_time *time, const hn_layer_input *in, hn_error *err) {
    layer l = {.p = p, .time = time};
    hone_status status = HONE_OK;
    l.rank = time != NULL ? time->rank : rank_of(p, of->w->node);
    HN_TRY(hn_factored_create(&l.f, of, in, c->how->engine.pool, c->alloc, err));
    const hn_chain whole = {.n = 1,
                            .v = {{.n = of->m.n, .k = of->m.k, .taps = 1, .axes = of->axes}}};
    l.weights = hn_chain_weights(&whole);
    l.macs = hn_chain_macs(&whole, of);
    for (int i = 0; hn_factor_forms[i] != NULL; i++)
        if (p->form == NULL || strcmp(p->form, hn_factor_forms[i]->name) == 0)
            HN_TRY_GOTO(try_form(&l, hn_factor_forms[i], err));
    status = l.best.chain.n > 0 ? replace(c, &l, err) : leave(c, &l, err);
fail:
    hn_chain_deinit(&l.best.chain, c->alloc);
    hn_factored_deinit(&l.f);
    return status;
}

static hone_status stay(const hn_transform_ctx *c, const hn_weighted *w, const char *why,
                        hn_error *err) {
    hn_shrunk_layer row = hn_factored_row("factorize", w);
    row.why_not = why;
    return hn_shrinking_tell(c, &row, err);
}

/* A layer whose rank was timed: what was found stands in the recipe, or why it stays. */
static hone_status settle(const hn_transform_ctx *c, const hn_weighted *w, const hn_rank_time *t,
                          hn_error *err) {
    char text[400];
    if (t->rank > 0) {
        snprintf(text, sizeof text, "layer-rank:%.300s=%lld", hn_layer_name(w->node),
                 (long long)t->rank);
        return hn_shrinking_found(c, text, err);
    }
    if (isfinite(t->was_ms))
        snprintf(text, sizeof text, "no rank that was timed makes it faster: %.3f -> %.3f ms",
                 t->was_ms, t->is_ms);
    else
        snprintf(text, sizeof text, "its time cannot be told from that of other layers");
    return stay(c, w, text, err);
}

/* What holds for all layers whose ranks were timed; where no layer gets faster, none has another rank
 * when the recipe is followed again. */
static hone_status settle_form(const hn_transform_ctx *c, const factorizing *p,
                               const hn_rank_time *times, int n, hn_error *err) {
    bool any = false;
    for (int i = 0; i < n; i++) any = any || times[i].rank > 0;
    if (!any) HN_TRY(hn_shrinking_found(c, "rank-share=1", err));
    return hn_step_setting(p->step, "form") == NULL ? hn_shrinking_found(c, "form=channel", err)
                                                    : HONE_OK;
}

/* A layer as it was found; which of those that may change, and of the times. */
typedef struct found {
    const hn_weighted *w;
    const char *why_not; /* NULL: it may change */
    int place;
} found;

/* The layers that are asked for, in order, and those of them that may change. */
static hone_status find(const hn_transform_ctx *c, const factorizing *p, hn_arena *arena,
                        found **layers, int *n, hn_chained **chained, int *n_chained,
                        hn_error *err) {
    hn_weighted *all;
    int count;
    HN_TRY(hn_shrinking_layers(c, p->only, p->except, arena, &all, &count, err));
    *layers = hn_arena_array(arena, (size_t)count + 1, sizeof **layers);
    *chained = hn_arena_array(arena, (size_t)count + 1, sizeof **chained);
    if (*layers == NULL || *chained == NULL) return HN_NOMEM(err);
    for (int i = 0; i < count; i++) {
        found f = {.w = &all[i], .place = *n_chained};
        if (!p->others && rank_of(p, f.w->node) == 0) continue;
        if (hn_chained_of(&(*chained)[f.place], f.w, &f.why_not)) {
            if (p->faster > 0 && (*chained)[f.place].depthwise)
                f.why_not = "a depthwise convolution has no rank to set, only an energy";
            else
                ++*n_chained;
        }
        (*layers)[(*n)++] = f;
    }
    return HONE_OK;
}

static hone_status factorize_all(hn_transform_ctx *c, const factorizing *p, hn_arena *arena,
                                 looked *at, hn_error *err) {
    found *layers;
    hn_chained *of;
    hn_rank_time *times = NULL;
    int n = 0, n_of = 0;
    HN_TRY(find(c, p, arena, &layers, &n, &of, &n_of, err));
    if (p->faster > 0) {
        times = hn_arena_array(arena, (size_t)n_of + 1, sizeof *times);
        if (times == NULL) return HN_NOMEM(err);
        HN_TRY(hn_rank_times(times, of, n_of, p->faster, c, err));
        HN_TRY(settle_form(c, p, times, n_of, err));
    }
    for (int i = 0; i < n; i++) {
        const found *f = &layers[i];
        const hn_rank_time *time = times != NULL ? &times[f->place] : NULL;
        HN_CHECK(err, c->progress == NULL || c->progress(c->progress_ctx, i, n), HONE_E_LIMIT,
                 "stopped at layer '%s'", hn_layer_name(f->w->node));
        if (f->why_not != NULL) {
            HN_TRY(stay(c, f->w, f->why_not, err));
            continue;
        }
        if (time != NULL) HN_TRY(settle(c, f->w, time, err));
        if (time != NULL && time->rank == 0) continue;
        HN_TRY(look_at(at, &of[f->place], c, err));
        HN_TRY(factorize(c, p, &of[f->place], time, c->feed != NULL ? &at->in : NULL, err));
    }
    return HONE_OK;
}

hone_status hn_transform_factorize(hn_transform_ctx *c, hn_error *err) {
    const hn_recipe_step usual = {.transform = hn_transform_named("factorize")};
    factorizing p;
    hn_arena arena;
    looked at = {0};
    HN_TRY(read_parameters(c->step != NULL ? c->step : &usual, &p, err));
    hn_arena_init(&arena, c->alloc, HN_MEM_SCRATCH);
    hone_status status = factorize_all(c, &p, &arena, &at, err);
    hn_layer_input_deinit(&at.in, c->alloc);
    hn_arena_deinit(&arena);
    return status;
}

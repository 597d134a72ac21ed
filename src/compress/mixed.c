#include "compress/mixed.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "compress/budget.h"
#include "compress/convert.h"
#include "compress/estimate.h"
#include "compress/weighted.h"
#include "engine/layers.h"
#include "formats/onnx.h"
#include "measure/distance.h"
#include "measure/gate.h"
#include "ops/infer.h"

/* Samples that run to find harm: this many in all, but a few for each layer and type. */
enum { MOST_SAMPLES = 32, LEAST_SAMPLES = 4, MOST_RUNS = 8192 };
/* More models than these are not run one by one for their harm. */
enum { MOST_MODELS = 256 };
enum { ESTIMATE_SAMPLES = 64 };
enum { TIMED_RUNS = 9 };

typedef struct work {
    hn_mixed *out;
    const hn_model *model;
    const hn_mixed_options *o;
    hn_allocator *alloc;
    int n_types;           /* the base included */
    hn_model *floats;      /* a copy of the model, with types: its layers are those of out */
    hn_weighted *weighted; /* of one layer after the other */
    int n_weighted;
    int *n_of;           /* how many of these a layer has */
    hn_samples *batches; /* what is run on */
    int n_batches;
    hn_tensor **wanted; /* outputs of the float model: for each batch, those of the graph */
    double base_harm;   /* of all layers in the base, where that is not f32 */
    int64_t base_bits;
    int *first; /* the type each layer has where the front begins */
    int64_t done, total;
} work;

static hone_status tell(work *w, hn_error *err) {
    bool go_on = w->o->progress == NULL || w->o->progress(w->o->progress_ctx, w->done, w->total);
    HN_CHECK(err, go_on, HONE_E_LIMIT, "choosing types for layers was ended");
    w->done++;
    return HONE_OK;
}

static hn_layer_scheme scheme_of_type(const work *w, int type) {
    const hn_layer_type *t = type == 0 ? w->o->base : w->o->types[type - 1];
    return t != NULL ? t->layer : (hn_layer_scheme){.kind = HN_LAYER_F32};
}

/* ---- what is to be watched ---- */

/* A layer alone wants ranges that a layer among others like it does without, so all count. */
static bool is_watched(const hn_value *v) {
    return !v->dead && v->constant == NULL && (v->producer != NULL || v->is_input) &&
           v->type.kind == HN_TYPE_TENSOR && v->type.dtype == HONE_DTYPE_F32;
}

hone_status hn_mixed_watches(const hn_model *m, hn_arena *arena, const char *const **names, int *n,
                             hn_error *err) {
    const hn_graph *g = m->graph;
    const char **v = hn_arena_array(arena, (size_t)g->n_values + 1, sizeof *v);
    if (v == NULL) return HN_NOMEM(err);
    *n = 0;
    for (int i = 0; i < g->n_values; i++)
        if (is_watched(g->values[i])) v[(*n)++] = g->values[i]->name;
    *names = v;
    return HONE_OK;
}

/* ---- layers ---- */

/* A type that all weights can have: with it, layers are looked for. */
static hn_scheme scheme_of_all(const work *w, hn_layer_scheme layer) {
    hn_scheme s = *w->o->scheme;
    s.layer = layer;
    return s;
}

static bool has_rule(const hn_scheme *s, const hn_node *n) {
    bool named;
    hn_scheme_of(s, n, &named);
    return named;
}

/* A layer whose n weights are the next of w->weighted. */
static hone_status add_layer(work *w, int n, hn_error *err) {
    hn_mixed *x = w->out;
    const hn_weighted *of = &w->weighted[w->n_weighted];
    hn_mixed_layer *l = &x->layers[x->n_layers];
    *l = (hn_mixed_layer){
        .name = hn_arena_strdup(&x->arena, hn_layer_name(of->node)),
        .op = hn_arena_strdup(&x->arena, of->node->op_type),
        .figures = hn_arena_array(&x->arena, (size_t)w->n_types, sizeof *l->figures)};
    if (l->name == NULL || l->op == NULL || l->figures == NULL) return HN_NOMEM(err);
    for (int k = 0; k < n; k++) l->weights += of[k].weight->constant->n;
    w->n_weighted += n;
    w->n_of[x->n_layers++] = n;
    return HONE_OK;
}

static hone_status find_layers(work *w, hn_error *err) {
    hn_mixed *x = w->out;
    hn_scheme all = scheme_of_all(
        w, (hn_layer_scheme){.kind = HN_LAYER_WEIGHTS,
                             .weights = {.dtype = HONE_DTYPE_S8, .bits = 8, .symmetric = true}});
    HN_TRY(hn_model_clone(&w->floats, w->model, w->alloc, err));
    HN_TRY(hn_model_infer(w->floats, NULL, err));
    size_t most = (size_t)w->floats->graph->n_nodes + 1;
    x->layers = hn_arena_array(&x->arena, most, sizeof *x->layers);
    w->weighted = hn_arena_array(&x->arena, 2 * most, sizeof *w->weighted);
    w->n_of = hn_arena_array(&x->arena, most, sizeof *w->n_of);
    if (x->layers == NULL || w->weighted == NULL || w->n_of == NULL) return HN_NOMEM(err);
    for (hn_node *at = w->floats->graph->first; at != NULL; at = at->next) {
        int n = hn_weights_of(at, &all, &w->weighted[w->n_weighted], NULL);
        if (n > 0 && !has_rule(w->o->scheme, at)) HN_TRY(add_layer(w, n, err));
    }
    HN_CHECK(err, x->n_layers > 0, HONE_E_ARG, "the model has no layer whose type could be chosen");
    return HONE_OK;
}

/* So little that only the order of layers is told by it: no type does less harm than the base. */
#define LEAST_HARM 1e-12

static double harm_beyond(double harm, double base) {
    return isnan(harm) || base == 0 ? harm : fmax(harm - base, LEAST_HARM);
}

/* A layer of n weights, each of which has estimates in n_types: it is as far off as the worst. */
static hn_estimate estimate_of(const hn_estimate *of, int n, int n_types) {
    hn_estimate all = of[0];
    for (int k = 1; k < n; k++) {
        const hn_estimate *e = &of[k * n_types];
        all.bits += e->bits;
        if (isnan(e->error) || e->error > all.error) all.error = e->error;
    }
    return all;
}

/* The harm of all layers in all types, estimated, and their bits. */
static hone_status estimate(work *w, hn_error *err) {
    hn_mixed *x = w->out;
    const hn_mixed_options *o = w->o;
    hn_transform_ctx c = {.feed = o->feed,
                          .samples = o->samples,
                          .how = o->how,
                          .scheme = o->scheme,
                          .alloc = w->alloc};
    int first = o->base == NULL, n_types = w->n_types - first; /* f32 has nothing to estimate */
    size_t n = (size_t)w->n_weighted * (size_t)n_types;
    hn_estimate *found = hn_arena_array(&x->arena, n, sizeof *found);
    hn_layer_scheme *types = hn_arena_array(&x->arena, (size_t)n_types, sizeof *types);
    if (found == NULL || types == NULL) return HN_NOMEM(err);
    for (int t = 0; t < n_types; t++) types[t] = scheme_of_type(w, first + t);
    HN_TRY(hn_estimate_layers(found, w->weighted, w->n_weighted, types, n_types, o->calibration,
                              w->floats, &c, o->samples > 0 ? o->samples : ESTIMATE_SAMPLES, err));
    for (int i = 0; i < x->n_layers; i++) {
        hn_mixed_figure *f = x->layers[i].figures;
        f[0] = (hn_mixed_figure){.bits = 32.0 * (double)x->layers[i].weights, .ms = NAN};
        hn_estimate is = estimate_of(found, w->n_of[i], n_types);
        double base = first == 0 && !isnan(is.error) ? is.error : 0;
        if (first == 0) f[0].bits = is.bits;
        for (int t = 1; t < w->n_types; t++) {
            is = estimate_of(&found[t - first], w->n_of[i], n_types);
            double harm = harm_beyond(is.error, base);
            f[t] = (hn_mixed_figure){.harm = harm, .estimate = harm, .bits = is.bits, .ms = NAN};
        }
        found += w->n_of[i] * n_types;
    }
    return HONE_OK;
}

/* ---- models with some layers in some types ---- */

/* Gives a copy of the model the types of the scheme. report, which may be NULL, must be deinited.
 */
static hone_status turn(const work *w, hn_scheme *s, hn_model *m, hn_quantize_report *report,
                        hn_error *err) {
    hn_convert_options narrow = {.type = hn_scheme_float, .ctx = s};
    const hn_rounded *rounded = w->o->rounded;
    hone_status status = hn_model_infer(m, NULL, err);
    if (status == HONE_OK && rounded != NULL) status = hn_rounded_apply(rounded, m, s, err);
    if (status == HONE_OK)
        status = hn_quantize_model(m, s, w->o->calibration, rounded != NULL ? rounded->grids : NULL,
                                   w->o->how->engine.pool, report, err);
    if (status == HONE_OK) status = hn_model_infer(m, NULL, err);
    if (status == HONE_OK) status = hn_convert(m, &narrow, NULL, err);
    if (status != HONE_OK) hn_model_destroy(m);
    return status;
}

/* A copy of the model as the scheme has it. */
static hone_status make(const work *w, hn_scheme *s, hn_model **out, hn_quantize_report *report,
                        hn_error *err) {
    HN_TRY(hn_model_clone(out, w->model, w->alloc, err));
    return turn(w, s, *out, report, err);
}

static hone_status run_all(const work *w, const hn_model *m, hn_distance *distance,
                           hn_tensor **keep, hn_error *err) {
    int n_out = m->graph->n_outputs;
    hn_program *p;
    hn_tensor **out = hn_alloc_array(w->alloc, (size_t)n_out + 1, sizeof *out, HN_MEM_OTHER);
    if (out == NULL) return HN_NOMEM(err);
    hn_run_options how = hn_run_options_for(w->o->how, m);
    hone_status status = hn_program_create(&p, m, &how, err);
    if (status != HONE_OK) {
        hn_free(w->alloc, out);
        return status;
    }
    for (int b = 0; b < w->n_batches && status == HONE_OK; b++) {
        status = hn_program_run(p, (const hn_tensor *const *)w->batches[b].in, out, err);
        for (int i = 0; i < n_out && status == HONE_OK; i++) {
            size_t at = (size_t)b * (size_t)n_out + (size_t)i;
            if (keep != NULL) {
                keep[at] = out[i];
            } else {
                if (hn_dtype_is_float(out[i]->dtype))
                    hn_distance_add(distance, w->wanted[at], out[i]);
                hn_tensor_unref(out[i]);
            }
        }
    }
    hn_program_destroy(p);
    hn_free(w->alloc, out);
    return status;
}

/* ---- harm ---- */

/* Noise by signal at the outputs; what is broken does more harm than anything. */
static double harm_of(const hn_distance *d) {
    if (d->broken || d->n == 0) return d->n == 0 ? 0 : 1e9;
    return d->wanted > 0 ? fmin(d->noise / d->wanted, 1e9) : d->noise > 0 ? 1e9 : 0;
}

/* The harm that a scheme does, and the bits that weights in integers take. */
static hone_status try_scheme(work *w, hn_scheme *s, double *harm, int64_t *bits, hn_error *err) {
    hn_quantize_report report = {0};
    hn_model *m;
    hn_distance d = {0};
    hone_status status = make(w, s, &m, &report, err);
    if (status == HONE_OK) {
        status = run_all(w, m, &d, NULL, err);
        hn_model_destroy(m);
        w->out->tried++;
    }
    *harm = harm_of(&d);
    *bits = report.weight_bits;
    hn_quantize_report_deinit(&report);
    return status;
}

/* All layers in the base: what each does is what it adds to that. */
static hone_status find_base(work *w, hn_error *err) {
    hn_scheme s = scheme_of_all(w, scheme_of_type(w, 0));
    return w->o->base != NULL ? try_scheme(w, &s, &w->base_harm, &w->base_bits, err) : HONE_OK;
}

static hone_status find_harm(work *w, hn_mixed_layer *l, int type, hn_error *err) {
    double harm;
    int64_t bits;
    if (isnan(l->figures[type].estimate)) return HONE_OK; /* it cannot have the type */
    hn_scheme s = scheme_of_all(w, scheme_of_type(w, 0));
    hn_scheme_rule *rules =
        hn_alloc_array(w->alloc, (size_t)s.n_rules + 1, sizeof *rules, HN_MEM_OTHER);
    if (rules == NULL) return HN_NOMEM(err);
    if (s.n_rules > 0) memcpy(rules, s.rules, (size_t)s.n_rules * sizeof *rules);
    rules[s.n_rules++] = (hn_scheme_rule){l->name, scheme_of_type(w, type)};
    s.rules = rules;
    hone_status status = try_scheme(w, &s, &harm, &bits, err);
    hn_layer_kind kind = scheme_of_type(w, type).kind;
    bool taken = kind == HN_LAYER_F16 || kind == HN_LAYER_BF16 || bits != w->base_bits;
    l->figures[type].harm = taken ? harm_beyond(harm, w->base_harm) : NAN;
    hn_free(w->alloc, rules);
    return status;
}

/* Samples for all runs are read once and kept. */
static hone_status read_samples(work *w, hn_error *err) {
    const hn_feed *feed = w->o->feed;
    int64_t most = w->o->samples > 0 ? w->o->samples : MOST_SAMPLES, first = 0;
    int64_t runs = (int64_t)w->out->n_layers * w->o->n_types;
    int64_t all = hn_dataset_count(hn_feed_dataset(feed)), step = hn_feed_batch(feed);
    if (most > MOST_RUNS / runs) most = MOST_RUNS / runs;
    if (most < LEAST_SAMPLES) most = LEAST_SAMPLES;
    if (most > all) most = all;
    size_t room = (size_t)(most / step + 1);
    int n_out = w->model->graph->n_outputs;
    w->batches = hn_arena_array(&w->out->arena, room, sizeof *w->batches);
    w->wanted = hn_arena_array(&w->out->arena, room * (size_t)n_out + 1, sizeof *w->wanted);
    if (w->batches == NULL || w->wanted == NULL) return HN_NOMEM(err);
    memset(w->wanted, 0, (room * (size_t)n_out + 1) * sizeof *w->wanted);
    for (; first < most; first += step) {
        int64_t n = most - first < step ? most - first : step;
        hn_samples *s = &w->batches[w->n_batches];
        *s = (hn_samples){0};
        HN_TRY(hn_feed_read(feed, NULL, first, n, s, err));
        if (s->n > 0)
            w->n_batches++;
        else
            hn_samples_deinit(s);
    }
    HN_CHECK(err, w->n_batches > 0, HONE_E_FORMAT, "no sample of the dataset can be decoded");
    return run_all(w, w->model, NULL, w->wanted, err);
}

/* ---- time ---- */

typedef struct stopwatch {
    const hn_mixed *x;
    double *ms; /* of each layer in this run; NaN: no step is made for it alone */
} stopwatch;

static void take_time(void *ctx, const hn_step_time *t) {
    const stopwatch *s = ctx;
    if (t->step->facts->maker == NULL) return;
    const char *name = hn_layer_name(t->step->facts->maker);
    for (int i = 0; i < s->x->n_layers; i++)
        if (strcmp(s->x->layers[i].name, name) == 0)
            s->ms[i] = (isnan(s->ms[i]) ? 0 : s->ms[i]) + (double)(t->end_ns - t->begin_ns) * 1e-6;
}

/* Least times of several runs: what others disturb only adds. */
static hone_status time_model(work *w, const hn_model *m, int type, hn_error *err) {
    hn_mixed *x = w->out;
    hn_program *p;
    hn_samples one = {0};
    stopwatch s = {.x = x};
    s.ms = hn_alloc_array(w->alloc, (size_t)x->n_layers, sizeof *s.ms, HN_MEM_OTHER);
    if (s.ms == NULL) return HN_NOMEM(err);
    hone_status status = hn_feed_read(w->o->feed, NULL, 0, 1, &one, err);
    hn_run_options how = hn_run_options_for(w->o->how, m);
    if (status == HONE_OK) status = hn_program_create(&p, m, &how, err);
    if (status == HONE_OK) {
        for (int r = 0; r < TIMED_RUNS && status == HONE_OK; r++) {
            for (int i = 0; i < x->n_layers; i++) s.ms[i] = NAN;
            status = hn_program_profile(p, (const hn_tensor *const *)one.in, take_time, &s, err);
            for (int i = 0; i < x->n_layers && r > 0; i++)
                x->layers[i].figures[type].ms = fmin(x->layers[i].figures[type].ms, s.ms[i]);
        }
        hn_program_destroy(p);
    }
    hn_samples_deinit(&one);
    hn_free(w->alloc, s.ms);
    return status;
}

/* A layer that shares its step with others is as fast for its weights as the rest are. */
static void fill_in_times(hn_mixed *x, int type) {
    double ms = 0, weights = 0;
    for (int i = 0; i < x->n_layers; i++)
        if (!isnan(x->layers[i].figures[type].ms)) {
            ms += x->layers[i].figures[type].ms;
            weights += (double)x->layers[i].weights;
        }
    for (int i = 0; i < x->n_layers; i++) {
        hn_mixed_figure *f = &x->layers[i].figures[type];
        if (isnan(f->ms) && weights > 0) f->ms = ms * (double)x->layers[i].weights / weights;
    }
}

static hone_status find_times(work *w, hn_error *err) {
    if (w->o->cost != HN_MIXED_TIME ||
        !hn_backend_or_default(w->o->how->backend)->executor->has_steps)
        return HONE_OK;
    for (int t = 0; t < w->n_types; t++) {
        hn_scheme s = scheme_of_all(w, scheme_of_type(w, t));
        hn_model *all;
        HN_TRY(tell(w, err));
        HN_TRY(make(w, &s, &all, NULL, err));
        hone_status status = time_model(w, all, t, err);
        hn_model_destroy(all);
        HN_TRY(status);
        fill_in_times(w->out, t);
    }
    return HONE_OK;
}

/* ---- the front, and the choice ---- */

static hone_status find_front(work *w, hn_error *err) {
    hn_mixed *x = w->out;
    int n_moves;
    size_t n = (size_t)x->n_layers, room = n * (size_t)w->n_types;
    hn_budget_choice *choices = hn_arena_array(&x->arena, room, sizeof *choices);
    hn_budget_move *moves = hn_arena_array(&x->arena, room, sizeof *moves);
    int *at = hn_arena_array(&x->arena, n, sizeof *at);
    w->first = hn_arena_array(&x->arena, n, sizeof *w->first);
    x->points = hn_arena_array(&x->arena, room + 1, sizeof *x->points);
    if (choices == NULL || moves == NULL || at == NULL || w->first == NULL || x->points == NULL)
        return HN_NOMEM(err);
    for (size_t i = 0; i < room; i++) {
        const hn_mixed_figure *f =
            &x->layers[i / (size_t)w->n_types].figures[i % (size_t)w->n_types];
        choices[i] = (hn_budget_choice){f->harm, w->o->cost == HN_MIXED_TIME ? f->ms : f->bits};
    }
    HN_TRY(hn_budget_moves(choices, x->n_layers, w->n_types, w->alloc, at, moves, &n_moves, err));
    memcpy(w->first, at, n * sizeof *at);
    double harm = 0, bits = 0, ms = 0, weights = 0;
    for (int i = 0; i < x->n_layers; i++) {
        const hn_mixed_layer *l = &x->layers[i];
        const hn_mixed_figure *f = &l->figures[at[i]];
        harm += f->harm;
        bits += f->bits;
        ms += f->ms;
        weights += (double)l->weights;
    }
    x->points[0] = (hn_mixed_point){-1, 0, harm, ms, bits / weights, 0, NAN, false};
    for (int k = 0; k < n_moves; k++) {
        const hn_mixed_layer *l = &x->layers[moves[k].layer];
        const hn_mixed_figure *from = &l->figures[at[moves[k].layer]],
                              *to = &l->figures[moves[k].to];
        at[moves[k].layer] = moves[k].to;
        harm += to->harm - from->harm;
        bits += to->bits - from->bits;
        ms += to->ms - from->ms;
        x->points[k + 1] =
            (hn_mixed_point){moves[k].layer, moves[k].to, harm, ms, bits / weights, 0, NAN, false};
    }
    x->n_points = n_moves + 1;
    return HONE_OK;
}

static bool within(const hn_mixed_options *o, const hn_mixed_point *p) {
    return (o->bits_per_weight <= 0 || p->bits_per_weight <= o->bits_per_weight) &&
           (o->ms <= 0 || p->ms <= o->ms) && (o->bytes <= 0 || p->bytes <= o->bytes);
}

static hone_status refuse(const hn_mixed_options *o, const hn_mixed_point *cheapest,
                          hn_error *err) {
    char ms[48] = "", file[64] = "";
    if (o->ms > 0) snprintf(ms, sizeof ms, "%.3g ms and ", cheapest->ms);
    if (o->bytes > 0)
        snprintf(file, sizeof file, " in a file of %.3g MB", (double)cheapest->bytes * 1e-6);
    return HN_FAIL(err, HONE_E_NOT_FOUND,
                   "no choice of types is within the limits: the least is %s%.3g bits per weight%s",
                   ms, cheapest->bits_per_weight, file);
}

/* The rules of the set of types at a point; layers[].type follow. */
static hone_status take_point(work *w, int point, hn_error *err) {
    hn_mixed *x = w->out;
    for (int i = 0; i < x->n_layers; i++) x->layers[i].type = w->first[i];
    for (int k = 1; k <= point; k++) x->layers[x->points[k].layer].type = x->points[k].to;
    const hn_scheme *s = w->o->scheme;
    x->n_rules = s->n_rules + x->n_layers;
    x->rules = hn_arena_array(&x->arena, (size_t)x->n_rules, sizeof *x->rules);
    if (x->rules == NULL) return HN_NOMEM(err);
    if (s->n_rules > 0) memcpy(x->rules, s->rules, (size_t)s->n_rules * sizeof *x->rules);
    for (int i = 0; i < x->n_layers; i++)
        x->rules[s->n_rules + i] =
            (hn_scheme_rule){x->layers[i].name, scheme_of_type(w, x->layers[i].type)};
    return HONE_OK;
}

static hone_status scheme_of_point(work *w, int point, hn_scheme *s, hn_error *err) {
    HN_TRY(take_point(w, point, err));
    *s = *w->o->scheme;
    s->n_rules = w->out->n_rules;
    s->rules = w->out->rules;
    return HONE_OK;
}

/* Of a model with all that a file has: docs, metadata and stated types too. */
static hone_status find_bytes(work *w, int point, hn_error *err) {
    int64_t *bytes = &w->out->points[point].bytes;
    hn_scheme s;
    hn_model *m;
    HN_TRY(scheme_of_point(w, point, &s, err));
    HN_TRY(hn_model_copy(&m, w->model, w->alloc, err));
    HN_TRY(turn(w, &s, m, NULL, err));
    hone_status status = w->o->size != NULL ? w->o->size(w->o->size_ctx, m, w->out, bytes, err)
                                            : hn_onnx_bytes(m, NULL, bytes, err);
    hn_model_destroy(m);
    return status;
}

/* The first point from *at on whose file is small enough, or the last; by halving, as files shrink
 * along the front. */
static hone_status find_small_enough(work *w, int *at, hn_error *err) {
    const hn_mixed_point *p = w->out->points;
    int last = w->out->n_points - 1, lo = *at - 1, hi = last;
    if (w->o->bytes <= 0) return HONE_OK;
    HN_TRY(find_bytes(w, last, err));
    while (hi - lo > 1) {
        int mid = lo + (hi - lo) / 2;
        HN_TRY(find_bytes(w, mid, err));
        if (p[mid].bytes <= w->o->bytes)
            hi = mid;
        else
            lo = mid;
    }
    *at = hi;
    return HONE_OK;
}

static hone_status judge(work *w, int point, bool *good, hn_error *err) {
    hn_mixed *x = w->out;
    hn_mixed_point *p = &x->points[point];
    hn_scheme s;
    hn_model *m;
    HN_TRY(tell(w, err));
    HN_TRY(scheme_of_point(w, point, &s, err));
    HN_TRY(make(w, &s, &m, NULL, err));
    hone_status status = w->o->score(w->o->score_ctx, m, &p->score, err);
    hn_model_destroy(m);
    x->tried++;
    *good = status == HONE_OK && hn_gate_margin(p->score, w->o->least, 0, false, false) >= 0;
    return status;
}

static hone_status choose(work *w, hn_error *err) {
    hn_mixed *x = w->out;
    const hn_mixed_options *o = w->o;
    int at = 0;
    while (at < x->n_points - 1 && !within(o, &x->points[at])) at++;
    HN_TRY(find_small_enough(w, &at, err));
    bool fits = within(o, &x->points[at]), good = true;
    if (o->score != NULL && o->bits_per_weight <= 0 && o->ms <= 0 && o->bytes <= 0) {
        /* The last that is good enough: below lo all are, from hi on none is. */
        int lo = 0, hi = x->n_points;
        while (hi - lo > 1) {
            int mid = lo + (hi - lo) / 2;
            HN_TRY(judge(w, mid, &good, err));
            if (good)
                lo = mid;
            else
                hi = mid;
        }
        at = lo;
        good = true;
    }
    if (o->score != NULL && isnan(x->points[at].score)) HN_TRY(judge(w, at, &good, err));
    HN_TRY(take_point(w, at, err));
    x->points[at].chosen = true;
    if (!fits) return refuse(o, &x->points[x->n_points - 1], err);
    HN_CHECK(err, good, HONE_E_NOT_FOUND,
             "types within the limits give a score of %.6g, wanted %.6g", x->points[at].score,
             o->least);
    return HONE_OK;
}

static hone_status find_all(work *w, hn_error *err) {
    hn_mixed *x = w->out;
    HN_TRY(find_layers(w, err));
    int64_t models = (int64_t)x->n_layers * w->o->n_types;
    x->estimated = w->o->harm == HN_MIXED_ESTIMATED ||
                   (w->o->harm == HN_MIXED_BY_COST && models > MOST_MODELS);
    w->total = 1 + (x->estimated ? 0 : models) + w->n_types;
    HN_TRY(tell(w, err));
    HN_TRY(estimate(w, err));
    if (!x->estimated) HN_TRY(read_samples(w, err));
    if (!x->estimated) HN_TRY(find_base(w, err));
    for (int64_t i = 0; i < models && !x->estimated; i++) {
        HN_TRY(tell(w, err));
        HN_TRY(find_harm(w, &x->layers[i / w->o->n_types], 1 + (int)(i % w->o->n_types), err));
    }
    HN_TRY(find_times(w, err));
    HN_TRY(find_front(w, err));
    /* Judging takes about that many. */
    if (w->o->score != NULL)
        for (int n = x->n_points; n > 0; n /= 2) w->total++;
    return choose(w, err);
}

hone_status hn_mixed_choose(hn_mixed *out, const hn_model *m, const hn_mixed_options *o,
                            hn_allocator *alloc, hn_error *err) {
    *out = (hn_mixed){0};
    hn_arena_init(&out->arena, alloc, HN_MEM_OTHER);
    work w = {.out = out, .model = m, .o = o, .alloc = alloc, .n_types = o->n_types + 1};
    hone_status status = find_all(&w, err);
    size_t n_wanted = (size_t)w.n_batches * (size_t)m->graph->n_outputs;
    for (size_t i = 0; i < n_wanted; i++) hn_tensor_unref(w.wanted[i]);
    for (int b = 0; b < w.n_batches; b++) hn_samples_deinit(&w.batches[b]);
    hn_model_destroy(w.floats);
    return status;
}

void hn_mixed_deinit(hn_mixed *x) {
    hn_arena_deinit(&x->arena);
    *x = (hn_mixed){0};
}

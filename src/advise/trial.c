#include <math.h>
#include <stdio.h>
#include <string.h>

#include "advise/runtimes.h"
#include "advise/search.h"
#include "advise/strategy.h"
#include "base/clock.h"
#include "formats/onnx.h"
#include "measure/accuracy.h"
#include "measure/feed.h"
#include "measure/inspect.h"

#define ROUND_SECONDS 0.25
#define TIMED_SECONDS 0.3 /* of a round in another runtime */
#define READINGS 3        /* of one sample */
#define PROFILED 3        /* runs, of which the fastest counts */
#define FAR_BEHIND 1.5    /* times as fast: what another must be for one not to be judged */

/* ---- sizes ---- */

/* Of the file, as it would be written, and of the constants in it. */
static hone_status measure_size(hn_search_state *s, hn_model *m, hone_optimize_row *row,
                                hn_error *err) {
    hone_inspection *in;
    HN_TRY(hn_onnx_bytes(m, NULL, &row->file_bytes, err));
    HN_TRY(hn_model_inspect(m, NULL, 0, s->alloc, &in, err));
    row->weights_bytes = in->params_bytes;
    hn_inspection_destroy(in);
    return HONE_OK;
}

static int64_t memory_of(const hn_program *p) {
    hn_engine_memory m;
    return hn_program_memory(p, &m) ? (int64_t)(m.weights + m.slab + m.scratch) : -1;
}

/* How many times as fast as a model another is; by what share measurements differ. */
typedef struct contest {
    double ms; /* of the first model: the least median */
    double speed, doubt;
} contest;

/* A model and what runs it. */
typedef struct entrant {
    hn_model *model;
    hn_program *program;
    int id; /* of the timer's */
} entrant;

static hone_status timed_round(const hone_timer *t, int a, int b, hn_round *r, hn_error *err) {
    hone_round found = {.size = sizeof found};
    HN_TRY(t->round(t->ctx, a, b, TIMED_SECONDS, &found, err));
    for (int i = 0; i < 2; i++) {
        HN_CHECK(err, found.least_ms[i] > 0 && found.median_ms[i] > 0, HONE_E_ARG,
                 "%s: the timer gave %g ms for a run, expected more than 0", t->name,
                 found.least_ms[i]);
        r->ms[i] = found.median_ms[i];
        r->least[i] = found.least_ms[i];
    }
    r->calm = found.calm;
    return HONE_OK;
}

static hone_status add_round(hn_search_state *s, const entrant *a, const entrant *b, hn_duel *d,
                             hn_error *err) {
    hn_round_fn *run = s->o.round != NULL ? s->o.round : hn_round_run;
    hn_round r = {.best_pace = s->best_pace};
    if (s->o.timer != NULL)
        HN_TRY(timed_round(s->o.timer, a->id, b->id, &r, err));
    else
        HN_TRY(run(&r, a->program, b->program, (const hn_tensor *const *)s->in,
                   s->original->graph->n_outputs, ROUND_SECONDS, s->alloc, err));
    s->best_pace = r.best_pace;
    hn_duel_add(d, &r);
    return HONE_OK;
}

/* Whether the same steps compute both: then one is as fast as the other, whatever a clock says. */
static hone_status run_alike(hn_search_state *s, hn_program *a, hn_program *b, bool *alike,
                             hn_error *err) {
    char of[2][HN_SHA256_HEX];
    *alike = a == b;
    if (*alike) return HONE_OK;
    HN_TRY(hn_program_steps(a, (const hn_tensor *const *)s->in, of[0], err));
    HN_TRY(hn_program_steps(b, (const hn_tensor *const *)s->in, of[1], err));
    *alike = of[0][0] != '\0' && strcmp(of[0], of[1]) == 0;
    return HONE_OK;
}

/* Hands a model to the timer, as the file it would be. */
static hone_status open_there(hn_search_state *s, const entrant *e, hn_error *err) {
    const hone_timer *t = s->o.timer;
    const hn_graph *g = s->original->graph;
    hone_value *in = hn_arena_array(s->arena, (size_t)g->n_inputs + 1, sizeof *in);
    size_t n = 0;
    hn_file *file;
    if (in == NULL) return HN_NOMEM(err);
    for (int i = 0; i < g->n_inputs; i++) {
        const hn_tensor *x = s->in[i];
        if (x == NULL) continue;
        in[n] = (hone_value){.name = g->inputs[i]->name,
                             .dtype = x->dtype,
                             .rank = x->rank,
                             .data = x->data,
                             .bytes = x->bytes};
        memcpy(in[n++].dims, x->dims, (size_t)x->rank * sizeof *x->dims);
    }
    HN_TRY(hn_onnx_save_memory(&file, e->model, NULL, err));
    hone_status status = t->open(t->ctx, e->id, file->data, file->bytes, n, in, err);
    hn_file_unref(file);
    return status;
}

static hone_status duel(hn_search_state *s, const entrant *a, const entrant *b, contest *c,
                        hn_error *err) {
    hn_duel d = {0};
    bool alike = a->program == b->program;
    if (s->o.timer == NULL) HN_TRY(run_alike(s, a->program, b->program, &alike, err));
    do HN_TRY(add_round(s, a, b, &d, err));
    while (!alike && hn_duel_is_open(&d) && hn_search_progress(s, d.all.n, HN_MOST_ROUNDS));
    *c =
        alike ? (contest){d.ms[0], 1, 0} : (contest){d.ms[0], hn_duel_speed(&d), hn_duel_doubt(&d)};
    return HONE_OK;
}

/* What is not the original is open in the timer only meanwhile. */
static hone_status compete(hn_search_state *s, const entrant *a, const entrant *b, contest *c,
                           hn_error *err) {
    const hone_timer *t = s->o.timer;
    if (t == NULL) return duel(s, a, b, c, err);
    const entrant *own[2] = {a, b};
    hone_status status = HONE_OK;
    int n = 0;
    for (; n < 2 && status == HONE_OK; n++)
        if (own[n]->id != 0) status = open_there(s, own[n], err);
    if (status == HONE_OK) status = duel(s, a, b, c, err);
    while (n-- > 0)
        if (own[n]->id != 0) t->close(t->ctx, own[n]->id);
    return status;
}

/* A runtime that is not measured leaves times open. */
static hone_status measure_time(hn_search_state *s, const entrant *e, hone_optimize_row *row,
                                hn_error *err) {
    const entrant original = {.model = s->original, .program = s->program};
    contest c;
    if (s->o.runtime == NULL) {
        HN_TRY(hn_program_prepare(e->program, (const hn_tensor *const *)s->in, err));
        row->memory_bytes = memory_of(e->program);
    }
    if (hn_search_by_rule(s)) return HONE_OK;
    HN_TRY(compete(s, &original, e, &c, err));
    if (s->least_ms == 0 || c.ms < s->least_ms) s->least_ms = c.ms;
    row->ms = c.ms / c.speed;
    row->speed = c.speed;
    row->doubt = c.doubt;
    return HONE_OK;
}

hone_status hn_trial_beside(hn_search_state *s, int i, int other, double *times, double *doubt,
                            hn_error *err) {
    const int who[2] = {other, i};
    entrant e[2] = {0};
    hone_status status = HONE_OK;
    contest c;
    hn_search_doing(s, s->rows[i].name, "time beside others");
    for (int k = 0; k < 2 && status == HONE_OK; k++) {
        e[k] = (entrant){.model = s->trials[who[k]].model, .id = who[k]};
        hn_run_options how = hn_run_options_for(&s->o.how, e[k].model);
        status = hn_program_create(&e[k].program, e[k].model, &how, err);
    }
    if (status == HONE_OK) status = compete(s, &e[0], &e[1], &c, err);
    if (status == HONE_OK) *times = c.speed, *doubt = c.doubt;
    for (int k = 0; k < 2; k++) hn_program_destroy(e[k].program);
    return status;
}

/* ---- rows ---- */

static hone_optimize_row *new_row(hn_search_state *s, const char *name, const char *help,
                                  const char *gain) {
    hone_optimize_row *row = &s->rows[s->n++];
    *row = (hone_optimize_row){.name = name,
                               .help = help,
                               .gain = gain,
                               .state = "failed",
                               .file_bytes = -1,
                               .weights_bytes = -1,
                               .memory_bytes = -1,
                               .ms = NAN,
                               .speed = NAN,
                               .doubt = NAN,
                               .value = NAN,
                               .low = NAN,
                               .high = NAN,
                               .drop = NAN};
    return row;
}

static void show_quality(hone_optimize_row *row, const hn_quality *q, double drop) {
    row->value = q->value;
    row->low = q->low;
    row->high = q->high;
    row->drop = drop;
}

/* ---- the original ---- */

/* One sample as the model takes it, and how long reading one takes: the first time may take longer
 * than later ones. */
static hone_status read_sample(hn_search_state *s, hn_error *err) {
    hn_feed *feed;
    hone_status status = HONE_OK;
    double least = INFINITY;
    HN_TRY(hn_feed_create(&feed, s->original->graph, s->parts.choose, 1, s->alloc, err));
    s->run_rows = hn_feed_rows(feed, 1);
    for (int k = 0; k < READINGS && status == HONE_OK; k++) {
        for (int i = 0; i < s->original->graph->n_inputs; i++) {
            hn_tensor_unref(s->in[i]);
            s->in[i] = NULL;
        }
        int64_t begun = hn_clock_ns();
        status = hn_feed_load(feed, 0, 1, s->in, err);
        least = fmin(least, (double)(hn_clock_ns() - begun) * 1e-6);
    }
    s->read_ms = hn_dataset_is_made_up(s->parts.choose) ? 0 : least;
    hn_feed_destroy(feed);
    return status;
}

typedef struct kinds {
    hn_arena *arena;
    int n;
    struct {
        char name[32];
        double ms;
    } of[32];
} kinds;

static void add_step(void *ctx, const hn_step_time *t) {
    kinds *k = ctx;
    const char *label = t->step->facts->label != NULL ? t->step->facts->label : "copy";
    int n = (int)strcspn(label, "+"), i = 0;
    while (i < k->n && (strncmp(k->of[i].name, label, (size_t)n) != 0 || k->of[i].name[n] != '\0'))
        i++;
    if (i == 32 || n >= 32) return;
    if (i == k->n) snprintf(k->of[k->n++].name, 32, "%.*s", n, label);
    k->of[i].ms += (double)(t->end_ns - t->begin_ns) * 1e-6;
}

/* What a run spends its time on, by operator, most first. */
static hone_status profile(hn_search_state *s, hn_error *err) {
    enum { SHOWN = 3 };
    kinds k = {0};
    char text[256] = "";
    double sum = INFINITY;
    for (int run = 0; run < PROFILED; run++) {
        kinds one = {0};
        double ms = 0;
        HN_TRY(
            hn_program_profile(s->program, (const hn_tensor *const *)s->in, add_step, &one, err));
        for (int i = 0; i < one.n; i++) ms += one.of[i].ms;
        if (ms >= sum) continue;
        k = one;
        sum = ms;
    }
    s->profiled = k.n > 0;
    s->steps_ms = sum;
    if (isnan(s->out->profile_ms)) s->out->profile_ms = sum; /* by rule: hone's own time */
    for (int shown = 0, used = 0; shown < SHOWN && shown < k.n && used < 200; shown++) {
        int best = 0;
        for (int i = 1; i < k.n; i++)
            if (k.of[i].ms > k.of[best].ms) best = i;
        used +=
            snprintf(text + used, sizeof text - (size_t)used, "%s%s %.0f %%", shown > 0 ? ", " : "",
                     k.of[best].name, sum > 0 ? 100 * k.of[best].ms / sum : 0);
        k.of[best].ms = -1;
    }
    s->out->profile = hn_search_text(s, "%s", text);
    return s->out->profile != NULL ? HONE_OK : HN_NOMEM(err);
}

static hone_status judge_original(hn_search_state *s, hone_optimize_row *row, hn_error *err) {
    hn_trial *t = &s->trials[0];
    hn_search_doing(s, row->name, "accuracy");
    if (s->parts.look != NULL)
        HN_TRY(hn_quality_measure(&s->judge, s->program, s->parts.look, &s->look, err));
    HN_TRY(hn_quality_measure(&s->judge, s->program, s->parts.choose, &t->quality, err));
    if (s->parts.verify != NULL)
        HN_TRY(hn_quality_measure(&s->judge, s->program, s->parts.verify, &s->verified, err));
    show_quality(row, &t->quality, 0);
    if (t->quality.guessed > 0)
        hn_warn_of_guessing(t->quality.value, t->quality.guessed, &t->quality.values);
    s->out->metric = t->quality.metric;
    s->out->is_share = t->quality.is_share;
    s->out->lower_better = t->quality.lower_better;
    s->gate = hn_gate_drop(t->quality.value, s->o.max_drop, s->o.relative);
    return HONE_OK;
}

hone_status hn_trial_original(hn_search_state *s, hn_error *err) {
    int64_t begun = hn_clock_ns();
    hone_optimize_row *row = new_row(s, "original", "as it came", "");
    row->state = "original";
    hn_search_doing(s, row->name, "time");
    hn_run_options how = hn_run_options_for(&s->o.how, s->original);
    HN_TRY(hn_program_create(&s->program, s->original, &how, err));
    s->judge.original = s->program;
    HN_TRY(read_sample(s, err));
    HN_TRY(measure_size(s, s->original, row, err));
    const entrant original = {.model = s->original, .program = s->program};
    if (s->o.timer != NULL) HN_TRY(open_there(s, &original, err));
    s->timed = s->o.timer != NULL;
    HN_TRY(measure_time(s, &original, row, err));
    s->out->profile_ms = row->ms;
    s->trials[0].rule = 1;
    HN_TRY(profile(s, err));
    HN_TRY(judge_original(s, row, err));
    row->seconds = (double)(hn_clock_ns() - begun) * 1e-9;
    return HONE_OK;
}

/* ---- a candidate ---- */

/* The speed that it has at least, for all that was measured. */
static double sure_speed(const hone_optimize_row *r) { return r->speed / (1 + r->doubt); }

/* One that passed and is so much better that this one cannot be chosen; NULL: there is none. */
static const hone_optimize_row *ahead_of(const hn_search_state *s, const hone_optimize_row *row) {
    for (int i = 1; i < s->n - 1; i++)
        if (s->trials[i].passed && sure_speed(&s->rows[i]) > FAR_BEHIND * row->speed &&
            s->rows[i].file_bytes <= row->file_bytes &&
            s->rows[i].memory_bytes <= row->memory_bytes)
            return &s->rows[i];
    return NULL;
}

/* Whether the first samples already rule a model out, chance considered. */
static bool is_hopeless(const hn_search_state *s, const hn_quality *q) {
    return !hn_quality_passes(&s->look, q, s->gate, true);
}

static hone_status judge(hn_search_state *s, hn_trial *t, hn_program *p, hone_optimize_row *row,
                         hn_error *err) {
    char a[32], b[32];
    hn_search_doing(s, row->name, "accuracy");
    if (s->parts.look != NULL && !t->candidate->exact) {
        HN_TRY(hn_quality_measure(&s->judge, p, s->parts.look, &t->quality, err));
        if (is_hopeless(s, &t->quality)) {
            row->state = "gate";
            show_quality(row, &t->quality, hn_quality_drop(&s->look, &t->quality));
            row->why = hn_search_text(s, "on the first %lld samples: %s, the original %s%s%s",
                                      (long long)t->quality.samples,
                                      hn_search_shown(s, t->quality.value, a),
                                      hn_search_shown(s, s->look.value, b),
                                      t->quality.worst[0] != '\0' ? "; " : "", t->quality.worst);
            return row->why != NULL ? HONE_OK : HN_NOMEM(err);
        }
    }
    int64_t begun = hn_clock_ns();
    HN_TRY(hn_quality_measure(&s->judge, p, s->parts.choose, &t->quality, err));
    t->judged_seconds = (double)(hn_clock_ns() - begun) * 1e-9;
    double drop = hn_quality_drop(&s->trials[0].quality, &t->quality);
    show_quality(row, &t->quality, drop);
    t->passed = hn_quality_passes(&s->trials[0].quality, &t->quality, s->gate, false);
    row->state = t->passed ? "passed" : "gate";
    if (t->passed) return HONE_OK;
    row->why = hn_search_text(s, "loses %s, at most %s is allowed%s%s", hn_search_shown(s, drop, a),
                              hn_search_shown(s, s->gate, b),
                              t->quality.worst[0] != '\0' ? "; " : "", t->quality.worst);
    return row->why != NULL ? HONE_OK : HN_NOMEM(err);
}

hone_status hn_trial_rule_out(hn_search_state *s, const hn_trial *t, hone_optimize_row *row,
                              bool *out, hn_error *err) {
    *out = true;
    if (row->speed < 1) {
        const hn_trouble *trouble = hn_trouble_of(s->o.device);
        bool four = hone_dtype_bits(t->layer.weights.dtype) == 4;
        row->state = "slower";
        row->why = hn_search_text(s, "takes %.2f times as long%s%s", 1 / row->speed,
                                  four ? ": " : "", four ? trouble->sign : "");
        return row->why != NULL ? HONE_OK : HN_NOMEM(err);
    }
    const hone_optimize_row *ahead = ahead_of(s, row);
    if (ahead != NULL) {
        row->state = "behind";
        row->why = hn_search_text(s, "%s is %.1f times as fast and no larger", ahead->name,
                                  ahead->speed / row->speed);
        return row->why != NULL ? HONE_OK : HN_NOMEM(err);
    }
    *out = false;
    return HONE_OK;
}

hone_status hn_trial_judge(hn_search_state *s, hn_trial *t, hn_program *p, hone_optimize_row *row,
                           hn_error *err) {
    bool out;
    HN_TRY(hn_trial_rule_out(s, t, row, &out, err));
    return out ? HONE_OK : judge(s, t, p, row, err);
}

static bool on_made(void *state, const char *what, int64_t done, int64_t total) {
    hn_search_state *s = state;
    hn_search_doing(s, s->rows[s->n - 1].name, what);
    return hn_search_progress(s, done, total);
}

static bool on_epoch(void *state, const hn_told_epoch *e) {
    hn_search_state *s = state;
    if (e->epoch > 0) s->rate = e->samples_per_second;
    return true;
}

/* The samples that a recipe looks at, or trains on; NULL: it wants none. */
static hn_dataset *samples_of(const hn_search_state *s, const hn_compress_plan *plan,
                              const hn_recipe *r) {
    if (hn_recipe_trains(r)) return s->few != NULL ? s->few : s->parts.train;
    return hn_compress_needs_data(plan, r) ? s->parts.calibrate : NULL;
}

/* A candidate that takes nothing away is the one without that step once more. */
static hone_status check_shrunk(const hn_recipe *r, const hn_compressed *made, hn_error *err) {
    for (int i = 0; i < r->n; i++) {
        const hn_transform *t = r->steps[i].transform;
        HN_CHECK(err, t->stage != HN_STAGE_SHRINK || made->changed[i] > 0, HONE_E_ARG,
                 "%s finds nothing to take away in this model", t->name);
    }
    return HONE_OK;
}

hone_status hn_trial_make(hn_search_state *s, hn_recipe *recipe, const hn_compress_plan *plan,
                          hn_model **m, hn_error *err) {
    const hn_training_told told = {.epoch = on_epoch, .ctx = s};
    hn_compress_options o = {.data = samples_of(s, plan, recipe),
                             .training = &told,
                             .how = s->o.how,
                             .progress = on_made,
                             .progress_ctx = s};
    hn_compressed made = {0};
    hn_type_search search;
    hn_layer_type base;
    memcpy(recipe->source, s->o.source, sizeof recipe->source);
    if (o.data != NULL)
        snprintf(recipe->part, sizeof recipe->part, "%s",
                 hn_recipe_trains(recipe) ? s->parts.train_name : s->parts.calibrate_name);
    if (plan->mix.n_types > 0) {
        base = *hn_layer_type_named(hn_recipe_word(recipe, "type"));
        base.layer = plan->scheme.layer;
        search = hn_search_types(s, &base);
        o.search = &search;
    }
    HN_TRY(hn_compress(&made, recipe, s->original, &o, s->alloc, err));
    hone_status status = check_shrunk(recipe, &made, err);
    if (status == HONE_OK) *m = made.model, made.model = NULL;
    hn_compressed_deinit(&made);
    return status;
}

hone_status hn_trial_time(hn_search_state *s, hn_model *m, hn_program **p, hone_optimize_row *row,
                          hn_error *err) {
    HN_TRY(measure_size(s, m, row, err));
    hn_run_options how = hn_run_options_for(&s->o.how, m);
    HN_TRY(hn_program_create(p, m, &how, err));
    hn_search_doing(s, row->name, "time");
    const entrant e = {.model = m, .program = *p, .id = s->n - 1};
    return measure_time(s, &e, row, err);
}

/* What was made on failure stays in *m and *p. */
static hone_status make_and_time(hn_search_state *s, hn_recipe *recipe,
                                 const hn_compress_plan *plan, hn_model **m, hn_program **p,
                                 hone_optimize_row *row, hn_error *err) {
    HN_TRY(hn_trial_make(s, recipe, plan, m, err));
    return hn_trial_time(s, *m, p, row, err);
}

/* ---- layers that stay in f32, since they are slower otherwise ---- */

/* The recipe of a trial with those layers in f32. */
static hone_status exempt(hn_recipe *out, const hn_trial *t, const hn_slow_layers *slow,
                          hn_error *err) {
    *out = t->recipe;
    hn_recipe_step *w = hn_recipe_writer(out), was = *w;
    w->n = 0;
    for (int i = 0; i < was.n; i++) HN_TRY(hn_recipe_keep(out, w, &was.v[i], err));
    for (int i = 0; i < slow->n; i++)
        HN_TRY(hn_recipe_setf(out, w, err, "layer:%s=f32", slow->v[i].name));
    return HONE_OK;
}

/* Which layers stay in f32, and why, for people. */
static const char *tell_slow(hn_search_state *s, const hn_slow_layers *slow) {
    enum { SHOWN = 8 };
    char text[1024] = "", one[160];
    for (int i = 0; i < slow->n && i < SHOWN; i++) {
        const hn_slow_layer *l = &slow->v[i];
        snprintf(one, sizeof one, "%.80s (%.3f ms, else %.3f ms)", l->name, l->f32_ms, l->own_ms);
        hn_list_add(text, sizeof text, one);
    }
    return hn_search_text(s, "%d layer%s in f32, which is faster on this machine: %s%s", slow->n,
                          slow->n == 1 ? " stays" : "s stay", text, slow->n > SHOWN ? " ..." : "");
}

/* Whether layers are looked at one by one: those of integers, run by hone, without other types to
 * choose from. */
static bool has_layers_to_judge(const hn_search_state *s, const hn_trial *t,
                                const hn_compress_plan *plan) {
    bool measured = s->o.runtime == NULL && s->o.timer == NULL;
    return measured && t->layer.kind >= HN_LAYER_WEIGHTS && plan->mix.n_types == 0 &&
           (s->o.slow_layers != NULL || s->o.round == NULL);
}

/* What was slow before and what is slow now. */
static hone_status join(hn_search_state *s, hn_slow_layers *all, const hn_slow_layers *more,
                        hn_error *err) {
    hn_slow_layer *v = hn_arena_array(s->arena, (size_t)(all->n + more->n) + 1, sizeof *v);
    if (v == NULL) return HN_NOMEM(err);
    for (int i = 0; i < all->n; i++) v[i] = all->v[i];
    for (int i = 0; i < more->n; i++) v[all->n + i] = more->v[i];
    *all = (hn_slow_layers){all->n + more->n, v};
    return HONE_OK;
}

/* Makes the candidate once more with its slow layers in f32, and takes that if it is faster;
 * *better tells. */
static hone_status exempt_slow(hn_search_state *s, hn_trial *t, hn_program **p,
                               hone_optimize_row *row, hn_slow_layers *all, bool *better,
                               hn_error *err) {
    hn_slow_layers_fn *find = s->o.slow_layers != NULL ? s->o.slow_layers : hn_slow_layers_find;
    hn_slow_layers slow = {0};
    hn_model *m = NULL;
    hn_program *other = NULL;
    hone_optimize_row again = *row;
    hn_recipe recipe;
    hn_compress_plan mixed;
    hn_run_options how = hn_run_options_for(&s->o.how, t->model);
    hn_search_doing(s, row->name, "layers");
    HN_TRY(find(&slow, s->program, t->model, &how, (const hn_tensor *const *)s->in, s->arena, err));
    if (slow.n == 0) return HONE_OK;
    HN_TRY(exempt(&recipe, t, &slow, err));
    HN_TRY(hn_compress_plan_make(&mixed, &recipe, err));
    hone_status status = make_and_time(s, &recipe, &mixed, &m, &other, &again, err);
    /* With all layers in f32 it is no candidate of its own. */
    *better = status == HONE_OK && again.speed > row->speed && hn_graph_is_quantized(m->graph);
    if (*better) {
        hn_model *m_before = t->model;
        hn_program *p_before = *p;
        t->model = m, *p = other;
        m = m_before, other = p_before;
        t->recipe = recipe;
        *row = again;
        status = join(s, all, &slow, err);
    }
    hn_program_destroy(other);
    hn_model_destroy(m);
    return status;
}

/* What is f32 now costs its neighbours conversions, so they are looked at again. */
hone_status hn_trial_keep_fast(hn_search_state *s, hn_trial *t, const hn_compress_plan *plan,
                               hn_program **p, hone_optimize_row *row, hn_error *err) {
    enum { ROUNDS = 3 };
    hn_slow_layers all = {0};
    bool better = has_layers_to_judge(s, t, plan);
    for (int i = 0; i < ROUNDS && better; i++) {
        better = false;
        hone_status status = exempt_slow(s, t, p, row, &all, &better, err);
        if (status == HONE_E_ARG) break; /* a layer that only the engine knows by that name */
        HN_TRY(status);
    }
    if (all.n == 0) return HONE_OK;
    t->in_f32 = tell_slow(s, &all);
    if (t->in_f32 == NULL) return HN_NOMEM(err);
    row->help = hn_search_text(s, "%s; %s", t->candidate->help, t->in_f32);
    return row->help != NULL ? HONE_OK : HN_NOMEM(err);
}

static hone_status make_and_measure(hn_search_state *s, hn_trial *t, const hn_compress_plan *plan,
                                    hone_optimize_row *row, hn_error *err) {
    hn_program *p = NULL;
    hone_status status = make_and_time(s, &t->recipe, plan, &t->model, &p, row, err);
    if (status == HONE_OK) status = hn_trial_keep_fast(s, t, plan, &p, row, err);
    if (status == HONE_OK) status = hn_trial_judge(s, t, p, row, err);
    hn_program_destroy(p);
    return status;
}

/* What made int8 good is done here too, with the types to choose from that r has. */
static hone_status take_over(hn_recipe *r, const hn_recipe *from, hn_error *err) {
    const hn_setting *mix = hn_step_setting(hn_recipe_writer(r), "mix");
    memcpy(r->steps, from->steps, sizeof r->steps);
    r->n = from->n;
    hn_recipe_step *s = hn_recipe_writer(r), was = *s;
    s->n = 0;
    for (int i = 0; i < was.n; i++) HN_TRY(hn_recipe_keep(r, s, &was.v[i], err));
    return hn_recipe_keep(r, s, mix, err);
}

/* Of trial t, which is begun: the row of it, and what became of it. */
static hone_status carry_out(hn_search_state *s, hn_trial *t, const hn_compress_plan *plan,
                             const char *name, hn_error *err) {
    int64_t begun = hn_clock_ns();
    const hn_candidate *c = t->candidate;
    const hn_remedy *remedy = hn_remedy_named(s->o.device, c->remedy);
    bool trains = hn_candidate_trains(c);
    hn_error own = {0};
    t->layer = plan->scheme.layer;
    t->recipe.target = s->o.runtime;
    if (s->o.runtime != NULL) t->rule = hn_rule_of(s->o.runtime->name, &t->recipe)->gain;
    hone_optimize_row *row = new_row(s, name, c->help, remedy != NULL ? remedy->gain : "");
    hone_status status =
        trains ? hn_trained_run(s, t, row, &own) : make_and_measure(s, t, plan, row, &own);
    row->seconds = (double)(hn_clock_ns() - begun) * 1e-9;
    if (trains) s->trained_seconds += row->seconds;
    if (!t->passed) {
        hn_model_destroy(t->model);
        t->model = NULL;
    }
    if (t->layer.kind == HN_LAYER_STATIC && strcmp(row->state, "gate") == 0) s->broken = true;
    HN_CHECK(err, status != HONE_E_NOMEM, status, "%s", own.text);
    if (status == HONE_OK) return HONE_OK;
    bool unfinished = status == HONE_E_LIMIT && hn_search_is_cut_short(s);
    row->state = unfinished ? "unfinished" : "failed";
    row->why = unfinished ? hn_search_text(s, "not finished: %s",
                                           s->stopped ? "it was interrupted" : "time was spent")
                          : hn_search_text(s, "%s", own.text);
    return row->why != NULL ? HONE_OK : HN_NOMEM(err);
}

hone_status hn_trial_run(hn_search_state *s, const hn_candidate *c, hn_error *err) {
    hn_trial *t = &s->trials[s->n];
    hn_compress_plan plan;
    *t = (hn_trial){.candidate = c};
    HN_TRY(hn_candidate_recipe(c, s->o.seed, s->arena, &t->recipe, &plan, err));
    if (c->when == HN_WHEN_BEST) {
        HN_TRY(take_over(&t->recipe, &s->trials[hn_search_best(s, false)].recipe, err));
        HN_TRY(hn_compress_plan_make(&plan, &t->recipe, err));
    }
    return carry_out(s, t, &plan, c->name, err);
}

hone_status hn_trial_train_longer(hn_search_state *s, int i, hn_error *err) {
    hn_trial *before = &s->trials[i], *t = &s->trials[s->n];
    double epoch = before->train_seconds / (double)before->epochs;
    hn_compress_plan plan;
    before->trained_longer = true;
    *t = (hn_trial){.candidate = before->candidate,
                    .in_f32 = before->in_f32,
                    .trained_longer = true,
                    .epochs = hn_trained_longest(hn_trained_seconds_left(s) / epoch)};
    HN_TRY(hn_candidate_recipe(t->candidate, s->o.seed, s->arena, &t->recipe, &plan, err));
    HN_TRY(hn_trained_take_rules(&t->recipe, &before->recipe, err));
    const char *name = hn_search_text(s, "%s-2", t->candidate->name);
    return name != NULL ? carry_out(s, t, &plan, name, err) : HN_NOMEM(err);
}

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "advise/search.h"
#include "advise/strategy.h"
#include "base/clock.h"
#include "formats/onnx.h"
#include "measure/accuracy.h"
#include "measure/feed.h"
#include "measure/inspect.h"

#define DUEL_SECONDS 0.5
#define MOST_DUELS 4   /* of two models */
#define READINGS 3     /* of one sample */
#define PROFILED 3     /* runs, of which the fastest counts */
#define FAR_BEHIND 1.5 /* times as fast: what another must be for one not to be judged */

/* ---- sizes ---- */

/* Of the file, as it would be written, and of the constants in it. */
static hone_status measure_size(hn_search_state *s, hn_model *m, hone_optimize_row *row,
                                hn_error *err) {
    hn_file *file;
    hone_inspection *in;
    HN_TRY(hn_onnx_save_memory(&file, m, NULL, err));
    row->file_bytes = (int64_t)file->bytes;
    hn_file_unref(file);
    HN_TRY(hn_model_inspect(m, NULL, 0, s->alloc, &in, err));
    row->weights_bytes = in->params_bytes;
    hn_inspection_destroy(in);
    return HONE_OK;
}

static int64_t memory_of(const hn_program *p) {
    hn_engine *e = hn_program_engine(p);
    if (e == NULL) return -1;
    hn_engine_memory m = hn_engine_memory_use(e);
    return (int64_t)(m.weights + m.slab + m.scratch);
}

/* Two programs in turns, as often as it takes. */
static hone_status settle(hn_search_state *s, hn_program *a, hn_program *b, hn_duel *d,
                          hn_error *err) {
    hn_duel_fn *duel = s->o.duel != NULL ? s->o.duel : hn_duel_run;
    *d = (hn_duel){0};
    for (int i = 0; i < MOST_DUELS && (i == 0 || hn_duel_is_unsettled(d)); i++) {
        hn_duel one;
        HN_TRY(duel(&one, a, b, (const hn_tensor *const *)s->in, s->original->graph->n_outputs,
                    DUEL_SECONDS, s->alloc, err));
        if (i == 0)
            *d = one;
        else
            hn_duel_join(d, &one);
        if (a == b) break; /* it is as fast as itself */
    }
    return HONE_OK;
}

static hone_status measure_time(hn_search_state *s, hn_program *p, hone_optimize_row *row,
                                bool *slower, hn_error *err) {
    hn_duel d;
    HN_TRY(settle(s, s->program, p, &d, err));
    if (s->least_ms == 0 || d.ms[0] < s->least_ms) s->least_ms = d.ms[0];
    row->ms = d.ms[1];
    row->speed = d.ratio;
    row->doubt = hn_duel_doubt(&d);
    row->memory_bytes = memory_of(p);
    *slower = d.slower && d.ratio < 1;
    return HONE_OK;
}

hone_status hn_trial_beside(hn_search_state *s, int i, int other, double *times, double *doubt,
                            hn_error *err) {
    const int who[2] = {other, i};
    hn_program *p[2] = {NULL, NULL};
    hone_status status = HONE_OK;
    hn_duel d;
    char what[64];
    snprintf(what, sizeof what, "beside %s", s->rows[other].name);
    hn_search_doing(s, s->rows[i].name, what);
    for (int k = 0; k < 2 && status == HONE_OK; k++) {
        hn_model *m = s->trials[who[k]].model;
        hn_how how = hn_how_for(&s->o.how, m);
        status = hn_program_create(&p[k], m, &how, err);
    }
    if (status == HONE_OK) status = settle(s, p[0], p[1], &d, err);
    if (status == HONE_OK) *times = d.ratio, *doubt = hn_duel_doubt(&d);
    for (int k = 0; k < 2; k++) hn_program_destroy(p[k]);
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
    const char *label = t->step->label != NULL ? t->step->label : "copy";
    int n = (int)strcspn(label, "+"), i = 0;
    while (i < k->n && (strncmp(k->of[i].name, label, (size_t)n) != 0 || k->of[i].name[n] != '\0'))
        i++;
    if (i == 32 || n >= 32) return;
    if (i == k->n) snprintf(k->of[k->n++].name, 32, "%.*s", n, label);
    k->of[i].ms += (double)(t->end_ns - t->begin_ns) * 1e-6;
}

static hone_status no_output(void *ctx, int i, hone_dtype dtype, int rank, const int64_t *dims,
                             void **to, hn_error *err) {
    (void)ctx, (void)i, (void)dtype, (void)rank, (void)dims, (void)err;
    *to = NULL;
    return HONE_OK;
}

/* What a run spends its time on, by operator, most first. */
static hone_status profile(hn_search_state *s, hn_error *err) {
    enum { SHOWN = 3 };
    hn_engine *e = hn_program_engine(s->program);
    kinds k = {0};
    char text[256] = "";
    double sum = INFINITY;
    for (int run = 0; e != NULL && run < PROFILED; run++) {
        kinds one = {0};
        double ms = 0;
        HN_TRY(hn_engine_run(e, (const hn_tensor *const *)s->in, no_output, NULL, add_step, &one,
                             err));
        for (int i = 0; i < one.n; i++) ms += one.of[i].ms;
        if (ms >= sum) continue;
        k = one;
        sum = ms;
    }
    s->profiled = k.n > 0;
    s->steps_ms = s->profiled ? sum : 0;
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
    s->gate = s->o.max_drop * (s->o.relative ? fabs(t->quality.value) : 1);
    return HONE_OK;
}

hone_status hn_trial_original(hn_search_state *s, hn_error *err) {
    int64_t begun = hn_clock_ns();
    bool slower;
    hone_optimize_row *row = new_row(s, "original", "as it came", "");
    row->state = "original";
    hn_search_doing(s, row->name, "time");
    hn_how how = hn_how_for(&s->o.how, s->original);
    HN_TRY(hn_program_create(&s->program, s->original, &how, err));
    s->judge.original = s->program;
    HN_TRY(read_sample(s, err));
    HN_TRY(measure_size(s, s->original, row, err));
    HN_TRY(measure_time(s, s->program, row, &slower, err));
    row->speed = 1;
    s->out->profile_ms = row->ms;
    HN_TRY(profile(s, err));
    HN_TRY(judge_original(s, row, err));
    row->seconds = (double)(hn_clock_ns() - begun) * 1e-9;
    return HONE_OK;
}

/* ---- a candidate ---- */

/* One that passed and is so much better that this one cannot be chosen; NULL: there is none. */
static const hone_optimize_row *ahead_of(const hn_search_state *s, const hone_optimize_row *row) {
    for (int i = 1; i < s->n - 1; i++)
        if (s->trials[i].passed && s->rows[i].speed > FAR_BEHIND * row->speed &&
            s->rows[i].file_bytes <= row->file_bytes &&
            s->rows[i].memory_bytes <= row->memory_bytes)
            return &s->rows[i];
    return NULL;
}

/* Whether the first samples already rule a model out, chance considered. */
static bool is_hopeless(const hn_search_state *s, const hn_quality *q) {
    return q->lower_better ? q->low > s->look.value + s->gate : q->high < s->look.value - s->gate;
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
    t->passed = drop <= s->gate;
    row->state = t->passed ? "passed" : "gate";
    if (t->passed) return HONE_OK;
    row->why = hn_search_text(s, "loses %s, at most %s is allowed%s%s", hn_search_shown(s, drop, a),
                              hn_search_shown(s, s->gate, b),
                              t->quality.worst[0] != '\0' ? "; " : "", t->quality.worst);
    return row->why != NULL ? HONE_OK : HN_NOMEM(err);
}

static hone_status measure(hn_search_state *s, hn_trial *t, hn_program *p, hone_optimize_row *row,
                           hn_error *err) {
    bool slower;
    hn_search_doing(s, row->name, "time");
    HN_TRY(measure_time(s, p, row, &slower, err));
    if (slower) {
        const hn_trouble *trouble = hn_trouble_of(s->o.device);
        bool four = hone_dtype_bits(t->recipe.layer.weights.dtype) == 4;
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
    return judge(s, t, p, row, err);
}

static bool on_made(void *state, const char *what, int64_t done, int64_t total) {
    hn_search_state *s = state;
    hn_search_doing(s, s->rows[s->n - 1].name, what);
    return hn_search_progress(s, done, total);
}

static hone_status make_and_measure(hn_search_state *s, hn_trial *t, hone_optimize_row *row,
                                    hn_error *err) {
    hn_kitchen k = {.model = s->original,
                    .calibrate = s->parts.calibrate,
                    .how = s->o.how,
                    .arena = s->arena,
                    .alloc = s->alloc,
                    .progress = on_made,
                    .progress_ctx = s};
    hn_compressed made = {0};
    memcpy(t->recipe.source, s->o.source, sizeof t->recipe.source);
    const hn_candidate *c = t->candidate;
    const hn_layer_type *base, *type;
    hn_mix mix;
    if (c->mix != NULL) {
        HN_TRY(hn_layer_type_find(&base, c->type, err));
        HN_TRY(hn_layer_type_find(&type, c->mix, err));
        mix = hn_search_mix(s, base, &type);
        k.mix = &mix;
    }
    HN_TRY(hn_recipe_apply(&t->recipe, &k, &made, err));
    t->model = made.model;
    made.model = NULL;
    hn_compressed_deinit(&made);
    HN_TRY(measure_size(s, t->model, row, err));
    hn_program *p;
    hn_how how = hn_how_for(&s->o.how, t->model);
    HN_TRY(hn_program_create(&p, t->model, &how, err));
    hone_status status = measure(s, t, p, row, err);
    hn_program_destroy(p);
    return status;
}

/* What made int8 good is done here too. */
static void take_over(hn_recipe *r, const hn_recipe *from) {
    r->ranges = from->ranges;
    r->n_methods = from->n_methods;
    memcpy(r->methods, from->methods, sizeof r->methods);
}

hone_status hn_trial_run(hn_search_state *s, const hn_candidate *c, hn_error *err) {
    int64_t begun = hn_clock_ns();
    hn_trial *t = &s->trials[s->n];
    const hn_remedy *remedy = hn_remedy_named(s->o.device, c->remedy);
    hn_error own = {0};
    *t = (hn_trial){.candidate = c};
    HN_TRY(hn_candidate_recipe(c, s->o.seed, &t->recipe, err));
    if (c->when == HN_WHEN_BEST) take_over(&t->recipe, &s->trials[hn_search_best(s, false)].recipe);
    hone_optimize_row *row = new_row(s, c->name, c->help, remedy != NULL ? remedy->gain : "");
    hone_status status = make_and_measure(s, t, row, &own);
    row->seconds = (double)(hn_clock_ns() - begun) * 1e-9;
    if (!t->passed) {
        hn_model_destroy(t->model);
        t->model = NULL;
    }
    if (t->recipe.layer.kind == HN_LAYER_STATIC && strcmp(row->state, "gate") == 0)
        s->broken = true;
    HN_CHECK(err, status != HONE_E_NOMEM, status, "%s", own.text);
    if (status == HONE_OK) return HONE_OK;
    bool unfinished = status == HONE_E_LIMIT && hn_search_is_cut_short(s);
    row->state = unfinished ? "unfinished" : "failed";
    row->why = unfinished ? hn_search_text(s, "not finished: %s",
                                           s->stopped ? "it was interrupted" : "time was spent")
                          : hn_search_text(s, "%s", own.text);
    return row->why != NULL ? HONE_OK : HN_NOMEM(err);
}

/* The search behind `hone optimize`: candidates one after the other, the gentlest first, each made,
 * timed in turns with the original, and judged on samples it was not calibrated with; then the
 * choice, which samples verify that nothing was chosen by.
 *
 * Little is spent on what cannot win. A candidate that is slower than the original, or far behind
 * one that passed, is not judged; one whose answers on the first samples are already worse than the
 * gate by more than chance explains is not judged further; and with a limit to be met, the first
 * that meets it ends the search. One that is interrupted, or whose time is spent, chooses from what
 * has passed by then.
 *
 *     search.c    the order, the choice, the verdict
 *     trial.c     one candidate
 *     trained.c   candidates that are trained: for how long, and which of them once more
 *     slow_layers.c  layers of a candidate that stay in f32, since they are slower otherwise
 *     kept.c      trained models that outlive a search that is ended
 *     mix.c       how those are judged whose layers have types of their own
 *     criteria.c  what is said of the whole at the end
 */
#ifndef HN_ADVISE_SEARCH_H
#define HN_ADVISE_SEARCH_H

#include "advise/candidates.h"
#include "advise/duel.h"
#include "advise/parts.h"
#include "advise/quality.h"
#include "advise/slow_layers.h"
#include "base/stages.h"
#include "compress/place.h"

typedef struct hn_search_options {
    hn_dataset *data, *calibrate, *eval; /* as in hone_optimize_options */
    const char *metric;
    double max_drop;
    bool relative;
    bool allow_unchecked; /* as in hone_optimize_options, as the next two */
    double time_budget;
    double train_budget; /* seconds; 0: nothing is trained */
    const char *augment; /* changes to samples while training (train/augment.h); NULL: none */
    const char *keep;    /* the folder of trained models (kept.c); NULL: none are kept */
    void (*candidate)(void *ctx, int k, int n, double seconds_left); /* with progress_ctx */
    double max_ms; /* 0: not asked, as the next two */
    int64_t max_file, max_memory;
    const char *device;
    uint64_t seed;
    char source[HN_SHA256_HEX]; /* of the model (compress/lineage.h) */
    hn_run_options how;
    const hn_quant_target *runtime; /* that models are for; NULL: hone */
    const hone_timer *timer;        /* how they are timed there; NULL: they are not */
    hn_round_fn *round;             /* how models are timed; NULL: hn_round_run */
    /* How slow layers are found; NULL: hn_slow_layers_find, or with `round` not at all. */
    hn_slow_layers_fn *slow_layers;
    int threads, cores;
    bool (*progress)(void *ctx, const char *what, int64_t done, int64_t total);
    void *progress_ctx;
} hn_search_options;

/* Fills in out, whose texts lie in the arena. *chosen: the model, made with alloc; NULL: the
 * original is to stay. m is only read, but for marks. */
hone_status hn_search(hone_optimization *out, hn_model **chosen, hn_model *m,
                      const hn_search_options *o, hn_arena *arena, hn_allocator *alloc,
                      hn_error *err);
/* Carries out a recipe, without measuring: HONE_E_ARG if it is for another model or other data. */
hone_status hn_search_replay(hone_optimization *out, hn_model **chosen, const char *recipe,
                             hn_model *m, const hn_search_options *o, hn_arena *arena,
                             hn_allocator *alloc, hn_error *err);

/* The runtime of that name; NULL: hone, or there is none. */
const hn_quant_target *hn_search_runtime(const char *name);

/* ---- within the search ---- */

enum { HN_MOST_TRIALS = 64 };

typedef struct hn_trial {
    const hn_candidate *candidate; /* NULL: the original */
    hn_recipe recipe;
    hn_layer_scheme layer; /* what it makes of all layers without a rule */
    hn_model *model;       /* kept while it may be chosen */
    hn_quality quality;
    double judged_seconds; /* that judging it took, on the samples to choose by */
    bool passed;
    int64_t epochs;       /* that it was trained for; 0: none */
    double train_seconds; /* that took */
    bool trained_longer;  /* another trial is the same, trained for longer */
    const char *in_f32;   /* which layers stay in f32 since they are slower otherwise; NULL: none */
    double rule; /* what it is worth by the rules of a runtime that is not measured: 1 or more */
} hn_trial;

/* Where the time goes, and what is told of it. */
typedef struct hn_search_stages {
    hn_stages spent;
    hone_stage told[HN_MOST_STAGES];
} hn_search_stages;

typedef struct hn_search_state {
    hone_optimization *out;
    hn_search_options o;
    hn_model *original;
    hn_arena *arena;
    hn_allocator *alloc;
    hn_dataset *made_up; /* samples, where there are none */
    hn_parts parts;
    hn_program *program; /* the original */
    hn_tensor **in;      /* of a run of one sample */
    hn_judge judge;
    hn_output_forms forms;     /* of the original's outputs */
    hn_quality look, verified; /* of the original, on these parts */
    double gate;               /* the most that may be lost */
    double read_ms;            /* that one sample takes to be read; 0: they are made up */
    bool profiled;             /* the original, before anything was tried */
    double steps_ms;           /* of its run, added up */
    int64_t run_rows;          /* samples a timed run takes: 1, or the model's fixed batch */
    double least_ms;           /* of the medians of the original's runs */
    double best_pace;          /* of the machine so far */
    bool broken;               /* int8 was tried, and broke the gate */
    double trained_seconds;    /* of the time there is to train in, that was spent */
    int to_train;              /* candidates that share it, from this one on */
    hn_dataset *few;           /* samples to try training out with; NULL: it is done in earnest */
    double rate;               /* samples a second, of the last training */
    char learned_from[HN_SHA256_HEX]; /* of the samples to train on; "": not asked for yet */
    hn_engine_options asked;          /* as they were given */
    int64_t begun_ns;                 /* the search */
    bool stopped;                     /* by progress */
    bool closing;    /* the choice is being verified, which is not stopped any more */
    bool timed;      /* the original is open in the timer */
    char doing[128]; /* what progress is told */
    hn_search_stages stages;
    char ended_at[128]; /* what was being done when the search ended before its time */
    int n;
    hn_trial trials[HN_MOST_TRIALS];
    hone_optimize_row rows[HN_MOST_TRIALS];
    const char *left_out[HN_MOST_TRIALS];
} hn_search_state;

/* Speeds are not measured: rules tell what is faster (rules.h). */
bool hn_search_by_rule(const hn_search_state *s);
const char *hn_search_text(hn_search_state *s, const char *format, ...) HONE_PRINTF(2, 3);
/* What progress is told of from here on: "int8: accuracy". The last word is the stage that the time
 * is counted for. */
void hn_search_doing(hn_search_state *s, const char *name, const char *what);
bool hn_search_progress(void *state, int64_t done, int64_t total);
/* Whether the search ends before all was tried: it was stopped, or its time is spent. */
bool hn_search_is_cut_short(const hn_search_state *s);
/* A number of the metric as people read it: "91.73 %". buf has 32 bytes. */
const char *hn_search_shown(const hn_search_state *s, double v, char *buf);
bool hn_search_has_limit(const hn_search_state *s);
/* Whether a row is within the limits on latency, size and memory. */
bool hn_search_within(const hn_search_state *s, const hone_optimize_row *r);

/* What limits are about, as far as it is known: "1.20 ms, 2.31 MB in the file". */
enum { HN_ROW_TEXT = 160 };
const char *hn_search_row_text(const hone_optimize_row *r, char buf[HN_ROW_TEXT]);
/* Whether a run takes longer than reading what it runs on: else the model is not the bottleneck. */
bool hn_search_model_binds(const hn_search_state *s);

/* The original: its program, its size, time and quality. */
hone_status hn_trial_original(hn_search_state *s, hn_error *err);
/* Makes and measures a candidate; a failure that is its own is told in its row. */
hone_status hn_trial_run(hn_search_state *s, const hn_candidate *c, hn_error *err);
/* Tries candidate i once more, trained for all the time that is left. */
hone_status hn_trial_train_longer(hn_search_state *s, int i, hn_error *err);
/* Whether a row would be chosen now if its answers were good. */
bool hn_search_would_win(const hn_search_state *s, const hone_optimize_row *r);

/* ---- what trials are made of ---- */

/* The model of a recipe, which becomes the one of what was done. */
hone_status hn_trial_make(hn_search_state *s, hn_recipe *recipe, const hn_compress_plan *plan,
                          hn_model **m, hn_error *err);
/* Makes a model ready to run, and puts its size and time into the row. What was made on failure
 * stays in *p. */
hone_status hn_trial_time(hn_search_state *s, hn_model *m, hn_program **p, hone_optimize_row *row,
                          hn_error *err);
/* Layers that are slower in integers than in f32 stay in f32: model, program, recipe and row become
 * those of that. */
hone_status hn_trial_keep_fast(hn_search_state *s, hn_trial *t, const hn_compress_plan *plan,
                               hn_program **p, hone_optimize_row *row, hn_error *err);
/* Whether it cannot be chosen, however good its answers are; its state tells why. */
hone_status hn_trial_rule_out(hn_search_state *s, const hn_trial *t, hone_optimize_row *row,
                              bool *out, hn_error *err);
/* Its answers, if it is not ruled out. */
hone_status hn_trial_judge(hn_search_state *s, hn_trial *t, hn_program *p, hone_optimize_row *row,
                           hn_error *err);

/* ---- candidates that are trained (trained.c) ---- */

hone_status hn_trained_run(hn_search_state *s, hn_trial *t, hone_optimize_row *row, hn_error *err);
/* The layers that another form of the recipe keeps in f32. */
hone_status hn_trained_take_rules(hn_recipe *to, const hn_recipe *from, hn_error *err);

/* For how long the recipe of a trial trains, for what goal and with which changes to samples. */
hone_status hn_trained_settle(const hn_search_state *s, hn_recipe *r, int64_t epochs,
                              hn_error *err);
/* ---- trained models that outlive a search that is ended (kept.c) ---- */

/* The model, the recipe and the epochs of a trial that an earlier search has trained, if it has; the
 * seconds that took count for this search, too. */
hone_status hn_kept_recall(hn_search_state *s, hn_trial *t, hn_error *err);
hone_status hn_kept_store(hn_search_state *s, const hn_trial *t, hn_error *err);
/* The search is over: the models go. */
void hn_kept_remove(hn_search_state *s);

/* The few samples to try training out with. */
hone_status hn_trained_few(const hn_search_state *s, hn_dataset **few, hn_error *err);
double hn_trained_seconds_left(const hn_search_state *s);
/* Epochs that fit into that time at the rate of the last training; 0: not even one. */
int64_t hn_trained_epochs(const hn_search_state *s, double seconds);
int64_t hn_trained_longest(double epochs); /* no more than help */
/* The trial that is most worth being trained for longer; 0: none is. */
int hn_trained_next(const hn_search_state *s);
/* Two candidates that passed, in turns: how many times as fast as the other one is, 1 if that
 * cannot be told, and by what share measurements differ. */
hone_status hn_trial_beside(hn_search_state *s, int i, int other, double *times, double *doubt,
                            hn_error *err);
/* How types for single layers are found, beginning with all in the base. */
hn_type_search hn_search_types(hn_search_state *s, const hn_layer_type *base);
/* The best of those that passed, within the limits where that is asked; 0: none is worth it. */
int hn_search_best(const hn_search_state *s, bool within);
/* The eight criteria and the seven guards. */
hone_status hn_search_judge(hn_search_state *s, hn_error *err);

#endif

/* What the files of hone profile share, and with hone advise, which begins with a profile. */
#ifndef CLI_PROFILE_H
#define CLI_PROFILE_H

#include "cli.h"

#define MOST_PLANS 2

/* ---- spans as they come (profile_trace.c) ---- */

typedef struct kept_span {
    char *category, *name, *detail; /* detail: or NULL */
    int64_t begin_ns, end_ns, live_bytes;
    int thread, plan;
} kept_span;

typedef struct recorder {
    size_t n, capacity;
    kept_span *spans;
    int plan; /* whose they are */
} recorder;

/* While a recorder listens every span is kept. */
void recorder_listen(recorder *r);
void recorder_pause(void);
void recorder_deinit(recorder *r);
/* ms of all spans of a plan with that category and name. */
double recorder_ms(const recorder *r, int of, const char *category, const char *name);
/* As a Chrome trace, and as folded stacks in microseconds; the file must not exist yet. */
exit_code write_trace(const recorder *r, const char *path, int n_plans,
                      const char *const *plan_names);
exit_code write_folded(const recorder *r, const char *path, const char *const *plan_names);

/* ---- a plan and what was measured of it ---- */

typedef struct startup {
    double read_ms, parse_ms, passes_ms, compile_ms, tune_ms, pack_ms, first_run_ms;
} startup;

typedef struct cost {
    double requests_per_day, machine_price; /* 0: not asked for */
    double utilization;                     /* of one machine; more than 1: more are needed */
    double machines, per_month;
} cost;

/* Of one batch of a dataset, on average. */
typedef struct stages {
    bool known; /* else there is no dataset */
    double decode_ms, preprocess_ms, copy_ms, inference_ms, postprocess_ms;
    double share; /* of inference */
} stages;

typedef struct plan {
    args a; /* those given, with this model alone */
    hone_model *model;
    hone_session *session;
    feed feed;
    hone_profile *profile;
    hone_difference difference; /* from f32 */
    startup startup;
    cost cost;
    stages stages;
    /* What the profile itself cannot know: whether it pays, and whether the model is what is slow.
     */
    int n_verdicts;
    hone_verdict verdicts[2];
    char evidence[2][160];
} plan;

/* The machine with its limits, from the cache of `hone machine` or measured. */
exit_code probe_machine(hone_machine **m);

/* ---- with a dataset (profile_data.c) ---- */

/* Samples of a run: the first axis of its first input. */
int64_t batch_of(const feed *f);

/* Runs batches of the dataset of --data, if there is one, and tells their stages apart. */
exit_code measure_stages(plan *p, int64_t batches);

/* ---- for people (profile_text.c) ---- */

typedef enum sorting { BY_TIME, BY_NAME, BY_ORDER, BY_LOST, BY_SHARE } sorting;
typedef enum grouping { BY_NODE, BY_OP, BY_SCOPE } grouping;

void print_profile(const plan *p, sorting sort, grouping by, int64_t top);
/* Of a quantized model: which steps compute in floats, why, and what they take. */
void print_explained(const plan *p);
/* Steps of both by the names of their nodes. */
void print_side_by_side(const plan *a, const plan *b, int64_t top);

#endif

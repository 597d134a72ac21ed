/* What the parts of `hone bench` share: bench.c is the verb, bench_child.c measures one
 * configuration, bench_search.c looks for a batch or a number of threads, bench_baseline.c compares
 * with an earlier run, bench_print.c shows what was found. */
#ifndef CLI_BENCH_H
#define CLI_BENCH_H

#include "cli.h"

typedef struct config {
    int64_t batch;      /* -1: the model's own, or 1 */
    bool batch_if_free; /* leave a fixed one as it is */
    int64_t threads, streams, warmup, runs;
    double seconds;              /* of a round, where runs is 0 */
    const char *precision, *isa; /* NULL: the model's own, the machine's */
    size_t max_memory;           /* where --max-memory does not say; 0: what the machine allows */
    bool may_fail;               /* for want of memory: result.failed says so */
} config;

typedef struct result {
    int64_t batch;
    int threads;
    char isa[32], precision[16];
    hone_timing ms;
    double throughput, load_ms, compile_ms, first_run_ms;
    double energy_mj; /* per item; NaN: not reported */
    hone_memory_use memory;
    hone_tuning tuning;
    hone_difference difference; /* from f32 */
    char why_precision[240];    /* "": as exact as was asked for */
    char precision_shown[40];   /* in tables: "f32", "f32 (not bf16)" */
    char choices[2048];         /* of precision auto, a line each, as far as they fit */
    int64_t peak_rss;
    int rounds;       /* that were measured: `ms` joins them, the rest is of the fastest */
    char failed[256]; /* why there is no result; "": there is one */
} result;

/* What became of a configuration since the baseline. */
typedef struct comparison {
    bool made;
    hone_timing_change change; /* times in ms */
    double then_p50;           /* ms: the median of the baseline */
} comparison;

enum { MOST_ROUNDS = 12 };

typedef struct job {
    const args *a;
    const hone_machine *machine; /* its facts; no rates */
    int n, room;
    config *configs;
    result *results;
    comparison *comparisons;
    bool first;  /* nothing was found before */
    int chosen;  /* by a search; -1: there was none */
    json *found; /* what was measured so far, of other models too */
    /* Of what is measured: */
    hone_timing seen[MOST_ROUNDS]; /* its rounds so far */
    bool settled;                  /* one more would change little */
    int64_t done, total;           /* configurations, rounds included */
    progress bar;
} job;

/* Puts one behind the n there are, without counting it. */
config *job_add(job *j, const config *c);

/* ---- bench_child.c ---- */

/* Says what is wrong with any configuration before the first one is measured, and what is taken for
 * symbolic axes. */
exit_code bench_check(job *j);
/* Measures one in a process of its own; counts it as done. */
exit_code bench_measure(job *j, const config *c, result *found);
/* Measures one the same way, for comparison: it is neither counted nor told about. */
exit_code bench_try(job *j, const config *c, result *found);
/* One more round of what was measured last, up to MOST_ROUNDS. */
exit_code bench_again(job *j, const config *c, result *found);

/* ---- bench_search.c ---- */

/* --batch-search, --threads-search: fills configs and results with what was tried, and chosen. */
exit_code bench_search(job *j, const config *common);
/* Items per second of result i, by its fastest run: what a search goes by. */
double bench_speed(const job *j, int i);

/* ---- bench_baseline.c ---- */

typedef struct baseline baseline;
exit_code baseline_read(baseline **out, const job *j, const char *path);
void baseline_free(baseline *b); /* NULL accepted */
/* Compares result i with the baseline, measuring again as often as it takes to be sure. */
exit_code baseline_compare(const baseline *b, job *j, int i);
/* EXIT_FAILED if something got slower; says so, and why it is not known where it is not. */
exit_code baseline_verdict(const job *j);

/* ---- bench_print.c ---- */

void bench_json(job *j, int i);
void bench_csv(const job *j);
void bench_tables(const job *j);
void bench_comparisons(const job *j);
void bench_tries(const job *j); /* of a search, and what was chosen */
/* What the numbers say, and what is worth trying next. */
void bench_hint(const job *j);

#endif

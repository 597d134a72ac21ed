/* hone bench: how long runs take, for every configuration asked for or for those a search tries. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"

config *job_add(job *j, const config *c) {
    if (j->n == j->room) {
        size_t room = (size_t)(j->room = j->room * 2 + 16);
        j->configs = must(realloc(j->configs, room * sizeof *j->configs));
        j->results = must(realloc(j->results, room * sizeof *j->results));
        j->comparisons = must(realloc(j->comparisons, room * sizeof *j->comparisons));
    }
    j->configs[j->n] = *c;
    memset(&j->results[j->n], 0, sizeof *j->results);
    memset(&j->comparisons[j->n], 0, sizeof *j->comparisons);
    return &j->configs[j->n];
}

/* ---- options ---- */

typedef struct lists {
    int64_t batch[MOST_VALUES], threads[MOST_VALUES];
    const char *precision[MOST_VALUES], *isa[MOST_VALUES];
    int n_batch, n_threads, n_precision, n_isa;
} lists;

/* Every batch with every number of threads, precision and instruction set. */
static void add_configs(job *j, const lists *l, const config *common) {
    for (int b = 0; b < l->n_batch; b++)
        for (int t = 0; t < l->n_threads; t++)
            for (int p = 0; p < l->n_precision; p++)
                for (int i = 0; i < l->n_isa; i++) {
                    config *c = job_add(j, common);
                    c->batch = l->batch[b];
                    c->threads = l->threads[t];
                    c->precision = l->precision[p];
                    c->isa = l->isa[i];
                    j->n++;
                }
}

/* --hint: what is good for one, or for many, where nothing else was said. */
static bool take_hint(const job *j, lists *l, config *c) {
    const char *hint = value_of(j->a, "--hint");
    if (hint == NULL) return true;
    bool many = strcmp(hint, "throughput") == 0;
    if (!many && strcmp(hint, "latency") != 0) {
        complain("--hint wants latency or throughput, got '%s'", hint);
        return false;
    }
    int cores = j->machine->threads;
    if (!has(j->a, "--threads")) l->threads[0] = many ? 1 : cores;
    if (!has(j->a, "--streams")) c->streams = many ? cores : 1;
    if (!has(j->a, "--batch")) {
        l->batch[0] = many ? 8 : 1;
        c->batch_if_free = true;
    }
    note("--hint %s sets --threads %lld --streams %lld --batch %lld%s", hint,
         (long long)l->threads[0], (long long)c->streams, (long long)l->batch[0],
         c->batch_if_free ? ", the last unless the model fixes it" : "");
    return true;
}

/* Options that do not go together. */
static bool check_pairs(const args *a) {
    static const char *const pairs[][2] = {
        {"--runs", "--seconds"},
        {"--json", "--csv"},
        {"--data", "--fill"},
        {"--data", "--dim"},
        {"--batch-search", "--batch"},
        {"--threads-search", "--threads"},
        {"--batch-search", "--threads-search"},
        {"--hint", "--batch-search"},
        {"--hint", "--threads-search"},
        {"--threads-search", "--streams"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        if (!has(a, pairs[i][0]) || !has(a, pairs[i][1])) continue;
        complain("%s and %s do not go together", pairs[i][0], pairs[i][1]);
        return false;
    }
    return true;
}

static bool searches(const args *a) {
    return has(a, "--batch-search") || has(a, "--threads-search");
}

/* A search shortens what is not said, and takes one value of every list. */
static bool check_search(const args *a, const lists *l, config *c) {
    if (!searches(a) && !has(a, "--max-latency")) return true;
    if (!searches(a)) {
        complain("--max-latency goes with --batch-search or --threads-search");
        return false;
    }
    if (l->n_batch * l->n_threads * l->n_precision * l->n_isa > 1) {
        complain("a search takes one value of every option, not a list");
        return false;
    }
    if (!has(a, "--warmup")) c->warmup = 2;
    if (!has(a, "--seconds")) c->seconds = 0.5;
    return true;
}

static bool read_options(job *j, config *common) {
    const args *a = j->a;
    lists l = {{-1}, {0}, {NULL}, {NULL}, 1, 1, 1, 1};
    config c = {.streams = 1, .warmup = 10, .seconds = 2};
    if (!check_pairs(a) || !numbers_of(a, "--batch", 1, INT32_MAX, l.batch, &l.n_batch) ||
        !numbers_of(a, "--threads", 1, 1024, l.threads, &l.n_threads) ||
        !words_of(a, "--precision", l.precision, &l.n_precision) ||
        !words_of(a, "--isa", l.isa, &l.n_isa) || !number_of(a, "--streams", 1, 1024, &c.streams) ||
        !number_of(a, "--warmup", 0, 1000000, &c.warmup) ||
        !number_of(a, "--runs", 1, 1000000000, &c.runs) ||
        !real_of(a, "--seconds", 0.001, 86400, &c.seconds) || !take_hint(j, &l, &c) ||
        !check_search(a, &l, &c))
        return false;
    if (has(a, "--batch-search")) l.batch[0] = 2; /* for the check: one that a fixed batch is not */
    if (!searches(a)) c.seconds /= 2;             /* there are two rounds */
    add_configs(j, &l, &c);
    *common = j->configs[0];
    return true;
}

/* ---- the whole ---- */

/* Rounds, each in a process of its own, until two agree: one alone may fall into a bad phase of the
 * machine, or be lucky with its memory. No more than that in all, and not many where a round takes
 * long for other reasons than its runs. */
enum { ROUNDS_TO_SETTLE = 8 };
#define PATIENCE 10 /* times the seconds that were asked for */

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static exit_code measure_one(job *j, int i) {
    const config *c = &j->configs[i];
    result *r = &j->results[i];
    double end = now() + 2 * PATIENCE * c->seconds;
    exit_code code = bench_measure(j, c, r);
    while (code == EXIT_DONE && c->runs == 0 && !j->settled && r->rounds < ROUNDS_TO_SETTLE &&
           now() < end) {
        if (r->rounds > 1) j->total++;
        code = bench_again(j, c, r);
    }
    j->total -= c->runs == 0 && r->rounds == 1; /* of two that were expected */
    if (code == EXIT_DONE && r->rounds > 1 && !j->settled)
        note("others use the cores: %d rounds do not agree, the fastest is shown", r->rounds);
    return code;
}

/* A model that ran in integers, because nothing else was said, may be faster with parts of it in
 * float: one short round with precision auto tells, for the first configuration. */
static exit_code try_auto(job *j) {
    const double much = 1.05;
    const result *own = &j->results[0];
    config c = j->configs[0];
    result found = {.failed = "not measured"};
    if (c.precision != NULL || has(j->a, "--layer-precision") || has(j->a, "--quiet") ||
        strcmp(own->precision, "int8") != 0)
        return EXIT_DONE;
    c.precision = "auto";
    c.seconds /= 2;
    c.may_fail = true;
    exit_code code = bench_try(j, &c, &found);
    if (code != EXIT_DONE) return code;
    if (found.failed[0] == '\0' && found.choices[0] != '\0' && found.ms.min * much < own->ms.min)
        note(
            "warning: parts of this model are faster in float: hone bench %s --precision auto "
            "takes %.3g instead of %.3g ms; hone run takes that option too",
            j->a->argument[0], found.ms.min, own->ms.min);
    return EXIT_DONE;
}

static exit_code measure_all(job *j, const baseline *b) {
    exit_code code = EXIT_DONE;
    int n = j->n;
    j->total = j->configs[0].runs > 0 ? n : 2 * n;
    for (j->n = 0; j->n < n && code == EXIT_DONE; j->n++) {
        code = measure_one(j, j->n);
        if (code == EXIT_DONE && b != NULL) code = baseline_compare(b, j, j->n);
        if (code != EXIT_DONE) break;
        if (has(j->a, "--json")) progress_end(&j->bar);
        bench_json(j, j->n);
    }
    return code == EXIT_DONE ? try_auto(j) : code;
}

static exit_code search_and_compare(job *j, const config *common, const baseline *b) {
    j->n = 0;
    exit_code code = bench_search(j, common);
    if (code == EXIT_DONE) j->seen[0] = j->results[j->chosen].ms;
    if (code == EXIT_DONE && b != NULL) code = baseline_compare(b, j, j->chosen);
    for (int i = 0; i < j->n; i++)
        if (j->results[i].failed[0] == '\0') bench_json(j, i);
    return code;
}

static exit_code measure(job *j, const config *common, const baseline *b) {
    exit_code code = bench_check(j);
    if (code != EXIT_DONE) return code;
    progress_start(&j->bar, "bench", NULL);
    code = searches(j->a) ? search_and_compare(j, common, b) : measure_all(j, b);
    progress_end(&j->bar);
    if (j->n == 0 || has(j->a, "--json")) return code;
    if (has(j->a, "--csv"))
        bench_csv(j);
    else if (searches(j->a))
        bench_tries(j);
    else
        bench_tables(j);
    if (b != NULL && !has(j->a, "--csv")) bench_comparisons(j);
    return code;
}

static exit_code go(job *j) {
    config common;
    baseline *b = NULL;
    exit_code code = read_options(j, &common) ? EXIT_DONE : EXIT_USAGE;
    if (code == EXIT_DONE && has(j->a, "--baseline"))
        code = baseline_read(&b, j, value_of(j->a, "--baseline"));
    catch_interrupt();
    if (code == EXIT_DONE) code = measure(j, &common, b);
    if (code == EXIT_DONE && b != NULL) code = baseline_verdict(j);
    if (code == EXIT_DONE) bench_hint(j);
    baseline_free(b);
    return code;
}

/* One model; what is found goes to *found. */
static exit_code bench_model(const args *a, const hone_machine *machine, json *found) {
    job j = {.a = a, .chosen = -1, .machine = machine, .found = found, .first = found->bytes == 0};
    exit_code code = go(&j);
    free(j.configs);
    free(j.results);
    free(j.comparisons);
    return code;
}

/* All of them, one after another, also where one fails; the first exit code that is not 0. */
static exit_code run(const args *a) {
    hone_machine *machine = NULL;
    hone_error err;
    json found;
    exit_code code = EXIT_DONE;
    if (hone_machine_look(&machine, &err) != HONE_OK) return fail_with(&err);
    results_begin(&found, a);
    for (int i = 0; i < a->n && code != EXIT_USAGE && code != EXIT_INTERRUPTED; i++) {
        args own = args_of(a, i);
        model_path(own.argument[0]); /* standard input is read here, for all children */
        if (i > 0 && !has(a, "--json") && !has(a, "--csv")) line("%s", "");
        exit_code one = bench_model(&own, machine, &found);
        args_deinit(&own);
        if (code == EXIT_DONE) code = one;
    }
    exit_code made = results_end(&found, a);
    hone_machine_destroy(machine);
    return code == EXIT_DONE ? made : code;
}

static const option_def options[] = {
    {"--batch", 'b', "N,...", "samples per run, the size of the first axis: 1,8", false, NULL},
    {"--threads", 't', "N,...",
     "number of threads: 1,2 or 1..4 (default: the cores this process may use)", false, NULL},
    {"--streams", 0, "N", "runs at the same time, in one session (default: 1)", false, NULL},
    {"--precision", 0, "NAME,...",
     "precision to compute in: f32, f32-relaxed, bf16; if quantized also int8, auto", false, NULL},
    OPTION_LAYER_PRECISION,
    {"--isa", 0, "NAME,...", "highest instruction set to use: avx2,avx512", false, NULL},
    {"--warmup", 0, "N", "runs before the measured ones (default: 10)", false, NULL},
    {"--seconds", 0, "S", "how long to measure each configuration (default: 2)", false, NULL},
    {"--runs", 'n', "N", "how many runs to measure, instead of --seconds", false, "--iterations"},
    {"--hint", 0, "FOR", "set threads, streams and batch for latency or for throughput", false,
     NULL},
    {"--batch-search", 0, NULL, "find the batch with the most samples per second", false, NULL},
    {"--threads-search", 0, NULL, "find the number of threads with the fastest runs", false, NULL},
    {"--max-latency", 0, "MS", "the longest a run may take: the median, in a search", false, NULL},
    {"--baseline", 0, "<FILE", "compare with an earlier --json; exit with 1 if it got slower",
     false, NULL},
    {"--data", 'd', "SPEC", "samples to use: KIND:PATH[,key=value...] (default: made-up inputs)",
     false, NULL},
    OPTION_RESERVE,
    OPTION_TUNE,
    OPTION_TUNE_CACHE,
    OPTION_EXEC,
    OPTION_KERNEL,
    OPTION_WITHOUT,
    OPTION_FILL,
    OPTION_DIM,
    OPTION_SEED,
    OPTION_BACKEND,
    OPTION_MAX_MEMORY,
    OPTION_TIME_LIMIT,
    OPTION_NO_SHARING,
    OPTION_NO_MMAP,
    {"--on", 0, "ssh:HOST",
     "run this on another machine, with copies of what it reads; on several: the slowest is named",
     true, NULL},
    OPTION_PROGRAM,
    {"--json", 0, NULL, "print JSON instead of text, an object per configuration", false, NULL},
    {"--csv", 0, NULL, "print CSV instead of text, a line per configuration", false, NULL},
    OPTION_REPORT,
    OPTION_QUIET,
    OPTION_VERBOSE,
    {0},
};

const verb verb_bench = {
    .name = "bench",
    .usage = "MODEL...",
    .n_arguments = 1,
    .most_arguments = MOST_ARGUMENTS,
    .summary = "how long a run takes: latency, throughput, start-up, memory",
    .options = options,
    .run = run,
};

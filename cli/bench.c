/* hone bench: each configuration in a child process of its own, which tells the program how far it
 * is and, at the end, what it found. So peak memory is that of one configuration, and one that
 * crashes or is killed is reported like any other failure. */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"

enum { LEAST_RUNS = 3 }; /* however long they take */

typedef struct config {
    int64_t batch; /* -1: not given */
    int64_t threads, streams, warmup, iterations;
    double seconds;              /* where iterations is 0 */
    const char *precision, *isa; /* NULL: the model's own, the machine's */
} config;

typedef struct latency {
    double mean, std, min, max, p50, p90, p95, p99, p99_9; /* ms */
} latency;

typedef struct result {
    int64_t batch, iterations;
    int threads;
    char isa[32], precision[16];
    latency ms;
    double throughput, load_ms, compile_ms, first_run_ms;
    hone_memory_use memory;
    hone_tuning tuning;
    hone_difference difference; /* from f32 */
    char choices[2048];         /* of precision auto, a line each, as far as they fit */
    int64_t peak_rss;
} result;

/* What a child writes to the pipe. */
typedef struct news {
    double share; /* of its work that is done; over 1: `found` holds what was found */
    result found;
} news;

typedef struct job {
    const args *a;
    int n;
    config *configs;
    result *results;
    json found; /* what was measured so far */
    int at;     /* the configuration that runs */
    progress bar;
} job;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- the child: one configuration ---- */

typedef struct bench bench;

/* Runs one after another, in a thread of their own. */
typedef struct stream {
    bench *b;
    pthread_t thread;
    feed *feed;
    hone_value *out;
    size_t n, cap;
    double *ms;
    hone_status status;
    hone_error err;
} stream;

struct bench {
    const config *c;
    hone_model *model;
    hone_session *session;
    feed feed;
    stream *streams;
    pthread_barrier_t together;
    atomic_llong begun; /* runs that count */
    double begin;       /* of the first of them */
    int to;             /* the pipe */
    double told;
    result found;
};

static void tell(bench *b, double share) {
    double t = now();
    if (share <= 1 && t - b->told < 0.1) return;
    b->told = t;
    news n = {.share = share, .found = b->found};
    if (write(b->to, &n, sizeof n) != (ssize_t)sizeof n) _exit(EXIT_RESOURCE);
}

static hone_status run_once(stream *s, double *ms) {
    double begun = now();
    hone_status status = hone_session_run(s->b->session, s->feed->n_in, s->feed->in, s->feed->n_out,
                                          s->out, &s->err);
    *ms = (now() - begun) * 1e3;
    return status;
}

static void keep(stream *s, double ms) {
    if (s->n == s->cap) {
        s->cap = s->cap * 2 + 1024;
        s->ms = must(realloc(s->ms, s->cap * sizeof *s->ms));
    }
    s->ms[s->n++] = ms;
}

/* Whether one more run is wanted; counts it. */
static bool one_more(bench *b) {
    int64_t n = atomic_fetch_add(&b->begun, 1);
    if (b->c->iterations > 0) return n < b->c->iterations;
    return n < LEAST_RUNS || now() - b->begin < b->c->seconds;
}

static double share_done(const bench *b) {
    double runs = b->c->iterations > 0
                      ? (double)atomic_load(&b->begun) / (double)(b->c->iterations + 1)
                      : (now() - b->begin) / b->c->seconds;
    return fmin(runs, 1);
}

static void *stream_runs(void *ctx) {
    stream *s = ctx;
    bench *b = s->b;
    bool first = s == b->streams;
    double ms;
    for (int64_t i = 0; i < b->c->warmup && s->status == HONE_OK; i++) s->status = run_once(s, &ms);
    pthread_barrier_wait(&b->together);
    if (first) {
        /* Before the list of latencies grows. */
        struct rusage use;
        getrusage(RUSAGE_SELF, &use);
        b->found.peak_rss = (int64_t)use.ru_maxrss * 1024;
        b->begin = now();
    }
    pthread_barrier_wait(&b->together);
    while (s->status == HONE_OK && one_more(b)) {
        s->status = run_once(s, &ms);
        keep(s, ms);
        if (first) tell(b, share_done(b));
    }
    return NULL;
}

/* All streams until the last run has ended. */
static hone_status run_streams(bench *b, double *seconds, hone_error *err) {
    int n = (int)b->c->streams;
    b->streams = must(calloc((size_t)n, sizeof *b->streams));
    pthread_barrier_init(&b->together, NULL, (unsigned)n);
    for (int i = 0; i < n; i++) {
        stream *s = &b->streams[i];
        *s = (stream){.b = b, .feed = &b->feed};
        s->out = must(calloc(b->feed.n_out + 1, sizeof *s->out));
        for (size_t k = 0; k < b->feed.n_out; k++) s->out[k].name = b->feed.out[k].name;
        if (i > 0 && pthread_create(&s->thread, NULL, stream_runs, s) != 0) {
            complain("stream %d cannot be started", i + 1);
            exit(EXIT_RESOURCE);
        }
    }
    stream_runs(&b->streams[0]);
    for (int i = 1; i < n; i++) pthread_join(b->streams[i].thread, NULL);
    *seconds = now() - b->begin;
    for (int i = 0; i < n; i++) {
        if (b->streams[i].status == HONE_OK) continue;
        *err = b->streams[i].err;
        return err->status;
    }
    return HONE_OK;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Of sorted values, straight between the two it falls between. */
static double percentile(const double *v, size_t n, double p) {
    double at = p / 100 * (double)(n - 1);
    size_t i = (size_t)at;
    return i + 1 < n ? v[i] + (at - (double)i) * (v[i + 1] - v[i]) : v[n - 1];
}

static latency summary(double *v, size_t n) {
    double sum = 0, squares = 0;
    qsort(v, n, sizeof *v, by_value);
    for (size_t i = 0; i < n; i++) sum += v[i];
    for (size_t i = 0; i < n; i++) squares += (v[i] - sum / (double)n) * (v[i] - sum / (double)n);
    return (latency){.mean = sum / (double)n,
                     .std = n > 1 ? sqrt(squares / (double)(n - 1)) : 0,
                     .min = v[0],
                     .max = v[n - 1],
                     .p50 = percentile(v, n, 50),
                     .p90 = percentile(v, n, 90),
                     .p95 = percentile(v, n, 95),
                     .p99 = percentile(v, n, 99),
                     .p99_9 = percentile(v, n, 99.9)};
}

static void sum_up(bench *b, double seconds) {
    size_t n = 0, at = 0;
    for (int i = 0; i < b->c->streams; i++) n += b->streams[i].n;
    double *all = must(calloc(n, sizeof *all));
    for (int i = 0; i < b->c->streams; i++) {
        if (b->streams[i].n > 0) memcpy(all + at, b->streams[i].ms, b->streams[i].n * sizeof *all);
        at += b->streams[i].n;
    }
    result *r = &b->found;
    r->iterations = (int64_t)n;
    r->throughput = (double)n * (double)r->batch / seconds;
    r->ms = summary(all, n);
    r->memory = hone_session_memory(b->session);
    snprintf(r->precision, sizeof r->precision, "%s", hone_session_precision(b->session));
    r->tuning = hone_session_tuning(b->session);
    r->threads = hone_session_threads(b->session);
    snprintf(r->isa, sizeof r->isa, "%s", hone_session_isa(b->session));
    const char *text;
    for (size_t i = 0, used = 0; (text = hone_session_choice(b->session, i)) != NULL; i++) {
        size_t room = sizeof r->choices - used;
        if (strlen(text) + 2 > room) break;
        used += (size_t)snprintf(r->choices + used, room, "%s\n", text);
    }
    free(all);
}

/* -b: the first axis of every input where it is symbolic; where none is, what it is fixed at. */
static exit_code set_batch(const args *a, feed *f, int64_t batch) {
    const hone_value_info *fixed = NULL;
    bool set = false;
    for (size_t i = 0; i < f->n_in; i++) {
        const hone_value_info *info = &f->info[i];
        if (info->rank < 1) continue;
        if (info->dim_names[0] == NULL) {
            if (fixed == NULL || fixed->dims[0] == batch) fixed = info;
            continue;
        }
        set = true;
        if (feed_size(f, info->dim_names[0], batch)) continue;
        complain("--batch %lld contradicts --dim %s", (long long)batch, info->dim_names[0]);
        return EXIT_USAGE;
    }
    if (set || (fixed != NULL && fixed->dims[0] == batch)) return EXIT_DONE;
    if (fixed == NULL)
        complain("--batch %lld: no input of the model has an axis for it", (long long)batch);
    else
        complain(
            "--batch %lld: input '%s' has a fixed batch of %lld; hone simplify %s -o FREE.onnx "
            "--set-dim %s:0=batch frees it",
            (long long)batch, fixed->name, (long long)fixed->dims[0], a->argument[0], fixed->name);
    return EXIT_USAGE;
}

static exit_code open_feed(bench *b, const args *a, uint64_t seed) {
    int fill = HONE_FILL_RANDOM;
    exit_code code = feed_init(&b->feed, a, b->model);
    if (code == EXIT_DONE && b->c->batch >= 0) code = set_batch(a, &b->feed, b->c->batch);
    if (code == EXIT_DONE && !fill_of(a, &fill)) code = EXIT_USAGE;
    if (code == EXIT_DONE) code = feed_fill(&b->feed, fill, seed);
    b->found.batch = b->feed.n_in > 0 && b->feed.in[0].rank > 0 ? b->feed.in[0].dims[0] : 1;
    return code;
}

/* The program's own thread is the first of the session's: it gets the first core, which the session
 * leaves to it. */
static void stay_on_first_core(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return;
    for (int i = 0; i < CPU_SETSIZE; i++) {
        if (!CPU_ISSET(i, &set)) continue;
        CPU_ZERO(&set);
        CPU_SET(i, &set);
        sched_setaffinity(0, sizeof set, &set);
        return;
    }
}

static exit_code measure(const args *a, const config *c, int to) {
    bench b = {.c = c, .to = to};
    hone_error err;
    hone_session_options o;
    if (!session_options(a, &o)) return EXIT_USAGE;
    signal(SIGINT, SIG_IGN); /* the program ends its children itself */
    o.threads = (int)c->threads;
    o.isa = c->isa;
    o.precision = c->precision;
    o.pin_threads = c->streams == 1;
    double t0 = now();
    if (load_model(a, &b.model, &err) != HONE_OK) return fail_with(&err);
    double t1 = now();
    exit_code code = open_session(a, b.model, &o, &b.session);
    if (code != EXIT_DONE) return code;
    double created = now() - t1;
    code = open_feed(&b, a, o.seed);
    if (code != EXIT_DONE) return code;
    if (o.pin_threads) stay_on_first_core();
    feed *f = &b.feed;
    double t2 = now();
    if (hone_session_prepare(b.session, f->n_in, f->in, &err) != HONE_OK) return fail_with(&err);
    double t3 = now(), seconds;
    if (hone_session_run(b.session, f->n_in, f->in, f->n_out, f->out, &err) != HONE_OK)
        return fail_with(&err);
    b.found.load_ms = (t1 - t0) * 1e3;
    b.found.compile_ms = (created + t3 - t2) * 1e3;
    b.found.first_run_ms = (now() - t3) * 1e3;
    hone_value_release(f->out, f->n_out);
    if (run_streams(&b, &seconds, &err) != HONE_OK) return fail_with(&err);
    sum_up(&b, seconds);
    if (compare_with_f32(b.model, &o, f, b.streams[0].out, &b.found.difference, &err) != HONE_OK)
        return fail_with(&err);
    tell(&b, 2);
    return EXIT_DONE; /* what is left goes with the process */
}

/* ---- another child: whether all of it can be run ---- */

static exit_code check_layers(const args *a, hone_model *m, const config *c) {
    hone_session_options o;
    hone_session *s;
    if (!session_options(a, &o)) return EXIT_USAGE;
    o.precision = c->precision;
    exit_code code = open_session(a, m, &o, &s);
    if (code == EXIT_DONE) hone_session_destroy(s);
    return code;
}

/* Says what is wrong with any configuration before the first one is measured, and what is taken for
 * symbolic axes. */
static exit_code check_all(const job *j) {
    hone_error err;
    bench b = {0};
    exit_code code = EXIT_DONE;
    int fill = HONE_FILL_RANDOM;
    if (!fill_of(j->a, &fill)) return EXIT_USAGE;
    if (load_model(j->a, &b.model, &err) != HONE_OK) return fail_with(&err);
    code = feed_init(&b.feed, j->a, b.model);
    size_t given = b.feed.n_dims;
    for (int i = j->n; i-- > 0 && code == EXIT_DONE;) {
        b.feed.n_dims = given;
        code = check_precision(j->a, b.model, j->configs[i].precision);
        if (code == EXIT_DONE && has(j->a, "--layer-precision"))
            code = check_layers(j->a, b.model, &j->configs[i]);
        if (code == EXIT_DONE && j->configs[i].batch >= 0)
            code = set_batch(j->a, &b.feed, j->configs[i].batch);
    }
    return code == EXIT_DONE ? feed_fill(&b.feed, fill, 1) : code;
}

/* ---- the program: one child after another ---- */

/* Runs the configuration `at`, or where that is -1 the check, and what it found. */
static exit_code run_child(job *j, int at, result *found) {
    int ends[2], state;
    if (pipe(ends) != 0) {
        complain("pipe: %s", strerror(errno));
        return EXIT_RESOURCE;
    }
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        if (at >= 0) hush_notes();
        _exit(at < 0 ? check_all(j) : measure(j->a, &j->configs[at], ends[1]));
    }
    close(ends[1]);
    if (child < 0) {
        complain("fork: %s", strerror(errno));
        close(ends[0]);
        return EXIT_RESOURCE;
    }
    news n;
    for (ssize_t got; (got = read(ends[0], &n, sizeof n)) != 0;) {
        if (got == (ssize_t)sizeof n && n.share > 1) *found = n.found;
        int64_t done = (int64_t)(1000 * (at + fmin(n.share, 1)));
        if (!progress_step(&j->bar, got > 0 ? done : 0, 1000 * (int64_t)j->n)) kill(child, SIGTERM);
        if (got < 0 && errno != EINTR) break;
    }
    close(ends[0]);
    while (waitpid(child, &state, 0) < 0 && errno == EINTR) kill(child, SIGTERM);
    if (!not_interrupted(NULL)) {
        progress_end(&j->bar);
        complain("interrupted");
        return EXIT_INTERRUPTED;
    }
    if (WIFEXITED(state)) return (exit_code)WEXITSTATUS(state);
    progress_end(&j->bar);
    complain("the run was ended by the signal %s", strsignal(WTERMSIG(state)));
    return EXIT_RESOURCE;
}

static void write_result(job *j, const config *c, const result *r) {
    json *js = &j->found;
    results_object(js, j->a);
    json_text(js, "model", j->a->argument[0]);
    json_int(js, "batch", r->batch);
    json_int(js, "threads", r->threads);
    json_int(js, "streams", c->streams);
    json_text(js, "precision", r->precision);
    json_number(js, "difference_mean", r->difference.mean);
    json_number(js, "difference_max", r->difference.max);
    json_text(js, "isa", r->isa);
    json_text(js, "device", "cpu");
    json_int(js, "iterations", r->iterations);
    json_begin(js, "latency_ms", '{');
    json_number(js, "mean", r->ms.mean);
    json_number(js, "std", r->ms.std);
    json_number(js, "min", r->ms.min);
    json_number(js, "max", r->ms.max);
    json_number(js, "p50", r->ms.p50);
    json_number(js, "p90", r->ms.p90);
    json_number(js, "p95", r->ms.p95);
    json_number(js, "p99", r->ms.p99);
    json_number(js, "p99_9", r->ms.p99_9);
    json_end(js, '}');
    json_number(js, "throughput", r->throughput);
    json_number(js, "load_ms", r->load_ms);
    json_number(js, "compile_ms", r->compile_ms);
    json_number(js, "tune_ms", r->tuning.ms);
    json_number(js, "first_run_ms", r->first_run_ms);
    json_int(js, "weights_bytes", (int64_t)r->memory.weights_bytes);
    json_int(js, "arena_bytes", (int64_t)r->memory.arena_bytes);
    json_int(js, "scratch_bytes", (int64_t)r->memory.scratch_bytes);
    json_int(js, "planned_bytes", (int64_t)r->memory.planned_bytes);
    json_bound(js, &r->memory);
    json_int(js, "peak_rss_bytes", r->peak_rss);
    json_end(js, '}');
}

static void print_table(const job *j, int n) {
    static const char *const heads[] = {"batch",       "threads", "precision", "isa",   "runs",
                                        "mean ms",     "p50",     "p90",       "p99",   "min",
                                        "items/s",     "load ms", "compile",   "first", "weights",
                                        "activations", "peak RSS"};
    table *t = table_new(heads, "rrllrrrrrrrrrrrrr");
    for (int i = 0; i < n; i++) {
        const result *r = &j->results[i];
        char weights[32], arena[32], peak[32];
        table_cell(t, "%lld", (long long)r->batch);
        table_cell(t, "%d", r->threads);
        table_cell(t, "%s", r->precision);
        table_cell(t, "%s", r->isa);
        table_cell(t, "%lld", (long long)r->iterations);
        table_cell(t, "%.3f", r->ms.mean);
        table_cell(t, "%.3f", r->ms.p50);
        table_cell(t, "%.3f", r->ms.p90);
        table_cell(t, "%.3f", r->ms.p99);
        table_cell(t, "%.3f", r->ms.min);
        table_cell(t, "%.1f", r->throughput);
        table_cell(t, "%.1f", r->load_ms);
        table_cell(t, "%.1f", r->compile_ms);
        table_cell(t, "%.1f", r->first_run_ms);
        table_cell(t, "%s", human_bytes((int64_t)r->memory.weights_bytes, weights));
        table_cell(t, "%s", human_bytes((int64_t)r->memory.arena_bytes, arena));
        table_cell(t, "%s", human_bytes(r->peak_rss, peak));
    }
    table_print(t);
}

/* ---- the whole ---- */

typedef struct lists {
    int64_t batch[MOST_VALUES], threads[MOST_VALUES];
    const char *precision[MOST_VALUES], *isa[MOST_VALUES];
    int n_batch, n_threads, n_precision, n_isa;
} lists;

/* Every batch with every number of threads, precision and instruction set. */
static void make_configs(job *j, const lists *l, const config *common) {
    j->n = l->n_batch * l->n_threads * l->n_precision * l->n_isa;
    j->configs = must(calloc((size_t)j->n, sizeof *j->configs));
    j->results = must(calloc((size_t)j->n, sizeof *j->results));
    config *c = j->configs;
    for (int b = 0; b < l->n_batch; b++)
        for (int t = 0; t < l->n_threads; t++)
            for (int p = 0; p < l->n_precision; p++)
                for (int i = 0; i < l->n_isa; i++, c++) {
                    *c = *common;
                    c->batch = l->batch[b];
                    c->threads = l->threads[t];
                    c->precision = l->precision[p];
                    c->isa = l->isa[i];
                }
}

static bool read_options(job *j) {
    const args *a = j->a;
    lists l = {{-1}, {0}, {NULL}, {NULL}, 1, 1, 1, 1};
    config c = {.streams = 1, .warmup = 10, .seconds = 2};
    if (!numbers_of(a, "--batch", 1, INT32_MAX, l.batch, &l.n_batch) ||
        !numbers_of(a, "--threads", 1, 1024, l.threads, &l.n_threads) ||
        !words_of(a, "--precision", l.precision, &l.n_precision) ||
        !words_of(a, "--isa", l.isa, &l.n_isa) || !number_of(a, "--streams", 1, 1024, &c.streams) ||
        !number_of(a, "--warmup", 0, 1000000, &c.warmup) ||
        !number_of(a, "--iterations", 1, 1000000000, &c.iterations) ||
        !real_of(a, "--seconds", 0.001, 86400, &c.seconds))
        return false;
    if (has(a, "--iterations") && has(a, "--seconds")) {
        complain("--iterations and --seconds are two ways to say how long; one is enough");
        return false;
    }
    make_configs(j, &l, &c);
    return true;
}

static exit_code go(job *j) {
    int done = 0;
    if (!read_options(j)) return EXIT_USAGE;
    catch_interrupt();
    exit_code code = run_child(j, -1, NULL);
    progress_start(&j->bar, "bench", NULL);
    for (; done < j->n && code == EXIT_DONE; done++) {
        code = run_child(j, done, &j->results[done]);
        if (code != EXIT_DONE) break;
        note_tuning(j->results[done].tuning);
        note_difference(&j->results[done].difference);
        char *rest = NULL, *text = strtok_r(j->results[done].choices, "\n", &rest);
        for (; text != NULL; text = strtok_r(NULL, "\n", &rest)) note("auto: %s", text);
        if (has(j->a, "--json")) progress_end(&j->bar);
        write_result(j, &j->configs[done], &j->results[done]);
    }
    progress_end(&j->bar);
    if (done > 0 && !has(j->a, "--json")) print_table(j, done);
    return code;
}

static exit_code run(const args *a) {
    job j = {.a = a};
    results_begin(&j.found, a);
    exit_code code = go(&j), made = results_end(&j.found, a);
    free(j.configs);
    free(j.results);
    return code == EXIT_DONE ? made : code;
}

static const option_def options[] = {
    {"--batch", 'b', "LIST", "sizes of the first axis: 1,8", false},
    {"--threads", 't', "LIST", "threads: 1,2 or 1..4 (default: the cores this process may use)",
     false},
    {"--streams", 0, "N", "runs at the same time, of one session (default: 1)", false},
    {"--precision", 0, "LIST",
     "f32, f32-relaxed, bf16, int8, auto (default: int8 of quantized models, else f32)", false},
    OPTION_LAYER_PRECISION,
    {"--isa", 0, "LIST", "use no more than these instruction sets: avx2,avx512", false},
    {"--warmup", 0, "N", "runs before those that count (default: 10)", false},
    {"--seconds", 0, "S", "how long to measure each configuration (default: 2)", false},
    {"--iterations", 'n', "N", "runs to measure instead", false},
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
    OPTION_NO_SHARING,
    OPTION_NO_MMAP,
    {"--json", 0, NULL, "print one JSON object per configuration, a line each", false},
    OPTION_QUIET,
    OPTION_VERBOSE,
    {0},
};

const verb verb_bench = {
    .name = "bench",
    .usage = "MODEL",
    .n_arguments = 1,
    .most_arguments = 1,
    .summary = "how long a run takes: latency, throughput, start-up, memory",
    .options = options,
    .run = run,
};

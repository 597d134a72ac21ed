/* One configuration, measured in a child process, which tells the program how far it is and, at the
 * end, what it found. So peak memory is that of one configuration, and one that crashes or is
 * killed is reported like any other failure. */
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

#include "bench.h"

enum {
    LEAST_RUNS = 3,  /* however long they take */
    MOST_BATCHES = 8 /* of data, gone through in turn: as many shapes as a session keeps plans of */
};
#define PACE_SECONDS 0.01 /* between two looks at the machine's pace, each of 16 us */

/* What a child writes to the pipe. */
typedef struct news {
    double share; /* of its work that is done; over 1: `found` holds what was found */
    result found;
} news;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- the child ---- */

typedef struct bench bench;

typedef struct sample {
    double end, ms, pace;
} sample;

/* Runs one after another, in a thread of their own. */
typedef struct stream {
    bench *b;
    pthread_t thread;
    hone_value *out; /* of each of the batches of data */
    int64_t turn;    /* runs so far: which of them is next */
    double pace, best_pace, looked;
    size_t n, cap;
    sample *samples;
    hone_status status;
    hone_error err;
} stream;

struct bench {
    const config *c;
    hone_model *model;
    hone_session *session;
    feed feed;
    int n_batches; /* of data; at least 1 */
    hone_value *batches[MOST_BATCHES];
    stream *streams;
    pthread_barrier_t together;
    atomic_llong begun; /* runs that count */
    double begin;       /* of the first of them */
    hone_energy energy; /* then */
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

/* Says what went wrong, or leaves that to the program. */
static exit_code give_up(bench *b, const hone_error *err) {
    bool memory = err->status == HONE_E_NOMEM || err->status == HONE_E_LIMIT;
    if (!b->c->may_fail || !memory) return fail_with(err);
    snprintf(b->found.failed, sizeof b->found.failed, "%.*s", (int)sizeof b->found.failed - 1,
             err->text);
    tell(b, 2);
    return EXIT_DONE;
}

static hone_status run_once(stream *s, double *ms) {
    bench *b = s->b;
    size_t k = (size_t)(s->turn++ % b->n_batches), n_out = b->feed.n_out;
    hone_value *out = s->out + k * n_out;
    double begun = now();
    hone_status status =
        hone_session_run(b->session, b->feed.n_in, b->batches[k], n_out, out, &s->err);
    *ms = (now() - begun) * 1e3;
    return status;
}

static void keep(stream *s, double ms) {
    if (s->n == s->cap) {
        s->cap = s->cap * 2 + 1024;
        s->samples = must(realloc(s->samples, s->cap * sizeof *s->samples));
    }
    s->samples[s->n++] = (sample){now(), ms, s->pace};
}

/* Whether one more run is wanted; counts it. */
static bool one_more(bench *b) {
    int64_t n = atomic_fetch_add(&b->begun, 1);
    if (b->c->runs > 0) return n < b->c->runs;
    return n < LEAST_RUNS || now() - b->begin < b->c->seconds;
}

static double share_done(const bench *b) {
    double runs = b->c->runs > 0 ? (double)atomic_load(&b->begun) / (double)(b->c->runs + 1)
                                 : (now() - b->begin) / b->c->seconds;
    return fmin(runs, 1);
}

static void look_at_pace(stream *s) {
    if (now() - s->looked < PACE_SECONDS) return;
    s->pace = hone_pace(&s->best_pace);
    s->looked = now();
}

static void *stream_runs(void *ctx) {
    stream *s = ctx;
    bench *b = s->b;
    bool first = s == b->streams;
    double ms;
    int64_t warmup = b->c->warmup;
    if (b->n_batches > 1 && warmup < b->n_batches) warmup = b->n_batches;
    for (int64_t i = 0; i < warmup && s->status == HONE_OK; i++) s->status = run_once(s, &ms);
    pthread_barrier_wait(&b->together);
    if (first) {
        /* Before the list of latencies grows. */
        struct rusage use;
        getrusage(RUSAGE_SELF, &use);
        b->found.peak_rss = (int64_t)use.ru_maxrss * 1024;
        hone_energy_read(&b->energy);
        b->begin = now();
    }
    pthread_barrier_wait(&b->together);
    while (s->status == HONE_OK && one_more(b)) {
        look_at_pace(s);
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
        *s = (stream){.b = b, .turn = i};
        size_t n_out = b->feed.n_out, all = n_out * (size_t)b->n_batches;
        s->out = must(calloc(all + 1, sizeof *s->out));
        for (size_t k = 0; k < all; k++) s->out[k].name = b->feed.out[k % n_out].name;
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

static int by_end(const void *a, const void *b) {
    double x = ((const sample *)a)->end, y = ((const sample *)b)->end;
    return x < y ? -1 : x > y;
}

/* Statistics of the runs of all streams, in the order they ended. */
static hone_status sum_up_runs(bench *b, double seconds, hone_error *err) {
    size_t n = 0, at = 0;
    double best = 0;
    for (int i = 0; i < b->c->streams; i++) n += b->streams[i].n;
    sample *all = must(calloc(n, sizeof *all));
    double *ms = must(calloc(2 * n, sizeof *ms)), *pace = ms + n;
    for (int i = 0; i < b->c->streams; i++) {
        const stream *s = &b->streams[i];
        if (s->n > 0) memcpy(all + at, s->samples, s->n * sizeof *all);
        at += s->n;
        best = fmax(best, s->best_pace);
    }
    qsort(all, n, sizeof *all, by_end);
    for (size_t i = 0; i < n; i++) {
        ms[i] = all[i].ms;
        pace[i] = all[i].pace;
    }
    hone_energy energy;
    hone_energy_read(&energy);
    double items = (double)n * (double)b->found.batch;
    b->found.energy_mj = 1e3 * hone_energy_between(&b->energy, &energy) / items;
    b->found.throughput = items / seconds;
    hone_status status = hone_timing_of(&b->found.ms, ms, pace, best, n, err);
    free(all);
    free(ms);
    return status;
}

static void sum_up_precision(hone_session *s, const char *asked, result *r) {
    const char *why = hone_session_why_precision(s);
    snprintf(r->precision, sizeof r->precision, "%s", hone_session_precision(s));
    snprintf(r->why_precision, sizeof r->why_precision, "%s", why != NULL ? why : "");
    snprintf(r->precision_shown, sizeof r->precision_shown, "%s%s%.15s%s", r->precision,
             why != NULL ? " (not " : "", why != NULL ? asked : "", why != NULL ? ")" : "");
}

static void sum_up_session(const hone_session *s, result *r) {
    r->memory = hone_session_memory(s);
    r->tuning = hone_session_tuning(s);
    r->threads = hone_session_threads(s);
    snprintf(r->isa, sizeof r->isa, "%s", hone_session_isa(s));
    const char *text;
    for (size_t i = 0, used = 0; (text = hone_session_choice(s, i)) != NULL; i++) {
        size_t room = sizeof r->choices - used;
        if (strlen(text) + 2 > room) break;
        used += (size_t)snprintf(r->choices + used, room, "%s\n", text);
    }
}

/* ---- what it runs on ---- */

/* -b: the first axis of every input where it is symbolic; where none is, what it is fixed at. */
static exit_code set_batch(const args *a, feed *f, const config *c) {
    const hone_value_info *fixed = NULL;
    bool set = false;
    for (size_t i = 0; i < f->n_in; i++) {
        const hone_value_info *info = &f->info[i];
        if (info->rank < 1) continue;
        if (info->dim_names[0] == NULL) {
            if (fixed == NULL || fixed->dims[0] == c->batch) fixed = info;
            continue;
        }
        set = true;
        if (feed_size(f, info->dim_names[0], c->batch) || c->batch_if_free) continue;
        complain("--batch %lld contradicts --dim %s", (long long)c->batch, info->dim_names[0]);
        return EXIT_USAGE;
    }
    if (set || c->batch_if_free || (fixed != NULL && fixed->dims[0] == c->batch)) return EXIT_DONE;
    if (fixed == NULL)
        complain("--batch %lld: no input of the model has an axis for it", (long long)c->batch);
    else
        complain(
            "--batch %lld: input '%s' has a fixed batch of %lld; hone simplify %s -o FREE.onnx "
            "--set-dim %s:0=batch frees it",
            (long long)c->batch, fixed->name, (long long)fixed->dims[0], a->argument[0],
            fixed->name);
    return EXIT_USAGE;
}

/* Samples a run takes: what was asked for, or what the model fixes, or 1. */
static int64_t samples_per_run(const bench *b) {
    const hone_value_info *info = b->feed.info;
    bool fixed = b->feed.n_in > 0 && info->rank > 0 && info->dim_names[0] == NULL;
    if (fixed) return info->dims[0];
    return b->c->batch >= 0 ? b->c->batch : 1;
}

/* --data: as many batches of it as a session keeps plans of, the first of them as the feed. */
static exit_code open_data(bench *b, const char *spec) {
    hone_dataset *d = NULL;
    hone_error err;
    exit_code code = EXIT_DONE;
    if (hone_dataset_open(&d, spec, &err) != HONE_OK) return fail_with(&err);
    int64_t n = samples_per_run(b), count = hone_dataset_count(d);
    if (count < n) {
        complain("%s has %lld samples, a run takes %lld", spec, (long long)count, (long long)n);
        code = EXIT_INPUT;
    }
    for (b->n_batches = 0; code == EXIT_DONE && b->n_batches < MOST_BATCHES; b->n_batches++) {
        if ((b->n_batches + 1) * n > count) break;
        hone_value *in = must(calloc(b->feed.n_in + 1, sizeof *in));
        if (hone_dataset_read(d, b->model, b->n_batches * n, n, in, &err) != HONE_OK)
            code = fail_with(&err);
        b->batches[b->n_batches] = in;
    }
    hone_dataset_destroy(d);
    if (code == EXIT_DONE) memcpy(b->feed.in, b->batches[0], b->feed.n_in * sizeof *b->feed.in);
    return code;
}

static exit_code open_inputs(bench *b, const args *a, uint64_t seed) {
    int fill = HONE_FILL_RANDOM;
    const char *spec = value_of(a, "--data");
    if (!fill_of(a, &fill)) return EXIT_USAGE;
    exit_code code = spec != NULL ? open_data(b, spec) : feed_fill(&b->feed, fill, seed, 0);
    if (code != EXIT_DONE) return code;
    feed *f = &b->feed;
    if (spec == NULL) {
        b->n_batches = 1;
        b->batches[0] = f->in;
    }
    b->found.batch = f->n_in > 0 && f->in[0].rank > 0 ? f->in[0].dims[0] : 1;
    return EXIT_DONE;
}

/* ---- measuring ---- */

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

static exit_code measure_session(bench *b, const args *a, const hone_session_options *o) {
    hone_error err;
    double t1 = now();
    exit_code code = open_session(a, b->model, o, &b->session);
    if (code != EXIT_DONE) return code;
    double created = now() - t1;
    code = feed_init(&b->feed, a, b->model);
    if (code == EXIT_DONE && b->c->batch >= 0) code = set_batch(a, &b->feed, b->c);
    if (code == EXIT_DONE) code = open_inputs(b, a, o->seed);
    if (code != EXIT_DONE) return code;
    if (o->pin_threads) stay_on_first_core();
    feed *f = &b->feed;
    double t2 = now();
    if (hone_session_prepare(b->session, f->n_in, f->in, &err) != HONE_OK) return give_up(b, &err);
    double t3 = now(), seconds;
    if (hone_session_run(b->session, f->n_in, f->in, f->n_out, f->out, &err) != HONE_OK)
        return give_up(b, &err);
    b->found.compile_ms = (created + t3 - t2) * 1e3;
    b->found.first_run_ms = (now() - t3) * 1e3;
    hone_value_release(f->out, f->n_out);
    if (run_streams(b, &seconds, &err) != HONE_OK || sum_up_runs(b, seconds, &err) != HONE_OK)
        return give_up(b, &err);
    sum_up_session(b->session, &b->found);
    sum_up_precision(b->session, o->precision, &b->found);
    if (compare_with_f32(b->model, o, f, b->streams[0].out, &b->found.difference, &err) != HONE_OK)
        return give_up(b, &err);
    tell(b, 2);
    return EXIT_DONE; /* what is left goes with the process */
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
    if (o.max_memory == 0) o.max_memory = c->max_memory;
    double t0 = now();
    if (load_model(a, &b.model, &err) != HONE_OK) return fail_with(&err);
    b.found.load_ms = (now() - t0) * 1e3;
    return measure_session(&b, a, &o);
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

static exit_code check_all(const job *j) {
    hone_error err;
    bench b = {0};
    exit_code code = EXIT_DONE;
    if (load_model(j->a, &b.model, &err) != HONE_OK) return fail_with(&err);
    code = feed_init(&b.feed, j->a, b.model);
    size_t given = b.feed.n_dims;
    for (int i = j->n; i-- > 0 && code == EXIT_DONE;) {
        b.c = &j->configs[i];
        b.feed.n_dims = given;
        code = check_precision(j->a, b.model, b.c->precision);
        if (code == EXIT_DONE && has(j->a, "--layer-precision"))
            code = check_layers(j->a, b.model, b.c);
        if (code == EXIT_DONE && b.c->batch >= 0) code = set_batch(j->a, &b.feed, b.c);
    }
    return code == EXIT_DONE ? open_inputs(&b, j->a, 1) : code;
}

/* ---- the program: one child after another ---- */

/* The child's exit code; c NULL: the check. */
static exit_code run_child(job *j, const config *c, result *found) {
    int ends[2], state;
    if (pipe(ends) != 0) {
        complain("pipe: %s", strerror(errno));
        return EXIT_RESOURCE;
    }
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        continue_time_limit();
        if (c != NULL) hush_notes();
        _exit(c == NULL ? check_all(j) : measure(j->a, c, ends[1]));
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
        int64_t done = got > 0 ? (int64_t)(1000 * ((double)j->done + fmin(n.share, 1))) : 0;
        if (!progress_step(&j->bar, done, 1000 * j->total)) kill(child, SIGTERM);
        if (got < 0 && errno != EINTR) break;
    }
    close(ends[0]);
    while (waitpid(child, &state, 0) < 0 && errno == EINTR) kill(child, SIGTERM);
    if (!not_interrupted(NULL)) {
        progress_end(&j->bar);
        return say_interrupted();
    }
    if (WIFEXITED(state)) return (exit_code)WEXITSTATUS(state);
    progress_end(&j->bar);
    complain("the run was ended by the signal %s", strsignal(WTERMSIG(state)));
    return EXIT_RESOURCE;
}

exit_code bench_check(job *j) { return run_child(j, NULL, NULL); }

exit_code bench_try(job *j, const config *c, result *found) { return run_child(j, c, found); }

exit_code bench_measure(job *j, const config *c, result *found) {
    exit_code code = run_child(j, c, found);
    if (code != EXIT_DONE) return code;
    j->done++;
    j->settled = false;
    j->seen[0] = found->ms;
    found->rounds = 1;
    note_tuning(found->tuning);
    note_precision(found->precision, found->why_precision);
    note_difference(&found->difference);
    char *rest = NULL, *text = strtok_r(found->choices, "\n", &rest);
    for (; text != NULL; text = strtok_r(NULL, "\n", &rest)) note("auto: %s", text);
    return EXIT_DONE;
}

exit_code bench_again(job *j, const config *c, result *found) {
    int rounds = found->rounds + 1;
    result last;
    exit_code code = run_child(j, c, &last);
    if (code != EXIT_DONE) return code;
    j->done++;
    j->seen[rounds - 1] = last.ms;
    hone_timing all;
    bool is_fastest =
        hone_timing_join(&all, j->seen, (size_t)rounds, &j->settled) == (size_t)rounds - 1;
    if (is_fastest) *found = last;
    found->ms = all;
    found->rounds = rounds;
    return EXIT_DONE;
}

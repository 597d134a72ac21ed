/* profile.c: what profiling costs, and how much of a run its steps are.
 *
 * bench_profiler MODEL [PAIRS [THREADS]] runs a plain run and a profiled one in turn, first one and
 * then the other first, and prints as one line of JSON: the medians of both in ms, the median of
 * the ratios of the pairs, and the median share of a profiled run's time that its steps add up to.
 */
#include <hone/hone.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MOST = 16 };

typedef struct bench {
    hone_session *session;
    size_t n_in, n_out;
    hone_value in[MOST], out[MOST];
    double steps_ms;
} bench;

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void fail(const char *what) {
    fprintf(stderr, "bench_profiler: %s\n", what);
    exit(3);
}

static void add_step(void *ctx, const hone_step_info *info) {
    ((bench *)ctx)->steps_ms += (double)(info->end_ns - info->begin_ns) * 1e-6;
}

static double run(bench *b, int profiled) {
    hone_error err;
    double begun = now_ms();
    hone_status status =
        profiled
            ? hone_session_profile(b->session, b->n_in, b->in, b->n_out, b->out, add_step, b, &err)
            : hone_session_run(b->session, b->n_in, b->in, b->n_out, b->out, &err);
    if (status != HONE_OK) fail(err.text);
    return now_ms() - begun;
}

static void open_session(bench *b, const char *path, int threads) {
    hone_model *m;
    hone_error err;
    hone_session_options o;
    hone_session_options_init(&o);
    o.threads = threads;
    if (hone_model_load(&m, path, NULL, &err) != HONE_OK ||
        hone_session_create(&b->session, m, &o, &err) != HONE_OK)
        fail(err.text);
    b->n_in = hone_model_n_inputs(m), b->n_out = hone_model_n_outputs(m);
    if (b->n_in > MOST || b->n_out > MOST) fail("more inputs or outputs than there is room for");
    for (size_t i = 0; i < b->n_in; i++) {
        hone_value_info info;
        hone_model_input(m, i, &info, NULL);
        b->in[i] = (hone_value){.name = info.name, .dtype = info.dtype, .rank = info.rank};
        for (int d = 0; d < info.rank; d++)
            b->in[i].dims[d] = info.dims[d] >= 0 ? info.dims[d] : d == 0 ? 1 : 128;
        if (hone_value_fill(&b->in[i], HONE_FILL_RANDOM, i + 1, &err) != HONE_OK) fail(err.text);
    }
    for (size_t i = 0; i < b->n_out; i++) {
        hone_value_info info;
        hone_model_output(m, i, &info, NULL);
        b->out[i].name = info.name;
    }
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double *v, int n) {
    qsort(v, (size_t)n, sizeof *v, by_value);
    return v[n / 2];
}

int main(int argc, char **argv) {
    bench b = {0};
    int pairs = argc > 2 ? atoi(argv[2]) : 31, threads = argc > 3 ? atoi(argv[3]) : 1;
    if (argc < 2 || argc > 4 || pairs < 1) {
        fprintf(stderr, "usage: bench_profiler MODEL [PAIRS [THREADS]]\n");
        return 2;
    }
    double *v = calloc((size_t)pairs * 4, sizeof *v);
    if (v == NULL) fail("out of memory");
    double *plain = v, *profiled = v + pairs, *ratio = v + 2 * pairs, *covered = v + 3 * pairs;
    open_session(&b, argv[1], threads);
    for (int i = 0; i < 3; i++) run(&b, i % 2);
    for (int i = 0; i < pairs; i++) {
        b.steps_ms = 0;
        for (int k = 0; k < 2; k++) {
            int on = (i + k) % 2;
            (on ? profiled : plain)[i] = run(&b, on);
        }
        ratio[i] = profiled[i] / plain[i];
        covered[i] = b.steps_ms / profiled[i];
    }
    printf("{\"plain_ms\": %.4f, \"profiled_ms\": %.4f, \"ratio\": %.4f, \"covered\": %.4f}\n",
           median(plain, pairs), median(profiled, pairs), median(ratio, pairs),
           median(covered, pairs));
    return 0;
}

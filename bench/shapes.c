/* shapes.c: what new shapes cost, and whom they hold up.
 *
 * bench_shapes MODEL LENGTH COUNT: inputs are [1, length], or [1] where they have one axis. First
 * LENGTH is run alone; then THREADS threads ask for COUNT other lengths while it goes on. Prints
 * milliseconds as one line of JSON: the warm runs' median and 99th percentile alone and beside the
 * others, and the median time to make a plan ready while nothing else runs.
 */
#include <hone/hone.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { THREADS = 4, INPUTS = 8, LONGEST = 4096, RUNS = 4000, ALONE = 400 };

typedef struct inputs {
    size_t n;
    hone_value value[INPUTS];
} inputs;

typedef struct job {
    hone_session *session;
    const inputs *shape;
    const char *output;     /* the one that is wanted */
    _Atomic int next, left; /* lengths: the next to ask for; threads that still ask */
    int last;
} job;

static int64_t ones[LONGEST];

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void stop(const char *what) {
    fprintf(stderr, "bench_shapes: %s\n", what);
    exit(3);
}

static inputs of_length(const inputs *shape, int64_t length) {
    inputs in = *shape;
    for (size_t i = 0; i < in.n; i++) {
        hone_value *v = &in.value[i];
        v->dims[v->rank - 1] = v->rank > 1 ? length : 1;
        v->bytes = hone_value_bytes(v->dtype, v->rank, v->dims);
    }
    return in;
}

static void *ask(void *arg) {
    job *j = arg;
    hone_error err;
    for (int length; (length = atomic_fetch_add(&j->next, 1)) < j->last;) {
        inputs in = of_length(j->shape, length);
        if (hone_session_prepare(j->session, in.n, in.value, &err) != HONE_OK) stop(err.text);
    }
    atomic_fetch_sub(&j->left, 1);
    return NULL;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Of n times, which it sorts. */
static double share(double *ms, int n, double part) {
    qsort(ms, (size_t)n, sizeof *ms, by_size);
    return ms[(int)((double)(n - 1) * part)];
}

/* Runs of one shape, at most RUNS: `n` of them, or while others ask. */
static int run(job *j, const inputs *in, int n, double *ms) {
    hone_value out = {.name = j->output};
    hone_error err;
    int done = 0;
    while (done < RUNS && (n > 0 ? done < n : atomic_load(&j->left) > 0)) {
        double begun = now_ms();
        if (hone_session_run(j->session, in->n, in->value, 1, &out, &err) != HONE_OK)
            stop(err.text);
        ms[done++] = now_ms() - begun;
    }
    hone_value_release(&out, 1);
    return done;
}

static inputs inputs_of(const hone_model *model) {
    inputs in = {.n = hone_model_n_inputs(model)};
    hone_error err;
    if (in.n > INPUTS) stop("the model has more inputs than are expected");
    for (size_t i = 0; i < in.n; i++) {
        hone_value_info info = {0};
        if (hone_model_input(model, i, &info, &err) != HONE_OK) stop(err.text);
        in.value[i] = (hone_value){
            .name = info.name, .dtype = info.dtype, .rank = info.rank, .dims = {1}, .data = ones};
    }
    return in;
}

int main(int argc, char **argv) {
    static double ms[RUNS], made[RUNS];
    hone_model *model;
    hone_error err;
    if (argc != 4) {
        fprintf(stderr, "usage: bench_shapes MODEL LENGTH COUNT\n");
        return 2;
    }
    int length = atoi(argv[2]), count = atoi(argv[3]);
    if (length < 1 || count < 2 || count > RUNS || length + 2 * count >= LONGEST)
        stop("LENGTH and COUNT are too small or too large");
    for (int i = 0; i < LONGEST; i++) ones[i] = 1;
    if (hone_model_load(&model, argv[1], NULL, &err) != HONE_OK) stop(err.text);
    hone_session_options o;
    hone_session_options_init(&o);
    o.threads = 1;
    job j = {.left = THREADS, .last = length + 1 + count};
    if (hone_session_create(&j.session, model, &o, &err) != HONE_OK) stop(err.text);
    inputs shape = inputs_of(model), warm = of_length(&shape, length);
    hone_value_info first = {0};
    if (hone_model_output(model, 0, &first, &err) != HONE_OK) stop(err.text);
    j.shape = &shape;
    j.output = first.name;
    run(&j, &warm, 10, ms);
    int n = run(&j, &warm, ALONE, ms);
    double median = share(ms, n, 0.5), p99 = share(ms, n, 0.99);

    atomic_store(&j.next, length + 1);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, ask, &j) != 0) stop("no thread");
    n = run(&j, &warm, 0, ms);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    double beside = share(ms, n, 0.5), beside99 = share(ms, n, 0.99);

    for (int i = 0; i < count; i++) {
        inputs in = of_length(&shape, length + 1 + count + i);
        double begun = now_ms();
        if (hone_session_prepare(j.session, in.n, in.value, &err) != HONE_OK) stop(err.text);
        made[i] = now_ms() - begun;
    }
    printf(
        "{\"median_ms\": %.3f, \"p99_ms\": %.3f, \"beside_median_ms\": %.3f, "
        "\"beside_p99_ms\": %.3f, \"beside_runs\": %d, \"plan_ms\": %.3f}\n",
        median, p99, beside, beside99, n, share(made, count, 0.5));
    hone_session_destroy(j.session);
    hone_model_destroy(model);
    return 0;
}

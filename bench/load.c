/* load.c: what opening a model costs, and what starting to run it costs.
 *
 * bench_load MODEL prints the milliseconds of one hone_model_load and by how many bytes it raised
 * the process's peak resident memory, as one line of JSON.
 *
 * bench_load MODEL THREADS [PRECISION] goes on: it creates a session, prepares it for batch 1 and
 * runs it twice. The milliseconds of each part are printed besides, and of all up to the end of
 * the first run: start_ms, and cpu_ms, which all threads spent together. */
#include <hone/hone.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MOST = 16 };

static double ms_of(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}
static double now_ms(void) { return ms_of(CLOCK_MONOTONIC); }

/* Of this program alone; getrusage would count what the process was before it became this one. */
static long peak_bytes(void) {
    char line[256];
    long kb = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "VmHWM: %ld", &kb) == 1) break;
    }
    if (file != NULL) fclose(file);
    return kb * 1024;
}

static void need(hone_status status, const hone_error *err) {
    if (status == HONE_OK) return;
    fprintf(stderr, "bench_load: %s\n", err->text);
    exit(3);
}

typedef struct tensors {
    size_t n_in, n_out;
    hone_value in[MOST], out[MOST];
} tensors;

/* Ones for all inputs, batch 1, and the names of all outputs. */
static void make_tensors(hone_model *m, tensors *t) {
    hone_error err;
    hone_value_info info;
    *t = (tensors){hone_model_n_inputs(m), hone_model_n_outputs(m), {{0}}, {{0}}};
    if (t->n_in > MOST || t->n_out > MOST) {
        fprintf(stderr, "bench_load: more than %d inputs or outputs\n", MOST);
        exit(3);
    }
    for (size_t i = 0; i < t->n_in; i++) {
        need(hone_model_input(m, i, &info, &err), &err);
        t->in[i] = (hone_value){.name = info.name, .dtype = info.dtype, .rank = info.rank};
        for (int d = 0; d < info.rank; d++)
            t->in[i].dims[d] = info.dims[d] >= 0 ? info.dims[d] : d == 0 ? 1 : 128;
        need(hone_value_fill(&t->in[i], HONE_FILL_ONES, 0, &err), &err);
    }
    for (size_t i = 0; i < t->n_out; i++) {
        need(hone_model_output(m, i, &info, &err), &err);
        t->out[i].name = info.name;
    }
}

static double timed_run(hone_session *s, tensors *t) {
    hone_error err;
    double begun = now_ms();
    need(hone_session_run(s, t->n_in, t->in, t->n_out, t->out, &err), &err);
    return now_ms() - begun;
}

/* The parts of the start that follow loading. */
static void start(hone_model *m, const hone_session_options *options, double load_ms) {
    hone_error err;
    hone_session *session;
    tensors t;
    double begun = now_ms();
    need(hone_session_create(&session, m, options, &err), &err);
    double create_ms = now_ms() - begun;
    make_tensors(m, &t);
    begun = now_ms();
    need(hone_session_prepare(session, t.n_in, t.in, &err), &err);
    double prepare_ms = now_ms() - begun;
    double first_ms = timed_run(session, &t), cpu_ms = ms_of(CLOCK_PROCESS_CPUTIME_ID);
    double second_ms = timed_run(session, &t);
    printf(
        "\"create_ms\": %.3f, \"prepare_ms\": %.3f, \"first_ms\": %.3f, \"second_ms\": %.3f, "
        "\"start_ms\": %.3f, \"cpu_ms\": %.3f, ",
        create_ms, prepare_ms, first_ms, second_ms, load_ms + create_ms + prepare_ms + first_ms,
        cpu_ms);
    hone_value_release(t.in, t.n_in);
    hone_value_release(t.out, t.n_out);
    hone_session_destroy(session);
}

int main(int argc, char **argv) {
    if (argc < 2 || argc > 4) {
        fprintf(stderr, "usage: bench_load MODEL [THREADS [PRECISION]]\n");
        return 2;
    }
    hone_model *model;
    hone_error err;
    hone_session_options options;
    hone_session_options_init(&options);
    long before = peak_bytes();
    double begun = now_ms();
    need(hone_model_load(&model, argv[1], NULL, &err), &err);
    double load_ms = now_ms() - begun;
    printf("{\"load_ms\": %.3f, ", load_ms);
    options.threads = argc > 2 ? atoi(argv[2]) : 0;
    options.precision = argc > 3 ? argv[3] : NULL;
    if (argc > 2) start(model, &options, load_ms);
    printf("\"growth_bytes\": %ld}\n", peak_bytes() - before);
    hone_model_destroy(model);
    return 0;
}

/* decode.c: tokens one after the other, with the keys and values of what came before as state.
 *
 * bench_decode MODEL PAIRS TOKENS STREAMS: PAIRS is the option `state` ("past_*=now_*"); the input
 * that is left is one token. Every stream begins without a past. Prints the median milliseconds per
 * token as one line of JSON: of the first stream, to which every length is new, and of the others.
 */
#include <hone/hone.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { SCORES = 1 << 18 };

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void check(hone_status status, const hone_error *err) {
    if (status == HONE_OK) return;
    fprintf(stderr, "bench_decode: %s\n", err->text);
    exit(3);
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *times, int n) {
    qsort(times, (size_t)n, sizeof *times, by_size);
    return n > 0 ? times[n / 2] : 0;
}

/* The word that is likeliest to follow. */
static int64_t best(const float *scores, size_t bytes) {
    size_t at = 0;
    for (size_t i = 1; i < bytes / sizeof *scores; i++)
        if (scores[i] > scores[at]) at = i;
    return (int64_t)at;
}

static void stream(hone_session *session, int tokens, double *times) {
    static float scores[SCORES];
    hone_error err;
    hone_state *state;
    int64_t word = 1;
    hone_value in = {.dtype = HONE_DTYPE_S64, .rank = 2, .dims = {1, 1}, .data = &word};
    hone_value out = {.data = scores};
    in.bytes = sizeof word;
    check(hone_state_create(&state, session, &err), &err);
    for (int i = 0; i < tokens; i++) {
        double begun = now_ms();
        out.bytes = sizeof scores;
        check(hone_state_run(state, 1, &in, 1, &out, &err), &err);
        times[i] = now_ms() - begun;
        word = best(scores, out.bytes);
    }
    hone_state_destroy(state);
}

int main(int argc, char **argv) {
    hone_error err;
    hone_model *model;
    hone_session *session;
    hone_session_options o;
    if (argc != 5) {
        fprintf(stderr, "usage: bench_decode MODEL PAIRS TOKENS STREAMS\n");
        return 2;
    }
    int tokens = atoi(argv[3]), streams = atoi(argv[4]);
    double *first = calloc((size_t)tokens, sizeof *first);
    double *later = calloc((size_t)tokens * (size_t)streams, sizeof *later);
    if (first == NULL || later == NULL) return 4;
    hone_session_options_init(&o);
    o.threads = 1;
    o.state = argv[2];
    check(hone_model_load(&model, argv[1], NULL, &err), &err);
    check(hone_session_create(&session, model, &o, &err), &err);
    stream(session, 1, first); /* packs the weights */
    stream(session, tokens, first);
    for (int i = 1; i < streams; i++) stream(session, tokens, later + (i - 1) * tokens);
    printf("{\"first_ms\": %.4f, \"later_ms\": %.4f}\n", median(first, tokens),
           median(later, tokens * (streams - 1)));
    hone_session_destroy(session);
    hone_model_destroy(model);
    free(first);
    free(later);
    return 0;
}

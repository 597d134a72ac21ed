/* training.c: steps of training, as many as fit into a time.
 *
 * bench_training MODEL DATA BATCH OPTIMIZER RATE THREADS PRECISION: reads one number of seconds from each line
 * of standard input, trains for so long, at least one step, and answers with a line of JSON. DATA is what --data
 * takes. The plan is made and the first step done before the first line is read.
 */
#include <hone/hone.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void check(hone_status status, const hone_error *err) {
    if (status == HONE_OK) return;
    fprintf(stderr, "bench_training: %s\n", err->text);
    exit(3);
}

static long resident_most(void) {
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return use.ru_maxrss;
}

static void answer(int64_t steps, double seconds, const hone_train_place *at) {
    printf(
        "{\"steps\": %lld, \"seconds\": %.6f, \"loss\": %.9g, \"peak_bytes\": %lld, "
        "\"resident_kb\": %ld}\n",
        (long long)steps, seconds, at->loss, (long long)at->peak_bytes, resident_most());
    fflush(stdout);
}

int main(int argc, char **argv) {
    hone_error err;
    hone_model *model;
    hone_dataset *data;
    hone_trainer *trainer;
    hone_session_options session;
    hone_train_options o;
    hone_train_place at;
    if (argc != 8) {
        fprintf(stderr,
                "usage: bench_training MODEL DATA BATCH OPTIMIZER RATE THREADS PRECISION\n");
        return 2;
    }
    hone_session_options_init(&session);
    session.threads = atoi(argv[6]);
    session.precision = argv[7];
    hone_train_options_init(&o);
    o.batch = atoi(argv[3]);
    o.optimizer = argv[4];
    o.rate = atof(argv[5]);
    o.epochs = 1000000;
    o.session = &session;
    check(hone_model_load(&model, argv[1], NULL, &err), &err);
    check(hone_dataset_open(&data, argv[2], &err), &err);
    check(hone_trainer_create(&trainer, model, data, &o, &err), &err);
    check(hone_trainer_step(trainer, &err), &err);
    hone_trainer_at(trainer, &at);
    answer(1, 0, &at);

    char line[64];
    while (fgets(line, sizeof line, stdin) != NULL) {
        double begun = now(), limit = atof(line), took = 0;
        int64_t steps = 0;
        do {
            check(hone_trainer_step(trainer, &err), &err);
            steps++;
            took = now() - begun;
        } while (took < limit);
        hone_trainer_at(trainer, &at);
        answer(steps, took, &at);
    }
    hone_trainer_destroy(trainer);
    hone_dataset_destroy(data);
    hone_model_destroy(model);
    return 0;
}

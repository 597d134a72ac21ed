/* load.c: what opening a model costs.
 *
 * bench_load MODEL prints the milliseconds of one hone_model_load and by how many bytes it raised
 * the process's peak resident memory, as one line of JSON. */
#include <hone/hone.h>
#include <stdio.h>
#include <time.h>

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

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

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: bench_load MODEL\n");
        return 2;
    }
    hone_model *model;
    hone_error err;
    long before = peak_bytes();
    double begun = now_ms();
    hone_status status = hone_model_load(&model, argv[1], NULL, &err);
    double took = now_ms() - begun;
    if (status != HONE_OK) {
        fprintf(stderr, "bench_load: %s\n", err.text);
        return 3;
    }
    printf("{\"load_ms\": %.3f, \"growth_bytes\": %ld}\n", took, peak_bytes() - before);
    hone_model_destroy(model);
    return 0;
}

/* nbits.c: how fast memory is read, one address after the other.
 *
 * bench_nbits BYTES THREADS reads so many bytes on so many threads whenever a line comes in, and
 * answers with the GB/s. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

typedef uint64_t pair __attribute__((vector_size(16))); /* a register of any CPU's */
enum { LINE = 4 };                                      /* of them */

typedef struct part {
    const pair *from;
    size_t lines;
    pair sum; /* so that nothing is left out */
} part;

static void *read_part(void *arg) {
    part *p = arg;
    pair a = {0}, b = a, c = a, d = a;
    const pair *end = p->from + p->lines * LINE;
    for (const pair *at = p->from; at < end; at += LINE) {
        a ^= at[0];
        b ^= at[1];
        c ^= at[2];
        d ^= at[3];
    }
    p->sum = a ^ b ^ c ^ d;
    return NULL;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv) {
    enum { MOST = 64 };
    static part parts[MOST];
    pthread_t threads[MOST];
    size_t bytes = argc == 3 ? strtoull(argv[1], NULL, 10) : 0, block = (size_t)2 << 20;
    int n = argc == 3 ? atoi(argv[2]) : 0;
    if (bytes < block || n < 1 || n > MOST) {
        fprintf(stderr, "usage: bench_nbits BYTES THREADS\n");
        return 2;
    }
    bytes = bytes / block * block;
    char *memory = aligned_alloc(block, bytes);
    if (memory == NULL) return 3;
    madvise(memory, bytes, MADV_HUGEPAGE);
    memset(memory, 1, bytes);
    size_t lines = bytes / (LINE * sizeof(pair));
    for (int i = 0; i < n; i++) {
        size_t begin = lines * (size_t)i / (size_t)n;
        parts[i].from = (const pair *)memory + begin * LINE;
        parts[i].lines = lines * (size_t)(i + 1) / (size_t)n - begin;
    }
    for (char text[8]; fgets(text, sizeof text, stdin) != NULL;) {
        double begun = now();
        for (int i = 1; i < n; i++)
            if (pthread_create(&threads[i], NULL, read_part, &parts[i]) != 0) return 3;
        read_part(&parts[0]);
        for (int i = 1; i < n; i++) pthread_join(threads[i], NULL);
        printf("%.3f\n", (double)bytes / (now() - begun) / 1e9);
        fflush(stdout);
    }
    free(memory);
    return 0;
}

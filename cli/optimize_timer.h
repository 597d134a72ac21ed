/* Timing models in another runtime, for `hone optimize --for`. */
#ifndef CLI_OPTIMIZE_TIMER_H
#define CLI_OPTIMIZE_TIMER_H

#include <sys/types.h>

#include "cli.h"

/* A Python process that has the runtime's package. */
typedef struct runtime_timer {
    hone_timer timer;
    char name[128], folder[256]; /* the folder: of the models it runs; "": there is none */
    pid_t child;
    FILE *to, *from;
} runtime_timer;

/* Starts it. False, with the reason in why: the runtime cannot be measured here. */
bool timer_start(runtime_timer *t, const char *runtime, int threads, char *why, size_t bytes);
void timer_end(runtime_timer *t); /* one that is all zero accepted */

#endif

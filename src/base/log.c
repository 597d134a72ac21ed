#include "base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/error.h"

typedef void log_fn(void *ctx, hone_log_level level, const char *line);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static log_fn *sink;
static void *sink_ctx;
/* Level of the sink, -1 while there is none: silence costs one load. */
static atomic_int threshold = -1;

void hone_log_set(log_fn *fn, void *ctx, hone_log_level level) {
    pthread_mutex_lock(&lock);
    sink = fn;
    sink_ctx = ctx;
    atomic_store(&threshold, fn != NULL ? (int)level : -1);
    pthread_mutex_unlock(&lock);
}

void hn_log(hone_log_level level, const char *format, ...) {
    if ((int)level > atomic_load_explicit(&threshold, memory_order_relaxed)) return;
    char line[HONE_ERROR_TEXT];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    hn_one_line(line);
    pthread_mutex_lock(&lock);
    log_fn *fn = sink;
    void *ctx = sink_ctx;
    pthread_mutex_unlock(&lock);
    if (fn != NULL) fn(ctx, level, line);
}

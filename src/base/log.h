/* Logging: the library never prints; it hands lines to a callback the program may set. */
#ifndef HN_BASE_LOG_H
#define HN_BASE_LOG_H

#include "hone/hone.h"

typedef enum hn_log_level {
    HN_LOG_ERROR = 0,
    HN_LOG_WARN = 1,
    HN_LOG_INFO = 2,
    HN_LOG_DEBUG = 3
} hn_log_level;

typedef void (*hn_log_fn)(void *ctx, hn_log_level level, const char *line);

/* fn NULL: silence (the default). Lines above `level` are not formatted. The callback may be called
 * from several threads at once, and a last time after it was replaced by another thread; it may log
 * and set. */
void hn_log_set(hn_log_fn fn, void *ctx, hn_log_level level);
void hn_log(hn_log_level level, const char *format, ...) HONE_PRINTF(2, 3);

#endif

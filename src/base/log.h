/* Logging: the library never prints; it hands lines to the callback that hone_log_set sets. */
#ifndef HN_BASE_LOG_H
#define HN_BASE_LOG_H

#include "hone/hone.h"

/* A line above the level asked for is not formatted. The callback may be called a last time after
 * another thread has replaced it; it may log and set. */
void hn_log(hone_log_level level, const char *format, ...) HONE_PRINTF(2, 3);

#endif

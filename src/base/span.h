/* Spans: what took how long, told to the callback that hone_span_listen sets.
 *
 *   int64_t begun = hn_span_begin();
 *   ... parse ...
 *   hn_span_end("load", "parse", begun, bytes);
 *
 * While nobody listens both are a load and a branch. Where the build found sys/sdt.h, each span is
 * also the probe hone:span (category, name, detail, begin_ns, end_ns), and a system's profiler that
 * attaches to it counts as a listener.
 */
#ifndef HN_BASE_SPAN_H
#define HN_BASE_SPAN_H

#include "hone/hone.h"

/* Whether somebody listens. */
bool hn_span_wanted(void);
/* Now; 0: nobody listens. */
int64_t hn_span_begin(void);
/* From `begun`, which is of hn_span_begin, until now. live_bytes as in hone_span. */
void hn_span_end(const char *category, const char *name, int64_t begun, int64_t live_bytes);
/* Of a span that has ended; its thread is filled in. */
void hn_span_tell(const hone_span *span);

#endif

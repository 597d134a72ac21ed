/* A page of results: one HTML file that shows what the JSON of the verbs holds.
 *
 * It needs nothing beside itself: plots are SVG written here, the style and a few lines of script
 * (sorting, reading out points) are inside. The same documents give the same bytes. */
#ifndef HN_REPORT_REPORT_H
#define HN_REPORT_REPORT_H

#include "base/alloc.h"
#include "base/error.h"

/* As hone_report_write. */
hone_status hn_report_write(const char *const *documents, size_t n, const char *path,
                            const char *const *names, hn_allocator *alloc, hn_error *err);

#endif

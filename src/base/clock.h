#ifndef HN_BASE_CLOCK_H
#define HN_BASE_CLOCK_H

#include <stdint.h>

int64_t hn_clock_ns(void);     /* monotonic */
int64_t hn_clock_cpu_ns(void); /* that all threads of the process have spent on cores */

#endif

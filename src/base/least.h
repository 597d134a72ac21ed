/* The smaller of two numbers. */
#ifndef HN_BASE_LEAST_H
#define HN_BASE_LEAST_H

#include <stdint.h>

static inline int64_t hn_least(int64_t a, int64_t b) { return a < b ? a : b; }

#endif

/* A few bytes from one place to another, by as few moves as their number has bits: for vectors
 * whose instruction set has no masks for bytes. */
#ifndef HN_SIMD_BYTES_H
#define HN_SIMD_BYTES_H

#include <stdint.h>
#include <string.h>

/* 0 <= n < 32 */
static inline void hn_bytes_copy(void *dst, const void *src, int64_t n) {
    char *to = dst;
    const char *from = src;
    if (n & 16) memcpy(to, from, 16), to += 16, from += 16;
    if (n & 8) memcpy(to, from, 8), to += 8, from += 8;
    if (n & 4) memcpy(to, from, 4), to += 4, from += 4;
    if (n & 2) memcpy(to, from, 2), to += 2, from += 2;
    if (n & 1) *to = *from;
}

#endif

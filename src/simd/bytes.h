/* A few bytes from one place to another, by two moves that may overlap: for vectors whose
 * instruction set has no masks for bytes. */
#ifndef HN_SIMD_BYTES_H
#define HN_SIMD_BYTES_H

#include <stdint.h>
#include <string.h>

/* 0 <= n < 32; the places do not overlap. */
static inline void hn_bytes_copy(void *dst, const void *src, int64_t n) {
    char *to = dst;
    const char *from = src;
    if (n >= 16) {
        memcpy(to, from, 16), memcpy(to + n - 16, from + n - 16, 16);
    } else if (n >= 8) {
        memcpy(to, from, 8), memcpy(to + n - 8, from + n - 8, 8);
    } else if (n >= 4) {
        memcpy(to, from, 4), memcpy(to + n - 4, from + n - 4, 4);
    } else {
        if (n & 2) memcpy(to, from, 2), to += 2, from += 2;
        if (n & 1) *to = *from;
    }
}

#endif

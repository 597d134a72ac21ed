/* Sizes that come from files are multiplied and added only through these: false means the result
 * does not fit. */
#ifndef HN_BASE_SIZE_H
#define HN_BASE_SIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool hn_size_mul(size_t a, size_t b, size_t *out) {
    return !__builtin_mul_overflow(a, b, out);
}
static inline bool hn_size_add(size_t a, size_t b, size_t *out) {
    return !__builtin_add_overflow(a, b, out);
}
static inline bool hn_i64_mul(int64_t a, int64_t b, int64_t *out) {
    return !__builtin_mul_overflow(a, b, out);
}
static inline bool hn_i64_add(int64_t a, int64_t b, int64_t *out) {
    return !__builtin_add_overflow(a, b, out);
}

/* Product of dims, all of which must be >= 0. False on a negative dim or when the product passes
 * INT64_MAX (a zero dim makes the product zero whatever the others are). */
bool hn_dims_count(const int64_t *dims, int rank, int64_t *count);

/* Bytes of count elements of the given width, packed; false on overflow, and for types without a
 * width (strings). */
bool hn_packed_bytes(int64_t count, int bits, size_t *bytes);

#endif

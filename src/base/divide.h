/* Quotients and remainders of numbers that are at least 0 and mostly below 2^32.
 *
 * x86-64 before Ice Lake takes up to 95 cycles to divide 64 bits, and 26 for 32. Kernels find their
 * place by divisions, once for each task: with the long ones a tenth of a small model's run went by.
 */
#ifndef HN_BASE_DIVIDE_H
#define HN_BASE_DIVIDE_H

#include <stdbool.h>
#include <stdint.h>

static inline bool hn_divides_short_(int64_t a, int64_t b) {
#ifdef __x86_64__
    if (__builtin_constant_p(b)) return false; /* the compiler multiplies */
    return ((uint64_t)a | (uint64_t)b) <= UINT32_MAX;
#else
    return (void)a, (void)b, false;
#endif
}

/* a / b. */
static inline int64_t hn_over(int64_t a, int64_t b) {
    if (hn_divides_short_(a, b)) return (uint32_t)a / (uint32_t)b;
    return a / b;
}

/* a % b. */
static inline int64_t hn_rest(int64_t a, int64_t b) {
    if (hn_divides_short_(a, b)) return (uint32_t)a % (uint32_t)b;
    return a % b;
}

/* The last digit of *a in base b, which *a loses: so is a number taken apart that counts the places of
 * several dimensions. */
static inline int64_t hn_digit(int64_t *a, int64_t b) {
    const int64_t all = *a;
    *a = hn_over(all, b);
    return all - *a * b;
}

/* a / b, rounded up. */
static inline int64_t hn_ceil_over(int64_t a, int64_t b) { return hn_over(a + b - 1, b); }

#endif

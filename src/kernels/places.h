/* Places that indices name: what gather_at and scatter_at have in common.
 *
 * A place is named for each element i of a space of up to eight axes, by n indices:
 *
 *   place(i) = sum over axes a of i[a] * base[a]  +  sum over k < n of index[i][k] * step[k]
 *
 *   GatherElements along axis 1 of x [4][5][6], indices [4][3][6]:
 *     dims {4, 3, 6}, base {30, 0, 1}; n = 1, size {5}, step {6}
 *   GatherND of x [4][5][6], indices [7][2], each a pair that names a row of 6:
 *     dims {7}, base {0}; n = 2, size {4, 5}, step {30, 6}
 *
 * base and step are in bytes. An index counts from the end when it is negative: index k is valid
 * from -size[k] to size[k] - 1. The indices are adjacent, s64 or s32.
 */
#ifndef HN_KERNELS_PLACES_H
#define HN_KERNELS_PLACES_H

#include <stdbool.h>
#include <stdint.h>

enum { HN_PLACES_MAX = 8 };

typedef struct hn_places {
    int rank, n; /* at least 1 */
    int64_t dims[HN_PLACES_MAX], base[HN_PLACES_MAX];
    int64_t size[HN_PLACES_MAX], step[HN_PLACES_MAX];
    bool wide; /* indices are s64, else s32 */
} hn_places;

/* Of the space. */
static inline int64_t hn_places_count(const hn_places *p) {
    int64_t n = 1;
    for (int i = 0; i < p->rank; i++) n *= p->dims[i];
    return n;
}

/* Element i's share of its place that no index tells. */
static inline int64_t hn_places_base(const hn_places *p, int64_t i) {
    int64_t at = 0;
    for (int a = p->rank - 1; a >= 0; a--) {
        at += i % p->dims[a] * p->base[a];
        i /= p->dims[a];
    }
    return at;
}

/* The share that the indices of element i tell; false: one is outside. */
static inline bool hn_places_named(const hn_places *p, const void *index, int64_t i, int64_t *at) {
    *at = 0;
    for (int k = 0; k < p->n; k++) {
        int64_t j = i * p->n + k, size = p->size[k];
        int64_t x = p->wide ? ((const int64_t *)index)[j] : ((const int32_t *)index)[j];
        if (x < -size || x >= size) return false;
        *at += (x < 0 ? x + size : x) * p->step[k];
    }
    return true;
}

#endif

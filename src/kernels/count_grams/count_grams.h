/* count_grams: how often each n-gram of a pool occurs in rows of integers, weighted.
 *
 *   x [rows][length], y [rows][width]
 *   y[r][column[g]] = the sum of count[g] * weight[g] over all n-grams g of that column
 *
 * An n-gram occurs wherever its items follow each other at a constant distance of 1 to
 * `distances`; single items count at distance 1 alone. With `once` a count of more than 1 is 1.
 * Without weights they are 1.
 *
 * The pool is a tree in a hash table: a slot stands for an item behind a beginning that is a slot
 * too, or behind nothing (hn_ngram_slot). It is where hn_ngram_hash says or in one of the next
 * slots, none of which is free. At least one slot is free, and their number is a power of two.
 *
 * Counts are exact; sums of several n-grams in one column are rounded as floats. y overlaps
 * nothing.
 */
#ifndef HN_KERNELS_COUNT_GRAMS_H
#define HN_KERNELS_COUNT_GRAMS_H

#include "kernels/kernel.h"

typedef struct hn_count_grams {
    int64_t rows, length, width;
    int64_t grams, slots, longest, distances;
    bool wide; /* x is s64, else s32 */
    bool once;
} hn_count_grams;

/* Operands; weight, [grams] of f32, may be NULL. Columns are [grams] of s64. */
enum {
    HN_COUNT_GRAMS_X,
    HN_COUNT_GRAMS_TABLE,
    HN_COUNT_GRAMS_COLUMN,
    HN_COUNT_GRAMS_WEIGHT,
    HN_COUNT_GRAMS_Y
};

typedef struct hn_ngram_slot {
    int64_t item;
    int32_t parent; /* another slot's number, HN_NGRAM_ROOT or HN_NGRAM_FREE */
    int32_t gram;   /* the n-gram that ends here, or -1 */
} hn_ngram_slot;

enum { HN_NGRAM_ROOT = -1, HN_NGRAM_FREE = -2 };

static inline uint64_t hn_ngram_hash(int64_t parent, int64_t item, int64_t slots) {
    uint64_t h = (uint64_t)item * 0x9e3779b97f4a7c15u + (uint64_t)parent * 0xc2b2ae3d27d4eb4fu;
    return (h ^ h >> 32) & (uint64_t)(slots - 1);
}

/* How many slots serve n of them well; n up to HN_NGRAM_MOST. */
#define HN_NGRAM_MOST ((int64_t)1 << 28)
int64_t hn_ngram_slots(int64_t n);
/* Makes all slots free. */
void hn_ngram_clear(hn_ngram_slot *table, int64_t slots);
/* The slot of an item behind a parent, added if there is none. */
int64_t hn_ngram_add(hn_ngram_slot *table, int64_t slots, int64_t parent, int64_t item);

extern const hn_family hn_count_grams_family;

#endif

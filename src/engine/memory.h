/* The memory planner: where in one slab each buffer lies.
 *
 * A pure function: sizes and lives in, offsets out. Buffers whose lives meet do not overlap. The
 * largest are placed first, each into the smallest gap that fits among those already placed whose
 * lives meet its own; equal sizes in order of birth. Placements depend on the list alone. */
#ifndef HN_ENGINE_MEMORY_H
#define HN_ENGINE_MEMORY_H

#include "base/alloc.h"
#include "base/error.h"

/* n, up to the next place a buffer may begin at. */
static inline size_t hn_aligned(size_t n) { return (n + HN_ALIGN - 1) / HN_ALIGN * HN_ALIGN; }

typedef struct hn_piece {
    size_t bytes;    /* 0: takes no room, offset 0 */
    int first, last; /* alive in steps [first, last] */
    size_t offset;   /* out: a multiple of HN_ALIGN */
} hn_piece;

/* Sets the offsets and *total, the size of the slab: at least the most bytes alive at once, each
 * rounded up to HN_ALIGN. With `share` false every piece has bytes of its own. HONE_E_LIMIT when
 * the total overflows. */
hone_status hn_memory_plan(hn_piece *pieces, int n, bool share, hn_allocator *alloc, size_t *total,
                           hn_error *err);

#endif

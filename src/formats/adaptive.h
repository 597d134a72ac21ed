/* Small data in as few bits as can be: adaptive binary arithmetic coding with mixed predictions.
 *
 * Everything is coded as yes-no decisions. For each one several contexts predict, each from what it
 * has seen before; a mixer weighs the predictions in the logistic domain and learns the weights (M.
 * Mahoney, "Adaptive weighing of context models", 2005); an arithmetic coder spends -log2 p bits.
 * There are no tables to store, so this wins where data is small, and it finds what a table of
 * frequencies cannot: rows and columns that are denser than others, letters that follow letters. It
 * takes some 100 ns per decision, in both directions, so it is for data below HN_ADAPTIVE_MOST.
 *
 *     hn_adaptive_bytes     text-like bytes: each by the 0 to 4 before it
 *     hn_adaptive_indices   a matrix of indices, as pruned and clustered weights are: is it the
 *                           index of zero? by its neighbours, its row and its column; if not, which
 *                           one, by the density of its column and the one before it
 *
 * All arithmetic is in integers: what one machine writes every other reads. */
#ifndef HN_FORMATS_ADAPTIVE_H
#define HN_FORMATS_ADAPTIVE_H

#include "base/alloc.h"
#include "base/error.h"

#define HN_ADAPTIVE_MOST_BYTES ((size_t)1 << 14)
#define HN_ADAPTIVE_MOST_INDICES ((size_t)1 << 20)

/* Both directions of one model: `coded` is filled or read. */
typedef struct hn_adaptive {
    hn_allocator *alloc;
    bool decode;
    unsigned char *coded;
    size_t room;  /* of coded: bytes there are, or at most */
    size_t bytes; /* that were written */
    bool full;    /* encoding: it did not fit */
} hn_adaptive;

hone_status hn_adaptive_bytes(hn_adaptive *a, unsigned char *bytes, size_t n, hn_error *err);

/* n indices below `kinds`, at most 256, in rows of `columns`; `zero`: the index that stands out,
 * `kinds` if there is none. HONE_E_FORMAT: what is decoded is no such index. */
hone_status hn_adaptive_indices(hn_adaptive *a, unsigned char *indices, size_t n, size_t columns,
                                int kinds, int zero, hn_error *err);

#endif

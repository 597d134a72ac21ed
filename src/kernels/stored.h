/* Stored weights: a constant as it lies in memory, which the packing of a row is given.
 *
 *   dense      data: the elements
 *   codes      data: an integer for each element, which is (code - zero) * scale
 *   codebook   data: for each element its index in `table`
 *   sparse     data: the elements that are not 0; places: where each of them lies
 *
 * Rows read dense weights. Whoever packs expands others first, so that a new format needs no change
 * of any row.
 *
 * Addresses may be odd. Codes and elements under 8 bits are packed, the first in the lowest bits.
 */
#ifndef HN_KERNELS_STORED_H
#define HN_KERNELS_STORED_H

#include "base/dtype.h"

typedef enum hn_stored_kind {
    HN_STORED_DENSE,
    HN_STORED_CODES,
    HN_STORED_CODEBOOK,
    HN_STORED_SPARSE
} hn_stored_kind;

/* Elements are [outer][axis][inner] for what belongs to a part of them. */
typedef struct hn_stored {
    hn_stored_kind kind;
    hone_dtype type; /* of data; codes and indices: an integer of at most 16 bits */
    int64_t n;       /* elements, expanded */
    const void *data;
    /* Codes. Element [o][a][i] has scale and zero point number
     *
     *   o * scale_outer + a / block * scale_axis + i * scale_inner */
    const void *scale; /* f32 */
    const void *zero;  /* of `type`; NULL: 0 */
    int64_t axis, inner, block;
    int64_t scale_outer, scale_axis, scale_inner;
    /* A codebook: f32. Each index is inside. */
    const void *table;
    /* Sparse: n_stored elements; of each, s64 for `rank` axes of these lengths. Each is inside. */
    const void *places;
    int64_t n_stored;
    int rank;
    const int64_t *dims;
} hn_stored;

/* Weights that are dense, for rows that know their type and number by the problem. */
static inline hn_stored hn_stored_plain(const void *data) { return (hn_stored){.data = data}; }

/* The type they have when they are expanded, and their bytes then. */
hone_dtype hn_stored_type(const hn_stored *s);
size_t hn_stored_bytes(const hn_stored *s);
/* All of them, dense; of weights that are not. */
void hn_stored_expand(const hn_stored *s, void *dst);

#endif

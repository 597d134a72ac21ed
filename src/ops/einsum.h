/* The equation of Einsum. */
#ifndef HN_OPS_EINSUM_H
#define HN_OPS_EINSUM_H

#include "base/error.h"
#include "hone/hone.h"

/* Labels: 26 + 26 letters, then the axes of "...", the last axis last. */
enum { HN_EINSUM_LETTERS = 52, HN_EINSUM_LABELS = HN_EINSUM_LETTERS + HONE_MAX_RANK };

/* One side of the equation's commas: the labels of its axes. */
typedef struct hn_einsum_term {
    int rank;
    uint8_t label[HONE_MAX_RANK];
} hn_einsum_term;

/* in[n_in] and out from the equation; ranks[i] is that of operand i. */
hone_status hn_einsum_parse(const char *equation, int n_in, const int *ranks, hn_einsum_term *in,
                            hn_einsum_term *out, hn_error *err);

#endif

/* What element by element operators share: seeing an input as if it had the output's shape, going
 * over the output in blocks on all threads, and following known contents.
 *
 * Nobody keeps a broadcast copy. A block of the output is computed from arrays on the stack that
 * hn_broadcast_f64 (or _s64) fills with the input elements that belong to it:
 *
 *     double x[HN_BLOCK], y[HN_BLOCK];
 *     hn_broadcast_f64(&a, from, n, x);
 *     hn_broadcast_f64(&b, from, n, y);
 *     for (int64_t i = 0; i < n; i++) x[i] += y[i];
 *     hn_store_f64_n(out->dtype, out->data, from, n, x);
 */
#ifndef HN_OPS_BROADCAST_H
#define HN_OPS_BROADCAST_H

#include "ops/op.h"

/* A tensor seen under dims it broadcasts to. Axes that are one run in memory are joined, so that
 * equal shapes become one axis. */
typedef struct hn_broadcast {
    const hn_tensor *tensor;
    int rank;                    /* at least 1 */
    int64_t dims[HONE_MAX_RANK]; /* of the output, joined */
    int64_t step[HONE_MAX_RANK]; /* elements of the tensor per step on that axis; 0: repeated */
} hn_broadcast;

/* t must broadcast to dims (inference has checked it). */
void hn_broadcast_init(hn_broadcast *b, const hn_tensor *t, int rank, const int64_t *dims);
/* The elements that belong to output elements [from, from + n), as doubles, integers, or in the
 * tensor's own type (dst packed from element 0 on; not for strings). */
void hn_broadcast_f64(const hn_broadcast *b, int64_t from, int64_t n, double *dst);
void hn_broadcast_s64(const hn_broadcast *b, int64_t from, int64_t n, int64_t *dst);
void hn_broadcast_raw(const hn_broadcast *b, int64_t from, int64_t n, void *dst);

/* For infer: fails with HONE_E_SHAPE unless input i may broadcast to shape `to` and leave it as it
 * is. Absent inputs do. */
hone_status hn_want_broadcast_to(const hn_infer *c, int i, const hn_shape *to, hn_error *err);

/* Elements per block: a multiple of 8, so that blocks of packed types share no byte, and small
 * enough for a few arrays on the stack. */
#define HN_BLOCK 512

/* Equals: for (from = 0; from < n; from += HN_BLOCK) fn(ctx, from, min(HN_BLOCK, n - from));
 * spread over the threads. */
void hn_for_blocks(hn_pool *pool, int64_t n, void (*fn)(void *ctx, int64_t from, int64_t n),
                   void *ctx);

/* Known contents of output 0, which has its shape already, to which every input is known to
 * broadcast: fn(c, args) for each element, args being the known contents of all inputs that belong
 * to it (NULL for an absent input). Does nothing when some contents are not known or fn returns
 * NULL for an element. */
void hn_follow_values(hn_infer *c, hn_dim (*fn)(hn_infer *c, const hn_dim *args));
/* False for numbers beyond 2^60, which in contents stand for "very large" only. */
bool hn_dim_exact(hn_dim d);
/* Arithmetic on dims knows no wrapping: a number outside the type is not a content of it. */
bool hn_dim_fits(hone_dtype t, hn_dim d);
/* Two contents added and multiplied. NULL where they are too large: factors must be small numbers
 * or symbols, so that no product grows past what a dim may hold. */
hn_dim hn_known_add(hn_infer *c, const hn_dim *pair);
hn_dim hn_known_mul(hn_infer *c, const hn_dim *pair);

#endif

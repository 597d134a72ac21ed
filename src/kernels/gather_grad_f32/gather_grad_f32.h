/* gather_grad_f32: rows added up where an index says, the gradient of a gather by its data.
 *
 *   dx[o][i] = sum over k with index[k] = i, in order, of dy[o][k]      each a row of n floats
 *
 * An index counts from the end when it is negative; one that is outside adds nothing. All is dense,
 * and dx is written in full.
 */
#ifndef HN_KERNELS_GATHER_GRAD_F32_H
#define HN_KERNELS_GATHER_GRAD_F32_H

#include "kernels/kernel.h"

typedef struct hn_gather_grad_f32 {
    int64_t outer, axis, count, n;
    bool wide; /* indices are s64, else s32 */
} hn_gather_grad_f32;

enum { HN_GATHER_GRAD_DY, HN_GATHER_GRAD_INDEX, HN_GATHER_GRAD_DX, HN_GATHER_GRAD_OPERANDS_ };

extern const hn_family hn_gather_grad_f32_family;

/* Where index k points; -1: outside. */
static inline int64_t hn_gather_grad_at(const hn_gather_grad_f32 *p, const void *index, int64_t k) {
    int64_t i = p->wide ? ((const int64_t *)index)[k] : ((const int32_t *)index)[k];
    if (i < 0) i += p->axis;
    return i >= 0 && i < p->axis ? i : -1;
}

#endif

/* The elements an elementwise family runs over: lengths of axes, and how each operand walks them.
 *
 *   element (i, j, k) of operand o lies at i*stride[o][0] + j*stride[o][1] + k*stride[o][2]
 *
 * Strides are in elements, may be negative, and 0 repeats; those past the last operand are 0. */
#ifndef HN_KERNELS_SPACE_H
#define HN_KERNELS_SPACE_H

#include <stdint.h>

enum { HN_SPACE_RANK = 6, HN_SPACE_OPERANDS = 4 };

typedef struct hn_space {
    int rank, n; /* axes, 1 to 6; operands */
    int64_t dims[HN_SPACE_RANK];
    int64_t stride[HN_SPACE_OPERANDS][HN_SPACE_RANK];
} hn_space;

/* The same space with as few axes as it can have: they are ordered by the strides of operand `by`,
 * largest first, those of length 1 dropped, those that every operand walks as one joined. Rows
 * expect spaces in this form, and are slow otherwise. */
void hn_space_collapse(hn_space *s, int by);

/* Elements of the space. */
static inline int64_t hn_space_count(const hn_space *s) {
    int64_t n = 1;
    for (int i = 0; i < s->rank; i++) n *= s->dims[i];
    return n;
}

/* Where operand o has element number `at`, counted with the last axis fastest. */
static inline int64_t hn_space_offset(const hn_space *s, int o, int64_t at) {
    int64_t offset = 0;
    for (int i = s->rank - 1; i >= 0; i--) {
        offset += at % s->dims[i] * s->stride[o][i];
        at /= s->dims[i];
    }
    return offset;
}

#endif

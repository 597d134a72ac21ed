/* Spaces for the cases of elementwise families, and bytes to fill them with. */
#ifndef CHECK_SPACE_H
#define CHECK_SPACE_H

#include "check.h"
#include "kernels/space.h"

/* How an operand lies: whole and dense but for the axes it repeats along (bit i: axis i), with gaps
 * between its elements, with gaps between its rows alone, or with the last two axes exchanged. */
enum { SPACE_GAPS = 64, SPACE_PITCH = 128, SPACE_EXCHANGED = 256, SPACE_SINGLE = 63 };

static inline void space_strides(hn_space *s, int operand, int how) {
    int64_t next = how & SPACE_GAPS ? 2 : 1;
    int order[HN_SPACE_RANK];
    for (int i = 0; i < s->rank; i++) order[i] = i;
    if (how & SPACE_EXCHANGED) order[s->rank - 1] = s->rank - 2, order[s->rank - 2] = s->rank - 1;
    for (int i = s->rank - 1; i >= 0; i--) {
        int axis = order[i];
        s->stride[operand][axis] = how & 1 << axis ? 0 : next;
        if (how & 1 << axis) continue;
        next *= s->dims[axis] + (how & SPACE_GAPS ? 3 : 0);
        if (how & SPACE_PITCH && i == s->rank - 1) next += 5;
    }
}

/* Elements from the first to the last of an operand. */
static inline int64_t space_extent(const hn_space *s, int operand) {
    int64_t n = 1;
    for (int i = 0; i < s->rank; i++) {
        if (s->dims[i] == 0) return 0;
        n += (s->dims[i] - 1) * s->stride[operand][i];
    }
    return n;
}

/* Bytes of an 8-bit tensor: any, or those at the edges. */
static inline void space_fill_bytes(const check_operand *o, check_data kind, hn_rng *rng,
                                    void *data) {
    static const uint8_t edges[] = {0, 1, 126, 127, 128, 129, 254, 255};
    uint8_t *x = data;
    for (size_t i = 0; i < o->count; i++)
        x[i] = kind == CHECK_EXTREME ? edges[hn_rng_below(rng, sizeof edges)]
                                     : (uint8_t)hn_rng_below(rng, 256);
}

/* Shapes: every length of a row from one to past two vectors of 64, rows long and short, one row
 * longer than a task. */
static const int64_t space_shapes[][4] = {
    {1, 1, 1, 1},   {1, 1, 1, 3},  {2, 3, 5, 7},   {3, 2, 4, 15},  {1, 5, 3, 16},
    {2, 1, 3, 17},  {1, 2, 7, 24}, {1, 1, 9, 31},  {1, 3, 3, 33},  {2, 2, 3, 63},
    {1, 40, 3, 64}, {1, 1, 5, 65}, {1, 2, 3, 100}, {1, 3, 2, 127}, {2, 1, 2, 130},
    {1, 1, 1, 200}, {2, 2, 2, 96}, {1, 1, 700, 3}, {7, 5, 1, 1},   {1, 1, 1, 40003}};
enum { SPACE_SHAPES = sizeof space_shapes / sizeof *space_shapes };

static inline hn_space space_of(int n, const int64_t *dims) {
    return (hn_space){.rank = 4, .n = n, .dims = {dims[0], dims[1], dims[2], dims[3]}};
}

#endif

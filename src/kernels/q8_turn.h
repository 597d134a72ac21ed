/* Bytes between channels that lie in planes and channels that lie beside each other.
 *
 * HN_Q8_PLANES planes of HN_Q8_RUN positions are the buffer in the middle: elementwise families
 * fill its planes by vectors, or read them so, whatever the strides of the other side. Plain loops
 * of constant length, which compilers make shuffles of.
 */
#ifndef HN_KERNELS_Q8_TURN_H
#define HN_KERNELS_Q8_TURN_H

#include "kernels/space_rows.h"
#include "simd/bytes.h"

enum { HN_Q8_PLANES = 16, HN_Q8_RUN = 256 };

typedef uint8_t hn_q8_planes[HN_Q8_PLANES][HN_Q8_RUN];

/* Whether operand `outer` has neighbours along the axis before the last, `inner` along the last. */
static inline bool hn_q8_turns(const hn_space *s, int outer, int inner) {
    int last = s->rank - 1;
    return last > 0 && s->stride[outer][last - 1] == 1 && s->stride[inner][last] == 1 &&
           s->stride[outer][last] != 1;
}

/* Rows from the current one of a walk on that differ in the axis before the last alone. */
static inline int64_t hn_q8_run_of(const hn_walk *w) {
    int axis = w->s->rank - 2;
    int64_t left = w->s->dims[axis] - w->at[axis];
    return left < w->rows ? left : w->rows;
}

/* 16 rows of 16 bytes become columns: four times the halves are taken by turns. */
static inline void hn_q8_turn(uint8_t *restrict y, const uint8_t *restrict x) {
    uint8_t t[256];
    for (int i = 0; i < 128; i++) t[2 * i] = x[i], t[2 * i + 1] = x[128 + i];
    for (int i = 0; i < 128; i++) y[2 * i] = t[i], y[2 * i + 1] = t[128 + i];
    for (int i = 0; i < 128; i++) t[2 * i] = y[i], t[2 * i + 1] = y[128 + i];
    for (int i = 0; i < 128; i++) y[2 * i] = t[i], y[2 * i + 1] = t[128 + i];
}

/* n positions of three planes, which images have, beside each other in y; and back. Inlined, so
 * that a constant n is known. */
static inline __attribute__((always_inline)) void hn_q8_weave_3(const hn_q8_planes t, int64_t n,
                                                                uint8_t *restrict y) {
    for (int64_t i = 0; i < n; i++)
        y[3 * i] = t[0][i], y[3 * i + 1] = t[1][i], y[3 * i + 2] = t[2][i];
}

static inline __attribute__((always_inline)) void hn_q8_unweave_3(const uint8_t *restrict x,
                                                                  int64_t n, hn_q8_planes t) {
    for (int64_t i = 0; i < n; i++)
        t[0][i] = x[3 * i], t[1][i] = x[3 * i + 1], t[2][i] = x[3 * i + 2];
}

static inline void hn_q8_copy(uint8_t *to, const uint8_t *from, int64_t n) {
    if (n == HN_Q8_PLANES)
        memcpy(to, from, HN_Q8_PLANES);
    else
        hn_bytes_copy(to, from, n);
}

/* The first n positions of `planes` planes to y, positions `pixel` apart. */
static inline void hn_q8_weave(const hn_q8_planes t, int64_t planes, int64_t n, uint8_t *y,
                               int64_t pixel) {
    if (planes == 3 && pixel == 3) {
        if (n == HN_Q8_RUN)
            hn_q8_weave_3(t, HN_Q8_RUN, y);
        else
            hn_q8_weave_3(t, n, y);
        return;
    }
    for (int64_t q = 0; q < n; q += 16) {
        uint8_t rows[256], columns[256];
        for (int i = 0; i < HN_Q8_PLANES; i++) memcpy(rows + 16 * i, t[i] + q, 16);
        hn_q8_turn(columns, rows);
        for (int64_t i = 0; i < 16 && q + i < n; i++)
            hn_q8_copy(y + (q + i) * pixel, columns + 16 * i, planes);
    }
}

/* The other way: n positions of x, `planes` bytes of each. What lies beyond is of no meaning. */
static inline void hn_q8_unweave(const uint8_t *x, int64_t pixel, int64_t n, int64_t planes,
                                 hn_q8_planes t) {
    if (planes == 3 && pixel == 3) {
        if (n == HN_Q8_RUN)
            hn_q8_unweave_3(x, HN_Q8_RUN, t);
        else
            hn_q8_unweave_3(x, n, t);
        return;
    }
    uint8_t rows[256] = {0}, columns[256];
    for (int64_t q = 0; q < n; q += 16) {
        for (int64_t i = 0; i < 16 && q + i < n; i++)
            hn_q8_copy(rows + 16 * i, x + (q + i) * pixel, planes);
        hn_q8_turn(columns, rows);
        for (int i = 0; i < HN_Q8_PLANES; i++) memcpy(t[i] + q, columns + 16 * i, 16);
    }
}

#endif

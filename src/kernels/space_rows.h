/* A space cut into tasks, and the rows (the last axis) of a task one after the other.
 *
 * A task is a piece of one row, or several whole rows where these are short. */
#ifndef HN_KERNELS_SPACE_ROWS_H
#define HN_KERNELS_SPACE_ROWS_H

#include <stdbool.h>

#include "kernels/space.h"

enum { HN_ROWS_TASK = 16384 }; /* elements of a task, about */

typedef struct hn_rows {
    int64_t n, count;     /* elements of a row, rows */
    int64_t piece, group; /* elements of a row and rows in a task; one of them is all or 1 */
    int64_t pieces;       /* of a row */
    int64_t tasks;
} hn_rows;

static inline hn_rows hn_rows_of(const hn_space *s) {
    hn_rows r = {.n = s->dims[s->rank - 1], .count = 1, .pieces = 1};
    for (int i = 0; i < s->rank - 1; i++) r.count *= s->dims[i];
    if (r.n == 0 || r.count == 0) return (hn_rows){0};
    r.piece = r.n, r.group = 1;
    if (r.n <= HN_ROWS_TASK) {
        r.group = HN_ROWS_TASK / r.n;
    } else {
        r.pieces = (r.n + HN_ROWS_TASK - 1) / HN_ROWS_TASK;
        r.piece = ((r.n + r.pieces - 1) / r.pieces + 63) / 64 * 64;
        r.pieces = (r.n + r.piece - 1) / r.piece;
    }
    r.tasks = (r.count + r.group - 1) / r.group * r.pieces;
    return r;
}

/* Where the operands have the first element of the current row of a task. */
typedef struct hn_walk {
    const hn_space *s;
    int64_t rows, n; /* rows left, this one with them; elements of each */
    int64_t at[HN_SPACE_RANK], offset[HN_SPACE_OPERANDS];
} hn_walk;

static inline hn_walk hn_walk_of(const hn_space *s, const hn_rows *r, int64_t task) {
    int64_t row = task / r->pieces * r->group, first = task % r->pieces * r->piece;
    hn_walk w = {.s = s,
                 .rows = r->count - row < r->group ? r->count - row : r->group,
                 .n = r->n - first < r->piece ? r->n - first : r->piece};
    int last = s->rank - 1;
    for (int o = 0; o < s->n; o++) w.offset[o] = first * s->stride[o][last];
    for (int i = last - 1; i >= 0; i--) {
        w.at[i] = row % s->dims[i];
        row /= s->dims[i];
        for (int o = 0; o < s->n; o++) w.offset[o] += w.at[i] * s->stride[o][i];
    }
    return w;
}

/* For a constant number of operands: loops of unknown length become vectors that wait for what was
 * just stored in pieces, 100 cycles a row. */
static inline void hn_walk_next(hn_walk *w) {
    w->rows--;
    for (int i = w->s->rank - 2; i >= 0; i--) {
        bool more = ++w->at[i] < w->s->dims[i];
        int64_t step = more ? 1 : 1 - w->s->dims[i];
        for (int o = 0; o < HN_SPACE_OPERANDS; o++) w->offset[o] += step * w->s->stride[o][i];
        if (more) return;
        w->at[i] = 0;
    }
}

/* Past n rows that differ in the axis before the last alone. */
static inline void hn_walk_skip(hn_walk *w, int64_t n) {
    int axis = w->s->rank - 2;
    w->rows -= n - 1, w->at[axis] += n - 1;
    for (int o = 0; o < HN_SPACE_OPERANDS; o++) w->offset[o] += (n - 1) * w->s->stride[o][axis];
    hn_walk_next(w);
}

#endif

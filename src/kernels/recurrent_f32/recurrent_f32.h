/* recurrent_f32: the recurrence of RNN, GRU and LSTM layers, in one or both directions.
 *
 * X holds what the input gives each gate: x[t][b][d][gate][unit] = X[t][b] . W[d], computed for all
 * steps beforehand. For each direction d, each sequence b and each of its steps, with the bias bw
 * and br of every gate (0 where there is none), clip as `lim` and the activations f, g, k:
 *
 *   RNN    h = f(lim(x + bw + h.R + br))
 *   GRU    z, r = f(lim(x + bw + h.R + br))                             gates z, r, h
 *          h' = g(lim(x + bw + (r*h).R + br))   or, with linear_before_reset,
 *               g(lim(x + bw + r*(h.R + br)))
 *          h = (1 - z)*h' + z*h
 *   LSTM   i = f(lim(x + bw + h.R + br + pi*c))                         gates i, o, f, c
 *          u = 1 - i, with input_forget, else f(lim(x + bw + h.R + br + pf*c))
 *          c = u*c + i*g(lim(x + bw + h.R + br))
 *          o = f(lim(x + bw + h.R + br + po*c))
 *          h = o*k(c)
 *
 * y[t][d][b] is h after the step at time t, yh and yc are h and c after a sequence's last step. A
 * sequence of n steps takes times 0 to n - 1, or n - 1 to 0 when its direction runs backwards; y is
 * 0 at the times it does not have. Lengths are brought into [0, steps], and where that changes one,
 * `outside`, if it is there, is set to 1: kernels cannot fail, so the caller clears it before and
 * looks at it after.
 *
 * Strides are in floats; units are adjacent but in h0 and c0. Outputs overlap nothing.
 *
 * Error: that of sums of `hidden` products in f32, in the order the row names, carried from step to
 * step.
 */
#ifndef HN_KERNELS_RECURRENT_F32_H
#define HN_KERNELS_RECURRENT_F32_H

#include "kernels/act.h"
#include "kernels/kernel.h"

typedef enum hn_recurrent_kind {
    HN_RECURRENT_RNN,
    HN_RECURRENT_GRU,
    HN_RECURRENT_LSTM
} hn_recurrent_kind;

typedef struct hn_recurrent_state {
    int64_t dir, row, unit;
} hn_recurrent_state;

typedef struct hn_recurrent_f32 {
    hn_recurrent_kind kind;
    int64_t steps, batch, hidden; /* 1 or more */
    int64_t dirs;                 /* 1 or 2; the second runs backwards */
    bool backwards;               /* and so does the first */
    int64_t x_step, x_row;        /* of [dirs][gates][hidden] */
    int64_t y_step, y_dir, y_row;
    hn_recurrent_state h0, c0; /* strides of the initial states */
    int64_t out_dir, out_row;  /* of yh and yc */
    hn_act act[2][3];          /* by direction: f, g, k */
    float clip;                /* infinite: none */
    bool linear_before_reset, input_forget;
    bool exact_h; /* of recurrent_q8: h is not brought to 8 bits */
} hn_recurrent_f32;

/* Operands. X, and R, the constant one: [dirs][gates*hidden][hidden]. The others may be NULL:
 * B [dirs][2][gates*hidden], first bw, then br; lengths, s32 [batch]; h0, c0;
 * P [dirs][3][hidden]: pi, po, pf; outside, one s32; scales, of recurrent_q8 alone. */
enum {
    HN_RECURRENT_X,
    HN_RECURRENT_R,
    HN_RECURRENT_B,
    HN_RECURRENT_LENGTHS,
    HN_RECURRENT_H0,
    HN_RECURRENT_C0,
    HN_RECURRENT_P,
    HN_RECURRENT_Y,
    HN_RECURRENT_YH,
    HN_RECURRENT_YC,
    HN_RECURRENT_OUTSIDE,
    HN_RECURRENT_SCALES,
    HN_RECURRENT_OPERANDS_
};

static inline int hn_recurrent_gates(hn_recurrent_kind kind) {
    return kind == HN_RECURRENT_RNN ? 1 : kind == HN_RECURRENT_GRU ? 3 : 4;
}

extern const hn_family hn_recurrent_f32_family;

#endif

/* Cases of recurrent_f32: the three kinds of layer around every vector length, tiles of sequences,
 * directions, each operand that may be absent, sequences of their own lengths; layers of real
 * models for timing. */
#include "kernels/recurrent_f32/recurrent_f32.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check.h"

enum {
    BIAS = 1,
    INITIAL = 2,
    LENGTHS = 4, /* and the flag, which some of them set */
    PEEPHOLES = 8,
    CLIP = 16,
    BACKWARDS = 32,
    BOTH = 64,
    COUPLED = 128,
    LINEAR = 256,
    BATCH_FIRST = 512,
    NO_Y = 1024,
    NO_LAST = 2048,
    OTHER_ACTS = 4096,
    BENCH = 8192
};

#define RNN HN_RECURRENT_RNN
#define GRU HN_RECURRENT_GRU
#define LSTM HN_RECURRENT_LSTM

static const hn_act usual[3] = {{HN_ACT_SIGMOID, 0, 0}, {HN_ACT_TANH, 0, 0}, {HN_ACT_TANH, 0, 0}};
static const hn_act other[3] = {
    {HN_ACT_HARD_SIGMOID, 0.2F, 0.5F}, {HN_ACT_CLIP, 0, INFINITY}, {HN_ACT_LEAKY, 0.1F, 0}};

static void add(check_list *list, hn_recurrent_kind kind, int64_t steps, int64_t batch,
                int64_t hidden, int flags) {
    static const char *const names[] = {"rnn", "gru", "lstm"};
    int64_t dirs = flags & BOTH ? 2 : 1, gates = hn_recurrent_gates(kind) * hidden;
    hn_recurrent_f32 p = {.kind = kind,
                          .steps = steps,
                          .batch = batch,
                          .hidden = hidden,
                          .dirs = dirs,
                          .backwards = (flags & BACKWARDS) != 0,
                          .x_step = batch * dirs * gates,
                          .x_row = dirs * gates,
                          .y_step = dirs * batch * hidden,
                          .y_dir = batch * hidden,
                          .y_row = hidden,
                          .h0 = {batch * hidden, hidden, 1},
                          .c0 = {hidden, dirs * hidden, 1},
                          .out_dir = batch * hidden,
                          .out_row = hidden,
                          .clip = flags & CLIP ? 0.4F : INFINITY,
                          .linear_before_reset = (flags & LINEAR) != 0,
                          .input_forget = (flags & COUPLED) != 0};
    if (flags & BATCH_FIRST) {
        p.x_step = dirs * gates, p.x_row = steps * dirs * gates;
        p.y_row = steps * dirs * hidden, p.y_step = dirs * hidden, p.y_dir = hidden;
        p.h0 = (hn_recurrent_state){1, dirs * hidden, dirs}; /* units apart */
        p.out_dir = hidden, p.out_row = dirs * hidden;
    }
    for (int d = 0; d < 2; d++) memcpy(p.act[d], flags & OTHER_ACTS ? other : usual, sizeof usual);
    if (kind == RNN && (flags & OTHER_ACTS) == 0) p.act[0][0] = p.act[1][0] = usual[1];
    int64_t states = dirs * batch * hidden;
    check_case *c = check_add(list, "%s_%lldx%lldx%lld_%x", names[kind], (long long)steps,
                              (long long)batch, (long long)hidden, (unsigned)flags);
    memcpy(c->problem, &p, sizeof p);
    check_operand_add(c, CHECK_IN, CHECK_F32, steps * batch * dirs * gates);
    check_operand_add(c, CHECK_WEIGHTS, CHECK_F32, dirs * gates * hidden);
    check_operand_add(c, flags & BIAS ? CHECK_IN : CHECK_ABSENT, CHECK_F32, dirs * 2 * gates);
    check_operand_add(c, flags & LENGTHS ? CHECK_IN : CHECK_ABSENT, CHECK_I32, batch);
    check_operand_add(c, flags & INITIAL ? CHECK_IN : CHECK_ABSENT, CHECK_F32, states);
    bool c0 = flags & INITIAL && kind == LSTM;
    check_operand_add(c, c0 ? CHECK_IN : CHECK_ABSENT, CHECK_F32, states);
    check_operand_add(c, flags & PEEPHOLES ? CHECK_IN : CHECK_ABSENT, CHECK_F32, dirs * 3 * hidden);
    check_operand_add(c, flags & NO_Y ? CHECK_ABSENT : CHECK_OUT, CHECK_F32, steps * states);
    bool last = (flags & NO_LAST) == 0;
    check_operand_add(c, last ? CHECK_OUT : CHECK_ABSENT, CHECK_F32, states);
    check_operand_add(c, last && kind == LSTM ? CHECK_OUT : CHECK_ABSENT, CHECK_F32, states);
    check_operand_add(c, flags & LENGTHS ? CHECK_INOUT : CHECK_ABSENT, CHECK_I32, 1);
    check_operand_add(c, CHECK_ABSENT, CHECK_F32, 0); /* scales */
    /* Errors are those of the sums, which do not exceed hidden times the products' size, and of the
     * functions; with weights of this size (see fill) a step hardly makes the state's error grow.
     */
    c->abs = 4e-6 + 1e-8 * (double)hidden;
    c->rel = 64;
    c->bench = (flags & BENCH) != 0;
    c->flops = 2.0 * (double)(steps * batch * dirs * gates * hidden);
    c->bytes = 4.0 * (double)(steps * dirs * gates * hidden); /* R, from its cache */
}

static void cases(check_list *list) {
    static const int64_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 47, 64, 65, 100};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        add(list, RNN, 5, 2, sizes[i], BIAS);
        add(list, GRU, 5, 1, sizes[i], BIAS | INITIAL);
        add(list, GRU, 4, 3, sizes[i], BIAS | LINEAR);
        add(list, LSTM, 5, 1, sizes[i], BIAS | INITIAL);
    }
    for (int64_t batch = 1; batch <= 14; batch++) {
        add(list, RNN, 3, batch, 37, BOTH);
        add(list, GRU, 3, batch, 21, INITIAL);
        add(list, LSTM, 3, batch, 35, BIAS);
    }
    static const int flags[] = {0,
                                BIAS,
                                BACKWARDS,
                                BACKWARDS | LENGTHS,
                                BOTH | BIAS,
                                BOTH | LENGTHS | INITIAL,
                                CLIP | BIAS,
                                OTHER_ACTS | BOTH,
                                BATCH_FIRST | INITIAL | BOTH,
                                BATCH_FIRST | INITIAL | LENGTHS,
                                LENGTHS | NO_Y,
                                LENGTHS | NO_LAST,
                                NO_Y | BOTH,
                                NO_LAST | BOTH};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        add(list, RNN, 7, 5, 24, flags[i]);
        add(list, GRU, 7, 5, 24, flags[i]);
        add(list, GRU, 7, 4, 19, flags[i] | LINEAR);
        add(list, LSTM, 7, 5, 24, flags[i]);
        add(list, LSTM, 7, 5, 19, flags[i] | PEEPHOLES);
        add(list, LSTM, 7, 3, 24, flags[i] | COUPLED);
    }
    /* Long enough steps for lanes to share one. */
    add(list, RNN, 3, 1, 340, BIAS | INITIAL);
    add(list, GRU, 3, 1, 200, BIAS | INITIAL);
    add(list, GRU, 3, 2, 190, LINEAR | BIAS | LENGTHS);
    add(list, LSTM, 3, 1, 170, BIAS | INITIAL | PEEPHOLES | LENGTHS);

    add(list, LSTM, 64, 1, 256, BIAS | BENCH);
    add(list, LSTM, 64, 8, 256, BIAS | BENCH);
    add(list, LSTM, 1, 1, 128, BIAS | INITIAL | BENCH);
    add(list, GRU, 64, 1, 256, BIAS | BENCH);
    add(list, GRU, 64, 1, 256, BIAS | LINEAR | BENCH);
    add(list, RNN, 64, 1, 512, BIAS | BENCH);
}

/* Weights small enough for states that neither saturate nor run away. No 1e15: sums that large make
 * of every rounding another state. */
static bool fill(const check_case *c, int operand, check_data kind, hn_rng *rng, void *data) {
    hn_recurrent_f32 p;
    memcpy(&p, c->problem, sizeof p);
    for (size_t i = 0; i < c->operand[operand].count; i++) {
        double u = 2 * hn_rng_f64(rng) - 1;
        if (operand == HN_RECURRENT_LENGTHS)
            ((int32_t *)data)[i] = (int32_t)hn_rng_below(rng, (uint64_t)p.steps + 3) - 1;
        else if (operand == HN_RECURRENT_OUTSIDE)
            ((int32_t *)data)[i] = 0;
        else if (operand == HN_RECURRENT_R)
            ((float *)data)[i] = (float)(u * 1.5 / sqrt((double)p.hidden));
        else if (kind == CHECK_EXTREME)
            ((float *)data)[i] = (float)(u * (i % 3 == 0 ? 30 : i % 3 == 1 ? 1e-40 : 0));
        else
            return false;
    }
    return true;
}

const check_family check_recurrent_f32 = {
    .family = &hn_recurrent_f32_family, .cases = cases, .fill = fill};

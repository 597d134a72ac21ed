/* Cases of recurrent_q8: RNN, GRU and LSTM around every vector length and tile of sequences, both
 * directions, lengths, what may be absent; layers of real models for timing. */
#include "kernels/recurrent_q8/recurrent_q8.h"

#include <math.h>
#include <string.h>

#include "check.h"

enum {
    BIAS = 1,
    INITIAL = 2,
    LENGTHS = 4,
    BOTH = 8,
    LINEAR = 16,
    OTHER_ACTS = 32,
    BENCH = 64,
    EXACT = 128
};

#define RNN HN_RECURRENT_RNN
#define GRU HN_RECURRENT_GRU
#define LSTM HN_RECURRENT_LSTM

/* Functions of 0 that are not 0: lanes behind the last unit hold something then. */
static const hn_act usual[3] = {{HN_ACT_SIGMOID, 0, 0}, {HN_ACT_TANH, 0, 0}, {HN_ACT_TANH, 0, 0}};
static const hn_act other[3] = {
    {HN_ACT_HARD_SIGMOID, 0.2F, 0.5F}, {HN_ACT_SIGMOID, 0, 0}, {HN_ACT_LEAKY, 0.1F, 0}};

static void add(check_list *list, hn_recurrent_kind kind, int64_t steps, int64_t batch,
                int64_t hidden, int flags) {
    int64_t dirs = flags & BOTH ? 2 : 1, gates = hn_recurrent_gates(kind) * hidden;
    int64_t states = dirs * batch * hidden;
    hn_recurrent_f32 p = {.kind = kind,
                          .steps = steps,
                          .batch = batch,
                          .hidden = hidden,
                          .dirs = dirs,
                          .x_step = batch * dirs * gates,
                          .x_row = dirs * gates,
                          .y_step = states,
                          .y_dir = batch * hidden,
                          .y_row = hidden,
                          .h0 = {batch * hidden, hidden, 1},
                          .c0 = {batch * hidden, hidden, 1},
                          .out_dir = batch * hidden,
                          .out_row = hidden,
                          .clip = INFINITY,
                          .linear_before_reset = (flags & LINEAR) != 0,
                          .exact_h = (flags & EXACT) != 0};
    for (int d = 0; d < 2; d++) memcpy(p.act[d], flags & OTHER_ACTS ? other : usual, sizeof usual);
    static const char *const names[] = {"rnn", "gru", "lstm"};
    if (kind == RNN && (flags & OTHER_ACTS) == 0) p.act[0][0] = p.act[1][0] = usual[1];
    check_case *c = check_add(list, "%s_%lldx%lldx%lld_%x", names[kind], (long long)steps,
                              (long long)batch, (long long)hidden, (unsigned)flags);
    memcpy(c->problem, &p, sizeof p);
    check_operand_add(c, CHECK_IN, CHECK_F32, steps * batch * dirs * gates);
    check_operand_add(c, CHECK_WEIGHTS, CHECK_U8, dirs * gates * hidden);
    check_operand_add(c, flags & BIAS ? CHECK_IN : CHECK_ABSENT, CHECK_F32, dirs * 2 * gates);
    check_operand_add(c, flags & LENGTHS ? CHECK_IN : CHECK_ABSENT, CHECK_I32, batch);
    check_operand_add(c, flags & INITIAL ? CHECK_IN : CHECK_ABSENT, CHECK_F32, states);
    bool c0 = flags & INITIAL && kind == LSTM;
    check_operand_add(c, c0 ? CHECK_IN : CHECK_ABSENT, CHECK_F32, states);
    check_operand_add(c, CHECK_ABSENT, CHECK_F32, 0);
    check_operand_add(c, CHECK_OUT, CHECK_F32, steps * states);
    check_operand_add(c, CHECK_OUT, CHECK_F32, states);
    check_operand_add(c, kind == LSTM ? CHECK_OUT : CHECK_ABSENT, CHECK_F32, states);
    check_operand_add(c, CHECK_ABSENT, CHECK_I32, 0);
    check_operand_add(c, CHECK_IN, CHECK_F32, dirs * gates);
    /* An h that lies in the middle between two integers may become either: a step of 1/127 times a
     * weight (see fill), at most a few of them in a step and carried on. */
    c->abs = 1.5 / 127 * 1.5 / sqrt((double)hidden);
    if (flags & EXACT) c->abs = 4e-6 + 1e-8 * (double)hidden; /* as recurrent_f32 */
    c->rel = 64;
    c->bench = (flags & BENCH) != 0;
    c->flops = 2.0 * (double)(steps * batch * dirs * gates * hidden);
    c->bytes = (double)(steps * dirs * gates * hidden); /* R, from its cache */
}

static void cases(check_list *list) {
    static const int64_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 47, 64, 65, 100};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        add(list, GRU, 4, 1, sizes[i], BIAS | INITIAL);
        add(list, GRU, 4, 3, sizes[i], BIAS | LINEAR);
        add(list, LSTM, 4, 1, sizes[i], BIAS | INITIAL);
    }
    for (int64_t batch = 1; batch <= 9; batch++) {
        add(list, GRU, 3, batch, 21, INITIAL);
        add(list, LSTM, 3, batch, 35, BIAS);
    }
    static const int flags[] = {0, LENGTHS, BOTH | BIAS, BOTH | LENGTHS | INITIAL,
                                OTHER_ACTS | BOTH};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        add(list, GRU, 5, 5, 24, flags[i]);
        add(list, GRU, 5, 4, 19, flags[i] | LINEAR);
        add(list, LSTM, 5, 5, 19, flags[i]);
    }
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        add(list, RNN, 2, 2, sizes[i], BIAS | INITIAL | EXACT); /* extremes make errors grow */
        add(list, GRU, 4, 1, sizes[i], BIAS | INITIAL | EXACT);
        add(list, LSTM, 4, 1, sizes[i], BIAS | INITIAL | EXACT);
    }
    for (int64_t batch = 1; batch <= 9; batch++) {
        add(list, RNN, 3, batch, 37, BOTH | EXACT);
        add(list, GRU, 3, batch, 21, LINEAR | EXACT);
        add(list, LSTM, 3, batch, 35, BIAS | EXACT);
    }
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        add(list, RNN, 5, 5, 24, flags[i] | EXACT);
        add(list, GRU, 5, 5, 24, flags[i] | EXACT);
        add(list, LSTM, 5, 5, 19, flags[i] | EXACT);
    }
    add(list, RNN, 2, 1, 2300, BIAS | INITIAL | EXACT); /* sums of words that need fewer bits */
    for (int64_t batch = 1; batch <= 16; batch *= 2) add(list, LSTM, 64, batch, 256, BIAS | BENCH);
    add(list, LSTM, 1, 1, 128, BIAS | INITIAL | BENCH);
    add(list, LSTM, 64, 1, 512, BIAS | BENCH);
    add(list, GRU, 64, 1, 256, BIAS | BENCH);
    add(list, LSTM, 64, 1, 256, BIAS | EXACT | BENCH);
    for (int64_t batch = 1; batch <= 16; batch *= 2)
        add(list, GRU, 64, batch, 512, BIAS | LINEAR | EXACT | BENCH);
}

/* Weights small enough for states that neither saturate nor run away, by scales that differ.
 */
static bool fill(const check_case *c, int operand, check_data kind, hn_rng *rng, void *data) {
    hn_recurrent_f32 p;
    memcpy(&p, c->problem, sizeof p);
    for (size_t i = 0; i < c->operand[operand].count; i++) {
        double u = 2 * hn_rng_f64(rng) - 1;
        if (operand == HN_RECURRENT_LENGTHS)
            ((int32_t *)data)[i] = (int32_t)hn_rng_below(rng, (uint64_t)p.steps + 1);
        else if (operand == HN_RECURRENT_SCALES)
            ((float *)data)[i] = (float)((1.25 + 0.25 * u) / 127 / sqrt((double)p.hidden));
        else if (operand == HN_RECURRENT_R)
            ((int8_t *)data)[i] = (int8_t)(kind == CHECK_EXTREME ? i % 2 ? 127 : -128 : 127 * u);
        else if (kind != CHECK_RANDOM)
            ((float *)data)[i] = (float)(u * (i % 3 == 0 ? 3 : i % 3 == 1 ? 1e-40 : 0));
        else
            return false;
    }
    return true;
}

const check_family check_recurrent_q8 = {
    .family = &hn_recurrent_q8_family, .precision = "int8", .cases = cases, .fill = fill};

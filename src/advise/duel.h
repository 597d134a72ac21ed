/* Which of two programs is faster, and how sure that is.
 *
 * The programs take turns, so that whatever disturbs the machine disturbs both. A round of turns
 * compares the fastest runs of each, since a disturbance only ever adds time. A duel is at least
 * two rounds. A round is calm if the core had its full pace (measure/timing.h) and no thread lost
 * its core during the fastest runs. Two calm rounds that agree settle a duel; without them it goes
 * on to HN_MOST_ROUNDS rounds.
 *
 *     doubt = the largest disagreement between rounds, and at least HN_DISTURBED without two calm
 *             rounds
 *
 * More rounds can therefore raise the doubt, not only lower it. Rounds that are not calm count
 * only where there are no two calm ones.
 */
#ifndef HN_ADVISE_DUEL_H
#define HN_ADVISE_DUEL_H

#include "measure/program.h"

typedef struct hn_round {
    int64_t runs;     /* of each, or more */
    double ms[2];     /* medians */
    double least[2];  /* the fastest runs */
    bool calm;        /* nothing was seen to disturb it */
    double best_pace; /* in and out: of the machine, the best seen so far; 0: none */
} hn_round;

/* in[]: a tensor per input, NULL for its default. For about that many seconds, at least 3 and at
 * most 8192 runs of each. */
typedef hone_status hn_round_fn(hn_round *r, hn_program *a, hn_program *b,
                                const hn_tensor *const *in, int n_outputs, double seconds,
                                hn_allocator *alloc, hn_error *err);
hn_round_fn hn_round_run;

/* Rounds put together; all zero: none. */
typedef struct hn_rounds {
    int n;
    double least[2];
    double low, high; /* of how many times as long the first takes, round by round */
} hn_rounds;

typedef struct hn_duel {
    double ms[2]; /* the least of the medians */
    hn_rounds all, calm;
} hn_duel;

enum { HN_MOST_ROUNDS = 8 };
#define HN_DOUBTFUL 0.05 /* a doubt that people are told of */
#define HN_DISTURBED 0.1 /* the least doubt of a duel without two calm rounds */
/* Speeds that differ by less are equal: programs that are equal were seen to differ by up to 5 % on
 * a busy machine though two calm rounds agreed. */
#define HN_LEAST_DIFFERENCE 0.05

void hn_duel_add(hn_duel *d, const hn_round *r);
/* Whether another round is wanted. */
bool hn_duel_is_open(const hn_duel *d);
/* By what share of the measured speed rounds disagree. */
double hn_duel_doubt(const hn_duel *d);
/* How many times as fast as the first program the second is; 1 if that cannot be told apart from
 * 1: it differs by no more than HN_LEAST_DIFFERENCE and the doubt. */
double hn_duel_speed(const hn_duel *d);

#endif

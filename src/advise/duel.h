/* Which of two programs is faster: they take turns, so that whatever disturbs the machine disturbs
 * both. */
#ifndef HN_ADVISE_DUEL_H
#define HN_ADVISE_DUEL_H

#include "measure/program.h"

typedef struct hn_duel {
    int64_t runs; /* of each */
    double ms[2]; /* medians */
    double ratio; /* of the fastest runs: how many times as long the first takes */
    bool slower;  /* the second, by more than what the fastest runs disagree by */
} hn_duel;

/* in[]: a tensor per input, NULL for its default. For about that many seconds, at least 5 and at
 * most 400 runs of each. */
typedef hone_status hn_duel_fn(hn_duel *d, hn_program *a, hn_program *b, const hn_tensor *const *in,
                               int n_outputs, double seconds, hn_allocator *alloc, hn_error *err);
hn_duel_fn hn_duel_run;

#endif

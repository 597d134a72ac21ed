/* Which of two programs is faster: they take turns, so that whatever disturbs the machine disturbs
 * both. */
#ifndef HN_ADVISE_DUEL_H
#define HN_ADVISE_DUEL_H

#include "measure/program.h"

typedef struct hn_duel {
    int64_t runs;    /* of each, or more */
    double ms[2];    /* medians */
    double least[2]; /* the fastest runs */
    double ratio;    /* of these: how many times as long the first takes */
    double spread;   /* by how much the ratios of its two halves differ */
    bool slower;     /* the second, by more than what the fastest runs disagree by */
} hn_duel;

/* in[]: a tensor per input, NULL for its default. For about that many seconds, at least 5 and at
 * most 8192 runs of each. */
typedef hone_status hn_duel_fn(hn_duel *d, hn_program *a, hn_program *b, const hn_tensor *const *in,
                               int n_outputs, double seconds, hn_allocator *alloc, hn_error *err);
hn_duel_fn hn_duel_run;

/* What two duels of the same programs say together. */
void hn_duel_join(hn_duel *d, const hn_duel *more);
/* By what share the ratios of its two halves differ. */
double hn_duel_doubt(const hn_duel *d);
/* Whether that is more than the programs themselves differ by and 1 %, or more than HN_DOUBTFUL:
 * then somebody else was on the machine, and it is worth repeating. */
#define HN_DOUBTFUL 0.05
bool hn_duel_is_unsettled(const hn_duel *d);

#endif

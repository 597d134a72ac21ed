/* What `hone optimize` tries, the gentlest first: rows that become recipes. */
#ifndef HN_ADVISE_CANDIDATES_H
#define HN_ADVISE_CANDIDATES_H

#include "compress/compression.h"

typedef enum hn_candidate_when {
    HN_WHEN_ALWAYS,
    HN_WHEN_BROKEN,         /* int8 was tried, and broke the gate */
    HN_WHEN_7_BITS_GAIN,    /* the CPU multiplies weights of 7 bits faster than those of 8, with
                            which the gate held */
    HN_WHEN_BEST,           /* int8 of some kind is the best so far: it is made of that */
    HN_WHEN_TRAINED,        /* there is time to train it */
    HN_WHEN_TRAINED_BROKEN, /* likewise, and int8 broke the gate */
} hn_candidate_when;

typedef struct hn_candidate {
    const char *name, *help;
    const char *remedy; /* of strategy.def: what is expected of it */
    hn_candidate_when when;
    const char *recipe; /* what is done, in the language of compress/recipe.h */
    bool exact;         /* computes the same but for rounding: no gate is needed */
} hn_candidate;

const hn_candidate *hn_candidate_at(int i); /* NULL: there are no more */
static inline bool hn_candidate_trains(const hn_candidate *c) {
    return c->when == HN_WHEN_TRAINED || c->when == HN_WHEN_TRAINED_BROKEN;
}
/* Its recipe in the arena, and what that comes to. */
hone_status hn_candidate_recipe(const hn_candidate *c, uint64_t seed, hn_arena *arena, hn_recipe *r,
                                hn_compress_plan *plan, hn_error *err);

#endif

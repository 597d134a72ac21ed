/* What `hone optimize` tries, the gentlest first: rows that become recipes. */
#ifndef HN_ADVISE_CANDIDATES_H
#define HN_ADVISE_CANDIDATES_H

#include "advise/recipe.h"

typedef enum hn_candidate_when {
    HN_WHEN_ALWAYS,
    HN_WHEN_BROKEN, /* int8 was tried, and broke the gate */
    HN_WHEN_BEST,   /* int8 of some kind is the best so far: it is made of that */
} hn_candidate_when;

typedef struct hn_candidate {
    const char *name, *help;
    const char *remedy; /* of strategy.def: what is expected of it */
    hn_candidate_when when;
    const char *type; /* of layers: a name of layer_types.def */
    hn_range_method ranges;
    const char *methods; /* separated by commas; "": none */
    bool exact;          /* computes the same but for rounding: no gate is needed */
    const char *mix;     /* the type that single layers have instead, as many as bear it */
} hn_candidate;

const hn_candidate *hn_candidate_at(int i); /* NULL: there are no more */
hone_status hn_candidate_recipe(const hn_candidate *c, uint64_t seed, hn_recipe *r, hn_error *err);

#endif

/* One choice per layer, so that all together cost little and do little harm.
 *
 * Harm and cost are numbers that add up over layers. Of one layer, only choices on the lower convex
 * hull are worth anything: from the choice of least harm, each costs less than the one before, and
 * saves less per harm it adds.
 *
 *     cost  a                        a, c, d: the hull
 *           |  b                     b: half way to c saves less than half of what c saves
 *           |
 *           |    c
 *           |           d
 *           +------------- harm
 *
 * Moves along the hulls of all layers, those that save most per harm first, lead from the gentlest
 * set of choices to the cheapest one. Every set on the way is the cheapest for the harm it does, as
 * far as moves are small: that is the front a budget is read off.
 */
#ifndef HN_COMPRESS_BUDGET_H
#define HN_COMPRESS_BUDGET_H

#include "base/alloc.h"
#include "base/error.h"

/* harm below 0 or not finite, or a cost that is not: the layer has no such choice. */
typedef struct hn_budget_choice {
    double harm, cost;
} hn_budget_choice;

typedef struct hn_budget_move {
    int layer, to;
    double harm, cost; /* of all layers, when it is made */
} hn_budget_move;

/* choices: n_choices for each of n_layers; each layer has one at least. first[]: the choice each
 * layer begins with. moves[]: room for n_layers * (n_choices - 1). The same numbers give the same
 * moves; of moves that save the same, the one of the earlier layer comes first. */
hone_status hn_budget_moves(const hn_budget_choice *choices, int n_layers, int n_choices,
                            hn_allocator *alloc, int *first, hn_budget_move *moves, int *n_moves,
                            hn_error *err);

#endif

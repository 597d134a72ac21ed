#include "compress/budget.h"

#include <math.h>
#include <stdlib.h>

static bool is_choice(const hn_budget_choice *c) {
    return isfinite(c->harm) && c->harm >= 0 && isfinite(c->cost);
}

/* The gentlest; of several the cheapest. -1: there is none. */
static int gentlest(const hn_budget_choice *c, int n) {
    int best = -1;
    for (int i = 0; i < n; i++)
        if (is_choice(&c[i]) && (best < 0 || c[i].harm < c[best].harm ||
                                 (c[i].harm == c[best].harm && c[i].cost < c[best].cost)))
            best = i;
    return best;
}

/* What a move saves for each unit of harm it adds; infinite: it adds none. */
static double worth(const hn_budget_choice *from, const hn_budget_choice *to) {
    double harm = to->harm - from->harm;
    return harm > 0 ? (from->cost - to->cost) / harm : INFINITY;
}

/* The next on the hull after `at`: the choice that saves most per harm. -1: nothing saves. */
static int next_on_hull(const hn_budget_choice *c, int n, int at) {
    int best = -1;
    double most = 0;
    for (int i = 0; i < n; i++) {
        if (!is_choice(&c[i]) || c[i].harm < c[at].harm || c[i].cost >= c[at].cost) continue;
        double w = worth(&c[at], &c[i]);
        if (best < 0 || w > most || (w == most && c[i].cost < c[best].cost)) {
            best = i;
            most = w;
        }
    }
    return best;
}

typedef struct step {
    int layer, to, order; /* order: along the layer's hull */
    double harm, cost;    /* that it adds */
    double worth;
} step;

static int by_worth(const void *a, const void *b) {
    const step *x = a, *y = b;
    if (x->worth != y->worth) return x->worth > y->worth ? -1 : 1;
    if (x->layer != y->layer) return x->layer < y->layer ? -1 : 1;
    return x->order - y->order;
}

hone_status hn_budget_moves(const hn_budget_choice *choices, int n_layers, int n_choices,
                            hn_allocator *alloc, int *first, hn_budget_move *moves, int *n_moves,
                            hn_error *err) {
    size_t room = (size_t)n_layers * (size_t)n_choices;
    step *steps = hn_alloc_array(alloc, room + 1, sizeof *steps, HN_MEM_OTHER);
    if (steps == NULL) return HN_NOMEM(err);
    double harm = 0, cost = 0;
    int n = 0;
    for (int l = 0; l < n_layers; l++) {
        const hn_budget_choice *c = choices + (size_t)l * (size_t)n_choices;
        int at = first[l] = gentlest(c, n_choices);
        harm += c[at].harm;
        cost += c[at].cost;
        for (int k = 0, to; (to = next_on_hull(c, n_choices, at)) >= 0; at = to, k++)
            steps[n++] = (step){.layer = l,
                                .to = to,
                                .order = k,
                                .harm = c[to].harm - c[at].harm,
                                .cost = c[to].cost - c[at].cost,
                                .worth = worth(&c[at], &c[to])};
    }
    if (n > 0) qsort(steps, (size_t)n, sizeof *steps, by_worth);
    for (int i = 0; i < n; i++) {
        harm += steps[i].harm;
        cost += steps[i].cost;
        moves[i] = (hn_budget_move){steps[i].layer, steps[i].to, harm, cost};
    }
    *n_moves = n;
    hn_free(alloc, steps);
    return HONE_OK;
}

/* Optimizers: how a parameter changes by its gradient, as nodes. One row each.
 *
 * What the schedule says comes as HN_RATES numbers with each step, so that a step does not know
 * which one it is.
 */
#ifndef HN_TRAIN_OPTIMIZER_H
#define HN_TRAIN_OPTIMIZER_H

#include "ops/grad.h"

/* The learning rate; it divided by 1 - beta1^t, and 1 / sqrt(1 - beta2^t), for step t from 1 on. */
enum { HN_RATE, HN_RATE_FIRST, HN_RATE_SECOND, HN_RATES };
enum { HN_MOST_MOMENTS = 2 };

typedef struct hn_optimizer_options {
    double momentum;     /* sgd; default 0.9 */
    double beta1, beta2; /* adam: 0.9, 0.999 */
    double epsilon;      /* adam: 1e-8 */
    double decay;        /* of weights: not of norms, biases and other vectors */
    bool nesterov;
} hn_optimizer_options;

/* One parameter, and what it becomes. */
typedef struct hn_update {
    hn_value *p, *gradient;
    hn_value *rate[HN_RATES];
    double decay; /* that holds for it */
    hn_value *moment[HN_MOST_MOMENTS];
    hn_value *p_next, *moment_next[HN_MOST_MOMENTS];
} hn_update;

typedef struct hn_optimizer {
    const char *name, *help;
    double rate; /* the usual learning rate */
    bool steady; /* how far a step goes does not depend on the size of the gradient */
    /* How many moments it keeps for each parameter. */
    int (*moments)(const hn_optimizer_options *o);
    void (*emit)(hn_grad *g, const hn_optimizer_options *o, hn_update *u);
} hn_optimizer;

extern const hn_optimizer *const hn_optimizers[];
extern const int hn_n_optimizers;
/* The error lists the rows. */
hone_status hn_optimizer_find(const char *name, const hn_optimizer **out, hn_error *err);
hn_optimizer_options hn_optimizer_defaults(void);
/* What a step t, counted from 1, is given. */
void hn_optimizer_rates(const hn_optimizer_options *o, double rate, int64_t t,
                        float rates[HN_RATES]);

#endif

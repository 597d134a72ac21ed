/* Losses: from what a model gives and what it should give to one number, as nodes. One row each. */
#ifndef HN_TRAIN_LOSS_H
#define HN_TRAIN_LOSS_H

#include "ops/grad.h"

typedef struct hn_loss_options {
    double smoothing; /* of labels: that share of the weight is spread over all classes */
    double delta;     /* huber: errors up to it count by their squares */
} hn_loss_options;

typedef struct hn_loss {
    const char *name, *help;
    bool labels; /* takes one integer for each sample; else values like the output */
    /* The loss of an output of these sizes. */
    hn_value *(*emit)(hn_grad *g, hn_value *y, int rank, const int64_t *dims, hn_value *target,
                      const hn_loss_options *o);
} hn_loss;

extern const hn_loss *const hn_losses[];
extern const int hn_n_losses;
/* The error lists the rows. */
hone_status hn_loss_find(const char *name, const hn_loss **out, hn_error *err);

#endif

/* Losses: from what a model gives and what it should give to one number, as nodes. One row each. */
#ifndef HN_TRAIN_LOSS_H
#define HN_TRAIN_LOSS_H

#include "ops/grad.h"

typedef struct hn_loss_options {
    double smoothing;   /* of labels: that share of the weight is spread over all classes */
    double delta;       /* huber: errors up to it count by their squares */
    double temperature; /* kl: scores are divided by it; 0 counts as 1 */
    /* cross-entropy: what each class counts, n_weights of them; 0: all the same. */
    int64_t n_weights;
    const float *weights;
} hn_loss_options;

typedef struct hn_loss {
    const char *name, *help;
    bool labels;  /* takes one integer for each sample; else values like the output */
    bool classes; /* axis 1 of the output is what it compares along */
    /* The loss of an output of these sizes. */
    hn_value *(*emit)(hn_grad *g, hn_value *y, int rank, const int64_t *dims, hn_value *target,
                      const hn_loss_options *o);
    /* Of a teacher's output what the student's is held against, at a temperature; NULL: itself. */
    hn_value *(*answer)(hn_grad *g, hn_value *y, double temperature);
    /* The loss by that; NULL: as by targets. counted: of losses along classes, the rows that count,
     * as truths; the others add 0 to the mean. NULL: all do. */
    hn_value *(*soft)(hn_grad *g, hn_value *y, hn_value *answer, double temperature,
                      hn_value *counted);
} hn_loss;

extern const hn_loss *const hn_losses[];
extern const int hn_n_losses;
/* What losses are made of: the mean over all, and 1 - the cosine along an axis, likewise. */
hn_value *hn_loss_mean(hn_grad *g, hn_value *v);
hn_value *hn_loss_cosine(hn_grad *g, hn_value *a, hn_value *b, int axis);
/* What a loss takes of a model's output: f32 before it was narrowed to another type; by labels, the
 * scores behind a Softmax or LogSoftmax. */
hn_value *hn_loss_scores(hn_value *y, const hn_loss *loss);
/* Scores of images of one pixel, [N, classes, 1, 1], as [N, classes]; others as they are. */
hn_value *hn_loss_flat(hn_grad *g, hn_value *y, const hn_loss *loss);
/* The error lists the rows. */
hone_status hn_loss_find(const char *name, const hn_loss **out, hn_error *err);

#endif

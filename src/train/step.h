/* The graph of a training step: forward, loss, backward and update in one, which the engine
 * compiles to one plan.
 *
 *     data, labels ─▶ model ─▶ loss ─────────────▶ loss
 *     parameters ────▶  │       │
 *          │            ▼       ▼
 *          │         gradients of the parameters
 *          ▼            ▼
 *     rates ─▶ update ─▶ parameters', moments'    become the inputs of the next step
 *
 * Parameters, the optimizer's moments and running statistics are inputs of the graph that are paired
 * with an output (engine: hn_state_pair); where the plan allows it they are changed in place.
 *
 * A batch may be computed in parts, one after the other or by several processes. Then there are two
 * graphs: one for each part, whose gradients and statistics are added, and one for the update by
 * their mean.
 *
 * The model is simplified first, except that what is trained is never folded, so a model that
 * spells out its normalizations trains as one that has them. A BatchNormalization whose statistics
 * lie in the file normalizes by those of the batch, and moves the running ones. A Dropout drops
 * elements by the seed, its place in the graph and the number of the step, which is an input.
 */
#ifndef HN_TRAIN_STEP_H
#define HN_TRAIN_STEP_H

#include "engine/plan.h"
#include "train/distill.h"
#include "train/loss.h"
#include "train/optimizer.h"
#include "train/ranks.h"
#include "train/recompute.h"

/* Parameters whose names match learn at another rate. */
typedef struct hn_rate_scale {
    const char *pattern;
    double by;
} hn_rate_scale;

/* What a parameter keeps of its first value. */
typedef struct hn_step_keep {
    const char *name;
    bool zeros; /* elements that are 0 stay 0 */
    bool ties;  /* elements that are equal stay equal: they are one number in several places */
} hn_step_keep;

typedef struct hn_step_options {
    const hn_loss *loss; /* NULL: the one that suits model and data */
    hn_loss_options loss_options;
    const hn_optimizer *optimizer;
    hn_optimizer_options optimizer_options;
    int n_frozen;
    const char *const *frozen; /* patterns of parameters that stay as they are */
    bool frozen_statistics;    /* BatchNormalization as in the file */
    /* The rate is relative to the size of what it changes, channel by channel: for models whose
     * normalizations are folded into weights of all sizes. Scales have it so anyway. With optimizers
     * whose steps do not follow the size of the gradient. */
    bool relative;
    int n_scales;
    const hn_rate_scale *scales; /* the first that matches holds */
    int n_keeps;
    const hn_step_keep *keeps; /* parameters that are none of the model's are ignored */
    double clip;               /* gradients together are no longer than this; 0: they may be */
    double average;            /* parameters are also averaged over steps, by this decay; 0: not */
    hn_distill_options distill;
    int64_t parts;         /* that a batch is computed in, in all processes; sizes are those of a
                            * part. 0: all at once */
    const hn_ranks *ranks; /* with parts: the processes, each of which has as many of them */
    uint64_t seed;         /* of what Dropout drops */
    bool mixed;            /* each sample has two labels, the first in a share */
    int segments;          /* whose activations are computed twice, at most (recompute.h) */
} hn_step_options;

/* A value that is kept from step to step. */
typedef enum hn_kept_kind {
    HN_KEPT_PARAMETER,
    HN_KEPT_EXTRA, /* is trained, and is none of the model's */
    HN_KEPT_STATISTIC,
    HN_KEPT_MOMENT,
    HN_KEPT_AVERAGE, /* of a parameter; with a teacher of averages, also of a statistic */
} hn_kept_kind;
typedef struct hn_kept {
    hn_kept_kind kind;
    const char *name;       /* of the initializer; of a moment or average, of that it belongs to */
    const hn_tensor *first; /* NULL: zeros */
    bool scale;             /* of FakeQuantize: positive, and no weight */
    int input, output;      /* of the graph that updates */
    int read;               /* in parts: the input of a part's graph; -1: it does not read it */
    int average;            /* the kept value that is its average; -1: none */
    int64_t n;
} hn_kept;

/* In parts: an output of a part's graph, and the input of the update's for its sum over them. */
typedef struct hn_summed {
    int output, input;
    int64_t n;
} hn_summed;

typedef struct hn_train_step {
    hn_model *model;
    hn_model *update; /* in parts; NULL: the model does all */
    int n_summed;
    hn_summed *summed; /* in the arena of the model */
    int n_data;        /* inputs 0 .. are those of the model that have no default */
    int target;        /* the input for labels or targets; -1: none, teachers say all */
    int other;         /* of mixed samples with labels: the input for the second ones; -1: none */
    int share;         /* of those: the input for the share of the first ones, f32[1] */
    int view;          /* the input for the first input as teachers see it; -1: as the student */
    int rates;  /* the input for what the schedule says, f32[HN_RATES]; of the graph that updates */
    int number; /* the input for the number of the step, or of the part, s64; -1: nothing asks */
    int loss;   /* the output */
    const hn_loss *loss_kind;
    int n_kept;
    hn_kept *kept;        /* in the arena of the model */
    hn_state_pair *pairs; /* n_kept of them */
    int n_idle;           /* parameters that stay, since the loss does not read them, */
    const char *idle;     /* and the first one's name */
    bool averaged;        /* the model gets averages of its parameters */
    hn_recomputed twice;  /* what is computed twice */
} hn_train_step;

/* Whether a trained model has the value under the name of the kept. */
static inline bool hn_kept_in_model(const hn_train_step *s, const hn_kept *k) {
    if (k->kind == HN_KEPT_AVERAGE) return s->averaged;
    return (k->kind == HN_KEPT_PARAMETER || k->kind == HN_KEPT_STATISTIC) &&
           !(s->averaged && k->average >= 0);
}

/* sizes[i]: the sizes of input i of those that have no default, batch included. target: the type
 * and sizes of what samples are judged by; NULL: there are teachers alone. */
typedef struct hn_step_sizes {
    int rank;
    int64_t dims[HONE_MAX_RANK];
    hone_dtype dtype;
} hn_step_sizes;

/* m is only read, and must outlive the step; teachers need not. HONE_E_ARG: there is nothing to train, or a pattern
 * matches nothing. */
hone_status hn_train_step_create(hn_train_step **out, const hn_model *m, const hn_step_sizes *sizes,
                                 const hn_step_sizes *target, const hn_step_options *o,
                                 hn_allocator *alloc, hn_error *err);
void hn_train_step_destroy(hn_train_step *s); /* NULL accepted */

#endif

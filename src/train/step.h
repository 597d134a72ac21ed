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
 * The model is simplified first, except that what is trained is never folded, so a model that
 * spells out its normalizations trains as one that has them. A BatchNormalization whose statistics
 * lie in the file normalizes by those of the batch, and moves the running ones.
 */
#ifndef HN_TRAIN_STEP_H
#define HN_TRAIN_STEP_H

#include "engine/plan.h"
#include "train/loss.h"
#include "train/optimizer.h"

typedef struct hn_step_options {
    const hn_loss *loss; /* NULL: the one that suits model and data */
    hn_loss_options loss_options;
    const hn_optimizer *optimizer;
    hn_optimizer_options optimizer_options;
    int n_frozen;
    const char *const *frozen; /* patterns of parameters that stay as they are */
    bool frozen_statistics;    /* BatchNormalization as in the file */
} hn_step_options;

/* A value that is kept from step to step. */
typedef enum hn_kept_kind { HN_KEPT_PARAMETER, HN_KEPT_STATISTIC, HN_KEPT_MOMENT } hn_kept_kind;
typedef struct hn_kept {
    hn_kept_kind kind;
    const char *name;       /* of the initializer; of a moment, of that it belongs to */
    const hn_tensor *first; /* NULL: zeros */
    int input, output;      /* of the step's graph */
    int64_t n;
} hn_kept;

typedef struct hn_train_step {
    hn_model *model;
    int n_data; /* inputs 0 .. are those of the model that have no default */
    int target; /* the input for labels or targets */
    int rates;  /* the input for what the schedule says, f32[HN_RATES] */
    int loss;   /* the output */
    const hn_loss *loss_kind;
    int n_kept;
    hn_kept *kept;        /* in the arena of the model */
    hn_state_pair *pairs; /* n_kept of them */
} hn_train_step;

/* sizes[i]: the sizes of input i of those that have no default, batch included. target: the type
 * and sizes of what samples are judged by. */
typedef struct hn_step_sizes {
    int rank;
    int64_t dims[HONE_MAX_RANK];
    hone_dtype dtype;
} hn_step_sizes;

/* m is only read, and must outlive the step. HONE_E_ARG: there is nothing to train, or a pattern
 * matches nothing. */
hone_status hn_train_step_create(hn_train_step **out, const hn_model *m, const hn_step_sizes *sizes,
                                 const hn_step_sizes *target, const hn_step_options *o,
                                 hn_allocator *alloc, hn_error *err);
void hn_train_step_destroy(hn_train_step *s); /* NULL accepted */

#endif

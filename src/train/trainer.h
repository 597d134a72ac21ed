/* A model that is being trained: the plan of a step, and all that is kept between steps.
 *
 * Everything is planned when it is made, and allocated then and in the first step; nothing is from
 * then on. What a
 * step computes depends on the kept values, the batch and the rate alone, and is the same bits for
 * any number of threads.
 */
#ifndef HN_TRAIN_TRAINER_H
#define HN_TRAIN_TRAINER_H

#include "measure/program.h"
#include "train/step.h"

typedef struct hn_trainer hn_trainer;

/* m, `how`'s pool and what the options point to must outlive the trainer. */
hone_status hn_trainer_create(hn_trainer **out, const hn_model *m, const hn_step_sizes *sizes,
                              const hn_step_sizes *target, const hn_step_options *o,
                              const hn_run_options *how, hn_error *err);
void hn_trainer_destroy(hn_trainer *t); /* NULL accepted */
/* What hn_trainer_planned of such a trainer would say, nearly, where that is more than its allocator
 * allows; 0: not known. */
hone_status hn_trainer_need(size_t *bytes, hn_recomputed *twice, const hn_model *m,
                            const hn_step_sizes *sizes, const hn_step_sizes *target,
                            const hn_step_options *o, const hn_run_options *how, hn_error *err);

/* One step: in[] has the data inputs, in their order. *loss is that of the batch before the update.
 * Of a trainer with parts: one part; the last of this process makes the step, and sets the loss.
 * HONE_E_ARG: it is not finite; the error names the first value of the step that is not, and all
 * that is kept is as it was before. */
hone_status hn_trainer_step(hn_trainer *t, const hn_tensor *const *in, const hn_tensor *target,
                            double rate, double *loss, hn_error *err);
/* Before a step of mixed samples with labels: the second ones, and the share of the first ones. */
void hn_trainer_mix(hn_trainer *t, const hn_tensor *other, double share);
/* Before a step whose teachers have a view of their own: the first input as they see it. */
void hn_trainer_set_view(hn_trainer *t, const hn_tensor *view);
const hn_train_step *hn_trainer_graph(const hn_trainer *t);
/* Bytes that the allocator will have handed out at most once the first step is done, batches not
 * counted; 0: not known. */
size_t hn_trainer_planned(const hn_trainer *t);

/* The values as they are now, by index of the kept; for checkpoints. They stay the trainer's. */
float *hn_trainer_value(hn_trainer *t, int kept);
void hn_trainer_set_steps(hn_trainer *t, int64_t steps);
/* Puts the trained parameters and statistics into m, a copy of the model. HONE_E_ARG: one of them is
 * not finite. */
hone_status hn_trainer_store(hn_trainer *t, hn_model *m, hn_error *err);

#endif

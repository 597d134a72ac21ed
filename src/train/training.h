/* A course of training: a trainer, the data it goes through, and where it is.
 *
 * An epoch is as many whole batches as the dataset has, in an order that depends on the seed and the
 * epoch; samples that do not fill a batch wait for another epoch. All is a function of the model,
 * the data, the options and the step, so that a course that is stopped and taken up again gives the
 * same bytes as one that is not.
 *
 * A checkpoint is the model as it is then, an ordinary ONNX file, which beside its parameters holds
 * the optimizer's moments as initializers that no node reads, and in its metadata the step and how
 * it is trained (hone.train.*). It is written to another file first and renamed.
 */
#ifndef HN_TRAIN_TRAINING_H
#define HN_TRAIN_TRAINING_H

#include "formats/dataset.h"
#include "train/augment.h"
#include "train/schedule.h"
#include "train/trainer.h"

typedef struct hn_training_options {
    hn_step_options step;
    const hn_schedule *schedule;
    hn_schedule_options rates; /* steps and warmup are found */
    double warmup;             /* epochs */
    int64_t batch, epochs;
    uint64_t seed;
    const char *augment; /* hn_augment; may be NULL */
    /* The same for teachers, who then have a view of their own; NULL: they see what the student
     * does. step.distill.viewed is found by it. */
    const char *teacher_augment;
    bool balanced; /* classes count the more the rarer they are */
    int readers;   /* threads that read and augment samples ahead; 0: none */
    /* step.parts: into how many parts a batch falls; 0: one for each process that mpirun started, or
     * all at once. step.ranks is found. */
} hn_training_options;

typedef struct hn_training hn_training;

/* m, data and what `how` and the options point to must outlive it. */
hone_status hn_training_create(hn_training **out, const hn_model *m, hn_dataset *data,
                               const hn_training_options *o, const hn_run_options *how,
                               hn_error *err);
void hn_training_destroy(hn_training *t); /* NULL accepted */

typedef struct hn_training_place {
    int64_t step, steps;   /* done, and in all */
    int64_t epoch, epochs; /* done */
    int64_t in_epoch;      /* steps done of the next one */
    int64_t per_epoch;
    int64_t samples;     /* of a step */
    double loss;         /* of the last step */
    double epoch_loss;   /* mean over the steps of the current epoch, or of the last one */
    double rate;         /* of the last step */
    int64_t parts;       /* of a step, in all processes */
    size_t planned;      /* bytes that the allocator will have handed out at most; 0: not known */
    hn_recomputed twice; /* of each step, so that planned is within the allocator's limit */
} hn_training_place;
hn_training_place hn_training_at(const hn_training *t);
/* The next step. HONE_E_ARG where the loss is not finite, or all steps are done. */
hone_status hn_training_step(hn_training *t, hn_error *err);
hn_trainer *hn_training_trainer(hn_training *t);
/* The processes that train together. Only the first saves and speaks. */
const hn_ranks *hn_training_ranks(const hn_training *t);
/* All steps that are wanted are done: the other processes are not waited for any more. */
void hn_training_end(hn_training *t);

/* A copy of the model with what was trained so far. */
hone_status hn_training_model(hn_training *t, hn_model **out, hn_error *err);
/* Writes a checkpoint. Neither gives or writes anything where a parameter is not finite: HONE_E_ARG.
 */
hone_status hn_training_save(hn_training *t, const char *path, hn_error *err);
/* HONE_E_ARG: the checkpoint is of another model, other options or another version. */
hone_status hn_training_resume(hn_training *t, const char *path, hn_error *err);

#endif

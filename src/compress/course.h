/* Training as a step of a compression: what `qat` and `train` share.
 *
 * A course trains a model for some epochs on all samples there are. With samples to judge by, what
 * would be written after each epoch is run on them, and the best is kept, that before training
 * included. Each epoch is told (hn_training_told).
 */
#ifndef HN_COMPRESS_COURSE_H
#define HN_COMPRESS_COURSE_H

#include "compress/recipe.h"
#include "train/training.h"

/* Parameters of every transform that trains; `rates` says what `rate` usually is. */
/* clang-format off */
#define HN_COURSE_PARAMETERS(epochs, rates)                                                                          \
    {"epochs", HN_PARAM_COUNT, epochs, "how often to go through the data", 1, 1e6, NULL, false},                     \
    {"batch", HN_PARAM_COUNT, "64", "samples of a step", 1, 1e6, NULL, false},                                       \
    {"rate", HN_PARAM_NUMBER, NULL, "the highest learning rate; usually " rates, 1e-12, 1e6, NULL, false},           \
    {"optimizer", HN_PARAM_WORD, "adam", "how parameters change by their gradients", 0, 0, hn_course_optimizer_word, false}, \
    {"schedule", HN_PARAM_WORD, "cosine", "how the rate changes", 0, 0, hn_course_schedule_word, false},             \
    {"decay", HN_PARAM_NUMBER, "0", "decay of weights", 0, 1e3, NULL, false},                                        \
    {"augment", HN_PARAM_TEXT, NULL, "changes to samples, flip:crop=4", 0, 0, NULL, false},                          \
    {"temperature", HN_PARAM_NUMBER, "3", "that the scores of model and teacher are divided by", 0.01, 100, NULL, false}
/* clang-format on */
const char *hn_course_optimizer_word(int i);
const char *hn_course_schedule_word(int i);

typedef struct hn_course hn_course;

/* What would be written of a model in training, for whoever judges it. */
typedef hone_status hn_course_written_fn(const hn_course *k, const hn_model *trained,
                                         hn_model **out, hn_error *err);
/* After each step; the first call is before any. */
typedef hone_status hn_course_stepped_fn(hn_course *k, hn_training *t, hn_error *err);

struct hn_course {
    hn_transform_ctx *c;
    hn_training_options o;
    hn_teacher teacher;
    const hn_model *before;        /* the model that all is compared with */
    hn_course_written_fn *written; /* NULL: the model in training itself */
    hn_course_stepped_fn *stepped; /* may be NULL */
    void *ctx;                     /* of these two */
    hn_told_epoch at;
    double best;
    bool lower_better;
    hn_model *trained; /* the one to keep: of the last epoch, or of the best */
};

/* A course by the parameters above. Options that are not among them are the caller's to set. */
hone_status hn_course_begin(hn_course *k, hn_transform_ctx *c, const hn_recipe_step *s,
                            hn_error *err);
void hn_course_deinit(hn_course *k);
/* The answers of a model are what training aims at, in the share alpha; the rest are labels. */
void hn_course_teach(hn_course *k, const hn_recipe_step *s, const hn_model *by, double alpha);
/* Trains m for so many of the epochs; m stays as it is. Then k->trained is the best since then. */
hone_status hn_course_run(hn_course *k, const hn_model *m, int64_t epochs, hn_error *err);

/* Puts the f32 constants of a model that was trained into m, by their names. */
hone_status hn_course_store(const hn_model *trained, hn_model *m, hn_error *err);

#endif

/* Distillation: a student learns from what teachers answer to the same samples. Teachers become
 * nodes of the student's step; their answers are terms of its loss. A teacher may be the student
 * itself, by the averages of its parameters over steps (self-distillation).
 *
 *     loss = (1 - alpha) * loss by labels + alpha * loss by the teachers' answers
 *            + what the matched values differ by, each term times its weight
 *
 * Answers are compared as the loss does it (hn_loss.soft): scores of classes by T * T times the
 * Kullback-Leibler divergence of the probabilities at temperature T, values as if they were targets.
 *
 * Of classes, rows whose highest probability by the teachers is under `confidence` add nothing.
 *
 * Matched values are named in both models. Images of other sizes are averaged to the smaller ones;
 * features of another number are multiplied by weights that are trained along and then left out.
 */
#ifndef HN_TRAIN_DISTILL_H
#define HN_TRAIN_DISTILL_H

#include "train/loss.h"

#define HN_ALL_CLASSES INT64_MAX
typedef struct hn_teacher {
    const hn_model *model; /* NULL: the student, by averages of its parameters and statistics */
    double weight;         /* among several */
    int64_t first, last;   /* the classes it is asked about; last HN_ALL_CLASSES: up to the last */
} hn_teacher;

typedef struct hn_distill_options {
    int n_teachers; /* 0: none of all this */
    const hn_teacher *teachers;
    double temperature, alpha;
    double self;       /* what averages keep in each step, where a teacher has no model; else 0 */
    double confidence; /* the least highest probability of a row that counts; 0: all rows do */
    bool viewed;       /* teachers see the first input in a view of its own */
    const char *match; /* "KIND:TEACHER_VALUE=STUDENT_VALUE*WEIGHT,..."; may be NULL */
    uint64_t seed;     /* of the first weights between features */
} hn_distill_options;

/* How two values are compared. One row each. */
typedef struct hn_match_row {
    const char *name, *help;
    double weight;  /* the usual one */
    bool projected; /* features of another number are projected */
    hn_value *(*emit)(hn_grad *g, hn_value *student, hn_value *teacher, int rank,
                      const int64_t *dims);
} hn_match_row;

extern const hn_match_row *const hn_matches[];
extern const int hn_n_matches;

enum { HN_MOST_MATCHES = 32 };
typedef struct hn_match {
    const hn_match_row *row;
    const char *teacher, *student;
    double weight;
    hn_value *value; /* of the student, as its step computes it */
    int output;      /* of its graph, that keeps the value while the graph is simplified */
} hn_match;

/* The average of what is kept under a name. */
typedef struct hn_average {
    const char *name;
    hn_value *value;
} hn_average;
/* What a step has for teachers. */
typedef struct hn_distill_inputs {
    int n;
    hn_value *const *data; /* samples */
    hn_value *view;        /* the first of them as teachers see it; NULL: as the student does */
    const hn_model *student;
    int n_averages; /* of what the student keeps; for a teacher without a model */
    const hn_average *averages;
} hn_distill_inputs;

typedef struct hn_distill {
    const hn_distill_options *o;
    const hn_distill_inputs *inputs;
    int n;
    hn_match match[HN_MOST_MATCHES];
} hn_distill;

/* Adds the student's matched values to the outputs of its graph, lest passes take them away. */
hone_status hn_distill_begin(hn_distill *d, const hn_distill_options *o, hn_graph *g,
                             hn_error *err);
/* Where they are once the graph is simplified. */
void hn_distill_find(hn_distill *d, const hn_graph *g);
/* Parameters that are trained along: a value of these sizes with first contents. */
typedef hn_value *hn_distill_parameter(void *ctx, const char *name, hn_tensor *first);
/* The loss. y: the student's scores; hard: the loss by labels or targets, NULL without. g->graph
 * gets the teachers. */
hone_status hn_distill_emit(hn_distill *d, hn_grad *g, const hn_loss *kind,
                            const hn_loss_options *loss, hn_value *y, hn_value *hard,
                            const hn_distill_inputs *inputs, hn_distill_parameter *parameter,
                            void *ctx, hn_value **total, hn_error *err);

#endif

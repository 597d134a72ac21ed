/* Distillation: a student learns from what teachers answer to the same samples. Teachers become
 * nodes of the student's step; their answers are terms of its loss.
 *
 *     loss = (1 - alpha) * loss by labels + alpha * loss by the teachers' answers
 *            + what the matched values differ by, each term times its weight
 *
 * Answers are compared as the loss does it (hn_loss.soft): scores of classes by T * T times the
 * Kullback-Leibler divergence of the probabilities at temperature T, values as if they were targets.
 *
 * Matched values are named in both models. Images of other sizes are averaged to the smaller ones;
 * features of another number are multiplied by weights that are trained along and then left out.
 */
#ifndef HN_TRAIN_DISTILL_H
#define HN_TRAIN_DISTILL_H

#include "train/loss.h"

#define HN_ALL_CLASSES INT64_MAX
typedef struct hn_teacher {
    const hn_model *model;
    double weight;       /* among several */
    int64_t first, last; /* the classes it is asked about; last HN_ALL_CLASSES: up to the last */
} hn_teacher;

typedef struct hn_distill_options {
    int n_teachers; /* 0: none of all this */
    const hn_teacher *teachers;
    double temperature, alpha;
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

typedef struct hn_distill {
    const hn_distill_options *o;
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
/* The loss. y: the student's scores; hard: the loss by labels or targets, NULL without; data: the
 * step's inputs for samples. g->graph gets the teachers. */
hone_status hn_distill_emit(hn_distill *d, hn_grad *g, const hn_loss *kind,
                            const hn_loss_options *loss, hn_value *y, hn_value *hard, int n_data,
                            hn_value *const *data, hn_distill_parameter *parameter, void *ctx,
                            hn_value **total, hn_error *err);

#endif

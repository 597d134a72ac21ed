/* Schedules: the learning rate of each step. One row each. */
#ifndef HN_TRAIN_SCHEDULE_H
#define HN_TRAIN_SCHEDULE_H

#include <stdint.h>

#include "base/error.h"

typedef struct hn_schedule_options {
    double rate;    /* the highest */
    int64_t steps;  /* in all */
    int64_t warmup; /* of these: the rate grows from 0 in a line */
    int64_t period; /* step: after so many it is multiplied by `factor` */
    double factor;  /* step: 0.1 */
    double last;    /* cosine, one-cycle: the share of the rate that is left in the end */
} hn_schedule_options;

typedef struct hn_schedule {
    const char *name, *help;
    /* The share of the highest rate at step i of n, counted from 0, after the warm-up. */
    double (*share)(const hn_schedule_options *o, int64_t i, int64_t n);
} hn_schedule;

extern const hn_schedule *const hn_schedules[];
extern const int hn_n_schedules;
/* The error lists the rows. */
hone_status hn_schedule_find(const char *name, const hn_schedule **out, hn_error *err);
/* Of a step, counted from 0. */
double hn_schedule_rate(const hn_schedule *s, const hn_schedule_options *o, int64_t step);

#endif

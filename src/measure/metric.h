/* Metrics: how good a model's answers are, batch by batch.
 *
 * A metric is a file metric_NAME.c and a row of metrics.def. It sees every batch once, in the order
 * of the samples, and gives one or more values with names of their own (`top1` and `top5` come from
 * one metric, so that scores are gone over once). Sums are doubles in sample order: neither the
 * size of a batch nor the number of threads changes a value.
 *
 * What a metric keeps lies in the arena of its task, which lives until the evaluation is done with.
 */
#ifndef HN_MEASURE_METRIC_H
#define HN_MEASURE_METRIC_H

#include "base/arena.h"
#include "base/error.h"

#define HN_METRIC_VALUES 6 /* a metric gives at most */

/* What the evaluation is about. */
typedef struct hn_metric_task {
    hn_arena *arena;
    int64_t samples; /* in all */
    uint64_t seed;
    int n_asked; /* outputs that were asked for by name; 0: none were */
    int asked[3];
    bool tables; /* of classes, and of answers by label, are wanted */
} hn_metric_task;

typedef struct hn_metric_name {
    const char *name, *help;
    bool is_share;     /* from 0 to 1 */
    bool lower_better; /* an error */
} hn_metric_name;

typedef struct hn_metric {
    hn_metric_name values[HN_METRIC_VALUES]; /* ends early with a name of NULL */
    size_t state_bytes;                      /* zeroed before begin */
    bool tabulates;                          /* makes the tables, if they are wanted */
    bool by_labels;                          /* can do nothing without labels */
    /* Which values say something about such a model on such data, as bits; by the first batch. The
     * first metric of the list that has one is taken where none is asked for, and where tables are
     * wanted the first that has one and makes them. */
    uint32_t (*suits)(const hn_metric_task *t, const hone_eval_batch *b);
    /* With the first batch, which add gets too; may be NULL. */
    hone_status (*begin)(void *state, const hn_metric_task *t, const hone_eval_batch *b,
                         hn_error *err);
    hone_status (*add)(void *state, const hn_metric_task *t, const hone_eval_batch *b,
                       hn_error *err);
    /* v[] by place in `values`: value, low, high, interval and part are to be set; what is left
     * alone is not defined. Tables go to e. */
    hone_status (*end)(void *state, const hn_metric_task *t, hone_metric_value *v,
                       hone_evaluation *e, hn_error *err);
} hn_metric;

extern const hn_metric *const hn_metrics[];
extern const int hn_n_metrics;

/* The metric that gives a value of this name, and which it is. HONE_E_NOT_FOUND with the names
 * there are. */
hone_status hn_metric_find(const char *name, int *metric, int *value, hn_error *err);

/* ---- what metrics share ---- */

/* The k-th output that was asked for, by default the model's first. */
const hone_value *hn_metric_output(const hn_metric_task *t, const hone_eval_batch *b, int k);
/* Numbers that have an order. */
bool hn_metric_is_real(const hone_value *v);
/* A line such as "output 'y' is f32[3, 2]"; kind is "output" or "target". */
const char *hn_metric_text(const char *kind, const hone_value *v, char *buf, size_t bytes);
/* Elements of one sample. HONE_E_TYPE: they are no numbers; HONE_E_SHAPE: the first axis does not
 * count the samples. */
hone_status hn_metric_sample(const hone_eval_batch *b, const hone_value *output, int64_t *elements,
                             hn_error *err);
/* Whether both are numbers, and equally many. */
bool hn_metric_same_size(const hone_value *a, const hone_value *b);
/* Whether an output names the class instead of scoring each: one integer a sample. */
bool hn_metric_is_class(const hone_value *output, int64_t elements);
/* The place of the highest score: of equal ones the first, a NaN after every number. */
int64_t hn_metric_highest(const double *score, int64_t n);
/* Checks a label against the scores of an output. */
hone_status hn_metric_label(const hone_eval_batch *b, int64_t i, const hone_value *output,
                            int64_t classes, hn_error *err);
/* The target whose name holds `part`, or the only one; NULL: there is none. */
const hone_value *hn_metric_target(const hone_eval_batch *b, const char *part);

#endif

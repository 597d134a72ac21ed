/* What tests of metrics share: a batch written down by hand, handed to one metric.
 *
 *     const float y[] = {1, 2, 3, 3, 2, 1};
 *     const int64_t labels[] = {2, 1};
 *     hone_eval_batch b = {.n = 2, .n_outputs = 1, .outputs = VALUE("y", F32, y, 2, 3),
 *                          .labels = labels};
 *     assert_true(metric_value("top1", &b).value == 0.5);
 */
#ifndef TESTS_SUPPORT_METRIC_H
#define TESTS_SUPPORT_METRIC_H

#include "hone/hone.h"

/* One value, or an entry of an array of them. */
#define ENTRY(name_, dtype_, data_, ...)                                                   \
    {                                                                                      \
        .name = name_, .dtype = HONE_DTYPE_##dtype_,                                       \
        .rank = sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), .dims = {__VA_ARGS__}, \
        .data = (void *)(data_), .bytes = sizeof(data_)                                    \
    }
#define VALUE(...) ((const hone_value[]){ENTRY(__VA_ARGS__)})

/* What the metric gives for the batch. Measures it twice, as a whole and a sample at a time: the
 * answers must be the same bits. Samples are numbered from 0, a run has as many rows as samples. */
hone_metric_value metric_value(const char *name, const hone_eval_batch *b);
/* The same with the tables, which lie in memory that lives until the next call. */
hone_metric_value metric_tables(const char *name, const hone_eval_batch *b, hone_evaluation *e);
/* The first outputs asked for by number; -1: none. Holds for all calls that follow. */
void metric_ask(int first, int second, int third);
/* The metric refuses the batch with this status, and a message that holds this text. */
void metric_refuses(const char *name, const hone_eval_batch *b, hone_status status,
                    const char *text);
/* Which values suit by default, as bits. */
unsigned metric_suits(const char *name, const hone_eval_batch *b);
/* |a - b| is at most 1e-9 of b, or of 1. */
void assert_near(double a, double b);

#endif

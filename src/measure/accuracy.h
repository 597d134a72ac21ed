/* How well a model does on a dataset: runs it batch by batch and hands each to the metrics. */
#ifndef HN_MEASURE_ACCURACY_H
#define HN_MEASURE_ACCURACY_H

#include "formats/dataset.h"
#include "ir/ir.h"
#include "measure/look.h"

/* Runs the model once: one tensor per graph input, one reference per graph output. */
typedef hone_status hn_accuracy_run(void *ctx, const hn_tensor *const *in, hn_tensor **out,
                                    hn_error *err);

/* What runs take comes from alloc, what metrics keep and the evaluation itself from `keep`, which
 * must outlive it. */
hone_status hn_accuracy_measure(const hn_graph *g, hn_accuracy_run *run, void *ctx, hn_dataset *ds,
                                const hone_eval_options *o, hn_allocator *alloc, hn_allocator *keep,
                                hone_evaluation **out, hn_error *err);
void hn_evaluation_destroy(hone_evaluation *e); /* NULL accepted */

/* Of how many classes, where the first metric is a top-1 that guessing among them may reach, too;
 * otherwise 0. */
int64_t hn_evaluation_guessed(const hone_evaluation *e);
hn_input_values hn_evaluation_input_values(const hone_evaluation *e);
/* The line in the log that says so, with what the model's input got. */
void hn_warn_of_guessing(double top1, int64_t classes, const hn_input_values *values);

/* Top-1 and top-5 alone. */
hone_status hn_accuracy_top(const hn_graph *g, hn_accuracy_run *run, void *ctx, hn_dataset *ds,
                            const hone_eval_options *o, hn_allocator *alloc,
                            hone_eval_result *result, hn_error *err);

#endif

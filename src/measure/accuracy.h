/* How well a model does on a dataset. */
#ifndef HN_MEASURE_ACCURACY_H
#define HN_MEASURE_ACCURACY_H

#include "formats/dataset.h"
#include "ir/ir.h"

/* Runs the model once: one tensor per graph input, one reference per graph output. */
typedef hone_status hn_accuracy_run(void *ctx, const hn_tensor *const *in, hn_tensor **out,
                                    hn_error *err);

/* Top-1 and top-5 of the first output, whose first axis is the batch and whose other axes are the
 * classes. Of equal scores the lower class comes first; a NaN comes after every number. */
hone_status hn_accuracy_top(const hn_graph *g, hn_accuracy_run *run, void *ctx, hn_dataset *ds,
                            const hone_eval_options *o, hn_allocator *alloc,
                            hone_eval_result *result, hn_error *err);

#endif

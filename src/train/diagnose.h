/* Why a loss is not finite: which value of a step is the first that is not. */
#ifndef HN_TRAIN_DIAGNOSE_H
#define HN_TRAIN_DIAGNOSE_H

#include "measure/program.h"
#include "train/step.h"

/* Looks at what is trained, at the batch, and then at every value that the loss depends on, in the
 * order in which they are computed. in[]: the inputs of the step's graph, as they were before the
 * step. Writes what it finds as the end of a sentence. Minus infinity, which masks of attention
 * are made of, counts only where nothing else is found. */
void hn_diagnose(const hn_train_step *s, const hn_tensor *const *in, const hn_run_options *how,
                 char *text, size_t size);

/* "parameter" */
const char *hn_kept_text(hn_kept_kind kind);
/* The first element of n that is not finite; n: all are. */
int64_t hn_first_not_finite(const float *v, int64_t n);

#endif

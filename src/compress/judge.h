/* How good a model is on samples: the first of the metrics that suit it and them. */
#ifndef HN_COMPRESS_JUDGE_H
#define HN_COMPRESS_JUDGE_H

#include "formats/dataset.h"
#include "measure/program.h"

typedef struct hn_judgement {
    double value; /* NaN: not known */
    bool is_share, lower_better;
    char metric[64];
} hn_judgement;

/* Runs m on all samples. how: as the model it was made of runs. HONE_E_ARG: the samples have no
 * labels, or no metric is known to suit the model. *out stays as it is where there is no metric. */
hone_status hn_judge(hn_judgement *out, const hn_model *m, hn_dataset *data,
                     const hn_run_options *how, hn_allocator *alloc, hn_error *err);

#endif

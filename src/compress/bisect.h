/* The fewest steps of a changed model that have to be changed back so that its outputs, or its
 * accuracy on a dataset, are good enough again: the search of sensitivity.h with its judge. */
#ifndef HN_COMPRESS_BISECT_H
#define HN_COMPRESS_BISECT_H

#include "compress/sensitivity.h"
#include "formats/dataset.h"

typedef struct hn_bisection {
    hone_bisection result;      /* its names lie in the models and in `pairs` */
    const hn_model *models[2];  /* the original and the changed one */
    hn_run_options how[2];      /* they run */
    hn_sample_source samples;   /* steps are ranked and outputs judged on these */
    hone_bisect_options limits; /* its data is not looked at */
    hn_dataset *data;           /* NULL: the outputs decide, not the accuracy */
    hone_eval_options eval;     /* of the accuracy */
    hn_allocator *alloc;
    hn_arena *arena; /* gets what the result points to */

    /* The rest belongs to the search; zero before it. */
    hn_pairs *pairs;
    int n_out;        /* of the original */
    int *at;          /* where the changed model has each */
    hn_tensor **want; /* what the original computes, run by run */
    hn_tensor **in;   /* of a run */
    hn_tensor **out;  /* of a model */
    double max_error; /* of the last model that was judged by its outputs */
    double sqnr;
} hn_bisection;

/* Fills in the result, whose size and owner are left alone. HONE_E_NOT_FOUND: all steps together
 * are not enough. */
hone_status hn_bisect(hn_bisection *b, hn_error *err);
/* Frees what the search holds, after a failure too. The arena is the caller's. */
void hn_bisection_deinit(hn_bisection *b);

#endif

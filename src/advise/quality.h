/* How good a model's answers are: by labels or targets with the metric that suits, or where there
 * are none by how well they agree with those of the model it was made of. */
#ifndef HN_ADVISE_QUALITY_H
#define HN_ADVISE_QUALITY_H

#include "formats/dataset.h"
#include "measure/gate.h"
#include "measure/likeness.h"
#include "measure/look.h"
#include "measure/program.h"

typedef struct hn_quality {
    const char *metric; /* a name of metrics.def, or a measure of likeness.h */
    bool is_share, lower_better;
    double value, low, high; /* the 95 % interval; NaN: not known */
    int64_t samples;
    double weight;          /* answers or detections it counts; 0: samples */
    int64_t guessed;        /* classes among which guessing may do as well; 0: it would not */
    char worst[192];        /* what is least like the original's, in words; "": all is as good */
    hn_input_values values; /* what the model's input got */
} hn_quality;

typedef struct hn_judge {
    const hn_model *model;  /* whose inputs and outputs all have */
    hn_program *original;   /* what answers are compared with where nothing is labelled */
    const char *metric;     /* NULL: what suits */
    hn_output_forms *forms; /* what the outputs are, found by the first who asks */
    int64_t batch;          /* samples a run takes; 0: the model's, or 16 */
    uint64_t seed;
    hn_allocator *alloc;
    bool (*progress)(void *ctx, int64_t done, int64_t total); /* false: HONE_E_LIMIT */
    void *progress_ctx;
} hn_judge;

hone_status hn_quality_measure(const hn_judge *j, hn_program *of, hn_dataset *data, hn_quality *q,
                               hn_error *err);
/* By how much b is worse than a; negative: it is better. */
double hn_quality_drop(const hn_quality *a, const hn_quality *b);
/* Whether b passes where a may lose so much; with `chance`, whether the best b may be does. */
bool hn_quality_passes(const hn_quality *a, const hn_quality *b, double max_drop, bool chance);
/* Of two parts of the samples, the whole. */
hn_quality hn_quality_of_both(const hn_quality *a, const hn_quality *b);

#endif

/* How alike the outputs of two models are, as one share: 1 is as the original, and what is missing
 * from 1 is what a limit such as 1 % is about. `hone optimize` and `hone compare` both ask here, so
 * they agree.
 *
 * Every output is judged, each by what it is used for, and the worst figure counts. By shapes and
 * the values of the original's first sample an output is one of
 *
 *     detections  part of a detector's head (heads.h). Kept are the original's detections less
 *                 those the other model loses, or those it adds where they are more: 1 % is 1 of
 *                 100.
 *     answers     rows of scores: [N, K], also [N, ..., K] and [N, K, ...] where rows are
 *                 probabilities that add up to 1, or have more than 8192 numbers, as only scores of
 *                 tokens do. Kept are the rows whose highest score is at the same place.
 *                 Vectors of length 1 and copies of an input ([N, K] as large as that) are none.
 *     labels      integers: kept are those that are equal.
 *     channels    all other floats. A channel is a place on the last axis; on the axis behind the
 *                 batch in [N, C, L] with C below L / 4, and in [N, C, H, W] unless W is the
 *                 smallest. Two figures of each channel count:
 *                 signal: 1 - noise / variance, so 1 % lost is a ratio of 20 dB. Noise of a
 *                 quiet channel is compared with 5 % of its largest value instead, where values
 *                 lie within -1..1 of the largest in all such channels: a class that never occurs
 *                 has nothing to lose.
 *                 order: of the highest tenth of a sample's values in a channel, at most 10, the
 *                 share that stay within 10 % of the channel's range or among the twice as many
 *                 highest. A few high scores among thousands of low ones hardly show in the noise.
 *
 * The figure is called "detections kept", "agreement" (of answers and labels, or several kinds) or
 * "signal kept" (channels alone).
 */
#ifndef HN_MEASURE_LIKENESS_H
#define HN_MEASURE_LIKENESS_H

#include "ir/ir.h"
#include "measure/heads.h"

#define HN_FEW_DETECTIONS 10 /* below this channels are judged too */

typedef enum hn_output_kind {
    HN_OUTPUT_CHANNELS,
    HN_OUTPUT_ANSWERS,
    HN_OUTPUT_LABELS,
    HN_OUTPUT_TEXT /* not judged */
} hn_output_kind;

typedef struct hn_output_form {
    hn_output_kind kind;
    int axis; /* of channels or classes, the batch's not counted; -1: all is one channel */
} hn_output_form;

/* What the outputs of a model are. The original's first sample decides, for all that is measured
 * with the same forms. */
typedef struct hn_output_forms {
    const hn_graph *graph; /* of the original */
    bool noise;            /* samples are made up: answers mean nothing, channels are judged */
    bool looked;
    hn_output_form *of; /* each output */
    hn_head head;
} hn_output_forms;
/* In the arena, of which nothing is to be freed. */
hone_status hn_output_forms_init(hn_output_forms *f, const hn_graph *original, bool noise,
                                 hn_arena *arena, hn_error *err);

typedef struct hn_likeness hn_likeness;

/* The forms must outlive it. */
hone_status hn_likeness_create(hn_likeness **out, hn_output_forms *forms, hn_allocator *alloc,
                               hn_error *err);
void hn_likeness_destroy(hn_likeness *l); /* NULL accepted */
/* The outputs of a run of the original and of the other model on the same inputs in[] (one per
 * input of the graph, NULL where it has a default). rows: of the run; the first `samples` count.
 * HONE_E_SHAPE, HONE_E_TYPE: an output cannot be compared. */
hone_status hn_likeness_add(hn_likeness *l, const hn_tensor *const *in, const hn_tensor *const *a,
                            const hn_tensor *const *b, int64_t rows, int64_t samples,
                            hn_error *err);

typedef struct hn_likeness_result {
    const char *measure;
    double value, low, high; /* the 95 % interval; NaN: not known */
    double counted;          /* answers, detections or samples that the figure is about */
    int output;              /* the worst; -1: the detector's head */
    int64_t channel;         /* of it; -1: none is told apart */
    double sqnr_db;          /* of that channel; NaN: something else is worst */
    int64_t missed, of;      /* answers that differ, values that lost their rank */
    hn_detections detections;
} hn_likeness_result;
/* Of all outputs: the worst. value is NaN where nothing was compared. */
hn_likeness_result hn_likeness_figure(const hn_likeness *l);
/* Of one; NaN where it is part of the head alone or not judged. */
hn_likeness_result hn_likeness_of(const hn_likeness *l, int output);
/* What is worst, in words: "output 'boxes', channel 3: 12.4 dB". */
void hn_likeness_result_text(const hn_likeness_result *f, const hn_output_forms *forms, char *buf,
                             size_t bytes);

#endif

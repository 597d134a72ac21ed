/* Detector heads: which outputs of a model hold scores and boxes, and what they detect.
 *
 * Pixel boxes of 0..640 beside class scores of 0..1 swamp every measure over the whole tensor, and
 * nearly all places of a detector's grid hold no object. The one question that matters is whether
 * the same objects are found. So hone recognises heads, from shapes and values alone, by the
 * outputs of a run on real samples (A: places of the grid, C: classes):
 *
 *     one tensor     [N, 4+C, A] or [N, A, 4+C], C at least 1, A the larger axis, at least 16: the
 *                    first four channels are boxes (see below), the channels from the fifth on hold
 *                    values within 0..1 only. Channels behind them that do not (masks, landmarks)
 *                    are companions. YOLOv8 and later. Where most places whose fifth channel is
 *                    over the threshold have another score over it too, the fifth channel is the
 *                    objectness that the others are multiplied with: YOLOv5.
 *     several        outputs [N, A, k] of one A belong together. One with values within 0..1 only
 *                    holds scores; of two, one with a single channel is the objectness. Where none
 *                    is within 0..1, scores are logits if exactly one output of the group has a
 *                    mean below -1.5. There must be a companion of at least 4 channels; one of
 *                    exactly 4 holds the boxes. SSD, RetinaFace, YuNet, NanoDet. Several groups, of
 *                    several A, make one head.
 *     list           one output of M scores within 0..1, one of boxes [M, 4] or [N, M, 4] and one
 *                    of M integer labels: what is left after non-maximum suppression. M may differ
 *                    between runs and models; [1, 4] is a list if the model leaves M open.
 *
 * Boxes are known as corners (x1, y1, x2, y2) or as centre and size, in pixels or shares of the
 * image, if their numbers obey the order this asks for, their centres spread over more than twice
 * their median size, and each half of that holds a fifth of the centres. One tensor needs known
 * boxes to be recognised. Where groups have boxes in another code (offsets from anchors),
 * detections are matched by their place.
 *
 * A class that wins at over 90 % of the places is the background. Whatever fits none of this is no
 * head: its outputs are judged channel by channel (likeness.h).
 */
#ifndef HN_MEASURE_HEADS_H
#define HN_MEASURE_HEADS_H

#include "base/alloc.h"
#include "base/error.h"

#define HN_DETECTED 0.25       /* the score of a detection */
#define HN_STILL_DETECTED 0.20 /* and the least its partner may have: a little less is no loss */
#define HN_SAME_BOX 0.5        /* intersection over union */

/* The numbers of one sample in one output, without the axis of the batch. */
typedef struct hn_head_output {
    const double *x;
    int rank;
    int64_t dims[HONE_MAX_RANK], n;
    bool is_float;
    bool counted; /* the model does not fix its length, and no input has it: it may be a list */
} hn_head_output;

typedef enum hn_head_kind {
    HN_HEAD_NONE,
    HN_HEAD_GRID, /* one tensor, or several */
    HN_HEAD_LIST
} hn_head_kind;

typedef enum hn_box_code { HN_BOX_UNKNOWN, HN_BOX_CORNERS, HN_BOX_CENTRE } hn_box_code;

/* Channels of an output, for every place. */
typedef struct hn_head_part {
    int output;
    int64_t first, n; /* n 0: there is no such part */
    bool across;      /* [channels, places]; else [places, channels] */
} hn_head_part;

enum { HN_HEAD_GROUPS = 8, HN_HEAD_COMPANIONS = 6 };

typedef struct hn_head_group {
    hn_head_part score, objectness, box, labels;
    hn_head_part companion[HN_HEAD_COMPANIONS];
    int n_companions;
    bool logits;
    hn_box_code code;
    int64_t background; /* a class; -1: there is none */
} hn_head_group;

typedef struct hn_head {
    hn_head_kind kind;
    bool undecided; /* YOLOv5 or later: no place was over the threshold yet */
    int n_groups;
    hn_head_group group[HN_HEAD_GROUPS];
} hn_head;

/* By the outputs of one sample. */
void hn_head_find(hn_head *h, const hn_head_output *out, int n_outputs);
/* By another sample, what the first left undecided. */
void hn_head_look_again(hn_head *h, const hn_head_output *out);
bool hn_head_covers(const hn_head *h, int output);

typedef struct hn_detections {
    int64_t wanted; /* of a */
    int64_t found;  /* of b */
    int64_t lost;   /* of a without a partner in b */
    int64_t added;  /* of b without a partner in a */
} hn_detections;
/* Detections of a and of b in one sample: the best classes of places, over HN_DETECTED. A partner
 * is a score of at least HN_STILL_DETECTED for the same class, with the same box; where boxes are
 * not known at the same place. Companions must be within half of their standard deviation. What
 * seems to be one object counts once: detections of a class that share known boxes, or where these
 * are not known those with a higher score in a cell beside them, if the places make a square grid.
 */
hone_status hn_head_compare(const hn_head *h, const hn_head_output *a, const hn_head_output *b,
                            hn_allocator *alloc, hn_detections *out, hn_error *err);

#endif

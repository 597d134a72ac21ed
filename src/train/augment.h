/* Augmentation: samples changed a little before they are trained on. One row each.
 *
 * "flip:crop=4:noise=0.1": what is done, in this order, with a number where one is taken. What
 * happens to a sample depends on the seed, the epoch and the number of the sample alone.
 *
 * mixup and cutmix make one sample of two of the same batch. Which two, and in which shares, depends
 * on the seed, the epoch and the step alone, so whoever mixes inputs and whoever mixes what samples
 * are judged by find it out each for themselves (hn_augment_pair). Of several such rows each batch
 * takes one.
 */
#ifndef HN_TRAIN_AUGMENT_H
#define HN_TRAIN_AUGMENT_H

#include "base/rng.h"
#include "ir/tensor.h"

enum { HN_MOST_AUGMENTS = 24 };

typedef struct hn_augment_row hn_augment_row;

typedef struct hn_augment {
    int n, n_mixes; /* steps; those of them that mix samples */
    struct {
        const hn_augment_row *row;
        double amount, second;
    } step[HN_MOST_AUGMENTS];
} hn_augment;

/* text may be NULL: nothing is done. The error lists the rows. */
hone_status hn_augment_read(hn_augment *out, const char *text, hn_error *err);
/* Whether batches of this type and these sizes can be changed so. */
hone_status hn_augment_check(const hn_augment *a, hone_dtype dtype, int rank, const int64_t *dims,
                             hn_error *err);
/* Changes the samples of a batch [n, ...] in place, each by itself; index: their numbers in the
 * dataset. Several threads may change batches at once. */
hone_status hn_augment_batch(const hn_augment *a, hn_tensor *batch, const int64_t *index,
                             uint64_t seed, int64_t epoch, hn_error *err);

/* How the samples of a batch are mixed. */
typedef struct hn_mix {
    int64_t *partner; /* of each sample: the one it is mixed with; the caller's */
    double share;     /* of a sample in what it becomes; the rest is the partner's */
    bool cut;         /* a part is the partner's, else all is a weighted mean */
    int64_t y[2], x[2];
} hn_mix;
/* Fills in m, whose partner has room for the batch. batch: its sizes are read alone. */
void hn_augment_pair(const hn_augment *a, const hn_tensor *batch, uint64_t seed, int64_t epoch,
                     int64_t step, hn_mix *m);
/* Mixes a batch of f32, and blends targets of f32 in the same shares. */
hone_status hn_augment_mix(const hn_mix *m, hn_tensor *batch, hn_error *err);
hone_status hn_augment_blend(const hn_mix *m, hn_tensor *targets, hn_error *err);

#endif

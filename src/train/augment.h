/* Augmentation: samples changed a little before they are trained on. One row each.
 *
 * "flip:crop=4:noise=0.1": what is done, in this order, with a number where one is taken. What
 * happens to a sample depends on the seed, the epoch and the number of the sample alone.
 */
#ifndef HN_TRAIN_AUGMENT_H
#define HN_TRAIN_AUGMENT_H

#include "base/rng.h"
#include "ir/tensor.h"

enum { HN_MOST_AUGMENTS = 16 };

typedef struct hn_augment_row hn_augment_row;

typedef struct hn_augment {
    int n;
    struct {
        const hn_augment_row *row;
        double amount;
    } step[HN_MOST_AUGMENTS];
} hn_augment;

/* text may be NULL: nothing is done. The error lists the rows. */
hone_status hn_augment_read(hn_augment *out, const char *text, hn_error *err);
/* Changes the samples of a batch [n, ...] of f32 in place; index: their numbers in the dataset. */
hone_status hn_augment_batch(const hn_augment *a, hn_tensor *batch, const int64_t *index,
                             uint64_t seed, int64_t epoch, hn_error *err);

#endif

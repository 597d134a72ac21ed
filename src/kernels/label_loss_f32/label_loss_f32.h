/* label_loss_f32: what log probabilities say of labels.
 *
 *   loss[b][i] = -weight[c] * x[b][c][i], c = label[b][i]      b < batch, i < inner
 *
 *   NONE   y[b][i] = loss[b][i]
 *   SUM    y = sum of loss
 *   MEAN   y = sum of loss / sum of weight[c]
 *
 * Without weights they are 1. A label equal to `ignore`, where that counts, has neither loss nor
 * weight, whatever number it is. For any other label outside of [0, classes) nothing is added, and
 * `outside`, if it is there, is set to 1: kernels cannot fail, so the caller clears it before and
 * looks at it after.
 *
 * Strides of x are in floats; labels and y are adjacent. Sums run in double. y overlaps nothing.
 */
#ifndef HN_KERNELS_LABEL_LOSS_F32_H
#define HN_KERNELS_LABEL_LOSS_F32_H

#include "kernels/kernel.h"

typedef enum hn_loss_reduction { HN_LOSS_NONE, HN_LOSS_SUM, HN_LOSS_MEAN } hn_loss_reduction;

typedef struct hn_label_loss_f32 {
    int64_t batch, classes, inner;
    int64_t x_batch, x_class, x_inner; /* strides */
    hn_loss_reduction reduction;
    bool wide; /* labels are s64, else s32 */
    bool ignores;
    int64_t ignore;
} hn_label_loss_f32;

/* Operands; weight and outside, one s32, may be NULL. */
enum {
    HN_LABEL_LOSS_X,
    HN_LABEL_LOSS_LABEL,
    HN_LABEL_LOSS_WEIGHT,
    HN_LABEL_LOSS_Y,
    HN_LABEL_LOSS_OUTSIDE,
    HN_LABEL_LOSS_OPERANDS_
};

extern const hn_family hn_label_loss_f32_family;

#endif

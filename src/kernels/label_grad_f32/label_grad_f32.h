/* label_grad_f32: the gradient of the loss of labels by log probabilities, or by the scores they
 * come from.
 *
 *   by = w[label[b]] * dy / divisor        divisor: of a mean, the sum of the weights; else 1
 *   likelihood   dx[b][c] = c is label[b] ? -by : 0
 *   softmax      dx[b][c] = by * exp(x[b][c]) - (c is label[b] ? by : 0)
 *
 * dy is one number, or one for each row. A label that is ignored, or outside, has weight 0. Rows are
 * dense. The weights may be NULL: all are 1.
 */
#ifndef HN_KERNELS_LABEL_GRAD_F32_H
#define HN_KERNELS_LABEL_GRAD_F32_H

#include "kernels/kernel.h"

typedef struct hn_label_grad_f32 {
    int64_t rows, classes;
    int64_t ignore;
    bool ignores, wide, each, mean, softmax;
} hn_label_grad_f32;

enum {
    HN_LABEL_GRAD_DY,
    HN_LABEL_GRAD_X,
    HN_LABEL_GRAD_LABEL,
    HN_LABEL_GRAD_WEIGHT,
    HN_LABEL_GRAD_DX,
    HN_LABEL_GRAD_OPERANDS_
};

extern const hn_family hn_label_grad_f32_family;

static inline int64_t hn_label_grad_at(const hn_label_grad_f32 *p, const void *labels, int64_t k) {
    return p->wide ? ((const int64_t *)labels)[k] : ((const int32_t *)labels)[k];
}

static inline double hn_label_grad_weight(const hn_label_grad_f32 *p, const float *w, int64_t c) {
    if (c < 0 || c >= p->classes || (p->ignores && c == p->ignore)) return 0;
    return w != NULL ? (double)w[c] : 1;
}

/* What a mean divides by. */
static inline double hn_label_grad_divisor(const hn_label_grad_f32 *p, const void *labels,
                                           const float *w) {
    double sum = 0;
    for (int64_t k = 0; p->mean && k < p->rows; k++)
        sum += hn_label_grad_weight(p, w, hn_label_grad_at(p, labels, k));
    return p->mean ? sum : 1;
}

#endif

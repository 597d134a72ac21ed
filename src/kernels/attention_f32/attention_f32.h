/* attention_f32: softmax of scaled products of queries and keys, times values.
 *
 *   s[i][j] = scale * sum over d of q[i][d] * k[j][d] + mask[i][j]
 *   y[i][d] = sum over j of exp(s[i][j]) * v[j][d] / sum over j of exp(s[i][j])
 *
 * for every batch, of which there are up to four axes; no size is 0. With `chooses` the mask is of
 * truth values in bytes, and s[i][j] is `fill` where they are `hides` (any byte but 0 is true),
 * without anything added elsewhere. With `causal` a query sees the
 * keys up to its own place only: s[i][j] is -inf for j > i + offset. A query without any key to
 * see, whose every s is -inf, and one with a NaN or +inf among its s get what the formula says,
 * NaN, unless `blind` says otherwise; to weigh with 0 is still to multiply by 0.
 *
 * Strides are in elements and may be anything, 0 included for what is broadcast: so heads may be
 * columns of a wider tensor, and several heads of queries may share one of keys. Elements of a row
 * of mask and of y are adjacent; y does not overlap itself or anything else.
 *
 * Error: that of s, as a sum of products in f32, is relative to exp(s); then 8e-6 of the sum over j
 * of weights times abs(v), and as a sum of products in f32. Rows that are less exact have sums of
 * products as hn_precision says, both in s and in y.
 */
#ifndef HN_KERNELS_ATTENTION_F32_H
#define HN_KERNELS_ATTENTION_F32_H

#include "kernels/kernel.h"

enum { HN_ATTENTION_BATCH_AXES = 4 };

typedef enum hn_attention_blind {
    HN_BLIND_NAN,  /* as the formula says */
    HN_BLIND_NONE, /* a query whose every s is -inf weighs all values with 0 */
    HN_BLIND_ANY,  /* so does one whose weights would be NaN for any reason */
} hn_attention_blind;

typedef struct hn_attention_f32 {
    int64_t batch[HN_ATTENTION_BATCH_AXES]; /* unused axes are 1 */
    int64_t queries, keys, size, v_size;    /* size: of q and k, v_size: of v and y */
    int64_t q_batch[HN_ATTENTION_BATCH_AXES], q_row, q_col;
    int64_t k_batch[HN_ATTENTION_BATCH_AXES], k_row, k_col;
    int64_t v_batch[HN_ATTENTION_BATCH_AXES], v_row, v_col;
    int64_t mask_batch[HN_ATTENTION_BATCH_AXES], mask_row;
    int64_t y_batch[HN_ATTENTION_BATCH_AXES], y_row;
    float scale;
    bool chooses, hides;
    float fill;
    bool causal;
    int64_t offset;
    hn_attention_blind blind;
} hn_attention_f32;

/* Operands; the mask may be NULL. */
enum {
    HN_ATTENTION_Q,
    HN_ATTENTION_K,
    HN_ATTENTION_V,
    HN_ATTENTION_MASK,
    HN_ATTENTION_Y,
    HN_ATTENTION_OPERANDS_
};

extern const hn_family hn_attention_f32_family;

static inline int64_t hn_attention_batches(const hn_attention_f32 *p) {
    int64_t n = 1;
    for (int i = 0; i < HN_ATTENTION_BATCH_AXES; i++) n *= p->batch[i];
    return n;
}

/* Where batch number `index`, in row-major order of the axes, begins under these strides. */
static inline int64_t hn_attention_at(const hn_attention_f32 *p, const int64_t *strides,
                                      int64_t index) {
    int64_t at = 0;
    for (int i = HN_ATTENTION_BATCH_AXES - 1; i >= 0; i--) {
        at += index % p->batch[i] * strides[i];
        index /= p->batch[i];
    }
    return at;
}

/* Scores of one query that a mask of truth values hides. */
static inline void hn_attention_hide(const hn_attention_f32 *p, const uint8_t *mask, int64_t n,
                                     float *s) {
    for (int64_t j = 0; j < n; j++) s[j] = (mask[j] != 0) == p->hides ? p->fill : s[j];
}

#endif

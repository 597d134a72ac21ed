/* The one reference normalization. LayerNormalization and its kin differ in which elements belong
 * together and in what comes before and after; the middle is always
 *
 *     for each group g:  mean[g] = sum x / n        var[g] = sum (x - mean[g])^2 / n
 *     for each x in g:   y = (x - mean[g]) / (sqrt(var[g] + epsilon) + outside) * scale + bias
 *
 * in double, rounded once when stored. ONNX's stash_type names the least precision of this stage;
 * double is at least that.
 */
#ifndef HN_OPS_NORM_REF_H
#define HN_OPS_NORM_REF_H

#include "ops/groups.h"

typedef struct hn_norm {
    hn_groups groups;
    /* Elements [from, from + n) of what is normalized. Called from any thread. */
    void (*load)(const void *src, int64_t from, int64_t n, double *dst);
    const void *src;
    hn_tensor *y;
    double epsilon, outside;
    bool no_mean;       /* mean is 0: root mean square normalization */
    bool given;         /* mean and var are given, not computed */
    double *mean, *var; /* [groups.count]; NULL: not wanted */
    hn_tensor *mean_out,
        *inv_std_out;         /* [groups.count], the factor by which it multiplies; or NULL */
    hn_broadcast scale, bias; /* under the dims of y; .tensor NULL: 1 and 0 */
} hn_norm;

void hn_norm_ref(hn_pool *pool, hn_norm *n);

/* A load whose src is a tensor. */
void hn_load_tensor(const void *src, int64_t from, int64_t n, double *dst);

/* The axes [from, rank) as a set for hn_groups_init. */
uint32_t hn_axes_from(int from, int rank);
/* A 1-d tensor that has one element per index of `axis`. */
void hn_broadcast_channels(hn_broadcast *b, const hn_tensor *t, int rank, const int64_t *dims,
                           int axis);
/* Fails unless input i is known to be, or may be, 1-d with a size of d. */
hone_status hn_want_channels(const hn_infer *c, int i, hn_dim d, hn_error *err);

/* The axes of a MeanVarianceNormalization of x of that rank, as a set for hn_groups_init. */
hone_status hn_mean_variance_axes(const hn_node *n, int rank, uint32_t *together, hn_error *err);
/* What it adds to the deviation. */
#define HN_MEAN_VARIANCE_OUTSIDE 1e-9f

#endif

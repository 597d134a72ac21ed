/* What pruning takes away: a row of prunings.def for each kind.
 *
 *     magnitude   prune kind=magnitude sparsity=0.8     weights become zero
 *     channels    prune kind=channels max-macs=50%      channels go, with all that goes with them
 *     nm=2:4      prune kind=nm=2:4                     N of each M along the sum stay
 *
 * A kind that makes weights zero leaves the shapes alone; one that removes channels, heads or layers
 * writes smaller weights, and the model is smaller and faster in every runtime.
 */
#ifndef HN_COMPRESS_PRUNE_H
#define HN_COMPRESS_PRUNE_H

#include "compress/shrink.h"

/* The parameters of `prune` as they were read. */
typedef struct hn_pruning {
    double sparsity; /* the share to take away, 0 to less than 1 */
    int n, m;        /* of nm=N:M */
    bool global;     /* one threshold for all layers */
    const char *only, *except;
    const hn_recipe_step *step; /* for what belongs to one kind alone */
} hn_pruning;

typedef hone_status hn_prune_fn(hn_transform_ctx *c, const hn_pruning *p, hn_error *err);

#define HN_PRUNING(name, needs_data, help) hn_prune_fn hn_prune_##name;
#include "compress/prunings.def"
#undef HN_PRUNING

typedef struct hn_pruning_kind {
    const char *name;
    bool needs_data;
    hn_prune_fn *run;
    const char *help; /* one line */
} hn_pruning_kind;

/* What only kinds that make a model smaller read. */
hone_status hn_prune_channels_check(const hn_recipe_step *s, hn_error *err);
/* The share of the multiply-accumulates that is to be left; 1: there is no limit. */
hone_status hn_prune_limit(const hn_recipe_step *s, double *share, hn_error *err);

const hn_pruning_kind *hn_pruning_kind_at(int i); /* NULL: there are no more */

#endif

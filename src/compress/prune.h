/* What pruning takes away: a row of prunings.def for each kind.
 *
 *     magnitude   prune kind=magnitude sparsity=0.8     weights become zero
 *     channels    prune kind=channels max-macs=50%      channels go, with all that goes with them
 *     nm=2:4      prune kind=nm=2:4                     N of each M along the sum stay
 *     wanda       prune kind=wanda pattern=2:4          likewise, by another score
 *
 * Kinds that make weights zero differ in the score of a weight; which of them go by their scores is
 * one code for all (hn_prune_least), but for kinds that change what stays as well (sparsegpt).
 *
 * A kind that makes weights zero leaves the shapes alone; one that removes channels, heads or layers
 * writes smaller weights, and the model is smaller and faster in every runtime.
 */
#ifndef HN_COMPRESS_PRUNE_H
#define HN_COMPRESS_PRUNE_H

#include "compress/shrinking.h"

/* The parameters of `prune` as they were read. */
typedef struct hn_pruning {
    double
        sparsity; /* the share to take away, 0 to less than 1; `layer-sparsity` may say another */
    bool others;  /* layers that no `layer-sparsity` names are pruned too */
    int n, m;     /* of N:M: of each M along the sum N stay; 0: no such pattern */
    int outputs, sums; /* of blocks, which go as a whole; 0: no blocks */
    bool global;       /* one threshold for all layers */
    const char *only, *except;
    const hn_recipe_step *step; /* for settings of layers, and what belongs to one kind alone */
    hn_model
        *inputs_of; /* that layers are judged by the inputs of; NULL: the model as it becomes */
} hn_pruning;

typedef hone_status hn_prune_fn(hn_transform_ctx *c, const hn_pruning *p, hn_error *err);

#define HN_PRUNING(name, needs_data, zeros, help) hn_prune_fn hn_prune_##name;
#include "compress/prunings.def"
#undef HN_PRUNING

typedef struct hn_pruning_kind {
    const char *name;
    bool needs_data;
    bool zeros; /* it makes weights zero; else it takes channels, heads or layers out */
    hn_prune_fn *run;
    const char *help; /* one line */
} hn_pruning_kind;

/* The share of a layer's weights to take away: that of the last `layer-sparsity` that matches, or the
 * one for all; NaN: the layer stays as it is. */
double hn_prune_share(const hn_pruning *p, const hn_weighted *w);

/* What only kinds that make a model smaller read. */
hone_status hn_prune_channels_check(const hn_recipe_step *s, hn_error *err);
/* The share of the multiply-accumulates that is to be left; 1: there is no limit. */
hone_status hn_prune_limit(const hn_recipe_step *s, double *share, hn_error *err);

const hn_pruning_kind *hn_pruning_kind_at(int i); /* NULL: there are no more */
/* Reads a line `prune` and does it; its limits are not looked at. inputs_of: inputs of layers are
 * those in this model; NULL: those in c->model, as it becomes. */
hone_status hn_prune_step(hn_transform_ctx *c, const hn_recipe_step *s, hn_model *inputs_of,
                          hn_error *err);

/* ---- which weights go ---- */

/* The weights of a layer in the order of patterns: rows of outputs, in which the indices of the sum
 * follow each other; of a Conv the channels of one position of the kernel, then those of the next.
 * Runs of N:M and blocks do not reach over the end of `run` of them. */
typedef struct hn_prune_order {
    int64_t rows, places, run;
    int64_t o_stride, k_stride, inner;
} hn_prune_order;
/* False: the layer is no product of one matrix, and has no such order. */
bool hn_prune_order_of(const hn_weighted *w, hn_prune_order *o);
/* The index along the sum, and the number of the element in the weight. */
static inline int64_t hn_prune_column(const hn_prune_order *o, int64_t place) {
    return place % o->run * o->inner + place / o->run;
}
static inline int64_t hn_prune_element(const hn_prune_order *o, int64_t row, int64_t place) {
    return row * o->o_stride + hn_prune_column(o, place) * o->k_stride;
}

/* The layers that weights may be taken from, in the arena; what is left alone is told. matrix: they
 * are products of one matrix. */
hone_status hn_prune_layers(hn_transform_ctx *c, const hn_pruning *p, bool matrix, hn_arena *arena,
                            hn_weighted **out, int *n, hn_error *err);

/* The score of each element of the weight of layer i: those of the least score go. NaN counts as the
 * greatest. */
typedef hone_status hn_score_fn(void *ctx, int i, float *score, hn_error *err);
/* Makes weights zero by their scores, as the pattern and the scope say; by_row: the same share of
 * each output, unless the scope is global. HONE_E_ARG: a layer would have none left. */
hone_status hn_prune_least(hn_transform_ctx *c, const hn_pruning *p, const hn_weighted *layers,
                           int n, bool by_row, hn_score_fn *score, void *ctx, hn_error *err);
/* Makes the `gone` least of n scores minus infinity. Of equal ones the first go. */
hone_status hn_mark_least(float *const *scores, const int64_t *counts, int n, int64_t gone,
                          hn_allocator *alloc, hn_error *err);
/* A layer was pruned: its row, and its zeros are to stay. error: of its outputs, or NaN. */
hone_status hn_prune_done(hn_transform_ctx *c, const hn_pruning *p, const hn_weighted *w,
                          double error, hn_error *err);
/* It was not. */
hone_status hn_prune_left(hn_transform_ctx *c, const hn_weighted *w, const char *why,
                          hn_error *err);

#endif

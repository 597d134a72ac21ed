/* Magnitude pruning: the weights nearest to zero become zero (Han et al. 2015), the same share of
 * each layer, or all that are under one threshold for the model. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compress/prune.h"
#include "engine/layers.h"
#include "ops/nodes.h"

static int by_size(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* |weight| of all elements of n layers, sorted; those that several nodes read count too. */
static hone_status sorted_sizes(const hn_weighted *layers, int n, hn_allocator *alloc, float **out,
                                int64_t *count, hn_error *err) {
    int64_t all = 0;
    for (int i = 0; i < n; i++) all += layers[i].weight->constant->n;
    float *v = hn_alloc_array(alloc, (size_t)all + 1, sizeof *v, HN_MEM_SCRATCH);
    if (v == NULL) return HN_NOMEM(err);
    *count = 0;
    for (int i = 0; i < n; i++) {
        const hn_tensor *t = layers[i].weight->constant;
        for (int64_t k = 0; k < t->n; k++) {
            float x = fabsf(((const float *)t->data)[k]);
            v[(*count)++] = x == x ? x : INFINITY;
        }
    }
    qsort(v, (size_t)all, sizeof *v, by_size);
    *out = v;
    return HONE_OK;
}

/* Of weights as large as the threshold the first ones go, so that the share is exact. */
static void zero_smallest(float *w, int64_t n, float threshold, int64_t equal) {
    for (int64_t i = 0; i < n; i++) {
        float x = fabsf(w[i]);
        if (x < threshold || (x == threshold && equal-- > 0)) w[i] = 0;
    }
}

static hone_status prune_layer(hn_transform_ctx *c, const hn_weighted *w, float threshold,
                               int64_t equal, hn_error *err) {
    float *v;
    char what[40];
    int64_t zeros = 0, n = w->weight->constant->n;
    HN_TRY(hn_shrinking_edit(c, w, &v, err));
    zero_smallest(v, n, threshold, equal);
    for (int64_t i = 0; i < n; i++) zeros += v[i] == 0;
    snprintf(what, sizeof what, "%.1f %% zeros", 100 * (double)zeros / (double)n);
    c->changed++;
    HN_TRY(hn_shrinking_keep(c, w->weight->name, HN_KEEPS_ZEROS, err));
    return hn_shrinking_tell(c,
                             &(hn_shrunk_layer){.transform = "prune",
                                                .layer = hn_layer_name(w->node),
                                                .op = w->node->op->name,
                                                .what = what,
                                                .weights = n,
                                                .kept = n - zeros,
                                                .error = NAN},
                             err);
}

static hone_status prune_by(hn_transform_ctx *c, const hn_pruning *p, const hn_weighted *layers,
                            int n, hn_error *err) {
    float *sizes = NULL;
    int64_t count = 0;
    HN_TRY(sorted_sizes(layers, n, c->alloc, &sizes, &count, err));
    int64_t gone = (int64_t)floor(p->sparsity * (double)count + 0.5), below = 0;
    float threshold = gone > 0 ? sizes[gone - 1] : -1;
    while (below < count && sizes[below] < threshold) below++;
    hn_free(c->alloc, sizes);
    int64_t equal = gone - below;
    for (int i = 0; i < n; i++) {
        const hn_tensor *t = layers[i].weight->constant;
        int64_t of_this = 0;
        for (int64_t k = 0; k < t->n; k++)
            of_this += fabsf(((const float *)t->data)[k]) == threshold;
        HN_TRY(prune_layer(c, &layers[i], threshold, equal, err));
        equal = equal > of_this ? equal - of_this : 0;
    }
    return HONE_OK;
}

hone_status hn_prune_magnitude(hn_transform_ctx *c, const hn_pruning *p, hn_error *err) {
    hn_arena arena;
    hn_weighted *layers;
    int n, own = 0;
    hn_arena_init(&arena, c->alloc, HN_MEM_SCRATCH);
    hone_status status = hn_shrinking_layers(c, p->only, p->except, &arena, &layers, &n, err);
    for (int i = 0; i < n && status == HONE_OK; i++) {
        if (hn_used_once(layers[i].weight))
            layers[own++] = layers[i];
        else
            status = hn_shrinking_tell(c,
                                       &(hn_shrunk_layer){.transform = "prune",
                                                          .layer = hn_layer_name(layers[i].node),
                                                          .op = layers[i].node->op->name,
                                                          .why_not = "other nodes read its weight",
                                                          .weights = layers[i].weight->constant->n,
                                                          .error = NAN},
                                       err);
    }
    if (status == HONE_OK && p->global)
        status = prune_by(c, p, layers, own, err);
    else
        for (int i = 0; i < own && status == HONE_OK; i++)
            status = prune_by(c, p, &layers[i], 1, err);
    hn_arena_deinit(&arena);
    return status;
}

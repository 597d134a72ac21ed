/* Magnitude pruning: the weights nearest to zero become zero (Han et al. 2015), the same share of
 * each layer, or all that are under one threshold for the model. */
#include <math.h>

#include "compress/prune.h"

static hone_status score(void *ctx, int i, float *s, hn_error *err) {
    const hn_tensor *t = ((const hn_weighted *)ctx)[i].weight->constant;
    (void)err;
    for (int64_t k = 0; k < t->n; k++) s[k] = fabsf(hn_weight_at(t, k));
    return HONE_OK;
}

hone_status hn_prune_magnitude(hn_transform_ctx *c, const hn_pruning *p, hn_error *err) {
    hn_arena arena;
    hn_weighted *layers;
    int n;
    hn_arena_init(&arena, c->alloc, HN_MEM_SCRATCH);
    hone_status status =
        hn_prune_layers(c, p, p->m > 0 || p->outputs > 0, &arena, &layers, &n, err);
    if (status == HONE_OK) status = hn_prune_least(c, p, layers, n, false, score, layers, err);
    hn_arena_deinit(&arena);
    return status;
}

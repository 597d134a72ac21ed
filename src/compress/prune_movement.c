/* Movement pruning (Sanh et al. 2020): weights that training moves toward zero go, whatever their
 * size, and those that it moves away from zero stay. How far a weight has moved is w times what it
 * has changed by since the step that `train keep=N` remembered, which is what the gradients have
 * added up to. */
#include "compress/prune.h"
#include "engine/layers.h"

typedef struct moved {
    const hn_weighted *layers;
    const hn_model *early;
} moved;

static hone_status score(void *ctx, int i, float *s, hn_error *err) {
    const moved *of = ctx;
    const hn_weighted *w = &of->layers[i];
    const hn_tensor *now = w->weight->constant;
    const hn_value *v = hn_graph_value(of->early->graph, w->weight->name);
    const hn_tensor *was = v != NULL ? v->constant : NULL;
    HN_CHECK(err, was != NULL && was->dtype == HONE_DTYPE_F32 && was->n == now->n, HONE_E_ARG,
             "layer '%s' has no weight of this size at the step that was remembered",
             hn_layer_name(w->node));
    for (int64_t k = 0; k < now->n; k++) {
        float x = hn_weight_at(now, k);
        s[k] = x == 0 ? -1e30f : x * (x - hn_weight_at(was, k));
    }
    return HONE_OK;
}

hone_status hn_prune_movement(hn_transform_ctx *c, const hn_pruning *p, hn_error *err) {
    hn_arena arena;
    hn_weighted *layers;
    int n;
    moved of = {.early = c->shrinking != NULL ? c->shrinking->early : NULL};
    HN_CHECK(err, of.early != NULL, HONE_E_ARG,
             "kind movement compares with a step of training: a line 'train keep=0' must come "
             "before");
    HN_CHECK(err, p->outputs == 0, HONE_E_ARG, "kind movement takes single weights or N:M");
    hn_arena_init(&arena, c->alloc, HN_MEM_SCRATCH);
    hone_status status = hn_prune_layers(c, p, p->m > 0, &arena, &layers, &n, err);
    of.layers = layers;
    if (status == HONE_OK) status = hn_prune_least(c, p, layers, n, false, score, &of, err);
    hn_arena_deinit(&arena);
    return status;
}

#include "compress/rounded.h"

bool hn_rounded_serves(const hn_qtype *t, const hn_layer_type *const *types, int n) {
    bool narrow = false;
    for (int i = 0; i < n; i++) narrow = narrow || hn_qtype_is_narrow(&types[i]->layer.weights);
    return t->dtype != HONE_DTYPE_NONE && (!narrow || hn_qtype_is_narrow(t));
}

/* The weight of a layer as it is for its type; NULL: methods left it alone. Layers that rules name
 * have their type in every one of the models. */
static hn_tensor *weight_of(const hn_rounded *r, const hn_weighted *w) {
    const char *name = w->weight->name;
    hn_qtype type = hn_weighted_type(w);
    int k = 0;
    if (hn_grids_of(r->grids, name, &type) == NULL) return NULL;
    for (int i = 1; i < r->n; i++)
        if (hn_qtype_equal(&r->v[i].type, &w->scheme.weights)) k = i;
    return hn_graph_value(r->v[k].model->graph, name)->constant;
}

hone_status hn_rounded_apply(const hn_rounded *r, hn_model *m, const hn_scheme *s, hn_error *err) {
    hn_arena arena;
    hn_weighted *layers;
    int n = 0;
    hn_arena_init(&arena, m->alloc, HN_MEM_SCRATCH);
    hone_status status = hn_weighted_layers(m, s, &arena, &layers, &n, err);
    for (int i = 0; i < n && status == HONE_OK; i++) {
        hn_tensor *t = weight_of(r, &layers[i]);
        if (t != NULL) hn_value_set_constant(layers[i].weight, hn_tensor_ref(t));
    }
    hn_arena_deinit(&arena);
    return status;
}

void hn_rounded_deinit(hn_rounded *r, hn_allocator *alloc) {
    for (int i = 0; i < r->n; i++) hn_model_destroy(r->v[i].model);
    hn_free(alloc, r->v);
    hn_grids_destroy(r->grids);
    *r = (hn_rounded){0};
}

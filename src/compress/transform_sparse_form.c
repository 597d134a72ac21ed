/* Weights most of which are 0 become sparse initializers: those that are not 0, and where each lies.
 *
 *     prune sparsity=0.9; train epochs=2; sparse_form
 *
 * One that is not 0 takes 12 bytes in the file then instead of 4, so a weight is stored so where
 * less than a third of it is not 0. Other transforms see weights that are dense: this one comes last.
 */
#include <math.h>

#include "compress/compression.h"
#include "engine/layers.h"

/* -0 is stored: 0 would not be the same bits. */
static bool is_stored(const hn_tensor *t, int64_t i) {
    float x = hn_weight_at(t, i);
    return x != 0 || signbit(x);
}

static void fill(const hn_tensor *t, hn_tensor *values, hn_tensor *indices) {
    float *v = values->data;
    int64_t *at = indices->data;
    for (int64_t i = 0; i < t->n; i++)
        if (is_stored(t, i)) *v++ = hn_weight_at(t, i), *at++ = i;
}

static hone_status make_sparse(hn_tensor **out, const hn_tensor *t, int64_t stored,
                               hn_allocator *alloc, hn_error *err) {
    hn_tensor *values, *indices;
    HN_TRY(hn_tensor_create(&values, alloc, HN_MEM_WEIGHTS, t->dtype, 1, &stored, err));
    hone_status status =
        hn_tensor_create(&indices, alloc, HN_MEM_WEIGHTS, HONE_DTYPE_S64, 1, &stored, err);
    if (status != HONE_OK) {
        hn_tensor_unref(values);
        return status;
    }
    fill(t, values, indices);
    status = hn_tensor_create_sparse(out, alloc, t->rank, t->dims, values, indices, err);
    if (status != HONE_OK) {
        hn_tensor_unref(values);
        hn_tensor_unref(indices);
    }
    return status;
}

static hone_status store_layer(hn_transform_ctx *c, const hn_weighted *w, hn_error *err) {
    const hn_tensor *t = w->weight->constant;
    hn_shrunk_layer row = {.transform = "sparse_form",
                           .layer = hn_layer_name(w->node),
                           .op = w->node->op->name,
                           .weights = t->n,
                           .error = NAN};
    int64_t stored = 0;
    for (int64_t i = 0; i < t->n; i++) {
        stored += is_stored(t, i);
        row.kept += hn_weight_at(t, i) != 0;
    }
    if (stored * 3 < t->n) {
        hn_tensor *made;
        HN_TRY(make_sparse(&made, t, stored, c->alloc, err));
        hn_value_set_constant(w->weight, made);
        c->changed++;
        row.what = "a sparse initializer";
    } else {
        row.why_not = "a third of its weights or more are not 0";
    }
    return hn_shrinking_tell(c, &row, err);
}

hone_status hn_transform_sparse_form(hn_transform_ctx *c, hn_error *err) {
    hn_arena arena;
    hn_weighted *layers;
    int n;
    hn_arena_init(&arena, c->alloc, HN_MEM_SCRATCH);
    hone_status status = hn_shrinking_layers(c, NULL, NULL, &arena, &layers, &n, err);
    for (int i = 0; i < n && status == HONE_OK; i++)
        /* Of layers that share a weight, the first has stored it. */
        if (layers[i].weight->constant->data != NULL) status = store_layer(c, &layers[i], err);
    hn_arena_deinit(&arena);
    return status;
}

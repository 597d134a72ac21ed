#include "compress/normed.h"

#include <stdio.h>

#include "ops/nodes.h"

static const hn_tensor *vector_in(const hn_node *n, int i) {
    const hn_tensor *t = hn_const_in(n, i);
    if (t == NULL || t->dtype != HONE_DTYPE_F32 || t->n == 0 || t->rank < 1) return NULL;
    return t->n == t->dims[t->rank - 1] ? t : NULL;
}

static bool describe(hn_node *n, hn_normed *out) {
    if ((hn_def_of(n)->traits & HN_NORM) == 0) return false;
    const hn_type *type = &n->outputs[0]->type;
    int64_t axis = hn_attr_i(n, "axis");
    const hn_tensor *scale = vector_in(n, 1), *bias = vector_in(n, 2);
    if (scale == NULL || (hn_node_input(n, 2) != NULL && (bias == NULL || bias->n != scale->n)))
        return false;
    if (n->n_outputs > 1 || type->dtype != HONE_DTYPE_F32 || type->shape.rank < 1 ||
        (axis < 0 ? axis + type->shape.rank : axis) != type->shape.rank - 1)
        return false;
    *out = (hn_normed){.norm = n, .channels = scale->n};
    return true;
}

static bool reads(const hn_weighted *w, const hn_normed *of) {
    const hn_tensor *t = w->weight->constant;
    return w->input == of->norm->outputs[0] && hn_node_input(w->node, w->index) == w->weight &&
           hn_used_once(w->weight) && t->rank == 2 && t->dims[w->sum_axis] == of->channels &&
           w->kind == HN_WEIGHT_MATRIX && !w->transposed;
}

hone_status hn_normed_find(hn_normed **out, int *n, hn_model *m, const hn_scheme *s,
                           hn_layer_kind first, hn_layer_kind last, hn_arena *arena,
                           hn_error *err) {
    hn_weighted *all;
    int n_all, found = 0, used = 0;
    HN_TRY(hn_weighted_layers(m, s, arena, &all, &n_all, err));
    hn_normed *norms = hn_arena_array(arena, (size_t)m->graph->n_nodes + 1, sizeof *norms);
    hn_weighted *products = hn_arena_array(arena, (size_t)n_all + 1, sizeof *products);
    if (norms == NULL || products == NULL) return HN_NOMEM(err);
    for (hn_node *at = m->graph->first; at != NULL; at = at->next) {
        hn_normed *of = &norms[found];
        if (!describe(at, of)) continue;
        of->products = products + used;
        for (int i = 0; i < n_all; i++)
            if (all[i].scheme.kind >= first && all[i].scheme.kind <= last && reads(&all[i], of))
                of->products[of->n++] = all[i];
        used += of->n;
        if (of->n > 0) found++;
    }
    *out = norms;
    *n = found;
    return HONE_OK;
}

int64_t hn_normed_channel(const hn_weighted *product, int64_t i) {
    const hn_tensor *t = product->weight->constant;
    return product->sum_axis == 0 ? i / t->dims[1] : i % t->dims[1];
}

static hone_status scale_weight(const hn_weighted *w, const double *by, hn_allocator *alloc,
                                hn_error *err) {
    const hn_tensor *from = w->weight->constant;
    hn_tensor *t;
    HN_TRY(hn_tensor_create(&t, alloc, HN_MEM_WEIGHTS, from->dtype, from->rank, from->dims, err));
    for (int64_t i = 0; i < t->n; i++)
        ((float *)t->data)[i] = (float)(hn_tensor_f64(from, i) * by[hn_normed_channel(w, i)]);
    hn_value_set_constant(w->weight, t);
    hn_node_touch(w->node);
    return HONE_OK;
}

/* Constant input i of the norm, divided by its factors; *out NULL: there is none. */
static hone_status divide(const hn_normed *of, const double *by, const char *suffix, int i,
                          hn_value **out, hn_error *err) {
    const hn_value *v = hn_node_input(of->norm, i);
    hn_tensor *t;
    *out = NULL;
    if (v == NULL) return HONE_OK;
    const hn_tensor *from = v->constant;
    HN_TRY(hn_tensor_create(&t, of->norm->graph->model->alloc, HN_MEM_WEIGHTS, from->dtype,
                            from->rank, from->dims, err));
    for (int64_t k = 0; k < t->n; k++)
        ((float *)t->data)[k] = (float)(hn_tensor_f64(from, k) / by[k]);
    char hint[160];
    snprintf(hint, sizeof hint, "%.120s%s", v->name, suffix);
    return hn_make_constant(out, of->norm, hint, t, err);
}

/* A second norm for the products alone, behind the first. */
static hone_status make_twin(const hn_normed *of, const char *suffix, hn_node **out,
                             hn_error *err) {
    hn_node *n = of->norm, *twin;
    hn_value *v = n->outputs[0], *made;
    char hint[160], name[160];
    snprintf(hint, sizeof hint, "%.120s%s", v->name, suffix);
    snprintf(name, sizeof name, "%.120s%s", n->name, n->name[0] != '\0' ? suffix : "");
    HN_TRY(hn_node_create(&twin, n->graph, "", n->op_type, name, n->n_inputs, 1, err));
    twin->op = n->op;
    HN_TRY(hn_node_set_i(twin, "axis", hn_attr_i(n, "axis"), err));
    HN_TRY(hn_node_set_f(twin, "epsilon", hn_attr_f(n, "epsilon"), err));
    HN_TRY(hn_node_set_i(twin, "stash_type", hn_attr_i(n, "stash_type"), err));
    HN_TRY(hn_value_create(&made, n->graph, NULL, hint, err));
    made->type = v->type;
    hn_node_insert(twin, n->next);
    hn_node_set_output(twin, 0, made);
    for (int i = 0; i < n->n_inputs; i++) hn_node_set_input(twin, i, hn_node_input(n, i));
    for (int p = 0; p < of->n; p++) hn_node_set_input(of->products[p].node, 0, made);
    *out = twin;
    return HONE_OK;
}

hone_status hn_normed_scale(const hn_normed *of, const double *by, const char *suffix,
                            hn_error *err) {
    hn_value *scale, *bias;
    hn_node *n = of->norm;
    HN_TRY(divide(of, by, suffix, 1, &scale, err));
    HN_TRY(divide(of, by, suffix, 2, &bias, err));
    if (n->outputs[0]->n_uses > of->n) HN_TRY(make_twin(of, suffix, &n, err));
    hn_value *old[] = {hn_node_input(n, 1), hn_node_input(n, 2)};
    hn_node_set_input(n, 1, scale);
    if (bias != NULL) hn_node_set_input(n, 2, bias);
    for (int i = 0; i < 2; i++)
        if (old[i] != NULL && old[i]->n_uses == 0) hn_value_remove(old[i]);
    for (int p = 0; p < of->n; p++)
        HN_TRY(scale_weight(&of->products[p], by, n->graph->model->alloc, err));
    return HONE_OK;
}

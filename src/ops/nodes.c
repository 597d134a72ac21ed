#include "ops/nodes.h"

/* How far hn_prune follows a chain; what remains is found by remove_dead. */
#define MOST_PRUNED 64

/* ---- recognising ---- */

bool hn_is_formed(const hn_node *n) {
    if (n->op == NULL || n->old) return false;
    return n->graph == n->graph->model->graph || hn_node_check_form(n, NULL) == HONE_OK;
}

const hn_op_def *hn_def_of(const hn_node *n) {
    static const hn_op_def nothing = {.name = ""};
    return n != NULL && hn_is_formed(n) ? n->op : &nothing;
}

bool hn_is(const hn_node *n, const char *op) {
    return n != NULL && n->domain[0] == '\0' && hn_same_name(n->op_type, op) && hn_is_formed(n);
}

hn_node *hn_feeds(const hn_node *n, int i, const char *op) {
    const hn_value *v = hn_node_input(n, i);
    if (v == NULL || v->graph != n->graph || !hn_is(v->producer, op)) return NULL;
    return v->producer;
}

bool hn_used_once(const hn_value *v) { return v->n_uses == 1 && v->uses->node != NULL; }

hn_node *hn_feeds_only(const hn_node *n, int i, const char *op) {
    hn_node *p = hn_feeds(n, i, op);
    if (p == NULL || !hn_used_once(n->inputs[i].value)) return NULL;
    for (int k = 0; k < p->n_outputs; k++)
        if (p->outputs[k] != NULL && p->outputs[k] != n->inputs[i].value) return NULL;
    return p;
}

bool hn_codebook_of(const hn_node *n, hn_codebook *out) {
    const hn_node *cast = hn_is(n, "Gather") ? hn_feeds(n, 1, "Cast") : NULL;
    const hn_tensor *codes = cast != NULL ? hn_const_in(cast, 0) : NULL;
    const hn_tensor *table = codes != NULL ? hn_const_in(n, 0) : NULL;
    if (table == NULL || table->rank != 1 || table->dtype != HONE_DTYPE_F32 ||
        !hn_dtype_in(codes->dtype, HN_DTYPES_UNSIGNED) || hone_dtype_bits(codes->dtype) > 16 ||
        table->n <= (int64_t)hn_dtype_max(codes->dtype))
        return false;
    if (out != NULL) *out = (hn_codebook){table, codes};
    return true;
}

bool hn_casts_codes(const hn_node *n) {
    if (!hn_is(n, "Cast") || hn_node_output(n, 0) == NULL) return false;
    const hn_value *v = hn_node_output(n, 0);
    for (const hn_use *u = v->uses; u != NULL; u = u->next)
        if (u->node == NULL || !hn_codebook_of(u->node, NULL)) return false;
    return v->n_uses > 0;
}

/* ---- constants ---- */

const hn_tensor *hn_const_in(const hn_node *n, int i) {
    const hn_tensor *t = hn_node_constant(n, i);
    return t != NULL && t->data != NULL ? t : NULL;
}

bool hn_const_scalar(const hn_node *n, int i, double *v) {
    const hn_tensor *t = hn_const_in(n, i);
    if (t == NULL || t->n != 1 || t->dtype == HONE_DTYPE_STRING) return false;
    *v = hn_tensor_f64(t, 0);
    return true;
}

int hn_const_ints(const hn_node *n, int i, int64_t *v, int max) {
    const hn_tensor *t = hn_const_in(n, i);
    if (t == NULL || t->n > max || !hn_dtype_is_int(t->dtype)) return -1;
    for (int64_t k = 0; k < t->n; k++) v[k] = hn_tensor_s64(t, k);
    return (int)t->n;
}

bool hn_const_axes(const hn_node *n, int i, int rank, uint32_t *bits) {
    int64_t axes[HONE_MAX_RANK];
    int count = rank >= 0 ? hn_const_ints(n, i, axes, HONE_MAX_RANK) : -1;
    *bits = 0;
    for (int k = 0; k < count; k++) {
        int64_t axis = axes[k] < 0 ? axes[k] + rank : axes[k];
        if (axis < 0 || axis >= rank) return false;
        *bits |= 1u << axis;
    }
    return count >= 0;
}

/* ---- editing ---- */

hone_status hn_make_node(hn_node **out, hn_node *root, const char *op, int n_inputs,
                         hn_error *err) {
    HN_TRY(hn_node_create(out, root->graph, "", op, root->name, n_inputs, 1, err));
    (*out)->op = hn_op_find("", op);
    (*out)->written = root->written;
    return HONE_OK;
}

hone_status hn_make_constant(hn_value **out, hn_node *root, const char *hint, hn_tensor *t,
                             hn_error *err) {
    return hn_value_create_constant(out, root->graph, NULL, hint, t, err);
}

hone_status hn_make_ints(hn_value **out, hn_node *root, const char *hint, const int64_t *v, int n,
                         hn_error *err) {
    hn_tensor *t;
    HN_TRY(hn_tensor_from_s64(&t, root->graph->model->alloc, HONE_DTYPE_S64, 1, (int64_t[]){n}, v,
                              err));
    return hn_make_constant(out, root, hint, t, err);
}

/* Recursion is bounded by MOST_PRUNED. Stays in one graph: the walk over an outer one goes on. */
static void prune(hn_node *n, int depth) {
    for (int i = 0; i < n->n_outputs; i++)
        if (n->outputs[i] != NULL && n->outputs[i]->n_uses > 0) return;
    for (int i = 0; i < n->n_inputs; i++) {
        hn_value *v = n->inputs[i].value;
        hn_node_set_input(n, i, NULL);
        if (v != NULL && v->n_uses == 0 && v->producer != NULL && v->graph == n->graph &&
            depth < MOST_PRUNED)
            prune(v->producer, depth + 1);
    }
    hn_node_remove(n);
}

void hn_prune(hn_node *n) { prune(n, 0); }

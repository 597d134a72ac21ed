/* The vocabulary of rewrites. */
#include <math.h>

#include "passes/pass.h"

/* How far hn_prune follows a chain; what remains is found by remove_dead. */
#define MOST_PRUNED 64

/* Whether n can be looked at as what it says it is: inference has checked the nodes of the model's
 * graph, but not those of branches that may never run. */
static bool is_formed(const hn_node *n) {
    if (n->op == NULL || n->old) return false;
    return n->graph == n->graph->model->graph || hn_node_check_form(n, NULL) == HONE_OK;
}

hone_status hn_pass_each(hn_graph *g, hn_pass_ctx *c, hn_rewrite *rewrite, hn_error *err) {
    for (hn_node *n = g->first, *next; n != NULL; n = next) {
        next = n->next;
        if (is_formed(n)) HN_TRY(rewrite(c, n, err));
    }
    return HONE_OK;
}

/* ---- recognising ---- */

bool hn_is(const hn_node *n, const char *op) {
    return n != NULL && n->domain[0] == '\0' && strcmp(n->op_type, op) == 0 && is_formed(n);
}

hn_node *hn_feeds(const hn_node *n, int i, const char *op) {
    const hn_value *v = hn_node_input(n, i);
    if (v == NULL || v->graph != n->graph || !hn_is(v->producer, op)) return NULL;
    return v->producer;
}

bool hn_only_moves(const hn_node *n) {
    return hn_is(n, "Transpose") || hn_is(n, "Reshape") || hn_is(n, "Flatten") ||
           hn_is(n, "Squeeze") || hn_is(n, "Unsqueeze");
}

bool hn_used_once(const hn_value *v) { return v->n_uses == 1 && v->uses->node != NULL; }

hn_node *hn_feeds_only(const hn_node *n, int i, const char *op) {
    hn_node *p = hn_feeds(n, i, op);
    if (p == NULL || !hn_used_once(n->inputs[i].value)) return NULL;
    for (int k = 0; k < p->n_outputs; k++)
        if (p->outputs[k] != NULL && p->outputs[k] != n->inputs[i].value) return NULL;
    return p;
}

bool hn_may_form(const hn_pass_ctx *c, const char *op) {
    return hn_op_first_version(hn_op_find("", op)) <= c->opset;
}

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

int hn_plus_scalar(const hn_node *n, double *v) {
    if (!hn_is(n, "Add")) return -1;
    return hn_const_scalar(n, 1, v) ? 0 : hn_const_scalar(n, 0, v) ? 1 : -1;
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

static bool may_be_0(hn_dim d) {
    int64_t lo, hi;
    hn_dim_range(d, &lo, &hi);
    return lo <= 0;
}

bool hn_reshape_target(const hn_shape *x, const hn_shape *y, int64_t *target) {
    int left = -1;
    bool empty = false;
    for (int k = 0; k < y->rank; k++) {
        if (hn_dim_is_const(y->dim[k], &target[k])) {
            if (target[k] == 0) return false;
        } else if (k < x->rank && y->dim[k] == x->dim[k]) {
            target[k] = 0;
            empty = empty || may_be_0(y->dim[k]);
        } else if (left < 0) {
            target[k] = -1;
            left = k;
        } else {
            return false;
        }
    }
    return left < 0 || !empty;
}

bool hn_near(double found, double wanted, hone_dtype t) {
    double bound = t == HONE_DTYPE_F16 || t == HONE_DTYPE_BF16 ? 4e-3 : 1e-5;
    return fabs(found - wanted) <= bound * fabs(wanted);
}

static bool add_factor(hn_product *p, hn_value *v) {
    if (p->n == HN_MOST_FACTORS) return false;
    p->factor[p->n++] = v;
    return true;
}

static bool add_input(hn_product *p, const hn_node *n, int i, int depth);

static bool add_node(hn_product *p, const hn_node *n, int depth) {
    double v;
    if (hn_is(n, "Mul")) return add_input(p, n, 0, depth) && add_input(p, n, 1, depth);
    if (hn_is(n, "Div") && hn_const_scalar(n, 1, &v) && v != 0) {
        p->scale /= v;
        return add_input(p, n, 0, depth);
    }
    if (!hn_is(n, "Pow") || !hn_const_scalar(n, 1, &v) || (v != 2 && v != 3)) return false;
    for (int k = 0; k < (int)v; k++)
        if (!add_factor(p, n->inputs[0].value)) return false;
    return true;
}

/* Depth is bounded by the number of factors, each level having one at least. */
static bool add_input(hn_product *p, const hn_node *n, int i, int depth) {
    hn_value *x = n->inputs[i].value;
    double v;
    if (hn_const_scalar(n, i, &v)) {
        p->scale *= v;
        return true;
    }
    const hn_node *from = x->producer;
    hn_product saved = *p;
    if (depth < HN_MOST_FACTORS && from != NULL && from->graph == n->graph && hn_used_once(x)) {
        if (add_node(p, from, depth + 1)) return true;
        *p = saved;
    }
    return add_factor(p, x);
}

bool hn_factors(const hn_node *n, hn_product *p) {
    *p = (hn_product){.scale = 1};
    return add_node(p, n, 0);
}

bool hn_input_factors(const hn_node *n, int i, hn_product *p) {
    *p = (hn_product){.scale = 1};
    return add_input(p, n, i, 0);
}

/* ---- rewriting ---- */

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

bool hn_charge(hn_pass_ctx *c, size_t bytes) {
    if (c->max_growth < 0) return true;
    if (bytes > (size_t)c->max_growth) return false;
    c->max_growth -= (int64_t)bytes;
    return true;
}

void hn_prune(hn_node *n) { prune(n, 0); }

void hn_take_place(hn_pass_ctx *c, hn_node *made, hn_node *root) {
    hn_value *v = root->outputs[0];
    hn_node_insert(made, root);
    hn_node_set_output(root, 0, NULL);
    hn_node_set_output(made, 0, v);
    hn_prune(root);
    c->fired++;
}

void hn_absorb(hn_pass_ctx *c, hn_node *n, hn_node *root) {
    hn_value *v = root->outputs[0], *old = n->outputs[0];
    hn_node_set_output(root, 0, NULL);
    hn_node_set_output(n, 0, v);
    hn_prune(root);
    hn_value_remove(old);
    c->fired++;
}

bool hn_can_replace(const hn_value *old, const hn_value *by) {
    if (old->n_outputs == 0) return true;
    return by->graph == old->graph && by->producer != NULL && by->n_outputs == 0;
}

void hn_replace(hn_value *old, hn_value *by) {
    if (old->n_outputs == 0) {
        hn_value_replace(old, by);
        return;
    }
    hn_node *p = by->producer;
    int i = by->out_index;
    hn_node_set_output(old->producer, old->out_index, NULL);
    hn_node_set_output(p, i, NULL);
    hn_node_set_output(p, i, old);
    hn_value_replace(by, old);
    hn_value_remove(by);
}

void hn_bypass(hn_pass_ctx *c, hn_node *n, hn_value *by) {
    hn_replace(n->outputs[0], by);
    hn_prune(n);
    c->fired++;
}

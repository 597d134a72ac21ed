/* The vocabulary of rewrites. */
#include <math.h>

#include "passes/pass.h"

hone_status hn_pass_each(hn_graph *g, hn_pass_ctx *c, hn_rewrite *rewrite, hn_error *err) {
    for (hn_node *n = g->first, *next; n != NULL; n = next) {
        next = n->next;
        if (hn_is_formed(n)) HN_TRY(rewrite(c, n, err));
    }
    return HONE_OK;
}

/* ---- recognising ---- */

bool hn_only_moves(const hn_node *n) {
    return hn_is(n, "Transpose") || hn_is(n, "Reshape") || hn_is(n, "Flatten") ||
           hn_is(n, "Squeeze") || hn_is(n, "Unsqueeze");
}

bool hn_may_form(const hn_pass_ctx *c, const char *op) {
    return hn_op_first_version(hn_op_find("", op)) <= c->opset;
}

int hn_plus_scalar(const hn_node *n, double *v) {
    if (!hn_is(n, "Add")) return -1;
    return hn_const_scalar(n, 1, v) ? 0 : hn_const_scalar(n, 0, v) ? 1 : -1;
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

bool hn_charge(hn_pass_ctx *c, size_t bytes) {
    if (c->max_growth < 0) return true;
    if (bytes > (size_t)c->max_growth) return false;
    c->max_growth -= (int64_t)bytes;
    return true;
}

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
